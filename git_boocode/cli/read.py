"""`git boocode read`: the lines of a file, and the version that an edit can name."""

from __future__ import annotations

import sys

import click

from git_boocode.cli.buffers import BufferOptions, buffer_options
from git_boocode.cli.candidates import paths
from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.output import (
    encode_text,
    print_json,
    printable,
    quote_path,
    wants_json,
    warn,
    write_output,
)
from git_boocode.editing.reading import read_lines
from git_boocode.editing.workspace import Workspace


@click.command(cls=Command)
@click.argument("path", metavar="<path>[:<from>-<to>]", shell_complete=paths)
@option("--no-index", "Work in the current directory, without git.")
@buffer_options
@json_option
def read(path: str, no_index: bool, buffers: BufferOptions) -> int:
    """Print the lines of the file <path> with their numbers, below its version.

    The version is kept, so that an edit that names it as `base` can be merged with later changes.
    """
    workspace = buffers.fill(Workspace.find(index=not no_index, from_here=True))
    found = read_lines(workspace, path)
    if wants_json():
        print_json(found.as_json())
        return 0
    if found.warning:
        warn(f"{quote_path(found.path)}: {found.warning}")
    # A program gets the bytes of the file.
    shown = map(printable, found.as_text()) if sys.stdout.isatty() else found.as_text()
    write_output(encode_text("".join(f"{line}\n" for line in shown)))
    return 0
