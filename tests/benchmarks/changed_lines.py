"""Edits whose changed line itself drifted: every kind of change of a line × every kind of drift.

The truth is made, not computed: a window of the file is cut into pieces that the edit leaves alone
and pieces that it replaces. A drift writes the pieces differently for the model, each piece that
stays in the same way on both sides; so the file must keep its own bytes but for the replaced
pieces. Where a drift leaves more than one right result, the case lists all; where it leaves the
truth open, there is no case.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from itertools import islice, pairwise, product
from typing import NamedTuple

from tests.benchmarks.drifts import Case
from tests.benchmarks.hunks import Unfit, lines_of, picked, require

Piece = tuple[str, str]
"""Text before and after the edit; the same text where the edit leaves it alone."""
MAX_LINES = 5
_MAX_LOOSE = 8  # parts of a line that are right in two ways
_OTHER = ("another_name", "latest", "checked_twice", "renewed", "spare_part")
_OPERATORS = {"==": "!=", "!=": "==", "&&": "||", "||": "&&", "<=": "<", ">=": ">", "+": "-",
              " and ": " or ", " or ": " and ", " < ": " >= ", " > ": " <= ", " = ": " += ",
              " - ": " + ", " * ": " / "}  # fmt: skip
_TYPOGRAPHIC = {"'": "’", "-": "–", "...": "…"}
_MARKS = {".py": "#", ".sh": "#", ".yml": "#", ".yaml": "#", ".pl": "#", ".rb": "#", ".c": "//",
          ".h": "//", ".js": "//", ".mjs": "//", ".ts": "//", ".tsx": "//", ".go": "//",
          ".rs": "//", ".java": "//"}  # fmt: skip


_STATEMENT = "prepare_all(first)"
_STATEMENTS = {".yml": "added: first", ".yaml": "added: first", ".html": "<br>"}


class Line(NamedTuple):
    """A line to change: its text without indentation, and how the file writes such lines."""

    indent: str
    body: str
    unit: str
    mark: str  # what begins a comment; empty if unknown
    statement: str  # another line of such a file

    def below(self, depth: int = 0) -> str:
        """A line break and the indentation of a line so many levels deeper."""
        return "\n" + self.indent + self.unit * depth


class Draft(NamedTuple):
    """An edit of one line, in a window of the file."""

    around: tuple[str, str]  # the file above and below the window
    above: str
    line: Line
    pieces: tuple[Piece, ...]
    below: str
    beside: frozenset[int]  # the pieces that share a word or a string with a replaced one

    @property
    def parts(self) -> list[Piece]:
        """The pieces of the whole window."""
        ends = (self.above + self.line.indent, "\n" + self.below)
        return [(ends[0], ends[0]), *self.pieces, (ends[1], ends[1])]

    @property
    def old(self) -> str:
        return "".join(old for old, _ in self.parts)

    @property
    def new(self) -> str:
        return "".join(new for _, new in self.parts)

    @property
    def spread(self) -> bool:
        """Whether the line becomes several."""
        return any("\n" in new for _, new in self.pieces)

    def file(self, window: str) -> str:
        """The file with another text in the window."""
        return window.join(self.around)

    def case(self, old: str, new: str, *accept: str, mine: str | None = None) -> Case:
        """A case whose right results have one of these texts in the window, else ``self.new``."""
        results = [self.file(window) for window in accept or (self.new,)]
        content = self.file(self.old if mine is None else mine)
        return Case(content, old, new, results[0], accept=tuple(results[1:]))


Change = Callable[[Line, random.Random], list[Piece]]
Drift = Callable[[Draft, random.Random], Case]
CHANGES: dict[str, Change] = {}
LINE: dict[str, Drift] = {}  # the changed line is written differently
DEPTH: dict[str, Drift] = {}  # lines are at another depth
CONTEXT: dict[str, Drift] = {}  # an unchanged line is written differently
REFUSE: dict[str, Drift] = {}


def _change(name: str) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        CHANGES[name] = change
        return change

    return register


def _kind(table: dict[str, Drift], name: str) -> Callable[[Drift], Drift]:
    def register(drift: Drift) -> Drift:
        table[name] = drift
        return drift

    return register


# The changes of a line.


def _substituted(pattern: str, new: Callable[[re.Match[str], random.Random], str]) -> Change:
    """Replace one match of a pattern, or insert at an empty one."""

    def change(line: Line, rng: random.Random) -> list[Piece]:
        match = picked(list(re.finditer(pattern, line.body)), rng)
        text = new(match, rng)
        before, after = line.body[: match.start()], line.body[match.end() :]
        return [(before, before), (match[0], text), (after, after)]

    return change


def _pick(*texts: str) -> Callable[[re.Match[str], random.Random], str]:
    return lambda match, rng: rng.choice(texts)


def _wider(match: re.Match[str], rng: random.Random) -> str:
    return match[0] + " " * rng.randint(1, 3)


_END = r"(?=[;,:{)\s]*$)"
_ANY_OTHER = _pick(*_OTHER)
for _name, _pattern, _new in (
    ("punctuation to a word", r"(?<=\w)(?:, ?| ?[-+/.] ?)(?=\w)", _pick(" or ", " and ", " in ")),
    (
        "a word to punctuation",
        r"(?<=\w) (?:and|or|in|is|to|of|as|the) (?=\w)",
        _pick(", ", " - ", "."),
    ),
    ("a space added", r"(?<=\w[=,+*:-])(?=[\w(\[])|(?<=[\w)\]])(?=[=+*{][\w(\[{])", _pick(" ")),
    ("a space removed", r"(?<=[,=+*:-]) (?=\S)|(?<=\S) (?=[=+*{(:])", _pick("")),
    ("a column widened", r"(?<=\S)(?: {2,}|\t+| (?=#|//|\*/))(?=\S)", _wider),
    ("a column narrowed", r"(?<=\S) {2,}(?=\S)", lambda match, rng: match[0][1:]),
    ("a space doubled", r"(?<=\S) (?=\S)", _pick("  ")),
    (
        "a keyword argument added",
        r"(?<=[\w\"'\])])(?=\))",
        _pick(", limit=3", ", strict: true", ", depth = 2"),
    ),
    ("an argument removed", r", [\w.\"']+(?=\))", _pick("")),
    ("a word renamed", r"[A-Za-z_]\w{2,}", _ANY_OTHER),
    ("a word split", r"(?<=[a-z]{3})_(?=[a-z]{3})", _pick(" ", ".", ", ")),
    ("words joined", r"(?<=\w{3}) (?=\w{3})", _pick("_", "", "-")),
    (
        "an operator replaced",
        "|".join(map(re.escape, _OPERATORS)),
        lambda match, rng: _OPERATORS[match[0]],
    ),
    ("a number replaced", r"\b\d+\b", _pick("1000", "0", "7_500")),
    (
        "a string replaced",
        r"(?<=[\"'])[\w /.%-]{3,}(?=[\"'])",
        _pick("other text", "x/y", "a - b, c"),
    ),
    (
        "a word of a string added",
        r"(?<=[\"'])(?=[\w /.%-]{3,}[\"'])|(?<=\w)(?=[\"'])",
        _pick(" added "),
    ),
    ("a word at the start added", r"^(?=\w)", _pick("await ", "return ", "const ", "Always ")),
    ("a word in the middle added", r"(?<=\w)(?= \w)", _pick(" not", " very", ", then")),
    ("a word at the end added", rf"(?<=\w){_END}", _pick(" again", "_more", " + extra")),
    ("a word at the start removed", r"^\w+[ .]", _pick("")),
    ("a word in the middle removed", r"(?<=\w) \w+(?= \w)", _pick("")),
    ("a word at the end removed", rf"(?<=\w)[ .]\w+{_END}", _pick("")),
    ("the end extended", rf"(?<=[\w)\]]){_END}", _pick(".strip()", "[0]", " as any", ".map(each)")),
    ("a comment changed", r"(?<=[#*/] )\w[^\n*]*$", _pick("Said otherwise here.", "noqa: E501")),
    ("a word of a comment changed", r"(?:(?<=# )|(?<=// ))\w+", _ANY_OTHER),
    ("brackets removed", r"\((?=\w+\))|(?<=\(\w)\)", _pick("")),
):
    CHANGES[_name] = _substituted(_pattern, _new)


@_change("a comment added")
def _comment_added(line: Line, rng: random.Random) -> list[Piece]:
    require(line.mark and line.mark not in line.body and "*" not in line.body)
    require(line.body[-1] != "\\")
    return [(line.body, line.body), ("", f"  {line.mark} {rng.choice(('checked', 'see (a), b'))}")]


@_change("two edits")
def _two(line: Line, rng: random.Random) -> list[Piece]:
    words = list(re.finditer(r"[A-Za-z_]{3,}|\d+|(?<=\S)\s+(?=\S)", line.body))
    require(len(words) >= 4)
    first, second = sorted(rng.sample(words, 2), key=lambda found: found.start())
    new = [
        " - " if found[0].isspace() else word
        for found, word in zip((first, second), _OTHER, strict=False)
    ]
    cuts = line.body[: first.start()], line.body[first.end() : second.start()]
    rest = line.body[second.end() :]
    return [(cuts[0], cuts[0]), (first[0], new[0]), (cuts[1], cuts[1]), (second[0], new[1]),
            (rest, rest)]  # fmt: skip


_CALL = re.compile(r"(?<=\w)([(\[])([^()\[\]\n]{3,})([)\]])")


@_change("a call wrapped, one argument a line")
def _wrapped(line: Line, rng: random.Random) -> list[Piece]:
    found = _matched(_CALL.search(line.body))
    require(all(_balanced(part) for part in re.split(r",\s+", found[2])))
    head, tail = line.body[: found.start(2)], line.body[found.end(2) :]
    arguments = (
        (text, line.below(1) if text.isspace() else text)
        for text in re.split(r"(?<=,)(\s+)", found[2])
    )
    return [
        (head, head),
        ("", line.below(1)),
        *arguments,
        ("", rng.choice(("", ",")) + line.below()),
        (tail, tail),
    ]


@_change("a call wrapped, all arguments on a line")
def _wrapped_once(line: Line, rng: random.Random) -> list[Piece]:
    found = _matched(_CALL.search(line.body))
    head, tail = line.body[: found.start(2)], line.body[found.end(2) :]
    added = ("", f",\n{line.indent}{line.unit}added_here,") if rng.random() < 0.3 else ("", "")
    return [(head, head), ("", line.below(1)), (found[2], found[2]), added,
            ("", line.below()), (tail, tail)]  # fmt: skip


@_change("a condition wrapped")
def _condition(line: Line, rng: random.Random) -> list[Piece]:
    found = _matched(re.fullmatch(r"((?:\} else )?(?:if|while) \()([^\n]+)(\) \{)", line.body))
    return [(found[1], found[1]), ("", line.below(1)), (found[2], found[2]),
            ("", f" &&{line.below(1)}is_ready{line.below()}"), (found[3], found[3])]  # fmt: skip


@_change("a value wrapped in an object")
def _object(line: Line, rng: random.Random) -> list[Piece]:
    found = _matched(re.fullmatch(r"([\w .]+ = )([^{}=]+?)(;?)", line.body))
    require(_balanced(found[2]) and line.mark not in found[2])
    return [(found[1], found[1]), ("", "{" + line.below(1) + "'value': "), (found[2], found[2]),
            ("", "," + line.below(1) + "'limit': 2," + line.below() + "}"),
            (found[3], found[3])]  # fmt: skip


@_change("a line added above")
def _line_above(line: Line, rng: random.Random) -> list[Piece]:
    return [("", line.statement + line.below()), (line.body, line.body)]


@_change("a line added below, a word renamed")
def _line_below(line: Line, rng: random.Random) -> list[Piece]:
    pieces = CHANGES["a word renamed"](line, rng)
    require(not _opens(line.body) and not line.body.startswith("- "))
    return [*pieces, ("", line.below() + line.statement)]


@_change("nested in a new block")
def _nested(line: Line, rng: random.Random) -> list[Piece]:
    require(not _opens(line.body) and line.statement == _STATEMENT)
    head = "if is_ready:" if line.mark == "#" else "if (isReady) {"
    tail = "" if line.mark == "#" else line.below() + "}"
    return [("", head + line.below(1)), (line.body, line.body), ("", tail)]


def _matched(found: re.Match[str] | None) -> re.Match[str]:
    if found is None:
        raise Unfit
    return found


def _opens(body: str) -> bool:
    """Whether what follows a line may belong to it."""
    return body.rstrip()[-1:] in ":{([,\\"


def _balanced(text: str) -> bool:
    return all(text.count(one) == text.count(other) for one, other in ("()", "[]", "{}")) and not (
        text.count('"') % 2 or text.count("'") % 2 or text.count("`") % 2
    )


# The drifts to recover from.


def _written(draft: Draft, change: Callable[[str], str]) -> Case:
    """The model writes every piece differently; the file's own spelling stays where it can."""

    def as_model(piece: Piece) -> Piece:
        # A change of whitespace alone is what the edit is about.
        changed = piece[0] != piece[1] and not "".join(piece).strip()
        return piece if changed else (change(piece[0]), change(piece[1]))

    model = draft._replace(
        above=change(draft.above),
        pieces=tuple(map(as_model, draft.pieces)),
        below=change(draft.below),
    )
    return _drifted(draft, model, draft.old)


