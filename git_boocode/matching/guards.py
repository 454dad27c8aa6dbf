"""What a tolerant rung asks of a needle and of a window before it believes them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, starmap, zip_longest
from typing import TYPE_CHECKING

from git_boocode.matching.align import PAIR_FLOOR, Owned, align_lines, script
from git_boocode.matching.comments import may_comment
from git_boocode.matching.profiles import Step
from git_boocode.matching.similarity import cost, distance, similarity, similarity_by_line, slips
from git_boocode.matching.text import Text
from git_boocode.matching.windows import Surveyor, Window, trimmed

if TYPE_CHECKING:
    from git_boocode.matching.rungs import Query

_WORDS = re.compile(r"\w+")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_DIGITS = re.compile(r"\d+")
_PARTS = re.compile(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+|\d+")
"""What names are made of: `get`, `User`, `ID`, `2`."""

# Words that stand in every file of some language and so say nothing about a place.
_KEYWORDS = """
    begin break case catch class const continue def default do done elif else elsif end endif
    ensure except export False false fi finally fn for from func function if import in let new nil
    None none null NULL override pass private protected public raise rescue return self static
    super switch then this throw throws True true try undefined var void while yield
"""
_COMMON_WORDS = frozenset(_KEYWORDS.split())

_NEGATIONS = frozenset(("not", "!", "no", "never", "without"))
_MANY_LINES = 4
_FEW_LINES = 3
_TELLING_LINE = 8
"""The evidence in each of two lines that proves a place with a line in between."""
_SHORT_PART = 3
"""A part of a name this short is another one if it begins otherwise: `get`, `set`."""
_WORDS_ASKED = 8
"""So many words of a changed hunk are looked up in the file."""
_LONG_WORK = 1_000_000
"""Places whose distance takes more word operations than this are compared line by line."""
_SHOWN = 60
"""So many characters of a text are quoted in a message."""
_SAYING = 4
"""The evidence that a line must hold to be known again."""
_REPEATED = 0.7
"""A line that comes in and is this similar to one that is there is taken for the same one."""
_LACKED = 200
"""At most this many lines that the needle lacks are compared with as many that come in."""
_RIVALS = 16
"""So many runners-up are weighed against the best window."""


def evidence(text: str) -> int:
    """How many characters the distinct telling words of a text have together."""
    words = set(_WORDS.findall(text)) - _COMMON_WORDS
    return sum(map(len, words))


def too_bare(needle: Text, step: Step) -> bool:
    """Whether the needle holds too little to prove that a tolerant match is the place meant."""
    return step.evidence > 0 and evidence(needle.lf) < step.evidence


def objection(surveyor: Surveyor, window: Window, step: Step) -> str | None:
    """Why the window must not be taken for the needle's place; None when nothing speaks against."""
    rows = surveyor.lines[window.first : window.stop]
    needle = surveyor.needle
    if step.forgotten:
        return _gap_objection(surveyor, rows, step)
    if len(needle) != len(rows):
        return None
    return _lines_objection(surveyor, list(zip(needle, rows, strict=True)), step)


def _lines_objection(surveyor: Surveyor, pairs: list[tuple[str, str]], step: Step) -> str | None:
    after = [surveyor.after.get(surveyor.top + at) for at in range(len(pairs))]
    pairs = [
        (row, row) if new is not None and _on_the_way(old, row, new) else (old, row)
        for (old, row), new in zip(pairs, after, strict=True)
    ]
    telling = [pair for pair in pairs if pair[0] or pair[1]]
    other = next((pair for pair in telling if not _resembles(*pair, step.line_floor)), None)
    if other is not None:
        return _is_other_code(surveyor, pairs.index(other), other[1])
    spared = _spared(surveyor, telling, step)
    held = [pair for pair in telling if pair not in spared]
    words = _other_words(surveyor, held, step.typo) if step.typo else None
    if words is not None:
        at = next(index for index, pair in enumerate(pairs) if words in _joined_changes(*pair))
        return _is_another_word(surveyor, at, *words)
    equal = sum(left == right for left, right in telling)
    if len(telling) >= _MANY_LINES and equal < step.agree * len(telling):
        return f"only {equal} of its {len(telling)} lines are as in the file"
    middle = [pair for pair in telling[1:-1] if pair not in spared]
    if middle and similarity_by_line(middle) < step.middle_floor:
        return "the lines between its first and its last one are other code in the file"
    return None


