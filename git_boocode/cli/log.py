"""`git boocode log`."""

from __future__ import annotations

import click

from git_boocode.cli.framework import Command, json_option


@click.command(cls=Command)
@click.option(
    "-n",
    "--max-count",
    type=click.IntRange(min=0),
    metavar="N",
    help="At the most this many.",
)
@click.option("--all", "everywhere", is_flag=True, help="Those of every worktree.")
@click.option("--edits", is_flag=True, help="The applied edits instead, which rewind undoes.")
@json_option
def log(max_count: int | None, everywhere: bool, edits: bool, as_json: bool) -> int:
    """List the checkpoints of this worktree, newest first."""
    from git_boocode.cli.listing import list_checkpoints

    return list_checkpoints(
        max_count=max_count, everywhere=everywhere, edits=edits, as_json=as_json
    )
