"""The worktree and the staging area at one moment."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.worktree.index_cache import Content, IndexCache
from git_boocode.checkpoints.worktree.indexer import Disk, Indexer, Skipped
from git_boocode.checkpoints.worktree.staging import Staging, UserIndex
from git_boocode.repo.git import Git, nul_lines
from git_boocode.repo.head import Head
from git_boocode.repo.index import Index
from git_boocode.repo.object_writer import Quarantine

NO_VALUE = "-"

Later = Callable[[Callable[[], None]], None]
"""Takes work that nobody has to wait for."""


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


class Snapshot:
    """The result of a scan: trees, and a private index that matches the files on disk."""

    # The cache to store for the next capture after a checkpoint of this; None for no cache.
    cache: IndexCache | None = None
    # Takes what only makes the next capture faster; None: it is done at once.
    later: Later | None = None
    # If the private index is older than the tree: updates it once the objects are published, and
    # returns its cache, or None if it does not fit and the cache before stays.
    update_index: Callable[[], IndexCache | None] | None = None
    # The user's ignored files that were not recorded, although the current rules show them.
    left_out: Collection[str] = ()
    # The bytes and modes to record beside the tree, by path.
    exact: Mapping[str, ExactFile] = MappingProxyType({})
    disk_tree = ""  # the files on disk
    tree = ""  # the files on disk and those that a sparse checkout omits

    def __init__(
        self,
        quarantine: Quarantine,
        head: Head,
        index: Index,
        user: UserIndex,
        staging: Staging | None,
        skipped: Iterable[Skipped],
    ) -> None:
        self.quarantine = quarantine
        self.head = head
        self.index = index
        self.original = user.index if user.exists else None
        self.staging = staging  # None if the user's index could not be read
        self.skipped = sorted(set(skipped))

    def content(self) -> Content:
        """The state, to compare with that of a checkpoint."""
        if self.staging is None:
            return Content(self.tree, self.head.commit, None, "")
        special = os.fsdecode(self.staging.encode())
        return Content(self.tree, self.head.commit, self.staging.tree, special)

    def dump(self) -> bytes | None:
        """The entries of the user's index; None if it could not be read."""
        if self.staging is None:
            return None
        return b"" if self.original is None else self.original.dump()

    def publish(self, git: Git) -> None:
        """Move the objects to the repository, and use `git` from now on; see `Quarantine.move`."""
        self.quarantine.move()
        self.index = Index(git, self.index.path)

    def force_add(self, paths: Iterable[str], worktree: str) -> None:
        """Add ignored files and rewrite the trees."""
        # In the quarantine: on a full disk, git leaves temporary files among its objects.
        indexer = Indexer(Index(self.quarantine.git, self.index.path), Disk(worktree))
        indexer.add(list(paths))
        self.skipped += indexer.failed
        self.cache = None
        self.write_trees()
        self.quarantine.release()

    def store_tree(self, index: Index) -> str:
        """Store the entries of an index as trees in the repository; return the root tree's id."""
        tree = Index(self.quarantine.git, index.path).write_tree()
        self.quarantine.release()
        return tree

    def write_trees(self) -> None:
        """Write the trees of the private index."""
        index = Index(self.quarantine.git, self.index.path)
        self.disk_tree = self.tree = index.write_tree(beside=self.quarantine.sync)
        absent = self.staging.absent if self.staging else []
        if absent:
            complete = index.copy()
            complete.put(absent)
            # In a partial clone, the objects of absent files may be missing.
            self.tree = complete.write_tree("--missing-ok")
