"""Place several changes of one text jointly: the matcher finds places, their order decides.

The changes are in the order of the text and do not overlap, so a change with only one place
restricts the places of the others. All are located in the original text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from git_boocode.matching.align import Hunk, LineIndex, script
from git_boocode.matching.already_applied import THERE, applied_rows
from git_boocode.matching.ladder import SHOWN, LadderAnswer, climb, to_match
from git_boocode.matching.replace import Splice, splice_for
from git_boocode.matching.rungs import Profile
from git_boocode.matching.search import Query, Sections, most_like
from git_boocode.matching.text import Text, common_prefix, lines_of
from git_boocode.matching.types import (
    SHOWN_TEXT,
    Candidate,
    Code,
    Found,
    Match,
    MatchError,
    Occurrence,
)

LOOSE_WORK = 3_000_000  # maximum number of rows that tolerant searches visit in one text
_LISTED = 100  # maximum number of listed places of an ambiguous change
_WORD = re.compile(r"\w")


class Placement(NamedTuple):
    """The place of a change: it matches rows ``first`` to ``stop``, and changes ``core``."""

    first: int
    stop: int
    core: tuple[int, int]
    splice: Splice
    rung: str = "exact"
    similarity: float = 1.0
    notes: tuple[str, ...] = ()


class _PlacedChange:
    """A change and the first ``rows`` of its equally good places, ascending, from ``lowest`` on.

    ``left`` are the indexes of the places that are still possible, ``near`` the nearest placed
    changes above and below. If the old lines do not occur exactly, ``answer`` and ``place`` are the
    matcher's result.
    """

    def __init__(self, number: int, query: Query) -> None:
        self.number = number
        self.query = query
        self.hints = query.hints
        self.new_text = query.new or Text("")
        self.old, self.new = query.needle.lines, self.new_text.lines
        self.height = len(self.old)
        self.script: Sequence[Hunk] = query.hints.script or script(self.old, self.new)
        changed = [hunk for hunk in self.script if not hunk.same]
        self.head = changed[0].i1
        self.tail = self.height - changed[-1].i2
        self.lowest = 0
        self.rows: Sequence[int] = ()
        self.left = range(0)
        self.near: list[_PlacedChange | None] = [None, None]
        self.answer: LadderAnswer | None = None
        self.place: Occurrence | None = None
        self.applied = False

    @property
    def row(self) -> int:
        """The first row of its place, or of the first possible place."""
        return self.rows[self.left[0]]

    def core(self, row: int) -> tuple[int, int]:
        """The changed rows in a place that begins on a row."""
        first = row + self.head
        return first, max(row + self.height - self.tail, first)

    def extent(self, row: int) -> tuple[int, int]:
        """The changed rows as positions: 2 n + 1 is row n, and 2 n the boundary above it.

        Two insertions never share a boundary, because their order would be unknown.
        """
        first, stop = self.core(row)
        return (2 * first, 2 * first + 1) if first == stop else (2 * first + 1, 2 * stop)

    def between(self, start: int, end: int) -> range:
        """The indexes of the places between two positions."""
        # An extent moves by two positions per row.
        first, last = self.extent(0)
        at = bisect_left(self.rows, (start - first + 1) // 2)
        return range(at, bisect_right(self.rows, (end - last) // 2))


def place_changes(
    queries: Sequence[Query], profile: Profile, *, verbatim: bool
) -> list[Placement | MatchError]:
    """Place changes of one text, in its order; returns the place or the error for each.

    All queries share one ``text``, which ends in a newline; they match whole lines, and all have a
    change. Hints decide between places; a line hint is adjusted by the offset of its neighbours.
    Among other changes, one that is already there has the rung ``already_applied`` and no effect.
    """
    return _Sequence(queries, profile, verbatim=verbatim).run() if queries else []


class _Sequence:
    def __init__(self, queries: Sequence[Query], profile: Profile, *, verbatim: bool) -> None:
        self.text = queries[0].text
        self.end = 2 * len(self.text.lines) + 1
        self.profile = profile
        self.verbatim = verbatim
        self.changes = [_PlacedChange(number, query) for number, query in enumerate(queries)]
        self.found: dict[int, Placement | MatchError] = {}
        self.lines = LineIndex(self.text.lines)
        self._above: _PlacedChange | None = None
        self._loose_work = LOOSE_WORK
        self._written = 0

    def run(self) -> list[Placement | MatchError]:
        self._each(self._find_exactly)
        self._resolve()
        if self.profile.name != "exact":
            self._each(self._find_loosely)
            self._resolve()
        # Limited to what a message shows, because each may have as many places as rows.
        for change in [one for one in self._open() if len(one.left) != 1][:SHOWN]:
            self.found[change.number] = self._unplaced(change)
        self._each(self._write)
        missed = MatchError("not_found", "")
        found = [(change, self.found.get(change.number, missed)) for change in self.changes]
        failed = [(change, error) for change, error in found if isinstance(error, MatchError)]
        # Candidates are not shown for a failure of the strict rungs only.
        for change, error in failed[: SHOWN * bool(self.profile.steps[self.profile.strict :])]:
            error.candidates = error.candidates or self._nearest(change)
        placed = [one for _, one in found if isinstance(one, Placement)]
        if len(placed) == len(found) and {one.rung for one in placed} == {"already_applied"}:
            return [self._refused(one.first, one.stop, THERE, "already_applied") for one in placed]
        return [one for _, one in found]

    def _open(self) -> Iterator[_PlacedChange]:
        return (change for change in self.changes if change.number not in self.found)

    def _each(self, step: Callable[[_PlacedChange], None]) -> None:
        for change in self._open():
            try:
                step(change)
            except MatchError as error:  # noqa: PERF203  # one error must not hide the others
                self.found[change.number] = error
                change.left = range(0)

    # Places that are equally good

    def _find_exactly(self, change: _PlacedChange) -> None:
        hints, needle, text = change.hints, change.query.needle, self.text
        lowest = change.lowest = (
            text.once(Sections).check(hints.sections) if hints.line is None else 0
        )
        line, end = (hints.line or 0) - 1, len(text.lines)
        rows = self.lines.find(change.old)
        if not change.old:
            # Without old lines, only an empty text, its end or a proven line is certain.
            proven = [line] if hints.proven and 0 < line <= end else []
            rows = [end] if hints.at_end or not end else proven
        elif needle.lf == change.new_text.lf and not hints.at_end:
            # A change of line endings only must match the endings.
            parts = needle.parts[:-1]
            rows = [row for row in rows if text.parts[row : row + change.height] == parts]
        if hints.at_end:
            lowest = max(lowest, text.core.stop - change.height)
            if rows and rows[-1] < lowest:
                why = "it occurs only above the end of the file"
                raise self._refused(rows[-1], rows[-1] + change.height, why)
        rows = rows[bisect_left(rows, lowest) :]
        change.rows = [line] if hints.proven and line in rows else rows
        change.left = range(len(change.rows))

    def _find_loosely(self, change: _PlacedChange) -> None:
        """Find a change with tolerance, in the rows between its neighbours."""
        change.near[0] = self._above
        if not change.rows and change.old and not change.hints.strict:
            answer = self._climb(change)
            if answer.found.places:
                change.answer, change.place = answer, _sole(answer, change.height)
                first = self.text.raw[: change.place.start].count("\n")
                rows = change.place.rows or (first, first + change.height)
            else:
                self._loose_work -= len(self.text.lines)
                there = applied_rows(answer.query)
                if there is None:
                    raise MatchError("not_found", answer.found.reason or "")
                rows, first, change.applied = there, there[0], True
            change.rows, change.left, change.height = [first], range(1), rows[1] - first
        if len(change.left) == 1:
            self._above = change

    def _climb(self, change: _PlacedChange) -> LadderAnswer:
        """The matcher's answer for the rows between the neighbours."""
        text, line, query = self.text, self._expected(change), change.query
        above, below = change.near
        first = max(above.core(above.row)[1] if above else 0, change.lowest)
        stop = below.core(below.row)[0] if below else len(text.lines)
        if change.hints.at_end and below:
            first = stop
        self._loose_work -= stop - first
        if self._loose_work < 0:
            raise MatchError(
                "not_found",
                "too many changes differ from the file to compare them all: "
                "read it again, and send fewer changes at once",
            )
        line = None if line is None else line - first + 1
        hints, offset, piece = change.hints._replace(line=line), 0, text
        if (first, stop) != (0, len(text.lines)):
            # A piece may lack one of several sections with the same name.
            hints, offset = hints._replace(sections=()), text.start_of(first)
            piece = Text(text.raw[offset : text.start_of(stop)])
        narrow = Query(piece, query.needle.raw, change.new_text.raw, whole_lines=True, hints=hints)
        answer = climb(narrow, self.profile)
        if (variant := answer.query) is not narrow:
            query = query.variant(variant.needle.raw, variant.new.raw if variant.new else "")

        def moved(place: Occurrence) -> Occurrence:
            lines = place.lines and tuple(
                (start + first, end + first) for start, end in place.lines
            )
            rows = place.rows and (place.rows[0] + first, place.rows[1] + first)
            start, end = place.start + offset, place.end + offset
            return place._replace(start=start, end=end, rows=rows, lines=lines)

        places = tuple(map(moved, answer.found.places))
        return answer._replace(query=query, found=answer.found._replace(places=places))

    # Choosing between places

    def _resolve(self) -> None:
        """Restrict the places of each change by the order of all, and then by its hints."""
        named = self.changes
        while named:
            self._sweep(upward=False)
            self._sweep(upward=True)
            chosen = {change: self._named(change) for change in self._open()}
            named = [change for change in chosen if chosen[change]]
            for change in named:
                change.left = chosen[change]

    def _sweep(self, *, upward: bool) -> None:
        """Restrict changes to places below the change above, or, upward, above the one below."""
        position, near = self.end if upward else 0, None
        for change in self.changes[:: -1 if upward else 1]:
            change.near[upward] = near
            if not change.left:
                continue
            room = change.between(0, position) if upward else change.between(position, self.end)
            left = range(max(change.left[0], room.start), min(change.left[-1] + 1, room.stop))
            if not left:
                self.found[change.number] = self._misplaced(change, near)
            else:
                position = change.extent(change.rows[left[-1 if upward else 0]])[not upward]
                near = change if len(left) == 1 else near
            change.left = left

    def _named(self, change: _PlacedChange) -> range:
        """The index of the place on which line and section agree, if several are possible."""
        left, sections = change.left, change.hints.sections
        if len(left) < 2:
            return range(0)
        rows = (change.rows[at] for at in left)
        sole = self.text.once(Sections).sole(sections, rows) if sections else None
        hinted = {row for row in (self._expected(change), sole) if row is not None}
        # All places have the same height, so only the one on the row fits into its extent.
        numbers = chain(*(change.between(*change.extent(row)) for row in hinted))
        named = [at for at in numbers if at in left]
        return range(named[0], named[0] + 1) if len(named) == 1 else range(0)

    def _expected(self, change: _PlacedChange) -> int | None:
        """The row of a change's line hint, adjusted by its neighbours' offset; None if unclear."""
        near = [(one.row, one.hints.line) for one in change.near if one]
        offsets = {row - line + 1 for row, line in near if line is not None}
        if change.hints.line is None or len(offsets) > 1:
            return None
        return change.hints.line - 1 + sum(offsets)

    # Writing

    def _repeats(self, change: _PlacedChange) -> bool:
        """Whether lines that are added without context on one side are already there."""
        more = len(change.new) - len(change.old)
        if more <= 0 or change.hints.proven:
            return False
        there, new, row = self.text.stripped, change.new_text.stripped, change.row
        starts = [row] * (not change.tail) + [max(row - more, 0)] * (not change.head)
        beside = any(there[start : start + len(new)] == new for start in starts)
        came = (change.new[hunk.j1 : hunk.j2] for hunk in change.script if not hunk.same)
        return beside and any(map(_WORD.search, chain(*came)))

    def _write(self, change: _PlacedChange) -> None:
        if len(change.left) != 1:
            return
        row, answer, place = change.row, change.answer, change.place
        stop, likeness, notes = row + change.height, 1.0, tuple[str, ...]()
        applied = change.applied or self._repeats(change)
        if applied:
            splice = Splice(self._written, self._written, "")
        elif answer is None or place is None or self.verbatim:
            if change.height != len(change.old):
                raise self._refused(row, stop, "the file has a different number of lines there")
            splice = self._as_marked(change)
        else:
            splice, notes = splice_for(answer, place, row)
            if any(note.startswith("replaced") for note in notes):
                raise self._refused(row, stop, "it would delete other lines of the file")
            applied = splice.text == self.text.raw[splice.start : splice.end]
            splice, likeness = _trimmed(self.text.raw, splice), place.similarity
        # The matcher may write to more than the changed rows.
        if splice.start < self._written:
            raise self._refused(row, stop, "it overlaps the hunk above", "overlap")
        self._written = splice.end
        rung = (answer and answer.rung) or "exact"
        if applied:
            rung, where = "already_applied", lines_of(row + 1, max(stop, row + 1))
            notes = (f"{THERE}, at {where}",)
        found = Placement(row, stop, change.core(row), splice, rung, likeness, notes)
        self.found[change.number] = found

    def _as_marked(self, change: _PlacedChange) -> Splice:
        """The splice for a change whose old lines match row by row; new lines are unchanged."""
        text, row, (start, end) = self.text, change.row, change.core(change.row)
        there = text.parts[row : row + change.height]
        exact = change.old and there == change.query.needle.parts[:-1]
        new = change.new_text.parts if exact else change.new
        pieces: list[str] = []
        for hunk in change.script:
            first, stop = max(row + hunk.i1, start), min(row + hunk.i2, end)
            if not hunk.same:
                ending = "\n" if exact else text.ending(max(stop - 1, 0)) or text.usual_ending
                pieces += [line + ending for line in new[hunk.j1 : hunk.j2]]
            else:
                pieces.append(text.raw[text.start_of(first) : text.start_of(stop)])
        return Splice(text.start_of(start), text.start_of(end), "".join(pieces))

    # Errors

    def _unplaced(self, change: _PlacedChange) -> MatchError:
        if not change.rows:
            why = "" if change.old else "it has no context lines"
            return MatchError("not_found", why)
        start_of, rows = self.text.start_of, change.rows[change.left.start : change.left.stop]
        ends = ((start_of(row), start_of(row + change.height)) for row in rows[:_LISTED])
        found = Found(tuple(Occurrence(*both) for both in ends))
        match = to_match(LadderAnswer(change.query, "exact", found, None))._replace(count=len(rows))
        return MatchError("ambiguous", f"it occurs {len(rows)} times", match)

    def _misplaced(self, change: _PlacedChange, near: _PlacedChange | None) -> MatchError:
        """The error for a change without a possible place next to ``near``, a placed change."""
        first, stop = change.row, change.row + change.height
        if near:
            start, end = near.extent(near.row)
            apart = len(change.between(0, start)) + len(change.between(end, self.end))
            if apart < len(change.rows):
                why = f"it overlaps hunk {near.number + 1}"
                return self._refused(first, stop, why, "overlap")
        why = "it occurs only elsewhere, so the hunks are out of order"
        return self._refused(first, stop, why)

    def _refused(self, first: int, stop: int, message: str, code: Code = "not_found") -> MatchError:
        stop = min(max(stop, first + 1), len(self.text.lines))
        shown = self.text.rows_text(first, stop)[:SHOWN_TEXT] if first < stop else ""
        near = Candidate(first + 1, stop, 1.0, shown)
        return MatchError(code, message, Match("not_found", candidates=(near,)))

    def _nearest(self, change: _PlacedChange) -> tuple[Candidate, ...]:
        """The text most similar to a change, the rows of its line hint, or a similar line."""
        match, line = to_match(LadderAnswer(change.query, None, Found(), None)), change.hints.line
        if match.candidates or not self.text.lines:
            return match.candidates
        longest = max(change.query.needle.stripped, key=len, default="")
        near = most_like(self.text, longest)
        if line is not None:
            row = max(min(line, len(self.text.lines)) - 1, 0)
            near = self._refused(row, row + change.height, "").candidates
        return tuple(one._replace(similarity=0.0) for one in near)


def _sole(answer: LadderAnswer, height: int) -> Occurrence:
    """The chosen place; of equal ones, the one with all leading and trailing blank lines."""
    places = answer.found.places
    if answer.chosen is not None:
        return places[answer.chosen]
    whole = [one for one in places if one.rows and one.rows[1] - one.rows[0] == height]
    if not answer.found.equal or len(whole) != 1:
        raise MatchError("ambiguous", "several places are similar", to_match(answer))
    return whole[0]


def _trimmed(raw: str, splice: Splice) -> Splice:
    old, new = raw[splice.start : splice.end], splice.text
    head = old[: common_prefix(old, new)].rfind("\n") + 1
    old, new = old[head:], new[head:]
    same = common_prefix(old[::-1], new[::-1])
    tail = same and len(old[-same:].partition("\n")[2])
    stop = len(new) - tail
    return Splice(splice.start + head, splice.end - tail, new[:stop])
