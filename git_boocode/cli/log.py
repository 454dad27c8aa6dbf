"""`git boocode log`."""

from __future__ import annotations

import click

from git_boocode.cli.framework import AtLeast, Command, json_option


@click.command(cls=Command)
@click.option(
    "-n",
    "--max-count",
    type=AtLeast(0),
    metavar="<n>",
    help="At the most this many.",
)
@click.option("--all", "everywhere", is_flag=True, help="Those of every worktree.")
@click.option("--remote", metavar="<name>", help="Those fetched from a remote instead.")
@click.option("--remotes", is_flag=True, help="Those fetched from any remote instead.")
@click.option("--edits", is_flag=True, help="The applied edits instead, which rewind undoes.")
@json_option
def log(
    max_count: int | None,
    everywhere: bool,
    remote: str | None,
    remotes: bool,
    edits: bool,
    as_json: bool,
) -> int:
    """List the checkpoints of this worktree, newest first."""
    from git_boocode.cli.listing import list_checkpoints

    if edits and (remotes or remote is not None):
        raise click.UsageError("--edits and what was fetched exclude each other")
    if remotes and remote is not None:
        raise click.UsageError("--remote and --remotes exclude each other")
    if everywhere and (remotes or remote is not None):
        raise click.UsageError("--all and what was fetched exclude each other")
    return list_checkpoints(
        max_count=max_count,
        everywhere=everywhere,
        remote=remote,
        remotes=remotes,
        edits=edits,
        as_json=as_json,
    )
