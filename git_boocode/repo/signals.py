"""Let what was begun be rolled back when the process is told to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

# Hosts stop their children with the one, terminals that are closed with the other.
_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn the signals that end a process into an exception, as Python does with SIGINT.

    Only the main thread can; in another one nothing changes.

    Raises:
        SystemExit: a signal came; its code is what a shell shows for it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    before = {number: signal.signal(number, _end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
