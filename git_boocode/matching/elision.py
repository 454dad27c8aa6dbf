"""Text with lines that stand for others: the parts in between are found in order.

The elided lines stay as they are. Where a part stands in several places, only those count in which
the parts lie to each other, and the elided lines to them, as the model's indentation says.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import NamedTuple

from git_boocode.matching.align import script
from git_boocode.matching.guards import evidence
from git_boocode.matching.indentation import indent_of, width_of
from git_boocode.matching.placeholders import markers
from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Place, Query, occurrences
from git_boocode.matching.text import Text, framed

_PLACES = 64
"""A part that stands in more places than this proves nothing."""
_CHAINS = 1_000
"""So many ways to put the parts in order are looked at."""
_PARTS = 64
"""A text in more parts than this is not looked for."""


class _Part(NamedTuple):
    """The lines with text of the needle between two markers, by index; with text at all."""

    lines: tuple[int, ...]


Chain = tuple[tuple[int, ...], ...]
"""For each part the rows that its lines stand for."""


def elided(query: Query, step: Step) -> Found:
    """Parts that are equal line by line, with any number of lines where the needle has a marker."""
    needle = query.needle
    left_out = markers(needle.lines)
    parts = _parts(needle, left_out)
    if not left_out or not parts or len(parts) > _PARTS:
        return Found()
    if not _shared(query, left_out):
        return Found(reason="what the old text leaves out is not left out of the new one")
    telling = [index for part in parts for index in part.lines]
    if evidence("\n".join(needle.lines[index] for index in telling)) < step.evidence:
        return Found(reason="what the old text does not leave out is too short to be found")
    found = [_rows_of(query.text, needle, part) for part in parts]
    if not all(0 < len(rows) <= _PLACES for rows in found):
        return Found(reason="a part around what is left out is not there, or in too many places")
    return _settled(_Elision(query, parts, left_out, step), found)


def _parts(needle: Text, left_out: Sequence[int]) -> list[_Part]:
    ends = [-1, *left_out, len(needle.lines)]
    parts = []
    for first, stop in pairwise(ends):
        lines = tuple(index for index in range(first + 1, stop) if needle.canonical[index])
        if lines:
            parts.append(_Part(lines))
    return parts


def _shared(query: Query, left_out: Sequence[int]) -> bool:
    """Whether the new text leaves out the same, and has nothing outside of the outermost parts."""
    old, new = query.needle, query.new
    if new is None:
        return True
    same = {
        hunk.i1 + step: hunk.j1 + step
        for hunk in script(old.lines, new.lines)
        if hunk.same
        for step in range(hunk.i2 - hunk.i1)
    }
    if not same.keys() >= set(left_out):
        return False
    above, below = range(left_out[0]), range(left_out[-1] + 1, len(old.lines))
    beyond = [new.stripped[: same[left_out[0]]], new.stripped[same[left_out[-1]] + 1 :]]
    sides = [[old.stripped[index] for index in side] for side in (above, below)]
    # Where a marker comes first or last, nobody knows how far it reaches.
    return all(any(here) or not any(there) for here, there in zip(sides, beyond, strict=True))


def _rows_of(text: Text, needle: Text, part: _Part) -> list[tuple[int, ...]]:
    """The places of a part, blank lines aside, each as the rows of its lines."""
    lines = framed(needle.canonical[index] for index in part.lines)
    view, found, at_row, seen = text.framed_filled, [], 0, 0
    for at in occurrences(view, lines, shared=1)[: _PLACES + 1]:
        at_row += view.count("\n", seen, at)
        seen = at
        found.append(tuple(text.filled[at_row : at_row + len(part.lines)]))
    return found


class _Elision:
    """One needle with elisions, in one text."""

    def __init__(
        self, query: Query, parts: Sequence[_Part], left_out: Sequence[int], step: Step
    ) -> None:
        self.query, self.parts, self.left_out = query, parts, left_out
        self.first_markers = [bisect_right(left_out, part.lines[-1]) for part in parts]
        self.evidence = step.evidence
        needle = query.needle
        self.bare = any(
            evidence("\n".join(needle.lines[index] for index in part.lines)) < step.evidence / 2
            for part in parts
        )

    def chains(self, found: Sequence[Sequence[tuple[int, ...]]]) -> Iterator[Chain]:
        """The ways to choose a place for every part so that they follow each other."""
        if not found:
            yield ()
            return
        for rest in self.chains(found[:-1]):
            for rows in found[-1]:
                if not rest or rest[-1][-1] < rows[0]:
                    yield (*rest, rows)

    def consistent(self, chain: Chain) -> bool:
        """Whether lines of one depth there are of one depth here, and deeper ones deeper."""
        seen: dict[int, int] = {}
        for here, there in self._pairs(chain):
            # Often the indentation of the very first line alone is lost.
            if here != self.parts[0].lines[0]:
                mine = self._width_there(there)
                if seen.setdefault(self._width_here(here), mine) != mine:
                    return False
        widths = [seen[width] for width in sorted(seen)]
        return all(left < right for left, right in pairwise(widths))

    def _pairs(self, chain: Chain) -> Iterator[tuple[int, int]]:
        for part, rows in zip(self.parts, chain, strict=True):
            yield from zip(part.lines, rows, strict=True)

    def _width_here(self, index: int) -> int:
        return width_of(indent_of(self.query.needle.lines[index]), 8)

    def _width_there(self, row: int) -> int:
        return width_of(indent_of(self.query.text.lines[row]), 8)

    def in_scope(self, chain: Chain) -> bool:
        """Whether the elided lines lie in the block that the markers' indentation tells."""
        return all(self._gap_in_scope(chain, number) for number in range(len(chain) - 1))

    def _gap_in_scope(self, chain: Chain, number: int) -> bool:
        above, below = self.parts[number].lines[-1], self.parts[number + 1].lines[0]
        marker = self.left_out[self.first_markers[number]]
        here, after = self._width_here(above), self._width_here(below)
        depth = max(self._width_here(marker), min(here, after))
        first, last = chain[number][-1], chain[number + 1][0]
        floor = max(
            self._floor(depth, here, first) + (after > here >= depth),
            self._floor(depth, after, last),
        )
        return min(self._widths[first + 1 : last], default=floor) >= floor

    @cached_property
    def _widths(self) -> list[float]:
        """How deep each row is; a blank one is as deep as any."""
        filled = map(bool, self.query.text.stripped)
        return [self._width_there(row) if text else inf for row, text in enumerate(filled)]

    def _floor(self, depth: int, here: int, row: int) -> int:
        """The least width of elided lines beside a row, if they are ``depth`` and it ``here``."""
        return self._width_there(row) + (depth > here) if depth >= here else 0

    def same_result(self, chains: Sequence[Chain]) -> Chain | None:
        """The tightest chain, if all lead to one result and what is changed proves its place.

        Where a part is that the change does not touch makes no difference.
        """
        touched = self._touched()
        lines = [index for number in touched for index in self.parts[number].lines]
        text = "\n".join(self.query.needle.lines[index] for index in lines)
        agreed = {tuple(chain[number] for number in touched) for chain in chains}
        if len(agreed) != 1 or evidence(text) < self.evidence:
            return None
        for told in (self.consistent, self.in_scope):
            chains = [chain for chain in chains if told(chain)] or chains
        return min(chains, key=lambda chain: chain[-1][-1] - chain[0][0])

    def _touched(self) -> list[int]:
        """The parts in which, or beside which, the new text differs."""
        if self.query.new is None:
            return list(range(len(self.parts)))
        near: set[int] = set()
        old = self.query.needle
        for hunk in script(old.lines, self.query.new.lines):
            if not hunk.same:
                near.update(range(hunk.i1, hunk.i2))
                near.update(_neighbours(old, hunk.i1, hunk.i2))
        return [number for number, part in enumerate(self.parts) if near.intersection(part.lines)]

    def place(self, chain: Chain) -> Place:
        """The place of all parts and of what lies between them."""
        place = self.query.place(chain[0][0], chain[-1][-1] + 1)
        known = dict(self._pairs(chain))
        return place._replace(lines=tuple(self._lines(known, chain[0][0])))

    def _lines(self, known: dict[int, int], at: int) -> Iterator[tuple[int, int]]:
        needle = self.query.needle
        order = sorted(known)
        left_out = set(self.left_out)
        for index in range(len(needle.lines)):
            if index in known:
                at = known[index] + 1
                yield at - 1, at
            elif index in left_out and order[0] < index < order[-1]:
                start, at = at, known[order[bisect_right(order, index)]]
                yield start, at
            else:
                yield at, at


