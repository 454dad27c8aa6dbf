"""What is at a path of the worktree, seen once and without following a symlink."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

_RECORDED = (stat.S_IFREG, stat.S_IFLNK)


def is_recorded(status: os.stat_result) -> bool:
    """Whether git records what the system says this of: a file or a symbolic link."""
    return stat.S_IFMT(status.st_mode) in _RECORDED


class Disk:
    """The files of a worktree, during one reading of it.

    Args:
        worktree: the top of the worktree.
    """

    def __init__(self, worktree: str) -> None:
        self.worktree = worktree
        # By path, whether a directory is there and no symlink leads to it.
        self._directories = {"": True}

    def is_own_file(self, path: str) -> bool:
        """Whether there is anything but a directory at a path, and no symlink leads there."""
        found = self.status(path)
        return found is not None and not stat.S_ISDIR(found.st_mode)

    def status(self, path: str) -> os.stat_result | None:
        """What the system says of a path; None if nothing is there, or a symlink leads there."""
        return self._lstat(path) if self._is_own_directory(path.rpartition("/")[0]) else None

    def _is_own_directory(self, path: str) -> bool:
        steps = []
        while (own := self._directories.get(path)) is None:
            steps.append(path)
            path = path.rpartition("/")[0]
        for step in reversed(steps):
            found = self._lstat(step) if own else None
            own = self._directories[step] = found is not None and stat.S_ISDIR(found.st_mode)
        return own

    def _lstat(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(f"{self.worktree}/{path}")
        except OSError:
            return None

    def other_spellings(self, paths: Iterable[str], of: Iterable[str]) -> set[str]:
        """The paths that lead to the file of another path, which differs in case only.

        Args:
            paths: the paths.
            of: other paths.
        """
        by_folded = {path.casefold(): path for path in of}
        pairs = ((path, by_folded.get(path.casefold())) for path in paths)
        return {path for path, other in pairs if other and self._is_same(path, other)}

    def _is_same(self, path: str, other: str) -> bool:
        one, two = self.status(path), self.status(other)
        return path != other and one is not None and two is not None and os.path.samestat(one, two)

    def is_there(self, path: str) -> bool:
        """Whether there is anything at a path."""
        return os.path.lexists(os.path.join(self.worktree, path))

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory at a path, and no symlink to one."""
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def has_repository(self, path: str) -> bool:
        """Whether there is a repository at a path."""
        return self.is_there(f"{path}/.git")
