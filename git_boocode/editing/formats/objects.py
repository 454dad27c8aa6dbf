"""The formats that are plain JSON: `string`, `write`, `region`, and `multi` for several edits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from git_boocode.editing.actions import Create, Insert, Replace, Write
from git_boocode.editing.edits import Action, Edit, Failure, MissError, listed
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.formats.fields import invalid
from git_boocode.editing.inputs import read_item

if TYPE_CHECKING:
    from git_boocode.editing.regions import Change

_OF_A_PART = (
    *fields.INSERT_LINE, *fields.START_LINE, "line", "end_line", "endLine", "start", "end", "range",
)  # fmt: skip
_APPENDS = ("append", "a", "insert", "prepend")
_MAX_CHANGES = 10_000  # Of one file in one edit.
_MAX_WRONG = 10  # Malformed changes that a message lists.
_MAX_LINES = 4  # Of an anchor; with more of them, more can be wrong.


def string(item: fields.Object, context: Context) -> Iterator[Edit | Failure]:
    """One old text and its new one, or a command of the text-editor tool."""
    yield _edit("string", item, context, _action(item))


def write(item: fields.Object, context: Context) -> Iterator[Edit | Failure]:
    """A file's path and all of its content."""
    _check_whole(item, "content")
    yield _edit("write", item, context, Write(fields.text(item, fields.CONTENT)))


def region(item: fields.Object, context: Context) -> Iterator[Edit | Failure]:
    """Parts of a file between short anchors, each with the lines that replace it."""
    from git_boocode.editing.regions import Regions

    yield _edit("region", item, context, Regions(_changes(item)))


def multi(item: object, context: Context) -> Iterator[Edit | Failure]:
    """Several edits in an array, for one file or for many, each of any format."""
    name = fields.key_of(item, fields.EDITS) if isinstance(item, dict) else None
    if isinstance(item, dict) and name:
        fields.check_switches(item)
        context = fields.context(item, context)
        item = item[name]
    for edit in fields.array(item, name or "edits"):
        yield from read_item(edit, context)


def _edit(name: str, item: fields.Object, context: Context, action: Action) -> Edit:
    fields.check_switches(item)
    path = fields.text(item, fields.PATH, context.path)
    return Edit(0, path, action, fields.base(item) or context.base, name, item)


def _action(item: fields.Object) -> Action:
    given = fields.text(item, ("command",), "")
    implied = "insert" if fields.key_of(item, fields.INSERT_LINE) else "new_text"
    command = given or ("str_replace" if fields.key_of(item, fields.OLD) else implied)
    if command == "str_replace":
        return Replace(
            fields.text(item, fields.OLD),
            # The text-editor tool's own schema: without a new text the old one is deleted.
            fields.text(item, fields.NEW, "" if given else None),
            fields.flag(item, fields.REPLACE_ALL),
            fields.number(item, fields.EXPECTED, 1),
            fields.number(item, fields.START_LINE, 1),
        )
    if command == "insert":
        # Cline's editor counts from 1 and inserts before the line, the text-editor tool after it.
        least = int(not given and fields.key_of(item, fields.INSERTED) in fields.NEW_TEXT)
        line = fields.number(item, fields.INSERT_LINE, least)
        if line is None:
            raise invalid(f"'insert_line' is missing; expected a whole number from {least}")
        return Insert(line - least, fields.text(item, fields.INSERTED), top=least)
    if command in ("create", "write"):
        return Write(fields.text(item, fields.CONTENT[::-1]))
    if not given:
        _check_whole(item, "new_text")
        return Create(fields.text(item, fields.NEW_TEXT))
    raise invalid(f"'command' is '{command[:40]}'; expected one of {', '.join(fields.COMMANDS)}")


def _check_whole(item: fields.Object, key: str) -> None:
    """Refuse what is meant for a part of the file: writing it would discard the rest."""
    if lazy := fields.key_of(item, fields.LAZY):
        raise invalid(
            f"'{lazy}' may leave code out, and nothing here can merge that in",
            "send old_string and new_string, or the whole file as content",
        )
    part = fields.key_of(item, _OF_A_PART)
    part = part or ("append" if item.get("append") is True else None)
    part = part or ("mode" if item.get("mode") in _APPENDS else None)
    if part:
        raise invalid(
            f"'{key}' is for the whole file, but '{part}' is for a part of it",
            "to insert lines, send insert_line and insert_text; else old_string and new_string",
        )


def _changes(item: fields.Object) -> tuple[Change, ...]:
    """The changes, or everything that is wrong with them at once."""
    if item.get("changes") is None:
        return (_change(item, ""),)
    given = fields.array(item["changes"], "changes")
    if len(given) > _MAX_CHANGES:
        raise invalid(f"there are {len(given)} changes; at most {_MAX_CHANGES} of a file are read")
    read = [_read(change, f"changes[{index}]") for index, change in enumerate(given)]
    if wrong := [found for found in read if isinstance(found, str)]:
        raise invalid(listed(wrong, _MAX_WRONG))
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
        raise invalid(f"'{where}' is {fields.kind_of(change)}; expected an object")
    inside = f"{where}." if where else ""
    start, end, content = (
        fields.lines(change, name, inside + name) for name in ("start", "end", "content")
    )
    for name, anchor in (("start", start or []), *([("end", end)] if end else [])):
        if not 1 <= len(anchor) <= _MAX_LINES:
            count = f"'{inside}{name}' has {len(anchor)} lines"
            raise invalid(f"{count}; expected 1 to {_MAX_LINES}")
        if not any(map(str.strip, anchor)):
            raise invalid(f"'{inside}{name}' is blank; expected at least one line with text")
    if content is None:
        missing = f"'{inside}content' is missing"
        raise invalid(f"{missing}; expected the lines that replace the region, or []")
    return Change(tuple(start or ()), tuple(end) if end else None, tuple(content))
