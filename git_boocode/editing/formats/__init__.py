"""The input formats, and what their parsers share.

A parser takes an item of its format – a parsed JSON value, or the whole text of an input that is
not JSON – and what encloses it, and yields edits, or failures in their place. It raises MissError
(`invalid_input`) if the item as a whole is wrong.
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
"""The parser of each format, and what an item lacks that is not of the format."""

MAX_TEXT = 8 * 1024 * 1024  # Characters of a diff, a patch or blocks in one text.
MAX_CHANGES = 10_000  # Hunks or changes of one file in one edit.


class Context(NamedTuple):
    """The path and the blob id of what encloses an item."""

    path: str | None = None
    base: str | None = None


def agree(path: str, name: str) -> bool:
    """Whether a path and the name in a patch can be those of one file, seen from two places."""
    one, other = (os.path.normpath(text) for text in (path, name))
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
