"""Read JSON, the keys of its objects in any spelling, and the formats that are plain JSON.

These are `string`, `write` and `region`, and `multi` for several edits. All functions raise
MissError (`invalid_input`) for invalid input, and name its position.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from git_boocode.editing.actions import MAX_MISSES, Create, Insert, Replace, Write
from git_boocode.editing.edits import Action, Edit, Failure, MissError
from git_boocode.editing.formats import MAX_CHANGES, Context, agree
from git_boocode.repo.errors import NextStep, first_few, shell_command, shortened

if TYPE_CHECKING:
    from git_boocode.editing.regions import RegionChange

PATH = ("path", "file_path", "filePath", "filepath", "target_file", "filename", "file")
OLD = (
    "old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search", "find", "old",
)  # fmt: skip
NEW_TEXT = ("new_text", "newText")
NEW = ("new_string", "newString", "new_str", "newStr", *NEW_TEXT, "replace", "new")
CONTENT = ("content", "contents", "file_text")
LAZY = ("code_edit", "code")
"""Keys of some tools for a text that omits code, which a second model merges."""
EDITS = ("edits", "replacements", "operations")
REPLACE_ALL = ("replace_all", "replaceAll", "allow_multiple", "allowMultiple", "change_all")
EXPECTED = ("expected_replacements", "expectedReplacements")
START_LINE = ("start_line", "startLine")
END_LINE = ("end_line", "endLine")
AFTER_LINE = ("after_line", "afterLine")
BEFORE_LINE = ("before_line", "beforeLine")
PLACES = (*AFTER_LINE, *BEFORE_LINE)
OPS = ("replace", "append", "prepend")
ANCHORED = ("set_line", "replace_lines", "insert_after", "insert_before")
"""The operations at positions, in today's JSON and in the older one."""
RENAME = ("rename", "move")
PATCH = ("patch", "diff", "input", "patchText", "patch_text")
PATCH_LINES = ("patch_lines", "patchLines")
SHELL = ("command", "cmd")
INSERT_LINE = ("insert_line", "insertLine")
INSERT_TEXT = ("insert_text", "insertText")
INSERTED = (*INSERT_TEXT, *NEW)
COMMANDS = ("str_replace", "insert", "create", "write")
"""The commands of the text-editor tool that edit a file."""
OPERATIONS = {"create_file": "Add", "update_file": "Update", "delete_file": "Delete"}
"""Maps the operation types of OpenAI's `apply_patch_call` to the words of its patches."""

MAX_DIGITS = 9  # Maximum number of digits of a line number in a text.
MAX_DEPTH = 64  # Maximum levels of objects and arrays; more than any edit needs.

_SWITCHES = (
    *("use_regex", "useRegex", "is_regex", "isRegex", "regex", "ignore_case", "ignoreCase"),
    *("dry_run", "dryRun"),
)
"""Switches of some tools that would change the meaning of an edit."""
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
_BASE = re.compile(r"\[?(?:([^\[\]\n]*)#)?([0-9a-fA-F]{7,64})\]?")
_NEXT = re.compile(r"[^ \t\r\n]")
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)", re.DOTALL)
_JSON_RULES = (
    'JSON has double quotes around keys and strings, \\" \\\\ \\n for those characters in them, '
    "true, false and null, no comments, and no comma before } or ]"
)
_HOW = ("mode", "op", "operation", "action", "type")
_PARTIAL = ("a", "append", "prepend", "set")
_LINE_HASH = re.compile(r"\d+(?:#\w+|[:|]\d*[A-Za-z]\w*)")
"""The number and the hash of a line, in older JSON of hashline."""
_LINES = re.compile(r"L?\d+ ?(?:[-–,:]|\.\.) ?L?\d+")
_LIMIT = "start|end|first|last|from|to|after|before|at|begin|stop|until|insert|above|below"
_PLACE = re.compile(
    rf"(?:insert_)?(?:{_LIMIT})|(?:(?:\w+_)?(?:{_LIMIT})_?)?(?:line|row|pos|position|offset|range)s?|"
    rf"(?!new_)\w+_line|(?:line|row)s?_?(?:{_LIMIT}|no|num|number|range|index)s?|anchor"
)
"""Names of a place in a file, in lower case with underscores."""
_REMARKS = ("description", "explanation", "instruction", "instructions", "reason", "comment")
_NO_PLACE = re.compile(r"(?i).*(?:id|version|date|time|count)")

