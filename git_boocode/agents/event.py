"""Parse the event that a hook reports: the agent, the turn, and the tool about to run.

An agent sends one JSON object, which may contain any values.
"""

from __future__ import annotations

import json
import os
import re
import select
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from git_boocode.agents.registry import Agent, Fields, find_agent
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import inside_worktree

_CHUNK = 1 << 20
_LARGEST = 256 << 20
_LONGEST_ID = 1000

_LONGEST_LABEL = 60
# The label of a turn is taken from this many characters of the prompt, which may be huge.
_PROMPT_START = 4096
# Bytes of UTF-8 that are kept of a prompt.
_LARGEST_PROMPT = 64 << 10
FULL, FIRST_LINE, NONE = "full", "first-line", "none"
# Characters that control a terminal or the text direction, and surrogates.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_HALVES = re.compile("[\ud800-\udfff]")

_MOST_FILES = 100
_LONGEST_NAME = 4096
_FILE_KEYS = ("file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path")
_LIST_KEYS = ("files", "edits")
_PATCH_KEYS = ("input", "patch", "patch_text", "patchText", "command", "cmd")
_PATCH = "*** Begin Patch"
_IN_PATCH = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)
# Tools that change no files; separators in their names are ignored.
_READING = frozenset(
    (
        *("read", "readfile", "readmanyfiles", "readnotebook", "view", "viewfile", "open", "cat"),
        *("grep", "grepsearch", "search", "searchfiles", "searchfilecontent", "filesearch"),
        *("glob", "ls", "list", "listdir", "listdirectory", "listfiles", "codebasesearch"),
        *("listcodedefinitionnames", "semanticsearch"),
    )
)


class Payload:
    """The payload of an agent; numbers are kept as text, because they are only used as ids.

    `names` are dotted paths, as in `Fields`.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def values(self, names: Iterable[str]) -> Iterator[Any]:
        """The non-null values of some keys."""
        for name in names:
            found: Any = self._values
            for key in name.split("."):
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                yield found

    def text(self, names: Iterable[str]) -> str:
        """The first nonempty text of some keys, or an empty one."""
        for found in self.values(names):
            if isinstance(found, str) and found:
                return found
        return ""

    def texts(self, names: Iterable[str]) -> list[str]:
        """All distinct nonempty texts of some keys, including those in lists."""
        found: dict[str, None] = {}
        for value in self.values(names):
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and text:
                    found.setdefault(text)
        return list(found)


def read_input() -> bytes:
    """Read standard input, unless it is a terminal; FatalError if it is too large.

    It ends with its JSON object: some agents leave the pipe open.
    """
    chunks, size = [], 0
    try:
        if os.isatty(0):
            return b""
        while True:
            try:
                chunk = os.read(0, _CHUNK)
            except BlockingIOError:
                # The agent has made the pipe non-blocking; wait for data.
                select.select([0], [], [])
                continue
            if not chunk:
                break
            chunks.append(chunk)
            size += len(chunk)
            if size > _LARGEST:
                raise _bad_payload(f"is larger than {_LARGEST >> 20} MiB")
            # In UTF-16, a null byte may follow.
            ends = chunk.rstrip(b" \t\r\n\0").endswith(b"}")
            if ends and not select.select([0], [], [], 0)[0] and _is_whole(b"".join(chunks)):
                break
    except OSError:
        # An incomplete payload is useless.
        return b""
    return b"".join(chunks)


def _is_whole(data: bytes) -> bool:
    try:
        parse_payload(data)
    except FatalError:
        return False
    return True


def parse_payload(data: bytes) -> Payload:
    """Parse a payload; FatalError (`bad_payload`) if it is not a JSON object."""
    if not data.strip():
        raise _bad_payload("is empty")
    encoding = json.detect_encoding(data)
    # Paths may contain bytes that are not UTF-8.
    text = data.decode(encoding, "surrogateescape" if encoding.startswith("utf-8") else "replace")
    try:
        # Agents write raw control characters into strings.
        values = json.loads(text, strict=False, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        # Omit the error message, which may contain a part of the prompt.
        where = f"character {error.pos + 1} of {len(text)}"
        raise _bad_payload(f"is not valid JSON, at {where}") from None
    except RecursionError:
        raise _bad_payload("is nested too deeply") from None
    if not isinstance(values, dict):
        raise _bad_payload("is not a JSON object")
    return Payload(values)


def _bad_payload(what: str) -> FatalError:
    return FatalError(f"what the agent sent {what}", code="bad_payload")


TURN, TOOL, END, NOTHING = "turn", "tool", "end", "nothing"


class HookEvent(NamedTuple):
    """The event of a hook; each text may be empty.

    `kind` is TURN or END if a turn begins or ends, TOOL if a tool is about to run, or NOTHING.
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
        try:
            here = os.getcwd()
        except FileNotFoundError:
            here = os.curdir
        given = self.payload.texts(self.agent.fields.directories)
        paths = [os.path.join(here, os.path.expanduser(path)) for path in given]
        return [path for path in paths if _is_path(path)] if given else [here]

    @property
    def begins_by_tools(self) -> bool:
        """Whether a tool event may be the first event of a turn."""
        return bool(self.turn) or self.agent.tool_begins

    def changed_files(self, top: str) -> tuple[str, ...]:
        """Pathspecs of the files in a worktree that a tool is about to change."""
        fields = self.agent.fields
        if reads_only(self.payload.text(fields.tool)):
            return ()
        # Tools run in the first of several directories.
        return pathspecs(top, self.directories[0], named_files(self.payload, fields))


