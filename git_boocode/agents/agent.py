"""What is known of an agent: payload fields, events, configuration and callback.

Every hook reads this module at every turn, so it imports nothing heavy and holds no behaviour.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

USER, PROJECT, LOCAL = "user", "project", "local"
SCOPES = (LOCAL, PROJECT, USER)
HOOKS, SERVER = "hooks", "server"
PARTS = (HOOKS, SERVER)
"""What the files of an agent may hold for us."""


class Fields(NamedTuple):
    """Where a payload holds what, as dotted paths; of several the first that is there counts.

    `turn` is the id of a turn or message, `call` that of a call of a tool. `files` are the paths
    that a tool is about to write; `tool_input`, an object or JSON, names some under common keys.
    Payloads of subagents have `parent`, the agent that started them, or `parent_session`, its
    session. `submitted` is the prompt again, but only if a person sent it: a payload without it
    goes on with a turn of the same id that began with one.
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
    parent: tuple[str, ...] = ()
    parent_session: tuple[str, ...] = ()
    submitted: tuple[str, ...] = ()


class Settings(NamedTuple):
    """A JSON file that lists hooks by event.

    `places` holds the file by scope: the user's below the agent's home, or below `home` in the home
    directory, others below the worktree.
    A second file is used instead if it already lists hooks, but not if the first one `hides` it.
    The object at `key` holds a list for each event; in files with the names in `bare`, it is the
    outermost one. With `event_key` there is one list, whose entries name their events by that key.
    `entry` is added to a list, with `{event}`, `{command}` and `{timeout}` filled in; `seconds` is
    how many of the file's units of time make a second, and `longest` the most seconds that the
    agent waits for some events, or with an empty name for all. `preface` is added where it is
    missing.
    """

    places: Mapping[str, tuple[str, ...]]
    entry: Mapping[str, Any]
    seconds: int = 1
    longest: Mapping[str, int] = {}
    preface: Mapping[str, Any] = {}
    key: str = "hooks"
    bare: tuple[str, ...] = ()
    event_key: str = ""
    hides: bool = False
    home: str = ""


class Program(NamedTuple):
    """A file of our own, made of a shipped template; one per event where its path has `{event}`."""

    places: Mapping[str, tuple[str, ...]]
    template: str
    executable: bool = False
    home: str = ""


class Package(NamedTuple):
    """Our package, shipped in the directory `name`, that a JSON file lists at `key`.

    A file that did not exist begins with `preface`, which the agent would add otherwise. Of several
    JSON files it is the one that exists. Files of other kinds are plugins of our own that earlier
    versions have installed; they are only removed.
    """

    places: Mapping[str, tuple[str, ...]]
    name: str
    preface: Mapping[str, Any] = {}
    key: str = "plugin"
    home: str = ""


class Servers(NamedTuple):
    """Where an agent lists the MCP servers that it starts.

    `places` holds by scope the files, JSON or TOML by their names; of several it reads all. The
    user's are below the agent's home, or below `home` in the home directory. The list is an object
    at `key`, or at `inner` in that if there is such an object. In `entry`, which is what ours looks
    like, `{program}` stands for the program, `{arguments}` for the list of its arguments, and
    `{words}` for one list of both. `advice` is for the user of a project's file.
    """

    places: Mapping[str, tuple[str, ...]]
    entry: Mapping[str, Any] = {"command": "{program}", "args": "{arguments}"}
    key: str = "mcpServers"
    inner: str = ""
    home: str = ""
    advice: str = ""


class Trust(NamedTuple):
    """How an agent records which hooks it may run, in `files` below its home.

    `hooks` is the dotted path of a table of single hooks; `folders` are the keys under which a list
    of folders can be, in which it runs the hooks of projects. `advice` is for the user.
    """

    files: tuple[str, ...]
    advice: str
    hooks: str = ""
    folders: tuple[str, ...] = ()


class Plugins(NamedTuple):
    """How an agent records which plugins are installed.

    `places` holds by scope the file in which an object at `key` has plugins by their names and
    those of their marketplaces; without a key, the directory of the plugin. `uninstall` is the
    agent's command for `{plugin}` in `{scope}`.
    """

    places: Mapping[str, str]
    uninstall: str
    key: str = ""


class Signs(NamedTuple):
    """How to recognize an agent that runs the hooks of another one, or hooks made for several.

    Each of `payloads` is a list of fields that its payloads have, or with `!` lack. `variables` are
    those that it sets in the environment of its hooks.
    """

    payloads: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


class PromptFile(NamedTuple):
    """Where an agent keeps the first prompt of a session, if its payloads have no prompts.

    `path` and `messages` are JSON files of a `{session}` below the directory that the environment
    variable `variable` names, by default `home` in the home directory. The one has the `prompt`,
    maybe inside an XML element called `element`. It is the current prompt while the other one lists
    no `messages`.
    """

    path: str
    messages: str
    variable: str
    home: str
    element: str


