"""The format `region`: anchors, what stands between them, and all that can be wrong with either."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.edits import Action, EditResult, MatchOptions, MissError
from git_boocode.editing.textfile import FileText, decode
from tests.editing.kit import read

FILE = """\
import os


class Greeter:
    def hello(self, name):
        if name:
            print(name)
        return 1

    def bye(self):
        print("bye")
        return 2
"""


def action(*changes: object) -> Action:
    (edit,) = read({"path": "a", "changes": list(changes)}).edits
    assert edit.format == "region"
    return edit.action


def change(start: object, content: object, end: object = None) -> dict[str, object]:
    return {"start": start, "content": content} | ({} if end is None else {"end": end})


def result(text: str | FileText, *changes: object, how: MatchOptions | None = None) -> EditResult:
    given = FileText(text) if isinstance(text, str) else text
    return action(*changes).apply(given, how or MatchOptions())


def applied(text: str, *changes: object, how: MatchOptions | None = None) -> str:
    done = result(text, *changes, how=how).text
    assert done is not None
    return done.text


def miss(
    text: str | FileText | None, *changes: object, how: MatchOptions | None = None
) -> MissError:
    given = FileText(text) if isinstance(text, str) else text
    with pytest.raises(MissError) as caught:
        action(*changes).apply(given, how or MatchOptions())
    return caught.value


def refusal(value: object) -> str:
    inputs = read(value)
    assert not inputs.edits
    assert {failure.code for failure in inputs.failures} == {"invalid_input"}
    return "\n".join(failure.message for failure in inputs.failures)


# What is replaced


def test_a_region_runs_to_the_last_line_of_end() -> None:
    done = result(FILE, change(["    def bye(self):"], ["    pass"], ["        return 2"]))
    assert done.text == FileText(FILE[: FILE.index("    def bye")] + "    pass\n")
    assert done.applied[:6] == ("exact", "exact", 1.0, 1, 10, 12)


def test_text_counts_as_lines() -> None:
    for content in ("x\ny", "x\ny\n", ["x\ny"], ["x\n", "y\n"], ["x\r\n", "y"]):
        assert applied("a\nb\nc\nd\n", change("b\nc\n", content)) == "a\nx\ny\nd\n"


@pytest.mark.parametrize("content", ["", []])
def test_empty_content_deletes(content: object) -> None:
    assert applied("a\nb\nc\n", change(["b"], content)) == "a\nc\n"
    assert applied("a\nb\nc\n", change(["a"], content, ["c"])) == ""


@pytest.mark.parametrize("content", ["\n", [""]])
def test_an_empty_line_is_a_line(content: object) -> None:
    assert applied("a\nb\nc\n", change(["b"], content)) == "a\n\nc\n"


def test_an_end_that_repeats_the_start_means_the_start() -> None:
    # The second one would count on a looser rung only.
    assert applied("a\nb\n  a\n", change(["a"], ["x"], ["a"])) == "x\nb\n  a\n"


def test_the_end_is_unique_below_the_start_only() -> None:
    assert applied("}\na\nb\n}\nc\n", change(["a"], ["x"], ["}"])) == "}\nx\nc\n"


def test_changes_are_located_in_the_original() -> None:
    # The first change would make the second anchor ambiguous, the third one's a different line.
    changes = [change(["a"], ["b", "c"]), change(["b"], ["c"]), change(["c"], [])]
    for order in (changes, changes[::-1]):
        done = result("a\nb\nc\nd\n", *order)
        assert done.text == FileText("b\nc\nc\nd\n")
        assert done.applied.count == 3
        assert (done.applied.start_line, done.applied.end_line) == (1, 3)
        assert done.applied.notes == ("regions: line 1, line 2, line 3",)


def test_one_change_may_stand_without_an_array() -> None:
    (edit,) = read({"path": "a", "start": "a", "end": "c", "content": "x"}).edits
    assert edit.format == "region"
    assert edit.action.apply(FileText("a\nb\nc\nd\n"), MatchOptions()).text == FileText("x\nd\n")


# How anchors match


@pytest.mark.parametrize(
    ("text", "rung"),
    [("x\na b\ny\n", "exact"), ("x\na b \t\ny\n", "rstripped"), ("x\n\ta b\ny\n", "line_trimmed")],
)
def test_rungs(text: str, rung: str) -> None:
    applied = result(text, change(["a b"], [])).applied
    assert (applied.rung, applied.kind) == (rung, "exact" if rung == "exact" else "fuzzy")
    if rung != "exact":
        assert miss(text, change(["a b"], []), how=MatchOptions("exact")).code == "not_found"


def test_a_stricter_match_goes_first() -> None:
    assert applied("  a\na\n\ta \n", change(["a"], ["x"])) == "  a\nx\n\ta \n"


@pytest.mark.parametrize(
    "anchor", ["a  b", "a", "b", "A b", "ab", "a b c", "“a b”", "a\xa0b", "a b;", "1\ta b", "*"]
)
def test_nothing_looser_matches(anchor: str) -> None:
    assert miss("x\na b\ny\n", change([anchor], ["z"])).code == "not_found"


def test_the_lines_of_an_anchor_stand_one_below_the_other() -> None:
    assert miss("a\nx\nb\n", change(["a", "b"], [])).code == "not_found"
    assert applied("a\nb\na\nc\n", change(["a", "c"], [])) == "a\nb\n"


def test_an_anchor_that_is_not_unique_names_the_lines() -> None:
    text = "x\n" * 41 + "y\n" + "x\n" * 144 + "y\n"
    error = miss(text, change(["y"], ["z"]))
    assert error.code == "ambiguous"
    assert error.message == "start anchor not unique (lines 42, 187)"
    assert error.lines == (42, 187)
    assert [place.start_line for place in error.candidates] == [42, 187]
    many = miss("y\n" * 50, change(["y"], ["z"]))
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 40 more" in many.message
    assert (len(many.lines), len(many.candidates)) == (50, 3)
    assert " more" not in miss("y\n" * 10, change(["y"], ["z"])).message


def test_an_anchor_that_is_not_unique_comes_with_lines_that_are() -> None:
    text = "a\nx\n\nb\nx\n"
    places = miss(text, change(["x"], [])).candidates
    assert [place.old_string for place in places] == ["a\nx", "b\nx"]
    assert [place.where for place in places] == ["line 2", "line 5"]
    for place in places:
        assert place.old_string is not None
        assert result(text, change(place.old_string, [])).applied.rung == "exact"
    # No more lines than an anchor may have, and none for an end, which is unique below only.
    for between, shown in (("y\ny\n", ["a\ny\ny\nx", "b\ny\ny\nx"]), ("y\ny\ny\n", [None, None])):
        same = f"{between}x\n" + "z\n" * 9
        error = miss(f"a\n{same}b\n{same}", change(["x"], []))
        assert [place.old_string for place in error.candidates] == shown
    assert miss("y\n" * 200, change(["y"], [])).candidates[0].old_string is None
    error = miss(f"start\n{text}", change(["start"], [], ["x"]))
    assert [place.old_string for place in error.candidates] == [None, None]


def test_an_end_that_is_not_unique_below_the_start() -> None:
    error = miss("}\na\n}\n}\n", change(["a"], [], ["}"]))
    assert (error.code, error.lines) == ("ambiguous", (3, 4))
    assert error.message == "end anchor not unique below line 2 (lines 3, 4)"


def test_an_end_above_the_start_is_not_found() -> None:
    error = miss("b\nx\na\ny\n", change(["a"], [], ["b"]))
    assert error.message == "end anchor not found below line 3; it occurs above that, at line 1"
    assert error.lines == (1,)
    # It does not share lines with the start either.
    assert miss("a\nb\nc\n", change(["a", "b"], [], ["b", "c"])).code == "not_found"


def test_the_nearest_lines_are_shown() -> None:
    error = miss(FILE, change(["    def hello(self, nam):"], []))
    assert error.code == "not_found"
    assert error.candidates[0].start_line == error.lines[0] == 5
    assert error.candidates[0].text == "    def hello(self, name):"
    assert "nearest is line 5" in error.message
    below = miss(FILE, change(["    def bye(self):"], [], ["        return 3"]))
    assert below.candidates[0][:2] == (12, 12)
    part = miss(FILE, change(["print(name"], []))
    assert part.candidates[0].text == "            print(name)"


def test_all_that_fails_is_told_and_nothing_is_done() -> None:
    third = change(["        return 1"], [], ["neither"])
    error = miss(FILE, change(["import os"], ["x"]), change(["nope"], []), third)
    assert "changes[1]: start anchor not found" in error.message
    assert "changes[2]: end anchor not found below line 8" in error.message
    assert "changes[0]" not in error.message
    error = miss("a\n", *(change([f"no {n}"], []) for n in range(10)))
    assert "changes[9]" in error.message
    assert " more" not in error.message


def test_of_each_change_that_fails_something_is_shown_first() -> None:
    error = miss("x\nx\nlast line\n", change(["x"], []), change(["last lin"], []))
    assert [near.start_line for near in error.candidates] == [1, 3, 2]
    assert error.message.startswith("changes[0]: start anchor not unique")


def test_overlaps_are_refused() -> None:
    changes = [change(["a"], ["x"], ["c"]), change(["e"], []), change(["c"], ["y"], ["d"])]
    error = miss("a\nb\nc\nd\ne\n", *changes)
    assert (error.code, error.lines) == ("overlap", (1, 3))
    assert error.message == "changes[0] (lines 1-3) and changes[2] (lines 3-4) overlap"
    twice = miss("a\nb\n", change(["a"], ["x"]), change(["a"], ["x"]))
    assert twice.message == "changes[0] (line 1) and changes[1] (line 1) overlap"
    inside = [change(["a"], [], ["e"]), change(["b"], []), change(["d"], [])]
    assert miss("a\nb\nc\nd\ne\n", *inside).message.count("changes[0]") == 2


def test_missing_and_binary_files() -> None:
    assert miss(None, change(["a"], [])).code == "missing_file"
    assert miss("", change(["a"], [])).code == "not_found"
    assert miss(decode(b"a\0b\n"), change(["a"], [])).code == "binary"
    latin = decode("é\na\n".encode("latin-1"))
    assert result(latin, change(["a"], ["b"])).text == decode("é\nb\n".encode("latin-1"))
    assert miss(latin, change([" a"], [])).code == "binary"


# Indentation of the content


def test_content_is_taken_as_given_where_the_anchors_match() -> None:
    done = result(FILE, change(["        return 1"], ["  odd", "\tmixed  ", "", "   "]))
    assert done.text is not None
    assert "\n  odd\n\tmixed  \n\n   \n" in done.text.text
    assert done.applied.notes == ()


def test_blanks_at_line_ends_do_not_move_content() -> None:
    assert applied("  a \n", change(["  a"], ["b"])) == "b\n"


def test_content_moves_with_its_anchors() -> None:
    start = "def hello(self, name):\n    if name:"
    content = "def hello(self, name):\n    if name and self:\n        log()\n"
    done = result(FILE, change(start, content))
    assert done.text is not None
    wanted = "    def hello(self, name):\n        if name and self:\n            log()\n"
    assert wanted in done.text.text
    assert done.applied.notes == ("reindented",)
    assert done.applied.rung == "line_trimmed"


@pytest.mark.parametrize(
    ("text", "start", "end", "content", "wanted"),
    [
        # Lines that stand further in than a step are moved as far as the others.
        (
            "class A:\n    X = (1,\n        2)\n    Y = 3\n",
            "X = (1,",
            "Y = 3",
            ["X = (1,", "        2)", "Y = 3"],
            "    X = (1,\n            2)\n    Y = 3\n",
        ),
        (
            "class A:\n\tX = (1,\n\t\t2)\n\tY = 3\n",
            "    X = (1,",
            "    Y = 3",
            ["    X = (1,", "            2)", "    Y = 3"],
            "\tX = (1,\n\t\t\t2)\n\tY = 3\n",
        ),
        # A line of the anchors may stand deeper than before.
        (
            "def f():\n    # once\n    load(a)\n    if a:\n        b = 1\n",
            "# once\nload(a)",
            "    b = 1",
            ["# once", "try:", "    load(a)", "except:", "    pass", "if a:", "    b = 1"],
            (
                "    # once\n    try:\n        load(a)\n    except:\n        pass\n    if a:\n"
                "        b = 1\n"
            ),
        ),
        # The end tells what the start, at the margin, does not.
        (
            "class A:\n    def f(self):\n        one()\n        two()\n",
            "def f(self):",
            "    two()",
            ["def f(self):", "    two()"],
            "    def f(self):\n        two()\n",
        ),
    ],
)
def test_all_of_content_moves_as_its_anchors_do(
    text: str, start: str, end: str, content: list[str], wanted: str
) -> None:
    head = text.partition("\n")[0]
    assert applied(text, change(start, content, end)) == f"{head}\n{wanted}"


def test_a_stripped_anchor_does_not_move_content_that_is_right() -> None:
    content = ["        if self:", "            return 1"]
    assert "\n".join(content) in applied(FILE, change(["return 1"], content))
    # A line that anchor and content share tells so too.
    content = ["    # says hello", "    def hello(self, name):"]
    assert "\n".join(content) in applied(FILE, change(["def hello(self, name):"], content))


def test_content_that_shares_no_line_with_its_anchors_moves_as_they_do() -> None:
    text = "class A:\n    def f(self):\n        return 1\n    x = 2\n"
    done = applied(text, change(["  x = 2"], ["  if y:", "    x = 3", "  z = 4"]))
    assert done.endswith("return 1\n    if y:\n        x = 3\n    z = 4\n")
    done = applied(text, change(["   x = 2"], ["   y = 3", "   z = 4"]))
    assert done.endswith("return 1\n    y = 3\n    z = 4\n")


def test_content_that_is_stripped_as_its_anchor_is_moves() -> None:
    done = applied(FILE, change(["return 1"], ["if self:", "    return 1"]))
    assert "\n        if self:\n            return 1\n" in done


@pytest.mark.parametrize(
    ("anchors", "content"),
    [
        # Neither as deep as the anchor nor as the file.
        (("return 1", None), ["    return 3"]),
        # Stripped anchors of two depths; the content is as deep as neither.
        (("def hello(self, name):", "return 1"), ["  x = 1"]),
        # One shared line speaks for the file, the other for the model.
        (("def hello(self, name):\nif name:", None), ["    def hello(self, name):", "if name:"]),
        (
            ("def hello(self, name):\nif name:", None),
            ["    def hello(self, name):", "if name:", "    pass"],
        ),
        (
            ("def hello(self, name):\nif name:", None),
            ["x = 1", "    def hello(self, name):", "if name:"],
        ),
    ],
)
def test_content_of_an_unknown_depth_is_refused(
    anchors: tuple[str, str | None], content: list[str]
) -> None:
    error = miss(FILE, change(anchors[0], content, anchors[1]))
    assert error.code == "ambiguous"
    assert "the indentation of the content is unclear" in error.message


TWINS = """\
\"\"\"Top.
\"\"\"
else:
    pass

