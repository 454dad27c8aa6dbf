"""Begin and end a turn: a checkpoint, and a mark that keeps other commands from the files."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from git_boocode.checkpoints.capture import PATIENCE, Captured, Request, capture, capture_turn_end
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.errors import FatalError, NextStep, RefusedError, shortened
from git_boocode.repo.ids import ago
from git_boocode.repo.layout import CHECKPOINTS, TURN_LOCK
from git_boocode.repo.lock import file_lock, worktree_lock
from git_boocode.repo.reported_turn import read_turns, without_end
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import (
    LATEST,
    RunningTurn,
    is_alive,
    is_marked,
    process_start,
    read_turn,
    refuse_if_running,
    remove_turn,
    write_turn,
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

    RefusedError if another turn is running (`locked`) or the process is not (`not_found`), and all
    errors of `capture`.
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
        if not request.force:
            refuse_if_running(repository)
        captured = capture(repository, Request(label=request.message, trigger=_TRIGGER))
        began = time.time()
        ends = None if limit is None or limit > LATEST - began else began + limit
        identifier = captured.checkpoint.id
        turn = RunningTurn(identifier, request.message, request.pid, start, began, ends)
        write_turn(repository, turn)
    return BegunTurn(turn, captured)


def end_turn(repository: Repository) -> EndedTurn:
    """End the running turn, and record the state at its end.

    RefusedError if none is running (`not_found`), and all errors of `capture`. After a FatalError,
    the turn is over although its end is not recorded.
    """
    begin = NextStep("{} begins one", "turn", "begin", typed="'git boocode turn begin'")
    hints = (*open_turn_hints(repository), begin)
    none = RefusedError("no turn is running", code="not_found", hints=hints)
    if not is_marked(repository):
        raise none
    with file_lock(os.path.join(repository.state_dir, TURN_LOCK), patience=PATIENCE):
        turn = read_turn(repository)
        if turn is None:
            remove_turn(repository)
            raise none
        try:
            recorded = capture_turn_end(repository, turn.checkpoint, _TRIGGER)
        except (FatalError, OSError):
            # A full disk must not keep the worktree locked.
            remove_turn(repository)
            raise
        remove_turn(repository)
    return EndedTurn(turn, recorded)


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
