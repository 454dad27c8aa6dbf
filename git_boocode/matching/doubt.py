"""Where nobody knows on which side of a line that the old text lacks the new lines belong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from git_boocode.matching.align import Hunk, Owned, pair_similar
from git_boocode.matching.text import Text


class Doubt:
    """One change, old and new lines without blanks at their ends, and its ``hunks``."""

    def __init__(self, old: Sequence[str], new: Sequence[str], hunks: Sequence[Hunk]) -> None:
        self.old = old
        self.new = new
        changed = [hunk for hunk in hunks if not hunk.same]
        arrived = {line for hunk in changed for line in new[hunk.j1 : hunk.j2] if line}
        self.seams = sorted({seam for hunk in changed for seam in self._seams(hunk, arrived)})

    def row(self, text: Text, first: int, owned: Sequence[Owned], stop: int) -> int | None:
        """The first row with text beside which lines come or go, and which the old text lacks.

        ``owned`` are the rows that each old line stands for, counted from ``first``.
        """
        ends = [(0, 0), *owned, (stop - first, stop - first)]
        for seam in self.seams:
            rows: list[int] = [*range(first + ends[seam][1], first + ends[seam + 1][0])]
            rows += self._off(text, seam, owned, (first, stop))
            for row in rows:
                if text.stripped[row]:
                    return row
        return None

    def _seams(self, hunk: Hunk, arrived: set[str]) -> Iterator[int]:
        """The old lines above which it matters to whom a line there belongs.

        It does not where lines are replaced by others, or only go.
        """
        old, new = self.old[hunk.i1 : hunk.i2], self.new[hunk.j1 : hunk.j2]
        if not old or not arrived.isdisjoint(old):
            yield from (hunk.i1, hunk.i2)
            return
        pairs = pair_similar(old, new)
        if pairs and pairs[0][0] == 0 < pairs[0][1]:
            yield hunk.i1
        if pairs and pairs[-1][0] == len(old) - 1 and pairs[-1][1] < len(new) - 1:
            yield hunk.i2

    def _off(
        self, text: Text, seam: int, owned: Sequence[Owned], rows: tuple[int, int]
    ) -> Iterator[int]:
        """The row between the place and the blank line of the old text, if that is one line off."""
        above, below = rows[0] - 1, rows[1]
        if not any(self.old[seam:]) and self._lacks(owned, seam) and _blank(text, below + 1):
            yield below
        if not any(self.old[:seam]) and self._lacks(owned, seam - 1) and _blank(text, above - 1):
            yield above

    def _lacks(self, owned: Sequence[Owned], index: int) -> bool:
        return 0 <= index < len(owned) and owned[index][0] == owned[index][1]


def _blank(text: Text, row: int) -> bool:
    return 0 <= row < len(text.stripped) and not text.stripped[row]
