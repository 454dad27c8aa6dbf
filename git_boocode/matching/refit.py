"""Apply the model's change to the file's own lines, instead of pasting the new text over them.

Lines that old and new share keep the file's bytes; new lines are indented like the file; a changed
line is merged with the file's line token by token.
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
    """The new text of a place, and the number of adaptations by kind of note."""

    text: str
    done: Counter[str]
    ambiguity: str | None = None  # an error message if the text is a guess


_COUNTED = (
    ("drifted", "kept", "drifted"),  # unchanged lines that differ between file and old
    ("changed", "merged", "changed"),  # changed lines that keep some of the file's characters
    ("forgotten", "kept", "forgotten"),  # lines of the file inside the place that old lacks
    ("replaced", "replaced", "forgotten"),  # such lines that were deleted with their block
    ("elided", "kept", "elided"),  # lines of the file that match a placeholder such as ``...``
)
_AMBIGUOUS_INDENT = "cannot determine whether the new lines already have the file's indentation"


def notes(done: Counter[str]) -> tuple[str, ...]:
    """The notes of an edit, such as ``reindented`` and ``kept 2 drifted lines``, in fixed order."""
    found = ["reindented"] if done["reindented"] else []
    for key, verb, what in _COUNTED:
        if count := done[key]:
            found.append(f"{verb} {count} {what} line{'s' if count > 1 else ''}")
    return tuple(found)


def refit_change(
    text: Text,
    pair: tuple[Text, Text],
    fresh: Sequence[str],
    place: Occurrence,
    hunks: Sequence[Hunk] = (),
) -> Patch:
    """Apply the change from old to new, a ``pair``, to the rows of a place.

    ``fresh`` are the lines of new that replace the lines of old; ``hunks`` are the difference,
    computed if empty.
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
    matched = align_between(known, keys, text.canonical[first:stop])
    rows = Rows(first, text.lines[first:stop], text.ending(stop - 1), matched)
    patch = Refit(text, texts, rows, hunks, elisions).patch()
    patch.done["elided"] += sum(known[index][1] - known[index][0] for index in elisions)
    return patch


def _completed(
    text: Text, pair: tuple[Text, Text], place: Occurrence
) -> tuple[list[str], list[str]]:
    """Old and new, completed with the rest of the file's first and last line."""
    (old, new), (first, stop) = pair, place.rows or (0, 0)
    before = text.raw[text.start_of(first) : place.start]
    behind = text.raw[place.end : text.end_of(stop - 1)]
    whole = (old.lines, new.lines) if old.closed else (old.pieces, new.pieces)
    texts = ["\n".join(lines) for lines in whole]
    fresh = without_doubled((texts[0], texts[1]), before, behind)
    completed = [*whole[0]], fresh.split("\n")
    for lines in completed:
        if before.strip():
            # Without indentation, because the file's line has it.
            lines[0] = before.lstrip() + lines[0].lstrip()
        lines[-1] += behind
    return completed


