"""What is understood without click is understood as click understands it."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.cli import entry
from git_boocode.cli.direct import COMMANDS, direct_call, parse
from git_boocode.cli.main import boocode

WORDS = (
    *("", "a", "-", "--", "-1", "0", "7", "007", "x=y", "-mtext", "-m=text", "--label=", "--lab"),
    *("--label=x=y", "-n5", "-n=5", "--max-count=3", "--max-count=-3", "-h", "--help", "\u0663"),
    *("--json=yes", "--message=--chat", "path/to", "\udcff", "@", "--no-json"),
)


def spellings(name: str) -> list[str]:
    """Every option of a command, and words that are none."""
    command = COMMANDS[name]
    return [*command.flags, *command.texts, *command.numbers, *WORDS]


def by_click(name: str, arguments: list[str]) -> dict[str, Any]:
    """The parameters that click calls a command's function with."""
    command = boocode.get_command(click.Context(boocode), name)
    assert command is not None
    return dict(command.make_context(name, list(arguments)).params)


def by_default(name: str) -> dict[str, Any]:
    """The parameters of the function that carries a command out, as they are by default."""
    command = COMMANDS[name]
    function = getattr(import_module(command.module), command.function)
    return {key: value.default for key, value in inspect.signature(function).parameters.items()}


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Parameters, with mappings as dictionaries."""
    return {key: dict(value) if key == "meta" else value for key, value in values.items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_defaults_are_the_same(name: str) -> None:
    assert plain(by_click(name, [])) == plain(by_default(name))


@pytest.mark.parametrize("name", COMMANDS)
@given(data=st.data())
def test_what_is_understood_is_as_click_understands_it(name: str, data: st.DataObject) -> None:
    arguments = data.draw(st.lists(st.sampled_from(spellings(name)), max_size=5))
    values = parse(COMMANDS[name], arguments)
    if values is not None:
        assert plain({**by_default(name), **values}) == plain(by_click(name, arguments))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_plain_option_is_understood(name: str) -> None:
    command = COMMANDS[name]
    for option in command.flags:
        assert parse(command, [option]) is not None
    for option in (*command.texts, *command.numbers):
        assert parse(command, [option, "5"]) is not None
        if option.startswith("--"):
            assert parse(command, [f"{option}=5"]) == parse(command, [option, "5"])


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--help"],
        ["checkpoint", "--help"],
        ["checkpoint", "-h"],
        ["checkpoint", "--nonsense"],
        ["checkpoint", "-m"],
        ["checkpoint", "--", "a"],
        ["log", "a"],
        ["log", "-n", "x"],
        ["log", "--all", "--remotes"],
        ["log", "--remote", "r", "--remotes"],
        ["restore", "@"],
        ["hook", "--help"],
        ["hook", "-h"],
    ],
)
def test_the_rest_is_left_to_click(argv: list[str]) -> None:
    assert direct_call(argv) is None


def test_every_command_that_does_without_click_is_tried_so() -> None:
    assert set(entry.OFTEN_CALLED) == {*COMMANDS, "hook"}


@pytest.mark.parametrize("more", [[], ["codex"], ["codex", "--help"], ["git", "pre-rebase", "-x"]])
def test_a_hook_is_never_left_to_click(more: list[str]) -> None:
    assert direct_call(["hook", *more]) is not None
