"""Carry the difference between two sequences onto a third: a three-way merge in which new wins.

The same walk serves for the lines of a hunk and for the tokens of a line: what old and new share is
taken from the file, what new changed is taken from new, and what only the file has stays unless it
lies inside what was changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.matching.align import Hunk, Owned, script
from git_boocode.matching.canonical import look_alikes

_TOKENS = re.compile(r"\w+|\s+|.", re.DOTALL)

LONG_BODY = 20_000
"""Longer changed lines (characters) are not merged: the new line is taken as it is."""


class Move(NamedTuple):
    """What comes next in the result: the file's items ``first:stop``, or a change.

    ``shared`` is whether old and new have these items too, or the file alone. Where there is a
    ``hunk``, what it has in the new sequence comes instead.
    """

    first: int
    stop: int
    shared: bool = False
    hunk: Hunk | None = None


def carry(hunks: Sequence[Hunk], owned: Sequence[Owned], size: int) -> Iterator[Move]:
    """Walk through the hunks from old to new, and through the file's ``size`` items with them.

    ``owned`` gives for each old item the file's items it stands for, ascending.
    """
    at = 0
    for hunk in hunks:
        mine = [own for own in owned[hunk.i1 : hunk.i2] if own[0] < own[1]]
        if hunk.same:
            for first, stop in mine:
                yield Move(at, first)
                yield Move(first, stop, shared=True)
                at = stop
            continue
        first, stop = (mine[0][0], mine[-1][1]) if mine else (at, at)
        yield Move(at, first)
        yield Move(first, stop, hunk=hunk)
        at = stop
    yield Move(at, size)


def merge_line(mine: str, old: str, new: str) -> str:
    """``mine`` with the change from ``old`` to ``new`` applied, token by token.

    Where the change touches what ``mine`` has differently, ``new`` wins. What both have brought in
    at one point stands there once.
    """
    if mine in (old, new) or max(map(len, (mine, old, new))) > LONG_BODY:
        return new
    tokens = [_TOKENS.findall(text) for text in (mine, old, new)]
    owned = _own_tokens(tokens[1], tokens[0])
    parts: list[str] = []
    added: list[str] = []
    for move in carry(script(tokens[1], tokens[2]), owned, len(tokens[0])):
        came, kept = added, tokens[0][move.first : move.stop]
        added = tokens[2][move.hunk.j1 : move.hunk.j2] if move.hunk else []
        if move.hunk:
            parts += added
        elif move.shared or kept != came:
            parts += kept
    return "".join(parts)


def _own_tokens(old: Sequence[str], mine: Sequence[str]) -> list[Owned]:
    owned: list[Owned] = []
    for hunk in script([*map(look_alikes, old)], [*map(look_alikes, mine)]):
        owned += _shares(hunk)
    return owned


def _shares(hunk: Hunk) -> Iterator[Owned]:
    """One item each; the last one of a changed hunk stands for all that is left of the other side.

    So a word that the file spells as two tokens goes or stays as a whole.
    """
    height = hunk.i2 - hunk.i1
    for step in range(height):
        first = min(hunk.j1 + step, hunk.j2)
        stop = min(first + 1, hunk.j2) if step < height - 1 else hunk.j2
        yield first, stop
