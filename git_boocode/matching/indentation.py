"""The one place that knows about indentation: the file's indentation for a line of the model.

Each line of the old text that was found in the file gives a ``Pair``: its indentation in the
model's text and in the file. ``Reindenter`` fits one ``Scale`` to all pairs: the width of a tab on
either side, the ratio of the indentation units, and how far the block was moved. Indentations that
were seen map to what was seen; others follow the scale, in the file's tabs or spaces.
``LocalReindenter`` asks only the pairs around a change where no single scale explains all of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice, pairwise, product
from typing import NamedTuple

from git_boocode.matching.text import split_ends

Pair = tuple[str, str]
"""The indentation of an old line and of the file's line it matches."""

_TAB_WIDTHS = (4, 8, 2, 3)
_FACTORS = tuple(map(Fraction, ("1", "2", "1/2", "4", "1/4", "8", "1/8", "3", "1/3")))
_OBSERVED = 20
"""At most this many further factors are taken from neighbouring indentations."""
_REACH = 6
"""Matched lines on either side of a change that are consulted."""
_PROOF = 2
"""Different indentations that must be moved alike to prove that others are."""
_MOST = 3
"""Different indentations that prove a scale although some lines do not follow it."""
_SLIPS = 4
"""At most one in this many lines may break a proven scale."""
_WRITTEN = 200
"""Different indentations of the model from which its unit is derived."""
NEAR = 200
"""Lines above and below a place that show how the file is indented."""
_TAB = 8
"""Columns of a tab where lines of one file are compared with each other."""
_OPENERS = (":", "{", "(", "[")
_BLOCKS = (":", "{")
_OPEN_ENDS = ":{([=|\\+&"
_TAILS = (" do", " then", " else", " begin", " of", " in", " where", " and", " or", " return")
_HEADS = frozenset(
    [
        "begin",
        "case",
        "catch",
        "class",
        "def",
        "do",
        "else",
        "elsif",
        "elif",
        "ensure",
        "except",
        "finally",
        "for",
        "fn",
        "func",
        "function",
        "if",
        "impl",
        "interface",
        "local",
        "loop",
        "module",
        "proc",
        "rescue",
        "struct",
        "switch",
        "then",
        "try",
        "unless",
        "until",
        "when",
        "while",
        "with",
    ]
)
_CLOSERS = (")", "]", "}", "end", "</", "-", "fi", "done", "esac")
_CONTINUES = (".", "?", ":", "|", "&", "+", "-", "*", "/", "=", "<", ",", ")", "]", "}")
_COMMENTS = ("#", "//", "/*", "* ", "-- ", "<!--")
_LEAVES = re.compile(r"(?:return|break|continue|raise|throw|goto)\b")
_GUARD = re.compile(r"\b(?:if|unless)\b")
_WORD = re.compile(r"[A-Za-z_]+")


def indent_of(line: str) -> str:
    """The whitespace a line starts with."""
    return line[: len(line) - len(line.lstrip())]


def width_of(indent: str, tab: int) -> int:
    """The columns an indentation takes when tab stops are ``tab`` columns apart."""
    if "\t" not in indent:
        return len(indent)
    if not indent.strip(" \t"):
        return len(indent.expandtabs(tab))
    width = 0
    for char in indent:
        width += tab - width % tab if char == "\t" else 1
    return width


def indents(lines: Iterable[str]) -> list[str]:
    """The indentations of the lines that are not blank.

    Lines inside a block comment are left out: their one space is not a level.
    """
    return [indent_of(line) for line in lines if line.strip() and not _goes_on(line.lstrip())]


def _goes_on(bare: str) -> bool:
    return bare[0] == "*" and bare[1:2] in ("", " ", "/", "*", "\r")


def reindented(line: str, indent: str) -> str:
    """A line with another indentation."""
    _, body, trail = split_ends(line)
    return indent + body + trail


def common_step(indents: Sequence[str], tab: int) -> int:
    """The most common difference in columns between a line and the next; 0 if all are level."""
    widths = [width_of(indent, tab) for indent in indents]
    steps = Counter(abs(b - a) for a, b in pairwise(widths) if a != b)
    if not steps:
        return 0
    most = max(steps.values())
    return min(step for step, count in steps.items() if count == most)


