"""A terminal for a program under test; one that hangs fails, with what was on the screen."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import IO

# Seconds for everything that one program does.
LIMIT = 60.0


class Terminal:
    """A program at work on a terminal of its own, which is also what it reads.

    With `stdout`, its standard output goes there instead.
    """

    def __init__(
        self,
        *command: str,
        stdout: IO[bytes] | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._deadline = time.monotonic() + LIMIT
        self._screen, inner = pty.openpty()
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "TERM": "dumb", **env},
            stdin=inner,
            stdout=stdout or inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._all = self.shown = ""

    def wait_for(self, text: str) -> str:
        """Read until a text comes; returns what came before it."""
        while text not in self.shown:
            assert self._read(), f"ended without {text!r} after: {self._all}"
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def end(self) -> tuple[int, str]:
        """The exit code, and what came since the last text that was waited for."""
        while self._read():
            pass
        os.close(self._screen)
        try:
            code = self._process.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._give_up()
        return code, self.shown.replace("\r\n", "\n")

    def interrupt(self) -> None:
        """Do what a terminal does on Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)

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
        self._all += more
        self.shown += more
        return bool(data)

    def _give_up(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        raise AssertionError(f"still running after {LIMIT:.0f} seconds; on the screen: {self._all}")


def what_stays(shown: str) -> str:
    """What a screen shows in the end, without what was written over by a carriage return."""
    return re.sub(r"[^\n]*\r", "", shown)
