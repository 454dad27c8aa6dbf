"""One drifted 30-line edit in a large file, in one process."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from git_boocode import locate_match
from tests.benchmarks.measure import print_table, side_by_side

_WORDS = ["total", "amount", "row", "user", "index", "value", "name", "print", "return", "update"]


def run(arguments: Sequence[str]) -> None:
    """Print the table; the one argument is the number of lines, 100,000 by default."""
    count = int(arguments[0]) if arguments else 100_000
    text, needle = _file_and_needle(count)
    candidates = {"one pass of str.strip": lambda: [line.strip() for line in text.split("\n")]}
    for name, drifted in _drifted(needle).items():
        candidates[name] = _locating(text, drifted)
    times = side_by_side(candidates, 5)
    print_table(f"30 lines in {count:,}", times, "one pass of str.strip")


def _locating(text: str, needle: str) -> Callable[[], list[str]]:
    return lambda: [locate_match(text, needle).kind]


def _file_and_needle(count: int) -> tuple[str, str]:
    rng = random.Random(7)
    lines = [_line(rng, number) for number in range(count)]
    middle = count * 2 // 3
    return "\n".join(lines) + "\n", "\n".join(lines[middle : middle + 30]) + "\n"


def _line(rng: random.Random, number: int) -> str:
    words = " ".join(rng.choices(_WORDS, k=rng.randint(2, 6)))
    return " " * 4 * rng.randint(0, 3) + f"{words} = {rng.choice(_WORDS)}({number % 977})"


def _drifted(needle: str) -> dict[str, str]:
    lines = needle.split("\n")
    typos = list(lines)
    for number in (5, 15, 25):
        typos[number] = typos[number].replace("a", "e", 1)
    return {
        "exact": needle,
        "indentation dropped": "\n".join(line.lstrip() for line in lines),
        "three typos": "\n".join(typos),
        "nowhere": "\n".join(line[::-1] for line in lines),
    }
