"""Whether lines that the old text lacks lie inside what the model replaced, or between two changes.

Where changed lines pair off with their new versions on both sides, what the file has in between was
not replaced: it stays. Where a block is deleted, or other code takes its place, it goes with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, Owned, pair_similar

Texts = tuple[Sequence[str], Sequence[str]]
"""The lines of old and of new."""


class Parted(NamedTuple):
    """The hunks, parted where a line of the file lies between two changes.

    ``lost`` is how many lines that the old text lacks go with a block. ``doubt`` is the row of one
    of which nobody knows whether it goes; None if there is none.
    """

    hunks: Sequence[Hunk]
    changed: bool = False
    lost: int = 0
    doubt: int | None = None


def part(
    hunks: Sequence[Hunk], texts: Texts, rows: Sequence[str], owned: Sequence[Owned]
) -> Parted:
    """Part the changes between ``texts`` where ``rows`` has a line that old lacks.

    ``owned`` are the rows that each old line stands for.
    """
    if len(rows) == len(owned):
        return Parted(hunks)
    found: list[Hunk] = []
    lost, doubt = 0, None
    for hunk in hunks:
        gaps = [] if hunk.same else [*_gaps(hunk, rows, owned)]
        if not gaps:
            found.append(hunk)
            continue
        parts = [*_parts(hunk, texts)]
        stops = [part.i2 for part in parts]
        found += parts
        for gap in gaps:
            above, below = (parts[bisect_right(stops, at)] for at in (gap.above, gap.below))
            side = _side(above, below)
            if side is None and doubt is None:
                doubt = gap.rows[0]
            lost += len(gap.rows) if side == "inside" else 0
    return Parted(found, len(found) != len(hunks), lost, doubt)


class _Gap(NamedTuple):
    """Rows with text between those of old lines ``above`` and ``below``, which are neighbours."""

    above: int
    below: int
    rows: list[int]


def _gaps(hunk: Hunk, rows: Sequence[str], owned: Sequence[Owned]) -> Iterator[_Gap]:
    there = [index for index in range(hunk.i1, hunk.i2) if owned[index][0] < owned[index][1]]
    for above, below in pairwise(there):
        lacked = [row for row in range(owned[above][1], owned[below][0]) if rows[row].strip()]
        if lacked:
            yield _Gap(above, below, lacked)


def _parts(hunk: Hunk, texts: Texts) -> Iterator[Hunk]:
    """The hunk in parts: lines with their new versions, and what is left between them."""
    old = [line.strip() for line in texts[0][hunk.i1 : hunk.i2]]
    new = [line.strip() for line in texts[1][hunk.j1 : hunk.j2]]
    i, j = 0, 0
    for left, right in [*pair_similar(old, new), (len(old), len(new))]:
        if i < left or j < right:
            yield hunk._replace(
                i1=hunk.i1 + i, i2=hunk.i1 + left, j1=hunk.j1 + j, j2=hunk.j1 + right
            )
        if left < len(old):
            at, to = hunk.i1 + left, hunk.j1 + right
            yield hunk._replace(i1=at, i2=at + 1, j1=to, j2=to + 1)
        i, j = left + 1, right + 1


def _side(above: Hunk, below: Hunk) -> str | None:
    """Whether the rows between two parts are ``inside`` a block or ``between`` two changes.

    None if that is unclear: on one side of them stands a changed line, on the other a block.
    """
    if above is below:
        one_by_one = above.i2 - above.i1 == above.j2 - above.j1
        return None if one_by_one else "inside"
    return "between" if _is_version(above) and _is_version(below) else None


def _is_version(hunk: Hunk) -> bool:
    return hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1 == 1
