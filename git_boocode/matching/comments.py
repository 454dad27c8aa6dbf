"""Comments: detection, and the rung for text whose comments are worded differently.

The comment marks depend on the language, which is unknown: ``//`` is a division in Python, ``#`` a
directive in C. A mark counts if the file has whole lines that begin with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from git_boocode.matching.guards import evidence
from git_boocode.matching.rungs import PLACES
from git_boocode.matching.search import Query
from git_boocode.matching.text import Text
from git_boocode.matching.types import Found, Step

_PROSE = 3  # comments need this many times the evidence of code, because words repeat in prose
_DIRECTIVES = "define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef|line|warning"
_WHOLE = re.compile(
    rf"#(?:$|[#!:]|\s(?!\s*(?:{_DIRECTIVES})\b))|//|/\*|\*(?:$|[\s*/])|<!--|--(?:$|\s)|;+(?:$|\s)|%+\s"
)
_TOKENS = re.compile(
    r"\\.|([\"'`])|\s(?:(#)\s|(//)(?=\s|\w)|(/\*)|(<!--)|(--)\s|(;)[;\s]|(%)[%\s])"
)
"""A quote, or a mark that may open a comment after code."""
_MAY_BE = re.compile(r"[#/*;%]|<!--|--")
_MARKED = re.compile(r"\n([#/;%<*-].*)")
_WORDS = re.compile(r"\w{3,}")
_DIGITS = re.compile(r"\d+")
_HEADING = re.compile(r"\s*#{1,6}\s")
_MARKDOWN = re.compile(r"\n(?:##+\s|```|~~~)")


def is_comment(line: str) -> bool:
    """Whether a line is only a comment, in any language."""
    return bool(_mark(line.strip()))


def _mark(line: str) -> str:
    """The mark of a stripped line that is only a comment; else empty."""
    found = _WHOLE.match(line)
    mark = found[0].strip() if found else ""
    return mark[0] if mark and mark[0] in "#;%*" else mark


def _marks(text: Text) -> set[str]:
    """The marks of the lines of a file that are only comments."""
    marks = {_mark(line) for line in _MARKED.findall(text.framed_canonical)} - {""}
    # A star continues a block comment; in files without them it is a list item.
    marks -= set() if "/*" in marks else {"*"}
    # In Markdown, a number sign is a heading.
    is_page = _MARKDOWN.search(text.framed_canonical) and _mostly_headings(text.lines)
    return marks - {"#"} if is_page else marks


def _code(line: str, marks: set[str]) -> str | None:
    """A stripped line without the comment at its end; None if the line is only a comment."""
    if _mark(line) in marks:
        return None
    still_open = ""
    for found in _TOKENS.finditer(line):
        quote, mark = found[1], next(filter(None, found.groups()), None)
        if quote:
            still_open = "" if quote == still_open else still_open or quote
        elif mark and not still_open:
            before = line[max(found.start() - 8, 0) : found.start()].rstrip()
            # After the end of a statement, `//` is not a division.
            if mark in marks or (mark == "//" and before.endswith((*";{},",))):
                return line[: found.start()].rstrip()
    return line


def _reworded(left: str, right: str, marks: set[str]) -> bool:
    """Whether two lines differ only in the words of their comments, not in numbers."""
    code = _code(left, marks)
    if code != _code(right, marks) or code in (left, right):
        return False
    here, there = (_DIGITS.findall(line[len(code or "") :]) for line in (left, right))
    return here == there or not (here and there)


def _mostly_headings(lines: Iterable[str]) -> bool:
    """Whether most lines with a number sign are unindented and follow a blank line."""
    signed = [(above, line) for above, line in pairwise(["", *lines]) if _HEADING.match(line)]
    headings = sum(line[0] == "#" and not above.strip() for above, line in signed)
    return 2 * headings > len(signed)


def comments(query: Query, step: Step) -> Found:
    """Whole lines that are equal except for the words of comments.

    The equal code must have enough evidence by itself. A comment line must match a comment with the
    same numbers. A comment that occurs verbatim in the file matches no other one, and at most half
    of the lines may have other words. Without enough code, most lines must be equal and have much
    more evidence, because words repeat in prose, and a reworded line must share most of its words
    with the file's line.
    """
    core, rows, known = query.needle.core, query.text.canonical, query.present
    needle = query.needle.canonical[core.start : core.stop]
    if not all(line in known or _MAY_BE.search(line) for line in needle if line):
        return Found()
    marks = _marks(query.text)
    equal = [line for line in needle if line in known]
    code = " ".join(_code(line, marks) or "" for line in needle)
    proven = evidence(code) >= step.evidence
    if proven:
        equal = [line for line in equal if not is_comment(line)]
    elif 2 * len(equal) <= len([*filter(None, needle)]) or (
        evidence(" ".join(equal)) < _PROSE * step.evidence
    ):
        return Found()
    anchor = max(equal, key=len, default="")
    starts = [row - needle.index(anchor) for row in query.rows.get(anchor, ())]
    if len(starts) > PLACES:
        return Found()

    def fits(line: str, row: str) -> bool:
        reworded = line not in known and _reworded(line, row, marks)
        return line == row or (reworded and (proven or _alike(line, row)))

    def mostly_alike(window: Sequence[str]) -> bool:
        pairs = zip(needle, window, strict=True)
        strange = sum(line != row and not _alike(line, row) for line, row in pairs)
        return 2 * strange <= len([*filter(None, needle)])

    windows = ((row, rows[max(row, 0) : row + len(needle)]) for row in starts)
    firsts = [
        first
        for first, window in windows
        if len(window) == len(needle) and all(map(fits, needle, window)) and mostly_alike(window)
    ]
    if len(firsts) != 1:
        # The comments may distinguish several places: the rung `similarity` decides.
        return Found()
    top = firsts[0] - core.start
    return Found((query.spread({index: top + index for index in query.needle.filled}),))


def _alike(line: str, row: str) -> bool:
    """Whether two lines have most of their words in common."""
    mine, other = (set(_WORDS.findall(text.lower())) for text in (line, row))
    return 2 * len(mine & other) > max(len(mine), len(other))
