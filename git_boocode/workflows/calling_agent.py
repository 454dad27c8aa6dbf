"""Which agent calls the server, and in which session."""

from __future__ import annotations

import os

from git_boocode.agents.agent import Agent
from git_boocode.agents.registry import AGENTS, SERVER_AGENTS, find_agent
from git_boocode.repo.reported_turn import open_sessions, read_turns
from git_boocode.repo.repository import Repository


def agent_of_client(client: str) -> Agent | None:
    """The agent that calls itself so to MCP servers."""
    known = {**AGENTS, **SERVER_AGENTS}
    named = (agent for agent in known.values() if client.startswith(agent.clients or ("\0",)))
    return find_agent(client, known) or next(named, None)


def session_of_agent(repository: Repository, agent: Agent) -> str:
    """The session in which an agent that started this process works; empty if it is uncertain.

    An agent can begin another session while its servers run on, so one whose turn is open comes
    before that of the environment.
    """
    given = os.environ.get(agent.session_variable, "")
    running = open_sessions(read_turns(repository.state_dir), agent.name)
    if given in running or not running:
        return given
    return running[0] if len(running) == 1 else ""
