"""A table of the supported agents, from the table by which hooks are installed."""

from __future__ import annotations

from git_boocode.agents.agent import HOOKS, USER, Agent
from git_boocode.agents.registry import AGENTS


def agents() -> str:
    """Each agent with the name for its hooks, their file, and what is special about it."""
    head = "| Agent | `--agent` | File | Callback | Tried |\n|---|---|---|---|---|\n"
    asks = (f"- {agent.trust.advice}.\n" for agent in AGENTS.values() if agent.trust)
    return head + "".join(map(_row, AGENTS.values())) + "\n" + "".join(asks)


def _row(agent: Agent) -> str:
    scope, places = next(iter(agent.places(HOOKS).items()))
    home = f"~/{agent.config.home or agent.home}/" if scope == USER else ""
    file = f"`{home}{places[0].replace('{event}', '<event>')}`"
    callback = f"`{agent.callback}`" if agent.callback else "–"
    tried = "by its documentation" if agent.by_documentation else "with the program"
    return f"| {agent.title} | `{agent.name}` | {file} | {callback} | {tried} |\n"
