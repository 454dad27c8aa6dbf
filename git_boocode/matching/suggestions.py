"""The candidates of a refusal: text that occurs once, descriptions, and the differing words.

Rows are 0-based, ends exclusive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter

from git_boocode.matching.align import align_lines, script
from git_boocode.matching.text import Text, depth_of
from git_boocode.matching.types import SHOWN_TEXT, Candidate, Rows

_REACH = 60  # maximum number of added lines above and below a place to make its text unique
_WORK = 30_000_000  # maximum number of characters that the search for unique text reads
_CLIMB = 5_000  # maximum number of lines above a place to search for the blocks around it
_SHOWN = 60  # characters of a line that a description quotes
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
_NO_OPENER = re.compile(
    r"(?:[)\]}>]|else\b|elif\b|except\b|finally\b|catch\b|case\b|default\b|end\b|then\b|do\b"
    r"|#|//|/\*|\*|<!--|--\s)"
)


def candidates(
    text: Text, places: Sequence[tuple[int, int, float]], needle: Text | None = None
) -> tuple[Candidate, ...]:
    """Make candidates of places, each given by its rows and similarity.

    ``needle`` is the text from which they differ; None if they do not.
    """
    rows = [(first, stop) for first, stop, _ in places]
    return tuple(
        Candidate(
            first + 1,
            stop,
            likeness,
            text.rows_text(first, stop)[:SHOWN_TEXT],
            *unique_text(text, (first, stop)),
            where,
            tuple(differing_lines(text, (first, stop), needle)) if needle else (),
        )
        for (first, stop, likeness), where in zip(places, descriptions(text, rows), strict=True)
    )


def unique_text(text: Text, rows: Rows) -> tuple[str | None, int | None]:
    """The shortest run of whole lines around some rows that occurs once, and its first line.

    Its lines end in LF; the line number is 1-based. None if there is none within ``_REACH`` lines.
    """
    filled = [row for row in range(*rows) if text.stripped[row]]
    first, stop = (filled[0], filled[-1] + 1) if filled else rows
    view, lines, left = text.lf, text.lines, _WORK
    for size in range(_REACH + 1):
        for above in range(size + 1):
            start, end = first - above, stop + size - above
            found = "\n".join(lines[start:end]) if start >= 0 and end <= len(lines) else ""
            left -= len(view)
            # A carriage return inside a line would be taken for a part of its ending.
            if found and "\r" not in found and view.find(found, view.find(found) + 1) < 0:
                return found, start + 1
        if left < 0:
            break
    return None, None


def descriptions(text: Text, places: Sequence[Rows]) -> list[str]:
    """A description of each place that distinguishes it from the others.

    ``in `def save(self)` of `class A`, line 88`` names as many enclosing blocks as necessary. If
    these are equal, ``below `count = 0`, line 88`` names the nearest line that occurs once.
    """
    blocks = [tuple(_quoted(text, row) for row in _openers(text, first)) for first, _ in places]
    found = []
    for index, (first, _) in enumerate(places):
        others = blocks[:index] + blocks[index + 1 :]
        own = (blocks[index][:size] for size in range(1, len(blocks[index]) + 1))
        path = next((path for path in own if all(o[: len(path)] != path for o in others)), None)
        row = _landmark(text, first)
        below = "" if row is None else f"below {_quoted(text, row)}, "
        found.append((f"in {' of '.join(path)}, " if path else below) + f"line {first + 1}")
    return found


def _openers(text: Text, row: int) -> Iterator[int]:
    """The rows that open the blocks around a row, innermost first."""
    width = depth_of(text.lines[row])
    for above in reversed(range(max(0, row - _CLIMB), row)):
        line, outer = text.stripped[above], depth_of(text.lines[above])
        if line and outer < width and not _NO_OPENER.match(line):
            # A brace on its own line belongs to the line above with at most the same indentation.
            named = re.search(r"\w", line)
            width = outer + (not named)
            if named:
                yield above


def _landmark(text: Text, row: int) -> int | None:
    """The nearest row above with a line that occurs once."""
    rows = reversed(range(max(0, row - _REACH), row))
    named = (above for above in rows if re.search(r"\w{3}", text.lines[above]))
    return next((above for above in named if text.lines.count(text.lines[above]) == 1), None)


def _quoted(text: Text, row: int) -> str:
    line = text.stripped[row].rstrip(" {:")
    return f"`{line if len(line) <= _SHOWN else line[: _SHOWN - 1] + '…'}`"


def differing_lines(text: Text, rows: Rows, old: Text) -> list[str]:
    """The lines of a place that differ from the old text, with words marked as in `git diff`.

    ``12: return [-totl-]{+total+}`` is line 12 of the text, where the old text has `totl`. A line
    that only one side has is marked completely.
    """
    first, stop = rows
    mine = old.stripped[old.core.start : old.core.stop]
    there = text.stripped[first:stop]
    matched = align_lines(mine, there)
    pairs = [(*own, line) for own, line in zip(matched, mine, strict=True)]
    free = {*range(len(there))}.difference(*(range(*own) for own in matched))
    pairs = sorted([*pairs, *((row, row + 1, "") for row in free)], key=itemgetter(0))
    shown = ((start, line, "".join(there[start:end])) for start, end, line in pairs)
    return [f"{first + at + 1}: {_marked(line, row)}" for at, line, row in shown if line != row]


def _marked(old: str, new: str) -> str:
    mine, other = _TOKENS.findall(old), _TOKENS.findall(new)
    pieces = []
    for hunk in script(mine, other):
        gone, came = "".join(mine[hunk.i1 : hunk.i2]), "".join(other[hunk.j1 : hunk.j2])
        change = (f"[-{gone}-]" if gone else "") + (f"{{+{came}+}}" if came else "")
        pieces.append(came if hunk.same else change)
    return "".join(pieces)
