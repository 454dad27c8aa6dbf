"""Which paths a private index has to hold: what is tracked and on disk, and what is added to it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from git_boocode.checkpoints.worktree.disk import Disk
from git_boocode.checkpoints.worktree.index_cache import Kept
from git_boocode.checkpoints.worktree.indexer import Recorder
from git_boocode.checkpoints.worktree.layered import LayeredIndex
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.checkpoints.worktree.user_index import UsersIndex
from git_boocode.repo.index import Entry
from git_boocode.repo.trees import GITLINK


class Names:
    """The names in a private index that the last capture has left, and in the user's.

    Args:
        disk: the files of the worktree.
        index: the private index.
        users: the user's index.
        staging: what is staged there.
        kept: what the last capture left.
        recorder: what compares the private index with what is on disk.
    """

    def __init__(
        self,
        disk: Disk,
        index: LayeredIndex,
        users: UsersIndex,
        staging: Staging,
        kept: Kept,
        recorder: Recorder,
    ) -> None:
        self._disk = disk
        self._index = index
        self._users = users
        self._kept = kept
        self._recorder = recorder
        self._absent = {entry.path for entry in staging.absent}

    @cached_property
    def _stay(self) -> bool:
        """Whether the user's index names the same files on disk as at the last capture."""
        if self._users.fingerprint != self._kept.users_index:
            return False
        return self._absent == {entry.path for entry in self._kept.staging.absent}

    @cached_property
    def _tracked(self) -> set[str]:
        """What the user's index names and ought to be on disk."""
        return self._users.records.keys() - self._absent

    def differences(self, extra: list[str]) -> tuple[list[str], set[str]]:
        """The tracked paths that the private index lacks, and the paths to take out of it.

        Args:
            extra: what is to be recorded beside what is tracked.
        """
        if self._stay:
            back = filter(self._disk.is_there, self._kept.missing)
            return sorted(set(back) - self._kept.extra), set(self._kept.extra).difference(extra)
        held = set(self._index.paths())
        return sorted(self._tracked - held), held.difference(self._tracked, extra)

    def closed_modules(self) -> list[str]:
        """The submodules without a repository, so that the index alone knows of them.

        They have lost it, or an empty directory has come where something else was.
        """
        lost = [path for path in self._kept.modules if not self._disk.has_repository(path)]
        return [*lost, *filter(self._is_empty_module, self._recorder.removed)]

    def _is_empty_module(self, path: str) -> bool:
        if not self._disk.is_directory(path):
            return False
        entry = self._users.entry(path)
        return entry is not None and entry.mode == GITLINK

    def put(self, paths: list[str]) -> Iterator[str]:
        """Put in the entries of tracked paths that are on disk; those to be read are given back.

        The entry comes first: it may know of a mode that the file system cannot tell.
        """
        entries = filter(None, map(self._users.entry, paths))
        there = [entry._replace(stage=0) for entry in entries if self._is_there(entry)]
        self._index.put(there)
        for entry in there:
            is_closed = entry.mode == GITLINK and self._disk.is_directory(entry.path)
            if not is_closed or self._disk.has_repository(entry.path):
                yield entry.path

    def missing(self, come: list[str]) -> frozenset[str]:
        """The tracked paths that the private index does not hold, in the end.

        Args:
            come: those that it lacked before.
        """
        if not self._stay:
            return frozenset(self._tracked.difference(self._index.paths()))
        missing = self._kept.missing.union(self._recorder.removed) - self._kept.extra
        return missing.difference(self._index.paths()) if come else missing

    def _is_there(self, entry: Entry) -> bool:
        # A file may have come where a submodule was.
        is_module = entry.mode == GITLINK and self._disk.is_directory(entry.path)
        return is_module or self._disk.is_own_file(entry.path)
