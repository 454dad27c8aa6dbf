"""Apply what the model changed to the file's own lines, instead of pasting its text over them.

Lines that old and new share keep the file's bytes; removed lines go; new lines are indented like
the file; a changed line is merged with the file's line token by token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.matching.align import Hunk, align_between, pair_similar, same_items, script
from git_boocode.matching.ambiguity import Decision, Rows, Texts, decide
from git_boocode.matching.indentation import NEAR, LocalReindenter, Nesting, indents, reindented
from git_boocode.matching.merge import carry, merge_line, without_doubled
from git_boocode.matching.text import (
    Occurrence,
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


def fitted(
    text: Text,
    pair: tuple[Text, Text],
    fresh: Sequence[str],
    place: Occurrence,
    hunks: Sequence[Hunk] = (),
) -> Patch:
    """Carry the change from old to new, a ``pair``, onto the rows of a place.

    ``fresh`` are the lines of new that take the place of old's; ``hunks`` lead to them, without any
    the lines are compared.
    """
    from git_boocode.matching.elision import is_marker

    first, stop = place.rows or (0, 0)
    old = pair[0]
    texts: Texts = _completed(text, pair, place) if place.partial else (old.lines, fresh)
    known = {
        index: (own[0] - first, own[1] - first)
        for index, own in enumerate(place.lines or ())
        if old.stripped[index] and (own[0] < own[1] or is_marker(old.lines[index]))
    }
    stripped = text.stripped[first:stop]
    elisions = frozenset(
        index
        for index, own in known.items()
        if is_marker(old.lines[index]) and stripped[slice(*own)] != [old.stripped[index]]
    )
    keys = [canonical_line(line.strip()) for line in texts[0]]
    owned = align_between(known, keys, text.canonical[first:stop])
    rows = Rows(first, text.lines[first:stop], text.ending(stop - 1), owned)
    patch = Refit(text, texts, rows, hunks, elisions).read()
    patch.done["elided"] += sum(known[index][1] - known[index][0] for index in elisions)
    return patch


def _completed(
    text: Text, pair: tuple[Text, Text], place: Occurrence
) -> tuple[list[str], list[str]]:
    """Old and new with the rest of the lines in which they begin and end."""
    (old, new), (first, stop) = pair, place.rows or (0, 0)
    before = text.raw[text.start_of(first) : place.start]
    behind = text.raw[place.end : text.end_of(stop - 1)]
    whole = (old.lines, new.lines) if old.closed else (old.pieces, new.pieces)
    texts = ["\n".join(lines) for lines in whole]
    fresh = without_doubled((texts[0], texts[1]), before, behind)
    completed = [*whole[0]], fresh.split("\n")
    for lines in completed:
        if before.strip():
            # Without indentation, which the file's own line has.
            lines[0] = before.lstrip() + lines[0].lstrip()
        lines[-1] += behind
    return completed


class Refit:
    """One old and new text, and the rows of a file onto which the change is carried.

    ``hunks`` lead from old to new; without them the lines are compared. ``elisions`` are the lines
    of old that stand for others, such as ``...``.
    """

    def __init__(
        self,
        text: Text,
        texts: Texts,
        rows: Rows,
        hunks: Sequence[Hunk] = (),
        elisions: frozenset[int] = frozenset(),
    ) -> None:
        self.text, self.rows, self.elisions = text, rows, elisions
        self.hunks = hunks or script(*texts)
        # The file's line for each line of old; empty if there is none.
        self.mine = [rows.lines[first] if first < stop else "" for first, stop in rows.owned]
        pairs = [*zip(texts[0], self.mine, strict=True)]
        # What the file writes plainly is plain.
        special = [(old.strip(), mine.strip()) for old, mine in pairs if mine and not old.isascii()]
        table = plain_in_file(special)
        self.old, self.new = ([line.translate(table) for line in lines] for lines in texts)
        # The file's indentation of the old lines that are evidence of it.
        self.real = {
            index: indent_of(mine)
            for index, (old, mine) in enumerate(pairs)
            if old.strip() and mine.strip() and index not in elisions
        }
        self.shared = {
            index for hunk in self.hunks if hunk.same for index in range(hunk.i1, hunk.i2)
        }
        # Lines that the change takes away in one place only may be moved.
        gone = {at: line.strip() for at, line in enumerate(self.old) if at not in self.shared}
        counts = Counter(gone.values())
        self.moved = {line: index for index, line in gone.items() if counts[line] == 1}
        self.trims = any(
            old[-1:].isspace() and mine and not mine[-1:].isspace() for old, mine in pairs
        )

    def read(self) -> Patch:
        """The patch for the reading of new's indentation that fits the lines around it.

        New lines are indented relative to the old ones, unless they show that they have the file's
        indentation already: all of them, all but the first, or those that old lacks.
        """
        relative = self.carried()
        rows, real = self.rows, self.real
        if not relative.done["reindented"] or not real:
            return relative
        nesting = Nesting(self.text.lines, rows.first, rows.first + len(rows.lines))
        usual, wrong = map(nesting.faults, ("\n".join(rows.lines), relative.text))
        whole = self._in_files_depth()
        if whole and whole.text != relative.text:
            gain = wrong - nesting.faults(whole.text)
            # One fault less proves little if the text is at fault in either reading.
            proof = 1 if wrong - max(gain, 0) <= usual else 2
            if len(real) == 1 and abs(gain) < proof:
                return relative._replace(
                    doubt=f"line {rows.first + 1} of the file is indented, the old text is not: "
                    "cannot tell the indentation of the new text"
                )
            if gain > 0:
                return whole
        if relative.doubt is not None:
            return relative
        added = self.carried(as_given=True)
        left = nesting.faults(added.text)
        if 0 == left < wrong or (left <= wrong and self._replaces_in_depth()):
            return added
        if left < wrong and left <= usual:
            why = "cannot tell whether the added lines have the file's indentation already"
            return relative._replace(doubt=why)
        return relative

    def _in_files_depth(self) -> Patch | None:
        """The patch if new, or all but its first line, seems to have the file's indentation."""
        top, given = next(iter(self.real)), indent_of(next(filter(str.strip, self.new), ""))
        real, new = self.real[top], self.new
        if self._may_lack_first():
            new = [real + new[0], *new[1:]]
        elif given == indent_of(self.old[top]) or not self._is_absolute(given == real):
            return None
        old = [*self.old]
        for index, indent in self.real.items():
            old[index] = reindented(old[index], indent)
        return Refit(self.text, (old, new), self.rows, elisions=self.elisions).carried()

    def _may_lack_first(self) -> bool:
        """Whether new begins without indentation, as old, and is else as deep as the file."""
        top, real = next(iter(self.real.items()))
        rest = [line for line in self.new[1:] if line.strip()]
        if not (real and rest and self.new[0]) or indent_of(self.old[top]):
            return False
        return not indent_of(self.new[0]) and all(line.startswith(real) for line in rest)

    def _is_absolute(self, like_first: bool) -> bool:
        """Whether new has the file's indentation, by most lines that it shares with old.

        ``like_first`` is what the first line says if no other is indented otherwise than in old.
        """
        votes: Counter[bool] = Counter()
        stripped = ([line.strip() for line in lines] for lines in (self.old, self.new))
        for i, j in same_items(*stripped).items():
            given, mine = indent_of(self.new[j]), indent_of(self.old[i])
            real = self.real.get(i, mine)
            if real != mine and given in (mine, real):
                votes[given == real] += 1
        return votes[True] > votes[False] or (not votes and like_first)

    def _replaces_in_depth(self) -> bool:
        """Whether new lines are indented as the file's lines are that they replace, not as old."""
        shown = set()
        for hunk in self.hunks:
            if not hunk.same and hunk.i1 < hunk.i2 and hunk.j1 < hunk.j2:
                given = indent_of(self.new[hunk.j1])
                shown.add(given == self.real.get(hunk.i1) != indent_of(self.old[hunk.i1]))
        return shown == {True}

    def carried(self, *, as_given: bool = False) -> Patch:
        """The patch; ``as_given`` leaves the indentation of what comes in alone."""
        pairs = {index: (indent_of(self.old[index]), real) for index, real in self.real.items()}
        first, stop = self.rows.first, self.rows.first + len(self.rows.lines)
        near = self.text.lines[max(0, first - NEAR) : stop + NEAR]
        depths = LocalReindenter(pairs, indents([*self.old, *self.new]), indents(near))
        decision = decide(self.text, (self.old, self.new), self.hunks, self.rows)
        return _Walk(self, None if as_given else depths).patch(decision)


