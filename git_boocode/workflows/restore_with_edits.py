"""Restore, undo and redo with a callback's edits, proposals, and what they must know of agents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from git_boocode.agents.restore_support import host_of_agents
from git_boocode.checkpoints.conversation_files import Editor
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.plan import read_plan
from git_boocode.checkpoints.restore.request import RestoreHost, RestoreRequest
from git_boocode.checkpoints.restore.transaction import RestoreResult
from git_boocode.checkpoints.store.catalog import EDITS, Catalog
from git_boocode.proposals.earlier_states import EarlierStates
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.lock import EDIT_NOTE, worktree_lock
from git_boocode.repo.repository import Repository

_REFUSED_FOR_LATER = ("not_found", "newer_turns", "later_changes")


def restore(repository: Repository, name: str, request: RestoreRequest) -> RestoreResult:
    """See `git_boocode.checkpoints.restore.commands.restore`."""
    return commands.restore(repository, name, request, _host(repository))


def undo(repository: Repository, request: RestoreRequest) -> RestoreResult:
    """See `git_boocode.checkpoints.restore.commands.undo`.

    If an accept was killed while writing, its temporary files are removed first.
    """
    if not request.dry_run:
        _end_killed_accept(repository)
    with _rewind_hint(repository):
        return commands.undo(repository, request, _host(repository))


def _end_killed_accept(repository: Repository) -> None:
    # Nearly always nothing is noted, so looking must not load what reads it.
    if not os.path.lexists(os.path.join(repository.state_dir, EDIT_NOTE)):
        return
    from git_boocode.editing.recovery import interrupted_edit
    from git_boocode.editing.recovery import repair as repair_edit
    from git_boocode.editing.workspace import LOCK_PATIENCE

    latest = next(iter(Catalog(repository).safety()), None)
    if latest is None or read_plan(latest).proposal is None:
        return
    with worktree_lock(repository.state_dir, shared=False, patience=LOCK_PATIENCE):
        # The lock shows that it was killed.
        if (found := interrupted_edit(repository)) is not None:
            repair_edit(repository, found)


def redo(repository: Repository, request: RestoreRequest) -> RestoreResult:
    """See `git_boocode.checkpoints.restore.commands.redo`."""
    with _rewind_hint(repository):
        return commands.redo(repository, request, _host(repository))


@contextmanager
def _rewind_hint(repository: Repository) -> Iterator[None]:
    """Name `rewind` in a refusal if an applied edit is newer than restores and turns."""
    try:
        yield
    except RefusedError as error:
        if error.code not in _REFUSED_FOR_LATER or not _is_edit_newest(repository):
            raise
        hints = ("'git boocode rewind' undoes the latest edit", *error.hints)
        raise RefusedError(
            error.message, code=error.code, hints=hints, details=error.details
        ) from None


def _is_edit_newest(repository: Repository) -> bool:
    catalog = Catalog(repository)
    if not catalog.store.refs(EDITS, newest=1):
        return False
    # Only here, because it takes long to load.
    from git_boocode.editing.records import Records

    edit = next(Records(repository).history(), None)
    others = [each.id for each in (catalog.latest(), *catalog.safety()[:1]) if each]
    return edit is not None and edit.rewinds is None and edit.id > max(others, default="")


def repair(repository: Repository) -> RestoreResult | None:
    """See `git_boocode.checkpoints.restore.commands.repair`."""
    return commands.repair(repository, RestoreRequest(), _host(repository))


def _host(repository: Repository) -> RestoreHost:
    return host_of_agents()._replace(editor=_editor, proposals=EarlierStates(repository))


def _editor() -> Editor:
    # Imported late, because few callbacks request edits.
    from git_boocode.workflows.host_files import FileEditor

    return FileEditor()
