"""Write files atomically, all of them or none.

The new content is written next to the file and renamed into place. Until all is done, each old file
has a second name. A failing call restores the file from it; after a kill, whoever reads the journal
does.

Other programs may write the same files. Each file is compared with what was read, right before it
is replaced and, by its second name, after that. Two things remain that no system call prevents
without showing others a file that comes and goes: what a program writes to the old file after that,
because it had opened it before, is lost, and so is a file that it renames into place in the instant
between the last look and our rename.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.durable import sync, sync_path
from git_boocode.repo.errors import MAKE_ROOM, BoocodeError, FatalError, NextStep, RefusedError
from git_boocode.repo.files import (
    FileState,
    Symlink,
    missing_directories,
    read_state,
    remove_directories,
    remove_emptied,
    with_executable,
)
from git_boocode.repo.process import SignalsWait, ignore_signals

OLD, NEW, OTHER = "old", "new", "other"
"""The states of a file: not written, written, changed by another program."""


class Target(NamedTuple):
    """A file by its name, and where it is.

    `path` is its name in messages and, from its `/` on, relative to the directory that it is below;
    `link` is the absolute path with unresolved symlinks, `real` the one with symlinks resolved.
    """

    path: str
    link: str
    real: str

    def is_unchanged(self, before: FileState | None) -> bool:
        """Whether neither the file nor a symlink of its path has changed since it was read."""
        link, real = self.link, self.real
        if link == real:
            # The file itself may be a symlink.
            link = real = os.path.dirname(real)
        if os.path.realpath(link) != real:
            return False
        try:
            now = read_state(self.real, links=True)
        except RefusedError:
            return False
        if now is None or before is None:
            return now is before
        return now.is_same(before)


class FileChange(NamedTuple):
    """One file to write: its current and its new content, None for no file.

    `after` may be a `Symlink`. The new file gets the mode, owner and attributes of `like`, by
    default those of any new file; `executable` then sets or clears its executable bits. `spelling`
    is a new name that the file system treats as the same name.
    """

    target: Target
    before: FileState | None
    after: bytes | None
    like: FileState | None = None
    spelling: Target | None = None
    executable: bool | None = None


class WriteStep(NamedTuple):
    """The change of one file in a journal; all paths except `path` are absolute.

    `beside` is the common prefix of its temporary files. `before` and `after` are the fingerprints
    of its contents, None for no file; `spelling` is as in `FileChange`.
    """

    path: str
    real: str
    beside: str
    before: str | None
    after: str | None
    spelling: str | None = None

    @property
    def staged(self) -> str:
        """The path of the new content."""
        return f"{self.beside}.tmp"

    @property
    def backup(self) -> str:
        """The path of the old content."""
        return f"{self.beside}.old.tmp"

    def state(self) -> str:
        """`OLD`, `NEW` or `OTHER`; raises FatalError if the file cannot be read."""
        found = fingerprint_at(self.real)
        if found == self.before == self.after:
            # Only the mode or the name changes: after replacement, the backup is another file.
            kept = os.path.lexists(self.backup)
            return NEW if kept and not os.path.samefile(self.backup, self.real) else OLD
        return {self.before: OLD, self.after: NEW}.get(found, OTHER)

    def undo(self) -> None:
        """Restore the old file; raises OSError if that fails."""
        if self.before is None:
            os.unlink(self.real)
        else:
            os.replace(self.backup, self.real)
        if self.spelling is not None:
            # Restore the old spelling; the new one does not exist if it is really another name.
            with suppress(FileNotFoundError):
                os.rename(self.spelling, self.real)
        with suppress(OSError):
            sync_path(os.path.dirname(self.real))


def fingerprint(data: bytes | None) -> str | None:
    """The hash that identifies a content; None for no file."""
    if data is None:
        return None
    import hashlib

    return ("link " if isinstance(data, Symlink) else "") + hashlib.sha256(data).hexdigest()


def fingerprint_at(path: str) -> str | None:
    """The fingerprint of the file at a path; empty for something else."""
    try:
        now = read_state(path, links=True)
    except RefusedError:
        return ""
    return fingerprint(None if now is None else now.data)


class Journal:
    """Receives the steps of a write; this base class only syncs directories."""

    def begin(self, files: Sequence[tuple[FileChange, WriteStep]]) -> None:
        """Called before anything is written."""

    def sync(self, directories: Iterable[str]) -> None:
        """Called after all files are written: flush the entries of their directories to disk."""
        for directory in directories:
            sync_path(directory)

    def commit(self) -> None:
        """Called after that; if it raises, the files are rolled back.

        Unless this is overridden, a command that writes files has done its work then.
        """
        ignore_signals()

    def end(self, *, written: bool) -> None:
        """Called after all files are written, or none, and the temporary files are removed."""


class ChangedMeanwhileError(RefusedError):
    """A file has changed since it was read."""

    def __init__(self, target: Target) -> None:
        super().__init__(
            f"another program changed '{target.path}' while it was being edited",
            code="conflict",
            hints=(NextStep("nothing was written; run the command again", "retry"),),
        )
        self.target = target


def write_files(
    changes: Sequence[FileChange], journal: Journal | None = None, *, keep_directories: bool = False
) -> None:
    """Write all files, or leave all unchanged.

    Raises ChangedMeanwhileError if a file has changed since it was read, and FatalError if one
    cannot be written; nothing was changed then, unless the message says otherwise.
    """
    # Deletions come last: a kill may leave both names of a renamed file, but never none.
    ordered = sorted(changes, key=lambda change: change.after is None)
    journal = journal or Journal()
    run = _WriteRun([(change, _step(change)) for change in ordered], journal)
    # They would leave temporary files behind.
    with SignalsWait() as signals:
        try:
            journal.begin(run.files)
            run.carry_out(signals.check)
            journal.commit()
        except BaseException as error:
            run.roll_back(error)
            with suppress(BoocodeError, OSError):
                journal.end(written=False)
            if isinstance(error, OSError):
                raise _unwritten(run.target, error) from error
            raise
        clean_up(step for _, step in run.files)
        for target in [change.target for change in ordered if change.after is None]:
            if not keep_directories and target.real == target.link:
                remove_emptied(target.real, target.real[: -len(target.path)])
        journal.end(written=True)


class _WriteRun:
    """One attempt to write `files`; `target` is the current file."""

    def __init__(self, files: Sequence[tuple[FileChange, WriteStep]], journal: Journal) -> None:
        self.files = files
        self._journal = journal
        self.target = files[0][0].target
        self._missing = missing_directories(step.real for _, step in files)
        self._tried: list[WriteStep] = []
        self._failing: WriteStep | None = None

    def carry_out(self, may_stop: Callable[[], None]) -> None:
        """Stage all new contents, give the old files a second name if needed, and replace them.

        `may_stop` is called before each step, and may raise an error.
        """
        for path in self._missing:
            with suppress(FileExistsError):
                os.mkdir(path)
        for change, step in self.files:
            may_stop()
            self.target = change.target
            self._stage(change, step)
        for change, step in self.files:
            may_stop()
            self.target = change.target
            _check_unchanged(change)
            self._tried.append(step)
            self._failing = step
            _put(change, step)
            self._failing = None
            _check_replaced(change, step)
        written = [*self._missing, *(step.real for _, step in self.files)]
        self._journal.sync(dict.fromkeys(map(os.path.dirname, written)))

    def _stage(self, change: FileChange, step: WriteStep) -> None:
        if change.after is not None:
            write_new(step.staged, change.after, step.real, change.like)
            if change.executable is not None:
                mode = stat.S_IMODE(os.stat(step.staged).st_mode)
                os.chmod(step.staged, with_executable(mode, executable=change.executable))
        _check_unchanged(change)
        if change.before is not None:
            _check_writable(change.before, step)
            _back_up(change.before, step)

    def roll_back(self, error: BaseException) -> None:
        """Undo all changes; FatalError (`half_written`) if a file cannot be restored."""
        lost = [step for step in reversed(self._tried) if not self._undo(step)]
        clean_up((step for _, step in self.files), [step.backup for step in lost])
        remove_directories(reversed(self._missing))
        if lost:
            raise _half_written(self.target, lost) from error

    def _undo(self, step: WriteStep) -> bool:
        try:
            state = step.state()
            if state == NEW:
                step.undo()
        except (OSError, FatalError):
            return False
        # Another program has changed the written file, unless it was never written.
        return state != OTHER or step is self._failing


def _step(change: FileChange) -> WriteStep:
    target, before, spelling = change.target, change.before, change.spelling
    return WriteStep(
        target.path,
        target.real,
        f"{leftover_prefix(target.real)}{os.urandom(6).hex()}",
        fingerprint(None if before is None else before.data),
        fingerprint(change.after),
        None if spelling is None else spelling.real,
    )


def leftover_prefix(path: str) -> str:
    """The prefix of the paths of a file's temporary files."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{os.fsdecode(os.fsencode(name)[:200])}.boocode-")


