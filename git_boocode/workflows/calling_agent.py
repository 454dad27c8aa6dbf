"""Which agent calls the server, and in which session."""

from __future__ import annotations

import os

from git_boocode.agents.agent import Agent
from git_boocode.agents.registry import ALL_AGENTS, find_agent
from git_boocode.repo.reported_turn import open_sessions
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import known_turns


def agent_of_client(client: str) -> Agent | None:
    """The agent that calls itself so to MCP servers."""
    named = (agent for agent in ALL_AGENTS.values() if client.startswith(agent.clients or ("\0",)))
    return find_agent(client, ALL_AGENTS) or next(named, None)


def session_of_agent(repository: Repository, name: str, variable: str = "") -> str:
    """The session in which an agent that started this process works; empty if it is uncertain.

    An agent can begin another session while its servers run on, so one whose turn is open comes
    before that of the environment, which has it in `variable`.
    """
    given = os.environ.get(variable, "")
    running = open_sessions(known_turns(repository.state_dir), name)
    if given in running or not running:
        return given
    return running[0] if len(running) == 1 else ""
