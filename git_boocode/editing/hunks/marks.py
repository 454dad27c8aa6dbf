"""Context lines that lack the blank which marks them as such.

Such a line is read as one that is indented by a blank less. A hunk all of which is indented by a
blank less than the file looks the same, but then its other lines lack the blank as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from git_boocode.editing.hunks.model import Line, Refusal
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Task
from git_boocode.editing.rows import bare

UNMARKED = Refusal(
    "not_found",
    "its context stands there with one blank more, and nothing tells whether its marks are missing "
    "or all of it is indented less",
)


def respaced(task: Task, rows: Rows) -> Task | None:
    """The hunk with the blank back that its context lines lack, where the file has it so."""
    lines = [
        Line(" ", f" {line.text}") if line.op == " " and _stands(line, rows) is False else line
        for line in task.hunk.lines
    ]
    if lines == list(task.hunk.lines):
        return None
    notes = (*task.hunk.notes, "context lines lack their leading blank")
    return Task(task.number, task.hunk._replace(lines=tuple(lines), notes=notes))


def _stands(line: Line, rows: Rows) -> bool | None:
    """Whether the file has a line as it is, or with one blank more; None if neither or both."""
    index = rows.rstripped.index
    text = bare(line.text).rstrip()
    as_is, spaced = text in index, f" {text}" in index
    return as_is if text and as_is != spaced else None


def lacks_mark(task: Task, spaced: Task, rows: Rows) -> bool | None:
    """Whether the context of a hunk lacks its marks, or all of the hunk is indented less.

    What goes tells it, as the file has it; else what comes, by the depths at which it stands.
    None if nothing tells, or if lines contradict each other.

    Args:
        task: the hunk as it was read.
        spaced: the hunk with the blanks back.
        rows: the file.
    """
    votes = set(_removed(task, rows)) or set(_added(task, spaced))
    if not votes and not any(line.op == "+" and line.text.strip() for line in task.hunk.lines):
        return True
    return votes.pop() if len(votes) == 1 else None


def _removed(task: Task, rows: Rows) -> Iterator[bool]:
    stand = (_stands(line, rows) for line in task.hunk.lines if line.op == "-")
    return (stands for stands in stand if stands is not None)


def _added(task: Task, spaced: Task) -> Iterator[bool]:
    """Of each line that comes: whether it suits the context with its blanks back, or as read."""
    read = {
        _depth(line)
        for line, back in zip(task.hunk.lines, spaced.hunk.lines, strict=True)
        if line != back
    }
    unit = gcd(*(depth + 1 for depth in read))
    for line in task.hunk.lines:
        if line.op != "+" or not line.text.strip():
            continue
        depth = _depth(line)
        if (depth in read) != (depth - 1 in read):
            yield depth - 1 in read
        elif unit > 1 and depth % unit in (0, unit - 1):
            yield depth % unit == 0


def _depth(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip(" "))
