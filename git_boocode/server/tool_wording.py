"""Messages and hints about commands, in words for a model that has no command line."""

from __future__ import annotations

import json
import re
import shlex

from git_boocode.server.json_rpc import JsonObject
from git_boocode.server.tool_list import TOOLS, ServedTool, definitions

# A text in quotes, a command to the end of its line, or an option, perhaps with its value.
_PART = re.compile(
    r"(?<!\w)'(?P<quoted>[^'\n]*)'|\b(?P<command>git boocode [^'\n]+)"
    r"|(?<![\w-])--(?P<option>[a-z][a-z-]+)(?: (?P<value>[a-z]+-[a-z-]+|ignored)\b)?"
)
_SHORT = {"-n": "dry_run", "-m": "label", "-S": "text", "-G": "regex"}
_POSITIONAL = ("checkpoint", "edit", "name", "old", "new", "path", "action", "paths")
"""The arguments of tools that are not options of their commands, in the order of the latter."""


def for_tools(text: str, tool: ServedTool) -> str:
    """A message or a hint of a tool in the words of the tools.

    Commands that are no tools, and those of other programs, are for the user, and stay.
    """

    def translated(found: re.Match[str]) -> str:
        option = found["option"]
        if option is not None:
            return _argument(tool, option, found["value"]) or found[0]
        given = found["command"] or found["quoted"]
        call = _call(given) if given.startswith("git boocode ") else None
        return call or found[0]

    return _PART.sub(translated, text)


def _argument(tool: ServedTool, option: str, value: str | None) -> str | None:
    """An option of the tool's command as an argument; None if the tool does not have it."""
    name = option.replace("-", "_")
    if name not in tool.arguments:
        return None
    return f"'{name}'" if value is None else f"'{name}': {json.dumps(_typed(tool, name, value))}"


def _call(command: str) -> str | None:
    """The call of a tool that does what a command does; None if there is none."""
    try:
        name, *words = shlex.split(command)[2:]
    except ValueError:
        return None
    tool = TOOLS.get(name.replace("-", "_"))
    arguments = None if tool is None else _arguments(tool, words)
    if tool is None or arguments is None:
        return None
    given = f" with {json.dumps(arguments, ensure_ascii=False)}" if arguments else ""
    return f"the tool '{tool.name}'{given}"


def _arguments(tool: ServedTool, words: list[str]) -> JsonObject | None:
    """The arguments of a tool for the words of its command; None if one has no counterpart."""
    places = [each for each in _POSITIONAL if each in tool.arguments]
    found: JsonObject = {}
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            name = _SHORT.get(word) or word.removeprefix("--").replace("-", "_")
        else:
            name = next(iter(places), "")
            places = places[1:] or places
        if name not in tool.arguments:
            return None
        if not word.startswith("-"):
            found[name] = _typed(tool, name, word.removesuffix("..."))
        elif _properties(tool)[name]["type"] == "boolean":
            found[name] = True
        else:
            found[name] = _typed(tool, name, words.pop(0) if words else "")
    return found


def _typed(tool: ServedTool, name: str, value: str) -> object:
    """A word as the value of an argument."""
    schema = _properties(tool)[name]
    item = schema.get("items", schema)
    typed: object = int(value) if item["type"] == "integer" and value.isdigit() else value
    return value.split(",") if name == "force" else [typed] if "items" in schema else typed


def _properties(tool: ServedTool) -> JsonObject:
    """The schemas of a tool's arguments."""
    found: JsonObject = definitions()[tool.name]["inputSchema"]["properties"]
    return found
