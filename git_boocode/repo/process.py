"""How this process ends: on a signal, when its time is up, or by becoming another program.

A command rolls back what it has begun and exits with 128 + the number of the signal; a hook does
the same on a signal and when its time is nearly up, and exits with 0. A signal that whoever
started us ignores, as `nohup` does, stays ignored. That the reader of standard output is gone
(SIGPIPE, which Python turns into `BrokenPipeError`) is for `git_boocode.cli.entry`.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Thread, main_thread
from typing import Any, NoReturn

from git_boocode.repo.errors import CommandError

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# This share of a time limit is for rolling back what was begun, and at most so many seconds.
_SHARE = 0.2
_LONGEST_SHARE = 0.5
# How long the last words may take when the time is up, in seconds.
_LAST_WORDS = 0.1


def on_signals(action: Any) -> None:  # noqa: ANN401 - as `signal.signal` takes it
    """Handle the signals that end a process by `stop`, `exit_at_once` or `signal.SIG_IGN`."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, action)


def stop(number: int, _: object) -> NoReturn:
    """Raise what lets everything that was begun be rolled back."""
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def exit_at_once(*_: object) -> NoReturn:
    """Exit with 0: nothing has been begun."""
    os._exit(0)


class TimeUpError(BaseException):
    """The time is nearly up; raised in the main thread, wherever it is."""


class TimeLimit:
    """The time that this process has, in seconds from now on.

    Shortly before its end, `TimeUpError` is raised once, so that what was begun is rolled back. At
    its end the process exits with 0, even where the main thread hangs in a system call, after
    `last_words`, which is not waited for.
    """

    def __init__(self, seconds: float, last_words: Callable[[], None]) -> None:
        self.seconds = seconds
        self._from = time.monotonic()
        self._last_words = last_words
        self._changed = Event()
        self._is_over = False
        signal.signal(signal.SIGALRM, _raise_time_up)
        # It may have been blocked by who started us.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
        # Where no thread can be started, no git can be either.
        with suppress(RuntimeError):
            Thread(target=self._watch, daemon=True).start()

    def change(self, seconds: float) -> None:
        """Set another limit, counted from the same beginning."""
        self.seconds = seconds
        self._changed.set()

    def stop_alarm(self) -> None:
        """Raise nothing any more; the end remains."""
        signal.signal(signal.SIGALRM, signal.SIG_IGN)

    def over(self) -> None:
        """Have no limit any more."""
        self.stop_alarm()
        self._is_over = True
        self._changed.set()

    def _watch(self) -> None:
        self._wait(lambda: self.seconds - min(self.seconds * _SHARE, _LONGEST_SHARE))
        if not self._is_over:
            signal.pthread_kill(main_thread().ident or 0, signal.SIGALRM)
        self._wait(lambda: self.seconds)
        if not self._is_over:
            # What hangs may well be what they are written to.
            speaker = Thread(target=self._last_words, daemon=True)
            speaker.start()
            speaker.join(_LAST_WORDS)
            os._exit(0)

    def _wait(self, limit: Callable[[], float]) -> None:
        while not self._is_over and (left := self._from + limit() - time.monotonic()) > 0:
            self._changed.wait(left)
            self._changed.clear()


def _raise_time_up(*_: object) -> NoReturn:
    raise TimeUpError


def own_group() -> None:
    """Lead a process group, so that `end_group` reaches everything that is started."""
    # Who leads a session leads a group already.
    with suppress(OSError):
        os.setpgid(0, 0)


def end_group() -> None:
    """End everything that was started: git, and the filters and helpers that it runs."""
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with suppress(OSError):
            os.killpg(os.getpid(), signal.SIGTERM)


def find_command(name: str) -> str:
    """The program that a shell would run for a path, or for a name on the PATH (CommandError)."""
    import shutil

    if found := shutil.which(name):
        return found
    if "/" in name and os.path.exists(name):
        reason = "it is a directory" if os.path.isdir(name) else "permission denied"
        raise CommandError(f"cannot run '{name}': {reason}", found=True)
    raise CommandError(
        f"cannot run '{name}': there is no such command",
        found=False,
        hints=("what only a shell knows is run by: git boocode run -- sh -c '...'",),
    )


def become(program: str, command: Sequence[str]) -> NoReturn:
    """Go on as the program at a path, with its name and arguments, in this process.

    CommandError if it cannot be run; nothing has changed then.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # What is ignored stays so in the program.
    before = {number: signal.signal(number, signal.SIG_DFL) for number in _IGNORED_BY_PYTHON}
    try:
        try:
            os.execv(program, list(command))
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without an interpreter line; every shell takes it for its own.
            os.execvp("sh", ["sh", program, *command[1:]])
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CommandError(f"cannot run '{program}': {reason}", found=True) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
