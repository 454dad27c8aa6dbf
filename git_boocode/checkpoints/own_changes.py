"""Turns with what is their own, as everything that shows turns compares them.

A turn that was open alone is compared from its beginning to its end. Of any other, `own` is a pair
of states: the end, and that with everything taken out that the turn itself did. It is found only if
something says that turns overlapped, so that no other turn costs anything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from git_boocode.checkpoints.overlaps import Overlaps
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint
from git_boocode.checkpoints.turn_work import RecordedHistory, TurnWork, path_steps, work_of
from git_boocode.checkpoints.turns import (
    NOW,
    RecordedStates,
    Turn,
    end_is_unknown,
    everything,
    only_paths,
    turn_of,
    turns,
)
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.repo.config import FALLBACK_IDENTITY
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import ArgumentError, refuse_combined
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import NO_FILE, REGULAR, Quarantine, raw_commit
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import Item, TreeEditor


class OwnTurns:
    """Lists turns with what is their own, and knows which ones may have overlapped.

    It writes objects if turns overlapped, see `temporary_objects`.
    """

    def __init__(self, catalog: Catalog, now: Callable[[], str]) -> None:
        self.catalog = catalog
        self.now = now
        self.recorded = RecordedStates(catalog)
        self._overlaps = Overlaps(catalog, self.recorded)
        self._histories: dict[tuple[str, str], RecordedHistory] = {}

    def turns(
        self,
        entries: Iterable[Checkpoint | Unusable],
        wanted: Callable[[Checkpoint], bool] = everything,
    ) -> Iterator[Turn]:
        """As `turns` of the module of that name."""
        observed = self._overlaps.observed(entries)
        for turn in turns(self.catalog, observed, self.now, wanted, self.recorded):
            history = self.history_of(turn.checkpoint)
            yield _own(self.catalog, history.work_of(turn, self.now)) if history else turn

    def named(self, ids: Iterable[str]) -> Iterator[Turn]:
        """The turns with some ids, newest first, also archived and fetched ones."""
        left = set(ids)

        def wanted(checkpoint: Checkpoint) -> bool:
            if checkpoint.id not in left:
                return False
            left.remove(checkpoint.id)
            return True

        return self.turns(self.catalog.everything(), wanted)

    def history_of(self, entry: Checkpoint) -> RecordedHistory | None:
        """The states of the worktree of a checkpoint that was listed, if its turn may overlap."""
        if only_paths(entry) != () or not self._overlaps.may_overlap(entry):
            return None
        key = (entry.meta.worktree_key, entry.remote)
        if key not in self._histories:
            self._histories[key] = RecordedHistory.of(self.catalog, entry)
        return self._histories[key]


def own_turns(
    catalog: Catalog,
    entries: Iterable[Checkpoint | Unusable],
    now: Callable[[], str],
    wanted: Callable[[Checkpoint], bool] = everything,
) -> Iterator[Turn]:
    """As `turns`; writes objects if turns overlapped, see `temporary_objects`."""
    return OwnTurns(catalog, now).turns(entries, wanted)


def own_turn_of(catalog: Catalog, checkpoint: Checkpoint, now: Callable[[], str]) -> Turn:
    """As `turn_of`; writes objects if turns overlapped, see `temporary_objects`."""
    return _own(catalog, work_of(catalog, checkpoint, now))


def _own(catalog: Catalog, work: TurnWork) -> Turn:
    """The turn of a work, with the states to compare."""
    turn = work.turn._replace(shared=work.shared)
    if not work.is_divided:
        return turn
    with scratch_directory(catalog.repository.state_dir, read_only=True) as scratch:
        return turn._replace(own=_Pair(catalog.repository, work, scratch).states())


_File = tuple[str, str]
"""Git's mode and the id of a blob."""


