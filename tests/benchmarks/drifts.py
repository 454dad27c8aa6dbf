"""The ways in which a model's text drifts from the file, and the edits that must be refused.

A drift takes a hunk and gives a case: the file, the texts that the model sends, and the file as it
must be afterwards, byte for byte. Where a hunk has nothing that could drift so, it raises Unfit.
"""

from __future__ import annotations

import html
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import NamedTuple

from tests.benchmarks.hunks import Hunk, lines_of, picked, require


class Case(NamedTuple):
    """One edit to try.

    Attributes:
        content: the file.
        old: the text that the model wants replaced.
        new: what it wants there.
        expected: the file as it must be; None if the edit must be refused.
        versions: older versions of the file, newest first.
        code: the code of the refusal, where it matters.
        accept: what the file may be as well, where more than one result is right.
    """

    content: str
    old: str
    new: str
    expected: str | None
    versions: tuple[str, ...] = ()
    code: str | None = None
    accept: tuple[str, ...] = ()


Drift = Callable[[Hunk, random.Random], Case]
RECOVER: dict[str, Drift] = {}
REFUSE: dict[str, Drift] = {}


def _recover(name: str) -> Callable[[Drift], Drift]:
    def register(drift: Drift) -> Drift:
        RECOVER[name] = drift
        return drift

    return register


def _refuse(name: str) -> Callable[[Drift], Drift]:
    def register(drift: Drift) -> Drift:
        REFUSE[name] = drift
        return drift

    return register


def _of_model(hunk: Hunk, drifted: Callable[[str], str]) -> Case:
    """A drift of the model's two texts alike."""
    old, new = drifted(hunk.old), drifted(hunk.new)
    require(old != hunk.old and old != new)
    return Case(hunk.before, old, new, hunk.after)


def _each_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(line) for line in lines_of(text))


def _context(hunk: Hunk) -> list[tuple[int, int]]:
    """The lines that the edit leaves alone: their numbers in old and in new."""
    old, new = lines_of(hunk.old), lines_of(hunk.new)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def _on_context(
    hunk: Hunk, rng: random.Random, change: Callable[[str], str | None], count: int = 1
) -> tuple[str, str]:
    """Both texts with some context lines changed alike (Unfit if no line can be)."""
    old, new = lines_of(hunk.old), lines_of(hunk.new)
    places = [
        place for place in _context(hunk) if change(old[place[0]]) not in (None, old[place[0]])
    ]
    require(len(places) >= count)
    for at_old, at_new in rng.sample(places, count):
        changed = change(old[at_old])
        old[at_old] = new[at_new] = changed or ""
    return "".join(old), "".join(new)


def _model_context(
    hunk: Hunk, rng: random.Random, change: Callable[[str], str | None], count: int = 1
) -> Case:
    old, new = _on_context(hunk, rng, change, count)
    require(old != new)
    return Case(hunk.before, old, new, hunk.after)


def _file_context(hunk: Hunk, rng: random.Random, change: Callable[[str], str | None]) -> Case:
    """A drift of the file: its context lines hold what the model does not see."""
    texts = _on_context(hunk, rng, change)
    content = hunk.before.replace(hunk.old, texts[0], 1)
    return Case(content, hunk.old, hunk.new, content.replace(texts[0], texts[1], 1))


def _in_file(change: Callable[[str], str]) -> Drift:
    return lambda hunk, rng: _file_context(hunk, rng, change)


def _in_context(change: Callable[[str], str]) -> Drift:
    return lambda hunk, rng: _model_context(hunk, rng, change)


def _in_text(change: Callable[[str], str]) -> Drift:
    return lambda hunk, rng: _of_model(hunk, change)


_recover("none")(lambda hunk, rng: Case(hunk.before, hunk.old, hunk.new, hunk.after))


_recover("trailing blanks in the file")(_in_file(lambda line: line.rstrip("\n") + "  \n"))
_blanks_in_text = _recover("trailing blanks in the text")(
    _in_context(lambda line: line.rstrip("\n") + " \n")
)


