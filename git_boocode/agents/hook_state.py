"""What the hooks of a worktree remember: turns and tool calls that were reported, and problems.

An editor may run the hooks of another agent besides its own, and a hook may be installed twice. So
the hooks of a worktree exclude each other, and each turn gets one checkpoint. As hooks print
nothing, their problems go to a log.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from zlib import crc32

from git_boocode.repo.durable import LineLog, read_private_json, write_private
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import timestamp
from git_boocode.repo.layout import HOOK_LOCK, HOOK_LOG, HOOK_TOOLS, HOOK_TURNS, TURN_LOCK
from git_boocode.repo.lock import file_lock
from git_boocode.repo.reported_turn import (
    ReportedTurn,
    has_company,
    latest_of,
    open_beside,
    open_sessions,
    turns_in,
    without_end,
)
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import marked_turns

PROBLEM_DAYS = 7
"""How far back problems in hooks are reported."""
_MOST = 50
_MOMENT = 10.0
"""Seconds within which equal prompts to two agents are one turn."""
_INSTANT = 2.0
"""Seconds within which an equal prompt of one agent is a duplicate report."""
_COMPARED = 1 << 16
# Of the log in bytes, and of a text in it in characters.
_LARGEST_LOG, _LONGEST = 64 << 10, 1000


def turn_of(agent: str, session: str, turn: str, prompt: str, offset: int | None) -> ReportedTurn:
    """A turn that is reported now, from its complete `prompt`."""
    checksum = ""
    if prompt:
        compared = prompt[:_COMPARED].encode("utf-8", "surrogatepass")
        checksum = f"{len(prompt)}-{crc32(compared):08x}"
    return ReportedTurn(agent, session, turn, checksum, offset, time.time())


class Turns:
    """The latest turns of a worktree, recorded in the file `path`."""

    def __init__(self, path: str, of_hosts: Sequence[ReportedTurn] = ()) -> None:
        self._path = path
        self._turns = _kept(_read(path))
        self._of_hosts = of_hosts

    def namesake(self, turn: ReportedTurn) -> ReportedTurn | None:
        """The latest turn of its session that was reported with its id."""
        alike = (each for each in reversed(self._turns) if turn.is_of_session(each))
        return next((each for each in alike if turn.turn and turn.turn == each.turn), None)

    def knows(self, turn: ReportedTurn) -> bool:
        """Whether the turn was reported before: its id, and with that no other prompt.

        Some agents give an id again after the conversation was cut, and all prompts that are sent
        during a turn have its id. What goes on with a turn has no prompt, or was not sent by a
        person although the turn's prompt was.
        """
        known = self.namesake(turn)
        if known is None:
            return False
        if not turn.prompt or (known.submitted and not turn.submitted):
            return True
        # Only the latest turn of a session goes on.
        is_latest = known == self.latest(turn.agent, turn.session)
        return is_latest and known.prompt in ("", turn.prompt)

    def counts_anew(self, turn: ReportedTurn) -> bool:
        """Whether a turn begins with a number below that of its session's latest turn.

        The first number may be reported twice.
        """
        latest = self.latest(turn.agent, turn.session)
        if latest is None or turn.number is None or latest.number is None:
            return False
        is_again = turn.number == latest.number == 0 and turn.time - latest.time > _INSTANT
        return is_again or turn.number < latest.number

    def open_session(self, agent: str) -> str:
        """The only session of an agent with an open turn; empty if there are none or several."""
        found = open_sessions(self._turns, agent)
        return found[0] if len(found) == 1 else ""

    def knows_session(self, turn: ReportedTurn) -> bool:
        """Whether any turn of its session was reported before."""
        return any(turn.is_of_session(other) for other in self._turns)

    def has_reported(self, turn: ReportedTurn) -> bool:
        """Whether it was probably reported before, by another agent or twice."""
        return any(_is_same(turn, other) for other in self._turns)

    def checkpoint_of(self, agent: str, session: str, turn: str) -> str:
        """The checkpoint of a turn, or without its id of the session's latest; empty if unknown."""
        found = (
            other.checkpoint
            for other in reversed(self._turns)
            if (other.agent, other.session) == (agent, session) and turn in ("", other.turn)
        )
        return next(found, "")

    def last_calls(self) -> dict[str, float]:
        """When each agent reported a turn or tool last, in seconds since 1970."""
        return {other.agent: other.time for other in self._turns}

    def latest(self, agent: str, session: str) -> ReportedTurn | None:
        """The latest turn of a session."""
        return latest_of(self._turns, agent, session)

    def is_open_beside(self, agent: str, session: str) -> bool:
        """Whether a turn of another session is open."""
        return bool(open_beside(self._beside(agent, session), agent, session))

    def have_company(self, agent: str, session: str) -> bool:
        """Whether a turn of another session may have overlapped with a call, see `has_company`."""
        return has_company(self._beside(agent, session), agent, session)

    def _beside(self, agent: str, session: str) -> list[ReportedTurn]:
        """All turns, without those that hosts mark in a session: hooks recorded its calls."""
        others = (turn for turn in self._of_hosts if (turn.agent, turn.session) != (agent, session))
        return [*self._turns, *others]

    def note(self, turn: ReportedTurn) -> None:
        """Record a turn."""
        turns = _kept([*self._turns, turn._replace(seen=time.time())])
        latest = {(each.agent, each.session): each for each in turns}
        # Keep the checksum of a prompt only while it can still be compared.
        self._turns = [
            each
            if _is_near(turn, each) or latest[each.agent, each.session] is each
            else each._replace(prompt="")
            for each in turns
        ]
        self._write()

    def end(self, checkpoint: str) -> bool:
        """Record that the turn that began at a checkpoint has ended; False if it had already."""
        ended = [turn for turn in without_end(self._turns) if turn.checkpoint == checkpoint]
        for turn in ended:
            self.replace(turn, turn._replace(ended=True, in_call=False))
        return bool(ended)

    def replace(self, old: ReportedTurn, new: ReportedTurn) -> None:
        """Record what is new about a turn."""
        if old != new:
            self._turns = [new if turn == old else turn for turn in self._turns]
            self._write()

    def _write(self) -> None:
        rows = [turn._asdict() for turn in self._turns]
        write_private(self._path, json.dumps(rows).encode("ascii"), to_disk=False)


