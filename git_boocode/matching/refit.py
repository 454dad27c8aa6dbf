"""Apply what the model changed to the file's own lines, instead of pasting its text over them.

Lines that old and new share keep the file's bytes; removed lines go; new lines are indented like
the file; a changed line is merged with the file's line token by token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.matching.align import (
    Hunk,
    Owned,
    align_between,
    align_lines,
    pair_similar,
    script,
)
from git_boocode.matching.ambiguity import Decision, Rows, decide
from git_boocode.matching.indentation import (
    NEAR,
    IndentStyle,
    LocalReindenter,
    Nesting,
    Pair,
    indents,
    reindented,
)
from git_boocode.matching.merge import carry, merge_line, without_doubled
from git_boocode.matching.rungs import Place
from git_boocode.matching.text import (
    Text,
    canonical_line,
    indent_of,
    look_alikes,
    plain_in_file,
    split_ends,
)


class Patch(NamedTuple):
    """The text to put in a place, and what was done on the way, counted by kind of note."""

    text: str
    done: Counter[str]
    doubt: str | None = None  # for a message, why the text is a guess

    def faults(self, nesting: Nesting) -> int:
        """The number of places where the text breaks the nesting of the file."""
        return nesting.faults(self.text.split("\n"))


_COUNTED = (
    ("drifted", "kept", "drifted"),  # shared lines on which the file differs from old
    ("changed", "merged", "changed"),  # changed lines on which some of the file's characters stay
    ("forgotten", "kept", "forgotten"),  # lines of the file, among those matched, that old lacks
    ("replaced", "replaced", "forgotten"),  # such lines that went with the block around them
    ("elided", "kept", "elided"),  # lines of the file for which old and new have one like ``...``
)


def notes(done: Counter[str]) -> tuple[str, ...]:
    """The notes of an edit, such as ``reindented`` and ``kept 2 drifted lines``, in this order."""
    found = ["reindented"] if done["reindented"] else []
    for key, verb, what in _COUNTED:
        if count := done[key]:
            found.append(f"{verb} {count} {what} line{'s' if count > 1 else ''}")
    return tuple(found)


def fitted(text: Text, old: Text, new: Text, fresh: Sequence[str], place: Place) -> Patch:
    """Carry the change, to the lines ``fresh``, onto a place whose old lines have known rows."""
    from git_boocode.matching.elision import is_marker

    first, stop = place.rows or (0, 0)
    if place.partial:
        return Refit(text, *_completed(text, old, new, place)).lines(first, stop)
    known = {
        index: (own[0] - first, own[1] - first)
        for index, own in enumerate(place.lines or ())
        if old.stripped[index] and (own[0] < own[1] or is_marker(old.lines[index]))
    }
    rows = text.stripped[first:stop]
    elisions = frozenset(
        index
        for index, own in known.items()
        if is_marker(old.lines[index]) and rows[slice(*own)] != [old.stripped[index]]
    )
    refit = Refit(text, old.lines, fresh, elisions=elisions)
    owned = align_between(known, refit.keys, text.canonical[first:stop])
    patch = refit.lines(first, stop, owned)
    patch.done["elided"] += sum(known[index][1] - known[index][0] for index in elisions)
    return patch


def _completed(text: Text, old: Text, new: Text, place: Place) -> tuple[list[str], list[str]]:
    """Old and new with the rest of the lines in which they begin and end."""
    first, stop = place.rows or (0, 0)
    before = text.raw[text.start_of(first) : place.start]
    behind = text.raw[place.end : text.end_of(stop - 1)]
    whole = (old.lines, new.lines) if old.closed else (old.pieces, new.pieces)
    texts = ["\n".join(lines) for lines in whole]
    fresh = without_doubled((texts[0], texts[1]), before, behind)
    pair = [*whole[0]], fresh.split("\n")
    for lines in pair:
        if before.strip():
            # Without indentation, which the file's own line has.
            lines[0] = before.lstrip() + lines[0].lstrip()
        lines[-1] += behind
    return pair


class Refit:
    """One old and new text, ready to be carried onto any number of places of a file."""

    def __init__(
        self,
        text: Text,
        old: Sequence[str],
        new: Sequence[str],
        hunks: Sequence[Hunk] = (),
        elisions: frozenset[int] = frozenset(),
    ) -> None:
        """``hunks`` lead from ``old`` to ``new``; without them the lines are compared.

        ``elisions`` are the lines of ``old`` that stand for others, such as ``...``.
        """
        self.text, self.old, self.new = text, old, new
        self.hunks = hunks or script(old, new)
        self.elisions = elisions
        self.keys = [canonical_line(line.strip()) for line in old]

    def lines(self, first: int, stop: int, owned: Sequence[Owned] = ()) -> Patch:
        """Carry the change onto whole rows ``first`` to ``stop`` (exclusive).

        ``owned`` are the rows that each old line matches, counted from the first one; without them
        the lines are aligned.
        """
        owned = owned or align_lines(self.keys, self.text.canonical[first:stop])
        rows = Rows(first, self.text.lines[first:stop], self.text.ending(stop - 1), owned)
        return self._plainly(rows).read(rows)

    def segments(self, segments: Sequence[str], first: int, ending: str = "") -> Patch:
        """Carry the change onto as many (parts of) lines as the old text has, one by one.

        ``first`` is the row they begin on, ``ending`` what closes the last one.
        """
        owned = [(index, index + 1) for index in range(len(segments))]
        rows = Rows(first, segments, ending, owned)
        return self._plainly(rows).carried(rows, as_given=True)

    def _plainly(self, rows: Rows) -> Refit:
        """The refit of texts in which what the file writes plainly is plain."""
        pairs = [
            (line.strip(), rows.lines[own[0]].strip())
            for line, own in zip(self.old, rows.owned, strict=True)
            if own[0] < own[1] and not line.isascii()
        ]
        table = plain_in_file(pairs)
        if not table:
            return self
        old, new = ([line.translate(table) for line in lines] for lines in (self.old, self.new))
        return Refit(self.text, old, new, self.hunks, self.elisions)

    def read(self, rows: Rows) -> Patch:
        """The patch for the reading of new's indentation that fits the lines around it.

        New lines are indented relative to the old ones, unless they show that they have the file's
        indentation already: all of them, all but the first, or those that old lacks.
        """
        relative = self.carried(rows)
        real = self._file_indents(rows)
        if not relative.done["reindented"] or not real:
            return relative
        nesting = Nesting(self.text.lines, rows.first, rows.first + len(rows.lines))
        usual, wrong = nesting.faults(rows.lines), relative.faults(nesting)
        whole = self._in_files_depth(rows, real)
        if whole and whole.text != relative.text:
            gain = wrong - whole.faults(nesting)
            # One fault less proves little if the text is at fault in either reading.
            proof = 1 if wrong - max(gain, 0) <= usual else 2
            if len(real) == 1 and abs(gain) < proof:
                return relative._replace(
                    doubt=f"line {rows.first + 1} of the file is indented, the old text is not: "
                    "cannot tell the indentation of the new text"
                )
            if gain > 0 or (gain == 0 and not self._may_lack_first(real)):
                return whole
        if relative.doubt is not None:
            return relative
        added = self.carried(rows, as_given=True)
        left = added.faults(nesting)
        if 0 == left < wrong or (left <= wrong and self._replaces_in_depth(real)):
            return added
        if left < wrong and left <= usual:
            why = "cannot tell whether the added lines have the file's indentation already"
            return relative._replace(doubt=why)
        return relative

    def _in_files_depth(self, rows: Rows, real: dict[int, str]) -> Patch | None:
        """The patch if new, or all but its first line, seems to have the file's indentation."""
        top, given = next(iter(real)), indent_of(next(filter(str.strip, self.new), ""))
        new = self.new
        if self._may_lack_first(real):
            new = [real[top] + new[0], *new[1:]]
        elif given == indent_of(self.old[top]) or not self._is_absolute(real, given == real[top]):
            return None
        old = [reindented(line, real.get(at, indent_of(line))) for at, line in enumerate(self.old)]
        return Refit(self.text, old, new, elisions=self.elisions).carried(rows)

    def _replaces_in_depth(self, real: dict[int, str]) -> bool:
        """Whether new lines are indented as the file's lines are that they replace, not as old."""
        shown = set()
        for hunk in self.hunks:
            if not hunk.same and hunk.i1 < hunk.i2 and hunk.j1 < hunk.j2:
                given = indent_of(self.new[hunk.j1])
                shown.add(given == real.get(hunk.i1) != indent_of(self.old[hunk.i1]))
        return shown == {True}

    def _may_lack_first(self, real: dict[int, str]) -> bool:
        """Whether new begins without indentation, as old, and is else as deep as the file."""
        top = next(iter(real))
        rest = [line for line in self.new[1:] if line.strip()]
        if not (real[top] and rest and self.new[0]):
            return False
        dropped = not (indent_of(self.old[top]) or indent_of(self.new[0]))
        return dropped and all(line.startswith(real[top]) for line in rest)

    def _file_indents(self, rows: Rows) -> dict[int, str]:
        """The file's indentation of the old lines that are evidence of it, by their index."""
        return {
            index: indent_of(rows.lines[own[0]])
            for index, (line, own) in enumerate(zip(self.old, rows.owned, strict=True))
            if own[0] < own[1] and line.strip() and rows.lines[own[0]].strip()
            if index not in self.elisions
        }

    def _is_absolute(self, real: dict[int, str], like_first: bool) -> bool:
        """Whether new has the file's indentation, by most lines that it shares with old.

        ``like_first`` is what the first line says if no other is indented otherwise than in old.
        """
        votes: Counter[bool] = Counter()
        stripped = ([line.strip() for line in lines] for lines in (self.old, self.new))
        for hunk in script(*stripped):
            for step in range(hunk.i2 - hunk.i1) if hunk.same else ():
                i, given = hunk.i1 + step, indent_of(self.new[hunk.j1 + step])
                mine = indent_of(self.old[i])
                if i in real and real[i] != mine and given in (mine, real[i]):
                    votes[given == real[i]] += 1
        return votes[True] > votes[False] or (not votes and like_first)

    def carried(self, rows: Rows, *, as_given: bool = False) -> Patch:
        """The patch; ``as_given`` leaves the indentation of what comes in alone."""
        pairs: dict[int, Pair] = {
            index: (indent_of(self.old[index]), real)
            for index, real in self._file_indents(rows).items()
        }
        near = self.text.lines[max(0, rows.first - NEAR) : rows.first + len(rows.lines) + NEAR]
        style = IndentStyle(indents([*self.old, *self.new]), indents(near))
        depths = LocalReindenter(pairs, style)
        decision = decide(self.text, (self.old, self.new), self.hunks, rows)
        return _Walk(self, rows, None if as_given else depths).patch(decision)


