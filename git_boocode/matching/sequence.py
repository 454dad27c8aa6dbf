"""Place several changes of one text jointly: the matcher finds places, the order chooses.

The changes come in the order of the text and do not overlap, so those that have one place restrict
the places of the others. All are located in the text as it was.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
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
        self.error: MatchError | None = None
        self.row: int | None = None
        self.stop = 0
        self.place: Place | None = None

    @property
    def waits(self) -> bool:
        return self.row is None and self.error is None

    def core(self) -> tuple[int, int]:
        """The rows that it changes in its place."""
        first = (self.row or 0) + self.head
        return first, max(self.stop - self.tail, first)

    def extent(self, row: int | None = None) -> tuple[int, int]:
        """The positions of the rows that it changes, in its place or one that begins on a row.

        Position 2 n + 1 is row n, and 2 n the boundary above it. Two insertions never share a
        boundary, because their order would be unknown.
        """
        first, stop = self.core()
        if row is not None:
            first, stop = row + self.head, row + self.height - self.tail
        return (2 * first, 2 * first + 1) if first == stop else (2 * first + 1, 2 * stop)

    def between(self, start: int, end: int) -> range:
        """Which of its places, by number, lie between two positions."""
        # An extent moves by two positions a row.
        first, last = self.extent(0)
        at = bisect_left(self.rows, (start - first + 1) // 2)
        return range(at, bisect_right(self.rows, (end - last) // 2))


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
        self.end = 2 * len(self.text.lines) + 1
        self.profile = profile_named(profile)
        self.verbatim = verbatim
        self.changes = [_Change(number, query) for number, query in enumerate(queries)]
        self.lines = LineIndex(self.text.lines)
        self.placements: dict[int, Placement] = {}
        self._placed: list[int] = []
        self._loose_work = LOOSE_WORK
        self._unplaced = 0

    def run(self) -> list[Placement | MatchError]:
        self._each(self._find_exactly)
        self._settle()
        if self.profile.name != "exact":
            self._each(self._find_loosely)
            self._settle()
        self._each(self._check_placed)
        self._each(self._write)
        failed = [(change, change.error) for change in self.changes if change.error]
        for change, error in failed[:SHOWN]:
            if error.code == "not_found" and not error.candidates:
                error.candidates = self._nearest(change)
        return [change.error or self.placements[change.number] for change in self.changes]

    def _each(self, step: Callable[[_Change], None]) -> None:
        for change in self.changes:
            try:
                if change.error is None:
                    step(change)
            except MatchError as error:  # noqa: PERF203  # one error must not hide the others
                change.error = error

    # Places that are equally good

    def _find_exactly(self, change: _Change) -> None:
        hints, needle, text = change.hints, change.query.needle, self.text
        lowest = text.sections.check(hints.sections) if hints.within else 0
        line, end = (hints.line or 0) - 1, len(text.lines)
        if not change.old:
            # Only an empty text, its end or a proven line prove a place.
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
                why = "it occurs only above the end of the file"
                raise self._refused(rows[-1], rows[-1] + change.height, why)
        rows = rows[bisect_left(rows, lowest) :]
        change.rows = [line] if hints.proven and line in rows else rows

    def _find_loosely(self, change: _Change) -> None:
        """Climb the ladder in the rows that the neighbours leave."""
        if change.rows or not change.old or change.hints.strict:
            return
        first, stop = (position // 2 for position in self._bounds(change))
        if change.hints.within:
            first = max(first, self.text.sections.below(change.hints.sections) or 0)
        if change.hints.at_end and stop < len(self.text.lines):
            first = stop
        self._loose_work -= stop - first
        if self._loose_work < 0:
            raise MatchError(
                "not_found",
                "too many changes differ from the file to compare them all: "
                "read it again, and send fewer changes at once",
            )
        answer = self._climb(change, first, stop)
        if not answer.found.places:
            applied = applied_rows(answer.query, None)
            missed = MatchError("not_found", answer.found.reason or "")
            raise self._applied(*applied) if applied else missed
        change.place = self._sole(answer, change.height)
        first = self.text.raw.count("\n", 0, change.place.start)
        change.answer, change.rows = answer, [first]
        # It is between its neighbours, even where it is higher than its old lines.
        self._take(change, 0)

    def _sole(self, answer: Answer, height: int) -> Place:
        """The one place meant: of equal ones the one that has all blank lines at the ends."""
        places = answer.found.places
        if answer.chosen is not None:
            return places[answer.chosen]
        whole = [one for one in places if one.rows and one.rows[1] - one.rows[0] == height]
        if not answer.found.equal or len(whole) != 1:
            raise MatchError("ambiguous", "several places are alike", to_match(answer))
        return whole[0]

    def _climb(self, change: _Change, first: int, stop: int) -> Answer:
        """The matcher's answer in some rows, in terms of the whole text."""
        text, line, given = self.text, self._expected(change), change.query
        line = None if line is None else line - first + 1
        # Of several sections of one name the piece may lack one.
        sections = () if first else change.hints.sections
        hints = change.hints._replace(line=line, sections=sections, within=False)
        offset = text.start_of(first)
        piece = text.raw[offset : text.start_of(stop)]
        narrow = Query(piece, given.needle.raw, change.given.raw, whole_lines=True, hints=hints)
        answer = climb(narrow, self.profile)
        read = answer.query
        query = given
        if read is not narrow:
            query = given.reread(read.needle.raw, read.new.raw if read.new else "")

        def moved(place: Place) -> Place:
            lines = place.lines and tuple(
                (start + first, end + first) for start, end in place.lines
            )
            rows = place.rows and (place.rows[0] + first, place.rows[1] + first)
            start, end = place.start + offset, place.end + offset
            return place._replace(start=start, end=end, rows=rows, lines=lines)

        places = tuple(map(moved, answer.found.places))
        return answer._replace(query=query, found=answer.found._replace(places=places))

    # Which of them

    def _settle(self) -> None:
        """Place what has one place, then what the order forces, then what the hints name."""
        self._take_all([(one, 0) for one in self._waiting() if len(one.rows) == 1])
        while self._take_all(self._forced()) or self._take_all(self._named()):
            pass

    def _waiting(self) -> Iterator[_Change]:
        return (change for change in self.changes if change.waits)

    def _take_all(self, chosen: Iterable[tuple[_Change, int]]) -> bool:
        """Take places that do not get in each other's way; whether any was taken."""
        count = len(self._placed)
        for change, at in chosen:
            if at in self._open(change):
                self._take(change, at)
        return len(self._placed) > count

    def _take(self, change: _Change, at: int) -> None:
        change.row, place = change.rows[at], change.place
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
        return above.extent()[1] if above else 0, below.extent()[0] if below else self.end

    def _open(self, change: _Change) -> range:
        """Which of a change's places, by number, the placed neighbours leave."""
        return change.between(*self._bounds(change))

    def _forced(self) -> list[tuple[_Change, int]]:
        """The changes with one place only in any choice of places that keeps the order."""
        first, last = self._extremes(upward=False), self._extremes(upward=True)
        return [(self.changes[at], one) for at, one in first.items() if last.get(at) == one]

    def _extremes(self, *, upward: bool) -> dict[int, int]:
        """For each change the first place that those above it leave, or the last one upward."""
        position, found = self.end if upward else 0, dict[int, int]()
        for change in self.changes[:: -1 if upward else 1]:
            if change.row is not None:
                position = change.extent()[not upward]
            elif change.waits:
                room = (0, position) if upward else (position, self.end)
                for at in change.between(*room)[-1 if upward else 0 :][:1]:
                    found[change.number] = at
                    position = change.extent(change.rows[at])[not upward]
        return found

    def _named(self) -> list[tuple[_Change, int]]:
        """The changes with several places of which line and section agree on one."""
        found = []
        for change in self._waiting():
            places, sections = self._open(change), change.hints.sections
            if len(places) > 1:
                rows = (change.rows[at] for at in places)
                sole = self.text.sections.sole(sections, rows) if sections else None
                wanted = {row for row in (self._expected(change), sole) if row is not None}
                # Its places have one height, so only the one on the row fits into its extent.
                numbers = chain(*(change.between(*change.extent(row)) for row in wanted))
                named = [(change, at) for at in numbers if at in places]
                found += named if len(named) == 1 else []
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

    def _write(self, change: _Change) -> None:
        row, stop, text, answer = change.row or 0, change.stop, self.text, change.answer
        if self._repeats(change):
            raise self._applied(row, stop)
        found = Placement(row, stop, change.core(), Splice(0, 0, ""))
        if answer is not None:
            found = found._replace(rung=answer.rung or "exact")
        if answer is None or change.place is None or self.verbatim:
            if stop - row != change.height:
                raise self._refused(row, stop, "the file has more or fewer lines there")
            found = found._replace(splice=self._as_marked(change))
        else:
            splice, notes = written(answer, change.place, row)
            if any(note.startswith("replaced") for note in notes):
                raise self._refused(row, stop, "the file has lines there that it would delete")
            if splice.text == text.raw[splice.start : splice.end]:
                raise self._applied(row, stop)
            likeness = change.place.similarity
            splice = _trimmed(text.raw, splice)
            found = found._replace(splice=splice, similarity=likeness, notes=notes)
        # The matcher may write to more than the rows that change.
        if any(found.splice.start < one.splice.end for one in [*self.placements.values()][-1:]):
            raise self._refused(row, stop, "it overlaps the hunk above", "overlap")
        self.placements[change.number] = found

    def _as_marked(self, change: _Change) -> Splice:
        """A change whose old lines are rows one by one, all of its new lines as given."""
        text, row, (start, end) = self.text, change.row or 0, change.core()
        exact = change.old and text.parts[row : change.stop] == change.query.needle.parts[:-1]
        given = change.given.parts if exact else change.new
        pieces: list[str] = []
        for hunk in change.script:
            first, stop = max(row + hunk.i1, start), min(row + hunk.i2, end)
            if not hunk.same:
                near = text.ending(max(stop - 1, 0)) or text.usual_ending
                ending = "\n" if exact else near
                pieces += [line + ending for line in given[hunk.j1 : hunk.j2]]
            elif first < stop:
                pieces.append(text.raw[text.start_of(first) : text.start_of(stop)])
        return Splice(text.start_of(start), text.start_of(end), "".join(pieces))

    # Why not

    def _check_placed(self, change: _Change) -> None:
        """Raise MatchError for a change that still waits."""
        if not change.waits:
            return
        self._unplaced += 1
        if self._unplaced > SHOWN:
            # A message names the first few, and each may have as many places as there are rows.
            raise MatchError("not_found", "")
        if not change.rows:
            why = "" if change.old else "it has no line of the file to go by"
            raise MatchError("not_found", why)
        left, first = self._open(change), change.rows[0]
        if len(left) > 1:
            raise self._ambiguous(change, change.rows[left.start : left.stop])
        for other in filter(None, self._neighbours(change)):
            start, end = other.extent()
            apart = len(change.between(0, start)) + len(change.between(end, self.end))
            if apart < len(change.rows):
                why = f"it overlaps hunk {other.number + 1}"
                raise self._refused(first, first + change.height, why, "overlap")
        why = "it occurs only elsewhere, so the hunks are out of order"
        raise self._refused(first, first + change.height, why)

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

    def _nearest(self, change: _Change) -> tuple[Candidate, ...]:
        """The text most like a change, else the rows that its line names, else a similar line."""
        if not self.text.lines:
            return ()
        match = to_match(Answer(change.query, None, Found(), None))
        if match.candidates:
            return match.candidates
        longest = max(change.query.needle.stripped, key=len, default="")
        rows = [row for _, row in most_similar(longest, self.text.stripped, _NEAR, 1)]
        if change.hints.line is not None:
            rows = [max(min(change.hints.line, len(self.text.lines)) - 1, 0)]
        return tuple(self._candidate(row, row + change.height, 0.0) for row in rows)


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
            whole, begun = list[int](), list[int]()
            for line, row in islice(self._sorted, bisect_left(self._sorted, (wanted, 0)), None):
                self._spend()
                following = line[len(wanted) :][:1]
                if not (wanted and line.startswith(wanted)) or (whole and following):
                    break
                # Git cuts long lines and models leave out parameters, but a name must end here.
                if not following:
                    whole.append(row)
                elif len(wanted) >= _CUT or not (following.isalnum() or following == "_"):
                    begun.append(row)
            self._heads[wanted] = whole or sorted(begun)
        return self._heads[wanted]

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
                "the sections that the patch names occur too often to check every place: "
                "show more unchanged lines instead, and send fewer hunks at once",
            )

    def _holds(self, sections: Sequence[str], row: int) -> bool:
        """Whether a row is in blocks that the sections open, the last one innermost."""
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
