"""The rungs of other tools' ladders, as those tools describe them.

More than one place is ambiguous, except in ``block_anchor``, although some of the tools would go on
to a looser rung or take the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Place, Query, found_in, occurrences
from git_boocode.matching.similarity import cost, similarity
from git_boocode.matching.text import Condensed, framed
from git_boocode.matching.windows import VERIFY_WORK

_BLOCK = 3
"""Lines that a block must have for its first and last one to be anchors."""
_WORK = 2_000_000
"""At most this many lines of windows are compared; beyond that a rung finds nothing."""
_COMPARED = 200_000
"""The same for lines between anchors, which are compared by their letters."""
_BLOCKS = 1_000
"""At most this many blocks between anchors are compared."""
_ESCAPED = re.compile(r"\\([nrt'\"`\\\n$])")
_BLANKS = re.compile(r"\s+")
_MEANING = {"n": "\n", "r": "\r", "t": "\t"}


def rstripped(query: Query, _step: Step) -> Found:
    """Whole lines that are equal but for blanks at their right ends."""
    return _equal_lines(query, str.rstrip)


def line_trimmed(query: Query, _step: Step) -> Found:
    """Whole lines, blank ones too, that are equal but for blanks at both ends."""
    return _equal_lines(query, str.strip)


def _equal_lines(query: Query, view: Callable[[str], str]) -> Found:
    lines = query.needle.lines
    if not query.needle.core:
        return Found()
    text = framed(map(view, query.text.lines))
    places, row, seen = [], 0, 0
    for at in occurrences(text, framed(map(view, lines)), shared=1):
        row += text.count("\n", seen, at)
        seen = at
        places.append(_rows(query, row, row + len(lines)))
    return Found(tuple(places))


def _rows(query: Query, first: int, stop: int, score: float = 1.0) -> Place:
    text = query.text
    end = text.start_of(stop) if query.needle.closed else text.end_of(stop - 1)
    return Place(text.start_of(first), end, score, (first, stop))


def _blocks(query: Query) -> Iterator[tuple[int, int]]:
    """Rows between a line like the needle's first and the next but one or later like its last."""
    lines, needle = query.text.stripped, query.needle.stripped
    bottoms = [row for row, line in enumerate(lines) if line == needle[-1]]
    at = 0
    for row in (row for row, line in enumerate(lines) if line == needle[0]):
        while at < len(bottoms) and bottoms[at] < row + 2:
            at += 1
        if at < len(bottoms):
            yield row, bottoms[at] + 1


def block_anchor(query: Query, step: Step) -> Found:
    """Blocks whose first and last line are the needle's, whatever is in between.

    A single candidate needs no likeness at all. Of several the one with the most alike middle is
    taken if it reaches the step's threshold; two that are equally alike are ambiguous.
    """
    if len(query.needle.lines) < _BLOCK:
        return Found()
    blocks = [*islice(_blocks(query), _BLOCKS + 1)]
    middles = [_middle(query, *block) for block in blocks]
    unlike = [pair for middle in middles for pair in middle if pair[0] != pair[1]]
    work = sum(cost(len(left), len(right)) for left, right in unlike)
    if sum(map(len, middles)) > _COMPARED or work > VERIFY_WORK:
        return Found(reason="the text is too large to compare")
    if not blocks or len(blocks) > _BLOCKS:
        return Found()
    scores = [_likeness(middle) for middle in middles]
    if len(blocks) > 1 and max(scores) < step.threshold:
        return Found(reason="several blocks have its first and last line, and none is alike")
    best = [block for block, score in zip(blocks, scores, strict=True) if score == max(scores)]
    return Found(tuple(_rows(query, *block, max(scores)) for block in best))


def _middle(query: Query, first: int, stop: int) -> list[tuple[str, str]]:
    """The lines between the anchors, the needle's and the file's, from the top."""
    here, there = query.needle.stripped[1:-1], query.text.stripped[first + 1 : stop - 1]
    return list(zip(here, there, strict=False))


