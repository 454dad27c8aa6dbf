"""Find the edit inside what it was sent in: a hook payload, a tool call, a message with calls.

An envelope is an object that is not an edit itself and holds exactly one, under any keys. Text of
files and the results of tools are not searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.editing.edits import Failure, MissError
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.formats.fields import invalid
from git_boocode.editing.inputs import NOTHING_TO_DO, mark_of, no_format, read_item, shapes

_MAX_DEPTH = 12  # Objects, arrays and strings of JSON around an edit.
_MAX_VALUES = 50_000  # Values of one envelope that are looked at.
_ARGUMENTS = (
    "arguments", "args", "input", "params", "parameters", "function",
    "tool_input", "toolInput", "tool_args", "toolArgs",
)  # fmt: skip
"""The keys whose strings may be JSON, or a patch."""
_NEVER = (
    *(*fields.OLD, *fields.NEW, *fields.CONTENT, *fields.LAZY, *fields.INSERT_TEXT),
    *("response", "result", "results", "output", "metadata"),
    *("tool_response", "toolResponse", "tool_result", "toolResult", "tool_output", "toolOutput"),
)
"""The keys of a file's text, and of what a tool answered."""
_NAMED = (
    *(*fields.PATH, *fields.OLD, *fields.INSERT_LINE, *fields.EDITS, *fields.PATCH_LINES),
    "changes",
)
"""The keys that make an object an edit, its file named or not."""
_OPTIONS = (*fields.REPLACE_ALL, *fields.EXPECTED, *fields.START_LINE)
"""The keys that count for the edit inside where they are beside its path."""
_NEAR = (*fields.NEW, *fields.CONTENT, *fields.PATCH, "start")
_NO_CALLS = ("text", "thinking", "redacted_thinking", "reasoning")


class Wrapped(NamedTuple):
    """An edit, an array of them or a text; the keys that lead to it, and what encloses it."""

    value: object
    keys: str
    context: Context

    @property
    def meaning(self) -> list[object]:
        """What its edits do, however they are spelled; what cannot be read equals only itself."""
        edits = read_item(self.value, self.context)
        return [edit if isinstance(edit, Failure) else (edit[1:4], edit.to) for edit in edits]


def opened(item: fields.Object, context: Context) -> Wrapped | None:
    """What an object wraps; None if it wraps no edit and is no call of a tool either.

    MissError if it wraps several edits that differ, or is a call that holds none.
    """
    search = _Search()
    first: Wrapped | None = None
    for found in search.inside(Wrapped(item, "", context), item, 0):
        first = first or found
        if found.value != first.value and found.meaning != first.meaning:
            raise invalid(
                f"'{first.keys}' and '{found.keys}' hold different edits",
                "send only the one that is meant",
            )
    if first is None:
        tool = next((item[key] for key in ("tool_name", "toolName", "tool") if item.get(key)), None)
        miss = search.miss
        if isinstance(tool, str):
            reason = f": {miss.message}" if miss else ""
            hint = miss.hint if miss else NOTHING_TO_DO
            raise invalid(f"the call of the tool '{tool[:40]}' holds no edit{reason}", hint)
        if miss:
            raise miss
    return first


class _Search:
    """A search for edits; `miss` explains why there is none."""

    def __init__(self) -> None:
        self.values = 0
        self.miss: MissError | None = None

    def inside(self, outer: Wrapped, item: fields.Object, depth: int) -> Iterator[Wrapped]:
        """The edits in an object that is none itself."""
        _, keys, context = outer
        options = {}
        paths = {key: item[key] for key in fields.PATH if isinstance(item.get(key), str)}
        if paths:
            path = fields.text(paths, fields.PATH)
            context = context._replace(path=path, base=fields.base(item) or context.base)
            options = {key: item[key] for key in _OPTIONS if item.get(key) is not None}
        is_message = isinstance(item.get("role"), str)
        is_found = False
        for key, value in item.items():
            if key not in _NEVER or (is_message and key == "content"):
                inner = Wrapped(value, f"{keys}.{key}" if keys else key, context)
                for found in self._look(inner, key, depth + 1):
                    is_found = True
                    fields.check_switches(item)
                    edit = found.value
                    yield found._replace(value=options | edit if isinstance(edit, dict) else edit)
        if not is_found and item.get("role") in ("assistant", "model"):
            text = _prose(item.get("content"))
            if shapes(text):
                yield Wrapped(text, keys, context)

    def _look(self, wrapped: Wrapped, key: str, depth: int) -> Iterator[Wrapped]:
        self.values += 1
        if self.values > _MAX_VALUES:
            raise invalid(
                f"the object holds more than {_MAX_VALUES} values around its edit",
                "send only what edits a file",
            )
        value = wrapped.value
        if isinstance(value, str) and key in _ARGUMENTS:
            value = self._parsed(value)
            if isinstance(value, str) and shapes(value):
                yield wrapped
        if isinstance(value, (dict, list)) and depth > _MAX_DEPTH:
            self.miss = self.miss or fields.too_deep()
        elif isinstance(value, list):
            calls = [entry for entry in value if not _is_prose(entry)]
            entries = (wrapped._replace(value=entry) for entry in calls)
            if any(True for entry in entries for _ in self._look(entry, "", depth + 1)):
                yield wrapped._replace(value=calls)
        elif isinstance(value, dict):
            yield from self._object(wrapped._replace(value=value), value, depth)

    def _object(self, wrapped: Wrapped, item: fields.Object, depth: int) -> Iterator[Wrapped]:
        # A few keys make an edit only where its file is named.
        is_named = wrapped.context.path is not None or fields.has(item, _NAMED)
        if (is_named or mark_of(item) is not None) and shapes(item):
            yield wrapped
            return
        if fields.has(item, _NEAR):
            self.miss = self.miss or no_format(item)
        yield from self.inside(wrapped, item, depth)

    def _parsed(self, text: str) -> object:
        if text.lstrip()[:1] in ("{", "["):
            try:
                return fields.parse_json(text)
            except MissError as miss:
                self.miss = self.miss or miss
        return text


def _is_prose(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("type") in _NO_CALLS or [*entry] == ["text"])


def _prose(content: object) -> str:
    """The text of a message without calls."""
    entries = content if isinstance(content, list) else [{"text": content}]
    texts = [entry.get("text") for entry in entries if isinstance(entry, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
