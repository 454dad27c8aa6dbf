"""Replace files safely: all of them or none, each of them whole."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, Protocol

from git_boocode.editing.durable import sync_directory, write_new
from git_boocode.editing.edits import MissError
from git_boocode.editing.place import Target
from git_boocode.editing.snapshot import Snapshot, read_snapshot
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError

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
        after: the bytes that it shall have.
    """

    target: Target
    before: Snapshot | None
    after: bytes


class Journal(Protocol):
    """Keeps the old contents while files are being replaced."""

    def publish(self) -> None:
        """Make the safety copy permanent; called when all is ready, before the first file."""

    def withdraw(self) -> None:
        """Forget it: nothing was changed after all."""


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
    with _signals_wait(), _Run(changes, journal) as run:
        run.prepare()
        if journal is not None:
            journal.publish()
        run.replace()


@contextmanager
def _signals_wait() -> Iterator[None]:
    # A signal that ends the process would leave temporary files behind.
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

    `temps` are files to remove in the end, `made` directories to remove after a failure, `done` the
    changes that have taken place, each with the second name of the old file.
    """

    def __init__(self, changes: Sequence[Change], journal: Journal | None) -> None:
        self.changes = changes
        self.journal = journal
        self.doing = changes[0].target
        self.temps: list[str] = []
        self.made: list[str] = []
        self.done: list[tuple[Change, str | None]] = []
        self.staged: list[str] = []
        self.backups: list[str | None] = []
        self.complete = False

    def __enter__(self) -> _Run:  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                self._fail(error)
        finally:
            self._clean_up()

    def _fail(self, error: BaseException) -> None:
        lost = self._roll_back()
        if lost:
            raise _half_written(self.doing, lost) from error
        if self.journal is not None:
            with suppress(BoocodeError):
                self.journal.withdraw()
        if isinstance(error, OSError):
            raise _unwritten(self.doing, error) from error

    def prepare(self) -> None:
        self.staged = [self._stage(change) for change in self.changes]
        for change in self.changes:
            self._check_unchanged(change)
        self.backups = [self._back_up(change) for change in self.changes]

    def replace(self) -> None:
        for change, temp, backup in zip(self.changes, self.staged, self.backups, strict=True):
            self._check_unchanged(change)
            self.done.append((change, backup))
            _put(change, temp)
        for directory in self._directories():
            sync_directory(directory)
        self.complete = True

    def _stage(self, change: Change) -> str:
        self.doing = change.target
        self._make_parents(os.path.dirname(change.target.real))
        return self._write_beside(change, change.after)

    def _make_parents(self, directory: str) -> None:
        missing = []
        while not os.path.isdir(directory):
            missing.append(directory)
            directory = os.path.dirname(directory)
        for path in reversed(missing):
            try:
                os.mkdir(path)
            except FileExistsError:
                # Another program was quicker; what it made is not ours to remove.
                continue
            self.made.append(path)

    def _write_beside(self, change: Change, data: bytes) -> str:
        temp = self._new_name(change)
        write_new(temp, data, change.target.real, change.before)
        return temp

    def _new_name(self, change: Change) -> str:
        directory, name = os.path.split(change.target.real)
        short = os.fsdecode(os.fsencode(name)[:200])
        temp = os.path.join(directory, f".{short}.boocode-{os.urandom(6).hex()}.tmp")
        self.temps.append(temp)
        return temp

    def _check_unchanged(self, change: Change) -> None:
        self.doing = target = change.target
        try:
            now = read_snapshot(target.real)
        except MissError:
            raise ChangedMeanwhileError(target) from None
        unchanged = now is None if change.before is None else change.before.same(now)
        if not unchanged or os.path.realpath(target.link) != target.real:
            raise ChangedMeanwhileError(target)

    def _back_up(self, change: Change) -> str | None:
        """Give the old file a second name; where the file system cannot, copy it."""
        self.doing = change.target
        if change.before is None:
            return None
        if not os.access(change.target.real, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only", change.target.real)
        backup = self._new_name(change)
        try:
            os.link(change.target.real, backup, follow_symlinks=False)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in _NO_LINKS:
                raise
            return self._write_beside(change, change.before.data)
        return backup

    def _directories(self) -> list[str]:
        parents = [os.path.dirname(change.target.real) for change in self.changes]
        return list(dict.fromkeys((*parents, *map(os.path.dirname, self.made))))

    def _roll_back(self) -> list[tuple[Target, str | None]]:
        """Undo what was done; what cannot be undone, with the place of the old content."""
        lost = [entry for entry in reversed(self.done) if not _undo(*entry)]
        kept = {backup for _, backup in lost}
        self.temps = [temp for temp in self.temps if temp not in kept]
        return [(change.target, backup) for change, backup in lost]

    def _clean_up(self) -> None:
        for temp in self.temps:
            with suppress(OSError):
                os.unlink(temp)
        for directory in [] if self.complete else reversed(self.made):
            with suppress(OSError):
                os.rmdir(directory)


def _put(change: Change, temp: str) -> None:
    """Move a finished file into its place; a new one never over another that appeared there."""
    real = change.target.real
    if change.before is not None:
        os.replace(temp, real)
        return
    try:
        os.link(temp, real)
    except FileExistsError:
        raise ChangedMeanwhileError(change.target) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(real):
            raise ChangedMeanwhileError(change.target) from None
        os.replace(temp, real)


def _undo(change: Change, backup: str | None) -> bool:
    """Bring the old file back; whether that worked."""
    real = change.target.real
    try:
        if not _is_ours(change):
            return True
        if backup is None:
            os.unlink(real)
        else:
            os.replace(backup, real)
    except (OSError, FatalError):
        return False
    with suppress(OSError):
        sync_directory(os.path.dirname(real))
    return True


def _is_ours(change: Change) -> bool:
    # The change that failed may not have taken place, and another program may have come since.
    try:
        now = read_snapshot(change.target.real)
    except MissError:
        return False
    return now is not None and now.data == change.after and not now.same(change.before)


def _half_written(doing: Target, lost: Sequence[tuple[Target, str | None]]) -> FatalError:
    names = ", ".join(f"'{target.path}'" for target, _ in lost)
    return FatalError(
        f"cannot write '{doing.path}', and could not put back {names}",
        code="half_written",
        hints=tuple(
            f"the old content of '{target.path}' is in '{copy}'" for target, copy in lost if copy
        ),
        details={"applied": False},
    )


def _unwritten(doing: Target, error: OSError) -> FatalError:
    reason = (error.strerror or str(error)).lower()
    return FatalError(
        f"cannot write '{doing.path}': {reason}; nothing was changed",
        code="disk_full" if error.errno in _FULL else "unwritable",
        details={"applied": False},
    )
