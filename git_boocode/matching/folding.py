"""Bodies that a model folded into one line, ``{ ... }``, read as the lines that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_boocode.matching.align import script
from git_boocode.matching.indentation import indent_of
from git_boocode.matching.rewrites import Reading
from git_boocode.matching.text import Text

_DOTS = r"(?:\.\.\.|…)"
_FOLDED = re.compile(rf"[{{(\[]\s*(?:/\*\s*{_DOTS}\s*\*/|{_DOTS})\s*[}})\]]")
_PAIRS = {"{": "}", "(": ")", "[": "]"}


def folded(reading: Reading, text: Text) -> Iterator[Reading]:
    """The pair with every body that is folded in both as three lines: ``{``, dots, ``}``.

    A line that the file has as it is stands for itself, and so does one whose first part it lacks.
    """
    if "..." not in reading.old and "…" not in reading.old:
        return
    old, new = reading.old.split("\n"), reading.new.split("\n")
    in_old: dict[int, list[str]] = {}
    in_new: dict[int, list[str]] = {}
    for i, j in _counterparts(old, new):
        bare = old[i].strip()
        here, there = _unfolded(old[i]), _unfolded(new[j])
        if here and there and text.has_line(here[0].strip()) and not text.has_line(bare):
            in_old[i], in_new[j] = here, there
    if in_old:
        yield reading._replace(old=_written(old, in_old), new=_written(new, in_new))


def _counterparts(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines that both texts have, and those that were changed one by one."""
    for hunk in script(old, new):
        if hunk.same or hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1:
            yield from zip(range(hunk.i1, hunk.i2), range(hunk.j1, hunk.j2), strict=True)


def _unfolded(line: str) -> list[str]:
    found = _FOLDED.search(line)
    if not found or _PAIRS[found[0][0]] != found[0][-1]:
        return []
    head, tail = line[: found.start() + 1], line[found.end() - 1 :].rstrip()
    indent = indent_of(line)
    return [head, f"{indent}    ...", indent + tail] if head.strip(" \t{([") else []


def _written(lines: Sequence[str], unfolded: dict[int, list[str]]) -> str:
    return "\n".join(
        part for index, line in enumerate(lines) for part in unfolded.get(index, [line])
    )
