"""What is known of every agent is in order."""

from __future__ import annotations

import pytest

from git_boocode.agents.agent import SCOPES, Agent
from git_boocode.agents.registry import AGENTS, find_agent


def test_each_is_found_by_its_names() -> None:
    for agent in AGENTS.values():
        assert all(find_agent(name) == agent for name in (agent.name, *agent.aliases))
    assert find_agent("nobody") is None


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
def test_what_is_known_of_it(agent: Agent) -> None:
    assert set(agent.config.places) <= set(SCOPES)
    assert not any(
        p.startswith(("/", "~")) for places in agent.config.places.values() for p in places
    )
    assert agent.turn != agent.tool
    assert agent.fields.session
    assert agent.fields.directories
