"""Record files in a private index, whatever hinders git: one bad file costs no other."""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Completed, GitError, Running, is_disk_full
from git_boocode.repo.index import Entry, Index

# git memory-maps what it hashes and dies by SIGBUS if a writer truncates the file meanwhile.
_ATTEMPTS = 3
_UPDATE = ("add", "--update", "--verbose", "--sparse", "--ignore-errors", ".")
_DEED = re.compile(r"(add|remove) '(.*)'")


class Skipped(NamedTuple):
    """A path that could not be captured, and why."""

    path: str
    reason: str


class Recorder:
    """Records files in one private index.

    Args:
        index: the index.
        worktree: the top of the worktree.

    Attributes:
        failed: the files that could not be recorded, and why.
        changed: the known files that were changed.
        removed: the known files that were deleted.
        told_all: whether these two are complete.
    """

    def __init__(self, index: Index, worktree: str) -> None:
        self._index = index
        self._worktree = worktree
        self.failed: list[Skipped] = []
        self.changed: list[str] = []
        self.removed: list[str] = []
        self.told_all = True

    def begin_known(self) -> Running:
        """Start to bring the entries that the index has up to what is on disk."""
        return self._index.git.begin(*_UPDATE)

    def finish_known(self, running: Running) -> None:
        """Wait for what `begin_known` started, and do by other means what it could not do."""
        done = running.finish()
        for _ in range(_ATTEMPTS - 1):
            if done.status >= 0:
                break
            self._index.break_lock()
            done = self._index.git.attempt(*_UPDATE)
        if done.status < 0:
            self._index.break_lock()
        self._note(os.fsdecode(done.stdout))
        if done.status:
            rest = self._perhaps_changed()
            self.add(rest)
            self.changed += rest
            self.removed += [path for path in rest if not self._is_there(path)]

    def _is_there(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self._worktree, path))

    def _note(self, told: str) -> None:
        for line in told.split("\n")[:-1]:
            deed = _DEED.fullmatch(line)
            if deed is None:
                # A name with a newline in it, which git does not quote here.
                self.told_all = False
            else:
                (self.changed if deed[1] == "add" else self.removed).append(deed[2])

    def _perhaps_changed(self) -> list[str]:
        try:
            return self._index.changed_on_disk()
        except GitError:
            # What cannot be recorded cannot be compared either, and while its entry is racily
            # clean, git compares it whenever it writes the index.
            self._index.forget_times()
            return self._index.paths()

    def add(self, paths: list[str]) -> None:
        """Record files as they are on disk, or their absence; by halves, down to the bad ones."""
        if not paths:
            return
        done = self._index.add(paths)
        if not done.status:
            self._note_ignored(paths, os.fsdecode(done.stderr))
            return
        self._index.break_lock()
        if len(paths) > 1:
            middle = len(paths) // 2
            self.add(paths[:middle])
            self.add(paths[middle:])
        else:
            self._add_alone(paths[0], done)

    def _note_ignored(self, paths: list[str], said: str) -> None:
        # It passes over names that lead into a git directory on some file system, such as `git~1`.
        if "Ignoring path " not in said:
            return
        for path in paths:
            if f"Ignoring path {path}\n" in said and self._is_there(path):
                self.failed.append(Skipped(path, "git allows no such name"))

    def _add_alone(self, path: str, done: Completed) -> None:
        if done.status < 0:
            done = self._add_bytes(path)
        if done.status:
            self._index.break_lock()
            self._fail(path, last_line(os.fsdecode(done.stderr)))

    def _add_bytes(self, path: str) -> Completed:
        full = os.path.join(self._worktree, path)
        try:
            mode = os.lstat(full).st_mode
            with open(full, "rb") as file:
                content = file.read()
        except OSError as error:
            return Completed(1, b"", os.fsencode(error.strerror or "unreadable"))
        done = self._index.git.attempt(
            "hash-object", "-w", f"--path={path}", "--stdin", stdin=content
        )
        if done.status == 0:
            git_mode = "100755" if mode & stat.S_IXUSR else "100644"
            identifier = os.fsdecode(done.stdout).strip()
            self._index.put([Entry("H", git_mode, identifier, 0, path)])
        return done

    def _fail(self, path: str, reason: str) -> None:
        if is_disk_full(reason):
            raise FatalError(f"cannot capture '{path}': no space left on device", code="disk_full")
        self.failed.append(Skipped(path, reason))


def last_line(stderr: str) -> str:
    """The line of git's complaint that tells the most, without its severity."""
    lines = [line for line in stderr.strip().splitlines() if line.startswith(("error:", "fatal:"))]
    line = (lines or stderr.strip().splitlines() or ["git gave no reason"])[0]
    return line.partition(": ")[2] if lines else line
