"""Tell of a restore that was killed half-way."""

from __future__ import annotations

import os

from git_boocode.checkpoints.journal import interrupted
from git_boocode.cli.output import warn
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository


def warn_of_interruption(repository: Repository) -> None:
    """Say so if an earlier restore was killed half-way."""
    safety = interrupted(repository.state_dir)
    if safety is None:
        return
    from git_boocode.repo.scratch import INSIDE_RESTORE, worktree_lock

    if os.environ.get(INSIDE_RESTORE):
        return
    try:
        with worktree_lock(repository.state_dir, shared=True, patience=0):
            safety = interrupted(repository.state_dir)
    except RefusedError:
        # It is still running.
        return
    if safety is not None and is_kept(repository, safety):
        warn(
            f"a restore was interrupted half-way; the state before it is kept as {safety}",
            ("'git boocode undo' or 'git boocode doctor --fix' goes back to it",),
        )


def is_kept(repository: Repository, safety: str) -> bool:
    """Whether an interrupted restore's safety checkpoint is there.

    Args:
        repository: where it happened.
        safety: its id.
    """
    # Without its safety checkpoint a restore has not begun to change anything.
    from git_boocode.checkpoints.catalog import SAFETY
    from git_boocode.repo.store import open_store

    return bool(open_store(repository).refs(f"{SAFETY}{safety}"))
