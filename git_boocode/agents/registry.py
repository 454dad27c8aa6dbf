"""The agents that are known: one table.

Every hook reads this module at every turn, so it imports nothing heavy and holds no behaviour.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from git_boocode.agents.agent import (
    LOCAL,
    PROJECT,
    USER,
    Agent,
    Fields,
    Package,
    Plugins,
    Program,
    PromptFile,
    Servers,
    Settings,
    Signs,
    Trust,
)

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
        programs=("claude",),
        fields=Fields(turn=("prompt_id",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        aborts=("StopFailure", "SessionEnd"),
        # What it writes itself when a subagent or a command in the background has ended.
        continuation="<task-notification>",
        run_by=("grok", "cursor", "copilot", "devin"),
        signs=Signs(("prompt_id cwd !timestamp",)),
        callback="claude-code",
        session_variable="CLAUDE_CODE_SESSION_ID",
        project_variable="CLAUDE_PROJECT_DIR",
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
        plugins=Plugins(
            {
                LOCAL: ".claude/settings.local.json",
                PROJECT: ".claude/settings.json",
                USER: "settings.json",
            },
            "claude plugin uninstall {plugin} --scope {scope}",
            key="enabledPlugins",
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
        programs=("codex",),
        # Subagents have ids of turns of their own.
        fields=Fields(turn=("turn_id",), parent=("agent_id",)),
        signs=Signs(("turn_id",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        aborts=("SessionEnd",),
        clients=("codex-mcp-client",),
        config=Settings(
            {
                PROJECT: (".codex/hooks.json", ".codex/config.toml"),
                USER: ("hooks.json", "config.toml"),
            },
            _GROUP,
            longest={"SessionEnd": 3},
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
        plugins=Plugins({USER: "config.toml"}, "codex plugin remove {plugin}", key="plugins"),
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
        programs=("gemini",),
        fields=Fields(),
        signs=Signs(variables=("GEMINI_SESSION_ID",)),
        turn="BeforeAgent",
        tool="BeforeTool",
        tool_end="AfterTool",
        end="AfterAgent",
        aborts=("SessionEnd",),
        clients=("gemini-cli-mcp-client",),
        config=Settings(
            {PROJECT: (".gemini/settings.json",), USER: ("settings.json",)}, _GROUP, seconds=1000
        ),
        callback="trim-jsonl",
        resume="gemini --resume {session}",
        servers=Servers(
            {PROJECT: (".gemini/settings.json",), USER: ("settings.json",)},
            advice=_TRUSTED.format("Gemini CLI"),
        ),
        plugins=Plugins({USER: "extensions/boocode"}, "gemini extensions uninstall {plugin}"),
    ),
    Agent(
        name="qwen",
        title="Qwen Code",
        aliases=("qwen-code",),
        home=".qwen",
        transcripts=("projects", "tmp"),
        marks=(".qwen", "QWEN.md"),
        programs=("qwen",),
        # A continuation of a turn fires the event of the turn again, with the same id.
        fields=Fields(
            turn=("prompt_id",),
            call=("tool_call_id", "tool_use_id"),
            submitted=("submitted_prompt",),
        ),
        signs=Signs(("prompt_id timestamp",), ("QWEN_PROJECT_DIR",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        aborts=("StopFailure", "SessionEnd"),
        clients=("qwen-cli-mcp-client",),
        session_variable="QWEN_CODE_SESSION_ID",
        config=Settings(
            {PROJECT: (".qwen/settings.json",), USER: ("settings.json",)}, _GROUP, seconds=1000
        ),
        callback="claude-code",
        resume="qwen --resume {session}",
        servers=Servers(
            {PROJECT: (".qwen/settings.json",), USER: ("settings.json",)},
            advice=_ASKS.format("Qwen Code"),
        ),
        plugins=Plugins({USER: "extensions/boocode"}, "qwen extensions uninstall {plugin}"),
    ),
    Agent(
        name="cursor",
        title="Cursor",
        home=".cursor",
        marks=(".cursor", ".cursorrules"),
        programs=("cursor", "cursor-agent"),
        fields=Fields(
            session=("conversation_id",),
            turn=("generation_id",),
            directories=("cwd", "workspace_roots"),
            files=("file_path",),
        ),
        run_by=("grok",),
        signs=Signs(("conversation_id", "generation_id")),
        turn="beforeSubmitPrompt",
        tool="preToolUse",
        tool_end="postToolUse",
        end="stop",
        clients=("cursor-vscode",),
        by_documentation=True,
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
        hook_notes='{"type":"hook.',
        marks=(".github/hooks", ".github/copilot-instructions.md"),
        # Its own spellings, and those of Claude Code's hooks, which VS Code uses in both.
        fields=Fields(
            session=("sessionId", "session_id"),
            transcript=("transcriptPath", "transcript_path"),
            event=("hookEventName", "hook_event_name"),
            tool=("toolName", "tool_name"),
            tool_input=("toolArgs", "tool_input"),
            # Subagents have sessions of their own.
            parent_session=("parentAgentId",),
        ),
        signs=Signs(
            ("sessionId !workspaceRoot", "hook_event_name timestamp !prompt_id !permission_mode"),
            ("COPILOT_PROJECT_DIR", "COPILOT_PLUGIN_ROOT"),
        ),
        turn="userPromptSubmitted",
        tool="preToolUse",
        tool_end="postToolUse",
        end="agentStop",
        # It reports errors as well, but goes on after most.
        aborts=("sessionEnd",),
        clients=("copilot-cli", "github-copilot-developer"),
        session_variable="COPILOT_AGENT_SESSION_ID",
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
        plugins=Plugins(
            {USER: "settings.json"}, "copilot plugin uninstall {plugin}", key="enabledPlugins"
        ),
    ),
    Agent(
        name="windsurf",
        title="Windsurf",
        home=".codeium/windsurf",
        marks=(".windsurf", ".windsurfrules"),
        programs=("windsurf",),
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
        by_documentation=True,
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
        programs=("cline",),
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
        aborts=("TaskCancel", "TaskError", "SessionShutdown"),
        clients=("@cline/core",),
        config=Program(
            {PROJECT: (".clinerules/hooks/{event}",), USER: ("Hooks/{event}",)},
            "cline",
            executable=True,
        ),
        answer='{"cancel":false}\n',
        servers=Servers({USER: ("data/settings/cline_mcp_settings.json",)}, home=".cline"),
        prompt_file=PromptFile(
            "sessions/{session}/{session}.json",
            "sessions/{session}/{session}.messages.json",
            variable="CLINE_DATA_DIR",
            home=".cline/data",
            element="user_input",
        ),
    ),
    Agent(
        name="opencode",
        title="opencode",
        home=".config/opencode",
        home_variable="OPENCODE_CONFIG_DIR",
        marks=(".opencode", "opencode.json", "opencode.jsonc"),
        programs=("opencode",),
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
            parent_session=("parentID",),
        ),
        turn="chat.message",
        tool="tool.execute.before",
        tool_end="tool.execute.after",
        end="session.idle",
        # What is in the directory of plugins makes it install packages there.
        config=Package(
            {
                PROJECT: ("opencode.json", "opencode.jsonc", ".opencode/plugins/boocode.ts"),
                USER: ("opencode.json", "opencode.jsonc", "plugins/boocode.ts"),
            },
            "opencode",
            {"$schema": "https://opencode.ai/config.json"},
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
    Agent(
        name="pi",
        title="Pi",
        home=".pi/agent",
        home_variable="PI_CODING_AGENT_DIR",
        transcripts=("sessions",),
        marks=(".pi",),
        # As our own extension sends it.
        fields=Fields(
            session=("sessionId",),
            turn=("turnId",),
            transcript=("sessionFile",),
            event=("event",),
            tool=("toolName",),
            call=("toolCallId",),
            tool_input=("input",),
        ),
        signs=Signs(("sessionFile",)),
        turn="before_agent_start",
        tool="tool_call",
        tool_end="tool_result",
        end="agent_settled",
        config=Program(
            {PROJECT: (".pi/extensions/boocode.ts",), USER: ("extensions/boocode.ts",)}, "pi.ts"
        ),
        callback="claude-code",
        resume="pi --session {session}",
        servers=Servers(
            {PROJECT: (".pi/mcp.json",), USER: ("mcp.json",)},
            advice=_TRUSTED.format("Pi"),
        ),
    ),
    Agent(
        name="kimi",
        title="Kimi Code",
        aliases=("kimi-code",),
        home=".kimi-code",
        home_variable="KIMI_CODE_HOME",
        transcript="sessions/*/{session}/agents/main/wire.jsonl",
        transcripts=("sessions",),
        marks=(".kimi-code",),
        programs=("kimi",),
        fields=Fields(transcript=(), call=("tool_call_id",)),
        signs=Signs(("client_type",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        aborts=("Interrupt", "StopFailure"),
        # A file with any other key, or a longer timeout, is not read at all.
        config=Settings(
            {USER: ("config.toml",)},
            {"event": "{event}", "command": "{command}", "timeout": "{timeout}"},
            event_key="event",
            longest={"": 600},
        ),
        callback="trim-jsonl",
        resume="kimi --session {session}",
        servers=Servers(
            {PROJECT: (".kimi-code/mcp.json",), USER: ("mcp.json",)},
            advice=_TRUSTED.format("Kimi Code"),
        ),
    ),
    Agent(
        name="grok",
        title="Grok Build",
        aliases=("grok-build",),
        home=".grok",
        home_variable="GROK_HOME",
        transcript="sessions/*/{session}/chat_history.jsonl",
        transcripts=("sessions",),
        marks=(".grok",),
        programs=("grok",),
        # It sends its own spellings and those of Claude Code. The transcript that it names holds
        # what it has shown, not what the model knows.
        fields=Fields(
            session=("sessionId",),
            turn=("promptId",),
            transcript=(),
            call=("toolUseId",),
            tool=("toolName",),
            tool_input=("toolInput",),
            parent=("subagentType",),
        ),
        signs=Signs(("hookEventName workspaceRoot",), ("GROK_SESSION_ID",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        aborts=("StopCancelled", "StopFailure"),
        ends_by_id=True,
        config=Settings(
            # Every file in the directory is read: ours leaves the others alone.
            {PROJECT: (".grok/hooks/boocode.json",), USER: ("hooks/boocode.json",)},
            _GROUP,
        ),
        callback="trim-jsonl",
        resume="grok --resume {session}",
        servers=Servers(
            {PROJECT: (".grok/config.toml",), USER: ("config.toml",)},
            key="mcp_servers",
            advice=_TRUSTED.format("Grok Build"),
        ),
    ),
    Agent(
        name="droid",
        title="Droid",
        aliases=("factory",),
        home=".factory",
        transcripts=("sessions",),
        marks=(".factory",),
        programs=("droid",),
        fields=Fields(),
        signs=Signs(variables=("FACTORY_PROJECT_DIR",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        # `droid exec` has no event before a turn.
        tool_begins=True,
        config=Settings(
            {
                PROJECT: (".factory/hooks.json", ".factory/settings.json"),
                USER: ("hooks.json", "settings.json"),
            },
            _GROUP,
            bare=("hooks.json",),
            hides=True,
        ),
        callback="trim-jsonl",
        resume="droid --resume {session}",
        servers=Servers({PROJECT: (".factory/mcp.json",), USER: ("mcp.json",)}, _STDIO),
    ),
    Agent(
        name="qoder",
        title="Qoder",
        aliases=("qodercli",),
        home=".qoder",
        marks=(".qoder",),
        programs=("qoder", "qodercli"),
        fields=Fields(),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        by_documentation=True,
        config=Settings(
            {
                LOCAL: (".qoder/settings.local.json",),
                PROJECT: (".qoder/settings.json",),
                USER: ("settings.json",),
            },
            _GROUP,
        ),
        servers=Servers({PROJECT: (".qoder/settings.json",), USER: ("settings.json",)}),
    ),
    Agent(
        name="kiro",
        title="Kiro",
        aliases=("kiro-cli",),
        home=".kiro",
        marks=(".kiro",),
        programs=("kiro", "kiro-cli"),
        # It sends no prompt so far.
        fields=Fields(transcript=()),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        by_documentation=True,
        config=Settings(
            # Every file in the directory is read: ours leaves the others alone.
            {PROJECT: (".kiro/hooks/boocode.json",), USER: ("hooks/boocode.json",)},
            {
                "name": "git-boocode {event}",
                "trigger": "{event}",
                "action": {"type": "command", "command": "{command}"},
                "timeout": "{timeout}",
                "enabled": True,
            },
            preface={"version": "v1"},
            event_key="trigger",
        ),
        servers=Servers({PROJECT: (".kiro/settings/mcp.json",), USER: ("settings/mcp.json",)}),
    ),
    Agent(
        name="devin",
        title="Devin CLI",
        aliases=("devin-cli",),
        home=".config/devin",
        marks=(".devin",),
        programs=("devin",),
        # It names no directory, and runs hooks in the one in which it works.
        fields=Fields(turn=("prompt_id",), transcript=()),
        signs=Signs(("prompt_id !cwd",), ("DEVIN_PROJECT_DIR",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        by_documentation=True,
        config=Settings(
            {
                LOCAL: (".devin/config.local.json",),
                PROJECT: (".devin/config.json",),
                USER: ("config.json",),
            },
            _GROUP,
        ),
        servers=Servers({PROJECT: (".devin/config.json",), USER: ("config.json",)}),
    ),
    Agent(
        name="goose",
        title="Goose",
        home=".config/goose",
        marks=(".goosehints",),
        # Only tools come with a directory; hooks run in the one in which it was started.
        fields=Fields(
            transcript=(),
            directories=("working_dir",),
            prompt=("message",),
            event=("event",),
            call=("tool_call_id",),
        ),
        signs=Signs(("event session_id",), ("PLUGIN_ROOT",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        tool_end="PostToolUse",
        end="Stop",
        by_documentation=True,
        # A plugin of its own for nothing but the hooks.
        config=Settings(
            {
                PROJECT: (".agents/plugins/boocode/hooks/hooks.json",),
                USER: ("plugins/boocode/hooks/hooks.json",),
            },
            _GROUP,
            home=".agents",
        ),
    ),
    Agent(
        name="antigravity",
        title="Antigravity CLI",
        aliases=("agy",),
        home=".gemini/config",
        marks=(".agents/hooks.json", ".agents/mcp_config.json"),
        programs=("antigravity", "agy"),
        fields=Fields(
            session=("conversationId",),
            transcript=(),
            directories=("workspacePaths",),
            prompt=(),
            event=(),
            tool=(),
            call=(),
            tool_input=(),
        ),
        signs=Signs(("conversationId workspacePaths",)),
        # Before each request to the model, of which only the first begins a turn. A hook before a
        # tool would have to decide whether that may run.
        turn="PreInvocation",
        tool="",
        end="Stop",
        turn_number="invocationNum",
        answer="{}\n",
        by_documentation=True,
        config=Settings(
            {PROJECT: (".agents/hooks.json",), USER: ("hooks.json",)},
            {"type": "command", "command": "{command}", "timeout": "{timeout}"},
            key="boocode",
        ),
        servers=Servers({PROJECT: (".agents/mcp_config.json",), USER: ("mcp_config.json",)}),
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
    clients=("Visual Studio Code",),
    config=Settings({}, {}),
    servers=Servers(
        {PROJECT: (".vscode/mcp.json",), USER: ("mcp.json",)},
        _STDIO,
        key="servers",
        advice="VS Code asks whether you trust the server when it first starts it",
    ),
)

# Its only hook runs before a tool, and says nothing of turns.
_CRUSH = Agent(
    name="crush",
    title="Crush",
    home=".config/crush",
    marks=("crush.json", ".crush.json", ".crush"),
    fields=Fields(),
    turn="",
    tool="",
    by_documentation=True,
    config=Settings({}, {}),
    servers=Servers(
        {PROJECT: ("crush.json", ".crush.json"), USER: ("crush.json",)}, _STDIO, key="mcp"
    ),
)

# Its own agent has no hooks; those that it starts have theirs.
_ZED = Agent(
    name="zed",
    title="Zed",
    home=".config/zed",
    marks=(".zed",),
    fields=Fields(),
    turn="",
    tool="",
    clients=("Zed",),
    by_documentation=True,
    config=Settings({}, {}),
    servers=Servers(
        {PROJECT: (".zed/settings.json",), USER: ("settings.json",)},
        key="context_servers",
        advice="Zed starts the server once you trust the worktree",
    ),
)

# The agent of JetBrains' editors, and its command line; it has no hooks.
_JUNIE = Agent(
    name="junie",
    title="Junie",
    aliases=("jetbrains",),
    home=".junie",
    marks=(".junie",),
    fields=Fields(),
    turn="",
    tool="",
    by_documentation=True,
    config=Settings({}, {}),
    servers=Servers({PROJECT: (".junie/mcp/mcp.json",), USER: ("mcp/mcp.json",)}),
)

SERVER_AGENTS = {
    agent.name: agent
    for agent in (*_ALL, _VSCODE, _ZED, _JUNIE, _CRUSH)
    if agent.servers is not None
}
"""The agents and editors that can start our server, by name."""

ALL_AGENTS = {**AGENTS, **SERVER_AGENTS}
"""Those that can have our hooks or our server, by name."""


ANY_AGENT = "auto"
"""In place of an agent's name: whichever runs the hook."""


def find_agent(name: str, among: Mapping[str, Agent] = AGENTS) -> Agent | None:
    """The agent of a name or an alias; None if there is none."""
    return among.get(name) or next((each for each in among.values() if name in each.aliases), None)
