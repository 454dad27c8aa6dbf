"""A query: the text that is searched for and its place, with the values that the rungs share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from itertools import compress, count, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from git_boocode.matching.text import Text

if TYPE_CHECKING:
    from git_boocode.matching.align import Hunk

_T = TypeVar("_T")

SHOWN_TEXT = 4_000  # characters of a candidate's text


class Step(NamedTuple):
    """The name of a rung with its parameters, see above; 0 disables a guard."""

    rung: str
    threshold: float = 1.0
    margin: float = 0.0
    agree: float = 0.0
    evidence: int = 0
    typo: int = 0


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
