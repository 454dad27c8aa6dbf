"""The input formats: one module each, registered in one table, tried in one place.

A module of a format offers two functions. `mismatch(item)` says why an item is not of this
format, or None when it is. `drafts(item, context)` reads it. An item is a parsed JSON value, or
the whole text of an input that is not JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import NamedTuple, Protocol

from git_boocode.editing.edits import Action, Failure, MissError
from git_boocode.editing.formats.envelopes import unwrapped

FORMATS = {
    "string": "git_boocode.editing.formats.string",
    "multi": "git_boocode.editing.formats.multi",
    "write": "git_boocode.editing.formats.write",
    "region": "git_boocode.editing.formats.region",
    "unified": "git_boocode.editing.formats.unified",
    "search-replace": "git_boocode.editing.formats.search_replace",
    "apply-patch": "git_boocode.editing.formats.apply_patch",
}


MAX_TEXT = 8 * 1024 * 1024
"""So many characters of a diff, a patch or blocks are read in one text."""


class Context(NamedTuple):
    """What an enclosing object says for the edits inside it.

    Attributes:
        path: its path, or None.
        base: its blob id, or None.
        depth: how many objects enclose the item.
    """

    path: str | None = None
    base: str | None = None
    depth: int = 0


class Draft(NamedTuple):
    """An edit that has no number yet; `to` is the path that the file gets after the action."""

    path: str
    action: Action
    base: str | None
    format: str
    given: object
    to: str | None = None


class Format(Protocol):
    """What a format's module offers."""

    def mismatch(self, item: object) -> str | None:
        """Why an item is not of this format; None if it is."""

    def drafts(self, item: object, context: Context) -> Iterator[Draft | Failure]:
        """The edits of an item that is of this format; what is wrong with one, in its place.

        Raises:
            MissError: the item as a whole is wrong (`invalid_input`).
        """


def load(name: str) -> Format:
    """The module of a format."""
    module: Format = import_module(FORMATS[name])
    return module


def read_item(item: object, context: Context, only: str | None = None) -> Iterator[Draft | Failure]:
    """Read an item in the one format that it fits; what is wrong comes out as a failure.

    Args:
        item: a JSON value, or text.
        context: what encloses it.
        only: the one format to try, or None to detect it.
    """
    outer = item
    try:
        item = unwrapped(item)
        if (length := _text_length(item)) > MAX_TEXT:
            # Nor is it repeated in the answer.
            yield Failure.of(_too_long(length), None, _path_of(item) or context.path, None)
            return
        name = detect(item, only)
    except MissError as miss:
        miss = miss if only or miss.hint else _plainly(miss, outer, item)
        yield Failure.of(miss, None, _path_of(item) or context.path, item)
        return
    try:
        yield from load(name).drafts(item, context)
    except MissError as miss:
        yield Failure.of(miss, None, _path_of(item) or context.path, item)


def _text_length(item: object) -> int:
    """How long an item's diff, patch or blocks are, which are searched to tell its format."""
    from git_boocode.editing.formats import fields
    from git_boocode.editing.formats.patches import LINES

    keys = (*fields.PATCH, *LINES, "command", "cmd")
    if isinstance(item, list):
        return 0
    texts = [item.get(key) for key in keys] if isinstance(item, dict) else [item]
    texts = [text for value in texts for text in (value if isinstance(value, list) else [value])]
    return sum(len(text) for text in texts if isinstance(text, str))


def _too_long(length: int) -> MissError:
    return MissError(
        "invalid_input",
        f"the text has {length} characters; at most {MAX_TEXT} are read of a text",
        hint="send it in several calls, or large files whole, as {path, content} in JSON",
    )


def _plainly(miss: MissError, outer: object, item: object) -> MissError:
    """Why an input is no edit, in plain words where it is something else that hosts send."""
    hint = "nothing is to be applied; send only what edits a file"
    tool = outer.get("tool_name") if isinstance(outer, dict) else None
    if isinstance(tool, str):
        message = f"the call of the tool '{tool[:40]}' holds no edit"
        if _hints_at_edit(item):
            return MissError(miss.code, f"{message}: {miss.message}", hint=miss.hint)
        return MissError(miss.code, message, hint=hint)
    if item == {}:
        return MissError(miss.code, "the object is empty, so it holds no edit", hint=hint)
    nulls = [name for name in item if item[name] is None] if isinstance(item, dict) else []
    if nulls:
        message = f"'{str(nulls[0])[:40]}' is null, and nothing else says what to edit"
        return MissError(miss.code, message, hint="send a value for it, as a string or an array")
    return miss


def detect(item: object, only: str | None = None) -> str:
    """The name of the format that an item fits.

    Raises:
        MissError: it fits none, or several at once (`invalid_input`).
    """
    names = [only] if only else list(FORMATS)
    tried = {name: load(name).mismatch(item) for name in names}
    fitting = [name for name, reason in tried.items() if reason is None]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise MissError(
            "invalid_input", f"it mixes the formats {' and '.join(fitting)} in one object"
        )
    reasons = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in _grouped(tried))
    fits = f"it is not of the format {only}" if only else "it fits no format"
    raise MissError("invalid_input", f"{fits} ({reasons})")


def _hints_at_edit(item: object) -> bool:
    """Whether an object has a key of an edit, so that the reasons why it is none are of use."""
    from git_boocode.editing.formats import fields
    from git_boocode.editing.formats.patches import LINES

    keys = (*fields.OLD, *fields.NEW, *fields.CONTENT, *fields.EDITS, *fields.PATCH, *LINES)
    return isinstance(item, dict) and fields.has(item, (*keys, "changes", "start"))


def _grouped(tried: Mapping[str, str | None]) -> Iterator[tuple[str, list[str]]]:
    """The reasons, each once, with the formats that give it."""
    names: dict[str, list[str]] = {}
    for name, reason in tried.items():
        names.setdefault(reason or "", []).append(name)
    return iter(names.items())


def _path_of(item: object) -> str | None:
    from git_boocode.editing.formats.fields import PATH

    if not isinstance(item, dict):
        return None
    return next((item[name] for name in PATH if isinstance(item.get(name), str)), None)
