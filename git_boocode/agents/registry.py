"""The agents that are known: one table of payload fields, events, configuration and callback.

Every hook reads this module at every turn, so it imports nothing heavy and holds no behaviour.
"""

from __future__ import annotations

import os
import sys
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
    `parent` names the agent that started a subagent.
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


class Settings(NamedTuple):
    """A JSON file that lists hooks by event.

    `places` holds the file by scope: the user's below the agent's home, others below the worktree.
    A TOML file beside it is used instead if it already lists hooks. `entry` is added to an event's
    list, with `{command}` and `{timeout}` filled in; `seconds` is how many of the file's units of
    time make a second. `preface` is added where it is missing.
    """

    places: Mapping[str, tuple[str, ...]]
    entry: Mapping[str, Any]
    seconds: int = 1
    preface: Mapping[str, Any] = {}


class Program(NamedTuple):
    """A file of our own, made of a shipped template; one per event where its path has `{event}`."""

    places: Mapping[str, tuple[str, ...]]
    template: str
    executable: bool = False


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


class Signs(NamedTuple):
    """How to recognize an agent that runs the hooks of another one, or hooks made for several.

    Each of `payloads` is a list of fields that its payloads have, or with `!` lack. `variables` are
    those that it sets in the environment of its hooks.
    """

    payloads: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


class Agent(NamedTuple):
    """An agent, by its name on the command line and in metadata.

    `home` is the directory of the user's own files below the home directory; the environment
    variable `home_variable` overrides it, or with `home_below_variable` the home directory. In it
    lies the `transcript` of `{session}`, if payloads do not say where, and the directories of all
    `transcripts`, by default anywhere. `marks` are paths in a
    worktree that show that the agent is used there.

    `turn` and `tool` are the events before a turn and before a tool, `end` and `tool_end` are those
    after them.
    Versions whose `turn` event lacks the first field of the session report turns by `older_turn`.
    With `tool_begins` there are modes without turn events, in which the first tool of a turn stands
    for it. `answer` is what a hook has to print. `run_by` are the agents that run this one's hooks
    as well, and `signs` show that it is this one that runs a hook.

    `callback` is the shipped one that restores the agent's conversations, configured by
    `callback_environment`, in which `{data}` is the user's data directory; `resume` is the command
    that goes on with the conversation `{session}`. With `trust`, hooks run only once the user
    trusts them. `package_directory` is a directory of the worktree into which the agent installs
    packages of its own as soon as it exists. `servers` is where it lists MCP servers.
    """

    name: str
    title: str
    home: str
    marks: tuple[str, ...]
    fields: Fields
    turn: str
    tool: str
    config: Settings | Program
    end: str = ""
    tool_end: str = ""
    older_turn: str = ""
    home_variable: str = ""
    home_below_variable: bool = False
    transcript: str = ""
    transcripts: tuple[str, ...] = ("",)
    aliases: tuple[str, ...] = ()
    answer: str = ""
    tool_begins: bool = False
    run_by: tuple[str, ...] = ()
    signs: Signs = Signs()
    callback: str = ""
    callback_environment: Mapping[str, str] = {}
    resume: str = ""
    trust: Trust | None = None
    package_directory: str = ""
    servers: Servers | None = None

    @property
    def turn_events(self) -> list[str]:
        """The events at which a turn begins or ends."""
        return [event for event in (self.turn, self.older_turn, self.end) if event]

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


# Several agents list a command in a group of hooks, as Claude Code does.
_GROUP = {"hooks": [{"type": "command", "command": "{command}", "timeout": "{timeout}"}]}
_STDIO = {"type": "stdio", "command": "{program}", "args": "{arguments}"}
_ASKS = "{} asks you to approve the server before it first starts it"
_TRUSTED = "{} reads this file only in folders that you trust: start it here and trust the folder"

