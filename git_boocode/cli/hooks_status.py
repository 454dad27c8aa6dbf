"""`git boocode hooks status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.hooks import configuration, shown_path

if TYPE_CHECKING:
    from git_boocode.agents.config_files import Where
    from git_boocode.agents.install import State

_WORDS = {
    "installed": "installed",
    "partly": "partly installed",
    "other_command": "installed with another command or timeout",
    "not_installed": "not installed",
}


@click.command(cls=Command)
@json_option
def status(as_json: bool) -> int:
    """Say what is installed: for each agent that is used here, in each of its files, and in git."""
    from git_boocode.agents.config_files import Where
    from git_boocode.cli.output import print_json, print_text, printable

    where = Where.here()
    states = _states(where)
    git = _git_states(where)
    if as_json:
        agents = [state._asdict() for state in states]
        print_json({"ok": True, "agents": agents, "git": git})
        return 0
    for line in (*_agent_lines(where, states), *_git_lines(git)):
        print_text(printable(line))
    _print_hints(states, git)
    return 0


def _states(where: Where) -> list[State]:
    """What is installed for the agents that are used here, and for others that have our hooks."""
    from git_boocode.agents.install import NOT_INSTALLED, state_of, wanted_hooks
    from git_boocode.agents.registry import AGENTS

    config = configuration(where)
    states = []
    for agent in AGENTS.values():
        wanted = wanted_hooks(agent, config)
        found = [state_of(where, agent, scope, wanted) for scope in where.scopes(agent)]
        if where.is_here(agent) or any(state.state != NOT_INSTALLED for state in found):
            states += found
    return states


def _git_states(where: Where) -> list[dict[str, Any]]:
    if where.repository is None:
        return []
    from git_boocode.agents.git_install import git_hooks_status

    return [state._asdict() for state in git_hooks_status(where.repository)]


def _agent_lines(where: Where, states: list[State]) -> Iterator[str]:
    from git_boocode.agents.install import NOT_INSTALLED

    titles = dict.fromkeys(state.title for state in states)
    for title in titles:
        found = [s for s in states if s.title == title and s.state != NOT_INSTALLED]
        if not found:
            yield f"{title}: not installed"
        for state in found:
            yield f"{title} ({state.scope}): {state.message or _described(where, state)}"


def _described(where: Where, state: State) -> str:
    paths = ", ".join(shown_path(where, path) for path in state.paths)
    return f"{_WORDS[state.state]} for {', '.join(state.events)} in {paths}"


def _git_lines(states: list[dict[str, Any]]) -> Iterator[str]:
    there = [state for state in states if state["state"] != "missing"]
    if states and not there:
        yield "git: not installed"
    for state in there:
        word = "installed" if state["state"] == "installed" else "installed with another command"
        note = f" ({state['note']})" if state["note"] else ""
        yield f"git {state['event']}: {word}{note}"


def _print_hints(states: list[State], git: list[dict[str, Any]]) -> None:
    from git_boocode.agents.install import OTHER_COMMAND, PARTLY
    from git_boocode.cli.output import print_hints

    hints = []
    for state in states:
        renew = f"git boocode hooks install --agent {state.agent} --{state.scope}"
        if state.extra:
            told = ", ".join(state.extra)
            hints.append(
                f"boocode.perTool is not true, but {told} is installed; '{renew}' takes it out"
            )
        elif state.state == PARTLY:
            hints.append(
                f"{', '.join(state.missing)} is missing for {state.title}; '{renew}' installs it"
            )
        elif state.state == OTHER_COMMAND:
            hints.append(f"'{renew}' renews what is installed for {state.title}")
    there = [each for each in git if each["state"] != "missing"]
    wrong = [each for each in git if each["chosen"] is not (each["state"] == "installed")]
    if there and wrong:
        named = ", ".join(each["event"] for each in wrong)
        hints.append(
            f"not as boocode.gitHooks asks: {named}; 'git boocode hooks install --git' sees to it"
        )
    print_hints(tuple(hints))
