"""`git boocode redo`."""

from __future__ import annotations

import click

from git_boocode.cli.framework import Command
from git_boocode.cli.restoring import (
    Flags,
    carry_out,
    force_option,
    no_head_option,
    restoring_options,
)


@click.command(cls=Command, surplus="'git boocode restore {}' goes to the checkpoint of that name")
@no_head_option
@force_option()
@restoring_options
def redo(no_head: bool, force: frozenset[str], flags: Flags) -> int:
    """Do the restore again that was undone last.

    Files and staging become what they were before the undo; of a restore that had been interrupted,
    what it was to make of them. Called again, it redoes the next one. A new restore ends the chain.
    """
    from git_boocode.checkpoints.restore.restore import redo as run
    from git_boocode.cli.interruption import warn_of_interruption
    from git_boocode.repo.repository import Repository

    options = flags.options()._replace(head=not no_head, force=force)
    repository = Repository.discover()
    warn_of_interruption(repository)
    return carry_out(repository, lambda: run(repository, options), flags)
