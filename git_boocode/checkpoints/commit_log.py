"""Commits of this worktree for the log: where its HEAD moved, as the reflog says.

Times in a reflog are those of commits, and may be any. So a move is placed by the commits at which
HEAD was in recorded states, and by when git wrote the commits that it made.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from git_boocode.checkpoints.head_moves import CommitLists
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.head import read_head
from git_boocode.repo.ids import time_of
from git_boocode.repo.repository import Repository

_FORM = "--format=%H%x00%h%x00%gd%x00%gs%x00%s"
_FIRST, _MOST = 64, 1024  # moves that are read
_CLOCK_ERROR = 2  # seconds
_TIME = re.compile(r"@\{(\d+)\}$")
_KIND = re.compile(
    r"(?!(?:rebase|pull)\b.*\b(?:start|finish|finished|abort|returning)\b)(?:"
    r"(?P<amend>commit \(amend\))|(?P<merge>commit \(merge\)|merge\b)|(?P<commit>commit\b)"
    r"|(?P<cherry_pick>cherry-pick\b)|(?P<revert>revert\b)|(?P<am>am\b)|(?P<pull>pull\b)"
    r"|(?P<rebase>rebase\b)|checkout: moving from \S+ to (?P<branch>\S+)(?P<checkout>)"
    r"|(?P<reset>reset: moving))"
)
ARRIVALS = ("checkout", "reset", "")
"""Kinds of moves that make no commit."""


class LoggedCommit(NamedTuple):
    """A commit that was made in this worktree, or to which its HEAD moved.

    `kind` is what git calls it, such as `commit`, `amend`, `cherry-pick` or `checkout`; `branch`
    the branch or commit that was checked out. `since` is the id of the state before it, and `turn`
    that of the turn in which it was made, or empty.
    """

    id: str
    short: str
    time: float
    subject: str
    kind: str
    branch: str = ""
    since: str = ""
    turn: str = ""

    def as_json(self) -> dict[str, object]:
        """The commit in JSON answers."""
        return {
            "id": self.id,
            "short": self.short,
            "time": self.time,
            "subject": self.subject,
            "kind": self.kind,
            "branch": self.branch or None,
            "since": self.since or None,
            "turn": self.turn or None,
        }


def reflog_path(repository: Repository) -> str:
    """The file of HEAD's moves, if refs are plain files."""
    return os.path.join(repository.git_dir, "logs", "HEAD")


def head_stamp(repository: Repository) -> str:
    """Changes when HEAD moves."""
    if not repository.has_plain_refs:
        return read_head(repository).commit or ""
    with suppress(OSError):
        found = os.stat(reflog_path(repository))
        return f"{found.st_mtime_ns} {found.st_size}"
    return ""


class HeadLog:
    """The moves of HEAD, newest first, of which each is returned once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lists = CommitLists(repository)
        self._moves: list[LoggedCommit] = []
        self._next = 0
        self._is_complete = False

    def since(self, state: str, entry: Checkpoint, turn: str) -> list[LoggedCommit]:
        """The commits since a state and before the one that was asked for before, newest first.

        `entry` records the state, and `turn` is the turn that was open afterwards.
        """
        first, self._next = self._next, self._place(entry, time_of(state))
        found = (move for move in self._moves[first : self._next] if move.kind)
        return [move._replace(since=state, turn=turn) for move in found]

    def _place(self, entry: Checkpoint, when: float) -> int:
        """The number of the move that HEAD had made last by the time of a recorded state."""
        if not self._moves and (self._is_complete or not self._may_have_moved(when)):
            return self._next
        number, head = self._next, entry.head
        written_by = math.inf if self._lists.is_copied(entry) else when
        while True:
            later = (
                at + 1
                for at in range(len(self._moves) - 1, number - 1, -1)
                if self._moves[at].kind not in ARRIVALS
                and self._lists.written(self._moves[at].id) > written_by
            )
            number = next(later, number)
            for at in range(number, len(self._moves)):
                if self._moves[at].id == head and self._moves[at].time <= when:
                    return at
            if self._is_complete:
                break
            self._read()
        # Commits may have any time. Else, HEAD was moved by other means.
        left = [*enumerate(self._moves[number:], number)]
        there = next((at for at, move in left if move.id == head), len(self._moves))
        return next((at for at, move in left if move.time <= when), there)

    def _may_have_moved(self, when: float) -> bool:
        """Whether HEAD may have moved since a time."""
        if not self._repository.has_plain_refs:
            return True
        path = reflog_path(self._repository)
        return os.path.isfile(path) and os.stat(path).st_mtime >= when - _CLOCK_ERROR

    def _read(self) -> None:
        """Read more moves, each time four times as many."""
        most = min(max(len(self._moves) * 4, _FIRST), _MOST)
        form = ("log", "--no-show-signature", "--encoding=UTF-8", "-g", "--date=unix", _FORM)
        done = self._repository.git.attempt(*form, f"-{most + 1}", "HEAD", "--")
        lines = done.stdout.decode("utf-8", "surrogateescape").split("\n")
        found = [_move(*fields) for line in lines if len(fields := line.split("\0", 4)) == 5]
        for at, (move, before) in enumerate(pairwise(found)):
            if move.kind in ARRIVALS and move.id == before.id:
                found[at] = move._replace(kind="")
        self._is_complete = len(found) <= most or most == _MOST
        self._moves = found[:most]


def _move(commit: str, short: str, place: str, message: str, subject: str) -> LoggedCommit:
    """A move of HEAD; `kind` is empty if it is none of those that are listed."""
    kind = _KIND.match(message)
    name = (kind.lastgroup or "").replace("_", "-") if kind else ""
    branch = (kind["branch"] or "") if kind else ""
    time = _TIME.search(place)
    return LoggedCommit(commit, short, float(time[1]) if time else 0.0, subject, name, branch)
