"""`git boocode hooks` and its `status`, and `hook` as click sees it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from git_boocode.agents.config_files import Locations
from git_boocode.agents.git_install import git_hooks_status
from git_boocode.agents.install import (
    NOT_INSTALLED,
    OTHER_COMMAND,
    PARTLY,
    State,
    state_of,
    wanted_hooks,
)
from git_boocode.agents.registry import AGENTS, LOCAL, PROJECT, USER
from git_boocode.cli.framework import Command, CommandInfo, LazyGroup, json_option
from git_boocode.cli.hook import run_hook
from git_boocode.cli.output import print_hints, print_json, print_text, printable, quote_path
from git_boocode.repo.config import Config
from git_boocode.repo.git import Git, clean_environment

_Callable = TypeVar("_Callable", bound=Callable[..., int])

COMMANDS = {
    "install": CommandInfo(
        "git_boocode.cli.hooks_change", "install", "Have agents and git take checkpoints."
    ),
    "status": CommandInfo("git_boocode.cli.hooks", "status", "Say what is installed, and where."),
    "uninstall": CommandInfo(
        "git_boocode.cli.hooks_change", "uninstall", "Take out again what was installed."
    ),
}
_WORDS = {
    "installed": "installed",
    "partly": "partly installed",
    "other_command": "installed with another command or timeout",
}


@click.command(cls=Command)
@click.argument(
    "arguments",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="(<agent> [<event>] | git <hook> [<args>...])",
)
def hook(arguments: tuple[str, ...]) -> int:
    """Take the checkpoint of a turn; for hooks of agents and of git to call.

    The payload of an agent is read from standard input. Nothing is printed but what the agent wants
    to read, the exit code is 0 whatever happens, and it takes no longer than boocode.hookTimeout
    seconds. 'git boocode doctor' shows what went wrong.
    """
    return run_hook(arguments)


@click.group(cls=LazyGroup, entries=COMMANDS, subcommand_metavar="<command> [<args>]")
def hooks() -> None:
    """Have agents take a checkpoint before each turn, and git before what it overwrites."""


def _complete_agents(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    known = [agent for agent in AGENTS.values() if agent.name.startswith(begun)]
    return [CompletionItem(agent.name, help=agent.title) for agent in known]


def _take_scope(context: click.Context, option: click.Parameter, given: bool) -> None:
    if given and context.params.setdefault("scope", option.name) != option.name:
        raise click.UsageError("only one of --user, --project and --local can be given", context)


def change_options(command: _Callable) -> _Callable:
    """The options of a command that installs or uninstalls."""
    scopes = {
        USER: "In your home directory, for all repositories.",
        PROJECT: "In the worktree's files that others may get, too.",
        LOCAL: "In the worktree's files that are yours alone.",
    }
    options = (
        click.option("--git", is_flag=True, help="For git itself."),
        click.option(
            "--agent",
            "names",
            multiple=True,
            metavar="<name>",
            shell_complete=_complete_agents,
            help="Only for this agent; may be given several times.",
        ),
        *(
            click.option(
                f"--{name}", is_flag=True, expose_value=False, callback=_take_scope, help=text
            )
            for name, text in scopes.items()
        ),
        click.option(
            "-n", "--dry-run", is_flag=True, help="Only show what would change, as a diff."
        ),
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


def configuration(locations: Locations) -> Config:
    """All configuration that holds here, in a repository or outside any."""
    if locations.repository is not None:
        return locations.repository.config
    return Config.read(Git(".", clean_environment(os.environ)))


def shown_path(locations: Locations, path: str) -> str:
    """A path as a user would write it: from here, or from the home directory."""
    top = locations.repository.worktree if locations.repository else None
    if top is not None and path.startswith(os.path.join(top, "")):
        return quote_path(os.path.relpath(path))
    if path.startswith(os.path.join(locations.home, "")):
        return quote_path(os.path.join("~", os.path.relpath(path, locations.home)))
    return quote_path(path)


@click.command(cls=Command)
@json_option
def status(as_json: bool) -> int:
    """Say what is installed: for each agent that is used here, in each of its files, and in git."""
    locations = Locations.here()
    config, repository = configuration(locations), locations.repository
    states: list[State] = []
    for agent in AGENTS.values():
        wanted = wanted_hooks(agent, config)
        found = [state_of(locations, agent, scope, wanted) for scope in locations.scopes(agent)]
        if locations.is_used(agent) or any(state.state != NOT_INSTALLED for state in found):
            states += found
    git = [state._asdict() for state in git_hooks_status(repository)] if repository else []
    if as_json:
        agents = [state._asdict() for state in states]
        print_json({"ok": True, "agents": agents, "git": git})
        return 0
    for line in (*_agent_lines(locations, states), *_git_lines(git)):
        print_text(printable(line))
    print_hints((*_agent_hints(states), *_git_hints(git)))
    return 0


def _agent_lines(locations: Locations, states: list[State]) -> Iterator[str]:
    for title in dict.fromkeys(state.title for state in states):
        found = [s for s in states if s.title == title and s.state != NOT_INSTALLED]
        if not found:
            yield f"{title}: not installed"
        for state in found:
            paths = ", ".join(shown_path(locations, path) for path in state.paths)
            described = (
                state.message or f"{_WORDS[state.state]} for {', '.join(state.events)} in {paths}"
            )
            yield f"{title} ({state.scope}): {described}"


def _git_lines(states: list[dict[str, Any]]) -> Iterator[str]:
    there = [state for state in states if state["state"] != "missing"]
    if states and not there:
        yield "git: not installed"
    for state in there:
        word = "installed" if state["state"] == "installed" else "installed with another command"
        note = f" ({state['note']})" if state["note"] else ""
        yield f"git {state['event']}: {word}{note}"


def _agent_hints(states: list[State]) -> Iterator[str]:
    for state in states:
        renew = f"'git boocode hooks install --agent {state.agent} --{state.scope}'"
        extra, missing = ", ".join(state.extra), ", ".join(state.missing)
        if extra:
            yield f"boocode.perTool is not true, but {extra} is installed; {renew} takes it out"
        elif state.state == PARTLY:
            yield f"{missing} is missing for {state.title}; {renew} installs it"
        elif state.state == OTHER_COMMAND:
            yield f"{renew} renews what is installed for {state.title}"


def _git_hints(states: list[dict[str, Any]]) -> Iterator[str]:
    there = [state for state in states if state["state"] != "missing"]
    wrong = [each for each in states if each["chosen"] is not (each["state"] == "installed")]
    if there and wrong:
        named = ", ".join(each["event"] for each in wrong)
        yield f"not as boocode.gitHooks asks: {named}; 'git boocode hooks install --git' fixes it"
