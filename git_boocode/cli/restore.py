"""`git boocode restore`."""

from __future__ import annotations

import click

from git_boocode.cli.framework import Command
from git_boocode.cli.restoring import Flags, carry_out, restoring_options


@click.command(cls=Command)
@click.argument("checkpoint", metavar="<checkpoint>")
@restoring_options
def restore(checkpoint: str, flags: Flags) -> int:
    """Take files, staging and, through the callback, the conversation back to a checkpoint.

    HEAD and branches stay where they are. What is there now is kept: `git boocode undo` brings it
    back.
    """
    from git_boocode.checkpoints.restore import restore as run
    from git_boocode.cli.interruption import warn_of_interruption
    from git_boocode.repo.repository import Repository

    options = flags.options()
    repository = Repository.discover()
    warn_of_interruption(repository)
    return carry_out(repository, lambda: run(repository, checkpoint, options), flags)
