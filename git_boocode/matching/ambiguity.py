"""Decide whether file lines that the old text lacks stay, next to or inside a change."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, pair_similar
from git_boocode.matching.text import Text, canonical_line, indent_of
from git_boocode.matching.types import Rows

NO_COMMA = "line {} of the file has no ',' above the new lines"
Texts = tuple[Sequence[str], Sequence[str]]  # the lines of old and new


class PlacedRows(NamedTuple):
    """Rows of the file from ``first`` on, and the old lines that match them."""

    first: int
    lines: Sequence[str]
    ending: str  # of the last row
    matched: Sequence[Rows]  # for each old line, counted from the first row


class Decision:
    """How to apply the hunks of a change around extra lines: file lines that the old text lacks.

    An extra line stays if the changed lines on both sides pair with their new versions, at the same
    depth, and is deleted with a block that is deleted or replaced by other code; ``lost`` counts
    those. ``hunks`` are split where one stays between changed lines. New lines before the old lines
    ``late`` go below the extra lines, others above. ``ambiguity`` is an error message if this is a
    guess.
    """

    def __init__(self, text: Text, texts: Texts, hunks: Sequence[Hunk], rows: PlacedRows) -> None:
        self.text, self.rows, self.texts, self.lines = text, rows, texts, texts[1]
        self.old, self.new = ([line.strip() for line in lines] for lines in texts)
        size = len(rows.lines)
        self.ends = [(0, 0), *rows.matched, (size, size)]
        filled = [index for index, line in enumerate(self.old) if line]
        self.top, self.bottom = (filled[0], filled[-1] + 1) if filled else (0, 0)
        self.lost = 0
        self.late: set[int] = set()
        self.ambiguity: str | None = None
        self.hunks = [part for hunk in hunks for part in self._split(hunk)]
        self._take_sides([hunk for hunk in self.hunks if not hunk.same])

    def _split(self, hunk: Hunk) -> list[Hunk]:
        """Split a hunk if extra lines stay inside it."""
        matched = self.rows.matched
        there = [
            index for index in range(hunk.i1, hunk.i2) if matched[index][0] < matched[index][1]
        ]
        gaps = [pair for pair in pairwise(there) if matched[pair[0]][1] < matched[pair[1]][0]]
        if hunk.same or not gaps:
            return [hunk]
        parts = [*self._parts(hunk)]
        stops = [part.i2 for part in parts]
        for pair in gaps:
            lacked = self._filled(range(matched[pair[0]][1], matched[pair[1]][0]))
            above, below = (parts[bisect_right(stops, index)] for index in pair)
            goes = above is below and above.i2 - above.i1 != above.j2 - above.j1
            stays = all(part.i2 - part.i1 == part.j2 - part.j1 == 1 for part in (above, below))
            if lacked and not (goes or stays):
                self._refuse(lacked[0], "it could stay, or be deleted with the lines around it")
            elif lacked and stays and any(map(self._moves, (above, below))):
                self._refuse(lacked[0], "the lines around it get another indentation")
            self.lost += len(lacked) if goes else 0
        return parts

    def _moves(self, hunk: Hunk) -> bool:
        """Whether a line and its new version have different indentation."""
        old, new = self.texts
        return indent_of(old[hunk.i1]) != indent_of(new[hunk.j1])

    def _refuse(self, row: int, why: str) -> None:
        line = f"line {self.rows.first + row + 1} of the file is missing from the old text"
        self.ambiguity = self.ambiguity or f"{line}: {why}"

    def _filled(self, rows: range) -> list[int]:
        return [row for row in rows if self.rows.lines[row].strip()]

    def _parts(self, hunk: Hunk) -> Iterator[Hunk]:
        """Split a hunk into lines with their new versions, and the remaining parts."""
        _, i1, i2, j1, j2 = hunk
        for i, j in pair_similar(self.old[i1:i2], self.new[j1:j2]):
            left, right = hunk.i1 + i, hunk.j1 + j
            if i1 < left or j1 < right:
                yield Hunk(same=False, i1=i1, i2=left, j1=j1, j2=right)
            i1, j1 = left + 1, right + 1
            yield Hunk(same=False, i1=left, i2=i1, j1=right, j2=j1)
        if i1 < i2 or j1 < j2:
            yield Hunk(same=False, i1=i1, i2=i2, j1=j1, j2=j2)

    def _take_sides(self, changed: Sequence[Hunk]) -> None:
        """Decide on which side of extra lines the new lines go."""
        # The number of hunks that add each line.
        fresh = Counter(line for hunk in changed for line in {*self.new[hunk.j1 : hunk.j2]} - {""})
        for hunk in changed:
            self._check_comma(hunk)
            for at, lines in self._boundaries(hunk, fresh):
                inside = range(self.ends[at][1], self.ends[at + 1][0])
                for row in (*self._filled(inside), *self._off(at)):
                    self._refuse(row, "the new lines could go above or below it")
                if inside and self._goes_below(lines, len(inside)):
                    self.late.add(at)

    def _check_comma(self, hunk: Hunk) -> None:
        """Refuse new lines below one that in the file lacks the comma that separates them."""
        first, stop = self.ends[hunk.i1]
        above = self.old[hunk.i1 - 1] if hunk.i1 else ""
        lacks = [*map(_without_whitespace, self.rows.lines[first:stop])]
        if hunk.j1 < hunk.j2 and above[-1:] == "," and lacks == [_without_whitespace(above[:-1])]:
            self.ambiguity = self.ambiguity or NO_COMMA.format(self.rows.first + stop)

    def _boundaries(self, hunk: Hunk, fresh: Counter[str]) -> Iterator[tuple[int, range]]:
        """The old lines before which an extra line could belong to either side.

        Each comes with the lines added there. For replaced or deleted lines the side is irrelevant.
        """
        old, new = self.old[hunk.i1 : hunk.i2], self.new[hunk.j1 : hunk.j2]
        if not old:
            yield hunk.i1, range(hunk.j1, hunk.j2)
            return
        # Lines that are added elsewhere were moved.
        here = {*new}
        if any(fresh[line] > (line in here) for line in old):
            yield from ((hunk.i1, range(0)), (hunk.i2, range(0)))
            return
        pairs = pair_similar(old, new)
        if pairs and pairs[0][0] == 0 < pairs[0][1]:
            yield hunk.i1, range(hunk.j1, hunk.j1 + pairs[0][1])
        if pairs and pairs[-1][0] == len(old) - 1 and pairs[-1][1] < len(new) - 1:
            yield hunk.i2, range(hunk.j1 + pairs[-1][1] + 1, hunk.j2)

    def _off(self, at: int) -> Iterator[int]:
        """The row between the place and blank lines of the old text that are one line off."""
        # A blank line that is missing at the boundary may be behind the line next to the place.
        matched = self.rows.matched
        for blank, row, step in (
            (matched[self.bottom :] if at >= self.bottom else (), len(self.rows.lines), 1),
            (matched[: self.top] if at <= self.top else (), -1, -1),
        ):
            lacks = any(first == stop for first, stop in blank)
            if lacks and self._line(row) and self._line(row + step) == "":
                yield row

    def _line(self, row: int) -> str | None:
        """A line of the file, stripped, counted from the first row of the place."""
        row += self.rows.first
        return self.text.stripped[row] if 0 <= row < len(self.text.stripped) else None

    def _goes_below(self, fresh: range, gap: int) -> bool:
        """Whether new lines go below ``gap`` blank lines of the file.

        A line keeps the number of blank lines above it; if the new text shows them, the missing
        ones belong to the added lines.
        """
        filled = [index for index in fresh if self.new[index]]
        if not filled or fresh.stop - filled[-1] > gap:
            return bool(filled)
        above = self.lines[fresh.start - 1] if fresh.start else ""
        if not above.strip() or filled[0] - fresh.start >= gap:
            return False
        return len(indent_of(self.lines[filled[0]])) < len(indent_of(above))


def _without_whitespace(line: str) -> str:
    return "".join(canonical_line(line).split())
