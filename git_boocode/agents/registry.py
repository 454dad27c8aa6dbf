"""The agents that are known: one table."""

from __future__ import annotations

from git_boocode.agents.agent import (
    LOCAL,
    PROJECT,
    USER,
    Agent,
    Fields,
    Home,
    Program,
    Settings,
)

# Several agents list a command in a group of hooks, as Claude Code does.
_GROUP = {"hooks": [{"type": "command", "command": "{command}", "timeout": "{timeout}"}]}

_ALL = (
    Agent(
        name="claude-code",
        title="Claude Code",
        aliases=("claude",),
        home=Home(".claude", "CLAUDE_CONFIG_DIR"),
        marks=(".claude", "CLAUDE.md"),
        fields=Fields(),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        # VS Code sends what Copilot sends.
        run_by={"cursor": ("conversation_id", "generation_id"), "copilot": ("sessionId",)},
        callback="claude-code",
        config=Settings(
            places={
                LOCAL: ".claude/settings.local.json",
                PROJECT: ".claude/settings.json",
                USER: "settings.json",
            },
            entry=_GROUP,
        ),
    ),
    Agent(
        name="codex",
        title="Codex CLI",
        aliases=("codex-cli",),
        home=Home(".codex", "CODEX_HOME"),
        marks=(".codex",),
        fields=Fields(turn=("turn_id",)),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        config=Settings(
            places={PROJECT: ".codex/hooks.json", USER: "hooks.json"},
            entry=_GROUP,
            toml={PROJECT: ".codex/config.toml", USER: "config.toml"},
        ),
        note="Codex asks you to trust new hooks before it runs them",
    ),
    Agent(
        name="gemini",
        title="Gemini CLI",
        aliases=("gemini-cli",),
        home=Home(".gemini"),
        marks=(".gemini", "GEMINI.md"),
        fields=Fields(),
        turn="BeforeAgent",
        tool="BeforeTool",
        config=Settings(
            places={PROJECT: ".gemini/settings.json", USER: "settings.json"},
            entry=_GROUP,
            seconds=1000,
        ),
    ),
    Agent(
        name="cursor",
        title="Cursor",
        home=Home(".cursor"),
        marks=(".cursor", ".cursorrules"),
        fields=Fields(
            session=("conversation_id",),
            turn=("generation_id",),
            directories=("cwd", "workspace_roots"),
            files=("file_path",),
        ),
        turn="beforeSubmitPrompt",
        tool="preToolUse",
        config=Settings(
            places={PROJECT: ".cursor/hooks.json", USER: "hooks.json"},
            entry={"command": "{command}"},
            preface={"version": 1},
        ),
        # In print mode no prompt is announced.
        tool_begins=True,
    ),
    Agent(
        name="copilot",
        title="Copilot CLI",
        aliases=("copilot-cli",),
        home=Home(".copilot"),
        marks=(".github/hooks", ".github/copilot-instructions.md"),
        fields=Fields(
            session=("sessionId",),
            # As VS Code spells them, too, which runs these hooks.
            transcript=("transcriptPath", "transcript_path"),
            event=("hookEventName",),
            tool=("toolName", "tool_name"),
            tool_input=("toolArgs", "tool_input"),
        ),
        turn="userPromptSubmitted",
        tool="preToolUse",
        config=Settings(
            # Every file in the directory is read; one of our own leaves the others alone.
            places={PROJECT: ".github/hooks/boocode.json", USER: "hooks/boocode.json"},
            entry={"type": "command", "bash": "{command}", "timeoutSec": "{timeout}"},
            preface={"version": 1},
        ),
    ),
    Agent(
        name="windsurf",
        title="Windsurf",
        home=Home(".codeium/windsurf"),
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
        config=Settings(
            places={PROJECT: ".windsurf/hooks.json", USER: "hooks.json"},
            entry={"command": "{command}", "show_output": False},
        ),
    ),
    Agent(
        name="cline",
        title="Cline",
        home=Home("Documents/Cline"),
        marks=(".clinerules",),
        fields=Fields(
            session=("taskId",),
            transcript=(),
            directories=("workspaceRoots",),
            prompt=("prompt", "userPromptSubmit.prompt"),
            event=("hookName",),
            tool=("preToolUse.toolName", "preToolUse.tool"),
            tool_input=("preToolUse.parameters",),
        ),
        turn="UserPromptSubmit",
        tool="PreToolUse",
        config=Program(
            places={PROJECT: ".clinerules/hooks/{event}", USER: "Hooks/{event}"},
            template="cline",
            executable=True,
        ),
        answer='{"cancel":false}\n',
        note="Cline runs hooks only where they are enabled in its settings",
    ),
    Agent(
        name="opencode",
        title="opencode",
        home=Home(".config/opencode"),
        marks=(".opencode", "opencode.json", "opencode.jsonc"),
        # What it tells is what our own plugin in it passes on.
        fields=Fields(
            session=("sessionID",),
            turn=("messageID",),
            transcript=(),
            directories=("directory",),
            event=("event",),
            tool=("tool",),
            tool_input=("args",),
        ),
        turn="chat.message",
        tool="tool.execute.before",
        config=Program(
            places={PROJECT: ".opencode/plugins/boocode.ts", USER: "plugins/boocode.ts"},
            template="opencode.ts",
        ),
    ),
)

AGENTS = {agent.name: agent for agent in _ALL}
"""By their names, in the order in which they are listed."""


def find_agent(name: str) -> Agent | None:
    """An agent by its name or an alias; None if there is no such agent."""
    return AGENTS.get(name) or next((agent for agent in _ALL if name in agent.aliases), None)
