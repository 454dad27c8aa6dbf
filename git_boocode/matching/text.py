"""A text with its lines and the comparison forms that the rungs share, and a query on it.

Only LF and CRLF end a line, unlike in ``str.splitlines``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from io import StringIO
from itertools import accumulate, compress, count, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from git_boocode.matching.types import MatchError, Position, Span

if TYPE_CHECKING:
    from git_boocode.matching.align import Hunk

_T = TypeVar("_T")

BOM = "\ufeff"
TAB = 8  # columns of a tab where lines of one text are compared
LOOKUP_WORK = 100_000_000  # limit of line comparisons to find exact lines in one text

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
        return self.raw[self.start_of(first) : self.end_of(stop - 1)]

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


class LineIndex:
    """Finds sequences of lines, starting from the rows of their rarest line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.rows: dict[str, list[int]] = {}
        for row, line in enumerate(lines):
            self.rows.setdefault(line, []).append(row)
        self._found: dict[tuple[str, ...], list[int]] = {}
        self._work = LOOKUP_WORK

    def find(self, needle: Sequence[str]) -> list[int]:
        """The rows at which consecutive lines occur, including overlapping occurrences.

        Raises MatchError (``ambiguous``) if too many rows would have to be compared.
        """
        key, lines, count = tuple(needle), list(needle), len(needle)
        if key not in self._found and lines:
            at = min(range(count), key=lambda index: len(self.rows.get(lines[index], ())))
            rows = self.rows.get(lines[at], [])
            self._work -= len(rows) * count
            if self._work < 0:
                raise MatchError("ambiguous", "its lines occur too often to check every place")
            starts = (row - at for row in rows if row >= at)
            self._found[key] = [row for row in starts if self.lines[row : row + count] == lines]
        return self._found.get(key, [])


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


def lines_of(first: int, last: int) -> str:
    """A range of lines in words, both ends inclusive; it may be empty."""
    if last < first:
        return f"after line {last}" if last else "at the top"
    return f"line {first}" if first == last else f"lines {first}-{last}"


class Occurrence(NamedTuple):
    """A place where a text occurs: character offsets, the end exclusive.

    ``rows`` are the whole lines (first, stop) that it covers; None for a part of a line. ``lines``
    contains the matching rows (first, stop) for each line of the needle, if known. ``partial`` is
    set if the first or last row is covered only in part; ``lines`` is empty then.
    """

    start: int
    end: int
    similarity: float = 1.0
    rows: tuple[int, int] | None = None
    lines: tuple[tuple[int, int], ...] | None = None
    partial: bool = False


class Found(NamedTuple):
    """The places that a rung finds, in ascending order; if not ``equal``, the best comes first."""

    places: tuple[Occurrence, ...] = ()
    equal: bool = True
    reason: str | None = None


class Hints(NamedTuple):
    """Hints of an edit format about the place of the old text.

    ``line`` (1-based) is its first line, ``sections`` are the headings above it, outermost first:
    both only decide between equally good places. ``at_end`` restricts the search to the end of the
    file. ``script`` contains the hunks if the format marks them. The following apply to
    ``sequence``: sections without a line restrict the search to the lines below them; ``proven``
    means that the line is certain, and ``strict`` that only exact matches count.
    """

    line: int | None = None
    proven: bool = False
    sections: tuple[str, ...] = ()
    at_end: bool = False
    strict: bool = False
    script: tuple[Hunk, ...] = ()


