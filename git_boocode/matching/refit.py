"""Apply what the model changed to the file's own lines, instead of pasting its text over them.

The old text is laid beside the file's lines, the new text beside the old. Lines that old and new
share keep the file's bytes; removed lines go; new lines are re-indented to the file; a changed line
is merged with the file's line token by token. Lines of the file that the old text lacks stay,
unless they lie inside what the model replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from git_boocode.matching.align import Hunk, Owned, align_lines, pair_similar, script
from git_boocode.matching.canonical import canonical_line
from git_boocode.matching.doubt import Doubt
from git_boocode.matching.indent import Pair, Reindenter, Style, indent_of, indents, reindented
from git_boocode.matching.merge import carry, merge_line
from git_boocode.matching.text import Text, split_ends

_NEAR = 200
"""Lines above and below a place that are asked how the file indents."""


class Line(NamedTuple):
    """A line of the result. ``ending`` None: whatever its neighbours in the file have."""

    text: str
    ending: str | None = None


class Patch(NamedTuple):
    """The text to put in a place, and what was done on the way, counted by kind of note.

    ``doubt`` is the row of a line that the old text lacks where new lines come in, so that nobody
    knows whether they belong above or below it; None if there is none.
    """

    text: str
    done: Counter[str]
    doubt: int | None = None


_COUNTED = (
    ("kept", "drifted"),
    ("merged", "changed"),
    ("kept", "forgotten"),
    ("kept", "elided"),
)


def notes(done: Counter[str]) -> tuple[str, ...]:
    """The notes of an edit, in this order, with these words.

    ``reindented`` – new or changed lines got another indentation than the model gave them
    ``kept N drifted lines`` – shared lines on which the file differs from the model's old text
    ``merged N changed lines`` – changed lines on which some of the file's own characters stayed
    ``kept N forgotten lines`` – lines of the file, among those matched, that the old text lacks
    ``kept N elided lines`` – lines of the file for which old and new have a line like ``...``

    Before them stands, in this order, what was taken back in old and new text alike before they
    were matched (see ``rewrites``): ``code fence stripped``, ``quote prefix stripped``,
    ``line numbers stripped``, ``unescaped``, ``entities decoded``.
    """
    found = ["reindented"] if done["reindented"] else []
    for verb, what in _COUNTED:
        if count := done[what]:
            found.append(f"{verb} {count} {what} line{'s' if count > 1 else ''}")
    return tuple(found)


def _moved(old: Sequence[str], hunks: Sequence[Hunk]) -> dict[str, int]:
    """The lines, stripped, that the change takes away in one place only, and where that is."""
    gone = [(old[i].strip(), i) for hunk in hunks if not hunk.same for i in range(hunk.i1, hunk.i2)]
    counts = Counter(line for line, _ in gone)
    return {line: index for line, index in gone if line and counts[line] == 1}


class Refit:
    """One old and new text, ready to be carried onto any number of places of a file."""

    def __init__(
        self,
        text: Text,
        old: Sequence[str],
        new: Sequence[str],
        silent: frozenset[int] = frozenset(),
    ) -> None:
        """``silent`` are the lines of ``old`` that say nothing about the model's indentation."""
        self.text = text
        self.silent = silent
        self.old = old
        self.new = new
        self.hunks = script(old, new)
        self.keys = [canonical_line(line.strip()) for line in old]
        self.moved = _moved(old, self.hunks)
        self.doubt = Doubt([x.strip() for x in old], [x.strip() for x in new], self.hunks)

    def lines(self, first: int, stop: int) -> Patch:
        """Carry the change onto whole rows ``first`` to ``stop`` (exclusive)."""
        rows = self.text.lines[first:stop]
        owned = align_lines(self.keys, self.text.canonical[first:stop])
        walk = _Walk(self, rows, first, owned, self._reindenter(rows, first, owned))
        walk.trims = any(map(_trails, self.old)) and self._overhangs(rows, owned)
        patch = self._joined(walk, self.text.ending(stop - 1))
        return patch._replace(doubt=self.doubt.row(self.text, first, owned, stop))

    def _overhangs(self, rows: Sequence[str], owned: Sequence[Owned]) -> bool:
        """Whether the old text has trailing blanks on a line where the file has none."""
        return any(
            _trails(line) and own[0] < own[1] and not _trails(rows[own[0]])
            for line, own in zip(self.old, owned, strict=True)
        )

    def segments(self, segments: Sequence[str], first: int, ending: str = "") -> Patch:
        """Carry the change onto as many segments as the old text has, line by line.

        ``segments`` is the file's text split at its line endings, the first and last perhaps part
        of a line only; ``first`` is the row it begins on, ``ending`` what closes the last segment.
        """
        owned = [(index, index + 1) for index in range(len(segments))]
        return self._joined(_Walk(self, segments, first, owned, _as_given), ending)

    def _reindenter(self, rows: Sequence[str], first: int, owned: Sequence[Owned]) -> Reindenter:
        pairs: list[Pair] = [
            (indent_of(line), indent_of(rows[own[0]]))
            for index, (line, own) in enumerate(zip(self.old, owned, strict=True))
            if own[0] < own[1] and line.strip() and rows[own[0]].strip()
            if index not in self.silent
        ]
        near = self.text.lines[max(0, first - _NEAR) : first + len(rows) + _NEAR]
        return Reindenter(pairs, Style(indents([*self.old, *self.new]), indents(near)))

    def _joined(self, walk: _Walk, last: str) -> Patch:
        lines = walk.run()
        if not lines:
            return Patch("", walk.done)
        endings = _filled([line.ending for line in lines], self._usual_ending())
        endings[-1] = last
        pieces = [line.text + ending for line, ending in zip(lines, endings, strict=True)]
        return Patch("".join(pieces), walk.done)

    def _usual_ending(self) -> str:
        raw = self.text.raw
        return "\r\n" if 2 * raw.count("\r\n") > raw.count("\n") else "\n"


