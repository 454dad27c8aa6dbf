"""Durable writes: files and refs that are on disk when a call returns, and private files.

A reader of a private file neither blocks nor follows a link: what is not a regular file of the
expected size counts as missing. All of these functions raise OSError if the system refuses an
operation.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, NamedTuple

from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.layout import MAKING, WORKTREE_ID, aside

LARGEST = 1 << 20
"""Default limit for the size of a private file, in bytes."""

_LONGEST_ID = 64
_THREADS = 16
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK
# Errors of opening a symlink, a socket and a directory.
_UNUSABLE = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EOPNOTSUPP, errno.EISDIR)


def sync(descriptor: int) -> None:
    """Flush an open file to disk."""
    # On macOS, fsync leaves the data in the cache of the drive.
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        # Not every file system supports it.
        with suppress(OSError):
            fcntl.fcntl(descriptor, full)
            return
    os.fsync(descriptor)


def sync_path(path: str) -> None:
    """Flush a file's content, or a directory's entries if the file system supports it, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not os.path.isdir(path):
            raise
    finally:
        os.close(descriptor)


def sync_refs(git_dir: str, names: Iterable[str], *, packed: bool = False) -> None:
    """Flush refs to disk that git has just written or deleted.

    Git before 2.36 has no `core.fsync` and syncs no refs, and no version syncs the directories.
    A reftable needs nothing, because git syncs it. Set `packed` if `packed-refs` may have been
    written as well, as when a ref is deleted.
    """
    paths = {"": None}
    for name in (*names, *(["packed-refs"] if packed else [])):
        # Git may have created the directories as well.
        above = name
        while above:
            paths[above] = None
            above = above.rpartition("/")[0]
    sync_all([f"{git_dir}/{path}" for path in paths])


def sync_all(paths: Sequence[str]) -> None:
    """Sync files and directories that still exist, in parallel, which disks handle faster.

    OSError if one of them failed.
    """
    errors: list[OSError | ValueError] = []

    def sync_share(share: Sequence[str]) -> None:
        try:
            for path in share:
                with suppress(FileNotFoundError, NotADirectoryError):
                    sync_path(path)
        except (OSError, ValueError) as error:
            errors.append(error)

    shares = [paths[number::_THREADS] for number in range(min(len(paths), _THREADS))]
    threads = [Thread(target=sync_share, args=(share,)) for share in shares[1:]]
    for thread in threads:
        thread.start()
    for share in shares[:1]:
        sync_share(share)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def read_private(path: str, *, largest: int | None = LARGEST) -> bytes | None:
    """The content of a private file; None if it is missing, not a regular file, or too large."""
    with suppress(FileNotFoundError, NotADirectoryError):
        descriptor = _open_regular(path, os.O_RDONLY)
        if descriptor is not None:
            with open(descriptor, "rb") as file:
                data = file.read(-1 if largest is None else largest + 1)
            return data if largest is None or len(data) <= largest else None
    return None


def read_private_json(path: str, *, largest: int | None = LARGEST) -> object:
    """The JSON value in a private file; None if it is missing or invalid."""
    data = read_private(path, largest=largest)
    try:
        return None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None


