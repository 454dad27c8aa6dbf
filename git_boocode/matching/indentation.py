"""Convert the model's indentation to the file's, based on the old lines found in the file.

``LocalReindenter`` fits one ``Scale`` to all of them; if no scale explains all, it uses the lines
around a change. ``Nesting`` counts lines that are indented too deeply or not deeply enough.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import groupby, pairwise
from typing import NamedTuple

from git_boocode.matching.text import TAB, depth_of, indent_of, width_of

Pair = tuple[str, str]
"""The indentation of an old line and of the matching line of the file."""
NEAR = 200
"""The number of lines above and below a place that determine the file's indentation."""
LEAVES = re.compile(r"(?:return|break|continue|raise|throw|goto)\b")
_TAB_WIDTHS = (4, 8, 2, 3)
_FACTORS = tuple(Fraction(2) ** power for power in range(-3, 4))
_WIDEST = 4  # maximum width of the model's indentation unit
_PROOF = 2  # the number of indentations with the same shift that prove it for others
_BLOCKS = (":", "{")
_OPEN_ENDS = ":{([=|\\+&"
_OPENERS = re.compile(
    r"(?:and|begin|case|catch|class|def|do|else|elif|elsif|ensure|except|finally|fn|for|func"
    r"|function|if|impl|in|interface|local|loop|module|of|or|proc|rescue|struct|switch|then|try"
    r"|unless|until|when|where|while|with)\b"
)
_CLOSERS = (")", "]", "}", "end", "</", "-", "fi", "done", "esac")
_COMMENTS = ("#", "//", "/*", "* ", "-- ", "<!--")
_IN_COMMENT = re.compile(r"\*(?:[ /*]|$)")


def indents(lines: Iterable[str]) -> list[str]:
    """The indentations of the nonblank lines, except lines inside a block comment.

    The single space in front of a comment's star is not a level.
    """
    filled = ((line, line.strip()) for line in lines)
    return [indent_of(line) for line, bare in filled if bare and not _IN_COMMENT.match(bare)]


def reindented(line: str, indent: str) -> str:
    """A line with another indentation."""
    return indent + line.lstrip()


def _steps(indents: Sequence[str], tab: int) -> Counter[int]:
    """How often consecutive lines differ in width by how many columns, except zero."""
    widths = [width_of(indent, tab) for indent in indents]
    return Counter(abs(b - a) for a, b in pairwise(widths) if a != b)


def _common_step(indents: Sequence[str], tab: int = TAB) -> int:
    """The most common width difference between consecutive lines; 0 if all widths are equal."""
    steps = _steps(indents, tab)
    return min(steps, key=lambda step: (-steps[step], step), default=0)


class Scale(NamedTuple):
    """A linear map from the model's columns to the file's."""

    old_tab: int
    file_tab: int
    factor: Fraction
    shift: Fraction

    def width(self, indent: str) -> int:
        """The file's columns for an indentation of the model."""
        return max(0, round(self.apart(indent)))

    def apart(self, indent: str) -> Fraction:
        """The file's columns without the limits of a line: a fraction, or below zero."""
        return width_of(indent, self.old_tab) * self.factor + self.shift

    def fits(self, pair: Pair) -> bool:
        """Whether the map converts the model's indentation of a pair to the file's."""
        return self.shift_of(pair) == self.shift

    def shift_of(self, pair: Pair) -> Fraction:
        """The shift that a pair implies for this factor."""
        return width_of(pair[1], self.file_tab) - width_of(pair[0], self.old_tab) * self.factor


class _Run(NamedTuple):
    """Consecutive matched lines with the same shift."""

    shift: Fraction
    seen: dict[str, str]  # maps the model's indentation to the file's
    same: bool  # whether both are equal in more than one line


