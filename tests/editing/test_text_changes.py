import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.edits import ENCODINGS
from git_boocode.editing.text_changes import (
    LineMap,
    changed_hunks,
    changed_lines,
    text_edits,
    unified_diff,
    without_common_indentation,
)
from git_boocode.editing.textfile import FileText, decode, line_count, shared_ends
from git_boocode.matching.text import common_prefix, split_lines


@pytest.mark.parametrize(
    ("data", "codec", "text"),
    [
        (b"a\r\n", "utf-8", "a\r\n"),
        (b"\xef\xbb\xbfa", "utf-8-bom", "a"),
        ("\ufeffä".encode("utf-16-le"), "utf-16-le", "ä"),
        ("\ufeffä".encode("utf-16-be"), "utf-16-be", "ä"),
        (b"\xff\xfea", "raw", "\udcff\udcfea"),
        (b"a\xe4", "raw", "a\udce4"),
        (b"a\0", "raw", "a\0"),
        ("\ufeffa".encode("utf-32-le"), "raw", None),
        (b"", "utf-8", ""),
    ],
)
def test_encodings(data: bytes, codec: str, text: str | None) -> None:
    found = decode(data)
    assert found.codec == codec
    assert text is None or found.text == text
    assert found.encode() == data


@given(st.binary() | st.binary().map(lambda data: b"\xff\xfe" + data) | st.text().map(str.encode))
def test_no_byte_is_lost(data: bytes) -> None:
    assert decode(data).encode() == data


@given(st.text("a\n\r\x0b\u2028"))
def test_lines_join_to_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == line_count(text)
    assert all(line.endswith("\n") for line in lines[:-1])


LINES = st.lists(st.sampled_from("abcdefgh"), max_size=12)


@given(LINES, LINES)
def test_changed_hunks_turn_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    hunks = changed_hunks(old, new)
    built, position = [], 0
    for hunk in hunks:
        built += old[position : hunk.i1] + new[hunk.j1 : hunk.j2]
        position = hunk.i2
    assert built + old[position:] == new
    assert (not hunks) == (old == new)


def test_large_texts_are_compared_in_no_time() -> None:
    old = [f"{number}\n" for number in range(60_000)]
    new = ["first\n", *old[:30_000], "middle\n", *old[30_001:], "last\n"]
    assert len(changed_hunks(old, new)) == 3
    same = ["x\n"] * 30_000
    assert len(changed_hunks(["a\n", *same, "b\n"], ["c\n", *same[:-1], "d\n"])) == 1


TEXT = st.lists(st.sampled_from(["a\n", "b\n", "  c\n", "\n", "d\r\n"]), max_size=14).map("".join)


def sides(diff: str) -> list[tuple[int, str, int, str]]:
    """Of each hunk, where it starts in either text and what it shows of it."""
    hunks = []
    for hunk in re.split(r"(?m)^(?=@@)", diff)[1:]:
        header, body = hunk.split("\n", 1)
        numbers = re.findall(r"[-+](\d+)(?:,(\d+))?", header)
        (start, count), (new_start, new_count) = ((int(a), int(b or 1)) for a, b in numbers)
        lines = split_lines(body)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        hunks.append((start, old, new_start, new))
        assert line_count(old) == count
        assert line_count(new) == new_count
    return hunks


@given(TEXT, TEXT)
def test_a_diff_shows_both_texts(old: str, new: str) -> None:
    diff = unified_diff("f", FileText(old), FileText(new))
    assert (diff == "") == (old == new)
    patched = split_lines(old)
    for start, before, _, after in reversed(sides(diff)):
        first = start - 1 if before else start
        assert "".join(patched[first : first + line_count(before)]) == before
        patched[first : first + line_count(before)] = split_lines(after)
    assert "".join(patched) == new


LONG = "".join(f"{number}\n" for number in range(201))


@given(TEXT, TEXT)
def test_changed_lines_are_numbered_in_the_new_text(old: str, new: str) -> None:
    rows, kept, above = split_lines(new), [], 0
    for start, end, lines in changed_lines(FileText(old), FileText(new)):
        assert lines == tuple(row.rstrip("\r\n") for row in rows[start - 1 : end])
        kept += rows[above : start - 1]
        above = end
    kept += rows[above:]
    rest = iter(split_lines(old))
    assert all(row in rest for row in kept)
    diff = unified_diff("f", FileText(old), FileText(new)).split("\n")[3:]
    assert len(rows) - len(kept) == sum(line[:1] == "+" for line in diff)


