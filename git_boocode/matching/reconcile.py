"""Put the file's own words into a model's old and new text, before the change is carried over.

Where a rung knows which rows each line of the old text stands for, old and new are written anew:
lines that both share become the file's lines, an elision the rows it stands for, blank lines as
many as the file has. What is left of the difference between them is the model's change alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from git_boocode.matching.align import Hunk, Owned, pair_similar, script
from git_boocode.matching.boundary import without_doubled
from git_boocode.matching.comments import is_comment
from git_boocode.matching.elision import is_marker
from git_boocode.matching.indentation import indent_of
from git_boocode.matching.rungs import Place
from git_boocode.matching.similarity import similarity
from git_boocode.matching.text import Text, split_ends

_SLIPPED = 0.9
"""Comments this similar are one comment with a slip, and merged word by word like code."""


class Adapted(NamedTuple):
    """The lines of old and new in the file's words.

    ``silent`` are the lines of ``old`` that the model did not write, which are no evidence of
    its indentation; ``elided`` is the number of rows that markers stand for.
    """

    old: list[str]
    new: list[str]
    silent: frozenset[int] = frozenset()
    elided: int = 0


def in_the_files_words(
    text: Text, old: Text, new: Text, fresh: Sequence[str], place: Place
) -> Adapted:
    """The lines of old and new as they would be had the model seen the file's rows.

    ``fresh`` are the lines of new. ``place`` must have its ``rows`` and ``lines``.
    """
    rows, lines = place.rows or (0, 0), place.lines or ()
    if place.partial:
        return _completed(text, old, new, place)
    writer = _Writer(old.lines, fresh)
    for index, own in enumerate(lines):
        if old.lines[index].strip():
            writer.adopt(index, [text.lines[row] for row in range(*own)])
    _settle_blanks(writer, text, rows, lines)
    return writer.pair()


def _completed(text: Text, old: Text, new: Text, place: Place) -> Adapted:
    """Old and new with the rest of the lines in which they begin and end."""
    first, stop = place.rows or (0, 0)
    before = text.raw[text.start_of(first) : place.start]
    behind = text.raw[place.end : text.end_of(stop - 1)]
    whole = (old.lines, new.lines) if old.closed else (old.pieces, new.pieces)
    texts = ["\n".join(lines) for lines in whole]
    fresh = without_doubled((texts[0], texts[1]), before, behind)
    pair = Adapted([*whole[0]], fresh.split("\n"))
    for lines in (pair.old, pair.new):
        if before.strip():
            # Without indentation, which the file's own line has.
            lines[0] = before.lstrip() + lines[0].lstrip()
        lines[-1] += behind
    return pair


class _Writer:
    """Two texts that are changed together where they share lines."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old, self.new = old, new
        self.hunks = script(old, new)
        self.shared = {
            hunk.i1 + step: hunk.j1 + step
            for hunk in self.hunks
            if hunk.same
            for step in range(hunk.i2 - hunk.i1)
        }
        self.in_old = [[line] for line in old]
        self.in_new = [[line] for line in new]
        self.elisions: set[int] = set()
        self.blank_runs = _blank_runs(new)
        self.hunk_of = [hunk for hunk in self.hunks for _ in range(hunk.i2 - hunk.i1)]
        self.partners: dict[Hunk, dict[int, int]] = {}
        self.blanks_old = [0] * (len(old) + 1)
        self.blanks_new = [0] * (len(new) + 1)

    def adopt(self, index: int, rows: Sequence[str]) -> None:
        """Let line ``index`` of old, and of new if that has it too, be the file's rows."""
        line = self.old[index]
        elision = is_marker(line) and [*map(str.strip, rows)] != [line.strip()]
        if elision:
            self.elisions.add(index)
        elif len(rows) == 1:
            indent, _, trail = split_ends(line)
            rows = [indent + rows[0].strip() + trail]
        if index in self.shared:
            self.in_old[index] = self.in_new[self.shared[index]] = [*rows]
        elif len(rows) == 1 and _in_other_words(line, rows[0]):
            # A comment that the model misquotes and then changes is changed as a whole.
            self.in_old[index] = [*rows]

    def worth(self, index: int) -> tuple[bool, int, int]:
        """Sort key: the blank line of old to drop first, where the file has fewer of them.

        One that the model itself takes away stays, to take away one of the file's. Of a gap that
        the change splits, the part that is larger in new has the surplus.
        """
        at = self.shared.get(index)
        return at is None, 0 if at is None else -self.blank_runs[at], index

    def drop(self, index: int) -> None:
        """Take a blank line out of old, and out of new if that has it too."""
        self.in_old[index] = []
        if index in self.shared:
            self.in_new[self.shared[index]] = []

    def insert(self, before: int, after: int, count: int, gap: int) -> None:
        """Add blank lines between lines ``before`` and ``after`` of old, which are neighbours.

        ``gap`` is how many blank lines the file has there in a row.
        """
        self.blanks_old[after] += count
        for at in self._between(before, after, gap):
            self.blanks_new[at] += count

    def _between(self, before: int, after: int, gap: int) -> list[int]:
        """Where in new the point between two neighbouring lines of old is; nothing if nowhere.

        It is in two places where a block comes in that is set off on both sides.
        """
        above, below = self.shared.get(before), self.shared.get(after)
        if above is not None and below is not None:
            if self._is_set_off(above, below):
                return [above + 1, below]
            return [above + 1 if self._goes_above(above, below, gap) else below]
        if above is not None:
            return [above + 1]
        if below is not None:
            return [below]
        at = self._between_changed(before, after)
        return [] if at is None else [at]

    def _is_set_off(self, above: int, below: int) -> bool:
        """Whether new has a block, without blank lines around it, of the kind that the gap parts.

        The gap ends a block: the line below it is less deep than the one above. So does what comes
        in, and it begins where the line below does, or it is a block that begins like that line.
        """
        fresh = self.new[above + 1 : below]
        if not (fresh and self.new[above].strip() and fresh[0].strip() and fresh[-1].strip()):
            return False
        over, under = _depth(self.new[above]), _depth(self.new[below])
        alike = self.new[below].split()[:1] == fresh[0].split()[:1]
        ends = _depth(fresh[0]) == under < _depth(fresh[-1])
        opens = len(fresh) > 1 and under < _depth(fresh[1])
        closed = _closes(fresh[-1]) and _depth(fresh[-1]) == under == _depth(fresh[0]) and opens
        return (
            (over > under and ends)
            or (alike and opens and (ends or closed))
            or (over == under and closed and _closes(self.new[above]))
        )

    def _goes_above(self, above: int, below: int, gap: int) -> bool:
        """Whether blank lines come before, not behind, the lines that new has between two others.

        A line keeps as many blank lines above it as it had; where new shows them already, those
        that are missing belong to the lines that came in.
        """
        fresh = self.new[above + 1 : below]
        filled = [index for index, line in enumerate(fresh) if line.strip()]
        if not filled:
            return False
        if len(fresh) - filled[-1] > gap:
            return True
        if filled[0] >= gap or not self.new[above].strip():
            return False
        return len(indent_of(fresh[filled[0]])) < len(indent_of(self.new[above]))

    def _between_changed(self, before: int, after: int) -> int | None:
        hunk = self.hunk_of[before]
        if after >= hunk.i2:
            return None
        partners = self._partners(hunk)
        above, below = partners.get(before), partners.get(after)
        return below if above is not None and below == above + 1 else None

    def _partners(self, hunk: Hunk) -> dict[int, int]:
        if hunk not in self.partners:
            old = [line.strip() for line in self.old[hunk.i1 : hunk.i2]]
            new = [line.strip() for line in self.new[hunk.j1 : hunk.j2]]
            pairs = pair_similar(old, new)
            self.partners[hunk] = {hunk.i1 + i: hunk.j1 + j for i, j in pairs}
        return self.partners[hunk]

    def pair(self) -> Adapted:
        """The lines of old and of new as they are now."""
        silent: set[int] = set()
        at = 0
        for index, lines in enumerate(self.in_old):
            at += self.blanks_old[index]
            if index in self.elisions:
                silent.update(range(at, at + len(lines)))
            at += len(lines)
        return Adapted(
            _joined(self.in_old, self.blanks_old),
            _joined(self.in_new, self.blanks_new),
            frozenset(silent),
            len(silent),
        )


