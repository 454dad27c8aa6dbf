"""The agents that are known, each found by its name without importing the others."""

from __future__ import annotations

from importlib import import_module

from git_boocode.agents.agent import Agent

MODULES = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
    "cursor": "cursor",
    "copilot": "copilot",
    "windsurf": "windsurf",
    "cline": "cline",
    "opencode": "opencode",
}


def find_agent(name: str) -> Agent | None:
    """An agent by its name or an alias; None if there is no such agent."""
    if name in MODULES:
        return _agent(name)
    # Only people use aliases: what is installed calls agents by their names.
    return next((agent for agent in all_agents() if name in agent.aliases), None)


def all_agents() -> list[Agent]:
    """All of them, in the order in which they are told."""
    return list(map(_agent, MODULES))


def _agent(name: str) -> Agent:
    agent: Agent = import_module(f"git_boocode.agents.{MODULES[name]}").AGENT
    return agent
