"""Cline."""

from __future__ import annotations

from git_boocode.agents.agent import PROJECT, USER, Agent, Fields, Home, Program

AGENT = Agent(
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
)
