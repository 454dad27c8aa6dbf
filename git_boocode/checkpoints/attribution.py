"""Which turn wrote the lines that a commit adds, found in the recorded states of all worktrees.

Nothing is carried along operations on commits: only the trees of the commit, its parents and the
recorded states are compared, so that a squash, a rebase, an amend or a cherry-pick needs nothing of
its own. The states of a worktree are one line of history, in which a line belongs to the interval
in which it first appears; `timeline` says which turn wrote in it. A line of the commit is that of
the state which has most of the commit's lines, and then of others for what that one does not have.
Where one of these answers is not sure, a line has no turn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.checkpoints.line_changes import (
    FileChange,
    Pair,
    kept_lines,
    line_changes,
    ranges_of,
)
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_work import RecordedHistory
from git_boocode.repo.ids import time_of
from git_boocode.repo.layout import CHECKPOINTS, REMOTE_TURN_ENDS, REMOTES
from git_boocode.repo.repository import Repository

_REGULAR = ("100644", "100755")
_WHO = ("agent", "session", "chat")
_TURN_BEGIN = "turn"  # the trigger of `turn begin`, with which a host says nothing of these
_WORD = re.compile(rb"\w|[^\x00-\x7f]")
# Messages in the reflog of HEAD of commits whose content was new in the worktree.
_COMMITTED = ("commit: ", "commit (initial): ", "commit (amend): ", "commit (merge): ")
_MOVE = re.compile(r"([0-9a-f]+) HEAD@\{(\d+)\} (.*)")
_NEWEST_MOVES = 1000  # of HEAD
_MOST_TIPS = 8
_MOST_SOURCES = 8
_CLOCK_ERROR = 2  # seconds
Writers = list[str]
"""By line of a file, the id of the turn that wrote it; empty for none."""


_Added = Mapping[str, tuple[Sequence[int], Sequence[str]]]
"""By path, the lines that a commit adds, from 0, and the names that the file may have had."""


class _Move(NamedTuple):
    """A move of HEAD; `makes` is whether it made the commit, of which the content is new."""

    commit: str
    time: int  # in seconds since 1970
    makes: bool


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
        self._histories: list[RecordedHistory] = []
        self._turns: dict[str, Checkpoint] = {}
        if catalog.store.refs(CHECKPOINTS, newest=1) or catalog.store.refs(REMOTES, newest=1):
            self._histories = RecordedHistory.all(catalog)
        for history in self._histories:
            for state in history.timeline.states:
                if state.turn in history.timeline.spans and state.turn not in self._turns:
                    begin = history.begin(state.turn)
                    is_begun = begin.meta.text("trigger") == _TURN_BEGIN
                    if is_begun or any(begin.meta.text(key) for key in _WHO):
                        self._turns[begin.id] = begin
        self._moves: list[_Move] | None = None
        self._texts: dict[str, list[bytes]] = {}

    @property
    def has_turns(self) -> bool:
        """Whether any turn is recorded."""
        return bool(self._turns)

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
        added = _added_lines(line_changes(git, pairs), pairs)
        if not any(lines for lines, _ in added.values()):
            return Attribution(identifier, {})
        paths = sorted({each for path, (_, names) in added.items() for each in (path, *names)})
        chains = [_Chain(self, history, paths) for history in self._histories]
        chains = [chain for chain in chains if chain.versions]
        places = ((chain, chain.place_of(commit.id, is_next=is_next)) for chain in chains)
        placed = [(chain, at) for chain, at in places if at >= 0]
        matcher = _Matcher(self, chains, commit.tree)
        found = matcher.writers(added, placed)
        files = {path: self._ranges(writers) for path, writers in found.items() if writers}
        return Attribution(identifier, files)

    def _ranges(self, writers: Mapping[int, str]) -> list[AttributedRange]:
        ranges = []
        for turn in dict.fromkeys(writers.values()):
            lines = sorted(number for number, writer in writers.items() if writer == turn)
            ranges += [
                AttributedRange(first + 1, last + 1, self._turns[turn])
                for first, last in ranges_of(lines)
            ]
        return sorted(ranges, key=lambda each: each.first)

    # What chains ask.

    def texts(self, blobs: Iterable[str]) -> dict[str, list[bytes]]:
        """The lines of blobs, without their endings; none of what is missing."""
        wanted = [*dict.fromkeys(blobs)]
        missing = [blob for blob in wanted if blob not in self._texts]
        contents = self._repository.store.blobs([each for each in missing if each.strip("0")])
        found = iter(contents)
        for blob in missing:
            self._texts[blob] = _split((next(found) if blob.strip("0") else b"") or b"")
        return {blob: self._texts[blob] for blob in wanted}

    @property
    def repository(self) -> Repository:
        """The repository."""
        return self._repository

    def is_turn(self, identifier: str) -> bool:
        """Whether a checkpoint began the turn of an agent."""
        return identifier in self._turns

    def moves(self) -> list[_Move]:
        """Where HEAD of this worktree moved, oldest first, as far as its reflog says."""
        if self._moves is None:
            form = (
                "log",
                "--no-show-signature",
                "-g",
                f"-{_NEWEST_MOVES}",
                "--date=unix",
                "--format=%H %gd %gs",
                "HEAD",
            )
            listed = self._repository.git.attempt(*form, "--").stdout.decode("utf-8", "replace")
            found = (_MOVE.fullmatch(line) for line in listed.split("\n"))
            moves = [_Move(m[1], int(m[2]), m[3].startswith(_COMMITTED)) for m in found if m]
            self._moves = moves[::-1]
        return self._moves


def _added_lines(changes: Mapping[Pair, Mapping[str, FileChange]], pairs: Sequence[Pair]) -> _Added:
    """By path, the lines, from 0, that no parent has, and other names that it may have had."""
    first, *others = (changes.get(pair, {}) for pair in pairs)
    found = {}
    removed = [path for path, change in first.items() if not change.mode.strip("0")]
    for path, change in first.items():
        lines = _lines_of(change)
        for other in others:
            lines &= _lines_of(other[path]) if path in other else set()
        is_new = not change.old_id.strip("0")
        names = removed[:_MOST_SOURCES] if is_new else [change.source] * (change.source != path)
        found[path] = (sorted(lines), names)
    return found


def _lines_of(change: FileChange) -> set[int]:
    if change.mode not in _REGULAR:
        return set()
    return {n for hunk in change.hunks or () for n in range(hunk.new, hunk.new + hunk.new_count)}


class _Version(NamedTuple):
    """A file from a state on, by the state's number."""

    number: int
    blob: str
    writers: Writers


