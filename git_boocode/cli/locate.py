"""`git boocode locate`: find where drifted text is in a file."""

from __future__ import annotations

import sys

import click

from git_boocode.cli.apply_edit import (
    candidate_lines,
    check_profile,
    profile_option,
    require_input,
)
from git_boocode.cli.buffers import BufferOptions, buffer_options
from git_boocode.cli.candidates import paths
from git_boocode.cli.framework import AtLeast, Command, json_option
from git_boocode.cli.output import print_json, print_text, quote_path
from git_boocode.editing.service import locate as find
from git_boocode.editing.workspace import Workspace
from git_boocode.matching.text import lines_of
from git_boocode.repo.errors import UsageError

_CANDIDATE_LINES = 12


@click.command(cls=Command)
@click.argument("path", metavar="<path>", shell_complete=paths)
@profile_option
@click.option(
    "--start-line",
    type=AtLeast(1),
    metavar="<n>",
    help="The expected line; decides between equally good places.",
)
@click.option("--no-index", is_flag=True, help="Work in the current directory, without git.")
@buffer_options
@json_option
def locate(
    path: str,
    profile: str,
    start_line: int | None,
    no_index: bool,
    buffers: BufferOptions,
    as_json: bool,
) -> int:
    """Find the text on standard input in the file <path>, although it has drifted."""
    check_profile(profile)
    if buffers.read_standard_input:
        message = "the text to find and buffers cannot both come on standard input"
        raise UsageError(message, hints=("give the buffers as a file: --buffers BUFFERS.json",))
    require_input("the text to find", "git boocode locate <path> < needle.txt")
    workspace = buffers.fill(Workspace.find(index=not no_index, from_here=True))
    needle = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    found = find(workspace, path, needle, profile, start_line)
    if not found.found:
        refusal = found.refusal()
        for candidate in () if as_json else found.match.candidates:
            lines = candidate_lines(candidate, _CANDIDATE_LINES)
            refusal.message = "\n".join((refusal.message, *lines))
        raise refusal
    if as_json:
        print_json(found.as_json())
    else:
        match = found.match
        fuzzy = f"fuzzy ({match.rung} {match.similarity:.2f})"
        where = lines_of(match.start_line or 1, match.end_line or 0)
        how = fuzzy if match.kind == "fuzzy" else "exact"
        print_text(f"{quote_path(found.path)}: {where}, {how}")
    return 0
