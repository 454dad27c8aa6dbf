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

from git_boocode.matching.align import Hunk, script, slips
from git_boocode.matching.text import INVISIBLE, Text, canonical_line, framed
from git_boocode.matching.types import MatchError, Occurrence, Rows

# A word may have combining marks, such as decomposed accents.
_TOKENS = re.compile(r"(?:\w[\u0300-\u036f]*)+|\s+|.", re.DOTALL)
_PARTS = re.compile(r"[^\W\d_]{4,}")  # the words in a name

# Punctuation that may be doubled after a text and, read backwards, before it.
_BEHIND = re.compile(r"(?:</\w{1,40}>|[;,:.)\]}>'\"`]){0,16}(?:\s?[(\[{]{1,16})?")
_IN_FRONT = re.compile(r"[(\[{<'\"`@#$]{0,16}(?:\s?[)\]}]{1,16})?")
_BRACKETS = ("()", "[]", "{}", "<>")
_QUOTES = "'\"`"
_SAME_QUOTES = str.maketrans('"`', "''")
# The end of a line whose statement goes on below, and the beginning of a line that continues one.
_GOES_ON = re.compile(r"(?:[(\[{,=|&?:\\]|(?<!\+)\+|(?<!-)-|(?<!\*)/(?!>)|\*)$")
_CONTINUES = re.compile(r"\.\w|\?|:|&&|\|\||\+ ")
_COMMENT_MARKS = ("#", "//", "/*", "--", "<!")
_SLIPS = 2  # typing errors in a word, as in the guards
_FEW = 2  # words that are another name
_STATEMENT = 100  # maximum number of lines of a statement
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
    hunks: Sequence[Hunk], matched: Sequence[Rows], size: int, late: Collection[int] = ()
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


def merge_line(mine: str, old: str, new: str, *, followed: bool = False) -> str:
    """Apply the change from ``old`` to ``new`` to ``mine``, token by token.

    ``mine`` and ``old`` are lines, ``new`` is a statement of one or more lines, ``followed`` if the
    new text adds other lines below. They have no leading or trailing whitespace; the result has as
    many lines as ``new``.

    If the change touches tokens that differ in ``mine``, ``new`` wins. Tokens that both sides add
    at the same point occur once. MatchError (``ambiguous``) if they are different words, or if
    tokens of the file may not belong into the new text.
    """
    if not new.strip() or mine in (old, new) or max(map(len, (mine, old, new))) > _LONG:
        return new
    # With invisible characters, compare by character, so that they stay inside a changed word.
    invisible = not INVISIBLE.isdisjoint(mine) and canonical_line(mine) == old
    split = list if invisible else _TOKENS.findall
    lines = _Lines(*(_Tokens.of(split(text)) for text in (mine, old, new)))
    merge = _Merge(lines)
    merge.check()
    pieces = _with_equal_quotes(lines, [*merge.pieces(followed=followed)])
    gaps = ["", *(_gap(lines, left, right) for left, right in pairwise(pieces))]
    _check_pairs(lines, [piece.word for piece in pieces])
    merged = "".join(gap + piece.word for gap, piece in zip(gaps, pieces, strict=False))
    if not pieces or merged.count("\n") != new.count("\n"):
        raise MatchError("ambiguous", "the file's line lacks what the old and the new one share")
    return merged


def check_line(mine: str, old: str, new: str) -> None:
    """Refuse to replace another word than the file's by text that has the file's (MatchError)."""
    if mine not in (old, new) and max(map(len, (mine, old, new))) <= _LONG:
        lines = (_Tokens.of(_TOKENS.findall(text)) for text in (mine, old, new))
        _Merge(_Lines(*lines)).check()


def is_spelled_alike(mine: str, old: str) -> bool:
    """Whether two lines differ only in whitespace, quotes, the end of a statement, and slips."""
    tokens = (_TOKENS.findall(canonical_line(line).translate(_SAME_QUOTES)) for line in (mine, old))
    left, right = ([token for token in line if not token.isspace()] for line in tokens)
    while left[-1:] and left[-1] in ",;" and len(left) > len(right):
        left.pop()
    return len(left) == len(right) and all(map(_is_slip, left, right))


