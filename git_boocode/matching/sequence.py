"""Place several changes of one text jointly, each by the rungs of the ordinary ladder.

The changes come in the order of the text and do not overlap, so those that have one place restrict
the places of the others. All are located in the text as it was.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, script
from git_boocode.matching.ladder import SHOWN, SHOWN_TEXT, Answer, ascend, climb, to_match
from git_boocode.matching.profiles import profile_named
from git_boocode.matching.replace import Splice, written
from git_boocode.matching.rungs import Found, Place, Query
from git_boocode.matching.similarity import most_similar, similarity
from git_boocode.matching.text import LineIndex, Text
from git_boocode.matching.types import Candidate, Match, MatchError, Span

LOOSE_WORK = 3_000_000
"""Rows that are searched with tolerance in one text; changes beyond that are not found."""
LISTED = 100
"""At most this many places of a change that occurs several times are listed."""
_EQUAL_LINES = ("whitespace", "rstripped", "line_trimmed", "unicode")
"""Rungs that compare whole lines for equality, so that several places may be kept open."""
_LIKE = 0.3
"""The least similarity of a line that is shown."""
_COMPARED = 500
"""Characters that are compared to say how similar the text shown is."""
_WORD = re.compile(r"\w")

Core = tuple[int, int]
"""The rows from the first changed line of a change to its last one, the end exclusive."""


class Placement(NamedTuple):
    """Where a change belongs.

    Its old text matches rows ``first`` to ``stop`` (exclusive), of which it changes those of
    ``core``; ``splice`` is what to write.
    """

    first: int
    stop: int
    core: Core
    splice: Splice
    rung: str = "exact"
    similarity: float = 1.0
    notes: tuple[str, ...] = ()


class PendingChange:
    """One change that is to be placed, with its places so far.

    ``rows`` are the first rows of the places that are equally good, ascending; ``answer`` is what
    the rung said that found them, None where the old lines occur as they are. ``row``, ``place``
    and ``core`` are those of the place taken.
    """

    def __init__(self, number: int, query: Query) -> None:
        self.number = number
        self.query = query
        self.hints = query.hints
        self.given = query.new or Text("")
        self.old, self.new = query.needle.lines, self.given.lines
        self.height = len(self.old)
        self.script: Sequence[Hunk] = query.hints.script or script(self.old, self.new)
        self.changed = [hunk for hunk in self.script if not hunk.same]
        self.head = self.changed[0].i1
        self.tail = self.height - self.changed[-1].i2
        self.rows: list[int] = []
        self.answer: Answer | None = None
        self.row = 0
        self.place: Place | None = None
        self.core: Core | None = None
        self.error: MatchError | None = None

    @property
    def waits(self) -> bool:
        """Whether it has neither a place nor an error."""
        return self.core is None and self.error is None

    @property
    def offset(self) -> int | None:
        """How far below its line it was placed."""
        return None if self.hints.line is None else self.row - (self.hints.line - 1)

    def core_at(self, row: int) -> Core:
        """The rows that it changes if its old lines begin at ``row``."""
        return row + self.head, row + self.height - self.tail

    def take(self, row: int, core: Core) -> None:
        """Take the place at a row."""
        self.row, self.core = row, core
        if self.answer is not None and self.place is None:
            self.place = self.answer.found.places[bisect_left(self.rows, row)]

    def after(self, core: Core) -> int:
        """The number of its first place below some changed rows."""
        start, stop = self.core_at(0)
        # The order of two insertions at one row is unknown.
        return bisect_left(self.rows, core[1] - start + (start == stop and core[0] == core[1]))

    def before(self, core: Core) -> int:
        """The number of its places above some changed rows."""
        start, stop = self.core_at(0)
        return bisect_right(self.rows, core[0] - stop - (start == stop and core[0] == core[1]))


def place_changes(
    queries: Sequence[Query], profile: str, *, verbatim: bool
) -> list[Placement | MatchError]:
    """Place changes of one text that come in its order; for each its place, or why it has none.

    All queries share one ``text``, whose last line is closed; they stand for whole lines, and none
    changes nothing. The hints of a query decide between its places; its line counts with the offset
    that the neighbours have from theirs. Error codes are ``not_found``, ``ambiguous``, ``overlap``
    and ``already_applied``.
    """
    return _Sequence(queries, profile, verbatim=verbatim).run() if queries else []


class _Sequence:
    def __init__(self, queries: Sequence[Query], profile: str, *, verbatim: bool) -> None:
        self.text = queries[0].text
        self.profile = profile_named(profile)
        self.verbatim = verbatim
        self.changes = [PendingChange(number, query) for number, query in enumerate(queries)]
        self._placed: list[int] = []
        self._loose_work = LOOSE_WORK
        self.raw = LineIndex(self.text.parts[:-1])
        self.bare = LineIndex(self.text.lines) if self.text.has_crlf else self.raw

    @cached_property
    def stripped(self) -> LineIndex:
        return LineIndex(self.text.stripped)

    def run(self) -> list[Placement | MatchError]:
        self._each(self._find_exactly, self.changes)
        self._settle()
        if self.profile.name != "exact":
            waiting = [one for one in self._waiting() if not one.rows and one.old]
            self._each(self._find_equal_lines, waiting)
            self._settle()
            self._each(self._find_loosely, (one for one in waiting if not one.rows))
            # What occurs several times may have one place between neighbours that came later.
            self._settle()
        for at, change in enumerate([*self._waiting()]):
            # A message names the first few, and each may have as many places as there are rows.
            change.error = self._unplaced(change) if at < SHOWN else MatchError("not_found", "")
        self._show()
        return self._apart([change.error or self._written(change) for change in self.changes])

    def _waiting(self) -> Iterator[PendingChange]:
        return (change for change in self.changes if change.waits)

    def _each(
        self, find: Callable[[PendingChange], None], changes: Iterable[PendingChange]
    ) -> None:
        for change in changes:
            try:
                if change.waits:
                    find(change)
            except MatchError as error:  # noqa: PERF203  # one error must not hide the others
                change.error = error

    # Places that are equally good

    def _find_exactly(self, change: PendingChange) -> None:
        hints, needle = change.hints, change.query.needle
        if hints.within:
            self.text.sections.check(hints.sections)
        line = (hints.line or 0) - 1
        if not change.old:
            # Only an empty text, its end or a proven line prove a place.
            end = len(self.text.lines)
            proven = [line] if hints.proven and 0 < line <= end else []
            change.rows = [end] if hints.at_end or not end else proven
            return
        rows = self.raw.find(needle.parts[:-1])
        # What changes line endings only must find them, except for that of the last line.
        if not rows and (needle.lf != change.given.lf or hints.at_end):
            rows = self.bare.find(change.old)
        rows = self._allowed(change, rows)
        change.rows = [line] if hints.proven and line in rows else rows

    def _allowed(self, change: PendingChange, rows: list[int]) -> list[int]:
        """The rows to which the hints do not restrict a change otherwise."""
        if change.hints.within:
            rows = rows[bisect_left(rows, self.text.sections.below(change.hints.sections) or 0) :]
        lowest = self.text.core.stop - change.height if change.hints.at_end else 0
        if rows and rows[-1] < lowest:
            raise self._refused(change, rows[-1], "it occurs only above the end of the file")
        return rows[bisect_left(rows, lowest) :]

    def _find_equal_lines(self, change: PendingChange) -> None:
        if change.hints.strict:
            return
        if _strip(change.old) == _strip(change.new):
            self._check_applied(change)
        if change.query.needle.lf == change.given.lf:
            raise MatchError("not_found", "the file has other line endings")
        steps = [step for step in self.profile.steps if step.rung in _EQUAL_LINES]
        change.answer = ascend(change.query, steps, None)
        places = change.answer.found.places
        # Blank lines at the ends count where the file has all of them.
        rows = self._allowed(change, self.stripped.find(_strip(change.old)))
        known = set(rows)
        full = [place for place in places if place.rows and place.rows[0] in known]
        if len(rows) > len(full) > 1:
            # Places that overlap each other cannot be told apart by their order.
            raise self._ambiguous(change, rows)
        if full:
            change.answer = change.answer._replace(found=Found(tuple(full)))
        change.rows = [self._row(place) for place in full or places]

    def _row(self, place: Place) -> int:
        return place.rows[0] if place.rows else self.text.raw.count("\n", 0, place.start)

    # Which of them

    def _settle(self) -> None:
        """Place what has one place, then what the order forces, then what the hints name."""
        self._put_all([(one, one.rows[0]) for one in self._waiting() if len(one.rows) == 1])
        while self._put_all(self._forced()) or self._put_all(self._named()):
            pass

    def _put_all(self, found: Sequence[tuple[PendingChange, int]]) -> bool:
        """Place changes that were chosen side by side, unless they get in each other's way."""
        put = False
        for change, row in found:
            low, high = self._between(change)
            if low <= bisect_left(change.rows, row) < high:
                change.take(row, change.core_at(row))
                insort(self._placed, change.number)
                put = True
        return put

    def _neighbours(
        self, change: PendingChange
    ) -> tuple[PendingChange | None, PendingChange | None]:
        """The nearest placed changes above and below."""
        at = bisect_left(self._placed, change.number)
        below = self.changes[self._placed[at]] if at < len(self._placed) else None
        return self.changes[self._placed[at - 1]] if at else None, below

    def _bounds(self, change: PendingChange) -> Core:
        """The rows that the placed neighbours leave."""
        above, below = self._neighbours(change)
        first = above.core[1] if above and above.core else 0
        return first, below.core[0] if below and below.core else len(self.text.lines)

    def _between(self, change: PendingChange) -> tuple[int, int]:
        """Which of a change's places, by number, the placed neighbours leave."""
        above, below = self._neighbours(change)
        low = change.after(above.core) if above and above.core else 0
        return low, change.before(below.core) if below and below.core else len(change.rows)

    def _forced(self) -> list[tuple[PendingChange, int]]:
        """The changes with one place only in any choice of places that keeps the order.

        No choice puts a change above the first place that those above it leave, nor below the last
        one that those below it leave.
        """
        first, last = self._extremes(1), self._extremes(-1)
        return [(self.changes[at], row) for at, row in first.items() if last.get(at) == row]

    def _extremes(self, step: int) -> dict[int, int]:
        """The first place of each change that those above it leave; the last one for step -1."""
        end = len(self.text.lines)
        core: Core = (-1, 0) if step > 0 else (end, end + 1)
        found: dict[int, int] = {}
        for change in self.changes[::step]:
            if change.core is not None:
                core = change.core
            elif change.rows and change.error is None:
                at = change.after(core) if step > 0 else change.before(core) - 1
                if 0 <= at < len(change.rows):
                    found[change.number] = change.rows[at]
                    core = change.core_at(change.rows[at])
        return found

    def _named(self) -> list[tuple[PendingChange, int]]:
        """The changes with several places of which line or section name one."""
        rows = ((change, self._named_row(change)) for change in self._waiting())
        return [(change, row) for change, row in rows if row is not None]

    def _named_row(self, change: PendingChange) -> int | None:
        """The one of several places that the line names, else the section.

        Where they contradict each other, a neighbour must confirm the offset of the lines.
        """
        low, high = self._between(change)
        if high - low < 2:
            return None
        expected = self._expected(change)
        if expected is not None:
            at = bisect_left(change.rows, expected, low, high)
            expected = expected if at < high and change.rows[at] == expected else None
        if not change.hints.sections or (expected is not None and self._placed):
            return expected
        sole = self.text.sections.sole(change.hints.sections, change.rows[low:high])
        return sole if expected is None else expected if sole in (None, expected) else None

    def _expected(self, change: PendingChange) -> int | None:
        """The row that a change's line names, moved as far as its neighbours are; None if unknown.

        Neighbours that were moved differently do not tell.
        """
        offsets = {other.offset for other in self._neighbours(change) if other} - {None}
        if change.hints.line is None or len(offsets) > 1:
            return None
        return change.hints.line - 1 + (offsets.pop() or 0 if offsets else 0)

    # The whole ladder

    def _find_loosely(self, change: PendingChange) -> None:
        """Climb the ladder in the rows that the neighbours leave."""
        self._check_applied(change)
        if change.hints.strict:
            return
        first, stop = self._bounds(change)
        if change.hints.within:
            first = max(first, self.text.sections.below(change.hints.sections) or 0)
        self._loose_work -= stop - first
        if self._loose_work < 0:
            raise MatchError(
                "not_found",
                "too many changes differ from the file to compare them all: "
                "read it again, and send fewer changes at once",
            )
        answer = climb(self._narrowed(change, first, stop), self.profile)
        if answer.chosen is None:
            raise self._missed(change, answer, first)
        change.place = place = self._moved(answer.found.places[answer.chosen], first)
        read = answer.query.needle.raw, answer.query.new.raw if answer.query.new else ""
        query = Query(self.text, *read, whole_lines=True, hints=answer.query.hints)
        change.answer = answer._replace(query=query, found=Found((place,)), chosen=0)
        row = self._row(place)
        start = row + change.head
        end = place.rows[1] if place.rows else row + change.height
        change.take(row, (start, max(end - change.tail, start)))
        insort(self._placed, change.number)

    def _narrowed(self, change: PendingChange, first: int, stop: int) -> Query:
        """The query of a change in some rows only."""
        hints, text = change.hints, self.text
        expected = self._expected(change)
        hints = hints._replace(line=None if expected is None else expected - first + 1)
        piece: str | Text = text
        if stop - first < len(text.lines):
            piece = text.raw[text.start_of(first) : text.start_of(stop)]
            # The end of these rows is not that of the file.
            hints = hints._replace(sections=(), within=False)
            if hints.at_end and stop < len(text.lines):
                piece = ""
        return Query(
            piece, change.query.needle.raw, change.given.raw, whole_lines=True, hints=hints
        )

    def _moved(self, place: Place, first: int) -> Place:
        """A place in some rows as one in the whole text."""
        offset = self.text.start_of(first)
        lines = place.lines and tuple((start + first, end + first) for start, end in place.lines)
        rows = place.rows and (place.rows[0] + first, place.rows[1] + first)
        start, end = place.start + offset, place.end + offset
        return place._replace(start=start, end=end, rows=rows, lines=lines)

    # What is there already

    def _check_applied(self, change: PendingChange) -> None:
        """Raise MatchError if the rows that the neighbours leave hold the new lines already."""
        first, stop = self._bounds(change)
        if not _proves(change):
            return
        if _strip(change.old) == _strip(change.new):
            found = self.raw.find(change.given.parts[:-1])
        else:
            found = self.stripped.find(_strip(change.new))
        at = bisect_left(found, first)
        if at < len(found) and found[at] + len(change.new) <= stop:
            raise self._applied(found[at], found[at] + len(change.new))

    def _applied(self, first: int, stop: int) -> MatchError:
        match = Match("not_found", candidates=(self._candidate(first, stop),))
        return MatchError("already_applied", "it seems to be applied already", match)

    def _repeats(self, change: PendingChange) -> bool:
        """Whether lines that are added without context on one side are beside the place already."""
        above, below = change.changed[0], change.changed[-1]
        sides = (
            (above, change.head, change.row - (above.j2 - above.j1)),
            (below, change.tail, change.row + change.height),
        )
        for hunk, context, start in sides:
            added = _strip(change.new[hunk.j1 : hunk.j2])
            if not context and hunk.i1 == hunk.i2 and any(map(_WORD.search, added)) and start >= 0:
                there = self.text.stripped[start : start + len(added)]
                if there == added:
                    return True
        return False

    # What is written

    def _written(self, change: PendingChange) -> Placement | MatchError:
        row, text, place, answer = change.row, self.text, change.place, change.answer
        stop = place.rows[1] if place and place.rows else row + change.height
        if not change.hints.proven and self._repeats(change):
            return self._applied(row, stop)
        notes: tuple[str, ...] = ()
        exact = text.parts[row:stop] == change.query.needle.parts[:-1]
        if exact or self.verbatim:
            if stop - row != change.height:
                return self._refused(change, row, "the file has more or fewer lines there")
            splice = self._as_marked(change, exact=exact and bool(change.old))
        else:
            if answer is None or place is None:
                place = Place(text.start_of(row), text.start_of(stop))
                answer = Answer(change.query, "exact", Found((place,)), 0)
            try:
                splice, notes = written(answer, place, row)
            except MatchError as error:
                return error
            if any(note.startswith("replaced") for note in notes):
                return self._refused(change, row, "the file has lines there that it would delete")
            if answer.rung != "exact" and splice.text == text.raw[splice.start : splice.end]:
                return self._applied(row, stop)
            splice = _trimmed(text.raw, splice, change)
        rung = answer.rung if answer is not None and answer.rung else "exact"
        likeness = place.similarity if place else 1.0
        return Placement(row, stop, change.core or (row, stop), splice, rung, likeness, notes)

    def _as_marked(self, change: PendingChange, *, exact: bool) -> Splice:
        """A change whose old lines are rows one by one, all of its new lines as given."""
        text, row = self.text, change.row
        start, end = change.core_at(row)
        ending = (text.ending(row - 1) if row else text.ending(0)) or text.usual_ending
        given = change.given.parts if exact else change.new
        pieces: list[str] = []
        for hunk in change.script:
            if hunk.same:
                pieces += [f"{line}\n" for line in text.parts[row + hunk.i1 : row + hunk.i2]]
            else:
                added = given[hunk.j1 : hunk.j2]
                pieces += [line + ("\n" if exact else ending) for line in added]
        pieces = pieces[change.head : len(pieces) - change.tail]
        return Splice(text.start_of(start), text.start_of(end), "".join(pieces))

    def _apart(self, outcomes: list[Placement | MatchError]) -> list[Placement | MatchError]:
        """The outcomes, of which none writes where one above it does."""
        placed = [(at, one) for at, one in enumerate(outcomes) if isinstance(one, Placement)]
        for (above, one), (at, other) in pairwise(placed):
            if one.splice.end > other.splice.start:
                outcomes[at] = self._overlaps(self.changes[at], self.changes[above], other.first)
        return outcomes

    # Why not

    def _unplaced(self, change: PendingChange) -> MatchError:
        """Why a change without a place, and without an error yet, has none."""
        if not change.old:
            return MatchError(
                "not_found", "it has no line of the file to go by, and a line number proves nothing"
            )
        if not change.rows:
            return MatchError("not_found", "")
        low, high = self._between(change)
        if high - low > 1:
            return self._ambiguous(change, change.rows[low:high])
        cores = [change.core_at(row) for row in change.rows]
        above, below = self._neighbours(change)
        for other in filter(None, (above, below)):
            start, end = other.core or (0, 0)
            if (start, end) in cores or any(one < end and start < stop for one, stop in cores):
                return self._overlaps(change, other, change.rows[0])
        side, one = ("above", above) if above else ("below", below)
        number = one.number + 1 if one else 0
        message = f"it occurs only {side} hunk {number}, so the hunks are out of order"
        return self._refused(change, change.rows[0], message)

    def _overlaps(self, change: PendingChange, other: PendingChange, row: int) -> MatchError:
        error = self._refused(change, row, f"it overlaps hunk {other.number + 1}")
        return MatchError("overlap", error.message, error.match)

    def _refused(self, change: PendingChange, row: int, message: str) -> MatchError:
        near = self._candidate(row, row + change.height)
        return MatchError("not_found", message, Match("not_found", candidates=(near,)))

    def _ambiguous(self, change: PendingChange, rows: Sequence[int]) -> MatchError:
        ends = [(row, row + change.height) for row in rows[:LISTED]]
        spans = (
            Span(self.text.start_of(first), self.text.start_of(stop), first + 1, stop)
            for first, stop in ends
        )
        near = self._offers(change, [(*rows, 1.0) for rows in ends[:SHOWN]])
        match = Match("ambiguous", count=len(rows), candidates=near, spans=tuple(spans))
        return MatchError("ambiguous", f"it occurs {len(rows)} times", match)

    def _missed(self, change: PendingChange, answer: Answer, first: int) -> MatchError:
        """The error of a change that the ladder, below a row, found nowhere or several times."""
        match = to_match(answer)
        near = [
            (one.start_line - 1 + first, one.end_line + first, one.similarity)
            for one in match.candidates
        ]
        spans = (
            one._replace(start_line=one.start_line + first, end_line=one.end_line + first)
            for one in match.spans[:LISTED]
        )
        match = match._replace(candidates=self._offers(change, near), spans=tuple(spans))
        if match.kind == "ambiguous":
            return MatchError("ambiguous", "several places are alike", match)
        return MatchError("not_found", match.reason or "", match)

    def _offers(
        self, change: PendingChange, places: Sequence[tuple[int, int, float]]
    ) -> tuple[Candidate, ...]:
        """Places with what a model can send back for them."""
        from git_boocode.matching.suggestions import descriptions, differing_lines, unique_text

        text, needle = self.text, change.query.needle
        where = descriptions(text, [(first, stop) for first, stop, _ in places])
        return tuple(
            Candidate(
                *self._candidate(first, stop, likeness)[:4],
                *unique_text(text, (first, stop)),
                description,
                tuple(differing_lines(text, (first, stop), needle)) if likeness < 1 else (),
            )
            for (first, stop, likeness), description in zip(places, where, strict=True)
        )

    def _candidate(self, first: int, stop: int, likeness: float = 1.0) -> Candidate:
        stop = min(max(stop, first + 1), len(self.text.lines))
        shown = self.text.rows_text(first, stop)[:SHOWN_TEXT] if first < stop else ""
        return Candidate(first + 1, stop, likeness, shown)

    def _show(self) -> None:
        """Add the nearest text to the first errors that have none."""
        for change in [change for change in self.changes if change.error][:SHOWN]:
            error = change.error
            if error and error.code == "not_found" and not error.candidates and self.text.lines:
                error.candidates = self._nearest(change)

    def _nearest(self, change: PendingChange) -> tuple[Candidate, ...]:
        """What the line names, else the rows with the rarest line that the old text shares."""
        expected = self._expected(change)
        if expected is None and change.hints.line is not None:
            expected = change.hints.line - 1
        if expected is None:
            rows = self.stripped.rows
            old = [(at, line) for at, line in enumerate(_strip(change.old)) if line]
            shared = [(len(rows[line]), rows[line][0] - at) for at, line in old if line in rows]
            longest = max((line for _, line in old), key=len, default="")[:_COMPARED]
            like = [] if shared else most_similar(longest, self.text.stripped, _LIKE, 1)
            expected = min([*shared, *like])[1] if shared or like else None
        if expected is None:
            return ()
        first = max(min(expected, len(self.text.lines) - max(change.height, 1)), 0)
        there = "\n".join(self.text.lines[first : first + change.height])
        likeness = similarity("\n".join(change.old)[:_COMPARED], there[:_COMPARED], 0.0)
        return (self._candidate(first, first + change.height, likeness),)


def _strip(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def _proves(change: PendingChange) -> bool:
    """Whether the new lines, found in a file, prove that a change was applied."""
    added = [line for hunk in change.changed for line in change.new[hunk.j1 : hunk.j2]]
    if added:
        return any(map(_WORD.search, added))
    around = change.new[: change.head], change.new[change.head :]
    return all(any(map(_WORD.search, lines)) for lines in around)


def _trimmed(raw: str, splice: Splice, change: PendingChange) -> Splice:
    """A splice without the lines at its ends that the change leaves as they are."""
    old, new = (
        [f"{line}\n" for line in text.split("\n")[:-1]]
        for text in (raw[splice.start : splice.end], splice.text)
    )
    head = 0
    while head < min(change.head, len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    most = min(change.tail, len(old) - head, len(new) - head)
    while tail < most and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = splice.start + sum(map(len, old[:head]))
    end = splice.end - sum(map(len, old[len(old) - tail :]))
    return Splice(start, end, "".join(new[head : len(new) - tail]))
