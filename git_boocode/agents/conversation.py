"""Conversations of agents: the callbacks that restore them, and the commands that resume them."""

from __future__ import annotations

import shlex

from git_boocode.agents.registry import AGENTS, find_agent
from git_boocode.checkpoints.callback import AgentCallback
from git_boocode.checkpoints.restore.transaction import Result


def agent_callbacks() -> dict[str, AgentCallback]:
    """The shipped callback of each agent that has one, by the agent's name."""
    return {
        agent.name: AgentCallback(agent.callback, agent.callback_environment)
        for agent in AGENTS.values()
        if agent.callback
    }


def resume_command(result: Result) -> str:
    """The command that goes on with a conversation that was restored; empty if none is known."""
    if result.answer is None:
        return ""
    agent = find_agent(result.checkpoint.meta.text("agent"))
    session = result.checkpoint.meta.text("session")
    template = agent.resume if agent and session else ""
    return result.answer.resume or template.format(session=shlex.quote(session))


def unrestored_conversation(result: Result) -> str:
    """Why a restore left the conversation of its checkpoint alone, and what restores it.

    Empty if the checkpoint belongs to no conversation, or a callback restored it.
    """
    meta = result.checkpoint.meta
    if result.callback or not any(meta.text(key) for key in ("session", "chat", "message")):
        return ""
    command = f"'git boocode restore {result.checkpoint.id} --conversation-only --callback <file>'"
    agent = find_agent(meta.text("agent"))
    if agent and not agent.callback:
        return f"the conversation was left alone: go back to this turn in {agent.title} yourself"
    return f"the conversation was left alone: {command} restores it with a callback"
