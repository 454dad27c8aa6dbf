"""Carry the difference between two sequences onto a third: a three-way merge in which new wins.

What old and new share is taken from the file, what new changed from new, and what only the file has
stays unless it lies inside what was changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, Owned, script
from git_boocode.matching.text import INVISIBLE, Text, canonical_line, framed
from git_boocode.matching.types import MatchError

_TOKENS = re.compile(r"\w+|\s+|.", re.DOTALL)

# What may be doubled behind a text and, read backwards, in front of it.
_BEHIND = re.compile(r"(?:</\w{1,40}>|[;,:.)\]}>'\"`]){0,16}(?:\s?[(\[{]{1,16})?")
_IN_FRONT = re.compile(r"[(\[{<'\"`@#$]{0,16}(?:\s?[)\]}]{1,16})?")
_BRACKETS = ("()", "[]", "{}", "<>")
_QUOTES = "'\"`"

_LONG = 20_000  # longer lines (characters) are not merged


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
    hunks: Sequence[Hunk], owned: Sequence[Owned], size: int, late: Collection[int] = ()
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
    at one point occurs there once; MatchError (``ambiguous``) if these are different words. The
    lines have no whitespace at their ends.
    """
    if mine in (old, new) or max(map(len, (mine, old, new))) > _LONG:
        return new
    # Invisible characters stay where a word changes around them.
    invisible = not INVISIBLE.isdisjoint(mine) and canonical_line(mine) == old
    split = list if invisible else _TOKENS.findall
    lines = _Lines(*(_Tokens.of(split(text)) for text in (mine, old, new)))
    pieces = [*_merged(lines)]
    gaps = ["", *(_gap(lines, left, right) for left, right in pairwise(pieces))]
    return "".join(gap + piece.word for gap, piece in zip(gaps, pieces, strict=True))


class _Tokens(NamedTuple):
    """The tokens of a line, and for each the whitespace in front of it."""

    words: list[str]
    gaps: list[str]

    @classmethod
    def of(cls, tokens: Sequence[str]) -> _Tokens:
        words, gaps = [], [""]
        for token in tokens:
            if token.isspace():
                gaps[-1] += token
            else:
                words.append(token)
                gaps.append("")
        return cls(words, gaps)


class _Lines(NamedTuple):
    mine: _Tokens
    old: _Tokens
    new: _Tokens


class _Piece(NamedTuple):
    """A token of the merged line, and its indexes in the three lines, None where one lacks it."""

    word: str
    at: int | None  # in the file's line, or of the token it replaces there
    old: int | None = None
    new: int | None = None


def _merged(lines: _Lines) -> Iterator[_Piece]:
    mine, old, new = (line.words for line in lines)
    owned = [own for hunk in script(old, mine) for own in _owned(hunk)]
    owner = {index: at for at, own in enumerate(owned) for index in range(*own)}
    hunks = script(old, new)
    # Tokens that stay or are replaced one by one.
    in_new = {
        hunk.i1 + step: hunk.j1 + step
        for hunk in hunks
        if hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1
        for step in range(hunk.i2 - hunk.i1)
    }
    in_old = {new: old for old, new in in_new.items()}
    moves = [*carry(hunks, owned, len(mine))]
    for number, move in enumerate(moves):
        if move.hunk:
            for index, word in enumerate(new[move.hunk.j1 : move.hunk.j2], move.hunk.j1):
                at = in_old.get(index)
                first, stop = owned[at] if at is not None else (0, 0)
                yield _Piece(word, first if stop == first + 1 else None, at, index)
        elif move.shared:
            for index in range(move.first, move.stop):
                at = owner[index]
                yield _Piece(mine[index], index, at, in_new[at])
        elif not _brings(new, moves[max(number - 1, 0) : number + 2], mine[move.first : move.stop]):
            yield from (_Piece(mine[index], index) for index in range(move.first, move.stop))


def _brings(new: Sequence[str], moves: Sequence[Move], own: Sequence[str]) -> bool:
    """Whether the change brings words of the file's own along, beside which it is."""
    for hunk in filter(None, (move.hunk for move in moves)):
        added = new[hunk.j1 : hunk.j2]
        if framed(own) in framed(added):
            return True
        if not re.search(r"\w", "".join(own)):
            continue
        # One comment may follow code; an attribute or a call belongs to what is in front of it.
        apart = "".join(added[:1]) not in ".([" or own[0] in ".(["
        clash = own[0] in added if own[0] in "#/" else hunk.i1 == hunk.i2 and apart
        if clash:
            there, here = " ".join(own), " ".join(added)
            said = f"the file has '{there}' where the new text brings '{here}'"
            raise MatchError("ambiguous", said)
    return False


