"""Which lines differ between two texts, and where a line stood before earlier edits moved it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.editing.textfile import line_count, split_lines
from git_boocode.matching.text import common_prefix

SMALL = 40_000
"""Up to so many pairs of lines are compared one by one; larger gaps need unique lines in common."""
_MAX_DEPTH = 16


class Range(NamedTuple):
    """Old lines `start` to `end` became `new_start` to `new_end`; from 0, ends exclusive."""

    start: int
    end: int
    new_start: int
    new_end: int


class _Gap(NamedTuple):
    """A stretch of both texts that is still to be compared, and how often it was split."""

    area: Range
    depth: int


def changed_ranges(old: Sequence[str], new: Sequence[str]) -> list[Range]:
    """The ranges in which two lists of lines differ, in order.

    Time stays near linear: large stretches are split at lines that are unique in both, and what
    cannot be split counts as changed as a whole.
    """
    found = _compare(old, new, _Gap(Range(0, len(old), 0, len(new)), 0))
    return _merged(found)


def _compare(old: Sequence[str], new: Sequence[str], gap: _Gap) -> Iterator[Range]:
    area = _trimmed(old, new, gap.area)
    if area.start == area.end or area.new_start == area.new_end:
        if area.end - area.start or area.new_end - area.new_start:
            yield area
    elif (area.end - area.start) * (area.new_end - area.new_start) <= SMALL:
        yield from _by_difflib(old, new, area)
    else:
        yield from _by_unique_lines(old, new, _Gap(area, gap.depth + 1))


def _trimmed(old: Sequence[str], new: Sequence[str], area: Range) -> Range:
    start, end, new_start, new_end = area
    while start < end and new_start < new_end and old[start] == new[new_start]:
        start += 1
        new_start += 1
    while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
        end -= 1
        new_end -= 1
    return Range(start, end, new_start, new_end)


def _by_difflib(old: Sequence[str], new: Sequence[str], area: Range) -> Iterator[Range]:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(
        None, old[area.start : area.end], new[area.new_start : area.new_end], autojunk=False
    )
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield Range(
                start + area.start,
                end + area.start,
                new_start + area.new_start,
                new_end + area.new_start,
            )


def _by_unique_lines(old: Sequence[str], new: Sequence[str], gap: _Gap) -> Iterator[Range]:
    area = gap.area
    anchors = _anchors(old, new, area) if gap.depth < _MAX_DEPTH else []
    if not anchors:
        yield area
        return
    start, new_start = area.start, area.new_start
    for row, new_row in [*anchors, (area.end, area.new_end)]:
        yield from _compare(old, new, _Gap(Range(start, row, new_start, new_row), gap.depth))
        start, new_start = row, new_row


def _anchors(old: Sequence[str], new: Sequence[str], area: Range) -> list[tuple[int, int]]:
    """The longest run of lines unique in both texts that stand in the same order."""
    here = _unique(old, area.start, area.end)
    there = _unique(new, area.new_start, area.new_end)
    pairs = [(row, there[line]) for line, row in here.items() if line in there]
    # Patience sorting: `tops` holds the smallest end of a run of each length.
    tops: list[int] = []
    piles: list[int] = []
    behind: list[int] = []
    for number, (_, new_row) in enumerate(pairs):
        place = bisect_left(tops, new_row)
        behind.append(piles[place - 1] if place else -1)
        tops[place : place + 1] = [new_row]
        piles[place : place + 1] = [number]
    return _unwind(pairs, behind, piles[-1] if piles else -1)


def _unwind(pairs: list[tuple[int, int]], behind: list[int], last: int) -> list[tuple[int, int]]:
    run = []
    while last >= 0:
        run.append(pairs[last])
        last = behind[last]
    return run[::-1]


def _unique(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    seen: dict[str, int] = {}
    for row in range(start, end):
        seen[lines[row]] = -1 if lines[row] in seen else row
    return {line: row for line, row in seen.items() if row >= 0}


def _merged(ranges: Iterator[Range]) -> list[Range]:
    merged: list[Range] = []
    for found in ranges:
        last = merged[-1] if merged else None
        if last and last.end == found.start and last.new_end == found.new_start:
            merged[-1] = Range(last.start, found.end, last.new_start, found.new_end)
        else:
            merged.append(found)
    return merged


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
    if count * len(wanted) > SMALL:
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
