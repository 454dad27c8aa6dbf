"""Read JSON and the fields of its objects in any spelling, with errors that name the place."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NoReturn

from git_boocode.editing.edits import MissError

PATH = ("path", "file_path", "filePath", "filepath", "target_file", "filename", "file")
OLD = (
    "old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search", "find", "old",
)  # fmt: skip
NEW_TEXT = ("new_text", "newText")
NEW = ("new_string", "newString", "new_str", "newStr", *NEW_TEXT, "replace", "new")
CONTENT = ("content", "contents", "file_text")
LAZY = ("code_edit", "code")
"""What some tools call a text that leaves code out, for a second model to merge in."""
EDITS = ("edits", "replacements", "operations")
REPLACE_ALL = ("replace_all", "replaceAll", "allow_multiple", "allowMultiple", "change_all")
EXPECTED = ("expected_replacements", "expectedReplacements")
START_LINE = ("start_line", "startLine")
PATCH = ("patch", "diff", "input", "patchText", "patch_text")
PATCH_LINES = ("patch_lines", "patchLines")
INSERT_LINE = ("insert_line", "insertLine")
INSERT_TEXT = ("insert_text", "insertText")
INSERTED = (*INSERT_TEXT, *NEW)

OPERATIONS = {"create_file": "Add", "update_file": "Update", "delete_file": "Delete"}
"""The types of the operations of OpenAI's `apply_patch_call`, by the words of its patches."""

MAX_DEPTH = 64
"""Levels of objects and arrays, which is more than any edit needs."""

_NO_REGEX = "searching by a pattern is not supported; send the text itself"
_NO_CASE = "case always counts; send the text as the file spells it"
_NO_PREVIEW = "the option --dry-run asks for a preview"
_UNSUPPORTED = {
    **dict.fromkeys(("use_regex", "useRegex", "is_regex", "isRegex", "regex"), _NO_REGEX),
    **dict.fromkeys(("ignore_case", "ignoreCase"), _NO_CASE),
    **dict.fromkeys(("dry_run", "dryRun"), _NO_PREVIEW),
}
"""Switches of some tools that would make another edit of the same texts."""

_BASE = re.compile("[0-9a-fA-F]{7,64}")
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
_ESCAPES = 'inside JSON strings, quotes, backslashes and line breaks are escaped: \\" \\\\ \\n'
_ONE_VALUE = "several edits go into one array: [{...}, {...}]"
_SPACE = re.compile(r"[ \t\r\n]*")
_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_PYTHON = re.compile(rf"(?:{'|'.join(_WORDS)})\b")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\s]*).*", re.DOTALL)
_INFOS = ("", "json", "jsonc", "json5")

Object = Mapping[str, object]


def kind_of(value: object, *, top: bool = False) -> str:
    """What a JSON value is, for a message; at the top a string is text that is not JSON."""
    if value is None:
        return "null"
    return "plain text" if top and isinstance(value, str) else _KINDS.get(type(value), "a number")


def has(item: Object, names: tuple[str, ...]) -> bool:
    """Whether an object has a key in one of its spellings, other than as null."""
    return any(item.get(name) is not None for name in names)


def _find(item: Object, names: tuple[str, ...]) -> tuple[str, object]:
    """The spelling that an object uses and its value, None if it has none."""
    found = [name for name in names if item.get(name) is not None]
    for other in found[1:]:
        if item[other] != item[found[0]]:
            _invalid(f"'{found[0]}' and '{other}' mean the same and differ")
    return (found[0], item[found[0]]) if found else (names[0], None)


def text(item: Object, names: tuple[str, ...], default: str | None = None) -> str:
    """A required string, or one with a default.

    Raises:
        MissError: it is missing, or not a string (`invalid_input`).
    """
    name, value = _find(item, names)
    if value is None and default is None:
        _invalid(f"'{names[0]}' is missing; expected a string")
    value = default if value is None else value
    if not isinstance(value, str):
        _invalid(f"'{name}' is {kind_of(value)}; expected a string")
    return value


def check_switches(item: Object) -> None:
    """Refuse an edit to which a tool's switch gives another meaning (`invalid_input`)."""
    for name, reason in _UNSUPPORTED.items():
        if item.get(name) in (True, "true"):
            _invalid(f"'{name}' is set, but {reason}")


