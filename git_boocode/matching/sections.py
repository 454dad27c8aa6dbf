"""The sections that a patch names: lines such as `class A:`, and the blocks that they open."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from git_boocode.matching.canonical import canonical_line
from git_boocode.matching.similarity import most_similar
from git_boocode.matching.text import LineIndex, Text
from git_boocode.matching.types import Candidate, Match, MatchError

WORK = 5_000_000
"""Rows and blocks that are visited to look for sections in one text."""
_CUT = 40
"""A section of this length may be a line that git cut off within a word."""
_NEAR = 0.4
"""A line less similar than this is not shown for a section that does not exist."""

Stretch = tuple[int, int]
"""Rows, the end exclusive."""


class Sections:
    """Looks up section lines in one text, within one budget of work.

    Every method raises MatchError (``ambiguous``) when that budget is used up.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._work = 0
        self._inside: dict[tuple[str, ...], list[Stretch]] = {}
        self._begun: dict[str, list[int]] = {}

    def check(self, sections: Sequence[str]) -> None:
        """Raise MatchError (``not_found``), with the nearest line, if a section does not exist."""
        if self.below(sections) is not None:
            return
        missing = next((name for name in sections if not self.heads(name)), None)
        if missing is None:
            raise MatchError("not_found", f"the file has no '{sections[-1]}' below '{sections[0]}'")
        message = f"the file has no section '{missing}'"
        near = most_similar(canonical_line(missing.strip()), self.text.canonical, _NEAR, 1)
        if not near:
            raise MatchError("not_found", message)
        score, row = near[0]
        line = self.text.stripped[row]
        candidate = Candidate(row + 1, row + 1, score, self.text.lines[row])
        message += f"; nearest is line {row + 1}, '{line}'"
        raise MatchError("not_found", message, Match("not_found", candidates=(candidate,)))

    def below(self, sections: Sequence[str]) -> int | None:
        """The first row below the innermost of nested sections; None if one is missing."""
        row = 0
        for section in sections:
            heads = self.heads(section)
            at = bisect_left(heads, row)
            if at == len(heads):
                return None
            row = heads[at]
        return row

    def sole(self, sections: tuple[str, ...], rows: Sequence[int]) -> int | None:
        """The one of ascending rows that lies in the sections; None if none or several do."""
        blocks = self._stretches(sections)
        found: list[int] = []
        at = max(0, bisect_right(blocks, (rows[0], len(self.text.lines))) - 1)
        for first, stop in blocks[at:]:
            if first > rows[-1] or len(found) > 1:
                break
            self._spend(1)
            low = bisect_left(rows, first)
            found += rows[low : min(bisect_left(rows, stop, low), low + 2)]
        return found[0] if len(found) == 1 else None

    def heads(self, section: str) -> list[int]:
        """The rows that a section line names: equal to it, else beginning with it."""
        wanted = canonical_line(section.strip())
        if wanted in self._rows or not wanted:
            return self._rows.get(wanted, [])
        if wanted not in self._begun:
            self._begun[wanted] = sorted(self._beginning(wanted))
        return self._begun[wanted]

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        return LineIndex(self.text.canonical).rows

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._rows)

    def _beginning(self, wanted: str) -> Iterator[int]:
        for at in range(bisect_left(self._sorted, wanted), len(self._sorted)):
            line = self._sorted[at]
            if not line.startswith(wanted):
                break
            self._spend(1)
            # Git cuts long lines and models leave out parameters, but a name must end here.
            following = line[len(wanted)]
            if len(wanted) >= _CUT or not (following.isalnum() or following == "_"):
                yield from self._rows[line]

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > WORK:
            raise MatchError(
                "ambiguous",
                "the sections that the patch names occur too often to check every place: "
                "show more unchanged lines instead, and send fewer hunks at once",
            )

    def _stretches(self, sections: tuple[str, ...]) -> list[Stretch]:
        """The rows in the innermost sections, ascending, none touching another."""
        self._spend(len(sections))
        if sections not in self._inside:
            found = [(0, len(self.text.lines))]
            for section in sections:
                found = list(self._blocks(section, found))
            self._inside[sections] = list(_merged(found))
        return self._inside[sections]

    def _blocks(self, section: str, around: list[Stretch]) -> Iterator[Stretch]:
        """The blocks of a section that begin in others, which ascend; both may overlap."""
        heads = self.heads(section)
        self._spend(len(heads) + len(around))
        at = reach = 0
        for row in heads:
            while at < len(around) and around[at][0] <= row:
                reach = max(reach, around[at][1])
                at += 1
            if row < reach:
                yield row, min(reach, self._block_end(row))

    def _block_end(self, head: int) -> int:
        """The row at which the block that a line opens is over."""
        depth, word = self._openings[head]
        opened = False
        for row in range(head + 1, len(self._openings)):
            self._spend(1)
            indent, first = self._openings[row]
            if not first or (first[0] in ")]}{#" and not word.startswith("#")):
                continue
            if indent < depth or (indent == depth and (opened or first == word)):
                return row
            opened = opened or indent > depth
        return len(self._openings)

    @cached_property
    def _openings(self) -> list[tuple[int, str]]:
        """The indentation of each row, and its first word."""
        return [_opening(line) for line in self.text.lines]


def _opening(line: str) -> tuple[int, str]:
    body = line.lstrip()
    indent = line[: len(line) - len(body)]
    return len(indent.expandtabs(8)), body.split(maxsplit=1)[0] if body else ""


def _merged(blocks: Iterable[Stretch]) -> Iterator[Stretch]:
    """Ascending stretches, those that overlap or touch as one."""
    first = stop = 0
    for start, end in blocks:
        if start > stop:
            if stop > first:
                yield first, stop
            first = start
        stop = max(stop, end)
    if stop > first:
        yield first, stop
