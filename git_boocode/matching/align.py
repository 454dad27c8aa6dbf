"""Alignment: edit scripts between two sequences, and matching of old lines with file lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, inf
from typing import NamedTuple

from git_boocode.matching.types import MatchError, Rows

SCRIPT_WORK = 100_000_000
"""Maximum product of lengths for computing a longest common subsequence (12 MB)."""
LOOKUP_WORK = 100_000_000  # limit of line comparisons to find exact lines in one text
PAIR_FLOOR = 0.5  # minimum similarity of two versions of a line
_PAIR_WORK = 10_000  # maximum product of lengths for pairing lines by similarity
_PAIR_LINE = 2_000  # characters of a line that are compared
_WORD = 64  # characters in a word of the bit-parallel Levenshtein distance (H. Hyyrö)


class Hunk(NamedTuple):
    """Items ``i1:i2`` of one sequence became ``j1:j2`` of the other, or are the ``same``."""

    same: bool
    i1: int
    i2: int
    j1: int
    j2: int


def script(left: Sequence[str], right: Sequence[str], *, anchored: bool = False) -> list[Hunk]:
    """The hunks from ``left`` to ``right``, alternately equal and changed.

    They are based on a longest common subsequence. Large sequences, or all if ``anchored``, are
    first split at items that are unique in both, as in the patience diff of B. Cohen. Parts that
    are still too large count as one changed hunk.
    """
    whole = Hunk(same=False, i1=0, i2=len(left), j1=0, j2=len(right))
    joined: list[Hunk] = []
    for hunk in _compared(left, right, whole, 0 if anchored else SCRIPT_WORK):
        if joined and joined[-1].same == hunk.same:
            joined[-1] = joined[-1]._replace(i2=hunk.i2, j2=hunk.j2)
        elif hunk.i1 < hunk.i2 or hunk.j1 < hunk.j2:
            joined.append(hunk)
    return joined


def scripts(left: Sequence[str], right: Sequence[str]) -> Iterator[list[Hunk]]:
    """Scripts that prefer other ones of equally good alignments: first, last and unique items."""
    yield script(left, right)
    size, count = len(left), len(right)
    backwards = script(left[::-1], right[::-1])
    yield [
        Hunk(hunk.same, size - hunk.i2, size - hunk.i1, count - hunk.j2, count - hunk.j1)
        for hunk in reversed(backwards)
    ]
    yield script(left, right, anchored=True)


def same_items(left: Sequence[str], right: Sequence[str]) -> dict[int, int]:
    """Maps the indexes of unchanged items of ``left`` to their indexes in ``right``."""
    stay = (hunk for hunk in script(left, right) if hunk.same)
    return {hunk.i1 + step: hunk.j1 + step for hunk in stay for step in range(hunk.i2 - hunk.i1)}


def _compared(
    left: Sequence[str], right: Sequence[str], area: Hunk, limit: float = inf
) -> Iterator[Hunk]:
    """The hunks of an area, split at unique items if the work exceeds ``limit``."""
    _, i1, i2, j1, j2 = area
    while i1 < i2 and j1 < j2 and left[i1] == right[j1]:
        i1, j1 = i1 + 1, j1 + 1
    while i1 < i2 and j1 < j2 and left[i2 - 1] == right[j2 - 1]:
        i2, j2 = i2 - 1, j2 - 1
    yield Hunk(same=True, i1=area.i1, i2=i1, j1=area.j1, j2=j1)
    here, there = left[i1:i2], right[j1:j2]
    work = len(here) * len(there)
    if work > limit and (anchors := _anchors(here, there)):
        following = {(i + 1, j + 1) for i, j in anchors}
        # A part begins with all anchors that follow its first one.
        first = [(i1 + i, j1 + j) for i, j in anchors if (i, j) not in following]
        for i, j in [*first, (i2, j2)]:
            part = Hunk(same=False, i1=i1, i2=i, j1=j1, j2=j)
            yield from _compared(left, right, part)
            i1, j1 = i, j
    elif work > SCRIPT_WORK or set(here).isdisjoint(there):
        yield Hunk(same=False, i1=i1, i2=i2, j1=j1, j2=j2)
    else:
        from rapidfuzz.distance import LCSseq

        for code in LCSseq.opcodes(here, there):
            old = i1 + code.src_start, i1 + code.src_end
            new = j1 + code.dest_start, j1 + code.dest_end
            yield Hunk(code.tag == "equal", *old, *new)
    yield Hunk(same=True, i1=i2, i2=area.i2, j1=j2, j2=area.j2)


def _anchors(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """The longest sequence of items that are unique, and in the same order, on both sides."""
    here, there = _unique(left), _unique(right)
    pairs = [(index, there[item]) for item, index in here.items() if item in there]
    # Patience sorting: ``tops`` contains the smallest end of a sequence of each length.
    tops: list[int] = []
    piles: list[int] = []
    behind: list[int | None] = []
    for number, (_, other) in enumerate(pairs):
        place = bisect_left(tops, other)
        behind.append(piles[place - 1] if place else None)
        tops[place : place + 1] = [other]
        piles[place : place + 1] = [number]
    run, last = [], next(reversed(piles), None)
    while last is not None:
        run.append(pairs[last])
        last = behind[last]
    return run[::-1]


def _unique(items: Sequence[str]) -> dict[str, int]:
    counts = Counter(items)
    return {item: index for index, item in enumerate(items) if counts[item] == 1}


class LineIndex:
    """Finds sequences of lines, starting from the rows of their rarest line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.rows: dict[str, list[int]] = {}
        for row, line in enumerate(lines):
            self.rows.setdefault(line, []).append(row)
        self._found: dict[tuple[str, ...], list[int]] = {}
        self._work = LOOKUP_WORK

    def find(self, needle: Sequence[str]) -> list[int]:
        """The rows at which consecutive lines occur, including overlapping occurrences.

        Raises MatchError (``ambiguous``) if too many rows would have to be compared.
        """
        key, lines, count = tuple(needle), list(needle), len(needle)
        if key not in self._found and lines:
            at = min(range(count), key=lambda index: len(self.rows.get(lines[index], ())))
            rows = self.rows.get(lines[at], [])
            self._work -= len(rows) * count
            if self._work < 0:
                raise MatchError("ambiguous", "its lines occur too often to check every place")
            starts = (row - at for row in rows if row >= at)
            self._found[key] = [row for row in starts if self.lines[row : row + count] == lines]
        return self._found.get(key, [])


