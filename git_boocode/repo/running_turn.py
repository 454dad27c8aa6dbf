"""The marks of running turns: requests that models work on, so that nothing else moves files.

They are rows of the private file `turn.json` of a worktree: one turn without a session, or one for
each session. A malformed one counts as missing, and so does one whose process has ended or whose
time is over. Reading never writes: the next begin or end of a turn removes these.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.durable import read_private_json, remove, write_private
from git_boocode.repo.errors import NextStep, RefusedError, shortened
from git_boocode.repo.ids import ID, ago, timestamp
from git_boocode.repo.layout import TURN_MARK
from git_boocode.repo.reported_turn import ReportedTurn, read_turns
from git_boocode.repo.repository import Repository

_LONGEST_MESSAGE = 1000
_MOST_HINTS = 3
_PID_LIMIT, _START_LIMIT = 1 << 31, 1 << 64
LATEST = 253_402_300_799
"""The last second of the year 9999; later times cannot be shown."""


class RunningTurn(NamedTuple):
    """A turn and who holds it; times are in seconds since 1970."""

    checkpoint: str  # the id of the checkpoint at which it began
    message: str  # what was asked for; may be empty
    pid: int | None  # the process that ends it by ending; None for none
    process_start: int | None  # when that process began, in the system's own unit, if known
    began: float
    times_out: float | None  # None for no limit
    agent: str = ""
    session: str = ""

    def is_beside(self, other: RunningTurn) -> bool:
        """Whether both can run at once: they are of two sessions."""
        both = (self.session, other.session)
        return all(both) and (self.agent, self.session) != (other.agent, other.session)

    @property
    def why_over(self) -> str:
        """Why it has ended by itself; empty while it is running."""
        if self.times_out is not None and time.time() >= self.times_out:
            return f"it timed out at {_clock(self.times_out)}"
        if self.pid is not None and not is_alive(self.pid, self.process_start):
            return f"its process {self.pid} has ended"
        return ""

    def describe(self) -> str:
        """What it is, who holds it and since when."""
        message = " ".join(self.message.split())
        session = shortened(" ".join(self.session.split()))
        parts = [
            *([f"'{shortened(message)}'"] if message else []),
            *([f"session {session}"] if session else []),
            *([f"process {self.pid}"] if self.pid is not None else []),
            f"since {_clock(self.began)} ({ago(self.began)})",
        ]
        return ", ".join(parts)

    def describe_limit(self) -> str:
        """When it ends by itself; empty for never."""
        return "" if self.times_out is None else f"it times out at {_clock(self.times_out)}"

    def as_json(self) -> dict[str, object]:
        """The turn in a JSON answer."""
        return {
            "checkpoint": self.checkpoint,
            "message": self.message,
            "agent": self.agent or None,
            "session": self.session or None,
            "pid": self.pid,
            "began_at": timestamp(self.began),
            "times_out_at": None if self.times_out is None else timestamp(self.times_out),
        }


def running_turns(repository: Repository) -> list[RunningTurn]:
    """The turns that are running in this worktree, oldest first."""
    return [turn for turn in read_marks(repository.state_dir) if not turn.why_over]


def read_turn(repository: Repository) -> RunningTurn | None:
    """The turn that began last of those that are running in this worktree; None for none."""
    return max(running_turns(repository), key=lambda turn: turn.began, default=None)


def read_marks(state_dir: str) -> list[RunningTurn]:
    """The turns that a worktree's private directory marks, even if they are over."""
    found = read_private_json(os.path.join(state_dir, TURN_MARK))
    return [turn for row in (found if isinstance(found, list) else []) for turn in _turn_in(row)]


def _turn_in(row: object) -> Iterator[RunningTurn]:
    match row:
        case {
            "checkpoint": str(checkpoint),
            "message": str(message),
            "pid": int() | None as pid,
            "process_start": int() | None as start,
            "began": int() | float() as began,
            "times_out": int() | float() | None as times_out,
            "agent": str(agent),
            "session": str(session),
        } if (
            ID.fullmatch(checkpoint)
            and not any(isinstance(each, bool) for each in (pid, start, began, times_out))
            and (pid is None or 0 < pid < _PID_LIMIT)
            and (start is None or 0 <= start < _START_LIMIT)
            # NaN is in no range.
            and 0 <= began <= LATEST
            and (times_out is None or 0 <= times_out <= LATEST)
        ):
            yield RunningTurn(checkpoint, message, pid, start, began, times_out, agent, session)