class _Walk:
    """The making of one patch."""

    def __init__(self, refit: Refit, rows: Rows, depths: LocalReindenter | None) -> None:
        self.text, self.old, self.new = refit.text, refit.old, refit.new
        self.rows, self.depths = rows, depths
        self.shared = {
            index for hunk in refit.hunks if hunk.same for index in range(hunk.i1, hunk.i2)
        }
        # Lines that the change takes away in one place only may be moved.
        gone = {at: line.strip() for at, line in enumerate(self.old) if at not in self.shared}
        counts = Counter(gone.values())
        self.moved = {line: index for index, line in gone.items() if counts[line] == 1}
        self.trims = any(
            line[-1:].isspace() and mine and not mine[-1:].isspace()
            for line, mine in ((line, self._row(index)) for index, line in enumerate(self.old))
        )
        self.done: Counter[str] = Counter()
        self.doubt: str | None = None
        self.lines: list[tuple[str, str | None]] = []
        for index in self.shared - refit.elisions:
            first, stop = rows.owned[index]
            self.done["drifted"] += first < stop and rows.lines[first:stop] != [self.old[index]]

    def _row(self, index: int) -> str:
        """The file's line for a line of old; empty if there is none."""
        first, stop = self.rows.owned[index]
        return self.rows.lines[first] if first < stop else ""

    def _ending(self, index: int) -> str | None:
        """The line ending of the file's line for a line of old; None if there is none."""
        first, stop = self.rows.owned[index]
        return self.text.ending(self.rows.first + first) if first < stop else None

    def patch(self, decision: Decision) -> Patch:
        """The lines that take the place of the rows.

        A line that replaces none has the ending of the line above.
        """
        self.done["replaced"] += decision.lost
        size = len(self.rows.lines)
        for step in carry(decision.hunks, self.rows.owned, size, decision.late, decision.amid):
            if step.hunk:
                self._change(step.hunk)
                continue
            for row in range(step.first, step.stop):
                line = self.rows.lines[row]
                self.lines.append((line, self.text.ending(self.rows.first + row)))
                self.done["forgotten"] += bool(line.strip()) and not step.shared
        known = next((ending for _, ending in self.lines if ending), self.text.usual_ending)
        pieces: list[str] = []
        for line, ending in self.lines:
            known = ending or known
            pieces += [line, known]
        pieces[-1:] = [self.rows.ending] if pieces else []
        return Patch("".join(pieces), self.done, decision.doubt or self.doubt)

    def _change(self, hunk: Hunk) -> None:
        partners = self._partners(hunk)
        for index in range(hunk.j1, hunk.j2):
            if index in partners:
                self._add_changed(hunk, index, partners[index])
            else:
                self._add_new(hunk, index)

    def _partners(self, hunk: Hunk) -> dict[int, int]:
        """For lines of the new text the old line that each is a version of, or was moved from."""
        old = [self.old[index].strip() for index in range(hunk.i1, hunk.i2)]
        new = [self.new[index].strip() for index in range(hunk.j1, hunk.j2)]
        pairs = {hunk.j1 + j: hunk.i1 + i for i, j in pair_similar(old, new)}
        if len(old) == len(new):
            # What a line has in common with one that looks like the file's keeps its characters.
            for i, j in zip(range(hunk.i1, hunk.i2), range(hunk.j1, hunk.j2), strict=True):
                mine = self._row(i).strip()
                if not mine.isascii() and look_alikes(mine) == look_alikes(self.old[i].strip()):
                    pairs.setdefault(j, i)
        pairs |= {hunk.j1 + j: self.moved[line] for j, line in enumerate(new) if line in self.moved}
        return {j: i for j, i in pairs.items() if self._row(i).strip()}

    def _indent(self, hunk: Hunk, index: int, given: str) -> str:
        """The file's indentation for that of a line of the new text."""
        if self.depths is None:
            return given
        depth = self.depths.give(given, (hunk.i1, hunk.i2), leading=index == 0)
        if depth.unclear and self.doubt is None and self.new[index].strip():
            self.doubt = f"cannot tell the indentation of line {index + 1} of the new text"
        return depth.text

    def _add_new(self, hunk: Hunk, index: int) -> None:
        line = self.new[index].rstrip() if self.trims else self.new[index]
        if line:
            given = indent_of(line)
            wanted = self._indent(hunk, index, given)
            self.done["reindented"] += wanted != given
            line = reindented(line, wanted)
        replaced = hunk.i1 + index - hunk.j1
        self.lines.append((line, self._ending(replaced) if replaced < hunk.i2 else None))

    def _add_changed(self, hunk: Hunk, index: int, partner: int) -> None:
        row = self._row(partner)
        mine, old, new = map(split_ends, (row, self.old[partner], self.new[index]))
        indent = mine[0] if new[0] == old[0] else self._indent(hunk, index, new[0])
        body = merge_line(mine[1], old[1], new[1])
        # Trailing whitespace that the file lacks is ignored, unless it is the whole change.
        trail = "" if self.trims and new[:2] != old[:2] else new[2]
        self.done["reindented"] += indent != new[0]
        self.done["changed"] += body + trail != new[1] + new[2]
        self.lines.append((indent + body + trail, self._ending(partner)))
