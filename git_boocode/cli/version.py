"""`git boocode version`."""

from __future__ import annotations

import os
import sys

import click

from git_boocode import __version__
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.options import output_options
from git_boocode.cli.output import print_json, print_text
from git_boocode.repo.git import Git, clean_environment


@click.command(cls=Command)
@json_option
def version(as_json: bool) -> int:
    """Print the version of git-boocode; with -v, also those of Python and git."""
    if as_json:
        print_json({"ok": True, "version": __version__})
        return 0
    print_text(f"git-boocode version {__version__}")
    if output_options().verbose:
        print_text(f"python version {'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})")
        print_text(Git(".", clean_environment(os.environ)).line("version"))
    return 0
