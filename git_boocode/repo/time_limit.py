"""End in time, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

# So much of the limit is for rolling back what was begun, in parts of it and in seconds at most.
_SHARE = 0.2
_MOST = 0.5
# And so long, in seconds, the last words may take when the time is up.
_LAST_WORDS = 0.1


class TimeUpError(BaseException):
    """The time is nearly up; raised in the main thread, wherever it is."""


class TimeLimit:
    """The time that this process has from now on.

    Shortly before its end, `TimeUpError` is raised once, so that what was begun is rolled back as
    on a signal. At its end the process ends, whatever it is doing, with exit code 0.

    Args:
        seconds: how long.
        last_words: called if it comes to that; it is not waited for.
    """

    def __init__(self, seconds: float, last_words: Callable[[], None]) -> None:
        self.seconds = seconds
        self._from = time.monotonic()
        self._last_words = last_words
        self._changed = Event()
        self._is_over = False
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, _strike)
            # It may have been blocked by who started us.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
        self._set_alarm()
        # Where there can be no other thread, the alarm has to do.
        with suppress(RuntimeError):
            Thread(target=self._watch, daemon=True).start()

    def change(self, seconds: float) -> None:
        """Have another limit, counted from the same beginning.

        Args:
            seconds: how long.
        """
        self.seconds = seconds
        self._set_alarm()
        self._changed.set()

    def stop_alarm(self) -> None:
        """Raise nothing any more; the end remains."""
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)

    def over(self) -> None:
        """Have no limit any more."""
        self._is_over = True
        self.stop_alarm()
        self._changed.set()

    def _left(self) -> float:
        return self._from + self.seconds - time.monotonic()

    def _set_alarm(self) -> None:
        if hasattr(signal, "setitimer"):
            left = self._left() - min(self.seconds * _SHARE, _MOST)
            # Zero would be never.
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.000_001))

    def _watch(self) -> None:
        while not self._is_over and (left := self._left()) > 0:
            self._changed.wait(left)
            self._changed.clear()
        if not self._is_over:
            # What hangs may well be what they are written to.
            speaker = Thread(target=self._last_words, daemon=True)
            speaker.start()
            speaker.join(_LAST_WORDS)
            os._exit(0)


def _strike(*_: object) -> None:
    raise TimeUpError


def own_group() -> None:
    """Be a process group of one's own, so that what is started can be ended with `end_group`."""
    if hasattr(os, "setpgid"):
        # Who leads a session leads a group already.
        with suppress(OSError):
            os.setpgid(0, 0)


def end_group() -> None:
    """Tell everything that was started to end: git, and the filters and helpers that it runs."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with suppress(OSError):
            os.killpg(os.getpid(), signal.SIGTERM)
