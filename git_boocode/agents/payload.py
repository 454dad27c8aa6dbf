"""Read what an agent sends to a hook, and find who reports what in it.

An agent sends one JSON object, which may contain any values. Every hook of a tool reads this module
before it knows whether there is anything to do, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import re
import select
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from git_boocode.agents.agent import Agent, transcript_directories
from git_boocode.agents.idle_note import git_dir_of
from git_boocode.agents.registry import AGENTS

if TYPE_CHECKING:
    from git_boocode.repo.errors import FatalError

TURN, TOOL, TOOL_END, END, NOTHING = "turn", "tool", "tool-end", "end", "nothing"
ABORT = "abort"
_CHUNK = 1 << 20
_LARGEST = 256 << 20
_LONGEST_ID = 1000
LONGEST_NAME = 4096
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

    def prose(self, names: Iterable[str]) -> str:
        """As `text`, of which a value may also be a list of parts, objects with a `text`."""
        for found in self.values(names):
            parts = found if isinstance(found, list) else [{"text": found}]
            texts = (part.get("text") for part in parts if isinstance(part, dict))
            if text := "\n".join(each for each in texts if isinstance(each, str) and each):
                return text
        return ""

    def texts(self, names: Iterable[str]) -> list[str]:
        """All distinct nonempty texts of some keys, including those in lists."""
        found: dict[str, None] = {}
        for value in self.values(names):
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and text:
                    found.setdefault(text)
        return list(found)


def read_input(begun: bytes = b"") -> bytes:
    """Read standard input, unless it is a terminal; FatalError if it is too large.

    It ends with its JSON object: some agents leave the pipe open. `begun` was read already.
    """
    chunks, size = list[bytes](), 0
    try:
        if os.isatty(0):
            return b""
        chunk = begun or _next_chunk()
        while chunk:
            chunks.append(chunk)
            size += len(chunk)
            if size > _LARGEST:
                raise _bad_payload(f"is larger than {_LARGEST >> 20} MiB")
            # In UTF-16, a null byte may follow.
            ends = chunk.rstrip(b" \t\r\n\0").endswith(b"}")
            if ends and not select.select([0], [], [], 0)[0] and _is_whole(b"".join(chunks)):
                break
            chunk = _next_chunk()
    except OSError:
        # An incomplete payload is useless.
        return b""
    return b"".join(chunks)


def _next_chunk() -> bytes:
    # The agent may have made the pipe non-blocking.
    select.select([0], [], [])
    return os.read(0, _CHUNK)


def _is_whole(data: bytes) -> bool:
    try:
        json.loads(_text(data), strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def parse_payload(data: bytes) -> Payload:
    """Parse a payload; FatalError (`bad_payload`) if it is not a JSON object."""
    if not data.strip():
        raise _bad_payload("is empty")
    text = _text(data)
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


def _text(data: bytes) -> str:
    encoding = json.detect_encoding(data)
    # Paths may contain bytes that are not UTF-8.
    return data.decode(encoding, "surrogateescape" if encoding.startswith("utf-8") else "replace")


def _bad_payload(what: str) -> FatalError:
    # Only here: most hooks of tools end without loading anything else.
    from git_boocode.repo.errors import FatalError

    return FatalError(f"what the agent sent {what}", code="bad_payload")


def kind_of(agent: Agent, name: str) -> str | None:
    """What an event of an agent is, see `event.HookEvent`; None if it has no such event.

    An agent has the events of its own hooks, and of those of other agents that it runs.
    """
    formats = (other for other in AGENTS.values() if agent.name in other.run_by)
    for each in (agent, *formats):
        kinds = {each.tool: TOOL, each.tool_end: TOOL_END}
        kinds |= {each.end: END, each.older_turn: TURN, each.turn: TURN}
        kinds |= dict.fromkeys(each.aborts, ABORT)
        if name and name in kinds:
            return kinds[name]
    return None


def sender_of(agent: Agent, payload: Payload) -> Agent:
    """Who sent a payload to the hook of an agent: some agents run the hooks of another one, too."""
    others = (AGENTS[name] for name in agent.run_by)
    return next((other for other in others if _is_signed(payload, other)), agent)


def caller_of(payload: Payload, event: str, environment: Mapping[str, str]) -> Agent:
    """Who runs a hook that is made for several agents; `event` is its name, or empty.

    One that has such an event is preferred. Without any sign, it is the first of these, or Claude
    Code.
    """
    event = event or payload.text(name for each in AGENTS.values() for name in each.fields.event)
    able = [each for each in AGENTS.values() if kind_of(each, event)]
    shown = (
        each for agents in (able, AGENTS.values()) for each in _shown(agents, payload, environment)
    )
    return next(chain(shown, able, AGENTS.values()))


def _shown(
    agents: Collection[Agent], payload: Payload, environment: Mapping[str, str]
) -> Iterator[Agent]:
    """The agents of which there is a sign, the surest first."""
    yield from (each for each in agents if _has_transcript(each, payload))
    yield from (each for each in agents if _is_signed(payload, each))
    yield from (each for each in agents if any(map(environment.get, each.signs.variables)))


def answer(agent: Agent) -> None:
    """Print what an agent has to read; it need not be there any more."""
    with suppress(OSError):
        os.write(1, agent.answer.encode("ascii"))


def _has_transcript(agent: Agent, payload: Payload) -> bool:
    """Whether a payload names a transcript where an agent keeps them, in whatever home."""
    path = payload.text(agent.fields.transcript)
    usual = (f"/{agent.home}/{below}/".replace("//", "/") for below in agent.transcripts)
    known = (f"{directory}/" for directory in transcript_directories(agent))
    return any(each in path for each in usual) or path.startswith(tuple(known))


def _is_signed(payload: Payload, agent: Agent) -> bool:
    """Whether a payload has the fields by which an agent is recognized."""

    def has(field: str) -> bool:
        return next(payload.values([field.lstrip("!")]), None) is not None

    return any(
        all(has(field) is not field.startswith("!") for field in fields.split())
        for fields in agent.signs.payloads
    )


def ids_of(agent: Agent, payload: Payload) -> tuple[str, str]:
    """The ids of the session and of the turn; each may be empty.

    A subagent works in the latest turn of the session that started it, whatever its own ids are.
    """
    fields = agent.fields
    session = payload.text((*fields.parent_session, *fields.session))
    turn = "" if is_of_subagent(agent, payload) else payload.text(fields.turn)
    return session[:_LONGEST_ID], turn[:_LONGEST_ID]


def is_of_subagent(agent: Agent, payload: Payload) -> bool:
    """Whether a subagent sent a payload."""
    return bool(payload.text((*agent.fields.parent, *agent.fields.parent_session)))


def directories_of(agent: Agent, payload: Payload) -> list[str]:
    """The directories of the agent: as reported, or else the current directory.

    If it has gone into a repository inside of the one in which it was started, both count.
    """
    try:
        here = os.getcwd()
    except FileNotFoundError:
        here = os.curdir
    given = payload.texts(agent.fields.directories)
    paths = [os.path.join(here, os.path.expanduser(path)) for path in given]
    found = [path for path in paths if is_path(path)] if given else [here]
    project = os.environ.get(agent.project_variable, "")
    is_inside = project and any(_is_nested(each, project) for each in found)
    return [*found, project] if is_inside else found


def _is_nested(directory: str, project: str) -> bool:
    """Whether a directory is in a submodule or nested repository of a project's worktree."""
    inner, outer = os.path.realpath(directory), os.path.realpath(project)
    if not inner.startswith(os.path.join(outer, "")):
        return False
    git_dirs = git_dir_of(inner), git_dir_of(outer)
    # A linked worktree is a place of its own.
    is_linked = os.path.exists(os.path.join(git_dirs[0] or "", "commondir"))
    return all(git_dirs) and git_dirs[0] != git_dirs[1] and not is_linked


def reads_only(tool: str) -> bool:
    """Whether a tool, by its name, changes no files."""
    return re.sub("[^a-z]", "", tool[:LONGEST_NAME].lower()) in _READING


def is_path(text: str) -> bool:
    """Whether a text can be the name of a file."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
