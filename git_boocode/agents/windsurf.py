"""Windsurf."""

from __future__ import annotations

from git_boocode.agents.agent import PROJECT, USER, Agent, Fields, Home, Settings

AGENT = Agent(
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
)
