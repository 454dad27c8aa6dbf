"""The input formats, and what their parsers share.

A parser takes an item of its format – a parsed JSON value, or the whole text of an input that is
not JSON – and what encloses it, and yields edits, or failures in their place. It raises MissError
(`invalid_input`) if the item as a whole is wrong.
"""

from __future__ import annotations

from typing import NamedTuple

FORMATS = {
    "string": "objects.string",
    "multi": "objects.multi",
    "write": "objects.write",
    "region": "objects.region",
    "unified": "unified.edits",
    "search-replace": "search_replace.edits",
    "apply-patch": "apply_patch.edits",
}
"""The formats and their parsers."""

MAX_TEXT = 8 * 1024 * 1024
"""Characters of a diff, a patch or blocks in one text."""


class Context(NamedTuple):
    """What encloses an item: its path and blob id, and the number of arrays around it."""

    path: str | None = None
    base: str | None = None
    depth: int = 0