def _blank_runs(lines: Sequence[str]) -> list[int]:
    """For each blank line, the length of its run of blank lines; 0 for other lines."""
    runs: list[int] = []
    for blank, some in groupby(lines, lambda line: not line.strip()):
        height = len([*some])
        runs += [height if blank else 0] * height
    return runs


def _depth(line: str) -> int:
    return len(indent_of(line))


def _closes(line: str) -> bool:
    """Whether a line is what closes a block: brackets, or a word such as `end`."""
    bare = line.strip().rstrip(",;")
    return bare in ("end", "fi", "done", "esac") or not bare.strip(")]}")


def _in_other_words(line: str, row: str) -> bool:
    """Whether two lines are comments that differ by more than a slip."""
    if not (is_comment(line) and is_comment(row)):
        return False
    return similarity(line.strip(), row.strip(), _SLIPPED) < _SLIPPED


def _joined(lines: Sequence[Sequence[str]], blanks: Sequence[int]) -> list[str]:
    joined: list[str] = []
    for count, some in zip(blanks, [*lines, ()], strict=True):
        joined += [""] * count
        joined += some
    return joined


class _Gap(NamedTuple):
    """Blank lines of old between two of its lines with text, and the rows in between there."""

    before: int
    after: int
    rows: range


def _settle_blanks(
    writer: _Writer, text: Text, rows: tuple[int, int], lines: Sequence[Owned]
) -> None:
    filled = [index for index, line in enumerate(writer.old) if line.strip()]
    for before, after in pairwise(filled):
        gap = _Gap(before, after, range(lines[before][1], lines[after][0]))
        if not any(text.stripped[row] for row in gap.rows):
            _settle(writer, gap)
    _settle_ends(writer, filled, rows, lines)


def _settle(writer: _Writer, gap: _Gap) -> None:
    blanks = range(gap.before + 1, gap.after)
    surplus = len(blanks) - len(gap.rows)
    if surplus > 0:
        for index in sorted(blanks, key=writer.worth)[:surplus]:
            writer.drop(index)
    elif surplus < 0:
        writer.insert(gap.after - 1, gap.after, -surplus, len(gap.rows))


def _settle_ends(
    writer: _Writer, filled: Sequence[int], rows: tuple[int, int], lines: Sequence[Owned]
) -> None:
    """Blank lines at the top and the bottom of old that the place does not have."""
    if not filled:
        return
    top, bottom = lines[filled[0]][0] - rows[0], rows[1] - lines[filled[-1]][1]
    for index in range(filled[0] - top):
        writer.drop(index)
    for index in range(filled[-1] + 1 + bottom, len(writer.old)):
        writer.drop(index)
