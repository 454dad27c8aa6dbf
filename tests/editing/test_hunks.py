"""Patches of one file, whatever format their hunks came in."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_boocode.editing.edits import AppliedEdit, MatchOptions, MissError
from git_boocode.editing.formats.unified import Diffs
from git_boocode.editing.patch import PatchAction, PatchHunk, PatchLine
from git_boocode.editing.text_changes import unified_diff
from git_boocode.editing.textfile import FileText, decode
from tests.matching.kit import ABC, TWIN, TWINS, lines
from tests.repo_kit import Repo


def hunk(body: str, start: int | None = None, **more: object) -> PatchHunk:
    """A hunk from lines that begin with their sign; `~` at the end of one: no line ending."""
    lines = [
        PatchLine(line[0], line[1:-1] if line.endswith("~") else f"{line[1:]}\n")
        for line in body.split("\n")
    ]
    return PatchHunk("@@", 1, tuple(lines), start)._replace(**more)  # type: ignore[arg-type]


def patched(
    text: str, *hunks: PatchHunk, how: MatchOptions | None = None, preimage: str | None = None
) -> str:
    result = PatchAction(hunks, preimage).apply(FileText(text), how or MatchOptions())
    assert result.text is not None
    return result.text.text


def applied(text: str, *hunks: PatchHunk) -> AppliedEdit:
    return PatchAction(hunks).apply(FileText(text), MatchOptions()).applied


def refused(text: str, *hunks: PatchHunk, how: MatchOptions | None = None) -> MissError:
    with pytest.raises(MissError) as caught:
        PatchAction(hunks).apply(FileText(text), how or MatchOptions())
    return caught.value


def test_a_hunk_in_place() -> None:
    change = hunk(" alpha\n-beta\n+BETA\n+more\n gamma", 0)
    assert patched(ABC, change) == lines("alpha", "BETA", "more", "gamma", "delta", "epsilon")
    assert applied(ABC, change) == AppliedEdit("exact", "exact", 1.0, 1, 2, 2)


def test_an_insertion_touches_no_line() -> None:
    found = applied(ABC, hunk(" alpha\n+x\n beta", 0))
    assert (found.start_line, found.end_line) == (2, 1)


def test_a_wrong_number_is_noted() -> None:
    assert applied(ABC, hunk(" beta\n-gamma\n+GAMMA", 3)).notes == (
        "hunk 1: 2 lines above its number",
    )


@pytest.mark.parametrize("start", [None, 0, 2, 4, 6])
def test_a_number_beside_an_equal_place_decides_nothing(start: int | None) -> None:
    error = refused(TWINS, hunk(TWIN, start))
    assert (error.code, error.lines) == ("ambiguous", (2, 6))
    assert "at lines 2 and 6" in error.message


def test_every_failing_hunk_is_told() -> None:
    error = refused(ABC, hunk("-nothing\n+x"), hunk("-beta\n+B"), hunk("-no such line\n+y"))
    assert error.code == "not_found"
    assert "hunk 1 of 3" in error.message
    assert "hunk 3 of 3" in error.message
    assert "hunk 2" not in error.message
    assert "no line is 'nothing'" in error.message


def test_a_failure_shows_what_the_file_holds() -> None:
    text = lines("def area(width, height):", "    total = width * height", "    return total")
    error = refused(text, hunk(" def area(width, height):\n-    total = 2\n+    total = 3", 0))
    assert "expected '    total = 2', line 2 is '    total = width * height'" in error.message
    assert error.candidates[0].start_line == 1


# Endings


@pytest.mark.parametrize(
    ("text", "body", "result"),
    [
        ("a\nb", " a\n-b~\n+c~", "a\nc"),
        ("a\nb", " a\n-b~\n+b", "a\nb\n"),
        ("a\nb\n", " a\n-b\n+b~", "a\nb"),
        ("a\nb", "-a\n+x\n b~", "x\nb"),
        ("a\nb", " a\n-b~", "a\n"),
        # The marks are missing, or are of another time: the file keeps its ending.
        ("a\nb", " a\n-b\n+c", "a\nc"),
        ("a\nb", " a\n b\n+c", "a\nb\nc"),
        ("a\nb", "-a\n+x\n b", "x\nb"),
        ("a\nb\n", "-a\n+x\n b~", "x\nb\n"),
        ("a\r\nb", " a\n-b~\n+b", "a\r\nb\r\n"),
        ("a\r\nb\r\n", " a\n-b\n+c\r~", "a\r\nc\r"),
    ],
)
def test_final_newlines(text: str, body: str, result: str) -> None:
    assert patched(text, hunk(body, 0)) == result


def test_a_change_of_the_end_must_stand_at_the_end() -> None:
    assert refused("a\nb\nc\n", hunk(" a\n-b\n+b~")).code == "not_found"


@pytest.mark.parametrize("last", [b"", b"\xe9\n"])
def test_a_byte_order_mark_is_not_part_of_the_text(last: bytes) -> None:
    text = decode(b"\xef\xbb\xbfa\nb\n" + last)
    result = PatchAction((hunk(" \ufeffa\n-b\n+c"),)).apply(text, MatchOptions())
    assert result.text is not None
    assert result.text.encode() == b"\xef\xbb\xbfa\nc\n" + last
    with pytest.raises(MissError, match="byte order mark"):
        PatchAction((hunk("-\ufeffa\n+a\n b"),)).apply(text, MatchOptions())


def test_bytes_that_are_no_text_need_an_exact_patch() -> None:
    text = decode(b"caf\xe9\n  one two\nthree\n")
    exact = hunk(" caf\udce9\n-  one two\n+  four\n three")
    result = PatchAction((exact,)).apply(text, MatchOptions())
    assert result.text is not None
    assert result.text.encode() == b"caf\xe9\n  four\nthree\n"
    with pytest.raises(MissError) as caught:
        PatchAction((hunk("-one two\n+four\n three"),)).apply(text, MatchOptions())
    assert caught.value.code == "binary"


# Hunks without an old line


def test_an_insertion_without_context_needs_proof(repo: Repo) -> None:
    insert = hunk("+x", 2)
    assert refused(ABC, insert).code == "not_found"
    blob = repo.git("hash-object", "--stdin", stdin=ABC)
    assert patched(ABC, insert, preimage=blob[:7]) == ABC.replace("gamma", "x\ngamma")
    assert patched("", insert) == "x\n"
    assert patched(ABC, hunk("+x", at_end=True)) == f"{ABC}x\n"


def test_a_patch_for_an_empty_file() -> None:
    made = PatchAction((hunk("+x\n+y", 0),)).apply(None, MatchOptions())
    assert made.text == FileText("x\ny\n")
    assert refused(ABC, hunk("+x", 0)).code == "exists"
    assert patched("", hunk("+x", 0)) == "x\n"
    with pytest.raises(MissError) as caught:
        PatchAction((hunk(" a\n+x", 0),)).apply(None, MatchOptions())
    assert caught.value.code == "missing_file"


# Applied already


def test_a_patch_is_applied_already_if_all_of_its_hunks_are() -> None:
    first, last = hunk(" alpha\n-x\n beta"), hunk(" delta\n-y\n epsilon")
    assert refused(ABC, first, last).code == "already_applied"
    miss = refused(ABC, first, last)
    assert "hunk 1 of 2" in miss.message
    assert "the new text is already there, at lines 1-2; hunk 2" in miss.message
    assert refused(ABC, first, hunk("-zeta\n+Z"), last).code == "not_found"


APPLIED = lines("def one():", "    return compute(10)", "", "def two():", "    return compute(2)")


def test_hunks_that_are_applied_already_stop_no_others() -> None:
    for context in [" def one():\n", ""]:
        for start in [None, 0]:
            first = hunk(f"{context}-    return compute(1)\n+    return compute(10)", start)
            last = hunk("-    return compute(2)\n+    return compute(20)", start and 3)
            assert patched(APPLIED, first, last) == APPLIED.replace("(2)", "(20)")
            found = applied(APPLIED, first, last)
            assert (found.rung, found.count, found.start_line, found.end_line) == ("exact", 1, 5, 5)
            where = "lines 1-2" if context else "line 2"
            assert f"hunk 1: the new text is already there, at {where}" in found.notes


# Indentation

COLUMN = lines("", *(f" 'HAVE_{name}': 1," for name in "ABCDEF"), "")


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(
    "body",
    [
        " 'HAVE_A': 1,\n 'HAVE_B': 1,\n-'HAVE_C': 1,\n+'HAVE_C': 2,\n 'HAVE_D': 1,",
        " 'HAVE_A': 1,\n 'HAVE_B': 1,\n-'HAVE_C': 1,\n 'HAVE_D': 1,\n+'HAVE_X': 1,\n 'HAVE_E': 1,",
        " 'HAVE_A': 1,\n 'HAVE_B': 1,\n+'HAVE_X': 1,\n 'HAVE_C': 1,\n 'HAVE_D': 1,",
    ],
)
def test_an_indentation_that_was_dropped_comes_back(width: int, body: str) -> None:
    text = COLUMN.replace(" 'H", f"{' ' * width}'H")
    full = "\n".join(f"{line[0]}{' ' * width}{line[1:]}" for line in body.split("\n"))
    assert patched(text, hunk(body)) == patched(text, hunk(full))


def test_marks_that_are_missing_are_no_dropped_indentation() -> None:
    change = hunk(" 'HAVE_A': 1,\n- 'HAVE_B': 1,\n+ 'HAVE_B': 2,\n 'HAVE_C': 1,")
    assert patched(COLUMN, change) == COLUMN.replace("B': 1", "B': 2")
    assert applied(COLUMN, change).rung == "exact"
    change = hunk(" 'HAVE_A': 1,\n+ 'HAVE_X': 1,\n 'HAVE_B': 1,")
    assert patched(COLUMN, change) == COLUMN.replace(" 'HAVE_B", " 'HAVE_X': 1,\n 'HAVE_B")
    assert applied(COLUMN, change).rung == "exact"


@pytest.mark.parametrize("depth", [3, 4])
def test_the_unit_of_indentation_shows_whether_marks_are_missing(depth: int) -> None:
    text = lines("def run():", "  go()", "  stop()")
    change = hunk(f"  go()\n+{' ' * depth}more()\n  stop()")
    assert patched(text, change) == text.replace("  stop", "    more()\n  stop")


def test_whether_marks_are_missing_must_show() -> None:
    change = hunk(" 'HAVE_A': 1,\n+     'HAVE_X': 1,\n 'HAVE_B': 1,")
    assert refused(COLUMN, change).code == "not_found"


# What holds for every diff


words = st.sampled_from(
    ["alpha", "  alpha", "beta", "", "}", "gamma()", "-- x", "++ y", "@@", "a\r"]
)
texts = st.tuples(st.lists(words, max_size=30), st.booleans()).map(
    lambda pair: "\n".join(pair[0]) + "\n" * pair[1]
)


def action(diff: str) -> PatchAction:
    (file,) = Diffs(diff).files
    return PatchAction(tuple(file.hunks))


@given(old=texts, new=texts)
@example(old="a\r\nalpha", new="\n")
def test_a_diff_applied_to_its_old_text_gives_the_new_one(old: str, new: str) -> None:
    diff = unified_diff("f", FileText(old), FileText(new))
    if diff and old:
        result = action(diff).apply(FileText(old), MatchOptions())
        assert result.text == FileText(new)


FUNCTIONS = "".join(f"def f{n}(a):\n    return a + {n}\n\n" for n in range(9))


def shown(miss: MissError) -> list[tuple[int, str]]:
    return [(near.start_line, near.text) for near in miss.candidates]


def test_a_hunk_that_is_nowhere_shows_what_its_number_points_at() -> None:
    miss = refused(FUNCTIONS, hunk("-zeta = gamma(three)\n+x", 6))
    assert shown(miss) == [(7, "def f2(a):")]
    why = "the file does not have its lines; expected 'zeta = gamma(three)', line 7 is"
    assert f"{why} 'def f2(a):'" in miss.message
    assert miss.lines == (7,)
    miss = refused(FUNCTIONS, hunk("-zeta = gamma(three)\n+x", 999))
    assert [line for line, _ in shown(miss)] == [27]
    assert shown(refused("", hunk("-zeta\n+x", 3))) == []
    # A hunk that goes on below the end of the file.
    miss = refused(FUNCTIONS, hunk("     return a + 8\n \n-zeta = gamma(three)\n+x", 25))
    assert "expected 'zeta = gamma(three)', line 27 is ''" in miss.message


def test_more_places_are_named_than_shown() -> None:
    miss = refused("x\n" * 12, hunk("-x\n+y"))
    assert (miss.lines, len(miss.candidates)) == ((*range(1, 13),), 10)


def test_every_refused_hunk_has_something_to_show() -> None:
    unanchored = refused(FUNCTIONS, hunk("+new", 4))
    assert "no context lines" in unanchored.message
    assert shown(unanchored) == [(5, "    return a + 1")]
    assert "context" in str(unanchored.hint)
    bad = [hunk(f"-nothing like it {n}\n+x", 3 * n) for n in range(3)]
    assert len(refused(FUNCTIONS, *bad).candidates) == 3
    how = MatchOptions(profile="exact")
    assert refused(FUNCTIONS, hunk("-zeta = gamma(three)\n+x", 6), how=how).candidates


def test_hunks_out_of_order_are_told_what_to_do() -> None:
    five, two = (hunk(f" def f{n}(a):\n-    return a + {n}\n+x") for n in (5, 2))
    miss = refused(FUNCTIONS, five, two)
    assert "out of order" in miss.message
    assert miss.hint == "put the hunks into the order of the file"
