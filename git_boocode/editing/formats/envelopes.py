"""Find the edit inside what it was sent in: a hook payload, a tool call, a message with calls.

An envelope is an object that is not an edit itself and holds exactly one, under any keys. Text of
files and the results of tools are not searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.editing.edits import Failure, MissError
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.inputs import NOTHING_TO_DO, mark_of, no_format, read_item, shapes

_MAX_DEPTH = 12
"""Objects, arrays and strings of JSON around an edit."""
_MAX_VALUES = 50_000
"""Values of one envelope that are looked at."""
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
_NAMELESS = (*fields.OLD, *fields.INSERT_LINE, *fields.EDITS, *fields.PATCH_LINES, "changes")
"""The keys that make an object an edit although its path is missing."""
_OPTIONS = (*fields.REPLACE_ALL, *fields.EXPECTED, *fields.START_LINE)
"""The keys that count for the edit inside where they are beside its path."""
_NEAR = (*fields.NEW, *fields.CONTENT, *fields.PATCH, "start")
_NO_CALLS = ("text", "thinking", "redacted_thinking", "reasoning")
_TOOL = ("tool_name", "toolName", "tool")
_MODEL = ("assistant", "model")


class Wrapped(NamedTuple):
    """An edit, an array of them or a text; the keys that lead to it, and what encloses it."""

    value: object
    keys: str
    context: Context


def opened(item: fields.Object, context: Context) -> Wrapped | None:
    """What an object wraps; None if it wraps no edit and is no call of a tool either.

    Raises:
        MissError: it wraps several edits that differ, or is a call that holds none.
    """
    search = _Search()
    found: Wrapped | None = None
    for one in search.inside(item, "", context, 0):
        if found is None:
            found = one
        elif one.value != found.value and _meaning(one) != _meaning(found):
            raise MissError(
                "invalid_input",
                f"'{found.keys}' and '{one.keys}' hold different edits",
                hint="send only the one that is meant",
            )
    if found is None:
        search.explain(item)
    return found


def _meaning(wrapped: Wrapped) -> list[object]:
    """What edits do, however they are spelled; what cannot be read equals only itself."""
    edits = read_item(wrapped.value, wrapped.context)
    return [edit if isinstance(edit, Failure) else (edit[1:4], edit.to) for edit in edits]


class _Search:
    """Looks through an envelope for edits, and notes what explains that there is none."""

    def __init__(self) -> None:
        self.count = 0
        self.is_cut = False
        self.error: MissError | None = None
        self.near: fields.Object | None = None

    def explain(self, item: fields.Object) -> None:
        """Raise the reason why nothing was found, if it is another one than that of the object."""
        if self.error is not None:
            raise self.error
        if self.is_cut:
            fields.too_deep()
        miss = None if self.near is None else no_format(self.near)
        tool = next((item[key] for key in _TOOL if item.get(key)), None)
        if isinstance(tool, str):
            message = f"the call of the tool '{tool[:40]}' holds no edit"
            message += f": {miss.message}" if miss else ""
            raise MissError("invalid_input", message, hint=miss.hint if miss else NOTHING_TO_DO)
        if miss:
            raise miss

    def inside(
        self, item: fields.Object, keys: str, context: Context, depth: int
    ) -> Iterator[Wrapped]:
        """The edits in an object that is none itself."""
        paths = {key: item[key] for key in fields.PATH if isinstance(item.get(key), str)}
        options = {}
        if paths:
            path = fields.text(paths, fields.PATH)
            context = context._replace(path=path, base=fields.base(item) or context.base)
            options = {key: item[key] for key in _OPTIONS if item.get(key) is not None}
        found = False
        is_message = isinstance(item.get("role"), str)
        for key, value in item.items():
            if key not in _NEVER or (is_message and key == "content"):
                wrapped = Wrapped(value, f"{keys}.{key}" if keys else key, context)
                for one in self._look(wrapped, key, depth + 1):
                    found = True
                    fields.check_switches(item)
                    edit = one.value
                    yield one._replace(value=options | edit if isinstance(edit, dict) else edit)
        if not found and item.get("role") in _MODEL:
            text = _prose(item.get("content"))
            if shapes(text):
                yield Wrapped(text, keys, context)

    def _look(self, wrapped: Wrapped, key: str, depth: int) -> Iterator[Wrapped]:
        self._count()
        value = wrapped.value
        if isinstance(value, str) and key in _ARGUMENTS:
            value = self._parsed(value)
        if isinstance(value, str):
            if key in _ARGUMENTS and shapes(value):
                yield wrapped
        elif depth > _MAX_DEPTH:
            self.is_cut = self.is_cut or isinstance(value, (dict, list))
        elif isinstance(value, dict):
            yield from self._object(wrapped._replace(value=value), value, depth)
        elif isinstance(value, list):
            calls = [entry for entry in value if not _is_prose(entry)]
            entries = (wrapped._replace(value=entry) for entry in calls)
            if any(True for entry in entries for _ in self._look(entry, "", depth + 1)):
                yield wrapped._replace(value=calls)

    def _count(self) -> None:
        self.count += 1
        if self.count > _MAX_VALUES:
            raise MissError(
                "invalid_input",
                f"the object holds more than {_MAX_VALUES} values around its edit",
                hint="send only what edits a file",
            )

    def _object(self, wrapped: Wrapped, item: fields.Object, depth: int) -> Iterator[Wrapped]:
        if _is_edit(item, wrapped.context):
            yield wrapped
            return
        if self.near is None and fields.has(item, _NEAR):
            self.near = item
        yield from self.inside(item, wrapped.keys, wrapped.context, depth)

    def _parsed(self, text: str) -> object:
        if text.lstrip()[:1] not in ("{", "["):
            return text
        try:
            return fields.parse_json(text)
        except MissError as miss:
            self.error = self.error or miss
            return text


def _is_edit(item: fields.Object, context: Context) -> bool:
    """Whether an object is an edit; by few keys only where its file is named."""
    names = shapes(item)
    if not names or context.path is not None or fields.has(item, (*fields.PATH, *_NAMELESS)):
        return bool(names)
    return mark_of(item) is not None


def _is_prose(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("type") in _NO_CALLS or [*entry] == ["text"])


def _prose(content: object) -> str:
    """The text of a message without calls."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = [entry.get("text") for entry in content if isinstance(entry, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
