"""Find the edits that a parser would ignore, because they are of another format than its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from git_boocode.editing.edits import Edit, MissError
from git_boocode.editing.formats import Context, objects, text_format

_MAX_VALUES = 500  # Values of JSON that are tried.
_VALUE = re.compile(r"(?m)^[ \t]*(?=[{\[])")
_OLD_TEXT = re.compile(rf'"(?:{"|".join(objects.OLD[:-3])})"\s*:')
"""The keys of an old text, without those that other JSON has as well."""
_SEPARATELY = "send edits of different formats as separate inputs, or in one JSON array"


def stray_edit(ignored: Sequence[str], own: str, context: Context) -> MissError | None:
    """The error for an edit of another format in the lines that a parser ignores."""
    where = _language(ignored, own, context)
    return (
        objects.invalid(f"the text also contains an edit in {where}", _SEPARATELY)
        if where
        else None
    )


def stray_between(lines: Sequence[str], first: int, context: Context) -> MissError | None:
    """The error for any edit in lines between those of a parser; `first` is a 0-based row."""
    if where := _language(lines, None, context):
        rows = f"lines {first + 1} to {first + len(lines)}"
        return objects.invalid(f"{rows} contain an edit in {where}", _SEPARATELY)
    return None


def _language(lines: Sequence[str], own: str | None, context: Context) -> str:
    """The format of an edit in some lines, in words; empty if there is none."""
    text = "\n".join(lines)
    other = text_format(text)
    if other not in (None, own):
        return f"the format {other}"
    return "JSON" if has_json_edit(text, context) else ""


def has_json_edit(text: str, context: Context) -> bool:
    """Whether a line begins JSON that is an edit by itself, or is broken and names old text."""
    tried = end = 0
    for found in _VALUE.finditer(text):
        at = found.end()
        if at < end:
            continue
        tried += 1
        if tried > _MAX_VALUES:
            break
        try:
            value, end = objects.json_at(text, at)
        except (MissError, ValueError, RecursionError):
            stop = text.find("\n```", at)
        else:
            stop = end
            if any(isinstance(each, Edit) for each in context.read(value, Context(context.read))):
                return True
        if _OLD_TEXT.search(text, at, stop if stop >= 0 else len(text)):
            return True
    return False
