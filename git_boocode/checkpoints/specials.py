"""Find what git passes over in silence: sockets, FIFOs and devices among the files of a worktree.

Git lists none of them, so that they can only be found by looking. A directory whose time stamp has
not changed has the same names in it, and is not looked into again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from git_boocode.checkpoints.recorder import Skipped
from git_boocode.repo.git import Git, nul_lines, nul_records

_KINDS = {
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "FIFO",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
# To ask for the times of so many directories takes as long as git does for all else.
_MANY = 1000
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


def find_specials(
    git: Git, worktree: str, before: Specials, changed: Iterable[str] = ()
) -> Specials:
    """Look for special files in what is not ignored.

    Args:
        git: git for our own work.
        worktree: the top of the worktree.
        before: what was found at the last look; `NOTHING` at the first.
        changed: the files that have changed since. Where there are very many directories, only
            those of these files are looked at.
    """
    look = _Look(git, worktree, before)
    look.at_known(changed)
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
        self._settled = time.time_ns() - _COARSE
        self.files: dict[str, str] = {}
        self.directories: dict[str, int] = {}

    def at_known(self, files: Iterable[str]) -> None:
        """Look into what has changed of the directories that were there, and into new ones."""
        changed = self._changed() if len(self._before.directories) < _MANY else self._likely(files)
        self.files = {
            path: kind
            for path, kind in self._before.files.items()
            if path.rpartition("/")[0] in self.directories
        }
        new = self._scan_all(changed if self._before.directories else [""])
        while new:
            ignored = self.ignored(new)
            new = self._scan_all([path for path in new if path not in ignored])

    def _changed(self) -> list[str]:
        # One tight loop: there may be thousands of them.
        found, top, stat_of, changed = self.directories, f"{self._worktree}/", os.stat, []
        for directory, then in self._before.directories.items():
            try:
                now = stat_of(top + directory).st_mtime_ns
            except OSError:
                continue
            if now == then:
                found[directory] = now
            else:
                changed.append(directory)
        return changed

    def _likely(self, files: Iterable[str]) -> list[str]:
        near = {path.rpartition("/")[0] for path in (*files, *self._before.files)}
        near.intersection_update(self._before.directories)
        self.directories = dict(self._before.directories)
        for directory in near:
            del self.directories[directory]
        return sorted(near)

    def _scan_all(self, directories: Iterable[str]) -> list[str]:
        """Look into directories, and give those in them that were not there before."""
        inside = (path for directory in directories for path in self._scan(directory))
        return [path for path in inside if path not in self._before.directories]

    def _scan(self, directory: str) -> list[str]:
        """The directories in one, which is noted, together with the special files in it."""
        full = os.path.join(self._worktree, directory)
        try:
            changed = os.stat(full).st_mtime_ns
            entries = list(os.scandir(full))
        except OSError:
            # git has told of a directory that cannot be read.
            return []
        self.directories[directory] = changed if changed < self._settled else 0
        if directory and any(entry.name == ".git" for entry in entries):
            # A nested repository is another one's affair.
            self._leave_out(f"{directory}/")
            return []
        below = f"{directory}/" if directory else ""
        return [below + entry.name for entry in entries if self._is_directory(below, entry)]

    def _is_directory(self, below: str, entry: os.DirEntry[str]) -> bool:
        if entry.is_file(follow_symlinks=False) or entry.is_symlink():
            return False
        if entry.is_dir(follow_symlinks=False):
            return entry.name != ".git"
        with suppress(OSError):
            kind = _KINDS.get(stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode))
            if kind is not None:
                self.files[below + entry.name] = kind
        return False

    def _leave_out(self, beginning: str) -> None:
        for table in (self.files, self.directories):
            for path in [path for path in table if path.startswith(beginning)]:
                del table[path]

    def ignored(self, paths: Iterable[str]) -> frozenset[str]:
        """Which of some paths git ignores."""
        arguments = ("check-ignore", "--no-index", "-z", "--stdin")
        return frozenset(nul_records(self._git.attempt(*arguments, stdin=nul_lines(paths)).stdout))
