"""`git boocode undo`."""

from __future__ import annotations

from functools import partial

import click

from git_boocode.checkpoints.restore.request import REDO, UNDO, RestoreRequest
from git_boocode.cli.framework import Command
from git_boocode.cli.output import warn_of_interruption
from git_boocode.cli.restore import carry_out, no_head_option, restore_options, surplus_hint
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_with_edits


@click.command(cls=Command, surplus=surplus_hint)
@no_head_option
@restore_options(UNDO)
def undo(request: RestoreRequest) -> int:
    """Undo the latest restore, or the latest accept, discard or sync of a proposal.

    An interrupted restore comes first. Called again, it undoes the one before. `git boocode redo`
    takes an undo back. To take back what an agent did, use `git boocode restore`; for a single
    edit, `git boocode rewind`.
    """
    request = request.checked(UNDO)
    repository = Repository.discover()
    work = partial(restore_with_edits.undo, repository)
    return carry_out(repository, work, request)


@click.command(cls=Command, surplus=surplus_hint)
@no_head_option
@restore_options(REDO)
def redo(request: RestoreRequest) -> int:
    """Redo the restore that was undone last.

    Files and staging return to their state before the undo. An interrupted restore that was undone
    is completed. Called again, it redoes the next one. A new restore ends the chain.
    """
    request = request.checked(REDO)
    repository = Repository.discover()
    warn_of_interruption(repository)
    work = partial(restore_with_edits.redo, repository)
    return carry_out(repository, work, request)
