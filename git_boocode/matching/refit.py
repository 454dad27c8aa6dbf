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
    depth_of,
    indent_of,
    look_alikes,
    plain_in_file,
    split_ends,
    width_of,
)
from git_boocode.matching.types import MatchError


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
_DOUBT = "cannot determine whether the new lines already have the file's indentation"


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
        if not real or not (relative.done["reindented"] or relative.doubt):
            return relative
        nesting = Nesting(self.text.lines, rows.first, rows.first + len(rows.lines))
        usual, wrong = map(nesting.faults, ("\n".join(rows.lines), relative.text))
        whole = self._in_files_depth()
        if whole and whole[0].text != relative.text:
            gain = wrong - nesting.faults(whole[0].text)
            # One fault less proves little if the text is at fault in either reading.
            proof = 1 if wrong - max(gain, 0) <= usual else 2
            if len(real) == 1 and abs(gain) < proof:
                return relative._replace(doubt=_DOUBT)
            if gain > 0 or (gain == 0 and whole[1]):
                return whole[0]
        # Where old lost the depth of lines at the margin, new lines there may have lost it, too.
        lost = any(indent and not indent_of(self.old[index]) for index, indent in real.items())
        changed = [hunk for hunk in self.hunks if not hunk.same]
        ends = len(changed) == 1 and changed[0].i1 == len(self.old)
        bare = lost and ends and any(line[:1].strip() for line in self.new[changed[0].j1 :])
        level = indent_of(nesting.below) if bare else ""
        added = self.carried(within=level)
        left = nesting.faults(added.text)
        if relative.doubt is not None:
            return self._settled((relative, self.carried(below=True), added), nesting) or relative
        proven = 0 == left < wrong and (level or not bare)
        if proven or (left <= wrong and self._replaces_in_depth()):
            return added
        # Lines without any indentation do not show what is in a block.
        flat = len(real) > 1 and not any(line[:1].isspace() for line in (*self.old, *self.new))
        is_doubtful = wrong > usual and (left <= usual or flat)
        return relative._replace(doubt=_DOUBT if is_doubtful else None)

    def _settled(self, readings: Sequence[Patch], nesting: Nesting) -> Patch | None:
        """The only reading that breaks the nesting least, and not more often than the file."""
        texts = {patch.text: patch for patch in readings}
        (least, best), *others = sorted((nesting.faults(text), text) for text in texts)
        alike = all(self.old[index].strip() == self.mine[index].strip() for index in self.real)
        unique = all(faults > least for faults, _ in others) and not readings[-1].doubt
        usual = nesting.faults("\n".join(self.rows.lines))
        return texts[best]._replace(doubt=None) if alike and unique and least <= usual else None

    def _in_files_depth(self) -> tuple[Patch, bool] | None:
        """The patch if new, or all but its first line, seems to have the file's indentation.

        The second value is whether all lines that it shares with old have it.
        """
        (top, real), new = next(iter(self.real.items())), self.new
        given = indent_of(next(filter(str.strip, new), ""))
        least = min(map(width_of, self.real.values()))
        lower = [depth_of(line) < least for line in new if line.strip()]
        # The first line alone may lack its indentation.
        lacks = bool(lower[1:] and new[0]) and not given and lower[0] and not any(lower[1:])
        if lacks:
            new = [real + new[0], *new[1:]]
        votes = self._votes(new)
        like_first = given == real != indent_of(self.old[top])
        if not (lacks or votes[True] > votes[False] or (not votes and like_first)):
            return None
        old = [*self.old]
        for index, indent in self.real.items():
            old[index] = reindented(old[index], indent)
        patch = Refit(self.text, (old, new), self.rows, elisions=self.elisions).carried()
        return patch, votes[True] == votes.total() > 0 and (lacks or not any(lower))

    def _votes(self, new: Sequence[str]) -> Counter[bool]:
        """Whether lines have the file's indentation or old's, of those that new and old share."""
        votes: Counter[bool] = Counter()
        stripped = ([line.strip() for line in lines] for lines in (self.old, new))
        for i, j in same_items(*stripped).items():
            given, mine = indent_of(new[j]), indent_of(self.old[i])
            real = self.real.get(i, mine)
            if real != mine and given in (mine, real):
                votes[given == real] += 1
        return votes

    def _replaces_in_depth(self) -> bool:
        """Whether new lines are indented as the file's lines are that they replace, not as old."""
        shown = set()
        for hunk in self.hunks:
            if not hunk.same and hunk.i1 < hunk.i2 and hunk.j1 < hunk.j2:
                given = indent_of(self.new[hunk.j1])
                shown.add(given == self.real.get(hunk.i1) != indent_of(self.old[hunk.i1]))
        return shown == {True}

    def carried(self, *, within: str | None = None, below: bool = False) -> Patch:
        """The patch; ``within`` is what to put in front of what comes in, instead of fitting it.

        ``below`` is whether lines between others with different indentation are like those below.
        """
        pairs = {index: (indent_of(self.old[index]), real) for index, real in self.real.items()}
        first, stop = self.rows.first, self.rows.first + len(self.rows.lines)
        near = self.text.lines[max(0, first - NEAR) : stop + NEAR]
        depths = LocalReindenter(pairs, indents([*self.old, *self.new]), indents(near), below=below)
        decision = decide(self.text, (self.old, self.new), self.hunks, self.rows)
        return _Walk(self, depths if within is None else within).patch(decision)