def test_changed_lines_without_their_text() -> None:
    def changed(old: str | None, new: str | None, codec: str = "utf-8") -> list[Any]:
        sides = (None if text is None else FileText(text, codec) for text in (old, new))
        return [*map(tuple, changed_lines(*sides))]

    assert changed("a\nb\n", "b\n") == [(1, 0, ())]
    assert changed("a\nb\n", "a\n") == [(2, 1, ())]
    assert changed("a", "a\n") == [(1, 1, ("a",))]
    assert changed("a\n", None) == changed("a\n", "a\n") == changed(None, "") == []
    [(start, end, lines)] = changed(None, LONG.removesuffix("200\n"))
    assert (start, end, len(lines)) == (1, 200, 200)
    assert changed("", LONG) == [(1, 201, None)]
    assert changed("\0\na\n", "\0\nb\n", "raw") == [(2, 2, None)]


def git_apply(old: str | None, diff: str, top: Path) -> str:
    subprocess.run(["git", "init", "-q", top], check=True)
    if old is not None:
        (top / "f").write_bytes(old.encode())
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], cwd=top, input=diff.encode(), check=True
    )
    return (top / "f").read_bytes().decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nc"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("", "a\n"),
        (None, "a\n"),
        (None, "a"),
        ("\n".join("abcdefghijklmnopqrstuvwxyz"), "\n".join("AbcdefghiJklmnopqrstuvwxyZ")),
        ("a\x0cb\u2028\n", "a\x0cc\u2028\n"),
    ],
)
def test_git_itself_applies_the_diff(old: str | None, new: str, tmp_path: Path) -> None:
    diff = unified_diff("f", None if old is None else FileText(old), FileText(new))
    assert git_apply(old, diff, tmp_path) == new


@pytest.mark.parametrize("gap", range(9))
def test_hunks_are_cut_where_git_cuts_them(gap: int, tmp_path: Path) -> None:
    old = [f"{number}\n" for number in range(20)]
    new = [*old[:4], "x\n", *old[5 : 5 + gap], "y\n", *old[6 + gap :]]
    for name, lines in (("old", old), ("new", new)):
        (tmp_path / name).write_text("".join(lines))
    done = subprocess.run(
        ["git", "diff", "--no-index", "old", "new"], cwd=tmp_path, capture_output=True, text=True
    )
    ours = unified_diff("f", FileText("".join(old)), FileText("".join(new)))
    theirs = re.sub(r"(?m)^(@@ .* @@).*", r"\1", done.stdout).split("\n", 4)[4]
    assert ours.split("\n", 3)[3] == theirs


def test_names_in_diffs_are_quoted_as_git_does() -> None:
    assert unified_diff("a b", FileText(""), FileText("x\n")).startswith(
        "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n"
    )
    diff = unified_diff('q"\n\udcff', None, FileText("x\n"))
    head, mode, *names = diff.split("\n")[:4]
    assert head == r'diff --git "a/q\"\n\377" "b/q\"\n\377"'
    assert (mode, names) == ("new file mode 100644", ["--- /dev/null", r'+++ "b/q\"\n\377"'])
    assert (
        unified_diff("a", FileText("\0", "raw"), FileText("x"))
        == "diff --git a/a b/a\nBinary files a/a and b/a differ\n"
    )


def test_a_shown_diff_loses_the_common_indentation_of_each_hunk() -> None:
    old = "    a\n\n      b\n" + "x\n" * 20 + "\tc\n"
    new = old.replace("b", "B").replace("c", "C").replace("x\n" * 20, "x\n" * 20)
    shown = without_common_indentation(
        unified_diff("f", FileText("    a\n\n      b\n"), FileText("    a\n\n      B\n"))
    )
    assert shown == "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n \n-  b\n+  B\n"
    assert "-\tc\n" in without_common_indentation(unified_diff("f", FileText(old), FileText(new)))


def test_a_line_map_follows_edits() -> None:
    lines = LineMap()
    lines.follow("a\nb\nc\nd\n", "a\nx\ny\nz\nb\nc\nd\n")
    assert [lines.original(line) for line in range(1, 8)] == [1, 1, 1, 1, 2, 3, 4]
    lines.follow("a\nx\ny\nz\nb\nc\nd\n", "x\ny\nz\nb\nd\n")
    assert lines.original_range(4, 5) == (2, 4)
    assert lines.original_range(6, 5) == (5, 4)
    lines.follow("x\ny\nz\nb\nd\n", "b\nd\n")
    assert [lines.original(line) for line in range(4)] == [0, 2, 4, 4]


@given(TEXT, TEXT, TEXT)
def test_a_line_map_never_leaves_the_original(one: str, two: str, three: str) -> None:
    lines = LineMap()
    lines.follow(one, two)
    lines.follow(two, three)
    for line in range(1, line_count(three) + 1):
        assert 1 <= lines.original(line) <= max(line_count(one), 1)