def write_turns(repository: Repository, turns: Sequence[RunningTurn]) -> None:
    """Mark turns as running, instead of those that are marked; the private directory exists."""
    if not turns:
        remove(_path(repository))
        return
    rows = [turn._replace(message=turn.message[:_LONGEST_MESSAGE])._asdict() for turn in turns]
    write_private(_path(repository), json.dumps(rows).encode("ascii"))


def is_marked(repository: Repository) -> bool:
    """Whether there is a mark, even of a turn that is over, or something in its place."""
    return os.path.lexists(_path(repository))


def refuse_if_running(repository: Repository, kind: str = "") -> None:
    """Raise RefusedError (`locked`) while a turn runs; `kind` is what `--force` has to name."""
    if turns := running_turns(repository):
        raise is_running(turns, kind)


def is_running(turns: Sequence[RunningTurn], kind: str = "") -> RefusedError:
    """The refusal (`locked`) because of the last of some turns that run."""
    force = NextStep("{} does it anyway", "force", kind)
    message = f"a turn is running: {turns[-1].describe()}"
    return RefusedError(message, code="locked", hints=(*end_hints(turns), force))


def end_hints(turns: Sequence[RunningTurn]) -> Iterator[NextStep]:
    """How to end each of the turns that run, in hints."""
    for turn in turns[-_MOST_HINTS:]:
        named = turn.checkpoint if turn.session else ""
        rest = f" that of session {shortened(turn.session)}" if len(turns) > 1 else " it"
        rest += "" if turn.pid else ", if its program was killed"
        given = {"action": "end", "checkpoint": named} if named else None
        typed = f"'{f'git boocode turn end {named}'.rstrip()}'"
        yield NextStep("{} ends", "turn", "end", typed=typed, rest=rest, given=given)


def status_json(turns: Sequence[RunningTurn]) -> dict[str, object]:
    """The JSON answer of `turn status` for turns that run, of which there is at least one."""
    listed = [turn.as_json() for turn in turns]
    return {"ok": True, "turn": listed[-1], "turns": listed}


def marked_turns(state_dir: str, *, timed_out: bool = False) -> list[ReportedTurn]:
    """The turns of sessions that are running in a worktree, as hooks would report them.

    `timed_out` adds those that have timed out, as ended.
    """
    now, found = time.time(), list[ReportedTurn]()
    for turn in read_marks(state_dir):
        named = (turn.agent, turn.session, "", "", None, turn.began, turn.checkpoint)
        if turn.session and not turn.why_over:
            found.append(ReportedTurn(*named, seen=now))
        elif timed_out and turn.session and turn.times_out is not None and turn.times_out <= now:
            found.append(ReportedTurn(*named, ended=True, seen=turn.times_out))
    return found


def known_turns(state_dir: str) -> list[ReportedTurn]:
    """The turns that hooks of a worktree have reported, and those of sessions that are running."""
    return [*read_turns(state_dir), *marked_turns(state_dir)]


def agent_of_session(state_dir: str, session: str) -> str:
    """The agent of the open turn of a session; empty if none or several have one."""
    found = {t.agent for t in known_turns(state_dir) if t.session == session and t.is_open}
    return found.pop() if len(found) == 1 else ""


def is_alive(pid: int, start: int | None) -> bool:
    """Whether a process is running that began at `start`, see `process_start`, if that is known."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        # It belongs to another user.
        pass
    state, now = _process_state(pid)
    return state not in ("Z", "X") and (start is None or now is None or start == now)


def process_start(pid: int) -> int | None:
    """When a process began, in clock ticks since the system's start; None if that is unknown."""
    return _process_state(pid)[1]


def _process_state(pid: int) -> tuple[str, int | None]:
    """The state and the start of a process, as Linux reports them in `/proc`."""
    with suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program comes before, in parentheses, and may contain anything.
            fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode("ascii"), int(fields[19])
    return "", None


def _path(repository: Repository) -> str:
    return os.path.join(repository.state_dir, TURN_MARK)


def _clock(when: float) -> str:
    """A time of today as `14:02`, or with its date."""
    then, now = time.localtime(when), time.localtime()
    return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)
