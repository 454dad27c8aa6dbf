"""Find the place of every hunk of a file: the unique ones first, then the others between them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence

from git_boocode.editing.hunks.model import Spot
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Core, Task


class Board:
    """Which hunks have a place already, and which rows that leaves to the others.

    Attributes:
        rows: the file.
        tasks: its hunks, in order.
        spots: the places found so far, by the index of the task.
    """

    def __init__(self, rows: Rows, tasks: Sequence[Task]) -> None:
        self.rows = rows
        self.tasks = tasks
        self.spots: dict[int, Spot] = {}
        self._placed: list[int] = []

    def open(self) -> list[int]:
        """The indexes of the tasks without a place."""
        return [index for index in range(len(self.tasks)) if index not in self.spots]

    def put(self, index: int, spot: Spot) -> None:
        """Give a task its place."""
        self.spots[index] = spot
        insort(self._placed, index)

    def neighbours(self, index: int) -> tuple[int | None, int | None]:
        """The nearest tasks with a place above and below a task without one."""
        placed = self._placed
        at = bisect_left(placed, index)
        return placed[at - 1] if at else None, placed[at] if at < len(placed) else None

    def bounds(self, above: int | None, below: int | None) -> tuple[int, int]:
        """The rows between two placed tasks."""
        first = 0 if above is None else self.spots[above].core[1]
        stop = len(self.rows) if below is None else self.spots[below].core[0]
        return first, stop

    def offset(self, above: int | None, below: int | None) -> int | None:
        """How far from its number a hunk between two placed tasks stands; None if they disagree."""
        found = {self._shift(index) for index in (above, below) if index is not None}
        found.discard(None)
        return found.pop() if len(found) == 1 else None if found else 0

    def _shift(self, index: int) -> int | None:
        start = self.tasks[index].hunk.start
        return None if start is None else self.spots[index].first - start

    def expected(self, index: int, above: int | None, below: int | None) -> int | None:
        """The row at which the numbers say that a task stands; None if they do not."""
        start, offset = self.tasks[index].hunk.start, self.offset(above, below)
        return None if start is None or offset is None else start + offset


class Choice:
    """The rows at which each of some tasks may stand, and how a spot is made of one."""

    def __init__(
        self, board: Board, places: dict[int, list[int]], spot: Callable[[int, int], Spot]
    ) -> None:
        self.board = board
        self.places = places
        self.spot = spot

    def settle(self) -> None:
        """Place what is unique, then what the order of the hunks forces, then by numbers."""
        self._put_all([(index, rows[0]) for index, rows in self.places.items() if len(rows) == 1])
        while self._put_all(self._forced()) or self._put_all(self._pointed()):
            pass

    def between(self, index: int, above: int | None, below: int | None) -> tuple[int, int]:
        """Which of a task's places, from the first number to the last, its neighbours leave."""
        spots = self.board.spots
        return (
            0 if above is None else self._after(index, spots[above].core),
            len(self.places[index]) if below is None else self._before(index, spots[below].core),
        )

    def _has(self, index: int, row: int, low: int, high: int) -> bool:
        """Whether a row is one of some of a task's places."""
        at = bisect_left(self.places[index], row, low, max(low, high))
        return at < high and self.places[index][at] == row

    def _after(self, index: int, core: Core) -> int:
        """The number of the first place of a task that lies below some changed rows."""
        start, end = self.board.tasks[index].core
        # Of two insertions at one row nobody knows which goes first.
        same = start == end and core[0] == core[1]
        return bisect_left(self.places.get(index, ()), core[1] - start + same)

    def _before(self, index: int, core: Core) -> int:
        """How many places of a task lie above some changed rows."""
        start, end = self.board.tasks[index].core
        same = start == end and core[0] == core[1]
        return bisect_right(self.places.get(index, ()), core[0] - end - same)

    def _forced(self) -> list[tuple[int, int]]:
        """The tasks that have one place only in any order-keeping choice of places for all.

        No choice puts a task above the first place that those above it leave, nor below the last
        one that those below it leave.
        """
        first, last = self._firsts(), self._lasts()
        return [(index, row) for index, row in first.items() if last.get(index) == row]

    def _firsts(self) -> dict[int, int]:
        found: dict[int, int] = {}
        above: Core = (-1, 0)
        for index, task in enumerate(self.board.tasks):
            at = self._after(index, above)
            if index in self.board.spots:
                above = self.board.spots[index].core
            elif at < len(self.places.get(index, ())):
                found[index] = self.places[index][at]
                above = task.core_at(found[index])
        return found

    def _lasts(self) -> dict[int, int]:
        found: dict[int, int] = {}
        below: Core = (len(self.board.rows), len(self.board.rows) + 1)
        for index in range(len(self.board.tasks) - 1, -1, -1):
            count = self._before(index, below)
            if index in self.board.spots:
                below = self.board.spots[index].core
            elif count:
                found[index] = self.places[index][count - 1]
                below = self.board.tasks[index].core_at(found[index])
        return found

    def _pointed(self) -> list[tuple[int, int]]:
        """The tasks with several places of which their numbers or sections name one."""
        found: list[tuple[int, int]] = []
        for index in self.places:
            if index not in self.board.spots:
                row = self._named(index, *self.board.neighbours(index))
                if row is not None:
                    found.append((index, row))
        return found

    def _put_all(self, found: Sequence[tuple[int, int]]) -> bool:
        """Place tasks that were chosen side by side, unless they get in each other's way."""
        put = False
        for index, row in found:
            if self._has(index, row, *self.between(index, *self.board.neighbours(index))):
                self.board.put(index, self.spot(index, row))
                put = True
        return put

    def _named(self, index: int, above: int | None, below: int | None) -> int | None:
        """The one of several places to which the number points, else the section.

        Where they contradict each other, a neighbour must vouch for the numbers.
        """
        low, high = self.between(index, above, below)
        if high - low < 2:
            return None
        expected = self.board.expected(index, above, below)
        alone = above is None and below is None
        if expected is None or not self._has(index, expected, low, high):
            return self._sole(index, low, high)
        if alone and self._sole(index, low, high) not in (None, expected):
            return None
        return expected

    def _sole(self, index: int, low: int, high: int) -> int | None:
        """The one of some places that lies in the sections of a hunk, if it is but one."""
        sections, places = self.board.tasks[index].hunk.sections, self.places[index]
        if not sections:
            return None
        rows = self.board.rows
        blocks = rows.inside(sections)
        sole: int | None = None
        at = max(0, bisect_right(blocks, (places[low], len(rows))) - 1)
        while at < len(blocks) and blocks[at][0] <= places[high - 1]:
            rows.spend(1)
            first = bisect_left(places, blocks[at][0], low, high)
            count = bisect_left(places, blocks[at][1], first, high) - first
            if count > 1 or (count and sole is not None):
                return None
            sole = places[first] if count else sole
            at += 1
        return sole
