"""Find what git passes over in silence: sockets, FIFOs and devices among the files of a worktree.

Git lists none of them, so that they can only be found by looking. A directory whose time stamp has
not changed has the same names in it, and is not looked into again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from git_boocode.checkpoints.recorder import Skipped
from git_boocode.repo.git import Git, nul_lines, nul_records

_KINDS = {
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "FIFO",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
# In nanoseconds: a directory that changed so short a time ago may change again unnoticed.
_COARSE = 2_000_000_000


class Specials(NamedTuple):
    """What was found, and what tells at the next look which directories have changed since.

    Attributes:
        files: the special files, and which kind each is.
        directories: the directories that are not ignored, and when each was changed, in
            nanoseconds since 1970; 0 if that is too short a time ago to tell.
    """

    files: dict[str, str]
    directories: dict[str, int]

    def skipped(self) -> list[Skipped]:
        """The files as paths that cannot be captured."""
        return [Skipped(path, kind) for path, kind in self.files.items()]


NOTHING = Specials({}, {})


def find_specials(git: Git, worktree: str, before: Specials) -> Specials:
    """Look for special files in what is not ignored.

    Args:
        git: git for our own work.
        worktree: the top of the worktree.
        before: what was found at the last look; `NOTHING` at the first.
    """
    look = _Look(git, worktree, before)
    level: Iterable[str] = [""]
    while level := look.below(level):
        pass
    files = look.files
    ignored = look.ignored(files) if files else frozenset()
    return Specials(
        {path: kind for path, kind in files.items() if path not in ignored}, look.directories
    )


class _Look:
    """One look at a worktree."""

    def __init__(self, git: Git, worktree: str, before: Specials) -> None:
        self._git = git
        self._worktree = worktree
        self._before = before
        self._children = _by_parent(before.directories)
        self._kept_files = _by_parent(before.files)
        self._settled = time.time_ns() - _COARSE
        self.files: dict[str, str] = {}
        self.directories: dict[str, int] = {}

    def below(self, level: Iterable[str]) -> list[str]:
        """Look into some directories, and give those in them that are to be looked into next."""
        known: list[str] = []
        new: list[str] = []
        for directory in level:
            for child in self._look_into(directory):
                (known if child in self._before.directories else new).append(child)
        ignored = self.ignored(new) if new else frozenset()
        return [*known, *(path for path in new if path not in ignored)]

    def _look_into(self, directory: str) -> list[str]:
        """The directories in one, which is noted, together with the special files in it."""
        try:
            changed = os.stat(os.path.join(self._worktree, directory)).st_mtime_ns
        except OSError:
            return []
        self.directories[directory] = changed if changed < self._settled else 0
        if changed == self._before.directories.get(directory):
            for path in self._kept_files.get(directory, ()):
                self.files[path] = self._before.files[path]
            return self._children.get(directory, [])
        return list(self._scan(directory))

    def _scan(self, directory: str) -> Iterator[str]:
        try:
            entries = list(os.scandir(os.path.join(self._worktree, directory)))
        except OSError:
            # git has told of a directory that cannot be read.
            return
        if directory and any(entry.name == ".git" for entry in entries):
            # A nested repository is another one's affair.
            return
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    yield path
            elif not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                self._note(path, entry)

    def _note(self, path: str, entry: os.DirEntry[str]) -> None:
        try:
            kind = _KINDS.get(stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode))
        except OSError:
            return
        if kind is not None:
            self.files[path] = kind

    def ignored(self, paths: Iterable[str]) -> frozenset[str]:
        """Which of some paths git ignores."""
        arguments = ("check-ignore", "--no-index", "-z", "--stdin")
        return frozenset(nul_records(self._git.attempt(*arguments, stdin=nul_lines(paths)).stdout))


def _by_parent(paths: Mapping[str, object]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        if path:
            found.setdefault(path.rpartition("/")[0], []).append(path)
    return found