def _file_differs(draft: Draft, change: Callable[[str], str]) -> Case:
    """The file writes the line differently from what the model sees."""
    pieces = ((change(old), change(new) if old == new else new) for old, new in draft.pieces)
    mine = draft._replace(pieces=tuple(pieces))
    return _drifted(mine, draft, mine.old)


def _drifted(mine: Draft, model: Draft, content: str) -> Case:
    """A case in which the file writes pieces in one way, and the model in another one.

    New text may be as either has it; so may the rest of a word or string that changes in part, and
    of a line that becomes several.
    """
    require(model.old != mine.old)
    own = range(len(mine.pieces))
    changed = frozenset(at for at in own if mine.pieces[at][0] != mine.pieces[at][1])
    # What may be as the model has it, together or not at all.
    loose = [changed, mine.beside]
    if mine.spread:
        loose += [frozenset({at}) for at in own if at not in changed | mine.beside]
    require(len(loose) <= _MAX_LOOSE)
    windows = []
    for chosen in product((False, True), repeat=len(loose)):
        as_model = {at for group, yes in zip(loose, chosen, strict=True) if yes for at in group}
        pieces = ((model if at in as_model else mine).pieces[at] for at in own)
        windows.append(mine._replace(pieces=tuple(pieces)).new)
    return mine.case(model.old, model.new, *dict.fromkeys(windows), mine=content)


