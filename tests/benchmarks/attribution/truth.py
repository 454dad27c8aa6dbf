"""Who wrote each line of a random history, and what became of that in an attribution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

RIGHT, MISSED, WRONG = "right", "missed", "of a wrong turn"
MOVED, COMMON = "lines of other files", "lines that several write"
BRACE = b"}"


class Writing(NamedTuple):
    """Where a line was written, and by which turn; empty for a person or a formatter."""

    place: str
    file: str  # the first name of the file
    turn: str


class CommittedLine(NamedTuple):
    """A line of a commit, with the turn that an attribution gives it, or none.

    An old one is in a file of a parent, so that only a wrong turn counts.
    """

    commit: str
    path: str
    number: int
    text: bytes
    turn: str
    is_old: bool


class Judgement(NamedTuple):
    """Whether a line has the right turn, and by which operation it came."""

    operation: str
    verdict: str
    line: CommittedLine


class Truth:
    """The writers of lines by their text, which is unique but for a few lines that many write."""

    def __init__(self) -> None:
        self._writings: dict[bytes, set[Writing]] = {}
        self._operations: dict[bytes, str] = {}
        self._places: dict[str, frozenset[str]] = {}
        self._made_by: dict[str, str] = {}
        self._files: dict[str, str] = {}

    def wrote(self, line: bytes, place: str, path: str, turn: str, operation: str = "") -> None:
        """Note who writes a line, and beside which operation, if that is of interest."""
        self._writings.setdefault(line, set()).add(Writing(place, self._file(path), turn))
        if operation:
            self._operations.setdefault(line, operation)

    def brought(self, lines: Iterable[bytes], turn: str, operation: str) -> None:
        """Note that lines which a running turn did not write came in by an operation."""
        for line in lines:
            if not any(each.turn == turn for each in self._writings.get(line, ())):
                self._operations[line] = operation

    def renamed(self, old: str, new: str) -> None:
        """Note that a new name is that of a known file."""
        self._files[new] = self._file(old)

    def committed(self, commit: str, operation: str, places: Iterable[str]) -> None:
        """Note what made a commit, and where the lines in it may have been written."""
        self._made_by.setdefault(commit, operation)
        self._places.setdefault(commit, frozenset(places))

    def judge(self, line: CommittedLine) -> Judgement | None:
        """What became of a line; None if nobody knows who wrote it, or if it does not count."""
        every = self._writings.get(line.text, set())
        if not every or line.text == BRACE:
            return None
        verdict = self._verdict(line, every)
        if line.is_old and verdict != WRONG:
            return None
        made_by = self._made_by.get(line.commit, "rewritten commits")
        operation = MOVED if line.is_old else self._operations.get(line.text, made_by)
        if len({each.turn for each in every}) > 1:
            operation = COMMON
        return Judgement(operation, verdict, line)

    def _verdict(self, line: CommittedLine, every: set[Writing]) -> str:
        turns = {each.turn for each in every}
        if len(turns) == 1:
            return RIGHT if line.turn in turns else WRONG if line.turn else MISSED
        # Of equal lines of several writers, the commit's own may have its turn, or none.
        places = self._places.get(line.commit)
        here = {each for each in every if each.file == self._file(line.path)}
        own = {each.turn for each in here if places is None or each.place in places}
        return RIGHT if line.turn in {*(own or turns), ""} else WRONG

    def _file(self, path: str) -> str:
        return self._files.get(path, path)
