"""Claude Code."""

from __future__ import annotations

from git_boocode.agents.agent import LOCAL, PROJECT, USER, Agent, Fields, Home, Settings

AGENT = Agent(
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
        entry={"hooks": [{"type": "command", "command": "{command}", "timeout": "{timeout}"}]},
    ),
)
