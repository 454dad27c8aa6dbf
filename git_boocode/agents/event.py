"""Parse the event that a hook reports: the agent, the turn, and the tool about to run."""

from __future__ import annotations

import json
import os
import re
from binascii import crc32
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.agents.agent import Agent, Fields
from git_boocode.agents.payload import (
    ABORT,
    END,
    LONGEST_NAME,
    NOTHING,
    TURN,
    Payload,
    directories_of,
    ids_of,
    is_of_subagent,
    is_path,
    kind_of,
    reads_only,
    sender_of,
)
from git_boocode.repo.durable import read_private_json
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import inside_worktree

SESSION_NAME = re.compile(r"[0-9A-Za-z_-]+", re.ASCII)
"""A session that may be part of a path."""
_LONGEST_NUMBER = 9
_MOST_FILES = 100
_FILE_KEYS = ("file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path")
_LIST_KEYS = ("files", "edits")
_PATCH_KEYS = ("input", "patch", "patch_text", "patchText", "command", "cmd")
_PATCH = "*** Begin Patch"
_IN_PATCH = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)
# Parts of the names of tools that change the files that they name, and of those that run commands.
_EDITING = ("edit", "write", "patch", "replace", "insert", "create", "delete", "notebook")
_SHELLS = ("bash", "shell", "exec", "command", "terminal", "run")


class HookEvent(NamedTuple):
    """The event of a hook; each text may be empty.

    `kind` is TURN or END if a turn begins or ends, ABORT if one ends that has not ended yet, TOOL
    or TOOL_END if a tool is about to run or has run, or NOTHING.
    """

    agent: Agent
    name: str
    kind: str
    payload: Payload
    session: str
    turn: str
    prompt: str

    @property
    def directories(self) -> list[str]:
        """The directory of the agent: as reported, or else the current directory."""
        return directories_of(self.agent, self.payload)

    @property
    def is_of_subagent(self) -> bool:
        """Whether a subagent reports it, whose work belongs to the turn that started it."""
        return is_of_subagent(self.agent, self.payload)

    @property
    def begins_by_tools(self) -> bool:
        """Whether a tool event may be the first event of a turn."""
        return bool(self.turn) or (self.agent.tool_begins and not self.is_of_subagent)

    @property
    def is_submitted(self) -> bool:
        """Whether the agent reports that a person sent the prompt."""
        return bool(self.payload.text(self.agent.fields.submitted))

    @property
    def number(self) -> int | None:
        """The number of the event in its turn, if the agent reports one."""
        text = self.payload.text(filter(None, (self.agent.turn_number,)))
        return int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else None

    @property
    def is_continuation(self) -> bool:
        """Whether the agent itself wrote the prompt, to go on with the latest turn."""
        mark = self.agent.continuation
        return bool(mark) and self.kind == TURN and self.prompt.lstrip().startswith(mark)

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.payload.text(self.agent.fields.tool)

    @property
    def call_key(self) -> str:
        """The id of a tool call, or a checksum of its input; empty without either."""
        fields = self.agent.fields
        given = next(self.payload.values(fields.tool_input), None)
        given = (_decoded(given) or given) if isinstance(given, str) else given
        checksum = f"{crc32(json.dumps(given, sort_keys=True).encode()):08x}" if given else ""
        return self.payload.text(fields.call)[:LONGEST_NAME] or checksum

    def changed_files(self, top: str) -> tuple[str, ...]:
        """Pathspecs of the files in a worktree that a tool is about to change."""
        fields = self.agent.fields
        if reads_only(self.tool):
            return ()
        # Tools run in the first of several directories.
        return pathspecs(top, self.directories[0], named_files(self.payload, fields))


def parse_event(agent: Agent, name: str, payload: Payload) -> HookEvent:
    """The event of an agent's hook; an empty `name` is taken from the payload.

    Raises FatalError (`unknown_event`) if the agent has no such event.
    """
    sender = sender_of(agent, payload)
    name = name or payload.text((*agent.fields.event, *sender.fields.event))
    if not name:
        raise FatalError(f"no event of {agent.title} is named", code="unknown_event")
    kind = kind_of(sender, name)
    if kind is None:
        *most, last = [f"'{event}'" for event in agent.events()]
        raise FatalError(
            f"unknown event '{name}' of {agent.title} (expected {', '.join(most)} or {last})",
            code="unknown_event",
        )
    names = sender.fields
    if sender.older_turn and name == sender.turn and not payload.text(names.session[:1]):
        # This version reports the turn by another event, too.
        kind = NOTHING
    if kind in (TURN, END, ABORT) and is_of_subagent(sender, payload):
        # A subagent belongs to the turn that started it.
        kind = NOTHING
    session, turn = ids_of(sender, payload)
    if kind == END and sender.ends_by_id and not turn:
        kind = NOTHING
    prompt = payload.prose(names.prompt)
    if kind == TURN and not prompt:
        prompt = _stored_prompt(sender, session)
    return HookEvent(sender, name, kind, payload, session, turn, prompt)


