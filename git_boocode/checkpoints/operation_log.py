"""What was restored, reverted and picked, for the log: from the records of safety checkpoints."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from git_boocode.checkpoints.restore.plan import RestorePlan, read_history, read_plan
from git_boocode.checkpoints.restore.request import PICK, RESTORE, REVERT
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_words import AFTER, ARCHIVED, BEFORE, RESTORED, REVERTED
from git_boocode.checkpoints.turns import RecordedStates
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.ids import time_of
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, REMOTES, SAFETY


class LoggedOperation(NamedTuple):
    """A restore, revert or pick that was not undone, or that a redo does again.

    `state` is `restored` if a later restore took it away, else empty.
    """

    safety: Checkpoint  # the state before it, or before its redo
    plan: RestorePlan  # of the operation itself
    undone: bool
    state: str = ""

    @property
    def id(self) -> str:
        """Its place among the turns."""
        return self.safety.id

    @property
    def time(self) -> float:
        """When it was done, in seconds since 1970."""
        return time_of(self.id)

    @property
    def command(self) -> str:
        """`restore`, `revert` or `pick`."""
        return self.plan.step.command if self.plan.step else RESTORE

    @property
    def targets(self) -> tuple[str, ...]:
        """The ids of the turns, or of the restored checkpoint."""
        return self.plan.step.turns if self.plan.step else (self.plan.target,)

    @property
    def is_partial(self) -> bool:
        """Whether it was limited to some paths or hunks."""
        step = self.plan.step
        return not step.whole if step else bool(self.plan.request.paths)

    @property
    def is_conversation_only(self) -> bool:
        """Whether it restored no files."""
        return self.command == RESTORE and not self.plan.request.files

    @property
    def side(self) -> str:
        """Whether a restore went back to before its target or to after it; else empty."""
        return "" if self.plan.step else _side(self.safety)

    def as_json(self) -> dict[str, Any]:
        """The operation in the JSON answer of `log`."""
        is_restore = self.command == RESTORE
        return {
            "id": self.id,
            "command": self.command,
            "created_at": self.safety.meta.text("created_at") or None,
            "checkpoint_id": self.targets[0] if is_restore else None,
            "turns": [] if is_restore else [*self.targets],
            "side": self.side or None,
            "partial": self.is_partial,
            "conversation_only": self.is_conversation_only,
            "undone": self.undone,
            "state": self.state,
        }


def logged_operations(safety: Sequence[Checkpoint]) -> list[LoggedOperation]:
    """The operations of a worktree, newest first, of its safety checkpoints in the same order."""
    by_id = {each.id: each for each in safety}
    history = read_history(safety)

    def of(plan: RestorePlan) -> RestorePlan:
        """The operation that a redo, or the undo of one, does again or takes back."""
        while plan.kind != RESTORE and plan.of in by_id:
            plan = read_plan(by_id[plan.of])
        return plan

    found = [LoggedOperation(by_id[plan.id], of(plan), undone=False) for plan in history.done]
    found += [
        LoggedOperation(by_id[undo.of], of(undo), undone=True)
        for undo in history.undone
        if undo.of in by_id
    ]
    listed = (each for each in found if each.plan.kind == RESTORE and not each.plan.proposal)
    return sorted(listed, key=lambda each: each.id, reverse=True)


def target_checkpoints(
    catalog: Catalog, operations: Iterable[LoggedOperation]
) -> dict[str, Checkpoint]:
    """The checkpoints that operations concern, by id, as far as they are still there."""
    ids = {identifier for each in operations for identifier in each.targets}
    if not ids:
        return {}
    exact = (f"{below}{each}" for below in (CHECKPOINTS, SAFETY) for each in sorted(ids))
    refs = catalog.store.refs(*exact, ARCHIVE, REMOTES)
    entries = catalog.entries(ref for ref in refs if ref.id in ids)
    return {each.id: each for each in entries if isinstance(each, Checkpoint)}


def reverted_turns(safety: Iterable[Checkpoint]) -> set[str]:
    """The ids of the turns that are reverted as a whole now.

    `safety` are the safety checkpoints of some worktrees, newest first.
    """
    return {turn for moments in _by_worktree(safety).values() for turn in moments[-1].reverted}


class TurnStates:
    """Which turns are reverted, or taken away by a restore to before them."""

    def __init__(self, catalog: Catalog, recorded: RecordedStates) -> None:
        self._recorded = recorded
        self._moments = _by_worktree(recorded.safety, catalog)

    def of(self, checkpoint: Checkpoint) -> str:
        """The state of the turn that a checkpoint began; empty if it is in force."""
        if checkpoint.ref.startswith(ARCHIVE):
            return ARCHIVED
        key, turn = checkpoint.meta.worktree_key, checkpoint.id
        if not checkpoint.ref.startswith(CHECKPOINTS) or key not in self._moments:
            return ""
        now = self._moments[key][-1]
        if turn in now.reverted:
            return REVERTED
        end = self._recorded.ends.get(turn)
        return (
            "" if turn in now.picked else self.since(key, turn, end.meta.text("id") if end else "")
        )

    def since(self, worktree_key: str, state: str, until: str = "") -> str:
        """The state of what happened in a worktree between recorded states, by their ids.

        What went on after a restore is in force. `until` is empty if it did not go on.
        """
        moments = self._moments.get(worktree_key)
        away = moments[-1].away if moments else ()
        return RESTORED if any(b <= state < e and until < e for b, e in away) else ""

    def restores(self, worktree_key: str) -> list[WholeRestore]:
        """The restores of everything in a worktree, and their undos and redos, oldest first."""
        moments = self._moments.get(worktree_key, ())
        return [each.restore for each in moments if each.restore]


class WholeRestore(NamedTuple):
    """A restore, undo or redo of all files; `to` is the id of the state to which it went back.

    The target is a turn, of which `side` is meant, or the safety checkpoint of another operation.
    """

    id: str
    target: str
    side: str
    to: str


class _Moment(NamedTuple):
    """What holds in a worktree after an operation.

    The turns that are reverted, those that were picked, and the ranges of ids of those that a
    restore took away.
    """

    id: str = ""
    reverted: frozenset[str] = frozenset()
    picked: frozenset[str] = frozenset()
    away: tuple[tuple[str, str], ...] = ()
    restore: WholeRestore | None = None


def _by_worktree(
    safety: Iterable[Checkpoint], catalog: Catalog | None = None
) -> dict[str, list[_Moment]]:
    """What holds after each operation, oldest first, by the keys of the worktrees."""
    worktrees = defaultdict[str, list[Checkpoint]](list)
    for each in safety:
        worktrees[each.meta.worktree_key].append(each)
    return {key: _moments(found[::-1], catalog) for key, found in worktrees.items()}


def _moments(oldest_first: Iterable[Checkpoint], catalog: Catalog | None) -> list[_Moment]:
    """What holds after each operation in one worktree.

    A restore of everything goes back to what held at the time of its target.
    """
    found = [_Moment()]
    for safety in oldest_first:
        plan = read_plan(safety)
        if not plan.kind or plan.proposal is not None:
            continue
        now, step = found[-1]._replace(id=safety.id, restore=None), plan.step
        if step is not None and step.command == PICK:
            # Also of a part: then the turn is not reverted as a whole.
            turns = frozenset(step.turns)
            now = now._replace(reverted=now.reverted - turns, picked=now.picked | turns)
        elif step is not None and step.command == REVERT and step.whole:
            turns = frozenset(step.turns)
            now = now._replace(reverted=now.reverted | turns, picked=now.picked - turns)
        elif step is None and plan.request.files and not plan.request.paths:
            side = _side(safety)
            to = _end_of(plan, catalog) if side == AFTER else plan.target
            ids = [each.id for each in found]
            then = found[max(bisect_left(ids, to) - 1, 0)]
            now = then._replace(id=safety.id, restore=None)
            if plan.request.only is None:
                away = (*then.away, (to, safety.id))
                restore = WholeRestore(safety.id, plan.target, side, to)
                now = now._replace(away=away, restore=restore)
        found.append(now)
    return found


def _side(safety: Checkpoint) -> str:
    record = safety.meta.table("restore")
    is_after = record.get("operation") == RESTORE and record.get("after") is True
    return AFTER if is_after else BEFORE


def _end_of(plan: RestorePlan, catalog: Catalog | None) -> str:
    """The id of the state at the end of a turn to which a restore went back."""
    ids = [plan.target_commit] if catalog and plan.target_commit else []
    for commit in catalog.store.commits(ids) if catalog else ():
        with suppress(MetadataError):
            found = Metadata.parse(commit.message).text("id") if commit else ""
            if found > plan.target:
                return found
    # Just after its beginning.
    return f"{plan.target}~"
