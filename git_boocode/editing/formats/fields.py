"""Read the fields of a JSON object in any of their spellings, with errors that name the key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from git_boocode.editing.edits import MissError

PATH = ("path", "file_path", "filePath", "filepath", "target_file", "filename", "file")
OLD = (
    "old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search", "find", "old",
)  # fmt: skip
NEW = (
    "new_string", "newString", "new_str", "newStr", "new_text", "newText", "replace", "new",
)  # fmt: skip
CONTENT = ("content", "contents", "file_text")
EDITS = ("edits", "replacements", "operations")
REPLACE_ALL = ("replace_all", "replaceAll", "allow_multiple", "allowMultiple", "change_all")
EXPECTED = ("expected_replacements", "expectedReplacements")
START_LINE = ("start_line", "startLine")
PATCH = ("patch", "diff", "input")
INSERT_LINE = ("insert_line", "insertLine")
INSERT_TEXT = ("insert_text", "insertText")

OPERATIONS = {"create_file": "Add", "update_file": "Update", "delete_file": "Delete"}
"""The types of the operations of OpenAI's `apply_patch_call`, by the words of its patches."""

_NO_REGEX = "searching by a pattern is not supported; send the text itself"
_UNSUPPORTED = {
    "use_regex": _NO_REGEX,
    "useRegex": _NO_REGEX,
    "is_regex": _NO_REGEX,
    "isRegex": _NO_REGEX,
    "regex": _NO_REGEX,
    "ignore_case": "case always counts; send the text as it is spelt",
    "ignoreCase": "case always counts; send the text as it is spelt",
    "dry_run": "a preview is asked for with the option --dry-run",
    "dryRun": "a preview is asked for with the option --dry-run",
}
"""Switches of some tools that would make another edit of the same texts."""

_BASE = re.compile("[0-9a-fA-F]{7,64}")
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}


class _Absent:
    """Stands for a key that is not there."""


ABSENT = _Absent()

Object = Mapping[str, object]


def kind_of(value: object, *, top: bool = False) -> str:
    """What a JSON value is, for a message.

    Args:
        value: the value.
        top: whether it stands for an edit, where a string can only be text that is not JSON.
    """
    if top and isinstance(value, str):
        return "plain text"
    if value is None:
        return "null"
    return _KINDS.get(type(value), "a number")


def has(item: Object, names: tuple[str, ...]) -> bool:
    """Whether an object has a key in one of its spellings, other than as null."""
    return any(item.get(name) is not None for name in names)


def _find(item: Object, names: tuple[str, ...]) -> tuple[str, object]:
    found = [name for name in names if item.get(name) is not None]
    if not found:
        return names[0], ABSENT
    for other in found[1:]:
        if item[other] != item[found[0]]:
            _invalid(f"'{found[0]}' and '{other}' mean the same and differ")
    return found[0], item[found[0]]


def text(item: Object, names: tuple[str, ...], default: str | None = None) -> str:
    """A required string, or one with a default.

    Raises:
        MissError: it is missing, or no string (`invalid_input`).
    """
    name, value = _find(item, names)
    if isinstance(value, _Absent):
        if default is None:
            _invalid(f"'{names[0]}' is missing; expected a string")
        return default
    if not isinstance(value, str):
        _invalid(f"'{name}' is {kind_of(value)}; expected a string")
    return value


def check_switches(item: Object) -> None:
    """Refuse an edit that some tool's switch gives another meaning.

    Raises:
        MissError: such a switch is on (`invalid_input`).
    """
    for name, reason in _UNSUPPORTED.items():
        if item.get(name) in (True, "true"):
            _invalid(f"'{name}' is set, but {reason}")


def lines(item: Object, name: str, where: str) -> list[str] | None:
    """Lines given as an array, or as one text; None if the key is missing.

    Line endings are taken off, and an entry with several lines counts as several.

    Args:
        item: the object.
        name: the key.
        where: what to call the key in a message.

    Raises:
        MissError: they are neither (`invalid_input`).
    """
    value = item.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        return _split(value) if value else []
    if not isinstance(value, list):
        _invalid(f"'{where}' is {kind_of(value)}; expected an array of lines")
    for row, entry in enumerate(value):
        if not isinstance(entry, str):
            _invalid(f"'{where}[{row}]' is {kind_of(entry)}; expected a line, as a string")
    return [line for entry in value for line in _split(entry)]


def _split(text: str) -> list[str]:
    found = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in found]


def flag(item: Object, names: tuple[str, ...]) -> bool:
    """An optional boolean.

    Raises:
        MissError: it is no boolean (`invalid_input`).
    """
    name, value = _find(item, names)
    if isinstance(value, _Absent):
        return False
    if not isinstance(value, bool):
        if value in ("true", "false"):
            _invalid(f"'{name}' is the string \"{value}\"; expected true or false, without quotes")
        _invalid(f"'{name}' is {kind_of(value)}; expected true or false")
    return value


def number(item: Object, names: tuple[str, ...], least: int) -> int | None:
    """An optional whole number that is not below the least one.

    Raises:
        MissError: it is no whole number, or too small (`invalid_input`).
    """
    name, value = _find(item, names)
    if isinstance(value, _Absent):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        shown = value if isinstance(value, (int, float)) else kind_of(value)
        _invalid(f"'{name}' is {str(shown)[:40]}; expected a whole number from {least}")
    return value


def base(item: Object) -> str | None:
    """The id of the blob that the model saw, in lower case.

    Raises:
        MissError: it is no object id (`invalid_input`).
    """
    if item.get("base") is None:
        return None
    value = text(item, ("base",))
    if not value:
        _invalid("'base' is empty; leave it out, or send the blob id of the file as it was read")
    if not _BASE.fullmatch(value):
        _invalid("'base' is no blob id; expected 7 to 64 hexadecimal digits")
    return value.lower()


def array(value: object) -> object:
    """An array that was sent as a string of JSON, as a model does now and then; else the value.

    Raises:
        MissError: the string begins like an array and is none (`invalid_input`).
    """
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    from git_boocode.editing.jsonread import parse_json

    return parse_json(value)


def _invalid(message: str) -> NoReturn:
    raise MissError("invalid_input", message)