Object = Mapping[str, object]
T = TypeVar("T")


def string(item: Object, context: Context) -> Iterator[Edit | Failure]:
    """One old text and its new one, or a command of the text-editor tool."""
    yield _edit("string", item, context, _action(item))


def write(item: Object, context: Context) -> Iterator[Edit | Failure]:
    """A file's path and its complete content."""
    _check_whole(item, "content")
    yield _edit("write", item, context, Write(text(item, CONTENT)))


def region(item: Object, context: Context) -> Iterator[Edit | Failure]:
    """Parts of a file between short anchors, each with the lines that replace it."""
    from git_boocode.editing.regions import Regions

    yield _edit("region", item, context, Regions(changes(item, _region_change)))


def multi(item: object, context: Context) -> Iterator[Edit | Failure]:
    """Several edits in an array, for one file or for many, each of any format."""
    name = key_of(item, EDITS) if isinstance(item, dict) else None
    if isinstance(item, dict) and name:
        check_switches(item)
        context = enclosed(item, context)
        item = item[name]
    for edit in array(item, name or "edits"):
        yield from context.read(edit, context)


def change_formats(item: Object) -> tuple[bool, bool]:
    """Whether an object has changes of the format `region`, and of the format `lines`."""
    given = item.get("changes")
    if given is None:
        has_content = item.get("content") is not None
        is_region = isinstance(item.get("start"), (list, str)) and has_content
        is_other = is_region or key_of(item, (*OLD, *EDITS, *INSERT_LINE, "command"))
        has_text = has_content or key_of(item, NEW)
        is_lines = key_of(item, (*START_LINE, *PLACES) if has_text else PLACES)
        return is_region, not is_other and is_lines is not None
    if isinstance(given, str):
        with suppress(MissError):
            given = parse_json(given)
    entries = (
        [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
    )
    by_number = any(key_of(entry, (*START_LINE, *END_LINE, *PLACES)) for entry in entries)
    by_text = any(key_of(entry, ("start", "end")) for entry in entries)
    return by_text or not by_number, by_number


def is_positioned(item: Object) -> bool:
    """Whether an object has operations at positions, is one, or deletes or renames a file."""
    name = key_of(item, EDITS)
    entries = item[name] if name else [item]
    renames = item.get("base") is not None and key_of(item, RENAME) is not None
    if (item.get("delete") is True or renames) and entries in ([], [item]):
        return key_of(item, (*OLD, *NEW, *CONTENT, *PATCH, *PATCH_LINES, "changes")) is None
    return isinstance(entries, list) and any(map(has_position, entries))


def has_position(entry: object) -> bool:
    """Whether a value is an operation at a position, of today's tools or of older ones."""
    if not isinstance(entry, dict):
        return False
    op, is_named = entry.get("op"), any(isinstance(entry.get(key), dict) for key in ANCHORED)
    return is_named or (isinstance(op, str) and "pos" in entry) or (op in OPS and "lines" in entry)


def _edit(name: str, item: Object, context: Context, action: Action) -> Edit:
    check_switches(item)
    path = text(item, PATH, context.path)
    return Edit(0, path, action, base(item, path) or context.base, name, item)


def _action(item: Object) -> Action:
    given = text(item, ("command",), "")
    implied = "insert" if key_of(item, INSERT_LINE) else "new_text"
    command = given or ("str_replace" if key_of(item, OLD) else implied)
    if command == "str_replace":
        return Replace(
            text(item, OLD),
            # In the text-editor tool's schema, the old text is deleted without a new one.
            text(item, NEW, "" if given else None),
            flag(item, REPLACE_ALL),
            number(item, EXPECTED, 1),
            number(item, START_LINE, 1),
        )
    if command == "insert":
        # Cline's editor counts from 1 and inserts before the line, the text-editor tool after it.
        least = int(not given and key_of(item, INSERTED) in NEW_TEXT)
        line = number(item, INSERT_LINE, least)
        if line is None:
            raise invalid(f"'insert_line' is missing; expected a whole number from {least}")
        return Insert(line - least, text(item, INSERTED), top=least)
    if command in ("create", "write"):
        _check_whole(item, "file_text")
        return Write(text(item, CONTENT[::-1]))
    if not given:
        _check_whole(item, "new_text")
        return Create(text(item, NEW_TEXT))
    raise invalid(f"'command' is '{command:.40}'; expected one of {', '.join(COMMANDS)}")


def _check_whole(item: Object, key: str) -> None:
    """Refuse content for a part of the file: writing it would discard the rest."""
    if lazy := key_of(item, LAZY):
        raise invalid(
            f"'{lazy}' may omit code, which is not supported",
            "send old_string and new_string, or the whole file as content",
        )
    if name := next((name for name in RENAME if isinstance(item.get(name), str)), None):
        raise invalid(
            f"'{name}' would be ignored: '{key}' is for the file at the same path",
            "write the file at its new path, and delete the old one",
        )
    known = (*PATH, *CONTENT, *NEW_TEXT, "base", "command")
    part = next((name for name in item if name not in known and is_partial(name, item[name])), None)
    if part:
        raise invalid(
            f"'{key}' is for the whole file, but '{part}' is for a part of it",
            "send old_string and new_string; for lines by their numbers start_line, end_line and "
            "content, with base; or, to insert lines, insert_line and insert_text",
        )


def check_keys(item: Object, known: tuple[str, ...]) -> None:
    """Refuse a key with a value that would be ignored, unless it is a remark."""
    for name, value in item.items():
        if name in (*known, *_REMARKS) or value is None or value is False or value in ("", []):
            continue
        from difflib import get_close_matches

        near = [f"nearest is '{key}'" for key in get_close_matches(name, known, 1)]
        spelled = [key for key in known if key not in PATH and key == key.lower()]
        unknown = f"unknown key '{name}'"
        raise invalid("; ".join([unknown, *near, f"expected {', '.join(spelled)}"]))


def is_partial(name: str, value: object) -> bool:
    """Whether a key, by its name or the form of its value, is for a part of a file."""
    if name == "append" and value is True:
        return True
    if value is None or isinstance(value, bool) or value in ("", []):
        return False
    if name in _HOW:
        return isinstance(value, str) and _is_partial_operation(value)
    if _PLACE.fullmatch(re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower()):
        return True
    if isinstance(value, list):
        return all(type(number) is int for number in value)
    has_form = isinstance(value, str) and (_LINE_HASH.fullmatch(value) or _LINES.fullmatch(value))
    return bool(has_form) and not _NO_PLACE.fullmatch(name)


def _is_partial_operation(name: str) -> bool:
    has_part = name.startswith(("insert", "delete")) or "line" in name
    return name in _PARTIAL or (has_part and name.isidentifier())


def changes(item: Object, parse: Callable[[object, str], T]) -> tuple[T, ...]:
    """The parsed `changes` of an item, or itself as the only one; one error for all invalid ones.

    `parse` gets a change and its name for messages, empty for the item.
    """
    if item.get("changes") is None:
        return (parse(item, ""),)
    items = array(item["changes"], "changes")
    check_count(items)
    found = [_parsed(change, f"changes[{index}]", parse) for index, change in enumerate(items)]
    if wrong := [miss.message for miss in found if isinstance(miss, MissError)]:
        raise invalid(first_few(wrong, MAX_MISSES))
    return tuple(change for change in found if not isinstance(change, MissError))


def check_count(items: Sequence[object]) -> None:
    """Refuse too many changes of a file."""
    if len(items) > MAX_CHANGES:
        raise invalid(f"too many changes of a file: {len(items)} (at most {MAX_CHANGES})")


def _parsed(change: object, where: str, parse: Callable[[object, str], T]) -> T | MissError:
    try:
        return parse(change, where)
    except MissError as miss:
        return miss


def _region_change(change: object, where: str) -> RegionChange:
    from git_boocode.editing.regions import MAX_HEIGHT, RegionChange

    if not isinstance(change, dict):
        raise invalid(f"'{where}' is {kind_of(change)}; expected an object")
    inside = f"{where}." if where else ""
    start, end, content = (
        lines(change, name, inside + name) for name in ("start", "end", "content")
    )
    if start is None:
        missing = f"'{inside}start' is missing; expected 1 to {MAX_HEIGHT} lines of the file"
        raise invalid(f"{missing}, or a number as start_line, after_line or before_line")
    for name, anchor in (("start", start), *([("end", end)] if end else [])):
        if not 1 <= len(anchor) <= MAX_HEIGHT:
            count = f"'{inside}{name}' has {len(anchor)} lines"
            raise invalid(f"{count}; expected 1 to {MAX_HEIGHT}")
        if not any(map(str.strip, anchor)):
            raise invalid(f"'{inside}{name}' is blank; expected at least one line with text")
    if content is None:
        missing = f"'{inside}content' is missing"
        raise invalid(f"{missing}; expected the lines that replace the region, or []")
    return RegionChange(tuple(start), tuple(end) if end else None, tuple(content))


def invalid(message: str, hint: str | None = None) -> MissError:
    """The error for invalid input."""
    return MissError("invalid_input", message, hint=hint)


def kind_of(value: object) -> str:
    """The type of a JSON value, for a message."""
    return "null" if value is None else _KINDS.get(type(value), "a number")


def key_of(item: Object, names: tuple[str, ...]) -> str | None:
    """The first spelling of a key that an object has with a value other than null."""
    return next((name for name in names if item.get(name) is not None), None)


def _get(item: Object, names: tuple[str, ...], kind: type[T], expected: str) -> T | None:
    found = [name for name in names if item.get(name) is not None]
    for name in found:
        value = item[name]
        if value != item[found[0]]:
            raise invalid(f"'{found[0]}' and '{name}' are synonyms but have different values")
        # In Python, a boolean is also an integer.
        if type(value) is not kind:
            raise invalid(f"'{name}' is {kind_of(value)}; expected {expected}")
    return cast("T", item[found[0]]) if found else None


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
        raise invalid(f"'{key_of(item, names)}' is {value!s:.40}; expected {expected}")
    return value


def base(item: Object, path: str | None) -> str | None:
    """The id of the blob that the model saw, in lower case; it may be in a header for the path."""
    value = item.get("base")
    if value is None:
        return None
    hint = read_it(path) if path else "omit it, or send the blob id of the file that you read"
    if not isinstance(value, str):
        raise invalid(f"'base' is {kind_of(value)}; expected a string", hint)
    found = _BASE.fullmatch(value)
    if found is None:
        raise invalid("'base' is not a blob id; expected 7 to 64 hexadecimal digits", hint)
    if path and found[1] and not agree(path, found[1]):
        raise invalid(f"'base' is for '{shortened(found[1])}', but 'path' is '{path}'", hint)
    return found[2].lower()


def missing_base(path: str) -> MissError:
    """The error for line numbers without the version in which they count."""
    return invalid(
        "'base' is missing: line numbers count in one version of the file",
        read_it(path),
    )


def read_it(path: str) -> NextStep:
    """The hint how to get the version of a file."""
    typed = shell_command("git", "boocode", "read", path)
    return NextStep("get the version with: {}", "read", path, typed=typed)


def enclosed(item: Object, outer: Context) -> Context:
    """The context of the values inside an item: its path and base, or those of its own context."""
    path = text(item, PATH, outer.path or "") or None
    return outer._replace(path=path, base=base(item, path) or outer.base)


def lines(item: Object, name: str, where: str) -> list[str] | None:
    """Lines without their endings, from an array or one text; None if the key is missing."""
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


def texts_of(item: object, keys: tuple[str, ...]) -> list[str]:
    """An item that is text, or the strings under some of its keys."""
    if not isinstance(item, dict):
        return [item] if isinstance(item, str) else []
    values = [item.get(key) for key in keys]
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    return [text for text in texts if isinstance(text, str)]


def patch(item: object) -> str:
    """The patch or the blocks in an item, which is text or has it under a key."""
    if not isinstance(item, dict):
        return str(item)
    name = key_of(item, PATCH_LINES)
    found = lines(item, name, name) if name else None
    return text(item, PATCH, "") if found is None else "\n".join(found)


def check_switches(item: Object) -> None:
    """Refuse an edit with a switch that would change its meaning."""
    for name in _SWITCHES:
        if item.get(name) in (True, "true"):
            raise invalid(
                f"'{name}' is not supported",
                "send the text exactly as it is in the file; for a preview use --dry-run",
            )


def array(value: object, name: str) -> list[object]:
    """A nonempty array; models sometimes send it as a string of JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = parse_json(value)
    if not isinstance(value, list):
        raise invalid(f"'{name}' is {kind_of(value)}; expected an array")
    if not value:
        raise invalid(f"the array of {name} is empty")
    return value


def parse_json(text: str, above: int = 0) -> object:
    """Parse one JSON value, or several consecutive objects as an array.

    Line breaks in strings are accepted, duplicate keys are not. `above` is the number of lines
    above the text, for messages.
    """
    try:
        value = _values(text)
        if _depth(value) <= MAX_DEPTH:
            return value
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        where = f"line {above + error.lineno}, column {error.colno}"
        raise invalid(f"invalid JSON at {where}: {reason}", _json_hint(text, error)) from None
    except ValueError as error:
        # A number with more digits than Python converts.
        raise invalid(f"invalid JSON: {str(error).split(';')[0].lower()}") from None
    except RecursionError:
        pass
    raise too_deep()


def json_at(text: str, at: int) -> tuple[object, int]:
    """The JSON value that begins at an offset, and its end.

    MissError, ValueError or RecursionError if there is none.
    """
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_constant=_constant)
    return decoder.raw_decode(text, at)


def _values(text: str) -> object:
    found: list[object] = []
    end = 0
    while place := _NEXT.search(text, end):
        if found and not (isinstance(found[-1], dict) and place[0] == "{"):
            raise json.JSONDecodeError("Extra data", text, place.start())
        value, end = json_at(text, place.start())
        found.append(value)
    return found[0] if len(found) == 1 else found


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise invalid(f"the key '{twice:.80}' occurs twice in an object")
    return found


def _constant(name: str) -> None:
    raise invalid(f"'{name}' is not valid JSON")


def _depth(value: object) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inside), default=0)


def _json_hint(text: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "send several edits as one array: [{...}, {...}]"
    is_open = error.msg.startswith("Unterminated string") and text.rstrip()[-1:] not in ("}", "]")
    if is_open or not text[error.pos :].strip():
        return "the input seems to be truncated; send all of it again"
    return _JSON_RULES


class Fence(NamedTuple):
    """An open code fence: its indentation, its marks and the text after them."""

    indent: str
    marks: str
    info: str

    def is_closed_by(self, line: str) -> bool:
        """Whether a line closes it; a line of a hunk does not, because of its leading mark."""
        rest = line.rstrip().removeprefix(self.indent)
        is_long = line.startswith(self.indent) and rest.startswith(self.marks)
        return is_long and not rest.strip(self.marks[0])


def opened_fence(line: str) -> Fence | None:
    """The Markdown fence that a line opens, or None."""
    found = _FENCE.fullmatch(line.rstrip())
    if found is None or "`" in found[3]:
        return None
    return Fence(found[1], found[2], found[3].strip())


def fenced_json(text: str) -> Iterator[tuple[str, int]]:
    """The JSON in the Markdown fences of a text, and the number of lines above each."""
    rows = enumerate(text.split("\n"), 1)
    for above, line in rows:
        if fence := opened_fence(line.strip()):
            inside = takewhile(lambda entry: not fence.is_closed_by(entry[1].strip()), rows)
            block = "\n".join(line for _, line in inside)
            is_json = not fence.info or fence.info.lower().startswith("json")
            if is_json and block.lstrip()[:1] in ("{", "["):
                yield block, above


def too_deep() -> MissError:
    """The error for JSON with too many levels."""
    return invalid(f"the JSON is nested too deeply (at most {MAX_DEPTH} levels)")
