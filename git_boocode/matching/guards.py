"""What a tolerant rung requires of a needle, and what rules a place out that is only similar."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING

from git_boocode.matching.align import distance, script, similarity, slips
from git_boocode.matching.rungs import Step
from git_boocode.matching.text import Text, common_prefix

if TYPE_CHECKING:
    from git_boocode.matching.text import Query
    from git_boocode.matching.windows import Window

_WORDS = re.compile(r"\w+")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_DIGITS = re.compile(r"\d+")
# What names are made of: `get`, `User`, `ID`, `2`.
_PARTS = re.compile(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+|\d+")

# Words that occur in every file of some language and so say nothing about a place.
_KEYWORDS = """
    begin break case catch class const continue def default do done elif else elsif end endif
    ensure except export False false fi finally fn for from func function if import in let new nil
    None none null NULL override pass private protected public raise rescue return self static
    super switch then this throw throws True true try undefined var void while yield
"""
_COMMON_WORDS = frozenset(_KEYWORDS.split())

_SHORT = 3  # a part of a name this short is another one if it begins otherwise: `get`, `set`
_LINE_FLOOR = 0.6  # a line less similar than this to the needle's is other code
_QUOTED = 60  # characters of a text that are quoted in a message
_LINE_EVIDENCE = 4  # what a line must hold to be recognised elsewhere
_REPEATED = 0.7  # a new line this similar to one that is there is taken for the same one
_LACKED = 200  # lines that the needle lacks that are compared with as many that come in
_RIVALS = 16  # runners-up that are compared with the best window

Words = tuple[str, ...]


def evidence(text: str) -> int:
    """The number of characters in the distinct words of a text that are not keywords."""
    return sum(map(len, {*_WORDS.findall(text)} - _COMMON_WORDS))


def too_bare(needle: Text, step: Step) -> bool:
    """Whether the needle holds too little to prove that a tolerant match is the place meant."""
    return evidence(needle.lf) < step.evidence


def quoted(text: str) -> str:
    """A text of the file or the model for a message, cut short if it is long."""
    return f"'{text}'" if len(text) <= _QUOTED else f"'{text[: _QUOTED - 1]}…'"


class WindowGuard:
    """What rules a window out as the place of a needle."""

    def __init__(self, query: Query, step: Step) -> None:
        self.query, self.step = query, step
        self.lines = query.text.canonical
        self.top = query.needle.core.start
        self.needle = query.needle.canonical[self.top : query.needle.core.stop]

    @cached_property
    def _occurs(self) -> Callable[[str], bool]:
        return cache(self.query.text.framed_canonical.__contains__)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORDS.findall(self.query.text.framed_canonical))

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(part for word in self._words for part in _PARTS.findall(word))

    def objection(self, window: Window) -> str | None:
        """Why the window is not the needle's place; None if nothing speaks against it."""
        rows = self.lines[window.first : window.stop]
        owners = {row: index for index, row in enumerate(range(*window[:2]), self.top)}
        different = self._different(rows) if self.step.typo else None
        return different or repeated_line(self.query, owners)

    def _different(self, rows: Sequence[str]) -> str | None:
        """The line that is other code, or has another word than the file."""
        new = self.query.new.canonical if self.query.new else []
        changes: list[tuple[int, tuple[Words, Words]]] = []
        for at, (line, row) in enumerate(zip(self.needle, rows, strict=True), self.top):
            after = self.query.partners.get(at)
            if line == row or (after is not None and _on_the_way(line, row, new[after])):
                continue
            if not similarity(line, row, _LINE_FLOOR):
                there = quoted(row) if row else "a blank line"
                return f"line {at + 1} is other code: the file has {there}"
            changes += [(at, words) for words in _word_changes(line, row)]
        counts = Counter(words for _, words in changes)
        for at, change in changes:
            mine, other = change
            # Nobody hits a wrong key twice in the same way: another name is so wherever it occurs.
            twice = counts[change] > 1 and _replaced("".join(mine), "".join(other))
            if twice or self._is_other_word(mine, other):
                here, there = (quoted(" ".join(words)) if words else "nothing" for words in change)
                return f"line {at + 1} has {here} where the file has {there}"
        return None

    def _is_other_word(self, mine: Words, other: Words) -> bool:
        """Whether words differ from the file's by more than misspelling."""
        here, there = "".join(mine), "".join(other)
        limit = self.step.typo * max(len(mine), len(other))
        if slips(here, there, limit) > limit or _DIGITS.findall(here) != _DIGITS.findall(there):
            return True
        # A word that the file uses elsewhere is a name of its own. Most words are nowhere in it.
        if any(self._occurs(word) and word in self._words for word in mine):
            return True
        return len(mine) == len(other) and any(map(self._is_other_name, mine, other))

    def _is_other_name(self, mine: str, other: str) -> bool:
        """Whether a word is no misspelling of the file's although it is one or two letters off."""
        same = max(common_prefix(mine, other), common_prefix(mine[::-1], other[::-1]))
        if max(len(mine), len(other)) - same == 2 and slips(mine, other, 2) == 2:
            return True  # one has another beginning or ending: `encoder`, `decoder`
        parts, others = _PARTS.findall(mine), _PARTS.findall(other)
        if len(parts) != len(others):
            return False
        return any(
            (self._occurs(part) and part in self._parts)
            or (len(part) <= _SHORT and _replaced(part, there) and part[0] != there[0])
            for part, there in zip(parts, others, strict=True)
            if part != there
        )

    def rivals(self, best: Window, others: Sequence[Window]) -> list[Window]:
        """The windows that are not clearly worse than the best."""
        if not self.step.margin:
            return [other for other in others if other.similarity == best.similarity]
        here = self.lines[best.first : best.stop]
        return [other for other in others[:_RIVALS] if self._is_rival(here, other)]

    def _is_rival(self, here: Sequence[str], other: Window) -> bool:
        there = self.lines[other.first : other.stop]
        apart = _distance(here, there)
        nearer = _distance(self.needle, there) - _distance(self.needle, here)
        return apart == 0 or nearer < self.step.margin * apart


