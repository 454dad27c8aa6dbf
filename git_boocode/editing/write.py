"""Replace files safely: all of them or none, each of them whole."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.editing.place import Target
from git_boocode.editing.textfile import Snapshot, Symlink, read_snapshot
from git_boocode.repo.durable import sync, sync_directory
from git_boocode.repo.errors import MAKE_ROOM, BoocodeError, FatalError, RefusedError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_LINKS = (
    errno.EPERM,
    errno.EACCES,
    errno.EOPNOTSUPP,
    errno.ENOTSUP,
    errno.ENOSYS,
    errno.EMLINK,
    errno.EXDEV,
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Change(NamedTuple):
    """One file to write: its content now and afterwards, None for no file.

    `after` may be a `Symlink`. The new file gets the mode, owner and attributes of `like`, by
    default those of any new file; `executable` then sets or clears its executable bits. `spelling`
    is its new name where the file system takes both names for one file.
    """

    target: Target
    before: Snapshot | None
    after: bytes | None
    like: Snapshot | None = None
    spelling: Target | None = None
    executable: bool | None = None


class Step(NamedTuple):
    """A change, and the paths beside the file of its new content and of its backup."""

    change: Change
    staged: str | None
    backup: str | None


class Journal:
    """Records a write while it is going on; this one records nothing."""

    def begin(self, steps: Sequence[Step], made: Sequence[str]) -> None:
        """Before anything is written: the steps and the missing directories, outermost first."""

    def publish(self) -> None:
        """Everything is staged, and the first file is about to be replaced."""

    def withdraw(self) -> None:
        """Nothing was changed after all."""

    def end(self) -> None:
        """All files are written, and the temporary ones removed."""


class ChangedMeanwhileError(RefusedError):
    """A file is no longer what was read."""

    def __init__(self, target: Target) -> None:
        super().__init__(
            f"'{target.path}' was changed by another program while it was being edited",
            code="conflict",
            hints=("nothing was written; run the command again",),
        )
        self.target = target


def write_files(
    changes: Sequence[Change], journal: Journal | None = None, *, keep_directories: bool = False
) -> None:
    """Write all files, or leave everything as it was.

    Every file is written beside its target and renamed into place. Until the last rename has
    succeeded, each old file keeps a second name, from which it is restored. Directories that
    deleted files leave empty are removed, unless they are to be kept.

    Raises:
        ChangedMeanwhileError: a file is not what was read; nothing was changed.
        FatalError: the disk is full, or something cannot be written; nothing was changed, unless
            the message says otherwise.
    """
    run = _Run(changes, journal or Journal())
    with signals_wait():
        try:
            run.prepare()
            run.journal.publish()
            run.replace()
        except BaseException as error:
            run.roll_back(error)
            raise
        finally:
            run.clean_up()
        if not keep_directories:
            run.remove_emptied()
        run.journal.end()


@contextmanager
def signals_wait() -> Iterator[None]:
    """Delay signals that end the process: they would leave temporary files behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Run:
    """One attempt.

    `made` are directories to remove after a failure, `done` the steps that were carried out, the
    last of which may be `unsure`, and `lost` those that could not be undone.
    """

    def __init__(self, changes: Sequence[Change], journal: Journal) -> None:
        # Deletions come last: a kill halfway may leave a renamed file twice, never not at all.
        ordered = sorted(changes, key=lambda change: change.after is None)
        self.steps = [_step(change) for change in ordered]
        self.journal = journal
        self.doing = ordered[0].target
        self.made: list[str] = []
        self.done: list[Step] = []
        self.unsure: Step | None = None
        self.lost: list[Step] = []

    def prepare(self) -> None:
        missing = missing_directories(step.change.target.real for step in self.steps)
        self.journal.begin(self.steps, missing)
        for path in missing:
            # One that another program has made meanwhile is not removed after a failure.
            with suppress(FileExistsError):
                os.mkdir(path)
                self.made.append(path)
        for step in self.steps:
            self._stage(step)
        for step in self.steps:
            self._check_unchanged(step.change)
        for step in self.steps:
            self._back_up(step)

    def replace(self) -> None:
        for step in self.steps:
            self._check_unchanged(step.change)
            self.done.append(step)
            self.unsure = step
            _put(step)
            self.unsure = None
        parents = [os.path.dirname(step.change.target.real) for step in self.steps]
        for directory in dict.fromkeys((*parents, *map(os.path.dirname, self.made))):
            sync_directory(directory)
        self.made.clear()

    def roll_back(self, error: BaseException) -> None:
        """Undo all steps; an error of the system is raised as one that a user understands."""
        undoing = reversed(self.done)
        self.lost = [step for step in undoing if not _undo(step, unsure=step is self.unsure)]
        if self.lost:
            raise _half_written(self.doing, self.lost) from error
        with suppress(BoocodeError, OSError):
            self.journal.withdraw()
        if isinstance(error, OSError):
            raise _unwritten(self.doing, error) from error

    def clean_up(self) -> None:
        kept = {step.backup for step in self.lost}
        for step in self.steps:
            for path in (step.staged, step.backup):
                if path is not None and path not in kept:
                    with suppress(OSError):
                        os.unlink(path)
        remove_directories(reversed(self.made))

    def remove_emptied(self) -> None:
        for step in self.steps:
            target = step.change.target
            if step.change.after is None and target.real == target.link:
                remove_directories(emptied(target.real, target.real[: -len(target.path)]))

    def _stage(self, step: Step) -> None:
        change = step.change
        self.doing = change.target
        if step.staged is None or change.after is None:
            return
        write_new(step.staged, change.after, change.target.real, change.like)
        if change.executable is not None:
            mode = stat.S_IMODE(os.stat(step.staged).st_mode)
            os.chmod(step.staged, with_executable(mode, executable=change.executable))

    def _check_unchanged(self, change: Change) -> None:
        self.doing = target = change.target
        try:
            now = read_snapshot(target.real, links=True)
        except MissError:
            raise ChangedMeanwhileError(target) from None
        unchanged = now is None if change.before is None else change.before.same(now)
        if not unchanged or not target.is_resolved():
            raise ChangedMeanwhileError(target)

    def _back_up(self, step: Step) -> None:
        """Give the old file a second name; where the file system cannot, copy it."""
        before, real = step.change.before, step.change.target.real
        self.doing = step.change.target
        if before is None or step.backup is None:
            return
        if stat.S_ISREG(before.mode) and not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only", real)
        try:
            os.link(real, step.backup, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            write_new(step.backup, before.data, real, before)


def _step(change: Change) -> Step:
    beside = f"{leftover_prefix(change.target.real)}{os.urandom(6).hex()}"
    return Step(
        change,
        None if change.after is None else f"{beside}.tmp",
        None if change.before is None else f"{beside}.old.tmp",
    )


def leftover_prefix(path: str) -> str:
    """The beginning of the paths of the temporary files that are written beside a file."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{os.fsdecode(os.fsencode(name)[:200])}.boocode-")


def missing_directories(paths: Iterable[str]) -> list[str]:
    """The directories above some files that do not exist, outermost first."""
    missing: dict[str, None] = {}
    for path in paths:
        above = []
        directory = os.path.dirname(path)
        while not os.path.isdir(directory):
            above.append(directory)
            directory = os.path.dirname(directory)
        missing.update(dict.fromkeys(reversed(above)))
    return list(missing)


def remove_directories(paths: Iterable[str]) -> None:
    """Remove directories that are empty; their absolute paths come innermost first."""
    for path in paths:
        with suppress(OSError):
            os.rmdir(path)


def emptied(path: str, top: str) -> Iterator[str]:
    """The directories below `top` that a deleted file may have left empty, innermost first.

    Both paths are absolute. The current directory and those above it are left out.
    """
    with suppress(OSError):
        here = os.path.join(os.getcwd(), "")
        above = os.path.dirname(path)
        while above.startswith(os.path.join(top, "")) and above != os.path.normpath(top):
            if here.startswith(os.path.join(above, "")):
                return
            yield above
            above = os.path.dirname(above)


def _put(step: Step) -> None:
    """Move a staged file into place; a new one never over another that appeared there."""
    change, staged, real = step.change, step.staged, step.change.target.real
    if staged is None:
        os.unlink(real)
        return
    if change.before is not None:
        os.replace(staged, real)
        if change.spelling is not None:
            os.rename(real, change.spelling.real)
        return
    try:
        os.link(staged, real, follow_symlinks=False)
    except FileExistsError:
        raise ChangedMeanwhileError(change.target) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(real):
            raise ChangedMeanwhileError(change.target) from None
        os.replace(staged, real)


def _undo(step: Step, *, unsure: bool) -> bool:
    """Restore the old file; whether that worked. An `unsure` step may not have been done."""
    change, real = step.change, step.change.target.real
    try:
        if not _is_written(change):
            # Another program has changed what was written, unless it never was.
            return unsure
        if step.backup is None:
            os.unlink(real)
        else:
            os.replace(step.backup, real)
        if change.spelling is not None:
            # The same file by its old name; where the two are not the same, it is not there.
            with suppress(FileNotFoundError):
                os.rename(change.spelling.real, real)
    except (OSError, FatalError):
        return False
    with suppress(OSError):
        sync_directory(os.path.dirname(real))
    return True


def _is_written(change: Change) -> bool:
    try:
        now = read_snapshot(change.target.real, links=True)
    except MissError:
        return False
    if now is None or change.after is None:
        return now is None and change.after is None
    return now.data == change.after and not now.same(change.before)


def _half_written(doing: Target, lost: Sequence[Step]) -> FatalError:
    names = ", ".join(f"'{step.change.target.path}'" for step in lost)
    backups = [(step.change.target.path, step.backup) for step in lost if step.backup]
    return FatalError(
        f"cannot write '{doing.path}', and could not put back {names}",
        code="half_written",
        hints=tuple(f"the old content of '{path}' is in '{backup}'" for path, backup in backups),
        details={"applied": False},
    )


def _unwritten(doing: Target, error: OSError) -> FatalError:
    reason = (error.strerror or str(error)).lower()
    full = error.errno in _FULL
    hint = MAKE_ROOM if full else "check the permissions of the file and of its directory"
    return FatalError(
        f"cannot write '{doing.path}': {reason}; nothing was changed",
        code="disk_full" if full else "unwritable",
        hints=(hint,),
        details={"applied": False},
    )


def with_executable(mode: int, *, executable: bool) -> int:
    """Permission bits as git changes them: whoever may read a file may run it, or nobody."""
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def write_new(path: str, data: bytes, real: str, like: Snapshot | None) -> None:
    """Write a file that must not exist yet, or a symlink, and bring it to disk.

    It gets the mode and owner of `like`, and the extended attributes of the file at `real`, which
    it is going to replace; without `like`, those of any new file.

    Raises:
        OSError: it cannot be written.
    """
    if isinstance(data, Symlink):
        os.symlink(os.fsdecode(data), path)
        return
    # The content of a private file must not be open to others for a moment.
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


def _copy_attributes(descriptor: int, real: str, like: Snapshot) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != like.owner:
        with suppress(OSError):
            os.fchown(descriptor, *like.owner)
    # Access control lists are extended attributes too. Python has none of them on macOS.
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(real, follow_symlinks=False):
                with suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(real, name, follow_symlinks=False))
    # Last: a change of owner takes setuid and setgid away.
    os.fchmod(descriptor, stat.S_IMODE(like.mode))
