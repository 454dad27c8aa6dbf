"""A sign of life for work that takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

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
    timer = Timer(PATIENCE, _say, (doing,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if timer.finished.is_set():
            _clear()


def _say(doing: str) -> None:
    sys.stderr.write(f"{doing}…")
    sys.stderr.flush()


def _clear() -> None:
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()
