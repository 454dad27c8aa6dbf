"""Lines that the model wrapped otherwise than the file, read as the file has them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from git_boocode.matching.align import script
from git_boocode.matching.guards import evidence
from git_boocode.matching.indentation import indent_of
from git_boocode.matching.layout import spaceless
from git_boocode.matching.readings import Variant
from git_boocode.matching.text import Text

_TELLING = 8
"""The evidence that text must hold to be found without its line breaks."""
_ASKED = 50
"""Before the whole text is rewritten, at most this many words are looked up in it."""
_WORDS = re.compile(r"\w+")

Group = tuple[range, range]
"""Lines of the old text and the rows that say the same."""


def wrapped(variant: Variant, text: Text) -> Iterator[Variant]:
    """The pair with the file's line breaks, where old is there in one place but for these.

    Where new has the lines of a paragraph as old has them, they become the file's; a paragraph in
    which the new text differs stays as new has it.
    """
    old, new = Text(variant.old), Text(variant.new)
    rows = _place(old, text)
    groups = _groups(old.lines, text.lines[rows.start : rows.stop]) if rows else []
    blank = any(not old.stripped[index] for lines, _ in groups for index in lines)
    blank |= any(not text.stripped[rows.start + row] for _, there in groups for row in there)
    if blank or all(len(lines) == len(there) == 1 for lines, there in groups):
        return
    same = {
        hunk.i1 + step: hunk.j1 + step
        for hunk in script(old.lines, new.lines)
        if hunk.same
        for step in range(hunk.i2 - hunk.i1)
    }
    in_old, in_new = [[line] for line in old.lines], [[line] for line in new.lines]
    for lines, there in groups:
        if len(lines) == len(there) == 1:
            continue
        mine = [text.lines[rows.start + row] for row in there]
        _put(in_old, lines, _shifted(mine, old.lines[lines.start]))
        at = same.get(lines.start)
        if at is not None and [same.get(index) for index in lines] == [*range(at, at + len(lines))]:
            _put(in_new, range(at, at + len(lines)), in_old[lines.start])
    yield variant._replace(old=_joined(in_old, old), new=_joined(in_new, new))


def _place(old: Text, text: Text) -> range:
    """The rows that are the old text but for line breaks; none if there is not one such place."""
    words = sorted({*_WORDS.findall(old.lf)}, key=len, reverse=True)[:_ASKED]
    if evidence(old.lf) < _TELLING or not all(word in text.lf for word in words):
        return range(0)
    view, wanted = "".join(text.lf.split()), "".join(old.lf.split())
    at = view.find(wanted)
    if at < 0 or view.find(wanted, at + 1) >= 0:
        return range(0)
    starts = [*accumulate((len("".join(line.split())) for line in text.lines), initial=0)]
    # Of several rows that begin there the last has text; the others are blank.
    first, stop = bisect_left(starts, at + 1) - 1, bisect_left(starts, at + len(wanted))
    if starts[first] != at or starts[stop] != at + len(wanted):
        return range(0)
    there = spaceless(" ".join(text.stripped[first:stop]).strip())
    return range(first, stop) if there == spaceless(" ".join(old.stripped).strip()) else range(0)


def _groups(lines: Sequence[str], rows: Sequence[str]) -> list[Group]:
    """The smallest runs of lines and rows with text that say the same."""
    here, there = _ends(lines), _ends(rows)
    shared = sorted(here.keys() & there.keys())
    return [
        (range(here[start][1], here[end][0]), range(there[start][1], there[end][0]))
        for start, end in pairwise(shared)
    ]


def _ends(lines: Sequence[str]) -> dict[int, tuple[int, int]]:
    """For each end of a line, in characters: the line after it, and the next one with text."""
    ends, at, last = {0: (0, 0)}, 0, 0
    for index, line in enumerate(lines):
        if line.strip():
            ends[last] = (ends[last][0], index)
            last = at = at + len("".join(line.split()))
            ends[at] = (index + 1, index + 1)
    return ends


def _shifted(rows: Sequence[str], line: str) -> list[str]:
    """Rows as deep as a line of the model."""
    here, there = indent_of(line), indent_of(rows[0])
    return [here + row.removeprefix(there) if row.strip() else row for row in rows]


def _put(texts: list[list[str]], lines: range, rows: Sequence[str]) -> None:
    for index in lines:
        texts[index] = [*rows] if index == lines.start else []


def _joined(texts: Sequence[Sequence[str]], given: Text) -> str:
    lines = [line for some in texts for line in some]
    return "\n".join(lines) + ("\n" if given.closed else "")
