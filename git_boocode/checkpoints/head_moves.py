"""Where HEAD of a worktree was at its recorded states, and which commits were made between them.

The worktree's reflog says it by the order of its moves, not by times, which are those of commits
and may be any. Elsewhere, only the committer and the time of a commit are known.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.turn_work import RecordedHistory
from git_boocode.repo.ids import OBJECT_ID, time_of
from git_boocode.repo.layout import REMOTE_TURN_ENDS, REMOTES
from git_boocode.repo.repository import Repository

_FORM = "--format=%H %T %ct %ce"
_MOVE = re.compile(r"([0-9a-f]+) \S*HEAD@\{(\d+)\} (.*)")
# Messages in the reflog of HEAD of commits that were made in the worktree.
_MADE = re.compile(
    r"(commit|cherry-pick|revert|am|rebase|pull|merge)\b"
    r"(?!.*(\((start|finish|abort)\)|: Fast-forward))"
)
_NEWEST = 1000  # moves of HEAD, and commits of a history
_MOST_NAMES = 50
_CLOCK_ERROR = 2  # seconds
_USUAL_CAPTURE = 5  # seconds that nearly all checkpoints take at most


class ListedCommit(NamedTuple):
    """A commit, its tree, and when (seconds since 1970) and by whose address it was committed."""

    id: str
    tree: str
    time: int
    email: str


class ListedMove(NamedTuple):
    """A move of HEAD: the commit at which it was then, and whether it was made by that move.

    `is_new` is whether git would hold its content elsewhere, too, if it was not new: it was made of
    no patch.
    """

    commit: str
    time: int
    is_made: bool
    is_new: bool
    is_committed: bool  # by `git commit`


class CommitLists:
    """Commits of a repository, and the moves of HEAD of its worktrees, each read once."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._between: dict[tuple[str, str | None], list[ListedCommit]] = {}
        self._shown: dict[tuple[str, ...], list[ListedCommit]] = {}
        self._parents: dict[str, list[str]] = {}
        self._rows: dict[str, ListedCommit] = {}
        self._moves: dict[str, list[ListedMove]] = {}
        self._reflogs: dict[str, list[ListedMove]] = {}
        self._arrived: dict[str, set[str]] = {}
        self._stashed: dict[str, frozenset[str]] = {}
        self._written: dict[str, float] = {}

    def stashed(self, entries: Collection[str]) -> set[str]:
        """The commits of stash entries, also of what was staged or untracked, if they exist."""
        missing = [entry for entry in entries if entry not in self._stashed]
        for entry, found in zip(missing, self.repository.store.commits(missing), strict=True):
            ids = (entry, *found.parents[1:]) if found else ()
            self._stashed[entry] = frozenset(ids)
        return {commit for entry in entries for commit in self._stashed[entry]}

    def between(self, new: str, old: str | None) -> list[ListedCommit]:
        """The commits that can be reached from one and not from another, in topological order."""
        if (new, old) not in self._between:
            without = [f"^{old}"] if old else []
            found = self._chain(new, old) or self._listed("log", "--topo-order", new, *without)
            self._between[new, old] = found
        return self._between[new, old]

    def expect(self, heads: Sequence[str]) -> None:
        """Read the commits between heads at once; `between` asks git only about merges."""
        form = ("log", "--no-show-signature", "--ignore-missing", "--stdin", f"{_FORM}%x00%P")
        request = "".join(f"{head}\n" for head in (*dict.fromkeys(heads), f"^{heads[0]}"))
        done = self.repository.git.attempt(*form, stdin=request.encode())
        for line in done.stdout.decode("utf-8", "replace").split("\n"):
            about, _, parents = line.partition("\0")
            if row := _row(about):
                self._rows[row.id], self._parents[row.id] = row, parents.split()

    def _chain(self, new: str, old: str | None) -> list[ListedCommit]:
        """The commits between two if each has one parent and was read; else none."""
        found = []
        while new != old:
            parents = self._parents.get(new, [])
            if len(parents) != 1:
                return []
            found.append(self._rows[new])
            new = parents[0]
        return found

    def reached(self, commits: Collection[str], old: str | None) -> set[str]:
        """The commits that can be reached from some of these and not from another one."""
        form = ("rev-list", "--ignore-missing", "--stdin")
        asked = "".join(f"{each}\n" for each in (*sorted(commits), *([f"^{old}"] if old else [])))
        return {*self.repository.git.attempt(*form, stdin=asked.encode()).stdout.decode().split()}

    def newest(self, commit: str) -> list[ListedCommit]:
        """A commit, and the newest ones before it."""
        return self._listed("log", f"-{_NEWEST}", commit)

    def shown(self, *commits: str) -> list[ListedCommit]:
        """These commits; none if one of them is missing, as the base in a shallow clone may be."""
        if commits not in self._shown:
            self._shown[commits] = self._listed("show", "-s", *commits)
        return self._shown[commits]

    def written(self, commit: str) -> float:
        """When git wrote a commit here, in seconds since 1970; 0 if it has no file of its own.

        Dates in commits have no parts of seconds, and may be any.
        """
        if commit not in self._written:
            path = os.path.join(self.repository.common_dir, "objects", commit[:2], commit[2:])
            self._written[commit] = 0.0
            with suppress(OSError):
                self._written[commit] = os.stat(path).st_mtime
        return self._written[commit]

    def is_copied(self, state: Checkpoint) -> bool:
        """Whether files were copied here since a state, so that `written` says nothing of then."""
        begun, head = _time(state), self.written(state.head) if state.head else 0.0
        # A slow first capture is written late, too, but its HEAD was written before it began.
        was_before = 0 < head <= begun
        return not was_before and self.written(state.commit.id) > begun + _USUAL_CAPTURE

    def is_ancestor(self, commit: str, other: str) -> bool:
        """Whether a commit is another one or can be reached from it."""
        done = self.repository.git.attempt("merge-base", "--is-ancestor", commit, other)
        return done.status == 0

    def _listed(self, command: str, *arguments: str) -> list[ListedCommit]:
        form = (command, "--no-show-signature", _FORM, *arguments, "--")
        done = self.repository.git.attempt(*form)
        lines = done.stdout.decode("utf-8", "replace").split("\n") if not done.status else []
        return [row for row in map(_row, lines) if row]

    def note_arrivals(self, worktree_key: str, commits: set[str]) -> None:
        """Note that HEAD of a worktree came to commits, as far as its states say."""
        self._arrived.setdefault(worktree_key, set()).update(commits)

    def moves(self, worktree_key: str) -> list[ListedMove]:
        """Where HEAD of a worktree moved, oldest first, as far as its reflog says.

        A commit that was picked onto its own parent within a second is itself: it was made where
        it was committed.
        """
        if worktree_key not in self._moves:
            listed = self._reflog(worktree_key)
            picked = {each.commit for each in listed if each.is_made and not each.is_committed}
            others = [key for key in self._heads if key != worktree_key] if picked else []
            elsewhere = {
                each.commit for key in others for each in self._reflog(key) if each.is_committed
            }
            # The reflog of a worktree that was removed is gone.
            for key, commits in self._arrived.items():
                elsewhere |= commits if key not in self._heads else set()
            self._moves[worktree_key] = [
                each._replace(is_made=False, is_new=False)
                if each.commit in elsewhere and not each.is_committed
                else each
                for each in listed
            ]
        return self._moves[worktree_key]

    @cached_property
    def committed(self) -> set[str]:
        """The commits that were made in the worktrees that exist here."""
        moves = (move for key in self._heads for move in self._reflog(key))
        return {move.commit for move in moves if move.is_committed}

    def _reflog(self, worktree_key: str) -> list[ListedMove]:
        if worktree_key not in self._reflogs:
            name = self._heads.get(worktree_key)
            self._reflogs[worktree_key] = self._listed_moves(name) if name else []
        return self._reflogs[worktree_key]

    def _listed_moves(self, head: str) -> list[ListedMove]:
        form = ("log", "--no-show-signature", "-g", f"-{_NEWEST}", "--date=unix")
        done = self.repository.git.attempt(*form, "--format=%H %gd %gs", head, "--")
        lines = done.stdout.decode("utf-8", "replace").split("\n")
        found = []
        for move in (_MOVE.fullmatch(line) for line in lines):
            if move:
                commit, time, message = move.groups()
                is_made, is_committed = bool(_MADE.match(message)), message.startswith("commit")
                is_new = is_made and not message.startswith("am")
                found.append(ListedMove(commit, int(time), is_made, is_new, is_committed))
        return found[::-1]

    @cached_property
    def _heads(self) -> dict[str, str]:
        return self.repository.worktree_heads()


