"""Which turn wrote the lines that a commit adds, found in the recorded states of all worktrees.

Nothing is carried along operations on commits: only the trees of the commit, its parents and the
recorded states are compared, so that a squash, a rebase, an amend or a cherry-pick needs nothing of
its own. A line has the turn that it has in the recorded state with most of the commit's lines, or,
if that state lacks it, in the next best one; states of the worktree where the commit was made come
first. A line whose turn is not sure has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from git_boocode.checkpoints.blob_lines import BlobLines, shared_lines
from git_boocode.checkpoints.head_moves import CommitLists, HeadHistory
from git_boocode.checkpoints.held_lines import HeldLines, HeldVersions
from git_boocode.checkpoints.state_lines import UNCLEAR, StateLines, WrittenVersion
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.tree_lines import (
    ChangedNames,
    TreeFileChange,
    TreePair,
    changed_names,
    diff_trees,
    kept_runs,
    ranges_of,
)
from git_boocode.checkpoints.turn_work import RecordedHistory
from git_boocode.repo.layout import CHECKPOINTS, REMOTES
from git_boocode.repo.object_writer import REGULAR
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit

_WHO = ("agent", "session", "chat")
_TURN_BEGIN = "turn"  # the trigger of `turn begin`, with which a host says nothing of these
_MOST_CANDIDATES = 8
_MOST_FORMER = 8  # former names of a new file, among those that the commit removes
_MOST_REMOVED = 100  # files that disappear at once, so that each may be a former name

_Added = Mapping[str, tuple[Sequence[int], Sequence[str]]]
"""By path, the lines that a commit adds, from 0, and other names that the file may have had."""


class AttributedRange(NamedTuple):
    """Lines of a file, 1-based and inclusive, that a turn wrote."""

    first: int
    last: int
    turn: Checkpoint


class Attribution(NamedTuple):
    """The lines that a commit adds and that turns wrote, by path."""

    commit: str
    files: Mapping[str, Sequence[AttributedRange]]

    @property
    def turns(self) -> list[Checkpoint]:
        """The turns, oldest first."""
        every = {each.turn.id: each.turn for ranges in self.files.values() for each in ranges}
        return [every[identifier] for identifier in sorted(every)]


class Attributor:
    """Attributes commits of a repository; what is recorded is read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        catalog = Catalog(repository)
        histories: list[RecordedHistory] = []
        self._turns: dict[str, Checkpoint] = {}
        if catalog.store.refs(CHECKPOINTS, newest=1) or catalog.store.refs(REMOTES, newest=1):
            histories = RecordedHistory.all(catalog)
        for history in histories:
            for state in history.timeline.states:
                if state.turn in history.timeline.spans and state.turn not in self._turns:
                    begin = history.begin(state.turn)
                    is_begun = begin.meta.text("trigger") == _TURN_BEGIN
                    if is_begun or any(begin.meta.text(key) for key in _WHO):
                        self._turns[begin.id] = begin
        # A checkpoint that an agent took in its own turn begins none.
        self._turns = {
            identifier: self._turns.get(begin.in_turn, begin)
            for identifier, begin in self._turns.items()
        }
        self._commits = CommitLists(repository)
        self._histories = [
            (history, HeadHistory(self._commits, history))
            for history in histories
            if history.timeline.states
        ]
        self._blobs = BlobLines(repository.store)
        recorded = {entry.commit.id for _, heads in self._histories for entry in heads.states}
        stashed = {each for _, heads in self._histories for each in heads.stashed}
        self._held = HeldVersions(repository, recorded, stashed)

    def expect(self, commits: Sequence[str]) -> None:
        """Prepare to attribute several commits, with less work for each."""
        self._held.expect(commits)

    @property
    def has_turns(self) -> bool:
        """Whether any turn is recorded."""
        return bool(self._turns)

    def is_turn(self, identifier: str) -> bool:
        """Whether a checkpoint began the turn of an agent."""
        return identifier in self._turns

    def keep_evidence(self) -> None:
        """See `HeldVersions.keep_used`."""
        self._held.keep_used()

    def attribute(self, identifier: str, *, is_next: bool = False) -> Attribution:
        """The lines that a commit adds against all its parents, and that turns wrote.

        `is_next` is whether it is about to be made in this worktree.
        """
        store, git = self._repository.store, self._repository.git
        commit = store.commit(identifier)
        if commit is None or not self._turns:
            return Attribution(identifier, {})
        parents = [found.tree for found in store.commits(commit.parents) if found]
        pairs = [(tree, commit.tree) for tree in parents or [self._repository.empty_tree]]
        added = _added_lines(diff_trees(git, pairs), pairs)
        if not any(lines for lines, _ in added.values()):
            return Attribution(identifier, {})
        names = {each for path, (_, names) in added.items() for each in (path, *names)}
        newest = self._commits.newest(commit.id)
        numbers = [heads.place_of(newest, is_next=is_next) for _, heads in self._histories]
        for renamed, (_, heads), at in zip(self._renamed, self._histories, numbers, strict=True):
            last = [(heads.states[at].tree, commit.tree)] if at >= 0 else []
            names |= _former_names([*changed_names(git, last).values(), *renamed], names)
        paths = sorted(names)
        held = HeldLines(self._held, self._blobs, paths)
        states, places = [], []
        for (history, heads), at in zip(self._histories, numbers, strict=True):
            lines = StateLines(self._repository, history, heads, held, self._blobs, self._turns)
            if lines.versions:
                states.append(lines)
            if at >= 0:
                places.append(_MadeAfter(lines, at))
        search = _LineSearch(self._repository, self._blobs, commit, added, paths, states, places)
        files = {path: self._ranges(writers) for path, writers in search.writers() if writers}
        return Attribution(identifier, files)

    @cached_property
    def _renamed(self) -> list[list[ChangedNames]]:
        """By worktree, the names of files that come and go between its states, newest first."""
        trees = [[entry.tree for entry in heads.states] for _, heads in self._histories]
        pairs = [[*pairwise(each)] for each in trees]
        found = changed_names(self._repository.git, (pair for each in pairs for pair in each))
        return [[found[pair] for pair in reversed(each) if pair in found] for each in pairs]

    def _ranges(self, writers: Mapping[int, str]) -> list[AttributedRange]:
        lines: dict[str, list[int]] = {}
        turns: dict[str, Checkpoint] = {}
        for number, writer in sorted(writers.items()):
            turn = self._turns[writer]
            turns[turn.id] = turn
            lines.setdefault(turn.id, []).append(number)
        ranges = [
            AttributedRange(first + 1, last + 1, turns[identifier])
            for identifier, numbers in lines.items()
            for first, last in ranges_of(numbers)
        ]
        return sorted(ranges, key=lambda each: each.first)