def _swapped_characters(one: str, other: str) -> Drift:
    def drift(draft: Draft, rng: random.Random) -> Case:
        require(other not in draft.old + draft.new and draft.line.body.count(one) % 2 == 0)
        return _written(draft, lambda text: text.replace(one, other))

    return drift


LINE["the file has ', the model \""] = _swapped_characters("'", '"')
LINE["the file has \", the model '"] = _swapped_characters('"', "'")
LINE["other quotes, common indentation dropped"] = lambda draft, rng: _both(
    draft, _swapped_characters("'", '"')(draft, rng), _dedent
)


@_kind(LINE, "typographic characters in the file")
def _typographic(draft: Draft, rng: random.Random) -> Case:
    plain = picked([one for one in _TYPOGRAPHIC if one in draft.line.body], rng)
    return _file_differs(draft, lambda text: text.replace(plain, _TYPOGRAPHIC[plain]))


@_kind(LINE, "a no-break space in the file")
def _no_break(draft: Draft, rng: random.Random) -> Case:
    # A gap apart from the change, which may be written anew with the gaps beside it.
    places = [
        (at, found.start())
        for at, (old, new) in enumerate(draft.pieces)
        for found in re.finditer(r"(?<=\S) (?=\S+\s)", old if old == new else "")
        if " " in old[: found.start()] or not at
    ]
    at, start = picked(places, rng)
    text = draft.pieces[at][0]
    own = f"{text[:start]}\xa0{text[start + 1 :]}"
    pieces = (*draft.pieces[:at], (own, own), *draft.pieces[at + 1 :])
    mine = draft._replace(pieces=pieces)
    return _drifted(mine, draft, mine.old)


