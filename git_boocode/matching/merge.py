"""Apply the difference between two sequences to a third: a three-way merge in which new wins.

Items that old and new share come from the file, and changed items from new. Items that only the
file has stay, unless they are inside a change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, MatchedRows, script
from git_boocode.matching.text import INVISIBLE, Text, canonical_line, framed
from git_boocode.matching.types import MatchError

_TOKENS = re.compile(r"\w+|\s+|.", re.DOTALL)

# Punctuation that may be doubled after a text and, read backwards, before it.
_BEHIND = re.compile(r"(?:</\w{1,40}>|[;,:.)\]}>'\"`]){0,16}(?:\s?[(\[{]{1,16})?")
_IN_FRONT = re.compile(r"[(\[{<'\"`@#$]{0,16}(?:\s?[)\]}]{1,16})?")
_BRACKETS = ("()", "[]", "{}", "<>")
_QUOTES = "'\"`"

_LONG = 20_000  # maximum length, in characters, of lines that are merged


class Move(NamedTuple):
    """The next part of the result: the file's items ``first:stop``, or a change.

    ``shared`` is set if old and new have these items, too. With a ``hunk``, its items of the new
    sequence replace the file's.
    """

    first: int
    stop: int
    shared: bool = False
    hunk: Hunk | None = None


def carry(
    hunks: Sequence[Hunk], matched: Sequence[MatchedRows], size: int, late: Collection[int] = ()
) -> Iterator[Move]:
    """Walk through the hunks from old to new, and through the ``size`` items of the file.

    ``matched`` contains the matching items of the file for each old item, ascending. Items added
    before the old items ``late`` go after the items that only the file has there, others before.
    """
    at = 0
    for hunk in hunks:
        mine = [own for own in matched[hunk.i1 : hunk.i2] if own[0] < own[1]]
        if hunk.same:
            for first, stop in mine:
                yield Move(at, first)
                yield Move(first, stop, shared=True)
                at = stop
            continue
        first, stop = (mine[0][0], mine[-1][1]) if mine else (at, at)
        if not mine and hunk.i1 in late:
            later = (matched[index] for index in range(hunk.i2, len(matched)))
            first = stop = next((own[0] for own in later if own[0] < own[1]), size)
        yield Move(at, first)
        yield Move(first, stop, hunk=hunk)
        at = stop
    yield Move(at, size)


def merge_line(mine: str, old: str, new: str) -> str:
    """Apply the change from ``old`` to ``new`` to ``mine``, token by token.

    If the change touches tokens that differ in ``mine``, ``new`` wins. Tokens that both sides add
    at the same point occur once; MatchError (``ambiguous``) if they are different words. The lines
    have no leading or trailing whitespace.
    """
    if mine in (old, new) or max(map(len, (mine, old, new))) > _LONG:
        return new
    # With invisible characters, compare by character, so that they stay inside a changed word.
    invisible = not INVISIBLE.isdisjoint(mine) and canonical_line(mine) == old
    split = list if invisible else _TOKENS.findall
    lines = _Lines(*(_Tokens.of(split(text)) for text in (mine, old, new)))
    pieces = [*_merged(lines)]
    gaps = ["", *(_gap(lines, left, right) for left, right in pairwise(pieces))]
    return "".join(gap + piece.word for gap, piece in zip(gaps, pieces, strict=True))


class _Tokens(NamedTuple):
    """The tokens of a line, and the whitespace before each."""

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
    """A token of the merged line, and its indexes in the three lines, if it occurs there."""

    word: str
    at: int | None  # in the file's line, or the index of the token that it replaces there
    old: int | None = None
    new: int | None = None


def _merged(lines: _Lines) -> Iterator[_Piece]:
    mine, old, new = (line.words for line in lines)
    matched = [own for hunk in script(old, mine) for own in _owned(hunk)]
    owner = {index: at for at, own in enumerate(matched) for index in range(*own)}
    hunks = script(old, new)
    # Tokens that are unchanged or replaced one by one.
    in_new = {
        hunk.i1 + step: hunk.j1 + step
        for hunk in hunks
        if hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1
        for step in range(hunk.i2 - hunk.i1)
    }
    in_old = {new: old for old, new in in_new.items()}
    moves = [*carry(hunks, matched, len(mine))]
    for number, move in enumerate(moves):
        if move.hunk:
            for index, word in enumerate(new[move.hunk.j1 : move.hunk.j2], move.hunk.j1):
                at = in_old.get(index)
                first, stop = matched[at] if at is not None else (0, 0)
                yield _Piece(word, first if stop == first + 1 else None, at, index)
        elif move.shared:
            for index in range(move.first, move.stop):
                at = owner[index]
                yield _Piece(mine[index], index, at, in_new[at])
        elif not _has_own(
            new, moves[max(number - 1, 0) : number + 2], mine[move.first : move.stop]
        ):
            yield from (_Piece(mine[index], index) for index in range(move.first, move.stop))


def _has_own(new: Sequence[str], moves: Sequence[Move], own: Sequence[str]) -> bool:
    """Whether the change adds tokens that the file already has next to it (MatchError)."""
    for hunk in filter(None, (move.hunk for move in moves)):
        added = new[hunk.j1 : hunk.j2]
        if framed(own) in framed(added):
            return True
        if not re.search(r"\w", "".join(own)):
            continue
        # Only one comment can follow code; an attribute or a call belongs to the token before it.
        apart = "".join(added[:1]) not in ".([" or own[0] in ".(["
        clash = own[0] in added if own[0] in "#/" else hunk.i1 == hunk.i2 and apart
        if clash:
            there, here = " ".join(own), " ".join(added)
            message = f"the file has '{there}' where the new text adds '{here}'"
            raise MatchError("ambiguous", message)
    return False


def _gap(lines: _Lines, left: _Piece, right: _Piece) -> str:
    """The whitespace between two pieces: the file's if the change does not affect it."""
    mine, old, new = lines
    if right.new is None or (left.at is not None and right.at == left.at + 1):
        return mine.gaps[right.at or 0]
    gap = new.gaps[right.new]
    if right.at is None or not right.old:
        return gap
    sides = old.words[right.old - 1][0], left.word[0]
    if old.gaps[right.old] == gap and (sides[0] == sides[1] or all(map(str.isalnum, sides))):
        return mine.gaps[right.at]
    # The tokens between them were removed, with the whitespace on one side.
    if left.at is not None and left.old is not None and old.gaps[left.old + 1] == gap:
        return mine.gaps[left.at + 1]
    return gap


