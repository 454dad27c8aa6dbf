"""Detect the format of a text by its first opening line."""

from __future__ import annotations

import re

_MARKS = {
    "apply-patch": re.compile(
        r"^(?:[ \t]*|.*\bapply_patch\s+['\"])\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )",
        re.M,
    ),
    "search-replace": re.compile(
        r"^[ \t]*(?:<{5,} ?(?:SEARCH|ORIGINAL)\b|-{5,} ?SEARCH>?[ \t\r]*$)", re.M
    ),
    "unified": re.compile(
        r"^[ \t]*(?:diff --(?:git|cc|combined) |--- [^\n]*\n[ \t]*\+\+\+ |@@+ |@@\r?$"
        r"|rename from )",
        re.M,
    ),
}


def text_format(text: str) -> str | None:
    """The format whose opening line comes first in a text, or None.

    Inside one format there may be lines of another, as in a patch of a test of patches; so the
    first one counts.
    """
    found = {name: mark.search(text) for name, mark in _MARKS.items()}
    starts = {name: match.start() for name, match in found.items() if match}
    return min(starts, key=starts.__getitem__) if starts else None