class _Walk:
    """The making of one patch."""

    def __init__(self, refit: Refit, depths: LocalReindenter | str) -> None:
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
        # The new lines that the next one can be in: their indentation as given and in the file.
        self.blocks: list[tuple[str, str]] = []
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

    def _indent(self, hunk: Hunk, index: int, known: str | None = None) -> str:
        """The file's indentation for a line of the new text, unless it is known."""
        given, guessed = indent_of(self.new[index]), False
        self.blocks = [block for block in self.blocks if len(block[0]) < len(given)]
        if known is not None:
            wanted = known
        elif isinstance(self.depths, str):
            wanted = self.depths + given
        else:
            between, parent = (hunk.i1, hunk.i2), self.blocks[-1:]
            wanted, guessed = self.depths.give(given, between, parent, leading=index == 0)
        # The very first line alone may lack its indentation.
        if self.new[index].strip() and (index or given):
            self.blocks.append((given, wanted))
        if guessed and self.doubt is None and self.new[index].strip():
            self.doubt = f"cannot determine the indentation of line {index + 1} of the new text"
        return wanted

    def _add_new(self, hunk: Hunk, index: int) -> None:
        line = self.new[index].rstrip() if self.refit.trims else self.new[index]
        if line:
            given = indent_of(line)
            wanted = self._indent(hunk, index)
            self.done["reindented"] += wanted != given
            line = reindented(line, wanted)
        replaced = hunk.i1 + index - hunk.j1
        self.lines.append((line, self._ending(replaced) if replaced < hunk.i2 else None))

    def _add_changed(self, hunk: Hunk, index: int, partner: int) -> None:
        row = self.refit.mine[partner]
        mine, old, new = map(split_ends, (row, self.old[partner], self.new[index]))
        indent = self._indent(hunk, index, mine[0] if new[0] == old[0] else None)
        try:
            body = merge_line(mine[1], old[1], new[1])
        except MatchError as error:
            where = f"line {self.rows.first + self.rows.owned[partner][0] + 1}"
            body, self.doubt = new[1], self.doubt or f"{where}: {error.message}"
        # Trailing whitespace that the file lacks is ignored, unless it is the whole change.
        trail = "" if self.refit.trims and new[:2] != old[:2] else new[2]
        self.done["reindented"] += indent != new[0]
        self.done["changed"] += body + trail != new[1] + new[2]
        self.lines.append((indent + body + trail, self._ending(partner)))
