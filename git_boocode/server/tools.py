"""The tools: what each does to a worktree, what arguments it takes, and what hints mean for it.

The definitions, which clients get, are made from the options of the command line, the formats of
edits and the answers of `--json`; so the command line makes them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from threading import Lock
from typing import Any, NamedTuple

from git_boocode.repo.errors import NextStep, RefusedError, UsageError, shortened
from git_boocode.server.json_rpc import INVALID_PARAMS, JsonObject, RpcError, as_object

READS, ADDS, REPLACES = "reads", "adds", "replaces"
"""A tool changes nothing; adds something, such as a checkpoint; replaces files or proposals."""
CWD, BUFFERS = "cwd", "buffers"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "string": str,
}
_SYNONYMS = {
    "checkpoint": ("id", "name", "checkpoint_id"),
    "name": ("id", "checkpoint", "checkpoint_id"),
    "edit": ("id", "name"),
    "turns": ("turn", "id", "name", "checkpoint"),
    "old": ("checkpoint", "id"),
    "needle": ("text", "old_string"),
    "path": ("file_path", "file"),
    "paths": ("path", "files"),
    "hunk": ("hunks",),
    "expect": ("version", "proposal"),
}
"""Other names for an argument, by its own, which callers use who did not read the schema."""


class ServedTool(NamedTuple):
    """A tool, and the `command` whose JSON answer it gives.

    `arguments` are options of the command by their long names, and its arguments. If `takes_edits`,
    all others are the edit, in any format.
    """

    name: str
    command: str
    effect: str
    arguments: tuple[str, ...]
    takes_edits: bool = False

    @property
    def is_destructive(self) -> bool:
        """Whether an agent had better ask the user first.

        An edit only adds to a history that `revert` takes it back from. What goes back, `restore`,
        `revert` and `undo`, can take away what the user or another agent wrote, although it can be
        undone as well.
        """
        return self.effect == REPLACES and not self.takes_edits


_EDIT = ("dry_run", "profile", "verbatim", "format", "position_encoding", BUFFERS)
_EDIT_OPTIONS = frozenset((*_EDIT, "no_record", "session", "retry_of"))
"""What no edit contains: an option of one tool that takes edits is not ignored by another."""
_REVIEW = ("paths", "force", BUFFERS)
_STEP = ("dry_run", "files_only", "conversation_only", "force")
_REVIEWS = ("accept", "discard")
_OMIT = ("omit it to mean everything",)
_OF_TURNS = (
    *("turns", "paths", "hunk", "expect", "dry_run", "diff"),
    *("markers", "force", "position_encoding", BUFFERS),
)
TOOLS = {
    tool.name: tool
    for tool in (
        ServedTool(
            "apply_edit",
            "apply-edit",
            REPLACES,
            (*_EDIT, "no_record", "session"),
            takes_edits=True,
        ),
        ServedTool("preview_edit", "apply-edit", READS, _EDIT[1:], takes_edits=True),
        # It keeps the version that it shows in git, but nothing that a user sees: clients ask the
        # user before each call of a tool that does not only read.
        ServedTool("read", "read", READS, ("path", BUFFERS)),
        ServedTool(
            "locate",
            "locate",
            READS,
            ("path", "needle", "profile", "start_line", BUFFERS),
        ),
        ServedTool(
            "rewind", "rewind", REPLACES, ("edit", "paths", "dry_run", "no_record", "force")
        ),
        ServedTool(
            "checkpoint",
            "checkpoint",
            ADDS,
            (
                *("label", "session", "chat", "message", "agent", "trigger", "meta"),
                *("if_changed", "ignore_unmatch", "paths"),
            ),
        ),
        ServedTool(
            "log",
            "log",
            READS,
            (
                *("max_count", "text", "regex", "since", "until", "grep", "agent"),
                *("session", "all", "remote", "remotes", "archived", "edits", "paths"),
            ),
        ),
        ServedTool("show", "show", READS, ("name", "head", "conversation")),
        ServedTool("diff", "diff", READS, ("old", "new", "paths", "turn", "proposal")),
        ServedTool("blame", "blame", READS, ("path", "lines")),
        ServedTool(
            "restore",
            "restore",
            REPLACES,
            ("checkpoint", "after", "paths", "hunk", "expect", "head", "session", *_STEP),
        ),
        ServedTool("revert", "revert", REPLACES, ("turns", "session", "agent", *_OF_TURNS[1:])),
        ServedTool("pick", "pick", REPLACES, _OF_TURNS),
        ServedTool("undo", "undo", REPLACES, ("expect", "no_head", *_STEP)),
        ServedTool("redo", "redo", REPLACES, ("expect", "no_head", *_STEP)),
        ServedTool("propose", "propose", ADDS, (*_EDIT, "retry_of"), takes_edits=True),
        ServedTool("status", "status", READS, ("paths", BUFFERS)),
        ServedTool("preview", "preview", READS, ("path", "position_encoding", BUFFERS)),
        ServedTool(
            "accept",
            "accept",
            REPLACES,
            (
                *("dry_run", "merge", "markers", "overwrite", "hunk", "expect"),
                *("position_encoding", *_REVIEW),
            ),
        ),
        ServedTool("discard", "discard", REPLACES, ("hunk", "expect", *_REVIEW)),
        ServedTool("sync", "sync", ADDS, _REVIEW),
        ServedTool(
            "turn",
            "turn",
            ADDS,
            (
                *("action", "message", "session", "agent", "chat", "message_id", "meta"),
                *("pid", "timeout", "force", "checkpoint", BUFFERS),
            ),
        ),
    )
}


AGENT, EDITOR, ALL = "agent", "editor", "all"
TOOL_SETS = (AGENT, EDITOR, ALL)
"""The sets of tools that a client can see; it may call the others as well."""
AGENT_TOOLS = ("apply_edit", "read", "checkpoint", "log", "diff", "restore", "revert", "undo")
_EDITORS = frozenset({"vscode", "git-boocode.nvim", "editor"})
"""The names of the clients in `hooks/editors`, and of the example in git-boocode-editors(7)."""


class Client(NamedTuple):
    """Who calls: the name of the program, empty if unknown, and the set of tools that it sees."""

    name: str = ""
    tools: str = AGENT

    @property
    def is_agent(self) -> bool:
        """Whether answers are short texts for a model, without structured content."""
        return self.tools == AGENT

    def listed(self, *, read_only: bool) -> Iterator[ServedTool]:
        """The tools that the client sees; with `read_only`, those that change nothing."""
        for tool in TOOLS.values():
            if (tool.name in AGENT_TOOLS or not self.is_agent) and (
                not read_only or tool.effect == READS
            ):
                yield tool


_SEES_ALL = Client(tools=ALL)
_LONGEST_NAME = 100
_SIMILAR = 0.88
"""How much of two names is the same if one is the other with a letter wrong."""


def client_of(
    capabilities: JsonObject, info: object, chosen: str | None, *, nameless: str = EDITOR
) -> Client:
    """The client that gives these capabilities and this `clientInfo`; `chosen` is the user's set.

    `nameless` is the set for a client without a name.
    RpcError if the capability names a set that does not exist.
    """
    found = as_object(info).get("name")
    name = found[:_LONGEST_NAME] if isinstance(found, str) and _is_text(found) else ""
    own = as_object(capabilities.get("experimental")).get("git-boocode")
    asked = own.get("tools", EDITOR) if isinstance(own, dict) else ""
    if asked != "" and asked not in TOOL_SETS:
        message = f"'tools' of the capability 'git-boocode' is not one of {', '.join(TOOL_SETS)}"
        raise RpcError(INVALID_PARAMS, message)
    # Agents give a name in `initialize`, as the protocol demands; our client for Neovim did not.
    by_name = EDITOR if name in _EDITORS else AGENT if name else nameless
    return Client(name, chosen or asked or by_name)


def _meant(tool: ServedTool, name: str, given: JsonObject) -> str | None:
    """The argument of which this is another name; None if there is none."""
    # Such as `dryRun` or `dry-run`, which must not be taken for a part of an edit.
    plain = {_plain(each): each for each in (*tool.arguments, CWD)}
    if _plain(name) in plain or tool.takes_edits:
        return plain.get(_plain(name))
    names = (each for each in tool.arguments if each not in given)
    return next((each for each in names if name in _SYNONYMS.get(each, ())), None)


def _refuse_misspelt(tool: ServedTool, name: str) -> None:
    """Refuse what is nearly the name of an option, and would be ignored in an edit (UsageError)."""
    plain = {_plain(each): each for each in tool.arguments}
    if found := get_close_matches(_plain(name), plain, n=1, cutoff=_SIMILAR):
        hints = (f"the argument is '{plain[found[0]]}'",)
        raise UsageError(f"unknown argument '{shortened(name)}' of '{tool.name}'", hints=hints)


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


def _refuse_empty(tool: ServedTool, name: str, value: object) -> None:
    """Refuse an empty selection, which must not become everything (UsageError)."""
    if value == "" and name == "expect":
        raise UsageError("'expect' is empty", hints=("omit it to expect nothing",))
    if value == [] and name in ("turns", "paths", "hunk") and tool.effect != READS:
        # No turns are not all turns.
        hints = () if name == "turns" else _OMIT
        raise UsageError(f"'{name}' is empty", hints=hints)


def _null(tool: ServedTool, name: str) -> JsonObject:
    """What null is for an argument: nothing, except where it would do what nobody saw.

    RefusedError (`invalid_input`) if it must not mean everything.
    """
    if tool.name in ("undo", "redo") and name == "expect":
        # As `undo` of what changed only buffers: the latest operation is another one.
        hints = ("only buffers were changed, or nothing; undo in the editor",)
        raise RefusedError(f"'{name}' is null", code="invalid_input", hints=hints)
    if tool.name in _REVIEWS and name == "hunk":
        raise RefusedError(f"'{name}' is null", code="invalid_input", hints=_OMIT)
    # As `proposal` of status and preview: there was none.
    return {name: None} if tool.name in _REVIEWS and name == "expect" else {}


def _checked(value: Any, schema: JsonObject, where: str) -> Any:  # noqa: ANN401 - any JSON
    """A value as its schema wants it; one item of an array may be given alone."""
    if schema["type"] == "array" and not isinstance(value, list):
        value = [value]
    is_right = isinstance(value, _TYPES[schema["type"]])
    if not is_right or (isinstance(value, bool) and schema["type"] != "boolean"):
        article = "an" if schema["type"][0] in "aio" else "a"
        raise UsageError(f"{where} is not {article} {schema['type']}")
    if isinstance(value, str) and not _is_text(value):
        raise UsageError(f"{where} contains NUL or half a surrogate pair")
    if "enum" in schema and value not in schema["enum"]:
        choices = f"choose from: {', '.join(schema['enum'])}"
        raise UsageError(f"{where} cannot be '{shortened(value)}'", hints=(choices,))
    if "minimum" in schema and value < schema["minimum"]:
        raise UsageError(f"{where} is less than {schema['minimum']}")
    if isinstance(value, list):
        return [_checked(each, schema["items"], f"an item of {where}") for each in value]
    if isinstance(value, dict) and (inner := schema.get("additionalProperties")):
        return {key: _checked(each, inner, f"'{key}' in {where}") for key, each in value.items()}
    return value


def _is_text(value: str) -> bool:
    """Whether git and the file system can be given a text."""
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def is_utf_8(text: str) -> bool:
    """Whether a text has no halves of surrogate pairs, which stand for other bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class DefinedTools:
    """The definitions of the tools, each of which `make` makes at the first use.

    It gets the name of a tool, and whether the definition is the short one for agents.
    """

    def __init__(self, make: Callable[[str, bool], JsonObject]) -> None:
        self._make = make
        self._made: dict[tuple[str, bool], JsonObject] = {}
        # Requests ask while they are made ahead, and two threads that load commands disturb each
        # other.
        self._lock = Lock()

    def definition(self, name: str, *, for_agents: bool = False) -> JsonObject:
        """The definition of a tool for `tools/list`."""
        key = name, for_agents
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(*key)
            return self._made[key]

    def listed(self, client: Client, *, read_only: bool) -> list[JsonObject]:
        """The definitions that a client sees."""
        tools = client.listed(read_only=read_only)
        return [self.definition(tool.name, for_agents=client.is_agent) for tool in tools]

    def checked_arguments(
        self, tool: ServedTool, given: JsonObject
    ) -> tuple[JsonObject, JsonObject]:
        """The arguments of a call, and its edit; UsageError if one is unknown, missing or wrong."""
        schema = self.definition(tool.name)["inputSchema"]
        own = (*tool.arguments, CWD)
        edit: JsonObject = {}
        arguments: JsonObject = {}
        for name, value in given.items():
            target = name if name in own else _meant(tool, name, given)
            if target is None and tool.takes_edits and name not in _EDIT_OPTIONS:
                _refuse_misspelt(tool, name)
                edit[name] = value
            elif target is None:
                known = ", ".join(own)
                message = f"unknown argument '{shortened(name)}' of '{tool.name}'"
                raise UsageError(message, hints=(f"the arguments are: {known}",))
            elif target in arguments:
                raise UsageError(f"'{name}' is another name of an argument that is given already")
            elif value is None:
                arguments |= _null(tool, target)
            else:
                _refuse_empty(tool, target, value)
                arguments[target] = _checked(value, schema["properties"][target], f"'{name}'")
        for name in schema.get("required", ()):
            if name not in arguments:
                raise UsageError(f"'{tool.name}' needs the argument '{name}'")
        return arguments, edit

    def worded(self, hint: str, tool: ServedTool, client: Client = _SEES_ALL) -> str:
        """A hint of a tool in the words of the tools that a client sees.

        One that names none of their steps stays as it is.
        """
        if not isinstance(hint, NextStep):
            return hint
        other, given = TOOLS.get(hint.name), hint.arguments or {}
        if client.is_agent and other is not None and other.name not in AGENT_TOOLS:
            # An agent reverts an edit, too.
            is_edit = other.name == "rewind" and hint.value
            other, given = (TOOLS["revert"], {"turns": [hint.value]}) if is_edit else (None, {})
        if other is not None:
            values = f" with {json.dumps(given)}" if given else ""
            again = " and the same 'paths'" if other is tool and tool.name == "revert" else ""
            return hint.worded(f"the tool '{other.name}'{values}{again}")
        if hint.name not in tool.arguments:
            return hint
        value = given.get(hint.name)
        text = "" if value in (True, None) else f": {json.dumps(value, ensure_ascii=False)}"
        return hint.worded(f"'{hint.name}'{text}")
