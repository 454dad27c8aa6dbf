"""The turns of a worktree: its newest checkpoints, and what was changed after each."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.store.changes import count_changes
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory


class Turn(NamedTuple):
    """A checkpoint and what came after it.

    Attributes:
        checkpoint: the state before the turn.
        files: how many files differ between it and the next one, or what is in the worktree now;
            None where objects are missing.
    """

    checkpoint: Checkpoint
    files: int | None


def newest_turns(repository: Repository, count: int) -> list[Turn]:
    """The newest turns of this worktree, the newest first.

    Args:
        repository: the repository.
        count: at the most so many.

    Raises:
        BoocodeError: the worktree cannot be read.
    """
    entries = Catalog(repository).newest_first()
    found = list(islice((entry for entry in entries if isinstance(entry, Checkpoint)), count))
    if not found:
        return []
    with scratch_directory(repository.state_dir) as scratch:
        now = take_snapshot(repository, scratch).tree
    trees = [now, *(entry.tree for entry in found)]
    counts = count_changes(repository.git, list(zip(trees[1:], trees, strict=False)))
    return [Turn(entry, files) for entry, files in zip(found, counts, strict=True)]
