"""Take a file's hunks through all stages, from exact to loose."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from git_boocode.editing.edits import How
from git_boocode.editing.hunks import applied, gaps, nearest, tolerant
from git_boocode.editing.hunks.marks import UNMARKED, lacks_mark, respaced
from git_boocode.editing.hunks.model import Hunk, Near, Refusal, Spot, Window
from git_boocode.editing.hunks.placing import Board, Choice
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import (
    Task,
    allowed,
    direct,
    ends_right,
    exact_places,
    verbatim,
)
from git_boocode.editing.rows import View

BUDGET = 3_000_000
"""So many rows may be searched with tolerance in one call; hunks beyond it are not found."""
MAX_SHOWN = 10
"""So many hunks without a place are looked for to show what the file has instead."""
_STRICT = "exact"


class Found(NamedTuple):
    """The places of a file's hunks, and why the others have none; by index."""

    spots: dict[int, Spot]
    refusals: dict[int, Refusal]


class Search:
    """One run of hunks over one file."""

    def __init__(self, rows: Rows, hunks: tuple[Hunk, ...], how: How, *, same: bool) -> None:
        """`same`: whether the file is known to be the one that the patch was made from."""
        self.rows = rows
        self.how = how
        self.same = same
        self.tasks: list[Task] = [Task(number, hunk) for number, hunk in enumerate(hunks, start=1)]
        self.board = Board(rows, self.tasks)
        self.refusals: dict[int, Refusal] = {}
        self.places: dict[int, list[int]] = {}
        self.budget = BUDGET

    def run(self) -> Found:
        """Find a place for every hunk."""
        self._exact()
        if self.how.profile != _STRICT:
            self._tolerant()
        self._check_repeats()
        for number, index in enumerate(self._open()):
            # A message names the first few, and each may have as many places as the file has rows.
            told = number < MAX_SHOWN
            self.refusals[index] = self._unplaced(index) if told else Refusal("not_found", "")
        self._show()
        return Found(self.board.spots, self.refusals)

    def _show(self) -> None:
        """Find what to show of the file for the first hunks whose refusal shows nothing."""
        for index in sorted(self.refusals)[:MAX_SHOWN]:
            refusal = self.refusals[index]
            if refusal.code == "not_found" and not refusal.near and len(self.rows):
                self.refusals[index] = refusal._replace(near=self._nearest(index))

    def _nearest(self, index: int) -> tuple[Near, ...]:
        """What stands where the number points, else what is like the hunk."""
        start = self.board.expected(index, *self.board.neighbours(index))
        start = self.tasks[index].hunk.start if start is None else start
        if start is not None:
            return (nearest.at(self.tasks[index], self.rows, start),)
        self.budget -= len(self.rows)
        return nearest.alike(self.tasks[index], self.rows) if self.budget >= 0 else ()

    def _exact(self) -> None:
        places = {
            index: exact_places(task, self.rows, same=self.same)
            for index, task in enumerate(self.tasks)
        }
        self.places = {index: rows for index, rows in places.items() if rows}
        Choice(self.board, self.places, self._direct).settle()

    def _direct(self, index: int, row: int) -> Spot:
        return direct(self.tasks[index], self.rows, row)

    def _open(self) -> list[int]:
        return [index for index in self.board.open() if index not in self.refusals]

    def _tolerant(self) -> None:
        waiting = [index for index in self._open() if index not in self.places]
        waiting = [index for index in waiting if self.tasks[index].old]
        for index in waiting:
            self._respace(index)
        self._blanks_aside(self._still(waiting))
        for index in self._still(waiting):
            self._check_applied(index)
        for index in self._still(waiting):
            if not self.tasks[index].hunk.exact:
                self._loosely(index)
        # What stands in several places may have one between the neighbours that came later.
        Choice(self.board, self.places, self._direct).settle()

    def _still(self, waiting: list[int]) -> list[int]:
        done = self.board.spots.keys() | self.refusals.keys() | self.places.keys()
        return [index for index in waiting if index not in done]

    def _check_applied(self, index: int) -> None:
        found = applied.is_applied(self.tasks[index], self.rows, *self._bounds(index))
        if found is not None:
            self.refusals[index] = _applied(*found)

    def _bounds(self, index: int) -> tuple[int, int]:
        return self.board.bounds(*self.board.neighbours(index))

    def _respace(self, index: int) -> None:
        task = self.tasks[index]
        spaced = None if task.hunk.exact else respaced(task, self.rows)
        if spaced is None:
            return
        places = exact_places(spaced, self.rows, same=self.same)
        lacking = lacks_mark(task, spaced, self.rows)
        if lacking is None:
            near = tuple(Near(row, row + len(task.old), 1.0) for row in places)
            self.refusals[index] = UNMARKED._replace(near=near)
        if not lacking:
            return
        self.tasks[index] = spaced
        if places:
            self.places[index] = places
            Choice(self.board, {index: places}, self._direct).settle()

    def _blanks_aside(self, waiting: list[int]) -> None:
        places: dict[int, list[int]] = {}
        for index in waiting:
            task = self.tasks[index]
            if applied.only_blanks(task):
                self._check_applied(index)
            elif not task.hunk.exact and tolerant.bears_blanks(task, self.how.profile):
                found = self.rows.stripped.find([line.strip() for line in task.old])
                places[index] = allowed(task, self.rows, found)
        Choice(self.board, places, self._blank_spot).settle()

    def _blank_spot(self, index: int, row: int) -> Spot:
        task, stop = self.tasks[index], row + len(self.tasks[index].old)
        places, spot = range(row, stop), Spot(row, stop, (), "whitespace")
        found = tolerant.refitted(self.rows, task, places, spot, self.how)
        if isinstance(found, Spot):
            return found
        # It is refused, but its neighbours may go by its place.
        self.refusals[index] = found
        return verbatim(task, self.rows, places, spot)

    def _loosely(self, index: int) -> None:
        """The matcher, then lines that the hunk or the file lacks."""
        window = self._window(index)
        self.budget -= window.stop - window.first
        if self.budget < 0:
            self.refusals[index] = Refusal(
                "not_found",
                "too many hunks differ to look closely",
                hint="read the file again, and send fewer hunks at once",
            )
            return
        if self.tasks[index].old == self.tasks[index].new:
            self.refusals[index] = Refusal("not_found", "the file has other line endings")
            return
        found = self._left_out(index, window)
        if found is None:
            found = tolerant.matched(self.tasks[index], self.rows, window, self.how)
        if isinstance(found, Refusal) and found.code == "not_found":
            found = self._dropped(index, window) or found
        if isinstance(found, Spot) and not ends_right(self.tasks[index], self.rows, found.stop):
            near = (Near(found.first, found.stop, found.similarity),)
            found = Refusal("not_found", "it must stand at the end of the file", near)
        if isinstance(found, Refusal):
            self.refusals[index] = found
        else:
            self.board.put(index, found)

    def _window(self, index: int) -> Window:
        task, neighbours = self.tasks[index], self.board.neighbours(index)
        first, stop = self.board.bounds(*neighbours)
        if task.hunk.within:
            first = max(first, self.rows.below(task.hunk.sections) or 0)
        return Window(first, stop, self.board.expected(index, *neighbours))

    def _left_out(self, index: int, window: Window) -> Spot | Refusal | None:
        """Lines of the file that the hunk lacks; stricter than the matcher, so it goes first."""
        return self._but_for_lines(gaps.left_out, self.tasks[index], window)

    def _dropped(self, index: int, window: Window) -> Spot | Refusal | None:
        """Lines of the hunk that the file lacks."""
        return self._but_for_lines(gaps.dropped, self.tasks[index], window)

    def _but_for_lines(
        self,
        places: Callable[[Task, Rows, View, Window], list[gaps.Standing]],
        task: Task,
        window: Window,
    ) -> Spot | Refusal | None:
        """The one place where a hunk stands but for some lines, blanks at line ends aside."""
        found = places(task, self.rows, self.rows.rstripped, window)
        if not found and tolerant.bears_blanks(task, self.how.profile):
            found = places(task, self.rows, self.rows.stripped, window)
        if len(found) > 1:
            near = tuple(Near(one.spot.first, one.spot.stop, one.spot.similarity) for one in found)
            return Refusal("ambiguous", f"it stands in {len(found)} places", near)
        return tolerant.refitted(self.rows, *found[0], self.how) if found else None

    def _check_repeats(self) -> None:
        """Refuse what brings lines that stand beside the place already."""
        for index, spot in self.board.spots.items():
            if not self.same and applied.repeats(self.tasks[index], spot, self.rows):
                self.refusals[index] = _applied(spot.first, spot.stop)

    def _unplaced(self, index: int) -> Refusal:
        """Why a hunk without a place, and without a reason yet, has none."""
        task, places = self.tasks[index], self.places.get(index, [])
        near = tuple(Near(row, row + len(task.old), 1.0) for row in places)
        if not task.old:
            return self._unanchored(task)
        if not places:
            return Refusal("not_found", "")
        above, below = self.board.neighbours(index)
        first, stop = self.board.bounds(above, below)
        inside = [one for one in near if first <= one.first + task.core[0]]
        inside = [one for one in inside if one.first + task.core[1] <= stop]
        if len(inside) > 1:
            return Refusal("ambiguous", f"it stands in {len(inside)} places", tuple(inside))
        return self._disordered(near, above, below)

    def _disordered(self, near: tuple[Near, ...], above: int | None, below: int | None) -> Refusal:
        """A hunk that stands in the file, but not between its neighbours."""
        for index in (above, below):
            if index is None:
                continue
            first, stop = self.board.spots[index].core
            if any(one.first < stop and first < one.stop for one in near):
                return Refusal("overlap", f"it overlaps hunk {index + 1}", near)
        side = "above" if above is not None else "below"
        number = (above if above is not None else below or 0) + 1
        return Refusal(
            "not_found",
            f"it stands only {side} hunk {number}, so the hunks are out of order",
            near,
            "put the hunks into the order in which they stand in the file",
        )

    def _unanchored(self, task: Task) -> Refusal:
        if task.hunk.start == 0 and len(self.rows):
            return Refusal("exists", "it is for an empty file, but the file has content")
        return Refusal(
            "not_found",
            "it has no line of the file to go by, and a line number proves nothing",
            hint="add the unchanged lines above and below as context, each behind a blank",
        )


def _applied(first: int, stop: int) -> Refusal:
    """What to say of a hunk whose outcome stands in the file."""
    near = (Near(first, stop, 1.0),)
    hint = "read the file again; leave out what it has already"
    return Refusal("not_found", "it seems to be applied already", near, hint)
