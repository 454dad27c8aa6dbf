"""Where a conversation stands: how far its transcript goes at this moment.

A transcript can be of any size, and only its end is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, from_os

_BLOCK = 1 << 16
_LONGEST = 64 << 20
"""Bytes of a line, and of what is half-written behind it, beyond which it is not looked for."""


class Position(NamedTuple):
    """How far a transcript goes.

    Attributes:
        path: the transcript, absolute.
        offset: in bytes, where its last complete line ends, the newline included.
        hash: of the bytes of that line without its end; None if there is no line.
    """

    path: str
    offset: int
    hash: str | None


def transcript_position(path: str) -> Position | None:
    """How far a transcript goes now; None if there is no such file.

    Before the first turn of a session it need not be there yet. What will be in it then is not
    known either, for a session may go on with another one's.

    Args:
        path: as the agent names it.

    Raises:
        FatalError: it cannot be read (`transcript`).
    """
    full = os.path.expanduser(path)
    if not os.path.isabs(full):
        raise _unreadable(path, "it is relative, and nothing tells to what")
    try:
        # To open something else may wait for ever, or do something.
        if not stat.S_ISREG(os.stat(full).st_mode):
            raise _unreadable(path, "it is no file")
        descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return _position(full, descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, from_os(error).message.rpartition(": ")[2]) from None
    except ValueError:
        raise _unreadable(path, "it is no path") from None


def _position(path: str, descriptor: int) -> Position:
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
            return Position(path, end, _hash(blocks))
    if begin > 0:
        raise _unreadable(path, "its last line is too long")
    return Position(path, 0, None) if end is None else Position(path, end, _hash(blocks))


def _hash(blocks: list[bytes]) -> str:
    import hashlib

    line = b"".join(reversed(blocks)).removesuffix(b"\r")
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


def _backwards(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file from its end on, each with where it begins."""
    end = size
    while end > max(0, size - _LONGEST):
        begin = max(0, end - _BLOCK)
        yield begin, os.pread(descriptor, end - begin, begin)
        end = begin


def _unreadable(path: str, why: str) -> FatalError:
    return FatalError(f"the transcript '{path}' cannot be read: {why}", code="transcript")
