"""`string`: one old text and its new one, in the spellings of today's tools.

Also the text-editor tool: `command` is `str_replace`, `insert` or `create`.
"""

from __future__ import annotations

from collections.abc import Iterator

from git_boocode.editing.actions import Insert, Replace, Write
from git_boocode.editing.edits import Action, Failure, MissError
from git_boocode.editing.formats import Context, Draft, fields

_COMMANDS = ("str_replace", "insert", "create")
_INSERTED = (*fields.INSERT_TEXT, *fields.NEW)
_COMMAND_HINTS = {
    "view": "the host reads files itself; nothing here shows one",
    "undo_edit": "an applied edit is undone with 'git boocode rewind'",
    "delete": "to delete a file, send a patch that deletes it",
}
_KNOWN = (*_COMMANDS, "write", *_COMMAND_HINTS)


def mismatch(item: object) -> str | None:
    """See `formats.Format`."""
    if not isinstance(item, dict):
        return f"{fields.kind_of(item, top=True)} instead of an object"
    command = item.get("command")
    if isinstance(command, list):
        return "'command' is an array"
    if isinstance(command, str) and "*** Begin Patch" in command:
        return "'command' holds a patch"
    if isinstance(command, str) and command not in _KNOWN and not fields.has(item, fields.PATH):
        return "'command' is no command of an editor"
    if command is not None or fields.has(item, fields.OLD) or _inserts(item):
        return None
    return "no 'old_string' and no 'command'"


def drafts(item: object, context: Context) -> Iterator[Draft | Failure]:
    """See `formats.Format`."""
    assert isinstance(item, dict)
    fields.check_switches(item)
    action = _action(item)
    path = fields.text(item, fields.PATH, context.path)
    yield Draft(path, action, fields.base(item) or context.base, "string", item)


def _inserts(item: dict[str, object]) -> bool:
    return fields.has(item, fields.INSERT_LINE) and fields.has(item, _INSERTED)


def _action(item: dict[str, object]) -> Action:
    if not fields.has(item, ("command",)):
        return _replace(item, None) if fields.has(item, fields.OLD) else _insert(item)
    command = fields.text(item, ("command",))
    if command == "insert":
        return _insert(item)
    if command in ("create", "write"):
        return Write(fields.text(item, (*fields.CONTENT[::-1],)))
    if command == "str_replace":
        # That tool's own schema: without a new text the old one is deleted.
        return _replace(item, "")
    raise MissError(
        "invalid_input",
        f"'command' is '{command[:40]}'; expected one of {', '.join(_COMMANDS)}",
        hint=_COMMAND_HINTS.get(command),
    )


def _insert(item: dict[str, object]) -> Insert:
    line = fields.number(item, fields.INSERT_LINE, 0)
    if line is None:
        raise MissError("invalid_input", "'insert_line' is missing; expected a whole number from 0")
    return Insert(line, fields.text(item, _INSERTED))


def _replace(item: dict[str, object], default: str | None) -> Replace:
    return Replace(
        fields.text(item, fields.OLD),
        fields.text(item, fields.NEW, default),
        fields.flag(item, fields.REPLACE_ALL),
        fields.number(item, fields.EXPECTED, 1),
        fields.number(item, fields.START_LINE, 1),
    )