def _neighbours(text: Text, first: int, stop: int) -> Iterator[int]:
    """The lines with text next above row ``first`` and next below the rows up to ``stop``."""
    for rows in (range(first - 1, -1, -1), range(stop, len(text.lines))):
        nearest = next((row for row in rows if text.stripped[row]), None)
        if nearest is not None:
            yield nearest


def _in_order(found: Sequence[Sequence[tuple[int, ...]]]) -> list[list[tuple[int, ...]]]:
    """The places of each part below which the parts after it have places.

    So every way to put the first parts in order can be finished, and no attempt is wasted.
    """
    kept: list[list[tuple[int, ...]]] = []
    for places in reversed(found):
        last = max((rows[0] for rows in kept[-1]), default=-1) if kept else inf
        kept.append([rows for rows in places if rows[-1] < last])
    return kept[::-1]


def _settled(elision: _Elision, found: Sequence[Sequence[tuple[int, ...]]]) -> Found:
    chains = []
    for chain in elision.chains(_in_order(found)):
        chains.append(chain)
        if len(chains) > _CHAINS:
            return Found(reason="what is left out could be in too many places")
    same = elision.same_result(chains)
    if same:
        return Found((elision.place(same),))
    for told in (elision.consistent, elision.in_scope):
        kept = [chain for chain in chains if told(chain)]
        if elision.bare or (kept and len(chains) > 1):
            chains = kept
    same = elision.same_result(chains)
    places = tuple(elision.place(chain) for chain in ([same] if same else chains))
    if len(places) > 1:
        return Found(tuple(dict.fromkeys(places)), equal=False)
    return Found(places, reason=None if places else "its parts are not there in order")
