"""What is understood without click is understood as click understands it."""

from __future__ import annotations

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.cli.checkpoint import OPTIONS
from git_boocode.cli.entry import plain_values
from git_boocode.cli.framework import boocode

WORDS = (
    *("", "a", "-", "--", "-1", "0", "7", "x=y", "-mtext", "-m=text", "--label=", "--lab", "-h"),
    *("--label=x=y", "--help", "--json=yes", "--message=--chat", "path/to", "\udcff", "@"),
)
SPELLINGS = [*(name for option in OPTIONS for name in option.names), *WORDS]


def by_click(arguments: list[str]) -> dict[str, Any]:
    """The parameters that click sets."""
    command = boocode.get_command(click.Context(boocode), "checkpoint")
    assert command is not None
    params = command.make_context("checkpoint", list(arguments)).params
    return {"paths": (), **{name: value for name, value in params.items() if value}}


@given(st.lists(st.sampled_from(SPELLINGS), max_size=5))
def test_what_is_understood_is_as_click_understands_it(arguments: list[str]) -> None:
    values = plain_values(OPTIONS, arguments)
    if values is not None:
        assert {"paths": (), **{k: v for k, v in values.items() if v}} == by_click(arguments)


def test_every_plain_option_is_understood() -> None:
    for option in OPTIONS:
        for name in option.names:
            words = [name, "5"] if option.metavar else [name]
            assert (plain_values(OPTIONS, words) is None) is option.is_pairs


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["--nonsense"], ["-m"], ["--", "a"], ["--meta", "a=b"]]
)
def test_the_rest_is_left_to_click(arguments: list[str]) -> None:
    assert plain_values(OPTIONS, arguments) is None
