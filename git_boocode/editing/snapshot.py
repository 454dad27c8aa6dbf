"""What a file was when it was read."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.repo.errors import FatalError

MAX_BYTES = 100 * 1024 * 1024
"""Larger files are refused: matching holds several copies of a text in memory."""

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_NO_SUCH = (errno.ENOENT, errno.ENOTDIR)
_UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)


class Snapshot(NamedTuple):
    """A file's bytes and what must not change under us until it is replaced.

    Attributes:
        data: its bytes.
        device: the file system that it is on.
        inode: its number there.
        mode: its whole mode, with the kind of file.
        owner: user and group.
        links: how many names it has.
    """

    data: bytes
    device: int
    inode: int
    mode: int
    owner: tuple[int, int]
    links: int

    def same(self, other: Snapshot | None) -> bool:
        """Whether another snapshot shows the same file unchanged."""
        return other is not None and self[:4] == other[:4]


def mode_only(mode: int) -> Snapshot:
    """What a file that comes back is made like; -1 leaves the owner as it is.

    Args:
        mode: its permission bits.
    """
    return Snapshot(b"", 0, 0, stat.S_IFREG | mode, (-1, -1), 1)


def read_snapshot(real: str) -> Snapshot | None:
    """Read a regular file; None if there is nothing of that name.

    Args:
        real: its absolute path, symlinks resolved.

    Raises:
        MissError: it is no regular file, it is too large, or the name cannot be one.
        FatalError: it cannot be read.
    """
    try:
        return _read(real)
    except OSError as error:
        if error.errno in _NO_SUCH:
            _check_parents(real)
            return None
        reason = (error.strerror or "unknown error").lower()
        if error.errno in _UNUSABLE:
            raise MissError("invalid_input", f"the path cannot be used: {reason}") from None
        raise FatalError(
            f"cannot read '{real}': {reason}; nothing was changed",
            code="unreadable",
            hints=("look at its permissions, or leave it out of the edit",),
            details={"applied": False},
        ) from error


def _read(real: str) -> Snapshot:
    # Looked at before it is opened: opening a device or a pipe can act on it.
    _check_kind(os.lstat(real))
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(real, flags | getattr(os, "O_BINARY", 0)), "rb") as stream:
        found = os.fstat(stream.fileno())
        _check_kind(found)
        data = stream.read(MAX_BYTES + 1)
    _check_size(max(len(data), found.st_size))
    return Snapshot(
        data,
        found.st_dev,
        found.st_ino,
        found.st_mode,
        (found.st_uid, found.st_gid),
        found.st_nlink,
    )


def _check_kind(found: os.stat_result) -> None:
    for is_kind, name in _KINDS:
        if is_kind(found.st_mode):
            raise MissError("invalid_input", f"it is {name}, not a file")
    if stat.S_ISREG(found.st_mode):
        _check_size(found.st_size)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise MissError(
            "invalid_input",
            f"the file has {size} bytes, more than the {MAX_BYTES} that can be edited",
        )


def _check_parents(real: str) -> None:
    parent = os.path.dirname(real)
    while not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent):
        raise MissError(
            "invalid_input", f"'{os.path.basename(parent)}' above it is not a directory"
        )
