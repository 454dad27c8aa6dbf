"""Our plugin, as agents install it: found in what they record of plugins, and left to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from git_boocode.agents.agent import USER, Agent, home_of
from git_boocode.agents.config_files import Locations
from git_boocode.agents.config_settings import inner_table, read_values, untrusted_of_plugin
from git_boocode.agents.hook_state import last_calls
from git_boocode.agents.registry import AGENTS
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.files import find_shipped

PLUGIN = "boocode"
# In the plugin, as Codex names it where it records what is trusted.
_HOOKS = "hooks/hooks.json"


class PluginState(NamedTuple):
    """Our plugin, installed for an agent in one scope.

    `plugin` is its name for the agent, and `path` the file or directory that shows that it is
    installed. `enabled` is false if the user has disabled it. `untrusted` are the events whose
    hooks the agent does not run yet. `uninstall` is the agent's own command. `last_call` is when
    the agent last called a hook in this worktree, in the format of the metadata, or None.
    """

    agent: str
    title: str
    scope: str
    plugin: str
    enabled: bool
    path: str
    untrusted: tuple[str, ...]
    uninstall: str
    last_call: str | None


def plugins_here(locations: Locations) -> list[PluginState]:
    """The plugins of agents that are installed for this worktree or user."""
    calls = last_calls(locations.repository) if locations.repository else {}
    found: list[PluginState] = []
    for agent in AGENTS.values():
        places = agent.plugins.places if agent.plugins else {}
        for scope, place in places.items():
            found += _states(locations, agent, scope, place, calls.get(agent.name))
    return found


def marketplace() -> str | None:
    """The directory of the installed package from which agents can install the plugin."""
    path = find_shipped(".claude-plugin/marketplace.json")
    return path and os.path.dirname(os.path.dirname(path))


def _states(
    locations: Locations, agent: Agent, scope: str, place: str, last_call: str | None
) -> Iterator[PluginState]:
    plugins, repository = agent.plugins, locations.repository
    if plugins is None or (scope != USER and repository is None):
        return
    top = home_of(agent, locations.home) if scope == USER or not repository else repository.worktree
    path = os.path.join(top, place)
    for name, value in _recorded(path, plugins.key).items():
        enabled = value.get("enabled") is not False if isinstance(value, dict) else value is True
        hooks = f"{name}:{_HOOKS}"
        yield PluginState(
            agent=agent.name,
            title=agent.title,
            scope=scope,
            plugin=name,
            enabled=enabled,
            path=path,
            untrusted=untrusted_of_plugin(locations, agent, hooks) if enabled else (),
            uninstall=plugins.uninstall.format(plugin=name, scope=scope),
            last_call=last_call,
        )


def _recorded(path: str, key: str) -> dict[str, Any]:
    """What is recorded of our plugin, by its name."""
    if not key:
        return {PLUGIN: True} if os.path.isdir(path) else {}
    try:
        table = inner_table(read_values(path), key)
    except (RefusedError, ValueError, RecursionError):
        # Whoever changes the file says so.
        return {}
    return {name: value for name, value in table.items() if name.partition("@")[0] == PLUGIN}
