r"""Variants of a model's old and new text: transformations of both that are taken back.

A reader looks for its signature in the old text (every line numbered, ``\"`` for ``"``, a code
fence around it) and yields the pair as it was before. Whether a variant is right, the file decides:
it is tried only when the text as given is not found, and counts only where its old text is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from git_boocode.matching.text import BOM, Text

MOST = 12
"""At most this many variants of one pair are tried."""

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[\w.+#:=/ \t-]*")
_NUMBER = re.compile(r"[ \t]*(?:L(?:ine )?)?(\d{1,7})[ ]*(\t|→|│|\||:)")
_EMPTY_COLUMN = re.compile(r"[ ]{2,}(\t|→|│|\|)|[ ]+(\|)")
"""Where a line has no number but the column is kept."""
_MARGIN = 2
"""In fewer numbered lines a first line without a number proves nothing."""

_QUOTES = re.compile(r"\\[\"'`]")
_ESCAPES = re.compile(
    r"\\(?:[nrt\"'`\\/]|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4})"
)
_BLANK_OR_BACKSLASH = re.compile(r"\\[nrt\\]")
_ENTITIES = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});")
_ESCAPED_INDENT = re.compile(r"^(?:\\t|\s)+")
_LITERAL = re.compile(
    r"""(?<!")"(?:[^"\\\n]|\\[^"n\\])*\\n(?:[^"\\\n]|\\[^"n\\])*"(?!")(?=[\s,;:)\]}.+%]|$)"""
)


class Variant(NamedTuple):
    """A pair of texts, line endings LF, and what was done to the model's to get it.

    ``first_line`` is the line of the file (1-based) that the model's text claims to start on; None
    if it claims nothing.
    """

    old: str
    new: str
    notes: tuple[str, ...] = ()
    first_line: int | None = None

    def then(self, old: str, new: str, note: str) -> Variant:
        """The variant after one more transformation."""
        notes = self.notes if note in self.notes else (*self.notes, note)
        return self._replace(old=old, new=new, notes=notes)


Reader = Callable[[Variant, Text], Iterator[Variant]]


def variants(old: str, new: str, text: Text, names: Sequence[str]) -> Iterator[Variant]:
    """The variants of a pair, the given one left out; each reader continues the ones before it.

    ``names`` are keys of ``READERS``, in the order in which the transformations are taken back.
    """
    given = Variant(Text(old).lf.removeprefix(BOM), Text(new).lf.removeprefix(BOM))
    return islice(_all(given, text, names), MOST)


def _all(given: Variant, text: Text, names: Sequence[str]) -> Iterator[Variant]:
    found = [given]
    for name in names:
        for variant in tuple(found):
            for fresh in READERS[name](variant, text):
                if fresh.old != variant.old and all(fresh[:2] != known[:2] for known in found):
                    found.append(fresh)
                    yield fresh


def likeliest(text: Text, candidates: Sequence[Variant]) -> list[Variant]:
    """Of the given pair (first) and its variants the one most of whose lines the file has.

    Where the given pair and a variant are level, both, the variant first: either may be right.
    """
    needles = [Text(variant.old) for variant in candidates]
    wanted = {line for needle in needles for line in needle.canonical if line}
    there = wanted.intersection(text.canonical)
    scores = [sum(len(line) for line in needle.canonical if line in there) for needle in needles]
    level = [one for one, score in zip(candidates, scores, strict=True) if score == max(scores)]
    return [*level[1:2], level[0]] if level[0] is candidates[0] else level[:1]


def fences(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Text between the fences of a code block; the new text may lack them."""
    old, new = _unfenced(variant.old), _unfenced(variant.new)
    if old is not None:
        yield variant.then(old, variant.new if new is None else new, "code fence stripped")


def _unfenced(text: str) -> str | None:
    lines = text.strip("\n").split("\n")
    opening, closing = _FENCE.fullmatch(lines[0]), lines[-1].strip()
    if len(lines) < 3 or not opening or closing != opening[1]:
        return None
    return "".join(f"{line}\n" for line in lines[1:-1])


