"""When checkpoints were pruned last, and whether that went well."""

from __future__ import annotations

import os
import time

from git_boocode.repo.repository import Repository

_STAMP = "last-prune"
_DAY = 86_400.0


def note_pruning(repository: Repository, failure: str) -> None:
    """Note that it has been pruned, or tried.

    Args:
        repository: where.
        failure: why it failed; empty if it did not.
    """
    path = _stamp(repository)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(failure)
    os.utime(path)


def last_failure(repository: Repository) -> str | None:
    """Why it failed the last time that it was tried; None if it did not."""
    try:
        with open(_stamp(repository), encoding="utf-8", errors="replace") as file:
            return file.read() or None
    except FileNotFoundError:
        return None


def is_due(repository: Repository) -> bool:
    """Whether the last time is a day ago, or there was none."""
    try:
        age = time.time() - os.stat(_stamp(repository)).st_mtime
    except FileNotFoundError:
        return True
    # A clock that was wrong must not put it off for ever.
    return not -_DAY < age < _DAY


def _stamp(repository: Repository) -> str:
    return os.path.join(repository.common_state_dir, _STAMP)
