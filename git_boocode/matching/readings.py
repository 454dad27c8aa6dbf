r"""Variants of a model's old and new text: transformations of both that are taken back.

A reader looks for its signature in the old text (every line numbered, ``\"`` for ``"``, a code
fence around it) and yields the pair as it was before. Whether a variant is right, the file decides:
it is tried only when the text as given is not found, and counts only where its old text is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from git_boocode.matching.spacing import wrapped
from git_boocode.matching.text import BOM, Text

MOST = 12  # at most this many variants of one pair are tried

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[\w.+#:=/ \t-]*")
_NUMBER = re.compile(r"[ \t]*(?:L(?:ine )?)?(\d{1,7})[ ]*(\t|→|│|\||:)")
_EMPTY_COLUMN = re.compile(r"[ ]{2,}(\t|→|│|\|)|[ ]+(\|)")
"""Where a line has no number but the column is kept."""

_QUOTES = re.compile(r"\\[\"'`]")
_ESCAPES = re.compile(
    r"\\(?:[nrt\"'`\\/]|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4})"
)
_WHITESPACE_OR_BACKSLASH = re.compile(r"\\[nrt\\]")
_ENTITIES = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});")
_ESCAPED_INDENT = re.compile(r"^(?:\\t|\s)+")
_LITERAL = re.compile(
    r"""(?<!")"(?:[^"\\\n]|\\[^"n\\])*\\n(?:[^"\\\n]|\\[^"n\\])*"(?!")(?=[\s,;:)\]}.+%]|$)"""
)


class Variant(NamedTuple):
    """A pair of texts, line endings LF, and what was done to the model's to get it.

    ``first_line`` is the line of the file (1-based) that the model's text claims to start on.
    """

    old: str
    new: str
    notes: tuple[str, ...] = ()
    first_line: int | None = None

    def then(self, old: str, new: str, note: str) -> Variant:
        """The variant after one more transformation."""
        notes = self.notes if note in self.notes else (*self.notes, note)
        return self._replace(old=old, new=new, notes=notes)


def variants(old: str, new: str, text: Text, names: Sequence[str]) -> Iterator[Variant]:
    """The variants of a pair, the given one left out; each reader continues the ones before it.

    ``names`` are keys of ``READERS``, in the order in which the transformations are taken back.
    """

    def every() -> Iterator[Variant]:
        found = [Variant(Text(old).lf.removeprefix(BOM), Text(new).lf.removeprefix(BOM))]
        for name in names:
            for variant in tuple(found):
                for fresh in READERS[name](variant, text):
                    if fresh.old != variant.old and all(fresh[:2] != known[:2] for known in found):
                        found.append(fresh)
                        yield fresh

    return islice(every(), MOST)


def fences(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Text between the fences of a code block; the new text may lack them."""
    old, new = _unfenced(variant.old), _unfenced(variant.new)
    if old is not None:
        yield variant.then(old, variant.new if new is None else new, "code fence stripped")


def _unfenced(text: str) -> str | None:
    lines = text.strip("\n").split("\n")
    opening, closing = _FENCE.fullmatch(lines[0]), lines[-1].strip()
    fenced = len(lines) > 2 and opening and closing == opening[1]
    return "".join(f"{line}\n" for line in lines[1:-1]) if fenced else None


