"""What the log of this worktree has beside turns: commits, changes by hand, and where it is now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count
from operator import itemgetter
from typing import NamedTuple

from git_boocode.checkpoints.commit_log import HeadLog, LoggedCommit
from git_boocode.checkpoints.hand_changes import HandChange, Moment, WorktreeMoments
from git_boocode.checkpoints.operation_log import (
    LoggedOperation,
    TurnStates,
    logged_operations,
)
from git_boocode.checkpoints.own_changes import OwnTurns
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.turn_changes import ChangeCounts, TurnFile, changed_files, counted
from git_boocode.checkpoints.turn_words import AFTER, DURING
from git_boocode.checkpoints.turns import only_paths
from git_boocode.repo.ids import time_of
from git_boocode.repo.layout import CHECKPOINTS, TURN_ENDS
from git_boocode.repo.reported_turn import open_beside
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import known_turns
from git_boocode.repo.running_turn import running_turns as marked_turns

_Files = Sequence[TurnFile] | None
_Place = tuple[str, int, int]
_MOST_PATHS = 100  # that an answer lists
_NEWEST = "~"
"""Greater than all ids."""
# The order at the same id, from below: a turn or operation is above its beginning.
_BY_HAND, _HERE, _TURN, _COMMIT = range(4)


class ByHand(NamedTuple):
    """What changed by hand; `files` is None if it could not be compared.

    `time` is when it was recorded or, until now, when the newest of the files was written, in
    seconds since 1970. `state` is `restored` if a restore took it away, else empty.
    """

    change: HandChange
    files: _Files
    time: float
    state: str = ""

    @property
    def counts(self) -> ChangeCounts | None:
        """How many files and lines changed."""
        return None if self.files is None else counted(self.files)

    def as_json(self) -> dict[str, object]:
        """The change in JSON answers."""
        change = self.change
        return {
            "after": change.after or None,
            "before": change.before or None,
            "operation": change.operation or None,
            "ended": change.ended or None,
            "time": self.time,
            "state": self.state,
            **_counts_json(self.counts),
            "paths": [file.path for file in (self.files or ())[:_MOST_PATHS]],
        }


class Here(NamedTuple):
    """The state in which this worktree is: before, after or during a turn.

    `counts` are what changed by hand since, without what operations did. `at` is the id of the
    recorded state to which a restore, undo or redo went back: what is below it is older. It is
    empty if it is on top. `state` is that of the turn, such as `reverted`.
    """

    turn: str
    side: str
    counts: ChangeCounts
    at: str = ""
    state: str = ""

    @property
    def place(self) -> _Place:
        """Its place among the entries."""
        return (self.at or _NEWEST, _HERE, 0)

    def as_json(self) -> dict[str, object]:
        """The state in JSON answers."""
        about = {"turn": self.turn, "side": self.side, "at": self.at or None}
        return {**about, **_counts_json(self.counts)}


Beside = LoggedOperation | LoggedCommit | ByHand | Here
"""What is listed among turns."""


def _counts_json(counts: ChangeCounts | None) -> dict[str, object]:
    return dict(counts._asdict() if counts else dict.fromkeys(ChangeCounts._fields))


def running_turns(repository: Repository) -> set[str]:
    """The turns of all worktrees that run, as far as that is reported, by their checkpoints."""
    found = {turn.checkpoint for turn in marked_turns(repository)}
    for directory in repository.state_dirs():
        found.update(open_beside(known_turns(directory), "", ""))
    return found


class WorktreeLog:
    """Finds what happened beside the turns of this worktree, as far as these are read.

    `commits` and `by_hand` are what was found so far, newest first.
    """

    def __init__(self, listed: OwnTurns) -> None:
        self.commits: list[LoggedCommit] = []
        self.by_hand: list[ByHand] = []
        self._listed = listed
        self.catalog = listed.catalog
        self._moments = WorktreeMoments(listed)
        self._head = HeadLog(listed.catalog.repository)
        self._begun: list[Checkpoint] = []
        self._read = 0
        self._known: list[Moment] = []
        self._pending: list[tuple[_Place, Beside]] = []
        self._number = count()

    @cached_property
    def states(self) -> TurnStates:
        """Which turns are in force."""
        return TurnStates(self.catalog, self._listed.recorded)

    @cached_property
    def _running(self) -> set[str]:
        return running_turns(self.catalog.repository)

    def is_open(self, checkpoint: Checkpoint) -> bool:
        """Whether the turn of a checkpoint runs."""
        return (
            checkpoint.id in self._running
            and checkpoint.ref.startswith(CHECKPOINTS)
            and checkpoint.id not in self._listed.recorded.ends
            and not self.states.of(checkpoint)
        )

    def note(self, checkpoint: Checkpoint) -> None:
        """Note the next older checkpoint of any worktree."""
        is_here = checkpoint.ref.startswith(CHECKPOINTS) and self.catalog.is_ours(checkpoint)
        if is_here and only_paths(checkpoint) == ():
            self._begun.append(checkpoint)

    def read(self) -> tuple[list[LoggedCommit], list[HandChange]]:
        """What happened since the checkpoints that were noted; the latter is not yet compared."""
        commits: list[LoggedCommit] = []
        changes: list[HandChange] = []
        for begun in self._begun[self._read :]:
            moments = self._moments.since(begun)
            changes += self._moments.by_hand(moments)
            for moment in reversed(moments[:-1]):
                self._known.append(moment)
                if moment.entry:
                    commits += self._head.since(moment.id, moment.entry, moment.open)
        self._read = len(self._begun)
        self.commits += commits
        self._pending += [((each.since, _COMMIT, -next(self._number)), each) for each in commits]
        return commits, changes

    def compared(
        self,
        changes: Sequence[HandChange],
        found: Sequence[Sequence[TurnFile] | None] | None = None,
    ) -> list[ByHand]:
        """The changes with their files, unless they are `found` already."""
        if found is None:
            turns = [change.turn for change in changes]
            found = changed_files(self.catalog.repository, turns) if turns else []
        made = [
            ByHand(change, files, self._time(change, files), self.state_after(change.since))
            for change, files in zip(changes, found, strict=True)
        ]
        self.by_hand += made
        self._pending += [((each.change.until or _NEWEST, _BY_HAND, 0), each) for each in made]
        return made

    def _time(self, change: HandChange, files: _Files) -> float:
        """When something was changed by hand, as far as it is known."""
        if change.until:
            return time_of(change.until)
        times = [time_of(change.since)]
        for file in files or ():
            # One that was deleted has no time.
            with suppress(OSError, ValueError):
                path = os.path.join(self.catalog.repository.worktree, file.path)
                times.append(os.lstat(path).st_mtime)
        return max(times)

    def state_after(self, identifier: str) -> str:
        """The state of what happened in this worktree after a recorded state."""
        return self.states.since(self.catalog.repository.worktree_key, identifier)

    def mark(self) -> None:
        """Let the mark of where this worktree is be among the entries."""
        here = self.here if self._begun else None
        if here is not None:
            self._pending.append((here.place, here))

    def take_mark(self) -> list[Beside]:
        """The mark alone, if it was not taken yet."""
        taken = [entry for _, entry in self._pending if isinstance(entry, Here)]
        self._pending = []
        return [*taken]

    @property
    def operations(self) -> list[LoggedOperation]:
        """What was restored, reverted and picked in this worktree, newest first."""
        safety = filter(self.catalog.is_ours, self._listed.recorded.safety)
        found = logged_operations([*safety])
        return [
            each if each.undone else each._replace(state=self.state_after(each.id))
            for each in found
        ]

    def list_operations(self, *, undone: bool) -> None:
        """Let operations be among the entries, those that are undone only if they are wanted."""
        wanted = (each for each in self.operations if undone or not each.undone)
        self._pending += [((each.id, _TURN, 0), each) for each in wanted]

    def above(self, turn: str = "") -> list[Beside]:
        """The entries above a turn that were not taken yet, or all of them, newest first."""
        place = (turn, _TURN, 0)
        taken = [each for each in self._pending if each[0] > place]
        self._pending = [each for each in self._pending if each[0] <= place]
        return [entry for _, entry in sorted(taken, key=itemgetter(0), reverse=True)]

    @property
    def here(self) -> Here | None:
        """Where this worktree is, as far as it is known; None without turns."""
        place = self._place(_NEWEST)
        if place is None:
            return None
        turn, side, times, at = place
        inside = [
            each.files or ()
            for each in self.by_hand
            if any(
                first <= each.change.since and (each.change.until or _NEWEST) <= last
                for first, last in times
            )
        ]
        counts = counted(file for files in inside for file in files)
        paths = {file.path for files in inside for file in files}
        state = next((self.states.of(each) for each in self._begun if each.id == turn), "")
        return Here(turn, side, counts._replace(files=len(paths)), at, state)

    @property
    def here_json(self) -> dict[str, object] | None:
        """Where this worktree is, in JSON answers."""
        here = self.here if self._begun else None
        return here.as_json() if here else None

    def _place(self, before: str) -> tuple[str, str, list[tuple[str, str]], str] | None:
        """The turn and the side of it at which the worktree was before the state with an id.

        With the times since then, between the ids of states, and the `at` of `Here`.
        """
        restores = self.states.restores(self.catalog.repository.worktree_key)
        restore = next((each for each in reversed(restores) if each.id < before), None)
        known = [each for each in self._known if each.id < before]
        begun = known[0].latest if known else self._begun_before(before)
        if not begun:
            return None
        last = next((each for each in known if not each.is_operation), None)
        reached = max(begun, last.id if last else "")
        if restore is None or reached > restore.id:
            if known and known[0].open:
                turn = known[0].open
                side = DURING if self._runs_at(turn, before) else AFTER
                return turn, side, [(turn, before)], ""
            if last and last.entry and last.entry.ref.startswith(TURN_ENDS):
                # Of turns that overlapped, the one that ended last.
                return last.entry.ref.removeprefix(TURN_ENDS), AFTER, [(last.id, before)], ""
            side = DURING if self._runs_at(begun, before) else AFTER
            return begun, side, [(begun, before)], ""
        since = (restore.id, before)
        if restore.target in {each.id for each in self._listed.recorded.safety}:
            # A record that is damaged may name a later state.
            state = min(restore.target, restore.id)
            if (place := self._place(state)) is None:
                return None
            turn, side, times, at = place
            is_below = any(each.id > state for each in self._begun)
            return turn, side, [*times, since], at or (state if is_below else "")
        return restore.target, restore.side, [since], restore.to

    def _runs_at(self, turn: str, state: str) -> bool:
        """Whether a turn that had not ended by a state went on then, instead of ending unseen."""
        end = self._listed.recorded.ends.get(turn)
        return bool(end and end.meta.text("id") > state) or turn in self._running

    def _begun_before(self, before: str) -> str:
        """The newest checkpoint before a state, also if it was not read yet."""
        entries: Iterable[Checkpoint] = self.catalog.history()
        found = (each.id for each in entries if each.id < before and only_paths(each) == ())
        return next(found, "")
