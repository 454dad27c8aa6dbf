"""Files, directories and refs whose content is on disk when the call returns."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress

try:
    import fcntl
except ImportError:
    # Windows, where `os.fsync` reaches the disk.
    fcntl = None  # type: ignore[assignment]


def sync(descriptor: int) -> None:
    """Bring what was written to an open file to disk.

    Raises:
        OSError: the disk failed.
    """
    # On macOS, fsync leaves it in the cache of the drive.
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        # Not every file system has it.
        with suppress(OSError):
            fcntl.fcntl(descriptor, full)
            return
    os.fsync(descriptor)


def sync_file(path: str) -> None:
    """Bring a file's content to disk.

    Raises:
        OSError: it is not there, or the disk failed.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: str) -> None:
    """Bring a directory's entries to disk, where the system can.

    Raises:
        OSError: it is not there, or the disk failed.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sync_refs(git_dir: str, names: Iterable[str], *, packed: bool = False) -> None:
    """Bring refs to disk that git has just written or deleted.

    Before 2.36, git has no `core.fsync` and syncs no refs. No version syncs the directories.
    Where refs are kept in a reftable, git has synced that, and there is nothing to do.

    Args:
        git_dir: the git directory in which they are.
        names: their whole names.
        packed: whether `packed-refs` may have been written, as when a ref is deleted.

    Raises:
        OSError: the disk failed.
    """
    split = [tuple(name.split("/")) for name in names]
    paths = [os.path.join(git_dir, *parts) for parts in split]
    # Git may have made these directories, too.
    parents = {parts[:length] for parts in split for length in range(len(parts))}
    directories = {os.path.join(git_dir, *parts) for parts in parents}
    if packed:
        paths.append(os.path.join(git_dir, "packed-refs"))
        directories.add(git_dir)
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            sync_file(path)
    for directory in sorted(directories, reverse=True):
        with suppress(FileNotFoundError, NotADirectoryError):
            sync_directory(directory)
