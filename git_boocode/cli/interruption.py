"""Tell of a restore that was killed half-way."""

from __future__ import annotations

from git_boocode.checkpoints.journal import interrupted
from git_boocode.cli.output import warn
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import worktree_lock


def warn_of_interruption(repository: Repository) -> None:
    """Say so if an earlier restore was killed half-way."""
    safety = interrupted(repository.state_dir)
    if safety is None:
        return
    try:
        with worktree_lock(repository.state_dir, shared=True, patience=0):
            safety = interrupted(repository.state_dir)
    except RefusedError:
        # It is still running.
        return
    if safety is not None:
        warn(
            f"a restore was interrupted half-way; the state before it is kept as {safety}",
            ("'git boocode undo' goes back to it",),
        )
