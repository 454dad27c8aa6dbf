"""Raw input becomes numbered edits; everything that is wrong with it is collected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import NamedTuple, NoReturn

from git_boocode.editing import formats
from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import FORMATS, Context, fields

MAX_INPUT = 64 * 1024 * 1024
"""Bytes of one input."""
MAX_EDITS = 5_000
"""Edits of one call."""
_BOM = b"\xef\xbb\xbf"
_COMMANDS = ("str_replace", "insert", "create", "write", "view", "undo_edit", "delete")
"""Of the text-editor tool, those included that cannot be carried out here."""
_PATCHES = (*fields.PATCH, *fields.PATCH_LINES)
_SHELL = ("command", "cmd")
_MISSING = {
    "string": "no 'old_string' and no 'command'",
    "multi": "no 'edits'",
    "write": "no 'content'",
    "region": "no 'changes' and no 'start'",
    "unified": "no 'patch', 'diff' or 'patch_lines'",
    "search-replace": "no 'diff' with a '<<<<<<< SEARCH' line",
    "apply-patch": "no line '*** Begin Patch'",
}
"""What an object lacks to be of a format."""
_NO_DIFF = "no line like '@@ -1,2 +1,3 @@', 'diff --git' or '--- a/name'"
_KEYS = {
    "string": (*fields.OLD, *fields.INSERTED, *fields.INSERT_LINE),
    "multi": fields.EDITS,
    "write": (*fields.CONTENT, *fields.LAZY),
    "region": ("changes", "start"),
    "unified": _PATCHES,
    "search-replace": ("diff",),
    "apply-patch": fields.PATCH,
}
"""The keys that show which format an object comes near to."""
NOTHING_TO_DO = "nothing is to be applied; send only what edits a file"
_SEND = "send {path, old_string, new_string}, a whole file as {path, content}, or a diff as {patch}"


class Source(NamedTuple):
    """One input: what messages call it, such as `standard input`, and its bytes."""

    name: str
    data: bytes


class Inputs(NamedTuple):
    """The edits of a call and what could not be read, each in the order of the input."""

    edits: list[Edit]
    failures: list[Failure]

    @property
    def total(self) -> int:
        """The number of edits, with those that could not be read."""
        return len(self.edits) + len(self.failures)


def read_inputs(sources: Iterable[Source], only: str | None = None) -> Inputs:
    """Read the inputs of one call, and number their edits through.

    `only` is the name of the one format to accept, None to detect it.
    """
    inputs = Inputs([], [])
    number = 0
    for source in sources:
        try:
            value = _value(_text(source))
        except MissError as miss:
            message = f"{source.name}: {miss.message}"
            inputs.failures.append(Failure(None, None, miss.code, message, hint=miss.hint))
            continue
        for item in read_item(value, Context(), only):
            if number >= MAX_EDITS:
                return Inputs([], [_too_many()])
            if isinstance(item, Failure):
                inputs.failures.append(item._replace(number=number))
            else:
                inputs.edits.append(item._replace(number=number))
            number += 1
    return inputs


def _too_many() -> Failure:
    message = f"the call has more than {MAX_EDITS} edits, which is the most that one may have"
    return Failure(None, None, "invalid_input", message, hint="send them in several calls")


def _text(source: Source) -> str:
    size = len(source.data)
    if size > MAX_INPUT:
        _invalid(f"the input has {size} bytes; at most {MAX_INPUT} are read")
    try:
        return source.data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        at = source.data.count(b"\n", 0, error.start) + 1
        _invalid(f"the input is not UTF-8 (byte 0x{source.data[error.start]:02x} in line {at})")


def _value(text: str) -> object:
    """The JSON value that an input is, or the text itself."""
    start = text.lstrip()[:1]
    if not start:
        _invalid("the input is empty; expected edits as JSON, a diff, a patch or blocks")
    if start in '{["':
        try:
            return fields.parse_json(text)
        except MissError:
            if start == "{" or not shapes(text):
                raise
            return text
    if len(text) > 2 * formats.MAX_TEXT:
        _invalid(
            f"the text has {len(text)} characters; at most {formats.MAX_TEXT} are read of a text"
        )
    if shapes(text):
        return text
    # What does not begin like JSON is for the formats to judge, unless it shows JSON in fences.
    values = [fields.parse_json(*block) for block in fields.fenced_json(text)]
    return (values if len(values) > 1 else values[0]) if values else text


def _invalid(message: str) -> NoReturn:
    raise MissError("invalid_input", message)


def read_item(item: object, context: Context, only: str | None = None) -> Iterator[Edit | Failure]:
    """Read an item in the one format that it fits, or the edit that it wraps.

    What is wrong comes out as a failure. `only` is the one format to accept, None to detect it.
    """
    length = sum(map(len, _texts(item, (*_PATCHES, *_SHELL))))
    try:
        if length > formats.MAX_TEXT:
            raise _too_long(length)
        names = shapes(item)
        if names or not isinstance(item, dict):
            yield from _parser(_one_of(names, item, only))(item, context)
            return
        from git_boocode.editing.formats.envelopes import opened

        wrapped = opened(item, context)
        if wrapped is None:
            raise no_format(item, only)
        yield from inner_edits(wrapped.value, wrapped.context, only)
    except MissError as miss:
        # A text that is too long is not repeated in the answer.
        given = None if length > formats.MAX_TEXT else item
        yield Failure.of(miss, None, _path_of(item) or context.path, given)


def inner_edits(
    item: object, context: Context, only: str | None = None
) -> Iterator[Edit | Failure]:
    """As `read_item`, for an item that may not leave the file that what encloses it names."""
    for edit in read_item(item, context, only):
        if isinstance(edit, Edit) and context.path is not None and _leaves(edit.path, context.path):
            message = f"'path' is '{edit.path}', but the edits around it are for '{context.path}'"
            yield Failure(None, edit.path, "invalid_input", message, given=edit.given)
        else:
            yield edit


def _leaves(path: str, outer: str) -> bool:
    return os.path.normpath(path) != os.path.normpath(outer)


def _parser(name: str) -> Callable[[object, Context], Iterator[Edit | Failure]]:
    module, function = FORMATS[name].split(".")
    parser: Callable[[object, Context], Iterator[Edit | Failure]]
    parser = getattr(import_module(f"git_boocode.editing.formats.{module}"), function)
    return parser


def shapes(item: object) -> list[str]:
    """The formats that an item fits: an object by its keys, a text by its first marker line."""
    if isinstance(item, dict):
        return list(_shapes(item))
    if isinstance(item, list):
        return ["multi"]
    mark = mark_of(item)
    return [mark] if mark else []


def _shapes(item: fields.Object) -> Iterator[str]:
    has_path = fields.has(item, fields.PATH)
    is_message = isinstance(item.get("role"), str) or item.get("tool_calls") is not None
    if (is_message and not has_path) or isinstance(item.get("tool_input"), dict):
        return
    mark = mark_of(item)
    command = None if mark == "apply-patch" else item.get("command")
    is_command = command in _COMMANDS or (isinstance(command, str) and has_path)
    inserts = fields.has(item, fields.INSERT_LINE) and fields.has(item, fields.INSERTED)
    has_start = isinstance(item.get("start"), (list, str))
    is_operation = item.get("type") in tuple(fields.OPERATIONS)
    is_diff = mark is None and fields.has(item, ("patch", "patchText", "diff", *fields.PATCH_LINES))
    fits = {
        "string": is_command or inserts or fields.has(item, fields.OLD),
        "multi": fields.has(item, fields.EDITS),
        "write": not isinstance(command, str)
        and not has_start
        and fields.has(item, (*fields.CONTENT, *fields.LAZY)),
        "region": item.get("changes") is not None
        or (has_start and item.get("content") is not None),
        "unified": not is_operation and (is_diff or mark == "unified"),
        "search-replace": mark == "search-replace",
        "apply-patch": mark == "apply-patch" or (is_operation and has_path),
    }
    if not any(fits.values()) and has_path:
        # A new file, as Cline's editor asks for it.
        fits["string"] = fields.has(item, fields.NEW_TEXT)
    yield from (name for name, fitting in fits.items() if fitting)


def _texts(item: object, keys: tuple[str, ...]) -> list[str]:
    """The text that an item is, or the strings that it has under some keys."""
    if not isinstance(item, dict):
        return [item] if isinstance(item, str) else []
    values = [item.get(key) for key in keys]
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    return [text for text in texts if isinstance(text, str)]


def mark_of(item: object) -> str | None:
    """The format of the first marker line of a text, or of an object's patch or command."""
    for keys in (_PATCHES, _SHELL):
        if texts := _texts(item, keys):
            from git_boocode.editing.formats.marks import text_format

            mark = text_format("\n".join(texts))
            if mark is not None and (keys == _PATCHES or mark == "apply-patch"):
                return mark
    return None


