"""The worktree and the staging area at one moment, and the index that a capture keeps for the next.

The index cache is two files in the worktree's private directory: the private index of the last
capture, so that git skips unchanged files, and a note that describes what it was made from. It is
optional: if it is missing, damaged or outdated, a capture starts from a copy of the user's index.
It is valid only while the ref of a checkpoint with the same files exists, because that ref keeps
the index's objects from being collected.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from git_boocode.checkpoints.store.catalog import Change
from git_boocode.checkpoints.worktree.indexer import Disk, Indexer, Skipped
from git_boocode.checkpoints.worktree.staging import Staging, decode_special
from git_boocode.repo.durable import is_regular, read_private_json, remove, write_private
from git_boocode.repo.git import nul_lines
from git_boocode.repo.head import Head
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.index import Index, borrow_index, crc_of
from git_boocode.repo.layout import ALL_REFS, INDEX_CACHE, INDEX_CACHE_NOTE
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.object_writer import Quarantine
from git_boocode.repo.path_rule import EXCLUDE, PathRule, as_in_head
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Store
from git_boocode.repo.trees import Item, TreeEditor

NO_VALUE = "-"
LARGEST = 256 << 20
"""The maximum size of the note, in bytes; it lists every untracked file."""
_VERSION = 5
_PATHS = ("extra", "missing", "recent", "modules")


class ExactFile(NamedTuple):
    """The exact mode and bytes of one file."""

    mode: int | None = None  # the permission bits; None if unknown
    # The id of a blob with the raw bytes; `=` for the bytes in the tree, empty for the bytes that
    # git writes, as with a filter driver.
    blob: str = ""


ExactFiles = Mapping[str, ExactFile]


def encode_exact(files: ExactFiles) -> bytes:
    """The records of some files by path, as the bytes of a blob."""
    modes = {
        path: NO_VALUE if file.mode is None else f"{file.mode:o}" for path, file in files.items()
    }
    return nul_lines(
        f"{modes[path]} {file.blob or NO_VALUE}\t{path}" for path, file in files.items()
    )


class Content(NamedTuple):
    """The recorded state; two checkpoints are the same if these values are equal."""

    tree: str  # of the files
    head: str | None  # the commit that HEAD names
    staged: str | None  # the staged tree; None if the index could not be read
    special: str  # the result of `Staging.encode`, as text


class IndexCache(NamedTuple):
    """The private index of a capture, and the state that it was made from."""

    path: str  # this process's own copy of the private index
    since: int  # when the scan that wrote it began, by the worktree's file system, in ns since 1970
    ref: str  # the checkpoint that has the index's files
    commit: str  # the commit that the ref named
    content: Content | None  # what the newest checkpoint records; None if that is unknown
    user_index: str  # the fingerprint of the user's index
    head_tree: str  # the tree of HEAD
    extra: frozenset[str]  # the recorded paths that the user's index lacks
    missing: frozenset[str]  # the paths in the user's index that were not on disk
    recent: frozenset[str]  # the paths whose next change git may miss, see `WorktreeScan`
    modules: frozenset[str]  # the submodules whose commit was read from disk
    rules: str  # the fingerprint of the conversion rules

    def staging(self, worktree: str) -> Staging | None:
        """The staging area, with absent files checked again; None if it is not known."""
        if self.content is None or self.content.staged is None:
            return None
        if not self.content.special:
            return Staging(self.content.staged, ())
        special = decode_special(os.fsencode(self.content.special))
        return Staging(self.content.staged, special).rechecked(worktree)


def load_cache(repository: Repository, scratch: str, rules: str) -> IndexCache | None:
    """Read the cache of the last capture; None if it is damaged, or made by other rules."""
    with suppress(OSError, ValueError, TypeError, KeyError, OverflowError, AttributeError):
        note_path = os.path.join(repository.state_dir, INDEX_CACHE_NOTE)
        note: Any = read_private_json(note_path, largest=LARGEST)
        cache = _parse(note, fresh_path(os.path.join(scratch, "worktree.index")))
        path = os.path.join(repository.state_dir, INDEX_CACHE)
        if cache.rules == rules and is_regular(path) and borrow_index(path, cache.path):
            return cache if crc_of(cache.path) == note["crc"] else None
    return None


def _parse(note: dict[str, Any], path: str) -> IndexCache:
    content, ids = None, [note["commit"]]
    if note["content"] is not None:
        content = Content(*note["content"])
        ids += [content.tree, content.tree if content.staged is None else content.staged]
        if content.special:
            decode_special(os.fsencode(content.special))
    supported = note["version"] == _VERSION and note["ref"].startswith(ALL_REFS)
    if not supported or not all(map(OBJECT_ID.fullmatch, ids)):
        raise ValueError("another version wrote it")
    return IndexCache(
        path=path,
        since=int(note["since"]),
        ref=note["ref"],
        commit=note["commit"],
        content=content,
        user_index=str(note["user_index"]),
        head_tree=str(note["head_tree"]),
        rules=str(note["rules"]),
        **{name: frozenset(map(str, note[name])) for name in _PATHS},
    )


def save_cache(repository: Repository, cache: IndexCache) -> None:
    """Store a private index for the next capture; a parallel capture may replace it."""
    # The checkpoint exists; a slower next capture is no reason to fail.
    with suppress(OSError):
        making = fresh_path(cache.path)
        borrow_index(cache.path, making)
        # The user's index may be private, but git writes indexes with the mode of the umask.
        os.chmod(making, 0o600)
        # Git compares files that are as new as the index: those that changed during the scan.
        os.utime(making, ns=(cache.since, cache.since))
        note = {
            "version": _VERSION,
            "crc": crc_of(making),
            "since": cache.since,
            "ref": cache.ref,
            "commit": cache.commit,
            "content": cache.content,
            "user_index": cache.user_index,
            "head_tree": cache.head_tree,
            "rules": cache.rules,
            **{name: sorted(getattr(cache, name)) for name in _PATHS},
        }
        os.replace(making, os.path.join(repository.state_dir, INDEX_CACHE))
        path = os.path.join(repository.state_dir, INDEX_CACHE_NOTE)
        write_private(path, json.dumps(note).encode(), to_disk=False)


def forget_content(repository: Repository) -> None:
    """Note that the newest checkpoint records another state than that of the cached index."""
    with suppress(OSError):
        path = os.path.join(repository.state_dir, INDEX_CACHE_NOTE)
        note = read_private_json(path, largest=LARGEST)
        if isinstance(note, dict):
            write_private(path, json.dumps({**note, "content": None}).encode(), to_disk=False)


def discard_cache(repository: Repository) -> None:
    """Let the next capture start from a copy of the user's index."""
    with suppress(OSError):
        remove(os.path.join(repository.state_dir, INDEX_CACHE_NOTE))