class _Chain:
    """The recorded states of one worktree, with the writers of the lines of some files."""

    def __init__(self, asked: Attributor, history: RecordedHistory, paths: Sequence[str]) -> None:
        self.history = history
        self._asked = asked
        self._paths = paths
        self._repository = asked.repository
        self._states = [history.state(n) for n in range(len(history.timeline.states))]
        self._numbers = {entry.commit.id: number for number, entry in enumerate(self._states)}
        self.trees = [entry.tree for entry in self._states]
        self.versions: dict[str, list[_Version]] = {}
        # By path, lines that are gone without a turn having removed them, with the last version.
        self._removed: dict[str, dict[bytes, _Version]] = {}
        self._turns: dict[tuple[int, str], str] = {}
        pairs = [*zip([self._repository.empty_tree, *self.trees], self.trees, strict=False)]
        steps = line_changes(self._repository.git, pairs, paths)
        sources = self._other_sources(pairs, steps)
        more = [(tree, self.trees[n]) for n, each in sources.items() for tree, _ in each]
        steps = {**line_changes(self._repository.git, more, paths), **steps}
        changes = (change for found in steps.values() for change in found.values())
        asked.texts(change.id for change in changes if change.path in paths)
        for number, pair in enumerate(pairs):
            self._step(number, steps.get(pair, {}), sources.get(number, []), steps)

    def _step(
        self,
        number: int,
        changes: Mapping[str, FileChange],
        sources: Sequence[tuple[str, int | None]],
        steps: Mapping[Pair, Mapping[str, FileChange]],
    ) -> None:
        """Add the versions of the files that differ in a state from the one before."""
        found = []
        for path, change in changes.items():
            if path not in self._paths or change.mode not in (*_REGULAR, "000000"):
                continue
            old = self.at(change.source, number - 1)
            known = old.writers if old and old.blob == change.old_id else []
            count = _count(change, len(known))
            writers: list[str | None] = [None] * count
            for new, before in kept_lines(change.hunks or (), count):
                writers[new] = known[before] if before < len(known) else ""
            for tree, other in sources if None in writers else ():
                self._fill(writers, path, steps.get((tree, self.trees[number]), {}), other)
            writer = self._writer(number - 1, path) if number and None in writers else ""
            if writer:
                self._fill_returned(writers, path, change.id)
            version = _Version(number, change.id, [writer if w is None else w for w in writers])
            found.append((path, version))
        for path, version in found:
            self._note_removed(version, path)
            self.versions.setdefault(path, []).append(version)

    def _fill(
        self,
        writers: list[str | None],
        path: str,
        changes: Mapping[str, FileChange],
        other: int | None,
    ) -> None:
        """Give lines that came from elsewhere the writers that they have there, if known."""
        change = changes.get(path)
        source = change.source if change else path
        version = self.at(source, other) if other is not None else None
        known = version.writers if version else []
        for new, before in kept_lines(change.hunks or () if change else (), len(writers)):
            if writers[new] is None:
                writers[new] = known[before] if before < len(known) else ""

    def _fill_returned(self, writers: list[str | None], path: str, blob: str) -> None:
        """Give lines that no turn had removed the writers that they had before, as of a stash."""
        removed = self._removed.get(path)
        if not removed:
            return
        mine = self._asked.texts([blob])[blob]
        counts = Counter(mine)
        back = {removed[text].number: removed[text] for text in counts if text in removed}
        for _, older in sorted(back.items(), reverse=True):
            old = self._asked.texts([older.blob])[older.blob]
            theirs, last = Counter(old), -1
            for new, text in enumerate(mine):
                is_next = last >= 0 and old[last + 1 : last + 2] == [text]
                is_back = removed.get(text) is older and counts[text] == theirs[text] == 1
                is_sure = is_back and _WORD.search(text)
                last = old.index(text) if is_sure else last + 1 if is_next else -1
                if last >= 0 and writers[new] is None:
                    writers[new] = older.writers[last]

    def _note_removed(self, version: _Version, path: str) -> None:
        """Note which lines of a file a new version lacks without a turn having removed them."""
        older, removed = self.at(path, version.number), self._removed.setdefault(path, {})
        texts = self._asked.texts([version.blob, *([older.blob] if older else [])])
        for text in texts[version.blob] if removed else ():
            removed.pop(text, None)
        if older is None or len(texts[older.blob]) != len(older.writers):
            return
        if not self.is_turns(version.number - 1, path):
            gone = set(texts[older.blob]).difference(texts[version.blob])
            removed.update(dict.fromkeys(gone, older))

    def at(self, path: str, number: int) -> _Version | None:
        """The version of a file in a state."""
        earlier = (each for each in reversed(self.versions.get(path, ())) if each.number <= number)
        return next(earlier, None)

    def _writer(self, interval: int, path: str) -> str:
        turn = self._turn(interval, path)
        return turn if self._asked.is_turn(turn) else ""

    def _turn(self, interval: int, path: str) -> str:
        """The turn of anyone that wrote to a file in the interval after a state."""
        if (interval, path) not in self._turns:
            self._turns[interval, path] = self.history.timeline.writer(interval, path)
        return self._turns[interval, path]

    def _other_sources(
        self, pairs: Sequence[Pair], steps: Mapping[Pair, Mapping[str, FileChange]]
    ) -> dict[int, list[tuple[str, int | None]]]:
        """From where else a state may have lines, if any appear in it: trees, and their states.

        That is what a restore took, and commits that were not made in the worktree just then.
        """
        found = {}
        for number in range(1, len(self._states)):
            if not steps.get(pairs[number]):
                continue
            known = self.history.restored_from(number - 1)
            restored = [self._numbers[each] for each in known if each in self._numbers]
            sources: list[tuple[str, int | None]] = [(self.trees[n], n) for n in restored]
            old, new = self._states[number - 1].head, self._states[number].head
            if new and new != old:
                sources += self._foreign(number, old, new)
            if sources:
                found[number] = sources[:_MOST_SOURCES]
        return found

    def _foreign(self, number: int, old: str | None, new: str) -> Iterator[tuple[str, int | None]]:
        """Commits that came to a state from elsewhere, and states in which they were before."""
        form = (
            "log",
            "--no-show-signature",
            "--topo-order",
            "--format=%H %T %ct %ce",
            new,
            *([f"^{old}"] if old else []),
        )
        listed = self._repository.git.attempt(*form, "--").stdout.decode("utf-8", "replace")
        rows = [row.split(" ", 3) for row in listed.split("\n") if row]
        seen = {entry.head: n for n, entry in enumerate(self._states[:number])}
        foreign = [row for row in rows if row[0] in seen or not self._is_made(row, number, old)]
        if not rows:
            commit = self._repository.store.commit(new)
            foreign = [[new, commit.tree, "", ""]] if commit else []
        known = [seen[name] for name, *_ in foreign[:_MOST_SOURCES] if name in seen]
        yield from ((self.trees[earlier], earlier) for earlier in known)
        if foreign:
            yield foreign[0][1], None

    @cached_property
    def _moves(self) -> list[int]:
        """By state, the number of the move that HEAD had made last; empty if unknown."""
        newest, moves = self._states[-1], self._asked.moves()
        is_fetched = newest.ref.startswith((REMOTES, REMOTE_TURN_ENDS))
        is_here = newest.meta.worktree_key == self._repository.worktree_key
        if is_fetched or not is_here or not moves:
            return []
        found = [len(moves) - 1]
        for state in reversed(self._states):
            until = int(time_of(state.meta.text("id"))) + 1
            at = found[-1]
            while at >= 0 and (moves[at].commit != state.head or moves[at].time > until):
                at -= 1
            # What is not in the reflog was before all of it, or moved by other means.
            found.append(at if at >= 0 or state.head is None else found[-1])
        return found[::-1]

    def _is_made(self, row: Sequence[str], number: int, old: str | None) -> bool:
        """Whether a commit was made in the worktree between a state and the one before."""
        name, _, when, email = row
        state = self._states[number - 1]
        if self._moves:
            first, last = self._moves[number - 1 : number + 1]
            moves = self._asked.moves()[first + 1 : last + 1]
            return any(move.makes and move.commit == name for move in moves)
        if number == len(self._states):
            return False
        # Elsewhere only the committer and the time are known.
        form = (
            "show",
            "-s",
            "--no-show-signature",
            "--format=%ct %ce",
            state.commit.id,
            *([old] if old else []),
            "--",
        )
        done = self._repository.git.attempt(*form)
        if done.status:
            # A shallow clone may lack the base.
            return False
        rows = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
        (_, mine), *base = (line.split(" ", 1) for line in rows)
        begun, ended = (time_of(self._states[n].meta.text("id")) for n in (number - 1, number))
        is_during = begun - _CLOCK_ERROR <= int(when) <= ended + _CLOCK_ERROR
        # A clock that stands still proves nothing.
        return email == mine and (is_during or any(when == time for time, _ in base))

    def place_of(self, commit: str, *, is_next: bool) -> int:
        """The number of the state after which a commit was made in the worktree; -1 if unknown."""
        git = self._repository.git
        form = (
            "log",
            "--no-show-signature",
            f"-{_NEWEST_MOVES}",
            "--format=%H %T %ct %ce",
            commit,
            "--",
        )
        row, *older = git.attempt(*form).stdout.decode("utf-8", "replace").split("\n")[:-1]
        before = {each.partition(" ")[0] for each in older}
        on_it = (n for n, entry in enumerate(self._states) if (entry.head or "") in {"", *before})
        number = max(on_it, default=-1)
        if is_next:
            return number if self._moves and number + 1 == len(self._states) else -1
        if number < 0 or not self._is_made(
            row.split(" ", 3), number + 1, self._states[number].head
        ):
            return -1
        if number + 1 < len(self._states):
            after = self._states[number + 1].head or ""
            reached = git.attempt("merge-base", "--is-ancestor", commit, after or commit)
            return number if after and reached.status == 0 else -1
        return number

    def writer_after(self, number: int, path: str) -> str:
        """The turn that wrote to a file after a state, as far as recorded."""
        return self._writer(number, path)

    def committed(self, number: int) -> list[str]:
        """The commits and the tree of the staging area that git held at a state."""
        found = []
        for entry in self._states[number : number + 2]:
            index = entry.meta.part("index", "tree")
            found += [each for each in (entry.head, index) if each]
        return found

    def is_turns(self, interval: int, path: str) -> bool:
        """Whether a turn wrote to a file in the interval after a state."""
        return bool(self._turn(interval, path))


