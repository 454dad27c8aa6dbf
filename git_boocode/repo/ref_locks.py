"""Locks of refs that a git command left which was killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from git_boocode.repo.repository import Repository

PATIENCE = 3.0
"""So many seconds old is a lock that nobody holds any more: git holds one for milliseconds."""


def break_ref_locks(repository: Repository, ref: str | None, since: float) -> None:
    """Remove the locks that a killed operation of ours may have left.

    Call it with the worktree's lock held: the operation itself is gone then.

    Args:
        repository: where it happened.
        ref: the branch that it was to move, if any; it has then locked HEAD, too.
        since: when it began, in seconds since 1970.
    """
    for path in _candidates(repository, ref):
        # Times of files are coarser than those of the clock.
        while (made := _made(path)) is not None and made > since - 1:
            age = time.time() - made
            if age >= PATIENCE:
                with suppress(FileNotFoundError):
                    os.unlink(path)
                break
            time.sleep(min(PATIENCE - age, 0.1))


def _candidates(repository: Repository, ref: str | None) -> Iterator[str]:
    """Where there may be locks: of our own refs, of what their deletion locks, and of HEAD."""
    top = os.path.join(repository.common_dir, "refs", "boocode")
    for name in ("archive", "checkpoints", "safety"):
        for directory, _, files in os.walk(os.path.join(top, name)):
            yield from (os.path.join(directory, file) for file in files if file.endswith(".lock"))
    yield os.path.join(repository.common_dir, "packed-refs.lock")
    yield os.path.join(repository.git_dir, "HEAD.lock")
    if ref is not None:
        yield os.path.join(repository.common_dir, f"{ref}.lock")
    yield from reftable_locks(repository)


def reftable_locks(repository: Repository) -> Iterator[str]:
    """The locks of the reftables of a worktree and of the whole repository, if any."""
    for git_dir in dict.fromkeys((repository.common_dir, repository.git_dir)):
        tables = os.path.join(git_dir, "reftable")
        for name in sorted(os.listdir(tables)) if os.path.isdir(tables) else ():
            if name.endswith(".lock"):
                yield os.path.join(tables, name)


def _made(path: str) -> float | None:
    """When a lock was made; None if there is none."""
    try:
        return os.lstat(path).st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return None
