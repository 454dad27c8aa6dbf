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
from git_boocode.matching.canonical import INVISIBLE, canonical_line, look_alikes

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


def carry(
    hunks: Sequence[Hunk],
    owned: Sequence[Owned],
    size: int,
    late: frozenset[int] = frozenset(),
) -> Iterator[Move]:
    """Walk through the hunks from old to new, and through the file's ``size`` items with them.

    ``owned`` gives for each old item the file's items it stands for, ascending. What comes in above
    the old items ``late`` comes behind what only the file has there, else before it.
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
        if not mine and hunk.i1 in late:
            later = (owned[index] for index in range(hunk.i2, len(owned)))
            first = stop = next((own[0] for own in later if own[0] < own[1]), size)
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
    split = list if _has_invisible(mine, old) else _TOKENS.findall
    tokens: list[list[str]] = [split(text) for text in (mine, old, new)]
    owned = _own_tokens(tokens[1], tokens[0])
    parts: list[str] = []
    added: list[str] = []
    blanks = False
    hunks = [*_with_new_blanks(script(tokens[1], tokens[2]), tokens[2], owned)]
    for move in carry(hunks, owned, len(tokens[0])):
        came, kept = added, tokens[0][move.first : move.stop]
        added = tokens[2][move.hunk.j1 : move.hunk.j2] if move.hunk else []
        if blanks and added[:1] and added[0].isspace():
            parts.pop()
        blanks = False
        if move.hunk:
            parts += added
        elif move.shared or not (kept == came or _spaced_anew(came, kept)):
            parts += kept
            blanks = not move.shared and len(kept) == 1 and kept[0].isspace()
    merged = "".join(parts)
    return merged.strip() if new == new.strip() else merged


def _with_new_blanks(
    hunks: Sequence[Hunk], new: Sequence[str], owned: Sequence[Owned]
) -> Iterator[Hunk]:
    """The hunks, except that a blank behind a comma which comes in comes in with it.

    Old had one there for another reason, and the file has none.
    """
    taken = 0
    for hunk, after in zip(hunks, [*hunks[1:], None], strict=True):
        i1, j1 = hunk.i1 + taken, hunk.j1 + taken
        comma = not hunk.same and hunk.j1 < hunk.j2 and new[hunk.j2 - 1] == ","
        taken = int(comma and after is not None and _is_new_blank(after, new, owned))
        if i1 < hunk.i2 or j1 < hunk.j2:
            yield Hunk(hunk.same, i1, hunk.i2 + taken, j1, hunk.j2 + taken)


def _is_new_blank(hunk: Hunk, new: Sequence[str], owned: Sequence[Owned]) -> bool:
    """Whether a hunk of shared tokens begins with a blank that the file does not have."""
    first, stop = owned[hunk.i1]
    return new[hunk.j1].isspace() and first == stop


def _has_invisible(mine: str, old: str) -> bool:
    """Whether the file's line is the old one but for characters within words that nobody sees."""
    return mine != old and not INVISIBLE.isdisjoint(mine) and canonical_line(mine) == old


def _spaced_anew(came: Sequence[str], kept: Sequence[str]) -> bool:
    """Whether what came in brings its own blanks to where the file has nothing but some."""
    return bool(came) and "".join(kept).isspace() and (came[0].isspace() or came[-1].isspace())


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
