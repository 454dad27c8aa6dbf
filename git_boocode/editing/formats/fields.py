"""Read JSON and the keys of its objects in any spelling, with errors that name the place.

Everything here raises MissError (`invalid_input`) for what it cannot read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import TypeVar

from git_boocode.editing.edits import MissError
from git_boocode.editing.formats import Context

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
SHELL = ("command", "cmd")
INSERT_LINE = ("insert_line", "insertLine")
INSERT_TEXT = ("insert_text", "insertText")
INSERTED = (*INSERT_TEXT, *NEW)
COMMANDS = ("str_replace", "insert", "create", "write")
"""The commands of the text-editor tool that edit a file."""
OPERATIONS = {"create_file": "Add", "update_file": "Update", "delete_file": "Delete"}
"""The types of the operations of OpenAI's `apply_patch_call`, by the words of its patches."""

MAX_DEPTH = 64  # Levels of objects and arrays, which is more than any edit needs.

_SWITCHES = {
    "searching by a pattern is not supported; send the text itself": (
        "use_regex", "useRegex", "is_regex", "isRegex", "regex",
    ),
    "case always counts; send the text as the file spells it": ("ignore_case", "ignoreCase"),
    "the option --dry-run asks for a preview": ("dry_run", "dryRun"),
}  # fmt: skip
"""Switches of some tools that would make another edit of the same texts."""
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
_BASE = re.compile("[0-9a-fA-F]{7,64}")
_NEXT = re.compile(r"[^ \t\r\n]")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\s]*).*", re.DOTALL)
_REPAIRS = (
    (re.compile(r".?,\s*([}\]])"), "take out the comma before '{}'"),
    (re.compile(r".?'"), "JSON puts keys and strings into double quotes, not single ones"),
    (re.compile(r".?(?://|/\*|#)"), "JSON has no comments; take them out"),
    (re.compile(r".?(True|False)\b"), "JSON writes true and false, not {}"),
    (re.compile(r".?(None|undefined)\b"), "JSON writes null, not {}"),
    (re.compile(r"[{,]\w+\s*:"), "JSON puts every key into double quotes"),
    (re.compile(r".?\Z"), "the input ends too early, as if it was cut off; send all of it again"),
)
"""How to repair what stands where a text stops being JSON, with the character before it."""

Object = Mapping[str, object]
T = TypeVar("T")


def invalid(message: str, hint: str | None = None) -> MissError:
    """The error for input that cannot be read."""
    return MissError("invalid_input", message, hint=hint)


def kind_of(value: object) -> str:
    """What a JSON value is, for a message."""
    return "null" if value is None else _KINDS.get(type(value), "a number")


def has(item: Object, names: tuple[str, ...]) -> bool:
    """Whether an object has a key in one of its spellings, other than as null."""
    return any(item.get(name) is not None for name in names)


def _find(item: Object, names: tuple[str, ...]) -> tuple[str, object]:
    """The spelling that an object uses and its value, None if it has none."""
    found = [name for name in names if item.get(name) is not None] or [names[0]]
    for other in found[1:]:
        if item[other] != item[found[0]]:
            raise invalid(f"'{found[0]}' and '{other}' mean the same and differ")
    return found[0], item.get(found[0])


def _get(item: Object, names: tuple[str, ...], kind: type[T], expected: str) -> T | None:
    name, value = _find(item, names)
    # A boolean is a whole number to Python.
    if value is not None and type(value) is not kind:
        raise invalid(f"'{name}' is {kind_of(value)}; expected {expected}")
    return value


def text(item: Object, names: tuple[str, ...], default: str | None = None) -> str:
    """A required string, or one with a default."""
    value = _get(item, names, str, "a string")
    value = default if value is None else value
    if value is None:
        raise invalid(f"'{names[0]}' is missing; expected a string")
    return value


def flag(item: Object, names: tuple[str, ...]) -> bool:
    """An optional boolean."""
    return _get(item, names, bool, "true or false, without quotes") or False


def number(item: Object, names: tuple[str, ...], least: int) -> int | None:
    """An optional whole number."""
    expected = f"a whole number from {least}"
    value = _get(item, names, int, expected)
    if value is not None and value < least:
        raise invalid(f"'{_find(item, names)[0]}' is {value!s:.40}; expected {expected}")
    return value


def base(item: Object) -> str | None:
    """The id of the blob that the model saw, in lower case."""
    value = _get(item, ("base",), str, "a string")
    if value is not None and not _BASE.fullmatch(value):
        raise invalid(
            "'base' is not a blob id; expected 7 to 64 hexadecimal digits",
            "leave it out, or send the blob id of the file as it was read",
        )
    return value and value.lower()


