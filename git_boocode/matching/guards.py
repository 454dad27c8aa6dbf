"""Guards against wrong places: the evidence that a needle needs, and vetoes of similar places."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from math import inf

from git_boocode.matching.align import distance, script, similarity, slips
from git_boocode.matching.search import Query, Window
from git_boocode.matching.text import common_prefix, without_accents
from git_boocode.matching.types import Step

_WORDS = re.compile(r"\w+")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_DIGITS = re.compile(r"\d+")
OPERATOR = re.compile(r"[=!]==?|[<>]=|&&|\|\||\+\+|--|\*\*|//|[-+*/%&|^~!<>=#]")
"""An operator, or a mark that may open a comment."""
_CODE = re.compile(rf"\w+|{OPERATOR.pattern}|[^\w\s]")
_LOOSE = {"===": "==", "!==": "!="}
_BULLET = re.compile(r"[-*] ")
_RULER = re.compile(r"([-=*~/+])\1{2,}|(#)#{6,}")
"""A line drawn with characters, whose number does not matter; a heading has at most six `#`."""
# The parts of names: `get`, `User`, `ID`, `2`.
_PARTS = re.compile(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+|\d+")

# Words that occur in every file of some language, and do not identify a place.
_KEYWORDS = """
    begin break case catch class const continue def default do done elif else elsif end endif
    ensure except export False false fi finally fn for from func function if import in let new nil
    None none null NULL override pass private protected public raise rescue return self static
    super switch then this throw throws True true try undefined var void while yield