def _is_slip(one: str, other: str) -> bool:
    return one == other or (len(one) > _SLIPS and slips(one, other, _SLIPS) <= _SLIPS)


def statement_end(old: str, new: Sequence[str]) -> int:
    """The number of lines from the first of ``new`` on that take the place of the line ``old``.

    These are more than one if the statement is not complete there, but with the lines below.
    """
    left = [-count for count in _nesting(old)]
    for size, line in enumerate(new[:_STATEMENT], 1):
        left = [count + more for count, more in zip(left, _nesting(line), strict=True)]
        below = new[size] if size < len(new) else ""
        if not (any(count > 0 for count in left) or _goes_on(old, line, below)):
            return size
    return 1


def _is_open(old: str, new: str) -> bool:
    """Whether the statement ``new``, the new version of the line ``old``, goes on."""
    pairs = zip(_nesting(old), _nesting(new), strict=True)
    return any(here < there for here, there in pairs) or _goes_on(old, new)


def _goes_on(old: str, line: str, below: str = "") -> bool:
    ends = _GOES_ON.search(line) is not None and not _GOES_ON.search(old)
    return ends or _CONTINUES.match(below.strip()) is not None


def _nesting(text: str | Sequence[str]) -> list[int]:
    """The number of unclosed brackets of each kind."""
    return [text.count(pair[0]) - text.count(pair[1]) for pair in _BRACKETS[:3]]


def _check_pairs(lines: _Lines, words: Sequence[str]) -> None:
    """Refuse a merge that has torn a pair of brackets or quotes apart (MatchError)."""
    texts = [*(line.words for line in lines), words]
    mine, old, new, merged = map(_nesting, texts)
    carried = [c + a - b for a, b, c in zip(mine, old, new, strict=True)]
    quotes = [{mark for mark in _QUOTES if text.count(mark) % 2} for text in texts]
    is_whole = quotes[3] in (quotes[2], quotes[0] ^ quotes[1] ^ quotes[2])
    if not (is_whole and merged in (new, carried)):
        raise MatchError("ambiguous", "the merged line would have an unmatched bracket or quote")


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

    def distinct(self) -> list[str]:
        """The tokens, and quotes together with the quoted token beside them."""
        keys, opened = [*self.words], ""
        for at, word in enumerate(self.words):
            if word not in _QUOTES or opened not in ("", word):
                continue
            beside = self.words[at - 1 : at] if opened else self.words[at + 1 : at + 2]
            keys[at] = "".join((word, *beside))
            opened = "" if opened else word
        return keys


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