def context(item: Object, outer: Context) -> Context:
    """The path and the base of an item, or those of what encloses it."""
    path = text(item, PATH, outer.path or "") or None
    return outer._replace(path=path, base=base(item) or outer.base)


def lines(item: Object, name: str, where: str) -> list[str] | None:
    """Lines without their endings, given as an array or one text; None if the key is missing."""
    value = item.get(name)
    if value is None:
        return None
    if not isinstance(value, str | list):
        raise invalid(f"'{where}' is {kind_of(value)}; expected an array of lines")
    entries = [value] if value and isinstance(value, str) else [*value]
    for row, entry in enumerate(entries):
        if not isinstance(entry, str):
            raise invalid(f"'{where}[{row}]' is {kind_of(entry)}; expected a line, as a string")
    found = [line for entry in entries for line in entry.removesuffix("\n").split("\n")]
    return [line.removesuffix("\r") for line in found]


def check_switches(item: Object) -> None:
    """Refuse an edit to which a tool's switch gives another meaning."""
    for reason, names in _SWITCHES.items():
        for name in names:
            if item.get(name) in (True, "true"):
                raise invalid(f"'{name}' is set, but {reason}")


def array(value: object, name: str) -> list[object]:
    """A filled array, which models now and then send as a string of JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = parse_json(value)
    if not isinstance(value, list):
        raise invalid(f"'{name}' is {kind_of(value)}; expected an array")
    if not value:
        raise invalid(f"the array of {name} is empty")
    return value


def parse_json(text: str, above: int = 0) -> object:
    """One JSON value, or an array of several objects that follow each other.

    Line breaks in strings are accepted, a key that occurs twice is not. `above` is the number of
    lines above the text, for messages.
    """
    try:
        value = _values(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        where = f"line {above + error.lineno}, column {error.colno}"
        raise invalid(f"invalid JSON at {where}: {reason}", _json_hint(text, error)) from None
    except ValueError as error:
        # A number of more digits than Python converts.
        raise invalid(f"invalid JSON: {str(error).split(';')[0].lower()}") from None
    except RecursionError:
        raise too_deep() from None
    level, depth = [value], 0
    while level and depth < MAX_DEPTH:
        level = [inner for outer in level for inner in _inside(outer)]
        depth += 1
    if level:
        raise too_deep()
    return value


def _values(text: str) -> object:
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_constant=_constant)
    found: list[object] = []
    end = 0
    while place := _NEXT.search(text, end):
        if found and not (isinstance(found[-1], dict) and place[0] == "{"):
            raise json.JSONDecodeError("Extra data", text, place.start())
        value, end = decoder.raw_decode(text, place.start())
        found.append(value)
    return found[0] if len(found) == 1 else found


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise invalid(f"the key '{twice[:80]}' occurs twice in one object")
    return found


def _constant(name: str) -> None:
    raise invalid(f"'{name}' is not valid JSON")


def _inside(value: object) -> list[object]:
    """The values that an object or an array holds."""
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def _json_hint(text: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "several edits go into one array: [{...}, {...}]"
    is_cut = error.msg.startswith("Unterminated string") and text.rstrip()[-1:] not in ("}", "]")
    rest = "" if is_cut else text[error.pos :].rstrip()
    place = text[: error.pos].rstrip()[-1:] + rest
    for pattern, hint in _REPAIRS:
        if found := pattern.match(place):
            return hint.format(*found.groups())
    return 'inside JSON strings, quotes, backslashes and line breaks are escaped: \\" \\\\ \\n'


def fenced_json(text: str) -> Iterator[tuple[str, int]]:
    """The JSON in the Markdown fences of a text, and the number of lines above each."""
    lines = enumerate(text.split("\n"), 1)
    for above, line in lines:
        if opening := _FENCE.fullmatch(line):
            inside = takewhile(lambda entry: not _closes(entry[1].strip(), opening[1]), lines)
            block = "\n".join(line for _, line in inside)
            is_json = opening[2].lower() in ("", "json", "jsonc", "json5")
            if is_json and block.lstrip()[:1] in ("{", "["):
                yield block, above


def _closes(line: str, fence: str) -> bool:
    return line.startswith(fence) and not line.strip(fence[0])


def too_deep() -> MissError:
    """The error for input of too many levels."""
    return invalid(f"the JSON is nested too deep; {MAX_DEPTH} levels are enough for any edit")