def parse_event(agent: Agent, name: str, payload: Payload) -> HookEvent:
    """The event of an agent's hook; an empty `name` is taken from the payload.

    Raises FatalError (`unknown_event`) if the agent has no such event.
    """
    # Some agents also run the hooks of another agent.
    sender = agent
    for other, fields in agent.run_by.items():
        if payload.text(fields):
            sender = find_agent(other) or agent
            break
    name = name or payload.text((*agent.fields.event, *sender.fields.event))
    if not name:
        raise FatalError(f"no event of {agent.title} is named", code="unknown_event")
    kind = _kind(sender, name) or _kind(agent, name)
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
    session = payload.text(names.session)[:_LONGEST_ID]
    turn = payload.text(names.turn)[:_LONGEST_ID]
    return HookEvent(sender, name, kind, payload, session, turn, payload.text(names.prompt))


def _kind(agent: Agent, name: str) -> str | None:
    kinds = {agent.tool: TOOL, agent.end: END, agent.older_turn: TURN, agent.turn: TURN}
    return kinds.get(name)


def kept_prompt(prompt: str, wanted: str = FULL) -> str:
    """What is kept of a prompt, at most 64 KiB: all of it, its first line, or nothing."""
    if wanted == NONE:
        return ""
    prompt = prompt.strip()
    if len(prompt) > 1 and prompt[0] == prompt[-1] == '"' and '"' not in prompt[1:-1]:
        # As `opencode run` hands it over.
        prompt = prompt[1:-1].strip()
    # No character has less than a byte.
    prompt = prompt[:_LARGEST_PROMPT]
    if wanted == FIRST_LINE:
        prompt = next(iter(prompt.splitlines()), "").rstrip()
    text = _HALVES.sub("?", prompt).encode()[:_LARGEST_PROMPT]
    return text.decode("utf-8", "ignore")


def label_of(prompt: str) -> str:
    """The first words of a prompt that `kept_prompt` returned, safe to print."""
    words = " ".join(_CONTROL.sub(" ", prompt[:_PROMPT_START]).split())
    if len(words) <= _LONGEST_LABEL:
        return words
    whole = words[: _LONGEST_LABEL + 1].rpartition(" ")[0]
    return f"{whole or words[:_LONGEST_LABEL]} …"


def reads_only(tool: str) -> bool:
    """Whether a tool, by its name, changes no files."""
    return re.sub("[^a-z]", "", tool[:_LONGEST_NAME].lower()) in _READING


def named_files(payload: Payload, fields: Fields) -> list[str]:
    """The paths that a tool is about to change, as reported."""
    found = payload.texts(fields.files)
    for given in payload.values(fields.tool_input):
        found += _in_input(given)
    return list(dict.fromkeys(found))


def _in_input(given: object) -> Iterator[str]:
    if isinstance(given, dict):
        for key, value in given.items():
            yield from _under(key, value)
    elif isinstance(given, str) and (decoded := _decoded(given)) is not None:
        yield from _in_input(decoded)
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
    """Parse a JSON object or list; None if the text is something else."""
    try:
        value = json.loads(text, strict=False)
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
    paths = (_below(top, directory, name) for name in names if len(name) <= _LONGEST_NAME)
    found = dict.fromkeys(path for path in paths if path is not None)
    return tuple(f":(top,literal){path}" for path in list(found)[:_MOST_FILES])


def _below(top: str, directory: str, name: str) -> str | None:
    full = os.path.join(directory, os.path.expanduser(name))
    if not _is_path(full) or (os.path.isdir(full) and not os.path.islink(full)):
        return None
    try:
        return inside_worktree(top, full)
    except (RefusedError, ValueError, OSError):
        return None


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
