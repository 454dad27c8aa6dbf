"""The input formats, and the common types of their parsers.

A parser takes an item of its format – a parsed JSON value, or the complete text of an input that is
not JSON – with its context, and yields edits, or failures in their place. It raises MissError
(`invalid_input`) if the whole item is invalid.
"""

from __future__ import annotations

import os
from typing import NamedTuple

FORMATS = {
    "string": ("objects.string", "no 'old_string' and no 'command'"),
    "multi": ("objects.multi", "no 'edits'"),
    "write": ("objects.write", "no 'content'"),
    "region": ("objects.region", "no 'changes' and no 'start'"),
    "unified": ("unified.edits", "no line like '@@ -1,2 +1,3 @@', 'diff --git' or '--- a/name'"),
    "search-replace": ("search_replace.edits", "no line '<<<<<<< SEARCH', in capitals"),
    "apply-patch": ("apply_patch.edits", "no line '*** Begin Patch'"),
}
"""The parser of each format, and what an item of another format lacks."""

MAX_TEXT = 8 * 1024 * 1024  # Characters of a diff, a patch or blocks in one text.
MAX_CHANGES = 10_000  # Hunks or changes of one file in one edit.


class Context(NamedTuple):
    """The path and the blob id of the enclosing object."""

    path: str | None = None
    base: str | None = None


def agree(path: str, name: str) -> bool:
    """Whether a path and the name in a patch may denote the same file from two directories."""
    one, other = (os.path.normpath(text) for text in (path, name))
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