@contextmanager
def one_at_a_time(state_dir: str, *, patience: float) -> Iterator[Turns]:
    """Lock out the other hooks of a worktree, within `patience` seconds; yields its turns."""
    with file_lock(os.path.join(state_dir, HOOK_LOCK), patience=patience):
        path, of_hosts = os.path.join(state_dir, TURN_LOCK), list[ReportedTurn]()
        if os.path.exists(path):
            # A turn that is beginning is marked after its checkpoint, and one that has ended is not
            # marked any more. Waiting for either would take the time that a hook has.
            is_changing, when = False, time.time()
            try:
                with file_lock(path, patience=0) as lock:
                    when = os.fstat(lock).st_mtime
                    of_hosts = marked_turns(state_dir, timed_out=True)
            except RefusedError:
                is_changing, of_hosts = True, marked_turns(state_dir, timed_out=True)
            changed = ReportedTurn("", "", "", "", None, when, TURN_LOCK, ended=not is_changing)
            of_hosts.append(changed)
        yield Turns(os.path.join(state_dir, HOOK_TURNS), of_hosts)


def end_reported_turn(repository: Repository, checkpoint: str) -> bool:
    """End a turn that hooks have begun, as it is now; whether its end is recorded.

    It is not if the checkpoint has left the log. RefusedError (`not_found`) if the turn has ended,
    and all errors of `capture`.
    """
    # Imported late: every hook reads this module.
    from git_boocode.checkpoints.capture import PATIENCE, capture_turn_end

    with one_at_a_time(repository.state_dir, patience=PATIENCE) as turns:
        if not turns.end(checkpoint):
            message = f"no hook reports that turn {checkpoint} is running"
            raise RefusedError(message, code="not_found")
        return capture_turn_end(repository, checkpoint, "turn")


def tools_of(state_dir: str) -> Turns:
    """The latest tool calls, recorded as turns; who adds one holds `one_at_a_time`."""
    return Turns(os.path.join(state_dir, HOOK_TOOLS))


