"""Text that is laid out otherwise: spaces inside lines, and blank lines, do not count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_boocode.matching.guards import too_bare
from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Query, occurrences
from git_boocode.matching.text import Text, framed

_BLANKS = re.compile(r"\s+")
_NEEDLESS = re.compile(r"(?<!\w) | (?!\w)")

_ANCHORS = 3
"""So many of the needle's lines that the file has are tried as the one to find it by."""
_AROUND = 2_000_000
"""So many rows around the places of one line are compared."""
COMMON = 200
"""A line that stands in more places than this finds nothing."""


def spaceless(line: str) -> str:
    """A line without the spaces that no two words need between them."""
    return _NEEDLESS.sub("", _BLANKS.sub(" ", line))


def layout(query: Query, step: Step) -> Found:
    """Whole lines that are equal but for spaces between what needs none, and for blank lines."""
    if not query.needle.core or too_bare(query.needle, step):
        return Found()
    lines = [line for line in query.needle.canonical if line]
    wanted = list(map(spaceless, lines))
    found = _by_anchor(query, lines, wanted) if query.present else _squeezed(query, wanted)
    return Found(tuple(map(query.spread, found)))


def rows_of(text: Text, line: str) -> list[int]:
    """The rows that are equal to a line in canonical form."""
    rows: list[int] = []
    lines = text.canonical
    for _ in range(lines.count(line)):
        rows.append(lines.index(line, rows[-1] + 1 if rows else 0))
    return rows


def _by_anchor(query: Query, lines: Sequence[str], wanted: Sequence[str]) -> list[list[int]]:
    """The rows of every place, found by a line that is equal in it."""
    known = (index for index, line in enumerate(lines) if line in query.present)
    for index in sorted(known, key=lambda index: -len(lines[index]))[:_ANCHORS]:
        rows = rows_of(query.text, lines[index])
        if len(rows) <= COMMON:
            around = _Around(query.text, wanted)
            found = [around.rows(index, row) for row in rows]
            return [place for place in found if place]
    return []


class _Around:
    """Lines without needless spaces, looked for around one of them."""

    def __init__(self, text: Text, wanted: Sequence[str]) -> None:
        self.lines, self.wanted = text.canonical, wanted
        self.left = _AROUND
        self.known: dict[int, str] = {}

    def rows(self, index: int, row: int) -> list[int] | None:
        """The rows of the lines if line ``index`` is ``row``; None if they are not there."""
        below = self._matched(self.wanted[index:], range(row, len(self.lines)))
        above = self._matched(self.wanted[:index][::-1], range(row - 1, -1, -1)) if below else None
        return None if below is None or above is None else above[::-1] + below

    def _matched(self, wanted: Sequence[str], rows: range) -> list[int] | None:
        matched: list[int] = []
        for row in rows:
            if len(matched) == len(wanted):
                break
            self.left -= 1
            if self.left < 0 or self._spaceless(row) not in ("", wanted[len(matched)]):
                return None
            if self.lines[row]:
                matched.append(row)
        return matched if len(matched) == len(wanted) else None

    def _spaceless(self, row: int) -> str:
        if row not in self.known:
            self.known[row] = spaceless(self.lines[row])
        return self.known[row]


def _squeezed(query: Query, wanted: Sequence[str]) -> Iterator[list[int]]:
    """The rows of every place, found without looking at any blanks."""
    view = _without_blanks(query.text.framed_canonical)
    needle = _without_blanks(framed(query.needle.canonical))
    index, seen = 0, 0
    for at in occurrences(view, needle, shared=1):
        index += view.count("\n", seen, at)
        seen = at
        rows = query.text.filled[index : index + len(wanted)]
        if [spaceless(query.text.canonical[row]) for row in rows] == wanted:
            yield rows


def _without_blanks(text: str) -> str:
    text = text.replace(" ", "").replace("\t", "")
    while "\n\n" in text:
        text = text.replace("\n\n", "\n")
    return text
