"""When checkpoints were pruned last, and whether that went well."""

from __future__ import annotations

import os
import time

from git_boocode.repo.durable import is_regular, read_private, write_private
from git_boocode.repo.repository import Repository, make_state_dir

_STAMP = "last-prune"
_DAY = 86_400.0


def note_pruning(repository: Repository, failure: str) -> None:
    """Note that it has been pruned, or tried.

    Args:
        repository: where.
        failure: why it failed; empty if it did not.
    """
    make_state_dir(repository.common_state_dir)
    write_private(_stamp(repository), failure.encode("utf-8", "replace"), to_disk=False)


def last_failure(repository: Repository) -> str | None:
    """Why it failed the last time that it was tried; None if it did not."""
    data = read_private(_stamp(repository))
    return data.decode("utf-8", "replace") if data else None


def is_due(repository: Repository) -> bool:
    """Whether the last time is a day ago, or there was none."""
    if not is_regular(_stamp(repository)):
        return True
    age = time.time() - os.stat(_stamp(repository)).st_mtime
    # A clock that was wrong must not put it off for ever.
    return not -_DAY < age < _DAY


def _stamp(repository: Repository) -> str:
    return os.path.join(repository.common_state_dir, _STAMP)