@_kind(LINE, "decomposed accents in the file")
def _decomposed(draft: Draft, rng: random.Random) -> Case:
    # A word that is changed in part is replaced as a whole, with the model's accents.
    ends = zip(draft.pieces, draft.pieces[1:], strict=False)
    require(not any(re.search(r"\w\0\w", f"{one[0]}\0{other[0]}") for one, other in ends))
    accented = [(old.replace("e", "é"), new.replace("e", "é")) for old, new in draft.pieces]
    accented_draft = draft._replace(pieces=tuple(accented))
    return _file_differs(accented_draft, lambda text: unicodedata.normalize("NFD", text))


_SPACINGS: tuple[tuple[str, str], ...] = (
    (r"(?<=[\w)\]]), (?=\S)", ","),
    (r"(?<=[\w)\]]),(?=[\w(\[])", ", "),
    (r"(?<=\w) ([=+]) (?=\w)", r"\1"),
    (r"(?<=\w)([=+])(?=\w)", r" \1 "),
    (r"(?<=\S) {2,}(?=\S)", " "),
    (r"(?<=[(\[{])(?=\w)|(?<=\w)(?=[)\]}])", " "),
    (r"(?<=[(\[{]) (?=\S)|(?<=\S) (?=[)\]}])", ""),
)


@_kind(LINE, "spacing inside the lines")
def _spacing(draft: Draft, rng: random.Random) -> Case:
    fitting = [(bad, good) for bad, good in _SPACINGS if re.search(bad, draft.line.body)]
    pattern, text = picked(fitting, rng)
    return _written(draft, lambda piece: re.sub(pattern, text, piece))


