"""What becomes of lines of the file that the old text lacks, where the change is beside them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from git_boocode.matching.align import Hunk, Owned, pair_similar
from git_boocode.matching.indentation import LocalReindenter, indent_of, width_of
from git_boocode.matching.text import Text

Side = Literal["above", "below"]

_TAB = 8
_CLOSES = re.compile(r"[)\]}]|(?:end|fi|done|esac)\b|</")
_LEAVES = re.compile(r"(?:return|break|continue|raise|throw|goto)\b")
_DOCUMENTS = re.compile(r"[rRuUbB]*(?:\"\"\"|''')")
# Lines that continue a block at the depth of its head: their own depth is no evidence.
_GOES_ON = re.compile(
    r"#\s*(?:if|ifdef|ifndef|elif|else|endif)\b|[)}]*\s*(?:else|elif|elsif|except|finally|catch|rescue"
    r"|ensure|then|do|when|case|default)\b"
)


class Rows(NamedTuple):
    """Rows of the file from ``first`` on, and what old lines match.

    ``ending`` closes the last row; ``owned`` are the rows that each old line matches, counted from
    the first one.
    """

    first: int
    lines: Sequence[str]
    ending: str
    owned: Sequence[Owned]


class Decision(NamedTuple):
    """How to carry a change past lines of the file that the old text lacks.

    ``hunks`` are those of the change, split where such a line stays between two changed ones;
    ``lost`` is the number of those that go with a block. New lines come in below such lines above
    the old lines ``late``, and between blank lines and a copy of them above the old lines ``amid``.
    ``doubt`` says, for a message, why that is a guess; None if it is none.
    """

    hunks: Sequence[Hunk]
    late: frozenset[int] = frozenset()
    amid: frozenset[int] = frozenset()
    lost: int = 0
    doubt: str | None = None


def decide(
    text: Text,
    texts: tuple[Sequence[str], Sequence[str]],
    hunks: Sequence[Hunk],
    rows: Rows,
    depths: LocalReindenter,
) -> Decision:
    """Decide what becomes of the lines of ``rows`` that the old one of two texts lacks.

    Where changed lines pair off with their new versions on both sides of one, it was not replaced
    and stays. Where a block is deleted, or other code takes its place, it goes with the block.
    ``depths`` gives the file's indentation for the model's.
    """
    split = _Split(texts, rows)
    found = [part for hunk in hunks for part in split.parts(hunk)]
    sides = _Sides(text, texts, rows, depths)
    sides.decide([hunk for hunk in found if not hunk.same])
    return Decision(
        found,
        frozenset(sides.late),
        frozenset(sides.amid),
        split.lost,
        sides.doubt or split.doubt,
    )


def _lacks(row: int) -> str:
    return f"line {row + 1} of the file is missing from the old text"


class _Split:
    """The changed hunks, split between lines that stay."""

    def __init__(self, texts: tuple[Sequence[str], Sequence[str]], rows: Rows) -> None:
        self.old, self.new = ([line.strip() for line in lines] for lines in texts)
        self.rows = rows
        self.lost = 0
        self.doubt: str | None = None

    def parts(self, hunk: Hunk) -> list[Hunk]:
        """The hunk, in parts if lines of the file stay between them."""
        gaps = [] if hunk.same else [*self._gaps(hunk)]
        parts = [*self._parts(hunk)] if gaps else []
        stops = [part.i2 for part in parts]
        splits = False
        for at, lacked in gaps:
            above, below = (parts[bisect_right(stops, index)] for index in at)
            inside = above is below and above.i2 - above.i1 != above.j2 - above.j1
            between = _is_version(above) and _is_version(below) and above is not below
            if lacked and not (inside or between) and self.doubt is None:
                why = "it could stay or go with the lines around it"
                self.doubt = f"{_lacks(self.rows.first + lacked[0])}: {why}"
            self.lost += len(lacked) if inside else 0
            splits = splits or bool(lacked) or (between and below.j1 == above.j2)
        return parts if splits else [hunk]

    def _gaps(self, hunk: Hunk) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """Neighbouring old lines with rows between them, and those rows that have text."""
        owned = self.rows.owned
        there = [index for index in range(hunk.i1, hunk.i2) if owned[index][0] < owned[index][1]]
        for above, below in pairwise(there):
            lacked = range(owned[above][1], owned[below][0])
            if lacked:
                yield (above, below), [row for row in lacked if self.rows.lines[row].strip()]

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


def _is_version(hunk: Hunk) -> bool:
    return hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1 == 1


class _Boundary(NamedTuple):
    """The old line above which lines come or go, if a line there could belong to either side.

    ``fresh`` are the lines of the new text that come in; ``side`` is where they go if only one side
    is possible, as seen from the line there. ``edge``: only lines outside the place matter.
    """

    at: int
    fresh: range = range(0)
    side: Side | None = None
    edge: bool = False


class _Sides:
    """On which side of lines that the old text lacks new ones go."""

    def __init__(
        self,
        text: Text,
        texts: tuple[Sequence[str], Sequence[str]],
        rows: Rows,
        depths: LocalReindenter,
    ) -> None:
        self.text, self.rows, self.depths = text, rows, depths
        self.lines = texts[1]
        self.old, self.new = ([line.strip() for line in lines] for lines in texts)
        self.late: set[int] = set()
        self.amid: set[int] = set()
        self.doubt: str | None = None

    def decide(self, changed: Sequence[Hunk]) -> None:
        """Decide for all changed hunks, up to the first doubt."""
        brought = (line for hunk in changed for line in {*self.new[hunk.j1 : hunk.j2]})
        fresh = Counter(filter(None, brought))
        for hunk in changed:
            for boundary in self._boundaries(hunk, fresh):
                self._decide(boundary)
                if self.doubt:
                    return

    def _decide(self, boundary: _Boundary) -> None:
        size = len(self.rows.lines)
        ends = [(0, 0), *self.rows.owned, (size, size)]
        inside = range(ends[boundary.at][1], ends[boundary.at + 1][0])
        lacked = [row for row in inside if self.rows.lines[row].strip() and not boundary.edge]
        lacked = [self.rows.first + row for row in lacked]
        off = [row for row in self._off(boundary.at) if self.text.stripped[row]]
        side = self._side(lacked, boundary) if lacked and not off else None
        if lacked and side and side == (boundary.side or side):
            self.late.update({boundary.at} if side == "below" else ())
        elif lacked or off:
            self.doubt = f"{_lacks((lacked + off)[0])}: the new lines could go above or below it"
        elif inside and boundary.fresh:
            if self._is_set_off(boundary.fresh):
                self.amid.add(boundary.at)
            elif self._goes_below(boundary.fresh, len(inside)):
                self.late.add(boundary.at)

    def _is_set_off(self, fresh: range) -> bool:
        """Whether a block comes in, without blank lines around it, beside blank lines.

        They end a block: the line below them is less deep than the one above. So does what comes
        in, and it begins where the line below does, or it is a block that begins like that line.
        """
        if fresh.start == 0 or fresh.stop == len(self.new):
            return False
        above, *lines, below = self.lines[fresh.start - 1 : fresh.stop + 1]
        if not (above.strip() and lines[0].strip() and lines[-1].strip()):
            return False
        over, first, last, under = (
            len(indent_of(line)) for line in (above, lines[0], lines[-1], below)
        )
        alike = below.split()[:1] == lines[0].split()[:1]
        opens = len(lines) > 1 and under < len(indent_of(lines[1]))
        ends = first == under < last
        closed = _ends_block(lines[-1]) and last == under == first and opens
        return (
            (over > under and ends)
            or (alike and opens and (ends or closed))
            or (over == under and closed and _ends_block(above))
        )

    def _goes_below(self, fresh: range, gap: int) -> bool:
        """Whether new lines come in below blank lines of the file, ``gap`` of them.

        A line keeps as many blank lines above it as it had; where new shows them already, those
        that are missing belong to the lines that came in.
        """
        filled = [index for index in fresh if self.new[index]]
        if not filled:
            return False
        if fresh.stop - filled[-1] > gap:
            return True
        above = self.lines[fresh.start - 1] if fresh.start else ""
        if filled[0] - fresh.start >= gap or not above.strip():
            return False
        return len(indent_of(self.lines[filled[0]])) < len(indent_of(above))

    def _boundaries(self, hunk: Hunk, fresh: Counter[str]) -> Iterator[_Boundary]:
        """The old lines above which it matters to whom a line there belongs.

        It does not where lines are replaced or deleted.
        """
        old, new = self.old[hunk.i1 : hunk.i2], self.new[hunk.j1 : hunk.j2]
        if not old:
            yield _Boundary(hunk.i1, range(hunk.j1, hunk.j2))
            return
        # Lines that come in elsewhere were moved.
        here = set(new)
        if any(fresh[line] > (line in here) for line in old):
            yield from (_Boundary(hunk.i1), _Boundary(hunk.i2))
            return
        if any(old):
            yield from (_Boundary(at, edge=True) for at in (hunk.i1, hunk.i2))
        pairs = pair_similar(old, new)
        if pairs and pairs[0][0] == 0 < pairs[0][1]:
            yield _Boundary(hunk.i1, range(hunk.j1, hunk.j1 + pairs[0][1]), "below")
        if pairs and pairs[-1][0] == len(old) - 1 and pairs[-1][1] < len(new) - 1:
            yield _Boundary(hunk.i2, range(hunk.j1 + pairs[-1][1] + 1, hunk.j2), "above")

    def _off(self, boundary: int) -> Iterator[int]:
        """The row between the place and blank lines of the old text, if those are one line off."""
        text, owned = self.text, self.rows.owned
        above, below = self.rows.first - 1, self.rows.first + len(self.rows.lines)
        filled = [index for index, line in enumerate(self.old) if line]
        top, bottom = (filled[0], filled[-1] + 1) if filled else (0, 0)
        # A blank line that is missing at the boundary may lie beyond the line next to the place.
        tail, head = range(bottom, min(boundary + 1, len(owned))), range(max(boundary - 1, 0), top)
        if boundary >= bottom and _lacks_some(owned, tail) and _blank(text, below + 1):
            yield below
        if boundary <= top and _lacks_some(owned, head) and _blank(text, above - 1):
            yield above

    def _side(self, lacked: Sequence[int], boundary: _Boundary) -> Side | None:
        fresh = [index for index in boundary.fresh if self.new[index]]
        if len(lacked) != 1 or not fresh:
            return None
        words = [self.new[index] for index in fresh]
        around = (boundary.at, boundary.at)
        indents = [
            self.depths.give(indent_of(self.lines[index]), around, leading=index == 0).text
            for index in fresh
        ]
        widths = [width_of(indent, _TAB) for indent in indents]
        return _Layout(self.text, lacked[0]).side(words, widths)


class _Layout:
    """A line and its neighbours, and what must not come between them."""

    def __init__(self, text: Text, row: int) -> None:
        self.text = text
        self.line = text.stripped[row]
        self.depth = self._depth(row)
        above = next((other for other in range(row - 1, -1, -1) if text.stripped[other]), None)
        below = next((o for o in range(row + 1, len(text.stripped)) if text.stripped[o]), None)
        self.above = text.stripped[above] if above is not None else ""
        self.below = self._depth(below) if below is not None else 0
        self.next = text.stripped[below] if below is not None else ""

    def _depth(self, row: int) -> int:
        return width_of(indent_of(self.text.lines[row]), _TAB)

    def side(self, words: Sequence[str], depths: Sequence[int]) -> Side | None:
        """The one side of the line on which new lines leave the blocks around as they are."""
        if any(map(_GOES_ON.match, [self.line, self.next, *words])):
            return None
        above, below = self._breaks_above(depths), self._breaks_below(depths)
        if above == below:
            return None
        return "below" if above else "above"

    def _breaks_above(self, depths: Sequence[int]) -> bool:
        """Whether the line would lose what it belongs to, were the new lines above it."""
        if self.below > depths[-1]:
            return False  # the new lines open a block: it may be the line's, too
        if _CLOSES.match(self.line):
            return min(depths) <= self.depth
        documents = _DOCUMENTS.match(self.line) and self.above.endswith(":")
        return bool(documents) or min(depths) < self.depth

    def _breaks_below(self, depths: Sequence[int]) -> bool:
        """Whether the new lines would part the line from what belongs to it, or be its orphans."""
        opens = self.below > self.depth
        if depths[0] > self.depth:
            return not opens
        if opens:
            return self.below > depths[-1]
        leaves = _LEAVES.match(self.line) and self.below < self.depth
        return bool(leaves) and min(depths) >= self.depth


def _ends_block(line: str) -> bool:
    """Whether a line is what closes a block: brackets, or a word such as `end`."""
    bare = line.strip().rstrip(",;")
    return bare in ("end", "fi", "done", "esac") or not bare.strip(")]}")


def _lacks_some(owned: Sequence[Owned], indexes: range) -> bool:
    return any(owned[index][0] == owned[index][1] for index in indexes)


def _blank(text: Text, row: int) -> bool:
    return 0 <= row < len(text.stripped) and not text.stripped[row]
