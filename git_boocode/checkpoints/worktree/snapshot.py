"""The worktree and the staging area at one moment."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from git_boocode.checkpoints.worktree.index_cache import Content, IndexCache
from git_boocode.checkpoints.worktree.indexer import Disk, Indexer, Skipped
from git_boocode.checkpoints.worktree.staging import Staging, UserIndex
from git_boocode.repo.git import Git
from git_boocode.repo.head import Head
from git_boocode.repo.index import Index
from git_boocode.repo.object_writer import Quarantine

if TYPE_CHECKING:
    from git_boocode.checkpoints.restore.exact import ExactFile


class Snapshot:
    """What was read, as trees and a private index that matches the files on disk."""

    # What to leave to the next capture, once a checkpoint holds this; None for nothing.
    cache: IndexCache | None = None
    # The user's ignored files that were not recorded, though they are visible now.
    left_out: Collection[str] = ()
    # The bytes and modes to record beside the tree, by path.
    exact: Mapping[str, ExactFile] = MappingProxyType({})
    disk_tree = ""  # of the files that are on disk
    tree = ""  # of what is on disk, and of what a sparse checkout leaves out

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
        """What it holds, to be compared with what a checkpoint holds."""
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
        """Let others see the objects, and go on with `git`; see `Quarantine.move`."""
        self.quarantine.move()
        self.index = Index(git, self.index.path)

    def force_add(self, paths: Iterable[str], worktree: str) -> None:
        """Take ignored files in as well, and write the trees anew."""
        # Not into the repository at once: git leaves temporary files where the disk is full.
        indexer = Indexer(Index(self.quarantine.git, self.index.path), Disk(worktree))
        indexer.add(list(paths))
        self.skipped += indexer.failed
        self.cache = None
        self.write_trees()
        self.quarantine.release()

    def store_tree(self, index: Index) -> str:
        """Store the entries of an index as trees, for others to see, and return the root's id."""
        tree = Index(self.quarantine.git, index.path).write_tree()
        self.quarantine.release()
        return tree

    def write_trees(self) -> None:
        """Write the trees of what the private index holds."""
        index = Index(self.quarantine.git, self.index.path)
        self.disk_tree = self.tree = index.write_tree(beside=self.quarantine.sync)
        absent = self.staging.absent if self.staging else []
        if absent:
            complete = index.copy()
            complete.put(absent)
            # In a partial clone what is absent need not even be in the repository.
            self.tree = complete.write_tree("--missing-ok")
