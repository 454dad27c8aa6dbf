"""Measure side by side: candidates take turns, and what counts is the median of the ratios."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


def _nothing() -> None:
    """What a candidate does around its work if it is told nothing."""


class Candidate(NamedTuple):
    """Something to measure, and what is done around it that does not count.

    Attributes:
        work: what is measured.
        before: done before it, in every round.
        after: done after it, in every round.
        check: done once, after the round that does not count; raises if the work was not done.
    """

    work: Callable[[], object]
    before: Callable[[], object] = _nothing
    after: Callable[[], object] = _nothing
    check: Callable[[], object] = _nothing


class NotAvailableError(Exception):
    """What a candidate needs does not exist in this version; raised by its work."""


def processor_time() -> float:
    """The seconds that the processes have used that were started here, and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def side_by_side(
    candidates: Mapping[str, Callable[[], object] | Candidate],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of every candidate in every round, after one round that does not count.

    A candidate that is not available has none.
    """
    remaining = {
        name: work if isinstance(work, Candidate) else Candidate(work)
        for name, work in candidates.items()
    }
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(rounds + 1):
        for name, candidate in list(remaining.items()):
            try:
                seconds = _timed(candidate, clock)
            except NotAvailableError:
                del remaining[name]
                continue
            if number:
                times[name].append(seconds)
            else:
                candidate.check()
            candidate.after()
    return times


def _timed(candidate: Candidate, clock: Callable[[], float]) -> float:
    candidate.before()
    start = clock()
    candidate.work()
    return clock() - start


def print_table(
    title: str, times: Mapping[str, list[float]], baselines: str | Mapping[str, str]
) -> None:
    """Print medians in milliseconds, and ratios to baselines taken round by round.

    Args:
        title: what was measured.
        times: seconds by candidate, as `side_by_side` returns them.
        baselines: a candidate, or candidates by the heading of their column.
    """
    if isinstance(baselines, str):
        baselines = {"ratio": baselines}
    width = max(44, *map(len, times))
    columns = {head: max(12, len(head) + 2) for head in baselines}
    print(f"\n{title}")
    heads = "".join(f"{head:>{column}}" for head, column in columns.items())
    print(f"{'':<{width}}{'median ms':>12}{heads}")
    for name, seconds in times.items():
        ratios = "".join(
            f"{_ratio(seconds, times[baseline]):>{columns[head]}}"
            for head, baseline in baselines.items()
        )
        print(f"{name:<{width}}{_median_ms(seconds):>12}{ratios}".rstrip(), flush=True)


def _median_ms(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.1f}" if seconds else "  not available"


def _ratio(seconds: list[float], baseline: list[float]) -> str:
    if not seconds:
        return ""
    pairs = zip(seconds, baseline, strict=True)
    return f"{statistics.median(own / base for own, base in pairs):.2f}"


def machine() -> str:
    """What the figures were measured on, in a line."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"{git.stdout.strip()}, Python {platform.python_version()}"
    )


def commit_everything(top: str) -> None:
    """Make a directory a repository whose only commit holds all of it."""
    who = {
        f"GIT_{role}_{key}": "b" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        # Nothing packs the objects beside what is measured.
        ["-c", "gc.auto=0", "commit", "-q", "--allow-empty", "-m", "base"],
    ):
        subprocess.run(["git", *arguments], cwd=top, check=True, env={**os.environ, **who})
