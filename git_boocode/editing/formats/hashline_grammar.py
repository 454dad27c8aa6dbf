"""The lines of a hashline text: headers and operations. This module imports none of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from enum import Enum
from itertools import islice
from typing import NamedTuple


class Kind(Enum):
    """What an operation does, and where."""

    REPLACE, DELETE, BEFORE, AFTER, TOP, END = range(6)


_WORDS = {
    **dict.fromkeys(("put", "swap", "replace"), Kind.REPLACE),
    **dict.fromkeys(("cut", "del", "delete"), Kind.DELETE),
    **dict.fromkeys(("put <", "ins pre", "insert before"), Kind.BEFORE),
    **dict.fromkeys(("put >", "ins post", "insert after"), Kind.AFTER),
    **dict.fromkeys(("ins head", "insert head"), Kind.TOP),
    **dict.fromkeys(("ins tail", "insert tail"), Kind.END),
}
"""The words of the operations, in lower case, with a space between them."""
_UNSUPPORTED = {"blk": "blocks", "block": "blocks", "paste": "registers", "copy": "registers"}

HEADER = re.compile(r"([ \t]*)(?:\[(.+)\]|¶(.*\S))[ \t]*")
"""A path and a version, in brackets or, until June 2026, behind a pilcrow."""
SHOWN = re.compile(r"[ \t]*(?:(?:\d+|…)[|:].*)?")
"""A blank line, or a line of a file as `git boocode read` prints it."""
MOVE = re.compile(r"(?:MV|mv)(?:[ \t]+([^ \t].*))?")
REMOVE = "REM"
_OPERATION = re.compile(
    r"(?P<words>[A-Za-z]+(?:[._ \t]+[A-Za-z]+){0,3})(?:[ \t]*(?P<gap>[<>]))?[ \t]*"
    r"(?P<place>[-+]?[\d$][-\d$ \t.=…–,*]*)?(?::[ \t]*)?(?:(?P<register>@\S*)[ \t]*:?)?"
)
_MOST_SHOWN = 2_500  # Maximum number of lines of a file between a header and an operation.
_WIDTH = 200  # Maximum number of characters of an operation on lines.


class OperationLine(NamedTuple):
    """A line with the form of an operation on lines: its words, as in the table, and its place."""

    words: str
    place: str
    has_register: bool

    @property
    def kind(self) -> Kind | None:
        """What it does, None if the words are unknown."""
        return _WORDS.get(self.words)

    @property
    def unsupported(self) -> str | None:
        """What it uses that is not supported: `blocks`, `registers` or nothing."""
        words = self.words.split()
        known = [_UNSUPPORTED[word] for word in words if word in _UNSUPPORTED]
        known += ["blocks"] if "*" in self.place else []
        known += ["registers"] if self.has_register and words[0] in ("put", "cut") else []
        is_certain = self.place or words[-1] in ("head", "tail")
        return known[0] if known and is_certain else None

    @property
    def nearest(self) -> str | None:
        """The known words that are similar to those of an operation with a place."""
        near = get_close_matches(self.words, _WORDS, 1, 0.7) if self.place else []
        return next(iter(near), None)


def operation_line(line: str) -> OperationLine | None:
    """Split a line; None if it does not have the form of an operation on lines."""
    found = _OPERATION.fullmatch(line) if len(line) <= _WIDTH else None
    if found is None:
        return None
    words = [word for word in re.split(r"[ \t._]+", found["words"].lower()) if word]
    words += [found["gap"]] if found["gap"] else []
    return OperationLine(" ".join(words), (found["place"] or "").strip(), bool(found["register"]))


def is_operation(line: str) -> bool:
    """Whether a line is an operation, or one with a misspelt word."""
    line = line.strip()
    if not line:
        return False
    if line == REMOVE or MOVE.fullmatch(line):
        return True
    found = operation_line(line)
    if found is None:
        return False
    if found.unsupported or found.kind in (Kind.TOP, Kind.END):
        return True
    return bool(found.place and (found.kind or found.nearest))


def begins(lines: Iterable[str]) -> bool:
    """Whether lines begin with a header that has an operation below it, perhaps in a fence."""
    rest = (line.rstrip("\r\n") for line in islice(lines, _MOST_SHOWN))
    if not HEADER.fullmatch(next(rest, "")):
        return False
    below = (
        line
        for line in rest
        if not (SHOWN.fullmatch(line) or line.lstrip().startswith(("```", "~~~")))
    )
    return is_operation(next(below, ""))