def align_lines(old: Sequence[str], rows: Sequence[str]) -> list[Rows]:
    """The matching rows for each line of ``old``; empty if there are none.

    Both sides are in comparison form. Equal lines match. Between them, gaps of the same size are
    paired line by line, others by similarity.
    """
    matched: list[Rows] = []
    for _, i1, i2, j1, j2 in script(old, rows):
        pairs = {step: step for step in range(i2 - i1)}
        if i2 - i1 != j2 - j1:
            pairs = dict(pair_similar(old[i1:i2], rows[j1:j2]))
        at = j1
        for index in range(i2 - i1):
            first = j1 + pairs[index] if index in pairs else at
            at = first + (index in pairs)
            matched.append((first, at))
    return matched


def align_between(known: dict[int, Rows], old: Sequence[str], rows: Sequence[str]) -> list[Rows]:
    """The matching rows for each line of ``old``, if those of some lines are ``known``."""
    matched: list[Rows] = []
    at = 0
    for index, own in [*sorted(known.items()), (len(old), (len(rows), len(rows)))]:
        free = align_lines(old[len(matched) : index], rows[at : own[0]])
        matched += [(at + first, at + stop) for first, stop in free]
        matched.append(own)
        at = own[1]
    return matched[:-1]


def pair_similar(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs (index, index), in order on both sides, with the greatest total similarity.

    The dynamic programming algorithm of S. Needleman and C. Wunsch (1970) without gap penalty. If
    there are too many lines, they are paired by position, provided that the numbers are equal.
    """
    height, width = len(left), len(right)
    if height * width > _PAIR_WORK:
        return [(index, index) for index in range(height)] if height == width else []
    cut = [[line[:_PAIR_LINE] for line in lines] for lines in (left, right)]
    scores = [[similarity(a, b, PAIR_FLOOR) if a and b else 0.0 for b in cut[1]] for a in cut[0]]
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    for i in reversed(range(height)):
        for j in reversed(range(width)):
            paired = scores[i][j] + best[i + 1][j + 1] if scores[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < height and j < width:
        if scores[i][j] and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def similarity(left: str, right: str, cutoff: float = 0.0) -> float:
    """The Levenshtein similarity of two texts, 0.0–1.0; 0.0 when it is below ``cutoff``."""
    longer = max(len(left), len(right))
    if not longer:
        return 1.0
    # Integers until the last division: 1 - 34 / 100 would be less than 0.66.
    score = (longer - distance(left, right, ceil((1.0 - cutoff) * longer))) / longer
    return score if score >= cutoff else 0.0


def distance(left: str, right: str, limit: int | None = None) -> int:
    """The Levenshtein distance of two texts; any number above ``limit`` if it is greater."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(left, right, score_cutoff=limit)


def slips(left: str, right: str, limit: int) -> int:
    """The number of typing errors between two words; any number above ``limit`` if greater.

    Like ``distance``, but a transposition counts as one error (optimal string alignment).
    """
    from rapidfuzz.distance import OSA

    return OSA.distance(left, right, score_cutoff=limit)


def cost(left: int, right: int) -> int:
    """The approximate number of word operations for comparing texts of these lengths."""
    return (min(left, right) // _WORD + 1) * max(left, right)


def most_similar(
    line: str, lines: Sequence[str], cutoff: float, limit: int
) -> list[tuple[float, int]]:
    """The ``limit`` lines most similar to ``line`` as (similarity, index), best first."""
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    found = process.extract(
        line, lines, scorer=Levenshtein.normalized_similarity, score_cutoff=cutoff, limit=limit
    )
    return [(score, index) for _, score, index in found]
