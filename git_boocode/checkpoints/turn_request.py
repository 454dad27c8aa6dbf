"""Begin and end a turn: a checkpoint, and a mark that keeps other commands from the files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from git_boocode.checkpoints.capture import PATIENCE, Captured, Request, capture, capture_turn_end
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.errors import FatalError, NextStep, RefusedError, shortened
from git_boocode.repo.ids import ago
from git_boocode.repo.layout import CHECKPOINTS, TURN_LOCK
from git_boocode.repo.lock import file_lock, worktree_lock
from git_boocode.repo.masking import LenientMasker
from git_boocode.repo.reported_turn import read_turns, without_end
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import (
    LATEST,
    RunningTurn,
    end_hints,
    is_alive,
    is_marked,
    is_running,
    process_start,
    read_marks,
    running_turns,
    write_turns,
)
from git_boocode.repo.store import ShortIds

_TRIGGER = "turn"
_MOST_HINTS = 3
_TIMEOUT = 3600.0
"""The default of `boocode.turnTimeout`, in seconds."""


class TurnRequest(NamedTuple):
    """The options of a turn that begins."""

    message: str = ""  # what was asked for; the label of the checkpoint
    pid: int | None = None  # the process with which the turn ends; None for none
    timeout: float | None = None  # seconds; None: as configured, 0: no limit
    force: bool = False  # replace a running turn
    session: str = ""  # this and the following are recorded as by `checkpoint`
    agent: str = ""
    chat: str = ""
    message_id: str = ""  # the message at which a restore cuts the conversation
    meta: Mapping[str, Any] = MappingProxyType({})

    @property
    def checkpoint(self) -> Request:
        """The request for its checkpoint."""
        return Request(
            label=self.message,
            session=self.session,
            chat=self.chat,
            message=self.message_id,
            agent=self.agent,
            trigger=_TRIGGER,
            meta=self.meta,
        )


class BegunTurn(NamedTuple):
    """A turn that has begun, and its checkpoint."""

    turn: RunningTurn
    captured: Captured

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        checkpoint = self.captured.checkpoint
        skipped = checkpoint.meta.values["skipped"]
        return {"ok": True, "id": checkpoint.id, "turn": self.turn.as_json(), "skipped": skipped}


class EndedTurn(NamedTuple):
    """A turn that was ended, and whether its end is `recorded`, see `capture_turn_end`."""

    turn: RunningTurn
    recorded: bool

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        return {"ok": True, "id": self.turn.checkpoint, "recorded": self.recorded}


def begin_turn(repository: Repository, request: TurnRequest) -> BegunTurn:
    """Take a checkpoint and mark a turn as running.

    Turns of different sessions run beside each other. RefusedError if another turn is running
    (`locked`) or the process is not (`not_found`), and all errors of `capture`.
    """
    limit = request.timeout or None
    if request.timeout is None:
        limit = repository.config.age("boocode.turnTimeout", default=_TIMEOUT)
    start = None if request.pid is None else process_start(request.pid)
    if request.pid is not None and not is_alive(request.pid, start):
        message = f"process {request.pid} is not running"
        raise RefusedError(message, code="not_found", hints=("--pid names the model's process",))
    state = repository.state_dir
    with (
        file_lock(os.path.join(state, TURN_LOCK), patience=PATIENCE),
        # No restore may run between the checkpoint and the mark.
        worktree_lock(state, shared=True, patience=PATIENCE),
    ):
        began = time.time()
        ends = None if limit is None or limit > LATEST - began else began + limit
        # Commands that are refused while the turn runs print it.
        message = LenientMasker(repository.git)(request.message)
        turn = RunningTurn("", message, request.pid, start, began, ends)
        turn = turn._replace(agent=request.agent, session=request.session)
        running = running_turns(repository)
        in_the_way = [each for each in running if not each.is_beside(turn)]
        if in_the_way and not request.force:
            raise is_running(in_the_way)
        captured = capture(repository, request.checkpoint)
        turn = turn._replace(checkpoint=captured.checkpoint.id)
        beside = (each for each in running if each not in in_the_way)
        write_turns(repository, [*beside, turn])
    return BegunTurn(turn, captured)


def turn_named(repository: Repository, name: str) -> str:
    """The id of the checkpoint of a turn; it may have left the log if the turn is running.

    RefusedError if no checkpoint has the name (`not_found`, `ambiguous`).
    """
    is_running = any(turn.checkpoint == name for turn in running_turns(repository))
    return name if is_running else _RunningTurnCatalog(repository).find(name).id


class _RunningTurnCatalog(Catalog):
    """The checkpoints with which turns begin."""

    listing_hint = NextStep(
        "{} shows the running turns", "turn", "status", typed="'git boocode turn status'"
    )


def end_turn(repository: Repository, name: str = "") -> EndedTurn:
    """End the running turn of a name, or the only one, and record the state at its end.

    RefusedError if there is none (`not_found`) or several (`ambiguous`), and all errors of
    `capture`. After a FatalError, the turn is over although its end is not recorded.
    """
    checkpoint = turn_named(repository, name) if name else ""
    if not is_marked(repository):
        raise _none_runs(repository, checkpoint)
    with file_lock(os.path.join(repository.state_dir, TURN_LOCK), patience=PATIENCE) as lock:
        running = running_turns(repository)
        turns = [turn for turn in running if checkpoint in ("", turn.checkpoint)]
        if len(turns) > 1:
            message = f"{len(turns)} turns are running, and none is named"
            raise RefusedError(message, code="ambiguous", hints=tuple(end_hints(turns)))
        rest = [turn for turn in running if turn not in turns]
        if not turns:
            write_turns(repository, rest)
            raise _none_runs(repository, checkpoint, rest)
        [turn] = turns
        try:
            recorded = capture_turn_end(repository, turn.checkpoint, _TRIGGER)
        except (FatalError, OSError):
            # A full disk must not keep the worktree locked.
            _replace_marks(repository, rest, lock)
            raise
        _replace_marks(repository, rest, lock)
    return EndedTurn(turn, recorded)


def _none_runs(
    repository: Repository, checkpoint: str = "", others: Sequence[RunningTurn] = ()
) -> RefusedError:
    begin = NextStep("{} begins one", "turn", "begin", typed="'git boocode turn begin'")
    hints = (*end_hints(others), *open_turn_hints(repository), begin)
    what = f"turn {checkpoint} is not running" if checkpoint else "no turn is running"
    return RefusedError(what, code="not_found", hints=hints)


def remove_marks(repository: Repository, is_gone: Callable[[RunningTurn], object]) -> None:
    """Remove the marks of some turns, without recording their ends."""
    with file_lock(os.path.join(repository.state_dir, TURN_LOCK), patience=PATIENCE) as lock:
        marked = read_marks(repository.state_dir)
        _replace_marks(repository, [turn for turn in marked if not is_gone(turn)], lock)


def _replace_marks(repository: Repository, rest: Sequence[RunningTurn], lock: int) -> None:
    """Mark only the `rest` as running; the lock's time shows hooks that a turn has ended."""
    os.utime(lock)
    write_turns(repository, rest)


def open_turn_hints(repository: Repository) -> tuple[str, ...]:
    """Hints at the turns that hooks have begun in this worktree and not ended, and how to."""
    catalog, hints = Catalog(repository), list[str]()
    short = ShortIds(catalog.store)
    for turn in without_end(read_turns(repository.state_dir)):
        for found in catalog.entries(catalog.store.refs(f"{CHECKPOINTS}{turn.checkpoint}")):
            label = found.meta.shown("label") if isinstance(found, Checkpoint) else ""
            named = f" '{shortened(label)}'" if label else ""
            hints.append(
                f"'git boocode turn end {short(turn.checkpoint)}' ends the turn{named} that hooks "
                f"of {turn.agent} began {ago(turn.time)}, if the agent was killed"
            )
    return tuple(hints[-_MOST_HINTS:])
