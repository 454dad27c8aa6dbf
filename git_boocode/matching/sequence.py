"""Place several changes of one text jointly: the matcher finds places, the order chooses.

The changes come in the order of the text and do not overlap, so those that have one place restrict
the places of the others. All are located in the text as it was.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from git_boocode.matching.align import Hunk, most_similar, script
from git_boocode.matching.already_applied import applied_rows
from git_boocode.matching.ladder import SHOWN, SHOWN_TEXT, Answer, climb, to_match
from git_boocode.matching.replace import Splice, written
from git_boocode.matching.rungs import Found, Place, Query, profile_named
from git_boocode.matching.text import LineIndex, Text, canonical_line, common_prefix, depth_of
from git_boocode.matching.types import Candidate, Code, Match, MatchError

LOOSE_WORK = 3_000_000  # rows of one text that are searched with tolerance
SECTION_WORK = 5_000_000  # rows of one text that are visited to look for sections
_LISTED = 100  # places of a change that occurs several times
_CUT = 40  # characters of a section that may be a line that git cut off within a word
_NEAR = 0.4  # least similarity of the line that is shown for one that the file lacks
_WORD = re.compile(r"\w")


class Placement(NamedTuple):
    """Where a change belongs: it matches rows ``first`` to ``stop``, and changes ``core``."""

    first: int
    stop: int
    core: tuple[int, int]
    splice: Splice
    rung: str = "exact"
    similarity: float = 1.0
    notes: tuple[str, ...] = ()


class _Change:
    """A change: the first ``rows`` of its equally good places, ascending, and the place taken.

    ``answer`` holds the places that the matcher found; None where the old lines occur as they are.
    """

    def __init__(self, number: int, query: Query) -> None:
        self.number = number
        self.query = query
        self.hints = query.hints
        self.given = query.new or Text("")
        self.old, self.new = query.needle.lines, self.given.lines
        self.height = len(self.old)
        self.script: Sequence[Hunk] = query.hints.script or script(self.old, self.new)
        changed = [hunk for hunk in self.script if not hunk.same]
        self.head = changed[0].i1
        self.tail = self.height - changed[-1].i2
        self.rows: list[int] = []
        self.answer: Answer | None = None
        self.row: int | None = None
        self.stop = 0
        self.place: Place | None = None
        self.error: MatchError | None = None

    @property
    def waits(self) -> bool:
        return self.row is None and self.error is None

    def core(self) -> tuple[int, int]:
        """The rows that it changes in its place."""
        first = (self.row or 0) + self.head
        return first, max(self.stop - self.tail, first)

    def extent(self) -> tuple[int, int]:
        return _extent(*self.core())

    def extent_at(self, row: int) -> tuple[int, int]:
        return _extent(row + self.head, row + self.height - self.tail)

    def first_from(self, position: int) -> int:
        """The number of its first place that begins no further up than a position."""
        return bisect_left(self.rows, position, key=lambda row: self.extent_at(row)[0])

    def last_to(self, position: int) -> int:
        """The number of its last place that ends no further down than a position."""
        return bisect_right(self.rows, position, key=lambda row: self.extent_at(row)[1]) - 1


def _extent(first: int, stop: int) -> tuple[int, int]:
    """Rows as positions: 2 n + 1 is row n, and 2 n the boundary above it.

    Two insertions never share a boundary, because their order would be unknown.
    """
    return (2 * first, 2 * first + 1) if first == stop else (2 * first + 1, 2 * stop)


def place_changes(
    queries: Sequence[Query], profile: str, *, verbatim: bool
) -> list[Placement | MatchError]:
    """Place changes of one text that come in its order; for each its place, or why it has none.

    All queries share one ``text``, whose last line is closed; they stand for whole lines, and none
    changes nothing. Hints decide between places; a line counts with the offset of its neighbours.
    """
    return _Sequence(queries, profile, verbatim=verbatim).run() if queries else []


class _Sequence:
    def __init__(self, queries: Sequence[Query], profile: str, *, verbatim: bool) -> None:
        self.text = queries[0].text
        self.profile = profile_named(profile)
        self.verbatim = verbatim
        self.changes = [_Change(number, query) for number, query in enumerate(queries)]
        self._placed: list[int] = []
        self._loose_work = LOOSE_WORK
        self.lines = LineIndex(self.text.lines)

    @cached_property
    def stripped(self) -> LineIndex:
        return LineIndex(self.text.stripped)

    def run(self) -> list[Placement | MatchError]:
        self._each(self._find_exactly)
        if self.profile.name != "exact":
            self._each(self._find_loosely)
        for at, change in enumerate([*self._waiting()]):
            # A message names the first few, and each may have as many places as there are rows.
            change.error = self._unplaced(change) if at < SHOWN else MatchError("not_found", "")
        self._show_nearest([change for change in self.changes if change.error][:SHOWN])
        outcomes: list[Placement | MatchError] = []
        written = 0
        for change in self.changes:
            one = change.error or self._written(change)
            if isinstance(one, Placement) and one.splice.start < written:
                # The matcher may write to more than the rows that change.
                one = self._refused(one.first, one.stop, "it overlaps the hunk above", "overlap")
            elif isinstance(one, Placement):
                written = one.splice.end
            outcomes.append(one)
        return outcomes

    def _each(self, find: Callable[[_Change], None]) -> None:
        for change in self.changes:
            try:
                if change.waits and not change.rows:
                    find(change)
            except MatchError as error:  # noqa: PERF203  # one error must not hide the others
                change.error = error
        self._settle()

    def _waiting(self) -> Iterator[_Change]:
        return (change for change in self.changes if change.waits)

    # Places that are equally good

    def _find_exactly(self, change: _Change) -> None:
        hints, needle, text = change.hints, change.query.needle, self.text
        lowest = text.sections.check(hints.sections) if hints.within else 0
        line = (hints.line or 0) - 1
        if not change.old:
            # Only an empty text, its end or a proven line prove a place.
            end = len(text.lines)
            proven = [line] if hints.proven and 0 < line <= end else []
            change.rows = [end] if hints.at_end or not end else proven
            return
        rows = self.lines.find(change.old)
        if needle.lf == change.given.lf and not hints.at_end:
            # What changes line endings only must find them.
            parts = needle.parts[:-1]
            rows = [row for row in rows if text.parts[row : row + change.height] == parts]
        if hints.at_end:
            lowest = max(lowest, text.core.stop - change.height)
            if rows and rows[-1] < lowest:
                first, stop = rows[-1], rows[-1] + change.height
                raise self._refused(first, stop, "it occurs only above the end of the file")
        rows = rows[bisect_left(rows, lowest) :]
        change.rows = [line] if hints.proven and line in rows else rows

    def _find_loosely(self, change: _Change) -> None:
        """Climb the ladder in the rows that the neighbours leave."""
        first, stop = (position // 2 for position in self._bounds(change))
        if change.hints.within:
            first = max(first, self.text.sections.below(change.hints.sections) or 0)
        self._loose_work -= stop - first
        if self._loose_work < 0:
            raise MatchError(
                "not_found",
                "too many changes differ from the file to compare them all: "
                "read it again, and send fewer changes at once",
            )
        if change.old and not change.hints.strict:
            self._keep(change, self._climb(change, first, stop), first)

    def _keep(self, change: _Change, answer: Answer, first: int) -> None:
        places, start_of = answer.found.places, self.text.start_of
        if answer.chosen is not None:
            places = (places[answer.chosen],)
        elif not answer.found.equal:
            raise MatchError("ambiguous", "several places are alike", to_match(answer))
        elif not places:
            applied = applied_rows(answer.query, None)
            missed = MatchError("not_found", answer.found.reason or "")
            raise self._applied(*applied) if applied else missed
        else:
            # Blank lines at the ends count where the file has all of them, and places may overlap.
            rows = [row for row in self.stripped.find(change.query.needle.stripped) if row >= first]
            ends = [(row, row + change.height) for row in rows]
            whole = (Place(start_of(row), start_of(end), 1.0, (row, end)) for row, end in ends)
            places = tuple(whole) or places
        change.answer = answer._replace(found=Found(places), chosen=0)
        count = self.text.raw.count
        change.rows = [one.rows[0] if one.rows else count("\n", 0, one.start) for one in places]
        if len(places) == 1:
            # It is between its neighbours, even where it is higher than its old lines.
            self._take(change, 0)

    def _climb(self, change: _Change, first: int, stop: int) -> Answer:
        """The matcher's answer in some rows, in terms of the whole text."""
        text, line = self.text, self._expected(change)
        hints = change.hints._replace(
            line=None if line is None else line - first + 1, sections=(), within=False
        )
        if hints.at_end and stop < len(text.lines):
            first = stop
        piece, given = text.raw[text.start_of(first) : text.start_of(stop)], change.query
        old, new = given.needle.raw, change.given.raw
        narrow = Query(piece, old, new, whole_lines=True, hints=hints)
        answer = climb(narrow, self.profile)
        read = answer.query
        new = read.new.raw if read.new else ""
        query = given if read is narrow else given.reread(read.needle.raw, new)
        places = tuple(self._moved(place, first) for place in answer.found.places)
        return answer._replace(query=query, found=answer.found._replace(places=places))

    def _moved(self, place: Place, first: int) -> Place:
        """A place in the rows from ``first`` on as one in the whole text."""
        offset = self.text.start_of(first)
        lines = place.lines and tuple((start + first, end + first) for start, end in place.lines)
        rows = place.rows and (place.rows[0] + first, place.rows[1] + first)
        start, end = place.start + offset, place.end + offset
        return place._replace(start=start, end=end, rows=rows, lines=lines)

    # Which of them

    def _settle(self) -> None:
        """Place what has one place, then what the order forces, then what the hints name."""
        self._take_all([(one, 0) for one in self._waiting() if len(one.rows) == 1])
        while self._take_all(self._forced()) or self._take_all(self._named()):
            pass

    def _take_all(self, chosen: Sequence[tuple[_Change, int]]) -> bool:
        """Take places that do not get in each other's way; whether any was taken."""
        count = len(self._placed)
        for change, at in chosen:
            if at in self._open(change):
                self._take(change, at)
        return len(self._placed) > count

    def _take(self, change: _Change, at: int) -> None:
        place = change.answer.found.places[at] if change.answer else None
        change.row, change.place = change.rows[at], place
        change.stop = place.rows[1] if place and place.rows else change.row + change.height
        insort(self._placed, change.number)

    def _neighbours(self, change: _Change) -> tuple[_Change | None, _Change | None]:
        """The nearest placed changes above and below."""
        at = bisect_left(self._placed, change.number)
        below = self.changes[self._placed[at]] if at < len(self._placed) else None
        return self.changes[self._placed[at - 1]] if at else None, below

    def _bounds(self, change: _Change) -> tuple[int, int]:
        """The positions between which the placed neighbours leave room."""
        above, below = self._neighbours(change)
        end = 2 * len(self.text.lines) + 1
        return above.extent()[1] if above else 0, below.extent()[0] if below else end

    def _forced(self) -> list[tuple[_Change, int]]:
        """The changes with one place only in any choice of places that keeps the order."""
        first, last = self._extremes(upward=False), self._extremes(upward=True)
        return [(self.changes[at], one) for at, one in first.items() if last.get(at) == one]

    def _extremes(self, *, upward: bool) -> dict[int, int]:
        """For each change the first place that those above it leave, or the last one upward."""
        position = 2 * len(self.text.lines) + 1 if upward else 0
        found: dict[int, int] = {}
        for change in self.changes[:: -1 if upward else 1]:
            if change.row is not None:
                position = change.extent()[not upward]
            elif change.waits:
                at = change.last_to(position) if upward else change.first_from(position)
                if 0 <= at < len(change.rows):
                    found[change.number] = at
                    position = change.extent_at(change.rows[at])[not upward]
        return found

    def _open(self, change: _Change) -> range:
        """Which of a change's places, by number, the placed neighbours leave."""
        start, end = self._bounds(change)
        return range(change.first_from(start), change.last_to(end) + 1)

    def _named(self) -> list[tuple[_Change, int]]:
        """The changes with several places of which line and section agree on one."""
        found = []
        for change in self._waiting():
            places, sections = self._open(change), change.hints.sections
            if len(places) > 1:
                rows = (change.rows[at] for at in places)
                sole = self.text.sections.sole(sections, rows) if sections else None
                wanted = {row for row in (self._expected(change), sole) if row is not None}
                numbers = [bisect_left(change.rows, row) for row in wanted]
                named = [at for at in numbers if at in places and change.rows[at] in wanted]
                found += [(change, at) for at in named if len(named) == 1]
        return found

    def _expected(self, change: _Change) -> int | None:
        """The row that a change's line names, moved as far as its neighbours; None if unclear."""
        near = [(one.row or 0, one.hints.line) for one in self._neighbours(change) if one]
        offsets = {row - line + 1 for row, line in near if line is not None}
        if change.hints.line is None or len(offsets) > 1:
            return None
        return change.hints.line - 1 + sum(offsets)

    # What is written

    def _repeats(self, change: _Change) -> bool:
        """Whether lines that are added without context on one side are beside the place already."""
        more, row = len(change.new) - change.height, change.row or 0
        if more <= 0 or change.hints.proven:
            return False
        there, new = self.text.stripped, change.given.stripped
        starts = [row] * (not change.tail) + [max(row - more, 0)] * (not change.head)
        beside = any(there[start : start + len(new)] == new for start in starts)
        came = (change.new[hunk.j1 : hunk.j2] for hunk in change.script if not hunk.same)
        return beside and any(map(_WORD.search, chain(*came)))

    def _written(self, change: _Change) -> Placement | MatchError:
        row, stop, text, answer = change.row or 0, change.stop, self.text, change.answer
        if self._repeats(change):
            return self._applied(row, stop)
        rung = answer.rung or "exact" if answer else "exact"
        if answer is None or change.place is None or self.verbatim:
            if stop - row != change.height:
                return self._refused(row, stop, "the file has more or fewer lines there")
            return Placement(row, stop, change.core(), self._as_marked(change), rung)
        try:
            splice, notes = written(answer, change.place, row)
        except MatchError as error:
            return error
        if any(note.startswith("replaced") for note in notes):
            return self._refused(row, stop, "the file has lines there that it would delete")
        if splice.text == text.raw[splice.start : splice.end]:
            return self._applied(row, stop)
        splice = _trimmed(text.raw, splice)
        return Placement(row, stop, change.core(), splice, rung, change.place.similarity, notes)

    def _as_marked(self, change: _Change) -> Splice:
        """A change whose old lines are rows one by one, all of its new lines as given."""
        text, row, (start, end) = self.text, change.row or 0, change.core()
        exact = change.old and text.parts[row : change.stop] == change.query.needle.parts[:-1]
        given = change.given.parts if exact else change.new
        lines: list[str] = []
        for hunk in change.script:
            first, stop = row + hunk.i1, row + hunk.i2
            near = text.ending(max(stop - 1, 0)) or text.usual_ending
            ending = "\n" if exact or hunk.same else near
            run = text.parts[first:stop] if hunk.same else given[hunk.j1 : hunk.j2]
            lines += [line + ending for line in run]
        changed = lines[change.head : len(lines) - change.tail]
        return Splice(text.start_of(start), text.start_of(end), "".join(changed))

    # Why not

    def _unplaced(self, change: _Change) -> MatchError:
        if not change.rows:
            why = "" if change.old else "it has no line of the file to go by"
            return MatchError("not_found", why)
        left, first = self._open(change), change.rows[0]
        if len(left) > 1:
            return self._ambiguous(change, change.rows[left.start : left.stop])
        for other in filter(None, self._neighbours(change)):
            start, end = other.extent()
            extents = map(change.extent_at, change.rows)
            if any(upper < end and start < lower for upper, lower in extents):
                why = f"it overlaps hunk {other.number + 1}"
                return self._refused(first, first + change.height, why, "overlap")
        why = "it occurs only elsewhere, so the hunks are out of order"
        return self._refused(first, first + change.height, why)

    def _applied(self, first: int, stop: int) -> MatchError:
        return self._refused(first, stop, "it seems to be applied already", "already_applied")

    def _refused(self, first: int, stop: int, message: str, code: Code = "not_found") -> MatchError:
        match = Match("not_found", candidates=(self._candidate(first, stop),))
        return MatchError(code, message, match)

    def _ambiguous(self, change: _Change, rows: Sequence[int]) -> MatchError:
        start_of, count = self.text.start_of, len(rows)
        places = (Place(start_of(row), start_of(row + change.height)) for row in rows[:_LISTED])
        match = to_match(Answer(change.query, "exact", Found(tuple(places)), None))
        return MatchError("ambiguous", f"it occurs {count} times", match._replace(count=count))

    def _candidate(self, first: int, stop: int, likeness: float = 1.0) -> Candidate:
        stop = min(max(stop, first + 1), len(self.text.lines))
        shown = self.text.rows_text(first, stop)[:SHOWN_TEXT] if first < stop else ""
        return Candidate(first + 1, stop, likeness, shown)

    def _show_nearest(self, changes: Sequence[_Change]) -> None:
        """Add to errors that show nothing the text most like a change, or what its line names."""
        for change in changes:
            error = change.error
            if error and error.code == "not_found" and not error.candidates and self.text.lines:
                match = to_match(Answer(change.query, None, Found(), None))
                error.candidates = match.candidates or self._pointed_at(change)

    def _pointed_at(self, change: _Change) -> tuple[Candidate, ...]:
        """The rows that the line of a change names, or those with a line like its longest one."""
        longest = max(change.query.needle.stripped, key=len, default="")
        rows = [row for _, row in most_similar(longest, self.text.stripped, _NEAR, 1)]
        if change.hints.line is not None:
            rows = [min(change.hints.line, len(self.text.lines) - max(change.height, 1) + 1) - 1]
        return tuple(self._candidate(max(row, 0), row + change.height, 0.0) for row in rows)


