"""`git boocode serve --install` and `--uninstall`: our server in agents' lists of servers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from git_boocode.agents.config_files import Locations, stop_excluding
from git_boocode.agents.install import (
    NOT_INSTALLED,
    OTHER_SERVER,
    UNUSABLE,
    PlannedChange,
    plan_server,
    plan_server_removal,
    server_state,
    tracked_server_files,
    wanted_server,
)
from git_boocode.agents.registry import PROJECT, SERVER_AGENTS, USER, Agent, find_agent
from git_boocode.cli.hooks_plan import (
    HooksPlan,
    PlanResult,
    exclusion,
    finish,
    sharing_notes,
    shown_path,
)
from git_boocode.repo.errors import BoocodeError, RefusedError, UsageError, shell_command
from git_boocode.repo.repository import Repository


class Registration(NamedTuple):
    """The agents by name, the scope that is asked for, and how to answer."""

    names: tuple[str, ...]
    project: bool
    user: bool
    exclude: bool
    dry_run: bool
    as_json: bool

    @property
    def scope(self) -> str | None:
        """The scope that is asked for."""
        return PROJECT if self.project else USER if self.user else None

    @property
    def agents(self) -> list[Agent]:
        """The agents, each once; UsageError if one is unknown."""
        found = {name: find_agent(name, SERVER_AGENTS) for name in self.names}
        for name, agent in found.items():
            if agent is None:
                hint = f"these can start the server: {', '.join(SERVER_AGENTS)}"
                raise UsageError(f"unknown agent '{name}'", hints=(hint,))
        return list({agent.name: agent for agent in found.values() if agent}.values())


def install_server(asked: Registration, repo: str | None, *, read_only: bool) -> int:
    """Have agents start the server with these options, all of them or none; return the exit code.

    Raises UsageError without agents and for a path in a tracked file, RefusedError if a file cannot
    take the server, and FatalError outside a repository unless the user's files are meant.
    """
    if not asked.names:
        hint = f"name some: {', '.join(SERVER_AGENTS)}"
        raise UsageError("'--install' needs the names of agents", hints=(hint,))
    locations = Locations.here()
    options: list[str] = []
    if repo is not None:
        options += ["--repo", os.path.realpath(repo)]
        # The server would not start elsewhere.
        Repository.discover(options[-1])
    options += ["--read-only"] if read_only else []
    tracked, notes, changes = tracked_server_files(locations), list[str](), []
    for agent in asked.agents:
        for scope in _scopes_to_install(locations, agent, asked.scope, tracked):
            shared = [f.path for f in locations.server_files(agent, scope) if f.path in tracked]
            if shared and repo is not None:
                raise UsageError(
                    f"'--repo' cannot go into {shown_path(locations, shared[0])}, which git tracks",
                    hints=("omit --repo: the agent names its worktree to the server",),
                )
            wanted = wanted_server(*options, tracked=bool(shared))
            planned = plan_server(locations, agent, scope, wanted)
            changes += planned
            if agent.servers and scope == PROJECT and any(each.edit for each in planned):
                notes += filter(None, [agent.servers.advice])
    plan = HooksPlan(locations, changes, [])
    if asked.exclude:
        plan = plan._replace(exclude=exclusion(plan, asks=False))
    notes += _sharing_notes(plan, tracked, dry_run=asked.dry_run)
    result = PlanResult(_changed(plan, "installed"), "nothing to install", notes, "files")
    return finish(plan, result, dry_run=asked.dry_run, as_json=asked.as_json)


def uninstall_server(asked: Registration) -> int:
    """Remove the server from agents' lists, by default from all of this repository.

    Raises RefusedError if a file cannot be changed, and FatalError outside a repository unless the
    user's files are meant.
    """
    locations = Locations.here()
    agents = asked.agents or list(SERVER_AGENTS.values())
    changes, notes = [], list[str]()
    for agent in agents:
        for scope in _scopes_to_uninstall(locations, agent, asked):
            changes += plan_server_removal(locations, agent, scope)
            notes += _foreign(locations, agent, scope)
    left = [] if asked.scope is not None else [*_left(locations, agents, changes)]
    notes += left
    plan = HooksPlan(locations, changes, [])
    if locations.repository is not None:
        plan = plan._replace(exclude=[*stop_excluding(locations.repository, plan.released())])
    nothing = f"no server is installed{' in this worktree' if left else ''}"
    result = PlanResult(_changed(plan, "uninstalled"), nothing, notes, "files")
    return finish(plan, result, dry_run=asked.dry_run, as_json=asked.as_json)


def _scopes_to_install(
    locations: Locations, agent: Agent, asked: str | None, tracked: set[str]
) -> list[str]:
    """The scope that is asked for, else those that list our server already, else the narrowest.

    In a home directory that is a worktree two scopes are the same file, which counts once.
    """
    if asked is not None:
        return [_checked_scope(agent, asked)]
    there: dict[str, str] = {}
    for scope in locations.server_scopes(agent):
        state = server_state(locations, agent, scope, tracked)
        if state.state not in (NOT_INSTALLED, OTHER_SERVER, UNUSABLE):
            there.setdefault(os.path.realpath(state.path), scope)
    return [*there.values()] or _scopes(agent)[:1]


def _scopes_to_uninstall(locations: Locations, agent: Agent, asked: Registration) -> list[str]:
    """The scope that is asked for; else that of this worktree, or of agents with none for it."""
    if asked.scope is not None:
        return (
            [_checked_scope(agent, asked.scope)]
            if asked.names
            else [scope for scope in _scopes(agent) if scope == asked.scope]
        )
    scopes = _scopes(agent)
    if locations.repository is None and not asked.names:
        # It fails, and mentions --user.
        locations.server_files(SERVER_AGENTS["claude-code"], PROJECT)
    return scopes[:1] if asked.names or scopes[0] != USER else []


def _scopes(agent: Agent) -> list[str]:
    """The scopes in which an agent lists servers, the narrowest first."""
    places = agent.servers.places if agent.servers else ()
    return [scope for scope in (PROJECT, USER) if scope in places]


def _checked_scope(agent: Agent, asked: str) -> str:
    """The scope that is asked for; RefusedError if the agent does not have it."""
    if asked in _scopes(agent):
        return asked
    message = f"{agent.title} lists servers only in your home directory"
    raise RefusedError(message, code="no_such_scope", hints=("omit --project, or use --user",))


def _changed(plan: HooksPlan, done: str) -> str:
    titles = dict.fromkeys(change.file.agent.title for change in plan.changes if change.edit)
    *most, last = ["", *titles]
    listed = ", ".join(filter(None, most))
    return last and f"{done} the server for {listed}{' and ' if listed else ''}{last}"


def _sharing_notes(plan: HooksPlan, tracked: set[str], *, dry_run: bool) -> list[str]:
    """Notes about files that others get, and about what tracked ones take for granted."""
    edits = [change.edit for change in plan.changes if change.edit and change.file.scope != USER]
    program = wanted_server().program
    if not any(edit.path not in tracked for edit in edits):
        program = wanted_server(tracked=True).program
    notes = sharing_notes(plan, shell_command(*program), dry_run=dry_run)
    if any(edit.path in tracked for edit in edits) and wanted_server().program[0] != "git":
        notes.append("tracked files name no path: 'git boocode' has to be on the agents' PATH")
    return notes


def _foreign(locations: Locations, agent: Agent, scope: str) -> Iterator[str]:
    """What has our server's name and is not ours."""
    state = server_state(locations, agent, scope, ())
    if state.state == OTHER_SERVER:
        yield f"'boocode' in {shown_path(locations, state.path)} is another server, and stays"


def _left(
    locations: Locations, agents: Iterable[Agent], removed: Iterable[PlannedChange]
) -> Iterator[str]:
    """What is still installed in the home directory, beside what is removed."""
    done = {os.path.realpath(change.file.path) for change in removed}
    for agent in agents:
        try:
            changes = plan_server_removal(locations, agent, USER)
        except BoocodeError:
            continue
        edits = (change.edit for change in changes if change.edit is not None)
        if any(os.path.realpath(edit.path) not in done for edit in edits):
            command = f"git boocode serve --uninstall {agent.name} --user"
            yield f"the server for {agent.title} is in your home directory: '{command}' removes it"
