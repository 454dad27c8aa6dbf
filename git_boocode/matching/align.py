"""Alignments: edit scripts between two sequences, and old lines laid beside a file's lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.matching.similarity import similarity

SCRIPT_WORK = 100_000_000
"""Largest product of lengths for which a longest common subsequence is computed (12 MB)."""
PAIR_WORK = 10_000
"""Largest product of lengths for which lines are paired by similarity."""
PAIR_FLOOR = 0.5
"""Lines less similar than this are not versions of each other."""
PAIR_LINE = 2_000
"""Longer lines (characters) are compared by their first characters only."""

Owned = tuple[int, int]
"""The rows (first, stop) of a file that one line of the old text stands for; empty: none."""


class Hunk(NamedTuple):
    """Items ``i1:i2`` of one sequence became ``j1:j2`` of the other, or stayed (``same``)."""

    same: bool
    i1: int
    i2: int
    j1: int
    j2: int


def script(left: Sequence[str], right: Sequence[str]) -> list[Hunk]:
    """The hunks that lead from ``left`` to ``right``, alternately equal and changed.

    Built on a longest common subsequence (rapidfuzz, bit-parallel) of what common start and end
    leave over; too much of that is taken for one changed hunk.
    """
    head, tail = _shared_ends(left, right)
    hunks = [Hunk(same=True, i1=0, i2=head, j1=0, j2=head)] if head else []
    hunks += _middle(left, right, head, tail)
    if tail:
        n, m = len(left), len(right)
        hunks.append(Hunk(same=True, i1=n - tail, i2=n, j1=m - tail, j2=m))
    return _joined(hunks)


def _shared_ends(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    shorter = min(len(left), len(right))
    head = 0
    while head < shorter and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < shorter - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    return head, tail


def _middle(left: Sequence[str], right: Sequence[str], head: int, tail: int) -> list[Hunk]:
    i2, j2 = len(left) - tail, len(right) - tail
    if head in (i2, j2) or (i2 - head) * (j2 - head) > SCRIPT_WORK:
        changed = Hunk(same=False, i1=head, i2=i2, j1=head, j2=j2)
        return [changed] if i2 > head or j2 > head else []
    from rapidfuzz.distance import LCSseq

    codes = LCSseq.opcodes(left[head:i2], right[head:j2])
    return [
        Hunk(
            code.tag == "equal",
            head + code.src_start,
            head + code.src_end,
            head + code.dest_start,
            head + code.dest_end,
        )
        for code in codes
    ]


def _joined(hunks: list[Hunk]) -> list[Hunk]:
    joined: list[Hunk] = []
    for hunk in hunks:
        if joined and joined[-1].same == hunk.same:
            joined[-1] = joined[-1]._replace(i2=hunk.i2, j2=hunk.j2)
        else:
            joined.append(hunk)
    return joined


def align_lines(old: Sequence[str], rows: Sequence[str]) -> list[Owned]:
    """For each line of ``old`` the rows it stands for.

    Both sides come in comparison form. Equal lines belong together; between them, gaps of the same
    size are paired line by line, others by similarity.
    """
    if len(old) == len(rows) and _positions_agree(old, rows):
        return [(row, row + 1) for row in range(len(rows))]
    owned: list[Owned] = []
    for hunk in script(old, rows):
        height = hunk.i2 - hunk.i1
        if hunk.same or height == hunk.j2 - hunk.j1:
            owned += [(hunk.j1 + step, hunk.j1 + step + 1) for step in range(height)]
        else:
            owned += _own_by_similarity(old[hunk.i1 : hunk.i2], rows[hunk.j1 : hunk.j2], hunk.j1)
    return owned


def _positions_agree(old: Sequence[str], rows: Sequence[str]) -> bool:
    """Whether line by line at least as much is equal as in the best alignment."""
    equal = sum(left == right for left, right in zip(old, rows, strict=True))
    if equal == len(old):
        return True
    common = sum(hunk.i2 - hunk.i1 for hunk in script(old, rows) if hunk.same)
    return equal >= common


def _own_by_similarity(old: Sequence[str], rows: Sequence[str], first: int) -> list[Owned]:
    pairs = dict(pair_similar(old, rows))
    owned, at = [], first
    for index in range(len(old)):
        row = pairs.get(index)
        at = first + row + 1 if row is not None else at
        owned.append((at - 1, at) if row is not None else (at, at))
    return owned


def pair_similar(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs (index, index), in order on both sides, with the greatest similarity in total.

    The dynamic programme of S. Needleman and C. Wunsch (1970) without gap penalty. Too many lines
    are paired by their position, and only if there are as many on both sides.
    """
    if len(left) * len(right) > PAIR_WORK:
        return [(index, index) for index in range(len(left))] if len(left) == len(right) else []
    scores = [[_pair_score(line, other) for other in right] for line in left]
    return _best_path(scores)


def _pair_score(left: str, right: str) -> float:
    return similarity(left[:PAIR_LINE], right[:PAIR_LINE], PAIR_FLOOR) if left and right else 0.0


def _best_path(scores: list[list[float]]) -> list[tuple[int, int]]:
    height, width = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    for i in reversed(range(height)):
        for j in reversed(range(width)):
            paired = scores[i][j] + best[i + 1][j + 1] if scores[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    return _walk(scores, best)


def _walk(scores: list[list[float]], best: list[list[float]]) -> list[tuple[int, int]]:
    pairs, i, j = [], 0, 0
    while i < len(scores) and j < len(scores[0]):
        if scores[i][j] and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