def _added_lines(
    changes: Mapping[TreePair, Mapping[str, TreeFileChange]], pairs: Sequence[TreePair]
) -> _Added:
    """The lines that no parent has."""
    first, *others = (changes.get(pair, {}) for pair in pairs)
    found = {}
    removed = [path for path, change in first.items() if not change.mode.strip("0")]
    for path, change in first.items():
        lines = _lines_of(change)
        for other in others:
            lines &= _lines_of(other[path]) if path in other else set()
        is_new = not change.old_id.strip("0")
        names = removed[:_MOST_FORMER] if is_new else [change.source] * (change.source != path)
        found[path] = (sorted(lines), names)
    return found


def _former_names(newest_first: Iterable[ChangedNames], names: Collection[str]) -> set[str]:
    """The names that files may have had before, in states whose files no commit needs to have."""
    found = {*names}
    for changed in newest_first:
        if not found.isdisjoint(changed.added) and len(changed.removed) <= _MOST_REMOVED:
            found |= changed.removed
    return found


def _lines_of(change: TreeFileChange) -> set[int]:
    if change.mode not in REGULAR:
        return set()
    return {n for hunk in change.hunks or () for n in range(hunk.new, hunk.new + hunk.new_count)}


class _MadeAfter(NamedTuple):
    """The states of the worktree in which a commit was made, and after which of them."""

    states: StateLines
    number: int

    @property
    def tree(self) -> str:
        """The tree of the state before the commit."""
        return self.states.trees[self.number]


