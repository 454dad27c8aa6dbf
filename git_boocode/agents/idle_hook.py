"""End the hook of a tool if it has nothing to do: no other turn is open in the worktree.

Agents run it before and after each tool, and at the end of each session, so it decides by one small
file, before git or anything else is started or loaded; see `git_boocode.agents.hook_call` for the
rest. `idle_note` finds a call like an earlier one even before this is loaded.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from git_boocode.agents.agent import Agent
from git_boocode.agents.idle_note import (
    PATIENCE,
    calls_noted,
    git_dir_of,
    is_special,
    is_turn_beginning,
    turns_mark,
)
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
from git_boocode.repo.layout import HOOK_IDLE, PRIVATE, TURN_LOCK, TURN_MARK
from git_boocode.repo.reported_turn import (
    AUTO,
    NEVER,
    ReportedTurn,
    has_company,
    latest_of,
    read_turns,
    reporting_agents,
)

# The fields of a payload that differ from call to call.
_OF_ONE_CALL = frozenset(("prompt", "event", "tool", "call", "files", "tool_input"))


def unserved_input(arguments: Sequence[str], begun: bytes) -> bytes | None:
    """What the agent sent, if its event has to be served; `begun` is what was read of it.

    Does not return if there is nothing to do. None if the event is not one of a tool, or of a turn
    that was aborted.
    """
    if len(arguments) != 2 or is_special():
        return begun or None
    name, event = arguments
    agent = find_agent(name)
    possible = [agent] if agent else AGENTS.values() if name == ANY_AGENT else []
    if not any(kind_of(each, event) in (TOOL, TOOL_END, ABORT) for each in possible):
        return begun or None
    if agent is not None:
        answer(agent)
    # An agent that leaves the pipe open has no use for a failure.
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    data = begun
    # Whatever is wrong with the payload is logged by who serves it.
    with suppress(Exception):
        data = read_input(begun)
        payload = parse_payload(data)
        if agent is None:
            agent = caller_of(payload, event, os.environ)
            answer(agent)
        sender = sender_of(agent, payload)
        directories = directories_of(sender, payload)
        if kind_of(sender, event) == ABORT:
            is_idle = all(_has_ended(sender, payload, each) for each in directories)
        else:
            reads = reads_only(payload.text(sender.fields.tool))
            is_idle = all(_is_idle(sender, payload, each, reads=reads) for each in directories)
            if is_idle and not agent.answer:
                with suppress(Exception):
                    _note(f"{name} {event}", sender, payload)
        if is_idle:
            os._exit(0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return data


def _has_ended(agent: Agent, payload: Payload, directory: str) -> bool:
    git_dir = git_dir_of(os.path.realpath(directory))
    turns = read_turns(os.path.join(git_dir, PRIVATE)) if git_dir else []
    latest = latest_of(turns, agent.name, ids_of(agent, payload)[0])
    return os.path.isdir(directory) and (latest is None or latest.ended)


def _is_idle(agent: Agent, payload: Payload, directory: str, *, reads: bool = False) -> bool:
    """Whether a call has nothing to do in a directory; `reads` is whether it changes no files."""
    git_dir = git_dir_of(os.path.realpath(directory))
    if git_dir is None:
        # Nothing is recorded outside of worktrees.
        return os.path.isdir(directory)
    if is_turn_beginning(git_dir):
        return False
    state_dir = os.path.join(git_dir, PRIVATE)
    turns = read_turns(state_dir)
    session, turn = ids_of(agent, payload)
    latest = latest_of(turns, agent.name, session)
    if latest is None or not latest.is_open or latest.in_call:
        return False
    if turn not in ("", latest.turn) or latest.per_tool not in (AUTO, NEVER):
        return False
    if latest.per_tool == NEVER:
        return True
    if latest.agent not in reporting_agents(turns):
        # The first one is noted.
        return False
    return reads or not _has_company(state_dir, turns, latest)


def _has_company(state_dir: str, turns: list[ReportedTurn], own: ReportedTurn) -> bool:
    """Whether `has_company` holds for a turn, or that of a host may have been beside a call."""
    lock, mark = (os.path.join(state_dir, name) for name in (TURN_LOCK, TURN_MARK))
    if os.path.exists(lock) and os.stat(lock).st_mtime > max(own.time, own.seen):
        # One has begun or ended since.
        return True
    if os.path.exists(mark):
        # Imported late: it loads much, and a host's turn seldom runs beside an agent's.
        from git_boocode.repo.running_turn import marked_turns

        marks = marked_turns(state_dir, timed_out=True)
        turns = [*turns, *(mark for mark in marks if not own.is_of_session(mark))]
    return has_company(turns, own.agent, own.session)


def _note(call: str, sender: Agent, payload: Payload) -> None:
    """Note a call that has nothing to do, whatever the tool is; see `idle_note`."""
    from git_boocode.repo.durable import write_private

    git_dir = git_dir_of(os.getcwd()) or ""
    # First: the turns may change meanwhile.
    mark = turns_mark(git_dir)
    for directory in directories_of(sender, payload):
        is_here = git_dir_of(os.path.realpath(directory)) == git_dir
        if not is_here or not _is_idle(sender, payload, directory):
            return
    fields = (each for name, each in sender.fields._asdict().items() if name not in _OF_ONE_CALL)
    calls: dict[str, object] = {}
    with suppress(Exception):
        calls.update(calls_noted(git_dir))
    calls[call] = {name: next(payload.values([name]), None) for names in fields for name in names}
    note = json.dumps({"turns": mark, "calls": calls}).encode("ascii")
    write_private(os.path.join(git_dir, PRIVATE, HOOK_IDLE), note, to_disk=False)
