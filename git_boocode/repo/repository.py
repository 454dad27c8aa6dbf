"""A repository with a worktree, and its objects and refs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_boocode.repo.location import Location

if TYPE_CHECKING:
    from git_boocode.repo.store import Store

_OBJECTS = frozenset(("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"))
"""With these bound, git sees objects of its own."""


class Repository(Location):
    """A repository with a worktree; see `store`."""

    _store: Store | None = None
    _open_store: Store | None = None

    def copy(self) -> Repository:
        """A copy that is not `bound`, `observed` or watched, and has no store yet."""
        where = (self.worktree, self.git_dir, self.common_dir)
        made = Repository(*where, self.prefix, self.object_format)
        made._config = self.config
        return made

    @property
    def store(self) -> Store:
        """Its objects and refs: git, or in a server the store of `use_store`."""
        if self._open_store is not None and not _OBJECTS & self._bound.keys():
            return self._open_store
        if self._store is None:
            # Not every command needs it.
            from git_boocode.repo.store import Store

            self._store = Store(self)
        return self._store

    def use_store(self, store: Store) -> None:
        """Use a store that stays open; see `git_boocode.repo.libgit2.open_store`."""
        self._open_store = store
