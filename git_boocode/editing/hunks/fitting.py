"""Carry what a hunk brings onto the rows that its old lines stand for.

The hunk's own marks say which lines stay, go and come, so nothing is compared anew: what stays
keeps the file's bytes, what goes is gone, what comes is given the file's indentation. A line that
comes for a similar one that goes is merged with the file's line, as the matcher does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from git_boocode.editing.hunks.model import Spot, Step
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Task, changes_at
from git_boocode.editing.indentation import Carrier, as_given, carrier
from git_boocode.matching.align import pair_similar
from git_boocode.matching.canonical import plain_in_file
from git_boocode.matching.indent import Style, indent_of, indents, reindented
from git_boocode.matching.merge import merge_line
from git_boocode.matching.refit import notes
from git_boocode.matching.text import split_ends


def carried(task: Task, rows: Rows, places: Sequence[int], spot: Spot, *, given: bool) -> Spot:
    """A hunk carried onto some rows.

    Args:
        task: the hunk.
        rows: the file.
        places: the row of each old line, ascending.
        spot: where it belongs, still without changes.
        given: whether its indentation is right as it is.
    """
    fitter = _Fitter(task, rows, places, given=given)
    changes = changes_at(task, rows, places, fitter.lines)
    return spot._replace(changes=changes, notes=(*spot.notes, *notes(fitter.done)))


class _Fitter:
    """One hunk on its rows."""

    def __init__(self, task: Task, rows: Rows, places: Sequence[int], *, given: bool) -> None:
        self.rows = [rows.exact.keys[row] for row in places]
        self.old, self.new = self._plain(task)
        self.trims = any(
            _trails(line) and not _trails(mine)
            for line, mine in zip(self.old, self.rows, strict=True)
        )
        self.moved = _moved(self.old, task.steps)
        self.done: Counter[str] = Counter()
        self.indent = as_given if given else self._indenter(rows, places)
        self._count_drift(task)

    def _plain(self, task: Task) -> tuple[list[str], list[str]]:
        """Old and new lines, in which what only the hunk writes fancily is as plain as the file."""
        pairs = [
            (line.strip(), mine.strip())
            for line, mine in zip(task.old, self.rows, strict=True)
            if not line.isascii()
        ]
        table = plain_in_file(pairs) if pairs else {}
        if not table:
            return task.old, task.new
        return [line.translate(table) for line in task.old], [
            line.translate(table) for line in task.new
        ]

    def _indenter(self, rows: Rows, places: Sequence[int]) -> Carrier:
        pairs = [
            (indent_of(line), indent_of(mine))
            for line, mine in zip(self.old, self.rows, strict=True)
            if line.strip() and mine.strip()
        ]
        near = rows.near(places[0], places[-1] + 1)
        return carrier(pairs, Style(indents([*self.old, *self.new]), indents(near)))

    def _count_drift(self, task: Task) -> None:
        stays = (line.op == " " for line in task.hunk.lines if line.op != "+")
        for kept, line, mine in zip(stays, self.old, self.rows, strict=True):
            self.done["drifted"] += kept and line != mine

    def lines(self, step: Step) -> Iterator[str]:
        """What takes the place of the old lines of a step."""
        partners = self._partners(step)
        for index in range(step.j1, step.j2):
            partner = partners.get(index)
            if partner is None or not self.rows[partner].strip():
                yield self._fresh(index)
            else:
                yield self._changed(index, partner)

    def _partners(self, step: Step) -> dict[int, int]:
        """For lines that come the line that goes of which each is a version, or which it is."""
        old = [line.strip() for line in self.old[step.i1 : step.i2]]
        new = [line.strip() for line in self.new[step.j1 : step.j2]]
        pairs = {step.j1 + j: step.i1 + i for i, j in pair_similar(old, new)}
        return pairs | {
            step.j1 + j: self.moved[line] for j, line in enumerate(new) if line in self.moved
        }

    def _fresh(self, index: int) -> str:
        line = self.new[index].rstrip() if self.trims else self.new[index]
        if not line:
            return line
        given = indent_of(line)
        wanted = self.indent(given, index == 0)
        self.done["reindented"] += wanted != given
        return reindented(line, wanted)

    def _changed(self, index: int, partner: int) -> str:
        mine, old = split_ends(self.rows[partner]), split_ends(self.old[partner])
        new = split_ends(self.new[index])
        indent = mine[0] if new[0] == old[0] else self.indent(new[0], index == 0)
        body = merge_line(mine[1], old[1], new[1])
        # Trailing blanks that the file lacks say nothing, unless they alone are what changes.
        drifted = self.trims and new[:2] != old[:2]
        trail = mine[2] if drifted or new[2] == old[2] else new[2]
        self.done["reindented"] += indent != new[0]
        self.done["changed"] += body + trail != new[1] + new[2]
        return indent + body + trail


def _moved(old: Sequence[str], steps: Sequence[Step]) -> dict[str, int]:
    """The lines, stripped, that go in one place only, and where that is."""
    gone = [(old[index].strip(), index) for step in steps for index in range(step.i1, step.i2)]
    counts = Counter(line for line, _ in gone)
    return {line: index for line, index in gone if line and counts[line] == 1}


def _trails(line: str) -> bool:
    """Whether a line ends in blanks."""
    return line[-1:].isspace()
