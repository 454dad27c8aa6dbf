"""The file's indentation for a new line where the matched lines do not all say the same.

Mostly one scale explains every matched line (see ``indent``). Where none does, a block was moved
and its neighbours were not, or the model was careless about a line: then the lines around the
change decide, if they agree, and nobody else.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from git_boocode.matching.indent import Pair, Reindenter, Style

_REACH = 6
"""So many matched lines on either side of a change are asked."""
_PROOF = 2
"""So many different indentations must be moved alike to prove that others are."""
_MOST = 3
"""So many different indentations prove a scale that some lines do not follow."""
_WRITTEN = 200
"""So many different indentations of the model tell the step of its lines."""
_SLIPS = 4
"""One in so many lines may not follow it."""


class Depth(NamedTuple):
    """An indentation, and whether it is ``unclear``: a guess on which nobody should rely."""

    indent: str
    unclear: bool = False


class Depths(Protocol):
    """What knows the indentation of new lines."""

    def give(self, indent: str, between: tuple[int, int], *, leading: bool) -> Depth:
        """The file's indentation for ``indent`` in place of the old lines ``between`` (exclusive).

        ``leading`` is whether it is that of the very first line of the new text.
        """


class AsGiven:
    """Leaves every indentation as it is."""

    def give(self, indent: str, _between: tuple[int, int], *, leading: bool) -> Depth:
        """The indentation itself."""
        del leading
        return Depth(indent)


class Learnt:
    """The indentations of the matched lines around a change.

    ``placed`` are the pairs of indentations of matched lines by the index of the old line.
    """

    def __init__(self, placed: dict[int, Pair], style: Style) -> None:
        # A few lines are asked many times: the surroundings of all of them would be too much.
        self._written = [*dict.fromkeys(style.old)][:_WRITTEN]
        self._failed = False
        self.whole = Reindenter([*placed.values()], style)
        rows = [*placed][1 if self.whole.dropped_first else 0 :]
        self.placed = {row: placed[row] for row in rows}
        self.rows = rows
        self._sure = self.whole.sure
        self._near: dict[tuple[int, int], list[Reindenter]] = {}
        self._said: dict[str, set[str]] = defaultdict(set)
        for old, mine in self.placed.values():
            self._said[old].add(mine)

    def give(self, indent: str, between: tuple[int, int], *, leading: bool) -> Depth:
        """The file's indentation, from all lines if they agree, else from those around."""
        guess = self.whole(indent, leading)
        dropped = leading and self.whole.dropped_first and indent == self.whole.first[0]
        if self._sure or dropped or indent.strip(" \t"):
            return Depth(guess)
        if self._failed:
            return Depth(guess, unclear=True)
        if between not in self._near:
            self._near[between] = self._around(*between)
        near = self._near[between]
        if not near:
            # All that speaks against the scale is far away, and little.
            return Depth(guess)
        known = {
            one(indent, leading=False)
            for one in near
            if indent in one.seen or len(set(one.pairs)) >= _PROOF
        }
        known = known or self._said.get(indent, set()) or ({indent} if self._slipped else set())
        self._failed = len(known) != 1
        return Depth(guess, unclear=True) if self._failed else Depth(known.pop())

    @cached_property
    def _slipped(self) -> bool:
        """Whether all lines but one are indented as in the file, and not all at the margin."""
        other = sum(old != mine for old, mine in self.placed.values())
        same = sum(old == mine != "" for old, mine in self.placed.values())
        return other == 1 and same >= _PROOF

    def _around(self, start: int, stop: int) -> list[Reindenter]:
        """What the lines around old lines ``start`` to ``stop`` say, run by run.

        Nothing if they follow the scale of all lines.
        """
        above, below = self._before(start), self._from(stop)
        inside = self.rows[bisect_left(self.rows, start) : bisect_left(self.rows, stop)][:_REACH]
        beside = [*above[-1:], *inside, *below[:1]]
        if self._follow(beside):
            return []
        core = inside if inside and self._moved_alike(inside) else None
        if core is None and not inside and self._moved_alike(beside):
            core = beside
            above, below = above[:-1], below[1:]
        if core is not None:
            return [self._run(core, above, below)]
        parts = [rows for rows in (above[-1:], inside[:1], inside[-1:], below[:1]) if rows]
        return [self._run(rows, self._before(rows[0]), self._from(rows[0] + 1)) for rows in parts]

    def _before(self, row: int) -> list[int]:
        at = bisect_left(self.rows, row)
        return self.rows[max(0, at - _REACH) : at]

    def _from(self, row: int) -> list[int]:
        at = bisect_left(self.rows, row)
        return self.rows[at : at + _REACH]

    @cached_property
    def _proven(self) -> bool:
        """Whether the scale of all lines is well proven, though some do not follow it."""
        pairs = [*self.placed.values()]
        held = [pair for pair in pairs if self.whole.fits(pair)]
        return len(set(held)) >= _MOST and len(pairs) - len(held) <= len(pairs) // _SLIPS

    def _follow(self, rows: Sequence[int]) -> bool:
        """Whether these lines, and most of all, follow a scale that is well proven."""
        return self._proven and all(self.whole.fits(self.placed[row]) for row in rows)

    def _run(self, core: Sequence[int], above: Sequence[int], below: Sequence[int]) -> Reindenter:
        """What a run of lines around ``core`` says that were all moved alike."""
        run = [*core]
        for row in reversed(above):
            if not self._moved_alike([row, *run]):
                break
            run.insert(0, row)
        for row in below:
            if not self._moved_alike([*run, row]):
                break
            run.append(row)
        return self._reindenter(run)

    def _moved_alike(self, rows: Sequence[int]) -> bool:
        one = self._reindenter(rows)
        return not one.dropped_first and one.scale.factor == 1 and all(map(one.fits, one.pairs))

    def _reindenter(self, rows: Sequence[int]) -> Reindenter:
        pairs = [self.placed[row] for row in rows]
        return Reindenter(pairs, Style(self._written, [mine for _, mine in pairs]))
