"""Turns: what changed between a checkpoint and the end of the turn that began with it.

The end of a turn is the state that a hook recorded below `refs/boocode/turn-ends/`; without one,
the next checkpoint of the worktree; without that, the worktree as it is now. Of the checkpoints
that a restore archived, the last turn ends at the state before that restore.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import (
    ARCHIVE,
    CHECKPOINTS,
    SAFETY,
    TURN_ENDS,
    Catalog,
    Checkpoint,
    without_index,
)
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.git import Git
from git_boocode.repo.metadata import Unusable
from git_boocode.repo.repository import Repository

END, NEXT, NOW = "end", "next", "now"
# Turns, of which a git process searches at least as many as it takes time to start, and processes.
_LEAST_SHARE, _MOST_SHARES = 32, 8
_HEADER = re.compile(rb"[0-9a-f]{40,64}(?: [0-9a-f]{40,64})?")


class Turn(NamedTuple):
    """A checkpoint, and the state at the end of the turn that it began.

    `until` is `end` if that state was recorded, `next` if it is a later checkpoint, `now` if it is
    the worktree. `after` is a commit, of the worktree a tree; both are empty if it is unknown, as
    for a checkpoint of another worktree that no other one follows.
    """

    checkpoint: Checkpoint
    until: str = ""
    after: str = ""

    @property
    def before(self) -> str:
        """The state at its beginning, of the same type of object as `after`."""
        return self.checkpoint.tree if self.until == NOW else self.checkpoint.commit.id


class ChangeCounts(NamedTuple):
    """The number of files that differ, and of their added and removed lines, binary files aside."""

    files: int
    added: int
    removed: int


def turns(
    catalog: Catalog, entries: Iterable[Checkpoint | Unusable], now: Callable[[], str]
) -> Iterator[Turn]:
    """The turns that some checkpoints began, which are listed newest first, and lazily.

    The entries include all checkpoints of a worktree that are newer than the one to end with. `now`
    returns the tree of the worktree, or an empty string; it is called at most once.
    """
    ends: dict[str, str] | None = None
    following: dict[tuple[str, str], str] = {}
    for entry in entries:
        if isinstance(entry, Unusable):
            continue
        if ends is None:
            ends = {ref.id: ref.target for ref in catalog.store.refs(TURN_ENDS)}
        # All of one worktree, which were taken here or fetched from one remote.
        line = entry.meta.worktree_key, entry.ref.rpartition("/")[0]
        after = following.get(line)
        following[line] = entry.commit.id
        if not entry.remote and entry.id in ends:
            yield Turn(entry, END, ends[entry.id])
        elif after is not None or (after := _before_restore(catalog, entry)):
            yield Turn(entry, NEXT, after)
        elif entry.ref.startswith(CHECKPOINTS) and catalog.is_ours(entry) and (tree := now()):
            yield Turn(entry, NOW, tree)
        else:
            yield Turn(entry)


def _before_restore(catalog: Catalog, entry: Checkpoint) -> str:
    """The safety checkpoint of the restore that archived a checkpoint; empty if there is none."""
    if not entry.ref.startswith(ARCHIVE):
        return ""
    restore = entry.ref.removeprefix(ARCHIVE).partition("/")[0]
    return next((ref.target for ref in catalog.store.refs(f"{SAFETY}{restore}")), "")


def turn_of(catalog: Catalog, checkpoint: Checkpoint, now: Callable[[], str]) -> Turn:
    """The turn that a checkpoint began; its end is unknown for a safety checkpoint."""
    if checkpoint.ref.startswith(SAFETY):
        return Turn(checkpoint)
    if checkpoint.ref.startswith(ARCHIVE):
        entries = catalog.archived(everywhere=True)
    elif checkpoint.remote:
        entries = catalog.fetched(checkpoint.remote)
    else:
        entries = catalog.newest_first(everywhere=True)
    found = turns(catalog, entries, now)
    # It may have been dropped meanwhile.
    return next((turn for turn in found if turn.checkpoint.ref == checkpoint.ref), Turn(checkpoint))


class Worktree:
    """The tree of the worktree as it is now, read when it is first asked for, or ahead."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._tree: str | None = None
        self._lock = Lock()

    def __call__(self) -> str:
        """The tree; empty if the worktree cannot be read. Its objects are temporary."""
        with self._lock:
            if self._tree is None:
                self._tree = ""
                with suppress(BoocodeError, OSError):
                    self._tree = current_tree(self._repository)
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


