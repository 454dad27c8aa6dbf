"""Turns: what changed between a checkpoint and the end of the turn that began with it.

A turn ends at the state that a hook recorded below `refs/boocode/turn-ends/`; without one, at the
next checkpoint of the worktree, also if a restore archived it, or before the next restore there,
whichever came first; without these, it goes on, and its end is the worktree as it is now. A
checkpoint of some paths ends no turn but those of the same paths, and only these paths are compared
in its own turn. One that an agent took during its own turn begins and ends none.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import Lock, Thread
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import (
    Catalog,
    Checkpoint,
    compare_trees,
    turn_end_ref,
)
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.scan import current_snapshot
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import BoocodeError, NextStep, RefusedError
from git_boocode.repo.layout import (
    ARCHIVE,
    CHECKPOINTS,
    REMOTE_TURN_ENDS,
    SAFETY,
    TOOL_STATES,
    TURN_ENDS,
)
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, ShortIds

RECORDED, CHECKPOINT, RESTORE, NOW = "recorded", "checkpoint", "restore", "now"
TOP = ":(top,literal)"


_Entries = Iterator[Checkpoint | Unusable]


class Turn(NamedTuple):
    """A checkpoint, and the state at the end of the turn that it began.

    `end` is `recorded`, `checkpoint` or `restore` for the state at the next one, or `now`. `after`
    is a commit, of the worktree a tree. Both are empty if the end is unknown, as for a checkpoint
    of another worktree that no other one follows. `paths` are pathspecs of the only paths to
    compare, empty for all. If turns of other sessions were open meanwhile, `own` are two states
    that differ in what this one changed, and `shared` the paths that others may have changed with
    it, with the ids of their turns; see `turn_work`.
    """

    checkpoint: Checkpoint
    end: str = ""
    after: str = ""
    paths: tuple[str, ...] = ()
    own: tuple[str, str] | None = None
    shared: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @property
    def key(self) -> str:
        """Distinguishes it from other turns, and from itself with another end."""
        return " ".join((self.checkpoint.ref, *self.states))

    @property
    def before(self) -> str:
        """The state at its beginning, of the same type of object as `after`."""
        return self.checkpoint.tree if self.end == NOW else self.checkpoint.commit.id

    @property
    def states(self) -> tuple[str, str]:
        """The two states to compare, of the same type of object."""
        return self.own or (self.before, self.after)

    def compared(self, pathspecs: Sequence[str] = ()) -> list[str]:
        """The arguments with which git shows what it changed; its end is known."""
        return [*self.states, "--", *(self.paths or pathspecs)]


def everything(_: Checkpoint) -> bool:
    """Wants every checkpoint."""
    return True


def turns(
    catalog: Catalog,
    entries: Iterable[Checkpoint | Unusable],
    now: Callable[[], str],
    wanted: Callable[[Checkpoint], bool] = everything,
    recorded: RecordedStates | None = None,
) -> Iterator[Turn]:
    """The turns that the wanted checkpoints began, which are listed newest first, and lazily.

    The entries include all checkpoints of a worktree that are newer than the one to end with. `now`
    returns the tree of the worktree, or an empty string if it cannot be read.
    """
    recorded = recorded or RecordedStates(catalog)
    histories: dict[tuple[str, str], _LaterCheckpoints] = defaultdict(_LaterCheckpoints)
    for entry in entries:
        if isinstance(entry, Unusable):
            continue
        # The checkpoints of one worktree, taken here, fetched from one remote, or archived at once.
        later = histories[entry.meta.worktree_key, entry.ref.rpartition("/")[0]]
        paths = only_paths(entry)
        if wanted(entry):
            end, after = recorded.end_of(entry, later.after(paths))
            is_open = entry.ref.startswith(CHECKPOINTS) and catalog.is_ours(entry)
            if not after and is_open and paths is not None and (tree := now()):
                end, after = NOW, tree
            yield Turn(entry) if paths is None else Turn(entry, end, after, paths)
        later.add(entry, paths)


def turn_of(
    catalog: Catalog,
    checkpoint: Checkpoint,
    now: Callable[[], str],
    recorded: RecordedStates | None = None,
    observed: Callable[[_Entries], _Entries] = iter,
) -> Turn:
    """The turn that a checkpoint began; its end is unknown for a safety checkpoint.

    `observed` looks at the checkpoint and the newer ones beside it, and returns them.
    """
    if checkpoint.ref.startswith(SAFETY):
        return Turn(checkpoint)
    entries = _beside_it(catalog, checkpoint)

    found = turns(
        catalog, observed(entries), now, lambda entry: entry.ref == checkpoint.ref, recorded
    )
    # It may have been dropped meanwhile.
    return next(found, Turn(checkpoint))


def _beside_it(catalog: Catalog, checkpoint: Checkpoint) -> Iterator[Checkpoint | Unusable]:
    """The checkpoints taken here, fetched from one remote, or archived, as one is, newest first."""
    if checkpoint.ref.startswith(ARCHIVE):
        return catalog.archived(everywhere=True)
    if checkpoint.remote:
        return catalog.fetched(checkpoint.remote)
    return catalog.newest_first(everywhere=True)


def following_turn(
    entries: Iterable[Checkpoint | Unusable], turn: Checkpoint, end: str
) -> Checkpoint | None:
    """The next turn of the conversation of a turn that ended with a state of this id, among some.

    None if there is none: the conversation has not gone on since.
    """
    key = "chat" if turn.meta.text("chat") else "session"
    if not turn.meta.text(key):
        return None
    later = (
        entry
        for entry in entries
        # Tools of the turn may have checkpoints, too.
        if not (isinstance(entry, Unusable) or entry.id < end or entry.in_turn)
        and all(entry.meta.text(each) == turn.meta.text(each) for each in ("agent", key))
    )
    return min(later, key=lambda entry: entry.id, default=None)


def end_is_unknown(catalog: Catalog, checkpoint: Checkpoint) -> RefusedError:
    """The refusal (`not_found`) if it is unknown how the turn of a checkpoint ended."""
    short = ShortIds(catalog.store)
    if checkpoint.in_turn:
        return RefusedError(
            f"{short(checkpoint.id)} began no turn: it was taken during another one",
            code="not_found",
            hints=(f"it was taken in the turn {short(checkpoint.in_turn)}",),
        )
    if checkpoint.ref.startswith(SAFETY):
        typed = f"'git boocode restore {short(checkpoint.id)}'"
        text = "{} goes back to that state"
        return RefusedError(
            f"{short(checkpoint.id)} began no turn: it is a safety checkpoint",
            code="not_found",
            hints=(NextStep(text, "restore", checkpoint.id, typed=typed),),
        )
    return RefusedError(
        f"it is unknown how the turn of {short(checkpoint.id)} ended",
        code="not_found",
        hints=("its end was not recorded, and no later checkpoint of that worktree is here",),
    )


def turn_around(catalog: Catalog, state: Checkpoint) -> Checkpoint | None:
    """The checkpoint that began the turn in which one that began none was taken, by its session."""
    keys = ("agent", "session")
    for entry in _beside_it(catalog, state):
        if isinstance(entry, Unusable) or entry.id >= state.id or only_paths(entry) != ():
            continue
        if state.in_turn not in ("", entry.id):
            continue
        is_here = entry.meta.worktree_key == state.meta.worktree_key
        if is_here and all(entry.meta.text(key) == state.meta.text(key) for key in keys):
            return entry
    return None


def only_paths(checkpoint: Checkpoint) -> tuple[str, ...] | None:
    """Pathspecs of the only paths of a checkpoint's turn, empty for all; None if unknown.

    A pattern is unknown, because it may match other paths at the end of the turn. None also for a
    checkpoint that begins no turn.
    """
    if checkpoint.in_turn:
        return None
    partial = checkpoint.meta.table("partial")
    specs, prefix = partial.get("paths"), partial.get("prefix")
    if not isinstance(specs, list) or not isinstance(prefix, str):
        return None if partial else ()
    names = []
    for spec in specs:
        if not isinstance(spec, str) or re.search(r"[*?\[\\]|^:(?!\(top,literal\))", spec):
            return None
        is_whole = spec.startswith(TOP)
        name = spec.removeprefix(TOP) if is_whole else posixpath.join(prefix, spec)
        names.append(TOP + posixpath.normpath(name).removeprefix("."))
    return tuple(sorted(names))


class _LaterCheckpoints:
    """The checkpoints of one worktree that are newer than those still to come."""

    def __init__(self) -> None:
        self._whole: Checkpoint | None = None
        self._of_paths: dict[tuple[str, ...], Checkpoint] = {}

    def after(self, paths: tuple[str, ...] | None) -> Checkpoint | None:
        """The next checkpoint that recorded all of the paths, empty for all paths."""
        return self._of_paths.get(paths or (), self._whole)

    def add(self, checkpoint: Checkpoint, paths: tuple[str, ...] | None) -> None:
        """Add the next older checkpoint."""
        if paths:
            self._of_paths[paths] = checkpoint
        elif paths is not None:
            self._whole = checkpoint
            self._of_paths.clear()


class RecordedStates:
    """The recorded ends of turns, and the states before restores, listed when first needed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._worktrees: dict[Ref, str] | None = None

    @cached_property
    def _refs(self) -> list[Ref]:
        store = self._catalog.store
        return store.refs(TURN_ENDS, REMOTE_TURN_ENDS, TOOL_STATES, SAFETY, ARCHIVE)

    def _below(self, *prefixes: str) -> list[Ref]:
        return [ref for ref in self._refs if ref.name.startswith(prefixes)]

    @cached_property
    def _targets(self) -> dict[str, str]:
        return {ref.name: ref.target for ref in self._below(TURN_ENDS, REMOTE_TURN_ENDS)}

    @cached_property
    def _restores(self) -> list[Ref]:
        return sorted(self._below(SAFETY))

    @cached_property
    def safety(self) -> list[Checkpoint]:
        """The safety checkpoints of all worktrees, newest first."""
        entries = self._catalog.entries(self._below(SAFETY))
        return [entry for entry in entries if not isinstance(entry, Unusable)]

    @cached_property
    def archived(self) -> dict[str, Ref]:
        """The archived checkpoints by their ids."""
        return {ref.id: ref for ref in self._below(ARCHIVE)}

    @cached_property
    def signs(self) -> list[Checkpoint]:
        """The recorded ends and the states around tool calls."""
        entries = self._catalog.entries(self._below(TURN_ENDS, TOOL_STATES))
        return [entry for entry in entries if not isinstance(entry, Unusable)]

    @cached_property
    def ends(self) -> dict[str, Checkpoint]:
        """The recorded ends by the ids of the turns."""
        return {sign.ref.removeprefix(TURN_ENDS): sign for sign in self.signs}

    def end_of(self, checkpoint: Checkpoint, following: Checkpoint | None) -> tuple[str, str]:
        """How the turn of a checkpoint ended, and at which commit; empty if it is not recorded."""
        if end := self._targets.get(turn_end_ref(checkpoint.ref)):
            return RECORDED, end
        before = following.id if following else None
        if not checkpoint.remote and (restore := self.restore_between(checkpoint, before)):
            if archived := self._archived_between(checkpoint, restore.id):
                # The next turn left the log by that restore, or by an earlier one.
                return CHECKPOINT, archived.commit.id
            return RESTORE, restore.target
        return (CHECKPOINT, following.commit.id) if following else ("", "")

    def restore_between(self, checkpoint: Checkpoint, before: str | None) -> Ref | None:
        """The first restore of the checkpoint's worktree after it, and before another id."""
        first = bisect_right(self._restores, f"{SAFETY}{checkpoint.id}", key=lambda ref: ref.name)
        for ref in self._restores[first:]:
            if before is not None and ref.id > before:
                return None
            if self._worktree_of(ref) == checkpoint.meta.worktree_key:
                return ref
        return None

    def _archived_between(self, checkpoint: Checkpoint, before: str) -> Checkpoint | None:
        """The first archived turn of the checkpoint's worktree after it, and before another id."""
        if not checkpoint.ref.startswith(CHECKPOINTS):
            return None
        refs = [self.archived[each] for each in self.archived if checkpoint.id < each < before]
        for entry in self._catalog.entries(sorted(refs, key=lambda ref: ref.id)):
            if isinstance(entry, Unusable) or only_paths(entry) != ():
                continue
            if entry.meta.worktree_key == checkpoint.meta.worktree_key:
                return entry
        return None

    def _worktree_of(self, ref: Ref) -> str | None:
        if self._worktrees is None:
            self._worktrees = {
                Ref(entry.ref, entry.commit.id): entry.meta.worktree_key
                for entry in self.safety
                if not entry.meta.table("restore").get("proposal")
            }
        return self._worktrees.get(ref)


