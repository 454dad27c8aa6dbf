"""What becomes of lines of the file that the old text lacks, where the change is beside them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from git_boocode.matching.align import Hunk, Owned, pair_similar
from git_boocode.matching.indentation import LEAVES, LocalReindenter
from git_boocode.matching.text import Text, depth_of, indent_of, width_of

Side = Literal["above", "below"]

Texts = tuple[Sequence[str], Sequence[str]]
"""The lines of old and new."""

_DOCUMENTS = re.compile(r"[rRuUbB]*(?:\"\"\"|''')")
# Lines that continue a block at the depth of its head: their own depth is no evidence.
_GOES_ON = re.compile(
    r"#\s*(?:if|ifdef|ifndef|elif|else|endif)\b|[)}]*\s*(?:else|elif|elsif|except|finally|catch|rescue"
    r"|ensure|then|do|when|case|default)\b"
)
_ENDS = re.compile(r"(?:end|fi|done|esac|[)\]}]*)[,;]*$")


class Rows(NamedTuple):
    """Rows of the file from ``first`` on, and which of them old lines match."""

    first: int
    lines: Sequence[str]
    ending: str  # of the last row
    owned: Sequence[Owned]  # by old line, counted from the first row


class Decision(NamedTuple):
    """How to carry a change past lines of the file that the old text lacks.

    New lines come in below such lines above the old lines ``late``, and between blank lines and a
    copy of them above the old lines ``amid``.
    """

    hunks: Sequence[Hunk]  # of the change, split where such a line stays between two changed ones
    late: Collection[int]
    amid: Collection[int]
    lost: int  # how many of them go with a block
    doubt: str | None  # for a message, why it is a guess


def decide(
    text: Text, texts: Texts, hunks: Sequence[Hunk], rows: Rows, depths: LocalReindenter
) -> Decision:
    """Decide what becomes of the lines of ``rows`` that old lacks.

    Where changed lines pair off with their new versions on both sides of one, it was not replaced
    and stays. Where a block is deleted, or other code takes its place, it goes with the block.
    """
    gaps = _Gaps(text, texts, rows, depths)
    found = [part for hunk in hunks for part in gaps.split(hunk)]
    gaps.take_sides([hunk for hunk in found if not hunk.same])
    return Decision(found, gaps.late, gaps.amid, gaps.lost, gaps.beside or gaps.within)


class _Boundary(NamedTuple):
    """The old line above which lines come or go, if a line there could belong to either side."""

    at: int
    fresh: range = range(0)  # the lines of new that come in
    side: Side | None = None  # where they go, seen from the line there, if only one is possible


class _Gaps:
    """The rows between those that neighbouring old lines match."""

    def __init__(self, text: Text, texts: Texts, rows: Rows, depths: LocalReindenter) -> None:
        self.text, self.rows, self.depths = text, rows, depths
        self.lines = texts[1]
        self.old, self.new = ([line.strip() for line in lines] for lines in texts)
        size = len(rows.lines)
        self.ends = [(0, 0), *rows.owned, (size, size)]
        filled = [index for index, line in enumerate(self.old) if line]
        self.top, self.bottom = (filled[0], filled[-1] + 1) if filled else (0, 0)
        self.lost = 0
        self.late: set[int] = set()
        self.amid: set[int] = set()
        # Why it is unclear on which side of a line new ones go, or whether it goes with a block.
        self.beside: str | None = None
        self.within: str | None = None

    def split(self, hunk: Hunk) -> list[Hunk]:
        """The hunk, in parts if lines of the file stay between them."""
        gaps = [] if hunk.same else [*self._inside(hunk)]
        parts = [*self._parts(hunk)] if gaps else []
        stops = [part.i2 for part in parts]
        splits = False
        for neighbours, lacked in gaps:
            above, below = (parts[bisect_right(stops, index)] for index in neighbours)
            goes = above is below and above.i2 - above.i1 != above.j2 - above.j1
            stays = above is not below and _is_version(above) and _is_version(below)
            if lacked and not (goes or stays):
                why = "it could stay or go with the lines around it"
                self.within = self.within or self._missing(lacked[0], why)
            self.lost += len(lacked) if goes else 0
            splits = splits or bool(lacked) or (stays and below.j1 == above.j2)
        return parts if splits else [hunk]

    def _missing(self, row: int, why: str) -> str:
        return f"line {self.rows.first + row + 1} of the file is missing from the old text: {why}"

    def _inside(self, hunk: Hunk) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """Neighbouring old lines with rows between them, and those rows that have text."""
        owned = self.rows.owned
        there = [index for index in range(hunk.i1, hunk.i2) if owned[index][0] < owned[index][1]]
        for above, below in pairwise(there):
            rows = range(owned[above][1], owned[below][0])
            if rows:
                yield (above, below), self._filled(rows)

    def _filled(self, rows: range) -> list[int]:
        return [row for row in rows if self.rows.lines[row].strip()]

    def _parts(self, hunk: Hunk) -> Iterator[Hunk]:
        """The hunk in parts: lines with their new versions, and what is left between them."""
        _, i1, i2, j1, j2 = hunk
        for i, j in pair_similar(self.old[i1:i2], self.new[j1:j2]):
            left, right = hunk.i1 + i, hunk.j1 + j
            if i1 < left or j1 < right:
                yield Hunk(same=False, i1=i1, i2=left, j1=j1, j2=right)
            i1, j1 = left + 1, right + 1
            yield Hunk(same=False, i1=left, i2=i1, j1=right, j2=j1)
        if i1 < i2 or j1 < j2:
            yield Hunk(same=False, i1=i1, i2=i2, j1=j1, j2=j2)

    def take_sides(self, changed: Sequence[Hunk]) -> None:
        """Decide on which side of lines that old lacks new ones go, up to the first doubt."""
        # In how many hunks each line comes in.
        fresh = Counter(line for hunk in changed for line in {*self.new[hunk.j1 : hunk.j2]} - {""})
        for hunk in changed:
            for boundary in self._boundaries(hunk, fresh):
                self._take_side(boundary)
                if self.beside:
                    return

    def _boundaries(self, hunk: Hunk, fresh: Counter[str]) -> Iterator[_Boundary]:
        """The old lines above which it matters to whom a line there belongs.

        It does not where lines are replaced or deleted.
        """
        old, new = self.old[hunk.i1 : hunk.i2], self.new[hunk.j1 : hunk.j2]
        if not old:
            yield _Boundary(hunk.i1, range(hunk.j1, hunk.j2))
            return
        # Lines that come in elsewhere were moved.
        here = {*new}
        if any(fresh[line] > (line in here) for line in old):
            yield from (_Boundary(hunk.i1), _Boundary(hunk.i2))
            return
        pairs = pair_similar(old, new)
        if pairs and pairs[0][0] == 0 < pairs[0][1]:
            yield _Boundary(hunk.i1, range(hunk.j1, hunk.j1 + pairs[0][1]), "below")
        if pairs and pairs[-1][0] == len(old) - 1 and pairs[-1][1] < len(new) - 1:
            yield _Boundary(hunk.i2, range(hunk.j1 + pairs[-1][1] + 1, hunk.j2), "above")

    def _take_side(self, boundary: _Boundary) -> None:
        at, fresh, only = boundary
        inside = range(self.ends[at][1], self.ends[at + 1][0])
        lacked = self._filled(inside)
        off = [*self._off(at)]
        side = self._side(lacked[0], boundary) if len(lacked) == 1 and not off else None
        if lacked and side and side == (only or side):
            self.late.update({at} if side == "below" else ())
        elif lacked or off:
            why = "the new lines could go above or below it"
            self.beside = self._missing((lacked + off)[0], why)
        elif inside and fresh and self._is_set_off(fresh):
            self.amid.add(at)
        elif inside and fresh and self._goes_below(fresh, len(inside)):
            self.late.add(at)

    def _off(self, at: int) -> Iterator[int]:
        """The row between the place and blank lines of the old text, if those are one line off."""
        # A blank line that is missing at the boundary may lie beyond the line next to the place.
        for blank, row, step in (
            (range(self.bottom, min(at + 1, len(self.old))), len(self.rows.lines), 1),
            (range(max(at - 1, 0), self.top), -1, -1),
        ):
            lacks = any(first == stop for first, stop in (self.rows.owned[i] for i in blank))
            if lacks and self._line(row) and self._line(row + step) == "":
                yield row

    def _line(self, row: int) -> str | None:
        """A line of the file, stripped, counted from the first row of the place."""
        row += self.rows.first
        return self.text.stripped[row] if 0 <= row < len(self.text.stripped) else None

    def _is_set_off(self, fresh: range) -> bool:
        """Whether a block comes in, without blank lines around it, above one that begins alike."""
        if fresh.start == 0 or fresh.stop == len(self.new) or len(fresh) == 1:
            return False
        above, first, second = self.lines[fresh.start - 1 : fresh.start + 2]
        last, below = self.lines[fresh.stop - 1 : fresh.stop + 1]
        if not (above.strip() and last.strip() and below.split()[:1] == first.split()[:1]):
            return False
        start, inside, end = (len(indent_of(line)) for line in (first, second, last))
        closed = end > start or (end == start and _ENDS.match(last.strip()))
        return start == len(indent_of(below)) < inside and bool(closed)

    def _goes_below(self, fresh: range, gap: int) -> bool:
        """Whether new lines come in below blank lines of the file, ``gap`` of them.

        A line keeps as many blank lines above it as it had; where new shows them already, those
        that are missing belong to the lines that came in.
        """
        filled = [index for index in fresh if self.new[index]]
        above = self.lines[fresh.start - 1] if fresh.start else ""
        if filled and fresh.stop - filled[-1] > gap:
            return True
        if not filled or not above.strip() or filled[0] - fresh.start >= gap:
            return False
        return len(indent_of(self.lines[filled[0]])) < len(indent_of(above))

    def _side(self, row: int, boundary: _Boundary) -> Side | None:
        """The one side of a row on which new lines leave the blocks around as they are."""
        fresh = [index for index in boundary.fresh if self.new[index]]
        at = self.rows.first + row
        above, below = self._filled_row(at, -1), self._filled_row(at, 1)
        line, after = self.text.stripped[at], self.text.stripped[below] if below >= 0 else ""
        words = [line, after, *(self.new[index] for index in fresh)]
        if not fresh or any(map(_GOES_ON.match, words)):
            return None
        around = (boundary.at, boundary.at)
        depths = [
            width_of(self.depths.give(indent_of(self.lines[i]), around, leading=i == 0).text)
            for i in fresh
        ]
        depth, deeper = (depth_of(self.text.lines[i]) if i >= 0 else 0 for i in (at, below))
        documents = _DOCUMENTS.match(line) and above >= 0 and self.text.stripped[above][-1] == ":"
        # Above it, new lines take away what the line belongs to, unless they open a block as well.
        parts_above = deeper <= depths[-1] and (bool(documents) or min(depths) < depth)
        parts_below = self._parts_below(line, (depth, deeper), depths)
        if parts_above == parts_below:
            return None
        return "below" if parts_above else "above"

    def _parts_below(self, line: str, around: tuple[int, int], depths: Sequence[int]) -> bool:
        """Whether new lines would part a line from what belongs to it, or be its orphans."""
        depth, below = around
        if depths[0] > depth:
            return below <= depth
        if below > depth:
            return below > depths[-1]
        return below < depth <= min(depths) and bool(LEAVES.match(line))

    def _filled_row(self, row: int, step: int) -> int:
        """The next row of the file with text above or below one; -1 if there is none."""
        rows = range(row + step, len(self.text.stripped) if step > 0 else -1, step)
        return next((near for near in rows if self.text.stripped[near]), -1)


def _is_version(hunk: Hunk) -> bool:
    return hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1 == 1
