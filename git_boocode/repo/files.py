"""The files of a worktree: what they are when they are read, their modes, names and directories."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, RefusedError

MAX_BYTES = 100 * 1024 * 1024  # Matching holds several copies of a text in memory.
_UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)


class Symlink(bytes):
    """The target of a symbolic link, in place of a file's bytes."""


class Snapshot(NamedTuple):
    """A file when it was read; `mode` includes its kind, `owner` is its user and group."""

    data: bytes
    device: int
    inode: int
    mode: int
    owner: tuple[int, int]
    links: int


def mode_only(mode: int) -> Snapshot:
    """A file to copy permission bits from; its owner -1 leaves the owner as it is."""
    return Snapshot(b"", 0, 0, stat.S_IFREG | mode, (-1, -1), 1)


def read_snapshot(real: str, *, links: bool = False) -> Snapshot | None:
    """Read a regular file by its absolute path without symlinks; None if there is none.

    With `links`, a symlink at the path is read itself, its data being a `Symlink`. RefusedError if
    it is no regular file, too large, or no name of one; FatalError if it cannot be read.
    """
    try:
        return _read(real, links=links)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        above = os.path.dirname(real)
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        name = os.path.basename(above)
        raise RefusedError(f"'{name}' above it is not a directory", code="invalid_input") from None
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        if error.errno in _UNUSABLE:
            raise RefusedError(f"the path cannot be used: {reason}", code="invalid_input") from None
        raise FatalError(
            f"cannot read '{real}': {reason}; nothing was changed",
            code="unreadable",
            hints=("check its permissions, or leave it out of the edit",),
            details={"applied": False},
        ) from error


def _read(real: str, *, links: bool) -> Snapshot:
    found = os.lstat(real)
    if links and stat.S_ISLNK(found.st_mode):
        data: bytes = Symlink(os.fsencode(os.readlink(real)))
    else:
        # Checked before it is opened: opening a device or a pipe can act on it.
        _check(found.st_mode, found.st_size)
        with open(os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
            found = os.fstat(stream.fileno())
        _check(found.st_mode, len(data))
    owner = (found.st_uid, found.st_gid)
    return Snapshot(data, found.st_dev, found.st_ino, found.st_mode, owner, found.st_nlink)


def _check(mode: int, size: int) -> None:
    # Opening a symlink fails by itself.
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        kind = "a directory" if stat.S_ISDIR(mode) else "a special file"
        raise RefusedError(f"it is {kind}, not a regular file", code="invalid_input")
    if size > MAX_BYTES:
        raise RefusedError(
            f"the file has {size} bytes, more than the {MAX_BYTES} that can be edited",
            code="invalid_input",
        )


def missing_directories(paths: Iterable[str]) -> list[str]:
    """The missing directories above some files, outermost first."""
    missing = set()
    for path in paths:
        while (path := os.path.dirname(path)) not in missing and not os.path.isdir(path):
            missing.add(path)
    return sorted(missing)


def remove_directories(paths: Iterable[str]) -> None:
    """Remove directories that are empty; their absolute paths come innermost first."""
    for path in paths:
        with suppress(OSError):
            os.rmdir(path)


def remove_emptied(path: str, top: str) -> None:
    """Remove the directories below `top`, an absolute path, that a deleted file left empty.

    The current directory and those above it stay.
    """
    with suppress(OSError):
        here = os.path.join(os.getcwd(), "")
        above = os.path.dirname(path)
        while above.startswith(os.path.join(top, "")) and not here.startswith(f"{above}{os.sep}"):
            with suppress(FileNotFoundError):
                os.rmdir(above)
            above = os.path.dirname(above)


def with_executable(mode: int, *, executable: bool) -> int:
    """Permission bits as git changes them: whoever may read a file may run it, or nobody."""
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def both_listed(one: str, other: str) -> bool:
    """Whether two resolved paths that may name one file part at two entries of one directory."""
    above = os.path.commonpath((one, other))
    names = {os.path.relpath(path, above).split(os.sep)[0] for path in (one, other)}
    try:
        return names <= {*os.listdir(above)}
    except OSError:
        return False