class Scale(NamedTuple):
    """A linear map from the model's columns to the file's."""

    old_tab: int
    file_tab: int
    factor: Fraction
    shift: Fraction

    def width(self, indent: str) -> int:
        """The file's columns for an indentation of the model."""
        return max(0, round(self._exact(indent)))

    def _exact(self, indent: str) -> Fraction:
        return width_of(indent, self.old_tab) * self.factor + self.shift

    def fits(self, pair: Pair) -> bool:
        """Whether the map sends the model's indentation of a pair to the file's."""
        return self.shift_of(pair) == self.shift

    def shift_of(self, pair: Pair) -> Fraction:
        """By how much the file moved a line."""
        return width_of(pair[1], self.file_tab) - width_of(pair[0], self.old_tab) * self.factor


class IndentStyle(NamedTuple):
    """What the model's text and the file look like as a whole.

    ``old`` and ``near`` are the indentations of the model's lines (old and new) and of the file's
    lines around the place, in order, blank lines left out.
    """

    old: Sequence[str]
    near: Sequence[str]

    @property
    def file_has_tabs(self) -> bool:
        """Whether the lines around the place mostly start with tabs, where they are indented."""
        tabs = sum(indent.startswith("\t") for indent in self.near)
        return tabs > sum(indent.startswith(" ") for indent in self.near)


