"""An agent's transcript: how far it goes, and its lines between two positions.

Every hook of a turn reads this module, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, RefusedError, from_os

# In bytes: what is read at once, and the largest distance of the last complete line from the end.
# Only that line is read, because the transcript may be huge.
_BLOCK, _LONGEST_LINE = 1 << 16, 64 << 20
# Of what lies between two positions, in bytes: a line that is read, and all lines.
_LONGEST_READ, _MOST_READ = 8 << 20, 64 << 20
_SUFFIX = ".jsonl"


class TranscriptPosition(NamedTuple):
    """A position in a transcript.

    `path` is absolute; `offset`, in bytes, is the end of the last complete line, including its
    newline; `hash` is the hash of that line without the newline, None if there is no line.
    """

    path: str
    offset: int
    hash: str | None


def transcript_position(path: str, notes: bytes = b"") -> TranscriptPosition:
    """The current end of a transcript; FatalError (`transcript`) if it cannot be read.

    One that is missing, as before the first turn of a session, ends at 0. Lines at its end that
    begin with `notes` do not count.
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
            return _end_of(full, descriptor, notes)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return TranscriptPosition(full, 0, None)
    except OSError as error:
        raise _unreadable(path, from_os(error).message.rpartition(": ")[2]) from None
    except ValueError:
        raise _unreadable(path, "the path is not valid") from None


def _end_of(path: str, descriptor: int, notes: bytes) -> TranscriptPosition:
    end, line = _last_line(path, descriptor, os.fstat(descriptor).st_size)
    while line is not None and notes and line.startswith(notes):
        end, line = _last_line(path, descriptor, end - len(line) - 1)
    return TranscriptPosition(path, end, None if line is None else _hash(line))


def _last_line(path: str, descriptor: int, size: int) -> tuple[int, bytes | None]:
    """The end of the last complete line in the first bytes of a file, and that line, if any."""
    blocks: list[bytes] = []
    end, begin = None, size
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
            return end, b"".join(reversed(blocks))
    if begin > 0:
        raise _unreadable(path, "its last line is too long")
    return end or 0, b"".join(reversed(blocks)) if end else None


def _hash(line: bytes) -> str:
    from git_boocode.repo.object_writer import hexdigest

    digest = hexdigest("sha256", line.removesuffix(b"\r"))
    return f"sha256:{digest}"


def _backwards(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file with their offsets, the last one first."""
    end = size
    while end > max(0, size - _LONGEST_LINE):
        begin = max(0, end - _BLOCK)
        yield begin, os.pread(descriptor, end - begin, begin)
        end = begin


def _unreadable(path: str, why: str) -> FatalError:
    return FatalError(f"cannot read the transcript '{path}': {why}", code="transcript")


# What lies between two positions.


LineEnds = dict[str, int | None]
"""Where the lines of a transcript end, by their hashes; None if a line occurs several times."""


@contextmanager
def open_transcript(
    path: str, directories: Iterable[str], known: dict[tuple[int, ...], LineEnds]
) -> Iterator[Transcript]:
    """Open a transcript to read it, if it is in one of some directories (RefusedError).

    As for the shipped callbacks, its path may come from anybody: no link may lead elsewhere, and
    nothing but a regular file is opened. `known` is what is known of transcripts, to which is added
    what has to be found out.
    """
    try:
        real = os.path.realpath(path)
        tops = [os.path.join(os.path.realpath(each), "") for each in directories]
        if not real.startswith(tuple(tops)):
            more = "boocode.transcripts adds a directory"
            raise _unusable(path, f"is not where the agent keeps its transcripts ({more})")
        # Nothing is opened that blocks, or leads elsewhere since.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise _unusable(path, "does not exist") from None
    except (OSError, ValueError):
        raise _unusable(path, "cannot be read") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unusable(path, "is not a regular file")
        yield Transcript(descriptor, known)
    finally:
        os.close(descriptor)


def copies_of(path: str) -> list[tuple[str, str]]:
    """The copies that `trim-jsonl` has made of a transcript, by the ids of restores, in order."""
    directory, name = os.path.split(path)
    begin = f"{name}.before-"
    found: list[str] = []
    with suppress(OSError, ValueError):
        found = [each for each in os.listdir(directory) if each.startswith(begin)]
    return sorted((each.removeprefix(begin), os.path.join(directory, each)) for each in found)


class Transcript:
    """An open transcript."""

    def __init__(self, descriptor: int, known: dict[tuple[int, ...], LineEnds]) -> None:
        self._descriptor = descriptor
        self._known = known
        self.size = os.fstat(descriptor).st_size
        self.unread = 0
        """The number of lines that `lines` has left out because of their length."""

    def find(self, offset: int, wanted: str | None) -> int | None:
        """Where a position is now, by its offset and the hash of its last line; None if nowhere.

        If the file has been rewritten, the line is found by its hash, if it occurs once.
        """
        if wanted is None:
            return 0 if offset == 0 else None
        if 0 < offset <= self.size:
            with suppress(FatalError):
                end, line = _last_line("", self._descriptor, offset)
                if end == offset and line is not None and _hash(line) == wanted:
                    return offset
        return self._line_ends().get(wanted)

    def _line_ends(self) -> LineEnds:
        found = os.fstat(self._descriptor)
        key = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
        if key not in self._known:
            ends: LineEnds = {}
            for end, line in self._lines(0, self.size):
                name = _hash(line)
                ends[name] = None if name in ends else end
            self._known[key] = ends
        return self._known[key]

    def parts(self, begin: int, end: int) -> list[tuple[int, int]]:
        """What to read between two positions: all, or of very much the beginning and the end."""
        half = _MOST_READ // 2
        if end - begin <= 2 * half:
            return [(begin, end)]
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(end - half)
            while (rest := file.readline(_BLOCK)) and not rest.endswith(b"\n"):
                pass
            return [(begin, begin + half), (file.tell(), end)]

    def lines(self, begin: int, end: int) -> Iterator[bytes]:
        """The lines between two positions, without one that is just being written."""
        for after, line in self._lines(begin, end):
            # Without its newline, the last one may be complete all the same.
            if line.endswith(b"}") or after < self.size or self._ends_with_newline():
                yield line

    def _ends_with_newline(self) -> bool:
        return os.pread(self._descriptor, 1, max(self.size - 1, 0)) == b"\n"

    def _lines(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The lines that begin between two positions, each after the position of its end."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(begin)
            while begin < end and (line := file.readline(_LONGEST_READ)):
                begin += len(line)
                if len(line) == _LONGEST_READ and not line.endswith(b"\n"):
                    self.unread += 1
                    while line and not line.endswith(b"\n"):
                        line = file.readline(_BLOCK)
                        begin += len(line)
                    line = b""
                yield begin, line.removesuffix(b"\n")


def is_transcript(path: object) -> bool:
    """Whether metadata names a file that may be a transcript."""
    return isinstance(path, str) and path.endswith(_SUFFIX) and "\0" not in path


def _unusable(path: str, why: str) -> RefusedError:
    return RefusedError(f"its transcript '{path}' {why}", code="transcript")
