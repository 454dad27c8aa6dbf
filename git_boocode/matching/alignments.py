"""The place of some lines of an older version, if it does not depend on how the texts are aligned.

Lines that repeat, such as blank ones and closing braces, can be aligned in several ways. Each way
tells another story of what was added, moved and removed, so a place is certain only if all agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.matching.align import PAIR_FLOOR, Hunk, script, similarity
from git_boocode.matching.types import Rows


class Place(NamedTuple):
    """The first row of some lines now, and whether the rows above and below them are the same."""

    first: int
    framed: bool


class Alignments:
    """The ways to align an older version of some lines with those now.

    Both ends of a text count as a row, which is never changed.
    """

    def __init__(self, older: Sequence[str], now: Sequence[str]) -> None:
        self._older = older
        self._now = now

    def place(self, rows: Rows, lines: Sequence[str]) -> Place | None:
        """Where older rows are now, all of them, to replace them by `lines`; None if uncertain.

        An empty range is between two rows of which at least one is the same, and the other one the
        same or similar.
        """
        found = []
        for mapped in self._ways:
            place = self._between(mapped, rows[0]) if rows[0] == rows[1] else _whole(mapped, rows)
            if place is None:
                return None
            found.append(place)
        first, size = found[0].first, rows[1] - rows[0]
        if not all(self._is_same(first, other.first, size, lines) for other in found):
            return None
        return Place(first, all(place.framed for place in found))

    @cached_property
    def _ways(self) -> list[list[int | None]]:
        """For each alignment, the row now of each older row, beginning above the first one."""
        older, now = self._older, self._now
        size, count = len(older), len(now)
        backwards = [
            Hunk(hunk.same, size - hunk.i2, size - hunk.i1, count - hunk.j2, count - hunk.j1)
            for hunk in script(older[::-1], now[::-1])
        ]
        ways = []
        for hunks in (script(older, now), backwards, script(older, now, anchored=True)):
            mapped: list[int | None] = [-1, *[None] * size, count]
            for hunk in hunks:
                if hunk.same:
                    mapped[hunk.i1 + 1 : hunk.i2 + 1] = range(hunk.j1, hunk.j2)
            if mapped not in ways:
                ways.append(mapped)
        return ways

    def _between(self, mapped: Sequence[int | None], row: int) -> Place | None:
        """The place between an older row and the one above it."""
        above, below = mapped[row], mapped[row + 1]
        if above is not None and below is not None:
            return Place(below, framed=True) if below == above + 1 else None
        if above is not None and self._is_edited(mapped, row, above + 1, 1):
            return Place(above + 1, framed=False)
        if below is not None and self._is_edited(mapped, row - 1, below - 1, -1):
            return Place(below, framed=False)
        return None

    def _is_edited(self, mapped: Sequence[int | None], row: int, now: int, step: int) -> bool:
        """Whether an older row is the current one, edited in place with others in a direction."""
        size = 1
        while (end := mapped[row + size * step + 1]) is None:
            size += 1
        alike = end == now + size * step and 0 <= now < len(self._now)
        return alike and similarity(self._older[row], self._now[now], PAIR_FLOOR) > 0

    def _is_same(self, first: int, other: int, size: int, lines: Sequence[str]) -> bool:
        """Whether replacing rows at another place has the same result."""
        top, low = min(first, other), max(first, other)
        now = [*self._now[top : low + size]]
        step = low - top
        return [*lines, *now[size:]] == [*now[:step], *lines]


def _whole(mapped: Sequence[int | None], rows: Rows) -> Place | None:
    first = mapped[rows[0] + 1]
    if first is None:
        return None
    size = rows[1] - rows[0]
    if mapped[rows[0] + 1 : rows[1] + 1] != [*range(first, first + size)]:
        return None
    framed = mapped[rows[0]] == first - 1 and mapped[rows[1] + 1] == first + size
    return Place(first, framed)
