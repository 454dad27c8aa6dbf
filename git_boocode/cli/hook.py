"""`git boocode hook`, started without click: every turn of an agent pays for it.

An agent takes what a hook prints for a message, and its failure for a veto. So nothing is printed
but what the agent wants to read, and the exit code is 0, whatever happens.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from git_boocode.agents.hook_call import HookContext, serve_agent, serve_git
from git_boocode.agents.registry import find_agent
from git_boocode.cli.options import change_directory
from git_boocode.repo.errors import FatalError
from git_boocode.repo.process import end_group, lead_group, on_signals, stop


def run_hook(arguments: Sequence[str], directories: Sequence[str] = ()) -> int:
    """Serve a hook and return 0; the arguments are an agent and its event, or `git` and a hook.

    `directories` are those of `-C`.
    """
    # Problems are logged inside; this is for what comes between two of its lines.
    with suppress(BaseException):
        _run(arguments, directories)
    return 0


def _run(arguments: Sequence[str], directories: Sequence[str]) -> None:
    context = HookContext()
    limit = context.start_limit()
    by_hand = sys.stdin.isatty() and sys.stderr.isatty()
    if not by_hand:
        descriptor = os.open(os.devnull, os.O_RDWR)
        os.dup2(descriptor, 2)
        os.close(descriptor)
    # While this was loaded, there was nothing to roll back; see `git_boocode.__main__`.
    on_signals(stop)
    try:
        _serve(context, directories, *arguments)
        limit.over()
    except BaseException as error:  # noqa: BLE001 - no agent may see any error at all
        on_signals(signal.SIG_IGN)
        limit.stop_alarm()
        with suppress(Exception):
            context.note(error)
        if not isinstance(error, Exception):
            end_group()
        limit.over()
    on_signals(signal.SIG_IGN)
    if by_hand and context.problem:
        sys.stderr.write(f"warning: {context.problem}\n")


def _serve(
    context: HookContext,
    directories: Sequence[str],
    name: str = "",
    event: str = "",
    *arguments: str,
) -> None:
    context.agent, context.event = name, event
    if name == "git":
        lead_group()
        change_directory(directories)
        serve_git(context, event, arguments)
        return
    agent = find_agent(name)
    if agent is None:
        message = f"unknown agent '{name}'" if name else "no agent given"
        raise FatalError(message, code="unknown_agent")
    context.agent = agent.name
    # At once: the agent has to read it even if this process is killed.
    with suppress(OSError):
        os.write(1, agent.answer.encode("ascii"))
    lead_group()
    # The payload may name where the agent works, anyway.
    with context.noting():
        change_directory(directories)
    serve_agent(context, agent, event)
