r"""Variants of a model's old and new text: transformations of both that are taken back.

A reader looks for its signature in the old text (every line numbered, ``\"`` for ``"``, a code
fence around it) and yields the pair as it was before. Whether a variant is right, the file decides:
it is tried only when the text as given is not found, and counts only where its old text is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.matching.spacing import wrapped
from git_boocode.matching.text import Text

MOST = 12  # at most this many variants of one pair are tried

_FENCES = ("```", "~~~", "````")
_NUMBER = re.compile(r"(?:[ \t]*(?:L(?:ine )?)?(\d{1,7})[ ]*|[ ]+(?!:))(\t|→|│|\||:)")
"""A line number and what separates it from the line. A line that comes in may lack the number."""

_QUOTES = re.compile(r"\\[\"'`]")
_ESCAPES = re.compile(
    r"\\(?:[nrt\"'`\\/]|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4})"
)
_WHITESPACE_OR_BACKSLASH = re.compile(r"\\[nrt\\]")
_ENTITIES = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});")


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
        return self._replace(old=old, new=new, notes=(*self.notes, note))


def variants(own: Variant, text: Text, names: Sequence[str]) -> Iterator[Variant]:
    """The variants of a pair, its own left out; each reader continues the ones before it.

    ``names`` are keys of ``READERS``, in the order in which the transformations are taken back.
    """
    found = [own]
    for name in names:
        for variant in tuple(found):
            for fresh in READERS[name](variant, text):
                known = any(fresh[:2] == other[:2] for other in found)
                if fresh.old != variant.old and not known and len(found) <= MOST:
                    found.append(fresh)
                    yield fresh


def fences(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Text between the fences of a code block; the new text may lack them."""
    old, new = _unfenced(variant.old), _unfenced(variant.new)
    if old != variant.old:
        yield variant.then(old, new, "code fence stripped")


def _unfenced(text: str) -> str:
    """What is between the fences of a text; all of it if there are none."""
    first, *lines = text.strip("\n").split("\n")
    fence = lines.pop().strip() if lines else ""
    is_fenced = fence in _FENCES and first.strip().startswith(fence)
    return "".join(f"{line}\n" for line in lines) if is_fenced else text


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


def _column_of(lines: Sequence[str]) -> tuple[str, str] | None:
    """What separates the numbers from these lines, and the space after it; None without numbers.

    Every line with text has a number. The numbers are separated alike, and rise with the lines.
    """
    filled = [line for line in lines if line.strip()]
    found = [match for match in map(_NUMBER.match, filled) if match and match[1]]
    steps = [int(below[1]) - int(above[1]) for above, below in pairwise(found)]
    # A line may be missing among them.
    rise = all(step > 0 for step in steps) and 2 * sum(step < 3 for step in steps) >= len(steps)
    # A model may copy the first line from behind its number.
    late = len(filled) > 2 and bool(found) and filled[0] != found[0].string
    separators = {match[2] for match in found}
    if len(found) + late < len(filled) or len(separators) != 1 or not rise:
        return None
    separator = separators.pop()
    spaced = all(match.string[match.end() :][:1] in ("", " ") for match in found)
    return separator, " " if spaced and separator in "|:" else ""


def _split(line: str, column: tuple[str, str]) -> tuple[int | None, str]:
    """The number of a line, None if it has none in this column, and the line without it."""
    found, (separator, padding) = _NUMBER.match(line), column
    if found is None or found[2] != separator:
        return None, line
    return int(found[1]) if found[1] else None, line[found.end() :].removeprefix(padding)


def numbers(variant: Variant, _text: Text) -> Iterator[Variant]:
    """The pair without line numbers; the new text may lack some or all, or have other ones."""
    lines = variant.old.split("\n")
    column = _column_of(lines)
    if column is None:
        return
    split = [_split(line, column) for line in lines]
    first_line = next(number - at for at, (number, _) in enumerate(split) if number is not None)
    old = [rest for _, rest in split]
    new = _without_numbers(variant.new.split("\n"), old, column, first_line)
    if new is not None:
        done = variant.then("\n".join(old), "\n".join(new), "line numbers stripped")
        yield done._replace(first_line=first_line)