class _LineSearch:
    """Finds in the versions of files the lines of a commit."""

    def __init__(
        self,
        repository: Repository,
        blobs: BlobLines,
        commit: Commit,
        added: _Added,
        paths: Sequence[str],
        states: Sequence[StateLines],
        places: Sequence[_MadeAfter],
    ) -> None:
        self._blobs = blobs
        self._commit = commit.id
        self._tree = tree = commit.tree
        self._added = added
        self._states = states
        self._places = places
        self._ids = {p: entry.id for p, entry in repository.store.tree(tree, [*added]).items()}
        versions = [v for each in states for found in each.versions.values() for v in found]
        blobs.read([*self._ids.values(), *(version.blob for version in versions)])
        self._candidates = {path: self._best(path) for path in added}
        pairs = [
            (each.states.trees[each.version.number], tree)
            for found in self._candidates.values()
            for each in found
        ]
        pairs += [(place.tree, tree) for place in places]
        self._changes = diff_trees(repository.git, pairs, paths)

    def writers(self) -> Iterator[tuple[str, dict[int, str]]]:
        """The turns that wrote lines of each file, by the number of the line."""
        for path, (lines, _) in self._added.items():
            left, known = set(lines), dict[int, str]()
            ours = [each for each in self._candidates[path] if self._is_of_worktree(each.states)]
            others = [each for each in self._candidates[path] if each not in ours]
            for candidate in ours:
                known |= self._of_version(path, candidate, left)
                left -= known.keys()
            for place in self._places:
                known |= self._after(path, place, left)
                left -= known.keys()
            for candidate in others:
                known |= self._of_version(path, candidate, left)
                left -= known.keys()
            yield path, {n: writer for n, writer in known.items() if writer != UNCLEAR}

    def _is_of_worktree(self, states: StateLines) -> bool:
        """Whether the commit was made in the worktree of the states."""
        is_placed = any(place.states is states for place in self._places)
        return is_placed or states.heads.has_made(self._commit)

    def _of_version(self, path: str, candidate: WrittenVersion, left: set[int]) -> dict[int, str]:
        """The writers of lines that are those of a version of the file."""
        change = self._change(path, candidate.states.trees[candidate.version.number])
        if (change.source if change else path) != candidate.path:
            return {}
        texts, writers = self._texts(path), candidate.version.writers
        if change is None or change.hunks == ():
            # Nothing differs but the mode or the name.
            runs = iter([(0, 0, len(texts))])
        elif change.hunks is None:
            return {}
        else:
            runs = kept_runs(change.hunks, candidate.texts, texts)
        if not self._is_of_worktree(candidate.states):
            # A line whose neighbours differ may be equal by chance.
            runs = (run for run in runs if run[2] > 1 or run[2] == len(texts))
        same = ((new + n, old + n) for new, old, count in runs for n in range(count))
        return {
            new: writers[old]
            for new, old in same
            if new in left and writers[old] and texts[new] in candidate.written
        }

    def _after(self, path: str, place: _MadeAfter, left: set[int]) -> dict[int, str]:
        """The writers of lines that appeared after the last state before the commit was made."""
        changes = self._changes.get((place.tree, self._tree), {})
        if path not in changes:
            return {}
        lines = left & _lines_of(changes[path])
        # Of lines that the next state has, the writers are known.
        following = place.states.at(path, place.number + 1)
        if following and following.number > place.number:
            texts = self._blobs.of(following.blob)
            lines -= shared_lines(self._texts(path), texts, lines, {*texts}).keys()
        found = place.states.writers_after(place.number, changes[path], sorted(lines), changes)
        return {line: writer for line, writer in found.items() if writer}

    def _change(self, path: str, tree: str) -> TreeFileChange | None:
        return self._changes.get((tree, self._tree), {}).get(path)

    def _texts(self, path: str) -> list[bytes]:
        return self._blobs.of(self._ids[path]) if path in self._ids else []

    def _best(self, path: str) -> list[WrittenVersion]:
        """The versions in which to look for lines, the best one first."""
        lines, names = self._added[path]
        mine = self._texts(path)
        left = {mine[number] for number in lines if number < len(mine)}
        candidates = [
            each
            for states in self._states
            for name in (path, *names)
            for each in states.candidates(name, left)
        ]
        whole, found = Counter(mine), list[WrittenVersion]()

        def likeness(each: WrittenVersion) -> tuple[int, str]:
            texts = Counter(each.texts)
            differing = sum(((whole - texts) + (texts - whole)).values())
            return -differing, each.states.history.timeline.states[each.version.number].id

        # Of equally good ones, the first of these.
        candidates.sort(key=likeness, reverse=True)

        def rank(each: WrittenVersion) -> tuple[bool, int]:
            return self._is_of_worktree(each.states), len(left & each.written)

        while candidates and left and len(found) < _MOST_CANDIDATES:
            best = max(candidates, key=rank)
            if not left & best.written:
                break
            found.append(best)
            left -= best.written
            candidates = [each for each in candidates if left & each.written]
        return found