def _only_in_file(mark: str) -> Drift:
    """The model leaves out what ends the lines."""

    def drift(draft: Draft, rng: random.Random) -> Case:
        pieces = list(draft.pieces)
        last = max((at for at, piece in enumerate(pieces) if piece[0]), default=0)
        own, to = pieces[last]
        left_out = own.removesuffix(mark)
        require(own == to and left_out != own and not left_out.endswith(mark))
        require(not "".join(new for _, new in pieces[last + 1 :]).startswith(mark))
        shown = list(pieces)
        shown[last] = (left_out, left_out)
        above, below = (text.replace(f"{mark}\n", "\n") for text in (draft.above, draft.below))
        model = draft._replace(above=above, pieces=tuple(shown), below=below)
        # It need not be carried behind other text than the one that it follows in the file.
        accept = [draft.new]
        if not left_out and last and pieces[last - 1][0] != pieces[last - 1][1]:
            accept.append(draft._replace(pieces=tuple(shown)).new)
        return draft.case(model.old, model.new, *accept)

    return drift


LINE["a semicolon only in the file"] = _only_in_file(";")
LINE["a trailing comma only in the file"] = _only_in_file(",")


@_kind(LINE, "trailing spaces in the file")
def _trailing(draft: Draft, rng: random.Random) -> Case:
    mine = draft._replace(below=draft.below, pieces=(*draft.pieces, ("  ", "  ")))
    return draft.case(draft.old, draft.new, draft.new, mine.new, mine=mine.old)


@_kind(LINE, "trailing spaces in the text")
def _trailing_text(draft: Draft, rng: random.Random) -> Case:
    old, new = (re.sub(r"(?m)(?<=\S)$", " ", text) for text in (draft.old, draft.new))
    return draft.case(old, new)


def _typo(text: str, rng: random.Random) -> str | None:
    """A text with two neighbouring letters of a word swapped."""
    places = [found.start() + 1 for found in re.finditer(r"[a-z](?=([a-z])(?!\1)[a-z]{2})", text)]
    places = [at for at in places if at + 1 < len(text) and text[at] != text[at + 1]]
    if not places:
        return None
    at = rng.choice(places)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _misspelt(*, kept: bool, both: bool = False) -> Drift:
    """A typo in the changed line: in a word that stays, or in what is replaced."""

    def drift(draft: Draft, rng: random.Random) -> Case:
        require(len(lines_of(draft.old)) >= 3)
        places = [
            at
            for at, (old, new) in enumerate(draft.pieces)
            if (old == new) == kept and at not in draft.beside and _typo(old, random.Random(0))
        ]
        at = picked(places, rng)
        pieces = list(draft.pieces)
        wrong = _typo(pieces[at][0], rng) or ""
        pieces[at] = wrong, wrong if both else pieces[at][1]
        model = draft._replace(pieces=tuple(pieces))
        return draft.case(model.old, model.new)

    return drift


LINE["letters swapped in a removed word"] = _misspelt(kept=False)
LINE["letters swapped in a word, old alone"] = _misspelt(kept=True)
LINE["letters swapped in a word, old and new"] = _misspelt(kept=True, both=True)


# Indentation: a function of a line says how the model writes it.

Deepen = Callable[[str], str]
Depth = Callable[[Draft, list[str]], Deepen]
"""How the lines of a draft are written at another depth (Unfit if they cannot be)."""