def _without_numbers(
    new: Sequence[str], old: Sequence[str], column: tuple[str, str], first_line: int
) -> Sequence[str] | None:
    """The lines of new without the numbers of a column; None where a number may be content.

    ``old`` are the lines of old, without the column. Numbers that fall do not count lines; where
    the model took the column away from some lines that stay, the others must be right.
    """
    if not any(line.startswith("+") for line in old):
        # Among numbered lines an added one may have the mark of a diff instead.
        new = [line.removeprefix("+") for line in new]
    split = [_split(line, column) for line in new]
    found = [(number, at) for at, (number, _) in enumerate(split) if number is not None]
    known = {line.strip() for line in old if line.strip()}
    bare = [at for at, line in enumerate(new) if line.strip() in known]
    if any(split[at][0] is not None for at in bare):
        return new
    if bare:
        believed = all(number == first_line + at for number, at in found)
    else:
        believed = all(above[0] <= below[0] for above, below in pairwise(found))
    return [rest for _, rest in split] if believed else None


def strays(variant: Variant, first_line: int) -> Iterator[Variant]:
    """The new text without line numbers that the old text, found as it is, does not have.

    They must begin with the line on which old is found, and new must share a line with old.
    """
    lines, given = variant.new.split("\n"), variant.old.split("\n")
    column = _column_of(lines)
    if column is None:
        return
    split = [_split(line, column) for line in lines]
    stripped = [rest for _, rest in split]
    shared = any(line.strip() and line in given for line in stripped)
    # Who numbers every line and changes nothing else wants the numbers.
    if split[0][0] == first_line and shared and stripped != given:
        yield variant.then(variant.old, "\n".join(stripped), "line numbers stripped")


def _meaning(sequence: str) -> str:
    """What a backslash sequence or an HTML entity stands for; itself if that is nothing."""
    if sequence[0] == "&":
        from html import unescape

        return unescape(sequence)
    import json

    # JSON lacks two of the quotes.
    return sequence[1] if sequence[1] in "'`" else str(json.loads(f'"{sequence}"'))


def _decoded(variant: Variant, sequences: re.Pattern[str], note: str) -> Variant:
    old, new = (sequences.sub(lambda found: _meaning(found[0]), text) for text in variant[:2])
    return variant.then(old, new, note)


def sequences_in(text: str) -> Counter[str]:
    """What in a text may be an escape sequence, and how often."""
    entities_in = [found for found in _ENTITIES.findall(text) if _meaning(found) != found]
    return Counter(_ESCAPES.findall(text) + entities_in)


def escapes(variant: Variant, _text: Text) -> Iterator[Variant]:
    r"""Quotes escaped as ``\"``; or one level of the escapes of JSON and C, ``\n`` and ``\\`` too.

    The old text must show how the new one is escaped; what only new has could be meant either way.
    """
    known, after = (_WHITESPACE_OR_BACKSLASH.findall(_QUOTES.sub("", t)) for t in variant[:2])
    fresh = {*after}.difference(known)
    in_lines, new_in_lines = ("\n" in given.strip("\n") for given in variant[:2])
    # A line feed that is escaped beside real ones is part of the code.
    if "\\\\" not in fresh and (in_lines or not fresh):
        yield _decoded(variant, _QUOTES, "unescaped")
    decoded = _decoded(variant, _ESCAPES, "unescaped")
    lines = {*decoded.new.split("\n")}.difference(decoded.old.split("\n"))
    # Line feeds and tabs in literals are code; a line with half of a literal shows the former.
    is_code = any("\t" in line.strip() or line.replace('"""', "").count('"') % 2 for line in lines)
    undecided = _ESCAPES.search(variant.new) if new_in_lines > in_lines else fresh
    if not (is_code or undecided):
        yield decoded


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
