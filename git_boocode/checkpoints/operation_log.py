"""What was restored, reverted and picked, for the log: from the records of safety checkpoints."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from git_boocode.checkpoints.restore.plan import RestorePlan, read_history, read_plan
from git_boocode.checkpoints.restore.request import PICK, RESTORE, REVERT
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, REMOTES, SAFETY


class LoggedOperation(NamedTuple):
    """A restore, revert or pick that was not undone, or that a redo does again."""

    safety: Checkpoint  # the state before it, or before its redo
    plan: RestorePlan  # of the operation itself
    undone: bool

    @property
    def id(self) -> str:
        """Its place among the turns."""
        return self.safety.id

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

    def as_json(self) -> dict[str, Any]:
        """The operation in the JSON answer of `log`."""
        is_restore = self.command == RESTORE
        return {
            "id": self.id,
            "command": self.command,
            "created_at": self.safety.meta.text("created_at") or None,
            "checkpoint_id": self.targets[0] if is_restore else None,
            "turns": [] if is_restore else [*self.targets],
            "partial": self.is_partial,
            "undone": self.undone,
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
    worktrees = defaultdict[str, list[RestorePlan]](list)
    for each in safety:
        if (plan := read_plan(each)).kind and plan.proposal is None:
            worktrees[each.meta.worktree_key].append(plan)
    return {turn for plans in worktrees.values() for turn in _reverted(plans[::-1])}


def _reverted(oldest_first: Iterable[RestorePlan]) -> frozenset[str]:
    """The turns that are reverted in one worktree.

    A restore of everything goes back to what was reverted at the time of its target.
    """
    ids, after = [""], [frozenset[str]()]
    for plan in oldest_first:
        now, step = after[-1], plan.step
        if step is not None and step.command == PICK:
            # Also of a part: then the turn is not reverted as a whole.
            now = now - {*step.turns}
        elif step is not None and step.command == REVERT and step.whole:
            now = now | {*step.turns}
        elif step is None and plan.request.files and not plan.request.paths:
            now = after[max(bisect_left(ids, plan.target) - 1, 0)]
        ids.append(plan.id)
        after.append(now)
    return after[-1]
