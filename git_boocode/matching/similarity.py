"""Levenshtein distance and similarity, by rapidfuzz, imported only when one is computed.

Similarity is ``1 - distance / length of the longer text`` (V. Levenshtein, 1966); rapidfuzz
computes it bit-parallel (H. Hyyrö, 2003), which is what ``cost`` estimates.
"""

from __future__ import annotations

from collections.abc import Sequence

_WORD = 64  # one machine word of the bit-parallel algorithm holds this many characters


def similarity(left: str, right: str, cutoff: float = 0.0) -> float:
    """The Levenshtein similarity of two texts, 0.0–1.0; 0.0 when it is below ``cutoff``."""
    longer = max(len(left), len(right))
    if not longer:
        return 1.0
    # Whole numbers until the last division: 1 - 34 / 100 would fall short of 0.66.
    score = (longer - distance(left, right, int((1.0 - cutoff) * longer) + 1)) / longer
    return score if score >= cutoff else 0.0


def distance(left: str, right: str, limit: int | None = None) -> int:
    """The number of characters to insert, delete or replace to get from one text to the other.

    Beyond ``limit`` the answer is just more than that.
    """
    if left == right:
        return 0
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(left, right, score_cutoff=limit)


def slips(left: str, right: str, limit: int) -> int:
    """The slips of a typist between two words; beyond ``limit`` just more than that.

    Like ``distance``, but two swapped neighbours are one slip (optimal string alignment).
    """
    from rapidfuzz.distance import OSA

    return OSA.distance(left, right, score_cutoff=limit)


def cost(left: int, right: int) -> int:
    """About how many word operations it takes to compare texts of these lengths."""
    return (min(left, right) // _WORD + 1) * max(left, right)


def most_similar(
    line: str, lines: Sequence[str], cutoff: float, limit: int
) -> list[tuple[float, int]]:
    """The ``limit`` lines most like ``line`` as (similarity, index), best first."""
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    found = process.extract(
        line, lines, scorer=Levenshtein.normalized_similarity, score_cutoff=cutoff, limit=limit
    )
    return [(score, index) for _, score, index in found]