"""
_COMMON_WORDS = frozenset(_KEYWORDS.split())

_SHORT = 3  # a different first letter makes a different name part of this length: `get`, `set`
_LONG = 5  # letters of a word in which several may be wrong
_LINE_FLOOR = 0.6  # minimum similarity of a file line to the needle's line
_QUOTED = 60  # characters of a text that a message quotes
_LINE_EVIDENCE = 4  # minimum evidence of a line that is recognised elsewhere
_BLOCK = 3  # lines of an addition that is hardly made twice on purpose
_REPEATED = 0.7  # minimum similarity of a new line to the same line in the file
_LACKED = 200  # maximum number of extra lines, and of new lines, that are compared
_RIVALS = 16  # maximum number of windows that are compared with the best one

Words = tuple[str, ...]


def evidence(text: str) -> int:
    """The number of characters in the distinct words of a text that are not keywords."""
    return sum(map(len, {*_WORDS.findall(text)} - _COMMON_WORDS))


def quoted(text: str) -> str:
    """A text of the file or the model for a message, shortened if necessary."""
    return f"'{text}'" if len(text) <= _QUOTED else f"'{text[: _QUOTED - 1]}…'"


class WindowGuard:
    """Rejects windows that are not the place of a needle."""

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
    def _changed(self) -> frozenset[int]:
        """The lines of the needle that the edit changes; all without a new text."""
        if self.query.new is None:
            return frozenset(range(len(self.query.needle.lines)))
        hunks = self.query.hunks
        return frozenset(index for hunk in hunks for index in range(hunk.i1, hunk.i2))

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset(part for word in self._words for part in _PARTS.findall(word))

    def objection(self, window: Window) -> str | None:
        """Why the window is not the needle's place, or None."""
        rows = self.lines[window.first : window.stop]
        owners = {
            row: index for index, row in enumerate(range(window.first, window.stop), self.top)
        }
        different = self._different(rows) if self.step.typo else None
        return different or repeated_line(self.query, owners)

    def _different(self, rows: Sequence[str]) -> str | None:
        """A line that is different code, or has a different word than the file; or None."""
        new = self.query.new.canonical if self.query.new else []
        changes: list[tuple[int, tuple[Words, Words]]] = []
        for at, (line, row) in enumerate(zip(self.needle, rows, strict=True), self.top):
            after = self.query.partners.get(at)
            if line == row or (after is not None and row == new[after]):
                continue
            words = [*_word_changes(line, row)]
            replaced = any(all(pair) for pair in words)
            if not replaced and after is not None and _on_the_way(line, row, new[after]):
                continue
            if at not in self._changed and without_accents(line) == without_accents(row):
                continue
            if problem := _other_code(line, row):
                return f"line {at + 1} {problem}"
            changes += [(at, pair) for pair in words]
        counts = Counter(words for _, words in changes)
        certain = bool(changes) and self._is_certain(rows)
        for at, change in changes:
            mine, other = change
            slip = certain and at not in self._changed and self._is_slip(mine, other)
            # The same typing error does not happen twice, but another name is used consistently.
            twice = counts[change] > 1 and _replaced("".join(mine), "".join(other))
            if twice or (not slip and self._is_other_word(mine, other)):
                return f"line {at + 1} {_instead(mine, other)}"
        return None

    def _is_certain(self, rows: Sequence[str]) -> bool:
        """Whether the lines at the change are equal, and no other place is similar.

        Those are the changed lines, or the lines beside added ones.
        """
        touched = {*self._changed}
        for hunk in self.query.hunks:
            touched |= {hunk.i1 - 1, hunk.i1} if hunk.i1 == hunk.i2 else set()
        pairs = enumerate(zip(self.needle, rows, strict=True), self.top)
        equal = {at: line for at, (line, row) in pairs if line == row}
        windows, reason = self.query.survey
        similar = sum(window.similarity >= self.step.threshold for window in windows)
        core = range(self.top, self.top + len(rows))
        return (
            reason is None
            and similar == 1
            and touched.intersection(core) <= equal.keys()
            and evidence("\n".join(equal.values())) >= self.step.evidence
        )

    def _is_slip(self, mine: Words, other: Words) -> bool:
        """Whether a word differs by a letter, or two in a longer one, and the file lacks it."""
        if len(mine) != 1 or len(other) != 1 or mine[0] in self._words:
            return False
        parts, others = map(_PARTS.findall, (mine[0], other[0]))
        pairs = (
            [*zip(parts, others, strict=False)]
            if len(parts) == len(others)
            else [(mine[0], other[0])]
        )
        short = min((len(there) for here, there in pairs if here != there), default=0)
        limit = self.step.typo if short >= _LONG else min(1, short - 1)
        same = _DIGITS.findall(mine[0]) == _DIGITS.findall(other[0])
        is_new = self._parts.isdisjoint({*parts}.difference(others))
        is_near = slips(mine[0], other[0], limit) <= limit
        return same and is_new and is_near and not _other_end(mine[0], other[0])

    def _is_other_word(self, mine: Words, other: Words) -> bool:
        """Whether words differ from the file's by more than typing errors."""
        here, there = "".join(mine), "".join(other)
        limit = self.step.typo * max(len(mine), len(other))
        if slips(here, there, limit) > limit or _DIGITS.findall(here) != _DIGITS.findall(there):
            return True
        # A word that the file uses elsewhere is another name. The substring test is a fast filter.
        if any(self._occurs(word) and word in self._words for word in mine):
            return True
        return len(mine) == len(other) and any(map(self._is_other_name, mine, other))

    def _is_other_name(self, mine: str, other: str) -> bool:
        """Whether a word is another name, although it differs by one or two letters only."""
        if _other_end(mine, other):
            return True
        parts, others = _PARTS.findall(mine), _PARTS.findall(other)
        if len(parts) != len(others):
            # Not if it is only divided otherwise: `readall`, `read_all`.
            differ = "".join(parts).lower() != "".join(others).lower()
            return differ and not {*parts}.difference(others).isdisjoint(self._parts)
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
    """Whether every difference of a row from the old line is already in the new one."""
    from rapidfuzz.distance import Indel

    before, there, after = (_TOKENS.findall(line) for line in (old, row, new))
    apart = Indel.distance(before, after)
    return Indel.distance(before, there) + Indel.distance(there, after) == apart


def _instead(mine: Words, other: Words) -> str:
    here, there = (quoted(" ".join(words)) if words else "nothing" for words in (mine, other))
    return f"has {here} where the file has {there}"