def f():
    \"\"\"Inner.
    \"\"\"
    n = 1
    if n:
        return 1
    else:
        return 2
"""


@pytest.mark.parametrize(
    ("start", "end", "content"),
    [
        # The other anchor lost its indentation, so the first one probably did too.
        ('"""', "n = 1", ['    """', "    n = 2"]),
        # Content repeats the anchor, as deep as the place that was not named.
        ("else:", None, ["    elif n > 1:", "        pass", "    else:"]),
        # Content begins as deep as the place that was not named.
        ("else:", None, ["    elif n > 1:"]),
    ],
)
def test_an_anchor_that_is_unique_by_a_lost_indentation_is_refused(
    start: str, end: str | None, content: list[str]
) -> None:
    error = miss(TWINS, change(start, content, end))
    assert error.code == "ambiguous"
    assert len(error.lines) == 2


def test_an_anchor_may_be_unique_by_its_indentation() -> None:
    assert "\nelse:\n    x = 1\n    pass" in applied(TWINS, change("else:", ["else:", "    x = 1"]))
    assert "\ntry:\n    pass" in applied(TWINS, change("else:", ["try:"]))
    assert "\n    y = 1\nelse:\n" in applied(TWINS, change("else:", ["    y = 1", "else:"]))


def test_anchors_and_content_that_were_trimmed_as_texts() -> None:
    # The first line of each text lost its indentation, the others did not.
    done = applied(FILE, change("if name:\n            print(name)", "if self:\n            pass"))
    assert "\n        if self:\n            pass\n        return 1\n" in done
    done = applied(FILE, change("print(name)", "print(name)\n            print(self)"))
    assert "\n            print(name)\n            print(self)\n" in done
    done = applied(FILE, change("if name:", "for one in name:\n            if one:"))
    assert "\n        for one in name:\n            if one:\n" in done
    content = "if name:\n            log()\n        return 1"
    done = applied(FILE, change("if name:", content, "return 1"))
    assert "\n        if name:\n            log()\n        return 1\n" in done
    start, content = "if name:\n            print(name)", "            print(name)\nreturn 2"
    done = applied(FILE, change(start, f"if name:\n{content}\nreturn 1", "return 1"))
    assert "        if name:\n            print(name)\n        return 2\n        return 1\n" in done
    # Twice as deep as the file: of all lines, or of all but the first?
    error = miss(FILE, change("if name:", "while name:\n        log()"))
    assert error.code == "ambiguous"


def test_verbatim_content_is_not_moved() -> None:
    done = applied(FILE, change(["return 1"], ["return 3"]), how=MatchOptions(verbatim=True))
    assert "\nreturn 3\n" in done
    # Not even where it is unclear how deep it belongs.
    done = applied(FILE, change(["return 1"], ["    return 3"]), how=MatchOptions(verbatim=True))
    assert "\n    return 3\n" in done


# Line endings


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_missing_final_newline_stays_missing(ending: str) -> None:
    text = f"a{ending}b"
    assert applied(text, change(["b"], ["x", "y"])) == f"a{ending}x{ending}y"
    assert applied(text, change(["b"], [])) == f"a{ending}"
    assert applied("b", change(["b"], ["x", "y"])) == "x\ny"


# What is wrong with an input


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], "the array of changes is empty"),
        ({}, "'changes' is an object; expected an array"),
        ("x", "'changes' is a string"),
        ([1], "'changes[0]' is a number; expected an object"),
        ([{"content": []}], "'changes[0].start' is missing; expected 1 to 4 lines of the file"),
        ([{"line": 3, "content": []}], "or a number as start_line, after_line or before_line"),
        ([{"start": [], "content": []}], "'changes[0].start' has 0 lines; expected 1 to 4"),
        ([{"start": "a\nb\nc\nd\ne\n", "content": []}], "'changes[0].start' has 5 lines"),
        ([{"start": ["a"], "end": ["a"] * 5, "content": []}], "'changes[0].end' has 5 lines"),
        ([{"start": ["a"], "end": 7, "content": []}], "'changes[0].end' is a number"),
        ([{"start": ["a"]}], "'changes[0].content' is missing; expected the lines"),
        ([{"start": ["a"], "content": 1}], "'changes[0].content' is a number"),
        ([{"start": ["a"], "content": [None]}], "'changes[0].content[0]' is null"),
        ([{"start": ["", " "], "content": []}], "'changes[0].start' is blank"),
        ([{"start": ["a"], "end": ["\t"], "content": []}], "'changes[0].end' is blank"),
    ],
)
def test_wrong_keys_are_named(changes: object, expected: str) -> None:
    assert expected in refusal({"path": "a", "changes": changes})


def test_all_wrong_changes_are_named() -> None:
    changes = [change(["a"] * 5, []), change(["a"], ["b"]), {"start": ["a"]}]
    text = refusal({"path": "a", "changes": changes})
    assert "changes[0].start" in text
    assert "changes[2].content" in text


# Properties

LINE = st.sampled_from(["a", " a", "a ", "b", "\tb", "c", "", " ", "}", "x = 1", "é"])
ENDING = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw: Any) -> str:
    lines = draw(st.lists(st.tuples(LINE, ENDING), max_size=12))
    text = "".join(line + ending for line, ending in lines)
    last: str = draw(st.sampled_from(["", "last"]))
    return text + last


ANCHOR = st.lists(LINE, min_size=1, max_size=3).filter(lambda lines: any(map(str.strip, lines)))
CHANGE = st.builds(change, ANCHOR, st.lists(LINE, max_size=3), st.none() | ANCHOR)


@given(files(), st.lists(CHANGE, min_size=1, max_size=3), st.booleans())
def test_outside_the_regions_nothing_changes(
    text: str, changes: list[object], verbatim: bool
) -> None:
    try:
        done = result(text, *changes, how=MatchOptions(verbatim=verbatim))
    except MissError:
        return
    assert done.text is not None
    lines = text.split("\n")
    above = "".join(f"{line}\n" for line in lines[: done.applied.start_line - 1])
    below = "\n".join(lines[done.applied.end_line :])
    assert done.text.text.startswith(above)
    assert done.text.text.endswith(below)


def test_a_refusal_of_many_changes_stays_short() -> None:
    text = "".join(f"l{n}\n" for n in range(700))
    overlapping = [change([f"l{n}"], [], [f"l{n + 5}"]) for n in range(600)]
    with pytest.raises(MissError) as caught:
        result(text, *overlapping)
    assert len(caught.value.message) < 2_000
    assert caught.value.message.endswith("; and 589 more problems")
    assert len(caught.value.lines) == 100
    with pytest.raises(MissError) as caught:
        result(text, *(change([f"m{n}"], []) for n in range(600)))
    assert "and 590 more" in caught.value.message
    assert len(caught.value.candidates) <= 30


def test_a_note_of_many_regions_stays_short() -> None:
    text = "".join(f"l{n}\n" for n in range(600))
    done = result(text, *(change([f"l{n}"], ["x"]) for n in range(600)))
    assert done.applied.notes[-1].endswith("line 10 and 590 more")


def test_no_more_changes_than_are_stated() -> None:
    changes = [{"start": ["x"], "content": []}] * 10_000
    assert len(read({"path": "a", "changes": changes}).edits) == 1
    (failure,) = read({"path": "a", "changes": [*changes, *changes[:1]]}).failures
    assert "too many changes of a file: 10001 (at most 10000)" in failure.message
    (failure,) = read({"path": "a", "changes": [{"content": []}] * 30}).failures
    assert failure.message.endswith(" and 20 more")
