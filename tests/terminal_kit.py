"""A terminal for a program under test; one that hangs fails, with what was on the screen."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import IO, NoReturn

import pyte

from tests.hint_kit import check_hints

# Seconds for everything that one program does.
LIMIT = 60.0


class Terminal:
    """A program at work on a terminal of its own, which is also what it reads.

    With `stdout`, its standard output goes there instead. With `size`, in columns and lines, it can
    draw on the whole screen, which `screen` shows.
    """

    def __init__(
        self,
        *command: str,
        stdout: IO[bytes] | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
        size: tuple[int, int] | None = None,
    ) -> None:
        self._deadline = time.monotonic() + LIMIT
        self._screen, inner = pty.openpty()
        self.screen = pyte.Screen(*(size or (80, 24)))
        self._emulator = pyte.Stream(self.screen)
        if size:
            self._set_size(*size)
            # Whoever opens it is controlled by it: it can hang up on a program when it goes.
            command = ("sh", "-c", 'exec "$@" 0<>"$0"', os.ttyname(inner), *command)
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "TERM": "xterm" if size else "dumb", **env},
            stdin=inner,
            stdout=stdout or inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.everything = self.shown = ""
        self.was_left_raw = False

    def wait_for(self, text: str) -> str:
        """Read until a text comes; returns what came before it."""
        while text not in self.shown:
            assert self._read(), f"ended without {text!r} after: {self.everything}"
        before, _, self.shown = self.shown.partition(text)
        return before

    def wait_until(self, holds: Callable[[str], bool]) -> str:
        """Read until something holds for what is on the screen; returns that."""
        while not holds(self.display):
            assert self._read(), f"ended with this on the screen:\n{self.display}"
        return self.display

    def see(self, *texts: str) -> str:
        """Read until texts are on the screen; returns what is on it."""
        return self.wait_until(lambda display: all(text in display for text in texts))

    @property
    def display(self) -> str:
        """What is on the screen, without spaces at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        self.screen.resize(lines, columns)
        self._set_size(columns, lines)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _is_raw(self) -> bool:
        """Whether the terminal hands over each key at once, and without echo."""
        flags: int = termios.tcgetattr(self._screen)[3]
        return not flags & (termios.ICANON | termios.ECHO)

    def close(self) -> int:
        """Close the terminal; returns how the program ends."""
        os.close(self._screen)
        return self._wait()

    def end(self) -> tuple[int, str]:
        """The exit code, and what came since the last text that was waited for."""
        while self._read():
            pass
        self.was_left_raw = self._is_raw()
        os.close(self._screen)
        check_hints((), "", self.everything.replace("\r", ""))
        return self._wait(), self.shown.replace("\r\n", "\n")

    def _wait(self) -> int:
        try:
            return self._process.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._give_up()

    def interrupt(self, by: int = signal.SIGINT) -> None:
        """Do what a terminal does on Ctrl-C, or send another signal."""
        os.killpg(self._process.pid, by)

    def _read(self) -> bool:
        left = max(0.0, self._deadline - time.monotonic())
        if not select.select([self._screen], [], [], left)[0]:
            self._give_up()
        try:
            data = os.read(self._screen, 65536)
        except OSError:
            # Linux says so when the other end is closed.
            data = b""
        more = self._decoder.decode(data)
        self.everything += more
        self.shown += more
        self._emulator.feed(more)
        return bool(data)

    def _give_up(self) -> NoReturn:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shown = self.display if "\x1b[?1049h" in self.everything else self.everything
        raise AssertionError(f"still running after {LIMIT:.0f} seconds; on the screen: {shown}")


def what_stays(shown: str) -> str:
    """What a screen shows in the end, without what was written over by a carriage return."""
    return re.sub(r"[^\n]*\r", "", shown)
