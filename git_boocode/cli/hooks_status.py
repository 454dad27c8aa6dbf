"""`git boocode hooks status`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import click

from git_boocode.agents.config_files import Locations
from git_boocode.agents.git_install import GitHookState, git_hooks_status
from git_boocode.agents.install import (
    NOT_INSTALLED,
    OTHER_COMMAND,
    PARTLY,
    ServerState,
    State,
    servers_here,
    states_here,
)
from git_boocode.agents.plugins import PluginState, marketplace, plugins_here
from git_boocode.agents.registry import AGENTS
from git_boocode.agents.worktree_hooks import WorktreeHooks, hooks_by_worktree
from git_boocode.cli.framework import (
    Command,
    json_option,
)
from git_boocode.cli.hooks_editor import extension_lines, extension_rows
from git_boocode.cli.hooks_plan import (
    configuration,
    shown_path,
)
from git_boocode.cli.options import output_options
from git_boocode.cli.output import (
    print_hints,
    print_json,
    print_text,
    printable,
    quote_path,
    wants_json,
)
from git_boocode.repo.errors import (
    shell_command,
)
from git_boocode.repo.ids import ago

_WORDS = {
    "installed": "installed",
    "partly": "partly installed",
    "other_command": "installed with another command or timeout",
}
_SERVER_WORDS = {
    "installed": "installed",
    "other_command": "installed with another command",
    "other_server": "another server has its name",
}


@click.command(cls=Command)
@json_option
def status() -> int:
    """Show what is installed: for each agent that is used here, in each file, and in git.

    That includes the server, which 'git boocode serve --install' installs.
    """
    locations = Locations.here()
    config, repository = configuration(locations), locations.repository
    states = states_here(locations, config, every=output_options().verbose)
    servers = servers_here(locations, every=output_options().verbose)
    plugins = plugins_here(locations)
    git = git_hooks_status(repository) if repository else []
    scopes: dict[str, set[str]] = {}
    for state in states:
        scopes.setdefault(state.agent, set()).update([state.scope] if state.events else [])
    worktrees = hooks_by_worktree(locations, scopes)
    if wants_json():
        agents = [state._asdict() for state in states]
        rows = [_server_row(state) for state in servers]
        print_json(
            {
                "ok": True,
                "agents": agents,
                "servers": rows,
                "plugins": [state._asdict() for state in plugins],
                "editors": extension_rows(),
                "marketplace": marketplace(),
                "git": [git_row(state) for state in git],
                "worktrees": [row._asdict() for row in worktrees],
            }
        )
        return 0
    lines = (
        *_agent_lines(locations, states, plugins),
        *_worktree_lines(worktrees),
        *_plugin_lines(locations, plugins),
    )
    servers_and_git = (*_server_lines(locations, servers, plugins), *_git_lines(git))
    for line in (*lines, *servers_and_git, *extension_lines()):
        print_text(printable(line))
    if output_options().verbose and (source := marketplace()):
        print_text(printable(f"plugin to install: {source}"))
    advice = dict.fromkeys((*_agent_hints(states), *trust_advice(plugins)))
    print_hints((*advice, *_server_hints(servers), *_git_hints(git)))
    return 0


def _server_row(state: ServerState) -> dict[str, Any]:
    return {
        "agent": state.agent,
        "title": state.title,
        "scope": state.scope,
        "state": state.state,
        "path": state.path,
        "command": state.command,
        "options": state.options,
        "message": state.message,
    }


def git_row(state: GitHookState) -> dict[str, Any]:
    """How a git hook is installed, as in the JSON answer."""
    return {
        "event": state.event,
        "state": state.state,
        "place": state.place,
        "path": state.path,
        "note": state.note,
        "chosen": state.chosen,
    }


def _plugin_lines(locations: Locations, plugins: list[PluginState]) -> Iterator[str]:
    for state in plugins:
        path = shown_path(locations, state.path)
        disabled = "" if state.enabled else ", but disabled"
        yield f"plugin for {state.title} ({state.scope}): {state.plugin} in {path}{disabled}"
        if state.untrusted:
            yield f"  not trusted yet: {', '.join(state.untrusted)}"
        if locations.repository and state.enabled:
            yield f"  {last_called(state)}"


def _server_lines(
    locations: Locations, servers: list[ServerState], plugins: list[PluginState]
) -> Iterator[str]:
    there = [state for state in servers if state.state != NOT_INSTALLED]
    if servers and not (there or plugins):
        yield "server: not installed"
    for state in there:
        options = f" with {' '.join(state.options)}" if state.options else ""
        path = shown_path(locations, state.path)
        described = state.message or f"{_SERVER_WORDS[state.state]}{options} in {path}"
        yield f"server for {state.title} ({state.scope}): {described}"


def _server_hints(servers: list[ServerState]) -> Iterator[str]:
    for state in servers:
        if state.state == OTHER_COMMAND:
            words = ("git", "boocode", "serve", "--install", state.agent, f"--{state.scope}")
            renew = shell_command(*words, *state.options)
            yield f"'{renew}' renews the server for {state.title}"


def _agent_lines(
    locations: Locations, states: list[State], plugins: list[PluginState]
) -> Iterator[str]:
    served = {plugin.title for plugin in plugins if plugin.enabled}
    for title in dict.fromkeys(state.title for state in states):
        found = [s for s in states if s.title == title and s.state != NOT_INSTALLED]
        if not found and title not in served:
            yield f"{title}: not installed"
        for state in found:
            paths = ", ".join(shown_path(locations, path) for path in state.paths)
            described = (
                state.message or f"{_WORDS[state.state]} for {', '.join(state.events)} in {paths}"
            )
            yield f"{title} ({state.scope}): {described}"
            if state.untrusted:
                yield f"  not trusted yet: {', '.join(state.untrusted)}"
        if locations.repository and any(state.events for state in found):
            yield f"  {last_called(found[0])}"


def _worktree_lines(worktrees: Iterable[WorktreeHooks]) -> Iterator[str]:
    for row in worktrees:
        if row.missing:
            titles = ", ".join(AGENTS[name].title for name in row.missing)
            yield f"worktree {quote_path(row.path)}: no hooks for {titles}"


def last_called(state: State | PluginState) -> str:
    """When an agent last called a hook in this worktree, in words."""
    if state.last_call is None:
        return "never called here"
    try:
        seconds = datetime.fromisoformat(state.last_call.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return f"last called at {state.last_call}"
    local = time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    return f"last called {ago(seconds)} ({local})"


def _git_lines(states: list[GitHookState]) -> Iterator[str]:
    there = [state for state in states if state.state != "missing"]
    if states and not there:
        yield "git: not installed"
    for state in there:
        word = "installed" if state.state == "installed" else "installed with another command"
        note = f" ({state.note})" if state.note else ""
        yield f"git {state.event}: {word}{note}"


def _agent_hints(states: list[State]) -> Iterator[str]:
    yield from trust_advice(states)
    for state in states:
        renew = f"'git boocode hooks install --agent {state.agent} --{state.scope}'"
        extra, missing = ", ".join(state.extra), ", ".join(state.missing)
        if extra:
            yield f"boocode.perTool is never, but {extra} is installed; {renew} takes it out"
        elif state.state == PARTLY:
            yield f"{missing} is missing for {state.title}; {renew} installs it"
        elif state.state == OTHER_COMMAND:
            yield f"{renew} renews what is installed for {state.title}"


def trust_advice(states: Iterable[State | PluginState]) -> list[str]:
    """What the user has to do before agents run the hooks that they do not trust yet."""
    named = (AGENTS[state.agent].trust for state in states if state.untrusted)
    return list(dict.fromkeys(trust.advice for trust in named if trust))


def _git_hints(states: list[GitHookState]) -> Iterator[str]:
    there = [state for state in states if state.state != "missing"]
    wrong = [state for state in states if state.chosen is not (state.state == "installed")]
    if there and wrong:
        named = ", ".join(state.event for state in wrong)
        yield f"not as boocode.gitHooks asks: {named}; 'git boocode hooks install --git' fixes it"
