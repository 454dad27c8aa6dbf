"""The change of a text as text edits in the terms of the Language Server Protocol 3.17.

A range counts lines and characters from 0. A line ends with LF, CR LF or CR. A character is a code
unit of the position encoding: `utf-8`, `utf-16` or `utf-32`. A byte order mark is not part of the
text. An editor that applies the edits to the old text has exactly the new text, and keeps cursors,
marks and folds in everything that they do not touch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from git_boocode.editing.edits import DEFAULT_ENCODING
from git_boocode.editing.textfile import shared_ends
from git_boocode.editing.unified_diff import changed_hunks
from git_boocode.matching.text import common_prefix, split_lines

_TOKENS = re.compile(r"\w+|\r\n|\s|.", re.DOTALL)
# Tokens of one side; a longer hunk is replaced as a whole.
_MOST_TOKENS = 5_000


class TextChange(NamedTuple):
    """The characters ``start:end`` of a text, as offsets, and what replaces them."""

    start: int
    end: int
    text: str


class PlacedEdit(NamedTuple):
    """A text change whose ends are positions: a line and a character, from 0."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def text_edits(old: str, new: str, encoding: str = DEFAULT_ENCODING) -> list[dict[str, object]]:
    """The edits that make `new` of `old`, as JSON: in order, disjoint, and as small as tokens."""
    return [
        {"range": {"start": _json(each.start), "end": _json(each.end)}, "newText": each.text}
        for each in placed_edits(old, new, encoding)
    ]


def placed_edits(old: str, new: str, encoding: str = DEFAULT_ENCODING) -> list[PlacedEdit]:
    """The edits that make `new` of `old`; see `text_edits`."""
    positions = _Positions(old, encoding)
    return [
        PlacedEdit(positions.of(each.start), positions.of(each.end), each.text)
        for each in changed_texts(old, new)
    ]


def _json(position: tuple[int, int]) -> dict[str, int]:
    return dict(zip(("line", "character"), position, strict=True))


def changed_texts(old: str, new: str) -> list[TextChange]:
    """The changed parts of a text, in order; none begins or ends inside of a CR LF."""
    above, below = shared_ends(old, new)
    before = split_lines(old[above : len(old) - below])
    after = split_lines(new[above : len(new) - below])
    starts, new_starts = _offsets(before, above), _offsets(after, above)
    found: list[TextChange] = []
    for hunk in changed_hunks(before, after):
        at, new_at = starts[hunk.i1], new_starts[hunk.j1]
        part, new_part = old[at : starts[hunk.i2]], new[new_at : new_starts[hunk.j2]]
        found += (
            TextChange(at + start, at + end, text) for start, end, text in _within(part, new_part)
        )
    return found


def _within(old: str, new: str) -> Iterator[TextChange]:
    """The changed parts of some lines, token by token."""
    before, after = _TOKENS.findall(old), _TOKENS.findall(new)
    if max(len(before), len(after)) > _MOST_TOKENS:
        before, after = [old], [new]
    starts, new_starts = _offsets(before), _offsets(after)
    for hunk in changed_hunks(before, after):
        start, end = starts[hunk.i1], starts[hunk.i2]
        part, text = old[start:end], new[new_starts[hunk.j1] : new_starts[hunk.j2]]
        above = common_prefix(part, text)
        above -= _is_inside_line_end(part, above)
        below = common_prefix(part[above:][::-1], text[above:][::-1])
        below -= _is_inside_line_end(part, len(part) - below)
        yield TextChange(start + above, end - below, text[above : len(text) - below])


def _is_inside_line_end(text: str, offset: int) -> bool:
    return text[offset - 1 : offset + 1] == "\r\n" if offset else False


def _offsets(parts: list[str], first: int = 0) -> list[int]:
    """The offset at which each part begins, and the one at which the last one ends."""
    return [*accumulate(map(len, parts), initial=first)]


class _Positions:
    """Turns the offsets of a text into positions; they come in order, and never inside a CR LF."""

    def __init__(self, text: str, encoding: str) -> None:
        self._text = text
        self._encoding = encoding
        self._at = self._start = self._line = 0  # the last offset, and the start of its line

    def of(self, offset: int) -> tuple[int, int]:
        """The position of an offset."""
        text, passed = self._text, (self._at, offset)
        lines = text.count("\n", *passed) + text.count("\r", *passed) - text.count("\r\n", *passed)
        if lines:
            self._line += lines
            self._start = max(text.rfind("\n", *passed), text.rfind("\r", *passed)) + 1
        self._at = offset
        return self._line, _length(text[self._start : offset], self._encoding)


def _length(text: str, encoding: str) -> int:
    """The length of a text in code units; a byte that is not UTF-8 counts as one."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogateescape"))
    return len(text) + sum(character > "\uffff" for character in text)
