"""Match the user's regular expressions in bounded time.

Python's matcher may take forever for some expressions, and cannot be interrupted. So a process of
its own runs them, which is ended if it does not answer in time.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from threading import Lock

from git_boocode.repo.errors import FatalError

_SECONDS = 5.0  # for one pattern and one text
_PIECE = 1 << 16
# The patterns come in the first line, then texts. A line of spans answers for each pattern, and a
# line asks for the next one. Of a pattern with groups, the span is that of the first one.
_PROGRAM = """
import json, re, sys
patterns = [re.compile(each) for each in json.loads(sys.stdin.readline())]
for line in sys.stdin:
    text = json.loads(line)
    for each in patterns:
        spans = (found.span(1 if each.groups else 0) for found in each.finditer(text))
        print(json.dumps([span for span in spans if span[0] < span[1]]), flush=True)
        sys.stdin.readline()
"""


class UserPatterns:
    """The patterns of a setting; threads may share them. FatalError if one is invalid."""

    def __init__(self, patterns: Sequence[str], setting: str) -> None:
        self._patterns = patterns
        self._setting = setting
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        for pattern in patterns:
            self._check(pattern)

    def _check(self, pattern: str) -> None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise self._error(pattern, f"is not a valid regular expression: {error}") from None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the patterns match; FatalError if one of them takes too long."""
        with self._lock:
            process = self._process or self._start()
            _send(process, text)
            found: list[tuple[int, int]] = []
            for pattern in self._patterns:
                answer = _line(process)
                if not answer:
                    process.kill()
                    self._process = None
                    raise self._error(pattern, f"takes more than {_SECONDS:g} seconds on a text")
                found += ((start, end) for start, end in json.loads(answer))
                _send(process, None)
            return found

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        process = self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
        )
        weakref.finalize(self, _end, process)
        _send(process, self._patterns)
        return process

    def _error(self, pattern: str, why: str) -> FatalError:
        hint = f"git config --get-all --show-origin {self._setting}"
        message = f"'{pattern}' in '{self._setting}' {why}"
        return FatalError(message, code="bad_config", hints=(f"'{hint}' shows it",))


def _send(process: subprocess.Popen[bytes], value: object) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(value).encode("ascii") + b"\n")
    process.stdin.flush()


def _line(process: subprocess.Popen[bytes]) -> bytes:
    """The next line of a process; empty if it does not come in time."""
    assert process.stdout is not None
    descriptor, line = process.stdout.fileno(), b""
    deadline = time.monotonic() + _SECONDS
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))
        piece = os.read(descriptor, _PIECE) if ready else b""
        if not piece:
            return b""
        line += piece
    return line


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()
