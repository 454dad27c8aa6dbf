"""Merge two versions of a text that share a base, line by line, as `git merge-file` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from git_boocode.matching.align import Hunk, script


class Region(NamedTuple):
    """The rows (first, stop) of each text that belong together; rows count from 0."""

    base: tuple[int, int]
    ours: tuple[int, int]
    theirs: tuple[int, int]


class ThreeWay(NamedTuple):
    """The result of a merge: its ``text``, or None where there are ``conflicts``.

    ``taken`` are the regions that only theirs changed, ``kept`` those that only ours changed, and
    ``same`` those that both changed alike; all ascending.
    """

    text: str | None
    conflicts: tuple[Region, ...] = ()
    taken: tuple[Region, ...] = ()
    kept: tuple[Region, ...] = ()
    same: tuple[Region, ...] = ()


def merge_three_way(base: str, ours: str, theirs: str) -> ThreeWay:
    """Apply the changes from ``base`` to ``theirs`` to ``ours``.

    Changes of the two sides conflict when they overlap or touch (no unchanged base line between
    them), unless both are the same. Where ours differs from the base in line endings only, it is
    unchanged, and lines taken from theirs get our line endings. A text too large to align counts
    as one change.
    """
    base_rows, our_rows, their_rows = _rows(base), _rows(ours), _rows(theirs)
    changes = [
        *((hunk, True) for hunk in _changes(_lf(base_rows), _lf(our_rows))),
        *((hunk, False) for hunk in _changes(base_rows, their_rows)),
    ]
    pieces: list[str] = []
    sorts: dict[str, list[Region]] = {"conflicts": [], "taken": [], "kept": [], "same": []}
    at = 0
    for region, sides in _regions(changes):
        mine, other = our_rows[slice(*region.ours)], their_rows[slice(*region.theirs)]
        if sides == {False}:
            pieces += our_rows[at : region.ours[0]]
            pieces += _with_our_endings(other, _endings(base_rows, our_rows, region))
            at = region.ours[1]
            sorts["taken"].append(region)
        elif sides == {True}:
            sorts["kept"].append(region)
        else:
            sorts["same" if _lf(mine) == _lf(other) else "conflicts"].append(region)
    text = None if sorts["conflicts"] else "".join([*pieces, *our_rows[at:]])
    return ThreeWay(text, **{name: tuple(regions) for name, regions in sorts.items()})


def _rows(text: str) -> list[str]:
    """The lines with their endings; only a line feed ends one."""
    rows = [f"{line}\n" for line in text.split("\n")]
    last = rows.pop()[:-1]
    return [*rows, last] if last else rows


def _lf(rows: Iterable[str]) -> list[str]:
    return [row[:-2] + "\n" if row.endswith("\r\n") else row for row in rows]


def _changes(left: Sequence[str], right: Sequence[str]) -> list[Hunk]:
    """The changed hunks, moved along repeated lines to where git's diff places them.

    A hunk that only adds or only removes lines goes as far down as it can, and joins a hunk that it
    meets on its way up or down.
    """
    placed: list[Hunk] = []
    # Of a line that moved, git's diff shows the removal first.
    for same, j1, j2, i1, i2 in script(right, left):
        if same:
            continue
        hunk = Hunk(same, i1, i2, j1, j2)
        if placed:
            above = _slid_down(left, right, placed.pop(), hunk.i1)
            if _can_slide_up(left, right, hunk, above.i2):
                placed.append(above._replace(i2=hunk.i2, j2=hunk.j2))
                continue
            placed.append(above)
        placed.append(hunk)
    if placed:
        placed.append(_slid_down(left, right, placed.pop(), len(left)))
    return placed


def _slid_down(left: Sequence[str], right: Sequence[str], hunk: Hunk, end: int) -> Hunk:
    """The hunk as far down as it can go without changing what it does, but not beyond ``end``."""
    moving = _sliding_rows(left, right, hunk)
    if moving is None:
        return hunk
    rows, first, stop = moving
    down = 0
    while hunk.i2 + down < end and rows[first + down] == rows[stop + down]:
        down += 1
    return Hunk(hunk.same, *(bound + down for bound in hunk[1:]))


def _can_slide_up(left: Sequence[str], right: Sequence[str], hunk: Hunk, end: int) -> bool:
    """Whether the hunk meets, on its way up, one that ends at ``end``."""
    moving = _sliding_rows(left, right, hunk)
    if moving is None:
        return hunk.i1 == end
    rows, first, stop = moving
    return all(rows[first - step] == rows[stop - step] for step in range(1, hunk.i1 - end + 1))


def _sliding_rows(
    left: Sequence[str], right: Sequence[str], hunk: Hunk
) -> tuple[Sequence[str], int, int] | None:
    """What a hunk only removes or only adds; None for one that replaces rows."""
    if hunk.i1 == hunk.i2:
        return right, hunk.j1, hunk.j2
    return (left, hunk.i1, hunk.i2) if hunk.j1 == hunk.j2 else None


def _regions(changes: Iterable[tuple[Hunk, bool]]) -> Iterator[tuple[Region, set[bool]]]:
    """The regions in which changes touch, with the sides (ours: True) that changed them."""
    first = stop = 0
    sides: set[bool] = set()
    shift = {True: 0, False: 0}
    before = dict(shift)
    for hunk, side in sorted(changes):
        if sides and hunk.i1 > stop:
            yield _region(first, stop, before, shift), sides
            sides, before = set(), dict(shift)
        if not sides:
            first, stop = hunk.i1, hunk.i2
        stop = max(stop, hunk.i2)
        sides.add(side)
        shift[side] = hunk.j2 - hunk.i2
    if sides:
        yield _region(first, stop, before, shift), sides


def _region(first: int, stop: int, before: dict[bool, int], after: dict[bool, int]) -> Region:
    ours, theirs = ((first + before[side], stop + after[side]) for side in (True, False))
    return Region((first, stop), ours, theirs)


def _endings(base: Sequence[str], ours: Sequence[str], region: Region) -> tuple[str, str] | None:
    """A line ending of the base at a region that only theirs changed, and ours in its place."""
    shift = region.ours[0] - region.base[0]
    first, stop = region.base
    for row in (*range(first, min(stop + 1, len(base))), first - 1):
        if row >= 0 and base[row].endswith("\n"):
            return _ending(base[row]), _ending(ours[row + shift])
    return None


def _ending(row: str) -> str:
    return "\r\n" if row.endswith("\r\n") else "\n"


def _with_our_endings(rows: Iterable[str], endings: tuple[str, str] | None) -> Iterator[str]:
    for row in rows:
        if (
            endings
            and endings[0] != endings[1]
            and row.endswith("\n")
            and _ending(row) == endings[0]
        ):
            yield row.removesuffix(endings[0]) + endings[1]
        else:
            yield row
