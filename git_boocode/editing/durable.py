"""Files that are on disk when the call returns."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from git_boocode.editing.snapshot import Snapshot
from git_boocode.repo.durable import sync


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
