"""Parse raw input into numbered edits, and collect its errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import NamedTuple

from git_boocode.editing import formats
from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import FORMATS, Context, objects, text_format
from git_boocode.editing.formats.objects import invalid, texts_of
from git_boocode.editing.formats.stray_edits import has_json_edit

MAX_INPUT = 64 * 1024 * 1024  # Bytes.
MAX_EDITS = 5_000
_MAX_DEPTH = 12  # Objects, arrays and strings of JSON around an edit.
_MAX_VALUES = 50_000  # Values around an edit that are searched.

_PATCHES = (*objects.PATCH, *objects.PATCH_LINES)
_KEYS: dict[str, tuple[str, ...]] = {
    "string": (*objects.OLD, *objects.INSERTED, *objects.INSERT_LINE),
    "multi": objects.EDITS,
    "write": (*objects.CONTENT, *objects.LAZY),
    "region": ("changes", "start"),
    "lines": ("changes", *objects.START_LINE, *objects.PLACES, "pos", *objects.ANCHORED),
    "unified": _PATCHES,
    "search-replace": objects.PATCH,
    "apply-patch": objects.PATCH,
}
_SEND = "send {path, old_string, new_string}, a whole file as {path, content}, or a diff as {patch}"

_ARGUMENTS = (
    "arguments", "args", "input", "params", "parameters", "function",
    "tool_input", "toolInput", "tool_args", "toolArgs",
)  # fmt: skip
"""The keys whose strings may be JSON, or a patch."""
_NEVER = (
    *(*objects.OLD, *objects.NEW, *objects.CONTENT, *objects.LAZY, *objects.INSERT_TEXT),
    *("response", "result", "results", "output", "metadata"),
    *("tool_response", "toolResponse", "tool_result", "toolResult", "tool_output", "toolOutput"),
)
"""The keys of a file's text, and of a tool's answer."""
_NAMED = (*objects.PATH, *objects.OLD, *objects.EDITS, *objects.PATCH_LINES, "changes")
"""The keys that make an object an edit, even without the name of its file."""
_OPTIONS = (*objects.REPLACE_ALL, *objects.EXPECTED, *objects.START_LINE)
"""The keys that also apply to an edit inside the object, if they are next to its path."""
_NEAR = (*objects.NEW, *objects.CONTENT, *objects.PATCH, "start")
_NO_CALLS = ("text", "thinking", "redacted_thinking", "reasoning")


_REASONING = re.compile(r"(?:\s*<(think|thinking)>.*?(?:</\1>|\Z))+", re.DOTALL)
"""What a model considers before its answer."""
_ATTEMPT = re.compile(
    r"(?mi)^[ \t]*(?:<{3,} ?\w|>{5,} ?\w|-{5,} ?search|@@|\*\*\* |diff |(?:---|\+\+\+) \S|"
    r"</?(?:\w+:)?(?:search|replace|edit|old|new|patch|diff|file|tool|function|invoke))"
)
"""What may be a marker of an edit, misspelled or of a format that is not supported."""
_HEADER = re.compile(r"\s*\[(?:[^\]\[{\"\n]*|\"(?:[^\"\\\n]|\\.)*\")#[0-9a-fA-F]{4,64}\]")
"""The header of a hashline text, which is not JSON."""


class Source(NamedTuple):
    """One input: its name for messages, such as `standard input`, and its bytes."""

    name: str
    data: bytes


class Inputs(NamedTuple):
    """The edits of a call, and the failures to parse others, in the order of the input."""

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
        for item in read_item(value, Context(read_item), only):
            if number >= MAX_EDITS:
                many = invalid(f"the call has more than {MAX_EDITS} edits", "send several calls")
                return Inputs([], [Failure.of(many, None, None, None)])
            if isinstance(item, Failure):
                inputs.failures.append(item._replace(number=number))
            else:
                inputs.edits.append(item._replace(number=number))
            number += 1
    if not inputs.edits:
        return inputs
    # Beside an edit, what has none was meant to be one.
    failures = (
        each._replace(code="invalid_input") if each.code == "no_edits" else each
        for each in inputs.failures
    )
    return Inputs(inputs.edits, [*failures])


def _text(source: Source) -> str:
    if len(source.data) > MAX_INPUT:
        raise invalid(f"the input is too large: {len(source.data)} bytes (at most {MAX_INPUT})")
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{error.object[error.start]:02x} in line {row}"
        raise invalid(f"the input is not UTF-8 ({wrong})") from None


def _value(text: str) -> object:
    """Parse an input as JSON if it looks like JSON; else return the text itself."""
    reasoning = _REASONING.match(text)
    if reasoning:
        # Messages count the lines of the whole answer.
        text = "\n" * reasoning[0].count("\n") + text[reasoning.end() :]
    start = text.lstrip()[:1]
    if not start:
        raise _empty(reasoning)
    if start in '{["':
        try:
            return objects.parse_json(text)
        except MissError:
            if start == "{" or not shapes(text):
                raise
            return text
    _check_length(text)
    if shapes(text):
        return text
    # A text of unknown format may contain JSON in code fences.
    blocks = [*objects.fenced_json(text)]
    values = [objects.parse_json(*block) for block in blocks]
    if values and has_json_edit(_around(text, blocks), Context(read_item)):
        raise invalid("an edit in JSON is outside of the code fences", "send one JSON array")
    return values[0] if len(values) == 1 else values or text


def _empty(reasoning: re.Match[str] | None) -> MissError:
    """The error for an input without text, or with nothing but reasoning."""
    what, hint = "is empty", _SEND
    if reasoning:
        end = f"</{reasoning[1]}>"
        what = f"has nothing after '{end}'"
        if not reasoning[0].endswith(end):
            what, hint = f"is only reasoning, without '{end}'", f"send '{end}' and then the edits"
    message = f"the input {what}; expected edits as JSON, a diff, a patch or blocks"
    return MissError("no_edits", message, hint=hint)


def _around(text: str, blocks: list[tuple[str, int]]) -> str:
    """A text with the lines of its fenced blocks empty."""
    lines = text.split("\n")
    for block, above in blocks:
        stop = above + block.count("\n") + 1
        lines[above:stop] = [""] * (stop - above)
    return "\n".join(lines)


def _check_length(*texts: str) -> None:
    length = sum(map(len, texts))
    if length > formats.MAX_TEXT:
        raise invalid(
            f"the text is too long: {length} characters (at most {formats.MAX_TEXT})",
            "split it into several calls, or send large files as {path, content} in JSON",
        )


def read_item(item: object, context: Context, only: str | None = None) -> Iterator[Edit | Failure]:
    """Parse an item in its format, or the edit that it wraps.

    Errors are yielded as failures, also for an edit of another file than `context.path`.
    """
    given = None
    try:
        _check_length(*texts_of(item, (*_PATCHES, *objects.SHELL)))
        given = item
        outer = context.path and os.path.normpath(context.path)
        for edit in _edits(item, context, only):
            strays = outer is not None and os.path.normpath(edit.path or "") != outer
            if strays and not isinstance(edit, Failure):
                message = f"'path' is '{edit.path}', but the edits around it are for '{outer}'"
                yield Failure.of(invalid(message), None, edit.path, edit.given)
            else:
                yield edit
    except MissError as miss:
        paths = item if isinstance(item, dict) else {}
        path = next((paths[key] for key in objects.PATH if isinstance(paths.get(key), str)), None)
        yield Failure.of(miss, None, path or context.path, given)


def _edits(item: object, context: Context, only: str | None) -> Iterator[Edit | Failure]:
    fitting = shapes(item)
    if isinstance(item, dict) and not fitting:
        wrapped = _opened(item, context, only)
        return read_item(wrapped.value, wrapped.context, only)
    chosen = [name for name in fitting if only in (None, name)]
    if not chosen:
        is_prose = not fitting and _is_plain(item)
        raise _no_edits(item, only) if is_prose else _no_format(item, only)
    if len(chosen) > 1:
        raise invalid(f"it mixes the formats {' and '.join(chosen)} in one object")
    module, function = FORMATS[chosen[0]][0].split(".")
    parser = getattr(import_module(f"git_boocode.editing.formats.{module}"), function)
    edits: Iterator[Edit | Failure] = parser(item, context)
    return edits


def shapes(item: object) -> list[str]:
    """The formats of an item, according to an object's keys or a text's first marker line."""
    if isinstance(item, list):
        return ["multi"]
    mark = _mark_of(item)
    if not isinstance(item, dict):
        is_header = isinstance(item, str) and _HEADER.match(item)
        return [mark] if mark else ["lines"] if is_header else []
    has_path = objects.key_of(item, objects.PATH)
    is_message = isinstance(item.get("role"), str) or item.get("tool_calls") is not None
    if (is_message and not has_path) or isinstance(item.get("tool_input"), dict):
        return []
    command = item.get("command")
    is_command = isinstance(command, str) and mark != "apply-patch"
    has_start = isinstance(item.get("start"), (list, str))
    is_operation = item.get("type") in tuple(objects.OPERATIONS)
    is_region, is_lines = objects.change_formats(item)
    is_positioned = bool(has_path) and objects.is_positioned(item)
    has_diff = objects.key_of(item, ("patch", "patchText", "diff", *objects.PATCH_LINES))
    fits = {
        "string": (is_command and (has_path or command in objects.COMMANDS))
        or (objects.key_of(item, objects.INSERT_LINE) and objects.key_of(item, objects.INSERTED))
        or objects.key_of(item, objects.OLD),
        "multi": not is_positioned and objects.key_of(item, objects.EDITS),
        "write": not (is_command or has_start or (is_lines and item.get("changes") is None))
        and objects.key_of(item, _KEYS["write"]),
        "region": is_region,
        "lines": is_lines or is_positioned or mark == "lines",
        "unified": not is_operation and (mark == "unified" or (mark is None and has_diff)),
        "search-replace": mark == "search-replace",
        "apply-patch": mark == "apply-patch" or (is_operation and has_path),
    }
    if not any(fits.values()) and has_path:
        # A new file in the format of Cline's editor.
        fits["string"] = objects.key_of(item, objects.NEW_TEXT)
    return [name for name, fitting in fits.items() if fitting]


def _mark_of(item: object) -> str | None:
    """The format of the first marker line of a text, or of an object's patch or command."""
    mark = text_format("\n".join(texts_of(item, _PATCHES)))
    if mark is None and text_format("\n".join(texts_of(item, objects.SHELL))) == "apply-patch":
        return "apply-patch"
    return mark


