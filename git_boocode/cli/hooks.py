"""`git boocode hooks`: checkpoints that agents and git ask for by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click
from click.shell_completion import CompletionItem

from git_boocode.agents.registry import LOCAL, PROJECT, USER
from git_boocode.cli.framework import Command, Entry, LazyGroup
from git_boocode.cli.hook import run_hook

if TYPE_CHECKING:
    from git_boocode.agents.config_files import Where
    from git_boocode.repo.config import Config

_Callable = TypeVar("_Callable", bound=Callable[..., int])

COMMANDS = {
    "install": Entry(
        "git_boocode.cli.hooks_change", "install", "Have agents and git take checkpoints."
    ),
    "status": Entry("git_boocode.cli.hooks_status", "status", "Say what is installed, and where."),
    "uninstall": Entry(
        "git_boocode.cli.hooks_change", "uninstall", "Take out again what was installed."
    ),
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

    What the agent tells is read from standard input. Nothing is printed but what the agent wants to
    read, the exit code is 0 whatever happens, and it takes no longer than boocode.hookTimeout
    seconds. What went wrong is told by 'git boocode doctor'.
    """
    return run_hook(arguments)


@click.group(cls=LazyGroup, entries=COMMANDS, subcommand_metavar="<command> [<args>]")
def hooks() -> None:
    """Have agents take a checkpoint before each turn, and git before what it overwrites."""


def _complete_agents(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    from git_boocode.agents.registry import AGENTS

    known = [agent for agent in AGENTS.values() if agent.name.startswith(begun)]
    return [CompletionItem(agent.name, help=agent.title) for agent in known]


agent_option = click.option(
    "--agent",
    "names",
    multiple=True,
    metavar="<name>",
    shell_complete=_complete_agents,
    help="Only for this agent; may be given several times.",
)
git_option = click.option("--git", is_flag=True, help="For git itself.")


def _take_scope(context: click.Context, option: click.Parameter, given: bool) -> None:
    if not given:
        return
    if context.params.setdefault("scope", option.name) != option.name:
        raise click.UsageError("only one of --user, --project and --local can be given", context)


def scope_options(command: _Callable) -> _Callable:
    """The options by which a command gets its `scope`."""
    said = {
        USER: "In your home directory, for all repositories.",
        PROJECT: "In the worktree's files that others may get, too.",
        LOCAL: "In the worktree's files that are yours alone.",
    }
    for scope in reversed(said):
        option = click.option(
            f"--{scope}", is_flag=True, expose_value=False, callback=_take_scope, help=said[scope]
        )
        command = option(command)
    return command


def configuration(where: Where) -> Config:
    """All configuration that holds here, in a repository or outside any."""
    if where.repository is not None:
        return where.repository.config
    import os

    from git_boocode.repo.config import Config
    from git_boocode.repo.git import Git, clean_environment

    return Config.read(Git(".", clean_environment(os.environ)))


def shown_path(where: Where, path: str) -> str:
    """A path as a user would write it: from here, or from the home directory."""
    import os

    from git_boocode.cli.output import quote_path

    top = where.repository.worktree if where.repository else None
    if top is not None and path.startswith(os.path.join(top, "")):
        return quote_path(os.path.relpath(path))
    if path.startswith(os.path.join(where.home, "")):
        return quote_path(os.path.join("~", os.path.relpath(path, where.home)))
    return quote_path(path)
