"""Lines on standard input and output, which nothing else in the process can read or write."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import suppress

from git_boocode.repo.process import starter_of_git
from git_boocode.server.json_rpc import encode

MAX_LINE = 256 * 1024 * 1024
"""Maximum length of a message in bytes: edits have 64 MiB at most, and buffers come on top."""
_PIECE = 1 << 16
_ATOMIC = select.PIPE_BUF
"""What a pipe takes without blocking once it is writable, in bytes."""
_ORPHAN_CHECK = 5.0
"""Seconds after which an idle server looks whether the program that started it still runs."""


class TooLong(bytes):
    """The place of a line that exceeds `MAX_LINE`."""


class Connection:
    """The client: its lines as they come, and messages to it.

    Creating it takes standard input and output away from the rest of the process: reading standard
    input then finds its end, and what is written to standard output goes to standard error.
    """

    def __init__(self) -> None:
        self._input, self._output = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._woken, self._waker = os.pipe()
        self._lock = threading.Lock()
        self._parent = os.getppid()
        self._starter_of_git = starter_of_git(self._parent)
        self.is_closed = False
        self.is_exact = False
        """Whether the client reads bytes that are not UTF-8 as `encode` writes them."""

    def lines(self) -> Iterator[bytes]:
        """The lines that the client sends, until it closes the connection, ends, or `close`."""
        held: list[bytes] = []
        size = 0
        while piece := self._read():
            *ends, rest = piece.split(b"\n")
            for end in ends:
                size += len(end)
                line = TooLong() if size > MAX_LINE else b"".join((*held, end))
                held, size = [], 0
                if line.strip() or isinstance(line, TooLong):
                    yield line
            size += len(rest)
            # Only the length of a line that is too long counts.
            held = [*held, rest] if size <= MAX_LINE else []
        if size > MAX_LINE:
            yield TooLong()
        elif line := b"".join(held).strip():
            yield line

    def _read(self) -> bytes:
        """The next bytes; empty at the end."""
        while not self.is_closed:
            ready, _, _ = select.select([self._input, self._woken], [], [], _ORPHAN_CHECK)
            if self._input in ready:
                with suppress(OSError):
                    return os.read(self._input, _PIECE)
                return b""
            # A sibling that inherited the pipe can keep it open.
            if self._woken in ready or self._is_orphan:
                return b""
        return b""

    @property
    def _is_orphan(self) -> bool:
        if os.getppid() != self._parent:
            return True
        now = None if self._starter_of_git is None else starter_of_git(self._parent)
        # A failed look says nothing.
        return now is not None and now != self._starter_of_git

    @property
    def has_reader(self) -> bool:
        """Whether the client can still read answers."""
        if self.is_closed or self._is_orphan:
            return False
        poll = select.poll()
        poll.register(self._output, 0)
        return not poll.poll(0)

    def send(self, message: object) -> None:
        """Send a message; nothing happens once the client has gone."""
        data = memoryview(encode(message, exact=self.is_exact))
        with self._lock:
            try:
                while data and not self.is_closed:
                    # A client that does not read must not keep us from ending.
                    _, writable, _ = select.select([self._woken], [self._output], [])
                    if writable:
                        data = data[os.write(self._output, data[:_ATOMIC]) :]
            except OSError:
                self.close()

    def close(self) -> None:
        """End `lines`, and send nothing more; signal handlers may call it."""
        self.is_closed = True
        with suppress(OSError):
            os.write(self._waker, b"x")
