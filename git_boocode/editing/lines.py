"""Which lines differ between two texts, and where a line stood before earlier edits moved it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.editing.textfile import line_count, split_lines
from git_boocode.matching.align import script
from git_boocode.matching.text import common_prefix

_SMALL = 40_000
"""Work up to which every occurrence of the first line is compared."""


class Range(NamedTuple):
    """Old lines `start` to `end` became `new_start` to `new_end`; from 0, ends exclusive."""

    start: int
    end: int
    new_start: int
    new_end: int


def changed_ranges(old: Sequence[str], new: Sequence[str]) -> list[Range]:
    """The ranges in which two lists of lines differ, in order."""
    return [Range(*hunk[1:]) for hunk in script(old, new, anchored=True) if not hunk.same]


class LineMap:
    """Where the lines of a text stood originally, kept up through a sequence of edits."""

    def __init__(self) -> None:
        self._origin: list[int] | None = None

    def follow(self, old: str, new: str) -> None:
        """Take in that a text was edited from old to new."""
        start, end, new_end = _changed_part(old, new)
        before, after = split_lines(old[start:end]), split_lines(new[start:new_end])
        origin = self._origin or list(range(1, line_count(old) + 1))
        first = position = old.count("\n", 0, start)
        now = origin[:first]
        for area in changed_ranges(before, after):
            row = first + area.start
            now += origin[position:row]
            position = first + area.end
            now += _origins(origin[row:position], area, now)
        self._origin = now + origin[position:]

    def original(self, line: int) -> int:
        """The original number of a line; of one that was added, that of a neighbour."""
        if not self._origin or line < 1:
            return line
        return self._origin[min(line, len(self._origin)) - 1]

    def current(self, line: int) -> int:
        """Where an original line stands now; of one that is gone, where the next one does."""
        return bisect_left(self._origin, line) + 1 if self._origin else line

    def original_range(self, start: int, end: int) -> tuple[int, int]:
        """The original numbers of a range of lines; an empty range stays an empty one."""
        if end < start:
            return self.original(end) + 1, self.original(end)
        first, last = self.original(start), self.original(end)
        return first, max(first, last)


def _changed_part(old: str, new: str) -> tuple[int, int, int]:
    """Where the lines that differ begin in both texts, and where they end in the old and the new.

    A few equal lines may be among them; comparing texts is much faster than splitting them.
    """
    start = old.rfind("\n", 0, common_prefix(old, new)) + 1
    below = common_prefix(old[start:][::-1], new[start:][::-1])
    line_end = old.find("\n", len(old) - below)
    left = len(old) - line_end - 1 if line_end >= 0 else 0
    return start, len(old) - left, len(new) - left


def occurrences(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Where some lines, at least one, stand among others, in order; places may overlap.

    Where the first one is rare, every place of it is looked at; else the time is linear, by the
    search of D. Knuth, J. Morris and V. Pratt (1977).
    """
    count = lines.count(wanted[0]) if wanted else 0
    if count * len(wanted) > _SMALL:
        yield from _linearly(lines, wanted)
        return
    at = -1
    for _ in range(count):
        at = lines.index(wanted[0], at + 1)
        if lines[at : at + len(wanted)] == wanted:
            yield at


def _linearly(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    back = [0] * len(wanted)
    same = 0
    for at in range(1, len(wanted)):
        while same and wanted[at] != wanted[same]:
            same = back[same - 1]
        same += wanted[at] == wanted[same]
        back[at] = same
    same = 0
    for row, line in enumerate(lines):
        while same and (same == len(wanted) or line != wanted[same]):
            same = back[same - 1]
        same += line == wanted[same]
        if same == len(wanted):
            yield row + 1 - same


def _origins(replaced: list[int], area: Range, above: list[int]) -> list[int]:
    count = area.new_end - area.new_start
    # Added lines count with the line above them, at the top of the file with the first one.
    replaced = replaced or [above[-1] if above else 1]
    return [replaced[min(row, len(replaced) - 1)] for row in range(count)]
