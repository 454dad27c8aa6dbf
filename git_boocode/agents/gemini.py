"""Gemini CLI."""

from __future__ import annotations

from git_boocode.agents.agent import PROJECT, USER, Agent, Fields, Home, Settings

AGENT = Agent(
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
        entry={"hooks": [{"type": "command", "command": "{command}", "timeout": "{timeout}"}]},
        seconds=1000,
    ),
)
