"""What changed in a worktree by hand: while no turn was open, and by no operation.

The states of a worktree are looked at newest first, as far as the log is read. Trees are compared
by their ids, so that a time in which nothing changed costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.checkpoints.own_changes import OwnTurns
from git_boocode.checkpoints.restore.plan import read_plan
from git_boocode.checkpoints.restore.request import RESTORE
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, tree_changes
from git_boocode.checkpoints.timeline import BEGIN
from git_boocode.checkpoints.timeline import RESTORE as OPERATION
from git_boocode.checkpoints.turn_work import RecordedHistory
from git_boocode.checkpoints.turns import NOW, Turn, only_paths
from git_boocode.repo.entries import Unusable
from git_boocode.repo.git import GitError
from git_boocode.repo.layout import TURN_ENDS
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import NO_FILE, Quarantine
from git_boocode.repo.trees import Item, TreeEditor


class Moment(NamedTuple):
    """A recorded state of a worktree, or now, which has no entry.

    `latest` is the turn that had begun last by then, `open` one that was open afterwards, or empty.
    """

    id: str
    entry: Checkpoint | None
    latest: str = ""
    open: str = ""
    is_operation: bool = False


class HandChange(NamedTuple):
    """What changed between two moments, as trees: between an end and the next beginning, or now.

    `after` is the turn before it, `before` the one after it, and `operation` the restore, revert or
    pick before which it was found; `since` is the id of the state before it. `until` is that of
    the state after it. `ended` is the turn or operation that left the state before it. All are
    empty for none.
    """

    since: str
    until: str
    after: str
    before: str
    operation: str
    ended: str
    turn: Turn  # with which `count_changes` compares the trees


class WorktreeMoments:
    """The states of this worktree and the changes by hand between them, newest first.

    It writes objects: see `temporary_objects`.
    """

    def __init__(self, listed: OwnTurns) -> None:
        self._catalog: Catalog = listed.catalog
        self._listed = listed
        self._key = listed.catalog.repository.worktree_key
        self._operations: list[Checkpoint] | None = None
        self._newer: Checkpoint | None = None

    def since(self, begun: Checkpoint) -> list[Moment]:
        """The moments from a beginning up to the one that was asked for before, oldest first.

        The last one is that beginning, or now. `begun` is the next older checkpoint of this
        worktree that records all files.
        """
        newer, self._newer = self._newer, begun
        last = Moment(newer.id, newer, newer.id, newer.id) if newer else Moment("", None)
        history = self._listed.history_of(begun)
        found = _timeline(history, begun, newer) if history else self._between(begun, newer)
        return [*found, last]

    def by_hand(self, moments: Sequence[Moment]) -> list[HandChange]:
        """What changed by hand between some moments, newest first."""
        found = []
        for earlier, later in pairwise(moments):
            entry, is_step = earlier.entry, earlier.is_operation
            if earlier.open or not entry:
                continue
            old = tree_left(self._catalog, entry) if is_step else entry.tree
            new = later.entry.tree if later.entry else self._listed.now()
            if old and new and old != new:
                is_end = entry.ref.startswith(TURN_ENDS)
                change = HandChange(
                    since=earlier.id,
                    until=later.id,
                    after=earlier.latest,
                    before=moments[-1].id if later.is_operation else later.open,
                    operation=later.id if later.is_operation else "",
                    ended=earlier.id if is_step else entry.ref[len(TURN_ENDS) :] if is_end else "",
                    turn=Turn(entry, NOW, new, own=(old, new)),
                )
                found.append(change)
        return found[::-1]

    def _between(self, begun: Checkpoint, newer: Checkpoint | None) -> list[Moment]:
        """The moments from a beginning on if no turns overlapped."""
        ends_by_turn, last = self._listed.recorded.ends, newer.id if newer else "~"
        events = {each.id: each for each in self._safety if begun.id < each.id < last}
        begins = {begun.id: begun, **self._archived_between(begun.id, last)}
        ends = {}
        for turn in begins:
            if (end := ends_by_turn.get(turn)) and end.meta.worktree_key == self._key:
                ends[end.meta.text("id")] = end
        found: list[Moment] = []
        latest = is_open = begun.id
        for name, entry in sorted({**events, **begins, **ends}.items()):
            if name in begins:
                latest = is_open = name
            elif name in ends:
                # An earlier turn may have ended later.
                is_open = "" if entry.meta.text("turn") == latest else is_open
            else:
                end = ends_by_turn.get(latest)
                is_open = is_open if end and end.meta.text("id") > name else ""
            found.append(Moment(name, entry, latest, is_open, name in events))
        return found

    def _archived_between(self, first: str, last: str) -> dict[str, Checkpoint]:
        """The archived beginnings of turns of this worktree between two ids."""
        archived = self._listed.recorded.archived.items()
        refs = [ref for name, ref in archived if first < name < last]
        return {
            entry.id: entry
            for entry in (self._catalog.entries(refs) if refs else ())
            if not isinstance(entry, Unusable)
            and only_paths(entry) == ()
            and entry.meta.worktree_key == self._key
        }

    @property
    def _safety(self) -> list[Checkpoint]:
        """The states before the operations in this worktree, without changes of proposals."""
        if self._operations is None:
            self._operations = [
                each
                for each in self._listed.recorded.safety
                if each.meta.worktree_key == self._key
                and not each.meta.table("restore").get("proposal")
            ]
        return self._operations


def tree_left(catalog: Catalog, safety: Checkpoint) -> str:
    """The tree that an operation left; empty if that is unknown.

    It writes objects: see `temporary_objects`.
    """
    repository, plan = catalog.repository, read_plan(safety)
    request = plan.request
    if not plan.kind or not request.files:
        return safety.tree
    [target] = catalog.store.commits([plan.target_commit or safety.commit.id])
    if not plan.target_commit or target is None:
        return ""
    is_made = plan.kind == RESTORE and plan.step is not None
    if not plan.blocked and (is_made or not (request.paths or request.only is not None)):
        return target.tree
    git = repository.git.bind(cwd=os.path.join(repository.worktree, request.prefix))
    try:
        found = tree_changes(git, safety.tree, target.tree, request.paths)
    except (GitError, OSError):
        # The directory is gone, or objects are.
        return ""
    changes = [
        each
        for each in found
        if (request.only is None or each.path in request.only)
        and not _is_below(each.path, plan.blocked)
    ]
    if not changes:
        return safety.tree
    with scratch_directory(repository.state_dir, read_only=True) as scratch:
        quarantine = Quarantine(repository, scratch)
        editor = TreeEditor.of(repository.store, safety.tree, [c.path for c in changes])
        # Deletions first: a directory must be removed before a file can take its name.
        for change in sorted(changes, key=lambda each: each.mode):
            item = Item(change.mode.encode(), change.id.encode())
            editor.put(os.fsencode(change.path), None if change.mode == NO_FILE else item)
        tree = editor.write(quarantine.store).decode("ascii")
        quarantine.release()
    return tree


def _is_below(path: str, directories: frozenset[str]) -> bool:
    """Whether a path is one of some, or below one."""
    return any(path == each or path.startswith(f"{each}/") for each in directories)


def _timeline(
    history: RecordedHistory, begun: Checkpoint, newer: Checkpoint | None
) -> Iterator[Moment]:
    """The moments from a beginning on, of turns that may have overlapped."""
    spans = sorted(history.timeline.spans.values(), key=lambda span: span.first)
    latest = begun.id
    for number, state in enumerate(history.timeline.states):
        if state.id < begun.id:
            continue
        if newer and state.id >= newer.id:
            return
        latest = state.turn if state.kind == BEGIN else latest
        is_open = next((span.turn for span in reversed(spans) if span.is_open(number)), "")
        yield Moment(state.id, history.state(number), latest, is_open, state.kind == OPERATION)
