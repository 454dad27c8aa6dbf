"""Raw input becomes numbered edits; everything that is wrong with it is collected."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import NamedTuple

from git_boocode.editing import formats
from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import FORMATS, Context, fields
from git_boocode.editing.formats.fields import invalid

MAX_INPUT = 64 * 1024 * 1024  # Bytes.
MAX_EDITS = 5_000
_PATCHES = (*fields.PATCH, *fields.PATCH_LINES)
_KEYS: dict[str, tuple[str, ...]] = {
    "string": (*fields.OLD, *fields.INSERTED, *fields.INSERT_LINE),
    "multi": fields.EDITS,
    "write": (*fields.CONTENT, *fields.LAZY),
    "region": ("changes", "start"),
    "unified": _PATCHES,
    "search-replace": ("diff",),
    "apply-patch": fields.PATCH,
    "": (*fields.PATH, *fields.SHELL),
}
"""The keys of each format, and those of no certain one."""
NOTHING_TO_DO = "nothing is to be applied; send only what edits a file"
_SEND = "send {path, old_string, new_string}, a whole file as {path, content}, or a diff as {patch}"


class Source(NamedTuple):
    """One input: what messages call it, such as `standard input`, and its bytes."""

    name: str
    data: bytes


class Inputs(NamedTuple):
    """The edits of a call, and what could not be read as one, in the order of the input."""

    edits: list[Edit]
    failures: list[Failure]

    @property
    def total(self) -> int:
        """The number of both."""
        return len(self.edits) + len(self.failures)


def read_inputs(sources: Iterable[Source], only: str | None = None) -> Inputs:
    """Read the inputs of one call, in any format or `only` one, and number their edits through."""
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
                many = invalid(f"the call has more than {MAX_EDITS} edits", "send several calls")
                return Inputs([], [Failure.of(many, None, None, None)])
            if isinstance(item, Failure):
                inputs.failures.append(item._replace(number=number))
            else:
                inputs.edits.append(item._replace(number=number))
            number += 1
    return inputs


def _text(source: Source) -> str:
    if len(source.data) > MAX_INPUT:
        raise invalid(f"the input has {len(source.data)} bytes; at most {MAX_INPUT} are read")
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{error.object[error.start]:02x} in line {row}"
        raise invalid(f"the input is not UTF-8 ({wrong})") from None


def _value(text: str) -> object:
    """The JSON value that an input is, or the text itself."""
    start = text.lstrip()[:1]
    if not start:
        raise invalid("the input is empty; expected edits as JSON, a diff, a patch or blocks")
    if start in '{["':
        try:
            return fields.parse_json(text)
        except MissError:
            if start == "{" or not shapes(text):
                raise
            return text
    _check_length(text)
    if shapes(text):
        return text
    # The formats judge what does not begin like JSON, unless it shows JSON in fences.
    values = [fields.parse_json(*block) for block in fields.fenced_json(text)]
    return (values if len(values) > 1 else values[0]) if values else text


def _check_length(*texts: str) -> None:
    length = sum(map(len, texts))
    if length > formats.MAX_TEXT:
        raise invalid(
            f"the text has {length} characters; at most {formats.MAX_TEXT} are read of a text",
            "send it in several calls, or large files whole, as {path, content} in JSON",
        )


def read_item(item: object, context: Context, only: str | None = None) -> Iterator[Edit | Failure]:
    """Read an item in the one format that it fits, or the edit that it wraps.

    What is wrong comes out as a failure, and so does an edit of another file than `context.path`.
    """
    given = None
    try:
        _check_length(*_texts(item, (*_PATCHES, *fields.SHELL)))
        given = item
        for edit in _edits(item, context, only):
            outer = context.path
            if outer is None or isinstance(edit, Failure) or _same(edit.path, outer):
                yield edit
            else:
                leaves = f"'path' is '{edit.path}', but the edits around it are for '{outer}'"
                yield Failure.of(invalid(leaves), None, edit.path, edit.given)
    except MissError as miss:
        paths = item if isinstance(item, dict) else {}
        path = next((paths[key] for key in fields.PATH if isinstance(paths.get(key), str)), None)
        yield Failure.of(miss, None, path or context.path, given)


def _edits(item: object, context: Context, only: str | None) -> Iterator[Edit | Failure]:
    fitting = shapes(item)
    if isinstance(item, dict) and not fitting:
        from git_boocode.editing.formats.envelopes import opened

        wrapped = opened(item, context)
        if wrapped is not None:
            return read_item(wrapped.value, wrapped.context, only)
    chosen = [name for name in fitting if only in (None, name)]
    if not chosen:
        raise no_format(item, only)
    if len(chosen) > 1:
        raise invalid(f"it mixes the formats {' and '.join(chosen)} in one object")
    module, function = FORMATS[chosen[0]][0].split(".")
    parser = getattr(import_module(f"git_boocode.editing.formats.{module}"), function)
    edits: Iterator[Edit | Failure] = parser(item, context)
    return edits


def _same(path: str, other: str) -> bool:
    return os.path.normpath(path) == os.path.normpath(other)


def shapes(item: object) -> list[str]:
    """The formats that an item fits: an object by its keys, a text by its first marker line."""
    if isinstance(item, list):
        return ["multi"]
    if not isinstance(item, dict):
        mark = mark_of(item)
        return [mark] if mark else []
    has_path = fields.has(item, fields.PATH)
    is_message = isinstance(item.get("role"), str) or item.get("tool_calls") is not None
    if (is_message and not has_path) or isinstance(item.get("tool_input"), dict):
        return []
    mark = mark_of(item)
    command = None if mark == "apply-patch" else item.get("command")
    is_command = isinstance(command, str)
    has_start = isinstance(item.get("start"), (list, str))
    is_operation = item.get("type") in tuple(fields.OPERATIONS)
    is_diff = mark is None and fields.has(item, ("patch", "patchText", "diff", *fields.PATCH_LINES))
    fits = {
        "string": (is_command and (has_path or command in fields.COMMANDS))
        or (fields.has(item, fields.INSERT_LINE) and fields.has(item, fields.INSERTED))
        or fields.has(item, fields.OLD),
        "multi": fields.has(item, fields.EDITS),
        "write": not (is_command or has_start)
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
    return [name for name, fitting in fits.items() if fitting]


def _texts(item: object, keys: tuple[str, ...]) -> list[str]:
    """The text that an item is, or the strings that it has under some keys."""
    if not isinstance(item, dict):
        return [item] if isinstance(item, str) else []
    values = [item.get(key) for key in keys]
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    return [text for text in texts if isinstance(text, str)]


def mark_of(item: object) -> str | None:
    """The format of the first marker line of a text, or of an object's patch or command."""
    mark = text_format("\n".join(_texts(item, _PATCHES)))
    if mark is None and isinstance(item, dict):
        mark = text_format("\n".join(_texts(item, fields.SHELL)))
        return mark if mark == "apply-patch" else None
    return mark


