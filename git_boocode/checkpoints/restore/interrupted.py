"""What an interrupted operation was to change, so that its rollback leaves later work alone.

A path of it has the content from before, that of its target, or a part of either. Any other content
came later, and so did what is at other paths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.restore.exact import is_cut_short
from git_boocode.checkpoints.restore.plan import checkpoint_at, read_plan
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint, tree_changes
from git_boocode.checkpoints.worktree.indexer import directories_of
from git_boocode.repo.git import GitError
from git_boocode.repo.repository import Repository


class InterruptedWork(NamedTuple):
    """What an interrupted operation was to change, and what it may have left there."""

    repository: Repository
    edited: Collection[str]  # the paths that are as its callback edited them
    # Mode and id of what it may have left at a path: those of its target, and those before repairs.
    states: Sequence[Mapping[str, tuple[str, str]]]
    is_known: bool = True  # False if its target is gone

    def limited(self, changes: Sequence[Change]) -> tuple[frozenset[str], list[str]]:
        """The paths to roll back, of some changes, and those of them that have later work."""
        planned = {change.path for change in changes}
        if self.is_known:
            planned &= {*self.edited}.union(self.states[0])
        in_the_way = _in_the_way(changes, planned)
        later = [c.path for c in changes if c.path in planned and self._is_later(c)]
        return frozenset(planned | in_the_way), sorted({*later, *in_the_way})

    def _is_later(self, change: Change) -> bool:
        if change.action == "create" or change.path in self.edited:
            return False
        left = [state[change.path] for state in self.states if change.path in state]
        if (change.old_mode, change.old_id) in left:
            return False
        # Git may have been ended while it wrote the file.
        ids = [identifier for _, identifier in left if identifier.strip("0")]
        ids += [change.id] if change.action == "modify" else []
        return not any(is_cut_short(self.repository, change.path, each) for each in ids)


def _in_the_way(changes: Iterable[Change], planned: Collection[str]) -> set[str]:
    """The paths beside the planned ones whose files are in the way of a planned one."""
    created = {c.path for c in changes if c.action == "create" and c.path in planned}
    others = {c.path for c in changes if c.action == "delete" and c.path not in planned}
    above = others & directories_of(created)
    return above | {path for path in others if not created.isdisjoint(directories_of([path]))}


def interrupted_work(
    catalog: Catalog, unfinished: Sequence[Checkpoint], edited: Collection[str]
) -> InterruptedWork:
    """What an interrupted operation was to change, and what its callback `edited`.

    It is the last of the `unfinished` safety checkpoints; the others are its interrupted repairs.
    """
    *repairs, first = unfinished
    repository, plan, states = catalog.repository, read_plan(first), []
    target = checkpoint_at(catalog, plan.target, plan.target_commit)
    changes = _differences(repository, first.tree, target.tree) if target else None
    if changes is not None:
        states.append({change.path: (change.mode, change.id) for change in changes})
    for repair in repairs:
        halfway = _differences(repository, repair.tree, first.tree) or ()
        states.append({change.path: (change.old_mode, change.old_id) for change in halfway})
    return InterruptedWork(repository, edited, states, changes is not None)


def _differences(repository: Repository, old: str, new: str) -> list[Change] | None:
    try:
        return tree_changes(repository.git, old, new)
    except GitError:
        # It has been dropped since.
        return None
