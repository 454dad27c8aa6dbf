"""The formats that are plain JSON: `string`, `write`, and `multi` for an array of any of them."""

from __future__ import annotations

from collections.abc import Iterator

from git_boocode.editing.actions import Create, Insert, Replace, Write
from git_boocode.editing.edits import Action, Edit, Failure, MissError
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.inputs import inner_edits

_COMMANDS = ("str_replace", "insert", "create")
_COMMAND_HINTS = {
    "view": "the host reads files itself; nothing here shows one",
    "undo_edit": "an applied edit is undone with 'git boocode rewind'",
    "delete": "to delete a file, send a patch that deletes it",
}
_OF_A_PART = (
    *fields.INSERT_LINE, *fields.START_LINE, "line", "end_line", "endLine", "start", "end", "range",
)  # fmt: skip
_APPENDS = ("append", "a", "insert", "prepend")


def string(item: fields.Object, context: Context) -> Iterator[Edit | Failure]:
    """One old text and its new one, or a command of the text-editor tool."""
    fields.check_switches(item)
    action = _action(item)
    path = fields.text(item, fields.PATH, context.path)
    yield Edit(0, path, action, fields.base(item) or context.base, "string", item)


def _action(item: fields.Object) -> Action:
    if not fields.has(item, ("command",)):
        return _without_command(item)
    command = fields.text(item, ("command",))
    if command == "insert":
        return Insert(_insert_line(item, 0), fields.text(item, fields.INSERTED))
    if command in ("create", "write"):
        return Write(fields.text(item, fields.CONTENT[::-1]))
    if command == "str_replace":
        # That tool's own schema: without a new text the old one is deleted.
        return _replace(item, "")
    raise MissError(
        "invalid_input",
        f"'command' is '{command[:40]}'; expected one of {', '.join(_COMMANDS)}",
        hint=_COMMAND_HINTS.get(command),
    )


def _without_command(item: fields.Object) -> Action:
    if fields.has(item, fields.OLD):
        return _replace(item, None)
    if not fields.has(item, fields.INSERT_LINE):
        _check_whole(item, "new_text")
        return Create(fields.text(item, fields.NEW_TEXT))
    if fields.has(item, fields.NEW_TEXT) and not fields.has(item, fields.INSERT_TEXT):
        # Cline's editor counts from 1 and inserts before the line, the text-editor tool after it.
        return Insert(_insert_line(item, 1) - 1, fields.text(item, fields.NEW), top=1)
    return Insert(_insert_line(item, 0), fields.text(item, fields.INSERTED))


def _insert_line(item: fields.Object, least: int) -> int:
    line = fields.number(item, fields.INSERT_LINE, least)
    if line is None:
        raise MissError(
            "invalid_input", f"'insert_line' is missing; expected a whole number from {least}"
        )
    return line


def _replace(item: fields.Object, default: str | None) -> Replace:
    return Replace(
        fields.text(item, fields.OLD),
        fields.text(item, fields.NEW, default),
        fields.flag(item, fields.REPLACE_ALL),
        fields.number(item, fields.EXPECTED, 1),
        fields.number(item, fields.START_LINE, 1),
    )


def write(item: fields.Object, context: Context) -> Iterator[Edit | Failure]:
    """A file's path and all of its content."""
    _check_whole(item, "content")
    path = fields.text(item, fields.PATH, context.path)
    content = fields.text(item, fields.CONTENT)
    yield Edit(0, path, Write(content), fields.base(item) or context.base, "write", item)


def _check_whole(item: fields.Object, key: str) -> None:
    """Refuse what is meant for a part of the file: writing it would discard the rest."""
    fields.check_switches(item)
    lazy = next((name for name in fields.LAZY if item.get(name) is not None), None)
    if lazy is not None:
        raise MissError(
            "invalid_input",
            f"'{lazy}' may leave code out, and nothing here can merge that in",
            hint="send old_string and new_string, or the whole file as content",
        )
    part = [name for name in _OF_A_PART if item.get(name) is not None]
    part += ["append"] if item.get("append") is True else []
    part += ["mode"] if item.get("mode") in _APPENDS else []
    if part:
        raise MissError(
            "invalid_input",
            f"'{key}' is for the whole file, but '{part[0]}' is for a part of it",
            hint="to insert lines, send insert_line and insert_text; to change some, old_string "
            "and new_string",
        )


def multi(item: object, context: Context) -> Iterator[Edit | Failure]:
    """Several edits in an array, for one file or for many, each of any format."""
    if context.depth >= fields.MAX_DEPTH:
        # The calls inside envelopes are JSON of their own, each as deep as JSON may be.
        fields.too_deep()
    if isinstance(item, dict):
        fields.check_switches(item)
        path = fields.text(item, fields.PATH, context.path or "") or None
        context = context._replace(path=path, base=fields.base(item) or context.base)
        name = next(name for name in fields.EDITS if item.get(name) is not None)
        item = fields.array(item[name])
        if not isinstance(item, list):
            raise MissError(
                "invalid_input", f"'{name}' is {fields.kind_of(item)}; expected an array"
            )
    if not item:
        raise MissError("invalid_input", "the array of edits is empty")
    assert isinstance(item, list)
    for edit in item:
        yield from inner_edits(edit, context._replace(depth=context.depth + 1))