def _trimmed(raw: str, splice: Splice) -> Splice:
    old, new = raw[splice.start : splice.end], splice.text
    head = old.rfind("\n", 0, common_prefix(old, new)) + 1
    old, new = old[head:], new[head:]
    same = common_prefix(old[::-1], new[::-1])
    tail = same and len(old[-same:].partition("\n")[2])
    stop = len(new) - tail
    return Splice(splice.start + head, splice.end - tail, new[:stop])


class Sections:
    """Looks up lines such as `class A:`, and their blocks (MatchError if it is too much work)."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self._work = SECTION_WORK
        self._heads: dict[str, list[int]] = {}

    def check(self, sections: Sequence[str]) -> int:
        """The row that ``below`` gives; MatchError, with the nearest line, if it gives none."""
        row = self.below(sections)
        if row is not None:
            return row
        missing = next((name for name in sections if not self.heads(name)), None)
        if missing is None:
            why = f"the file has no '{sections[-1]}' below '{sections[0]}'"
            raise MatchError("not_found", why)
        text = self.text
        near = most_similar(canonical_line(missing), text.canonical, _NEAR, 1)
        shown = [f"; nearest is line {row + 1}, '{text.stripped[row]}'" for _, row in near]
        candidates = (Candidate(row + 1, row + 1, score, text.lines[row]) for score, row in near)
        match = Match("not_found", candidates=tuple(candidates))
        raise MatchError("not_found", f"the file has no section '{missing}'{''.join(shown)}", match)

    def below(self, sections: Sequence[str]) -> int | None:
        """The first row below the innermost of nested sections; None if one is missing."""
        row = 0
        for section in sections:
            heads = self.heads(section)
            at = bisect_left(heads, row)
            if at == len(heads):
                return None
            row = heads[at]
        return row

    def sole(self, sections: Sequence[str], rows: Iterable[int]) -> int | None:
        """The one of ascending rows that lies in the sections; None if none or several do."""
        inside = (row for row in rows if self._holds(sections, row))
        first, second = next(inside, None), next(inside, None)
        return first if second is None else None

    def heads(self, section: str) -> list[int]:
        """The rows that a section line names: equal to it, else beginning with it."""
        wanted = canonical_line(section.strip())
        if wanted not in self._heads:
            self._heads[wanted] = self._find_heads(wanted) if wanted else []
        return self._heads[wanted]

    def _find_heads(self, wanted: str) -> list[int]:
        view, row, seen = self.text.framed_canonical, 0, 0
        whole, begun = list[int](), list[int]()
        self._spend(len(view) // 1000)
        at = view.find(f"\n{wanted}")
        while at >= 0:
            self._spend(1)
            row, seen = row + view.count("\n", seen, at), at
            following = view[at + 1 + len(wanted)]
            if following == "\n":
                whole.append(row)
            # Git cuts long lines and models leave out parameters, but a name must end here.
            elif len(wanted) >= _CUT or not (following.isalnum() or following == "_"):
                begun.append(row)
            at = view.find(f"\n{wanted}", at + 1)
        return whole or begun

    def _spend(self, work: int) -> None:
        self._work -= work
        if self._work < 0:
            raise MatchError(
                "ambiguous",
                "the sections that the patch names occur too often to check every place: "
                "show more unchanged lines instead, and send fewer hunks at once",
            )

    def _holds(self, sections: Sequence[str], row: int) -> bool:
        """Whether a row is in blocks that the sections open, the last one innermost."""
        while not self.text.stripped[row] and row + 1 < len(self._widths):
            self._spend(1)
            row += 1
        left, width = [*sections], self._widths[row] + 1
        for above in range(row, -1, -1):
            if not (left and width):
                break
            self._spend(1)
            if self._widths[above] < width and self.text.stripped[above][:1] not in "{}])#":
                width = self._widths[above]
                heads = self.heads(left[-1])
                at = bisect_left(heads, above)
                left = left[:-1] if heads[at : at + 1] == [above] else left
        return not left

    @cached_property
    def _widths(self) -> list[int]:
        return [*map(depth_of, self.text.lines)]
