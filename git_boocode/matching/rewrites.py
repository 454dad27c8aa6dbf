r"""Other readings of a model's old and new text: both were transformed alike, and are read back.

A reader looks for its signature in the old text (every line numbered, ``\"`` for ``"``, a code
fence around it) and yields the pair as it was before. Whether the reading is right, the file says:
it is tried only when the text as given is not there, and counts only where its old text is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import NamedTuple

from git_boocode.matching.text import BOM, Text

MOST = 12
"""So many readings of one pair are tried."""

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[\w.+#:=/ \t-]*")
_QUOTED = re.compile(r"[ \t]*>(?: |$)")


class Reading(NamedTuple):
    """A pair of texts, line endings LF, and what was done to the model's to get it.

    ``first_line`` is the line of the file (1-based) that the model's text claims to start on; None
    if it claims nothing.
    """

    old: str
    new: str
    notes: tuple[str, ...] = ()
    first_line: int | None = None

    def then(self, old: str, new: str, note: str) -> Reading:
        """The reading after one more transformation."""
        notes = self.notes if note in self.notes else (*self.notes, note)
        return self._replace(old=old, new=new, notes=notes)


Reader = Callable[[Reading, Text], Iterator[Reading]]


def readings(old: str, new: str, text: Text, names: Sequence[str]) -> Iterator[Reading]:
    """The readings of a pair, the given one left out; each reader continues the ones before it.

    ``names`` are keys of ``READERS``, in the order in which the transformations are taken back.
    """
    given = Reading(Text(old).lf.removeprefix(BOM), Text(new).lf.removeprefix(BOM))
    return islice(_all(given, text, names), MOST)


def _all(given: Reading, text: Text, names: Sequence[str]) -> Iterator[Reading]:
    found = [given]
    for name in names:
        for reading in tuple(found):
            for fresh in READERS[name](reading, text):
                if all((fresh.old, fresh.new) != (known.old, known.new) for known in found):
                    found.append(fresh)
                    yield fresh


def fences(reading: Reading, _text: Text) -> Iterator[Reading]:
    """Text between the fences of a code block; the new text may lack them."""
    old = _unfenced(reading.old)
    if old is not None:
        new = _unfenced(reading.new)
        new = reading.new if new is None else new
        yield reading.then(old, new, "code fence stripped")


def _unfenced(text: str) -> str | None:
    lines = text.strip("\n").split("\n")
    opening, closing = _FENCE.fullmatch(lines[0]), lines[-1].strip()
    if len(lines) < 3 or not opening or closing != opening[1]:
        return None
    return "".join(f"{line}\n" for line in lines[1:-1])


def quoted(reading: Reading, _text: Text) -> Iterator[Reading]:
    """Text in which every line is quoted with ``> ``, old and new alike."""
    old = _unquoted(reading.old)
    new = _unquoted(reading.new) if reading.new.strip() else reading.new
    if old and new is not None:
        yield reading.then(old, new, "quote prefix stripped")


def _unquoted(text: str) -> str | None:
    lines = text.split("\n")
    marks = [_QUOTED.match(line) for line in lines]
    pairs = list(zip(lines, marks, strict=True))
    if not any(marks) or any(line.strip() and not mark for line, mark in pairs):
        return None
    return "\n".join(line[mark.end() :] if mark else line for line, mark in pairs)


def _lazily(module: str, name: str) -> Reader:
    """A reader whose module is imported when it is first needed."""

    def read(reading: Reading, text: Text) -> Iterator[Reading]:
        reader: Reader = getattr(import_module(f"git_boocode.matching.{module}"), name)
        return reader(reading, text)

    return read


def marked(reading: Reading, _text: Text) -> Iterator[Reading]:
    """Lines with the marks of a diff in front: what goes in old, what comes in new."""
    old = _unmarked(reading.old, " -")
    new = _unmarked(reading.new, " +")
    seen = {line[:1] for line in f"{reading.old}\n{reading.new}".split("\n")}
    if old is not None and new is not None and not seen.isdisjoint("-+"):
        yield reading.then(old, new, "diff marks stripped")


def _unmarked(text: str, marks: str) -> str | None:
    """The text without the mark before each line; None if a line with text has none."""
    lines = text.split("\n")
    if any(line.strip() and line[0] not in marks for line in lines):
        return None
    return "\n".join(line[1:] for line in lines)


READERS: dict[str, Reader] = {
    "fences": fences,
    "quoted": quoted,
    "numbers": _lazily("numbering", "numbers"),
    "quotes": _lazily("escapes", "quotes"),
    "escapes": _lazily("escapes", "escapes"),
    "entities": _lazily("escapes", "entities"),
    "mixed": _lazily("escapes", "mixed"),
    "marked": marked,
    "folded": _lazily("folding", "folded"),
    "completed": _lazily("completion", "completed"),
}


def likeliest(text: Text, candidates: Sequence[Reading]) -> list[Reading]:
    """Of the given reading (first) and others the one most of whose lines stand in the file.

    Where the given one and another are level, both, the other first: the file does not say which.
    """
    needles = [Text(reading.old) for reading in candidates]
    wanted = {line for needle in needles for line in needle.canonical if line}
    there = wanted.intersection(text.canonical)
    scores = [sum(len(line) for line in needle.canonical if line in there) for needle in needles]
    best = max(scores)
    level = [reading for reading, score in zip(candidates, scores, strict=True) if score == best]
    return [*level[1:2], level[0]] if level[0] is candidates[0] else level[:1]
