"""Lines of commits beside a truth known by construction, over random histories of turns."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tests.benchmarks.attribution import foreign, operations
from tests.benchmarks.attribution.clones import judged_clones
from tests.benchmarks.attribution.history import History
from tests.benchmarks.attribution.hooked import judged_notes
from tests.benchmarks.attribution.truth import MISSED, RIGHT, WRONG, Judgement
from tests.benchmarks.checkpoints.worktree import sealed

OPERATIONS = (*operations.OPERATIONS, *foreign.OPERATIONS)
# Stashes, and the states around tool calls, which tell two sessions apart, are not pushed.
_PUSHED = (
    *(each for each in operations.OPERATIONS if each is not operations.two_sessions),
    *(each for each in foreign.OPERATIONS if each not in foreign.OF_STASHES),
)
_KINDS: Mapping[str, tuple[Callable[[Path, int], list[Judgement]], int]] = {
    "": (lambda top, seed: built(top, seed).judged(), 200),
    "clones": (lambda top, seed: judged_clones(built(top, seed, _PUSHED), top), 10),
    "hooks": (lambda top, seed: judged_notes(top, seed, OPERATIONS), 20),
}


def run(arguments: Sequence[str]) -> None:
    """Print how many lines are right: [-v] [hooks|clones] [number of histories [first seed]]."""
    is_verbose = "-v" in arguments
    kind = next((each for each in arguments if each in _KINDS), "")
    judge, usual = _KINDS[kind]
    numbers = [int(each) for each in arguments if each.isdigit()]
    count, first = [*numbers, *(usual, 0)[len(numbers) :]]
    every: list[Judgement] = []
    with sealed():
        for seed in range(first, first + count):
            with tempfile.TemporaryDirectory() as top:
                found = judge(Path(top).resolve(), seed)
            every += found
            bad = [each for each in found if each.verdict != RIGHT]
            if bad:
                print(f"history {seed}: {_counted(bad)}", flush=True)
            for each in bad if is_verbose else ():
                print("   ", *each[:2], *each.line, sep="  ")
    report(every)


def built(
    top: Path, seed: int, choices: Sequence[Callable[[History], None]] = OPERATIONS
) -> History:
    """A random history of some operations."""
    history = History(top, seed)
    history.build(choices, random.Random(seed).randint(6, 12))
    return history


def report(every: Iterable[Judgement]) -> None:
    """Print the verdicts by operation."""
    counts = Counter((each.operation, each.verdict) for each in every)
    print(f"{'':<32} {'lines':>7} {'right':>8} {'missed':>7} {'wrong':>7}")
    for name in (*sorted({name for name, _ in counts}), "all"):
        row = Counter[str]()
        for (operation, verdict), number in counts.items():
            row[verdict] += number * (name in (operation, "all"))
        right = f"{row[RIGHT] / max(row.total(), 1):.2%}"
        print(f"{name:<32} {row.total():>7,} {right:>8} {row[MISSED]:>7,} {row[WRONG]:>7,}")


def _counted(found: Iterable[Judgement]) -> str:
    counts = Counter(f"{each.operation} {each.verdict}" for each in found)
    return ", ".join(f"{number} {name}" for name, number in counts.items())
