"""What is known of an agent, as data: what its hooks tell, and where they are configured.

The hook path reads these modules at every turn, so they import nothing heavy and hold no behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

USER, PROJECT, LOCAL = "user", "project", "local"
SCOPES = (LOCAL, PROJECT, USER)


class Fields(NamedTuple):
    """Where a payload tells what, as dotted paths; of several the first that is there counts.

    Attributes:
        session: the id of the session or conversation.
        turn: the id of the turn or message; empty where an agent tells none.
        transcript: the path of the transcript.
        directories: where the agent works; a path or a list of paths.
        prompt: what the user asked for.
        event: the name of the event.
        tool: the name of the tool that is about to run.
        call: the id of that call of the tool.
        files: the path of the file that a tool is about to write.
        tool_input: what a tool is given, as an object or as JSON in a string; it names files under
            keys that are much the same everywhere.
    """

    session: tuple[str, ...] = ("session_id",)
    turn: tuple[str, ...] = ()
    transcript: tuple[str, ...] = ("transcript_path",)
    directories: tuple[str, ...] = ("cwd",)
    prompt: tuple[str, ...] = ("prompt",)
    event: tuple[str, ...] = ("hook_event_name",)
    tool: tuple[str, ...] = ("tool_name",)
    call: tuple[str, ...] = ("tool_use_id",)
    files: tuple[str, ...] = ()
    tool_input: tuple[str, ...] = ("tool_input",)


class Home(NamedTuple):
    """Where an agent keeps what is a user's own.

    Attributes:
        directory: below the home directory, by default.
        variable: the environment variable that names another one; empty for none.
    """

    directory: str
    variable: str = ""


class Settings(NamedTuple):
    """A JSON file that lists hooks by event.

    Attributes:
        places: by scope, the file: of the user below the agent's home, else below the worktree.
        entry: what to add to an event's list; `{command}` and `{timeout}` stand for themselves.
        seconds: how many of the file's units of time make a second.
        preface: what the file has to hold besides, where it does not.
        toml: by scope, a TOML file that holds the same instead, where it already lists hooks.
    """

    places: Mapping[str, str]
    entry: Mapping[str, Any]
    seconds: int = 1
    preface: Mapping[str, Any] = {}
    toml: Mapping[str, str] = {}


class Program(NamedTuple):
    """A file of our own for each event, or for all of them.

    Attributes:
        places: by scope, the file, as in `Settings`; `{event}` stands for the event.
        template: the name of the shipped file to make it of; `{command}` in it stands for itself.
        executable: whether it is run as a program.
    """

    places: Mapping[str, str]
    template: str
    executable: bool = False


class Agent(NamedTuple):
    """An agent.

    Attributes:
        name: what it is called on the command line and in metadata.
        title: what people call it.
        home: where it keeps what is a user's own.
        marks: what there is in a worktree whose user works with it, below the top.
        fields: what its payloads tell.
        turn: the event before a turn.
        tool: the event before a tool.
        config: where its hooks are configured.
        aliases: other names on the command line.
        answer: what it wants to read on standard output; empty for nothing.
        tool_begins: whether there are modes in which only the events of tools come, so that the
            first one of a turn stands for it.
        run_by: the agents that run the hooks of this one, too, with the fields by any of which
            their payloads are told from its own.
        callback: the shipped callback that takes its conversations back; empty for none.
        note: what a user has to know or to do after installing; empty for nothing.
    """

    name: str
    title: str
    home: Home
    marks: tuple[str, ...]
    fields: Fields
    turn: str
    tool: str
    config: Settings | Program
    aliases: tuple[str, ...] = ()
    answer: str = ""
    tool_begins: bool = False
    run_by: Mapping[str, tuple[str, ...]] = {}
    callback: str = ""
    note: str = ""
