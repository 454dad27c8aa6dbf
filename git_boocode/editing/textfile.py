"""Files as they were read, and their bytes as text and back without losing any."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.matching.text import common_prefix
from git_boocode.repo.errors import FatalError

MAX_BYTES = 100 * 1024 * 1024  # Matching holds several copies of a text in memory.
RAW = "raw"

# The byte order mark of each encoding, and Python's name for what follows it.
_CODECS = {
    "utf-8-bom": (b"\xef\xbb\xbf", "utf-8"),
    "utf-16-le": (b"\xff\xfe", "utf-16-le"),
    "utf-16-be": (b"\xfe\xff", "utf-16-be"),
    "utf-8": (b"", "utf-8"),
}
_UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)


class Text(NamedTuple):
    """Decoded text without its byte order mark, with the file's own line endings.

    `codec` is its encoding: `raw` for bytes that are no text, which appear as surrogates (PEP 383).
    """

    text: str
    codec: str = "utf-8"

    @property
    def is_raw(self) -> bool:
        """Whether the bytes are no text, so that only exact edits are safe."""
        return self.codec == RAW

    def encode(self) -> bytes:
        """The bytes of the file; raises `UnicodeEncodeError` for what its encoding lacks."""
        if self.is_raw:
            return self.text.encode("utf-8", "surrogateescape")
        mark, codec = _CODECS[self.codec]
        return mark + self.text.encode(codec)


def decode(data: bytes) -> Text:
    """Read bytes as UTF-8 or, where a byte order mark says so, as UTF-16; else as raw bytes."""
    codec = next(name for name, (mark, _) in _CODECS.items() if data.startswith(mark))
    mark, encoding = _CODECS[codec]
    with suppress(UnicodeDecodeError):
        text = data[len(mark) :].decode(encoding)
        if "\0" not in text:
            return Text(text, codec)
    return Text(data.decode("utf-8", "surrogateescape"), RAW)


def line_count(text: str) -> int:
    """The number of lines; one without a final newline counts."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def shared_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters two texts share, in whole lines, at their beginning and at their end.

    It is much faster than splitting them; a few equal lines may be left between.
    """
    above = old.rfind("\n", 0, common_prefix(old, new)) + 1
    alike = common_prefix(old[above:][::-1], new[above:][::-1])
    return above, len(old[len(old) - alike :].partition("\n")[2])


def uniform_crlf(text: str) -> bool:
    """Whether a text has line endings and all of them are CRLF."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


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

    With `links`, a symlink at the path is read itself, its data being a `Symlink`. MissError if it
    is no regular file, too large, or no name of one; FatalError if it cannot be read.
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
        raise MissError("invalid_input", f"'{name}' above it is not a directory") from None
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        if error.errno in _UNUSABLE:
            raise MissError("invalid_input", f"the path cannot be used: {reason}") from None
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
        raise MissError("invalid_input", f"it is {kind}, not a regular file")
    if size > MAX_BYTES:
        raise MissError(
            "invalid_input",
            f"the file has {size} bytes, more than the {MAX_BYTES} that can be edited",
        )
