"""`git boocode undo`."""

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
def undo(no_head: bool, force: frozenset[str], flags: Flags) -> int:
    """Undo the latest restore that has not been undone yet, also one that was interrupted.

    Called again, it undoes the one before. `git boocode redo` takes an undo back.
    """
    from git_boocode.checkpoints.restore.restore import undo as run
    from git_boocode.repo.repository import Repository

    options = flags.options()._replace(head=not no_head, force=force)
    repository = Repository.discover()
    return carry_out(repository, lambda: run(repository, options), flags)
