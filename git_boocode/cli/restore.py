"""`git boocode restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from git_boocode.cli.framework import Command, json_option

if TYPE_CHECKING:
    from git_boocode.checkpoints.restore import Options

callback_option = click.option(
    "--callback", metavar="FILE", help="The host's program, instead of boocode.callback."
)
dry_run_option = click.option("-n", "--dry-run", is_flag=True, help="Only say what would change.")
files_only_option = click.option(
    "--files-only", is_flag=True, help="Files and staging; the callback is not called."
)
conversation_only_option = click.option(
    "--conversation-only", is_flag=True, help="Only the callback; files and staging stay."
)


def parse_options(
    *, dry_run: bool, files_only: bool, conversation_only: bool, callback: str | None
) -> Options:
    """Unify the flags that `restore` and `undo` share.

    Raises:
        click.UsageError: they contradict each other.
    """
    from git_boocode.checkpoints.restore import Options

    if files_only and conversation_only:
        raise click.UsageError("--files-only and --conversation-only exclude each other")
    if files_only and callback:
        raise click.UsageError("--files-only and --callback exclude each other")
    return Options(
        files=not conversation_only,
        conversation=not files_only,
        callback=callback,
        dry_run=dry_run,
    )


@click.command(cls=Command)
@click.argument("checkpoint", metavar="<checkpoint>")
@dry_run_option
@files_only_option
@conversation_only_option
@callback_option
@json_option
def restore(
    checkpoint: str,
    dry_run: bool,
    files_only: bool,
    conversation_only: bool,
    callback: str | None,
    as_json: bool,
) -> int:
    """Take files, staging and, through the callback, the conversation back to a checkpoint.

    HEAD and branches stay where they are. What is there now is kept: `git boocode undo` brings it
    back.
    """
    from git_boocode.checkpoints.restore import restore as run
    from git_boocode.cli.interruption import warn_of_interruption
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
    warn_of_interruption(repository)
    with progress("restoring"):
        outcome = run(repository, checkpoint, options)
    return show_outcome(repository, outcome, as_json=as_json)
