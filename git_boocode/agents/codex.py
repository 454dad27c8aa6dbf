"""Codex CLI."""

from __future__ import annotations

from git_boocode.agents.agent import PROJECT, USER, Agent, Fields, Home, Settings

AGENT = Agent(
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
        entry={"hooks": [{"type": "command", "command": "{command}", "timeout": "{timeout}"}]},
        toml={PROJECT: ".codex/config.toml", USER: "config.toml"},
    ),
    note="Codex asks you to trust new hooks before it runs them",
)
