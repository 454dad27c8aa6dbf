"""`git boocode propose`: store a model's edits as a proposal, and leave the files alone."""

from __future__ import annotations

import click

from git_boocode.cli.apply_edit import EditRequest, edit_options, print_edits
from git_boocode.cli.buffers import BufferOptions, buffer_options, encoding_option
from git_boocode.cli.candidates import proposed
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import (
    print_feedback,
    print_json,
    print_text,
    progress,
    quote_path,
    warn,
    write_output,
)
from git_boocode.editing.answer import Answer
from git_boocode.editing.edits import MatchOptions
from git_boocode.editing.service import Options
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.new_proposal import propose as store
from git_boocode.proposals.proposed_file import preview as preview_file
from git_boocode.repo.ids import SHORT_ID


@click.command(cls=Command)
@edit_options
@click.option(
    "--retry-of",
    metavar="<id>",
    default="",
    help="The proposal or the refused attempt that this one repeats.",
)
def propose(request: EditRequest, retry_of: str, encoding: str, as_json: bool) -> int:
    """Apply a model's edits to what it has seen, and store the result beside the files.

    Takes what apply-edit takes, all of it or none. Calls build on each other until the proposal is
    accepted or discarded.
    """
    sources, workspace = request.sources("propose"), request.filled(Workspace.here())
    how = MatchOptions(request.profile, request.verbatim)
    options = Options(how, request.format_, request.dry_run)
    with (
        request.explaining(workspace, as_json=as_json),
        progress(workspace.repository, "proposing edits", as_json=as_json),
    ):
        answer = store(sources, workspace, options, retry_of)
    if as_json:
        print_json(answer.as_json(encoding))
    else:
        _print(request, answer, workspace)
    if answer.id and workspace.repository is not None:
        # After the answer, so that its reader need not wait.
        from git_boocode.checkpoints.store.daily_pruning import prune_daily

        prune_daily(workspace.repository)
    return 0


def _print(request: EditRequest, answer: Answer, workspace: Workspace) -> None:
    print_edits(answer, workspace, request)
    if request.dry_run:
        print_text("dry run: nothing was stored")
    elif answer.id:
        print_feedback(f"proposed as {answer.id[:SHORT_ID]}; 'git boocode accept' writes the files")


@click.command(cls=Command)
@click.argument("path", metavar="<path>", shell_complete=proposed)
@buffer_options
@encoding_option
@json_option
def preview(path: str, buffers: BufferOptions, encoding: str, as_json: bool) -> int:
    """Print a file as it is proposed; without a proposed content, its context, with a warning."""
    found = preview_file(buffers.fill(Workspace.here()), path)
    if as_json:
        print_json(found.as_json(encoding))
        return 0
    if found.warning:
        warn(f"{quote_path(found.path)}: {found.warning}")
    write_output(found.data)
    return 0
