"""Programs that die, as by `kill -9`, before a step of their choice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

DIES_AT_A_STEP = """
import os, signal, subprocess, sys

what, step = sys.argv[1], int(sys.argv[2])
count = 0

def watch(module, name):
    real = getattr(module, name)
    def call(*args, **kwargs):
        global count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    setattr(module, name, call)
"""
"""The beginning of a program: it dies at the nth call of the functions that it watches."""


def killed_at(call: str, number: int, act: Callable[[], object]) -> bool:
    """Act in a child that is killed at the nth call of a function of `os`; whether it was."""
    child = os.fork()
    if child == 0:
        _die_at(call, number)
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _die_at(call: str, number: int) -> None:
    real, calls = getattr(os, call), []

    def dying(*args: object, **how: object) -> object:
        calls.append(args)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **how)

    setattr(os, call, dying)
