"""Targets of a restore that no checkpoint is: a state made from the current one, a turn's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.capture import write_state
from git_boocode.checkpoints.restore.request import RESTORE, WantedPaths
from git_boocode.checkpoints.store.catalog import (
    EXCLUDED,
    INCLUDED,
    Catalog,
    Change,
    Checkpoint,
)
from git_boocode.checkpoints.turns import (
    NOW,
    RECORDED,
    end_is_unknown,
    following_turn,
    turn_of,
)
from git_boocode.checkpoints.worktree.snapshot import ExactFile, Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.errors import NextStep, RefusedError
from git_boocode.repo.index import Entry
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.reported_turn import open_beside
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import is_marked, known_turns
from git_boocode.repo.store import Commit, ShortIds, Store

_KIND = "target"
_OF_STATE = (
    "boocode",
    "id",
    "created_at",
    "worktree",
    "head",
    "index",
    EXCLUDED,
    INCLUDED,
    "exact",
    "state",
    "skipped",
)
"""What says how the files were; all else is about the turn."""


def no_target(repository: Repository, identifier: str) -> Checkpoint:
    """What stands for a target until it is made; `identifier` is the turn that it is about."""
    return Checkpoint(identifier, "", Commit("", repository.empty_tree, (), ""), Metadata({}))


def target_from(
    catalog: Catalog, snapshot: Snapshot, wanted: WantedPaths, identifier: str
) -> Checkpoint:
    """The state of a snapshot with what some paths are to be, as a commit that no ref names.

    `identifier` is the turn that it is about.
    """
    # In a dry run, that of the catalog does not see the temporary objects.
    store = catalog.repository.store
    changes = [_change(file.path, file.mode, file.id) for file in wanted.files]
    staging = snapshot.staging
    if staging is not None and wanted.staged:
        staging = _staged(store, snapshot, staging, wanted.staged)
    if staging is not None:
        staging = staging.with_files({file.path for file in wanted.files})
    aimed = snapshot._replace(
        tree=snapshot.edited_tree(store, snapshot.tree, changes),
        staging=staging,
        exact={file.path: ExactFile(blob=file.raw) for file in wanted.files if file.raw},
    )
    target = write_state(catalog.repository, aimed, _KIND, {}, identifier)
    snapshot.quarantine.release()
    return target


class Target(NamedTuple):
    """What is restored: the files of one checkpoint, and the conversation of one.

    If these are of the end of a turn, `conversation` is the next turn of it, at whose beginning the
    conversation stood there; None if it has not gone on since.
    """

    files: Checkpoint
    conversation: Checkpoint | None


def find_target(catalog: Catalog, name: str, *, after: bool) -> Target:
    """The target of a restore to a checkpoint or, if `after`, to the end of its turn.

    RefusedError (`not_found`) if there is no such checkpoint, or its turn has no known end.
    """
    turn = catalog.find(name)
    if not after:
        return Target(turn, turn)
    found = turn_of(catalog, turn, lambda: NOW)
    running = open_beside(known_turns(catalog.repository.state_dir), "", "")
    if found.end == NOW or (found.end != RECORDED and turn.id in running):
        raise _not_ended(catalog, turn)
    commit = catalog.store.commit(found.after) if found.after else None
    if commit is None:
        raise end_is_unknown(catalog, turn)
    try:
        end = Metadata.parse(commit.message)
    except MetadataError as error:
        raise catalog.unusable(turn.id, error) from error
    about = {key: value for key, value in turn.meta.values.items() if key not in _OF_STATE}
    about |= {key: value for key, value in end.values.items() if key in _OF_STATE}
    state = Checkpoint(turn.id, turn.ref, commit, Metadata(about, turn.meta.mask))
    # An archived turn has left the conversation.
    refs = catalog.store.refs(CHECKPOINTS) if turn.ref.startswith(CHECKPOINTS) else ()
    return Target(state, following_turn(catalog.entries(refs), turn, end.text("id")))


def _not_ended(catalog: Catalog, turn: Checkpoint) -> RefusedError:
    short = ShortIds(catalog.store)(turn.id)
    before = f"'git boocode restore {short}'"
    hints = [NextStep("{} goes back to before it", RESTORE, turn.id, typed=before)]
    if is_marked(catalog.repository):
        hints.insert(0, NextStep("{} ends it", "turn", "end", typed="'git boocode turn end'"))
    return RefusedError(
        f"the turn '{short}' has not ended, so there is no state after it",
        code="not_found",
        hints=tuple(hints),
    )


def _staged(
    store: Store, snapshot: Snapshot, staging: Staging, entries: Mapping[str, Sequence[Entry]]
) -> Staging:
    plain = {path: next((e for e in each if not e.stage), None) for path, each in entries.items()}
    changes = [
        _change(path, entry.mode if entry else "", entry.id if entry else "")
        for path, entry in plain.items()
    ]
    special = [entry for entry in staging.special if entry.path not in entries]
    special += (entry for each in entries.values() for entry in each if entry.stage)
    return Staging(snapshot.edited_tree(store, staging.tree, changes), tuple(special))


def _change(path: str, mode: str, identifier: str) -> Change:
    return Change(path, "modify" if mode else "delete", "", mode, identifier)
