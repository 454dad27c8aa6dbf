"""Characters that a model wrote as escape sequences, in old and new alike.

Uniform readings decode every sequence. Where the file itself holds some of them, ``mixed`` asks the
file about each one in turn: the place where the old text stands, every sequence taken for itself
or for what it means, says which it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import Any, NamedTuple

from git_boocode.matching.align import script
from git_boocode.matching.rewrites import Reading
from git_boocode.matching.text import Text

_QUOTES = re.compile(r"\\[\"'`]")
_ESCAPES = re.compile(
    r"\\(?:[nrt\"'`\\/]|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4})"
)
_CARELESS = re.compile(r"\\[nrt\"']")
_ENTITIES = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});")
_BLANKS = re.compile(r"[ \t]{0,200}")
_BLANK_OR_BACKSLASH = re.compile(r"\\[nrt\\]")
_ESCAPED_INDENT = re.compile(r"^(?:\\t|\s)+")
_LITERAL = re.compile(
    r"""(?<!")"(?:[^"\\\n]|\\[^"n\\])*\\n(?:[^"\\\n]|\\[^"n\\])*"(?!")(?=[\s,;:)\]}.+%]|$)"""
)
_MEANING = {"n": "\n", "r": "\r", "t": "\t"}

UNESCAPED, DECODED = "unescaped", "entities decoded"

MIXED_LENGTH = 40_000
"""Longer old texts (characters) are not asked sequence by sequence."""
MIXED_SEQUENCES = 1_000
"""Nor are texts with more sequences than this."""
MIXED_WORK = 100_000
"""So many comparisons of a part of the old text with the file are made."""
_COMPARED = 100
"""A part of so many characters more is one comparison more."""

_Way = tuple[bool, Any] | None
"""The last choice of a way to read a text, and those before."""


def _plain(sequence: str) -> str:
    """What a backslash sequence stands for."""
    kind = sequence[1]
    if kind == "u":
        units = [int(part, 16) for part in sequence.split("\\u")[1:]]
        if len(units) == 2:
            return chr(0x10000 + ((units[0] - 0xD800) << 10) + units[1] - 0xDC00)
        return chr(units[0])
    return _MEANING.get(kind, kind)


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


def quotes(reading: Reading, _text: Text) -> Iterator[Reading]:
    r"""``\"`` and ``\'`` are quotes; every other backslash is one.

    A new text with other sequences than the old could have been meant either way, and is not read;
    only a line feed next to real ones is known to be none.
    """
    if not _QUOTES.search(reading.old):
        return
    fresh = _fresh(reading)
    real_feeds = any(map(_inner_newlines, (reading.old, reading.new)))
    if "\\\\" in fresh or (fresh and not real_feeds):
        return
    yield reading.then(
        _decoded(_QUOTES, reading.old, lambda sequence: sequence[1]),
        _decoded(_QUOTES, reading.new, lambda sequence: sequence[1]),
        UNESCAPED,
    )


def escapes(reading: Reading, _text: Text) -> Iterator[Reading]:
    r"""One level of the escapes of JSON and C: ``\n``, ``\t``, ``\"``, ``\\`` and their kin.

    The old text must show that the new one's line feeds, tabs and backslashes are escaped so. Who
    escapes them carelessly leaves backslashes alone, which is the second reading.
    """
    if not _ESCAPES.search(reading.old) or _one_sided(reading) or _strings_broken(reading):
        return
    for sequences in (_ESCAPES, _CARELESS):
        old = _decoded(sequences, reading.old, _plain)
        yield reading.then(old, _decoded(sequences, reading.new, _plain), UNESCAPED)


def _fresh(reading: Reading) -> set[str]:
    """The blanks and backslashes that are escaped in new only."""
    known = set(_BLANK_OR_BACKSLASH.findall(_QUOTES.sub("", reading.old)))
    return set(_BLANK_OR_BACKSLASH.findall(_QUOTES.sub("", reading.new))) - known


def _one_sided(reading: Reading) -> bool:
    """Whether the old text does not show how the new one is escaped."""
    shown = bool(_BLANK_OR_BACKSLASH.search(_QUOTES.sub("", reading.old)))
    if _inner_newlines(reading.old):
        return bool(_fresh(reading)) or _tabs_inside(reading)
    if _inner_newlines(reading.new):
        return bool(_ESCAPES.search(reading.new))
    return bool(_fresh(reading)) and not shown


def _tabs_inside(reading: Reading) -> bool:
    """Whether lines of new alone have an escaped tab that is no indentation."""
    known = set(reading.old.split("\n"))
    fresh = [line for line in reading.new.split("\n") if line not in known]
    return any("\\t" in _ESCAPED_INDENT.sub("", line) for line in fresh)


def _strings_broken(reading: Reading) -> bool:
    r"""Whether reading would break string literals of new that old does not have.

    ``"text\n"`` in a text whose line feeds are written the same is a literal most likely.
    """
    known = set(_LITERAL.findall(reading.old))
    return any(found not in known for found in _LITERAL.findall(reading.new))


def _inner_newlines(text: str) -> bool:
    return "\n" in text.strip("\n")


def entities(reading: Reading, _text: Text) -> Iterator[Reading]:
    """HTML entities are the characters that they stand for."""
    old = _decoded(_ENTITIES, reading.old, _character)
    if old != reading.old:
        yield reading.then(old, _decoded(_ENTITIES, reading.new, _character), DECODED)


def _decoded(sequences: re.Pattern[str], text: str, meaning: Callable[[str], str]) -> str:
    return sequences.sub(lambda found: meaning(found[0]), text)


def mixed(reading: Reading, text: Text) -> Iterator[Reading]:
    """Some sequences of the old text are in the file as they are, others as what they stand for."""
    if len(reading.old) > MIXED_LENGTH:
        return
    for style in _STYLES:
        if 2 <= len(style.sequences.findall(reading.old)) <= MIXED_SEQUENCES:
            yield from _asked(reading, text, style)


class _Style(NamedTuple):
    """One way of escaping: its sequences, texts split at them, what they mean, and its note."""

    sequences: re.Pattern[str]
    tokens: re.Pattern[str]
    meaning: Callable[[str], str]
    note: str

    def split(self, text: str) -> list[str]:
        """The text as sequences, words, blanks and single characters."""
        return self.tokens.findall(text)

    def is_sequence(self, token: str) -> bool:
        """Whether a token is a sequence that stands for something else."""
        return bool(self.sequences.fullmatch(token)) and self.meaning(token) != token

    def parts(self, tokens: Sequence[str]) -> list[_Part]:
        """The tokens with what they stand for, those that stand for themselves joined."""
        found: list[_Part] = []
        for token in tokens:
            if self.is_sequence(token):
                found.append(_Part(token, self.meaning(token)))
            elif found and found[-1].meaning is None and "\n" not in (token, found[-1].text):
                found[-1] = _Part(found[-1].text + token)
            else:
                found.append(_Part(token))
        return found


_STYLES = tuple(
    _Style(one, re.compile(rf"{one.pattern}|\w+|[^\S\n]+|.", re.DOTALL), meaning, note)
    for one, meaning, note in (
        (_QUOTES, _plain, UNESCAPED),
        (_ESCAPES, _plain, UNESCAPED),
        (_CARELESS, _plain, UNESCAPED),
        (_ENTITIES, _character, DECODED),
    )
)


class _Part(NamedTuple):
    """A part of a text and, if it is a sequence, what it stands for."""

    text: str
    meaning: str | None = None


def _meant(parts: Sequence[_Part], text: str) -> list[bool] | None:
    """For each sequence whether it is what it stands for, where a text has all of the parts.

    Blanks at line ends do not count. None if the text has them nowhere, or takes too much work.
    """
    words = filter(None, (parts[0].text, parts[0].meaning))
    left = MIXED_WORK
    tried: set[tuple[int, int]] = set()
    for start in merge(*(_occurrences(text, word) for word in words)):
        # A way to read some parts is the last choice, and the way that led there.
        todo: list[tuple[int, int, _Way]] = [(0, start, None)]
        while todo:
            index, at, way = todo.pop()
            if index == len(parts):
                return _choices(way)
            word, meaning = parts[index]
            left -= 1 + len(word) // _COMPARED
            if left < 0:
                return None
            if (index, at) in tried:
                continue
            tried.add((index, at))
            # The last one is tried first: the sequence as it is, with all blanks that are there.
            if meaning is not None:
                todo += [(index + 1, end, (True, way)) for end in _ends(text, at, meaning)]
                way = (False, way)
            ends = [(index + 1, end, way) for end in _ends(text, at, word)]
            left -= len(ends)
            todo += ends
    return None


def _choices(way: _Way) -> list[bool]:
    found = []
    while way is not None:
        meant, way = way
        found.append(meant)
    return found[::-1]


def _occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _ends(text: str, at: int, word: str) -> Sequence[int]:
    """Where a word at an offset may end; whitespace around a line feed is optional."""
    if word != "\n":
        return [at + len(word)] if text.startswith(word, at) else []
    at = _past_blanks(text, at)
    if text[at : at + 1] != "\n":
        return []
    return range(at + 1, _past_blanks(text, at + 1) + 1)


def _past_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _asked(reading: Reading, text: Text, style: _Style) -> Iterator[Reading]:
    core = "\n".join(line.strip(" \t") for line in reading.old.strip().split("\n"))
    found = _meant(style.parts(style.split(core)), text.lf)
    if found is None or not 0 < sum(found) < len(found):
        return  # uniform, and so left to the other readers
    old = style.split(reading.old)
    meant = iter(found)
    decode = [style.is_sequence(token) and next(meant) for token in old]
    new = _carried(old, decode, style.split(reading.new), style)
    if new is not None:
        yield reading.then(_written(old, decode, style), _written(*new, style), style.note)


def _carried(
    old: Sequence[str], decode: Sequence[bool], new: Sequence[str], style: _Style
) -> tuple[Sequence[str], Sequence[bool]] | None:
    """Which sequences of the new text to decode; None if the old text does not tell for one."""
    told: dict[str, set[bool]] = defaultdict(set)
    for token, after, decided in zip(old, [*old[1:], ""], decode, strict=True):
        if style.is_sequence(token):
            told[token].add(decided)
            told[token + after].add(decided)
    shared = {
        hunk.j1 + step: decode[hunk.i1 + step]
        for hunk in script(old, new)
        if hunk.same
        for step in range(hunk.i2 - hunk.i1)
    }
    carried: list[bool] = []
    for at, token in enumerate(new):
        known = {shared[at]} if at in shared else told.get(token, set())
        if len(known) > 1:
            # What follows may tell: a line feed, or the beginning of a command like `\note`.
            known = told.get(token + "".join(new[at + 1 : at + 2]), set())
        if not style.is_sequence(token):
            known = {False}
        if len(known) != 1:
            return None
        carried += known
    return new, carried


def _written(tokens: Sequence[str], decode: Sequence[bool], style: _Style) -> str:
    return "".join(
        style.meaning(token) if decided else token
        for token, decided in zip(tokens, decode, strict=True)
    )
