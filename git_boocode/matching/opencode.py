"""The rungs of other tools, as those tools describe them.

More than one place is ambiguous, except in ``block_anchor``, although some of the tools would try a
looser rung or use the first place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from git_boocode.matching.align import cost, similarity
from git_boocode.matching.rungs import found_in, occurrences, rows_where
from git_boocode.matching.search import VERIFY_WORK, Query
from git_boocode.matching.text import framed
from git_boocode.matching.types import Found, Occurrence, Step

_BLOCK = 3  # minimum number of lines of a block whose first and last line are anchors
_WORK = 2_000_000  # maximum number of lines of windows that are compared
_TOO_LARGE = Found(reason="the text is too large to compare")
_COMPARED = 200_000  # maximum number of lines of blocks that are compared
_ESCAPED = re.compile(r"\\([nrt'\"`\\\n$])")
_WHITESPACE = re.compile(r"\s+")
_MEANING = {"n": "\n", "r": "\r", "t": "\t"}


def rstripped(query: Query, _step: Step) -> Found:
    """Whole lines that are equal except for trailing whitespace."""
    return _equal_lines(query, str.rstrip)


def line_trimmed(query: Query, _step: Step) -> Found:
    """Whole lines, including blank ones, that are equal except for whitespace at both ends.

    This includes all matches of ``indentation_flexible``, lines of equal relative indentation.
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
    """Blocks that begin with the needle's first line and end with its last, at least 3 lines."""
    lines, needle = query.text.stripped, query.needle.stripped
    if len(needle) < _BLOCK:
        return
    bottoms = [row for row, line in enumerate(lines) if line == needle[-1]]
    for row in (row for row, line in enumerate(lines) if line == needle[0]):
        at = bisect_left(bottoms, row + _BLOCK - 1)
        yield from ((row, bottom + 1) for bottom in bottoms[at : at + 1])


def block_anchor(query: Query, step: Step) -> Found:
    """Blocks whose first and last line are the needle's, with any lines in between.

    A single candidate needs no similarity. Of several candidates, the one with the most similar
    middle is chosen if it reaches the step's threshold; a tie is ambiguous.
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
        return Found(reason="several blocks have its first and last line, but none is similar")
    best = [block for block, score in zip(blocks, scores, strict=True) if score == max(scores)]
    return Found(tuple(_rows(query, *block, max(scores)) for block in best))


def _middle(query: Query, first: int, stop: int) -> list[tuple[str, str]]:
    """Pairs of lines between the anchors, the needle's and the file's, from the top."""
    here, there = query.needle.stripped[1:-1], query.text.stripped[first + 1 : stop - 1]
    return list(zip(here, there, strict=False))


def context_aware(query: Query, step: Step) -> Found:
    """Blocks with the needle's first and last line, its height, and a share of its middle lines.

    The step's threshold is the minimum share, not counting lines that are blank on both sides.
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
    """Lines, or part of one line, that are equal with each run of whitespace as one space."""
    needle, height = _normal(query.needle.lf), query.needle.lf.count("\n") + 1
    if height > 1 or not needle:
        return _windows(query, height, needle, _normal)
    places: list[Occurrence] = []
    for row, line in enumerate(query.text.lines):
        normal = _normal(line)
        if normal == needle:
            places.append(_rows(query, row, row + 1))
        elif needle in normal:
            start = query.text.start_of(row)
            # The offset of each character after replacing runs of whitespace with one space.
            left = [at for at in range(len(line)) if not line[at - 1 : at + 1].isspace()]
            places += [
                Occurrence(start + left[at], start + left[at + len(needle) - 1] + 1)
                for at in occurrences(_WHITESPACE.sub(" ", line), needle)
            ]
    return Found(tuple(places))


def _normal(text: str) -> str:
    return " ".join(text.split())


def escape_normalized(query: Query, _step: Step) -> Found:
    """The needle with its escapes decoded, or lines that equal it with theirs decoded, too."""
    needle = _unescaped(query.needle.lf)
    found = found_in(query, query.text.lf, needle)
    if found.places or "\\" not in query.text.lf:
        return found
    needle = needle.removesuffix("\n")
    return _windows(query, needle.count("\n") + 1, needle, _unescaped)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANING.get(found[1], found[1]), text)


def trimmed_boundary(query: Query, _step: Step) -> Found:
    """The needle without leading and trailing whitespace, anywhere."""
    return found_in(query, query.text.lf, query.needle.lf.strip())


def _windows(query: Query, height: int, needle: str, view: Callable[[str], str]) -> Found:
    """The disjoint windows whose view equals the needle; none if the needle is empty."""
    lines = query.text.lines
    places, row, left = [], 0, _WORK
    while needle and row + height <= len(lines):
        # A backslash at the end of a line escapes the line feed.
        begins = needle.startswith(view(lines[row]).removesuffix("\\"))
        left -= height if begins else 0
        if left < 0:
            return _TOO_LARGE
        is_equal = begins and view("\n".join(lines[row : row + height])) == needle
        if is_equal:
            places.append(_rows(query, row, row + height))
        row += height if is_equal else 1
    return Found(tuple(places))
