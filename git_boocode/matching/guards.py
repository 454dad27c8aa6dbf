"""What a tolerant rung asks of a needle and of a window before it believes them."""

from __future__ import annotations

import re
from itertools import starmap, zip_longest

from git_boocode.matching.align import Owned, align_lines, script
from git_boocode.matching.profiles import Step
from git_boocode.matching.similarity import cost, distance, similarity, similarity_by_line, slips
from git_boocode.matching.text import Text
from git_boocode.matching.windows import Surveyor, Window, trimmed

_WORDS = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
# A directive of the C preprocessor is code, and so is `*p = 1`, `--n` or `;;`.
_COMMENT = re.compile(
    r"//|/\*|<!--|(?:--|[;%])\s|\*(?:[\s*/]|$)"
    r"|#+(?:$|[!\s])(?!\s*(?:define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef)\b)"
)

# Words that stand in every file of some language and so say nothing about a place.
_KEYWORDS = """
    begin break case catch class const continue def default do done elif else elsif end endif
    ensure except export False false fi finally fn for from func function if import in let new nil
    None none null NULL override pass private protected public raise rescue return self static
    super switch then this throw throws True true try undefined var void while yield
"""
_COMMON_WORDS = frozenset(_KEYWORDS.split())

_MANY_LINES = 4
_FEW_LINES = 3
_WORDS_ASKED = 8
"""So many words of a changed hunk are looked up in the file."""
_LONG_WORK = 1_000_000
"""Places whose distance takes more word operations than this are compared line by line."""
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
    telling = [pair for pair in pairs if pair[0] or pair[1]]
    if any(similarity(*pair, step.line_floor) < step.line_floor for pair in telling):
        return "a line of it is other code"
    spared = _spared(surveyor, telling, step)
    held = [pair for pair in telling if pair not in spared]
    if step.typo and any(_other_words(surveyor, *pair, step.typo) for pair in held):
        return "a word of it is another one"
    equal = sum(left == right for left, right in telling)
    if len(telling) >= _MANY_LINES and equal < step.agree * len(telling):
        return "too few of its lines agree"
    middle = [pair for pair in telling[1:-1] if pair not in spared]
    if middle and similarity_by_line(middle) < step.middle_floor:
        return "its middle is other code"
    return None


def _spared(surveyor: Surveyor, pairs: list[tuple[str, str]], step: Step) -> set[tuple[str, str]]:
    """The lines that need not agree word by word: comments, if code that is equal proves enough."""
    spared = {pair for pair in pairs if _rephrased(surveyor, pair)}
    equal = " ".join(left for left, right in pairs if left == right and (left, right) not in spared)
    return spared if evidence(equal) >= step.evidence else set()


def _rephrased(surveyor: Surveyor, pair: tuple[str, str]) -> bool:
    """Whether both lines are comments that may say the same in other words, with equal numbers."""
    left, right = pair
    if not (_COMMENT.match(left) and _COMMENT.match(right)):
        return False
    if right.startswith("*") and "/*" not in surveyor.text.raw:
        return False  # an item of a list
    if right.startswith(("## ", "### ", "#### ")):
        return False  # a heading
    here, there = _DIGITS.findall(left), _DIGITS.findall(right)
    return here == there or not (here and there)


def _other_words(surveyor: Surveyor, left: str, right: str, typo: int) -> bool:
    """Whether two lines differ in words by more than misspelling.

    ``left`` is the needle's line, ``right`` the file's.
    """
    if left == right:
        return False
    mine, other = _WORDS.findall(left), _WORDS.findall(right)
    return any(
        _not_misspelt(surveyor, mine[hunk.i1 : hunk.i2], other[hunk.j1 : hunk.j2], typo)
        for hunk in script(mine, other)
        if not hunk.same
    )


def _not_misspelt(surveyor: Surveyor, mine: list[str], other: list[str], typo: int) -> bool:
    here, there = "".join(mine), "".join(other)
    limit = typo * max(len(mine), len(other))
    if slips(here, there, limit) > limit or _DIGITS.findall(here) != _DIGITS.findall(there):
        return True
    # A word that the file uses elsewhere is a name of its own.
    return any(map(surveyor.knows, mine[:_WORDS_ASKED]))


def _gap_objection(surveyor: Surveyor, rows: list[str], step: Step) -> str | None:
    needle = surveyor.needle
    if sum(map(bool, needle)) < _FEW_LINES:
        return "it is too short to lack a line"
    owned = align_lines(needle, rows)
    if any(stop - first != 1 for first, stop in owned):
        return "a line of it is not there"
    if owned[0][0] != 0 or owned[-1][1] != len(rows):
        return "its ends are not there"
    matched = [rows[first] for first, _ in owned]
    if not _gaps_between_equals(needle, rows, owned):
        return "lines around the forgotten one differ"
    pairs = list(zip(needle, matched, strict=True))
    if similarity_by_line(pairs) < step.threshold:
        return "it is not similar enough"
    return _lines_objection(surveyor, pairs, step)


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
