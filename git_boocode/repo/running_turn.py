"""The mark of a running turn: a request that a model works on, so that nothing else moves files.

The mark is the private file `turn.json` of a worktree. A malformed one counts as missing, and so
does one whose process has ended or whose time is over. Reading never writes: the next begin or end
of a turn replaces or removes it.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.durable import read_private_json, remove, write_private
from git_boocode.repo.errors import NextStep, RefusedError, shortened
from git_boocode.repo.ids import ID, ago, timestamp
from git_boocode.repo.layout import TURN_MARK
from git_boocode.repo.repository import Repository

_LONGEST_MESSAGE = 1000
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
        parts = [
            *([f"'{shortened(message)}'"] if message else []),
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
            "pid": self.pid,
            "began_at": timestamp(self.began),
            "times_out_at": None if self.times_out is None else timestamp(self.times_out),
        }


def read_turn(repository: Repository) -> RunningTurn | None:
    """The turn that is running in this worktree; None if there is none."""
    turn = read_mark(repository.state_dir)
    return None if turn is None or turn.why_over else turn


def read_mark(state_dir: str) -> RunningTurn | None:
    """The turn that a worktree's private directory marks, even if it is over; None for none."""
    match read_private_json(os.path.join(state_dir, TURN_MARK)):
        case {
            "checkpoint": str(checkpoint),
            "message": str(message),
            "pid": int() | None as pid,
            "process_start": int() | None as start,
            "began": int() | float() as began,
            "times_out": int() | float() | None as times_out,
        } if (
            ID.fullmatch(checkpoint)
            and not any(isinstance(each, bool) for each in (pid, start, began, times_out))
            and (pid is None or 0 < pid < _PID_LIMIT)
            and (start is None or 0 <= start < _START_LIMIT)
            # NaN is in no range.
            and 0 <= began <= LATEST
            and (times_out is None or 0 <= times_out <= LATEST)
        ):
            return RunningTurn(checkpoint, message, pid, start, began, times_out)
    return None


def write_turn(repository: Repository, turn: RunningTurn) -> None:
    """Mark a turn as running; the private directory exists."""
    turn = turn._replace(message=turn.message[:_LONGEST_MESSAGE])
    write_private(_path(repository), json.dumps(turn._asdict()).encode("ascii"))


def remove_turn(repository: Repository) -> None:
    """Remove the mark of a turn, or whatever is in its place."""
    remove(_path(repository))


def is_marked(repository: Repository) -> bool:
    """Whether there is a mark, even of a turn that is over, or something in its place."""
    return os.path.lexists(_path(repository))


def refuse_if_running(repository: Repository, kind: str = "") -> None:
    """Raise RefusedError (`locked`) while a turn runs; `kind` is what `--force` has to name."""
    turn = read_turn(repository)
    if turn is not None:
        raise RefusedError(
            f"a turn is running: {turn.describe()}",
            code="locked",
            hints=(
                NextStep("{} ends it", "turn", "end", typed="'git boocode turn end'"),
                NextStep("{} does it anyway", "force", kind),
            ),
        )


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