class _Merge:
    """The change of a line, as hunks of tokens, and the file's tokens that match the old ones."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.mine, self.old, self.new = (line.words for line in lines)
        self.keys = [canonical_line(word) or word for word in self.mine]
        self.matched = [own for hunk in script(self.old, self.keys) for own in _owned(hunk)]
        self.hunks = script(lines.old.distinct(), lines.new.distinct())
        # A mark between changes that the file has in another form is part of them, unless words
        # are replaced one by one around it.
        paired = all(hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1 for hunk in self.hunks)
        for number, hunk in enumerate(self.hunks[1:-1], 1):
            is_single = hunk.same and hunk.i2 - hunk.i1 == 1 and not paired
            if is_single and self._is_other_mark(hunk.i1):
                self.hunks[number] = hunk._replace(same=False)

    def _is_other_mark(self, index: int) -> bool:
        """Whether the file has a punctuation mark of the old line in another form."""
        word = self.old[index]
        return not _is_word(word) and self.mine[slice(*self.matched[index])] != [word]

    def pieces(self, *, followed: bool) -> Iterator[_Piece]:
        """The tokens of the merged line (MatchError)."""
        mine, matched = self.mine, self.matched
        owner = {index: at for at, own in enumerate(matched) for index in range(*own)}
        # Tokens that are unchanged or replaced one by one.
        in_new = {
            hunk.i1 + step: hunk.j1 + step
            for hunk in self.hunks
            if hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1
            for step in range(hunk.i2 - hunk.i1)
        }
        in_old = {new: old for old, new in in_new.items()}
        moves = self._moves()
        for number, move in enumerate(moves):
            if move.hunk:
                for index in range(move.hunk.j1, move.hunk.j2):
                    at = in_old.get(index)
                    first, stop = matched[at] if at is not None else (0, 0)
                    own = first if stop == first + 1 else None
                    stays = own is not None and self._is_same_quote(at, index)
                    yield _Piece(mine[own or 0] if stays else self.new[index], own, at, index)
            elif move.shared:
                for index in range(move.first, move.stop):
                    yield _Piece(mine[index], index, owner[index], in_new[owner[index]])
            elif self._stays(moves[max(number - 1, 0) : number + 2], move, followed=followed):
                yield from (_Piece(mine[index], index) for index in range(move.first, move.stop))

    def _is_same_quote(self, old: int | None, new: int) -> bool:
        """Whether only the quoted text beside a quote changes."""
        return old is not None and self.old[old] == self.new[new] and self.new[new] in _QUOTES

    def check(self) -> None:
        """Refuse a change of words or marks that the file has in another form (MatchError)."""
        for hunk in self.hunks:
            if not hunk.same:
                self._check_words(hunk)
                self._check_marks(hunk)

    def _moves(self) -> list[Move]:
        # The end of a statement stays in front of an added comment.
        last = self.hunks[-1]
        comment = last.i1 == len(self.old) and _is_comment(self.new[last.j1 :])
        late = {len(self.old)} if comment else ()
        return [*carry(self.hunks, self.matched, len(self.mine), late)]

    def _check_words(self, hunk: Hunk) -> None:
        """Refuse to replace another word than the file's by text that has the file's word."""
        rows = [own for own in self.matched[hunk.i1 : hunk.i2] if own[0] < own[1]]
        there = self.keys[rows[0][0] : rows[-1][1]] if rows else []
        old, new = self.old[hunk.i1 : hunk.i2], "\0".join(self.new[hunk.j1 : hunk.j2])
        gone = [*filter(_is_word, old)]
        # More words are a text that is worded otherwise.
        few = 0 < len(gone) <= _FEW
        for word in {*filter(_is_word, there)}.difference(old) if few else ():
            slip = any(_is_slip(word, other) for other in gone)
            parts = {word, *_PARTS.findall(word)}.difference(*map(_PARTS.findall, gone))
            if not slip and any(part in new for part in parts):
                message = f"the file has '{word}' where the old text has '{' '.join(gone)}'"
                raise MatchError("ambiguous", message)

    def _check_marks(self, hunk: Hunk) -> None:
        """Refuse to add a mark beside an equal one that the file has in another form."""
        for at in {hunk.i1 - 1, hunk.i2}.intersection(range(len(self.old))):
            mark = self.old[at]
            added = mark in self.new[hunk.j1 : hunk.j2] and mark not in _QUOTES
            if added and self._is_other_mark(at):
                there = "".join(self.mine[slice(*self.matched[at])])
                message = f"the new text adds '{mark}' beside '{there}' of the file"
                raise MatchError("ambiguous", message)

    def _stays(self, beside: Sequence[Move], move: Move, *, followed: bool) -> bool:
        """Whether tokens that only the file has stay next to the change (MatchError)."""
        own = self.mine[move.first : move.stop]
        if move.stop < len(self.mine) or any(map(_is_word, own)):
            return not _has_own(self.new, beside, own)
        # They end the statement, and the new one unless that has such an end or goes on.
        last = self.hunks[-1]
        added = [] if last.same else self.new[last.j1 :]
        marks = (at for at in range(len(added)) if _is_comment(added[at : at + 4]))
        code = added[: next(marks, len(added))]
        if own and code[-len(own) :] == own:
            return False
        is_open = _is_open(" ".join(self.old), " ".join(self.new))
        if own and {*own} != {";"} and (is_open or (followed and own[0] == ",")):
            there = "".join(own)
            message = f"the file has '{there}' at the end of a line that the new text continues"
            raise MatchError("ambiguous", message)
        return not is_open


def _with_equal_quotes(lines: _Lines, pieces: list[_Piece]) -> list[_Piece]:
    """The pieces, with new's quotes around a text of which only one quote is the file's."""
    opened: int | None = None
    for at, piece in enumerate(pieces):
        mark = "" if piece.new is None else lines.new.words[piece.new]
        if mark not in (*_QUOTES,):
            continue
        if opened is None:
            opened = at
        elif lines.new.words[pieces[opened].new or 0] == mark:
            if (pieces[opened].word == mark) != (piece.word == mark):
                pieces[opened] = pieces[opened]._replace(word=mark)
                pieces[at] = piece._replace(word=mark)
            opened = None
    return pieces


def _is_comment(tokens: Sequence[str]) -> bool:
    return "".join(tokens).startswith(_COMMENT_MARKS)


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
    """The whitespace between two pieces: the file's if old and new have the same, else new's."""
    mine, old, new = lines
    beside = left.at is not None and right.at == left.at + 1
    if right.new is None or right.new == left.new:
        return mine.gaps[right.at or 0]
    gap = new.gaps[right.new]
    if left.new is None:
        return mine.gaps[right.at or 0] if beside and "\n" not in gap else gap
    # If the tokens between them were removed, the whitespace on one side remains.
    removed = left.old is not None and right.old is not None
    for at, own in ((right.old, right.at), (_next(left.old), _next(left.at))):
        if not at or own is None or at == len(old.words) or old.gaps[at] != gap:
            continue
        # The file's whitespace belongs to the kinds of tokens on both sides.
        sides = (old.words[at - 1], left.word), (old.words[at], right.word)
        alike = all(_kind(one) == _kind(other) for one, other in sides)
        if alike or (removed and at != right.old):
            joins = not mine.gaps[own] and left.word[-1].isalnum() and right.word[0].isalnum()
            return gap if joins else mine.gaps[own]
    return gap


def _next(index: int | None) -> int | None:
    return None if index is None else index + 1


def _kind(token: str) -> str:
    """A punctuation mark, or the same for all words."""
    return "word" if _is_word(token) else token


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def _owned(hunk: Hunk) -> Iterator[Rows]:
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


def added_comment(old: str, new: str) -> str:
    """The comment that new adds behind old, with the space before it; empty if there is none."""
    rest = new.removeprefix(old) if new.startswith(old) else ""
    return rest if rest[:1].isspace() and "\n" not in rest and _is_comment(rest.split()) else ""


def completed(
    text: Text, pair: tuple[Text, Text], place: Occurrence
) -> tuple[list[str], list[str]]:
    """Old and new, completed with the rest of the file's first and last line."""
    (old, new), (first, stop) = pair, place.rows or (0, 0)
    before = text.raw[text.start_of(first) : place.start]
    behind = text.raw[place.end : text.end_of(stop - 1)]
    # The end of a statement stays where the statement ends.
    behind = "" if behind.strip() and not behind.strip(" \t,;") else behind
    whole = (old.lines, new.lines) if old.closed else (old.pieces, new.pieces)
    texts = ["\n".join(lines) for lines in whole]
    fresh = without_doubled((texts[0], texts[1]), before, behind)
    # An added comment goes behind the rest of the line.
    comment = added_comment(texts[0], fresh)
    completed = [*whole[0]], fresh.removesuffix(comment).split("\n")
    for lines in completed:
        if before.strip():
            # Without indentation, because the file's line has it.
            lines[0] = before.lstrip() + lines[0].lstrip()
        lines[-1] += behind
    completed[1][-1] += comment
    return completed


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
    """One line of new text for a line whose indentation old omits; new may include it."""
    (old, new), (indent, behind) = texts, around
    if not new.startswith(indent) or new.removeprefix(indent) == old:
        return new
    from git_boocode.matching.indentation import Nesting

    row = text.raw.count("\n", 0, start)
    nesting = Nesting(text.lines, row, row + 1)
    versions = [new.removeprefix(indent), new]
    return min(versions, key=lambda version: nesting.faults(indent + version + behind))