def last_reports(state_dir: str) -> dict[str, float]:
    """When each agent last reported a turn or a tool in a worktree, in seconds since 1970."""
    turns = Turns(os.path.join(state_dir, HOOK_TURNS)).last_calls()
    tools = tools_of(state_dir).last_calls()
    latest = {name: max(turns.get(name, 0.0), tools.get(name, 0.0)) for name in turns | tools}
    # The file may be damaged, and the clock may have been set back.
    return {name: max(0.0, min(time.time(), when)) for name, when in latest.items()}


def _read(path: str) -> list[ReportedTurn]:
    with suppress(OSError):
        return list(turns_in(read_private_json(path)))
    return []


def _kept(turns: list[ReportedTurn]) -> list[ReportedTurn]:
    """The latest turns, and older ones that are still open: other sessions work beside them."""
    if len(turns) <= _MOST:
        return turns
    latest = {(turn.agent, turn.session): turn for turn in turns}
    older = [t for t in turns[:-_MOST] if t.is_open and latest[t.agent, t.session] is t]
    return [*older, *turns[-_MOST:]]


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


class LogEntry(NamedTuple):
    """A problem; `what` is its code, and `message` never contains a part of a prompt.

    `time` has the format of the metadata; `worktree` is empty if unknown.
    """

    time: str
    agent: str
    event: str
    worktree: str
    what: str
    message: str


def log_path(state_dir: str) -> str:
    """The path of the log, among the private files of all worktrees."""
    return os.path.join(state_dir, HOOK_LOG)


def log(state_dir: str, agent: str, event: str, worktree: str, what: str, message: str) -> None:
    """Write an entry (see `LogEntry`) if possible; drops the oldest ones."""
    entry = {
        "agent": agent,
        "event": event,
        "worktree": worktree,
        "what": what,
        "message": message,
    }
    kept = {key: text[:_LONGEST] for key, text in entry.items()}
    _log_file(state_dir).append({"time": timestamp(time.time()), **kept})


def _log_file(state_dir: str) -> LineLog:
    return LineLog(log_path(state_dir), _LARGEST_LOG)


def entries(state_dir: str, *, since: float) -> list[LogEntry]:
    """The entries since a time (seconds since 1970), oldest first, without unreadable lines."""
    found = filter(None, map(_entry, _log_file(state_dir).read()))
    return [entry for entry in found if entry.time >= timestamp(since)]


def last_calls(repository: Repository) -> dict[str, str]:
    """When each agent last called a hook in this worktree, in the format of the metadata.

    Only calls that begin a turn, record a tool, or fail leave a trace.
    """
    reported = last_reports(repository.state_dir).items()
    calls = {agent: timestamp(when) for agent, when in reported}
    for entry in entries(repository.common_state_dir, since=0):
        if entry.worktree == repository.worktree:
            calls[entry.agent] = max(entry.time, calls.get(entry.agent, ""))
    return calls


def failed_calls(repository: Repository, *, since: float) -> list[LogEntry]:
    """The newest problem of each agent that has reported no turn or tool in this worktree after it.

    Without older ones than `since`, in seconds since 1970.
    """
    reported = last_reports(repository.state_dir)
    found = entries(repository.common_state_dir, since=since)
    latest = {entry.agent: entry for entry in found if entry.worktree == repository.worktree}
    return [
        entry for name, entry in latest.items() if entry.time > timestamp(reported.get(name, 0.0))
    ]


def newest(found: list[LogEntry], count: int) -> list[tuple[LogEntry, int]]:
    """The newest `count` distinct entries, newest first, with their number of occurrences."""
    alike: dict[LogEntry, list[LogEntry]] = {}
    for entry in reversed(found):
        alike.setdefault(entry._replace(time=""), []).append(entry)
    return [(entries[0], len(entries)) for entries in alike.values()][:count]


def _entry(values: dict[str, Any]) -> LogEntry | None:
    if not isinstance(values.get("time"), str):
        return None
    texts = (values.get(key) for key in LogEntry._fields)
    return LogEntry(*(text if isinstance(text, str) else "" for text in texts))
