"""Every help text, as a user reads it: a change of one is a change of this directory.

`python -m tests.cli.test_help` writes them anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from git_boocode.cli.main import COMMANDS, boocode

HELP = Path(__file__).parent / "help"
MAN_PAGE = Path(__file__).parents[2] / "man" / "git-boocode.1"


def command(name: str) -> click.Command:
    found = boocode.get_command(click.Context(boocode), name)
    assert found is not None
    return found


def help_text(name: str) -> str:
    if name == "git-boocode":
        return boocode.get_help(
            boocode.context_class(boocode, info_name="git boocode", terminal_width=80)
        )
    parent = boocode.context_class(boocode, info_name="git boocode", terminal_width=80)
    shown = command(name)
    return shown.get_help(shown.context_class(shown, info_name=name, parent=parent)) + "\n"


@pytest.mark.parametrize("name", ["git-boocode", *COMMANDS])
def test_help_text(name: str) -> None:
    assert help_text(name).rstrip() == (HELP / f"{name}.txt").read_text(encoding="utf-8").rstrip()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_command_is_about(name: str) -> None:
    summary = COMMANDS[name].summary
    assert re.fullmatch(r"[A-Z][^.]{10,58}\.", summary)
    assert command(name).help


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_describes_every_command_and_option(name: str) -> None:
    manual = MAN_PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    heading = f".SS {name}\n"
    assert heading in manual
    section = manual.split(heading)[1].split("\n.S")[0]
    for parameter in command(name).params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            for option in parameter.opts:
                assert option in section or option == "--help", f"{name} {option}"


if __name__ == "__main__":
    HELP.mkdir(exist_ok=True)
    for each in ["git-boocode", *COMMANDS]:
        (HELP / f"{each}.txt").write_text(help_text(each).rstrip() + "\n", encoding="utf-8")
