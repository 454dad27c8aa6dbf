"""At which depth old lines come back, where the lines around them were indented since.

The lines that stand there are the recorded ones but for blanks, so that each says how it moved.
Those that moved like the changed lines do, without a gap, are one block; what is outside of it was
not moved with it and says nothing. A block that was wrapped moved by the same blanks at every
depth, a file that indents by another step did not. Where both fit, and differ, nothing is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import takewhile
from math import gcd
from typing import NamedTuple

Pair = tuple[str, str]
"""A recorded line, and what it is in the file now."""


class Steps(NamedTuple):
    """By how many blanks the recorded text and the file indent; 0 where they do not."""

    recorded: int
    now: int

    @classmethod
    def of(cls, recorded: Iterable[str], now: Iterable[str]) -> Steps:
        """The steps of two texts."""
        return cls(_step(recorded), _step(now))


class _Row(NamedTuple):
    """The blanks at the beginning of a line: recorded, and now."""

    mine: str
    real: str


class _Shift(NamedTuple):
    """So many blanks less, or more, at the beginning of every line."""

    less: str
    more: str

    def carry(self, indent: str) -> str | None:
        if not indent.startswith(self.less):
            return None
        return self.more + indent.removeprefix(self.less)


class _Scale(NamedTuple):
    """Another step: so much of a new `blank` for an old one."""

    old: str
    new: str
    factor: Fraction

    def carry(self, indent: str) -> str | None:
        if indent.strip(self.old):
            return None
        width = len(indent) * self.factor
        if width == int(width):
            return self.new * int(width)
        # What is no whole tab was aligned.
        rest = len(indent) - int(int(width) / self.factor)
        return self.new * int(width) + " " * rest if self.new == "\t" else None

    def fits(self, row: _Row) -> bool:
        return self.carry(row.mine) == row.real


def at_their_depth(
    pairs: Sequence[Pair], inner: slice, old: Sequence[str], steps: Steps
) -> list[str] | None:
    """Old lines at the depth, and with the line endings, of those in whose place they come.

    Args:
        pairs: the changed lines and those around them that stand there unchanged but for blanks.
        inner: which of them are the changed ones.
        old: the lines that come back.
        steps: of the whole texts.

    Returns:
        None if it is not certain.
    """
    carried = _indents(pairs, inner, old, steps)
    if carried is None:
        return None
    endings = _endings(pairs, inner)
    return [
        indent + _rest(line, endings) for indent, line in zip(carried, old, strict=True)
    ]  # fmt: skip


def _indents(
    pairs: Sequence[Pair], inner: slice, old: Sequence[str], steps: Steps
) -> list[str] | None:
    above, core, below = (
        [_Row(_indent(mine), _indent(real)) for mine, real in part if mine.strip()]
        for part in (pairs[: inner.start], pairs[inner], pairs[inner.stop :])
    )
    near = core or [*above[-1:], *below[:1]]
    wanted = [_indent(line) if line.strip() else None for line in old]
    moves = {_shift(row) for row in near} or {_Shift("", "")}
    shift = moves.pop()
    if moves or shift is None:
        return _scaled([*above, *core, *below], wanted, steps)
    over, under = _count(reversed(above), shift), _count(below, shift)
    run = [*above[len(above) - over :], *core, *below[:under]]
    outside = [*above[: len(above) - over], *below[under:]]
    moved = _carried(shift, wanted)
    scale = _scale(run)
    if scale is not None and _is_plausible(scale, outside, steps):
        return moved if _carried(scale, wanted) == moved else None
    return moved


def _scaled(rows: Sequence[_Row], wanted: Sequence[str | None], steps: Steps) -> list[str] | None:
    scale = _scale(rows)
    if scale is None:
        return None
    depths = {row.mine for row in rows if row.mine}
    # One depth alone may have been wrapped, unless it is of other blanks now.
    if len(depths) < 2 and (scale.old == scale.new or not _is_of_steps(scale, steps)):
        return None
    return _carried(scale, wanted)


def _is_plausible(scale: _Scale, outside: Sequence[_Row], steps: Steps) -> bool:
    """Whether the whole file may have got another step, rather than the block another depth.

    Args:
        scale: fits the block.
        outside: what is around the block.
        steps: of the whole texts.
    """
    fitting = [scale.fits(row) for row in outside if row.mine or row.real]
    return 2 * sum(fitting) >= len(fitting) if fitting else _is_of_steps(scale, steps)


def _is_of_steps(scale: _Scale, steps: Steps) -> bool:
    now = 1 if scale.new == "\t" else steps.now
    before = 1 if scale.old == "\t" else steps.recorded
    return now > 0 and before * scale.factor == now


def _count(rows: Iterable[_Row], shift: _Shift) -> int:
    """How many lines from the first one on moved so."""
    return sum(1 for _ in takewhile(lambda row: _shift(row) == shift, rows))


def _shift(row: _Row) -> _Shift | None:
    if row.real.endswith(row.mine):
        return _Shift("", row.real[: len(row.real) - len(row.mine)])
    if row.mine.endswith(row.real):
        return _Shift(row.mine[: len(row.mine) - len(row.real)], "")
    return None


def _scale(rows: Sequence[_Row]) -> _Scale | None:
    """The one step for another that explains all rows; None where there is none."""
    deepest = max(rows, key=lambda row: len(row.mine), default=_Row("", ""))
    mine, real = deepest
    if not mine or not real or mine == real:
        return None
    old, new = mine[0], real[0]
    tabs = real.count("\t")
    # What follows the tabs was aligned.
    width = len(mine) - (len(real) - tabs if new == "\t" and old == " " else 0)
    scale = _Scale(old, new, Fraction(tabs if new == "\t" else len(real), max(width, 1)))
    return scale if all(map(scale.fits, rows)) else None


def _carried(by: _Shift | _Scale, wanted: Sequence[str | None]) -> list[str] | None:
    found = ["" if indent is None else by.carry(indent) for indent in wanted]
    known = [indent for indent in found if indent is not None]
    return known if len(known) == len(found) else None


def _endings(pairs: Sequence[Pair], inner: slice) -> dict[str, str]:
    """The line endings that recorded ones became; the nearest line decides."""
    nearest = [*pairs[inner], *reversed(pairs[: inner.start]), *pairs[inner.stop :]]
    found: dict[str, str] = {}
    for mine, real in nearest:
        # The last line of a file has none, which says nothing of others.
        if (before := _ending(mine)) and (now := _ending(real)):
            found.setdefault(before, now)
    return found


def _rest(line: str, endings: dict[str, str]) -> str:
    ending = _ending(line)
    body = line[: len(line) - len(ending)]
    # Blank lines keep their blanks.
    return (body[len(_indent(body)) :] if body.strip() else body) + endings.get(ending, ending)


def _ending(line: str) -> str:
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(lines: Iterable[str]) -> int:
    widths = {len(indent) for line in lines if not (indent := _indent(line)).strip(" ")}
    return gcd(*widths)