class LocalReindenter:
    """The indentation of new lines: by all matched lines if they agree, else by the nearest.

    ``placed`` maps the index of an old line to the indentations of the match. ``model`` and
    ``near`` are the ``indents`` of the model's lines and of the file's around the place. A guess
    follows the lines above, or those ``below``.
    """

    def __init__(
        self, placed: dict[int, Pair], model: list[str], near: list[str], *, below: bool = False
    ) -> None:
        self.below = below
        there = [mine for _, mine in placed.values() if mine]
        self._least = min((mine for _, mine in placed.values()), key=width_of, default="")
        # The most common step of the model's lines, and of the file's, for a tab width.
        self._here = cache(
            lambda tab=TAB: _common_step(model, tab) or _common_step(["", *model], tab)
        )
        self._steps = cache(lambda tab: {*_steps(model, tab)})
        self._there = cache(partial(_common_step, ["", *(near or there)]))
        # A file without any indentation gets the model's.
        starts = Counter(indent[:1] for indent in filter(None, near)) or Counter("".join(model))
        self._tabs = any("\t" in mine for mine in there) if there else starts["\t"] > starts[" "]
        # A line that is too deep beside one that is right proves nothing.
        right = {mine for old, mine in placed.values() if old == mine}
        kept = {
            row: (old, mine)
            for row, (old, mine) in placed.items()
            if mine not in right or width_of(old) <= width_of(mine)
        }
        first = next(iter(placed), None)
        pairs = [*kept.values()]
        # Models often drop the indentation of the first line only.
        is_off = first not in kept
        self.dropped = (
            placed[first] if first is not None and (is_off or self._drops_first(pairs)) else None
        )
        skipped = 1 if self.dropped and not is_off else 0
        self._rows, pairs = [*kept][skipped:], pairs[skipped:]
        self.scale = self._fit(pairs)
        # Maps each indentation of the model to its most common indentation in the file.
        self._seen = {old: mine for (old, mine), _ in reversed(Counter(pairs).most_common())}
        self._same = all(old == mine for old, mine in pairs)
        # Whether all pairs fit the scale, and equal indentations are mapped consistently.
        fits = self._same or all(map(self.scale.fits, pairs))
        self.is_sure = fits and all(self._seen[old] == mine for old, mine in pairs)
        self._runs: list[_Run] = []  # the run of each matched line
        for shift, group in groupby(pairs, self.scale.shift_of):
            moved = [*group]
            same = len(moved) >= _PROOF and all(old == mine != "" for old, mine in moved)
            self._runs += [_Run(shift, dict(moved), same)] * len(moved)

    def give(
        self, indent: str, between: tuple[int, int], parent: list[Pair], *, leading: bool
    ) -> tuple[str, bool]:
        """The file's indentation for a new line in place of old lines ``between`` (first, stop).

        ``parent`` is the pair of the new line that contains it, if any; ``leading`` is set for the
        first line of the new text. The second value is whether the indentation is a guess.
        """
        # If the first line is the least deep, others without indentation have lost it, too.
        lost = not indent and self.dropped and self.dropped[1] == self._least
        if self.dropped and indent == self.dropped[0] and (leading or lost):
            return self.dropped[1], not leading
        unit = self._unit(self.scale)
        if self.is_sure:
            apart = self.scale.apart(indent)
            # No line is above the margin, or between the levels of another unit.
            odd = self.scale.factor != 1 and bool(unit) and apart % unit != 0
            return self._by_all(indent), indent not in self._seen and (apart < 0 or odd)
        if parent:
            shift = self.scale.shift_of(parent[0])
            # Blocks are shifted by whole units.
            return self._moved(shift, indent), bool(unit) and shift % unit != 0
        groups = self._around(*between)
        shown = ({self._by(run, indent) for run in runs} - {None} for runs in groups)
        known = next(filter(None, shown), {None})
        shifts = [run.shift for runs in groups for run in runs]
        if len(known) == 1 and (only := known.pop()) is not None:
            return only, False
        return self._moved(shifts[-1 if self.below else 0], indent), True

    def _by_all(self, indent: str) -> str:
        if indent in self._seen:
            return self._seen[indent]
        if self._same and (self._tabs == ("\t" in indent) or not indent):
            return indent
        return self._render(self.scale.width(indent))

    def _render(self, width: int) -> str:
        """An indentation of a width in the file's style."""
        tabs, rest = divmod(width, self.scale.file_tab) if self._tabs else (0, width)
        return "\t" * tabs + " " * rest

    def _drops_first(self, pairs: Sequence[Pair]) -> bool:
        """Whether only the first line is indented differently, which would distort the scale."""
        rest = pairs[1:]
        # If the first line is indented more deeply, the others must prove that they are right.
        dropped = bool(rest) and len(pairs[0][0]) < len(pairs[0][1])
        if len(rest) < (1 if dropped else _PROOF) or all(map(self._fit(pairs).fits, pairs)):
            return False
        # Unindented lines do not prove the indentation of others.
        proven = not pairs[0][0] or any(old for old, _ in rest)
        return proven and all(map(self._fit(rest).fits, rest))

    def _fit(self, pairs: Sequence[Pair]) -> Scale:
        """The scale that explains most pairs; if several do, the one that fits the units."""
        weights = Counter(pairs)
        ranks: dict[Scale, tuple[int, ...]] = {}
        for unshifted in self._scales():
            shifts: Counter[Fraction] = Counter()
            for pair, count in weights.items():
                shifts[unshifted.shift_of(pair)] += count
            shift, explained = shifts.most_common(1)[0] if shifts else (Fraction(0), 0)
            scale = unshifted._replace(shift=shift)
            # Blocks are shifted by whole units.
            unit = self._unit(scale)
            whole = not unit or shift % unit == 0
            shown = sum(unshifted.shift_of(pair) == shift for pair in weights)
            proven = shown >= min(_PROOF, len(weights)) and whole and shift >= 0 and unit != 1
            if scale.factor == 1 or proven:
                agrees, same = self._agree(scale), scale.factor == 1
                ranks[scale] = explained, agrees, whole, same, shift == 0
        return max(ranks, key=ranks.__getitem__)

    def _scales(self) -> Iterator[Scale]:
        """The scales to try, without their shift."""
        one, none = Fraction(1), Fraction(0)
        if self._tabs:
            # The width of the file's tab is free, so a factor would be redundant.
            for tab in dict.fromkeys([self._here() or 4, *_TAB_WIDTHS, 1]):
                yield Scale(tab, tab, one, none)
            return
        there = self._there()
        for tab in _TAB_WIDTHS:
            yield Scale(tab, TAB, one, none)
            steps = self._steps(tab)
            for here in steps if there else ():
                factor = Fraction(there, here)
                # Units are halved and doubled; other factors are accidents of a line that is off.
                if factor != 1 and (factor in _FACTORS or len(steps) == 1):
                    yield Scale(tab, TAB, factor, none)

    def _unit(self, scale: Scale) -> int:
        """The width of an indentation level in the file."""
        return scale.file_tab if self._tabs else self._there(scale.file_tab)

    def _agree(self, scale: Scale) -> bool:
        """Whether a scale converts the model's unit to the file's."""
        step, there = self._here(scale.old_tab), self._unit(scale)
        if not step or not there:
            return False
        # Continuation lines may be several units deeper.
        skips = not scale.shift if self._tabs else step > _WIDEST
        here = step * scale.factor
        return here % there == 0 if skips else here == there

    def _around(self, start: int, stop: int) -> list[list[_Run]]:
        """The runs of the lines around new ones, the nearest first."""
        first, last = (bisect_left(self._rows, row) for row in (start, stop))
        inside = self._runs[first:last]
        beside = [*self._runs[max(first - 1, 0) : first], *self._runs[last : last + 1]]
        if len({run.shift for run in inside}) == 1:
            return [inside[:1], beside]
        return [[*beside, *inside[:1], *inside[-1:]]]

    def _by(self, run: _Run, indent: str) -> str | None:
        """The file's indentation according to a run of lines, or None."""
        if indent in run.seen:
            return run.seen[indent]
        if len(run.seen) < _PROOF and not run.same:
            return None
        return self._moved(run.shift, indent)

    def _moved(self, shift: Fraction, indent: str) -> str:
        return self._render(self.scale._replace(shift=shift).width(indent))