def clean_up(steps: Iterable[WriteStep], kept: Container[str] = ()) -> None:
    """Remove the temporary files of some steps, except those in `kept`."""
    for path in (path for step in steps for path in (step.staged, step.backup)):
        if path not in kept:
            with suppress(OSError):
                os.unlink(path)


def _check_unchanged(change: FileChange) -> None:
    if not change.target.is_unchanged(change.before):
        raise ChangedMeanwhileError(change.target)


def _check_same(change: FileChange, step: WriteStep) -> None:
    """The last look, in the instant before a file is replaced."""
    with suppress(FileNotFoundError):
        if change.before is None or os.lstat(step.real).st_ino == change.before.inode:
            return
    raise ChangedMeanwhileError(change.target)


def _check_replaced(change: FileChange, step: WriteStep) -> None:
    """Refuse if another program wrote to the old file until it was replaced."""
    if change.before is None:
        return
    old = read_state(step.backup, links=True)
    # A copy of it is another file.
    if old is None or (old.data, old.mode) != (change.before.data, change.before.mode):
        raise ChangedMeanwhileError(change.target)


def _check_writable(before: FileState, step: WriteStep) -> None:
    if stat.S_ISREG(before.mode) and not os.access(step.real, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only", step.real)


def _back_up(before: FileState, step: WriteStep) -> None:
    """Give the old file a second name, or copy it if hard links are unsupported."""
    try:
        os.link(step.real, step.backup, follow_symlinks=False)
    except OSError:
        write_new(step.backup, before.data, step.real, before)


def _put(change: FileChange, step: WriteStep) -> None:
    """Move a staged file into place; a new file never replaces one that has just appeared."""
    _check_same(change, step)
    if change.after is None:
        os.unlink(step.real)
        return
    if change.before is None:
        try:
            os.link(step.staged, step.real, follow_symlinks=False)
            return
        except OSError:
            # Without hard links, another file could still appear after this check.
            if os.path.lexists(step.real):
                raise ChangedMeanwhileError(change.target) from None
    os.replace(step.staged, step.real)
    if step.spelling is not None:
        os.rename(step.real, step.spelling)


def _half_written(target: Target, lost: Sequence[WriteStep]) -> FatalError:
    names = ", ".join(f"'{step.path}'" for step in lost)
    kept = [step for step in lost if step.before is not None]
    return FatalError(
        f"cannot write '{target.path}', and could not roll back {names}",
        code="half_written",
        hints=tuple(f"the old content of '{step.path}' is in '{step.backup}'" for step in kept),
        details={"applied": False},
    )


def _unwritten(target: Target, error: OSError) -> FatalError:
    reason = (error.strerror or str(error)).lower()
    code, hint = "unwritable", "check the permissions of the file and of its directory"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        code, hint = "disk_full", MAKE_ROOM
    message = f"cannot write '{target.path}': {reason}; nothing was changed"
    return FatalError(message, code=code, hints=(hint,), details={"applied": False})


def write_new(path: str, data: bytes, real: str, like: FileState | None) -> None:
    """Write and sync a file that must not exist yet, or a symlink; raises OSError.

    It gets the mode and owner of `like`, and the extended attributes of the file at `real`, which
    it will replace; without `like`, those of any new file.
    """
    if isinstance(data, Symlink):
        os.symlink(os.fsdecode(data), path)
        return
    # Others must not be able to read a private file even for a moment.
    mode = 0o666 if like is None else 0o600
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if like is not None:
            _copy_attributes(descriptor, real, like)
        sync(descriptor)
    finally:
        os.close(descriptor)


def _copy_attributes(descriptor: int, real: str, like: FileState) -> None:
    with suppress(OSError):
        os.fchown(descriptor, *like.owner)
    # Access control lists are extended attributes, too. Python does not support them on macOS.
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(real, follow_symlinks=False):
                with suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(real, name, follow_symlinks=False))
    # Last, because a change of owner clears setuid and setgid.
    os.fchmod(descriptor, stat.S_IMODE(like.mode))
