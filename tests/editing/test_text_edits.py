from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.edits import ENCODINGS
from git_boocode.editing.text_changes import text_edits

pytestmark = pytest.mark.slow

LINE_END = re.compile("\r\n|\r|\n")
TEXTS = st.text(st.sampled_from("ab _.\n\r\té€😀\u2028\udcff\u0301"), max_size=60)


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


@given(TEXTS, TEXTS, st.sampled_from(ENCODINGS))
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


@given(TEXTS, TEXTS)
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


def test_a_long_line_does_not_take_long() -> None:
    old = "x, " * 200_000
    edits: list[Any] = text_edits(f"a{old}b", f"c{old}d")
    assert applied(f"a{old}b", edits, "utf-32") == f"c{old}d"
