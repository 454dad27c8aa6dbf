"""Whether a hunk was applied already."""

from __future__ import annotations

import re

from git_boocode.editing.hunks.model import Spot
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Task

_WORD = re.compile(r"\w")


def is_applied(task: Task, rows: Rows, first: int, stop: int) -> tuple[int, int] | None:
    """The rows between two bounds that already hold what a hunk would make of its old lines."""
    if not _proves(task):
        return None
    view, new = rows.stripped, [line.strip() for line in task.new]
    if only_blanks(task):
        view, new = rows.exact, task.new
    found = (row for row in view.find(new) if first <= row and row + len(new) <= stop)
    row = next(found, None)
    return None if row is None else (row, row + len(new))


def only_blanks(task: Task) -> bool:
    """Whether a hunk changes nothing but the blanks at the ends of lines."""
    return [line.strip() for line in task.old] == [line.strip() for line in task.new]


def _proves(task: Task) -> bool:
    """Whether a hunk's new lines, found in a file, prove that it was applied."""
    added = [line for line in task.hunk.lines if line.op == "+"]
    if added:
        return any(_WORD.search(line.text) for line in added)
    around = [task.new[: task.core[0]], task.new[task.core[0] :]]
    return all(any(_WORD.search(line) for line in lines) for lines in around)


def repeats(task: Task, spot: Spot, rows: Rows) -> bool:
    """Whether lines that a spot adds stand right beside it already, so that it was applied.

    A hunk with all of its lines found, and context on both sides, knows what it does.
    """
    ops = [line.op for line in task.hunk.lines]
    gaps = spot.stop - spot.first != len(task.old)
    for change in spot.changes:
        added = [line.strip() for line in change.lines]
        if change.start < change.stop or not any(_WORD.search(line) for line in added):
            continue
        above = rows.stripped.keys[max(change.start - len(added), 0) : change.start]
        below = rows.stripped.keys[change.stop : change.stop + len(added)]
        if (gaps or (change is spot.changes[0] and ops[0] == "+")) and added == above:
            return True
        if (gaps or (change is spot.changes[-1] and ops[-1] == "+")) and added == below:
            return True
    return False