class Nesting:
    """Checks the indentation of lines in a place, like an indentation-based parser.

    A line is deeper than the one above only if that one can open a block, and by one level. A
    shallower line returns to an open level. The line below the place stays in its block.
    """

    def __init__(self, lines: Sequence[str], first: int, stop: int) -> None:
        """For replacements of ``lines[first:stop]``."""
        near = lines[max(0, first - NEAR) : stop + NEAR]
        self.unit = _common_step(indents(near))
        self.below = next((line for line in lines[stop : stop + NEAR] if line.strip()), "")
        self.levels, self.brackets, self.above = [0], list[tuple[str, int]](), ("", 0)
        self.above = self._walk(lines[max(0, first - NEAR) : first], self.levels, self.brackets)[1]
        self.rows = lines[first:stop]
        self.split = self._splits(self.rows)

    @cached_property
    def usual(self) -> int:
        """The number of nesting errors of the lines as they are."""
        return self.faults("\n".join(self.rows))

    def faults(self, text: str) -> int:
        """The number of nesting errors that the lines of ``text`` cause in the file."""
        rows = text.split("\n")
        faults, _ = self._walk([*rows, self.below], [*self.levels], [*self.brackets])
        return faults + (self._splits(rows) > self.split)

    def _splits(self, rows: Sequence[str]) -> bool:
        """Whether the line below would be in a block that one of the rows opens."""
        code = [row for row in rows if row.strip() and not row.lstrip().startswith(_COMMENTS)]
        return min(map(depth_of, code), default=0) < depth_of(self.below) and bool(code)

    def _walk(
        self, rows: Iterable[str], levels: list[int], brackets: list[tuple[str, int]]
    ) -> tuple[int, tuple[str, int]]:
        """The nesting errors of lines below ``above``, and the last line with its width.

        ``levels`` are the open levels, ``brackets`` the lines with open brackets; both are updated.
        """
        faults, (above, above_width) = 0, self.above
        for row in filter(str.strip, rows):
            line, width = row.strip(), depth_of(row)
            if width > levels[-1]:
                faults += not _can_open(above)
                limit = above_width + self.unit
                faults += bool(self.unit) and above[-1:] in _BLOCKS and width != limit
                levels.append(width)
            else:
                needs_body = above[-1:] in _BLOCKS and width <= above_width
                dead = width == above_width and line[0].isalpha() and LEAVES.match(above)
                faults += bool(needs_body or dead) and not line.startswith(_CLOSERS)
                while levels[-1] > width:
                    levels.pop()
                if levels[-1] < width:
                    faults += 1
                    levels.append(width)
            if line.startswith(_COMMENTS):
                continue
            above, above_width = line, width
            opened = sum(map(line.count, "([")) - sum(map(line.count, ")]"))
            brackets += [(line, width)] * opened
            if opened < 0 and brackets:
                # The first line determines the level of a statement of several lines.
                top, above_width = brackets[max(opened, -len(brackets))]
                del brackets[opened:]
                above = f"{top} {line}"
                while levels[-1] > above_width:
                    levels.pop()
        return faults, (above, above_width)


def _can_open(line: str) -> bool:
    """Whether the line below may be indented more deeply."""
    if not line or line[0] == "<" or line[-1] == ">":
        return "</" not in line and not line.endswith("/>")
    if line[-1] in _OPEN_ENDS or line[0] == "-":
        return True
    if _OPENERS.match(line) or _OPENERS.fullmatch(line.rsplit(maxsplit=1)[-1]):
        return True
    return sum(map(line.count, "([{")) > sum(map(line.count, ")]}"))
