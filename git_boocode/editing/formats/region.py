"""`region`: parts of a file between short anchors, each with the lines that replace it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import Context, fields

if TYPE_CHECKING:
    from git_boocode.editing.regions import Change

MAX_WRONG = 10
"""Malformed changes that a message lists."""
MAX_CHANGES = 10_000
"""Changes of one file in one edit."""
MAX_LINES = 4
"""Lines of an anchor; with more of them, more can be wrong."""


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edit of an object with `changes`, or with `start` and `content`."""
    assert isinstance(item, dict)
    from git_boocode.editing.regions import Regions

    fields.check_switches(item)
    changes = _changes(item)
    path = fields.text(item, fields.PATH, context.path)
    base = fields.base(item) or context.base
    yield Edit(0, path, Regions(changes), base, "region", item)


def _changes(item: fields.Object) -> tuple[Change, ...]:
    """The changes; everything wrong with them is reported at once."""
    given = fields.array(item.get("changes"))
    if given is None:
        return (_change(item, ""),)
    if isinstance(given, str):
        raise MissError(
            "invalid_input",
            "'changes' is a string; expected an array of {start, end, content}",
            hint="a text that leaves code out cannot be merged; name what it replaces",
        )
    if not isinstance(given, list):
        raise MissError("invalid_input", f"'changes' is {fields.kind_of(given)}; expected an array")
    if not given:
        raise MissError("invalid_input", "the array of changes is empty")
    if len(given) > MAX_CHANGES:
        raise MissError(
            "invalid_input",
            f"there are {len(given)} changes; at most {MAX_CHANGES} of one file are read",
        )
    read = [_read(change, f"changes[{index}]") for index, change in enumerate(given)]
    wrong = [found for found in read if isinstance(found, str)]
    if wrong:
        more = [f"and {len(wrong) - MAX_WRONG} more"] if len(wrong) > MAX_WRONG else []
        raise MissError("invalid_input", "; ".join([*wrong[:MAX_WRONG], *more]))
    return tuple(found for found in read if not isinstance(found, str))


def _read(change: object, where: str) -> Change | str:
    """A change, or what is wrong with it."""
    try:
        return _change(change, where)
    except MissError as miss:
        return miss.message


def _change(change: object, where: str) -> Change:
    from git_boocode.editing.regions import Change

    if not isinstance(change, dict):
        raise MissError(
            "invalid_input", f"'{where}' is {fields.kind_of(change)}; expected an object"
        )
    inside = f"{where}." if where else ""
    start = _anchor(change, "start", inside)
    if start is None:
        raise MissError("invalid_input", f"'{inside}start' is missing; expected 1 to 4 lines")
    end = _anchor(change, "end", inside)
    content = fields.lines(change, "content", f"{inside}content")
    if content is None:
        raise MissError(
            "invalid_input",
            f"'{inside}content' is missing; expected the lines that replace the region, or []",
        )
    return Change(start, end, tuple(content))


def _anchor(change: fields.Object, name: str, inside: str) -> tuple[str, ...] | None:
    lines = fields.lines(change, name, inside + name)
    if lines is None or (name == "end" and not lines):
        return None
    if not 1 <= len(lines) <= MAX_LINES:
        raise MissError(
            "invalid_input", f"'{inside}{name}' has {len(lines)} lines; expected 1 to {MAX_LINES}"
        )
    if not any(map(str.strip, lines)):
        raise MissError(
            "invalid_input", f"'{inside}{name}' is blank; expected at least one line with text"
        )
    return tuple(lines)
