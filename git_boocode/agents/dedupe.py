"""De-duplicate hooks: each turn gets one checkpoint, even if several hooks report it.

An editor may run the hooks of another agent besides its own, and a hook may be installed twice. So
the hooks of a worktree exclude each other, and record the turns and tool calls that they have seen.
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
from git_boocode.repo.lock import file_lock

_MOST = 50
_MOMENT = 10.0
"""Seconds within which equal prompts to two agents are one turn."""
_INSTANT = 2.0
"""Seconds within which an equal prompt of one agent is a duplicate report."""
_COMPARED = 1 << 16


class ReportedTurn(NamedTuple):
    """A turn that a hook reports.

    `turn` is its id, or empty; `prompt` a checksum of the prompt, or empty; `offset` the size of
    the transcript, None if unknown; `time` is in seconds since 1970; `checkpoint` is the id of its
    checkpoint.
    """

    agent: str
    session: str
    turn: str
    prompt: str
    offset: int | None
    time: float
    checkpoint: str = ""


def turn_of(agent: str, session: str, turn: str, prompt: str, offset: int | None) -> ReportedTurn:
    """A turn that is reported now, from its complete `prompt`."""
    checksum = ""
    if prompt:
        compared = prompt[:_COMPARED].encode("utf-8", "surrogatepass")
        checksum = f"{len(prompt)}-{crc32(compared):08x}"
    return ReportedTurn(agent, session, turn, checksum, offset, time.time())


class Turns:
    """The latest turns of a worktree, recorded in the file `path`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._turns = list(_read(path))[-_MOST:]

    def knows(self, turn: ReportedTurn) -> bool:
        """Whether the turn was reported before, by its id."""
        return bool(turn.turn) and any(turn[:3] == other[:3] for other in self._turns)

    def knows_session(self, turn: ReportedTurn) -> bool:
        """Whether any turn of its session was reported before."""
        return any(turn[:2] == other[:2] for other in self._turns)

    def has_reported(self, turn: ReportedTurn) -> bool:
        """Whether it was probably reported before, by another agent or twice."""
        return any(_is_same(turn, other) for other in self._turns)

    def checkpoint_of(self, agent: str, session: str, turn: str) -> str:
        """The checkpoint of a turn, or without its id of the session's latest; empty if unknown."""
        found = (
            other.checkpoint
            for other in reversed(self._turns)
            if other[:2] == (agent, session) and turn in ("", other.turn)
        )
        return next(found, "")

    def last_calls(self) -> dict[str, float]:
        """When each agent reported a turn or tool last, in seconds since 1970."""
        return {other.agent: other.time for other in self._turns}

    def note(self, turn: ReportedTurn) -> None:
        """Record a turn."""
        turns = [*self._turns, turn][-_MOST:]
        # Keep the checksum of a prompt only while it can still be compared.
        self._turns = [
            other if _is_near(turn, other) else other._replace(prompt="") for other in turns
        ]
        write_private(self._path, json.dumps(self._turns).encode("ascii"), to_disk=False)


@contextmanager
def one_at_a_time(state_dir: str, *, patience: float) -> Iterator[Turns]:
    """Lock out the other hooks of a worktree, within `patience` seconds; yields its turns."""
    with file_lock(os.path.join(state_dir, "hooks.lock"), patience=patience):
        yield Turns(os.path.join(state_dir, "turns.json"))


def tools_of(state_dir: str) -> Turns:
    """The latest tool calls, recorded as turns; who adds one holds `one_at_a_time`."""
    return Turns(os.path.join(state_dir, "tools.json"))


def last_reports(state_dir: str) -> dict[str, float]:
    """When each agent last reported a turn or a tool in a worktree, in seconds since 1970."""
    turns = Turns(os.path.join(state_dir, "turns.json")).last_calls()
    tools = tools_of(state_dir).last_calls()
    latest = {name: max(turns.get(name, 0.0), tools.get(name, 0.0)) for name in turns | tools}
    # The file may be damaged, and the clock may have been set back.
    return {name: max(0.0, min(time.time(), when)) for name, when in latest.items()}


def _read(path: str) -> Iterator[ReportedTurn]:
    rows = None
    with suppress(OSError):
        rows = read_private_json(path)
    for row in rows if isinstance(rows, list) else []:
        with suppress(TypeError, ValueError, OverflowError):
            agent, session, turn, prompt, offset, when, *checkpoint = row
            number = None if offset is None else int(offset)
            yield ReportedTurn(
                str(agent),
                str(session),
                str(turn),
                str(prompt),
                number,
                float(when),
                str(checkpoint[0]) if checkpoint else "",
            )


def _is_near(turn: ReportedTurn, other: ReportedTurn) -> bool:
    return abs(turn.time - other.time) <= _MOMENT


def _is_same(turn: ReportedTurn, other: ReportedTurn) -> bool:
    if not turn.prompt or turn.prompt != other.prompt or not _is_near(turn, other):
        return False
    if turn.agent != other.agent:
        return True
    if turn.session != other.session or (turn.turn and other.turn and turn.turn != other.turn):
        return False
    if turn.offset is None or other.offset is None:
        return abs(turn.time - other.time) <= _INSTANT
    return turn.offset == other.offset
