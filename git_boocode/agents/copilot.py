"""Copilot CLI."""

from __future__ import annotations

from git_boocode.agents.agent import PROJECT, USER, Agent, Fields, Home, Settings

AGENT = Agent(
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
)
