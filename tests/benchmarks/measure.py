"""Measure side by side: candidates take turns, and what counts is the median of the ratios."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping


def side_by_side(
    candidates: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, list[float]]:
    """Seconds of every candidate in every round, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(rounds + 1):
        for name, work in candidates.items():
            start = time.perf_counter()
            work()
            if number:
                times[name].append(time.perf_counter() - start)
    return times


def print_table(title: str, times: Mapping[str, list[float]], baseline: str) -> None:
    """Print medians in milliseconds, and ratios to the baseline taken round by round."""
    print(f"\n{title}")
    print(f"{'':<44}{'median ms':>12}{'ratio':>10}")
    for name, seconds in times.items():
        pairs = zip(seconds, times[baseline], strict=True)
        ratio = statistics.median(own / base for own, base in pairs)
        print(f"{name:<44}{statistics.median(seconds) * 1000:>12.1f}{ratio:>10.2f}")


def commit_everything(top: str) -> None:
    """Make a directory a repository whose only commit holds all of it."""
    who = {
        f"GIT_{role}_{key}": "b" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-q", "--allow-empty", "-m", "base"],
    ):
        subprocess.run(["git", *arguments], cwd=top, check=True, env={**os.environ, **who})