def _likeness(pairs: Sequence[tuple[str, str]]) -> float:
    """The mean similarity of pairs of lines."""
    likeness = sum(similarity(left, right) for left, right in pairs if left or right)
    return likeness / len(pairs) if pairs else 1.0


def context_aware(query: Query, step: Step) -> Found:
    """Blocks with the needle's ends and height, and a share of its middle lines.

    The share, the step's threshold, is of the lines that are not blank on both sides.
    """
    needle = query.needle.stripped
    if len(needle) < _BLOCK:
        return Found()
    places = []
    for first, stop in _blocks(query):
        pairs = [pair for pair in _middle(query, first, stop) if any(pair)]
        equal = sum(left == right for left, right in pairs)
        if stop - first == len(needle) and equal >= step.threshold * len(pairs):
            places.append(_rows(query, first, stop))
    return Found(tuple(places))


def whitespace_normalized(query: Query, _step: Step) -> Found:
    """Lines equal once every run of blanks, line feeds too, is one space; or part of one line."""
    wanted = _normal(query.needle.lf)
    if not wanted:
        return Found()
    height = len(query.needle.lf.split("\n"))
    normal = list(map(_normal, query.text.lines))
    if height > 1:
        return _windows(
            query,
            height,
            lambda row: wanted.startswith(normal[row]),
            lambda lines: _normal("\n".join(lines)) == wanted,
        )
    places: list[Place] = []
    for row, line in enumerate(normal):
        if wanted in line:
            if line == wanted:
                places.append(_rows(query, row, row + 1))
                continue
            start = query.text.start_of(row)
            spots = Condensed(query.text.lines[row], _BLANKS, lambda *_: True).places(wanted)
            places += [Place(start + first, start + end) for first, end in spots]
    return Found(tuple(places))


def _normal(text: str) -> str:
    return " ".join(text.split())


def indentation_flexible(query: Query, _step: Step) -> Found:
    """Lines equal once the indentation that all of them share is gone, on either side."""
    lines = query.needle.lines
    wanted = _dedented(lines)
    if not any(map(str.strip, lines)):
        return Found()
    first = query.needle.stripped[0]
    return _windows(
        query,
        len(lines),
        lambda row: query.text.stripped[row] == first,
        lambda window: _dedented(window) == wanted,
    )


def _dedented(lines: Sequence[str]) -> list[str]:
    depths = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    depth = min(depths, default=0)
    return [line[depth:] if line.strip() else line for line in lines]


def escape_normalized(query: Query, _step: Step) -> Found:
    """The needle with escapes read, or lines that are equal to it once theirs are read too."""
    wanted = _unescaped(query.needle.lf)
    if not wanted:
        return Found()
    text, found = query.text, found_in(query, query.text.lf, wanted)
    if found.places or "\\" not in text.lf:
        return found
    lines = wanted.removesuffix("\n").split("\n")
    same = "\n".join(lines)
    return _windows(
        query,
        len(lines),
        lambda row: text.lines[row].endswith("\\") or same.startswith(_unescaped(text.lines[row])),
        lambda window: _unescaped("\n".join(window)) == same,
    )


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANING.get(found[1], found[1]), text)


def trimmed_boundary(query: Query, _step: Step) -> Found:
    """The needle without the blanks and line feeds around it, anywhere."""
    wanted = query.needle.lf.strip()
    if not wanted or wanted == query.needle.lf:
        return Found()
    return found_in(query, query.text.lf, wanted)


def _windows(
    query: Query,
    height: int,
    begins: Callable[[int], bool],
    accepts: Callable[[Sequence[str]], bool],
) -> Found:
    """The disjoint windows that are accepted, of those whose first row ``begins`` lets pass."""
    lines = query.text.lines
    places, row, left = [], 0, _WORK
    while row + height <= len(lines):
        taken = begins(row) and accepts(lines[row : row + height])
        left -= height if begins(row) else 0
        if left < 0:
            return Found(reason="the text is too large to compare")
        if taken:
            places.append(_rows(query, row, row + height))
        row += height if taken else 1
    return Found(tuple(places))