class Query:
    """A needle and the text to search, with the values that the rungs share.

    ``new`` is the text that replaces the needle, or None. With ``whole_lines`` the needle matches
    whole lines only.
    """

    def __init__(
        self,
        content: str | Text,
        needle: str,
        new: str | None = None,
        *,
        whole_lines: bool = False,
        hints: Hints = Hints(),  # noqa: B008  # an immutable value
    ) -> None:
        self.text = content if isinstance(content, Text) else Text(content)
        self.needle = Text(needle)
        self.new = None if new is None else Text(new)
        self.whole_lines = whole_lines
        self.hints = hints
        self._made: dict[Callable[[Query], Any], Any] = {}

    def variant(self, needle: str, new: str, line: int | None = None) -> Query:
        """The query for a variant of the texts, with a line hint if there is none yet."""
        new_text = None if self.new is None else new
        hints = self.hints._replace(script=(), line=self.hints.line or line)
        return Query(self.text, needle, new_text, whole_lines=self.whole_lines, hints=hints)

    @cached_property
    def hunks(self) -> list[Hunk]:
        """The changed hunks between needle and new text; empty without a new text."""
        from git_boocode.matching.align import script

        new = self.new.lines if self.new else self.needle.lines
        return [hunk for hunk in script(self.needle.lines, new) if not hunk.same]

    @cached_property
    def partners(self) -> dict[int, int]:
        """Maps each changed line of the needle to its new version, if there is one."""
        from git_boocode.matching.align import pair_similar

        old, new = self.needle.canonical, self.new.canonical if self.new else []
        found: dict[int, int] = {}
        for hunk in self.hunks:
            height = hunk.i2 - hunk.i1
            pairs = [(step, step) for step in range(height)]
            if height != hunk.j2 - hunk.j1:
                pairs = pair_similar(old[hunk.i1 : hunk.i2], new[hunk.j1 : hunk.j2])
            found |= {hunk.i1 + i: hunk.j1 + j for i, j in pairs}
        return found

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """The rows of each nonblank line of the needle and the new text, in canonical form."""
        new = self.new.canonical if self.new else []
        found: dict[str, list[int]] = {line: [] for line in (*self.needle.canonical, *new) if line}
        lines = self.text.canonical
        for row in compress(count(), map(found.__contains__, lines)):
            found[lines[row]].append(row)
        return found

    @cached_property
    def present(self) -> frozenset[str]:
        """The needle's nonblank lines that occur anywhere in the text, in canonical form."""
        return frozenset(line for line in self.needle.canonical if self.rows.get(line))

    @property
    def share(self) -> float:
        """The share of the needle's distinct lines that occur in the text."""
        return len(self.present) / max(1, len({*self.needle.canonical}))

    def once(self, make: Callable[[Query], _T]) -> _T:
        """What a function makes of the query, made at its first use."""
        if make not in self._made:
            self._made[make] = make(self)
        made: _T = self._made[make]
        return made

    def place(self, first: int, stop: int, similarity: float = 1.0) -> Occurrence:
        """The place whose rows ``first`` to ``stop`` (exclusive) match the needle's core.

        It includes surrounding blank lines, at most as many as the needle has, and the last line
        ending if the needle has one.
        """
        core, lines = self.needle.core, self.needle.lines
        first -= self._blanks(range(first - 1, first - 1 - core.start, -1))
        below = len(lines) - core.stop
        more = self._blanks(range(stop, stop + below))
        stop += more
        closed = self.needle.closed or more < below
        end = self.text.start_of(stop) if closed else self.text.end_of(stop - 1)
        return Occurrence(self.text.start_of(first), end, similarity, (first, stop))

    def spread(
        self, rows: Mapping[int, int], similarity: float = 1.0, *, left_out: Collection[int] = ()
    ) -> Occurrence:
        """The place in which lines of the needle match the given rows, and the others no row.

        The needle's ``left_out`` lines, which are placeholders, match all rows up to the next line.
        """
        lines, at = [], min(rows.values())
        for index in range(len(self.needle.lines)):
            first = rows.get(index, at)
            at = first + (index in rows)
            if index in left_out:
                at = min((row for line, row in rows.items() if line > index), default=at)
            lines.append((first, at))
        place = self.place(lines[0][0], max(rows.values()) + 1, similarity)
        return place._replace(lines=tuple(lines))

    def _blanks(self, rows: Iterable[int]) -> int:
        lines = self.text.stripped
        return sum(1 for _ in takewhile(lambda row: 0 <= row < len(lines) and not lines[row], rows))
