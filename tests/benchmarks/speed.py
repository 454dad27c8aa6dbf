"""One drifted edit in files of many sizes, and in files made to be slow; in one process."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from git_boocode import MatchError, locate_match, replace_text
from tests.benchmarks.measure import print_table, side_by_side

SIZES = (1_000, 10_000, 100_000)
_WORDS = ["total", "amount", "row", "user", "index", "value", "name", "print", "return", "update"]
_BASELINE = "one pass of str.strip"


def run(arguments: Sequence[str]) -> None:
    """Print a table per size; arguments are numbers of lines."""
    sizes = tuple(map(int, arguments)) or SIZES
    for count in sizes:
        _print_sizes(count, 30)
    if max(sizes) >= 10_000:
        _print_sizes(max(sizes), 2_000)
        _print_odd()


def _print_sizes(count: int, needle_lines: int) -> None:
    text, needle = _file_and_needle(count, needle_lines)
    candidates = _baseline(text)
    for name, drifted in _drifted(needle).items():
        candidates[f"locate, {name}"] = _locating(text, drifted)
    changed = needle.replace("\n", "\nadded = 1\n", 1)
    for name, old, new in (
        ("exact", needle, changed),
        ("indentation dropped", _dedented(needle), _dedented(changed)),
    ):
        candidates[f"replace, {name}"] = _replacing(text, old, new)
    times = side_by_side(candidates, 5)
    print_table(f"{needle_lines:,} lines in {count:,}", times, _BASELINE)


def _print_odd() -> None:
    odd = {
        "one line of 1 MB": ("x = 1; call(y); " * 65_000, "call(z);  x = 1"),
        "200,000 equal lines": ("    same line\n" * 200_000, "same  line\nsame line\n" * 10),
        "blank lines": ("\n \n" * 100_000, "\n \n\n\nvalue\n"),
        "brackets": ("}\n)\n" * 100_000, "}\n)\n}}\n" * 20),
    }
    for name, (text, needle) in odd.items():
        candidates = {**_baseline(text), name: _locating(text, needle)}
        print_table(name, side_by_side(candidates, 3), _BASELINE)


def _baseline(text: str) -> dict[str, Callable[[], object]]:
    return {_BASELINE: lambda: [line.strip() for line in text.split("\n")]}


def _replacing(text: str, old: str, new: str) -> Callable[[], object]:
    def replace() -> str:
        try:
            return replace_text(text, old, new).content
        except MatchError as error:
            return error.message

    return replace


def _dedented(text: str) -> str:
    return "\n".join(line.lstrip() for line in text.split("\n"))


def _locating(text: str, needle: str) -> Callable[[], list[str]]:
    return lambda: [locate_match(text, needle).kind]


def _file_and_needle(count: int, needle_lines: int) -> tuple[str, str]:
    rng = random.Random(7)
    lines = [_line(rng, number) for number in range(count)]
    at = (count - needle_lines) * 2 // 3
    return "\n".join(lines) + "\n", "\n".join(lines[at : at + needle_lines]) + "\n"


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
        "indentation dropped": _dedented(needle),
        "three typos": "\n".join(typos),
        "nowhere": "\n".join(line[::-1] for line in lines),
    }