def _trails(line: str) -> bool:
    """Whether a line ends in blanks."""
    return line[-1:].isspace()


def _as_given(indent: str, _leading: bool) -> str:
    return indent


def _filled(endings: Sequence[str | None], usual: str) -> list[str]:
    """Endings with each gap filled from the line above, else the line below, else ``usual``."""
    known = next((ending for ending in endings if ending), usual)
    filled = []
    for ending in endings:
        known = ending or known
        filled.append(known)
    return filled


class _Walk:
    """The making of one patch."""

    def __init__(
        self,
        refit: Refit,
        rows: Sequence[str],
        first: int,
        owned: Sequence[Owned],
        indent: Callable[[str, bool], str],
    ) -> None:
        self.refit, self.rows, self.first, self.owned = refit, rows, first, owned
        self.indent = indent
        self.trims = False
        self.done: Counter[str] = Counter()
        self.result: list[Line] = []

    def run(self) -> list[Line]:
        """The lines that take the place of the rows."""
        for step in carry(self.refit.hunks, self.owned, len(self.rows)):
            if step.hunk:
                self._change(step.hunk)
            else:
                self._keep(range(step.first, step.stop), shared=step.shared)
        self._count_drift()
        return self.result

    def _keep(self, rows: range, *, shared: bool) -> None:
        for row in rows:
            self.result.append(Line(self.rows[row], self.refit.text.ending(self.first + row)))
        if not shared:
            self.done["forgotten"] += len(rows)

    def _count_drift(self) -> None:
        for hunk in self.refit.hunks:
            for index in range(hunk.i1, hunk.i2) if hunk.same else ():
                first, stop = self.owned[index]
                mine = self.rows[first:stop]
                self.done["drifted"] += bool(mine) and mine != [self.refit.old[index]]

    def _change(self, hunk: Hunk) -> None:
        partners = self._partners(hunk)
        for index in range(hunk.j1, hunk.j2):
            partner = partners.get(index)
            row = self.owned[partner][0] if partner is not None else None
            if partner is None or row is None or not self.rows[row].strip():
                self.result.append(Line(self._new_line(index), self._ending(hunk, index)))
            else:
                self.result.append(self._changed_line(index, partner, row))

    def _ending(self, hunk: Hunk, index: int) -> str | None:
        """The ending of the line that a line of the new text replaces, if it replaces one."""
        old = hunk.i1 + index - hunk.j1
        if old >= hunk.i2 or self.owned[old][0] == self.owned[old][1]:
            return None
        return self.refit.text.ending(self.first + self.owned[old][0])

    def _partners(self, hunk: Hunk) -> dict[int, int]:
        """For lines of the new text the old line that each is a version of, or was moved from."""
        old = [self.refit.old[index].strip() for index in range(hunk.i1, hunk.i2)]
        new = [self.refit.new[index].strip() for index in range(hunk.j1, hunk.j2)]
        pairs = [(hunk.j1 + j, hunk.i1 + i) for i, j in pair_similar(old, new)]
        moved = self.refit.moved
        pairs += [(hunk.j1 + j, moved[line]) for j, line in enumerate(new) if line in moved]
        return {j: i for j, i in pairs if self.owned[i][0] < self.owned[i][1]}

    def _new_line(self, index: int) -> str:
        line = self.refit.new[index].rstrip() if self.trims else self.refit.new[index]
        given = indent_of(line)
        if not given and not line:
            return line
        wanted = self.indent(given, index == 0)
        self.done["reindented"] += wanted != given
        return reindented(line, wanted)

    def _changed_line(self, index: int, partner: int, row: int) -> Line:
        mine, old = split_ends(self.rows[row]), split_ends(self.refit.old[partner])
        new = split_ends(self.refit.new[index])
        indent = mine[0] if new[0] == old[0] else self.indent(new[0], index == 0)
        body = merge_line(mine[1], old[1], new[1])
        trail = mine[2] if self.trims or new[2] == old[2] else new[2]
        self.done["reindented"] += indent != new[0]
        self.done["changed"] += body + trail != new[1] + new[2]
        return Line(indent + body + trail, self.refit.text.ending(self.first + row))
