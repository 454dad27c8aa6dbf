"""One turn is one checkpoint, whichever hook reports it.

An editor may run the hooks that were installed for another agent beside its own, and a hook may be
installed twice. So the hooks of a worktree wait for each other, and note which turns they have
seen. The same goes for calls of tools.
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
"""Seconds within which the same prompt to two agents is one turn."""
_INSTANT = 2.0
"""Seconds within which nobody types the same prompt again."""
_COMPARED = 1 << 16


class ReportedTurn(NamedTuple):
    """A turn as a hook reports it.

    `turn` is its id, or empty; `prompt` a checksum of the prompt, or empty; `offset` how far the
    transcript went, None if that is not known; `time` is in seconds since 1970.
    """

    agent: str
    session: str
    turn: str
    prompt: str
    offset: int | None
    time: float


def turn_of(agent: str, session: str, turn: str, prompt: str, offset: int | None) -> ReportedTurn:
    """A turn that is reported now; `prompt` is the prompt itself."""
    checksum = ""
    if prompt:
        compared = prompt[:_COMPARED].encode("utf-8", "surrogatepass")
        checksum = f"{len(prompt)}-{crc32(compared):08x}"
    return ReportedTurn(agent, session, turn, checksum, offset, time.time())


class Turns:
    """The latest turns of a worktree, noted in the file `path`."""

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
        """Whether it seems to have been reported before, by another agent or twice."""
        return any(_is_same(turn, other) for other in self._turns)

    def note(self, turn: ReportedTurn) -> None:
        """Note a turn."""
        turns = [*self._turns, turn][-_MOST:]
        # The checksum of a prompt is kept for as long as it is compared.
        self._turns = [
            other if _is_near(turn, other) else other._replace(prompt="") for other in turns
        ]
        write_private(self._path, json.dumps(self._turns).encode("ascii"), to_disk=False)


@contextmanager
def one_at_a_time(state_dir: str, *, patience: float) -> Iterator[Turns]:
    """Wait for the other hooks of a worktree, `patience` seconds at most; yields its turns."""
    with file_lock(os.path.join(state_dir, "hooks.lock"), patience=patience):
        yield Turns(os.path.join(state_dir, "turns.json"))


def tools_of(state_dir: str) -> Turns:
    """The latest calls of tools, noted as turns; `one_at_a_time` has to keep others away."""
    return Turns(os.path.join(state_dir, "tools.json"))


def _read(path: str) -> Iterator[ReportedTurn]:
    rows = None
    with suppress(OSError):
        rows = read_private_json(path)
    for row in rows if isinstance(rows, list) else []:
        with suppress(TypeError, ValueError, OverflowError):
            agent, session, turn, prompt, offset, when = row
            number = None if offset is None else int(offset)
            yield ReportedTurn(
                str(agent), str(session), str(turn), str(prompt), number, float(when)
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