def _count(change: FileChange, old: int) -> int:
    """The number of lines of a file after a change."""
    if change.mode not in _REGULAR or change.hunks is None:
        return 0
    return old + sum(hunk.new_count - hunk.old_count for hunk in change.hunks)


class _Candidate(NamedTuple):
    """A version of a file in a chain that may have led to the commit's."""

    chain: _Chain
    path: str
    version: _Version
    texts: list[bytes]
    written: frozenset[bytes]  # the lines of turns that a commit may still have


class _Matcher:
    """Finds in the versions of files the lines of a commit."""

    def __init__(self, asked: Attributor, chains: Sequence[_Chain], tree: str) -> None:
        self._asked = asked
        self._repository = asked.repository
        self._chains = chains
        self._tree = tree
        self._blobs: dict[str, str] = {}

    def writers(
        self, added: _Added, placed: Sequence[tuple[_Chain, int]]
    ) -> dict[str, dict[int, str]]:
        """The turns that wrote lines of a commit, by path and number of the line.

        `placed` are the chains in whose worktrees it was made, with the state before it.
        """
        texts = self._texts(added)
        tips = {path: self._tips(path, added, texts) for path in added}
        pairs = [
            (each.chain.trees[each.version.number], self._tree)
            for found in tips.values()
            for each in found
        ]
        last = [(chain.trees[at], self._tree) for chain, at in placed]
        paths = sorted({each for path, (_, names) in added.items() for each in (path, *names)})
        changes = line_changes(self._repository.git, [*pairs, *last], paths)
        found: dict[str, dict[int, str]] = {}
        for path, (lines, _) in added.items():
            mine = texts.get(self._blobs.get(path, ""), [])
            left, known = set(lines), dict[int, str]()
            for tip in tips[path]:
                pair = (tip.chain.trees[tip.version.number], self._tree)
                change = changes.get(pair, {}).get(path)
                if (change.source if change else path) != tip.path:
                    continue
                for new, old in _sure(mine, tip, change):
                    writer = tip.version.writers[old]
                    if new in left and writer and mine[new] in tip.written:
                        known[new] = writer
                        left.discard(new)
            for chain, at in placed:
                change = changes.get((chain.trees[at], self._tree), {}).get(path)
                if change and left and (writer := chain.writer_after(at, path)):
                    fresh = left & _lines_of(change)
                    known |= dict.fromkeys(fresh, writer)
                    left -= fresh
            found[path] = known
        return found

    def _texts(self, added: _Added) -> dict[str, list[bytes]]:
        """The lines of all blobs that matter, without their endings."""
        entries = self._repository.store.tree(self._tree, sorted(added))
        self._blobs = {path: entry.id for path, entry in entries.items()}
        versions = [v for chain in self._chains for each in chain.versions.values() for v in each]
        return self._asked.texts([*self._blobs.values(), *(version.blob for version in versions)])

    def _tips(self, path: str, added: _Added, texts: Mapping[str, list[bytes]]) -> list[_Candidate]:
        """The versions in which to look for lines, the best one first."""
        lines, names = added[path]
        mine = texts.get(self._blobs.get(path, ""), [])
        left = {mine[number] for number in lines if number < len(mine)}
        candidates = [
            each
            for chain in self._chains
            for name in (path, *names)
            for each in self._candidates(chain, name, left, texts)
        ]
        whole, tips = Counter(mine), list[_Candidate]()

        def rank(each: _Candidate) -> tuple[int, int, str]:
            theirs = Counter(each.texts)
            differing = sum(((whole - theirs) + (theirs - whole)).values())
            state = each.chain.history.timeline.states[each.version.number]
            return len(left & each.written), -differing, state.id

        while candidates and left and len(tips) < _MOST_TIPS:
            best = max(candidates, key=rank)
            if not left & best.written:
                break
            tips.append(best)
            left -= best.written
            candidates = [each for each in candidates if left & each.written]
        return tips

    def _candidates(
        self, chain: _Chain, path: str, wanted: set[bytes], texts: Mapping[str, list[bytes]]
    ) -> Iterator[_Candidate]:
        """The versions that have wanted lines of turns.

        What a turn removed before it was committed or staged cannot be what the commit has.
        """
        versions = chain.versions.get(path, [])
        lost: set[bytes] = set()
        following: _Version | None = None
        for version in reversed(versions):
            lines = texts.get(version.blob, [])
            lost.intersection_update(lines)
            if following:
                gone = wanted.intersection(lines).difference(texts.get(following.blob, ()))
                lost |= self._lost(chain, path, following.number - 1, gone)
            following = version
            written = frozenset(
                text
                for text, writer in zip(lines, version.writers, strict=False)
                if writer and text in wanted and text not in lost
            )
            if written and len(lines) == len(version.writers):
                yield _Candidate(chain, path, version, lines, written)

    def _lost(self, chain: _Chain, path: str, interval: int, gone: set[bytes]) -> set[bytes]:
        """The lines that a turn removed in an interval, and that git had nowhere then."""
        if not gone or not chain.is_turns(interval, path):
            return set()
        store = self._repository.store
        held = store.lookup([f"{name}:{path}" for name in chain.committed(interval)])
        blobs = [*dict.fromkeys(info.id for info in held if info and info.kind == "blob")]
        return gone - {text for content in store.blobs(blobs) for text in _split(content or b"")}


def _split(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines[:-1] if lines[-1:] == [b""] else lines


def _sure(
    mine: Sequence[bytes], tip: _Candidate, change: FileChange | None
) -> Iterator[tuple[int, int]]:
    """The lines of a commit that are surely lines of a version, with their numbers there.

    Lines that stand alone between others that differ are sure if one of them occurs only once.
    """
    if change is None or change.hunks == ():
        # Nothing differs but the mode or the name.
        yield from zip(range(len(mine)), range(len(tip.texts)), strict=True)
        return
    if change.hunks is None:
        return
    counts, theirs = Counter(mine), Counter(tip.texts)
    for run in _runs(kept_lines(change.hunks, len(mine))):
        texts = [mine[new] for new, _ in run]
        if any(counts[t] == theirs[t] == 1 and _WORD.search(t) for t in texts):
            yield from run


def _runs(pairs: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Lines that follow each other in both files."""
    run: list[tuple[int, int]] = []
    for new, old in pairs:
        if run and (new, old) != (run[-1][0] + 1, run[-1][1] + 1):
            yield run
            run = []
        run.append((new, old))
    if run:
        yield run