def text_format(text: str) -> str | None:
    """The format whose opening line comes first in a text; lines of others may be its content."""
    found = re.search(
        r"(?m)^(?:(?P<apply>(?:[ \t]*|.*\bapply_patch\s+['\"])\*\*\* (?:Begin Patch|"
        r"(?:Add|Update|Delete) File: ))|[ \t]*(?:(?P<search><{5,} ?(?:SEARCH|ORIGINAL)\b"
        r"|-{5,} ?SEARCH>?[ \t\r]*$)|diff --(?:git|cc|combined) |--- [^\n]*\n[ \t]*\+\+\+ |@@+ "
        r"|@@\r?$|rename from ))",
        text,
    )
    if not found:
        return None
    return {"apply": "apply-patch", "search": "search-replace"}.get(
        found.lastgroup or "", "unified"
    )


def no_format(item: object, only: str | None = None) -> MissError:
    """Why an item is not an edit, the nearest format first, in plain words where that is enough."""
    known = item if isinstance(item, dict) else {}
    near = {name: sum(known.get(key) is not None for key in _KEYS[name]) for name in FORMATS}
    missing = {name: lacks for name, (_, lacks) in FORMATS.items()}
    if isinstance(item, str):
        from git_boocode.editing.formats.search_replace import near_miss

        missing["search-replace"] = near_miss(item)
    if only:
        return invalid(f"it is not of the format {only} ({missing[only]})")
    keys = [key for keys in _KEYS.values() for key in keys if key in known]
    if keys and not any(near.values()) and (null := [key for key in keys if known[key] is None]):
        return invalid(f"'{null[0]}' is null, and nothing else says what to edit", "send its value")
    if item == {}:
        return invalid("the object is empty, so it holds no edit", NOTHING_TO_DO)
    what = "it" if isinstance(item, (dict, str)) else fields.kind_of(item)
    possible = ("unified", "search-replace", "apply-patch") if isinstance(item, str) else FORMATS
    nearest = sorted(possible, key=lambda name: -near[name])
    shown = "; ".join(f"{name}: {missing[name]}" for name in nearest)
    return invalid(f"{what} fits no format ({shown})", _SEND)