def marks(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Lines with the marks of a diff in front: removed ones in old, added ones in new."""
    old, new = _unmarked(variant.old, " -"), _unmarked(variant.new, " +")
    seen = {line[:1] for line in f"{variant.old}\n{variant.new}".split("\n")}
    if old is not None and new is not None and not seen.isdisjoint("-+"):
        yield variant.then(old, new, "diff marks stripped")


def _unmarked(text: str, allowed: str) -> str | None:
    """The text without the mark before each line; None if a line with text has none."""
    lines = text.split("\n")
    if any(line.strip() and line[0] not in allowed for line in lines):
        return None
    return "\n".join(line[1:] for line in lines)


class _Numbered(NamedTuple):
    """A line that begins with a number: the number, its separator, what follows."""

    number: int
    separator: str
    rest: str


def _split(line: str) -> _Numbered | None:
    found = _NUMBER.match(line)
    return _Numbered(int(found[1]), found[2], line[found.end() :]) if found else None


class _Column(NamedTuple):
    """A column of line numbers: its separator, and whether a space after that belongs to it."""

    separator: str
    padded: bool

    def number(self, line: str) -> int | None:
        """The number of a line in this column; None if it has none."""
        found = _split(line)
        return found.number if found and found.separator == self.separator else None

    def numbers(self, lines: Iterable[str]) -> list[int]:
        """The numbers of those lines that have one."""
        return [number for number in map(self.number, lines) if number is not None]

    def strip(self, line: str) -> str:
        """A line without the column; one that has none as it is."""
        found = _split(line)
        if found and found.separator == self.separator:
            rest = found.rest
        else:
            empty = _EMPTY_COLUMN.match(line)
            if not empty or self.separator not in empty.groups():
                return line
            rest = line[empty.end() :]
        return rest[1:] if self.padded and rest.startswith(" ") else rest


def _column_of(lines: Sequence[str], text: Text) -> _Column | None:
    """The column of numbers before these lines; None if they are not numbered.

    Every line with text has a number but, perhaps, the first one, which a model may copy from
    behind its number. The numbers are separated alike, and rise with the lines.
    """
    filled = [line for line in lines if line.strip()]
    numbered = [found for found in map(_split, filled) if found]
    begun = len(numbered) == len(filled) - 1 >= _MARGIN and not _split(filled[0])
    if not numbered or (len(numbered) < len(filled) and not begun):
        return None
    separator = numbered[0].separator
    if any(found.separator != separator for found in numbered) or not _rise(lines):
        return None
    return _Column(separator, _padded(numbered, text))


def _rise(lines: Sequence[str]) -> bool:
    """Whether the numbers count lines: all of them, or those that are not blank."""
    filled, points = 0, []
    for at, line in enumerate(lines):
        filled += bool(line.strip())
        found = _split(line)
        if found:
            points.append((found.number, at, filled))
    steps = list(pairwise(points))
    counted = sum(
        after[0] - before[0] in (after[1] - before[1], after[2] - before[2])
        for before, after in steps
    )
    # A line may be missing among them.
    return 2 * counted >= len(steps) and all(after[0] > before[0] for before, after in steps)


def _padded(numbered: Sequence[_Numbered], text: Text) -> bool:
    """Whether a space after the separator belongs to the column; the file knows best."""
    if any(line.rest[:1] not in ("", " ") for line in numbered):
        return False
    longest = max((line.rest for line in numbered), key=len)
    for width in (1, 0):
        if f"\n{longest[width:]}\n" in f"\n{text.lf}\n":
            return width == 1
    return numbered[0].separator in "|:"


def numbers(variant: Variant, text: Text) -> Iterator[Variant]:
    """The pair without line numbers; the new text may lack some or all, or have other ones."""
    lines = variant.old.split("\n")
    column = _column_of(lines, text)
    if column is None:
        return
    old = [column.strip(line) for line in lines]
    at = next(index for index, line in enumerate(lines) if _split(line))
    first_line = column.numbers(lines)[0] - at
    new = _without_numbers(variant.new.split("\n"), old, column, first_line)
    if new is not None:
        done = variant.then("\n".join(old), "\n".join(new), "line numbers stripped")
        yield done._replace(first_line=first_line)


def _without_numbers(
    new: Sequence[str], old: Sequence[str], column: _Column, first_line: int
) -> Sequence[str] | None:
    """The lines of new without the numbers of a column; None where a number may be content.

    ``old`` are the lines of old, without the column. Numbers that fall do not count lines.
    """
    known = {line.strip() for line in old if line.strip()}
    found = [(number, at) for at, line in enumerate(new) for number in column.numbers([line])]
    bare = [line for line in new if line.strip() in known]
    if bare and not column.numbers(line for line in new if column.strip(line).strip() in known):
        # The model took the column away, at least from the lines that stay.
        if not found or column.numbers(bare):
            return new
        believed = all(number == first_line + at for number, at in found)
    else:
        believed = all(before[0] <= after[0] for before, after in pairwise(found))
    return [*map(column.strip, new)] if believed else None


def strays(old: str, new: str, first_line: int) -> str | None:
    """The new text without line numbers that the old text, found as it is, does not have.

    They must begin with the line of the file, ``first_line``, on which old is found, and new must
    share a line with old. None if new has no such numbers.
    """
    lines, given = new.split("\n"), old.split("\n")
    column = _column_of(lines, Text(old))
    if column is None or column.number(lines[0]) != first_line or any(map(_split, given)):
        return None
    stripped = [column.strip(line) for line in lines]
    shared = any(line.strip() and line in given for line in stripped)
    # Who numbers every line and changes nothing else wants the numbers.
    return "\n".join(stripped) if shared and stripped != given else None


def _decoded(sequences: re.Pattern[str], text: str, meaning: Callable[[str], str]) -> str:
    return sequences.sub(lambda found: meaning(found[0]), text)


def _plain(sequence: str) -> str:
    """What a backslash sequence stands for."""
    import json

    # JSON lacks two of the quotes.
    return sequence[1] if sequence[1] in "'`" else str(json.loads(f'"{sequence}"'))


def _character(entity: str) -> str:
    """What an HTML entity stands for; the entity itself if it is none."""
    from html import unescape
    from html.entities import html5

    return unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity


def sequences_in(text: str) -> Counter[str]:
    """What in a text may be an escape sequence, and how often."""
    if "\\" not in text and "&" not in text:
        return Counter()
    entities_in = [found for found in _ENTITIES.findall(text) if _character(found) != found]
    return Counter(_ESCAPES.findall(text) + entities_in)


def escapes(variant: Variant, _text: Text) -> Iterator[Variant]:
    r"""Quotes escaped as ``\"``; or one level of the escapes of JSON and C, ``\n`` and ``\\`` too.

    The old text must show how the new one is escaped: sequences for whitespace and backslashes in
    new alone could be meant either way.
    """
    known = _blank_or_backslash(variant.old)
    fresh = _blank_or_backslash(variant.new) - known
    in_lines = "\n" in variant.old.strip("\n")
    new_in_lines = "\n" in variant.new.strip("\n")
    # A line feed that is escaped beside real ones is part of the code.
    if "\\\\" not in fresh and (not fresh or in_lines or new_in_lines):
        yield _unescaped(variant, _QUOTES)
    if in_lines:
        one_sided = bool(fresh) or _tabs_inside(variant)
    else:
        one_sided = (
            bool(_ESCAPES.search(variant.new)) if new_in_lines else bool(fresh and not known)
        )
    if not one_sided and not _breaks_strings(variant):
        yield _unescaped(variant, _ESCAPES)


def _unescaped(variant: Variant, sequences: re.Pattern[str]) -> Variant:
    old, new = (_decoded(sequences, text, _plain) for text in variant[:2])
    return variant.then(old, new, "unescaped")


def _blank_or_backslash(text: str) -> set[str]:
    """The sequences of a text that stand for whitespace or a backslash."""
    return set(_BLANK_OR_BACKSLASH.findall(_QUOTES.sub("", text)))


def _tabs_inside(variant: Variant) -> bool:
    """Whether lines of new alone have an escaped tab that is no indentation."""
    known = set(variant.old.split("\n"))
    fresh = [line for line in variant.new.split("\n") if line not in known]
    return any("\\t" in _ESCAPED_INDENT.sub("", line) for line in fresh)


def _breaks_strings(variant: Variant) -> bool:
    r"""Whether string literals of new alone would be broken in two: ``"text\n"`` is code."""
    known = set(_LITERAL.findall(variant.old))
    return any(found not in known for found in _LITERAL.findall(variant.new))


def entities(variant: Variant, _text: Text) -> Iterator[Variant]:
    """HTML entities are the characters that they stand for."""
    old, new = (_decoded(_ENTITIES, text, _character) for text in variant[:2])
    yield variant.then(old, new, "entities decoded")


def _wrapped(variant: Variant, text: Text) -> Iterator[Variant]:
    from git_boocode.matching.spacing import wrapped

    return wrapped(variant, text)


READERS: dict[str, Reader] = {
    "fences": fences,
    "numbers": numbers,
    "escapes": escapes,
    "entities": entities,
    "marks": marks,
    "wrapped": _wrapped,
}
