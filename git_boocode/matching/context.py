"""Text found by the lines that the edit touches, although other lines around them are wrong.

The lines that go, and the nearest line on each side that stays, must be in the file as they are and
in one place only. Of the other lines most must be there too; those that are not stay the file's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, Owned, align_lines, script
from git_boocode.matching.guards import evidence, quoted, repeated_line, replaced_words
from git_boocode.matching.indent import indent_of, width_of
from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Place, Query, occurrences
from git_boocode.matching.text import framed

_PLACES = 16
"""Touched lines that occur more often than this are not looked at one by one."""
_LEAST = 3
"""At least this many lines with words must be as in the file."""
_SLACK = 2
"""How many rows more than the text has lines between two touched parts the file may have."""
_TAB = 8


Run = tuple[int, ...]
"""Neighbouring lines of the needle, by index, that the edit touches."""


class Fit(NamedTuple):
    """A place of the needle: the rows of its touched lines, and of the others that are there."""

    rows: dict[int, int]
    equal: frozenset[int]


def context(query: Query, step: Step) -> Found:
    """Whole lines of which those that the edit touches are equal, and most of the others."""
    runs = _runs(query)
    if not runs:
        return Found()
    found = [_places_of(query, run) for run in runs]
    if not all(found):
        return Found()
    fits = [_fit(query, chain) for chain in _chains(runs, found)]
    near = [fit for fit in fits if _share(query, fit) >= step.agree]
    if not near:
        return Found()
    if len(fits) > 1 and _share(query, near[0]) < 1.0:
        return Found(reason=f"what it changes occurs {len(fits)} times in the file")
    equal = [query.needle.lines[index] for index in near[0].equal]
    if sum(map(bool, map(evidence, equal))) < _LEAST or evidence("\n".join(equal)) < step.evidence:
        return Found(reason="too little of it is as in the file")
    for fit in near:
        if objected := _objection(query, fit):
            return Found(reason=objected)
    return Found(tuple(_place(query, fit) for fit in near))


def _runs(query: Query) -> list[Run]:
    """The lines that go, with the nearest line with text on each side."""
    if query.new is None:
        return []
    filled = query.needle.filled
    touched: set[int] = set()
    for hunk in _hunks(query):
        touched.update(index for index in filled if hunk.i1 <= index < hunk.i2)
        for side in _sides(query, hunk):
            if (nearest := _nearest(query, side)) is not None and not _is_loose(
                query, side, nearest
            ):
                touched.add(nearest)
    runs: list[list[int]] = []
    for before, index in pairwise([-1, *filled]):
        if index in touched:
            if runs and runs[-1][-1] == before:
                runs[-1].append(index)
            else:
                runs.append([index])
    return [tuple(run) for run in runs]


def _hunks(query: Query) -> list[Hunk]:
    """What the edit changes."""
    new = query.new.lines if query.new else query.needle.lines
    return [hunk for hunk in script(query.needle.lines, new) if not hunk.same]


def _sides(query: Query, hunk: Hunk) -> tuple[range, range]:
    """The lines above and below a change, nearest first."""
    return range(hunk.i1 - 1, -1, -1), range(hunk.i2, len(query.needle.lines))


def _nearest(query: Query, side: range) -> int | None:
    """The nearest line with text."""
    return next((index for index in side if query.needle.canonical[index]), None)


def _is_loose(query: Query, side: range, nearest: int) -> bool:
    """Whether the file lacks the nearest line with text, and a blank line is nearer."""
    return nearest != side[0] and query.absent([query.needle.canonical[nearest]])


def _places_of(query: Query, run: Run) -> list[tuple[int, ...]]:
    """The rows of a run of lines, wherever they follow each other but for blank lines."""
    lines = [query.needle.canonical[index] for index in run]
    if query.absent(lines):
        return []
    view, filled = query.text.framed_filled, query.text.filled
    found, at_row, seen = [], 0, 0
    for at in occurrences(view, framed(lines), shared=1)[: _PLACES + 1]:
        at_row += view.count("\n", seen, at)
        seen = at
        found.append(tuple(filled[at_row : at_row + len(lines)]))
    return found


def _chains(
    runs: Sequence[Run], found: Sequence[list[tuple[int, ...]]]
) -> Iterator[dict[int, int]]:
    """The places of the rarest run, each with the nearest fitting places of the others."""
    rarest = min(range(len(runs)), key=lambda number: len(found[number]))
    if len(found[rarest]) > _PLACES:
        return
    for rows in found[rarest]:
        chain = dict(zip(runs[rarest], rows, strict=True))
        for number in (*range(rarest + 1, len(runs)), *range(rarest - 1, -1, -1)):
            beside = number - 1 if number > rarest else number + 1
            linked = _linked((runs[beside], runs[number]), chain, found[number])
            if linked is None:
                break
            chain.update(zip(runs[number], linked, strict=True))
        else:
            yield chain


def _linked(
    runs: tuple[Run, Run], chain: dict[int, int], found: list[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """The one place of the second run that lies to the first as the needle says, or nearly so."""
    here, there = runs
    below = here[0] < there[0]
    edge = chain[here[-1] if below else here[0]]
    lines = there[0] - here[-1] if below else here[0] - there[-1]
    away = [(rows[0] - edge if below else edge - rows[-1], rows) for rows in found]
    near = [(abs(gap - lines), rows) for gap, rows in away if gap > 0]
    best = min(near, default=None)
    if best is None or best[0] > max(_SLACK, lines // 2):
        return None
    return best[1] if sum(distance == best[0] for distance, _ in near) == 1 else None


def _fit(query: Query, chain: dict[int, int]) -> Fit:
    """The rows of all lines of the needle that are near the touched ones."""
    needle, text = query.needle.canonical, query.text.canonical
    rows = dict(chain)
    known = sorted(chain)
    top, bottom = known[0], len(needle) - known[-1] - 1
    first = max(0, chain[known[0]] - top - _SLACK)
    last = min(len(text), chain[known[-1]] + 1 + bottom + _SLACK)
    ends = [(-1, first - 1), *((index, chain[index]) for index in known), (len(needle), last)]
    for (above, over), (below, under) in pairwise(ends):
        lines = [index for index in range(above + 1, below) if needle[index]]
        there = [row for row in range(over + 1, under) if text[row]]
        owned = align_lines([needle[index] for index in lines], [text[row] for row in there])
        rows |= _rows_of(lines, there, owned)
    equal = (index for index, row in rows.items() if needle[index] == text[row])
    return Fit(rows, frozenset(equal))


def _rows_of(lines: list[int], there: list[int], owned: list[Owned]) -> dict[int, int]:
    return {
        index: there[first]
        for index, (first, stop) in zip(lines, owned, strict=True)
        if first < stop
    }


def _share(query: Query, fit: Fit) -> float:
    """How much of the needle's lines with text are as in the file."""
    return len(fit.equal) / len(query.needle.filled)


