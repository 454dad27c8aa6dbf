"""Apply the model's change to the file's own lines, instead of pasting the new text over them.

Lines that old and new share keep the file's bytes; new lines are indented like the file; a changed
line is merged with the file's line token by token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.matching.align import (
    PAIR_FLOOR,
    Hunk,
    align_between,
    pair_similar,
    same_items,
    script,
    similarity,
)
from git_boocode.matching.ambiguity import NO_COMMA, Decision, PlacedRows, Texts
from git_boocode.matching.indentation import (
    NEAR,
    LocalReindenter,
    Nesting,
    Pair,
    indents,
    reindented,
)
from git_boocode.matching.merge import (
    carry,
    check_line,
    completed,
    is_spelled_alike,
    merge_line,
    statement_end,
)
from git_boocode.matching.placeholders import is_marker
from git_boocode.matching.text import (
    Text,
    canonical_line,
    depth_of,
    indent_of,
    plain_in_file,
    split_ends,
    width_of,
)
from git_boocode.matching.types import MatchError, Occurrence, Rows


class Patch(NamedTuple):
    """The new text of a place, and the number of adaptations by kind of note."""

    text: str
    done: Counter[str]
    ambiguity: str | None = None  # an error message if the text is a guess
    # The indentations of changed lines, in new and in the file, by their index in new.
    placed: Mapping[int, Pair] = MappingProxyType({})


_COUNTED = (
    ("drifted", "kept", "drifted"),  # unchanged lines that differ between file and old
    ("changed", "merged", "changed"),  # changed lines that keep some of the file's characters
    ("forgotten", "kept", "forgotten"),  # lines of the file inside the place that old lacks
    ("replaced", "replaced", "forgotten"),  # such lines that were deleted with their block
    ("elided", "kept", "elided"),  # lines of the file that match a placeholder such as ``...``
)
_PROVEN = 2  # the number of different depths that prove that new is indented consistently
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
    first, stop = place.rows or (0, 0)
    old = pair[0]
    texts: Texts = completed(text, pair, place) if place.partial else (old.lines, fresh)
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
    known |= {index: _without_blanks(old, index, stripped, known[index]) for index in elisions}
    keys = [canonical_line(line.strip()) for line in texts[0]]
    matched = align_between(known, keys, text.canonical[first:stop])
    rows = PlacedRows(first, text.lines[first:stop], text.ending(stop - 1), matched)
    patch = Refit(text, texts, rows, hunks, elisions).patch()
    patch.done["elided"] += sum(known[index][1] - known[index][0] for index in elisions)
    return patch


def _without_blanks(old: Text, index: int, rows: Sequence[str], own: Rows) -> Rows:
    """The rows of a placeholder without the blank ones that old has beside it."""
    lines, (first, stop), above, below = old.stripped, own, index - 1, index + 1
    while above >= 0 and not lines[above] and first < stop and not rows[first]:
        first, above = first + 1, above - 1
    while below < len(lines) and not lines[below] and first < stop and not rows[stop - 1]:
        stop, below = stop - 1, below + 1
    return first, stop


class Refit:
    """One old and new text, and the rows of a file to which the change is applied.

    ``hunks`` are the difference, computed if empty. ``elisions`` are the indexes of placeholders
    such as ``...`` in old.
    """

    def __init__(
        self,
        text: Text,
        texts: Texts,
        rows: PlacedRows,
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
        have the file's indentation: all of them, all but the first, or the added ones. No patch
        moves a line whose depth the change keeps.
        """
        relative = self.candidate()
        rows, real = self.rows, self.real
        certain = self._depths.is_sure and not self._depths.dropped
        plain = certain and not (relative.done["reindented"] or relative.ambiguity)
        if not (real and relative.placed) or plain:
            return relative
        aligned = None if certain or not self._moves_shared(relative) else self._like_new()
        nesting = Nesting(self.text.lines, rows.first, rows.first + len(rows.lines))
        usual, wrong = nesting.usual, nesting.faults(relative.text)
        if aligned and nesting.faults(aligned.text) <= usual:
            return aligned
        # A first line that is too deep says nothing about the others.
        more = [depth_of(self.old[i]) - width_of(indent) for i, indent in real.items()]
        too_deep = more[0] > max([0, *more[1:]])
        whole = None if too_deep else self._in_files_depth()
        if whole and whole[0].text != relative.text and not self._moves_kept(whole[0]):
            gain = wrong - nesting.faults(whole[0].text)
            # One error less proves little if both candidates have errors.
            proof = 1 if wrong - max(gain, 0) <= usual else 2
            if len(real) == 1 and abs(gain) < proof:
                return relative._replace(ambiguity=_AMBIGUOUS_INDENT)
            if gain > 0 or (gain == 0 and whole[1]):
                return whole[0]
        return self._unless_in_files_depth(relative, nesting, too_deep=too_deep)

    def _unless_in_files_depth(self, relative: Patch, nesting: Nesting, *, too_deep: bool) -> Patch:
        """The relative patch, unless the added lines seem to have the file's indentation."""
        usual, wrong = nesting.usual, nesting.faults(relative.text)
        real = self.real
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
        # A block set off by a blank line, such as a method, may be less deep.
        apart = ends and not self.new[changed[0].j1].strip()
        if not too_deep and (apart or not self._moves_kept(added)):
            proven = 0 == left <= usual < wrong and (level or not bare)
            if proven or (left <= wrong and self._replaces_in_depth()):
                return added
        # Without any indentation, the blocks are unknown.
        flat = len(real) > 1 and not any(line[:1].isspace() for line in (*self.old, *self.new))
        is_ambiguous = wrong > usual and (left <= usual or flat or too_deep)
        return relative._replace(ambiguity=_AMBIGUOUS_INDENT if is_ambiguous else None)

    @cached_property
    def _depths(self) -> LocalReindenter:
        return self._reindenter()

    @cached_property
    def _counterparts(self) -> dict[int, int]:
        """Maps lines of old to the equal or similar lines of new, ignoring indentation."""
        old, new = ([line.strip() for line in lines] for lines in (self.old, self.new))
        found: dict[int, int] = {}
        for same, i1, i2, j1, j2 in script(old, new):
            steps = ((at, at) for at in range(i2 - i1))
            for i, j in steps if same else pair_similar(old[i1:i2], new[j1:j2]):
                found[i1 + i] = j1 + j
        return found

    @cached_property
    def _kept(self) -> set[Pair]:
        """The indentations, in new and in the file, of lines whose depth the change keeps."""
        pairs = {
            (indent_of(self.new[j]), self.real[i])
            for i, j in self._counterparts.items()
            if i in self.real and indent_of(self.new[j]) == indent_of(self.old[i])
        }
        return pairs - {self._depths.dropped}

    def _moves_kept(self, patch: Patch) -> bool:
        """Whether the new lines of a patch contradict the depth of lines that it keeps."""
        kept = dict(self._kept)
        unclear = {indent for indent, real in self._kept if kept[indent] != real}
        return any(
            kept.get(indent, given) != given and indent not in unclear
            for indent, given in patch.placed.values()
        )

    def _moves_shared(self, patch: Patch) -> bool:
        """Whether a patch indents a line otherwise that old and new share, ignoring indentation."""
        shared = ((i, j) for i, j in self._counterparts.items() if i in self.real)
        placed = ((self.real[i], patch.placed[j][1]) for i, j in shared if j in patch.placed)
        return any(real != given for real, given in placed)

    def _like_new(self) -> Patch | None:
        """The patch if new is indented consistently, although old is not; None otherwise."""
        old, rows = [*self.old], [*self.rows.lines]
        for i, j in self._counterparts.items():
            old[i] = reindented(old[i], indent_of(self.new[j]))
        refit = Refit(self.text, (old, self.new), self.rows, elisions=self.elisions)
        refit.real = {i: real for i, real in self.real.items() if i in self._counterparts}
        depths = refit._depths
        if len({*refit.real.values()}) < _PROVEN or depths.dropped or not depths.is_sure:
            return None
        patch = refit.candidate()
        least = min(map(depth_of, filter(str.strip, rows)))
        inside = all(width_of(given) >= least for _, given in patch.placed.values())
        return patch if inside else None

    def _resolve(self, choices: Sequence[Patch], nesting: Nesting) -> Patch | None:
        """The only candidate with the fewest nesting errors, if not more than the file has."""
        texts = {patch.text: patch for patch in choices}
        (least, best), *others = sorted((nesting.faults(text), text) for text in texts)
        alike = all(self.old[index].strip() == self.mine[index].strip() for index in self.real)
        unique = all(faults > least for faults, _ in others) and not choices[-1].ambiguity
        usual = nesting.usual
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
        return patch, votes[True] == votes.total() > 0 and not (lacks or any(lower))

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
        depths = self._reindenter(below=True) if below else self._depths
        decision = Decision(self.text, (self.old, self.new), self.hunks, self.rows)
        return _PatchBuilder(self, depths if within is None else within).build(decision)

    def _reindenter(self, *, below: bool = False) -> LocalReindenter:
        pairs = {index: (indent_of(self.old[index]), real) for index, real in self.real.items()}
        first, stop = self.rows.first, self.rows.first + len(self.rows.lines)
        near = self.text.lines[max(0, first - NEAR) : stop + NEAR]
        return LocalReindenter(pairs, indents([*self.old, *self.new]), indents(near), below=below)


