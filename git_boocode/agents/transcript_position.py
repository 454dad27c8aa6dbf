"""The current end of a transcript; only its last line is read, because it may be huge."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, from_os

_BLOCK = 1 << 16
_LONGEST = 64 << 20
"""Maximum distance, in bytes, of the last complete line from the end."""


class TranscriptPosition(NamedTuple):
    """A position in a transcript; the field names are those of a checkpoint's anchor.

    `path` is absolute; `offset`, in bytes, is the end of the last complete line, including its
    newline; `hash` is the hash of that line without the newline, None if there is no line.
    """

    path: str
    offset: int
    hash: str | None


def transcript_position(path: str) -> TranscriptPosition:
    """The current end of a transcript; FatalError (`transcript`) if it cannot be read.

    One that is missing, as before the first turn of a session, ends at 0.
    """
    full = os.path.expanduser(path)
    if not os.path.isabs(full):
        raise _unreadable(path, "the path is not absolute")
    try:
        # Opening a special file may block, or have effects.
        if not stat.S_ISREG(os.stat(full).st_mode):
            raise _unreadable(path, "not a regular file")
        descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return _position(full, descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return TranscriptPosition(full, 0, None)
    except OSError as error:
        raise _unreadable(path, from_os(error).message.rpartition(": ")[2]) from None
    except ValueError:
        raise _unreadable(path, "the path is not valid") from None


def _position(path: str, descriptor: int) -> TranscriptPosition:
    blocks: list[bytes] = []
    end = None
    size = begin = os.fstat(descriptor).st_size
    for begin, block in _backwards(descriptor, size):
        rest = block
        if end is None:
            rest, newline, _ = block.rpartition(b"\n")
            if not newline:
                continue
            end = begin + len(rest) + 1
        _, newline, tail = rest.rpartition(b"\n")
        blocks.append(tail)
        if newline:
            return TranscriptPosition(path, end, _hash(blocks))
    if begin > 0:
        raise _unreadable(path, "its last line is too long")
    return TranscriptPosition(path, end or 0, _hash(blocks) if end else None)


def _hash(blocks: list[bytes]) -> str:
    import hashlib

    line = b"".join(reversed(blocks)).removesuffix(b"\r")
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


def _backwards(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file with their offsets, the last one first."""
    end = size
    while end > max(0, size - _LONGEST):
        begin = max(0, end - _BLOCK)
        yield begin, os.pread(descriptor, end - begin, begin)
        end = begin


def _unreadable(path: str, why: str) -> FatalError:
    return FatalError(f"cannot read the transcript '{path}': {why}", code="transcript")
