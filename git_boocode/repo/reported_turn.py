"""The turns that hooks have reported, as a private file of the worktree lists them.

Every hook of a tool reads this module before anything else, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.layout import HOOK_TURNS

AUTO, ALWAYS, NEVER = "auto", "always", "never"
"""The values of `boocode.perTool`."""
CLAUDE_CODE = "claude-code"
_CLAUDE_SESSION = "CLAUDE_CODE_SESSION_ID"
_LARGEST = 1 << 20  # bytes
_MOST_STATES = 32
# Seconds within which two hooks report one call.
_MOMENT = 10.0
# Seconds after which a turn whose end was never reported counts as ended: the agent was killed.
_LONGEST_SILENCE = 86_400.0


class ReportedTurn(NamedTuple):
    """A turn that a hook reports.

    `turn` is its id, or empty; `prompt` a checksum of the prompt, or empty; `offset` the size of
    the transcript, None if unknown; `time` is in seconds since 1970; `checkpoint` is the id of its
    checkpoint. `seen` is when it or one of its tool calls was recorded last, and `in_call` whether
    a recorded call has not ended; `per_tool` is the setting when the turn began, empty if unknown;
    `reports_tools` whether a tool was reported at all. `states` are those of tool calls that were
    recorded last, see `with_state`. `submitted` is whether the agent reported that a person sent
    the prompt, and `number` that of its latest event that comes again during the turn.

    A turn that goes on under another id is listed again, with the same checkpoint.
    """

    agent: str
    session: str
    turn: str
    prompt: str
    offset: int | None
    time: float
    checkpoint: str = ""
    ended: bool = False
    seen: float = 0.0
    in_call: bool = False
    per_tool: str = ""
    reports_tools: bool = False
    states: tuple[str, ...] = ()
    submitted: bool = False
    number: int | None = None

    def is_of_session(self, other: ReportedTurn) -> bool:
        """Whether both are of one agent's session."""
        return (self.agent, self.session) == (other.agent, other.session)

    def has_state(self, call: str, *, ended: bool) -> bool:
        """Whether the state before or after a tool call was just recorded.

        An equal call is another one if it comes later, or after the end of the first.
        """
        if time.time() - self.seen > _MOMENT:
            return False
        found = (state for state in reversed(self.states) if state[1:] == call)
        return bool(call) and next(found, "") == _state(call, ended=ended)

    def with_state(self, call: str, *, ended: bool) -> ReportedTurn:
        """The turn, seen now, with the state before or after a tool call recorded."""
        states = (*self.states, _state(call, ended=ended))[-_MOST_STATES:]
        return self._replace(seen=time.time(), in_call=not ended, states=states)

    @property
    def is_open(self) -> bool:
        """Whether its end was not reported, and may still be."""
        silence = time.time() - max(self.time, self.seen)
        return not self.ended and silence < _LONGEST_SILENCE


def _state(call: str, *, ended: bool) -> str:
    return ("+" if ended else "-") + call


def turns_in(rows: object) -> Iterator[ReportedTurn]:
    """The turns that a file lists, oldest first; malformed rows are left out."""
    for row in rows if isinstance(rows, list) else []:
        with suppress(TypeError, ValueError, OverflowError, KeyError, AttributeError):
            offset = row["offset"]
            yield ReportedTurn(
                agent=str(row["agent"]),
                session=str(row["session"]),
                turn=str(row["turn"]),
                prompt=str(row["prompt"]),
                offset=None if offset is None else int(offset),
                time=float(row["time"]),
                checkpoint=str(row["checkpoint"]),
                # Earlier versions did not record it.
                ended=row.get("ended") is not False,
                seen=float(row.get("seen", 0.0)),
                in_call=row.get("in_call") is True,
                per_tool=str(row.get("per_tool", "")),
                reports_tools=row.get("reports_tools") is True,
                states=tuple(map(str, row.get("states", ()))),
                submitted=row.get("submitted") is True,
                number=None if row.get("number") is None else int(row["number"]),
            )


def calling_session() -> tuple[str, str]:
    """The session and the agent that run this process, if they say so; else empty texts."""
    session = os.environ.get(_CLAUDE_SESSION, "")
    return (session, CLAUDE_CODE) if session else ("", "")


def read_turns(state_dir: str) -> list[ReportedTurn]:
    """The turns that the hooks of a worktree have reported, oldest first."""
    path = os.path.join(state_dir, HOOK_TURNS)
    with suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        return list(turns_in(json.loads(file.read(_LARGEST))))
    return []


def latest_of(turns: Iterable[ReportedTurn], agent: str, session: str) -> ReportedTurn | None:
    """The latest turn of a session."""
    found = None
    for turn in turns:
        if (turn.agent, turn.session) == (agent, session):
            found = turn
    return found


def without_end(turns: Iterable[ReportedTurn]) -> list[ReportedTurn]:
    """The latest turns of sessions whose end was not reported, however long ago they began."""
    latest = {(turn.agent, turn.session): turn for turn in turns}
    return [turn for turn in latest.values() if turn.checkpoint and not turn.ended]


def is_in_turn(turns: Iterable[ReportedTurn], session: str) -> bool:
    """Whether a turn of a session is open; only the latest that an agent reports can be."""
    latest = {turn.agent: turn for turn in turns if turn.session == session}
    return bool(session) and any(turn.is_open for turn in latest.values())


def open_sessions(turns: Iterable[ReportedTurn], agent: str) -> list[str]:
    """The sessions of an agent whose latest turn is open."""
    latest = {turn.session: turn for turn in turns if turn.agent == agent}
    return [session for session, turn in latest.items() if turn.is_open]


def reporting_agents(turns: Iterable[ReportedTurn]) -> list[str]:
    """The agents whose hooks of tools are known to be called."""
    return sorted({turn.agent for turn in turns if turn.reports_tools})


def open_beside(turns: Iterable[ReportedTurn], agent: str, session: str) -> list[str]:
    """The checkpoints of the open turns of other sessions; only the latest of each can be open.

    A turn that two agents report has one checkpoint.
    """
    latest = {(turn.agent, turn.session): turn for turn in turns}
    own = latest.pop((agent, session), None)
    found = (turn.checkpoint for turn in latest.values() if turn.is_open)
    return [each for each in dict.fromkeys(found) if each and each != (own and own.checkpoint)]


def has_company(turns: Iterable[ReportedTurn], agent: str, session: str) -> bool:
    """Whether a turn of another session is open, or began since a session's calls were recorded.

    The latter may have begun and ended while a call ran of which nothing is recorded.
    """
    turns = [*turns]
    own = latest_of(turns, agent, session)
    since = max(own.time, own.seen) if own else 0.0
    others = (turn for turn in turns if (turn.agent, turn.session) != (agent, session))
    began = own and any(
        max(turn.time, turn.seen) > since and turn.checkpoint not in ("", own.checkpoint)
        for turn in others
    )
    return bool(began or open_beside(turns, agent, session))


def open_since(turns: Iterable[ReportedTurn], begun: str, agent: str, session: str) -> list[str]:
    """The checkpoints of other sessions' turns that were open at some time since another one."""
    turns = [turn for turn in turns if (turn.agent, turn.session) != (agent, session)]
    began = [turn.checkpoint for turn in turns if turn.checkpoint > begun]
    still = [each for each in open_beside(turns, agent, session) if each != begun]
    return list(dict.fromkeys((*still, *began)))
