"""Repositories that stay known between the requests of a long-running process."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.repo.repository import Repository

_MOST = 64
_Mark = tuple[int, ...] | None
"""What changes when a file is replaced or written; None for a missing one."""


class _CachedRepository(NamedTuple):
    repository: Repository
    marks: dict[str, _Mark]

    @property
    def is_current(self) -> bool:
        """Whether nothing has changed that says what the repository is."""
        return all(_mark(path) == mark for path, mark in self.marks.items())


class RepositoryCache:
    """Finds the repository of a directory, without git if it was found before and is the same.

    It is the same as long as the directories, HEAD and all files of the configuration are. Several
    threads may call it.
    """

    def __init__(self) -> None:
        self._known: dict[str, _CachedRepository] = {}
        self._lock = threading.Lock()

    def find(self, directory: str) -> Repository:
        """The repository of an absolute path, for one request; FatalError if there is none."""
        with self._lock:
            known = self._known.get(directory)
        if known is None or not known.is_current:
            # What changes while git reads it is noticed by the next request.
            marks = {path: _mark(path) for path in _places(directory)}
            found = Repository.discover(directory)
            marks |= {path: _mark(path) for path in _files(found) if path not in marks}
            known = _CachedRepository(self._with_store(found), marks)
            with self._lock:
                # The oldest goes, with its store as soon as no request uses it.
                self._known.pop(directory, None)
                self._known[directory] = known
                if len(self._known) > _MOST:
                    del self._known[next(iter(self._known))]
        return known.repository.copy()

    def close(self) -> None:
        """Close the stores of all; requests must have ended."""
        for known in self._known.values():
            known.repository.close()

    def _with_store(self, found: Repository) -> Repository:
        """The repository with an open store, which all directories of a worktree share."""
        with self._lock:
            others = [*self._known.values()]
        for other in others:
            if other.repository.git_dir == found.git_dir and other.is_current:
                return other.repository.copy(found.prefix)
        found.open_store()
        return found


def _mark(path: str) -> _Mark:
    """Of a directory, only which one it is."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return (found.st_dev, found.st_ino)
    times = (found.st_mtime_ns, found.st_ctime_ns)
    return (found.st_dev, found.st_ino, found.st_size, *times)


def _places(directory: str) -> Iterator[str]:
    """Where git looks for the repository of a directory, and the files of its configuration."""
    environ = os.environ.get
    home = os.path.expanduser("~")
    xdg = environ("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    own = (os.path.join(home, ".gitconfig"), os.path.join(xdg, "git", "config"))
    yield from ("/etc/gitconfig", *own)
    yield from filter(None, map(environ, ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")))
    yield directory
    while not os.path.lexists(found := os.path.join(directory, ".git")):
        yield found
        parent = os.path.dirname(directory)
        if parent == directory:
            return
        directory = parent
    yield found


def _files(repository: Repository) -> Iterator[str]:
    """The files that say what a repository is, and those of its configuration."""
    yield from (repository.worktree, repository.git_dir, repository.common_dir)
    # The branch may decide which files the configuration includes.
    yield from (os.path.join(repository.git_dir, name) for name in ("HEAD", "config.worktree"))
    yield os.path.join(repository.common_dir, "config")
    yield from repository.config.files
