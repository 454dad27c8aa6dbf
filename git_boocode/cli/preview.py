"""`git boocode preview`: print a file as it is proposed."""

from __future__ import annotations

import click

from git_boocode.cli.buffers import BufferOptions, buffer_options, encoding_option
from git_boocode.cli.candidates import proposed
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import print_json, quote_path, warn, write_output
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.proposed_file import preview as preview_file


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
