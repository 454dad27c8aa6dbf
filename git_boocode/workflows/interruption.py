"""Restores and edits that were killed half-way: what to say of them, and what takes them back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.lock import INSIDE_RESTORE, interrupted_restore, worktree_lock
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.editing.recovery import Interrupted


class Interruption(NamedTuple):
    """What was interrupted, and the hints."""

    message: str
    hints: tuple[str, ...]


def interruptions(repository: Repository) -> list[Interruption]:
    """What was interrupted in a worktree; empty while something is running.

    There can be something only where `is_noted`.
    """
    state = repository.state_dir
    if os.environ.get(INSIDE_RESTORE):
        return []
    try:
        with worktree_lock(state, shared=True, patience=0, read_only=True):
            safety = interrupted_restore(state)
            found = [*_edit(repository)]
    except RefusedError:
        return []
    if safety is not None and is_kept(repository, safety):
        way_back = "'git boocode undo' or 'git boocode doctor --fix' goes back to it"
        found.append(Interruption(half_way(safety), (way_back,)))
    return found


def half_way(safety: str) -> str:
    """What to say of a restore that was killed; `safety` is the id of its safety checkpoint."""
    return f"a restore was interrupted half-way; the state before it is kept as {safety}"


def _edit(repository: Repository) -> Iterator[Interruption]:
    from git_boocode.editing.recovery import describe, interrupted_edit

    try:
        if found := interrupted_edit(repository):
            yield Interruption(describe(found), (remedy(found),))
    except BoocodeError as error:
        yield Interruption(error.message, error.hints)


def remedy(found: Interrupted) -> str:
    """The hint for an edit that was killed."""
    done = "removes what it left behind" if found.done else "takes the files back to before it"
    return f"'git boocode doctor --fix' {done}"


def is_kept(repository: Repository, safety: str) -> bool:
    """Whether an interrupted restore's safety checkpoint is there."""
    # Without its safety checkpoint a restore has not begun to change anything.
    from git_boocode.checkpoints.store.catalog import SAFETY, Catalog

    return bool(Catalog(repository).store.refs(f"{SAFETY}{safety}"))
