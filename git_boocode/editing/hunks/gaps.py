"""Lines that a hunk lacks, or that the file lacks, between context that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.editing.hunks.model import Line, Spot, Window
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Core, Task, allowed, changes_at
from git_boocode.editing.rows import View, bare

MAX_LEFT_OUT = 2
"""So many structural lines of the file may a hunk lack."""
MAX_DROPPED = 2
"""So many of a hunk's context lines may the file lack."""
_ANCHORS = 2
"""So many context lines with words are left, or one and so many that go."""
_WORD = re.compile(r"\w")


class Standing(NamedTuple):
    """A place at which a hunk stands but for some lines.

    Attributes:
        task: the hunk as it stands there.
        places: the row of each of its old lines, ascending.
        spot: where that is, still without changes.
    """

    task: Task
    places: Sequence[int]
    spot: Spot


def left_out(task: Task, rows: Rows, view: View, window: Window) -> list[Standing]:
    """The places of a hunk that lacks structural lines which the file has between its context.

    Args:
        task: the hunk.
        rows: the file.
        view: the form in which their lines are compared.
        window: where to look.
    """
    old = [view.form(line) for line in task.old]
    if len(old) < 2:
        return []
    pivot = view.rarest(old)
    starts = {
        row - pivot - extra
        for row in view.index.get(old[pivot], ())
        for extra in range(MAX_LEFT_OUT + 1)
    }
    gaps = _Gaps(task, rows, view, old)
    found: dict[tuple[Core, ...], Standing] = {}
    for start in sorted(start for start in starts if window.first <= start < window.stop):
        for places in gaps.walk(0, start, MAX_LEFT_OUT):
            if places[-1] < window.stop:
                changes = changes_at(task, rows, places, lambda _: ())
                # Which of equal lines were left out does not matter where the outcome is the same.
                found.setdefault(
                    tuple((change.start, change.stop) for change in changes),
                    _standing(task, places),
                )
    return list(found.values())


def _standing(task: Task, places: Sequence[int]) -> Standing:
    count = places[-1] + 1 - places[0] - len(places)
    note = f"{count} structural line{'s' if count > 1 else ''} left out of its context"
    share = len(places) / (len(places) + count)
    spot = Spot(places[0], places[-1] + 1, (), "structural", share, (note,))
    return Standing(task, places, spot)


class _Gaps:
    """Lays old lines beside rows, some structural rows in between left out."""

    def __init__(self, task: Task, rows: Rows, view: View, old: Sequence[str]) -> None:
        self.rows = view.keys
        self.is_structural = rows.is_structural
        self.old = old
        ops = [line.op for line in task.hunk.lines]
        # Only between two lines of context, and not where new lines come in.
        self.may = [False, *(pair == (" ", " ") for pair in pairwise(ops))]
        at = [index for index, op in enumerate(ops) if op != "+"]
        self.may = [self.may[index] for index in at]

    def walk(self, at: int, row: int, left: int) -> Iterator[list[int]]:
        """The rows that old line `at` and those after it may stand for, from a row on."""
        places: list[int] = []
        while at < len(self.old) and row < len(self.rows):
            if left and at and self.may[at] and self.is_structural(self.rows[row]):
                yield from (places + more for more in self.walk_on(at, row + 1, left - 1))
            if self.rows[row] != self.old[at]:
                return
            places.append(row)
            at, row = at + 1, row + 1
        if at == len(self.old):
            yield places

    def walk_on(self, at: int, row: int, left: int) -> Iterator[list[int]]:
        """As `walk`, after a row was left out."""
        if row >= len(self.rows):
            return
        if left and self.is_structural(self.rows[row]):
            yield from self.walk_on(at, row + 1, left - 1)
        if self.rows[row] == self.old[at]:
            yield from ([row, *more] for more in self._after(at + 1, row + 1, left))

    def _after(self, at: int, row: int, left: int) -> Iterator[list[int]]:
        if at == len(self.old):
            yield []
        else:
            yield from self.walk(at, row, left)


def dropped(task: Task, rows: Rows, view: View, window: Window) -> list[Standing]:
    """The places of a hunk some of whose inner context lines the file does not have at all.

    Args:
        task: the hunk.
        rows: the file.
        view: the form in which their lines are compared.
        window: where to look.
    """
    short = _shortened(task, view)
    if short is None:
        return []
    found = view.find([view.form(line) for line in short.old])
    found = [row for row in found if window.first <= row + short.core[0]]
    found = [row for row in found if row + short.core[1] <= window.stop]
    return [_without(task, short, row) for row in allowed(short, rows, found)]


def _shortened(task: Task, view: View) -> Task | None:
    """The hunk without the one or two inner context lines that the file lacks.

    None if there are none such, or other lines that the file lacks.
    """
    lines = task.hunk.lines
    gone = [
        at for at, line in enumerate(lines) if line.op != "+" and _key(line, view) not in view.index
    ]
    old = [at for at, line in enumerate(lines) if line.op != "+"]
    if not 1 <= len(gone) <= MAX_DROPPED or any(lines[at].op != " " for at in gone):
        return None
    if gone[0] == old[0] or gone[-1] == old[-1]:
        return None
    kept = [line for at, line in enumerate(lines) if at not in gone]
    anchors = [line.op for line in kept if line.op != "+" and _WORD.search(line.text)]
    if anchors.count(" ") < _ANCHORS and not (" " in anchors and len(anchors) > _ANCHORS):
        return None
    return Task(task.number, task.hunk._replace(lines=tuple(kept)))


def _key(line: Line, view: View) -> str:
    return view.form(bare(line.text))


def _without(task: Task, short: Task, first: int) -> Standing:
    """The place of a hunk that lost some of its context lines."""
    count = len(task.old) - len(short.old)
    note = f"{count} context line{'s' if count > 1 else ''} dropped that the file does not have"
    stop = first + len(short.old)
    spot = Spot(first, stop, (), "context", len(short.old) / len(task.old), (note,))
    return Standing(short, range(first, stop), spot)
