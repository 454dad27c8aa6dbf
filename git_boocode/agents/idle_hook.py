"""End the hook of a tool at once if it has nothing to do: no other turn is open in the worktree.

Agents run it before and after each tool, and at the end of each session, so it decides by one small
file, before git or anything else is started or loaded; see `git_boocode.agents.hook_call` for the
rest.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from git_boocode.agents.agent import Agent
from git_boocode.agents.payload import (
    ABORT,
    TOOL,
    TOOL_END,
    Payload,
    answer,
    caller_of,
    directories_of,
    ids_of,
    kind_of,
    parse_payload,
    read_input,
    reads_only,
    sender_of,
)
from git_boocode.agents.registry import AGENTS, ANY_AGENT, find_agent
from git_boocode.repo.layout import PRIVATE
from git_boocode.repo.reported_turn import (
    AUTO,
    NEVER,
    has_company,
    latest_of,
    read_turns,
    reporting_agents,
)

_PATIENCE = 5.0  # seconds for the payload
_LARGEST = 1 << 20
_GITDIR = "gitdir: "


def unserved_input(arguments: Sequence[str]) -> bytes | None:
    """What the agent sent, if its event has to be served.

    Does not return if there is nothing to do. None if the event is not one of a tool, or of a turn
    that was aborted.
    """
    if len(arguments) != 2 or _is_special():
        return None
    name, event = arguments
    agent = find_agent(name)
    possible = [agent] if agent else AGENTS.values() if name == ANY_AGENT else []
    if not any(kind_of(each, event) in (TOOL, TOOL_END, ABORT) for each in possible):
        return None
    if agent is not None:
        answer(agent)
    # An agent that leaves the pipe open has no use for a failure.
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
    data = b""
    # Whatever is wrong with the payload is logged by who serves it.
    with suppress(Exception):
        data = read_input()
        payload = parse_payload(data)
        if agent is None:
            agent = caller_of(payload, event, os.environ)
            answer(agent)
        sender = sender_of(agent, payload)
        directories = directories_of(sender, payload)
        is_idle = _has_ended if kind_of(sender, event) == ABORT else _is_idle
        if all(is_idle(sender, payload, each) for each in directories):
            os._exit(0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return data


def _is_special() -> bool:
    """Whether a person called it, or git would not find the repository from the directory."""
    return "GIT_WORK_TREE" in os.environ or "GIT_CEILING_DIRECTORIES" in os.environ or os.isatty(0)


def _has_ended(agent: Agent, payload: Payload, directory: str) -> bool:
    git_dir = _git_dir(os.path.realpath(directory))
    turns = read_turns(os.path.join(git_dir, PRIVATE)) if git_dir else []
    latest = latest_of(turns, agent.name, ids_of(agent, payload)[0])
    return os.path.isdir(directory) and (latest is None or latest.ended)


def _is_idle(agent: Agent, payload: Payload, directory: str) -> bool:
    git_dir = _git_dir(os.path.realpath(directory))
    if git_dir is None:
        # Nothing is recorded outside of worktrees.
        return os.path.isdir(directory)
    turns = read_turns(os.path.join(git_dir, PRIVATE))
    session, turn = ids_of(agent, payload)
    latest = latest_of(turns, agent.name, session)
    if latest is None or latest.ended or latest.in_call:
        return False
    if turn not in ("", latest.turn) or latest.per_tool not in (AUTO, NEVER):
        return False
    if latest.per_tool == NEVER:
        return True
    if latest.agent not in reporting_agents(turns):
        # The first one is noted.
        return False
    is_reading = reads_only(payload.text(agent.fields.tool))
    return is_reading or not has_company(turns, latest.agent, latest.session)


def _git_dir(directory: str) -> str | None:
    """The git directory of the worktree in which a directory is; None outside of worktrees."""
    while True:
        path = os.path.join(directory, ".git")
        if os.path.isdir(path):
            return path
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read(_LARGEST).rstrip("\n")
            return os.path.join(directory, text.removeprefix(_GITDIR))
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above
