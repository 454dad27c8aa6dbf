"""`string`: one old text and its new one, in the spellings of today's tools.

Also the text-editor tool: `command` is `str_replace`, `insert` or `create`.
"""

from __future__ import annotations

from collections.abc import Iterator

from git_boocode.editing.actions import Insert, Replace, Write
from git_boocode.editing.edits import Action, Failure, MissError
from git_boocode.editing.formats import Context, Draft, fields

_COMMANDS = ("str_replace", "insert", "create")


def mismatch(item: object) -> str | None:
    """See `formats.Format`."""
    if not isinstance(item, dict):
        return f"{fields.kind_of(item, top=True)} instead of an object"
    if fields.has(item, ("command",)) or fields.has(item, fields.OLD):
        return None
    return "no 'old_string' and no 'command'"


def drafts(item: object, context: Context) -> Iterator[Draft | Failure]:
    """See `formats.Format`."""
    assert isinstance(item, dict)
    action = _action(item)
    path = fields.text(item, fields.PATH, context.path)
    yield Draft(path, action, fields.base(item) or context.base, "string", item)


def _action(item: dict[str, object]) -> Action:
    if not fields.has(item, ("command",)):
        return _replace(item, None)
    command = fields.text(item, ("command",))
    if command == "insert":
        return _insert(item)
    if command == "create":
        return Write(fields.text(item, ("file_text",)))
    if command == "str_replace":
        # That tool's own schema: without a new text the old one is deleted.
        return _replace(item, "")
    raise MissError(
        "invalid_input",
        f"'command' is '{command[:40]}'; expected one of {', '.join(_COMMANDS)}",
    )


def _insert(item: dict[str, object]) -> Insert:
    line = fields.number(item, fields.INSERT_LINE, 0)
    if line is None:
        raise MissError("invalid_input", "'insert_line' is missing; expected a whole number from 0")
    return Insert(line, fields.text(item, ("insert_text", *fields.NEW)))


def _replace(item: dict[str, object], default: str | None) -> Replace:
    return Replace(
        fields.text(item, fields.OLD),
        fields.text(item, fields.NEW, default),
        fields.flag(item, fields.REPLACE_ALL),
        fields.number(item, fields.EXPECTED, 1),
        fields.number(item, fields.START_LINE, 1),
    )
