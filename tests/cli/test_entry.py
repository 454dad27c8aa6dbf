"""What is understood without click is understood as click understands it."""

from __future__ import annotations

from functools import reduce
from typing import Any

import click
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.cli.checkpoint import OPTIONS
from git_boocode.cli.framework import boocode
from git_boocode.cli.options import (
    OUTPUT,
    OutputOptions,
    output_options,
    plain_values,
    set_output_options,
    split_leading,
)

WORDS = (
    *("", "a", "-", "--", "-1", "0", "7", "x=y", "-mtext", "-m=text", "--label=", "--lab", "-h"),
    *("--label=x=y", "--help", "--json=yes", "--message=--chat", "path/to", "\udcff", "@"),
)
SPELLINGS = [*(name for option in (*OPTIONS, *OUTPUT) for name in option.names), *WORDS]


def by_click(arguments: list[str]) -> dict[str, Any]:
    """The parameters that click sets, and the output options."""
    command = boocode.get_command(click.Context(boocode), "checkpoint")
    assert command is not None
    set_output_options(OutputOptions())
    params = command.make_context("checkpoint", list(arguments)).params
    return {
        "paths": (),
        "output": output_options(),
        **{name: value for name, value in params.items() if value},
    }


@given(st.lists(st.sampled_from(SPELLINGS), max_size=5))
def test_what_is_understood_is_as_click_understands_it(arguments: list[str]) -> None:
    values = plain_values(OPTIONS, arguments)
    if values is not None:
        output = reduce(OutputOptions.adding, values.pop("output"), OutputOptions())
        set_values = {name: value for name, value in values.items() if value}
        assert {"paths": (), "output": output, **set_values} == by_click(arguments)


def test_every_plain_option_is_understood() -> None:
    for option in (*OPTIONS, *OUTPUT):
        for name in option.names:
            words = [name, "5"] if option.metavar else [name]
            assert (plain_values(OPTIONS, words) is None) is ("=" in option.metavar)


def test_the_rest_is_left_to_click() -> None:
    for arguments in (["--help"], ["-h"], ["--nonsense"], ["-m"], ["--", "a"], ["--meta", "a=b"]):
        assert plain_values(OPTIONS, arguments) is None


LEADING = ("-C", ".", "", "-q", "-v", "--verbose", "--no-color", "log", "-")


@given(st.lists(st.sampled_from(LEADING), max_size=6))
def test_what_stands_before_the_command_is_as_click_understands_it(argv: list[str]) -> None:
    directories, output, rest = split_leading(argv)
    # What it leaves to click, such as `-C` without a directory, begins with a dash.
    if rest[:1] != ["-C"]:
        context = boocode.context_class(boocode, resilient_parsing=True)
        values, remaining, order = boocode.make_parser(context).parse_args([*argv])
        assert values.get("directories", []) == directories
        assert output == [each.name for each in order if each.name in OutputOptions._fields]
        assert remaining == rest
