"""The lines of a file, as whole lines are looked up in it and written to it; rows count from 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from git_boocode.editing.lines import occurrences
from git_boocode.editing.textfile import split_lines

NEAR = 200
"""So many lines above and below a place show how the file indents."""
_MANY = 500
"""A line that stands in more rows than this is not looked at row by row."""


class View:
    """The lines of a file in one form of comparison, indexed.

    Attributes:
        keys: the lines in that form.
        form: gives it to a line.
    """

    def __init__(self, lines: Sequence[str], form: Callable[[str], str] = str) -> None:
        self.keys = list(map(form, lines))
        self.form = form
        self._found: dict[tuple[str, ...], list[int]] = {}

    @cached_property
    def index(self) -> dict[str, list[int]]:
        """The rows of each line, ascending."""
        index: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            index.setdefault(key, []).append(row)
        return index

    def rarest(self, wanted: Sequence[str]) -> int:
        """Which of these lines stands in the fewest rows."""
        return min(range(len(wanted)), key=lambda at: len(self.index.get(wanted[at], ())))

    def find(self, wanted: list[str]) -> list[int]:
        """The rows, ascending, at which these lines stand one below the other."""
        if not wanted:
            return []
        key = tuple(wanted)
        if key not in self._found:
            self._found[key] = self._find(wanted)
        return self._found[key]

    def _find(self, wanted: list[str]) -> list[int]:
        at, count = self.rarest(wanted), len(wanted)
        rows = self.index.get(wanted[at], ())
        if len(rows) > _MANY:
            return list(occurrences(self.keys, wanted))
        return [
            row - at
            for row in rows
            if row >= at and self.keys[row - at : row - at + count] == wanted
        ]


class Rows:
    """A file's lines, and their endings."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.raw = split_lines(text)
        self.exact = View([bare(line) for line in self.raw])

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def whole(self) -> View:
        """The lines with their endings."""
        return View(self.raw)

    @cached_property
    def stripped(self) -> View:
        """The lines without blanks at either end."""
        return View(self.exact.keys, str.strip)

    @cached_property
    def rstripped(self) -> View:
        """The lines without blanks at their end."""
        return View(self.exact.keys, str.rstrip)

    @cached_property
    def usual_ending(self) -> str:
        """The line ending that most lines have."""
        return "\r\n" if 2 * self.text.count("\r\n") > self.text.count("\n") else "\n"

    @property
    def is_open(self) -> bool:
        """Whether the last line has no ending."""
        return bool(self.raw) and not self.raw[-1].endswith("\n")

    def ending(self, row: int) -> str | None:
        """The ending of a row, None where there is none."""
        if not 0 <= row < len(self.raw) or not self.raw[row].endswith("\n"):
            return None
        return "\r\n" if self.raw[row].endswith("\r\n") else "\n"

    def near(self, first: int, stop: int) -> list[str]:
        """Some rows and those about them, which show how the file indents."""
        return self.exact.keys[max(0, first - NEAR) : stop + NEAR]

    def closed(self, lines: Sequence[str], start: int, stop: int) -> tuple[str, ...]:
        """Lines without endings given those of the rows they replace, else of their neighbours.

        Args:
            lines: the lines.
            start: the first row that they replace.
            stop: the row after the last one.
        """
        known = self.ending(start - 1) or self.ending(start) or self.usual_ending
        closed = []
        for number, line in enumerate(lines):
            known = (self.ending(start + number) if start + number < stop else None) or known
            closed.append(line + known)
        return tuple(closed)


def bare(line: str) -> str:
    """A line without its ending."""
    return line[:-1].removesuffix("\r") if line.endswith("\n") else line
