"""Take an edit out of what it was sent in: a hook payload, a tool call, a message with calls."""

from __future__ import annotations

from git_boocode.editing.formats.fields import ABSENT, PATH, Object, has
from git_boocode.editing.jsonread import parse_json

# The key that holds the edit, and the keys of which one must stand beside it.
_ENVELOPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tool_input", ()),
    ("toolInput", ()),
    ("tool_args", ()),
    ("toolArgs", ()),
    ("tool_calls", ()),
    ("functionCall", ()),
    ("function_call", ()),
    ("function", ("type", "id")),
    ("operation", ("type",)),
    ("input", ("name", "type")),
    ("arguments", ("name",)),
    ("args", ("name", "tool")),
    ("params", ("method",)),
)
_NO_EDITS = ("text", "thinking", "redacted_thinking", "reasoning")


def unwrapped(item: object) -> object:
    """The edit inside its envelopes; what is in none is given back as it is.

    Raises:
        MissError: a string that should hold JSON does not (`invalid_input`).
    """
    while isinstance(item, dict):
        inner = _inside(item)
        if inner is ABSENT:
            break
        item = inner
    return item


def _inside(item: Object) -> object:
    if not isinstance(item.get("tool_input"), dict) and has(item, PATH):
        # What names its file is an edit, whatever else it has.
        return ABSENT
    if "role" in item and isinstance(item.get("content"), list) and not item.get("tool_calls"):
        return _of_message(item["content"])
    for key, beside in _ENVELOPES:
        value = item.get(key)
        if isinstance(value, (dict, list, str)) and (not beside or any(map(item.get, beside))):
            return _opened(value)
    return ABSENT


def _of_message(blocks: object) -> object:
    """The calls of a message; of one without calls, its text."""
    assert isinstance(blocks, list)
    types = [block.get("type") if isinstance(block, dict) else None for block in blocks]
    calls = [block for block, kind in zip(blocks, types, strict=True) if kind not in _NO_EDITS]
    if calls:
        return calls
    texts = [block.get("text") for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))


def _opened(value: object) -> object:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return parse_json(value)
    return value