class Reindenter:
    """Gives the file's indentation for the model's."""

    def __init__(self, pairs: Sequence[Pair], style: IndentStyle) -> None:
        self.first = pairs[0] if pairs else ("", "")
        self.pairs, self.dropped_first = _without_dropped_first(pairs, style)
        self.identity = _is_identity(self.pairs, style)
        self.tabs = _file_uses_tabs(self.pairs, style)
        self.units = _Units(style, self.tabs)
        self.scale = fit(self.pairs, style, self.tabs)
        self.seen = _most_common(self.pairs)
        self.foreign = _Foreign.found(self.pairs, style) if self.identity else None

    def __call__(self, indent: str, leading: bool) -> str:
        """The file's indentation for ``indent``; ``leading`` for the very first line of new text.

        The first line is special because models often drop the indentation of that one alone.
        """
        if leading and self.dropped_first and indent == self.first[0]:
            return self.first[1]
        if indent in self.seen:
            return self.seen[indent]
        if self.identity:
            return self.foreign.render(indent) if self.foreign else indent
        return self.render(self.scale.width(indent))

    @property
    def sure(self) -> bool:
        """Whether one map explains every matched line, and is more than a guess."""
        return all(map(self.fits, self.pairs)) and not _doubtful(self.pairs, self.scale, self.units)

    def fits(self, pair: Pair) -> bool:
        """Whether a pair is as it is mapped, and as the others with the same indentation are."""
        return self.seen[pair[0]] == pair[1] and (self.identity or self.scale.fits(pair))

    def render(self, width: int) -> str:
        """An indentation of some columns, as the file writes it."""
        tab = self.scale.file_tab
        for known in self.seen.values():
            if width_of(known, tab) == width:
                return known
        return "\t" * (width // tab) + " " * (width % tab) if self.tabs else " " * width


class _Foreign(NamedTuple):
    """Tabs of new lines in a file of spaces, or spaces in a file of tabs.

    For files in which the matched lines do not show it, because both sides indent them alike. A tab
    is worth ``unit`` spaces.
    """

    unit: int
    to_tabs: bool

    @classmethod
    def found(cls, pairs: Sequence[Pair], style: IndentStyle) -> _Foreign | None:
        """How to write what is foreign; None if nothing is, or nobody knows."""
        there = [*style.near, *(mine for _, mine in pairs)]
        tabs = any("\t" in indent for indent in there)
        blanks = any(indent.startswith("  ") for indent in there)
        if tabs and not blanks:
            unit = cls._blanks_per_tab(pairs, style)
            return cls(unit, to_tabs=True) if unit else None
        if tabs or not blanks or not any("\t" in indent for indent in style.old):
            return None
        return cls(common_step(["", *there], 8) or 4, to_tabs=False)

    @staticmethod
    def _blanks_per_tab(pairs: Sequence[Pair], style: IndentStyle) -> int:
        """The blanks that new lines have where those beside them have a tab; 0 if that is unclear.

        Behind a tab, blanks align.
        """
        known = {old for old, _ in pairs}
        widths = {len(indent) for indent in style.old if indent.strip(" ") == "" != indent}
        depths = {indent.count("\t") for indent in known}
        if len(depths) != 1 or not widths or any(" " in indent for indent in known):
            return 0
        unit, rest = divmod(min(widths), max(1, *depths))
        alike = not rest and all(width % unit == 0 for width in widths)
        return unit if alike and unit in (2, 3, 4, *((8,) if len(widths) > 1 else ())) else 0

    def render(self, indent: str) -> str:
        """The file's form of an indentation, if it is a foreign one."""
        if not self.to_tabs:
            return " " * width_of(indent, self.unit) if "\t" in indent else indent
        foreign = len(indent) >= self.unit and indent.strip(" ") == ""
        if not foreign:
            return indent
        return "\t" * (len(indent) // self.unit) + indent[: len(indent) % self.unit]


def _without_dropped_first(
    pairs: Sequence[Pair], style: IndentStyle
) -> tuple[Sequence[Pair], bool]:
    """Leave out a first line whose indentation alone was dropped: it would mislead the scale."""
    rest = pairs[1:]
    dropped = bool(rest) and len(pairs[0][0]) < len(pairs[0][1])
    # That the first line alone is right takes more proof: it is the others that are wrong.
    if not dropped and len(rest) < _PROOF:
        return pairs, False
    if dropped and all(old == mine for old, mine in rest):
        # Lines at the margin do not show that others are as deep as in the file.
        shown = not pairs[0][0] or any(old for old, _ in rest)
        return (rest, True) if shown else (pairs, False)
    tabs = _file_uses_tabs(pairs, style)
    if all(map(fit(pairs, style, tabs).fits, pairs)):
        return pairs, False
    scale = fit(rest, style, tabs)
    dropped = all(map(scale.fits, rest)) and not scale.fits(pairs[0])
    dropped = dropped and not _doubtful(rest, scale, _Units(style, tabs))
    return (rest, True) if dropped else (pairs, False)


def _doubtful(pairs: Sequence[Pair], scale: Scale, units: _Units) -> bool:
    """Whether nothing but two indentations speaks for a factor, and the units speak against it.

    Through two points there is always a line.
    """
    if scale.factor == 1 or units.tabs or len(set(pairs)) != 2:
        return False
    here, there = units.here(scale.old_tab), units.there(scale.file_tab)
    return bool(here and there) and not units.agree(scale)


def _is_identity(pairs: Sequence[Pair], style: IndentStyle) -> bool:
    if any(old != mine for old, mine in pairs):
        return False
    # Lines at the margin do not show how the file indents; without others its surroundings do.
    shown = any(old for old, _ in pairs)
    return shown or not style.file_has_tabs


def _file_uses_tabs(pairs: Sequence[Pair], style: IndentStyle) -> bool:
    indents = [mine for _, mine in pairs if mine]
    if indents:
        return any("\t" in mine for mine in indents)
    return style.file_has_tabs


def _most_common(pairs: Sequence[Pair]) -> dict[str, str]:
    counts: dict[str, Counter[str]] = {}
    for old, mine in pairs:
        counts.setdefault(old, Counter())[mine] += 1
    return {old: count.most_common(1)[0][0] for old, count in counts.items()}


def fit(pairs: Sequence[Pair], style: IndentStyle, tabs: bool) -> Scale:
    """The scale that explains most pairs; among equals the one under which the units agree.

    With one pair, or all at one depth, every factor explains them, and the units decide: the most
    common step between a line and the next, here and there.
    """
    weights = Counter(pairs)
    best: tuple[tuple[int, bool, bool, bool, bool], Scale] | None = None
    units = _Units(style, tabs)
    unit = 0 if tabs else units.there(8)
    for old_tab, file_tab, factor in _scales(pairs, style, tabs):
        scale = _shifted(weights, old_tab, file_tab, factor)
        # Blocks are moved by whole units.
        step = file_tab if tabs else unit
        whole = not step or scale.shift % step == 0
        if not tabs and factor != 1 and not whole:
            continue
        explained = sum(count for pair, count in weights.items() if scale.fits(pair))
        rank = (explained, units.agree(scale), whole, factor == 1, scale.shift == 0)
        if best is None or rank > best[0]:
            best = rank, scale
    return best[1] if best else Scale(4, 4, Fraction(1), Fraction(0))


def _scales(
    pairs: Sequence[Pair], style: IndentStyle, tabs: bool
) -> Iterable[tuple[int, int, Fraction]]:
    old_tabs = any("\t" in indent for indent in style.old)
    if tabs and old_tabs:
        return [(tab, tab, factor) for tab, factor in product(_TAB_WIDTHS, _FACTORS)]
    if tabs:
        # The width of the file's tab is free, so a factor would be redundant.
        unit = common_step(style.old, 8)
        widths = dict.fromkeys([unit, *_TAB_WIDTHS, 1] if unit else [*_TAB_WIDTHS, 1])
        return [(8, width, Fraction(1)) for width in widths]
    widths_old = _TAB_WIDTHS if old_tabs else (8,)
    factors = dict.fromkeys([*_FACTORS, *islice(_observed_factors(pairs), _OBSERVED)])
    return [(width, 8, factor) for width, factor in product(widths_old, factors)]


def _observed_factors(pairs: Sequence[Pair]) -> Iterable[Fraction]:
    points = sorted({(width_of(old, 8), width_of(mine, 8)) for old, mine in pairs})
    for (old, mine), (old_next, mine_next) in pairwise(points):
        if old_next > old and mine_next > mine:
            yield Fraction(mine_next - mine, old_next - old)


def _shifted(weights: Counter[Pair], old_tab: int, file_tab: int, factor: Fraction) -> Scale:
    shifts: Counter[Fraction] = Counter()
    for (old, mine), count in weights.items():
        shifts[width_of(mine, file_tab) - width_of(old, old_tab) * factor] += count
    shift = shifts.most_common(1)[0][0] if shifts else Fraction(0)
    return Scale(old_tab, file_tab, factor, shift)


_WIDEST = 4
"""A wider step of the model is no unit."""


class _Units:
    """The steps of indentation here and there, by the width of a tab."""

    def __init__(self, style: IndentStyle, tabs: bool) -> None:
        self.style, self.tabs = style, tabs
        self._here: dict[int, int] = {}
        self._there: dict[int, int] = {}

    def here(self, tab: int) -> int:
        """The most common step of the model's lines."""
        if tab not in self._here:
            self._here[tab] = common_step(self.style.old, tab)
        return self._here[tab]

    def there(self, tab: int) -> int:
        """The most common step of the file's lines around the place."""
        if self.tabs:
            return tab
        if tab not in self._there:
            self._there[tab] = common_step(self.style.near, tab)
        return self._there[tab]

    def agree(self, scale: Scale) -> bool:
        """Whether a scale sends one unit to the other."""
        step, there = self.here(scale.old_tab), self.there(scale.file_tab)
        if scale.factor == 1 and step > _WIDEST and there and step % there == 0:
            # Lines that hang or skip a level, rather than a unit.
            return True
        here = step * scale.factor
        # Lines that are not moved may skip a level.
        steps = here % there == 0 if there and self.tabs and not scale.shift else here == there
        return bool(here and there and steps)


class Indent(NamedTuple):
    """An indentation, and whether it is ``unclear``, that is, a guess."""

    text: str
    unclear: bool = False


class LocalReindenter:
    """The indentation of new lines: by all matched lines if they agree, else by those around.

    ``placed`` are the pairs of indentations of matched lines by the index of the old line. Each
    shows by how much the file moved it; lines side by side that were moved alike form a run.
    """

    def __init__(self, placed: dict[int, Pair], style: IndentStyle) -> None:
        self.whole = Reindenter([*placed.values()], style)
        self._rows = [*placed][1 if self.whole.dropped_first else 0 :]
        self.placed = {row: placed[row] for row in self._rows}
        self.scale = self.whole.scale
        if self.scale.factor != 1 and not self._proven:
            self.scale = self.scale._replace(factor=Fraction(1))
        self._sure = self.whole.sure

    @property
    def _proven(self) -> bool:
        """Whether enough lines follow the scale of all lines, and few do not."""
        pairs = [*self.placed.values()]
        held = [pair for pair in pairs if self.whole.fits(pair)]
        return len(set(held)) >= _MOST and len(pairs) - len(held) <= len(pairs) // _SLIPS

    def give(self, indent: str, between: tuple[int, int], *, leading: bool) -> Indent:
        """The file's indentation for a new line in place of old lines ``between`` (first, stop)."""
        guess = self.whole(indent, leading)
        dropped = leading and self.whole.dropped_first and indent == self.whole.first[0]
        if self._sure or dropped or indent.strip(" \t"):
            return Indent(guess)
        shown = (self._by(run, indent) for run in self._runs(*between))
        known = {*(indent for indent in shown if indent is not None)}
        return Indent(known.pop()) if len(known) == 1 else Indent(guess, unclear=True)

    def _runs(self, start: int, stop: int) -> list[list[int]]:
        """The runs of the matched lines in place of which, or between which, new lines come."""
        first, last = (bisect_left(self._rows, row) for row in (start, stop))
        beside = [at for at in (first - 1, last) if 0 <= at < len(self._rows)]
        inside = {self._shift(at) for at in range(first, last)}
        if last - first == 1 and len(beside) == 2 and len({*map(self._shift, beside)}) == 1:
            # One line that was moved otherwise than those on both sides of it is a slip.
            return [self._run(at) for at in beside]
        if len(inside) == 1:
            return [self._run(first)]
        return [self._run(at) for at in [*beside, *([first, last - 1] if inside else [])]]

    def _shift(self, at: int) -> Fraction:
        return self.scale.shift_of(self.placed[self._rows[at]])

    def _run(self, at: int) -> list[int]:
        """The indexes of the lines around one that were moved as it was."""
        shift, first, stop = self._shift(at), at, at + 1
        while first and at - first < _REACH and self._shift(first - 1) == shift:
            first -= 1
        while stop < len(self._rows) and stop - at <= _REACH and self._shift(stop) == shift:
            stop += 1
        return [*range(first, stop)]

    def _by(self, run: Sequence[int], indent: str) -> str | None:
        """The file's indentation by a run of lines; None if they do not show it."""
        pairs = dict(self.placed[self._rows[at]] for at in run)
        if indent in pairs:
            return pairs[indent]
        kept = len(run) >= _PROOF and all(old == mine != "" for old, mine in pairs.items())
        if len(pairs) < _PROOF and not kept:
            return None
        scale = self.scale._replace(shift=self._shift(run[0]))
        return self.whole.render(scale.width(indent))


class Nesting:
    """Judges by the lines around a place how deep lines in that place can be.

    The checks are those of an indentation-based parser: a line is deeper than the one above only if
    that one can open a block, by one level, and a shallower line returns to a level that is open.
    """

    def __init__(self, lines: Sequence[str], first: int, stop: int) -> None:
        """For lines that take the place of ``lines[first:stop]``."""
        near = lines[max(0, first - NEAR) : stop + NEAR]
        self.unit = common_step(indents(near), _TAB)
        self.below = next((line for line in lines[stop : stop + NEAR] if line.strip()), "")
        above = [line for line in lines[max(0, first - NEAR) : first] if line.strip()]
        self.above = above[-1].strip() if above else ""
        self.levels: list[int] = []
        for line in reversed(above):
            width = width_of(indent_of(line), _TAB)
            if not self.levels or width < self.levels[0]:
                self.levels.insert(0, width)
        self.levels = self.levels or [0]

    def faults(self, lines: Sequence[str]) -> int:
        """The number of places where ``lines`` break the nesting of the file."""
        levels, faults = [*self.levels], 0
        above, above_width = self.above, self.levels[-1]
        rows = [line for line in lines if line.strip()]
        if self.below:
            rows.append(self.below)
        for row in rows:
            line, width = row.strip(), width_of(indent_of(row), _TAB)
            if width > levels[-1]:
                faults += not (_can_open(above) or line.startswith(_CONTINUES))
                limit = above_width + self.unit
                faults += bool(self.unit) and above[-1:] in _BLOCKS and width > limit
                levels.append(width)
            else:
                needs_body = above[-1:] in _BLOCKS and width <= above_width
                dead = width == above_width and line[0].isalpha() and _leaves(above)
                faults += (needs_body or dead) and not line.startswith(_CLOSERS)
                while levels and levels[-1] > width:
                    levels.pop()
                if not levels or levels[-1] < width:
                    faults += 1
                    levels.append(width)
            if not line.startswith(_COMMENTS):
                above, above_width = line, width
        return faults


def _leaves(line: str) -> bool:
    """Whether nothing in the block runs after ``line``."""
    found = _LEAVES.match(line)
    return bool(found) and not _GUARD.search(line) and not _can_open(line)


def _can_open(line: str) -> bool:
    """Whether the line below may be deeper than ``line``."""
    if not line or line[0] == "<" or line[-1] == ">":
        return "</" not in line and not line.endswith("/>")
    if line[-1] in _OPEN_ENDS or line[0] == "-":
        return True
    word = _WORD.match(line)
    if (word and word[0] in _HEADS) or line.endswith(_TAILS):
        return True
    # The label of a shell's case closes a bracket that it does not open.
    label = line[-1] == ")" and "(" not in line and line[0] not in ")]}"
    return label or sum(map(line.count, "([{")) > sum(map(line.count, ")]}"))


def only_first_dropped(new: Sequence[str], real: str, near: Sequence[str]) -> bool | None:
    """Whether the new lines stand as deep as in the file, but for the first one.

    Args:
        new: the new lines; the first one has no indentation.
        real: the file's indentation of the line searched for, which had none.
        near: lines of the file around the place.

    Returns:
        False if all new lines lack the file's indentation, None if nothing tells.
    """
    rest = indents(new[1:])
    if not all(indent.startswith(real) for indent in rest) or not rest:
        return False
    depth = rest[0]
    if not new[0].rstrip().endswith(_OPENERS):
        return True if depth == real else None
    step = common_step(indents(near), 8)
    as_in_file = width_of(depth, 8) - width_of(real, 8) == step
    all_dropped = width_of(depth, 8) == step
    return as_in_file if as_in_file != all_dropped else None
