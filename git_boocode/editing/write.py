"""Replace files safely: all of them or none, each of them whole."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, Protocol

from git_boocode.editing.edits import MissError
from git_boocode.editing.place import Target
from git_boocode.editing.snapshot import Snapshot, read_snapshot
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
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Change(NamedTuple):
    """One file to write.

    Attributes:
        target: where it is.
        before: what was read there, None if there was no file.
        after: the bytes that it shall have, None if there shall be no file.
        like: the file whose mode and attributes it gets where there was none before.
        executable: whether it shall be executable, None if that stays as it is.
        spelling: the name that it gets, where the file system takes that for the same one.
    """

    target: Target
    before: Snapshot | None
    after: bytes | None
    like: Snapshot | None = None
    spelling: Target | None = None
    executable: bool | None = None


class Step(NamedTuple):
    """A change and the names of the files beside it that serve to make it.

    Attributes:
        change: the change.
        staged: where its new content waits, None if there is none.
        backup: where its old content is kept meanwhile, None if there was none.
    """

    change: Change
    staged: str | None
    backup: str | None


class Journal(Protocol):
    """Remembers what is going on while files are being replaced."""

    def begin(self, steps: Sequence[Step], made: Sequence[str]) -> None:
        """Note all that is going to be made; called before anything is.

        Args:
            steps: the changes.
            made: the directories that are missing, outermost first.
        """

    def publish(self) -> None:
        """Keep a safety copy; called when all is ready, before the first file."""

    def withdraw(self) -> None:
        """Forget all of it: nothing was changed after all."""

    def end(self) -> None:
        """Forget what was going on: all files are written and nothing is left beside them."""


class ChangedMeanwhileError(RefusedError):
    """A file is no longer what was read.

    Args:
        target: the file.
    """

    def __init__(self, target: Target) -> None:
        super().__init__(
            f"'{target.path}' was changed by another program while it was being edited",
            code="conflict",
            hints=("nothing was written; run the command again",),
        )
        self.target = target


def write_files(changes: Sequence[Change], journal: Journal | None = None) -> None:
    """Write all files, or leave everything as it was.

    Every file is written beside its target and put in its place by one rename. Until the last
    rename has succeeded, each old file keeps a second name, from which it comes back.

    Args:
        changes: the files.
        journal: keeps the old contents.

    Raises:
        ChangedMeanwhileError: a file is not what was read; nothing was changed.
        FatalError: the disk is full, or something cannot be written; nothing was changed, unless
            the message says otherwise.
    """
    with signals_wait(), _Run(changes, journal) as run:
        run.prepare()
        if journal is not None:
            journal.publish()
        run.replace()


@contextmanager
def signals_wait() -> Iterator[None]:
    """Let signals that end the process wait: they would leave temporary files behind."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    waiting = [getattr(signal, name) for name in _SIGNALS]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Run:
    """One attempt.

    `made` are directories to remove after a failure, `done` the steps that have taken place, the
    last of which may be `unsure`.
    """

    def __init__(self, changes: Sequence[Change], journal: Journal | None) -> None:
        # Last what is to go: a kill halfway may leave a renamed file twice, never not at all.
        self.steps = [_step(change) for change in changes if change.after is not None]
        self.steps += [_step(change) for change in changes if change.after is None]
        self.journal = journal
        self.doing = changes[0].target
        self.made: list[str] = []
        self.done: list[Step] = []
        self.unsure: Step | None = None
        self.lost: list[Step] = []
        self.begun = False
        self.complete = False

    def __enter__(self) -> _Run:  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                self._fail(error)
        finally:
            self._clean_up()
            if self.journal is not None and self.complete:
                self.journal.end()

    def _fail(self, error: BaseException) -> None:
        self.lost = [
            step for step in reversed(self.done) if not _undo(step, unsure=step is self.unsure)
        ]
        if self.lost:
            raise _half_written(self.doing, self.lost) from error
        if self.journal is not None and self.begun:
            with suppress(BoocodeError, OSError):
                self.journal.withdraw()
        if isinstance(error, OSError):
            raise _unwritten(self.doing, error) from error

    def prepare(self) -> None:
        parents = [os.path.dirname(step.change.target.real) for step in self.steps]
        missing = _missing_directories(parents)
        if self.journal is not None:
            self.begun = True
            self.journal.begin(self.steps, missing)
        self._make_directories(missing)
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
        for directory in self._directories():
            sync_directory(directory)
        self.complete = True

    def _make_directories(self, missing: Sequence[str]) -> None:
        for path in missing:
            try:
                os.mkdir(path)
            except FileExistsError:
                # Another program was quicker; what it made is not ours to remove.
                continue
            self.made.append(path)

    def _stage(self, step: Step) -> None:
        change = step.change
        self.doing = change.target
        if step.staged is not None and change.after is not None:
            like = change.before or change.like
            write_new(step.staged, change.after, change.target.real, like)
            if change.executable is not None:
                mode = stat.S_IMODE(os.stat(step.staged).st_mode)
                os.chmod(step.staged, with_executable(mode, executable=change.executable))

    def _check_unchanged(self, change: Change) -> None:
        self.doing = target = change.target
        try:
            now = read_snapshot(target.real)
        except MissError:
            raise ChangedMeanwhileError(target) from None
        unchanged = now is None if change.before is None else change.before.same(now)
        if not unchanged or os.path.realpath(target.link) != target.real:
            raise ChangedMeanwhileError(target)

    def _back_up(self, step: Step) -> None:
        """Give the old file a second name; where the file system cannot, copy it."""
        change = step.change
        self.doing = change.target
        if change.before is None or step.backup is None:
            return
        if not os.access(change.target.real, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only", change.target.real)
        try:
            os.link(change.target.real, step.backup, follow_symlinks=False)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in _NO_LINKS:
                raise
            write_new(step.backup, change.before.data, change.target.real, change.before)

    def _directories(self) -> list[str]:
        parents = [os.path.dirname(step.change.target.real) for step in self.steps]
        return list(dict.fromkeys((*parents, *map(os.path.dirname, self.made))))

    def _clean_up(self) -> None:
        kept = {step.backup for step in self.lost}
        for step in self.steps:
            for path in (step.staged, step.backup):
                if path is not None and path not in kept:
                    with suppress(OSError):
                        os.unlink(path)
        if not self.complete:
            remove_directories(reversed(self.made))
            return
        for step in self.steps:
            if step.change.after is None:
                target = step.change.target
                if target.real == target.link:
                    top = target.real[: -len(target.path)]
                    remove_directories(emptied(target.real, top))


def _step(change: Change) -> Step:
    return Step(
        change,
        None if change.after is None else _beside(change.target),
        None if change.before is None else _beside(change.target),
    )


def _beside(target: Target) -> str:
    directory, name = os.path.split(target.real)
    short = os.fsdecode(os.fsencode(name)[:200])
    return os.path.join(directory, f".{short}.boocode-{os.urandom(6).hex()}.tmp")


def _missing_directories(directories: Sequence[str]) -> list[str]:
    missing: dict[str, None] = {}
    for directory in directories:
        above = []
        path = directory
        while not os.path.isdir(path):
            above.append(path)
            path = os.path.dirname(path)
        missing.update(dict.fromkeys(reversed(above)))
    return list(missing)


def remove_directories(paths: Iterable[str]) -> None:
    """Remove directories that are empty.

    Args:
        paths: absolute paths, innermost first.
    """
    for path in paths:
        with suppress(OSError):
            os.rmdir(path)


def emptied(path: str, top: str) -> Iterator[str]:
    """The directories that a deleted file may have left empty, innermost first.

    Args:
        path: the file, absolute.
        top: the directory at which to end, absolute; the current directory ends it too.
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
    """Move a finished file into its place; a new one never over another that appeared there."""
    change, staged = step.change, step.staged
    if staged is None:
        os.unlink(change.target.real)
    elif change.before is not None:
        os.replace(staged, change.target.real)
        if change.spelling is not None:
            os.rename(change.target.real, change.spelling.real)
    else:
        _put_new(change.target, staged)


def _put_new(target: Target, staged: str) -> None:
    try:
        os.link(staged, target.real)
    except FileExistsError:
        raise ChangedMeanwhileError(target) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target.real):
            raise ChangedMeanwhileError(target) from None
        os.replace(staged, target.real)


def _undo(step: Step, *, unsure: bool) -> bool:
    """Bring the old file back; whether that worked.

    Args:
        step: what was done.
        unsure: whether it may not have been.
    """
    change = step.change
    try:
        if not _is_ours(change):
            # What was written has been changed by another program, unless it never was.
            return unsure
        if step.backup is None:
            os.unlink(change.target.real)
        else:
            os.replace(step.backup, change.target.real)
        if change.spelling is not None:
            # The same file by its old name; where the two are not the same, it is not there.
            with suppress(FileNotFoundError):
                os.rename(change.spelling.real, change.target.real)
    except (OSError, FatalError):
        return False
    with suppress(OSError):
        sync_directory(os.path.dirname(change.target.real))
    return True


def _is_ours(change: Change) -> bool:
    # The change that failed may not have taken place, and another program may have come since.
    try:
        now = read_snapshot(change.target.real)
    except MissError:
        return False
    if now is None or change.after is None:
        return now is None and change.after is None
    return now.data == change.after and not now.same(change.before)


def _half_written(doing: Target, lost: Sequence[Step]) -> FatalError:
    names = ", ".join(f"'{step.change.target.path}'" for step in lost)
    return FatalError(
        f"cannot write '{doing.path}', and could not put back {names}",
        code="half_written",
        hints=tuple(
            f"the old content of '{step.change.target.path}' is in '{step.backup}'"
            for step in lost
            if step.backup
        ),
        details={"applied": False},
    )


def _unwritten(doing: Target, error: OSError) -> FatalError:
    reason = (error.strerror or str(error)).lower()
    return FatalError(
        f"cannot write '{doing.path}': {reason}; nothing was changed",
        code="disk_full" if error.errno in _FULL else "unwritable",
        hints=(
            MAKE_ROOM
            if error.errno in _FULL
            else "look at the permissions of the file and of its directory",
        ),
        details={"applied": False},
    )


def with_executable(mode: int, *, executable: bool) -> int:
    """Permission bits as git changes them: whoever may read a file may run it, or nobody.

    Args:
        mode: the bits as they are.
        executable: whether the file shall be executable.
    """
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def write_new(path: str, data: bytes, real: str, before: Snapshot | None) -> None:
    """Write a file that must not exist yet, with the mode and attributes of the one it replaces.

    Args:
        path: its absolute path.
        data: its bytes.
        real: the file that it is going to replace.
        before: what that file was; None if it is new, when the umask decides the mode.

    Raises:
        OSError: it cannot be written.
    """
    # The content of a private file must not be open to others for a moment.
    mode = 0o666 if before is None else 0o600
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, mode)
    try:
        _write_all(descriptor, data)
        if before is not None:
            _copy_attributes(descriptor, real, before)
        sync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _copy_attributes(descriptor: int, real: str, before: Snapshot) -> None:
    if hasattr(os, "fchown"):
        now = os.fstat(descriptor)
        if (now.st_uid, now.st_gid) != before.owner:
            with suppress(OSError):
                os.fchown(descriptor, *before.owner)
    _copy_extended(descriptor, real)
    # Last: a change of owner takes setuid and setgid away.
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(before.mode))


def _copy_extended(descriptor: int, real: str) -> None:
    # Access control lists are extended attributes too; a file system without them says so.
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        for name in os.listxattr(real):
            with suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(real, name))
