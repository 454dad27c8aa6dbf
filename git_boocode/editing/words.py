"""Words that messages of several actions have in common."""

from __future__ import annotations

from collections.abc import Sequence


def short(text: str, most: int) -> str:
    """A text, cut to so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(names: Sequence[object], most: int) -> str:
    """The first few of some names, and how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def lines_of(first: int, last: int) -> str:
    """A range of lines, both ends inclusive."""
    return f"line {first}" if first == last else f"lines {first}-{last}"