def _no_format(item: object, only: str | None = None) -> MissError:
    """The error for an item that is not an edit, with the most similar format first."""
    if only:
        return invalid(f"it is not in the format {only} ({FORMATS[only][1]})")
    what = "it" if isinstance(item, (dict, str)) else objects.kind_of(item)
    keys = item if isinstance(item, dict) else objects.PATCH
    nearest = sorted(FORMATS, key=lambda name: -sum(key in keys for key in _KEYS[name]))
    shown = "; ".join(f"{name}: {FORMATS[name][1]}" for name in nearest)
    return invalid(f"{what} matches no format ({shown})", _SEND)


def _is_plain(item: object) -> bool:
    """Whether an item is a text in which nothing looks like an edit, not even a broken one."""
    if not isinstance(item, str) or _ATTEMPT.search(item):
        return False
    return not has_json_edit(item, Context(read_item))


def _no_edits(item: object, only: str | None = None) -> MissError:
    """The error for an item without an edit: an answer in prose, or the call of another tool."""
    miss = _no_format(item, only)
    return MissError("no_edits", miss.message, hint=miss.hint)


# Edits inside hook payloads, tool calls, and messages with calls


class _Wrapped(NamedTuple):
    """An edit, an array of edits or a text, with the keys that lead to it and its context."""

    value: object
    keys: tuple[str, ...]
    context: Context


