"""The edit formats as tool definitions for a model, and guidance for its prompt (`tools.toml`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from git_boocode.repo.config import Config
from git_boocode.repo.errors import FatalError, shortened

JsonObject = dict[str, Any]
SETTING = "boocode.formats"
_TEXT = Path(__file__).with_name("tools.toml").read_text(encoding="utf-8")
if sys.version_info >= (3, 11):
    import tomllib

    _DATA = tomllib.loads(_TEXT)
else:
    import tomlkit

    _DATA = tomlkit.parse(_TEXT).unwrap()


class Tool(NamedTuple):
    """One format as a tool, with the JSON schema of its input; `guide` is Markdown."""

    name: str
    description: str
    schema: JsonObject
    example: JsonObject
    guide: str

    def as_json(self) -> JsonObject:
        """The definition in the format of a model's API."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}


def _object(names: Sequence[str], own: Mapping[str, Any]) -> JsonObject:
    """The schema of an object with some fields; the name of an optional field ends in `?`."""
    properties = {}
    for name in (name.rstrip("?") for name in names):
        properties[name] = field = dict(own.get(name) or _DATA["fields"][name])
        if inner := field.pop("fields", None):
            field["items"] = _object(inner, own)
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in names if not name.endswith("?")],
        "additionalProperties": False,
    }


def _tool(data: Mapping[str, Any]) -> Tool:
    own = {key: data[key] for key in ("name", "description", "example", "guide")}
    return Tool(**own, schema=_object(data["fields"], data))


FORMATS = {name: _tool(data) for name, data in _DATA["tools"].items()}
"""The formats by their names in `--format`."""
TOOLS = {**FORMATS, "read": _tool(_DATA["read"])}
"""The formats, and `read`, which gives the versions that format `lines` needs."""


def allowed_tools(config: Config) -> dict[str, Tool]:
    """The tools that `boocode.formats` allows, by default all; `lines` brings `read`.

    FatalError (`bad_config`) if it names something else.
    """
    words = re.split(r"[\s,]+", (config.text(SETTING) or "").strip(" \t\n,"))
    if words == [""]:
        return TOOLS
    for word in words:
        if word not in TOOLS:
            raise FatalError(
                f"bad value '{shortened(word)}' for '{SETTING}'",
                code="bad_config",
                hints=(f"separate these by spaces: {' '.join(TOOLS)}",),
            )
    if "lines" in words:
        words.append("read")
    return {name: tool for name, tool in TOOLS.items() if name in words}


def guidance(names: tuple[str, ...] = ()) -> str:
    """Markdown for a system prompt about editing with some of the tools, by default all."""
    names = names or tuple(TOOLS)
    parts = [f"# {name}: `{TOOLS[name].name}`\n\n{TOOLS[name].guide}" for name in names]
    # One format leaves no choice.
    several = "lines" in names and len(FORMATS.keys() & names) > 1
    choice = [_DATA["choice"]] if several else []
    return "\n".join((_DATA["general"], *choice, *parts, _DATA["refused"]))
