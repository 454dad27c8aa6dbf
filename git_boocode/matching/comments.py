"""Comments in other words: the code around a comment proves the place, not the comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from git_boocode.matching.guards import evidence
from git_boocode.matching.layout import COMMON, rows_of
from git_boocode.matching.profiles import Step
from git_boocode.matching.remarks import Remarks, is_comment, may_remark
from git_boocode.matching.rungs import Found, Query

_ANCHORS = 3
"""So many of the needle's longest lines are tried as the one that finds its places."""

_PROSE = 3
"""How much more the lines of a comment must hold than those of code: words repeat in prose."""
_WORDS = re.compile(r"\w{3,}")


def comments(query: Query, step: Step) -> Found:
    """As many lines as the needle has, equal but for what comments say.

    The code that is equal must prove the place by itself, and a line that is a comment must be one
    there too, with the same numbers. A comment that the file has as it is stands for no other one.
    Where there is no such code, the other lines of the comment must prove the place, and the line
    in other words must have most of its words in common with the file's.
    """
    lines = query.needle.canonical
    core = query.needle.core
    needle = lines[core.start : core.stop]
    if not any(map(may_remark, needle)):
        return Found()
    remarks = Remarks(query.text)
    told = evidence(" ".join(filter(None, map(remarks.code, needle)))) >= step.evidence
    if told:
        anchors = [line for line in needle if not is_comment(line)]
    elif _mostly_equal(query, needle, step.evidence * _PROSE):
        anchors = needle
    else:
        return Found()
    firsts = [
        first
        for first in _firsts(query, needle, anchors)
        if _agree(query, remarks, needle, first) and (told or _same_words(query, needle, first))
    ]
    # Of several places the comments may tell the one meant: similarity decides.
    return _at(query, firsts[0]) if len(firsts) == 1 else Found()


def _mostly_equal(query: Query, needle: Sequence[str], least: int) -> bool:
    """Whether most lines are in the file and hold so much evidence together."""
    known = [line for line in needle if line in query.present]
    strange = sum(map(bool, needle)) - len(known)
    return strange < len(known) and evidence(" ".join(known)) >= least


def _same_words(query: Query, needle: Sequence[str], first: int) -> bool:
    """Whether the lines from row ``first`` on have most of their words in common, line by line."""
    rows = query.text.canonical[first : first + len(needle)]
    return all(_alike(line, row) for line, row in zip(needle, rows, strict=True) if line != row)


def _alike(line: str, row: str) -> bool:
    mine, other = (set(_WORDS.findall(text.lower())) for text in (line, row))
    return 2 * len(mine & other) > max(len(mine), len(other))


def _firsts(query: Query, needle: Sequence[str], anchors: Sequence[str]) -> list[int]:
    """The rows on which the needle may begin: one of its long anchors is where it should be."""
    known = query.present.intersection(anchors)
    order = sorted(
        (index for index, line in enumerate(needle) if line in known),
        key=lambda index: (-len(needle[index]), index),
    )
    last = len(query.text.canonical) - len(needle)
    for index in order[:_ANCHORS]:
        rows = rows_of(query.text, needle[index])
        if 0 < len(rows) <= COMMON:
            return [row - index for row in rows if 0 <= row - index <= last]
    return []


def _agree(query: Query, remarks: Remarks, needle: Sequence[str], first: int) -> bool:
    """Whether the rows from ``first`` on are the needle's lines but for what comments say."""
    rows = query.text.canonical[first : first + len(needle)]
    return all(
        line == row or (line not in query.present and remarks.reworded(line, row))
        for line, row in zip(needle, rows, strict=True)
    )


def _at(query: Query, first: int) -> Found:
    core, lines = query.needle.core, query.needle.canonical
    rows = [first + index - core.start for index in core if lines[index]]
    return Found((query.spread(rows),))
