"""`git boocode status`: an overview, or the files of a proposal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from git_boocode.cli.buffers import BufferOptions, buffer_options
from git_boocode.cli.candidates import proposed
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import (
    encode_text,
    print_json,
    print_text,
    progress,
    quote_path,
    write_output,
)
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import FileStatus, file_statuses


@click.command(cls=Command)
@click.argument("paths", nargs=-1, metavar="[--] [<path>...]", shell_complete=proposed)
@click.option("--porcelain", is_flag=True, help="List only the files of the proposal, for scripts.")
@click.option("-z", "nul", is_flag=True, help="End each file with NUL; implies --porcelain.")
@buffer_options
@json_option
def status(
    paths: tuple[str, ...], porcelain: bool, nul: bool, buffers: BufferOptions, as_json: bool
) -> int:
    """Show what is proposed, hooks, checkpoints and what was interrupted, as far as there is any.

    With <path>, show only these files of the proposal.
    """
    workspace = buffers.fill(Workspace.here())
    assert workspace.repository is not None
    with progress(workspace.repository, "comparing files", as_json=as_json):
        files = file_statuses(workspace, paths)
    if not (paths or porcelain or nul):
        # Loading what it needs of hooks takes longer than all that an editor asks for.
        from git_boocode.cli.overview import show_overview

        show_overview(workspace.repository, files, as_json=as_json)
    elif as_json:
        print_json({"ok": True, "files": [file.as_json() for file in files]})
    elif nul:
        write_output(encode_text("".join(map(_nul_terminated, files))))
    else:
        for file in files:
            print_text(file_line(file))
    return 0


def _nul_terminated(status: FileStatus) -> str:
    """A file as `git status -z` has it: the old path follows, and nothing is quoted."""
    names = [path for path in (status.file.path, status.file.source) if path]
    return f"{status.letters:2} " + "".join(f"{name}\0" for name in names)


def file_line(status: FileStatus) -> str:
    """A file of a proposal: its letters, and its path."""
    return f"{status.letters:2} {' -> '.join(map(quote_path, status.file.paths))}"


def file_lines(files: Sequence[FileStatus]) -> list[str]:
    """The files for which there is anything to say."""
    return [file_line(file) for file in files if file.letters]
