"""Options that are read without click: those of all commands, and those of simple command lines.

`-C`, `-q`, `-v` and `--no-color` go before the command; the last three can also follow it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from git_boocode.repo.errors import FatalError


class Option(NamedTuple):
    """An option, spelled as help shows it, such as `-n, --max-count <n>`; a flag takes no value.

    Help, manual, completion and the arguments of the server's tools are made from it. `name` is
    that of the command's parameter, if it is not the long name of the option.
    """

    spelling: str
    help: str
    name: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Its names, such as `-n` and `--max-count`."""
        return tuple(self.spelling.partition(" <")[0].split(", "))

    @property
    def metavar(self) -> str:
        """What stands for its value; empty for a flag."""
        _, begin, rest = self.spelling.partition("<")
        return begin + rest

    @property
    def parameter(self) -> str:
        """The name of the command's parameter."""
        return self.name or self.names[-1].removeprefix("--").replace("-", "_")


# Of the commands that have it; it is not read before the command.
JSON = Option("--json", "Answer with one JSON object on standard output.", "as_json")
DIRECTORY = Option("-C <dir>", "Run in this directory instead of the current one.", "directories")
OUTPUT = (
    Option("-q, --quiet", "Print only errors and what was asked for."),
    Option("-v, --verbose", "Print more."),
    Option("--no-color", "Print without colour."),
)
_OUTPUT_NAMES = {name: option.parameter for option in OUTPUT for name in option.names}


# Where click's context notes how many arguments follow `--`, which click forgets.
AFTER_DASHES = "git_boocode.after_dashes"


class OutputOptions(NamedTuple):
    """What the user wants to see, and how."""

    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    as_json: bool = False

    def adding(self, parameter: str) -> OutputOptions:
        """These and one more; of `quiet` and `verbose` the last one holds."""
        if parameter in ("quiet", "verbose"):
            return self._replace(quiet=parameter == "quiet", verbose=parameter == "verbose")
        return self._replace(**{parameter: True})


_output_options = OutputOptions()


def output_options() -> OutputOptions:
    """The output options of the command that is running."""
    return _output_options


def set_output_options(options: OutputOptions) -> None:
    """Replace the output options; called only while the command line is parsed."""
    global _output_options  # noqa: PLW0603 - every line that is printed depends on it
    _output_options = options


def add_output_options(parameters: Iterable[str]) -> None:
    """Add output options, in the order in which they are given."""
    set_output_options(reduce(OutputOptions.adding, parameters, _output_options))


def split_leading(argv: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Split off the options before the command, as far as they are words of their own.

    Returns the directories of `-C`, the parameters of output options, and the remaining arguments,
    which begin with the command, or with what click has to read.
    """
    directories: list[str] = []
    output: list[str] = []
    rest = list(argv)
    while rest:
        if rest[0] in _OUTPUT_NAMES:
            output.append(_OUTPUT_NAMES[rest.pop(0)])
        elif rest[0] == "-C" and len(rest) > 1:
            directories.append(rest[1])
            del rest[:2]
        else:
            break
    return directories, output, rest


def change_directory(directories: Iterable[str]) -> None:
    """Go to each directory, as seen from the one before; an empty name changes nothing.

    FatalError (`no_such_directory`) if one cannot be entered.
    """
    for name in filter(None, directories):
        _enter(name)


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"cannot change to '{directory}': {reason}"
        raise FatalError(message, code="no_such_directory") from None


def plain_values(options: Iterable[Option], arguments: Iterable[str]) -> dict[str, Any] | None:
    """The parameters that simple arguments set; None if click has to read them.

    `output` lists the output options that are given. Agents and editors wait for a
    checkpoint at every turn, and click takes a quarter of it.
    """
    by_name = {name: option for option in (*options, *OUTPUT) for name in option.names}
    values: dict[str, Any] = {"paths": (), "output": []}
    remaining = iter(arguments)
    for word in remaining:
        name, equals, value = word.partition("=")
        option = by_name.get(name)
        if not word.startswith("-"):
            values["paths"] += (word,)
        elif option is None or "=" in option.metavar:
            # Pairs of a key and a value are checked by click's callback.
            return None
        elif option.metavar:
            value = value if equals else next(remaining, "-")
            if value.startswith("-") or (equals and not name.startswith("--")):
                return None
            values[option.parameter] = value
        elif equals:
            return None
        elif name in _OUTPUT_NAMES or option is JSON:
            values["output"].append(option.parameter)
        else:
            values[option.parameter] = True
    return values