_ALL = (
    Agent(
        name="claude-code",
        title="Claude Code",
        aliases=("claude",),
        home=".claude",
        home_variable="CLAUDE_CONFIG_DIR",
        transcripts=("projects",),
        marks=(".claude", "CLAUDE.md"),
        fields=Fields(turn=("prompt_id",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        run_by=("cursor", "copilot"),
        signs=Signs(("prompt_id !timestamp",)),
        callback="claude-code",
        config=Settings(
            {
                LOCAL: (".claude/settings.local.json",),
                PROJECT: (".claude/settings.json",),
                USER: ("settings.json",),
            },
            _GROUP,
        ),
        servers=Servers(
            {PROJECT: (".mcp.json",), USER: (".claude.json",)},
            _STDIO,
            home=".",
            advice=_ASKS.format("Claude Code"),
        ),
    ),
    Agent(
        name="codex",
        title="Codex CLI",
        aliases=("codex-cli",),
        home=".codex",
        home_variable="CODEX_HOME",
        transcripts=("sessions", "archived_sessions"),
        marks=(".codex",),
        fields=Fields(turn=("turn_id",)),
        signs=Signs(("turn_id",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        config=Settings(
            {
                PROJECT: (".codex/hooks.json", ".codex/config.toml"),
                USER: ("hooks.json", "config.toml"),
            },
            _GROUP,
        ),
        callback="trim-jsonl",
        resume="codex resume {session}",
        trust=Trust(
            ("config.toml",),
            "Codex CLI runs no hook until you trust it: run '/hooks' in Codex and press 't'; until "
            "then nothing is recorded",
            hooks="hooks.state",
        ),
        servers=Servers(
            {PROJECT: (".codex/config.toml",), USER: ("config.toml",)},
            key="mcp_servers",
            advice=_TRUSTED.format("Codex CLI"),
        ),
    ),
    Agent(
        name="gemini",
        title="Gemini CLI",
        aliases=("gemini-cli",),
        home=".gemini",
        home_variable="GEMINI_CLI_HOME",
        home_below_variable=True,
        transcripts=("tmp",),
        marks=(".gemini", "GEMINI.md"),
        fields=Fields(),
        signs=Signs(variables=("GEMINI_SESSION_ID",)),
        turn="BeforeAgent",
        tool="BeforeTool",
        tool_end="AfterTool",
        end="AfterAgent",
        config=Settings(
            {PROJECT: (".gemini/settings.json",), USER: ("settings.json",)}, _GROUP, seconds=1000
        ),
        callback="trim-jsonl",
        resume="gemini --resume {session}",
        servers=Servers(
            {PROJECT: (".gemini/settings.json",), USER: ("settings.json",)},
            advice=_TRUSTED.format("Gemini CLI"),
        ),
    ),
    Agent(
        name="qwen",
        title="Qwen Code",
        aliases=("qwen-code",),
        home=".qwen",
        transcripts=("projects", "tmp"),
        marks=(".qwen", "QWEN.md"),
        # A continuation of a turn fires the event of the turn again, with the same id.
        fields=Fields(turn=("prompt_id",), call=("tool_call_id", "tool_use_id")),
        signs=Signs(("prompt_id timestamp",), ("QWEN_PROJECT_DIR",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        config=Settings(
            {PROJECT: (".qwen/settings.json",), USER: ("settings.json",)}, _GROUP, seconds=1000
        ),
        callback="trim-jsonl",
        resume="qwen --resume {session}",
        servers=Servers(
            {PROJECT: (".qwen/settings.json",), USER: ("settings.json",)},
            advice=_ASKS.format("Qwen Code"),
        ),
    ),
    Agent(
        name="cursor",
        title="Cursor",
        home=".cursor",
        marks=(".cursor", ".cursorrules"),
        fields=Fields(
            session=("conversation_id",),
            turn=("generation_id",),
            directories=("cwd", "workspace_roots"),
            files=("file_path",),
        ),
        signs=Signs(("conversation_id", "generation_id")),
        turn="beforeSubmitPrompt",
        tool="preToolUse",
        tool_end="postToolUse",
        end="stop",
        config=Settings(
            {PROJECT: (".cursor/hooks.json",), USER: ("hooks.json",)},
            {"command": "{command}"},
            preface={"version": 1},
        ),
        # In print mode there is no event before a turn.
        tool_begins=True,
        servers=Servers({PROJECT: (".cursor/mcp.json",), USER: ("mcp.json",)}),
    ),
    Agent(
        name="copilot",
        title="Copilot CLI",
        aliases=("copilot-cli",),
        home=".copilot",
        home_variable="COPILOT_HOME",
        transcript="session-state/{session}/events.jsonl",
        transcripts=("session-state",),
        marks=(".github/hooks", ".github/copilot-instructions.md"),
        # Its own spellings, and those of Claude Code's hooks, which VS Code uses in both.
        fields=Fields(
            session=("sessionId", "session_id"),
            transcript=("transcriptPath", "transcript_path"),
            event=("hookEventName", "hook_event_name"),
            tool=("toolName", "tool_name"),
            tool_input=("toolArgs", "tool_input"),
        ),
        signs=Signs(
            ("sessionId", "hook_event_name timestamp !prompt_id !permission_mode"),
            ("COPILOT_PROJECT_DIR", "COPILOT_PLUGIN_ROOT"),
        ),
        turn="userPromptSubmitted",
        tool="preToolUse",
        tool_end="postToolUse",
        end="agentStop",
        config=Settings(
            # Every file in the directory is read: ours leaves the others alone.
            {PROJECT: (".github/hooks/boocode.json",), USER: ("hooks/boocode.json",)},
            {"type": "command", "bash": "{command}", "timeoutSec": "{timeout}"},
            preface={"version": 1},
        ),
        callback="trim-jsonl",
        resume="copilot --resume={session}",
        trust=Trust(
            ("settings.json", "config.json"),
            "Copilot CLI runs a project's hooks only in trusted folders: start it here and trust "
            "the folder; until then nothing is recorded",
            folders=("trustedFolders", "trusted_folders"),
        ),
        servers=Servers(
            {PROJECT: (".github/mcp.json",), USER: ("mcp-config.json",)},
            {"type": "local", "command": "{program}", "args": "{arguments}", "tools": ["*"]},
            advice=_TRUSTED.format("Copilot CLI"),
        ),
    ),
    Agent(
        name="windsurf",
        title="Windsurf",
        home=".codeium/windsurf",
        marks=(".windsurf", ".windsurfrules"),
        fields=Fields(
            session=("trajectory_id",),
            turn=("execution_id",),
            transcript=("tool_info.transcript_path",),
            directories=("tool_info.cwd",),
            prompt=("tool_info.user_prompt", "tool_info.prompt"),
            event=("agent_action_name",),
            files=("tool_info.file_path",),
            tool_input=(),
        ),
        turn="pre_user_prompt",
        tool="pre_write_code",
        tool_end="post_write_code",
        config=Settings(
            {PROJECT: (".windsurf/hooks.json",), USER: ("hooks.json",)},
            {"command": "{command}", "show_output": False},
        ),
        servers=Servers({USER: ("mcp_config.json",)}),
    ),
    Agent(
        name="cline",
        title="Cline",
        home="Documents/Cline",
        marks=(".clinerules",),
        fields=Fields(
            session=("sessionContext.rootSessionId", "taskId"),
            transcript=(),
            directories=("workspaceRoots",),
            prompt=("prompt", "userPromptSubmit.prompt"),
            event=("hookName",),
            tool=("preToolUse.toolName", "preToolUse.tool"),
            call=("tool_call.id",),
            tool_input=("preToolUse.parameters",),
            parent=("parent_agent_id",),
        ),
        signs=Signs(("hookName",)),
        turn="TaskStart",
        older_turn="UserPromptSubmit",
        tool="PreToolUse",
        end="TaskComplete",
        config=Program(
            {PROJECT: (".clinerules/hooks/{event}",), USER: ("Hooks/{event}",)},
            "cline",
            executable=True,
        ),
        answer='{"cancel":false}\n',
        servers=Servers({USER: ("data/settings/cline_mcp_settings.json",)}, home=".cline"),
    ),
    Agent(
        name="opencode",
        title="opencode",
        home=".config/opencode",
        home_variable="OPENCODE_CONFIG_DIR",
        marks=(".opencode", "opencode.json", "opencode.jsonc"),
        # As our own plugin sends it.
        fields=Fields(
            session=("sessionID",),
            turn=("messageID",),
            transcript=(),
            directories=("directory",),
            event=("event",),
            tool=("tool",),
            call=("callID",),
            tool_input=("args",),
        ),
        turn="chat.message",
        tool="tool.execute.before",
        tool_end="tool.execute.after",
        end="session.idle",
        config=Program(
            {PROJECT: (".opencode/plugins/boocode.ts",), USER: ("plugins/boocode.ts",)},
            "opencode.ts",
        ),
        callback="sqlite",
        callback_environment={
            "BOOCODE_SQLITE_DATABASE": "{data}/opencode/opencode.db",
            "BOOCODE_SQLITE_TABLE": "message",
            "BOOCODE_SQLITE_ID": "id",
            "BOOCODE_SQLITE_CHAT": "session_id",
            "BOOCODE_SQLITE_ORDER": "id",
        },
        resume="opencode --session {session}",
        package_directory=".opencode",
        servers=Servers(
            {
                PROJECT: ("opencode.json", "opencode.jsonc"),
                USER: ("opencode.json", "opencode.jsonc"),
            },
            {"type": "local", "command": "{words}", "enabled": True},
            key="mcp",
            inner="servers",
        ),
    ),
)

AGENTS = {agent.name: agent for agent in _ALL}
"""By name, in the order in which they are listed."""

# It runs the hooks of Claude Code and of Copilot and has none of its own.
_VSCODE = Agent(
    name="vscode",
    title="VS Code",
    aliases=("code",),
    home="Library/Application Support/Code/User"
    if sys.platform == "darwin"
    else ".config/Code/User",
    marks=(".vscode",),
    fields=Fields(),
    turn="",
    tool="",
    config=Settings({}, {}),
    servers=Servers(
        {PROJECT: (".vscode/mcp.json",), USER: ("mcp.json",)},
        _STDIO,
        key="servers",
        advice="VS Code asks whether you trust the server when it first starts it",
    ),
)

SERVER_AGENTS = {agent.name: agent for agent in (*_ALL, _VSCODE) if agent.servers is not None}
"""The agents and editors that can start our server, by name."""


ANY_AGENT = "auto"
"""In place of an agent's name: whichever runs the hook."""


def find_agent(name: str, among: Mapping[str, Agent] = AGENTS) -> Agent | None:
    """The agent of a name or an alias; None if there is none."""
    return among.get(name) or next((each for each in among.values() if name in each.aliases), None)


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
