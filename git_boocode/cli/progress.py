"""A sign of life for work that takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Timer

from git_boocode.cli.output import encode_text, printable

PATIENCE = 1.0


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Say on a terminal's standard error what is being done, once it has taken a second.

    Args:
        doing: the work as a present participle, such as `restoring files`.
    """
    if not sys.stderr.isatty():
        yield
        return
    said = Event()
    timer = Timer(PATIENCE, _say, (doing, said))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            _clear()


@contextmanager
def relay() -> Iterator[Callable[[str], None] | None]:
    """What passes on to a terminal's standard error what git says, once it has taken a second.

    Nothing in it can steer the terminal: it may come from a remote. Where there is no terminal,
    there is nothing to pass it on with.
    """
    if not sys.stderr.isatty():
        yield None
        return
    passing = _Passing()
    try:
        yield passing
    finally:
        passing.end()


class _Passing:
    """Writes lines to standard error; one that ends in a carriage return is written over."""

    def __init__(self) -> None:
        self._from = time.monotonic() + PATIENCE
        self._unfinished = False

    def __call__(self, line: str) -> None:
        """Take a line with its end."""
        if time.monotonic() < self._from:
            return
        self._unfinished = not line.endswith("\n")
        sys.stderr.buffer.write(encode_text(f"{printable(line[:-1])}\033[K{line[-1:]}"))
        sys.stderr.flush()

    def end(self) -> None:
        """Leave nothing half-written."""
        if self._unfinished:
            _clear()


def _say(doing: str, said: Event) -> None:
    said.set()
    sys.stderr.write(f"{doing}…")
    sys.stderr.flush()


def _clear() -> None:
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()
