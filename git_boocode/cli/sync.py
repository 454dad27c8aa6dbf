"""`git boocode sync`: make the files as they are now the context of a proposal."""

from __future__ import annotations

import click

from git_boocode.cli.accept import force_option, paths_argument, print_review
from git_boocode.cli.buffers import BufferOptions, buffer_options
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import progress
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals import review


@click.command(cls=Command)
@paths_argument
@buffer_options
@force_option
@json_option
def sync(paths: tuple[str, ...], buffers: BufferOptions, force: bool, as_json: bool) -> int:
    """Make files as they are now the context of what is proposed; the files stay as they are.

    A file that is not part of the proposal joins its context. A proposed change is merged with
    yours.
    """
    workspace = buffers.fill(Workspace.here())
    with progress(workspace.repository, "syncing", as_json=as_json):
        result = review.sync(workspace, paths, force=force)
    print_review(result, as_json=as_json)
    return 0
