"""The place of some lines of an older version, if it does not depend on how the texts are aligned.

Lines that repeat, such as blank ones and closing braces, can be aligned in several ways. Each way
means that other lines were added, moved and removed, so a place is certain only if all agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.matching.align import PAIR_FLOOR, Hunk, scripts, similarity
from git_boocode.matching.types import Rows

_NEAR = 8  # rows above and below a row that are compared with it
_MARGIN = 0.2  # of similarity, by which an edited row is more similar than those
_Mapped = Sequence[int | None]


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
        found: list[Place] = []
        for way in self._ways:
            if any(None in mapped[rows[0] + 1 : rows[1] + 1] for mapped in way):
                return None
            places = [self._in(mapped, rows) for mapped in way]
            if not any(places):
                return None
            found += filter(None, places)
        first, size = found[0].first, rows[1] - rows[0]
        if not all(is_same_result(self._now, (first, each.first), size, lines) for each in found):
            return None
        return Place(first, all(place.framed for place in found))

    def are_disputed(self, rows: Rows, lines: Sequence[str]) -> bool:
        """Whether alignments find different places for older rows, with another result each."""
        found = [self._in(mapped, rows) for way in self._ways for mapped in way]
        firsts = {place.first for place in found if place is not None}
        size, first = rows[1] - rows[0], min(firsts, default=0)
        return not all(is_same_result(self._now, (first, each), size, lines) for each in firsts)

    def may_be_there(self, rows: Rows) -> bool:
        """Whether all of some older rows are there now in an alignment."""
        mapped = (each[rows[0] + 1 : rows[1] + 1] for way in self._ways for each in way)
        return rows[0] < rows[1] and any(None not in part for part in mapped)

    @cached_property
    def _ways(self) -> list[list[_Mapped]]:
        """For each alignment, the row now of each older row, beginning above the first one.

        What was only added or removed is as far down as possible in one variant, and as far up in
        the other.
        """
        older, now = self._older, self._now
        size, count = len(older), len(now)
        ways: list[list[_Mapped]] = []
        for hunks in scripts(older, now):
            changed = [hunk for hunk in hunks if not hunk.same]
            slid = (_slid(changed, older, now, down=down) for down in (True, False))
            way = [_mapped(variant, size, count) for variant in slid]
            if way not in ways:
                ways.append(way)
        return ways

    def _in(self, mapped: _Mapped, rows: Rows) -> Place | None:
        return self._between(mapped, rows[0]) if rows[0] == rows[1] else _whole(mapped, rows)

    def _between(self, mapped: _Mapped, row: int) -> Place | None:
        """The place between an older row and the one above it."""
        above, below = mapped[row], mapped[row + 1]
        if above is not None and below is not None:
            return Place(below, framed=True) if below == above + 1 else None
        if above is not None and self._is_edited(mapped, row, above + 1, 1):
            return Place(above + 1, framed=False)
        if below is not None and self._is_edited(mapped, row - 1, below - 1, -1):
            return Place(below, framed=False)
        return None

    def _is_edited(self, mapped: _Mapped, row: int, now: int, step: int) -> bool:
        """Whether an older row is the current one, edited in place with others in a direction.

        The current one is clearly less similar to the rows around the older one.
        """
        size, older = 1, self._older
        while (end := mapped[row + size * step + 1]) is None:
            size += 1
        if end != now + size * step or not 0 <= now < len(self._now):
            return False
        there = self._now[now]
        around = [*older[max(row - _NEAR, 0) : row], *older[row + 1 : row + 1 + _NEAR]]
        best = max((similarity(each, there) for each in around if each), default=0.0)
        return similarity(older[row], there) >= max(PAIR_FLOOR, best + _MARGIN)


def is_same_result(
    rows: Sequence[str], places: tuple[int, int], size: int, lines: Sequence[str]
) -> bool:
    """Whether to replace some rows by lines has the same result at two places."""
    top, low = sorted(places)
    there, step = [*rows[top : low + size]], low - top
    return [*lines, *there[size:]] == [*there[:step], *lines]


def _mapped(changed: Sequence[Hunk], size: int, count: int) -> _Mapped:
    """The row now of each of some older rows, with a row above and one below them."""
    mapped: list[int | None] = [-1]
    for hunk in [*changed, Hunk(same=False, i1=size, i2=size, j1=count, j2=count)]:
        shift = hunk.j1 - hunk.i1
        mapped += range(len(mapped) - 1 + shift, hunk.j1)
        mapped += [None] * (hunk.i2 - hunk.i1)
    return [*mapped, count]


def _slid(
    changed: Sequence[Hunk], older: Sequence[str], now: Sequence[str], *, down: bool
) -> list[Hunk]:
    """Changed hunks, those that only add or remove rows moved along equal rows."""
    slid: list[Hunk] = []
    for hunk in reversed(changed) if down else changed:
        if down:
            room = (slid[-1].i1 if slid else len(older)) - hunk.i2
        else:
            room = hunk.i1 - (slid[-1].i2 if slid else 0)
        rows, first, stop = now, hunk.j1, hunk.j2
        if first == stop:
            rows, first, stop = older, hunk.i1, hunk.i2
        elif hunk.i1 < hunk.i2:
            room = 0
        # The step down compares the first row with the one below, the step up the rows above.
        if not down:
            first, stop = first - 1, stop - 1
        step = 1 if down else -1
        moved = 0
        while abs(moved) < room and rows[first + moved] == rows[stop + moved]:
            moved += step
        slid.append(Hunk(hunk.same, *(bound + moved for bound in hunk[1:])))
    return slid[::-1] if down else slid


def _whole(mapped: _Mapped, rows: Rows) -> Place | None:
    first = mapped[rows[0] + 1]
    if first is None:
        return None
    size = rows[1] - rows[0]
    if mapped[rows[0] + 1 : rows[1] + 1] != [*range(first, first + size)]:
        return None
    framed = mapped[rows[0]] == first - 1 and mapped[rows[1] + 1] == first + size
    return Place(first, framed)
