"""Apply what the model changed to the file's own lines, instead of pasting its text over them.

The old text is laid beside the file's lines, the new text beside the old. Lines that old and new
share keep the file's bytes; removed lines go; new lines are re-indented to the file; a changed line
is merged with the file's line token by token. Lines of the file that the old text lacks stay,
unless they lie inside what the model replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from git_boocode.matching.align import (
    Hunk,
    Owned,
    align_between,
    align_lines,
    pair_similar,
    script,
)
from git_boocode.matching.ambiguity import Ambiguity, Sides, split_hunks
from git_boocode.matching.boundary import without_doubled
from git_boocode.matching.canonical import canonical_line, look_alikes, plain_in_file
from git_boocode.matching.comments import is_comment
from git_boocode.matching.elision import is_marker
from git_boocode.matching.indentation import (
    NEAR,
    IndentStyle,
    LocalReindenter,
    Nesting,
    Pair,
    indent_of,
    indents,
    reindented,
)
from git_boocode.matching.merge import carry, merge_line
from git_boocode.matching.rungs import Place
from git_boocode.matching.similarity import similarity
from git_boocode.matching.text import Text, split_ends


class _Rows(NamedTuple):
    """Rows of the file from ``first`` on, and those among them that each old line matches."""

    first: int
    rows: Sequence[str]
    owned: Sequence[Owned]


class Line(NamedTuple):
    """A line of the result. ``ending`` None: whatever its neighbours in the file have."""

    text: str
    ending: str | None = None


class Patch(NamedTuple):
    """The text to put in a place, and what was done on the way, counted by kind of note.

    ``doubt`` says, for a message, why the text is a guess on which nobody should rely; None if it
    is none.
    """

    text: str
    done: Counter[str]
    doubt: str | None = None


_COUNTED = (
    ("drifted", "kept", "drifted"),
    ("changed", "merged", "changed"),
    ("forgotten", "kept", "forgotten"),
    ("replaced", "replaced", "forgotten"),
    ("elided", "kept", "elided"),
)


def notes(done: Counter[str]) -> tuple[str, ...]:
    """The notes of an edit, in this order, with these words.

    ``reindented`` – new or changed lines got another indentation than the model gave them
    ``kept N drifted lines`` – shared lines on which the file differs from the model's old text
    ``merged N changed lines`` – changed lines on which some of the file's own characters stayed
    ``kept N forgotten lines`` – lines of the file, among those matched, that the old text lacks
    ``replaced N forgotten lines`` – such lines that went with the lines around them, which the new
    text deletes or replaces as one block
    ``kept N elided lines`` – lines of the file for which old and new have a line like ``...``

    They are preceded, in this order, by what was undone in old and new text alike before they
    were matched (see ``readings``): ``code fence stripped``, ``line numbers stripped``,
    ``unescaped``, ``entities decoded``, ``diff marks stripped``.
    """
    found = ["reindented"] if done["reindented"] else []
    for key, verb, what in _COUNTED:
        if count := done[key]:
            found.append(f"{verb} {count} {what} line{'s' if count > 1 else ''}")
    return tuple(found)


def _moved(old: Sequence[str], hunks: Sequence[Hunk]) -> dict[str, int]:
    """The lines, stripped, that the change takes away in one place only, and where that is."""
    gone = [(old[i].strip(), i) for hunk in hunks if not hunk.same for i in range(hunk.i1, hunk.i2)]
    counts = Counter(line for line, _ in gone)
    return {line: index for line, index in gone if line and counts[line] == 1}


_SLIPPED = 0.9
"""Comments this similar are one comment with a slip, and merged word by word like code."""


def _in_other_words(line: str, row: str) -> bool:
    """Whether two lines are comments that differ by more than a slip."""
    if not (is_comment(line) and is_comment(row)):
        return False
    return similarity(line.strip(), row.strip(), _SLIPPED) < _SLIPPED


def fitted(text: Text, old: Text, new: Text, fresh: Sequence[str], place: Place) -> Patch:
    """Carry the change onto a place whose rung knows which rows each old line stands for.

    ``fresh`` are the lines of new that take the place of old's.
    """
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
        self.text = text
        self.elisions = elisions
        self.old = old
        self.new = new
        self.hunks = hunks or script(old, new)
        self.keys = [canonical_line(line.strip()) for line in old]
        self.moved = _moved(old, self.hunks)
        self.ambiguity = Ambiguity(old, new, self.hunks)

    def lines(self, first: int, stop: int, owned: Sequence[Owned] = ()) -> Patch:
        """Carry the change onto whole rows ``first`` to ``stop`` (exclusive).

        ``owned`` are the rows that each old line matches, counted from the first one; without them
        the lines are aligned.
        """
        rows = self.text.lines[first:stop]
        owned = owned or align_lines(self.keys, self.text.canonical[first:stop])
        refit = self._plainly(rows, owned) or self
        return refit.placed(_Rows(first, rows, owned))

    def placed(self, place: _Rows) -> Patch:
        """The patch for the reading of new's indentation that fits the lines around it.

        New lines are indented relative to the old ones, unless they show that they have the file's
        indentation already: all of them, all but the first, or those that old lacks.
        """
        relative = self.carried(place)
        if not relative.done["reindented"] or not self._file_indents(place):
            return relative
        nesting = Nesting(self.text.lines, place.first, place.first + len(place.rows))

        def faults(patch: Patch) -> int:
            return nesting.faults(patch.text.split("\n"))

        found = self._in_files_depth(place, relative, faults) or relative
        if found is not relative or relative.doubt is not None or not faults(relative):
            return found
        added = self.carried(place, as_given=True)
        if not faults(added):
            return added
        if faults(added) <= nesting.faults(place.rows) < faults(relative):
            why = "cannot tell whether the added lines have the file's indentation already"
            return relative._replace(doubt=why)
        return relative

    def _in_files_depth(
        self, place: _Rows, relative: Patch, faults: Callable[[Patch], int]
    ) -> Patch | None:
        """The patch if new, or all of it but the first line, has the file's indentation."""
        real = self._file_indents(place)
        lines = enumerate(self.old)
        old = [reindented(line, real[at]) if at in real else line for at, line in lines]
        top, start = next(iter(real)), next(filter(str.strip, self.new), "")
        mine, theirs, given = indent_of(self.old[top]), real[top], indent_of(start)
        if given != mine:
            votes = self._votes(real)
            if votes[True] > votes[False] or (not votes and given == theirs):
                absolute = Refit(self.text, old, self.new, elisions=self.elisions).carried(place)
                return absolute if faults(absolute) <= faults(relative) else None
        elif self._may_lack_first(mine, theirs):
            new = [theirs + self.new[0], *self.new[1:]]
            trimmed = Refit(self.text, old, new, elisions=self.elisions).carried(place)
            gain = faults(relative) - faults(trimmed)
            if gain > 0:
                return trimmed
            if not gain and len(real) == 1 and trimmed.text != relative.text:
                return relative._replace(doubt=_doubt(place.first, indented=True))
        return None

    def _may_lack_first(self, mine: str, theirs: str) -> bool:
        """Whether all new lines but the first are at least as deep as the place."""
        rest = [line for line in self.new[1:] if line.strip()]
        dropped = not mine and bool(theirs) and bool(self.new[0].strip())
        return dropped and bool(rest) and all(line.startswith(theirs) for line in rest)

    def _file_indents(self, place: _Rows) -> dict[int, str]:
        """The file's indentation of the old lines that are evidence of it, by their index."""
        return {
            index: indent_of(place.rows[own[0]])
            for index, (line, own) in enumerate(zip(self.old, place.owned, strict=True))
            if own[0] < own[1] and line.strip() and place.rows[own[0]].strip()
            if index not in self.elisions
        }

    def _votes(self, real: dict[int, str]) -> Counter[bool]:
        """Of the lines that old and new share and the file indents differently than old.

        True counts those that new indents as the file, False those that it indents as old.
        """
        votes: Counter[bool] = Counter()
        stripped = ([line.strip() for line in lines] for lines in (self.old, self.new))
        for hunk in script(*stripped):
            for step in range(hunk.i2 - hunk.i1) if hunk.same else ():
                i, given = hunk.i1 + step, indent_of(self.new[hunk.j1 + step])
                mine = indent_of(self.old[i])
                if i in real and real[i] != mine and given in (mine, real[i]):
                    votes[given == real[i]] += 1
        return votes

    def _plainly(self, rows: Sequence[str], owned: Sequence[Owned]) -> Refit | None:
        """The refit of texts in which what only the model writes fancily is as plain as the file's.

        None if it writes nothing so.
        """
        pairs = [
            (line.strip(), rows[own[0]].strip())
            for line, own in zip(self.old, owned, strict=True)
            if own[0] < own[1] and not line.isascii()
        ]
        table = plain_in_file(pairs)
        if not table:
            return None
        old, new = ([line.translate(table) for line in lines] for lines in (self.old, self.new))
        return Refit(self.text, old, new, self.hunks, self.elisions)

    def carried(self, place: _Rows, *, as_given: bool = False) -> Patch:
        """The patch; ``as_given`` leaves the indentation of what comes in alone."""
        first, rows, owned = place
        stop = first + len(rows)
        depths = self._depths(place)
        parted = split_hunks(self.hunks, (self.old, self.new), rows, owned)
        ambiguity = (
            Ambiguity(self.old, self.new, parted.hunks) if parted.changed else self.ambiguity
        )
        sides = ambiguity.resolve(self.text, (first, stop), owned, depths)
        walk = _Walk(self, rows, first, owned, None if as_given else depths)
        walk.hunks = parted.hunks
        walk.trims = any(map(_trails, self.old)) and self._overhangs(rows, owned)
        walk.sides = sides
        walk.done["replaced"] += parted.lost
        patch = self._joined(walk, self.text.ending(stop - 1))
        doubt_of = _doubt(first, sides.doubt, parted.doubt, walk.unclear)
        return patch._replace(doubt=doubt_of)

    def _overhangs(self, rows: Sequence[str], owned: Sequence[Owned]) -> bool:
        """Whether the old text has trailing whitespace on a line where the file has none."""
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
        plain = self._plainly(segments, owned)
        if plain:
            return plain.segments(segments, first, ending)
        return self._joined(_Walk(self, segments, first, owned, None), ending)

    def _depths(self, place: _Rows) -> LocalReindenter:
        pairs: dict[int, Pair] = {
            index: (indent_of(self.old[index]), real)
            for index, real in self._file_indents(place).items()
        }
        start, stop = place.first, place.first + len(place.rows)
        near = self.text.lines[max(0, start - NEAR) : stop + NEAR]
        return LocalReindenter(pairs, IndentStyle(indents([*self.old, *self.new]), indents(near)))

    def _joined(self, walk: _Walk, last: str) -> Patch:
        lines = walk.run()
        if not lines:
            return Patch("", walk.done)
        endings = _filled([line.ending for line in lines], self.text.usual_ending)
        endings[-1] = last
        pieces = [line.text + ending for line, ending in zip(lines, endings, strict=True)]
        return Patch("".join(pieces), walk.done)