def _objection(query: Query, fit: Fit) -> str | None:
    """Why the place may be another one; None when nothing speaks against it."""
    return (
        _loose_end(query, fit)
        or _another_block(query, fit)
        or repeated_line(query, sorted({fit.rows[index] for index in fit.equal}))
    )


def _loose_end(query: Query, fit: Fit) -> str | None:
    """Why nobody knows how far a change reaches that stands beside a line that is not there."""
    for hunk in _hunks(query):
        for side in _sides(query, hunk):
            nearest = _nearest(query, side)
            if nearest is None or nearest in fit.rows or _blank_beside(query, fit, side):
                continue
            return f"line {nearest + 1}, beside what it changes, is not there"
    return None


def _another_block(query: Query, fit: Fit) -> str | None:
    """Why the place may be a sibling of the one meant: it goes by another name."""
    needle, text = query.needle.canonical, query.text.canonical
    renamed: Counter[tuple[str, str]] = Counter()
    for index, row in fit.rows.items():
        changes = replaced_words(needle[index], text[row])
        renamed.update(changes)
        if changes and _heads(query, fit, index):
            mine, other = map(quoted, changes[0])
            return f"line {index + 1} has {mine} where the file has {other}, which is another word"
    for (mine, other), count in renamed.items():
        if count > 1:
            return f"it has {quoted(mine)} wherever the file has {quoted(other)}"
    return None


def _blank_beside(query: Query, fit: Fit, side: range) -> bool:
    """Whether the file has a blank line, too, between what changes and a line that is not there."""
    step = side.step
    known = [index for index in fit.rows if (index - side[0]) * step < 0]
    row = fit.rows[min(known, key=lambda index: abs(index - side[0]))] + step if known else -1
    return 0 <= row < len(query.text.canonical) and not query.text.canonical[row]


def _heads(query: Query, fit: Fit, index: int) -> bool:
    """Whether a line opens the block that the next equal line below it is in."""
    lines = query.needle.lines
    below = next((other for other in sorted(fit.equal) if other > index), None)
    return below is not None and _width(lines[index]) < _width(lines[below])


def _width(line: str) -> int:
    return width_of(indent_of(line), _TAB)


def _place(query: Query, fit: Fit) -> Place:
    rows = sorted(fit.rows.values())
    filled = {row for row in range(rows[0], rows[-1] + 1) if query.text.canonical[row]}
    lines, at = [], rows[0]
    for index in range(len(query.needle.lines)):
        row = fit.rows.get(index)
        if row is not None:
            at = row
        lines.append((at, at + (row is not None)))
        # A blank line goes on to the next row, so that what is not there lies behind it.
        blank = not query.needle.canonical[index] and at not in filled
        at += row is not None or blank
    share = _share(query, fit)
    return query.place(rows[0], rows[-1] + 1, share)._replace(lines=tuple(lines))
