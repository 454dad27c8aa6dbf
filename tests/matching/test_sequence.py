"""Changes of one text that are placed jointly, given as the hunks of a diff."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.matching import search, sequence
from git_boocode.matching.align import Hunk, LineIndex
from git_boocode.matching.rungs import profile_named
from git_boocode.matching.search import Hints, Query
from git_boocode.matching.sequence import Placement, place_changes
from git_boocode.matching.text import Text, spliced
from git_boocode.matching.types import MatchError
from tests.matching.kit import ABC, TWIN, TWINS, lines

DEFAULT = profile_named("default")


class Change(NamedTuple):
    """The old and the new lines of a hunk, and what else it says."""

    old: str
    new: str
    hints: Hints


def hunk(body: str, start: int | None = None, **hints: object) -> Change:
    """A change from lines that begin with their sign; ``start`` is its first row."""
    given, script, i, j = body.split("\n"), [], 0, 0
    for same, run in groupby(given, key=lambda line: line[0] == " "):
        signs = [line[0] for line in run]
        end, stop = i + len(signs) - signs.count("+"), j + len(signs) - signs.count("-")
        script.append(Hunk(same, i, end, j, stop))
        i, j = end, stop
    old, new = (lines(*(line[1:] for line in given if line[0] != sign)) for sign in "+-")
    line = None if start is None else start + 1
    return Change(old, new, Hints(line, script=tuple(script))._replace(**hints))  # type: ignore[arg-type]


def placed(
    text: str, *hunks: Change, profile: str = "default", verbatim: bool = False
) -> list[Placement]:
    """Where all changes belong; the first error is raised."""
    shared = Text(text)
    queries = [Query(shared, old, new, whole_lines=True, hints=more) for old, new, more in hunks]
    found = place_changes(queries, profile_named(profile), verbatim=verbatim)
    for one in found:
        if isinstance(one, MatchError):
            raise one
    return [one for one in found if isinstance(one, Placement)]


def patched(text: str, *hunks: Change, profile: str = "default", verbatim: bool = False) -> str:
    found = placed(text, *hunks, profile=profile, verbatim=verbatim)
    return spliced(text, (one.splice for one in found))


def refused(
    text: str, *hunks: Change, profile: str = "default", verbatim: bool = False
) -> MatchError:
    with pytest.raises(MatchError) as caught:
        placed(text, *hunks, profile=profile, verbatim=verbatim)
    return caught.value


@pytest.mark.parametrize("start", [None, 0, 3, 400])
def test_a_wrong_number_does_not_matter_where_the_place_is_unique(start: int | None) -> None:
    assert "GAMMA" in patched(ABC, hunk(" beta\n-gamma\n+GAMMA", start))


@pytest.mark.parametrize(("start", "at"), [(1, 2), (5, 6)])
def test_the_number_decides_between_equal_places(start: int, at: int) -> None:
    wanted = TWINS.split("\n")
    wanted[at] = "new"
    assert patched(TWINS, hunk(TWIN, start)) == "\n".join(wanted)


def test_a_neighbour_tells_how_far_the_numbers_are_off() -> None:
    text = lines("added", "added") + TWINS
    sure = hunk(" top\n-same\n+SAME\n old", 0)
    twin = hunk("-old\n+new\n same\n bottom", 6)
    assert patched(text, sure, hunk(TWIN, 5)) == patched(text, sure, twin)
    assert refused(text, hunk(TWIN, 5)).code == "ambiguous"


def test_neighbours_that_disagree_about_the_numbers_decide_nothing() -> None:
    text = lines("a", "b", *["same", "old", "same"] * 3, "y", "z")
    above, below = hunk("-a\n+A\n b", 0), hunk(" y\n-z\n+Z", 12)
    assert refused(text, above, hunk(TWIN, 2), below).code == "ambiguous"


def test_what_is_unique_between_its_neighbours_is_placed() -> None:
    text = lines("one", "}", "two", "}", "three", "}")
    hunks = [hunk("-one\n+1"), hunk("-}\n+};"), hunk("-two\n+2"), hunk("-three\n+3")]
    assert patched(text, *hunks) == lines("1", "};", "2", "}", "3", "}")


def test_as_many_equal_hunks_as_places_have_one_order() -> None:
    assert patched(TWINS, hunk(TWIN), hunk(TWIN)) == TWINS.replace("old", "new")
    assert refused(TWINS * 2, hunk(TWIN), hunk(TWIN)).code == "ambiguous"


def test_two_insertions_do_not_share_a_row() -> None:
    insert = hunk(" same\n+new\n middle"), hunk(" same\n+newer\n middle")
    assert refused(TWINS, *insert).code == "overlap"


def test_of_very_many_places_a_hundred_are_listed() -> None:
    error = refused(ABC * 101, hunk("-beta\n+B"))
    assert error.message == "it occurs 101 times"
    assert (error.match.count, len(error.match.spans), len(error.candidates)) == (101, 100, 10)


def test_hunks_must_be_in_order() -> None:
    error = refused(ABC, hunk("-delta\n+D"), hunk("-beta\n+B"))
    assert error.code == "not_found"
    assert "out of order" in error.message


def test_hunks_must_not_overlap() -> None:
    error = refused(ABC, hunk("-beta\n-gamma\n+x"), hunk("-gamma\n-delta\n+y"))
    assert error.code == "overlap"
    assert error.candidates[0][:2] == (3, 4)


def test_hunks_may_share_context() -> None:
    hunks = hunk("-alpha\n+A\n beta\n gamma"), hunk(" beta\n gamma\n-delta\n+D")
    assert patched(ABC, *hunks) == lines("A", "beta", "gamma", "D", "epsilon")


def test_drifted_hunks_may_share_context() -> None:
    text = ABC.replace("beta", "beta  ")
    hunks = hunk("-alpha\n+A\n beta\n gamma"), hunk(" beta\n gamma\n-delta\n+D")
    assert patched(text, *hunks) == lines("A", "beta  ", "gamma", "D", "epsilon")
    hunks = hunk("-alpha\n+A\n beta\n gamma"), hunk(" beta\n-gamma\n+G\n delta")
    assert patched(text, *hunks) == lines("A", "beta  ", "G", "delta", "epsilon")


def test_a_drifted_hunk_restricts_the_ones_around_it() -> None:
    value = "value = compute(alpha) "
    text = lines(value, "middle = 2 ", value)
    middle, change = hunk("-middle = 2\n+m = 2"), hunk("-value = compute(alpha)\n+last = 3")
    assert refused(text, change).code == "ambiguous"
    assert patched(text, middle, change) == lines(value, "m = 2", "last = 3")
    assert patched(text, change, hunk("-middle = 2 \n+m = 2")) == lines("last = 3", "m = 2", value)


def test_a_drifted_hunk_at_the_end_is_not_above_another_one() -> None:
    text = lines("first(one) ", "second(two)", "third(three)")
    end = hunk("-first(one)\n+x", at_end=True)
    assert refused(text, end, hunk("-second(two)\n+y")).code == "not_found"


def test_nothing_but_whole_lines_match() -> None:
    text = lines("x = compute(alpha)", "other")
    assert refused(text, hunk("-compute(alpha)\n+calculate(alpha)")).code == "not_found"


def test_in_a_mixed_file_the_neighbours_decide() -> None:
    text = "a\nb\nc\r\nd\r\ne\r\n"
    assert patched(text, hunk(" c\n+new\n d")) == "a\nb\nc\r\nnew\r\nd\r\ne\r\n"
    assert patched(text, hunk(" a\n+new\n b")) == "a\nnew\nb\nc\r\nd\r\ne\r\n"
    text = "y\nz\n" + text.replace("e\r\n", "")
    assert patched(text, hunk(" c\n+new\n d")) == text.replace("d\r", "new\r\nd\r")


def test_a_change_of_line_endings_needs_them() -> None:
    change = hunk("-a\r\n+a\n b")
    assert patched("a\r\nb\n", change) == "a\nb\n"
    assert "already there" in refused("a\nb\n", change).message


@pytest.mark.parametrize(
    "body",
    [" alpha\n-BETA\n+beta\n gamma", " alpha\n+beta\n gamma", " alpha\n-x\n beta", " alpha\n+beta"],
)
def test_what_is_applied_already_is_said_to_be(body: str) -> None:
    error = refused(ABC, hunk(body, 0))
    assert "already there" in error.message
    assert error.code == "already_applied"
    assert [near.start_line for near in error.candidates] == [1]


def test_a_line_may_be_doubled_on_purpose() -> None:
    assert patched("a\na\nb\n", hunk(" a\n+a\n b")) == "a\na\na\nb\n"


def test_the_outcome_elsewhere_is_no_sign_of_it() -> None:
    text = lines("def one(self):", "    return 1", "", "  def two(self):", "    return 2  ")
    body = "   def two(self):\n-    return 2\n+    return 1"
    assert patched(text, hunk(body)).endswith("  def two(self):\n    return 1\n")


CODE = lines(
    "class A:", "    def run(self):", "        go()", "        stop()", "",
    "    def walk(self):", "        go()", "        stop()", "",
    "class B:", "    def run(self):", "        go()", "        stop()",
)  # fmt: skip


GO = "         go()\n-        stop()\n+        halt()"


@pytest.mark.parametrize(
    ("sections", "row"),
    [
        (("class A:", "def run(self):"), 3),
        (("class A:", "def walk(self):"), 7),
        (("class B:",), 12),
        (("class B", "def run"), 12),
        (("    def walk(self):",), 7),
    ],
)
def test_sections_narrow_the_place(sections: tuple[str, ...], row: int) -> None:
    wanted = CODE.split("\n")
    wanted[row] = "        halt()"
    assert patched(CODE, hunk(GO, sections=sections)) == "\n".join(wanted)


@pytest.mark.parametrize("sections", [("class A:",), ("def run(self):",), ()])
def test_a_section_that_does_not_tell_is_ambiguous(sections: tuple[str, ...]) -> None:
    assert refused(CODE, hunk(GO, sections=sections)).code == "ambiguous"


@pytest.mark.parametrize(
    ("sections", "missing", "nearest"),
    [
        (("class Target:",), "class Target:", "line 1, 'class A:'"),
        (
            ("class B:", "def walk(self, fast):"),
            "def walk(self, fast):",
            "line 6, 'def walk(self):",
        ),
        (("def ru",), "def ru", "def run"),
    ],
)
def test_a_section_that_does_not_exist_is_refused(
    sections: tuple[str, ...], missing: str, nearest: str
) -> None:
    change = hunk("         go()\n-        stop()\n+        halt()", sections=sections)
    text = CODE.partition("    def walk")[0] + lines(
        "class B:", "    def walk(self):", "        x()"
    )
    miss = refused(text, change)
    assert miss.code == "not_found"
    assert f"no section '{missing}'" in miss.message
    assert nearest.partition(",")[2].strip(" '") in miss.message
    assert miss.candidates


def test_sections_decide_between_drifted_places() -> None:
    body = " go()\n-stop()\n+halt()"
    above, _, below = CODE.rpartition("stop()")
    named = hunk(body, sections=("class B:",))
    assert patched(CODE, named) == f"{above}halt(){below}"
    assert patched(CODE, hunk(body, 11)) == f"{above}halt(){below}"
    assert refused(CODE, hunk(body)).code == "ambiguous"


def test_a_section_that_does_not_exist_is_a_mere_hint_beside_numbers() -> None:
    change = hunk(GO.replace("go", "x").replace("stop", "y"), 2, sections=("def gone():",))
    text = CODE.replace("go()", "x()", 1).replace("stop()", "y()", 1)
    assert "halt()" in patched(text, change)


def test_nested_sections_must_exist_below_each_other() -> None:
    change = hunk("-        go()\n+        x()", sections=("class B:", "def walk(self):"))
    assert "no 'def walk(self):' below 'class B:'" in refused(CODE, change).message


def test_a_place_above_its_section_is_not_taken() -> None:
    text = lines("go()", "class A:", "    pass")
    assert refused(text, hunk("-go()\n+stop()", sections=("class A:",)))


def test_too_much_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sectioned = hunk(GO, 999, sections=("class B:",))
    monkeypatch.setattr(search, "SECTION_WORK", 15)
    assert "halt()" in patched(CODE, sectioned)
    monkeypatch.setattr(search, "SECTION_WORK", 14)
    assert "occur too often" in refused(CODE, sectioned).message
    drifted = hunk(" stop()\n-class B:\n+class C:")
    monkeypatch.setattr(sequence, "LOOSE_WORK", CODE.count("\n"))
    assert "class C:" in patched(CODE, drifted)
    monkeypatch.setattr(sequence, "LOOSE_WORK", CODE.count("\n") - 1)
    assert "too many changes" in refused(CODE, drifted).message


def test_lines_alone_come_in_at_the_end_of_a_file_or_into_an_empty_one() -> None:
    assert patched(ABC, hunk("+zeta", at_end=True)) == ABC + "zeta\n"
    assert patched("", hunk("+zeta")) == "zeta\n"
    assert refused(ABC, hunk("+zeta")).message == "it has no context lines"


def test_changes_that_have_no_order_in_an_empty_file_are_refused() -> None:
    both = (hunk("+one", at_end=True), hunk("+two", at_end=True))
    assert refused("", *both).code == "overlap"


def test_a_missing_final_newline_does_not_depend_on_line_endings() -> None:
    text = "one\r\ntwo\r\n"
    assert patched(text, hunk(" one\n-two\n+two", at_end=True)) == text


def test_headings_are_sections_too() -> None:
    text = lines("## One", "", "text here", "", "## Two", "", "text here", "", "## Three")
    change = hunk("-text here\n+other", sections=("## Two",))
    assert patched(text, change).split("\n")[6] == "other"


def test_blank_lines_at_the_ends_tell_places_apart() -> None:
    text = lines("a = 1", "b = 2  ", "x", "", "a = 1", "b = 2  ", "y")
    change = hunk(" \n a = 1\n-b = 2\n+b = 3")
    assert patched(text, change) == text.replace("b = 2  \ny", "b = 3\ny")


def test_lines_that_the_hunk_does_not_name_are_not_taken_away() -> None:
    text = lines(
        *(f"line number {name}" for name in ("one", "two", "three", "four", "five", "six"))
    )
    body = text.replace("line number three\n", "").replace("line", "-line").rstrip("\n")
    assert refused(text, hunk(f"{body}\n+something else")).code == "not_found"


GAP = lines("first(one)", "{", "second(two)", "// note", "}", "third(three)", "fourth(four)")


def test_structural_lines_that_the_hunk_lacks() -> None:
    change = hunk(" first(one)\n second(two)\n third(three)\n-fourth(four)\n+x", 0)
    assert patched(GAP, change) == GAP.replace("fourth(four)", "x")
    change = hunk(" second(two)\n third(three)\n-fourth(four)\n+x")
    assert patched(GAP, change) == GAP.replace("fourth(four)", "x")
    assert placed(GAP, change)[0].rung == "context"


@pytest.mark.parametrize(
    "body",
    [
        " second(two)\n+x\n third(three)\n fourth(four)",
        " second(two)\n-third(three)\n+x\n fourth(four)",
    ],
)
def test_a_gap_beside_a_change_is_not_bridged(body: str) -> None:
    assert refused(GAP, hunk(body)).code in ("not_found", "ambiguous")


def test_inner_context_that_the_file_lacks() -> None:
    change = hunk(" alpha\n nowhere_to_be_found\n beta\n-gamma\n+G\n delta")
    assert patched(ABC, change) == ABC.replace("gamma", "G")
    assert placed(ABC, change)[0].rung == "context"


def test_invented_context_below_another_hunk() -> None:
    text = lines("top = 1") + ABC
    change = hunk(" alpha\n nowhere_to_be_found\n beta\n-gamma\n+G\n delta")
    assert patched(text, hunk("-top = 1\n+top = 2"), change) == lines("top = 2") + ABC.replace(
        "gamma", "G"
    )


def test_gaps_may_come_with_another_indentation() -> None:
    text = "".join(f"        {line}\n" for line in GAP.splitlines())
    change = hunk(" second(two)\n third(three)\n-fourth(four)\n+x")
    assert patched(text, change) == text.replace("fourth(four)", "x")
    invented = hunk(" second(two)\n // note\n ghost\n }\n third(three)\n-fourth(four)\n+x")
    assert patched(GAP, invented) == GAP.replace("fourth(four)", "x")
    assert refused(text, invented).code == "not_found"


def test_a_comment_may_begin_as_a_directive_does() -> None:
    text = lines("one(1)", "# if it is so", "two(2)", "three(3)")
    change = hunk(" one(1)\n two(2)\n-three(3)\n+3")
    assert patched(text, change) == text.replace("three(3)", "3")


def test_lines_that_go_are_anchors_as_well() -> None:
    text = lines("#", "", "types = {", "    'c': char,", "    'b': byte,", "    }", "", "#", "end")
    body = (
        " #\n imagined\n \n types = {\n-    'c': char,\n-    'b': byte,\n"
        "+    'c': c_char,\n+    'b': c_byte,\n     }\n \n #"
    )
    assert patched(text, hunk(body)) == text.replace(": char", ": c_char").replace(
        ": byte", ": c_byte"
    )


@pytest.mark.parametrize(
    "body",
    [
        " alpha\n ghost\n-beta\n+B",
        " alpha\n ghost\n ghoul\n ghast\n-beta\n+B\n gamma",
        " alpha\n-ghost\n+B\n gamma",
    ],
)
def test_no_other_line_is_dropped(body: str) -> None:
    assert refused(ABC, hunk(body)).code == "not_found"


def test_the_exact_profile_tolerates_nothing() -> None:
    assert patched(ABC, hunk("-beta\n+B", 30), profile="exact") == ABC.replace("beta", "B")
    crlf = ABC.replace("\n", "\r\n")
    assert patched(crlf, hunk("-beta\n+B"), profile="exact") == crlf.replace("beta", "B")
    assert refused(ABC, hunk("   beta\n-gamma\n+G\n delta"), profile="exact").code == "not_found"


def test_verbatim_takes_new_lines_as_they_are() -> None:
    text = lines("if x:", "    one(1)", "    two(2)")
    change = hunk(" one(1)\n+more(3)\n two(2)")
    assert patched(text, change) == text.replace("    two", "    more(3)\n    two")
    assert patched(text, change, verbatim=True) == text.replace("    two", "more(3)\n    two")


def test_verbatim_refuses_where_lines_do_not_correspond() -> None:
    text = lines("first(one)", "// note", "second(two)", "third(three)", "fourth(four)")
    change = hunk(" first(one)\n second(two)\n-third(three)\n+x\n fourth(four)")
    assert patched(text, change) == text.replace("third(three)", "x")
    assert refused(text, change, verbatim=True).code == "not_found"


def test_blank_lines_do_not_slide() -> None:
    text = lines("    done()", "", "def handle(error):", "    told(error)", " ", "    more()  ")
    change = hunk("     done()\n-\n-def handle(error):\n-    told(error)\n \n     more()")
    assert patched(text, change) == lines("    done()", " ", "    more()  ")


def test_a_line_that_comes_inherits_nothing_of_one_that_stays() -> None:
    text = lines("if a:", "    codes.append((ASSERT, p))", "else:", "    codes.append((NOT, p)) ")
    change = hunk(
        " if a:\n     codes.append((ASSERT, p))\n-else:\n+elif p:\n     codes.append((NOT, p))\n"
        "+else:\n+    codes.append((FAILURE, p))"
    )
    assert patched(text, change) == text.replace("else", "elif p") + lines(
        "else:", "    codes.append((FAILURE, p))"
    )


def test_a_line_may_move_within_its_hunk() -> None:
    text = lines("one(1)", "two(2)  ", "three(3)  ", "four(4)")
    change = hunk("-two(2)\n one(1)\n+two(2)")
    assert "already there" in refused(text, change).message
    change = hunk(" one(1)\n-two(2)\n three(3)\n+two(2)\n four(4)")
    assert patched(text, change) == lines("one(1)", "three(3)  ", "two(2)", "four(4)")


def test_a_typo_does_not_let_lines_slide() -> None:
    text = lines("first line of text", "\t", "third line of text", "fourth line of it", "end here")
    body = " first line of txet\n \n+new one\n+\n third line of text\n fourth line of it\n end here"
    assert patched(text, hunk(body)) == text.replace("third", "new one\n\nthird")


marked = st.lists(
    st.one_of(
        st.tuples(st.just(" "), st.sampled_from(["same", "    same", "", "}"])),
        st.tuples(st.just("-"), st.sampled_from(["gone", "    gone", ""])),
        st.tuples(st.just("+"), st.sampled_from(["brought", "    brought", "", "}"])),
    ),
    min_size=1,
    max_size=12,
)


@given(marked, st.lists(st.sampled_from(["", " ", "\t"]), min_size=14, max_size=14))
def test_what_a_hunk_does_is_what_its_marks_say(
    body: list[tuple[str, str]], blanks: list[str]
) -> None:
    body = [(" ", "head = 1"), *body, (" ", "tail = 2")]
    old = [f"{line}{blank}" for (op, line), blank in zip(body, blanks, strict=False) if op != "+"]
    # A blank of the file keeps the old lines from being found exactly.
    old[0] += " "
    left = iter(old)
    new = []
    for op, line in body:
        mine = line if op == "+" else next(left)
        new += [mine] if op != "-" else []
    change = hunk("\n".join(f"{op}{line}" for op, line in body))
    if {op for op, _ in body} != {" "}:
        with suppress(MatchError):
            assert patched(lines("top", *old, "end"), change) == lines("top", *new, "end")


def test_lines_further_in_than_their_neighbours_move_as_far() -> None:
    text = lines("class A:", "    X = (1,", "        2)", "    Y = 3", "    Z = 4")
    change = hunk(" Y = 3\n+LONG = (5,\n+        6)\n Z = 4")
    assert patched(text, change) == text.replace("    Z", "    LONG = (5,\n            6)\n    Z")


def test_another_unit_is_scaled() -> None:
    text = lines("def f():", "    if a:", "        one(1)", "    two(2)", "    three(3)")
    change = hunk("   two(2)\n+  if b:\n+    four(4)\n   three(3)")
    assert patched(text, change) == text.replace(
        "    three", "    if b:\n        four(4)\n    three"
    )


@pytest.mark.parametrize(
    ("text", "change", "below", "added"),
    [
        # A tab stands for as many blanks as the old lines say.
        (
            lines("def f():", "\tif a:", "\t\tone(1)", "\t\ttwo(2)", "top = 1"),
            "         one(1)\n+at_margin = 3\n         two(2)",
            "\t\ttwo",
            "at_margin = 3\n",
        ),
        # Tabs below old lines at the margin become the file's blanks.
        (
            lines("def f():", "    return 1", "", "last = two  ", "other = 3"),
            " last = two\n+def g():\n+\treturn 2\n other = 3",
            "other",
            "def g():\n    return 2\n",
        ),
    ],
)
def test_tabs_and_blanks_follow_the_file(text: str, change: str, below: str, added: str) -> None:
    assert patched(text, hunk(change)) == text.replace(below, added + below)


@given(st.lists(st.sampled_from(["", "a", "b"]), min_size=3, max_size=12), st.data())
def test_common_lines_are_found_as_rare_ones_are(names: list[str], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    keys = names * 1000
    rows = range(len(keys) - len(wanted) + 1)
    slow = [row for row in rows if keys[row : row + len(wanted)] == wanted]
    assert LineIndex(keys).find(wanted) == slow


FUNCTIONS = "".join(f"def f{n}(a):\n    return a + {n}\n\n" for n in range(9))


def test_a_hunk_that_is_nowhere_shows_what_is_like_it() -> None:
    miss = refused(FUNCTIONS, hunk("-def gamma(three):\n+x"))
    assert [(*near[:2], near.text) for near in miss.candidates] == [(1, 1, "def f0(a):")]
    miss = refused(FUNCTIONS, hunk(" another\n-def f4(a):\n+x"))
    assert any("def f4(a):" in near.text for near in miss.candidates)


@pytest.mark.parametrize(
    ("row", "first", "last"), [(-1, 1, 2), (0, 1, 2), (2, 3, 4), (4, 5, 5), (40, 5, 5)]
)
def test_a_hunk_that_is_like_nothing_shows_the_lines_that_it_names(
    row: int, first: int, last: int
) -> None:
    (near,) = refused(ABC, hunk("-0123456789\n-9876543210\n+x", row)).candidates
    assert (near.start_line, near.end_line, near.similarity) == (first, last, 0.0)


@pytest.mark.parametrize(
    "bad", [" def f5(a):\n-    return a - other_5\n+x", " def f(a):\n-    return a + 5\n+x"]
)
def test_what_a_refused_hunk_offers_occurs_once_in_the_file(bad: str) -> None:
    text = FUNCTIONS.replace("(a)", "(first_value)").replace("a + ", "first_value + ")
    bad = bad.replace("(a)", "(first_value)").replace("a + ", "first_value + ")
    good = hunk(" def f1(first_value):\n-    return first_value + 1\n+x")
    offers = [near for near in refused(text, good, hunk(bad)).candidates if near.old_string]
    assert offers
    for near in offers:
        assert near.old_string is not None
        assert near.old_start_line is not None
        assert text.count(near.old_string) == 1
        first = near.old_string.split("\n")[0]
        assert text.split("\n")[near.old_start_line - 1] == first
