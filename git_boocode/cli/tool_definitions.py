"""`git boocode tools`, and the definitions of the server's tools.

Those are made from commands, edit formats and answers. Every text is taken from the one place where
the command line, `git boocode tools` and git-boocode-json(7) take it from; only what has no option,
or reads otherwise beside the fields of other formats, has its text here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from git_boocode.cli.candidates import one_of
from git_boocode.cli.framework import AtLeast, Command, commands_of, json_option, option
from git_boocode.cli.output import config_here, print_json, print_text, wants_json
from git_boocode.editing.edits import ENCODINGS
from git_boocode.editing.tool_schemas import FORMATS, allowed_tools, guidance
from git_boocode.editing.tool_schemas import TOOLS as MODEL_TOOLS
from git_boocode.matching import PROFILES
from git_boocode.repo.errors import RefusedError, UsageError
from git_boocode.server.tools import BUFFERS, CWD, READS, TOOLS, ServedTool

ANSWERS: dict[str, Any] = json.loads(
    Path(__file__).parents[1].joinpath("answers.json").read_text(encoding="utf-8")
)
_STRING = {"type": "string"}
_STRINGS = {"type": "array", "items": _STRING}
# What is an argument of the command line, or comes on standard input.
_OWN: dict[str, dict[str, Any]] = {
    CWD: {
        **_STRING,
        "description": "Directory of the worktree to use, by default the client's first root. "
        "Paths are relative to it.",
    },
    BUFFERS: {
        "type": "object",
        "additionalProperties": _STRING,
        "description": "Unsaved texts of an editor by path, used instead of the files, which are "
        "not written.",
    },
    "paths": {**_STRINGS, "description": "Only these files, directories or patterns."},
    "path": {**_STRING, "description": "The file."},
    "needle": {**_STRING, "description": "The text to find."},
    "edit": {
        **_STRING,
        "description": "The id of the edit; by default the newest that has not been rewound.",
    },
    "checkpoint": {
        **_STRING,
        "description": "An id or the beginning of one, @ for the newest, @~N, message:ID or "
        "label:TEXT.",
    },
    "turns": {
        **_STRINGS,
        "description": "The turns, by their checkpoints: ids or the beginnings of them, @ for the "
        "newest, @~N; or the id of one edit.",
    },
    "name": {
        **_STRING,
        "description": "A checkpoint, <checkpoint>:<path> for a file of it, or the id of an edit; "
        "by default the newest checkpoint.",
    },
    "old": {**_STRING, "description": "The checkpoint to compare; by default the newest."},
    "new": {**_STRING, "description": "Another checkpoint, instead of the worktree."},
    "action": {"type": "string", "enum": ["begin", "end", "status"], "description": "What to do."},
}
_VALUES: dict[str, list[str]] = {
    "profile": [*PROFILES],
    "format": [*FORMATS],
    "position_encoding": [*ENCODINGS],
}
"""The values of arguments that have a fixed set of them."""
_REQUIRED = {
    "locate": ["path", "needle"],
    "read": ["path"],
    "blame": ["path"],
    "restore": ["checkpoint"],
    "pick": ["turns"],
    "preview": ["path"],
    "turn": ["action"],
}
_NAMES = {"text": "-S", "regex": "-G", "lines": "-L"}
_TEXTS = {
    ("accept", "merge"): "Merge with the user's changes.",
    ("accept", "overwrite"): "Replace the user's changes.",
    ("accept", "markers"): "With merge, mark conflicts in the files.",
    ("accept", "hunk"): "Only these hunks of the file, by number.",
    **{
        (tool, name): text
        for tool in ("revert", "pick")
        for name, text in (
            ("hunk", "Only these hunks of the file, by their numbers in a dry run with paths."),
            (
                "expect",
                "Refuse the hunks unless this is the file's version, as a dry run gives it.",
            ),
            ("diff", "Also answer with the resulting diff."),
            (
                "markers",
                "Where others changed the same lines, write both versions with conflict markers.",
            ),
        )
    },
    ("pick", "turns"): "The turns, by their checkpoints: ids or the beginnings of them, @ for the "
    "newest, or @~N.",
    ("discard", "hunk"): "Only these hunks of the file, by number.",
    **{
        (tool, "expect"): "Refuse any other proposal than this, which status or preview gave; null "
        "if they gave none."
        for tool in ("accept", "discard")
    },
    ("restore", "hunk"): "Only these hunks of the file, by their numbers in a dry run with paths.",
    ("restore", "expect"): "Refuse the hunks unless this is the file's version, as a dry run gives "
    "it.",
    ("blame", "lines"): "Only these lines: a range as in git blame -L, such as 10,20.",
    ("checkpoint", "meta"): "Other metadata: an object with any JSON values.",
    ("checkpoint", "message"): "The id of the message at which a restore cuts the conversation.",
    ("log", "max_count"): "Limit the number of turns or edits.",
    ("log", "session"): "Only turns of sessions whose id starts with this text.",
    ("apply_edit", "session"): "The agent's session, as turn and checkpoint name it.",
    ("turn", "meta"): "Other metadata: an object with any JSON values.",
    ("turn", "message_id"): "The id of the message at which a restore cuts the conversation.",
    ("turn", "checkpoint"): "With end, the checkpoint at which the turn began, if several run.",
    ("turn", "timeout"): "End the turn after this number of seconds, instead of "
    "boocode.turnTimeout; 0 means no limit.",
}
"""Of arguments whose help is about the command line."""
_DESCRIPTIONS = {
    "accept": "Write what is proposed to the files, all of it or none. A checkpoint comes first, "
    "so that the undo tool takes it back. A file that the user has changed since is refused, "
    "unless it is to be merged or overwritten.",
    "checkpoint": "Record the worktree and the staging area. Tracked and untracked files are "
    "recorded, ignored ones are not. HEAD, branches, the index and git log do not change. With "
    "paths, only the files that they match are examined; everything else is taken from the newest "
    "checkpoint.",
    "diff": "Compare a checkpoint with the worktree, or with another checkpoint.",
    "locate": "Find where a text occurs in a file, although it has drifted.",
    "preview": "Show a file as it is proposed; without a proposed content, its context, with a "
    "warning.",
    "restore": "Take files, staging and, through the callback, the conversation back to a "
    "checkpoint. This takes back what an agent did since; for a single edit, use the rewind tool. "
    "HEAD and branches stay where they are, unless asked for. What is there now is kept: the undo "
    "tool brings it back. With paths, only the files that they match are restored, and their "
    "staged content.",
    "revert": "Take back what turns changed, and keep what others have changed since. Each file "
    "that a turn changed is merged with the file as it is now. Nothing is changed if others have "
    "changed the same lines. Several turns are reverted together, or none of them. With paths, "
    "only what the turns changed of these. The conversation, HEAD and branches stay; the undo tool "
    "brings back what was here before.",
    "preview_edit": "Show what apply_edit would change, and change nothing.",
    "status": "Show the files of the newest proposal, and how each differs from it.",
    "sync": "Make files as they are now the context of what is proposed; the files stay as they "
    "are. A file that is not part of the proposal joins its context. A proposed change is merged "
    "with the user's.",
    "turn": "Begin, end or show a model's turn. Beginning one takes a checkpoint; until it ends, "
    "accept, discard, sync, restore, revert, pick, undo, redo and rewind are refused unless "
    "forced.",
}
"""Of commands whose help is about more than the tool."""
_FIELD_TEXTS = {
    "diff": "One or more blocks, in order: a line '<<<<<<< SEARCH', the lines to find, a line "
    "'=======', the lines to put there, a line '>>>>>>> REPLACE'.",
    "input": "The whole edit as one text in any format, such as a patch, instead of the other "
    "fields.",
    "base": "The version of the file as it was read. If the file has changed since, the edit is "
    "merged with the changes, or refused.",
    "changes": "Regions to replace, from their first lines (start) to their last (end); or lines "
    "by their numbers in base: start_line to end_line are replaced, and after_line and before_line "
    "insert.",
}
"""Of fields of edits, where one tool takes those of all formats."""
_EDITED = {
    **_STRING,
    "description": "Directory of the worktree to use, by default the client's first root. Paths of "
    "edits are relative to the top of the worktree.",
}
_PATHS_TEXT = "Only these paths or patterns."
_DRY_RUN_TEXT = "Only show the changes."
_HUNK_TEXT = "Only these hunks, by their numbers in a dry run of one file."
_EXPECT_TEXT = "The version of that file in the dry run."
_AGENT_DESCRIPTIONS = {
    "apply_edit": "Edit files, all of the call or nothing. Give one of: path, old_string and "
    "new_string, to replace a text; edits, for several replacements; path, base and changes, for "
    "lines by their numbers (best for large regions, long or repeated lines); path and content, "
    "for a new file or a whole rewrite; input, for a patch (unified diff, *** Begin Patch, or "
    "SEARCH/REPLACE blocks). The old text is found although whitespace, indentation or quotes "
    "differ, and unchanged lines keep their bytes. What is missing or ambiguous is refused, "
    "with what to send instead. The answer names the edit's id, which revert takes, and the new "
    "version.",
    "read": "Show a file: [path#version], then numbered lines. apply_edit takes the version as the "
    "base of changes, and merges them if the file changes meanwhile.",
    "checkpoint": "Record all files, tracked or not, except ignored ones, and what is staged, so "
    "that restore can go back to them. HEAD and branches stay. Take one before a risky step.",
    "log": "List the turns of this worktree, newest first: the id of the checkpoint at which "
    "each began, when, its label or prompt, and how much it changed. diff, restore and revert "
    "take the ids.",
    "diff": "Show what has changed since a checkpoint, between two, or with turn, what one "
    "turn changed. If these are more than 40 lines, only the files are listed; paths show some of "
    "them.",
    "restore": "Take all files, or those in paths, and what is staged back to a checkpoint: "
    "everything done since by anyone goes, and undo brings it back. To take back one turn or "
    "edit, use revert. The conversation goes back, too, unless its agent is in a "
    "turn. HEAD and branches stay.",
    "revert": "Take back what one or several turns changed, or one edit of apply_edit, and "
    "keep everything else, such as later changes. It is refused if others have changed the same "
    "lines. The conversation stays. undo brings back what was there.",
    "undo": "Undo the latest restore or revert of turns; again, the one before. It is refused if "
    "files have changed since, unless forced.",
}
"""Of the tools that agents see."""
_AGENT_ARGUMENTS: dict[str, dict[str, str]] = {
    "apply_edit": {
        "path": "Path from the top of the worktree.",
        "old_string": "",
        "new_string": "The new text; empty to delete the old one.",
        "replace_all": "",
        "edits": "Replacements, in order; each has a path, or path is that of all.",
        "base": "The version, from read or the last answer; line numbers count in it.",
        "changes": "Replace start_line to end_line, or insert (after_line 0 is the top).",
        "content": "",
        "input": "A patch, as one text.",
        "dry_run": "",
    },
    "read": {"path": "The file, also with lines: a.py:10-40, a.py:10-."},
    "checkpoint": {
        "label": "What it is about, in a few words.",
        "if_changed": "",
        "paths": _PATHS_TEXT,
    },
    "log": {
        "max_count": "At most this many, 25 by default.",
        "paths": "Only turns that changed these.",
        "text": "",
        "grep": "",
        "since": "Only turns begun after this date.",
        "until": "Only turns begun before this date.",
        "agent": "",
        "session": "Only turns of this session.",
        "edits": "List the edits of apply_edit instead, whose ids revert takes.",
    },
    "diff": {"old": "", "new": "", "turn": "", "paths": _PATHS_TEXT},
    "restore": {
        "checkpoint": "",
        "after": "After that turn instead.",
        "paths": _PATHS_TEXT,
        "files_only": "Not the conversation.",
        "hunk": _HUNK_TEXT,
        "expect": _EXPECT_TEXT,
        "dry_run": _DRY_RUN_TEXT,
        "force": "",
    },
    "revert": {
        "turns": "Ids of turns as in log, @ for the newest, @~N; or the id of one edit.",
        "session": "",
        "agent": "",
        "paths": _PATHS_TEXT,
        "hunk": _HUNK_TEXT,
        "expect": _EXPECT_TEXT,
        "markers": "Write conflict markers where others changed the same lines.",
        "dry_run": _DRY_RUN_TEXT,
        "force": "",
    },
    "undo": {"dry_run": _DRY_RUN_TEXT, "force": ""},
}
"""Those that a model needs, with descriptions; an empty one is that of the option or field."""
_AGENT_ITEMS = {
    "edits": ("path", "old_string", "new_string", "replace_all"),
    "changes": ("start_line", "end_line", "after_line", "before_line", "content"),
}
"""Those of the items of an array, whose text describes them."""
_KINDS = re.compile(r" \([^()]*\)")
"""What each of the values of `force` does, which the hints of a refusal say."""
_CODE = re.compile(r"`(?:git boocode ([a-z]+)|([^`]+))`")


def definitions() -> dict[str, dict[str, Any]]:
    """The definitions of all tools, by name."""
    return {name: definition(name) for name in TOOLS}


def definition(name: str) -> dict[str, Any]:
    """The whole definition of a tool."""
    tool = TOOLS[name]
    command = dict(commands_of(tool.command))["turn begin" if tool.name == "turn" else tool.command]
    properties = {**_fields(tool), **{name: _property(command, name) for name in tool.arguments}}
    for name in tool.arguments:
        if text := _TEXTS.get((tool.name, name)):
            properties[name] = {**properties[name], "description": text}
    properties[CWD] = _EDITED if tool.takes_edits else _OWN[CWD]
    required = _REQUIRED.get(tool.name, [])
    return {
        "name": tool.name,
        "description": _description(tool, command),
        "inputSchema": {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            **({} if tool.takes_edits else {"additionalProperties": False}),
        },
        "outputSchema": _output(tool),
        "annotations": {**_annotations(tool), "idempotentHint": tool.effect == READS},
    }


def _annotations(tool: ServedTool) -> dict[str, bool]:
    return {
        "readOnlyHint": tool.effect == READS,
        "destructiveHint": tool.is_destructive,
        "openWorldHint": False,
    }


def agent_definition(name: str) -> dict[str, Any]:
    """The definition of a tool for agents: the arguments that a model needs, and no answer."""
    tool = TOOLS[name]
    if name not in _AGENT_ARGUMENTS:
        found = definition(name)
        del found["outputSchema"]
        return found
    command = dict(commands_of(tool.command))[tool.command]
    arguments = {**_AGENT_ARGUMENTS[name], CWD: "Worktree directory."}
    fields = _fields(tool)
    properties = {}
    for argument, text in arguments.items():
        found = fields[argument] if argument in fields else _property(command, argument)
        if tool.takes_edits and argument in _AGENT_ITEMS:
            found = _short(found, _AGENT_ITEMS[argument])
        described = text or _KINDS.sub("", found["description"])
        properties[argument] = {**found, "description": described}
    required = _REQUIRED.get(name, [])
    return {
        "name": name,
        "description": _AGENT_DESCRIPTIONS[name],
        # Other arguments of the tool are taken as well.
        "inputSchema": {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
        },
        "annotations": _annotations(tool),
    }


def _short(schema: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The schema of an array of objects, with some of their fields, not described."""
    items = schema["items"]
    kept = ("type", "items")
    fields = {
        name: {key: value for key, value in items["properties"][name].items() if key in kept}
        for name in names
    }
    short = {"type": "object", "properties": fields, "required": items["required"]}
    return {"type": "array", "items": short}