def _opened(item: objects.Object, context: Context, only: str | None) -> _Wrapped:
    """The only edit in an object, under any keys except those of file text and results."""
    search = _EditSearch()
    first: _Wrapped | None = None
    for found in search.look(_Wrapped(item, (), context), ""):
        first = first or found
        if (found.value, found.context) != (first.value, first.context):
            places = " and ".join(f"'{'.'.join(one.keys)}'" for one in (first, found))
            raise invalid(f"{places} contain different edits", "send only one of them")
    if first is not None:
        return first
    is_other = not (only or objects.key_of(item, objects.PATH))
    miss = search.miss or (_no_edits(item) if is_other else _no_format(item, only))
    tool = next((item[key] for key in ("tool_name", "toolName", "tool") if item.get(key)), None)
    if isinstance(tool, str):
        call = f"the call of the tool '{tool:.40}' contains no edit"
        raise miss.reworded(f"{call}: {miss.message}")
    raise miss


class _EditSearch:
    """A search for edits; `miss` explains why there is none."""

    def __init__(self) -> None:
        self.values = 0
        self.miss: MissError | None = None

    def look(self, wrapped: _Wrapped, key: str) -> Iterator[_Wrapped]:
        """The edits in a value under a key."""
        self.values += 1
        if self.values > _MAX_VALUES:
            many = f"the object has more than {_MAX_VALUES} values around its edit"
            raise invalid(many, "send only the edit")
        value, keys = wrapped.value, wrapped.keys
        if isinstance(value, str):
            yield from self._text(wrapped, value) if key in _ARGUMENTS else ()
        elif isinstance(value, (dict, list)) and len(keys) > _MAX_DEPTH:
            self.miss = self.miss or objects.too_deep()
        elif isinstance(value, dict):
            yield from self._object(wrapped, value)
        elif isinstance(value, list):
            calls = [entry for entry in value if not _is_prose(entry)]
            entries = (wrapped._replace(value=entry, keys=(*keys, "")) for entry in calls)
            if any(True for entry in entries for _ in self.look(entry, "")):
                yield wrapped._replace(value=calls)

    def _text(self, wrapped: _Wrapped, text: str) -> Iterator[_Wrapped]:
        if text.lstrip()[:1] in ("{", "["):
            try:
                value = objects.parse_json(text)
            except MissError as miss:
                self.miss = miss
            else:
                yield from self.look(wrapped._replace(value=value), "")
                return
        if shapes(text):
            yield wrapped

    def _object(self, wrapped: _Wrapped, item: objects.Object) -> Iterator[_Wrapped]:
        keys, context = wrapped.keys, wrapped.context
        # A few keys make an edit only if its file is named.
        is_named = context.path is not None or objects.key_of(item, _NAMED)
        if (is_named or _mark_of(item) is not None) and shapes(item):
            yield wrapped
            return
        paths = {key: item[key] for key in objects.PATH if isinstance(item.get(key), str)}
        if paths:
            context = objects.enclosed(paths | {"base": item.get("base")}, context)
        options = {key: item[key] for key in _OPTIONS if paths and item.get(key) is not None}
        text = _prose(item.get("content")) if item.get("role") in ("assistant", "model") else ""
        is_message = isinstance(item.get("role"), str)
        for key in item:
            if key in _NEVER and not (is_message and key == "content"):
                continue
            for found in self.look(_Wrapped(item[key], (*keys, key), context), key):
                text = ""
                objects.check_switches(item)
                edit = found.value
                yield found._replace(value=options | edit if isinstance(edit, dict) else edit)
        if shapes(text):
            yield _Wrapped(text, keys, context)
        else:
            self.miss = self.miss or _miss_beside(item, text)


def _miss_beside(item: objects.Object, text: str) -> MissError | None:
    """Why an object that contains no edit is none itself; None if it does not look like one."""
    if isinstance(item.get("role"), str) and _is_plain(text):
        return _no_edits(text)
    # The arguments of a call, under a key such as `input`, have been searched.
    is_near = any(item.get(key) is not None and not isinstance(item[key], dict) for key in _NEAR)
    return _no_format(item) if is_near else None


def _is_prose(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("type") in _NO_CALLS or [*entry] == ["text"])


def _prose(content: object) -> str:
    """The text of a message without calls."""
    entries = content if isinstance(content, list) else [{"text": content}]
    return "\n".join(text for entry in entries for text in texts_of(entry, ("text",)))
