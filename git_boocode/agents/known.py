"""The agents that are known, each found without importing the others."""

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
_ALIASES = {
    "claude": "claude-code",
    "codex-cli": "codex",
    "gemini-cli": "gemini",
    "copilot-cli": "copilot",
}


def find_agent(name: str) -> Agent | None:
    """An agent by its name or an alias; None if there is no such agent."""
    module = MODULES.get(_ALIASES.get(name, name))
    if module is None:
        return None
    agent: Agent = import_module(f"git_boocode.agents.{module}").AGENT
    return agent


def all_agents() -> list[Agent]:
    """All of them, in the order in which they are told."""
    return [agent for name in MODULES if (agent := find_agent(name))]