class CurrentTree:
    """The tree of the worktree as it is now, read when it is first asked for, or ahead.

    `error` is why it could not be read, `skipped` are files that could not be read, each with the
    reason; both are known afterwards.
    """

    def __init__(self, repository: Repository) -> None:
        self.error: BoocodeError | OSError | None = None
        self.skipped: list[Skipped] = []
        self._repository = repository
        self._tree: str | None = None
        self._lock = Lock()

    def __call__(self) -> str:
        """The tree, whose objects are temporary; empty if the worktree cannot be read."""
        with self._lock:
            if self._tree is None:
                self._tree = ""
                try:
                    snapshot = current_snapshot(self._repository)
                except (BoocodeError, OSError) as error:
                    self.error = error
                else:
                    self._tree, self.skipped = snapshot.tree, snapshot.skipped
            return self._tree

    @contextmanager
    def read_ahead(self) -> Iterator[None]:
        """Read it beside other work, which saves a search about a tenth of its time."""
        thread = Thread(target=self)
        thread.start()
        try:
            yield
        finally:
            thread.join()


def comparison_json(
    repository: Repository, old: str, new: str, paths: Sequence[str]
) -> dict[str, object]:
    """The JSON answer of `diff` for two trees; `paths` are pathspecs, empty for all."""
    changes, text = compare_trees(repository, old, new, paths)
    return {"ok": True, "files": [change.as_json() for change in changes], "diff": text}