class Agent(NamedTuple):
    """An agent, by its name on the command line and in metadata.

    `home` is the directory of the user's own files below the home directory; the environment
    variable `home_variable` overrides it, or with `home_below_variable` the home directory. In it
    lies the `transcript` of `{session}`, if payloads do not say where, and the directories of all
    `transcripts`, by default anywhere. Lines that begin with `hook_notes` are about hooks, and
    belong to no turn. `marks` are paths in a worktree that show that the agent is used there;
    `programs` are its commands, unless other programs have the same name.

    `turn` and `tool` are the events before a turn and before a tool, `end` and `tool_end` are those
    after them. `aborts` are events that come instead of `end` if a turn fails or is interrupted,
    and maybe at other times. A prompt that begins with `continuation` is the agent's own, and goes
    on with the session's latest turn. With `turn_number`, the event comes again during a turn, and
    begins one only when the latest of its session has ended, or if its number at this key is 0
    again; with `ends_by_id`, an end that names no turn is only that of a session.
    Versions whose `turn` event lacks the first field of the session report turns by `older_turn`.
    With `tool_begins` there are modes without turn events, in which the first tool of a turn stands
    for it. `answer` is what a hook has to print. `run_by` are the agents that run this one's hooks
    as well, and `signs` show that it is this one that runs a hook.

    `callback` is the shipped one that restores the agent's conversations, configured by
    `callback_environment`, in which `{data}` is the user's data directory; `resume` is the command
    that goes on with the conversation `{session}`. With `trust`, hooks run only once the user
    trusts them. `package_directory` is a directory of the worktree into which the agent installs
    packages of its own as soon as it exists. `servers` is where it lists MCP servers, and `plugins`
    where it lists plugins, if it can install ours. To servers it gives a name that begins with one
    of `clients`, and its session in the environment variable `session_variable`. Its hooks have the
    directory in which it was started in `project_variable`. `prompt_file` is
    where it keeps prompts that its payloads lack. What is known of an agent `by_documentation` was
    not tried with the program.
    """

    name: str
    title: str
    home: str
    marks: tuple[str, ...]
    fields: Fields
    turn: str
    tool: str
    config: Settings | Program | Package
    programs: tuple[str, ...] = ()
    end: str = ""
    tool_end: str = ""
    older_turn: str = ""
    aborts: tuple[str, ...] = ()
    continuation: str = ""
    home_variable: str = ""
    home_below_variable: bool = False
    transcript: str = ""
    transcripts: tuple[str, ...] = ("",)
    hook_notes: str = ""
    aliases: tuple[str, ...] = ()
    answer: str = ""
    tool_begins: bool = False
    turn_number: str = ""
    ends_by_id: bool = False
    by_documentation: bool = False
    run_by: tuple[str, ...] = ()
    signs: Signs = Signs()
    callback: str = ""
    callback_environment: Mapping[str, str] = {}
    resume: str = ""
    trust: Trust | None = None
    package_directory: str = ""
    servers: Servers | None = None
    prompt_file: PromptFile | None = None
    clients: tuple[str, ...] = ()
    session_variable: str = ""
    project_variable: str = ""
    plugins: Plugins | None = None

    @property
    def turn_events(self) -> list[str]:
        """The events at which a turn begins or ends."""
        events = (self.turn, self.older_turn, self.end, *self.aborts)
        return [event for event in events if event]

    def events(self, *, per_tool: bool = True) -> list[str]:
        """The events of turns, and with `per_tool` those before and after a tool."""
        tools = (self.tool, self.tool_end) if per_tool else ()
        return [*self.turn_events, *filter(None, tools)]

    def places(self, part: str) -> Mapping[str, tuple[str, ...]]:
        """The files that may hold our HOOKS or our SERVER, by scope; `{event}` is in some names."""
        if part == HOOKS:
            return self.config.places
        return self.servers.places if self.servers else {}

    def worktree_paths(self, part: str) -> Iterator[tuple[str, str]]:
        """The scopes for a part other than the user's, each with a path below the worktree."""
        for scope, places in self.places(part).items():
            for place in places if scope != USER else ():
                events = self.events() if "{event}" in place else [""]
                yield from ((scope, place.replace("{event}", event)) for event in events)


def home_of(agent: Agent, home: str = "") -> str:
    """The directory of the user's own files of an agent; `home` is the home directory, if known."""
    home = home or os.path.expanduser("~")
    if chosen := os.environ.get(agent.home_variable, ""):
        chosen = os.path.abspath(os.path.expanduser(chosen))
        return os.path.join(chosen, agent.home) if agent.home_below_variable else chosen
    first, _, rest = agent.home.partition("/")
    if first == ".config":
        return os.path.join(xdg_directory("XDG_CONFIG_HOME", home, first), rest)
    return os.path.join(home, agent.home)


def transcript_directories(agent: Agent) -> tuple[str, ...]:
    """The directories in which an agent keeps its transcripts."""
    home = home_of(agent)
    return tuple(os.path.join(home, below) for below in agent.transcripts)


def xdg_directory(variable: str, home: str, default: str) -> str:
    """A base directory of the XDG specification, by default `default` in the home directory."""
    chosen = os.environ.get(variable, "")
    return chosen if os.path.isabs(chosen) else os.path.join(home, default)
