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


class _Boundary(NamedTuple):
    """The old line above which lines come or go, if a line there could belong to either side.

    ``fresh`` are the lines of the new text that come in; ``side`` is where they go if only one side
    is possible, as seen from the line there. ``edge``: only lines outside the place matter.
    """

    at: int
    fresh: range = range(0)
    side: Side | None = None
    edge: bool = False


class Sides(NamedTuple):
    """Where new lines go beside lines of the file that the old text lacks.

    ``doubt`` is the first row at which both sides are plausible, None if there is none; ``late``
    are the old lines above which new lines come in below the file's own lines, ``amid`` those
    above which they come in between blank lines and a copy of these.
    """

    doubt: int | None = None
    late: frozenset[int] = frozenset()
    amid: frozenset[int] = frozenset()


class Ambiguity:
    """One change, old and new lines, and its ``hunks``."""

    def __init__(self, old: Sequence[str], new: Sequence[str], hunks: Sequence[Hunk]) -> None:
        self.lines = new
        self.old = [line.strip() for line in old]
        self.new = [line.strip() for line in new]
        self.filled = [index for index, line in enumerate(self.old) if line]
        changed = [hunk for hunk in hunks if not hunk.same]
        self.fresh = Counter(self._fresh(changed))
        self.boundaries = [boundary for hunk in changed for boundary in self._boundaries(hunk)]

    def resolve(
        self,
        text: Text,
        rows: tuple[int, int],
        owned: Sequence[Owned],
        depths: LocalReindenter,
    ) -> Sides:
        """Decide, for ``rows`` (first, stop), on which side of lines that old lacks new ones go.

        ``owned`` are the rows that each old line matches, counted from the first one; ``depths``
        gives the file's indentation for the model's.
        """
        first, stop = rows
        ends = [(0, 0), *owned, (stop - first, stop - first)]
        late: set[int] = set()
        amid: set[int] = set()
        for boundary in self.boundaries:
            inside = range(first + ends[boundary.at][1], first + ends[boundary.at + 1][0])
            lacked = [row for row in inside if text.stripped[row] and not boundary.edge]
            off = [row for row in self._off(text, boundary.at, owned, rows) if text.stripped[row]]
            side = self._side(text, lacked, boundary, depths) if lacked and not off else None
            if lacked and side and side == (boundary.side or side):
                late.update({boundary.at} if side == "below" else ())
            elif lacked or off:
                return Sides((lacked + off)[0])
            elif inside and boundary.fresh:
                fresh = boundary.fresh
                if self._is_set_off(fresh):
                    amid.add(boundary.at)
                elif self._goes_below(fresh, len(inside)):
                    late.add(boundary.at)
        return Sides(late=frozenset(late), amid=frozenset(amid))

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

    def _fresh(self, hunks: Sequence[Hunk]) -> Iterator[str]:
        """The lines with text that come in, once for each of some hunks that brings them."""
        for hunk in hunks:
            yield from filter(None, set(self.new[hunk.j1 : hunk.j2]))

    def _boundaries(self, hunk: Hunk) -> Iterator[_Boundary]:
        """The old lines above which it matters to whom a line there belongs.

        It does not where lines are replaced or deleted.
        """
        old, new = self.old[hunk.i1 : hunk.i2], self.new[hunk.j1 : hunk.j2]
        if not old:
            yield _Boundary(hunk.i1, range(hunk.j1, hunk.j2))
            return
        # Lines that come in elsewhere were moved.
        here = set(new)
        if any(self.fresh[line] > (line in here) for line in old):
            yield from (_Boundary(hunk.i1), _Boundary(hunk.i2))
            return
        if any(old):
            yield from (_Boundary(at, edge=True) for at in (hunk.i1, hunk.i2))
        pairs = pair_similar(old, new)
        if pairs and pairs[0][0] == 0 < pairs[0][1]:
            yield _Boundary(hunk.i1, range(hunk.j1, hunk.j1 + pairs[0][1]), "below")
        if pairs and pairs[-1][0] == len(old) - 1 and pairs[-1][1] < len(new) - 1:
            yield _Boundary(hunk.i2, range(hunk.j1 + pairs[-1][1] + 1, hunk.j2), "above")

    def _off(
        self, text: Text, boundary: int, owned: Sequence[Owned], rows: tuple[int, int]
    ) -> Iterator[int]:
        """The row between the place and blank lines of the old text, if those are one line off."""
        above, below = rows[0] - 1, rows[1]
        top, bottom = (self.filled[0], self.filled[-1] + 1) if self.filled else (0, 0)
        # A blank line that is missing at the boundary may lie beyond the line next to the place.
        tail, head = range(bottom, min(boundary + 1, len(owned))), range(max(boundary - 1, 0), top)
        if boundary >= bottom and _lacks_some(owned, tail) and _blank(text, below + 1):
            yield below
        if boundary <= top and _lacks_some(owned, head) and _blank(text, above - 1):
            yield above

    def _side(
        self, text: Text, lacked: Sequence[int], boundary: _Boundary, depths: LocalReindenter
    ) -> Side | None:
        fresh = [index for index in boundary.fresh if self.new[index]]
        if len(lacked) != 1 or not fresh:
            return None
        words = [self.new[index] for index in fresh]
        around = (boundary.at, boundary.at)
        indents = [
            depths.give(indent_of(self.lines[index]), around, leading=index == 0).text
            for index in fresh
        ]
        widths = [width_of(indent, _TAB) for indent in indents]
        return _Layout(text, lacked[0]).side(words, widths)


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


