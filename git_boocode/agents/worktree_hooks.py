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
from git_boocode.agents.config_files import Locations, load
from git_boocode.agents.file_edits import read_file
from git_boocode.agents.hook_state import last_calls
from git_boocode.agents.own_hooks import has_own
from git_boocode.agents.plugins import plugins_here
from git_boocode.agents.registry import AGENTS
from git_boocode.repo.errors import BoocodeError, shell_command
from git_boocode.repo.head import worktrees
from git_boocode.repo.repository import Repository


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


class MissingHooks(NamedTuple):
    """The agents whose hooks hold in `held` of all `worktrees`, but not in a certain one."""

    agents: tuple[str, ...]
    held: int
    worktrees: int

    @property
    def titles(self) -> str:
        """The agents, as users call them."""
        return ", ".join(AGENTS[name].title for name in self.agents)

    @property
    def hints(self) -> tuple[str, ...]:
        """Hints for the user of the worktree in which they are missing."""
        where = f"{self.held} of {self.worktrees} worktrees"
        return (
            f"the hooks of {self.titles} hold in {where}, not in this one",
            f"'{self.install()}' installs them here, or for all worktrees with --user",
        )

    def install(self, worktree: str = "") -> str:
        """The command that installs them, in another worktree or the current one."""
        there = ("-C", worktree) if worktree else ()
        words = [word for name in self.agents for word in ("--agent", name)]
        return shell_command("git", *there, "boocode", "hooks", "install", *words)


def missing_hooks(repository: Repository, worktree: str) -> MissingHooks | None:
    """The agents whose hooks hold in other worktrees of a repository, but not in `worktree`.

    None if there are none.
    """
    listed = [path for path, _ in worktrees(repository) if os.path.exists(f"{path}/.git")]
    agents = {path: {name for name in AGENTS if _is_in(path, AGENTS[name])} for path in listed}
    found = set[str]().union(*agents.values()) - agents.get(worktree, set())
    if found:
        locations = Locations.of(repository)
        plugins = {state.agent for state in plugins_here(locations) if state.enabled}
        found = {name for name in found - plugins if not _is_at_home(locations, AGENTS[name])}
    if not found:
        return None
    held = sum(bool(found & names) for names in agents.values())
    return MissingHooks(tuple(name for name in AGENTS if name in found), held, len(listed))


def vanished_hooks(repository: Repository) -> list[Agent]:
    """The agents that have called hooks in this worktree, but whose hooks somebody has removed.

    Those that `hooks uninstall` has removed are not among them.
    """
    locations, calls = Locations.of(repository), last_calls(repository)
    plugins = {state.agent for state in plugins_here(locations) if state.enabled}
    found = []
    for agent in AGENTS.values():
        if agent.name in plugins or not calls.keys() & {agent.name, *agent.run_by}:
            continue
        scopes = locations.scopes(agent, HOOKS)
        files = [file for scope in scopes for file in locations.files(agent, scope, HOOKS)]
        holds = any(_has_own(agent, file.path) for file in files)
        if not holds and any(load(file.record) for file in files):
            found.append(agent)
    return found


def _is_at_home(locations: Locations, agent: Agent) -> bool:
    """Whether a file of the home directory holds our hooks of an agent."""
    if USER not in agent.places(HOOKS):
        return False
    return any(_has_own(agent, file.path) for file in locations.files(agent, USER, HOOKS))


def _is_in(worktree: str, agent: Agent) -> bool:
    """Whether a file of a worktree holds our hooks of an agent."""
    paths = (os.path.join(worktree, path) for _, path in agent.worktree_paths(HOOKS))
    return any(_has_own(agent, path) for path in paths)


def _has_own(agent: Agent, path: str) -> bool:
    with suppress(BoocodeError):
        data = read_file(path)
        return data is not None and has_own(agent, HOOKS, data)
    return False
