"""Write a snapshot as a checkpoint, a commit with its own ref, and prune once a day."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from git_boocode.checkpoints.store.catalog import (
    CHECKPOINTS,
    SAFETY,
    SAFETY_KIND,
    TURN_END_KIND,
    TURN_ENDS,
    Catalog,
    Checkpoint,
)
from git_boocode.checkpoints.store.origin import with_proof
from git_boocode.checkpoints.worktree.snapshot import (
    IndexCache,
    Snapshot,
    discard_cache,
    encode_exact,
    forget_content,
    save_cache,
)
from git_boocode.checkpoints.worktree.staging import Staging, conflict_blobs, decode_special
from git_boocode.repo.config import Identity
from git_boocode.repo.durable import is_regular, read_private, write_private
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.gc import create_refs, pack_many_refs
from git_boocode.repo.git import GitError
from git_boocode.repo.head import operation_in_progress
from git_boocode.repo.ids import OBJECT_ID, id_time, timestamp
from git_boocode.repo.location import make_state_dir
from git_boocode.repo.lock import INSIDE_RESTORE
from git_boocode.repo.metadata import VERSION, Metadata, MetadataError
from git_boocode.repo.object_writer import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, RefChange, raw_commit
from git_boocode.repo.trees import Item, write_tree

_FILE = b"100644"
# The metadata that a safety checkpoint copies from the restore's target.
_CONVERSATION = ("session", "chat", "message", "agent", "anchor", "meta")
_STAMP = "last-prune"
_DAY = 86_400.0


def holds(repository: Repository, checkpoint: Checkpoint, snapshot: Snapshot) -> bool:
    """Whether a checkpoint has the same files, staging area and HEAD as a snapshot."""
    if checkpoint.tree != snapshot.tree:
        return False
    if checkpoint.meta.part("head", "commit") != snapshot.head.commit:
        return False
    try:
        return read_staging(repository, checkpoint.meta) == snapshot.staging
    except (GitError, MetadataError):
        return False


def read_staging(repository: Repository, meta: Metadata) -> Staging | None:
    """The staging area that a checkpoint records; None if it records none.

    Raises GitError if objects are missing, and MetadataError if the record is malformed
    (`malformed`).
    """
    tree, details = meta.part("index", "tree"), meta.part("index", "details")
    if tree is None:
        return None
    try:
        if not all(OBJECT_ID.fullmatch(part) for part in (tree, details) if part is not None):
            raise ValueError
        if details is None:
            return Staging(tree, ())
        return Staging(tree, decode_special(repository.store.file(details, "entries")))
    except ValueError:
        message = "its record of the staging area is malformed"
        raise MetadataError(message, code="malformed") from None


def write_checkpoint(
    catalog: Catalog,
    snapshot: Snapshot,
    kind: str,
    values: Mapping[str, Any],
    identifier: str | None = None,
    *,
    cache: IndexCache | None = None,
) -> Checkpoint:
    """Write a snapshot as a commit, publish its objects, and create its ref.

    `kind` is `checkpoint`, `pre-restore` for a safety checkpoint, or `turn-end`, which replaces an
    earlier one of the checkpoint `values["turn"]`; `values` is more metadata. The snapshot was
    built on `cache`, whose ref keeps objects reachable: if that ref was deleted meanwhile, a
    RefusedError is raised (`conflict`). CollectedError if git deleted objects meanwhile.
    """
    repository, identifier = catalog.repository, identifier or catalog.store.new_id()
    # Git's dates follow the order of the ids, also if the clock was set back.
    writer = _Writer(snapshot.quarantine, repository.config.identity(), id_time(identifier))
    meta = Metadata(
        {
            "boocode": VERSION,
            "kind": kind,
            "id": identifier,
            "created_at": timestamp(time.time()),
            **values,
            "worktree": repository.worktree_json(),
            "head": {"ref": snapshot.head.ref, "commit": snapshot.head.commit},
            "index": writer.index_json(snapshot),
            **(writer.exact(snapshot) if snapshot.exact else {}),
            "state": operation_in_progress(repository),
            "skipped": [skipped._asdict() for skipped in snapshot.skipped],
        }
    )
    reachable = (snapshot.head.commit, *(meta.part(key, "commit") for key in ("index", "exact")))
    parents = [parent for parent in reachable if parent]
    meta = Metadata(with_proof(repository, snapshot.tree, parents, meta.values))
    message = meta.message()
    commit = writer.commit(snapshot.tree, parents, message)
    snapshot.quarantine.move()
    below = {"checkpoint": CHECKPOINTS, TURN_END_KIND: TURN_ENDS}.get(kind, SAFETY)
    ref, old = f"{below}{identifier}", None
    if kind == TURN_END_KIND:
        ref = f"{below}{values['turn']}"
        old = next((each.target for each in catalog.store.refs(ref)), None)
    checked = [] if cache is None else [RefChange(cache.ref, cache.commit, cache.commit)]
    changes = [*(each for each in checked if each.name != ref), RefChange(ref, commit, old)]
    made = Commit(commit, snapshot.tree, tuple(parents), message)
    checkpoint = Checkpoint(identifier, ref, made, meta)
    create_refs(repository, snapshot.quarantine, changes, checkpoint.commits)
    if "partial" in values:
        # The cached index still fits, but there is a newer checkpoint now.
        forget_content(repository)
    elif snapshot.cache is None:
        discard_cache(repository)
    else:
        content = snapshot.content()
        save_cache(repository, snapshot.cache._replace(ref=ref, commit=commit, content=content))
    return checkpoint


def safety_checkpoint(
    repository: Repository,
    snapshot: Snapshot,
    target: Metadata,
    operation: Mapping[str, Any],
    identifier: str | None = None,
    trigger: str = "restore",
) -> Checkpoint:
    """Record the current state of the worktree before a restore changes it.

    The metadata of the conversation is copied from `target`, the restore's target, so that an undo
    passes it to the callback. `operation` is the record that
    `git_boocode.checkpoints.restore.plan` reads.
    """
    same = {key: target.values.get(key) for key in _CONVERSATION}
    label = "before a restore" if trigger == "restore" else f"before '{trigger}' of a proposal"
    values = {**same, "label": label, "trigger": trigger, "restore": dict(operation)}
    return write_checkpoint(Catalog(repository), snapshot, SAFETY_KIND, values, identifier)


class _Writer(NamedTuple):
    """Writes the commits of one checkpoint."""

    quarantine: Quarantine
    by: Identity
    when: float

    def commit(self, tree: str, parents: list[str], message: str) -> str:
        raw = raw_commit(tree, parents, message, self.by, self.when)
        return self.quarantine.store(b"commit", raw).decode("ascii")

    def index_json(self, snapshot: Snapshot) -> dict[str, str | None]:
        """The metadata of the staging area.

        Every tree that it names is reachable: from HEAD, from the checkpoint, or from a commit
        written here.
        """
        staging, details = snapshot.staging, None
        if staging is None:
            return {"tree": None, "commit": None, "details": None}
        if staging.special:
            blobs = conflict_blobs(staging)
            details = self._records(staging.encode(), blobs, "boocode index details\n")
        elif staging.tree in (snapshot.head.tree, snapshot.tree):
            return {"tree": staging.tree, "commit": None, "details": None}
        parents = [parent for parent in (snapshot.head.commit, details) if parent]
        commit = self.commit(staging.tree, parents, "boocode index\n")
        return {"tree": staging.tree, "commit": commit, "details": details}

    def exact(self, snapshot: Snapshot) -> dict[str, dict[str, str]]:
        """The metadata of the exact bytes and modes beside the tree."""
        blobs = {file.blob for file in snapshot.exact.values() if OBJECT_ID.fullmatch(file.blob)}
        commit = self._records(encode_exact(snapshot.exact), blobs, "boocode exact files\n")
        return {"exact": {"commit": commit}}

    def _records(self, entries: bytes, blobs: Iterable[str], message: str) -> str:
        """Write a commit that holds records and keeps the blobs that they name reachable."""
        store = self.quarantine.store
        names = (blob.encode("ascii") for blob in blobs)
        files = {b"blobs/" + blob: Item(_FILE, blob) for blob in names}
        files[b"entries"] = Item(_FILE, store(b"blob", entries))
        tree = write_tree(files, store).decode("ascii")
        return self.commit(tree, [], message)


def prune_daily(repository: Repository) -> None:
    """Prune all worktrees once a day, and pack refs if many are loose.

    Errors do not make the caller's checkpoint fail; `last_prune_failure` reports them.
    """
    # On a full disk, not even the failure can be stored; the next checkpoint tries again.
    with suppress(OSError):
        stamp = os.path.join(repository.common_state_dir, _STAMP)
        due = not is_regular(stamp)
        # A time in the future, from a wrong clock, must not postpone pruning for ever.
        due = due or not -_DAY < time.time() - os.stat(stamp).st_mtime < _DAY
        if not due or os.environ.get(INSIDE_RESTORE):
            return
        # Store the time first, so that parallel checkpoints do not prune as well.
        note_pruning(repository)
        from git_boocode.checkpoints.store.retention import prune

        try:
            prune(repository, everywhere=True, patience=0)
            pack_many_refs(repository)
        except RefusedError:
            # Another command holds a lock; the next day's checkpoint tries again.
            return
        except (BoocodeError, OSError) as error:
            reason = error.message if isinstance(error, BoocodeError) else str(error)
            note_pruning(repository, reason)


def note_pruning(repository: Repository, failure: str = "") -> None:
    """Record that checkpoints were pruned just now, or why that failed."""
    make_state_dir(repository.common_state_dir)
    stamp = os.path.join(repository.common_state_dir, _STAMP)
    write_private(stamp, failure.encode("utf-8", "replace"), to_disk=False)


def last_prune_failure(repository: Repository) -> str | None:
    """Why the latest daily pruning failed; None if it succeeded."""
    data = read_private(os.path.join(repository.common_state_dir, _STAMP))
    return data.decode("utf-8", "replace") if data else None
