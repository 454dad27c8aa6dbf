"""The log of refused calls, which `git boocode view` shows among the edits of a turn."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.edits import Failure
from git_boocode.repo.errors import shortened
from git_boocode.repo.line_log import LineLog
from git_boocode.repo.repository import Repository

_LARGEST = 128 << 10
_LONGEST_LINE = 4096
# Characters of a path and of a message, and failures of a call.
_MAX_PATH, _MAX_MESSAGE = 100, 200
_MAX_FAILURES = 10
_LATEST = 1 << 40  # seconds since 1970


class RefusedEdit(NamedTuple):
    """Why one edit of a call was refused; `path` is empty if unknown."""

    path: str
    code: str
    message: str


class Refusal(NamedTuple):
    """A refused call: when (seconds since 1970), the key of its worktree, the number of its edits.

    `failures` are the first ones only.
    """

    time: float
    worktree: str
    edits: int
    failures: tuple[RefusedEdit, ...]


def note_refusal(repository: Repository, error: EditsRefusedError) -> None:
    """Append a refused call to the log if possible; file contents stay out of it."""
    rows = [_row(failure) for failure in error.failures[:_MAX_FAILURES]]
    values = {
        "time": round(time.time(), 3),
        "worktree": repository.worktree_key,
        "edits": error.edits,
        "failures": rows,
    }
    while len(json.dumps(values)) >= _LONGEST_LINE and len(rows) > 1:
        rows.pop()
    _log_file(repository).append(values)


def refusals(repository: Repository) -> Iterator[Refusal]:
    """The calls in the log, oldest first, of all worktrees."""
    for values in _log_file(repository).read():
        when, worktree, edits = (values.get(key) for key in ("time", "worktree", "edits"))
        rows = values.get("failures")
        if not (isinstance(when, int | float) and isinstance(worktree, str)):
            continue
        if not 0 <= when <= _LATEST:
            # Not a number, either.
            continue
        listed = rows if isinstance(rows, list) else []
        failures = tuple(_parsed(row) for row in listed if isinstance(row, dict))
        yield Refusal(float(when), worktree, edits if isinstance(edits, int) else 0, failures)


def refusals_path(repository: Repository) -> str:
    """The path of the log, among the private files of all worktrees."""
    return os.path.join(repository.common_state_dir, "refusals.log")


def _log_file(repository: Repository) -> LineLog:
    return LineLog(refusals_path(repository), _LARGEST)


def _row(failure: Failure) -> dict[str, str]:
    path = shortened(failure.path or "", _MAX_PATH)
    message = shortened(failure.message, _MAX_MESSAGE)
    return RefusedEdit(path, failure.code, message)._asdict()


def _parsed(row: dict[str, Any]) -> RefusedEdit:
    texts = (row.get(key) for key in RefusedEdit._fields)
    return RefusedEdit(*(text if isinstance(text, str) else "" for text in texts))