def _owned(hunk: Hunk) -> Iterator[MatchedRows]:
    """Match items one by one; the last of a changed hunk matches the rest of the other side."""
    # So a word that consists of two tokens in the file is treated as a whole.
    height = hunk.i2 - hunk.i1
    for step in range(height):
        first = min(hunk.j1 + step, hunk.j2)
        yield first, min(first + 1, hunk.j2) if step < height - 1 else hunk.j2


def fit_to_line(text: Text, span: tuple[int, int], texts: tuple[str, str]) -> str:
    """Adapt new text to replace the old text at ``span``; both ``texts`` have LF line endings."""
    raw, (start, end) = text.raw, span
    before = raw[raw.rfind("\n", 0, start) + 1 : start].removeprefix(text.mark)
    stop = raw.find("\n", end)
    behind = raw[end : stop if stop >= 0 else len(raw)].rstrip("\r")
    old, new = texts[0], without_doubled(texts, before, behind)
    if before and not before.strip() and not old[:1].isspace():
        return _indented(text, start, (old, new), (before, behind))
    return new


def without_doubled(texts: tuple[str, str], before: str, behind: str) -> str:
    """The new text without punctuation at its ends that the file has around the old text."""
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
        # The file also has the space before a brace.
        rest = rest.rstrip() if len(mark) < size else rest
        # Keep punctuation that closes brackets of the new text, or that is the whole edit.
        if rest != old and _open(rest, mark) == _open(old, mark):
            return rest
    return new


def _open(text: str, mark: str) -> list[int]:
    """The number of unclosed brackets and quotes in a text, for each kind in a mark."""
    count = Counter(text)
    nested = [count[pair[0]] - count[pair[1]] for pair in _BRACKETS if {*pair} & {*mark}]
    return nested + [count[quote] % 2 for quote in _QUOTES if quote in mark]


def _indented(text: Text, start: int, texts: tuple[str, str], around: tuple[str, str]) -> str:
    """The new text for a line whose indentation the old text omits, with the right indentation."""
    (old, new), (indent, behind) = texts, around
    lines = new.split("\n")
    if new.startswith(indent):
        # The new text may include the indentation, which must not be doubled.
        versions = [new.removeprefix(indent), new]
        if versions[0] == old:
            return new
    else:
        # If other lines of the old text have the file's indentation, only new blocks lack it.
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
