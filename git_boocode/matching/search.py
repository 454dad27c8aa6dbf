"""A search of a text: the needle, its hints, and the similar windows and sections of the text.

A window is a run of as many lines as the needle has. If comparing all windows is cheap, the result
is exact. Otherwise only windows that have one of the needle's rarest lines at the right position
are compared. All limits count work, not time, so that a result never depends on the machine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress, count, islice, takewhile
from typing import NamedTuple

from git_boocode.matching.align import Hunk, cost, most_similar, pair_similar, script, similarity
from git_boocode.matching.text import Text, canonical_line, common_prefix, depth_of
from git_boocode.matching.types import Candidate, Match, MatchError, Occurrence

FLOOR = 0.5  # minimum similarity of windows
WINDOW_OVERHEAD = 500  # the fixed cost of comparing a window, in word operations
EXHAUSTIVE_WORK = 10_000_000  # word operations up to which all windows are compared (20 ms)
VERIFY_WORK = 200_000_000  # maximum word operations for the windows of one needle (200 ms)
SECTION_WORK = 5_000_000  # maximum number of rows that searches for sections visit in one text
_WINDOWS = 64  # up to this number, all windows are compared; also the maximum per anchor line
_ANCHORS = 8  # maximum number of the needle's lines that select windows
_CUT = 40  # length from which git may have truncated a section heading within a word
_NEAR = 0.4  # minimum similarity of a line that is suggested for a missing one


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


class Window(NamedTuple):
    """Rows ``first`` to ``stop`` (exclusive) and their similarity to the needle."""

    first: int
    stop: int
    similarity: float


class Survey(NamedTuple):
    """The windows above the floor, best first, and why some were not compared, if any."""

    windows: tuple[Window, ...]
    reason: str | None = None


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

    def variant(self, needle: str, new: str, line: int | None = None) -> Query:
        """The query for a variant of the texts, with a line hint if there is none yet."""
        new_text = None if self.new is None else new
        hints = self.hints._replace(script=(), line=self.hints.line or line)
        return Query(self.text, needle, new_text, whole_lines=self.whole_lines, hints=hints)

    @cached_property
    def hunks(self) -> list[Hunk]:
        """The changed hunks between needle and new text; empty without a new text."""
        new = self.new.lines if self.new else self.needle.lines
        return [hunk for hunk in script(self.needle.lines, new) if not hunk.same]

    @cached_property
    def partners(self) -> dict[int, int]:
        """Maps each changed line of the needle to its new version, if there is one."""
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
    def fresh(self) -> set[str]:
        """The lines of the new text that the needle has not, stripped."""
        return {*self.new.stripped}.difference(self.needle.stripped) if self.new else set()

    @property
    def share(self) -> float:
        """The share of the needle's distinct lines that occur in the text."""
        return len(self.present) / max(1, len({*self.needle.canonical}))

    @cached_property
    def survey(self) -> Survey:
        """The windows of the text that are similar to the needle."""
        return _surveyed(self)

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


def _surveyed(query: Query) -> Survey:
    """The windows that are similar to the needle without its leading and trailing blank lines."""
    core, lines = query.needle.core, query.text.canonical
    needle, height = query.needle.canonical[core.start : core.stop], len(core)
    firsts: Sequence[int] = range(len(lines) - height + 1 if needle else 0)
    joined = "\n".join(needle)
    mean = sum(map(len, lines)) * height // max(1, len(lines))
    work = len(firsts) * (cost(len(joined), mean) + WINDOW_OVERHEAD)
    if len(firsts) > _WINDOWS and work > EXHAUSTIVE_WORK:
        last = len(lines) - height
        firsts = [first for first in _anchored(needle, query.rows) if 0 <= first <= last]
    found, reason, left = [], None, VERIFY_WORK
    for first in firsts:
        there = "\n".join(lines[first : first + height])
        # The ratio of the lengths is an upper bound of the similarity.
        if not len(joined) * FLOOR <= len(there) <= len(joined) / FLOOR:
            continue
        mine, other = _trimmed(joined, there)
        work = cost(len(mine), len(other))
        if work > left:
            reason = "the text is too large to compare"
            continue
        left -= work
        if score := similarity(joined, there, FLOOR):
            found.append(Window(first, first + height, score))
    found.sort(key=lambda window: (-window.similarity, window.first))
    return Survey(tuple(found), reason)