def _width(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def _shifted(text: str, write: Deepen, rows: slice = slice(None)) -> str:
    """A text with some of its lines, all by default, at another depth."""
    lines = lines_of(text)
    chosen = range(len(lines))[rows]
    return "".join(
        write(line) if at in chosen and line.strip() else line for at, line in enumerate(lines)
    )


def _reindented(draft: Draft, write: Deepen, rows: slice = slice(None)) -> Case:
    """The model writes some lines of old and new at another depth."""
    old, new = (_shifted(text, write, rows) for text in (draft.old, draft.new))
    require(old != draft.old)
    return draft.case(old, new)


def _filled(draft: Draft) -> list[str]:
    return [line for line in lines_of(draft.old + draft.new) if line.strip()]


def _removed(prefix: str, lines: list[str]) -> Deepen:
    require(prefix and all(line.startswith(prefix) for line in lines))
    return lambda line: line.removeprefix(prefix)


def _dedent(draft: Draft, lines: list[str]) -> Deepen:
    return _removed(min(lines, key=_width)[: min(map(_width, lines))], lines)


def _shift(levels: float) -> Depth:
    def deepen(draft: Draft, lines: list[str]) -> Deepen:
        unit = draft.line.unit
        require(unit != "\t" or levels % 1 == 0)
        by = unit * int(levels) if levels % 1 == 0 else unit[: int(abs(levels) * len(unit))]
        if levels < 0:
            return _removed(unit * int(-levels) or by, lines)
        return lambda line: by + line

    return deepen


def _scaled(old: int, new: int) -> Depth:
    """The model indents by another number of spaces."""

    def deepen(draft: Draft, lines: list[str]) -> Deepen:
        depths = {_width(line) for line in lines_of(draft.old) if line.strip()}
        regular = not any(_width(line) % old for line in lines)
        # At one depth alone a scale cannot be told from a shift.
        known = len(depths) > 1 or {*map(_width, lines)} == depths
        require(draft.line.unit == " " * old and regular and known)
        return lambda line: " " * (_width(line) * new // old) + line.lstrip(" ")

    return deepen


def _tabs_as(width: int) -> Depth:
    def deepen(draft: Draft, lines: list[str]) -> Deepen:
        require(draft.line.unit == "\t" and draft.line.indent)
        return lambda line: " " * width * _width(line) + line.lstrip("\t")

    return deepen


def _spaces_as_tabs(draft: Draft, lines: list[str]) -> Deepen:
    size = len(draft.line.unit)
    require(draft.line.unit != "\t" and draft.line.indent)
    require(not any(_width(line) % size for line in lines))
    return lambda line: "\t" * (_width(line) // size) + line.lstrip(" ")


_DEPTHS: dict[str, Depth] = {
    "window without its common indentation": _dedent,
    "window one level short": _shift(-1),
    "window one level deeper": _shift(1),
    "window half a level short": _shift(-0.5),
    "window half a level deeper": _shift(0.5),
    "window with 2 spaces for 4": _scaled(4, 2),
    "window with 4 spaces for 2": _scaled(2, 4),
    "window with 2 spaces for a tab": _tabs_as(2),
    "window with 4 spaces for a tab": _tabs_as(4),
    "window with tabs for spaces": _spaces_as_tabs,
}


def _at_depth(deepen: Depth) -> Drift:
    return lambda draft, rng: _reindented(draft, deepen(draft, _filled(draft)))


DEPTH.update({name: _at_depth(deepen) for name, deepen in _DEPTHS.items()})


def _in_one_line(levels: float | None, *, first: bool) -> Drift:
    """Only the first or the last line of the window is at another depth, or has none (None)."""

    def drift(draft: Draft, rng: random.Random) -> Case:
        lines = lines_of(draft.old)
        # Nothing but the line itself shows at which depth the lines added below it are meant.
        alone = len(lines) == 1 and draft.spread
        require(not alone or (levels is None and not _opens(lines[0])))
        require(first or (len(lines) > 1 and not (draft.spread and not draft.below)))
        if levels is None:
            return _reindented(draft, lambda line: line.lstrip(" \t"), rows)
        return _reindented(draft, _shift(levels)(draft, lines[rows]), rows)

    rows = slice(0, 1) if first else slice(-1, None)
    return drift


for _where, _first in (("first", True), ("last", False)):
    for _how, _levels in (
        ("not indented", None),
        ("one level short", -1),
        ("one level deeper", 1),
        ("half a level deeper", 0.5),
    ):
        DEPTH[f"the {_where} line {_how}"] = _in_one_line(_levels, first=_first)


def _both(draft: Draft, case: Case, deepen: Depth) -> Case:
    """A drift, and another depth on top of it."""
    write = deepen(draft, _filled(draft))
    return case._replace(old=_shifted(case.old, write), new=_shifted(case.new, write))


# The drifts of an unchanged line of the window.


def _in_context(draft: Draft, change: Callable[[str], str | None]) -> tuple[Draft, tuple[str, str]]:
    """The draft with one line around the changed one written differently, and that line (Unfit)."""
    for above, at in ((True, -1), (False, 0)):
        lines = lines_of(draft.above if above else draft.below)
        changed = change(lines[at]) if lines else None
        if changed is not None and changed != lines[at]:
            line = (lines[at], changed)
            lines[at] = changed
            text = "".join(lines)
            return draft._replace(above=text) if above else draft._replace(below=text), line
    raise Unfit


def _accented(draft: Draft) -> Callable[[str], str | None]:
    """An accent on a word that the file has once."""
    words = Counter(re.findall(r"\w+", draft.file(draft.old)))

    def change(line: str) -> str | None:
        for found in re.finditer(r"\w{2,}a\w+", line):
            if words[found[0]] == 1:
                accented = found[0][0] + found[0][1:].replace("a", "á", 1)
                return line[: found.start()] + accented + line[found.end() :]
        return None

    return change


@_kind(CONTEXT, "accents only in the file, in an unchanged line")
def _accents(draft: Draft, rng: random.Random) -> Case:
    mine, _ = _in_context(draft, _accented(draft))
    return draft.case(draft.old, draft.new, mine.new, mine=mine.old)


@_kind(CONTEXT, "accents only in the text, in an unchanged line")
def _accents_text(draft: Draft, rng: random.Random) -> Case:
    model, _ = _in_context(draft, _accented(draft))
    return draft.case(model.old, model.new)


def _one_letter(known: Container[str] | None = None) -> Callable[[str], str | None]:
    """Another letter in a word, which makes it one of ``known`` if given."""

    def change(line: str) -> str | None:
        for found in re.finditer(r"[A-Za-z]{5,}", line):
            for at in range(1, len(found[0])):
                for letter in "aeioust":
                    wrong = found[0][:at] + letter + found[0][at + 1 :]
                    is_other = wrong.lower() != found[0].lower()
                    if is_other and (known is None or wrong in known):
                        return line[: found.start()] + wrong + line[found.end() :]
        return None

    return change


def _words(draft: Draft, *, new: bool = True) -> set[str]:
    """The words of the file, and those of the new text."""
    return {*re.findall(r"[A-Za-z]+", draft.file(draft.old) + draft.new * new)}


@_kind(CONTEXT, "a wrong letter in an unchanged line")
def _wrong_letter(draft: Draft, rng: random.Random) -> Case:
    model, line = _in_context(draft, _one_letter())
    require(_changed_word(line) not in _words(draft))
    return draft.case(model.old, model.new)


def _changed_word(lines: tuple[str, str]) -> str:
    own, wrong = (re.findall(r"[A-Za-z]+", line) for line in lines)
    return next((b for a, b in zip(own, wrong, strict=False) if a != b), "")


# What must be refused.


def _has_comment(line: str) -> bool:
    return re.search(r"(?:^|\s)(?:#|//|/\*|\*|--|<!--|;)", line) is not None


@_kind(REFUSE, "another word of the file in an unchanged line")
def _other_word_context(draft: Draft, rng: random.Random) -> Case:
    require(len(lines_of(draft.old)) <= 2)
    model, line = _in_context(draft, _one_letter(_words(draft, new=False)))
    # A comment may be worded otherwise.
    require(not _has_comment(line[0]))
    return draft.case(model.old, model.new)._replace(expected=None)


@_kind(REFUSE, "another word of the file in the changed line")
def _other_word(draft: Draft, rng: random.Random) -> Case:
    change = _one_letter(_words(draft, new=False))
    pieces = list(draft.pieces)
    require((draft.line.body,) * 2 not in pieces and not _has_comment(draft.line.body))
    for at, (old, new) in enumerate(pieces):
        wrong = change(old) if old == new else None
        if wrong is not None:
            pieces[at] = wrong, wrong
            model = draft._replace(pieces=tuple(pieces))
            require(model.old not in draft.file(draft.old))
            return draft.case(model.old, model.new)._replace(expected=None)
    raise Unfit


@_kind(REFUSE, "another word in the line replaced, the file's in new")
def _word_of_file_in_new(draft: Draft, rng: random.Random) -> Case:
    """The model replaces a word that is not there by text with the word that is there."""
    words = list(re.finditer(r"[A-Za-z]{4,}", draft.line.body))
    require(draft.pieces[0][0] == draft.pieces[0][1])
    found = picked(words, rng)
    head, tail = draft.line.body[: found.start()], draft.line.body[found.end() :]
    added = rng.choice((found[0] + " world", found[0] + "_twice", "my " + found[0]))
    model = draft._replace(pieces=((head, head), (rng.choice(_OTHER), added), (tail, tail)))
    return draft.case(model.old, model.new)._replace(expected=None)


@_kind(REFUSE, "a wrong letter, two places in reach")
def _two_places(draft: Draft, rng: random.Random) -> Case:
    model, line = _in_context(draft, _one_letter())
    wrong = _changed_word(line)
    require(not _has_comment(line[0]) and wrong not in _words(draft))
    other = wrong[:-1] + ("x" if wrong[-1:] != "x" else "z")
    twin = draft._replace(
        above=model.above.replace(wrong, other), below=model.below.replace(wrong, other)
    )
    content = draft.file(draft.old) + "\n" + twin.old
    return Case(content, model.old, model.new, None)


# Drawing cases.


def unit_of(lines: list[str]) -> str:
    """One level of a file's indentation: a tab, or the most frequent step in spaces."""
    indents = [line[: _width(line)] for line in lines if line.strip()]
    if 2 * sum(indent.startswith("\t") for indent in indents) > sum(map(bool, indents)):
        return "\t"
    steps = [len(deep) - len(indent) for indent, deep in pairwise(indents)]
    return " " * max((2, 4, 8), key=lambda step: (steps.count(step), step == 4))


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def drafted(path: str, text: str, change: Change, rng: random.Random) -> Draft:
    """A window of a file with a change of one of its lines (Unfit)."""
    rows = lines_of(text)
    require(len(rows) >= 8)
    unit = unit_of(rows)
    at = rng.randrange(len(rows))
    size = rng.randint(1, MAX_LINES)
    first = max(0, at - rng.randrange(size))
    window = rows[first : first + size]
    require(len(_bare(rows[at])) >= 8 and window[0].strip() and window[-1].strip())
    require(not re.search(r"[^\S \t\n]", "".join(window)))
    require(not "".join(line[: _width(line)] for line in rows).strip(unit[0]))
    require(window[-1].endswith("\n") and max(map(len, window)) <= 200)
    row = rows[at].rstrip("\n")
    require(row == row.rstrip())
    width = _width(row)
    suffix = path[path.rfind(".") :]
    line = Line(row[:width], row[width:], unit, _MARKS.get(suffix, ""),
                _STATEMENTS.get(suffix, _STATEMENT))  # fmt: skip
    pieces = change(line, rng)
    require("".join(new for _, new in pieces)[:1].strip())
    pieces, beside = _split([piece for piece in pieces if any(piece)])
    start = sum(map(len, rows[:first]))
    stop = start + sum(map(len, window))
    at -= first
    draft = Draft((text[:start], text[stop:]), "".join(window[:at]), line, tuple(pieces),
                  "".join(window[at + 1 :]), frozenset(beside))  # fmt: skip
    # The place is clear: nothing else in the file has these letters, in this order.
    require(_bare(text).count(_bare(draft.old)) == 1 and draft.old != draft.new)
    return draft


def _split(pieces: list[Piece]) -> tuple[list[Piece], list[int]]:
    """The pieces, cut where the word or string of a change ends, and which ones are beside one."""
    split: list[Piece] = []
    beside: list[int] = []
    changed = [old != new for old, new in pieces]
    for at, (old, new) in enumerate(pieces):
        if changed[at]:
            split.append((old, new))
            continue
        before = "".join(text for text, _ in pieces[:at])
        quotes = [quote for quote in "\"'`" if before.count(quote) % 2]
        closing = old.find(quotes[0]) + 1 if quotes else 0
        stop = (closing or _word_end(old)) if at and changed[at - 1] else 0
        start = len(old)
        if at + 1 < len(pieces) and changed[at + 1]:
            start -= _word_end(old[::-1])
            quotes = [quote for quote in "\"'`" if (before + old).count(quote) % 2]
            start = old.rfind(quotes[0]) if quotes and quotes[0] in old else start
        stop = min(stop, len(old))
        for text, touches in (
            (old[:stop], True),
            (old[stop : max(start, stop)], False),
            (old[max(start, stop) :], True),
        ):
            if text:
                beside += [len(split)] * touches
                split.append((text, text))
    return split, beside


def _word_end(text: str) -> int:
    found = re.match(r"\w*", text)
    return found.end() if found else 0


def is_there(new: str, content: str) -> bool:
    """Whether a new text is in a file, at any depth."""
    texts = ("\n" + "\n".join(line.strip() for line in text.split("\n") if line.strip()) + "\n"
             for text in (new, content))  # fmt: skip
    framed, there = texts
    return framed in there or new.strip() in content


def _sound(case: Case) -> bool:
    """Whether the edit changes something and its new text is not there already."""
    return (
        case.old != case.new
        and case.content not in (case.expected, *case.accept)
        and not is_there(case.new, case.content)
    )


def cases(
    files: Iterator[tuple[str, str]], count: int, rng: random.Random
) -> Iterator[tuple[tuple[str, str], Case]]:
    """Kinds of drift and of change, and their cases: at most ``count`` of each pair."""
    kinds = {**LINE, **DEPTH, **CONTEXT, **REFUSE}
    pool = list(islice((file for file in files if file[1]), 200))
    for change_name, change in CHANGES.items():
        found = dict.fromkeys(kinds, 0)
        for _ in range(400 * count):
            with suppress(Unfit):
                draft = drafted(*rng.choice(pool), change, rng)
                name, case = _first_case(draft, kinds, found, count, rng)
                found[name] += 1
                yield (name, change_name), case


def _first_case(
    draft: Draft, kinds: dict[str, Drift], found: dict[str, int], count: int, rng: random.Random
) -> tuple[str, Case]:
    """The case of a draft for one of the kinds that have the fewest cases so far (Unfit)."""
    for name in sorted(found, key=lambda name: (found[name], rng.random())):
        require(found[name] < count)
        with suppress(Unfit):
            case = kinds[name](draft, rng)
            if rng.random() < 0.5:
                old, new = (text.removesuffix("\n") for text in (case.old, case.new))
                case = case._replace(old=old, new=new)
            if _sound(case):
                return name, case
    raise Unfit
