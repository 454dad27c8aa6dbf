"""Conversations of agents after a restore: how to resume them, or why they were left alone."""

from __future__ import annotations

import os
import shlex

from git_boocode.agents.registry import find_agent
from git_boocode.checkpoints.restore.transaction import Result


def resume_command(result: Result) -> str:
    """The command that goes on with a conversation that was restored; empty if none is known.

    Some agents cannot resume a session without messages: if none is left, it starts a new one.
    """
    if result.answer is None:
        return ""
    agent = find_agent(result.checkpoint.meta.text("agent"))
    session = result.checkpoint.meta.text("session")
    template = agent.resume if agent and session else ""
    if result.answer.is_emptied:
        template = template.partition(" ")[0]
    return result.answer.resume or template.format(session=shlex.quote(session))


def unrestored_conversation(result: Result) -> str:
    """Why a restore left the conversation of its checkpoint alone, and what restores it.

    Empty if the checkpoint belongs to no conversation, or a callback restored it.
    """
    meta = result.checkpoint.meta
    if (
        result.callback
        or not result.changes_something
        or not any(meta.text(key) for key in ("session", "chat", "message"))
    ):
        return ""
    agent, transcript = find_agent(meta.text("agent")), meta.part("anchor", "path")
    if agent and not agent.callback:
        return f"the conversation was left alone: go back to this turn in {agent.title} yourself"
    if transcript and not os.path.isfile(transcript):
        return f"the conversation was left alone: its transcript '{transcript}' is gone"
    command = f"git boocode restore {result.checkpoint.id} --conversation-only --callback <file>"
    return f"the conversation was left alone: '{command}' restores it with a callback"
