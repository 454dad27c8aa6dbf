"""Locks of refs that a git command left which was killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from git_boocode.repo.repository import Repository

PATIENCE = 3.0
"""Seconds after which nobody holds a lock any more: git holds one for milliseconds."""


def break_ref_locks(repository: Repository, ref: str | None, since: float) -> None:
    """Remove the locks that one of our operations left when it was killed.

    Call it with the worktree's lock held: the operation itself is gone then. It began at `since`,
    in seconds since 1970, and was to move the branch `ref`, if any, and HEAD with it.
    """
    common, own = repository.common_dir, os.path.join(repository.common_dir, "refs", "boocode")
    paths = [
        os.path.join(common, "packed-refs.lock"),
        os.path.join(repository.git_dir, "HEAD.lock"),
    ]
    if ref is not None:
        paths.append(os.path.join(common, f"{ref}.lock"))
    for name in ("archive", "checkpoints", "safety"):
        paths += loose_locks(os.path.join(own, name))
    for path in (*paths, *reftable_locks(repository)):
        # Times of files are coarser than those of the clock.
        while (made := _made(path)) is not None and made > since - 1:
            age = time.time() - made
            if age >= PATIENCE:
                with suppress(FileNotFoundError):
                    os.unlink(path)
                break
            time.sleep(min(PATIENCE - age, 0.1))


def loose_locks(top: str) -> Iterator[str]:
    """The locks of the loose refs in a directory; git allows no ref such a name."""
    for directory, _, names in os.walk(top):
        yield from (
            os.path.join(directory, name) for name in sorted(names) if name.endswith(".lock")
        )


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