class Snapshot(NamedTuple):
    """The result of a scan: trees, and a private index that matches the files on disk."""

    quarantine: Quarantine  # which holds the new objects until they are published
    head: Head
    disk_index: Index  # of `disk_tree`, for use after the objects are published
    original: Index | None  # a copy of the user's index
    staging: Staging | None  # None if the user's index could not be read
    skipped: list[Skipped]
    disk_tree: str  # the files on disk
    tree: str  # the files on disk and those that a sparse checkout omits
    # The user's ignored files that were not recorded, although the current rules show them.
    left_out: Collection[str] = ()
    # The cache to store for the next capture after a checkpoint of this; None for no cache.
    cache: IndexCache | None = None
    # The bytes and modes to record beside the tree, by path.
    exact: ExactFiles = MappingProxyType({})
    exclude: PathRule = PathRule(EXCLUDE)  # what is not recorded
    included: frozenset[str] = frozenset()  # the files that are recorded and never pushed

    def content(self) -> Content:
        """The state, to compare with that of a checkpoint."""
        if self.staging is None:
            return Content(self.tree, self.head.commit, None, "")
        special = os.fsdecode(self.staging.encode())
        return Content(self.tree, self.head.commit, self.staging.tree, special)

    def recorded_staging(self, repository: Repository) -> Staging | None:
        """The staging area as it is recorded: with excluded paths as in HEAD."""
        staging, rule = self.staging, self.exclude
        if staging is None or not rule.specs:
            return staging
        scratch = os.path.dirname(self.disk_index.path)
        index = Index(self.quarantine.git, fresh_path(os.path.join(scratch, "staged.index")))
        index.read_tree(staging.tree)
        as_in_head(rule, index, self.head.tree)
        paths = (entry.path for entry in staging.special)
        others = rule.matching(repository, scratch, paths)
        special = tuple(entry for entry in staging.special if entry.path not in others)
        return Staging(index.write_tree(), special)

    def dump(self) -> bytes | None:
        """The entries of the user's index; None if it could not be read."""
        if self.staging is None:
            return None
        return b"" if self.original is None else self.original.dump()

    def with_files(self, paths: Iterable[str], worktree: str) -> Snapshot:
        """A snapshot that also has some ignored files; its objects are published."""
        # In the quarantine: on a full disk, git leaves temporary files among its objects.
        index = Index(self.quarantine.git, self.disk_index.path)
        indexer = Indexer(index, Disk(worktree))
        indexer.add(list(paths))
        disk_tree, tree = write_trees(index, self.staging)
        self.quarantine.release()
        skipped = [*self.skipped, *indexer.failed]
        return self._replace(skipped=skipped, disk_tree=disk_tree, tree=tree, cache=None)

    def edited_tree(self, store: Store, tree: str, changes: Sequence[Change]) -> str:
        """Write the tree after some changes to another one; its objects are not published."""
        editor = TreeEditor.of(store, tree, [each.path for each in changes])
        # Deletions first: a directory must be removed before a file can take its name.
        for each in sorted(changes, key=lambda change: change.action != "delete"):
            item = Item(each.mode.encode(), each.id.encode()) if each.action != "delete" else None
            editor.put(os.fsencode(each.path), item)
        return editor.write(self.quarantine.store).decode("ascii")

    def store_tree(self, index: Index) -> str:
        """Store the entries of an index as trees in the repository; return the root tree's id."""
        tree = Index(self.quarantine.git, index.path).write_tree()
        self.quarantine.release()
        return tree


def write_trees(index: Index, staging: Staging | None) -> tuple[str, str]:
    """Write the tree of a private index, and that with what a sparse checkout omits."""
    tree = index.write_tree()
    if staging is None or not staging.special or not staging.absent:
        return tree, tree
    # In a partial clone, the objects of absent files may be missing.
    return tree, complete_index(index, staging).write_tree("--missing-ok")


def complete_index(index: Index, staging: Staging) -> Index:
    """A copy of a private index that also has what a sparse checkout omits."""
    complete = index.copy()
    complete.put(staging.absent)
    return complete