def _on_the_way(old: str, row: str, new: str) -> bool:
    """Whether all in which a row differs from the old line is in the new one already."""
    if row in (old, new):
        return True
    from rapidfuzz.distance import Indel

    before, there, after = (_TOKENS.findall(line) for line in (old, row, new))
    apart = Indel.distance(before, after)
    return Indel.distance(before, there) + Indel.distance(there, after) == apart


def _is_other_code(surveyor: Surveyor, at: int, there: str) -> str:
    line = f"line {surveyor.top + at + 1} is other code"
    return (
        f"{line}: the file has {quoted(there)}" if there else f"{line}: the file has a blank line"
    )


def _is_another_word(surveyor: Surveyor, at: int, mine: str, other: str) -> str:
    line = f"line {surveyor.top + at + 1}"
    if mine and other:
        return (
            f"{line} has {quoted(mine)} where the file has {quoted(other)}, which is another word"
        )
    if mine:
        return f"{line} has {quoted(mine)}, which the file does not have there"
    return f"{line} lacks {quoted(other)}, which the file has there"


def quoted(text: str) -> str:
    """A text of the file or the model for a message, cut short if it is long."""
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f"'{shown}'"


def _spared(surveyor: Surveyor, pairs: list[tuple[str, str]], step: Step) -> set[tuple[str, str]]:
    """The lines that need not agree word by word: comments, if code that is equal proves enough."""
    spared = {pair for pair in pairs if _rephrased(surveyor, pair)}
    equal = " ".join(left for left, right in pairs if left == right and (left, right) not in spared)
    return spared if evidence(equal) >= step.evidence else set()


def _resembles(left: str, right: str, floor: float) -> bool:
    """Whether two lines are as similar as the floor asks, or, if short, one slip apart."""
    if similarity(left, right, floor) >= floor:
        return True
    return min(len(left), len(right)) > _SHORT_PART and slips(left, right, 1) <= 1


def _rephrased(surveyor: Surveyor, pair: tuple[str, str]) -> bool:
    """Whether both lines say the same but for a comment, which may be in other words.

    A comment that the file has as it is stands for no other one.
    """
    left, right = pair
    if left == right or not (may_comment(left) and may_comment(right)):
        return False
    return surveyor.comments.reworded(left, right) and not surveyor.has_line(left)


def _other_words(
    surveyor: Surveyor, pairs: list[tuple[str, str]], typo: int
) -> tuple[str, str] | None:
    """Words, the needle's and the file's, that differ by more than misspelling; None if none do."""
    changes = Counter(words for pair in pairs for words in _joined_changes(*pair))
    # Nobody hits a wrong key twice in the same way: another name is so wherever it stands.
    for words, count in changes.items():
        if count > 1 and _replaced(*words):
            return words
    for pair in pairs:
        for mine, other in _word_changes(*pair):
            if _not_misspelt(surveyor, mine, other, typo):
                return _joined(mine), _joined(other)
    return None


def _joined(words: list[str]) -> str:
    return "".join(words)


def _joined_changes(left: str, right: str) -> list[tuple[str, str]]:
    return [(_joined(mine), _joined(other)) for mine, other in _word_changes(left, right)]


def _word_changes(left: str, right: str) -> Iterator[tuple[list[str], list[str]]]:
    """The words in which two lines differ, run by run."""
    if left == right:
        return
    mine, other = _WORDS.findall(left), _WORDS.findall(right)
    for hunk in script(mine, other):
        if not hunk.same:
            yield mine[hunk.i1 : hunk.i2], other[hunk.j1 : hunk.j2]


def _not_misspelt(surveyor: Surveyor, mine: list[str], other: list[str], typo: int) -> bool:
    here, there = "".join(mine), "".join(other)
    limit = typo * max(len(mine), len(other))
    if slips(here, there, limit) > limit or _DIGITS.findall(here) != _DIGITS.findall(there):
        return True
    # A word that the file uses elsewhere is a name of its own.
    if any(map(surveyor.knows, mine[:_WORDS_ASKED])):
        return True
    return len(mine) == len(other) and any(
        _another_name(surveyor, *names) for names in zip(mine, other, strict=True)
    )


