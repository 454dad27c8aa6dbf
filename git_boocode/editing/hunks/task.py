"""One hunk that is to be placed: what it looks for, where it may stand, what it does there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from git_boocode.editing.hunks.model import Change, Hunk, Spot, Step, steps
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.rows import bare

Core = tuple[int, int]
"""The rows from the first change of a hunk to the last one, the end exclusive."""


class Task:
    """A hunk that is to be placed.

    Attributes:
        number: which one of the file it is, from 1.
        hunk: the hunk as given.
        old: its old lines without endings.
        new: its new lines without endings.
        steps: what it changes of them.
    """

    def __init__(self, number: int, hunk: Hunk) -> None:
        self.number = number
        self.hunk = hunk
        self.old = [bare(line) for line in hunk.old]
        self.new = [bare(line) for line in hunk.new]
        self.steps: list[Step] = list(steps(hunk.lines))

    @property
    def core(self) -> tuple[int, int]:
        """The old lines from the first change to the last one."""
        return (self.steps[0].i1, self.steps[-1].i2) if self.steps else (0, 0)

    def core_at(self, first: int) -> Core:
        """The rows that it changes if its old lines begin at a row."""
        start, end = self.core
        return first + start, first + end

    @cached_property
    def opens(self) -> tuple[bool, bool]:
        """Whether the old, and the new, lines end without a line ending."""
        old, new = self.hunk.old, self.hunk.new
        return (
            bool(old) and not old[-1].endswith("\n"),
            bool(new) and not new[-1].endswith("\n"),
        )

    @property
    def ends(self) -> bool:
        """Whether it changes the end of the file, so that it must stand there."""
        old, new = self.opens
        return (old or new) and self.hunk.lines[-1].op != " "


def direct(task: Task, rows: Rows, first: int) -> Spot:
    """The spot of a hunk whose old lines are these rows, one by one, endings aside."""
    stop = first + len(task.old)
    if task.hunk.old != rows.raw[first:stop]:
        return verbatim(task, rows, range(first, stop), Spot(first, stop))
    new = task.hunk.new
    made = [
        Change(first + step.i1, first + step.i2, tuple(new[step.j1 : step.j2]))
        for step in task.steps
    ]
    return Spot(first, stop, tuple(made))


def verbatim(task: Task, rows: Rows, places: Sequence[int], spot: Spot) -> Spot:
    """A hunk put onto some rows, its new lines as they were given.

    Args:
        task: the hunk.
        rows: the file.
        places: the row of each old line, ascending.
        spot: where it belongs, still without changes.
    """
    changes = changes_at(task, rows, places, lambda step: task.new[step.j1 : step.j2])
    return spot._replace(changes=changes)


def changes_at(
    task: Task, rows: Rows, places: Sequence[int], new: Callable[[Step], Iterable[str]]
) -> tuple[Change, ...]:
    """What a hunk changes whose old lines stand for some rows.

    Args:
        task: the hunk.
        rows: the file.
        places: the row of each old line, ascending.
        new: gives the lines, without endings, that come in a step.
    """
    ends = [*places, places[-1] + 1 if places else 0]
    changes = []
    for step in task.steps:
        # What only comes goes right below the line above it.
        start = ends[step.i1] if step.i1 < step.i2 or not step.i1 else ends[step.i1 - 1] + 1
        stop = ends[step.i2 - 1] + 1 if step.i1 < step.i2 else start
        changes.append(_closed(task, rows, step, Change(start, stop, tuple(new(step)))))
    return tuple(changes)


def _closed(task: Task, rows: Rows, step: Step, change: Change) -> Change:
    """A change with the file's own line endings."""
    lines = rows.closed(change.lines, change.start, change.stop)
    if lines and change.stop == len(rows) and _stays_open(task, rows, step):
        lines = (*lines[:-1], bare(lines[-1]))
    return change._replace(lines=lines)


def _stays_open(task: Task, rows: Rows, step: Step) -> bool:
    old, new = task.opens
    last = step.j2 == len(task.new)
    return new if last and (old or new) else rows.is_open


def exact_places(task: Task, rows: Rows, *, same: bool) -> list[int]:
    """The rows at which a hunk can stand as it is, line endings aside.

    Args:
        task: the hunk.
        rows: the file.
        same: whether the file is known to be the one that the patch was made from.
    """
    hunk = task.hunk
    if not task.old:
        return _insertion(task, rows, same=same)
    found = rows.whole.find(hunk.old)
    # What changes line endings only must find them.
    if not found and (task.old != task.new or task.opens[0] != task.opens[1]):
        found = rows.exact.find(task.old)
    found = allowed(task, rows, found)
    return [hunk.start] if same and hunk.start in found else found


def _insertion(task: Task, rows: Rows, *, same: bool) -> list[int]:
    """Without an old line only proof counts: an empty file, its end, or the very same file."""
    start = task.hunk.start
    if task.hunk.at_end or not len(rows):
        return [len(rows)]
    return [start] if same and start is not None and 0 < start <= len(rows) else []


def allowed(task: Task, rows: Rows, found: list[int]) -> list[int]:
    """The places that suit what a hunk says of sections and of the end of the file."""
    if task.hunk.within:
        lowest = rows.below(task.hunk.sections) or 0
        found = [row for row in found if row >= lowest]
    if not (task.ends or task.hunk.at_end):
        return found
    return [row for row in found if ends_right(task, rows, row + len(task.old))]


def ends_right(task: Task, rows: Rows, stop: int) -> bool:
    """Whether a hunk that must stand at the end of the file does, if its last row is before one."""
    if task.ends:
        return stop == len(rows)
    return not (task.hunk.at_end and any(rows.stripped.keys[stop:]))
