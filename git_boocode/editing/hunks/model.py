"""A hunk as a patch gives it, and the place in the file that was found for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """One line of a hunk.

    Attributes:
        op: blank for a line that stays, `-` for one that goes, `+` for one that comes.
        text: the line with its ending; none where the patch says that the file ends without.
    """

    op: str
    text: str


class Hunk(NamedTuple):
    """A change of one stretch of a file.

    Attributes:
        header: the line that opens it, as it stands in the patch; empty if there is none.
        row: the line of the patch, from 1, at which it begins.
        lines: its lines in order.
        start: the row of the file, from 0, at which the patch believes its old lines to begin;
            None if it does not say.
        sections: lines of the file, outermost first, under which the place lies.
        within: whether the place must lie below them; else they only decide between places.
        at_end: whether its old lines must be the last ones of the file.
        exact: whether the patch is so doubtful that no tolerance may come on top.
        notes: what was done to read it.
    """

    header: str
    row: int
    lines: tuple[Line, ...]
    start: int | None = None
    sections: tuple[str, ...] = ()
    within: bool = False
    at_end: bool = False
    exact: bool = False
    notes: tuple[str, ...] = ()

    @property
    def old(self) -> list[str]:
        """The lines that the file must hold, with their endings."""
        return [line.text for line in self.lines if line.op != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that stand there afterwards, with their endings."""
        return [line.text for line in self.lines if line.op != "-"]


class Change(NamedTuple):
    """Rows `start` to `stop` (exclusive, from 0) of the file become these lines."""

    start: int
    stop: int
    lines: tuple[str, ...]


class Spot(NamedTuple):
    """Where a hunk belongs.

    Attributes:
        first: the first row that it matched, from 0.
        stop: the row after the last one.
        changes: what to do there, ascending and disjoint.
        rung: the comparison that found it.
        similarity: 0.0 to 1.0.
        notes: what was done beyond replacing equal lines.
    """

    first: int
    stop: int
    changes: tuple[Change, ...] = ()
    rung: str = "exact"
    similarity: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def core(self) -> tuple[int, int]:
        """The rows from the first change to the last one; other hunks keep out of them."""
        if not self.changes:
            return self.first, self.first
        return self.changes[0].start, self.changes[-1].stop


class Step(NamedTuple):
    """Old lines `i1` to `i2` of a hunk become new lines `j1` to `j2`; ends exclusive."""

    i1: int
    i2: int
    j1: int
    j2: int


def steps(lines: Sequence[Line]) -> Iterator[Step]:
    """The runs of lines that go and come, between those that stay."""
    old = new = start = new_start = 0
    for line in (*lines, Line(" ", "")):
        if line.op == " ":
            if old > start or new > new_start:
                yield Step(start, old, new_start, new)
            old, new = old + 1, new + 1
            start, new_start = old, new
        else:
            old, new = old + (line.op == "-"), new + (line.op == "+")


class Near(NamedTuple):
    """Text of the file that a hunk may have meant.

    Attributes:
        first: its first row.
        stop: the row after its last one.
        similarity: how like the hunk's old lines it is.
        pointed: whether only the hunk's number, or one line of it, leads there.
    """

    first: int
    stop: int
    similarity: float
    pointed: bool = False


class Refusal(NamedTuple):
    """Why no place was taken.

    Attributes:
        code: one of the codes of failures.
        message: the reason.
        near: the rows worth showing.
        hint: what to do, unless the code says enough.
    """

    code: str
    message: str
    near: tuple[Near, ...] = ()
    hint: str | None = None


class Window(NamedTuple):
    """Where to look: rows `first` to `stop` (exclusive), and the row that is likeliest, or None."""

    first: int
    stop: int
    expected: int | None
