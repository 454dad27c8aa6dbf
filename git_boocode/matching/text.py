"""A text with its lines and the comparison forms that the rungs share.

Only LF and CRLF end a line, unlike in ``str.splitlines``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from io import StringIO
from itertools import accumulate, compress, count
from typing import Any, TypeVar

from git_boocode.matching.types import Position, Span

_T = TypeVar("_T")

BOM = "\ufeff"
TAB = 8  # columns of a tab where lines of one text are compared

_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2035\u00b4\u02b9\u02bc\u02c8\u055a\uff07"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u2036\u02ba\u301d\u301e\u301f\uff02"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d"
_SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_ONE_TO_ONE: dict[int, str] = {
    # Full-width forms have a constant distance from printable ASCII.
    **{code + 0xFEE0: chr(code) for code in range(0x21, 0x7F)},
    **dict.fromkeys(map(ord, _SINGLE), "'"),
    **dict.fromkeys(map(ord, _DOUBLE), '"'),
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _SPACES), " "),
}
_DIRECTIVES = "define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef|line|warning"
_COMMENT = re.compile(
    rf"#(?:$|[#!:]|\s(?!\s*(?:{_DIRECTIVES})\b))|//|/\*|\*(?:$|[\s*/])|<!--|--(?:$|\s)|;+(?:$|\s)|%+\s"
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_WHOLE_LINE = {**_ONE_TO_ONE, **dict.fromkeys(map(ord, INVISIBLE)), ord("\u2026"): "..."}


class Text:
    """A text, its lines and their comparison forms, which are computed on first use.

    Rows are 0-based line indexes. A byte order mark is not part of any line.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.mark = BOM if raw.startswith(BOM) else ""
        self.closed = raw.endswith("\n")  # whether the last line has a line ending
        self.has_crlf = "\r" in raw and "\r\n" in raw  # a single character is found faster
        self.lf = raw.replace("\r\n", "\n") if self.has_crlf else raw
        self._made: dict[Callable[[Text], Any], Any] = {}
        self._counted = 0, 1  # an offset and its line, up to which line feeds are counted

    @cached_property
    def mixed(self) -> bool:
        """Whether the text has both LF and CRLF line endings."""
        return self.has_crlf and self.raw.count("\r\n") != self.raw.count("\n")

    @cached_property
    def usual_ending(self) -> str:
        """The line ending of most lines."""
        return "\r\n" if 2 * self.raw.count("\r\n") > self.raw.count("\n") else "\n"

    @cached_property
    def parts(self) -> list[str]:
        """The pieces between line feeds, including carriage returns."""
        return self.raw.removeprefix(self.mark).split("\n")

    @property
    def pieces(self) -> list[str]:
        """The pieces between line endings, including an empty last piece."""
        return self.lf.removeprefix(self.mark).split("\n") if self.has_crlf else self.parts

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their endings; a final line ending does not start another line."""
        lines = self.pieces
        return lines[:-1] if not lines[-1] else lines

    @cached_property
    def stripped(self) -> list[str]:
        """The lines without leading and trailing whitespace."""
        return [*map(str.strip, self.lines)]

    @cached_property
    def canonical(self) -> list[str]:
        """The stripped lines in canonical form; see ``canonical_line``."""
        return self.stripped if self.raw.isascii() else [*map(canonical_line, self.stripped)]

    @cached_property
    def lf_alike(self) -> str:
        """``lf`` with look-alike characters mapped one to one to ASCII."""
        if self.raw.isascii():
            return self.lf
        return self.mark + "\n".join(map(look_alikes, self.pieces))

    @cached_property
    def framed_stripped(self) -> str:
        """The stripped lines as one string; see ``framed``."""
        return framed(self.stripped)

    @cached_property
    def framed_canonical(self) -> str:
        """The canonical lines as one string; see ``framed``."""
        return self.framed_stripped if self.raw.isascii() else framed(self.canonical)

    @cached_property
    def filled(self) -> list[int]:
        """The rows that are not blank."""
        return [*compress(count(), self.canonical)]

    @cached_property
    def core(self) -> range:
        """The rows without the blank lines at the top and the bottom."""
        rows = [row for row, line in enumerate(self.stripped) if line]
        return range(rows[0], rows[-1] + 1) if rows else range(0)

    @cached_property
    def squeezed(self) -> str:
        """``lf_alike`` without whitespace."""
        return squeezed(self.lf_alike)

    def once(self, make: Callable[[Text], _T]) -> _T:
        """What a function makes of the text, made at its first use."""
        if make not in self._made:
            self._made[make] = make(self)
        made: _T = self._made[make]
        return made

    @cached_property
    def _starts(self) -> list[int]:
        return [*accumulate(map(len, self.parts), initial=len(self.mark))]

    def start_of(self, row: int) -> int:
        """The offset at which line ``row`` starts; the text's length for the row after the last."""
        return self._starts[row] + row if row < len(self.parts) else len(self.raw)

    def end_of(self, row: int) -> int:
        """The offset at which line ``row`` ends, without its line ending."""
        return self.start_of(row) + len(self.lines[row])

    def ending(self, row: int) -> str:
        """The line ending of ``row``: LF, CRLF, or empty for an unterminated last line."""
        if row >= len(self.parts) - 1:
            return ""
        return "\r\n" if self.parts[row].endswith("\r") else "\n"

    def is_whole(self, start: int, end: int) -> bool:
        """Whether the text between two offsets consists of whole lines."""
        raw = self.raw
        begins = start in (0, len(self.mark)) or raw[start - 1] == "\n"
        ended = end == len(raw) or raw[end - 1 : end] == "\n"
        return begins and (ended or raw[end] == "\n" or raw.startswith("\r\n", end))

    def rows_text(self, first: int, stop: int) -> str:
        """The text of rows ``first`` to ``stop`` (exclusive), without the last line ending."""
        return self.raw[self.start_of(first) : self.end_of(stop - 1)] if first < stop else ""

    @cached_property
    def _crlf_marks(self) -> list[int]:
        return [run.start() - at for at, run in enumerate(re.finditer("\r\n", self.raw))]

    def to_raw(self, offset: int) -> int:
        """The offset in ``raw`` of an offset in ``lf``."""
        return offset + bisect_left(self._crlf_marks, offset) if self.has_crlf else offset

    def ends(self, span: Span) -> tuple[Position, Position]:
        """The start and the end (exclusive) of a span."""
        last = span.start_line + self.raw.count("\n", span.start, span.end)
        start, end = span.start, span.end
        return (
            Position(start, span.start_line, start - self.raw.rfind("\n", 0, start)),
            Position(end, last, end - self.raw.rfind("\n", 0, end)),
        )

    def spans(self, places: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
        """Spans with line numbers for ascending ``(start, end)`` offsets."""
        spans = []
        for start, end in places:
            seen, line = self._counted if self._counted[0] <= start else (0, 1)
            line += self.raw.count("\n", seen, start)
            self._counted = start, line
            last = line + self.raw.count("\n", start, max(start, end - 1))
            spans.append(Span(start, end, line, last))
        return tuple(spans)


def framed(lines: Iterable[str]) -> str:
    """Lines joined so that each, including the first and last, is between two line feeds."""
    return "\n" + "\n".join(lines) + "\n"


def indent_of(line: str) -> str:
    """The leading whitespace of a line."""
    return line[: len(line) - len(line.lstrip())]


def width_of(indent: str, tab: int = TAB) -> int:
    """The width of an indentation in columns, with tab stops every ``tab`` columns."""
    return len(indent.expandtabs(tab)) if "\t" in indent else len(indent)


def depth_of(line: str) -> int:
    """The width of a line's indentation in columns, for comparing lines of one text."""
    return width_of(indent_of(line))


def split_ends(line: str) -> tuple[str, str, str]:
    """Split a line into its indentation, its body and its trailing whitespace."""
    body = line.lstrip()
    bare = body.rstrip()
    return indent_of(line), bare, body[len(bare) :]


def split_lines(text: str) -> list[str]:
    """The lines of a text with their endings; only a newline ends a line."""
    return StringIO(text).readlines()


def spliced(text: str, splices: Iterable[tuple[int, int, str]]) -> str:
    """Replace disjoint ranges (start, end, new text), in ascending order, in a text."""
    pieces, at = [], 0
    for start, end, new in splices:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the common prefix of two texts or lists of lines."""
    same, most = 0, min(len(one), len(other))
    # A binary search with slices is faster than comparing millions of items one by one.
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def squeezed(text: str) -> str:
    """``text`` without ASCII whitespace."""
    # As bytes, because splitting a text of 5 MB takes ten times as long.
    data = text.encode("utf-8", "surrogatepass").translate(None, b" \t\n\r\f\v")
    return data.decode("utf-8", "surrogatepass")


def look_alikes(text: str) -> str:
    """``text`` with look-alike characters replaced by their ASCII form, length unchanged."""
    return text if text.isascii() else text.translate(_ONE_TO_ONE)


def plain_in_file(pairs: Iterable[tuple[str, str]]) -> dict[int, str]:
    """A table for ``str.translate`` of the look-alikes that are always ASCII in the file.

    ``pairs`` are lines of the model with the file's lines.
    """
    there: dict[int, set[str]] = {}
    for mine, row in pairs:
        same = len(mine) == len(row) and look_alikes(mine) == look_alikes(row)
        for code, other in zip(map(ord, mine), row, strict=True) if same else ():
            if code in _ONE_TO_ONE:
                there.setdefault(code, set()).add(other)
    table = {code: _ONE_TO_ONE[code] for code in there if there[code] == {_ONE_TO_ONE[code]}}
    if len(table) == len(there) and not {"'", '"'}.isdisjoint(table.values()):
        # A file with plain quotes of one kind has plain quotes of all kinds.
        quotes = {code: plain for code, plain in _ONE_TO_ONE.items() if plain in ("'", '"')}
        return table | quotes
    return table


def canonical_line(line: str) -> str:
    """A line for comparison, without differences in look-alikes, invisible characters and NFC."""
    if line.isascii():
        return line
    from unicodedata import normalize

    return normalize("NFC", line.translate(_WHOLE_LINE)).strip()


def without_accents(line: str) -> str:
    """A line without the diacritics of Latin, Greek and Cyrillic letters."""
    from unicodedata import normalize

    return line if line.isascii() else _ACCENTS.sub("", normalize("NFD", line))


def is_comment(line: str) -> bool:
    """Whether a line is only a comment, in any language."""
    return bool(comment_mark(line.strip()))


def comment_mark(line: str) -> str:
    """The mark of a stripped line that is only a comment; else empty."""
    found = _COMMENT.match(line)
    mark = found[0].strip() if found else ""
    return mark[0] if mark and mark[0] in "#;%*" else mark


def lines_of(first: int, last: int) -> str:
    """A range of lines in words, both ends inclusive; it may be empty."""
    if last < first:
        return f"after line {last}" if last else "at the top"
    return f"line {first}" if first == last else f"lines {first}-{last}"
