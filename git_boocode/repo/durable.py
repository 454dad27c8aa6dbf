"""Files and directories whose content is on disk when the call returns."""

from __future__ import annotations

import errno
import os


def sync_file(path: str) -> None:
    """Bring a file's content to disk.

    Raises:
        OSError: it is not there, or the disk failed.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
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
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