def lines(item: Object, name: str, where: str) -> list[str] | None:
    """Lines without their endings, given as an array or as one text; None if the key is missing.

    An entry with several lines counts as several. `where` names the key in messages.

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
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def flag(item: Object, names: tuple[str, ...]) -> bool:
    """An optional boolean.

    Raises:
        MissError: it is not a boolean (`invalid_input`).
    """
    name, value = _find(item, names)
    if value in ("true", "false"):
        _invalid(f"'{name}' is the string \"{value}\"; expected true or false, without quotes")
    if value is not None and not isinstance(value, bool):
        _invalid(f"'{name}' is {kind_of(value)}; expected true or false")
    return bool(value)


def number(item: Object, names: tuple[str, ...], least: int) -> int | None:
    """An optional whole number.

    Raises:
        MissError: it is not a whole number, or below the least one (`invalid_input`).
    """
    name, value = _find(item, names)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        shown = value if isinstance(value, (int, float)) else kind_of(value)
        _invalid(f"'{name}' is {str(shown)[:40]}; expected a whole number from {least}")
    return value


def base(item: Object) -> str | None:
    """The id of the blob that the model saw, in lower case.

    Raises:
        MissError: it is not an object id (`invalid_input`).
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
    """An array that was sent as a string of JSON, as models do now and then; else the value.

    Raises:
        MissError: the string begins like an array and is none (`invalid_input`).
    """
    is_text = isinstance(value, str) and value.lstrip().startswith("[")
    return parse_json(value) if is_text and isinstance(value, str) else value


def parse_json(text: str, above: int = 0) -> object:
    """One JSON value, or an array of several objects that follow each other.

    Line breaks and tabs in strings are accepted, as models write them. `above` is the number of
    lines above the text, for messages.

    Raises:
        MissError: it is not JSON, has a key twice, or is nested too deep (`invalid_input`).
    """
    try:
        value = _values(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        where = f"line {above + error.lineno}, column {error.colno}"
        _invalid(f"invalid JSON at {where}: {reason}", _json_hint(text, error))
    except ValueError as error:
        # A number of more digits than Python converts.
        _invalid(f"invalid JSON: {str(error).split(';')[0].lower()}")
    except RecursionError:
        too_deep()
    _check_depth(value)
    return value


def _values(text: str) -> object:
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_constant=_constant)
    found: list[object] = []
    at = _past_space(text, 0)
    while not found or at < len(text):
        if found and not (isinstance(found[-1], dict) and text[at] == "{"):
            raise json.JSONDecodeError("Extra data", text, at)
        value, end = decoder.raw_decode(text, at)
        found.append(value)
        at = _past_space(text, end)
    return found if len(found) > 1 else found[0]


def _past_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _json_hint(text: str, error: json.JSONDecodeError) -> str:
    """How to repair a text, by what is found where it stops being JSON."""
    rest, before = text[error.pos :], text[: error.pos].rstrip()
    if error.msg == "Extra data":
        return _ONE_VALUE
    if error.msg.startswith("Illegal trailing comma") or (
        rest[:1] in ("}", "]") and before.endswith(",")
    ):
        return f"take out the comma before '{rest.lstrip(', ')[:1] or '}'}'"
    if rest.startswith("'"):
        return "JSON puts keys and strings into double quotes, not single ones"
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments; take them out"
    if found := _PYTHON.match(rest):
        return f"JSON writes {_WORDS[found[0]]}, not {found[0]}"
    is_cut = text.rstrip()[-1:] not in ("}", "]")
    if not rest.strip() or (error.msg.startswith("Unterminated string") and is_cut):
        return "the input ends too early, as if it was cut off; send all of it again"
    if error.msg.startswith("Expecting property name"):
        return "JSON puts every key into double quotes"
    return _ESCAPES


def fenced_json(text: str) -> Iterator[tuple[str, int]]:
    """The JSON in the Markdown fences of a text, and the number of lines above each."""
    lines = text.split("\n")
    row = 0
    while row < len(lines):
        opening = _FENCE.fullmatch(lines[row])
        row += 1
        if opening is None:
            continue
        end = _closing(lines, row, opening[1])
        block = "\n".join(lines[row:end])
        if opening[2].lower() in _INFOS and block.lstrip()[:1] in ("{", "["):
            yield block, row
        row = end + 1


def _closing(lines: list[str], row: int, fence: str) -> int:
    while row < len(lines):
        bare = lines[row].strip()
        if len(bare) >= len(fence) and bare.strip(fence[0]) == "":
            break
        row += 1
    return row


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        _invalid(f"the key '{twice[:80]}' occurs twice in one object")
    return found


def _constant(name: str) -> NoReturn:
    _invalid(f"'{name}' is not valid JSON")


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    too_deep()


def _inside(value: object) -> list[object]:
    """The values that an object or an array holds."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def too_deep() -> NoReturn:
    """Refuse needlessly nested input (`invalid_input`)."""
    _invalid(f"the JSON is nested too deep; {MAX_DEPTH} levels are enough for any edit")


def _invalid(message: str, hint: str | None = None) -> NoReturn:
    raise MissError("invalid_input", message, hint=hint)