def _other_code(line: str, row: str) -> str | None:
    """What is wrong with a line that is no version of the file's line; None if it may be one."""
    if not similarity(line, row, _LINE_FLOOR):
        return f"is different code: the file has {quoted(row) if row else 'a blank line'}"
    operators = other_operators(line, row)
    return _instead(*operators) if operators else None


def other_operators(left: str, right: str) -> tuple[Words, Words] | None:
    """The first differing operators of two lines, or None; list items may have any bullet."""
    if _BULLET.match(left) and _BULLET.match(right):
        left, right = left[1:], right[1:]
    left, right = (_RULER.sub(r"\1\1\1\2", line) for line in (left, right))
    mine, other = (
        [_LOOSE.get(token, token) for token in _CODE.findall(line)] for line in (left, right)
    )
    for hunk in script(mine, other):
        here, there = mine[hunk.i1 : hunk.i2], other[hunk.j1 : hunk.j2]
        operators = (*filter(OPERATOR.match, here),), (*filter(OPERATOR.match, there),)
        # An angle bracket for another bracket is a slip, and so is a hyphen in a word.
        is_bracket = len(here) == len(there) == 1 and not {*here, *there}.isdisjoint("()[]{}")
        words = ["".join(tokens).replace("-", "") for tokens in (here, there)]
        is_hyphen = words[0] == words[1] != ""
        slip = hunk.same or is_bracket or is_hyphen
        if operators[0] != operators[1] and not slip:
            return operators
    return None


def _word_changes(left: str, right: str) -> Iterator[tuple[Words, Words]]:
    """The differing words of two lines, hunk by hunk."""
    mine, other = _WORDS.findall(left), _WORDS.findall(right)
    for hunk in script(mine, other):
        if not hunk.same:
            yield (*mine[hunk.i1 : hunk.i2],), (*other[hunk.j1 : hunk.j2],)


def replaced_words(left: str, right: str) -> list[tuple[str, str]]:
    """The words of one line that are replaced in the other, hunk by hunk."""
    pairs = (("".join(mine), "".join(other)) for mine, other in _word_changes(left, right))
    return [pair for pair in pairs if all(pair)]


def _other_end(mine: str, other: str) -> bool:
    """Whether words have a different beginning or ending: `encoder`, `decoder`."""
    same = max(common_prefix(mine, other), common_prefix(mine[::-1], other[::-1]))
    return max(len(mine), len(other)) - same == 2 and slips(mine, other, 2) == 2


def _replaced(mine: str, other: str) -> bool:
    """Whether letters are replaced by others, not left out or transposed."""
    return len(mine) == len(other) and sorted(mine) != sorted(other)


def applied_beside(query: Query, first: int, stop: int) -> str | None:
    """An error message if the lines to add at an end of rows ``first`` to ``stop`` are there.

    None if they are not, or have too little evidence.
    """
    new, text, needle, hunks = query.new, query.text, query.needle.canonical, query.hunks
    if new is None or not hunks:
        return None
    (top, end), rows = (hunks[0], hunks[-1]), text.filled
    for hunk, is_above in ((top, True), (end, False)):
        fresh = [line for line in new.canonical[hunk.j1 : hunk.j2] if line]
        at = bisect_left(rows, first) - len(fresh) if is_above else bisect_left(rows, stop)
        there = rows[max(at, 0) : at + len(fresh)]
        # A line or two below may be meant to be there twice.
        least = _LINE_EVIDENCE if is_above or len(fresh) >= _BLOCK else inf
        beside = needle[: hunk.i2] if is_above else needle[hunk.i1 :]
        is_there = [text.canonical[row] for row in there] == fresh
        if is_there and not any(beside) and evidence(" ".join(fresh)) >= least:
            return f"the added lines are already there, at line {there[0] + 1}"
    return None


def repeated_line(query: Query, owners: Mapping[int, int]) -> str | None:
    """An error message if an added line seems to exist already, or None.

    ``owners`` maps the rows of the place to the indexes of the matching lines of the needle.
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
            return f"it lacks line {row + 1}, which resembles a line that the new text adds"
    return None