def _trails(line: str) -> bool:
    """Whether a line ends in whitespace."""
    return line[-1:].isspace()


def _doubt(
    first: int,
    beside: int | None = None,
    inside: int | None = None,
    unclear: int | None = None,
    *,
    indented: bool = False,
) -> str | None:
    """Why a patch at row ``first`` is a guess, in the words of a message; None if it is none."""
    if beside is not None:
        lacks = f"line {beside + 1} of the file is missing from the old text"
        return f"{lacks}: the new lines could go above or below it"
    if inside is not None:
        lacks = f"line {first + inside + 1} of the file is missing from the old text"
        return f"{lacks}: it could stay or go with the lines around it"
    if unclear is not None:
        return f"cannot tell the indentation of line {unclear + 1} of the new text"
    if indented:
        why = f"line {first + 1} of the file is indented, the old text is not"
        return f"{why}: cannot tell the indentation of the new text"
    return None


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
        depths: LocalReindenter | None,
    ) -> None:
        self.refit, self.rows, self.first, self.owned = refit, rows, first, owned
        self.depths = depths
        self.hunks: Sequence[Hunk] = refit.hunks
        self.unclear: int | None = None
        self.trims = False
        self.sides = Sides()
        self.done: Counter[str] = Counter()
        self.result: list[Line] = []

    def run(self) -> list[Line]:
        """The lines that take the place of the rows."""
        for step in carry(self.hunks, self.owned, len(self.rows), self.sides.late, self.sides.amid):
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
            self.done["forgotten"] += sum(bool(self.rows[row].strip()) for row in rows)

    def _count_drift(self) -> None:
        for hunk in self.refit.hunks:
            for index in range(hunk.i1, hunk.i2) if hunk.same else ():
                first, stop = self.owned[index]
                mine = self.rows[first:stop]
                drifted = bool(mine) and mine != [self.refit.old[index]]
                self.done["drifted"] += drifted and index not in self.refit.elisions

    def _change(self, hunk: Hunk) -> None:
        partners = self._partners(hunk)
        for index in range(hunk.j1, hunk.j2):
            partner = partners.get(index)
            row = self.owned[partner][0] if partner is not None else None
            if partner is None or row is None or not self.rows[row].strip():
                self.result.append(Line(self._new_line(hunk, index), self._ending(hunk, index)))
            else:
                self.result.append(self._changed_line(hunk, index, partner))

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
        if hunk.i2 - hunk.i1 == hunk.j2 - hunk.j1:
            pairs += self._look_alike_pairs(hunk, {j for j, _ in pairs})
        moved = self.refit.moved
        pairs += [(hunk.j1 + j, moved[line]) for j, line in enumerate(new) if line in moved]
        return {j: i for j, i in pairs if self.owned[i][0] < self.owned[i][1]}

    def _look_alike_pairs(self, hunk: Hunk, paired: set[int]) -> Iterator[tuple[int, int]]:
        """Lines replaced one by one, however unlike, where the file's only looks like the old one.

        What the two have in common keeps the file's characters.
        """
        for index, other in zip(range(hunk.j1, hunk.j2), range(hunk.i1, hunk.i2), strict=True):
            mine = self.rows[self.owned[other][0] : self.owned[other][1]]
            old = self.refit.old[other].strip()
            fancy = len(mine) == 1 and not mine[0].isascii()
            if fancy and index not in paired and look_alikes(mine[0].strip()) == look_alikes(old):
                yield index, other

    def _indent(self, hunk: Hunk, index: int, given: str) -> str:
        """The file's indentation for that of a line of the new text."""
        if self.depths is None:
            return given
        depth = self.depths.give(given, (hunk.i1, hunk.i2), leading=index == 0)
        if depth.unclear and self.unclear is None and self.refit.new[index].strip():
            self.unclear = index
        return depth.text

    def _new_line(self, hunk: Hunk, index: int) -> str:
        line = self.refit.new[index].rstrip() if self.trims else self.refit.new[index]
        given = indent_of(line)
        if not given and not line:
            return line
        wanted = self._indent(hunk, index, given)
        self.done["reindented"] += wanted != given
        return reindented(line, wanted)

    def _changed_line(self, hunk: Hunk, index: int, partner: int) -> Line:
        row = self.owned[partner][0]
        mine, old = split_ends(self.rows[row]), split_ends(self.refit.old[partner])
        new = split_ends(self.refit.new[index])
        indent = mine[0] if new[0] == old[0] else self._indent(hunk, index, new[0])
        # A comment that the model misquotes and then changes is changed as a whole.
        misquoted = _in_other_words(self.refit.old[partner], self.rows[row])
        body = new[1] if misquoted else merge_line(mine[1], old[1], new[1])
        # Trailing whitespace that the file lacks is ignored, unless it is the whole change.
        drifted = self.trims and new[:2] != old[:2]
        trail = "" if drifted else new[2]
        self.done["reindented"] += indent != new[0]
        self.done["changed"] += body + trail != new[1] + new[2]
        return Line(indent + body + trail, self.refit.text.ending(self.first + row))