def _one_of(names: list[str], item: object, only: str | None) -> str:
    fitting = [name for name in names if only in (None, name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        mixed = f"it mixes the formats {' and '.join(fitting)} in one object"
        raise MissError("invalid_input", mixed)
    raise no_format(item, only)


def no_format(item: object, only: str | None = None) -> MissError:
    """Why an item is not an edit, the nearest format first, in plain words where that is enough."""
    reasons: dict[str, list[str]] = {}
    for name in [only] if only else sorted(FORMATS, key=lambda name: -_nearness(item, name)):
        reasons.setdefault(_reason(item, name), []).append(name)
    shown = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
    if only:
        return MissError("invalid_input", f"it is not of the format {only} ({shown})")
    if isinstance(item, dict) and not any(_nearness(item, name) for name in FORMATS):
        keys = (*fields.PATH, *_SHELL, *(key for keys in _KEYS.values() for key in keys))
        null = next((key for key in keys if key in item and item[key] is None), None)
        if null is not None:
            message = f"'{null}' is null, and nothing else says what to edit"
            return MissError("invalid_input", message, hint="send a value for it")
        if not item:
            return MissError(
                "invalid_input", "the object is empty, so it holds no edit", hint=NOTHING_TO_DO
            )
    return MissError("invalid_input", f"it fits no format ({shown})", hint=_SEND)


def _nearness(item: object, name: str) -> int:
    """The number of keys that an object shares with a format."""
    if not isinstance(item, dict):
        return 0
    return sum(item.get(key) is not None for key in _KEYS[name])


def _reason(item: object, name: str) -> str:
    if name == "unified" and _texts(item, _PATCHES):
        return _NO_DIFF
    if isinstance(item, dict) or (name == "apply-patch" and isinstance(item, str)):
        return _MISSING[name]
    if name == "search-replace" and isinstance(item, str):
        from git_boocode.editing.formats.search_replace import near_miss

        return near_miss(item)
    expected = {"multi": "an array or an object"}.get(name, "text or an object")
    expected = "an object" if name in ("string", "write", "region") else expected
    return f"{fields.kind_of(item, top=True)} instead of {expected}"


def _too_long(length: int) -> MissError:
    return MissError(
        "invalid_input",
        f"the text has {length} characters; at most {formats.MAX_TEXT} are read of a text",
        hint="send it in several calls, or large files whole, as {path, content} in JSON",
    )


def _path_of(item: object) -> str | None:
    if not isinstance(item, dict):
        return None
    return next((item[name] for name in fields.PATH if isinstance(item.get(name), str)), None)
