"""Read the fields of a JSON object in any of their spellings, with errors that name the key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from git_boocode.editing.edits import MissError

PATH = ("path", "file_path", "filePath")
OLD = ("old_string", "oldString", "old_str", "search", "old")
NEW = ("new_string", "newString", "new_str", "replace", "new")
REPLACE_ALL = ("replace_all", "replaceAll")
EXPECTED = ("expected_replacements", "expectedReplacements")
START_LINE = ("start_line", "startLine")
INSERT_LINE = ("insert_line", "insertLine")

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


def flag(item: Object, names: tuple[str, ...]) -> bool:
    """An optional boolean.

    Raises:
        MissError: it is no boolean (`invalid_input`).
    """
    name, value = _find(item, names)
    if isinstance(value, _Absent):
        return False
    if not isinstance(value, bool):
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
    value = text(item, ("base",), "")
    if value and not _BASE.fullmatch(value):
        _invalid("'base' is no blob id; expected 7 to 64 hexadecimal digits")
    return value.lower() or None


def _invalid(message: str) -> NoReturn:
    raise MissError("invalid_input", message)
