"""The rungs of other tools' ladders, as those tools describe them.

More than one place is ambiguous, except in ``block_anchor``, although some of the tools would go on
to a looser rung or take the first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from git_boocode.matching.align import cost, similarity
from git_boocode.matching.rungs import Step, found_in, occurrences, rows_where
from git_boocode.matching.text import Found, Occurrence, Query, framed
from git_boocode.matching.windows import VERIFY_WORK

_BLOCK = 3  # lines that a block must have for its first and last one to be anchors
_WORK = 2_000_000  # lines of windows that are compared at most
_TOO_LARGE = Found(reason="the text is too large to compare")
_COMPARED = 200_000  # lines of blocks that are compared at most
_ESCAPED = re.compile(r"\\([nrt'\"`\\\n$])")
_WHITESPACE = re.compile(r"\s+")
_MEANING = {"n": "\n", "r": "\r", "t": "\t"}


def rstripped(query: Query, _step: Step) -> Found:
    """Whole lines that are equal but for whitespace at their right ends."""
    return _equal_lines(query, str.rstrip)


def line_trimmed(query: Query, _step: Step) -> Found:
    """Whole lines, blank ones too, that are equal but for whitespace at both ends.

    It accepts whatever ``indentation_flexible`` does, lines of equal relative indentation.
    """
    return _equal_lines(query, str.strip)


def _equal_lines(query: Query, view: Callable[[str], str]) -> Found:
    height = len(query.needle.lines) if query.needle.core else 0
    rows = rows_where(framed(map(view, query.text.lines)), map(view, query.needle.lines))
    return Found(tuple(_rows(query, row, row + height) for row in rows if height))


def _rows(query: Query, first: int, stop: int, score: float = 1.0) -> Occurrence:
    text = query.text
    end = text.start_of(stop) if query.needle.closed else text.end_of(stop - 1)
    return Occurrence(text.start_of(first), end, score, (first, stop))


def _blocks(query: Query) -> Iterator[tuple[int, int]]:
    """Rows between a line like the needle's first and the next but one or later like its last."""
    lines, needle = query.text.stripped, query.needle.stripped
    if len(needle) < _BLOCK:
        return
    bottoms = [row for row, line in enumerate(lines) if line == needle[-1]]
    for row in (row for row, line in enumerate(lines) if line == needle[0]):
        at = bisect_left(bottoms, row + _BLOCK - 1)
        yield from ((row, bottom + 1) for bottom in bottoms[at : at + 1])


def block_anchor(query: Query, step: Step) -> Found:
    """Blocks whose first and last line are the needle's, whatever is in between.

    A single candidate needs no likeness at all. Of several the one with the most alike middle is
    taken if it reaches the step's threshold; two that are equally alike are ambiguous.
    """
    blocks = [*_blocks(query)]
    if len(blocks) * len(query.needle.lines) > _COMPARED:
        return _TOO_LARGE
    middles = [_middle(query, *block) for block in blocks]
    pairs = (pair for middle in middles for pair in middle if pair[0] != pair[1])
    if sum(cost(*map(len, pair)) for pair in pairs) > VERIFY_WORK:
        return _TOO_LARGE
    scores = [
        sum(similarity(*pair) for pair in middle if any(pair)) / len(middle) if middle else 1.0
        for middle in middles
    ]
    if len(blocks) > 1 and max(scores) < step.threshold:
        return Found(reason="several blocks have its first and last line, and none is alike")
    best = [block for block, score in zip(blocks, scores, strict=True) if score == max(scores)]
    return Found(tuple(_rows(query, *block, max(scores)) for block in best))


def _middle(query: Query, first: int, stop: int) -> list[tuple[str, str]]:
    """The lines between the anchors, the needle's and the file's, from the top."""
    here, there = query.needle.stripped[1:-1], query.text.stripped[first + 1 : stop - 1]
    return list(zip(here, there, strict=False))


def context_aware(query: Query, step: Step) -> Found:
    """Blocks with the needle's ends and height, and a share of its middle lines.

    The share, the step's threshold, is of the lines that are not blank on both sides.
    """
    places = []
    for first, stop in _blocks(query):
        if stop - first == len(query.needle.lines):
            pairs = [pair for pair in _middle(query, first, stop) if any(pair)]
            equal = sum(left == right for left, right in pairs)
            if equal >= step.threshold * len(pairs):
                places.append(_rows(query, first, stop))
    return Found(tuple(places))


def whitespace_normalized(query: Query, _step: Step) -> Found:
    """Lines equal once every run of whitespace is one space; or part of one line."""
    wanted, height = _normal(query.needle.lf), query.needle.lf.count("\n") + 1
    if height > 1 or not wanted:
        return _windows(query, height, wanted, _normal)
    places: list[Occurrence] = []
    for row, line in enumerate(query.text.lines):
        normal = _normal(line)
        if normal == wanted:
            places.append(_rows(query, row, row + 1))
        elif wanted in normal:
            start = query.text.start_of(row)
            # The offset of each character that is left once every run of whitespace is one space.
            left = [at for at in range(len(line)) if not line[at - 1 : at + 1].isspace()]
            places += [
                Occurrence(start + left[at], start + left[at + len(wanted) - 1] + 1)
                for at in occurrences(_WHITESPACE.sub(" ", line), wanted)
            ]
    return Found(tuple(places))


def _normal(text: str) -> str:
    return " ".join(text.split())


def escape_normalized(query: Query, _step: Step) -> Found:
    """The needle with escapes read, or lines that are equal to it once theirs are read too."""
    wanted = _unescaped(query.needle.lf)
    found = found_in(query, query.text.lf, wanted)
    if found.places or "\\" not in query.text.lf:
        return found
    wanted = wanted.removesuffix("\n")
    return _windows(query, wanted.count("\n") + 1, wanted, _unescaped)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANING.get(found[1], found[1]), text)


def trimmed_boundary(query: Query, _step: Step) -> Found:
    """The needle without the whitespace around it, anywhere."""
    return found_in(query, query.text.lf, query.needle.lf.strip())


def _windows(query: Query, height: int, wanted: str, view: Callable[[str], str]) -> Found:
    """The disjoint windows whose view is the wanted one; none if that is empty."""
    lines = query.text.lines
    places, row, left = [], 0, _WORK
    while wanted and row + height <= len(lines):
        # A backslash at the end of a line escapes the line feed.
        begins = wanted.startswith(view(lines[row]).removesuffix("\\"))
        left -= height if begins else 0
        if left < 0:
            return _TOO_LARGE
        is_equal = begins and view("\n".join(lines[row : row + height])) == wanted
        if is_equal:
            places.append(_rows(query, row, row + height))
        row += height if is_equal else 1
    return Found(tuple(places))
