"""`git boocode undo`."""

from __future__ import annotations

import click

from git_boocode.cli.framework import Command
from git_boocode.cli.restoring import Flags, carry_out, restoring_options


@click.command(cls=Command)
@restoring_options
def undo(flags: Flags) -> int:
    """Undo the latest restore that has not been undone yet, also one that was interrupted."""
    from git_boocode.checkpoints.restore import undo as run
    from git_boocode.repo.repository import Repository

    options = flags.options()
    repository = Repository.discover()
    return carry_out(repository, lambda: run(repository, options), flags)