def _another_name(surveyor: Surveyor, mine: str, other: str) -> bool:
    """Whether a word is no misspelling of the file's although it is one or two letters off."""
    left, right, _ = trimmed(mine, other)
    at_an_end = mine.startswith(left) and other.startswith(right)
    at_an_end |= mine.endswith(left) and other.endswith(right)
    if at_an_end and max(len(left), len(right)) == 2 and slips(left, right, 2) == 2:
        return True  # one has another beginning or ending: `encoder`, `decoder`
    parts, others = _PARTS.findall(mine), _PARTS.findall(other)
    if len(parts) != len(others) or mine == other:
        return False
    return any(
        _another_part(surveyor, part, there)
        for part, there in zip(parts, others, strict=True)
        if part != there
    )


def _another_part(surveyor: Surveyor, mine: str, other: str) -> bool:
    short = len(mine) <= _SHORT_PART and _replaced(mine, other) and mine[0] != other[0]
    return short or surveyor.knows_part(mine)


def replaced_words(left: str, right: str) -> list[tuple[str, str]]:
    """The words of one line that the other has other words for, run by run."""
    return [pair for pair in _joined_changes(left, right) if all(pair)]


def lacks_words(line: str, row: str, after: str) -> bool:
    """Whether a row is a line with words more, and most of it is that line.

    Where ``after``, what the line becomes, is not like it, nothing would carry these words over:
    then what stands beside them must go with the line.
    """
    mine, there = _TOKENS.findall(line), _TOKENS.findall(row)
    changed = [hunk for hunk in script(mine, there) if not hunk.same]
    lacked = {word for hunk in changed for word in there[hunk.j1 : hunk.j2]}
    inserted = all(hunk.i1 == hunk.i2 for hunk in changed) and len(there) < 2 * len(mine)
    if not inserted or not lacked.isdisjoint(_NEGATIONS):
        return False
    if similarity(line, after, PAIR_FLOOR):
        return True
    kept = {*_WORDS.findall(after)}
    sides = [(mine[: hunk.i1][::-1], mine[hunk.i1 :]) for hunk in changed]
    beside = [next(filter(_WORDS.match, side), "") for both in sides for side in both]
    return kept.isdisjoint(beside)


def applied_above(query: Query, first: int) -> str | None:
    """Why the lines that come in above row ``first``, the place's first one, are there already.

    None when they are not, or when they say too little.
    """
    needle, new, text = query.needle.canonical, query.new, query.text
    hunk = query.hunks[0] if new and query.hunks else None
    if new is None or hunk is None or any(needle[: hunk.i2]):
        return None
    fresh = [line for line in new.canonical[hunk.j1 : hunk.j2] if line]
    at = bisect_left(text.filled, first)
    rows = text.filled[max(at - len(fresh), 0) : at]
    if evidence(" ".join(fresh)) < _SAYING or [text.canonical[row] for row in rows] != fresh:
        return None
    return f"the lines that come in are there already, at line {rows[0] + 1}"


def repeated_line(query: Query, owners: Mapping[int, int]) -> str | None:
    """Why a line that comes in seems to be there already; None when none does.

    ``owners`` are the lines of the needle, by index, that stand for the rows of the place.
    """
    if query.new is None or not owners:
        return None
    needle, new, text = query.needle.canonical, query.new.canonical, query.text.canonical
    added = {*chain.from_iterable(range(hunk.j1, hunk.j2) for hunk in query.hunks)}
    fresh = {new[index] for index in added - {*query.partners.values()}} - {*needle}
    fresh = {line for line in sorted(fresh)[:_LACKED] if evidence(line) >= _SAYING}
    gone = {*chain.from_iterable(range(hunk.i1, hunk.i2) for hunk in query.hunks)}
    inside = range(min(owners), max(owners) + 1)
    rows = [row for row in inside if text[row] and owners.get(row) not in gone]
    strange = [row for row in rows if row not in owners or needle[owners[row]] != text[row]]
    for row in strange[:_LACKED] if fresh else ():
        mine = similarity(needle[owners[row]], text[row]) if row in owners else 0.0
        numbers = _DIGITS.findall(text[row])
        alike = (line for line in fresh if _DIGITS.findall(line) == numbers)
        if any(similarity(text[row], line, _REPEATED) > mine for line in alike):
            return f"line {row + 1}, which it lacks, is like one that the new text adds"
    return None