@_recover("common indentation dropped")
def _dedented(hunk: Hunk, rng: random.Random) -> Case:
    lines = [line for line in (hunk.old + hunk.new).split("\n") if line.strip()]
    width = min(len(line) - len(line.lstrip(" ")) for line in lines)
    return _of_model(hunk, _each_line(lambda line: line[width:] if line.strip() else line))


@_recover("first line's indentation dropped")
def _first_dedented(hunk: Hunk, rng: random.Random) -> Case:
    require(_context(hunk)[:1] == [(0, 0)])
    return _of_model(hunk, lambda text: text.lstrip(" \t"))


def _tabbed(hunk: Hunk) -> Hunk:
    def tabs(text: str) -> str:
        return re.sub(r"(?m)^(?: {4})+", lambda found: "\t" * (len(found[0]) // 4), text)

    return Hunk(hunk.path, tabs(hunk.before), tabs(hunk.old), tabs(hunk.new))


def _tabs_as(width: int) -> Drift:
    def drift(hunk: Hunk, rng: random.Random) -> Case:
        tabbed = _tabbed(hunk)
        require(not re.search(r"(?m)^\t* ", tabbed.old + tabbed.new))
        return _of_model(tabbed, lambda text: text.expandtabs(width))

    return drift


for _width in (2, 4, 8):
    RECOVER[f"tabs as {_width} spaces"] = _tabs_as(_width)


@_recover("half the file's indentation")
def _half(hunk: Hunk, rng: random.Random) -> Case:
    require(not re.search(r"(?m)^(?:    )* {1,3}\S", hunk.old + hunk.new))
    halve = re.compile(r"(?m)^ +")
    return _of_model(hunk, lambda text: halve.sub(lambda found: found[0][::2], text))


_recover("curly quotes in the file")(_in_file(lambda line: re.sub(r'"([^"\n]*)"', "“\\1”", line)))
_recover("dashes in the file")(_in_file(lambda line: line.replace("-", "–")))
_recover("nbsp in the file")(_in_file(lambda line: re.sub(r"(?<=\w) (?=\w)", "\xa0", line)))
_recover("zero-width characters in the file")(
    _in_file(lambda line: re.sub(r"(?<=\w) (?=\w)", " \u200b", line, count=1))
)


@_recover("NFD in the file")
def _decomposed(hunk: Hunk, rng: random.Random) -> Case:
    def accented(text: str) -> str:
        return text.replace("e", "é")

    told = Hunk(hunk.path, hunk.before.replace(hunk.old, accented(hunk.old), 1),
                accented(hunk.old), accented(hunk.new))  # fmt: skip
    return _file_context(told, rng, lambda line: unicodedata.normalize("NFD", line))


_recover('quotes escaped as \\"')(_in_text(lambda text: text.replace('"', '\\"')))


@_recover("\\n and \\t as two characters")
def _escaped_text(hunk: Hunk, rng: random.Random) -> Case:
    require("\\" not in hunk.old + hunk.new)
    return _of_model(hunk, lambda text: text.replace("\n", "\\n").replace("\t", "\\t"))


@_recover("HTML entities")
def _entities(hunk: Hunk, rng: random.Random) -> Case:
    require("&" not in hunk.old + hunk.new)
    return _of_model(hunk, html.escape)


@_recover("blank lines dropped")
def _blank_dropped(hunk: Hunk, rng: random.Random) -> Case:
    old, new, context = lines_of(hunk.old), lines_of(hunk.new), set(_context(hunk))
    # Beside a change, a blank line above it could as well be the one below it.
    places = [
        (at, to)
        for at, to in context
        if not old[at].strip() and {(at - 1, to - 1), (at + 1, to + 1)} <= context
    ]
    at, to = picked(sorted(places), rng)
    del old[at], new[to]
    return Case(hunk.before, "".join(old), "".join(new), hunk.after)


_recover("a blank line added")(_in_context(lambda line: line + "\n"))


def _numbered(style: str) -> Drift:
    def drift(hunk: Hunk, rng: random.Random) -> Case:
        first = hunk.before[: hunk.before.index(hunk.old)].count("\n") + 1

        def number(text: str) -> str:
            lines = lines_of(text)
            return "".join(style.format(first + at) + line for at, line in enumerate(lines))

        return _of_model(hunk, number)

    return drift


for _style in ("{:>6}\t", "{} | ", "{}→"):
    RECOVER[f"line numbers like {_style.format(12)!r}"] = _numbered(_style)

_recover("line numbers and a typo")(
    lambda hunk, rng: _then(hunk, rng, _typo_context, _numbered("{:>6}\t"))
)


@_recover("line numbers in new alone")
def _numbered_new(hunk: Hunk, rng: random.Random) -> Case:
    case = _numbered("{:>6}\t")(hunk, rng)
    require(_context(hunk))
    return case._replace(old=hunk.old)


_recover("in a code fence")(_in_text(lambda text: f"```\n{text}```\n"))
_fence_below = _recover("the fence of the prompt below")(
    _in_text(lambda text: f"{text}```\n" if "```" not in text else text)
)

_recover("the fence of the prompt below old alone")(
    lambda hunk, rng: _fence_below(hunk, rng)._replace(new=hunk.new)
)


@_recover("the bars of an outline in front")
def _outlined(hunk: Hunk, rng: random.Random) -> Case:
    old = lines_of(hunk.old)
    return _of_model(hunk, _each_line(lambda line: ("│" if line in old else "█") + line))


@_recover("marks of a diff in front")
def _marked(hunk: Hunk, rng: random.Random) -> Case:
    kept_old, kept_new = (set(kept) for kept in zip(*_context(hunk), strict=True))
    old, new = (
        "".join((" " if at in kept else mark) + line for at, line in enumerate(lines_of(text)))
        for text, kept, mark in ((hunk.old, kept_old, "-"), (hunk.new, kept_new, "+"))
    )
    return Case(hunk.before, old, new, hunk.after)


@_recover("CRLF file")
def _crlf(hunk: Hunk, rng: random.Random) -> Case:
    before, after = (text.replace("\n", "\r\n") for text in (hunk.before, hunk.after))
    return Case(before, hunk.old, hunk.new, after)


_recover("CRLF text")(_in_text(lambda text: text.replace("\n", "\r\n")))
_recover("no newline at the end of old and new")(_in_text(lambda text: text.removesuffix("\n")))


def typo(rng: random.Random) -> Callable[[str], str | None]:
    """A change that takes a letter out of the middle word of a line, if it has a long one."""

    def change(line: str) -> str | None:
        words = list(re.finditer(r"[A-Za-z]{5,}", line))
        if not words:
            return None
        word = words[len(words) // 2]
        at = word.start() + 1 + len(word[0]) // 2
        return line[:at] + line[at + 1 :]

    return change


@_recover("a typo in a context line")
def _typo_context(hunk: Hunk, rng: random.Random) -> Case:
    return _model_context(hunk, rng, typo(rng))


@_recover("two typos in context lines")
def _two_typos(hunk: Hunk, rng: random.Random) -> Case:
    return _model_context(hunk, rng, typo(rng), 2)


@_recover("a typo in a removed line")
def _typo_removed(hunk: Hunk, rng: random.Random) -> Case:
    old = lines_of(hunk.old)
    kept = {at for at, _ in _context(hunk)}
    removed = [at for at in range(len(old)) if at not in kept and typo(rng)(old[at])]
    at = picked(removed, rng)
    old[at] = typo(rng)(old[at]) or ""
    return Case(hunk.before, "".join(old), hunk.new, hunk.after)


@_recover("a forgotten context line")
def _forgotten(hunk: Hunk, rng: random.Random) -> Case:
    context = set(_context(hunk))
    last = hunk.old.count("\n") - 1
    lines = lines_of(hunk.old)
    # Between two context lines, so that the place of the change stays clear.
    inner = {
        lines[at]
        for at, to in context
        if {(at - 1, to - 1), (at + 1, to + 1)} <= context and 0 < at < last and lines[at].strip()
    }
    return _model_context(hunk, rng, lambda line: "" if line in inner else None)


@_recover("a comment paraphrased")
def _comment(hunk: Hunk, rng: random.Random) -> Case:
    def paraphrase(line: str) -> str | None:
        found = re.match(r"(\s*(?:#|//) )(\w+ \w+ .*)\n", line)
        return f"{found[1]}{' '.join(reversed(found[2].split()))}\n" if found else None

    return _model_context(hunk, rng, paraphrase)


_recover("spacing inside lines")(
    _in_context(lambda line: re.sub(r"(?<=\S) ?([=+,]) ?(?=\S)", r"\1", line))
)


@_recover("context elided by ...")
def _elided(hunk: Hunk, rng: random.Random) -> Case:
    context = _context(hunk)
    runs = [
        at
        for at in range(1, len(context) - 4)
        if all(
            (context[at][0] + step, context[at][1] + step) == context[at + step]
            for step in range(-1, 5)
            if 0 <= at + step < len(context)
        )
    ]
    at_old, at_new = context[picked(runs, rng)]
    old, new = lines_of(hunk.old), lines_of(hunk.new)
    indent = old[at_old][: len(old[at_old]) - len(old[at_old].lstrip())]
    old[at_old : at_old + 3] = new[at_new : at_new + 3] = [f"{indent.rstrip(chr(10))}...\n"]
    return Case(hunk.before, "".join(old), "".join(new), hunk.after)


@_recover("the last line cut short")
def _cut_short(hunk: Hunk, rng: random.Random) -> Case:
    old, new = lines_of(hunk.old), lines_of(hunk.new)
    require(old[-1] == new[-1] and len(old[-1].strip()) >= 12)
    cut = len(old[-1]) - len(old[-1].strip()) // 3
    return _of_model(hunk, lambda text: text[: len(text) - (len(old[-1]) - cut)])


@_recover("a near-duplicate elsewhere")
def _near_duplicate(hunk: Hunk, rng: random.Random) -> Case:
    lines = lines_of(hunk.old)
    at = max(range(len(lines)), key=lambda number: len(lines[number].strip()))
    twin = [*lines[:at], re.sub(r"\w{3,}", "something_else", lines[at]), *lines[at + 1 :]]
    require(twin != lines)
    drifted = _typo_context(hunk, rng)
    addition = "\n" + "".join(twin)
    return Case(hunk.before + addition, drifted.old, drifted.new, hunk.after + addition)


_recover("indentation and a typo")(lambda hunk, rng: _then(hunk, rng, _typo_context, _dedented))

_recover("entities and trailing blanks")(
    lambda hunk, rng: _then(hunk, rng, _blanks_in_text, _entities)
)


def _then(hunk: Hunk, rng: random.Random, first: Drift, second: Drift) -> Case:
    one = first(hunk, rng)
    two = second(Hunk(hunk.path, one.old, one.old, one.new), rng)
    return Case(one.content, two.old, two.new, one.expected)


_NAME = re.compile(
    r"\b(?!(?:class|def|elif|else|except|for|from|import|not|return|try|while|with)\b)[A-Za-z_]{3,}\b"
)


def _spare(hunk: Hunk) -> list[tuple[int, int]]:
    """The context lines with text that are not the nearest one to a change."""
    old, context = lines_of(hunk.old), dict(_context(hunk))
    filled = [at for at, line in enumerate(old) if line.strip()]
    spare = []
    for above, at, below in zip([None, *filled], filled, [*filled[1:], None], strict=False):
        others = range(above or 0, len(old) if below is None else below + 1)
        shifts = {context[other] - other if other in context else None for other in others}
        if len(shifts) == 1 and None not in shifts:
            spare.append((at, context[at]))
    return spare


def _touched_once(hunk: Hunk) -> bool:
    """Whether the lines that change, with the nearest ones that do not, are in one place only."""
    old, spare = lines_of(hunk.old), {at for at, _ in _spare(hunk)}
    file = "".join(f"\n{line.strip()}\n" for line in lines_of(hunk.before) if line.strip())
    runs = [""]
    for at, line in enumerate(old):
        if at in spare:
            runs.append("")
        elif line.strip():
            runs[-1] += f"\n{line.strip()}\n"
    return all(file.count(run) == 1 for run in runs if run)


def _is_comment(line: str) -> bool:
    return "#" in line or line.lstrip().startswith(("//", "*", "/*"))


def _heads(hunk: Hunk, at: int) -> bool:
    """Whether a line opens a block, one deeper than itself, of which something changes."""
    old, context = lines_of(hunk.old), dict(_context(hunk))
    depths = {
        index: len(line) - len(line.lstrip()) for index, line in enumerate(old) if line.strip()
    }
    below = [index for index in depths if index > at]
    stop = next((index for index in below if depths[index] <= depths[at]), len(old))
    inside = range(at + 1, min(stop + 1, len(old)))
    changed = any(context.get(index, -1) != context.get(index - 1, -1) + 1 for index in inside)
    return below[:1] != [stop] and bool(below) and changed


def _renamed(line: str, name: str = "another_name") -> str:
    return _NAME.sub(name, line, count=1)


def _renamed_block(line: str) -> str:
    """A line that opens a block of another name: not one with another parameter."""
    head, bracket, rest = line.partition("(")
    return _renamed(head) + bracket + rest if head.split()[1:] else _renamed(line)


def _on_spare(
    hunk: Hunk, rng: random.Random, change: Callable[[str], str], *, heads: bool = False
) -> tuple[str, str]:
    """Both texts with one spare line changed alike; one that opens a changed block if ``heads``."""
    old, new = lines_of(hunk.old), lines_of(hunk.new)
    places = [
        (at, to)
        for at, to in _spare(hunk)
        if change(old[at]) != old[at] and _heads(hunk, at) == heads
    ]
    require(len(list(filter(str.strip, old))) >= 4 and _touched_once(hunk))
    at, to = picked(places, rng)
    old[at], new[to] = change(old[at]), change(new[to])
    return "".join(old), "".join(new)


def _model_spare(hunk: Hunk, rng: random.Random, change: Callable[[str], str]) -> Case:
    texts = _on_spare(hunk, rng, change)
    return Case(hunk.before, *texts, hunk.after)


_recover("a renamed word in an unchanged line")(lambda hunk, rng: _model_spare(hunk, rng, _renamed))


@_recover("an invented context line")
def _invented(hunk: Hunk, rng: random.Random) -> Case:
    def invent(line: str) -> str:
        return f"{line}{line[: len(line) - len(line.lstrip())]}imagined = nothing(here)\n"

    return _model_spare(hunk, rng, invent)


@_recover("a comment or bracket left out")
def _structural(hunk: Hunk, rng: random.Random) -> Case:
    structure = re.compile(r"\s*(?:[\])};,]+|(?:#|//).*)\n")
    return _model_spare(hunk, rng, lambda line: "" if structure.fullmatch(line) else line)


def _applied(line: str) -> str:
    return re.sub(r"(\w+) (\w+)", r"\1 applied \2", line, count=1)


@_recover("partly applied")
def _partly_applied(hunk: Hunk, rng: random.Random) -> Case:
    texts = _on_spare(hunk, rng, _applied)
    # The file has this line as the edit would make it; the model's old text has not.
    content = hunk.before.replace(hunk.old, texts[0], 1)
    return Case(content, hunk.old, texts[1], content.replace(texts[0], texts[1], 1))


def _line_replaced(hunk: Hunk, rng: random.Random) -> tuple[int, str, str]:
    """A line of old, the line without one of its words, and another line in its place."""
    old = lines_of(hunk.old)
    filled = [at for at, line in enumerate(old) if re.search(r"\w{3}", line)]
    places = [
        (at, found[1])
        for at in filled[1:-1]
        if not _is_comment(old[at]) and len(old[at].split()) > 3
        for found in re.finditer(r"\S\s+([A-Za-z_]{3,})\b(?=\s+\S)", old[at])
        if found[1] not in ("not", "never", "without")
    ]
    require(len(filled) >= 4)
    at, word = picked(places, rng)
    indent = old[at][: len(old[at]) - len(old[at].lstrip())]
    return at, re.sub(rf"\s+{word}\b", "", old[at], count=1), f"{indent}updated_value = 1\n"


@_recover("words missing in the line replaced")
def _words_missing(hunk: Hunk, rng: random.Random) -> Case:
    at, line, new = _line_replaced(hunk, rng)
    lines = lines_of(hunk.old)
    above, below = "".join(lines[:at]), "".join(lines[at + 1 :])
    after = hunk.before.replace(hunk.old, above + new + below, 1)
    return Case(hunk.before, above + line + below, above + new + below, after)


@_refuse("words missing in the line replaced, another line wrong")
def _words_missing_twice(hunk: Hunk, rng: random.Random) -> Case:
    case = _words_missing(hunk, rng)
    texts = _on_spare(Hunk(hunk.path, case.old, case.old, case.new), rng, _renamed)
    return Case(hunk.before, *texts, None)


def _joined_lines(hunk: Hunk, rng: random.Random) -> tuple[str, str]:
    """Both texts with two neighbouring context lines as one."""
    old, new, spare = lines_of(hunk.old), lines_of(hunk.new), dict(_spare(hunk))
    places = [
        at
        for at in spare
        if spare.get(at + 1) == spare[at] + 1 and not _is_comment(old[at] + old[at + 1])
    ]
    at = picked(places, rng)
    for lines, first in ((old, at), (new, spare[at])):
        lines[first : first + 2] = [f"{lines[first].rstrip()} {lines[first + 1].lstrip()}"]
    return "".join(old), "".join(new)


@_recover("context wrapped otherwise")
def _wrapped(hunk: Hunk, rng: random.Random) -> Case:
    texts = _joined_lines(hunk, rng)
    return Case(hunk.before, *texts, hunk.after)


@_refuse("context wrapped otherwise, in two places")
def _wrapped_twice(hunk: Hunk, rng: random.Random) -> Case:
    texts = _joined_lines(hunk, rng)
    return Case(f"{hunk.before}\n{hunk.old}", *texts, None)


@_refuse("a context line wrong, touched lines in two places")
def _two_cores(hunk: Hunk, rng: random.Random) -> Case:
    state = rng.getstate()
    twin = _on_spare(hunk, rng, lambda line: _renamed(line, "name_of_a_twin"))
    rng.setstate(state)
    texts = _on_spare(hunk, rng, _renamed)
    return Case(f"{hunk.before}\n{twin[0]}", *texts, None)


@_refuse("a sibling block under another name")
def _sibling(hunk: Hunk, rng: random.Random) -> Case:
    texts = _on_spare(hunk, rng, _renamed_block, heads=True)
    return Case(hunk.before, *texts, None)


@_refuse("a word of a touched line renamed")
def _renamed_touched(hunk: Hunk, rng: random.Random) -> Case:
    old, new, context = lines_of(hunk.old), lines_of(hunk.new), dict(_context(hunk))
    spare = {at for at, _ in _spare(hunk)}
    places = [
        at
        for at, line in enumerate(old)
        if at not in spare and not _is_comment(line) and _renamed(line) != line
    ]
    at = picked(places, rng)
    word = (_NAME.search(old[at]) or [""])[0]
    new = [
        re.sub(rf"\b{word}\b", "another_name", line, count=1)
        if to == context.get(at) or to not in context.values()
        else line
        for to, line in enumerate(new)
    ]
    old[at] = _renamed(old[at])
    return Case(hunk.before, "".join(old), "".join(new), None)


@_refuse("a context line wrong, added lines there already")
def _added_already(hunk: Hunk, rng: random.Random) -> Case:
    require(len(_context(hunk)) >= hunk.old.count("\n"))
    texts = _on_spare(hunk, rng, _renamed)
    return Case(hunk.after, *texts, None)


_refuse("twice in the file")(
    lambda hunk, rng: Case(hunk.before + "\n" + hunk.old, hunk.old, hunk.new, None)
)


@_refuse("twice, at two indentations")
def _twice_indented(hunk: Hunk, rng: random.Random) -> Case:
    again = "".join(f"  {line}" for line in lines_of(hunk.old))
    drifted = "".join(f"   {line}" for line in lines_of(hunk.old))
    new = "".join(f"   {line}" for line in lines_of(hunk.new))
    return Case(f"{hunk.before}\n{again}", drifted, new, None)


@_refuse("another middle")
def _other_middle(hunk: Hunk, rng: random.Random) -> Case:
    lines = lines_of(hunk.old)
    require(len(lines) >= 5)
    middle = [re.sub(r"\w+", lambda word: word[0][::-1] + "x", line) for line in lines[1:-1]]
    content = hunk.before.replace(hunk.old, "".join([lines[0], *middle, lines[-1]]), 1)
    # Lines without words stay as they are.
    require(re.search(r"\w", "".join(middle)))
    return Case(content, hunk.old, hunk.new, None)


_refuse("deleted since")(
    lambda hunk, rng: Case(hunk.before.replace(hunk.old, "", 1), hunk.old, hunk.new, None)
)


@_refuse("too short or bare")
def _bare(hunk: Hunk, rng: random.Random) -> Case:
    needle = rng.choice((" }", "   return", "\t)", " else:", "  pass "))
    known = any(line.strip() == needle.strip() for line in hunk.before.split("\n"))
    require(known and needle not in hunk.before)
    return Case(hunk.before, needle, "changed", None)


def another_file(hunk: Hunk, other: Hunk) -> Case:
    """The text of one file, sent for another."""
    return Case(other.before, hunk.old, hunk.new, None)


def _unit(hunk: Hunk) -> str:
    """One level of indentation in the hunk: a tab, or the narrowest run of spaces."""
    lines = [line for line in lines_of(hunk.before) if line.strip()]
    indents = [line[: len(line) - len(line.lstrip())] for line in lines]
    return (
        "\t"
        if any("\t" in indent for indent in indents)
        else min(filter(None, indents), default="    ")
    )


def _short(lines: list[str], unit: str) -> list[str]:
    """Lines without one level of indentation (Unfit if one of them has none)."""
    require(all(line.startswith(unit) for line in lines if line.strip()))
    return [line.removeprefix(unit) for line in lines]


def _short_from(hunk: Hunk, start: tuple[int, int]) -> Case:
    """A drift of the model's lines from one of old and one of new on: one level is missing."""
    old, new = lines_of(hunk.old), lines_of(hunk.new)
    unit = _unit(hunk)
    short_old, short_new = _short(old[start[0] :], unit), _short(new[start[1] :], unit)
    require(short_old)
    texts = "".join(old[: start[0]] + short_old), "".join(new[: start[1]] + short_new)
    return Case(hunk.before, *texts, hunk.after)


@_recover("one level short")
def _one_short(hunk: Hunk, rng: random.Random) -> Case:
    return _short_from(hunk, (0, 0))


@_recover("first line right, the rest one level short")
def _rest_short(hunk: Hunk, rng: random.Random) -> Case:
    shared = _context(hunk)[:1] == [(0, 0)] and len(lines_of(hunk.old)) > 2
    require(shared)
    return _short_from(hunk, (1, 1))


@_recover("only the last lines one level short")
def _last_short(hunk: Hunk, rng: random.Random) -> Case:
    old, new = lines_of(hunk.old), lines_of(hunk.new)
    count = rng.choice((1, 2))
    tail = [(len(old) - step, len(new) - step) for step in range(1, count + 1)]
    # Lines that the edit adds directly above could be as deep as either of their neighbours.
    above = next((step for step in range(count + 1, len(old)) if old[-step].strip()), count)
    known = {(len(old) - step, len(new) - step) for step in range(1, above + 1)}
    shared = known <= set(_context(hunk)) and any(old[at].strip() for at, _ in tail)
    require(shared and len(old) > count + 1)
    return _short_from(hunk, tail[-1])


_recover("old one level short, new as deep as the file")(
    lambda hunk, rng: _one_short(hunk, rng)._replace(new=hunk.new)
)


@_recover("added lines alone as deep as the file")
def _added_deep(hunk: Hunk, rng: random.Random) -> Case:
    short = _one_short(hunk, rng)
    new, deep = lines_of(short.new), lines_of(hunk.new)
    kept = {at for _, at in _context(hunk)}
    lines = [line if at in kept else deep[at] for at, line in enumerate(new)]
    # As written, they are one level deeper than the lines around them.
    deeper = [
        line if at in kept or not line.strip() else _unit(hunk) + line
        for at, line in enumerate(deep)
    ]
    literal = hunk.before.replace(hunk.old, "".join(deeper), 1)
    require(kept)
    return short._replace(new="".join(lines), accept=(literal,))


@_refuse("already applied")
def _already_applied(hunk: Hunk, rng: random.Random) -> Case:
    require(_added(hunk))
    return Case(hunk.after, hunk.old, hunk.new, None, code="already_applied")


def _added(hunk: Hunk) -> bool:
    """Whether the new text has more than a few letters that the old one lacks."""
    known = {*re.findall(r"\w+", hunk.old)}
    return sum(map(len, {*re.findall(r"\w+", hunk.new)} - known)) >= 8


@_recover("stale, changes apart")
def _stale_apart(hunk: Hunk, rng: random.Random) -> Case:
    # A line that moves can be taken for a change in either of its places.
    require(Counter(lines_of(hunk.old)) != Counter(lines_of(hunk.new)))
    return _changed_since(hunk, rng, range(2 if _replaces(hunk) else 4, 7))


@_refuse("stale, changes that touch")
def _stale_touching(hunk: Hunk, rng: random.Random) -> Case:
    case = _changed_since(hunk, rng, range(2 if _replaces(hunk) else 1))
    return case._replace(expected=None, code="stale")


def _replaces(hunk: Hunk) -> bool:
    """Whether lines go and others come: such a change is in one place only.

    Where lines only come or only go, and the next one is like the first of them, it is in two.
    """
    old, new = set(lines_of(hunk.old)), set(lines_of(hunk.new))
    return bool(old - new and new - old)


def _changed_since(hunk: Hunk, rng: random.Random, away: range) -> Case:
    """The file has another change since, so many lines from those that the edit changes."""
    wide = _widened(hunk, max(away))
    old, new = lines_of(wide.old), lines_of(wide.new)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    changes = [code[1:3] for code in matcher.get_opcodes() if code[0] != "equal"]
    rows = [
        row
        for row, line in enumerate(old)
        if re.search(r"\w{3,}", line) and min(_distance(row, *change) for change in changes) in away
    ]
    row = picked(rows, rng)
    changed = re.sub(r"\w{3,}", "changed_meanwhile", old[row], count=1)
    content = wide.before.replace(wide.old, "".join([*old[:row], changed, *old[row + 1 :]]), 1)
    require(_stripped(wide.old) not in _stripped(content))
    pairs = dict(_context(wide))
    if row not in pairs:
        return Case(content, wide.old, wide.new, "", versions=(wide.before,))
    kept = "".join([*new[: pairs[row]], changed, *new[pairs[row] + 1 :]])
    expected = wide.before.replace(wide.old, kept, 1)
    return Case(content, wide.old, wide.new, expected, versions=(wide.before,))


def _stripped(text: str) -> str:
    return "\n".join(line.strip() for line in lines_of(text))


def _distance(row: int, first: int, stop: int) -> int:
    """From a row to the nearest changed one; 1 for the rows beside a change."""
    return first - row if row < first else max(0, row - stop + 1)


def _widened(hunk: Hunk, reach: int) -> Hunk:
    """The hunk with more lines of the file around it."""
    at = hunk.before.index(hunk.old)
    above = "".join(lines_of(hunk.before[:at])[-reach:])
    below = "".join(lines_of(hunk.before[at + len(hunk.old) :])[:reach])
    return hunk._replace(old=above + hunk.old + below, new=above + hunk.new + below)
