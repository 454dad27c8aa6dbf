"""Text whose first or last line is only a part of the file's line, and drifted besides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from git_boocode.matching.guards import too_bare
from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Place, Query, occurrences
from git_boocode.matching.text import Condensed, framed

_PLACES = 200
"""Of a line that stands in more places, none is looked at."""
_BLANKS = re.compile(r"[ \t]+")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_ASKED = 50
"""At most this many words are looked up one by one before the whole text is."""
_SLIPS = 2
"""So few letters may be missing at the end of a line by mistake."""


def part(query: Query, step: Step) -> Found:
    """The needle's first line ends a line of the file, its last begins one, the rest are whole.

    A single line may stand anywhere between whole words, and be spaced otherwise. Blanks at line
    ends and look-alikes do not count. The first line is cut between words; the last anywhere, since
    texts break off so.
    """
    core = query.needle.core
    if not core or too_bare(query.needle, step):
        return Found()
    lines = query.needle.canonical[core.start : core.stop]
    places = _inside(query, lines[0]) if len(lines) == 1 else _across(query, lines)
    return Found(tuple(places))


def _inside(query: Query, line: str) -> Iterator[Place]:
    """Places of one line within lines of the file."""
    text = query.text
    alike = text.lf_alike
    given = query.needle.lf
    spans = [(at, at + len(line)) for at in occurrences(alike, line)[:_PLACES]]
    for at, end in spans or _spaced_otherwise(alike, line):
        # Indentation says that a line begins, a line feed that it ends.
        begins = not given[0].isspace() or not _row_before(alike, at).strip()
        ends = not given.endswith("\n") or not _row_behind(alike, end).strip()
        cut = cut_between_words(alike, at) and cut_between_words(alike, end)
        if begins and ends and cut:
            row = alike.count("\n", 0, at)
            yield Place(text.to_raw(at), text.to_raw(end), 1.0, (row, row + 1), (), partial=True)


def _spaced_otherwise(text: str, line: str) -> list[tuple[int, int]]:
    """Where a line stands with other blanks between what needs none."""
    tokens = sorted(set(_TOKENS.findall(line)), key=len, reverse=True)
    if any(token not in text for token in tokens[:_ASKED]):
        return []
    return [*islice(_spaceless(text).places(_spaceless(line).text), _PLACES)]


def _spaceless(text: str) -> Condensed:
    """The text without the blanks that no two words need between them."""

    def between_words(start: int, end: int) -> bool:
        return _in_word(text[start - 1 : start], text[end : end + 1])

    return Condensed(text, _BLANKS, between_words)


def _in_word(before: str, after: str) -> bool:
    """Whether a word goes on from one character to the next."""
    return all(char.isalnum() or char == "_" for char in (before, after))


def _row_before(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]


def _row_behind(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at:end] if end >= 0 else text[at:]


def cut_between_words(text: str, at: int) -> bool:
    """Whether no word of ``text`` goes on at offset ``at``."""
    return at == 0 or not _in_word(text[at - 1], text[at : at + 1])


def _across(query: Query, lines: Sequence[str]) -> Iterator[Place]:
    """Places of several lines, of which only the first and the last may be cut."""
    last = len(query.text.canonical) - len(lines)
    for first in _firsts(query, lines):
        if 0 <= first <= last:
            place = _place(query, lines, first)
            if place is not None:
                yield place


def _firsts(query: Query, lines: Sequence[str]) -> list[int]:
    text = query.text
    inner = lines[1:-1]
    if not inner:
        return _pairs(query, lines)
    if query.absent(inner):
        return []
    needle = framed(inner)
    found, row, seen = [], 0, 0
    for at in occurrences(text.framed_canonical, needle, shared=1)[:_PLACES]:
        row += text.framed_canonical.count("\n", seen, at)
        seen = at
        found.append(row - 1)
    return found


def _pairs(query: Query, lines: Sequence[str]) -> list[int]:
    """The rows before a line end that the needle's two lines stand around."""
    text = query.text.framed_canonical
    return [text.count("\n", 0, at) - 1 for at in occurrences(text, "\n".join(lines))[:_PLACES]]


def _place(query: Query, lines: Sequence[str], first: int) -> Place | None:
    text, stop = query.text, first + len(lines)
    top, bottom = text.canonical[first], text.canonical[stop - 1]
    if not (top.endswith(lines[0]) and bottom.startswith(lines[-1])):
        return None
    if query.new and bottom != lines[-1] and bottom == query.new.canonical[-1]:
        return None  # the line has its new form already
    if not cut_between_words(top, len(top) - len(lines[0])):
        return None
    if _broken_off(query, bottom, lines[-1]):
        return None
    start = _start_of(query, first, lines[0]) if top != lines[0] else text.start_of(first)
    end = _end_of(query, stop - 1, lines[-1]) if bottom != lines[-1] else text.end_of(stop - 1)
    if start is None or end is None:
        return None
    return Place(start, end, 1.0, (first, stop), (), partial=True)


def _broken_off(query: Query, bottom: str, line: str) -> bool:
    """Whether the needle's last line ends within a word of the row where nobody breaks off.

    A number is not cut; a letter or two of a line that is changed may just be missing.
    """
    cut = len(line)
    if cut_between_words(bottom, cut):
        return False
    stays = query.new is None or query.new.canonical[-1:] == [line]
    missing = not stays and len(bottom) - cut <= _SLIPS
    return bottom[cut - 1].isdigit() or missing


def _start_of(query: Query, row: int, line: str) -> int | None:
    """Where the end of a row that is ``line`` in canonical form begins."""
    from git_boocode.matching.canonical import canonical_line

    real = query.text.lines[row]
    body = real.rstrip()
    # Canonical spelling may be shorter or longer than the real one by a few characters.
    for at in sorted(range(len(body)), key=lambda at: abs(len(body) - at - len(line)))[:_PLACES]:
        if canonical_line(body[at:].strip()) == line and not body[at].isspace():
            return query.text.start_of(row) + at
    return None


def _end_of(query: Query, row: int, line: str) -> int | None:
    """Where the beginning of a row that is ``line`` in canonical form ends."""
    from git_boocode.matching.canonical import canonical_line

    real = query.text.lines[row]
    indent = len(real) - len(real.lstrip())
    ends = range(indent + 1, len(real) + 1)
    for end in sorted(ends, key=lambda end: abs(end - indent - len(line)))[:_PLACES]:
        if canonical_line(real[indent:end].strip()) == line and not real[end - 1].isspace():
            return query.text.start_of(row) + end
    return None
