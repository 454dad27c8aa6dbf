"""opencode; what it tells is what our own plugin in it passes on."""

from __future__ import annotations

from git_boocode.agents.agent import PROJECT, USER, Agent, Fields, Home, Program

AGENT = Agent(
    name="opencode",
    title="opencode",
    home=Home(".config/opencode"),
    marks=(".opencode", "opencode.json", "opencode.jsonc"),
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
)