def _fields(tool: ServedTool) -> dict[str, Any]:
    """The fields of all formats of edits, for a tool that takes edits."""
    found: dict[str, Any] = {}
    for schema in (each.schema for each in FORMATS.values()) if tool.takes_edits else ():
        for name, value in schema["properties"].items():
            text = _FIELD_TEXTS.get(name, value["description"])
            found[name] = {**_either(found.get(name, value), value), "description": text}
    return found


def _either(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The first of two schemas of a field; of arrays of objects, one that takes the items of both.

    The APIs of some models know no `anyOf`.
    """
    first, second = (schema.get("items", {}) for schema in (one, other))
    if not first.get("properties") or not second.get("properties"):
        return one
    properties = {**second["properties"], **first["properties"]}
    required = [name for name in first["required"] if name in second["required"]]
    return {**one, "items": {**first, "properties": properties, "required": required}}


def _property(command: click.Command, name: str) -> dict[str, Any]:
    if name in _OWN:
        return _OWN[name]
    wanted = _NAMES.get(name, f"--{name.replace('_', '-')}")
    [option] = [
        each for each in command.params if isinstance(each, click.Option) and wanted in each.opts
    ]
    described = {"description": option.help}
    if name in _VALUES:
        return {**_STRING, "enum": _VALUES[name], **described}
    if option.multiple and name != "meta":
        return {"type": "array", "items": _type(option), **described}
    return {**_type(option), **described}


def _type(option: click.Option) -> dict[str, Any]:
    if option.name == "meta":
        return {"type": "object"}
    if option.is_flag:
        return {"type": "boolean"}
    if isinstance(option.type, AtLeast):
        return {"type": "integer", "minimum": option.type.least}
    return _STRING


def _description(tool: ServedTool, command: click.Command) -> str:
    help_ = " ".join(_DESCRIPTIONS.get(tool.name, command.help or "").split())
    if tool.takes_edits:
        examples = "; ".join(
            f"{name}: {{{', '.join(each.schema['required'])}}}" for name, each in FORMATS.items()
        )
        first = help_.split(". ")[0].rstrip(".")
        return f"{first}. Give the fields of one format. {examples}."
    return _CODE.sub(_in_tools, help_)


def _in_tools(found: re.Match[str]) -> str:
    """A command as the tool of its name, or other words as they are."""
    if not found[1]:
        return found[2]
    starts = found.start() == 0 or found.string[: found.start()].endswith(". ")
    return f"{'The' if starts else 'the'} {found[1]} tool"


def _output(tool: ServedTool) -> dict[str, Any]:
    """The schema of the answer, with the definitions that it needs."""
    # The turns of a revert may be an edit.
    names = ["revert", "rewind"] if tool.name == "revert" else [tool.command]
    if tool.name == "turn":
        names = [f"turn {action}" for action in _OWN["action"]["enum"]]
    answers = [ANSWERS["answers"][name] for name in names]
    rows = [row for answer in answers for row in (answer["success"], answer["failure"])]
    unique = list({json.dumps(row): row for row in rows}.values())
    needed: dict[str, Any] = {}
    _collect(unique, needed)
    return {"type": "object", "anyOf": unique, "$defs": needed}


def _collect(value: object, needed: dict[str, Any]) -> None:
    """Collect the definitions to which a schema refers."""
    if isinstance(value, dict):
        name = str(value.get("$ref", "")).removeprefix("#/$defs/")
        if name and name not in needed:
            needed[name] = ANSWERS["$defs"][name]
            _collect(needed[name], needed)
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            _collect(each, needed)


@click.command(cls=Command)
@click.argument("format_", metavar="[<format>]", required=False, shell_complete=one_of(MODEL_TOOLS))
@option("--guide", "Print guidance for a system prompt instead.")
@json_option
def tools(format_: str | None, guide: bool) -> int:
    """Print the edit formats as tool definitions, ready for the API of a model.

    Each has a name, a description and the JSON schema of its input, which apply-edit takes; read
    is one more tool, for format lines. With <format>, print that one alone. The setting
    boocode.formats limits what is offered.
    """
    formats = {tool.name: name for name, tool in MODEL_TOOLS.items()}
    chosen = formats.get(format_ or "", format_)
    if chosen is not None and chosen not in MODEL_TOOLS:
        known = ", ".join(MODEL_TOOLS)
        raise UsageError(f"unknown format '{format_}'", hints=(f"the formats are: {known}",))
    allowed = allowed_tools(config_here())
    if chosen is not None and chosen not in allowed:
        raise RefusedError(
            f"'boocode.formats' does not allow the format '{chosen}'",
            code="not_allowed",
            hints=(f"it allows: {', '.join(allowed)}",),
        )
    names = (chosen,) if chosen else tuple(allowed)
    found = [MODEL_TOOLS[name].as_json() for name in names]
    if wants_json():
        answer = {"guide": guidance(names)} if guide else {"tools": found}
        print_json({"ok": True, **answer})
    elif guide:
        print_text(guidance(names).removesuffix("\n"))
    else:
        print_text(json.dumps(found[0] if format_ else found, indent=2))
    return 0
