"""`git boocode undo`."""

from __future__ import annotations

import click

from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.restore import (
    callback_option,
    conversation_only_option,
    dry_run_option,
    files_only_option,
    parse_options,
)


@click.command(cls=Command)
@dry_run_option
@files_only_option
@conversation_only_option
@callback_option
@json_option
def undo(
    dry_run: bool,
    files_only: bool,
    conversation_only: bool,
    callback: str | None,
    as_json: bool,
) -> int:
    """Undo the latest restore that has not been undone yet, also one that was interrupted."""
    from git_boocode.checkpoints.restore import undo as run
    from git_boocode.cli.outcome import show_outcome
    from git_boocode.cli.progress import progress
    from git_boocode.repo.repository import Repository

    options = parse_options(
        dry_run=dry_run,
        files_only=files_only,
        conversation_only=conversation_only,
        callback=callback,
    )
    repository = Repository.discover()
    with progress("restoring"):
        outcome = run(repository, options)
    return show_outcome(repository, outcome, as_json=as_json)