def _anchored(needle: Sequence[str], rows: Mapping[str, Sequence[int]]) -> Iterable[int]:
    """The first rows of the windows with one of the needle's rarest lines at its position."""
    counts = [len(rows.get(line, ())) for line in needle]
    anchors = [at for at, count in enumerate(counts) if 0 < count <= _WINDOWS]
    anchors.sort(key=lambda at: (counts[at], -len(needle[at])))
    return dict.fromkeys(row - at for at in anchors[:_ANCHORS] for row in rows[needle[at]])


def _trimmed(left: str, right: str) -> tuple[str, str]:
    """Two texts without their common prefix and suffix."""
    head = common_prefix(left, right)
    left, right = left[head:], right[head:]
    tail = common_prefix(left[::-1], right[::-1])
    return left[: len(left) - tail], right[: len(right) - tail]


class Sections:
    """Looks up headings such as `class A:` and their blocks (MatchError above a work limit)."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self._work = SECTION_WORK
        self._heads: dict[str, list[int]] = {}

    def check(self, sections: Sequence[str]) -> int:
        """The row of the innermost of nested sections; MatchError if it does not exist."""
        row = 0
        for section in sections:
            heads = self.heads(section)
            if not heads:
                near = most_like(self.text, section)
                shown = [f"; nearest is line {at.start_line}, '{at.text.strip()}'" for at in near]
                message = f"the file has no section '{section}'{''.join(shown)}"
                raise MatchError("not_found", message, Match("not_found", candidates=near))
            at = bisect_left(heads, row)
            if at == len(heads):
                why = f"the file has no '{section}' below '{sections[0]}'"
                raise MatchError("not_found", why)
            row = heads[at]
        return row

    def sole(self, sections: Sequence[str], rows: Iterable[int]) -> int | None:
        """The only one of ascending rows inside the sections; None if none or several are."""
        inside = (row for row in rows if self._holds(sections, row))
        first, second = next(inside, None), next(inside, None)
        return first if second is None else None

    def heads(self, section: str) -> list[int]:
        """The rows that equal a section heading, or else those that begin with it."""
        heading = canonical_line(section.strip())
        if heading not in self._heads:
            whole, begun = list[int](), list[int]()
            for line, row in islice(self._sorted, bisect_left(self._sorted, (heading, 0)), None):
                self._spend()
                following = line[len(heading) :][:1]
                if not (heading and line.startswith(heading)) or (whole and following):
                    break
                # Git truncates long lines and models omit parameters, but a name must end here.
                if not following:
                    whole.append(row)
                elif len(heading) >= _CUT or not (following.isalnum() or following == "_"):
                    begun.append(row)
            self._heads[heading] = whole or sorted(begun)
        return self._heads[heading]

    @cached_property
    def _sorted(self) -> list[tuple[str, int]]:
        return sorted((line, row) for row, line in enumerate(self.text.canonical))

    @cached_property
    def _widths(self) -> list[int]:
        return [*map(depth_of, self.text.lines)]

    def _spend(self) -> None:
        self._work -= 1
        if self._work < 0:
            raise MatchError(
                "ambiguous",
                "the sections of the patch occur too often to check every place: "
                "include more unchanged lines instead, and send fewer hunks at once",
            )

    def _holds(self, sections: Sequence[str], row: int) -> bool:
        """Whether a row is inside the blocks of the sections, the last one innermost."""
        while not self.text.stripped[row] and row + 1 < len(self._widths):
            self._spend()
            row += 1
        left, width = [*sections], self._widths[row] + 1
        for above in range(row, -1, -1):
            if not (left and width):
                break
            self._spend()
            if self._widths[above] < width and self.text.stripped[above][:1] not in "{}])#":
                width = self._widths[above]
                heads = self.heads(left[-1])
                at = bisect_left(heads, above)
                left = left[:-1] if heads[at : at + 1] == [above] else left
        return not left


def most_like(text: Text, line: str) -> tuple[Candidate, ...]:
    """The line of a text that is most similar to a missing one, if any."""
    near = most_similar(canonical_line(line), text.canonical, _NEAR, 1)
    return tuple(Candidate(row + 1, row + 1, score, text.lines[row]) for score, row in near)