def _gap(lines: _Lines, left: _Piece, right: _Piece) -> str:
    """The whitespace between two pieces: the file's where it stays as it is in old."""
    mine, old, new = lines
    if right.new is None or (left.at is not None and right.at == left.at + 1):
        return mine.gaps[right.at or 0]
    given = new.gaps[right.new]
    if right.at is None or not right.old:
        return given
    sides = old.words[right.old - 1][0], left.word[0]
    if old.gaps[right.old] == given and (sides[0] == sides[1] or all(map(str.isalnum, sides))):
        return mine.gaps[right.at]
    # What was between them goes, with the whitespace on one side of it.
    if left.at is not None and left.old is not None and old.gaps[left.old + 1] == given:
        return mine.gaps[left.at + 1]
    return given


def _owned(hunk: Hunk) -> Iterator[Owned]:
    """One item each; the last of a changed hunk stands for the rest of the other side."""
    # So a word that the file spells as two tokens goes or stays as a whole.
    height = hunk.i2 - hunk.i1
    for step in range(height):
        first = min(hunk.j1 + step, hunk.j2)
        yield first, min(first + 1, hunk.j2) if step < height - 1 else hunk.j2


def fit_to_line(text: Text, span: tuple[int, int], texts: tuple[str, str]) -> str:
    """New text as it can take the place of the characters of ``span``, which old text is.

    ``texts`` are old and new, with LF line endings.
    """
    raw, (start, end) = text.raw, span
    before = raw[raw.rfind("\n", 0, start) + 1 : start].removeprefix(text.mark)
    stop = raw.find("\n", end)
    behind = raw[end : stop if stop >= 0 else len(raw)].rstrip("\r")
    old, new = texts[0], without_doubled(texts, before, behind)
    if before and not before.strip() and not old[:1].isspace():
        return _indented(text, start, (old, new), (before, behind))
    return new


def without_doubled(texts: tuple[str, str], before: str, behind: str) -> str:
    """The new one of two texts without punctuation at its ends that is in the file already.

    The old text, which is between ``before`` and ``behind`` in the file, does not have it.
    """
    old, new = texts
    new = _without_end(old, new, behind, _BEHIND)
    return _without_end(old[::-1], new[::-1], before[::-1], _IN_FRONT)[::-1]


def _without_end(old: str, new: str, behind: str, marks: re.Pattern[str]) -> str:
    found = marks.match(behind)
    for size in range(found.end() if found else 0, 0, -1):
        mark = behind[:size].lstrip()
        if not mark or old.endswith(mark) or not new.endswith(mark):
            continue
        rest = new.removesuffix(mark)
        # The space in front of a brace is in the file, too.
        rest = rest.rstrip() if len(mark) < size else rest
        # What closes brackets that new opens itself belongs to it; it may also be the whole edit.
        if rest != old and _open(rest, mark) == _open(old, mark):
            return rest
    return new


def _open(text: str, mark: str) -> list[int]:
    """How many of the brackets and quotes in a mark a text leaves open."""
    count = Counter(text)
    nested = [count[pair[0]] - count[pair[1]] for pair in _BRACKETS if {*pair} & {*mark}]
    return nested + [count[quote] % 2 for quote in _QUOTES if quote in mark]


def _indented(text: Text, start: int, texts: tuple[str, str], around: tuple[str, str]) -> str:
    """``new`` for a line whose indentation ``old`` leaves out, without doubling or missing it."""
    (old, new), (indent, behind) = texts, around
    lines = new.split("\n")
    if new.startswith(indent):
        # An indentation that new brings itself is not meant to be added to the file's.
        versions = [new.removeprefix(indent), new]
        if versions[0] == old:
            return new
    else:
        # Below other lines of old, which are as deep as in the file, only new blocks are not.
        opens = [at for at, line in enumerate(lines) if line[:1].strip() and line[-1] in ":{"]
        own = [at for at in opens if at and not lines[at - 1]]
        first = min(own, default=0) if "\n" in old.rstrip("\n") else 1
        if not first or new[:1].isspace() or any(line[:1].strip() for line in old.split("\n")[1:]):
            return new
        head, rest = lines[:first], lines[first:]
        deeper = [indent + line if line.strip() else line for line in rest]
        heads = [indent + line if line[:1].strip() else line for line in rest]
        versions = ["\n".join([*head, *tail]) for tail in (rest, deeper, heads)]
    from git_boocode.matching.indentation import Nesting

    row = text.raw.count("\n", 0, start)
    nesting = Nesting(text.lines, row, row + old.count("\n") + 1)
    return min(versions, key=lambda version: nesting.faults(indent + version + behind))
