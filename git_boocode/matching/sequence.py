"""Place several changes of one text jointly, each by the rungs of the ordinary ladder.

The changes come in the order of the text and do not overlap, so those that have one place restrict
the places of the others. All are located in the text as it was.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, script
from git_boocode.matching.ladder import NEAREST, Answer, ascend, climb, to_match
from git_boocode.matching.profiles import profile_named
from git_boocode.matching.replace import Splice, written
from git_boocode.matching.rungs import Found, Place, Query
from git_boocode.matching.similarity import most_similar, similarity
from git_boocode.matching.text import Text
from git_boocode.matching.types import Candidate, Match, MatchError, Span

LOOSE_WORK = 3_000_000
"""Rows that are searched with tolerance in one text; changes beyond that are not found."""
LOOKUP_WORK = 100_000_000
"""Lines that are compared to find lines as they are in one text."""
SHOWN = 10
"""The nearest text is looked for and shown for this many changes."""
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

    Its old text matches rows ``first`` to ``stop`` (exclusive), its first changed line is row
    ``core[0]``; ``splice`` is what to do.
    """

    first: int
    stop: int
    core: Core
    splice: Splice
    rung: str = "exact"
    similarity: float = 1.0
    notes: tuple[str, ...] = ()


class Change:
    """One change that is to be placed, with its places so far.

    ``rows`` are the first rows of the places that are equally good, ascending; ``answer`` is what
    the rung said that found them, None where the old lines occur as they are.
    """

    def __init__(self, query: Query) -> None:
        assert query.new is not None
        self.query = query
        self.hints = query.hints
        self.old, self.new = query.needle.lines, query.new.lines
        self.script: Sequence[Hunk] = query.hints.script or script(self.old, self.new)
        self.head = self._shared(self.script[:1])
        self.tail = self._shared(self.script[1:][-1:])
        self.rows: list[int] = []
        self.answer: Answer | None = None

    @staticmethod
    def _shared(hunks: Sequence[Hunk]) -> int:
        return sum(hunk.i2 - hunk.i1 for hunk in hunks if hunk.same)

    @property
    def height(self) -> int:
        """The number of old lines."""
        return len(self.old)

    @property
    def changed(self) -> list[Hunk]:
        """The hunks that are not unchanged lines."""
        return [hunk for hunk in self.script if not hunk.same]

    def core_at(self, row: int) -> Core:
        """The rows that it changes if its old lines begin at ``row``."""
        return row + self.head, row + self.height - self.tail

    def place_at(self, row: int) -> Place | None:
        """The place that a rung found at ``row``; None for lines that occur as they are."""
        if self.answer is None:
            return None
        return self.answer.found.places[self.rows.index(row)]