def _replaced(mine: str, other: str) -> bool:
    """Whether letters are replaced by others: none is left out, none swapped."""
    return len(mine) == len(other) and sorted(mine) != sorted(other)


def _gap_objection(surveyor: Surveyor, rows: list[str], step: Step) -> str | None:
    needle = surveyor.needle
    if sum(map(bool, needle)) < _FEW_LINES and not _telling_pair(surveyor):
        return "it is too short to be found around a line that it lacks"
    owned = align_lines(needle, rows)
    if any(stop - first != 1 for first, stop in owned):
        at = next(index for index, own in enumerate(owned) if own[1] - own[0] != 1)
        return f"line {surveyor.top + at + 1}, {quoted(needle[at])}, is not there"
    if owned[0][0] != 0 or owned[-1][1] != len(rows):
        at = 0 if owned[0][0] else len(needle) - 1
        return f"line {surveyor.top + at + 1}, {quoted(needle[at])}, is not there"
    matched = [rows[first] for first, _ in owned]
    if not _gaps_between_equals(needle, rows, owned):
        return "it lacks a line of the file, beside which its lines differ from the file's"
    pairs = list(zip(needle, matched, strict=True))
    if similarity_by_line(pairs) < step.threshold:
        return "it lacks a line of the file, and the others are not similar enough"
    return _lines_objection(surveyor, pairs, step)


def _telling_pair(surveyor: Surveyor) -> bool:
    """Whether the needle is two lines each of which stands in the file once and is telling."""
    lines = [line for line in surveyor.needle if line]
    return (
        len(lines) > 1
        and all(evidence(line) >= _TELLING_LINE for line in lines)
        and all(surveyor.lines.count(line) == 1 for line in lines)
    )


def _gaps_between_equals(needle: list[str], rows: list[str], owned: list[Owned]) -> bool:
    for index in range(1, len(owned)):
        before, after = owned[index - 1], owned[index]
        if before[1] == after[0]:
            continue
        if needle[index - 1] != rows[before[0]] or needle[index] != rows[after[0]]:
            return False
    return True


def rivals(surveyor: Surveyor, best: Window, others: list[Window], step: Step) -> list[Window]:
    """The windows that the needle does not tell apart clearly enough from the best."""
    if not step.margin:
        return [other for other in others if other.similarity == best.similarity]
    if step.forgotten:
        # A window that is shifted by a line is no place of its own.
        others = [other for other in others if _stands_alone(surveyor, best, other, step)]
    here = _compared(surveyor, best, step)
    return [
        other
        for other in others[:_RIVALS]
        if _is_rival(surveyor, here, _compared(surveyor, other, step), step.margin)
    ]


def _compared(surveyor: Surveyor, window: Window, step: Step) -> list[str]:
    """The lines of a window; what the needle lacks says nothing about which place it means."""
    rows = surveyor.lines[window.first : window.stop]
    if not step.forgotten:
        return rows
    return [rows[first] for first, stop in align_lines(surveyor.needle, rows) if first < stop]


def _stands_alone(surveyor: Surveyor, best: Window, other: Window, step: Step) -> bool:
    apart = other.stop <= best.first or best.stop <= other.first
    return apart or objection(surveyor, other, step) is None


def _is_rival(surveyor: Surveyor, here: list[str], there: list[str], margin: float) -> bool:
    apart = _distance(here, there)
    nearer = _distance(surveyor.needle, there) - _distance(surveyor.needle, here)
    return apart == 0 or nearer < margin * apart


def _distance(left: list[str], right: list[str]) -> int:
    first, second, _ = trimmed("\n".join(left), "\n".join(right))
    if cost(len(first), len(second)) > _LONG_WORK:
        return sum(starmap(distance, zip_longest(left, right, fillvalue="")))
    return distance(first, second)