class SplitHunks(NamedTuple):
    """The hunks, split where a line of the file lies between two changes.

    ``lost`` is the number of lines missing from the old text that go with a block. ``doubt`` is the
    row of one that could go or stay; None if there is none.
    """

    hunks: Sequence[Hunk]
    changed: bool = False
    lost: int = 0
    doubt: int | None = None


def split_hunks(
    hunks: Sequence[Hunk],
    texts: tuple[Sequence[str], Sequence[str]],
    rows: Sequence[str],
    owned: Sequence[Owned],
) -> SplitHunks:
    """Split the changes between ``texts`` where ``rows`` has a line that old lacks.

    Where changed lines pair off with their new versions on both sides of it, it was not replaced
    and stays. Where a block is deleted, or other code takes its place, it goes with the block.
    ``owned`` are the rows that each old line matches.
    """
    found: list[Hunk] = []
    lost, doubt = 0, None
    for hunk in hunks:
        gaps = [] if hunk.same else [*_gaps(hunk, rows, owned)]
        parts = [*_parts(hunk, texts)] if gaps else []
        stops = [part.i2 for part in parts]
        splits = False
        for gap in gaps:
            above, below = (parts[bisect_right(stops, at)] for at in (gap.above, gap.below))
            side = _side(above, below)
            splits = splits or bool(gap.rows) or (side == "between" and below.j1 == above.j2)
            if side is None and doubt is None and gap.rows:
                doubt = gap.rows[0]
            lost += len(gap.rows) if side == "inside" else 0
        found += parts if splits else [hunk]
    return SplitHunks(found, len(found) != len(hunks), lost, doubt)


class _Gap(NamedTuple):
    """Rows between those of old lines ``above`` and ``below``; ``rows`` are those with text."""

    above: int
    below: int
    rows: list[int]


def _gaps(hunk: Hunk, rows: Sequence[str], owned: Sequence[Owned]) -> Iterator[_Gap]:
    there = [index for index in range(hunk.i1, hunk.i2) if owned[index][0] < owned[index][1]]
    for above, below in pairwise(there):
        lacked = range(owned[above][1], owned[below][0])
        if lacked:
            yield _Gap(above, below, [row for row in lacked if rows[row].strip()])


def _parts(hunk: Hunk, texts: tuple[Sequence[str], Sequence[str]]) -> Iterator[Hunk]:
    """The hunk in parts: lines with their new versions, and what is left between them."""
    old = [line.strip() for line in texts[0][hunk.i1 : hunk.i2]]
    new = [line.strip() for line in texts[1][hunk.j1 : hunk.j2]]
    i, j = 0, 0
    for left, right in [*pair_similar(old, new), (len(old), len(new))]:
        if i < left or j < right:
            yield hunk._replace(
                i1=hunk.i1 + i, i2=hunk.i1 + left, j1=hunk.j1 + j, j2=hunk.j1 + right
            )
        if left < len(old):
            at, to = hunk.i1 + left, hunk.j1 + right
            yield hunk._replace(i1=at, i2=at + 1, j1=to, j2=to + 1)
        i, j = left + 1, right + 1


def _side(above: Hunk, below: Hunk) -> str | None:
    """Whether the rows between two parts are ``inside`` a block or ``between`` two changes.

    None if that is unclear: on one side of them stands a changed line, on the other a block.
    """
    if above is below:
        one_by_one = above.i2 - above.i1 == above.j2 - above.j1
        return None if one_by_one else "inside"
    return "between" if _is_version(above) and _is_version(below) else None


def _is_version(hunk: Hunk) -> bool:
    return hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1 == 1
