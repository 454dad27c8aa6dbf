"""Line numbers that a model copied into its text along with the lines.

Numbers are believed only when (nearly) every line of the old text has one, written alike, and they
rise with the lines. In the new text they may repeat, be missing, or be other ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.rewrites import Reading
from git_boocode.matching.text import Text

_PREFIX = re.compile(r"[ \t]*(?:L(?:ine )?)?(\d{1,7})[ ]*(\t|→|\||:)")
_EMPTY = re.compile(r"[ ]{2,}(\t|→|\|)|[ ]+(\|)")
"""Where a line has no number but the column is kept."""

_NUMBERED = 0.9
"""The share of the old text's lines with text that must have a number."""
_RISING = 0.8
"""The share of steps from a number to the next that must go up by the lines in between."""


class _Numbered(NamedTuple):
    """A line split behind its number: the number, what separates it from the line, the line."""

    number: int
    separator: str
    rest: str


def numbers(reading: Reading, text: Text) -> Iterator[Reading]:
    """The pair without line numbers; the new text may lack them."""
    lines = reading.old.split("\n")
    split = [_split(line) for line in lines]
    separator = _separator(lines, split)
    if separator is None:
        return
    told = [line for line in split if line and line.separator == separator]
    padded = _padded(told, separator, text)
    old = "\n".join(_stripped(line, separator, padded) for line in lines)
    new = "\n".join(_stripped(line, separator, padded) for line in reading.new.split("\n"))
    done = reading.then(old, new, "line numbers stripped")
    yield done._replace(first_line=told[0].number)


def _split(line: str) -> _Numbered | None:
    found = _PREFIX.match(line)
    return _Numbered(int(found[1]), found[2], line[found.end() :]) if found else None


def _separator(lines: Sequence[str], split: Sequence[_Numbered | None]) -> str | None:
    """What stands between number and line all over the old text; None if it is not numbered."""
    full = [number for number, line in zip(split, lines, strict=True) if line.strip()]
    told = [number for number in full if number]
    if not told or len(told) < _NUMBERED * len(full):
        return None
    separator = told[0].separator
    alike = all(number.separator == separator for number in told)
    return separator if alike and _rise(lines, split) else None


def _rise(lines: Sequence[str], split: Sequence[_Numbered | None]) -> bool:
    """Whether the numbers count lines: all of them, or those that are not blank."""
    filled, points = 0, []
    for at, (line, number) in enumerate(zip(lines, split, strict=True)):
        filled += bool(line.strip())
        if number:
            points.append((number.number, at, filled))
    steps = list(pairwise(points))
    if any(after[0] <= before[0] for before, after in steps):
        return False
    counted = sum(
        after[0] - before[0] in (after[1] - before[1], after[2] - before[2])
        for before, after in steps
    )
    return counted >= _RISING * len(steps)


def _padded(told: Sequence[_Numbered], separator: str, text: Text) -> bool:
    """Whether a space after the separator belongs to the number; the file knows best."""
    if any(line.rest[:1] not in ("", " ") for line in told):
        return False
    longest = max((line.rest for line in told), key=len)
    for width in (1, 0):
        if f"\n{longest[width:]}\n" in f"\n{text.lf}\n":
            return width == 1
    return separator in "|:"


def _stripped(line: str, separator: str, padded: bool) -> str:
    found = _split(line)
    if found and found.separator == separator:
        rest = found.rest
    else:
        empty = _EMPTY.match(line)
        if not empty or separator not in empty.groups():
            return line
        rest = line[empty.end() :]
    return rest[1:] if padded and rest.startswith(" ") else rest