def write_private(path: str, data: bytes, *, to_disk: bool = True) -> None:
    """Replace a private file atomically; its directory must exist.

    Without `to_disk` it may be empty after a crash of the system.
    """
    making = os.path.join(os.path.dirname(path), f"{MAKING}{os.getpid()}-{os.urandom(6).hex()}")
    descriptor = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if to_disk:
                sync(descriptor)
        os.replace(making, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(making)
        raise


def open_private(path: str, flags: int) -> int:
    """Open a private file for locking or appending; create it if it is missing.

    FatalError (`unusable_file`) if something else is at its path.
    """
    descriptor = _open_regular(path, flags | os.O_CREAT)
    if descriptor is None:
        hint = "'git boocode doctor --fix' removes it"
        raise FatalError(f"'{path}' is not a regular file", code="unusable_file", hints=(hint,))
    return descriptor


def _open_regular(path: str, flags: int) -> int | None:
    try:
        descriptor = os.open(path, flags | _FLAGS, 0o600)
    except OSError as error:
        if error.errno in _UNUSABLE:
            return None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file; False if another process holds a conflicting lock."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove_all(paths: Iterable[str]) -> None:
    """Remove whatever is at some paths; see `remove`."""
    for path in paths:
        remove(path)


def remove(path: str) -> None:
    """Remove whatever is at a path, if anything, without following symlinks."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError:
        if os.path.islink(path) or not os.path.isdir(path):
            raise
        _remove_directory(path)


def _remove_directory(path: str) -> None:
    # `shutil.rmtree` takes longer to import, and calls itself for each level before Python 3.13.
    directories = [path]
    for directory in directories:
        with os.scandir(directory) as entries:
            inside = list(entries)
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.path)
            else:
                remove(entry.path)
    for directory in reversed(directories):
        os.rmdir(directory)


def is_regular(path: str) -> bool:
    """Whether a path is a regular file and not a symlink."""
    return os.path.isfile(path) and not os.path.islink(path)


def is_directory(path: str) -> bool:
    """Whether a path is a directory and not a symlink."""
    return os.path.isdir(path) and not os.path.islink(path)


def refuse_blocked(state_dir: str) -> None:
    """Raise FatalError if the path of a private directory is not a directory."""
    if is_blocked(state_dir):
        hint = "'git boocode doctor --fix' replaces it"
        raise FatalError(f"'{state_dir}' is not a directory", code="unusable_file", hints=(hint,))


def is_blocked(state_dir: str) -> bool:
    """Whether something other than a directory exists at the path of a private directory."""
    return os.path.lexists(state_dir) and not os.path.isdir(state_dir)


def make_state_dir(state_dir: str) -> None:
    """Create the private directory of a worktree; a linked one gets an id, see `worktree_key`.

    FatalError (`unusable_file`) if the path is not a directory, OSError if it cannot be created.
    """
    if os.path.isdir(state_dir):
        return
    refuse_blocked(state_dir)
    git_dir = os.path.dirname(state_dir)
    if not os.path.exists(os.path.join(git_dir, "commondir")):
        os.makedirs(state_dir, exist_ok=True)
        return
    # Renamed once the id is written, so that it never exists without one.
    making = aside(state_dir)
    try:
        os.mkdir(making)
        write_private(os.path.join(making, WORKTREE_ID), os.urandom(16).hex().encode("ascii"))
        os.rename(making, state_dir)
        sync_path(git_dir)
    except OSError as error:
        with suppress(OSError):
            remove(making)
        # Another process may have created it.
        if not os.path.isdir(state_dir):
            error.filename = state_dir
            raise


def worktree_id(state_dir: str) -> str:
    """The id in the private directory of a linked worktree; empty if it has none."""
    try:
        found = (read_private(os.path.join(state_dir, WORKTREE_ID)) or b"").decode("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
    return found if found.isalnum() and len(found) <= _LONGEST_ID else ""


class LineLog(NamedTuple):
    """A file of at most `largest` bytes, and its predecessor, which has `.1` behind its name."""

    path: str
    largest: int

    def append(self, values: Mapping[str, object]) -> None:
        """Write a line if possible; a full file replaces its predecessor.

        Errors are ignored: what is reported matters more than the report.
        """
        line = json.dumps(values).encode("ascii") + b"\n"
        with suppress(OSError, BoocodeError):
            make_state_dir(os.path.dirname(self.path))
            descriptor = self._open(len(line))
            try:
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    # The last line is incomplete, for example because the disk was full.
                    line = b"\n" + line
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def read(self) -> Iterator[dict[str, Any]]:
        """The objects, oldest first, without unreadable lines."""
        for path in (f"{self.path}.1", self.path):
            data = None
            with suppress(OSError):
                data = read_private(path)
            for line in (data or b"").decode("utf-8", "replace").splitlines():
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(values, dict):
                    yield values

    def _open(self, more: int) -> int:
        descriptor = open_private(self.path, os.O_RDWR | os.O_APPEND)
        found = os.fstat(descriptor)
        if found.st_size == 0 or found.st_size + more <= self.largest:
            return descriptor
        # Another process may be doing this, or may have done it.
        try:
            with suppress(FileNotFoundError):
                if try_lock(descriptor) and os.path.samestat(found, os.lstat(self.path)):
                    os.replace(self.path, f"{self.path}.1")
        finally:
            os.close(descriptor)
        return open_private(self.path, os.O_RDWR | os.O_APPEND)