class _Walk:
    """The making of one patch."""

    def __init__(self, refit: Refit, depths: LocalReindenter | None) -> None:
        self.refit, self.rows, self.text = refit, refit.rows, refit.text
        self.old, self.new, self.depths = refit.old, refit.new, depths
        self.done: Counter[str] = Counter()
        self.doubt: str | None = None
        self.lines: list[tuple[str, str | None]] = []
        for index in refit.shared - refit.elisions:
            first, stop = self.rows.owned[index]
            self.done["drifted"] += self.rows.lines[first:stop] not in ([], [self.old[index]])

    def _ending(self, index: int) -> str:
        """The line ending of the file's line for a line of old, or of the one that is there."""
        return self.text.ending(self.rows.first + self.rows.owned[index][0])

    def patch(self, decision: Decision) -> Patch:
        """The lines that take the place of the rows.

        A line that replaces none has the ending of the line above.
        """
        self.done["replaced"] += decision.lost
        size = len(self.rows.lines)
        for step in carry(decision.hunks, self.rows.owned, size, decision.late):
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
                mine = self.refit.mine[i].strip()
                if not mine.isascii() and look_alikes(mine) == look_alikes(self.old[i].strip()):
                    pairs.setdefault(j, i)
        moved = self.refit.moved
        pairs |= {hunk.j1 + j: moved[line] for j, line in enumerate(new) if line in moved}
        return {j: i for j, i in pairs.items() if self.refit.mine[i].strip()}

    def _indent(self, hunk: Hunk, index: int, given: str) -> str:
        """The file's indentation for that of a line of the new text."""
        if self.depths is None:
            return given
        indent, guessed = self.depths.give(given, (hunk.i1, hunk.i2), leading=index == 0)
        if guessed and self.doubt is None and self.new[index].strip():
            self.doubt = f"cannot tell the indentation of line {index + 1} of the new text"
        return indent

    def _add_new(self, hunk: Hunk, index: int) -> None:
        line = self.new[index].rstrip() if self.refit.trims else self.new[index]
        if line:
            given = indent_of(line)
            wanted = self._indent(hunk, index, given)
            self.done["reindented"] += wanted != given
            line = reindented(line, wanted)
        replaced = hunk.i1 + index - hunk.j1
        self.lines.append((line, self._ending(replaced) if replaced < hunk.i2 else None))

    def _add_changed(self, hunk: Hunk, index: int, partner: int) -> None:
        row = self.refit.mine[partner]
        mine, old, new = map(split_ends, (row, self.old[partner], self.new[index]))
        indent = mine[0] if new[0] == old[0] else self._indent(hunk, index, new[0])
        body = merge_line(mine[1], old[1], new[1])
        # Trailing whitespace that the file lacks is ignored, unless it is the whole change.
        trail = "" if self.refit.trims and new[:2] != old[:2] else new[2]
        self.done["reindented"] += indent != new[0]
        self.done["changed"] += body + trail != new[1] + new[2]
        self.lines.append((indent + body + trail, self._ending(partner)))
