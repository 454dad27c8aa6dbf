"""What to show of a file for a hunk that has no place in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from git_boocode.editing.hunks.model import Near
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Task

_WORD = re.compile(r"\w{2,}")
_SHOWN = 3
_COMPARED = 500
"""So many characters tell how like two texts are."""


def at(task: Task, rows: Rows, start: int) -> Near:
    """The rows at which a number points, the last ones if it points below the file."""
    height = max(len(task.old), 1)
    first = max(min(start, len(rows) - height), 0)
    return _pointed(task, rows, first)


def alike(task: Task, rows: Rows) -> tuple[Near, ...]:
    """The rows that are most like the old lines, else those about the rarest line they share."""
    from git_boocode.matching import locate_match

    if not task.old:
        return ()
    found = locate_match(rows.text, "".join(f"{line}\n" for line in task.old)).candidates
    if found:
        return tuple(
            Near(one.start_line - 1, one.end_line, one.similarity) for one in found[:_SHOWN]
        )
    index = rows.stripped.index
    shared = [
        (len(index[key]), index[key][0] - number)
        for number, key in enumerate(line.strip() for line in task.old)
        if key and key in index
    ]
    if shared:
        return (at(task, rows, max(min(shared)[1], 0)),)
    row = _by_words(" ".join(task.old), rows)
    return () if row is None else (at(task, rows, row),)


def _by_words(old: str, rows: Rows) -> int | None:
    """The row that shares most words, rare ones before all, with the old lines; None if none."""
    wanted = set(_WORD.findall(old))
    found = [(row, wanted.intersection(_WORD.findall(key))) for row, key in _filled(rows)]
    counts = Counter(word for _, words in found for word in words)
    scores = [(sum(1 / counts[word] for word in words), -row) for row, words in found if words]
    return -max(scores)[1] if scores else None


def _filled(rows: Rows) -> Iterator[tuple[int, str]]:
    return ((row, key) for row, key in enumerate(rows.exact.keys) if key)


def _pointed(task: Task, rows: Rows, first: int) -> Near:
    stop = min(first + max(len(task.old), 1), len(rows))
    there = "\n".join(rows.exact.keys[first:stop])[:_COMPARED]
    wanted = "\n".join(task.old)[:_COMPARED]
    return Near(
        first, stop, SequenceMatcher(a=wanted, b=there, autojunk=False).ratio(), pointed=True
    )