class HeadHistory:
    """The states of one worktree, and the moves of its HEAD between them.

    A state's number is that of `RecordedHistory.state`.
    """

    def __init__(self, lists: CommitLists, history: RecordedHistory) -> None:
        self._lists = lists
        self._repository = lists.repository
        self.states = [history.state(n) for n in range(len(history.timeline.states))]
        self._reached: dict[int, set[str]] = {}
        self._is_expected = False
        heads = [state.head for state in self.states]
        arrived = {new for old, new in pairwise(heads) if new and new != old}
        lists.note_arrivals(self.states[-1].meta.worktree_key, arrived)

    @cached_property
    def _moves(self) -> list[ListedMove]:
        """The moves of HEAD; empty if unknown."""
        return self._lists.moves(self.states[-1].meta.worktree_key) if self.is_here else []

    @cached_property
    def _last_moves(self) -> list[int]:
        """By state, the number of the move that HEAD had made last; empty if unknown."""
        moves = self._moves
        if not moves:
            return []
        # A commit that is made again is written again.
        made = {move.commit: number for number, move in enumerate(moves) if move.is_made}
        written = {number: self._lists.written(commit) for commit, number in made.items()}
        latest = [*accumulate((written.get(number, 0.0) for number in range(len(moves))), max)]
        found = [len(moves) - 1]
        for state in reversed(self.states):
            time = _time(state)
            written_by = math.inf if self._lists.is_copied(state) else time
            at = found[-1]
            while at >= 0 and (
                moves[at].commit != state.head
                or moves[at].time > int(time) + 1
                or latest[at] > written_by
            ):
                at -= 1
            # What is not in the reflog was before all of it, or moved by other means.
            found.append(at if at >= 0 or state.head is None else found[-1])
        return found[::-1]

    def moves_after(self, number: int) -> list[ListedMove]:
        """The moves of HEAD between a state and the next one, if known."""
        if not self._last_moves:
            return []
        first, last = self._last_moves[number : number + 2]
        return self._moves[first + 1 : last + 1]

    def foreign(self, number: int) -> Iterator[tuple[str, int | None]]:
        """Trees of commits that came to a state from elsewhere, since the state before.

        Each with the state at which HEAD was at it, if it was; of the others, the newest one.
        """
        old, new = self.states[number - 1].head, self.states[number].head
        if not new or new == old:
            return
        if not self._is_expected:
            self._is_expected = True
            self._lists.expect([state.head for state in self.states if state.head])
        rows = self._lists.between(new, old)
        seen = {entry.head: n for n, entry in enumerate(self.states[:number])}
        foreign = [row for row in rows if row.id in seen or not self._is_new(row, number)]
        if not rows:
            # HEAD moved back.
            foreign = self._lists.shown(new)
        for row in foreign:
            if row.id in seen:
                yield self.states[seen[row.id]].tree, seen[row.id]
        if foreign:
            yield foreign[0].tree, None

    def held_blobs(self, number: int, path: str) -> list[str]:
        """The blobs of a file that git had in commits and the index between a state and the next.

        In those at which HEAD was, as far as known.
        """
        names = [move.commit for move in self.moves_after(number)][-_MOST_NAMES:]
        for entry in self.states[number : number + 2]:
            index = entry.meta.part("index", "tree")
            names += [each for each in (entry.head, index) if each]
        found = self._repository.store.lookup([f"{name}:{path}" for name in dict.fromkeys(names)])
        return [*dict.fromkeys(info.id for info in found if info and info.kind == "blob")]

    @property
    def is_here(self) -> bool:
        """Whether the worktree is, or was, one of this repository: its states were not fetched."""
        return not self.states[-1].ref.startswith((REMOTES, REMOTE_TURN_ENDS))

    def is_own(self, commit: str, tree: str, number: int) -> bool:
        """Whether a commit was made in the worktree after a state, or is of a stash entry of then.

        Where the reflog is unknown: whether it can be reached from where HEAD was later, and not
        from where it was at the state, and was not made in another worktree; or whether it has all
        that was in the worktree, or staged, at a later state, and not before.
        """
        if self._stashed.get(commit, -1) > number:
            return True
        if self._moves:
            return self._made.get(commit, -1) > self._last_moves[number]
        if self._first_trees.get(tree, -1) > number:
            return True
        if number not in self._reached:
            later = {entry.head for entry in self.states[number + 1 :] if entry.head}
            reached = self._lists.reached(later, self.states[number].head)
            self._reached[number] = reached - self._lists.committed
        return commit in self._reached[number]

    def is_origin(self, commit: str, tree: str, number: int) -> bool:
        """Whether `is_own` is true, and the commit was not picked: its content may begin there."""
        is_picked = commit in self._made and commit not in self._committed
        return not is_picked and self.is_own(commit, tree, number)

    def has_made(self, commit: str) -> bool:
        """Whether the reflog says that a commit was made in the worktree."""
        return commit in self._made

    def is_former(self, commit: str, number: int) -> bool:
        """Whether HEAD was at a commit up to a state, or it is of a stash entry; if known."""
        return self._first.get(commit, len(self.states)) <= number

    @property
    def stashed(self) -> Collection[str]:
        """The commits of all stash entries that the states record."""
        return self._stashed.keys()

    @cached_property
    def _stashed(self) -> dict[str, int]:
        """The commits of stash entries, with the number of the first state that records one."""
        found: dict[str, int] = {}
        for number, state in enumerate(self.states):
            for commit in self._lists.stashed(_stashes(state)):
                found.setdefault(commit, number)
        return found

    @cached_property
    def _made(self) -> dict[str, int]:
        """The commits that moves of HEAD made, with the number of the last one."""
        return {move.commit: at for at, move in enumerate(self._moves) if move.is_made}

    @cached_property
    def _first_trees(self) -> dict[str, int]:
        """By tree of the worktree or of what was staged, the number of the first state with it."""
        found: dict[str, int] = {}
        for number, state in enumerate(self.states):
            for tree in (state.tree, state.meta.part("index", "tree")):
                found.setdefault(tree or "", number)
        return found

    @cached_property
    def _committed(self) -> set[str]:
        return {move.commit for move in self._moves if move.is_committed}

    @cached_property
    def _first(self) -> dict[str, int]:
        """By commit, the number of the first state before which HEAD was at it, or which has it."""
        found = dict(self._stashed)
        heads = [(number, state.head or "") for number, state in enumerate(self.states)]
        for at, move in enumerate(self._moves):
            heads.append((bisect_left(self._last_moves, at), move.commit))
        for number, commit in heads:
            found[commit] = min(number, found.get(commit, number))
        return found

    def written(self, commit: str) -> float:
        """See `CommitLists.written`."""
        return self._lists.written(commit)

    def time_after(self, number: int) -> float:
        """When the state after a state was recorded (seconds since 1970); infinite for the last."""
        following = self.states[number + 1 : number + 2]
        return _time(following[0]) if following else math.inf

    def _is_new(self, row: ListedCommit, number: int) -> bool:
        """Whether a commit was made between a state and the one before, of new content."""
        if self._last_moves:
            moves = self.moves_after(number - 1)
            return any(move.is_new and move.commit == row.id for move in moves)
        if number == len(self.states) or row.id in self._lists.committed:
            return False
        if self.states[number].meta.text("trigger") == "post-checkout":
            # HEAD was moved to it.
            return False
        state = self.states[number - 1]
        listed = self._lists.shown(state.commit.id, *([state.head] if state.head else []))
        if not listed:
            return False
        mine, *base = listed
        begun, ended = _time(state), _time(self.states[number])
        is_during = begun - _CLOCK_ERROR <= row.time <= ended + _CLOCK_ERROR
        # If the clock stands still, the commit has the time of the one before.
        return row.email == mine.email and (is_during or any(row.time == b.time for b in base))

    def place_of(self, history: list[ListedCommit], *, is_next: bool) -> int:
        """The number of the state after which a commit was made in the worktree; -1 if unknown.

        `history` has the commit, and those before it. `is_next` is whether the next one is meant,
        which is about to be made on it in this worktree.
        """
        commit, before = history[0], {row.id for row in history[1:]}
        on_it = (n for n, entry in enumerate(self.states) if (entry.head or "") in {"", *before})
        number = max(on_it, default=-1)
        if is_next:
            here = self._repository.worktree_key
            is_here = bool(self._moves) and self.states[-1].meta.worktree_key == here
            return number if is_here and number + 1 == len(self.states) else -1
        if number < 0 or not self._is_new(commit, number + 1):
            return -1
        if number + 1 < len(self.states):
            after = self.states[number + 1].head
            return number if after and self._lists.is_ancestor(commit.id, after) else -1
        return number


def _row(line: str) -> ListedCommit | None:
    if not line:
        return None
    name, tree, when, email = line.split(" ", 3)
    return ListedCommit(name, tree, int(when), email)


def _stashes(state: Checkpoint) -> list[str]:
    """The stash entries that a state records."""
    entries = state.meta.values.get("stashes")
    ids = entries if isinstance(entries, list) else []
    return [each for each in ids if isinstance(each, str) and OBJECT_ID.fullmatch(each)]


def _time(state: Checkpoint) -> float:
    return time_of(state.meta.text("id"))