def count_changes(
    git: Git, compared: Sequence[Turn], options: Sequence[str] = (), pathspecs: Sequence[str] = ()
) -> list[ChangeCounts | None]:
    """What changed in each turn; None if its end is unknown or objects are missing.

    `options` are those of `git diff-tree` that select changes, such as `-S<text>`; a turn without
    such a change has changed no files. Pathspecs are relative to git's directory.
    """
    counted: dict[str, ChangeCounts] = {}
    known = [turn for turn in compared if turn.after]
    if options and len(known) > _LEAST_SHARE:
        _count_in_parallel(git, known, options, pathspecs, counted)
    else:
        _count(git, known, options, pathspecs, counted)
    return [counted.get(_key(turn)) if turn.after else None for turn in compared]


def _count(
    git: Git,
    compared: Sequence[Turn],
    options: Sequence[str],
    pathspecs: Sequence[str],
    counted: dict[str, ChangeCounts],
) -> None:
    """Count by `_key`; turns for which objects are missing are left out."""
    if not compared:
        return
    request = "".join(f"{_request(turn)}\n" for turn in compared).encode()
    arguments = ("--stdin", "-r", "-M", "--numstat", "--always", "--ignore-submodules=none")
    more = (*options, "--no-ext-diff", "--no-textconv", "--", *pathspecs)
    done = without_index(git).attempt("diff-tree", *arguments, *more, stdin=request)
    if done.status == 0:
        _add_up(done.stdout, counted)
    elif len(compared) > 1:
        # Git stops at a turn whose trees are missing.
        middle = len(compared) // 2
        for half in (compared[:middle], compared[middle:]):
            _count(git, half, options, pathspecs, counted)


def _count_in_parallel(
    git: Git,
    compared: Sequence[Turn],
    options: Sequence[str],
    pathspecs: Sequence[str],
    counted: dict[str, ChangeCounts],
) -> None:
    # A search reads every changed file. Only here, as this module takes a while to load.
    from concurrent.futures import ThreadPoolExecutor

    shares = min(os.cpu_count() or 1, _MOST_SHARES)
    with ThreadPoolExecutor(shares) as pool:
        running = [
            pool.submit(_count, git, compared[start::shares], options, pathspecs, counted)
            for start in range(shares)
        ]
        for each in running:
            each.result()


def _request(turn: Turn) -> str:
    # Git takes a commit and then its parent, but of two trees the old one first.
    return _key(turn) if turn.until == NOW else f"{turn.after} {turn.before}"


def _key(turn: Turn) -> str:
    """What git prints above the differences of a turn."""
    return f"{turn.before} {turn.after}" if turn.until == NOW else turn.after


def _add_up(output: bytes, counted: dict[str, ChangeCounts]) -> None:
    key, files, added, removed = "", 0, 0, 0
    for line in output.split(b"\n"):
        if _HEADER.fullmatch(line):
            key, files, added, removed = line.decode("ascii"), 0, 0, 0
            counted[key] = ChangeCounts(0, 0, 0)
        elif line:
            more, less, _ = line.split(b"\t", 2)
            files += 1
            # A binary file has no lines.
            added += int(more) if more != b"-" else 0
            removed += int(less) if less != b"-" else 0
            counted[key] = ChangeCounts(files, added, removed)
