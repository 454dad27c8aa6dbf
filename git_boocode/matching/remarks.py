"""Where comments begin: what a rung asks that lets comments say the same in other words.

Which marks open a comment depends on the language, and a text does not say its language: ``//`` is
a division in Python, ``#`` a directive in C. A mark counts where the file has whole lines of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git_boocode.matching.text import Text

_DIRECTIVES = "define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef|line|warning"
_WHOLE = re.compile(
    rf"#(?:$|[#!:]|\s(?!\s*(?:{_DIRECTIVES})\b))|//|/\*|\*(?:$|[\s*/])|<!--|--(?:$|\s)|;+(?:$|\s)|%+\s"
)
_TRAILING = re.compile(r"\s(?:(#)\s|(//)(?=\s|\w)|(/\*)|(<!--)|(--)\s|(;+)\s|(%+)\s)")
_QUOTES = re.compile(r"\\.|[\"'`]")
_DIGITS = re.compile(r"\d+")
_HEADING = re.compile(r"#{1,6}\s")
_PROSE = re.compile(r"\n(?:##+\s|```|~~~)")
_STARS = re.compile(r"\*(?:$|[\s*/])")
_STATEMENT_ENDS = (*";{},",)


def is_comment(line: str) -> bool:
    """Whether a line, whatever its language, is nothing but a comment."""
    return bool(_WHOLE.match(line.strip()))


def may_remark(line: str) -> bool:
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


class Remarks:
    """A file's comments, told from its code."""

    def __init__(self, text: Text) -> None:
        self.marks = marks_of(text.canonical)
        # Where there are headings, a number sign opens no comment but one of them.
        self.prose = bool(_PROSE.search(text.framed_canonical)) and _mostly_headings(text.lines)
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
