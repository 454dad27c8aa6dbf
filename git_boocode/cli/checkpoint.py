"""`git boocode checkpoint`."""

from __future__ import annotations

from typing import Any

import click

from git_boocode.cli.framework import Command, json_option


def _parse_meta(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    meta = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"'{pair}' is not of the form <key>=<value>")
        meta[key] = value
    return meta


@click.command(cls=Command)
@click.option("-m", "--label", default="", metavar="<label>", help="What to call it.")
@click.option("--session", default="", metavar="<id>", help="The agent's session.")
@click.option("--chat", default="", metavar="<id>", help="The conversation in that session.")
@click.option(
    "--message", default="", metavar="<id>", help="The message to cut the conversation at."
)
@click.option("--agent", default="", metavar="<name>", help="Which agent asks for it.")
@click.option("--trigger", default="manual", metavar="<name>", help="What made it be taken.")
@click.option(
    "--meta", multiple=True, metavar="<key>=<value>", callback=_parse_meta, help="Anything else."
)
@click.option("--if-changed", is_flag=True, help="Take none when nothing differs from the latest.")
@click.option("--best-effort", is_flag=True, help="Where it fails, only warn, and exit with 0.")
@click.option("--allow-home", is_flag=True, help="Also where the worktree is your home directory.")
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="[--] [<path>...]")
@json_option
def checkpoint(**given: Any) -> int:  # noqa: ANN401 - as click gives them
    """Record the worktree and the staging area, and print the checkpoint's id.

    Tracked and untracked files are recorded, ignored ones are not. HEAD, branches, the index and
    `git log` stay as they are. With paths, only what they match is looked at; everything else is
    taken to be as in the newest checkpoint.
    """
    from git_boocode.cli.taking import take_checkpoint

    # They are its parameters, name by name, which a test compares.
    return take_checkpoint(**given)
