"""The file's indentation for new lines, where the model's is another.

The matcher's `Reindenter` fits a scale and a shift to all pairs, and asks the units of model and
file where the pairs leave a choice. A patch and a region say more than an old and a new text do:
what they bring is meant to stand beside their old lines as they wrote it. So the plainest reading
that explains every pair goes first: a move by so many columns, or a tab for so many blanks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from git_boocode.matching.indent import Pair, Reindenter, Style, common_step, width_of

Carrier = Callable[[str, bool], str]
"""Gives the file's indentation for one of the model's, and whether it is the very first line's."""

_WIDEST = 4
"""Blanks that a file is likely to indent by."""
_NARROWEST = 2
"""A tab stands for at least so many blanks."""


def carrier(pairs: Sequence[Pair], style: Style) -> Carrier:
    """What gives new lines the file's indentation.

    Args:
        pairs: the indentation of old lines and of the file's lines that they stand for.
        style: what the model's text and the file look like.
    """
    return _plainest(pairs, style) or Reindenter(pairs, style)


def _plainest(pairs: Sequence[Pair], style: Style) -> Carrier | None:
    if not any(mine or real for mine, real in pairs):
        return _from_margin(style)
    if all(mine == real for mine, real in pairs):
        return as_given
    reals = [real for _, real in pairs]
    if not _only(" ", style.old):
        return None
    if any(reals) and _only("\t", reals):
        return _tabs(pairs)
    shifts = {len(real) - len(mine) for mine, real in pairs}
    if len(shifts) == 1 and _only(" ", reals) and not _is_scaled(pairs, style):
        return _shifted(shifts.pop())
    return None


def as_given(indent: str, _leading: bool) -> str:
    """The indentation of the model, which is the file's."""
    return indent


def _only(blank: str, indents: Sequence[str]) -> bool:
    return all(not indent.strip(blank) for indent in indents)


def _from_margin(style: Style) -> Carrier | None:
    """Old lines at the margin do not show how the file indents, but its other lines may."""
    tabbed = any("\t" in indent for indent in style.old)
    unit = common_step(style.near, 8)
    if tabbed and unit and _only(" ", style.near):
        return lambda indent, _: " " * width_of(indent, unit)
    return None


def _shifted(shift: int) -> Carrier:
    return lambda indent, _: " " * max(0, len(indent) + shift)


def _tabs(pairs: Sequence[Pair]) -> Carrier | None:
    """As many blanks for each tab of the file as all pairs say; None if they do not agree."""
    widths = {Fraction(len(mine), len(real)) for mine, real in pairs if real}
    width = widths.pop()
    if widths or width < _NARROWEST or any(mine and not real for mine, real in pairs):
        return None
    return _tabbed(int(width)) if width == int(width) else None


def _tabbed(width: int) -> Carrier:
    return lambda indent, _: "\t" * (len(indent) // width) + " " * (len(indent) % width)


def _is_scaled(pairs: Sequence[Pair], style: Style) -> bool:
    """Whether the model's unit is another one than the file's, and the depths are the same."""
    factors = {Fraction(len(real), len(mine)) for mine, real in pairs if mine}
    if len(factors) != 1 or any(real and not mine for mine, real in pairs):
        return False
    unit, near = common_step(style.old, 8), common_step(style.near, 8)
    # Steps of eight blanks are mostly two of four, with the lines between out of sight.
    return 0 < near <= _WIDEST and unit * factors.pop() == near