class Refit:
    """One old and new text, and the rows of a file to which the change is applied.

    ``hunks`` are the difference, computed if empty. ``elisions`` are the indexes of placeholders
    such as ``...`` in old.
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
        # The matching file line for each line of old; empty if there is none.
        self.mine = [rows.lines[first] if first < stop else "" for first, stop in rows.matched]
        pairs = [*zip(texts[0], self.mine, strict=True)]
        # Use ASCII for the characters that are ASCII in the file.
        special = [(old.strip(), mine.strip()) for old, mine in pairs if mine and not old.isascii()]
        table = plain_in_file(special)
        self.old, self.new = ([line.translate(table) for line in lines] for lines in texts)
        # The file's indentation of each matched, nonblank old line.
        self.real = {
            index: indent_of(mine)
            for index, (old, mine) in enumerate(pairs)
            if old.strip() and mine.strip() and index not in elisions
        }
        self.shared = {
            index for hunk in self.hunks if hunk.same for index in range(hunk.i1, hunk.i2)
        }
        # Lines that the change removes in one place only may have moved.
        gone = {at: line.strip() for at, line in enumerate(self.old) if at not in self.shared}
        counts = Counter(gone.values())
        self.moved = {line: index for index, line in gone.items() if counts[line] == 1}
        self.trims = any(
            old[-1:].isspace() and mine and not mine[-1:].isspace() for old, mine in pairs
        )

    def patch(self) -> Patch:
        """The patch whose indentation fits the surrounding lines best.

        New lines are indented relative to the old ones, unless there is evidence that they already
        have the file's indentation: all of them, all but the first, or the added ones.
        """
        relative = self.candidate()
        rows, real = self.rows, self.real
        if not real or not (relative.done["reindented"] or relative.ambiguity):
            return relative
        nesting = Nesting(self.text.lines, rows.first, rows.first + len(rows.lines))
        usual, wrong = map(nesting.faults, ("\n".join(rows.lines), relative.text))
        whole = self._in_files_depth()
        if whole and whole[0].text != relative.text:
            gain = wrong - nesting.faults(whole[0].text)
            # One error less proves little if both candidates have errors.
            proof = 1 if wrong - max(gain, 0) <= usual else 2
            if len(real) == 1 and abs(gain) < proof:
                return relative._replace(ambiguity=_AMBIGUOUS_INDENT)
            if gain > 0 or (gain == 0 and whole[1]):
                return whole[0]
        # If old has lost the indentation of some lines, new may have lost it, too.
        lost = any(indent and not indent_of(self.old[index]) for index, indent in real.items())
        changed = [hunk for hunk in self.hunks if not hunk.same]
        ends = len(changed) == 1 and changed[0].i1 == len(self.old)
        bare = lost and ends and any(line[:1].strip() for line in self.new[changed[0].j1 :])
        level = indent_of(nesting.below) if bare else ""
        added = self.candidate(within=level)
        left = nesting.faults(added.text)
        if relative.ambiguity is not None:
            choices = relative, self.candidate(below=True), added
            return self._resolve(choices, nesting) or relative
        proven = 0 == left < wrong and (level or not bare)
        if proven or (left <= wrong and self._replaces_in_depth()):
            return added
        # Without any indentation, the blocks are unknown.
        flat = len(real) > 1 and not any(line[:1].isspace() for line in (*self.old, *self.new))
        is_ambiguous = wrong > usual and (left <= usual or flat)
        return relative._replace(ambiguity=_AMBIGUOUS_INDENT if is_ambiguous else None)

    def _resolve(self, choices: Sequence[Patch], nesting: Nesting) -> Patch | None:
        """The only candidate with the fewest nesting errors, if not more than the file has."""
        texts = {patch.text: patch for patch in choices}
        (least, best), *others = sorted((nesting.faults(text), text) for text in texts)
        alike = all(self.old[index].strip() == self.mine[index].strip() for index in self.real)
        unique = all(faults > least for faults, _ in others) and not choices[-1].ambiguity
        usual = nesting.faults("\n".join(self.rows.lines))
        return texts[best]._replace(ambiguity=None) if alike and unique and least <= usual else None

    def _in_files_depth(self) -> tuple[Patch, bool] | None:
        """The patch if new, perhaps except its first line, seems to have the file's indentation.

        The second value is whether all lines that it shares with old have it.
        """
        (top, real), new = next(iter(self.real.items())), self.new
        indent = indent_of(next(filter(str.strip, new), ""))
        least = min(map(width_of, self.real.values()))
        lower = [depth_of(line) < least for line in new if line.strip()]
        # Only the first line may lack its indentation.
        lacks = bool(lower[1:] and new[0]) and not indent and lower[0] and not any(lower[1:])
        if lacks:
            new = [real + new[0], *new[1:]]
        votes = self._votes(new)
        like_first = indent == real != indent_of(self.old[top])
        if not (lacks or votes[True] > votes[False] or (not votes and like_first)):
            return None
        old = [*self.old]
        for index, indent in self.real.items():
            old[index] = reindented(old[index], indent)
        patch = Refit(self.text, (old, new), self.rows, elisions=self.elisions).candidate()
        return patch, votes[True] == votes.total() > 0 and (lacks or not any(lower))

    def _votes(self, new: Sequence[str]) -> Counter[bool]:
        """The number of shared lines with the file's indentation (True) and with old's (False)."""
        votes: Counter[bool] = Counter()
        stripped = ([line.strip() for line in lines] for lines in (self.old, new))
        for i, j in same_items(*stripped).items():
            fresh, mine = indent_of(new[j]), indent_of(self.old[i])
            real = self.real.get(i, mine)
            if real != mine and fresh in (mine, real):
                votes[fresh == real] += 1
        return votes

    def _replaces_in_depth(self) -> bool:
        """Whether new lines are indented like the file lines that they replace, not like old."""
        shown = set()
        for hunk in self.hunks:
            if not hunk.same and hunk.i1 < hunk.i2 and hunk.j1 < hunk.j2:
                indent = indent_of(self.new[hunk.j1])
                shown.add(indent == self.real.get(hunk.i1) != indent_of(self.old[hunk.i1]))
        return shown == {True}

    def candidate(self, *, within: str | None = None, below: bool = False) -> Patch:
        """One candidate; ``within`` prefixes the added lines instead of adapting their indentation.

        With ``below``, lines between others with different indentation follow those below.
        """
        pairs = {index: (indent_of(self.old[index]), real) for index, real in self.real.items()}
        first, stop = self.rows.first, self.rows.first + len(self.rows.lines)
        near = self.text.lines[max(0, first - NEAR) : stop + NEAR]
        depths = LocalReindenter(pairs, indents([*self.old, *self.new]), indents(near), below=below)
        decision = decide(self.text, (self.old, self.new), self.hunks, self.rows)
        return _PatchBuilder(self, depths if within is None else within).build(decision)


class _PatchBuilder:
    """Builds one patch."""

    def __init__(self, refit: Refit, depths: LocalReindenter | str) -> None:
        self.refit, self.rows, self.text = refit, refit.rows, refit.text
        self.old, self.new, self.depths = refit.old, refit.new, depths
        self.done: Counter[str] = Counter()
        self.ambiguity: str | None = None
        self.lines: list[tuple[str, str | None]] = []
        for index in refit.shared - refit.elisions:
            first, stop = self.rows.matched[index]
            self.done["drifted"] += self.rows.lines[first:stop] not in ([], [self.old[index]])

    def _ending(self, index: int) -> str:
        """The line ending of the matching file line, or of the line at its position."""
        return self.text.ending(self.rows.first + self.rows.matched[index][0])

    def build(self, decision: Decision) -> Patch:
        """Build the patch; an added line gets the line ending of the line above."""
        self.done["replaced"] += decision.lost
        size = len(self.rows.lines)
        for step in carry(decision.hunks, self.rows.matched, size, decision.late):
            if step.hunk:
                self._change(step.hunk)
                continue
            for row in range(step.first, step.stop):
                line = self.rows.lines[row]
                self.lines.append((line, self.text.ending(self.rows.first + row)))
                self.done["forgotten"] += bool(line.strip()) and not step.shared
        last = next((ending for _, ending in self.lines if ending), self.text.usual_ending)
        pieces: list[str] = []
        for line, ending in self.lines:
            last = ending or last
            pieces += [line, last]
        pieces[-1:] = [self.rows.ending] if pieces else []
        return Patch("".join(pieces), self.done, decision.ambiguity or self.ambiguity)

    def _change(self, hunk: Hunk) -> None:
        partners = self._partners(hunk)
        # The open blocks of new lines: their indentation in new and in the file.
        self.blocks: list[tuple[str, str]] = []
        for index in range(hunk.j1, hunk.j2):
            if index in partners:
                self._add_changed(hunk, index, partners[index])
            else:
                self._add_new(hunk, index)

    def _partners(self, hunk: Hunk) -> dict[int, int]:
        """Maps lines of the new text to the old line that each is a new version of."""
        old = [self.old[index].strip() for index in range(hunk.i1, hunk.i2)]
        new = [self.new[index].strip() for index in range(hunk.j1, hunk.j2)]
        pairs = {hunk.j1 + j: hunk.i1 + i for i, j in pair_similar(old, new)}
        if len(old) == len(new):
            # A line with look-alike characters of the file keeps them where it is unchanged.
            for i, j in zip(range(hunk.i1, hunk.i2), range(hunk.j1, hunk.j2), strict=True):
                mine = self.refit.mine[i].strip()
                if not mine.isascii() and look_alikes(mine) == look_alikes(self.old[i].strip()):
                    pairs.setdefault(j, i)
        moved = self.refit.moved
        pairs |= {hunk.j1 + j: moved[line] for j, line in enumerate(new) if line in moved}
        return {j: i for j, i in pairs.items() if self.refit.mine[i].strip()}

    def _indent(self, hunk: Hunk, index: int, known: str | None = None) -> str:
        """The file's indentation for a line of the new text; `known` if that is set."""
        indent, guessed = indent_of(self.new[index]), False
        self.blocks = [block for block in self.blocks if len(block[0]) < len(indent)]
        if known is not None:
            result = known
        elif isinstance(self.depths, str):
            result = self.depths + indent
        else:
            between, parent = (hunk.i1, hunk.i2), self.blocks[-1:]
            result, guessed = self.depths.give(indent, between, parent, leading=index == 0)
        # The first line may lack its indentation.
        if self.new[index].strip() and (index or indent):
            self.blocks.append((indent, result))
        if guessed and self.ambiguity is None and self.new[index].strip():
            self.ambiguity = f"cannot determine the indentation of line {index + 1} of the new text"
        return result

    def _add_new(self, hunk: Hunk, index: int) -> None:
        line = self.new[index].rstrip() if self.refit.trims else self.new[index]
        if line:
            indent = self._indent(hunk, index)
            self.done["reindented"] += indent != indent_of(line)
            line = reindented(line, indent)
        replaced = hunk.i1 + index - hunk.j1
        self.lines.append((line, self._ending(replaced) if replaced < hunk.i2 else None))

    def _add_changed(self, hunk: Hunk, index: int, partner: int) -> None:
        row = self.refit.mine[partner]
        mine, old, new = map(split_ends, (row, self.old[partner], self.new[index]))
        indent = self._indent(hunk, index, mine[0] if new[0] == old[0] else None)
        try:
            body = merge_line(mine[1], old[1], new[1])
        except MatchError as error:
            where = f"line {self.rows.first + self.rows.matched[partner][0] + 1}"
            body, self.ambiguity = new[1], self.ambiguity or f"{where}: {error.message}"
        # Ignore trailing whitespace that the file lacks, unless it is the whole change.
        trail = "" if self.refit.trims and new[:2] != old[:2] else new[2]
        self.done["reindented"] += indent != new[0]
        self.done["changed"] += body + trail != new[1] + new[2]
        self.lines.append((indent + body + trail, self._ending(partner)))
