"""Warn of a restore, or an edit, that was killed half-way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from git_boocode.cli.output import warn
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.lock import EDIT_NOTE, INSIDE_RESTORE, interrupted_restore, worktree_lock
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.editing.recovery import Interrupted


def warn_of_interruption(repository: Repository) -> None:
    """Warn if an earlier restore or edit was killed half-way."""
    state = repository.state_dir
    if interrupted_restore(state) is None and not is_edit_noted(repository):
        return
    if os.environ.get(INSIDE_RESTORE):
        return
    try:
        with worktree_lock(state, shared=True, patience=0, looking=True):
            safety = interrupted_restore(state)
            if is_edit_noted(repository):
                _warn_of_edit(repository)
    except RefusedError:
        # It is still running.
        return
    if safety is not None and is_kept(repository, safety):
        warn(
            f"a restore was interrupted half-way; the state before it is kept as {safety}",
            ("'git boocode undo' or 'git boocode doctor --fix' goes back to it",),
        )


def is_edit_noted(repository: Repository) -> bool:
    """Whether anything is in the place of the journal of an edit."""
    # Nearly always nothing is, so looking must not load what reads it.
    return os.path.lexists(os.path.join(repository.state_dir, EDIT_NOTE))


def _warn_of_edit(repository: Repository) -> None:
    from git_boocode.editing.recovery import describe, interrupted_edit

    try:
        if found := interrupted_edit(repository):
            warn(describe(found), (remedy(found),))
    except BoocodeError as error:
        warn(error.message, error.hints)


def remedy(found: Interrupted) -> str:
    """The hint for an edit that was killed."""
    done = "removes what it left behind" if found.done else "takes the files back to before it"
    return f"'git boocode doctor --fix' {done}"


def is_kept(repository: Repository, safety: str) -> bool:
    """Whether an interrupted restore's safety checkpoint is there."""
    # Without its safety checkpoint a restore has not begun to change anything.
    from git_boocode.checkpoints.store.catalog import SAFETY, Catalog

    return bool(Catalog(repository).store.refs(f"{SAFETY}{safety}"))
