"""A repository with a worktree, and its objects and refs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_boocode.repo.location import Location

if TYPE_CHECKING:
    from git_boocode.repo.persistent import PersistentStore
    from git_boocode.repo.store import Store

_OBJECTS = frozenset(("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"))
"""With these bound, git sees objects of its own."""


class Repository(Location):
    """A repository with a worktree; its store is git, or what `open_store` has opened."""

    def __init__(
        self, worktree: str, git_dir: str, common_dir: str, prefix: str, object_format: str
    ) -> None:
        super().__init__(worktree, git_dir, common_dir, prefix, object_format)
        self._store: Store | None = None
        self._in_process: PersistentStore | None = None

    def copy(self, prefix: str | None = None) -> Repository:
        """A copy for one request, optionally of another directory in the worktree.

        It shares configuration and store, but not what is `bound` or `observed`, so that threads
        with a copy each do not disturb each other.
        """
        where = (self.worktree, self.git_dir, self.common_dir)
        made = Repository(*where, self.prefix if prefix is None else prefix, self.object_format)
        made._config, made._in_process = self.config, self._in_process
        return made

    @property
    def store(self) -> Store:
        """Its objects and refs; see `open_store`."""
        if self._in_process is not None and not _OBJECTS & self._bound.keys():
            return self._in_process
        if self._store is None:
            # Not every command needs it.
            from git_boocode.repo.store import Store

            self._store = Store(self)
        return self._store

    @property
    def keeps_store_open(self) -> bool:
        """Whether `open_store` was called, so that reading an object costs no process."""
        return self._in_process is not None

    def open_store(self) -> None:
        """Keep the objects and refs open in this process, for this object and its later copies.

        For a server: libgit2 reads and writes what it supports, a git that keeps running reads the
        rest. The caller calls `close`.
        """
        # Only a server can afford to load pygit2.
        from git_boocode.repo.libgit2 import open_store

        self.close()
        self._in_process = open_store(self.copy())

    def close(self) -> None:
        """Close what `open_store` opened; git commands do the work from now on."""
        if self._in_process is not None:
            self._in_process.close()
            self._in_process = None
