"""Whether the indentation of a hunk can be carried over to the file's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Task
from git_boocode.editing.lines import Range, changed_ranges

_OUTWEIGH = 3
"""So many lines with the file's indentation bear with one that has another."""


class Indentation(Enum):
    """How the indentation of a hunk's new lines is to be read."""

    FITS = "to be carried over to the file's"
    GIVEN = "right as it is"
    UNCLEAR = "not to be told"


def indentation(task: Task, rows: Rows, places: Sequence[int | None]) -> Indentation:
    """Compare the indentation of a hunk's old lines with that of the rows that they stand for.

    Where one depth stands for two in the file, or the order of depths is another, there is no way
    to carry a new line over. A line or two that drifted among many do not count.

    Args:
        task: the hunk.
        rows: the file.
        places: the row of each old line; None for one that stands for none.
    """
    pairs = [
        (_column(line), _column(rows.exact.keys[row]))
        for line, row in zip(task.old, places, strict=True)
        if row is not None and line.strip() and rows.stripped.keys[row]
    ]
    odd = sum(old != mine for old, mine in pairs)
    if not odd or not any(line.op == "+" and line.text.strip() for line in task.hunk.lines):
        return Indentation.FITS
    distinct = sorted(set(pairs))
    if all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(distinct)):
        return Indentation.FITS
    return Indentation.GIVEN if _OUTWEIGH * odd <= len(pairs) - odd else Indentation.UNCLEAR


def aligned(task: Task, rows: Rows, first: int, stop: int) -> list[int | None]:
    """For each old line the row, of some, that it is equal to; of others None."""
    return list(_aligned(task, rows, first, stop))


def _aligned(task: Task, rows: Rows, first: int, stop: int) -> Iterator[int | None]:
    old = [line.strip() for line in task.old]
    at = 0
    areas = changed_ranges(old, rows.stripped.keys[first:stop])
    for area in [*areas, Range(len(old), len(old), stop - first, stop - first)]:
        shift = first + area.new_start - area.start
        yield from range(at + shift, area.start + shift)
        yield from (None for _ in range(area.start, area.end))
        at = area.end


def _column(line: str) -> int:
    wide = line.expandtabs(8)
    return len(wide) - len(wide.lstrip())
