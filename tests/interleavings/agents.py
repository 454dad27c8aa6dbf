"""What agents send to `git boocode hook` around turns and tool calls, as their programs do."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

BEGIN, BEFORE, AFTER, END = "begin", "before", "after", "end"
EDIT, WRITE, SHELL = "edit", "write", "shell"
NAMING = (EDIT, WRITE)
"""Tools that name the only file that they change."""


class Call(NamedTuple):
    """A tool call: a number for its id, one of the tools above, and the file that it names.

    `is_alone` is whether no other turn was open when it began.
    """

    number: int
    tool: str
    path: str = ""
    is_alone: bool = False


class Turn(NamedTuple):
    """A turn of a session, by their numbers."""

    session: int
    number: int

    @property
    def prompt(self) -> str:
        """What the user asked for, by which the log shows the turn."""
        return f"do task {self.number} of session {self.session}"


Payload = dict[str, Any]


def session_id(number: int) -> str:
    """The id of a session."""
    return f"{number:08x}-4104-4ec4-8c96-1246c4f21401"


class SimulatedAgent(NamedTuple):
    """An agent: the events at which it calls its hooks, and what it sends then."""

    name: str
    events: tuple[str, str, str, str]  # BEGIN, BEFORE, AFTER, END
    payload: Callable[[str, str, Turn, Call | None], Payload]

    def event(self, kind: str) -> str:
        """The agent's name of an event."""
        return self.events[(BEGIN, BEFORE, AFTER, END).index(kind)]

    def sends(self, kind: str, top: str, turn: Turn, call: Call | None = None) -> Payload:
        """The payload of an event in the worktree `top`."""
        return self.payload(kind, top, turn, call)


def _like_claude(
    name: str, tools: tuple[str, str, str], turn_id: str, events: tuple[str, str, str, str]
) -> SimulatedAgent:
    """An agent whose hooks are those of Claude Code, more or less."""

    def payload(kind: str, top: str, turn: Turn, call: Call | None) -> Payload:
        session = session_id(turn.session)
        transcript = os.path.expanduser(f"~/.{name}/projects/{session}.jsonl")
        sent: Payload = {
            "session_id": session,
            "transcript_path": transcript,
            "cwd": top,
            "hook_event_name": agent.event(kind),
        }
        if turn_id:
            # As after a cut of the conversation, an id comes again with another prompt.
            sent[turn_id] = f"{session}########{turn.number % 2}"
        if kind == BEGIN:
            sent["prompt"] = turn.prompt
        if kind == END:
            sent |= {"stop_hook_active": False, "last_assistant_message": "All done."}
        if call is not None:
            sent |= {
                "tool_name": tools[(EDIT, WRITE, SHELL).index(call.tool)],
                "tool_input": _claude_input(top, call),
                "tool_use_id": f"toolu_{turn.session}_{turn.number}_{call.number}",
            }
            if kind == AFTER:
                sent["tool_response"] = {"success": True}
        return sent

    agent = SimulatedAgent(name, events, payload)
    return agent


def _claude_input(top: str, call: Call) -> Payload:
    file = os.path.join(top, call.path)
    inputs: dict[str, Payload] = {
        EDIT: {"file_path": file, "old_string": "one", "new_string": "two", "replace_all": False},
        WRITE: {"file_path": file, "content": "all of it\n"},
        SHELL: {"command": "make generate", "description": "Generate the sources"},
    }
    return inputs[call.tool]


_CLAUDE_EVENTS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")


def _codex(kind: str, top: str, turn: Turn, call: Call | None) -> Payload:
    sent = _LIKE_CODEX.sends(kind, top, turn, call)
    if call is not None and call.tool != SHELL:
        verb = "Update" if call.tool == EDIT else "Add"
        patch = f"*** Begin Patch\n*** {verb} File: {call.path}\n@@\n-one\n+two\n*** End Patch\n"
        sent |= {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    return {**sent, "model": "gpt-5.5", "permission_mode": "bypassPermissions"}


def _gemini(kind: str, top: str, turn: Turn, call: Call | None) -> Payload:
    sent = _LIKE_GEMINI.sends(kind, top, turn, call)
    # It gives calls no ids.
    sent.pop("tool_use_id", None)
    return {**sent, "timestamp": "2026-11-22T14:07:53.257Z"}


def _copilot(kind: str, top: str, turn: Turn, call: Call | None) -> Payload:
    sent: Payload = {
        "sessionId": session_id(turn.session),
        "timestamp": 1795358294990,
        "cwd": top,
    }
    if kind == BEGIN:
        sent["prompt"] = turn.prompt
    if kind == END:
        sent["stopReason"] = "end_turn"
    if call is not None:
        sent["toolName"] = {EDIT: "edit", WRITE: "create", SHELL: "bash"}[call.tool]
        path = {"path": os.path.join(top, call.path)}
        sent["toolArgs"] = {"command": "make generate"} if call.tool == SHELL else path
        if kind == AFTER:
            sent["toolResult"] = {"resultType": "success"}
    return sent


def _opencode(kind: str, top: str, turn: Turn, call: Call | None) -> Payload:
    sent: Payload = {
        "event": _OPENCODE_EVENTS[(BEGIN, BEFORE, AFTER, END).index(kind)],
        "sessionID": session_id(turn.session),
        "messageID": f"msg_{turn.session:012}{turn.number:012}",
        "directory": top,
    }
    if kind == BEGIN:
        sent["prompt"] = turn.prompt
    if call is not None:
        sent["tool"] = {EDIT: "edit", WRITE: "write", SHELL: "bash"}[call.tool]
        sent["callID"] = f"call_{turn.session}_{turn.number}_{call.number}"
        path = {"filePath": os.path.join(top, call.path)}
        sent["args"] = {"command": "make generate"} if call.tool == SHELL else path
    return sent


_OPENCODE_EVENTS = ("chat.message", "tool.execute.before", "tool.execute.after", "session.idle")
_GEMINI_EVENTS = ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent")
_COPILOT_EVENTS = ("userPromptSubmitted", "preToolUse", "postToolUse", "agentStop")
_LIKE_CODEX = _like_claude(
    "codex", ("apply_patch", "apply_patch", "Bash"), "turn_id", _CLAUDE_EVENTS
)
_LIKE_GEMINI = _like_claude(
    "gemini", ("replace", "write_file", "run_shell_command"), "", _GEMINI_EVENTS
)
AGENTS = (
    _like_claude("claude-code", ("Edit", "Write", "Bash"), "prompt_id", _CLAUDE_EVENTS),
    SimulatedAgent("codex", _CLAUDE_EVENTS, _codex),
    SimulatedAgent("gemini", _GEMINI_EVENTS, _gemini),
    _like_claude("qwen", ("edit", "write_file", "run_shell_command"), "prompt_id", _CLAUDE_EVENTS),
    SimulatedAgent("opencode", _OPENCODE_EVENTS, _opencode),
    SimulatedAgent("copilot", _COPILOT_EVENTS, _copilot),
)
