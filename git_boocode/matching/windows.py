"""Find the lines of a file that are most similar to a needle, with bounded work.

A window is a run of as many lines as the needle has. If comparing all windows is cheap, the result
is exact. Otherwise only windows that have one of the needle's rarest lines at the right position
are compared.

All limits count work, not time, so that a result never depends on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from git_boocode.matching import align
from git_boocode.matching.text import Query, common_prefix

FLOOR = 0.5  # minimum similarity of windows
WINDOW_OVERHEAD = 500  # the fixed cost of comparing a window, in word operations
EXHAUSTIVE_WORK = 10_000_000  # word operations up to which all windows are compared (20 ms)
VERIFY_WORK = 200_000_000  # maximum word operations for the windows of one needle (200 ms)
_WINDOWS = 64  # up to this number, all windows are compared; also the maximum per anchor line
_ANCHORS = 8  # maximum number of the needle's lines that select windows


class Window(NamedTuple):
    """Rows ``first`` to ``stop`` (exclusive) and their similarity to the needle."""

    first: int
    stop: int
    similarity: float


class Survey(NamedTuple):
    """The windows above the floor, best first, and why some were not compared, if any."""

    windows: tuple[Window, ...]
    reason: str | None = None


def survey(query: Query) -> Survey:
    """The windows that are similar to the needle without its leading and trailing blank lines."""
    core, lines = query.needle.core, query.text.canonical
    needle, height = query.needle.canonical[core.start : core.stop], len(core)
    firsts: Sequence[int] = range(len(lines) - height + 1 if needle else 0)
    joined = "\n".join(needle)
    mean = sum(map(len, lines)) * height // max(1, len(lines))
    work = len(firsts) * (align.cost(len(joined), mean) + WINDOW_OVERHEAD)
    if len(firsts) > _WINDOWS and work > EXHAUSTIVE_WORK:
        last = len(lines) - height
        firsts = [first for first in _anchored(needle, query.rows) if 0 <= first <= last]
    found, reason, left = [], None, VERIFY_WORK
    for first in firsts:
        there = "\n".join(lines[first : first + height])
        # The ratio of the lengths is an upper bound of the similarity.
        if not len(joined) * FLOOR <= len(there) <= len(joined) / FLOOR:
            continue
        mine, other = _trimmed(joined, there)
        work = align.cost(len(mine), len(other))
        if work > left:
            reason = "the text is too large to compare"
            continue
        left -= work
        if score := align.similarity(joined, there, FLOOR):
            found.append(Window(first, first + height, score))
    found.sort(key=lambda window: (-window.similarity, window.first))
    return Survey(tuple(found), reason)


def _anchored(needle: Sequence[str], rows: Mapping[str, Sequence[int]]) -> Iterable[int]:
    """The first rows of the windows with one of the needle's rarest lines at its position."""
    counts = [len(rows.get(line, ())) for line in needle]
    anchors = [at for at, count in enumerate(counts) if 0 < count <= _WINDOWS]
    anchors.sort(key=lambda at: (counts[at], -len(needle[at])))
    return dict.fromkeys(row - at for at in anchors[:_ANCHORS] for row in rows[needle[at]])


def _trimmed(left: str, right: str) -> tuple[str, str]:
    """Two texts without their common prefix and suffix."""
    head = common_prefix(left, right)
    left, right = left[head:], right[head:]
    tail = common_prefix(left[::-1], right[::-1])
    return left[: len(left) - tail], right[: len(right) - tail]
