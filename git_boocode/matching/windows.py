"""The lines of a file that are most like a needle, found with bounded work.

A window is a run of as many lines as the needle has. Where all windows together are cheap to
compare, all are compared, and the answer is exact. Otherwise only windows are compared that hold
one of the needle's rarest lines where it should be.

Every bound below counts work, not time, so an answer never depends on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from git_boocode.matching import align
from git_boocode.matching.guards import WindowGuard
from git_boocode.matching.rungs import Step, refusal
from git_boocode.matching.text import Found, Query, common_prefix

FLOOR = 0.5  # windows less similar than this have nothing to do with the needle
WINDOW_OVERHEAD = 500  # word operations that joining a window and comparing it amount to
EXHAUSTIVE_WORK = 10_000_000  # word operations up to which every window is compared (20 ms)
VERIFY_WORK = 200_000_000  # word operations spent on the windows of one needle (200 ms)
_WINDOWS = 64  # so few windows are all compared; a line of the needle selects no more
_ANCHORS = 8  # at most this many lines of the needle select windows


class Window(NamedTuple):
    """Rows ``first`` to ``stop`` (exclusive) and their similarity to the needle."""

    first: int
    stop: int
    similarity: float


class Survey(NamedTuple):
    """The windows above the floor, best first, and why some were not looked at, if so."""

    windows: tuple[Window, ...]
    reason: str | None = None


def similarity(query: Query, step: Step) -> Found:
    """The window that is similar enough, most similar, and not ruled out by the guard."""
    if refused := refusal(query, step):
        return refused
    survey, guard = query.survey, WindowGuard(query, step)
    best = next(iter(survey.windows), None)
    if best is None or best.similarity < step.threshold:
        return Found(reason=survey.reason)
    if objected := guard.objection(best):
        return Found(reason=objected)
    # A window below the threshold may still differ from the best in the error alone.
    rivals = guard.rivals(best, survey.windows[1:])
    equal = all(other.similarity == best.similarity for other in rivals)
    return Found(tuple(query.place(*window) for window in (best, *rivals)), equal)


def survey(query: Query) -> Survey:
    """The windows that are like the needle without blank lines around it."""
    core, lines = query.needle.core, query.text.canonical
    wanted, height = query.needle.canonical[core.start : core.stop], len(core)
    firsts: Sequence[int] = range(len(lines) - height + 1 if wanted else 0)
    joined = "\n".join(wanted)
    mean = sum(map(len, lines)) * height // max(1, len(lines))
    work = len(firsts) * (align.cost(len(joined), mean) + WINDOW_OVERHEAD)
    if len(firsts) > _WINDOWS and work > EXHAUSTIVE_WORK:
        last = len(lines) - height
        firsts = [first for first in _anchored(wanted, query.rows) if 0 <= first <= last]
    found, reason, left = [], None, VERIFY_WORK
    for first in firsts:
        there = "\n".join(lines[first : first + height])
        # A text less than FLOOR times as long as another cannot be FLOOR similar to it.
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


def _anchored(wanted: Sequence[str], rows: Mapping[str, Sequence[int]]) -> Iterable[int]:
    """The first rows of the windows in which one of the rarest lines wanted is in its place."""
    counts = [len(rows.get(line, ())) for line in wanted]
    known = [at for at, count in enumerate(counts) if 0 < count <= _WINDOWS]
    known.sort(key=lambda at: (counts[at], -len(wanted[at])))
    return dict.fromkeys(row - at for at in known[:_ANCHORS] for row in rows[wanted[at]])


def _trimmed(left: str, right: str) -> tuple[str, str]:
    """Two texts without their common start and end."""
    head = common_prefix(left, right)
    left, right = left[head:], right[head:]
    tail = common_prefix(left[::-1], right[::-1])
    return left[: len(left) - tail], right[: len(right) - tail]
