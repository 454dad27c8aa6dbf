"""The target of a restore that is made from the current state: only some paths differ from it."""

from __future__ import annotations

from collections.abc import Mapping

from git_boocode.checkpoints.capture import write_state
from git_boocode.checkpoints.restore.request import WantedPaths
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint
from git_boocode.checkpoints.worktree.snapshot import ExactFile, Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.entries import Metadata
from git_boocode.repo.index import Entry
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Store

_KIND = "target"


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


def _staged(
    store: Store, snapshot: Snapshot, staging: Staging, entries: Mapping[str, Entry | None]
) -> Staging:
    changes = [
        _change(path, entry.mode if entry else "", entry.id if entry else "")
        for path, entry in entries.items()
    ]
    special = tuple(entry for entry in staging.special if entry.path not in entries)
    return Staging(snapshot.edited_tree(store, staging.tree, changes), special)


def _change(path: str, mode: str, identifier: str) -> Change:
    return Change(path, "modify" if mode else "delete", "", mode, identifier)