class LineIndex:
    """Where lines occur among others, found by the rows of the rarest of them."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.rows: dict[str, list[int]] = {}
        for row, line in enumerate(lines):
            self.rows.setdefault(line, []).append(row)
        self._found: dict[tuple[str, ...], list[int]] = {}
        self._work = LOOKUP_WORK

    def find(self, wanted: Sequence[str]) -> list[int]:
        """The rows at which these lines occur one below the other, overlapping ones included.

        Raises MatchError (``ambiguous``) where too many rows would have to be compared.
        """
        if not wanted:
            return []
        key = tuple(wanted)
        if key not in self._found:
            at = min(range(len(key)), key=lambda index: len(self.rows.get(key[index], ())))
            rows = self.rows.get(key[at], [])
            self._work -= len(rows) * len(key)
            if self._work < 0:
                raise MatchError("ambiguous", "its lines occur too often to check every place")
            count, wanted = len(key), list(key)
            starts = (row - at for row in rows if row >= at)
            self._found[key] = [row for row in starts if self.lines[row : row + count] == wanted]
        return self._found[key]


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
        self.changes = [Change(query) for query in queries]
        self.errors: dict[int, MatchError] = {}
        self.cores: dict[int, Core] = {}
        self.places: dict[int, tuple[int, Answer | None, Place | None]] = {}
        self._placed: list[int] = []
        self._loose_work = LOOSE_WORK
        self.raw = LineIndex(self.text.parts[:-1])
        self.bare = LineIndex(self.text.lines) if self.text.has_crlf else self.raw
        self._stripped: LineIndex | None = None

    @property
    def stripped(self) -> LineIndex:
        if self._stripped is None:
            self._stripped = LineIndex(self.text.stripped)
        return self._stripped

    def run(self) -> list[Placement | MatchError]:
        for index in range(len(self.changes)):
            self._attempt(index, self._find_exactly)
        self._settle()
        if self.profile.name != "exact":
            self._tolerate()
        rest = [index for index in range(len(self.changes)) if index not in self.cores]
        for number, index in enumerate(one for one in rest if one not in self.errors):
            # A message names the first few, and each may have as many places as there are rows.
            self.errors[index] = self._unplaced(index) if number < SHOWN else _unknown()
        self._show()
        return self._checked([self._outcome(index) for index in range(len(self.changes))])

    def _attempt(self, index: int, find: Callable[[int], None]) -> None:
        try:
            find(index)
        except MatchError as error:
            self.errors[index] = error

    # Places that are equally good

    def _find_exactly(self, index: int) -> None:
        change = self.changes[index]
        hints = change.hints
        if hints.within:
            self.text.sections.check(hints.sections)
        if not change.old:
            change.rows = self._insertion_rows(change)
            return
        needle, new = change.query.needle, change.query.new
        rows = self.raw.find(needle.parts[:-1])
        # What changes line endings only must find them, except for that of the last line.
        if not rows and new is not None and (needle.lf != new.lf or hints.at_end):
            rows = self.bare.find(change.old)
        rows = self._allowed(change, rows)
        line = (hints.line or 0) - 1
        change.rows = [line] if hints.proven and line in rows else rows

    def _insertion_rows(self, change: Change) -> list[int]:
        """Without an old line only an empty text, its end or a proven line number count."""
        hints, end = change.hints, len(self.text.lines)
        if hints.at_end or not end:
            return [end]
        row = (hints.line or 0) - 1
        return [row] if hints.proven and 0 < row <= end else []

    def _allowed(self, change: Change, rows: list[int]) -> list[int]:
        hints = change.hints
        if hints.within:
            lowest = self.text.sections.below(hints.sections) or 0
            rows = rows[bisect_left(rows, lowest) :]
        if hints.at_end:
            rows = rows[bisect_left(rows, self.text.core.stop - change.height) :]
        return rows

    def _tolerate(self) -> None:
        waiting = [index for index in self._open() if self.changes[index].old]
        for index in waiting:
            if not self.changes[index].hints.strict:
                self._attempt(index, self._find_equal_lines)
        self._settle()
        for index in waiting:
            if index not in self.errors and not self.changes[index].rows:
                self._attempt(index, self._find_loosely)
        # What occurs several times may have one place between neighbours that came later.
        self._settle()

    def _open(self) -> list[int]:
        return [
            index
            for index, change in enumerate(self.changes)
            if not change.rows and index not in self.errors
        ]

    def _find_equal_lines(self, index: int) -> None:
        change = self.changes[index]
        above = self.bare.find(change.old) if change.hints.at_end else []
        if above:
            why = "it occurs only above the end of the file"
            raise self._refused(why, above[-1], above[-1] + change.height)
        if _strip(change.old) == _strip(change.new):
            self._check_applied(index)
        if change.query.needle.lf == getattr(change.query.new, "lf", None):
            raise MatchError("not_found", "the file has other line endings")
        steps = [step for step in self.profile.steps if step.rung in _EQUAL_LINES]
        answer = ascend(change.query, steps, None)
        change.answer = answer
        change.rows = [self._row(place) for place in answer.found.places]

    def _row(self, place: Place) -> int:
        return place.rows[0] if place.rows else self.text.raw.count("\n", 0, place.start)

    # Which of them

    def _settle(self) -> None:
        """Place what has one place, then what the order forces, then what the hints name."""
        sole = [(i, change.rows[0]) for i, change in self._choices() if len(change.rows) == 1]
        self._put_all(sole)
        while self._put_all(self._forced()) or self._put_all(self._named()):
            pass

    def _choices(self) -> Iterator[tuple[int, Change]]:
        for index, change in enumerate(self.changes):
            if change.rows and index not in self.cores and index not in self.errors:
                yield index, change

    def _put_all(self, found: Sequence[tuple[int, int]]) -> bool:
        """Place changes that were chosen side by side, unless they get in each other's way."""
        put = False
        for index, row in found:
            change = self.changes[index]
            low, high = self._between(index)
            at = bisect_left(change.rows, row)
            if low <= at < high and change.rows[at] == row:
                self._put(index, change.core_at(row), (row, change.answer, change.place_at(row)))
                put = True
        return put

    def _put(self, index: int, core: Core, place: tuple[int, Answer | None, Place | None]) -> None:
        self.cores[index] = core
        self.places[index] = place
        insort(self._placed, index)

    def _neighbours(self, index: int) -> tuple[int | None, int | None]:
        """The nearest placed changes above and below."""
        at = bisect_left(self._placed, index)
        below = self._placed[at] if at < len(self._placed) else None
        return self._placed[at - 1] if at else None, below

    def _bounds(self, index: int) -> Core:
        """The rows that the placed neighbours leave."""
        above, below = self._neighbours(index)
        stop = len(self.text.lines) if below is None else self.cores[below][0]
        return 0 if above is None else self.cores[above][1], stop

    def _between(self, index: int) -> tuple[int, int]:
        """Which of a change's places, by number, the placed neighbours leave."""
        above, below = self._neighbours(index)
        change = self.changes[index]
        low = 0 if above is None else self._after(change, self.cores[above])
        high = len(change.rows) if below is None else self._before(change, self.cores[below])
        return low, high

    @staticmethod
    def _after(change: Change, core: Core) -> int:
        """The number of a change's first place below some changed rows."""
        start, end = change.core_at(0)
        # The order of two insertions at one row is unknown.
        same = start == end and core[0] == core[1]
        return bisect_left(change.rows, core[1] - start + same)

    @staticmethod
    def _before(change: Change, core: Core) -> int:
        """The number of a change's places above some changed rows."""
        start, end = change.core_at(0)
        same = start == end and core[0] == core[1]
        return bisect_right(change.rows, core[0] - end - same)

    def _forced(self) -> list[tuple[int, int]]:
        """The changes with one place only in any choice of places that keeps the order.

        No choice puts a change above the first place that those above it leave, nor below the last
        one that those below it leave.
        """
        first, last = self._extremes(1), self._extremes(-1)
        return [(index, row) for index, row in first.items() if last.get(index) == row]

    def _extremes(self, step: int) -> dict[int, int]:
        """The first place of each change that those above it leave; the last one for step -1."""
        end = len(self.text.lines)
        core: Core = (-1, 0) if step > 0 else (end, end + 1)
        found: dict[int, int] = {}
        for index in range(len(self.changes))[::step]:
            change = self.changes[index]
            if index in self.cores:
                core = self.cores[index]
            elif change.rows and index not in self.errors:
                at = self._after(change, core) if step > 0 else self._before(change, core) - 1
                if 0 <= at < len(change.rows):
                    found[index] = change.rows[at]
                    core = change.core_at(found[index])
        return found

    def _named(self) -> list[tuple[int, int]]:
        """The changes with several places of which line or section name one."""
        rows = ((index, self._named_row(index)) for index, _ in self._choices())
        return [(index, row) for index, row in rows if row is not None]

    def _named_row(self, index: int) -> int | None:
        """The one of several places that the line names, else the section.

        Where they contradict each other, a neighbour must confirm the offset of the lines.
        """
        change = self.changes[index]
        low, high = self._between(index)
        if high - low < 2:
            return None
        expected = self._expected(index)
        if expected is not None:
            at = bisect_left(change.rows, expected, low, high)
            expected = expected if at < high and change.rows[at] == expected else None
        if not change.hints.sections or (expected is not None and len(self._placed)):
            return expected
        sole = self.text.sections.sole(change.hints.sections, change.rows[low:high])
        return sole if expected is None else expected if sole in (None, expected) else None

    def _expected(self, index: int) -> int | None:
        """The row that a change's line names, moved as far as its neighbours are; None if unknown.

        Neighbours that were moved differently do not tell.
        """
        line = self.changes[index].hints.line
        offsets = {self._offset(other) for other in self._neighbours(index) if other is not None}
        offsets.discard(None)
        if line is None or len(offsets) > 1:
            return None
        return line - 1 + (offsets.pop() or 0 if offsets else 0)

    def _offset(self, index: int) -> int | None:
        line = self.changes[index].hints.line
        return None if line is None else self.places[index][0] - (line - 1)

    # The whole ladder

    def _find_loosely(self, index: int) -> None:
        """Climb the ladder in the rows that the neighbours leave."""
        change = self.changes[index]
        self._check_applied(index)
        if change.hints.strict:
            return
        first, stop = self._bounds(index)
        if change.hints.within:
            first = max(first, self.text.sections.below(change.hints.sections) or 0)
        if change.hints.at_end and stop < len(self.text.lines):
            raise MatchError("not_found", "the changes are out of order")
        self._loose_work -= stop - first
        if self._loose_work < 0:
            raise MatchError(
                "not_found",
                "too many changes differ from the file to compare them all: "
                "read it again, and send fewer changes at once",
            )
        query = self._narrowed(index, first, stop)
        answer = climb(query, self.profile)
        if answer.chosen is None:
            raise _missed(answer, first)
        place = self._moved(answer.found.places[answer.chosen], first)
        row = self._row(place)
        query = Query(
            self.text,
            answer.query.needle.raw,
            answer.query.new.raw if answer.query.new else "",
            whole_lines=True,
            hints=answer.query.hints,
        )
        answer = answer._replace(query=query, found=Found((place,)), chosen=0)
        found_stop = place.rows[1] if place.rows else row + change.height
        core = row + change.head, max(found_stop - change.tail, row + change.head)
        self._put(index, core, (row, answer, place))

    def _narrowed(self, index: int, first: int, stop: int) -> Query:
        """The query of a change in some rows only."""
        query, hints, text = self.changes[index].query, self.changes[index].hints, self.text
        expected = self._expected(index)
        line = None if expected is None else expected - first + 1
        piece: str | Text = text
        hints = hints._replace(line=line)
        if stop - first < len(text.lines):
            piece = text.raw[text.start_of(first) : text.start_of(stop)]
            hints = hints._replace(sections=(), within=False)
        new = query.new.raw if query.new else ""
        return Query(piece, query.needle.raw, new, whole_lines=True, hints=hints)

    def _moved(self, place: Place, first: int) -> Place:
        """A place in some rows as one in the whole text."""
        offset = self.text.start_of(first)
        lines = place.lines and tuple((start + first, end + first) for start, end in place.lines)
        rows = place.rows and (place.rows[0] + first, place.rows[1] + first)
        return place._replace(
            start=place.start + offset, end=place.end + offset, rows=rows, lines=lines
        )

    # Applied already

    def _check_applied(self, index: int) -> None:
        """Raise MatchError if the rows that the neighbours leave hold the new lines already."""
        change = self.changes[index]
        first, stop = self._bounds(index)
        if not _proves(change):
            return
        if _strip(change.old) == _strip(change.new):
            found = self.raw.find(change.query.new.parts[:-1] if change.query.new else ())
        else:
            found = self.stripped.find(_strip(change.new))
        at = bisect_left(found, first)
        if at < len(found) and found[at] + len(change.new) <= stop:
            raise self._applied(found[at], found[at] + len(change.new))

    def _applied(self, first: int, stop: int) -> MatchError:
        match = Match("not_found", candidates=(self._candidate(first, stop),))
        return MatchError("already_applied", "it seems to be applied already", match)

    def _repeats(self, change: Change, row: int) -> bool:
        """Whether lines that are added without context on one side are beside the place already."""
        above, below = change.changed[0], change.changed[-1]
        sides = (
            (above, change.head, row - (above.j2 - above.j1)),
            (below, change.tail, row + change.height),
        )
        for hunk, context, start in sides:
            added = _strip(change.new[hunk.j1 : hunk.j2])
            if not context and hunk.i1 == hunk.i2 and any(map(_WORD.search, added)) and start >= 0:
                there = self.text.stripped[start : start + len(added)]
                if there == added:
                    return True
        return False

    # Outcomes

    def _outcome(self, index: int) -> Placement | MatchError:
        if index in self.errors:
            return self.errors[index]
        change = self.changes[index]
        row, answer, place = self.places[index]
        stop = place.rows[1] if place and place.rows else row + change.height
        if not change.hints.proven and self._repeats(change, row):
            return self._applied(row, stop)
        text = self.text
        notes: tuple[str, ...] = ()
        if not change.old or self._is_as_given(change, row, stop):
            splice = self._as_marked(change, row)
        else:
            if answer is None or place is None:
                place = Place(text.start_of(row), text.start_of(stop))
                answer = Answer(change.query, "exact", Found((place,)), 0)
            try:
                splice, notes = written(answer, place, row)
            except MatchError as error:
                return error
            if any(note.startswith("replaced") for note in notes):
                return self._refused("the file has lines there that it would delete", row, stop)
            if answer.rung != "exact" and splice.text == text.raw[splice.start : splice.end]:
                return self._applied(row, stop)
            splice = _trimmed(text.raw, splice, change)
        rung = answer.rung if answer is not None and answer.rung else "exact"
        similarity = place.similarity if place else 1.0
        core = self.cores[index]
        return Placement(row, stop, core, splice, rung, similarity, notes)

    def _is_as_given(self, change: Change, row: int, stop: int) -> bool:
        """Whether the new lines are pasted as given: the old ones occur so, or that is asked."""
        rows = self.text.parts[row:stop]
        exact = rows == change.query.needle.parts[:-1]
        return exact or (self.verbatim and stop - row == change.height)

    def _as_marked(self, change: Change, row: int) -> Splice:
        """A change whose old lines are rows one by one, all of its new lines as given."""
        text = self.text
        first, stop = change.core_at(row)
        new = change.query.new
        parts = new.parts if new else []
        exact = text.parts[row : row + change.height] == change.query.needle.parts[:-1]
        given = exact and bool(change.old)
        ending = text.ending(row - 1) if row else text.ending(0)
        pieces: list[str] = []
        for hunk in change.script:
            if hunk.same:
                pieces += [f"{line}\n" for line in text.parts[row + hunk.i1 : row + hunk.i2]]
            elif given:
                pieces += [f"{line}\n" for line in parts[hunk.j1 : hunk.j2]]
            else:
                pieces += [
                    line + (ending or text.usual_ending) for line in change.new[hunk.j1 : hunk.j2]
                ]
        pieces = pieces[change.head : len(pieces) - change.tail]
        return Splice(text.start_of(first), text.start_of(stop), "".join(pieces))

    def _checked(self, outcomes: list[Placement | MatchError]) -> list[Placement | MatchError]:
        """The outcomes, of which none writes where one above it does."""
        placed = [(at, one) for at, one in enumerate(outcomes) if isinstance(one, Placement)]
        for (above, one), (at, other) in pairwise(placed):
            if one.splice.end > other.splice.start:
                outcomes[at] = self._overlap(above, other.first, other.stop)
        return outcomes

    def _overlap(self, other: int, first: int, stop: int) -> MatchError:
        error = self._refused(f"it overlaps hunk {other + 1}", first, stop)
        error.code = "overlap"
        return error

    def _refused(self, message: str, first: int, stop: int) -> MatchError:
        match = Match("not_found", candidates=(self._candidate(first, stop),))
        return MatchError("not_found", message, match)

    def _unplaced(self, index: int) -> MatchError:
        """Why a change without a place, and without an error yet, has none."""
        change = self.changes[index]
        if not change.old:
            return MatchError(
                "not_found", "it has no line of the file to go by, and a line number proves nothing"
            )
        if not change.rows:
            return _unknown()
        low, high = self._between(index)
        rows = change.rows[low:high]
        if len(rows) > 1:
            return self._ambiguous(change, rows)
        for other in self._neighbours(index):
            if other is None:
                continue
            start, end = self.cores[other]
            cores = list(map(change.core_at, change.rows))
            if (start, end) in cores or any(one < end and start < stop for one, stop in cores):
                return self._overlap(other, change.rows[0], change.rows[0] + change.height)
        above, below = self._neighbours(index)
        side, other = ("above", above) if above is not None else ("below", below)
        message = f"it occurs only {side} hunk {(other or 0) + 1}, so the hunks are out of order"
        return self._refused(message, change.rows[0], change.rows[0] + change.height)

    def _ambiguous(self, change: Change, rows: Sequence[int]) -> MatchError:
        text = self.text
        spans = (
            Span(
                text.start_of(row), text.start_of(row + change.height), row + 1, row + change.height
            )
            for row in rows[:LISTED]
        )
        candidates = (self._candidate(row, row + change.height) for row in rows[:SHOWN])
        match = Match(
            "ambiguous", count=len(rows), candidates=tuple(candidates), spans=tuple(spans)
        )
        return MatchError("ambiguous", f"it occurs {len(rows)} times", match)

    def _candidate(self, first: int, stop: int, similarity: float = 1.0) -> Candidate:
        stop = min(max(stop, first + 1), len(self.text.lines))
        shown = self.text.rows_text(first, stop) if first < stop else ""
        return Candidate(first + 1, stop, similarity, shown[:4000])

    def _show(self) -> None:
        """Add the nearest text to the first errors that have none."""
        for index in sorted(self.errors)[:SHOWN]:
            error = self.errors[index]
            if error.code == "not_found" and not error.candidates and self.text.lines:
                error.candidates = self._nearest(index)

    def _nearest(self, index: int) -> tuple[Candidate, ...]:
        """What the line names, else the rows with the rarest line that the old text shares."""
        change = self.changes[index]
        expected = self._expected(index)
        if expected is None and change.hints.line is not None:
            expected = change.hints.line - 1
        if expected is None:
            rows = self.stripped.rows
            old = [(at, line) for at, line in enumerate(_strip(change.old)) if line]
            shared = [(len(rows[line]), rows[line][0] - at) for at, line in old if line in rows]
            expected = min(shared)[1] if shared else self._like(old)
        if expected is None:
            return ()
        first = max(min(expected, len(self.text.lines) - max(change.height, 1)), 0)
        there = "\n".join(self.text.lines[first : first + change.height])
        score = similarity("\n".join(change.old)[:_COMPARED], there[:_COMPARED], 0.0)
        return (self._candidate(first, first + change.height, score),)

    def _like(self, old: list[tuple[int, str]]) -> int | None:
        """The row that is most like the longest old line, None if none is."""
        if not old:
            return None
        line = max((line for _, line in old), key=len)
        near = most_similar(line[:_COMPARED], self.text.stripped, _LIKE, 1)
        return near[0][1] if near else None


def _unknown() -> MatchError:
    return MatchError("not_found", "")


def _strip(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def _proves(change: Change) -> bool:
    """Whether the new lines, found in a file, prove that a change was applied."""
    added = [line for hunk in change.changed for line in change.new[hunk.j1 : hunk.j2]]
    if added:
        return any(map(_WORD.search, added))
    around = change.new[: change.head], change.new[change.head :]
    return all(any(map(_WORD.search, lines)) for lines in around)


def _missed(answer: Answer, first: int) -> MatchError:
    """The error of a change that the ladder did not find, or found several times."""
    match = to_match(answer)
    match = match._replace(
        candidates=tuple(
            near._replace(start_line=near.start_line + first, end_line=near.end_line + first)
            for near in match.candidates[: SHOWN if match.spans else NEAREST]
        ),
        spans=tuple(
            span._replace(start_line=span.start_line + first, end_line=span.end_line + first)
            for span in match.spans
        ),
    )
    if match.kind == "ambiguous":
        return MatchError("ambiguous", "several places are alike", match)
    return MatchError("not_found", match.reason or "", match)


def _trimmed(raw: str, splice: Splice, change: Change) -> Splice:
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
