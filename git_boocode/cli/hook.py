"""`git boocode hook`."""

from __future__ import annotations

import click

from git_boocode.cli.framework import Command


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
    from git_boocode.cli.serving import run_hook

    return run_hook(arguments)