class _Pair:
    """Makes two states that differ in what a turn changed, in the place of its end."""

    def __init__(self, repository: Repository, work: TurnWork, scratch: str) -> None:
        self._repository = repository
        self._work = work
        self._scratch = scratch
        self._quarantine = Quarantine(repository, scratch)

    def states(self) -> tuple[str, str]:
        """The states, commits or trees as those of the turn."""
        old: dict[str, _File] = {}
        new: dict[str, _File] = {}
        for path, steps in path_steps(self._repository, self._work).items():
            changes = [step.change for step in steps]
            old[path], new[path] = self._before(changes), (changes[-1].mode, changes[-1].id)
        states = self._state(old), self._state(new)
        self._quarantine.release()
        return states

    def _before(self, changes: list[Change]) -> _File:
        """A file after the last change of some, with all of them taken out."""
        *earlier, last = changes
        found = (last.old_mode, last.old_id)
        for change in reversed(earlier):
            if found == (change.mode, change.id):
                found = (change.old_mode, change.old_id)
            elif {found[0], change.mode, change.old_mode} <= REGULAR:
                mode = change.old_mode if found[0] == change.mode else found[0]
                found = (mode, self._merged(found[1], change))
            else:
                # As a whole, what it did before another turn.
                found = (change.old_mode, change.old_id)
        return found

    def _merged(self, identifier: str, change: Change) -> str:
        """A blob with a change taken out; where lines changed since, they are as before it."""
        names = []
        texts = self._repository.store.blobs([identifier, change.id, change.old_id])
        for number, text in enumerate(texts):
            names.append(os.path.join(self._scratch, f"merged-{number}"))
            with open(names[-1], "wb") as file:
                file.write(text or b"")
        done = self._repository.git.attempt("merge-file", "-p", "-q", "--theirs", *names)
        if done.status:
            # A binary file.
            return change.old_id
        return self._quarantine.store(b"blob", done.stdout).decode("ascii")

    def _state(self, files: Mapping[str, _File]) -> str:
        """The end of the turn with some files as they are given."""
        turn, store = self._work.turn, self._quarantine.store
        editor = TreeEditor.of(self._repository.store, turn.after, files)
        # Deletions first: a directory must be removed before a file can take its name.
        for path, (mode, identifier) in sorted(files.items(), key=lambda item: item[1][0]):
            item = None if mode == NO_FILE else Item(mode.encode(), identifier.encode())
            editor.put(os.fsencode(path), item)
        tree = editor.write(store).decode("ascii")
        if turn.end == NOW:
            return tree
        raw = raw_commit(tree, [], "own changes\n", FALLBACK_IDENTITY, time.time())
        return store(b"commit", raw).decode("ascii")


def compared_states(
    catalog: Catalog, named: Sequence[Checkpoint], *, turn: bool = False, after: bool = False
) -> Turn:
    """A checkpoint and another one or, if only one is named, the worktree.

    With `turn`, the beginning and the end of a turn, with `after`, the ends of two turns;
    RefusedError (`not_found`) if an end is unknown, ArgumentError if it is `turn` of more than one
    checkpoint, or both. It writes objects: see `temporary_objects`.
    """
    old, *more = named
    refuse_combined(turn=turn, after=after)
    if after:
        ends = [tree_after(catalog, each) for each in named]
        ends += [] if more else [current_tree(catalog.repository)]
        return Turn(old, NOW, own=(ends[0], ends[1]))
    if turn and more:
        raise ArgumentError("{} takes one checkpoint", "turn")
    if not turn:
        return Turn(old, NOW, more[0].tree if more else current_tree(catalog.repository))
    found = own_turn_of(catalog, old, partial(current_tree, catalog.repository))
    if not found.after:
        raise end_is_unknown(catalog, old)
    return found


def tree_after(catalog: Catalog, checkpoint: Checkpoint) -> str:
    """The tree at the end of a turn; RefusedError (`not_found`) if it is unknown."""
    found = turn_of(catalog, checkpoint, partial(current_tree, catalog.repository))
    if found.end == NOW:
        return found.after
    commit = catalog.store.commit(found.after) if found.after else None
    if commit is None:
        raise end_is_unknown(catalog, checkpoint)
    return commit.tree