def marks(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Lines with the marks of a diff in front: removed ones in old, added ones in new."""
    old, new = _unmarked(variant.old, " -"), _unmarked(variant.new, " +")
    seen = {line[:1] for line in f"{variant.old}\n{variant.new}".split("\n")}
    if old is not None and new is not None and not seen.isdisjoint("-+"):
        yield variant.then(old, new, "diff marks stripped")


def _unmarked(text: str, allowed: str) -> str | None:
    """The text without the mark before each line; None if a line with text has none."""
    lines = text.split("\n")
    marked = all(line[0] in allowed for line in lines if line.strip())
    return "\n".join(line[1:] for line in lines) if marked else None


class _Column(NamedTuple):
    """A column of line numbers: what separates it from the lines, and the space after that."""

    separator: str
    padding: str

    def split(self, line: str) -> tuple[int | None, str]:
        """The number of a line, None if it has none in this column, and the line without it."""
        numbered = _NUMBER.match(line)
        for found in (numbered, _EMPTY_COLUMN.match(line)):
            if found and self.separator in found.groups():
                number = int(found[1]) if found is numbered else None
                return number, line[found.end() :].removeprefix(self.padding)
        return None, line


def _column_of(lines: Sequence[str], text: Text) -> _Column | None:
    """The column of numbers before these lines; None if they are not numbered.

    Every line with text has a number. The numbers are separated alike, and rise with the lines.
    """
    filled = [line for line in lines if line.strip()]
    if len(filled) > 2 and not _NUMBER.match(filled[0]):
        # A model may copy the first line from behind its number.
        del filled[0]
    numbered = [found for found in map(_NUMBER.match, filled) if found]
    separators = {found[2] for found in numbered}
    if len(numbered) < len(filled) or len(separators) != 1 or not _rise(lines):
        return None
    separator = separators.pop()
    rests = [line[found.end() :] for line, found in zip(filled, numbered, strict=True)]
    return _Column(separator, _padding(rests, separator, text))


def _rise(lines: Sequence[str]) -> bool:
    """Whether the numbers count lines: all of them, or those that are not blank."""
    filled, points = 0, []
    for at, line in enumerate(lines):
        filled += bool(line.strip())
        if found := _NUMBER.match(line):
            number = int(found[1])
            points.append((number, number - at, number - filled))
    steps = list(pairwise(points))
    counted = sum(before[1] == after[1] or before[2] == after[2] for before, after in steps)
    # A line may be missing among them.
    return 2 * counted >= len(steps) and all(after[0] > before[0] for before, after in steps)


def _padding(rests: Sequence[str], separator: str, text: Text) -> str:
    """The space after the separator that belongs to the column; the file knows best."""
    if any(rest[:1] not in ("", " ") for rest in rests):
        return ""
    longest = max(rests, key=len)
    for padding in (" ", ""):
        if f"\n{longest.removeprefix(padding)}\n" in f"\n{text.lf}\n":
            return padding
    return " " if separator in "|:" else ""


def numbers(variant: Variant, text: Text) -> Iterator[Variant]:
    """The pair without line numbers; the new text may lack some or all, or have other ones."""
    lines = variant.old.split("\n")
    column = _column_of(lines, text)
    if column is None:
        return
    split = [column.split(line) for line in lines]
    first_line = next(number - at for at, (number, _) in enumerate(split) if number is not None)
    old = [rest for _, rest in split]
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
    is_marked = any(line.startswith("+") for line in old)
    if not is_marked and any(column.split(line)[0] is not None for line in new):
        # Among numbered lines an added one may have the mark of a diff instead.
        new = [line.removeprefix("+") for line in new]
    split = [column.split(line) for line in new]
    found = [(number, at) for at, (number, _) in enumerate(split) if number is not None]
    numbered = [number is not None for number, _ in split]
    kept = [has for has, (_, rest) in zip(numbered, split, strict=True) if rest.strip() in known]
    bare = [has for has, line in zip(numbered, new, strict=True) if line.strip() in known]
    if bare and not any(kept):
        # The model took the column away, at least from the lines that stay.
        if not found or any(bare):
            return new
        believed = all(number == first_line + at for number, at in found)
    else:
        believed = all(before[0] <= after[0] for before, after in pairwise(found))
    return [rest for _, rest in split] if believed else None


def strays(variant: Variant, first_line: int) -> Iterator[Variant]:
    """The new text without line numbers that the old text, found as it is, does not have.

    They must begin with the line of the file on which old is found, and new must share a line with
    old.
    """
    lines, given = variant.new.split("\n"), variant.old.split("\n")
    column = _column_of(lines, Text(variant.old))
    if column is None or any(map(_NUMBER.match, given)):
        return
    split = [column.split(line) for line in lines]
    stripped = [rest for _, rest in split]
    shared = any(line.strip() and line in given for line in stripped)
    # Who numbers every line and changes nothing else wants the numbers.
    if split[0][0] == first_line and shared and stripped != given:
        yield variant.then(variant.old, "\n".join(stripped), "line numbers stripped")


def _meaning(sequence: str) -> str:
    """What a backslash sequence or an HTML entity stands for; itself if that is nothing."""
    if sequence[0] == "\\":
        import json

        # JSON lacks two of the quotes.
        return sequence[1] if sequence[1] in "'`" else str(json.loads(f'"{sequence}"'))
    from html import unescape
    from html.entities import html5

    return unescape(sequence) if sequence[1] == "#" or sequence[1:] in html5 else sequence


def _decoded(variant: Variant, sequences: re.Pattern[str], note: str) -> Variant:
    old, new = (sequences.sub(lambda found: _meaning(found[0]), text) for text in variant[:2])
    return variant.then(old, new, note)


def sequences_in(text: str) -> Counter[str]:
    """What in a text may be an escape sequence, and how often."""
    if "\\" not in text and "&" not in text:
        return Counter()
    entities_in = [found for found in _ENTITIES.findall(text) if _meaning(found) != found]
    return Counter(_ESCAPES.findall(text) + entities_in)


def escapes(variant: Variant, _text: Text) -> Iterator[Variant]:
    r"""Quotes escaped as ``\"``; or one level of the escapes of JSON and C, ``\n`` and ``\\`` too.

    The old text must show how the new one is escaped; what only new has could be meant either way.
    """
    known, after = (_WHITESPACE_OR_BACKSLASH.findall(_QUOTES.sub("", t)) for t in variant[:2])
    fresh = {*after}.difference(known)
    in_lines = "\n" in variant.old.strip("\n")
    new_in_lines = "\n" in variant.new.strip("\n")
    # A line feed that is escaped beside real ones is part of the code.
    if "\\\\" not in fresh and (not fresh or in_lines or new_in_lines):
        yield _decoded(variant, _QUOTES, "unescaped")
    if in_lines:
        one_sided = bool(fresh) or _tabs_inside(variant)
    elif new_in_lines:
        one_sided = bool(_ESCAPES.search(variant.new))
    else:
        one_sided = bool(fresh and not known)
    # A literal with an escaped line feed, such as "text\n", is code.
    if not one_sided and {*_LITERAL.findall(variant.new)} <= {*_LITERAL.findall(variant.old)}:
        yield _decoded(variant, _ESCAPES, "unescaped")


def _tabs_inside(variant: Variant) -> bool:
    """Whether lines of new alone have an escaped tab that is no indentation."""
    fresh = set(variant.new.split("\n")).difference(variant.old.split("\n"))
    return any("\\t" in _ESCAPED_INDENT.sub("", line) for line in fresh)


def entities(variant: Variant, _text: Text) -> Iterator[Variant]:
    """HTML entities are the characters that they stand for."""
    yield _decoded(variant, _ENTITIES, "entities decoded")


READERS: dict[str, Callable[[Variant, Text], Iterator[Variant]]] = {
    "fences": fences,
    "numbers": numbers,
    "escapes": escapes,
    "entities": entities,
    "marks": marks,
    "wrapped": wrapped,
}