class _PatchBuilder:
    """Builds one patch."""

    def __init__(self, refit: Refit, depths: LocalReindenter | str) -> None:
        self.refit, self.rows, self.text = refit, refit.rows, refit.text
        self.old, self.new, self.depths = refit.old, refit.new, depths
        self.done: Counter[str] = Counter()
        self.ambiguity: str | None = None
        self.lines: list[tuple[str, str | None]] = []
        self.placed: dict[int, Pair] = {}
        for index in refit.shared - refit.elisions:
            first, stop = self.rows.matched[index]
            self.done["drifted"] += self.rows.lines[first:stop] not in ([], [self.old[index]])

    def _row_of(self, index: int) -> int:
        """The row of the matching file line, or of the line at its position."""
        return self.rows.first + self.rows.matched[index][0]

    def _ending(self, index: int) -> str:
        return self.text.ending(self._row_of(index))

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
        endings = (ending for _, ending in self.lines if ending)
        last = next(endings, None) or self.text.usual_ending
        pieces: list[str] = []
        for line, ending in self.lines:
            last = ending or last
            pieces += [line, last]
        pieces[-1:] = [self.rows.ending] if pieces else []
        ambiguity = decision.ambiguity or self.ambiguity
        return Patch("".join(pieces), self.done, ambiguity, self.placed)

    def _change(self, hunk: Hunk) -> None:
        partners = self._partners(hunk)
        # The open blocks of new lines: their indentation in new and in the file.
        self.blocks: list[tuple[str, str]] = []
        index = hunk.j1
        while index < hunk.j2:
            if index not in partners:
                self._add_new(hunk, index)
                index += 1
                continue
            stop = min((other for other in partners if other > index), default=hunk.j2)
            partner = partners[index]
            size = statement_end(self.old[partner].strip(), self.new[index:stop])
            self._add_changed(hunk, range(index, index + size), partner)
            index += size

    def _partners(self, hunk: Hunk) -> dict[int, int]:
        """Maps lines of the new text to the old line that each is a new version of."""
        old = [self.old[index].strip() for index in range(hunk.i1, hunk.i2)]
        new = [self.new[index].strip() for index in range(hunk.j1, hunk.j2)]
        pairs = {hunk.j1 + j: hunk.i1 + i for i, j in pair_similar(old, new)}
        if len(old) == len(new):
            # A line that the file only spells differently keeps that where it is unchanged.
            for i, j in zip(range(hunk.i1, hunk.i2), range(hunk.j1, hunk.j2), strict=True):
                grows = bool(old[i - hunk.i1]) and new[j - hunk.j1].startswith(old[i - hunk.i1])
                if grows or is_spelled_alike(self.refit.mine[i], self.old[i]):
                    pairs.setdefault(j, i)
        elif len(old) == 1 and new:
            pairs = self._statement_partner(hunk, pairs)
        moved = self.refit.moved
        pairs |= {hunk.j1 + j: moved[line] for j, line in enumerate(new) if line in moved}
        return {j: i for j, i in pairs.items() if self.refit.mine[i].strip()}

    def _statement_partner(self, hunk: Hunk, pairs: dict[int, int]) -> dict[int, int]:
        """The pairs, or that of the only old line and a whole statement, if that is similar."""
        old = self.old[hunk.i1].strip()
        new = [self.new[index].strip() for index in range(hunk.j1, hunk.j2)]
        size = statement_end(old, new)
        if size == 1:
            is_version = not pairs and is_spelled_alike(self.refit.mine[hunk.i1], old)
        else:
            inside = all(hunk.j1 < j < hunk.j1 + size for j in pairs)
            mine, whole = self.refit.mine[hunk.i1].strip(), " ".join(new[:size])
            same_end = mine[-1:] == old[-1:] and is_spelled_alike(mine, old)
            alike = same_end or similarity(old, whole, PAIR_FLOOR) > 0
            is_version = inside and alike and old not in new
        return {hunk.j1: hunk.i1} if is_version else pairs

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
            self.placed[index] = indent, result
        if guessed and self.ambiguity is None and self.new[index].strip():
            self.ambiguity = f"cannot determine the indentation of line {index + 1} of the new text"
        return result

    def _add_new(self, hunk: Hunk, index: int) -> None:
        replaced = hunk.i1 + index - hunk.j1
        ending = self._ending(replaced) if replaced < hunk.i2 else None
        if hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1:
            texts = self.refit.mine[replaced], self.old[replaced], self.new[index]
            try:
                check_line(*(text.strip() for text in texts))
            except MatchError as error:
                self.ambiguity = self.ambiguity or error.message
        self._add_line(hunk, index, self.new[index], ending)

    def _add_line(self, hunk: Hunk, index: int, line: str, ending: str | None = None) -> None:
        """Add a line of the new text with the file's indentation."""
        line = line.rstrip() if self.refit.trims else line
        if line:
            indent = self._indent(hunk, index)
            self.done["reindented"] += indent != indent_of(self.new[index])
            line = reindented(line, indent)
        self.lines.append((line, ending))

    def _add_changed(self, hunk: Hunk, indexes: range, partner: int) -> None:
        """Add the new version of an old line, a statement of one or more lines."""
        row, lines = self.refit.mine[partner], [self.new[index] for index in indexes]
        mine, old, new = map(split_ends, (row, self.old[partner], "\n".join(lines)))
        try:
            body = merge_line(mine[1], old[1], new[1], followed=indexes.stop < hunk.j2)
        except MatchError as error:
            where = f"line {self._row_of(partner) + 1}"
            body, self.ambiguity = new[1], self.ambiguity or f"{where}: {error.message}"
        if indexes.stop < hunk.j2 and new[1][-1:] == "," != body[-1:]:
            self.ambiguity = self.ambiguity or NO_COMMA.format(self._row_of(partner) + 1)
        # Ignore trailing whitespace that the file lacks, unless it is the whole change.
        is_change = new[:2] == old[:2] and new[2] != old[2]
        trail = "" if self.refit.trims and not is_change else new[2]
        self.done["changed"] += body + trail != new[1] + new[2]
        first, *rest = (body + trail).split("\n")
        first = first.rstrip() if rest and self.refit.trims else first
        indent = self._indent(hunk, indexes[0], mine[0] if new[0] == old[0] else None)
        self.done["reindented"] += indent != new[0]
        self.lines.append((indent + first, self._ending(partner)))
        for index, line in zip(indexes[1:], rest, strict=True):
            self._add_line(hunk, index, line)
