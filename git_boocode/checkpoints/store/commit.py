"""Keep a snapshot as a checkpoint: a commit under a ref of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from git_boocode.checkpoints.store.catalog import (
    CHECKPOINTS,
    SAFETY,
    SAFETY_KIND,
    Checkpoint,
)
from git_boocode.checkpoints.worktree.index_cache import IndexCache, discard_cache, save_cache
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging, conflict_blobs, decode_special
from git_boocode.repo.config import Identity
from git_boocode.repo.git import GitError
from git_boocode.repo.head import operation_in_progress
from git_boocode.repo.ids import OBJECT_ID, id_time, new_id, timestamp
from git_boocode.repo.metadata import VERSION, Metadata, MetadataError
from git_boocode.repo.object_writer import Item, Quarantine, write_tree
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, RefChange, Store, raw_commit

_FILE = b"100644"
# What a safety checkpoint takes over from the metadata of the restore's target.
_CONVERSATION = ("session", "chat", "message", "agent", "anchor", "meta")


def holds(repository: Repository, checkpoint: Checkpoint, snapshot: Snapshot) -> bool:
    """Whether a checkpoint holds just what a snapshot holds: files, staging and HEAD."""
    if checkpoint.tree != snapshot.tree:
        return False
    if checkpoint.meta.part("head", "commit") != snapshot.head.commit:
        return False
    try:
        return kept_staging(repository, checkpoint.meta) == snapshot.staging
    except (GitError, MetadataError):
        return False


def kept_staging(repository: Repository, meta: Metadata) -> Staging | None:
    """The staging area that a checkpoint holds; None if it holds none.

    Raises:
        GitError: its objects are missing.
        MetadataError: what it says of the staging area cannot be (`malformed`).
    """
    tree, details = meta.part("index", "tree"), meta.part("index", "details")
    if tree is None:
        return None
    if not all(OBJECT_ID.fullmatch(part) for part in (tree, details) if part is not None):
        raise _malformed_staging()
    if details is None:
        return Staging(tree, ())
    entries = repository.git.run("cat-file", "blob", f"{details}:entries")
    try:
        return Staging(tree, decode_special(entries))
    except ValueError:
        raise _malformed_staging() from None


def _malformed_staging() -> MetadataError:
    return MetadataError("what it holds of the staging area is malformed", code="malformed")


def keep(
    repository: Repository,
    store: Store,
    snapshot: Snapshot,
    kind: str,
    values: Mapping[str, Any],
    identifier: str | None = None,
    *,
    cache: IndexCache | None = None,
) -> Checkpoint:
    """Write a snapshot as a commit, let others see its objects, and give it its ref.

    The caller confirms it with `GcWatch`.

    Args:
        repository: the repository.
        store: where to write.
        snapshot: what to keep.
        kind: `checkpoint`, or `pre-restore` for a safety checkpoint.
        values: further metadata.
        identifier: its id; by default a new one.
        cache: what the snapshot was built on; its ref must still exist, which keeps the objects.

    Raises:
        RefusedError: the ref of `cache` was deleted meanwhile (`conflict`).
    """
    identifier = identifier or new_id()
    when = id_time(identifier)
    writer = _Writer(snapshot.quarantine, repository.config.identity(), when)
    meta = Metadata(
        {
            "boocode": VERSION,
            "kind": kind,
            "id": identifier,
            "created_at": timestamp(when),
            **values,
            "worktree": repository.worktree_json(),
            "head": {"ref": snapshot.head.ref, "commit": snapshot.head.commit},
            "index": writer.index(snapshot),
            **writer.exact(snapshot),
            "state": operation_in_progress(repository),
            "skipped": [skipped._asdict() for skipped in snapshot.skipped],
        }
    )
    reachable = (snapshot.head.commit, *(meta.part(key, "commit") for key in ("index", "exact")))
    parents = [parent for parent in reachable if parent]
    message = meta.message()
    commit = writer.commit(snapshot.tree, parents, message)
    on_disk = snapshot.publish(repository.git)
    ref = f"{CHECKPOINTS if kind == 'checkpoint' else SAFETY}{identifier}"
    checked = [] if cache is None else [RefChange(cache.ref, cache.commit, cache.commit)]
    store.update_refs([*checked, RefChange(ref, commit, None)])
    on_disk()
    if snapshot.cache is None:
        discard_cache(repository)
    else:
        save_cache(
            repository,
            snapshot.cache._replace(ref=ref, commit=commit, content=snapshot.content()),
        )
    return Checkpoint(identifier, ref, Commit(commit, snapshot.tree, tuple(parents), message), meta)


class _Writer:
    """Writes the commits that one checkpoint consists of."""

    def __init__(self, quarantine: Quarantine, by: Identity, when: float) -> None:
        self._quarantine = quarantine
        self._by = by
        self._when = when

    def commit(self, tree: str, parents: list[str], message: str) -> str:
        """Write one commit."""
        raw = raw_commit(tree, parents, message, self._by, self._when)
        return self._quarantine.store(b"commit", raw).decode("ascii")

    def index(self, snapshot: Snapshot) -> dict[str, str | None]:
        """The metadata of the staging area; its commits are written where they are needed.

        Every tree that it names is reachable: from HEAD, from the checkpoint, or from the commit
        written here.
        """
        staging = snapshot.staging
        if staging is None:
            return {"tree": None, "commit": None, "details": None}
        details = self._details(staging) if staging.special else None
        reachable = staging.tree in (snapshot.head.tree, snapshot.tree)
        if reachable and details is None:
            return {"tree": staging.tree, "commit": None, "details": None}
        parents = [parent for parent in (snapshot.head.commit, details) if parent]
        commit = self.commit(staging.tree, parents, "boocode index\n")
        return {"tree": staging.tree, "commit": commit, "details": details}

    def _details(self, staging: Staging) -> str:
        entries, blobs = staging.encode(), conflict_blobs(staging)
        return self._records(entries, blobs, "boocode index details\n")

    def exact(self, snapshot: Snapshot) -> dict[str, dict[str, str]]:
        """The metadata of bytes and modes beside the tree; none where there are none."""
        if not snapshot.exact:
            return {}
        from git_boocode.checkpoints.restore.exact import encode

        blobs = {file.blob for file in snapshot.exact.values() if OBJECT_ID.fullmatch(file.blob)}
        commit = self._records(encode(snapshot.exact), blobs, "boocode exact files\n")
        return {"exact": {"commit": commit}}

    def _records(self, entries: bytes, blobs: Iterable[str], message: str) -> str:
        """Write a commit that holds records, and keeps the blobs reachable that they name."""
        store = self._quarantine.store
        names = (blob.encode("ascii") for blob in blobs)
        files = {b"blobs/" + blob: Item(_FILE, blob) for blob in names}
        files[b"entries"] = Item(_FILE, store(b"blob", entries))
        tree = write_tree(files, store).decode("ascii")
        return self.commit(tree, [], message)


def safety_checkpoint(
    repository: Repository,
    snapshot: Snapshot,
    target: Metadata,
    operation: Mapping[str, Any],
    identifier: str | None = None,
) -> Checkpoint:
    """Keep what is in the worktree now, before a restore touches it.

    Args:
        repository: the repository.
        snapshot: what is there now.
        target: the metadata of where the restore goes; an undo tells the callback of the same
            conversation.
        operation: what the restore is, as `git_boocode.checkpoints.restore.operation` reads it.
        identifier: its id; by default a new one.
    """
    told = {key: target.values.get(key) for key in _CONVERSATION}
    values = {**told, "label": "before a restore", "trigger": "restore", "restore": dict(operation)}
    return keep(repository, Store(repository), snapshot, SAFETY_KIND, values, identifier)
