"""Record files in a private index, whatever hinders git: one bad file costs no other."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from git_boocode.checkpoints.worktree.disk import Disk, is_recorded
from git_boocode.repo.config import Config
from git_boocode.repo.errors import MAKE_ROOM, FatalError
from git_boocode.repo.git import Completed, GitError, Running, nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.messages import (
    IGNORED_PATH,
    REFUSED_BY_SYSTEM,
    SHORT_READ,
    UNREADABLE_DIRECTORY,
    complaints,
    is_disk_full,
)

OTHERS = ("--others", "--exclude-standard")
LISTING = ("ls-files", *OTHERS, "-z")
_MAX_FILE_SIZE = 50 << 20
# git memory-maps what it hashes and dies by SIGBUS if a writer truncates the file meanwhile.
_ATTEMPTS = 3


class Skipped(NamedTuple):
    """A path that could not be captured, and why."""

    path: str
    reason: str


class Indexer:
    """Records files in one private index.

    Attributes:
        failed: the files that could not be recorded, and why.
        changed: the known files that have changed, or may have.
        removed: the known files that no longer exist.
    """

    def __init__(self, index: Index, disk: Disk) -> None:
        self._index = index
        self._disk = disk
        self.failed: list[Skipped] = []
        self.changed: list[str] = []
        self.removed: list[str] = []

    def compare(self, running: Running) -> None:
        """Wait for `Index.begin_comparison`, and sort what differs by `changed` and `removed`."""
        done = running.finish()
        names = self._compare_again(done.status) if done.status else nul_records(done.stdout)
        for path in dict.fromkeys(names):
            exists = self._disk.is_own_file(path) or self._disk.has_repository(path)
            (self.changed if exists else self.removed).append(path)

    def _compare_again(self, status: int) -> list[str]:
        for _ in range(_ATTEMPTS - 1):
            if status >= 0:
                break
            try:
                return self._index.changed_on_disk()
            except GitError as error:
                status = error.status
        # What cannot be recorded cannot be compared either, and while its entry is racily clean,
        # git compares it whenever it writes the index.
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

    def settle_failed(
        self, entry_of: Callable[[str], Entry | None], intended: Collection[str]
    ) -> None:
        """Leave what could not be recorded as the user's index has it, or out.

        Args:
            entry_of: gives the entry of a path in the user's index; None if there is none.
            intended: the paths whose entries there hold no content.
        """
        failed = {path for path, _ in self.failed}
        entries = {path: None if path in intended else entry_of(path) for path in failed}
        self._index.forget(path for path, entry in entries.items() if entry is None)
        self._index.put(entry._replace(stage=0) for entry in entries.values() if entry)

    def _note_ignored(self, paths: list[str], said: str) -> None:
        # It passes over names that lead into a git directory on some file system, such as `git~1`.
        if IGNORED_PATH not in said:
            return
        for path in paths:
            if f"{IGNORED_PATH}{path}\n" in said and self._disk.is_there(path):
                self.failed.append(Skipped(path, "git allows no such name"))

    def _add_alone(self, path: str, done: Completed) -> None:
        if done.status < 0 or SHORT_READ in done.stderr:
            # It is being written to.
            done = self._add_bytes(path)
        if done.status < 0:
            raise _killed(path, -done.status)
        if done.status:
            self._index.break_lock()
            self._fail(path, _last_line(os.fsdecode(done.stderr)))

    def _add_bytes(self, path: str) -> Completed:
        full = os.path.join(self._disk.worktree, path)
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
            self._index.put([Entry("H", git_mode, os.fsdecode(done.stdout).strip(), 0, path)])
        return done

    def _fail(self, path: str, reason: str) -> None:
        if refused := REFUSED_BY_SYSTEM.match(reason):
            reason = f"cannot be read: {refused[1].lower()}"
        if is_disk_full(reason):
            raise FatalError(
                f"cannot capture '{path}': no space left on device",
                code="disk_full",
                hints=(MAKE_ROOM,),
            )
        self.failed.append(Skipped(path, reason))


def _killed(path: str, number: int) -> FatalError:
    if number == getattr(signal, "SIGXFSZ", None):
        return FatalError(
            f"cannot capture '{path}': file too large",
            code="disk_full",
            hints=("the system limits how large a file may grow: ulimit -f",),
        )
    return FatalError(f"cannot capture '{path}': git was ended by signal {number}", code="git")


def _last_line(stderr: str) -> str:
    """The most specific line of git's error message, without its severity."""
    return (complaints(stderr) or stderr.strip().splitlines() or ["git gave no reason"])[0]


def size_limit(config: Config) -> int:
    """The bytes that an untracked file may have to be recorded (`boocode.maxFileSize`).

    Raises:
        FatalError: the setting is no number.
    """
    return config.integer("boocode.maxFileSize", default=_MAX_FILE_SIZE)


def unreadable(stderr: str) -> list[Skipped]:
    """The directories that git could not look into, from its warnings while it listed files."""
    return [Skipped(path, reason.lower()) for path, reason in UNREADABLE_DIRECTORY.findall(stderr)]


def sort_out(worktree: str, paths: Iterable[str], limit: int) -> tuple[list[str], list[Skipped]]:
    """Separate the files to record from those to leave out.

    Args:
        worktree: the top of the worktree.
        paths: what git lists as untracked, from there.
        limit: how many bytes a file may have.
    """
    wanted, skipped = [], []
    for path in paths:
        if reason := _why_not(worktree, path, limit):
            skipped.append(Skipped(path.rstrip("/"), reason))
        else:
            wanted.append(path)
    return wanted, skipped


def _why_not(worktree: str, path: str, limit: int) -> str:
    if path.endswith("/"):
        return "nested repository"
    try:
        size = os.lstat(f"{worktree}/{path}").st_size
    except OSError as error:
        return f"{error.strerror}".lower()
    return f"larger than boocode.maxFileSize ({limit} bytes)" if size > limit else ""


def why_left_out(worktree: str, path: str) -> str:
    """Why git does not list a path that exists."""
    parts = path.split("/")
    if ".git" in parts:
        return "part of a repository"
    for count in range(1, len(parts)):
        step = "/".join(parts[:count])
        full = os.path.join(worktree, step)
        if os.path.islink(full):
            return f"beyond the symbolic link '{step}'"
        if os.path.lexists(os.path.join(full, ".git")):
            return f"inside the repository '{step}'"
    found = os.lstat(os.path.join(worktree, path))
    return "ignored" if is_recorded(found) else "no regular file"
