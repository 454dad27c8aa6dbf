"""What a restore has to know about agents: their callbacks, and where our hooks may be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from git_boocode.agents.own_hooks import (
    has_own_hooks,
    has_own_server,
    server_paths,
    worktree_paths,
)
from git_boocode.agents.registry import (
    AGENTS,
    SERVER_AGENTS,
    Agent,
    transcript_directories,
    xdg_directory,
)
from git_boocode.checkpoints.callback import AgentCallback
from git_boocode.checkpoints.restore.request import HookFile, RestoreHost


def host_of_agents() -> RestoreHost:
    """The callbacks of all agents, their files in a worktree, and where their transcripts are."""
    files: dict[str, tuple[HookFile, ...]] = {}
    for path, file in (*_hook_files(), *_server_files()):
        files[path] = (*files.get(path, ()), file)
    transcripts = {name: transcript_directories(agent) for name, agent in _by_any_name()}
    triggers = {
        agent.name: {agent.turn, agent.older_turn, agent.tool if agent.tool_begins else ""} - {""}
        for agent in AGENTS.values()
        if agent.end
    }
    return RestoreHost(
        callbacks=_callbacks(),
        transcripts=transcripts,
        turn_triggers=triggers,
        hook_files=files,
    )


def _by_any_name() -> Iterator[tuple[str, Agent]]:
    """All agents by their names and aliases."""
    for agent in AGENTS.values():
        yield from ((name, agent) for name in (agent.name, *agent.aliases))


def _callbacks() -> dict[str, AgentCallback]:
    """The shipped callback of each agent that has one, by the agent's name."""
    data = xdg_directory("XDG_DATA_HOME", os.path.expanduser("~"), ".local/share")
    found = {}
    for agent in AGENTS.values():
        values = agent.callback_environment.items()
        environment = {name: value.replace("{data}", data) for name, value in values}
        if agent.callback:
            store = environment.get("BOOCODE_SQLITE_DATABASE", "")
            found[agent.name] = AgentCallback(agent.callback, environment, store)
    return found


def _hook_files() -> Iterator[tuple[str, HookFile]]:
    for agent in AGENTS.values():
        for scope, path in worktree_paths(agent):
            install = f"git boocode hooks install --agent {agent.name} --{scope}"
            yield path, HookFile(f"hooks of {agent.title}", install, partial(has_own_hooks, agent))


def _server_files() -> Iterator[tuple[str, HookFile]]:
    for agent in SERVER_AGENTS.values():
        for scope, path in server_paths(agent):
            install = f"git boocode serve --install {agent.name} --{scope}"
            yield path, HookFile(f"server for {agent.title}", install, has_own_server)
