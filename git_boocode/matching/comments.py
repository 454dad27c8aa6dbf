"""Comments in other words: the code around a comment proves the place, not the comment.

Which marks open a comment depends on the language, and a text does not say its language: ``//`` is
a division in Python, ``#`` a directive in C. A mark counts where the file has whole lines of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from git_boocode.matching.guards import evidence
from git_boocode.matching.layout import COMMON, rows_of
from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Query

if TYPE_CHECKING:
    from git_boocode.matching.text import Text

_DIRECTIVES = "define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef|line|warning"
_WHOLE = re.compile(
    rf"#(?:$|[#!:]|\s(?!\s*(?:{_DIRECTIVES})\b))|//|/\*|\*(?:$|[\s*/])|<!--|--(?:$|\s)|;+(?:$|\s)|%+\s"
)
_TRAILING = re.compile(r"\s(?:(#)\s|(//)(?=\s|\w)|(/\*)|(<!--)|(--)\s|(;+)\s|(%+)\s)")
_QUOTES = re.compile(r"\\.|[\"'`]")
_PROSE = re.compile(r"##+\s|```|~~~")
_STARS = re.compile(r"\*(?:$|[\s*/])")

_ANCHORS = 3
"""So many of the needle's longest lines are tried as the one that finds its places."""


def is_comment(line: str) -> bool:
    """Whether a line, whatever its language, is nothing but a comment."""
    return bool(_WHOLE.match(line.strip()))


def code_of(line: str, marks: frozenset[str]) -> str:
    """A stripped line without its comment, and ``None``-like "" for a line that is a comment.

    ``marks`` are the comment marks of the language; a mark within quotes opens nothing.
    """
    for found in _TRAILING.finditer(line):
        mark = next(filter(None, found.groups()))[:2].rstrip()
        if (mark[0] if mark[0] in "#;%" else mark) in marks and not _quoted(line[: found.start()]):
            return line[: found.start()].rstrip()
    return line


def _quoted(start: str) -> bool:
    """Whether a quote is open at the end of ``start``."""
    still_open = ""
    for token in _QUOTES.findall(start):
        if len(token) > 1:
            continue
        if not still_open:
            still_open = token
        elif token == still_open:
            still_open = ""
    return bool(still_open)


def marks_of(lines: Iterable[str]) -> frozenset[str]:
    """The comment marks with which whole (stripped) lines of a file begin."""
    marks = set()
    for line in lines:
        if line[:1] in "#/-;%<*" and (found := _WHOLE.match(line)):
            mark = found[0].strip()
            marks.add(mark[:1] if mark[0] in "#;%*" else mark[:4] if mark[0] == "<" else mark[:2])
    return frozenset(marks)


def comments(query: Query, step: Step) -> Found:
    """As many lines as the needle has, equal but for what comments say.

    The code that is equal must prove the place by itself, and a line that is a comment must be one
    there too.
    """
    lines = query.needle.canonical
    core = query.needle.core
    needle = lines[core.start : core.stop]
    if not any(_WHOLE.match(line) or _TRAILING.search(line) for line in needle):
        return Found()
    view = _View(query.text)
    code = [view.code(line) for line in needle]
    if evidence(" ".join(filter(None, code))) < step.evidence:
        return Found()
    firsts = [first for first in _firsts(query, needle) if view.agree(code, first)]
    # Of several places the comments may tell the one meant: similarity decides.
    return _at(query, firsts[0]) if len(firsts) == 1 else Found()


def _firsts(query: Query, needle: Sequence[str]) -> list[int]:
    """The rows on which the needle may begin: one of its long code lines is where it should be."""
    order = sorted(
        (index for index, line in enumerate(needle) if line and not _WHOLE.match(line)),
        key=lambda index: (-len(needle[index]), index),
    )
    last = len(query.text.canonical) - len(needle)
    for index in order[:_ANCHORS]:
        rows = rows_of(query.text, needle[index])
        if 0 < len(rows) <= COMMON:
            return [row - index for row in rows if 0 <= row - index <= last]
    return []


class _View:
    """A file's lines with the comments out of sight."""

    def __init__(self, text: Text) -> None:
        self.lines = text.canonical
        self.marks = marks_of(self.lines)
        # Where there are headings or fences, a number sign opens no comment but a heading.
        self.prose = any(map(_PROSE.match, self.lines))
        if self.prose:
            self.marks -= {"#"}

    def code(self, line: str) -> str | None:
        """The code of a line; None if it is a comment."""
        return None if self._is_comment(line) else code_of(line, self.marks)

    def _is_comment(self, line: str) -> bool:
        # Beside block comments a star goes on with one; elsewhere it is an item of a list.
        stars = _STARS.match(line) and "/*" not in self.marks
        heading = self.prose and line.startswith("#")
        return bool(_WHOLE.match(line)) and not (stars or heading)

    def agree(self, code: Sequence[str | None], first: int) -> bool:
        """Whether the rows from ``first`` on have the same code and comments in the same lines."""
        return all(self.code(self.lines[first + index]) == line for index, line in enumerate(code))


def _at(query: Query, first: int) -> Found:
    core, stripped = query.needle.core, query.needle.stripped
    rows = [first + index - core.start for index in core if stripped[index]]
    return Found((query.spread(rows),))
