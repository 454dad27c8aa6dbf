"""What `git boocode hook` does; `git_boocode.cli.direct` calls it without click.

An agent takes what a hook prints for a message, and a failure of it for a veto. So nothing is
printed but what the agent wants to read, and the exit code is 0, whatever happens.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from git_boocode.agents.context import Scene, warn_by_hand
from git_boocode.agents.registry import find_agent
from git_boocode.agents.serve import Service
from git_boocode.agents.timeout import TIMEOUT
from git_boocode.repo.errors import FatalError
from git_boocode.repo.signals import ended_by_signals
from git_boocode.repo.time_limit import TimeLimit, end_group, own_group

GIT = "git"
_STDOUT, _STDERR = 1, 2


def run_hook(arguments: Sequence[str]) -> int:
    """Serve a call of a hook.

    Args:
        arguments: what follows `git boocode hook`: the agent, or `git`; the event; for git, the
            arguments of its hook.

    Returns:
        0.
    """
    # What goes wrong is noted inside; here is only what comes between two of its lines.
    with suppress(BaseException):
        _run(arguments)
    return 0


def _run(arguments: Sequence[str]) -> None:
    scene = Scene()
    limit = TimeLimit(TIMEOUT, scene.note_hanging)
    service = Service(scene, limit)
    by_hand = _silence()
    with ended_by_signals():
        _heed_interrupts()
        try:
            _serve(service, scene, *arguments)
            limit.over()
        except BaseException as error:  # noqa: BLE001 - no agent may see any error at all
            _ignore_signals()
            limit.stop_alarm()
            with suppress(Exception):
                service.note(error)
            if not isinstance(error, Exception):
                end_group()
            limit.over()
        _ignore_signals()
    if by_hand:
        warn_by_hand(scene.last)


def _silence() -> bool:
    """Let nothing be said on standard error, unless somebody calls this by hand.

    Returns:
        Whether somebody does.
    """
    by_hand = sys.stdin.isatty() and sys.stderr.isatty()
    if not by_hand:
        descriptor = os.open(os.devnull, os.O_RDWR)
        os.dup2(descriptor, _STDERR)
        os.close(descriptor)
    return by_hand


def _serve(service: Service, scene: Scene, name: str = "", event: str = "", *more: str) -> None:
    scene.agent, scene.event = name, event
    if name == GIT:
        own_group()
        service.serve_git(event, more)
        return
    agent = find_agent(name)
    if agent is None:
        raise FatalError(
            f"there is no agent '{name}'" if name else "nothing tells which agent calls",
            code="unknown_agent",
        )
    scene.agent = agent.name
    # At once: not even what kills us is to keep it from being read.
    with suppress(OSError):
        os.write(_STDOUT, agent.answer.encode("ascii"))
    own_group()
    service.serve_agent(agent, event)


def _heed_interrupts() -> None:
    # While it was loaded, there was nothing to roll back; see `git_boocode.__main__`.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _ignore_signals() -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
