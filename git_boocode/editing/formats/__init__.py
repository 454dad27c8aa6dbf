"""The input formats: one module each, registered in one table, tried in one place.

A module of a format offers two functions. `mismatch(item)` says why an item is not of this
format, or None when it is. `drafts(item, context)` reads it. An item is a parsed JSON value, or
the whole text of an input that is not JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple, Protocol

from git_boocode.editing.edits import Action, Failure, MissError

FORMATS = {
    "string": "git_boocode.editing.formats.string",
    "multi": "git_boocode.editing.formats.multi",
    "write": "git_boocode.editing.formats.write",
}


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
    """An edit that has no number yet."""

    path: str
    action: Action
    base: str | None
    format: str
    given: object


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
    item = unwrapped(item)
    try:
        yield from load(detect(item, only)).drafts(item, context)
    except MissError as miss:
        yield Failure.of(miss, None, _path_of(item) or context.path, item)


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
    reasons = "; ".join(f"{name}: {reason}" for name, reason in tried.items())
    fits = f"it is not of the format {only}" if only else "it fits no format"
    raise MissError("invalid_input", f"{fits} ({reasons})")


def unwrapped(item: object) -> object:
    """The edit inside the envelope of a hook payload or a tool call."""
    while isinstance(item, dict):
        if isinstance(item.get("tool_input"), dict):
            item = item["tool_input"]
        elif item.get("type") == "tool_use" and isinstance(item.get("input"), dict):
            item = item["input"]
        else:
            break
    return item


def _path_of(item: object) -> str | None:
    from git_boocode.editing.formats.fields import PATH

    if not isinstance(item, dict):
        return None
    return next((item[name] for name in PATH if isinstance(item.get(name), str)), None)