def _stored_prompt(agent: Agent, session: str) -> str:
    """The prompt of the first turn of a session, if that is running and the agent stores it."""
    file = agent.prompt_file
    if file is None or not SESSION_NAME.fullmatch(session):
        return ""
    top = os.environ.get(file.variable) or os.path.join(os.path.expanduser("~"), file.home)
    path, others = (
        os.path.join(top, each.format(session=session)) for each in (file.path, file.messages)
    )
    with suppress(OSError):
        found, messages = read_private_json(path), read_private_json(others)
        # It may be too large to be read, but then it lists some.
        is_empty = isinstance(messages, dict) and messages.get("messages") == []
        prompt = found.get("prompt") if isinstance(found, dict) else None
        if isinstance(prompt, str) and (is_empty or not os.path.lexists(others)):
            return _unwrapped(prompt.strip(), file.element)
    return ""


def _unwrapped(text: str, element: str) -> str:
    """What is inside an element of XML, if that is the whole text."""
    head, _, inside = text.partition(">")
    end = f"</{element}>"
    if head.split()[:1] == [f"<{element}"] and inside.endswith(end):
        return inside.removesuffix(end)
    return text


def edits_files(tool: str) -> bool:
    """Whether a tool, by its name, changes only the files that it names; if it has no name, too."""
    name = tool.lower()
    is_shell = any(word in name for word in _SHELLS)
    return not name or (not is_shell and any(word in name for word in _EDITING))


def named_files(payload: Payload, fields: Fields) -> list[str]:
    """The paths that a tool is about to change, as reported."""
    found = payload.texts(fields.files)
    for given in payload.values(fields.tool_input):
        found += paths_in(given)
    return list(dict.fromkeys(found))


def paths_in(given: object) -> Iterator[str]:
    """The paths in the input of a tool, an object or text."""
    if isinstance(given, dict):
        for key, value in given.items():
            yield from _under(key, value)
    elif isinstance(given, str) and (decoded := _decoded(given)) is not None:
        yield from paths_in(decoded)
    else:
        # A patch, or the words of a command.
        yield from _in_patch(given)


def _under(key: str, value: object) -> Iterator[str]:
    if key in _FILE_KEYS and isinstance(value, str):
        yield value
    elif key in _LIST_KEYS and isinstance(value, list):
        for each in value:
            found = [each.get(name) for name in _FILE_KEYS] if isinstance(each, dict) else [each]
            yield from (name for name in found if isinstance(name, str))
    elif key in _PATCH_KEYS:
        yield from _in_patch(value)


def _decoded(text: str) -> object:
    """Parse a JSON object or list as in a payload; None if the text is something else."""
    try:
        value = json.loads(text, strict=False, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _in_patch(given: object) -> Iterator[str]:
    for text in given if isinstance(given, list) else [given]:
        if isinstance(text, str) and _PATCH in text:
            yield from (name.strip() for name in _IN_PATCH.findall(text))


def pathspecs(top: str, directory: str, names: Iterable[str]) -> tuple[str, ...]:
    """Pathspecs of the files that are in the worktree, without directories.

    Relative names are relative to `directory`.
    """
    paths = (_below(top, directory, name) for name in names if len(name) <= LONGEST_NAME)
    found = dict.fromkeys(path for path in paths if path is not None)
    return tuple(f":(top,literal){path}" for path in list(found)[:_MOST_FILES])


def _below(top: str, directory: str, name: str) -> str | None:
    full = os.path.join(directory, os.path.expanduser(name))
    if not is_path(full) or (os.path.isdir(full) and not os.path.islink(full)):
        return None
    try:
        return inside_worktree(top, full)
    except (RefusedError, ValueError, OSError):
        return None