def _distance(left: Sequence[str], right: Sequence[str]) -> int:
    return sum(map(distance, left, right))


def _on_the_way(old: str, row: str, new: str) -> bool:
    """Whether everything in which a row differs from the old line is in the new one already."""
    from rapidfuzz.distance import Indel

    before, there, after = (_TOKENS.findall(line) for line in (old, row, new))
    apart = Indel.distance(before, after)
    return Indel.distance(before, there) + Indel.distance(there, after) == apart


def _word_changes(left: str, right: str) -> Iterator[tuple[Words, Words]]:
    """The words in which two lines differ, run by run."""
    mine, other = _WORDS.findall(left), _WORDS.findall(right)
    for hunk in script(mine, other):
        if not hunk.same:
            yield (*mine[hunk.i1 : hunk.i2],), (*other[hunk.j1 : hunk.j2],)


def replaced_words(left: str, right: str) -> list[tuple[str, str]]:
    """The words of one line that the other has other words for, run by run."""
    pairs = (("".join(mine), "".join(other)) for mine, other in _word_changes(left, right))
    return [pair for pair in pairs if all(pair)]


def _replaced(mine: str, other: str) -> bool:
    """Whether letters are replaced by others: none is left out, none swapped."""
    return len(mine) == len(other) and sorted(mine) != sorted(other)


def applied_above(query: Query, first: int) -> str | None:
    """Why the lines that come in above row ``first``, the place's first one, are there already.

    None when they are not, or when they say too little.
    """
    new, text, hunks = query.new, query.text, query.hunks
    if new is None or not hunks or any(query.needle.canonical[: hunks[0].i2]):
        return None
    fresh = [line for line in new.canonical[hunks[0].j1 : hunks[0].j2] if line]
    at = bisect_left(text.filled, first)
    rows = text.filled[max(at - len(fresh), 0) : at]
    if evidence(" ".join(fresh)) < _LINE_EVIDENCE or [text.canonical[row] for row in rows] != fresh:
        return None
    return f"the lines that come in are there already, at line {rows[0] + 1}"


def repeated_line(query: Query, owners: Mapping[int, int]) -> str | None:
    """Why a line that comes in seems to be there already; None when none does.

    ``owners`` are the lines of the needle, by index, that match the rows of the place.
    """
    if query.new is None or not owners:
        return None
    needle, new, text = query.needle.canonical, query.new.canonical, query.text.canonical
    added = {index for hunk in query.hunks for index in range(hunk.j1, hunk.j2)}
    gone = {index for hunk in query.hunks for index in range(hunk.i1, hunk.i2)}
    fresh = {new[index] for index in added - {*query.partners.values()}} - {*needle}
    fresh = {line for line in sorted(fresh)[:_LACKED] if evidence(line) >= _LINE_EVIDENCE}
    strange = (
        row
        for row in range(min(owners), max(owners) + 1)
        if row not in owners or (owners[row] not in gone and needle[owners[row]] != text[row])
    )
    for row in islice(strange, _LACKED) if fresh else ():
        mine = similarity(needle[owners[row]], text[row]) if row in owners else 0.0
        numbers = _DIGITS.findall(text[row])
        alike = (line for line in fresh if _DIGITS.findall(line) == numbers)
        if any(similarity(text[row], line, _REPEATED) > mine for line in alike):
            return f"line {row + 1}, which it lacks, is like one that the new text adds"
    return None
