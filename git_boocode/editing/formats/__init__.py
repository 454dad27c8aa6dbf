"""The input formats, and the common types of their parsers.

A parser takes an item of its format – a parsed JSON value, or the complete text of an input that is
not JSON – with its context, and yields edits, or failures in their place. It raises MissError
(`invalid_input`) if the whole item is invalid.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import dropwhile, islice
from typing import NamedTuple

from git_boocode.editing.edits import Edit, Failure

FORMATS = {
    "string": ("objects.string", "no 'old_string' and no 'command'"),
    "multi": ("objects.multi", "no 'edits'"),
    "write": ("objects.write", "no 'content'"),
    "region": ("objects.region", "no 'changes' and no 'start'"),
    "lines": ("lines.edits", "no 'changes' with line numbers, and no operation below '[a#12345]'"),
    "unified": ("unified.edits", "no line like '@@ -1,2 +1,3 @@', 'diff --git' or '--- a/name'"),
    "search-replace": ("search_replace.edits", "no line '<<<<<<< SEARCH', in capitals"),
    "apply-patch": ("apply_patch.edits", "no line '*** Begin Patch'"),
}
"""The parser of each format, and what an item of another format lacks."""

MAX_TEXT = 8 * 1024 * 1024  # Characters of a diff, a patch or blocks in one text.
MAX_CHANGES = 10_000  # Hunks or changes of one file in one edit.
_MOST_HEADERS = 200  # Lines like a header of hashline that are tried.
_MARKER = re.compile(
    r"(?m)^(?:(?P<apply>(?:[ \t]*|.*\bapply_patch\s+['\"])\*\*\* (?:Begin Patch|"
    r"(?:Add|Update|Delete) File: ))|[ \t]*(?:(?P<search><{5,} ?(?:SEARCH|ORIGINAL)\b"
    r"|-{5,} ?SEARCH>?[ \t\r]*$)|diff --(?:git|cc|combined) |--- [^\n]*\n[ \t]*\+\+\+ |@@+ "
    r"|@@\r?$|rename from |(?P<lines>\[[^\n]+\][ \t]*\r?$|¶)))"
)
_BARE = re.compile(r"(?mi)^[ \t]*(?:PUT|SWAP|REPLACE|CUT|DEL|DELETE|INS|INSERT)\b[^\n]{1,60}$")
"""What may be an operation of hashline without a header."""


class Context(NamedTuple):
    """The parser of an inner item of any format; the path and blob id of the enclosing object."""

    read: Callable[[object, Context], Iterator[Edit | Failure]]
    path: str | None = None
    base: str | None = None


def agree(path: str, name: str) -> bool:
    """Whether a path and the name in a patch may denote the same file from two directories."""
    one, other = (os.path.normpath(text) for text in (path, name))
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def text_format(text: str) -> str | None:
    """The format of the first marker line in a text; later ones may be content."""
    names = {"apply": "apply-patch", "search": "search-replace"}
    for at, found in enumerate(_MARKER.finditer(text)):
        group = found.lastgroup or ""
        is_envelope = group == "apply" and found[0].endswith("Begin Patch")
        is_tried = is_envelope or (group == "lines" and at < _MOST_HEADERS)
        if is_tried and _has_operations(text, found.start(), is_envelope):
            return "lines"
        if group != "lines":
            return names.get(group, "unified")
    rows = [found[0].rstrip("\r") for found in islice(_BARE.finditer(text), _MOST_HEADERS)]
    return "lines" if rows and _has_hashline(rows) else None


def _has_hashline(rows: list[str]) -> bool:
    from git_boocode.editing.formats.hashline_grammar import is_operation

    return any(map(is_operation, rows))


def _has_operations(text: str, at: int, is_envelope: bool) -> bool:
    """Whether a section of hashline begins at an offset, or below the line there."""
    from git_boocode.editing.formats.hashline_grammar import begins

    lines = _lines_from(text, at)
    if is_envelope:
        next(lines)
        lines = dropwhile(lambda line: not line.strip(), lines)
    return begins(lines)


def _lines_from(text: str, at: int) -> Iterator[str]:
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        yield text[at:end]
        at = end
