"""Which worktrees of a repository our hooks hold in.

A file of a worktree that is not committed is in that one alone; those in the home directory hold in
all.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from git_boocode.agents.agent import HOOKS, USER, Agent
from git_boocode.agents.config_files import Locations
from git_boocode.agents.file_edits import read_file
from git_boocode.agents.own_hooks import has_own
from git_boocode.agents.registry import AGENTS
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.head import worktrees


class WorktreeHooks(NamedTuple):
    """The `agents` whose hooks hold in the worktree at `path`, and those that are `missing`."""

    path: str
    agents: tuple[str, ...]
    missing: tuple[str, ...]


def hooks_by_worktree(
    locations: Locations, scopes: Mapping[str, Collection[str]]
) -> list[WorktreeHooks]:
    """What holds in each worktree, the current one first; empty if there is only one.

    `scopes` are those in which agents have hooks, or will have them, in the current worktree.
    """
    if locations.repository is None:
        return []
    here = locations.repository.worktree
    listed = (path for path, _ in worktrees(locations.repository))
    # A bare repository is listed, too, and so are worktrees that somebody has deleted.
    others = [path for path in listed if path != here and os.path.exists(f"{path}/.git")]
    found = []
    for path in [here, *others] if others else []:
        held = {
            name: path == here or USER in where or _is_in(path, AGENTS[name])
            for name, where in scopes.items()
            if where
        }
        agents = tuple(name for name, holds in held.items() if holds)
        missing = tuple(name for name, holds in held.items() if not holds)
        found.append(WorktreeHooks(path, agents, missing))
    return found


def _is_in(worktree: str, agent: Agent) -> bool:
    """Whether a file of a worktree holds our hooks of an agent."""
    for _, path in agent.worktree_paths(HOOKS):
        with suppress(BoocodeError):
            data = read_file(os.path.join(worktree, path))
            if data is not None and has_own(agent, HOOKS, data):
                return True
    return False
