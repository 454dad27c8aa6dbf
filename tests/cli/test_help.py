"""Every help text, as a user reads it: a change of one is a change of this directory.

`python -m tests.cli.test_help` writes them anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from git_boocode.cli.framework import COMMANDS, LazyGroup, boocode

HELP = Path(__file__).parent / "help"


def command(name: str) -> click.Command:
    """A command, or with the name of its group a command of a group."""
    found: click.Command | None = boocode
    for word in name.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), word)
    assert found is not None
    return found


def all_commands() -> list[str]:
    """Every command, and behind each group those in it."""
    names = []
    for name in COMMANDS:
        group = command(name)
        below = group.entries if isinstance(group, LazyGroup) else ()
        names += [name, *(f"{name} {inner}" for inner in below)]
    return names


def help_file(name: str) -> Path:
    return HELP / f"{name.replace(' ', '-')}.txt"


def help_text(name: str) -> str:
    if name == "git-boocode":
        return boocode.get_help(
            boocode.context_class(boocode, info_name="git boocode", terminal_width=80)
        )
    parent = boocode.context_class(boocode, info_name="git boocode", terminal_width=80)
    shown = command(name)
    return shown.get_help(shown.context_class(shown, info_name=name, parent=parent)) + "\n"


def test_help_text() -> None:
    for name in ("git-boocode", *all_commands()):
        assert help_text(name).rstrip() == help_file(name).read_text(encoding="utf-8").rstrip()


def test_the_list_of_commands_says_what_the_command_is_about() -> None:
    for name in COMMANDS:
        summary = COMMANDS[name].summary
        assert re.fullmatch(r"[A-Z][^.]{10,58}\.", summary)
        assert command(name).help


if __name__ == "__main__":
    HELP.mkdir(exist_ok=True)
    for each in ["git-boocode", *all_commands()]:
        help_file(each).write_text(help_text(each).rstrip() + "\n", encoding="utf-8")