@given(st.text("ab\n", max_size=30), st.text("ab\n", max_size=30))
def test_lines_that_did_not_change_are_left_out(old: str, new: str) -> None:
    count = common_prefix(old, new)
    assert old[:count] == new[:count]
    assert count in (len(old), len(new)) or old[count] != new[count]
    above, below = shared_ends(old, new)
    assert old[:above] == new[:above]
    assert old[len(old) - below :] == new[len(new) - below :]
    # They are whole lines, and do not overlap.
    assert f"\n{new}"[above] == "\n"
    assert below == 0 or new[len(new) - below - 1] == "\n"
    assert above + below <= min(len(old), len(new))


# Text edits, as an editor applies them.

LINE_END = re.compile("\r\n|\r|\n")
EDITED = st.text(st.sampled_from("ab _.\n\r\té€😀\u2028\udcff\u0301"), max_size=60)


def units(text: str, encoding: str) -> int:
    """The length of a text as an editor with this position encoding counts it."""
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogateescape") if encoding == "utf-8" else text)


def offset(text: str, position: dict[str, int], encoding: str) -> int:
    """The offset of a position, found as an editor does it: line by line, then unit by unit."""
    starts = [0, *(found.end() for found in LINE_END.finditer(text))]
    start = starts[position["line"]]
    found = LINE_END.search(text, start)
    for end in range(start, (found.start() if found else len(text)) + 1):
        if units(text[start:end], encoding) == position["character"]:
            return end
    raise AssertionError(f"there is no {position} in {text!r}")


def applied(text: str, edits: list[dict[str, Any]], encoding: str = "utf-16") -> str:
    """The text after the edits, from the last one to the first, as editors do it."""
    for edit in reversed(edits):
        start, end = (offset(text, edit["range"][key], encoding) for key in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text


@given(EDITED, EDITED, st.sampled_from(ENCODINGS))
def test_applying_the_edits_makes_the_new_text(old: str, new: str, encoding: str) -> None:
    edits: list[Any] = text_edits(old, new, encoding)
    assert applied(old, edits, encoding) == new
    places = [
        [(at["line"], at["character"]) for at in (edit["range"]["start"], edit["range"]["end"])]
        for edit in edits
    ]
    assert all(start <= end for start, end in places)
    assert all(one[1] < two[0] for one, two in pairwise(places))
    if old == new:
        assert edits == []


@given(EDITED, EDITED)
def test_edits_replace_no_more_than_they_must(old: str, new: str) -> None:
    edits: list[Any] = text_edits(old, new)
    for edit in edits:
        start, end = (offset(old, edit["range"][key], "utf-16") for key in ("start", "end"))
        gone, text = old[start:end], edit["newText"]
        assert gone != text
        # A CR LF is never cut in two.
        if gone and text and not {"\r", "\n"} & {gone[0], gone[-1], text[0], text[-1]}:
            assert gone[0] != text[0]
            assert gone[-1] != text[-1]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("a b c\n", "a x c\n", [((0, 2), (0, 3), "x")]),
        ("one\n", "one\ntwo\n", [((1, 0), (1, 0), "two\n")]),
        ("one\ntwo", "one", [((0, 3), (1, 3), "")]),
        ("a\r\nb\r\n", "a\nb\r\n", [((0, 1), (1, 0), "\n")]),
        ("😀 é\n", "😀 e\n", [((0, 3), (0, 4), "e")]),
        ("f(1) g(2)\nsame\nh(3)\n", "f(9) g(8)\nsame\nh(7)\n",
         [((0, 2), (0, 3), "9"), ((0, 7), (0, 8), "8"), ((2, 2), (2, 3), "7")]),
        ("", "new\n", [((0, 0), (0, 0), "new\n")]),
        ("gone\n", "", [((0, 0), (1, 0), "")]),
    ],
)  # fmt: skip
def test_where_edits_are(old: str, new: str, wanted: list[Any]) -> None:
    edits: list[Any] = text_edits(old, new)
    assert [
        (tuple(edit["range"]["start"].values()), tuple(edit["range"]["end"].values()),
         edit["newText"])
        for edit in edits
    ] == wanted  # fmt: skip


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_characters_are_units_of_the_encoding(encoding: str, character: int) -> None:
    [edit] = text_edits("😀a", "😀b", encoding)
    assert edit["range"] == {
        "start": {"line": 0, "character": character},
        "end": {"line": 0, "character": character + 1},
    }


@pytest.mark.slow
def test_a_long_line_does_not_take_long() -> None:
    old = "x, " * 200_000
    edits: list[Any] = text_edits(f"a{old}b", f"c{old}d")
    assert applied(f"a{old}b", edits, "utf-32") == f"c{old}d"
