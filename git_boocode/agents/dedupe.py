"""One turn is one checkpoint, whoever tells of it.

An editor may run the hooks that were installed for another agent beside its own, and a hook may be
installed twice. So the hooks of a worktree take turns, and note which turns they have seen. The
same goes for the tools that they are told of.
"""

from __future__ import annotations

import json
import os
import time
from binascii import crc32
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from git_boocode.repo.durable import read_private_json, write_private
from git_boocode.repo.scratch import taking_turns

_NOTE = "turns.json"
_TOOLS = "tools.json"
_LOCK = "hooks.lock"
_MOST = 50
_MOMENT = 10.0
"""Seconds within which two agents that are asked for the same are asked once."""
_INSTANT = 2.0
"""Seconds within which an agent is not asked twice by hand."""
_COMPARED = 1 << 16


class Turn(NamedTuple):
    """A turn of an agent.

    Attributes:
        agent: whose.
        session: its session.
        turn: its id; empty where none is told.
        prompt: a checksum of what the user asked for; empty where that is not told.
        offset: how far the transcript went; None where that is not known.
        time: when it was told of, in seconds since 1970.
    """

    agent: str
    session: str
    turn: str
    prompt: str
    offset: int | None
    time: float


def turn_of(agent: str, session: str, turn: str, prompt: str, offset: int | None) -> Turn:
    """A turn that is told of now.

    Args:
        agent: see `Turn`, as all but the prompt.
        session: its session.
        turn: its id.
        prompt: what the user asked for.
        offset: how far the transcript went.
    """
    return Turn(agent, session, turn, _checksum(prompt), offset, time.time())


def _checksum(prompt: str) -> str:
    if not prompt:
        return ""
    compared = prompt[:_COMPARED].encode("utf-8", "surrogatepass")
    return f"{len(prompt)}-{crc32(compared):08x}"


class Turns:
    """The latest turns of a worktree.

    Args:
        path: where they are noted.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._turns = list(_read(path))[-_MOST:]

    def knows(self, turn: Turn) -> bool:
        """Whether that very turn was told of before, by its id."""
        return bool(turn.turn) and any(_key(turn) == _key(other) for other in self._turns)

    def knows_session(self, turn: Turn) -> bool:
        """Whether any turn of its session was told of before."""
        return any(_key(turn)[:2] == _key(other)[:2] for other in self._turns)

    def has_told(self, turn: Turn) -> bool:
        """Whether it seems to have been told of before, under another name or twice."""
        return any(_is_same(turn, other) for other in self._turns)

    def note(self, turn: Turn) -> None:
        """Note a turn."""
        turns = [*self._turns, turn][-_MOST:]
        # What can tell nothing any more of what a user has asked for is not kept.
        rows = [other if _is_near(turn, other) else other._replace(prompt="") for other in turns]
        data = json.dumps([list(row) for row in rows]).encode("ascii")
        write_private(self._path, data, to_disk=False)
        self._turns = rows


@contextmanager
def one_at_a_time(state_dir: str, *, patience: float) -> Iterator[Turns]:
    """Wait for the other hooks of a worktree, and tell which turns there were.

    Args:
        state_dir: the worktree's private directory.
        patience: how many seconds to wait.

    Raises:
        RefusedError: another one took longer (`locked`).
    """
    with taking_turns(os.path.join(state_dir, _LOCK), patience=patience):
        yield Turns(os.path.join(state_dir, _NOTE))


def tools_of(state_dir: str) -> Turns:
    """The latest tools of a worktree, each noted as a turn that asks for just this tool.

    Args:
        state_dir: the worktree's private directory; `one_at_a_time` keeps others away from it.
    """
    return Turns(os.path.join(state_dir, _TOOLS))


def _read(path: str) -> Iterator[Turn]:
    rows = None
    with suppress(OSError):
        rows = read_private_json(path)
    for row in rows if isinstance(rows, list) else []:
        with suppress(TypeError, ValueError, OverflowError):
            agent, session, turn, prompt, offset, when = row
            number = None if offset is None else int(offset)
            yield Turn(str(agent), str(session), str(turn), str(prompt), number, float(when))


def _key(turn: Turn) -> tuple[str, str, str]:
    return turn.agent, turn.session, turn.turn


def _is_near(turn: Turn, other: Turn) -> bool:
    return abs(turn.time - other.time) <= _MOMENT


def _is_same(turn: Turn, other: Turn) -> bool:
    if not turn.prompt or turn.prompt != other.prompt or not _is_near(turn, other):
        return False
    if turn.agent != other.agent:
        return True
    if turn.session != other.session or (turn.turn and other.turn and turn.turn != other.turn):
        return False
    if turn.offset is None or other.offset is None:
        return abs(turn.time - other.time) <= _INSTANT
    return turn.offset == other.offset
