"""The disk budget, `boocode.maxDisk`: the oldest checkpoints go until the rest fits.

Edit records and versions that were read go with checkpoints of their age. These stay, whatever
they take: the newest day of each worktree, open turns, and what undo, redo or an interrupted
command needs. So do safety checkpoints with their archives, and proposals, which have limits of
their own. Fetched entries neither count nor go.
"""

from __future__ import annotations

import time
from calendar import timegm
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import (
    Catalog,
    Checkpoint,
    tool_states_ref,
    turn_end_ref,
)
from git_boocode.repo.disk import disk_usage
from git_boocode.repo.entries import DAY, Unusable
from git_boocode.repo.ids import ID, time_of
from git_boocode.repo.layout import (
    ALL_REFS,
    CHECKPOINTS,
    EDITS,
    FETCHED,
    READS,
    TOOL_STATES,
    TURN_ENDS,
)
from git_boocode.repo.lock import record_of_interrupted_edit
from git_boocode.repo.reported_turn import open_beside, read_turns
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import read_marks
from git_boocode.repo.store import Ref


class _Evictable(NamedTuple):
    """A ref that may go, with those that go with it, and its time in seconds since 1970."""

    time: float
    ref: Ref
    more: tuple[Ref, ...] = ()


def own_refs(repository: Repository) -> list[Ref]:
    """The refs that count for the budget: ours without the fetched ones."""
    return [ref for ref in repository.store.refs(ALL_REFS) if not ref.name.startswith(FETCHED)]


class DiskBudget(NamedTuple):
    """At most `limit` bytes, at the time `now` in seconds since 1970.

    `worktree` is the key of the only worktree whose entries may go; None for all. `needed` are the
    ids of entries that stay.
    """

    limit: int
    now: float
    worktree: str | None
    needed: Collection[str]

    def beyond(self, catalog: Catalog, gone: Collection[Ref]) -> list[Ref]:
        """The refs that have to go, oldest first, as far as possible; `gone` goes anyway."""
        going, found, candidates = set(gone), list[Ref](), list[_Evictable]()
        kept = set(own_refs(catalog.repository)) - going
        while usage := disk_usage(catalog.repository, kept, going):
            excess = sum(usage.values()) - self.limit
            if excess > 0 and not found:
                candidates = sorted(self._candidates(catalog, kept), reverse=True)
            if excess <= 0 or not candidates:
                break
            # What something older needs as well is not freed; the next round measures that.
            while excess > 0 and candidates:
                _, ref, more = candidates.pop()
                excess -= sum(usage[each] for each in (ref, *more))
                found.append(ref)
                going.update((ref, *more))
            kept -= going
        return found

    def _candidates(self, catalog: Catalog, kept: Collection[Ref]) -> Iterator[_Evictable]:
        repository = catalog.repository
        refs = [ref for ref in kept if ref.name.startswith((CHECKPOINTS, EDITS))]
        refs = [ref for ref in refs if ID.fullmatch(ref.id)]
        entries = dict(zip(refs, catalog.entries(refs), strict=True))
        # A worktree that is gone has no newest day to keep.
        newest = dict.fromkeys(repository.worktree_keys(), 0.0)
        for ref, entry in entries.items():
            if isinstance(entry, Checkpoint) and (key := entry.meta.worktree_key) in newest:
                newest[key] = max(newest[key], time_of(ref.id))
        running = open_turns(repository)
        edits = map(record_of_interrupted_edit, repository.state_dirs())
        staying = {*self.needed, *running, *filter(None, edits)}
        beside = {ref.name: ref for ref in kept if ref.name.startswith((TURN_ENDS, TOOL_STATES))}
        for ref, entry in entries.items():
            if isinstance(entry, Unusable):
                # Nobody knows whose it is; a newer version does.
                may_go, last = self.worktree is None and entry.why.code != "newer", self.now
            else:
                key, last = entry.meta.worktree_key, newest.get(entry.meta.worktree_key, self.now)
                may_go = self.worktree in (None, key) and entry.in_turn not in running
            if may_go and ref.id not in staying and time_of(ref.id) < min(last, self.now) - DAY:
                # The id of an edit record is that of no turn.
                names = (turn_end_ref(ref.name), tool_states_ref(ref.name))
                more = tuple(beside[name] for name in names if name in beside)
                yield _Evictable(time_of(ref.id), ref, more)
        yield from self._reads([ref for ref in kept if ref.name.startswith(READS)])

    def _reads(self, refs: Collection[Ref]) -> Iterator[_Evictable]:
        """The versions that were read before the newest day on which any was."""
        days = {ref: ref.name.removeprefix(READS).partition("/")[0] for ref in refs}
        newest = max(days.values(), default="")
        for ref, day in days.items():
            with suppress(ValueError):
                end = timegm(time.strptime(day, "%Y-%m-%d")) + DAY
                if day < newest and end < self.now - DAY:
                    yield _Evictable(end, ref)


def open_turns(repository: Repository) -> set[str]:
    """The checkpoints of the turns that run in any worktree, as far as that is reported."""
    found = set[str]()
    for directory in repository.state_dirs():
        found.update(open_beside(read_turns(directory), "", ""))
        found.update(mark.checkpoint for mark in read_marks(directory) if not mark.why_over)
    return found
