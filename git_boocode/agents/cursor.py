"""Cursor."""

from __future__ import annotations

from git_boocode.agents.agent import PROJECT, USER, Agent, Fields, Home, Settings

AGENT = Agent(
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
)
