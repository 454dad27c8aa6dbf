"""`git boocode help` and `git boocode version`."""

from __future__ import annotations

import os
import sys

import click

from git_boocode import __version__
from git_boocode.cli.candidates import one_of
from git_boocode.cli.framework import COMMANDS, Command, json_option
from git_boocode.cli.manual_page import TOPICS, bundled_page, open_page, page_of, plain_text
from git_boocode.cli.options import output_options
from git_boocode.cli.output import encode_text, paged, print_json, print_text, wants_json
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Git, clean_environment


@click.command("help", cls=Command)
@click.argument(
    "names", nargs=-1, metavar="[<command>]", shell_complete=one_of((*COMMANDS, *TOPICS))
)
@click.pass_context
def help_(context: click.Context, names: tuple[str, ...]) -> int:
    """Open the manual page of a command, or of git-boocode itself, with `man`.

    The pages 'json', 'callback' and 'editors' describe the JSON answers, the protocol of callbacks,
    and how editors show proposals. On a pipe, or where `man` is missing, the page is printed as
    plain text.
    """
    topic = names[0] if names else ""
    if topic in TOPICS and names[1:]:
        raise click.UsageError(f"unexpected argument '{names[1]}'", context)
    shown = context.find_root()
    for name in () if topic in TOPICS else names:
        if not isinstance(shown.command, click.Group):
            raise click.UsageError(f"unexpected argument '{name}'", context)
        _, command, _ = shown.command.resolve_command(shown, [name])
        assert command is not None
        shown = command.make_context(name, [], parent=shown, resilient_parsing=True)
    open_page(topic)
    name, section = page_of(topic)
    page = bundled_page(f"{name}.{section}")
    if page is None and topic in TOPICS:
        raise FatalError(
            f"the installation lacks '{name}.{section}'",
            code="broken_installation",
            hints=("install git-boocode again",),
        )
    lines = plain_text(page.read_text(encoding="utf-8")) if page else [shown.get_help()]
    with paged(Git(os.curdir, clean_environment(os.environ))) as stream:
        stream.write(encode_text("\n".join(lines).strip("\n") + "\n"))
    return 0


@click.command(cls=Command)
@json_option
def version() -> int:
    """Print the version of git-boocode; with -v, also those of Python and git."""
    if wants_json():
        print_json({"ok": True, "version": __version__})
        return 0
    print_text(f"git-boocode version {__version__}")
    if output_options().verbose:
        print_text(f"python version {'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})")
        print_text(Git(".", clean_environment(os.environ)).line("version"))
    return 0
