"""Comments: where they begin, and the rung that lets them say the same in other words.

Which marks open a comment depends on the language, which a text does not name: ``//`` is a division
in Python, ``#`` a directive in C. A mark counts where the file has whole lines of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git_boocode.matching.profiles import Step
    from git_boocode.matching.rungs import Found, Query
    from git_boocode.matching.text import Text

_ANCHORS = 3
"""At most this many of the needle's longest lines are tried as the one that finds its places."""
_PLACES = 200
"""A line that occurs more often finds nothing."""
_PROSE = 3
"""How much more evidence comments must hold than code: words repeat in prose."""
_WORDS = re.compile(r"\w{3,}")
_DIRECTIVES = "define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef|line|warning"
_WHOLE = re.compile(
    rf"#(?:$|[#!:]|\s(?!\s*(?:{_DIRECTIVES})\b))|//|/\*|\*(?:$|[\s*/])|<!--|--(?:$|\s)|;+(?:$|\s)|%+\s"
)
_TRAILING = re.compile(r"\s(?:(#)\s|(//)(?=\s|\w)|(/\*)|(<!--)|(--)\s|(;+)\s|(%+)\s)")
_QUOTES = re.compile(r"\\.|[\"'`]")
_DIGITS = re.compile(r"\d+")
_HEADING = re.compile(r"#{1,6}\s")
_MARKDOWN = re.compile(r"\n(?:##+\s|```|~~~)")
_STARS = re.compile(r"\*(?:$|[\s*/])")
_STATEMENT_ENDS = (*";{},",)


def is_comment(line: str) -> bool:
    """Whether a line, whatever its language, is nothing but a comment."""
    return bool(_WHOLE.match(line.strip()))


def may_comment(line: str) -> bool:
    """Whether a stripped line may be, or end in, a comment."""
    return bool(_WHOLE.match(line) or _TRAILING.search(line))


def code_of(line: str, marks: frozenset[str]) -> str:
    """A stripped line without the comment at its end.

    ``marks`` are the comment marks of the language; a mark within quotes opens nothing.
    """
    quotes, still_open = _QUOTES.finditer(line), ""
    quote = next(quotes, None)
    for found in _TRAILING.finditer(line):
        while quote and quote.start() < found.start():
            still_open = _still_open(still_open, quote[0])
            quote = next(quotes, None)
        if not still_open and _opens(line, found, marks):
            return line[: found.start()].rstrip()
    return line


def _still_open(still_open: str, token: str) -> str:
    """The quote that is open behind a quote, or behind what is escaped."""
    if len(token) > 1 or (still_open and token != still_open):
        return still_open
    return "" if still_open else token


def _opens(line: str, found: re.Match[str], marks: frozenset[str]) -> bool:
    """Whether a mark within a line opens a comment."""
    mark = next(filter(None, found.groups()))[:2].rstrip()
    if (mark[0] if mark[0] in "#;%" else mark) in marks:
        return True
    at = found.start()
    while at and line[at - 1].isspace():
        at -= 1
    # Behind the end of a statement nothing is divided.
    return mark == "//" and line[max(at - 1, 0) : at] in _STATEMENT_ENDS


def marks_of(lines: Iterable[str]) -> frozenset[str]:
    """The comment marks with which whole (stripped) lines of a file begin."""
    marks = set()
    for line in lines:
        if line[:1] in "#/-;%<*" and (found := _WHOLE.match(line)):
            mark = found[0].strip()
            marks.add(mark[:1] if mark[0] in "#;%*" else mark[:4] if mark[0] == "<" else mark[:2])
    return frozenset(marks)


def same_numbers(left: str, right: str) -> bool:
    """Whether two comments may say the same as far as their numbers tell; one may have none."""
    here, there = _DIGITS.findall(left), _DIGITS.findall(right)
    return here == there or not (here and there)


class Comments:
    """The comments of one file."""

    def __init__(self, text: Text) -> None:
        self.marks = marks_of(text.canonical)
        # Where there are headings, a number sign opens no comment but one of them.
        self.prose = bool(_MARKDOWN.search(text.framed_canonical)) and _mostly_headings(text.lines)
        if self.prose:
            self.marks -= {"#"}

    def code(self, line: str) -> str | None:
        """The code of a line; None if it is a comment."""
        return None if self.is_comment(line) else code_of(line, self.marks)

    def is_comment(self, line: str) -> bool:
        """Whether a stripped line is nothing but a comment."""
        # Beside block comments a star goes on with one; elsewhere it is an item of a list.
        stars = _STARS.match(line) and "/*" not in self.marks
        heading = self.prose and line.startswith("#")
        return bool(_WHOLE.match(line)) and not (stars or heading)

    def reworded(self, left: str, right: str) -> bool:
        """Whether two lines differ in nothing but what their comments say."""
        code = self.code(left)
        if code != self.code(right) or code in (left, right):
            return False
        return same_numbers(left[len(code or "") :], right[len(code or "") :])


def _mostly_headings(lines: Iterable[str]) -> bool:
    """Whether most lines with a number sign begin at the margin below a blank line."""
    signed = [
        (above, line) for above, line in pairwise(["", *lines]) if _HEADING.match(line.lstrip())
    ]
    headings = sum(line[0] == "#" and not above.strip() for above, line in signed)
    return 2 * headings > len(signed)


def comments(query: Query, step: Step) -> Found:
    """As many lines as the needle has, equal but for what comments say.

    The code that is equal must prove the place by itself, and a line that is a comment must be one
    there too, with the same numbers. A comment that the file has as it is stands for no other one.
    Where there is no such code, the other lines of the comment must prove the place, and the line
    in other words must have most of its words in common with the file's.
    """
    from git_boocode.matching.guards import evidence
    from git_boocode.matching.rungs import Found

    core, lines = query.needle.core, query.needle.canonical
    needle = lines[core.start : core.stop]
    if not any(map(may_comment, needle)):
        return Found()
    known = Comments(query.text)
    proven = evidence(" ".join(filter(None, map(known.code, needle)))) >= step.evidence
    if proven:
        anchors = [line for line in needle if not is_comment(line)]
    elif _mostly_equal(query, needle, step.evidence * _PROSE):
        anchors = needle
    else:
        return Found()
    firsts = [
        first
        for first in _firsts(query, needle, anchors)
        if _agree(query, known, needle, first) and (proven or _same_words(query, needle, first))
    ]
    if len(firsts) != 1:
        # Of several places the comments may tell the one meant: similarity decides.
        return Found()
    rows = [firsts[0] + index - core.start for index in core if lines[index]]
    return Found((query.spread(rows),))


def _mostly_equal(query: Query, needle: Sequence[str], least: int) -> bool:
    """Whether most lines are in the file and hold that much evidence together."""
    from git_boocode.matching.guards import evidence

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
    lines = query.text.canonical
    for index in order[:_ANCHORS]:
        if lines.count(needle[index]) <= _PLACES:
            firsts = [row - index for row, line in enumerate(lines) if line == needle[index]]
            return [first for first in firsts if 0 <= first <= len(lines) - len(needle)]
    return []


def _agree(query: Query, known: Comments, needle: Sequence[str], first: int) -> bool:
    """Whether the rows from ``first`` on are the needle's lines but for what comments say."""
    rows = query.text.canonical[first : first + len(needle)]
    return all(
        line == row or (line not in query.present and known.reworded(line, row))
        for line, row in zip(needle, rows, strict=True)
    )
