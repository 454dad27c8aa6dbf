"""Start the commands that agents call at every turn without click, where that is easy.

To import click takes as long as everything else between the start of Python and that of git. Only
plain spellings are understood here; all others, mistakes and calls for help are click's, whose
commands remain the ones that say what there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from git_boocode.repo.ids import MOST_DIGITS

_NUMBER = re.compile(f"[0-9]{{1,{MOST_DIGITS}}}")


class Direct:
    """A command as data.

    Args:
        module: where its function is.
        function: what carries it out, and returns an exit code.
        flags: by spelling, the parameter that an option sets to true.
        texts: by spelling, the parameter that an option sets to what follows it.
        numbers: the same, of options that take a whole number.
        paths: the parameter that takes all other arguments; empty if there may be none.
        exclusive: the parameters of which at the most one makes sense.
    """

    def __init__(
        self,
        module: str,
        function: str,
        *,
        flags: Mapping[str, str],
        texts: Mapping[str, str] | None = None,
        numbers: Mapping[str, str] | None = None,
        paths: str = "",
        exclusive: frozenset[str] = frozenset(),
    ) -> None:
        self.module = module
        self.function = function
        self.flags = flags
        self.texts = texts or {}
        self.numbers = numbers or {}
        self.paths = paths
        self.exclusive = exclusive


COMMANDS = {
    "checkpoint": Direct(
        "git_boocode.cli.taking",
        "take_checkpoint",
        flags={
            "--json": "as_json",
            "--if-changed": "if_changed",
            "--best-effort": "best_effort",
            "--allow-home": "allow_home",
        },
        texts={
            "-m": "label",
            **{
                f"--{name}": name
                for name in ("label", "session", "chat", "message", "agent", "trigger")
            },
        },
        paths="paths",
    ),
}


def direct_call(argv: list[str]) -> Callable[[], int] | None:
    """What carries out a command line; None if it takes click to understand it.

    Args:
        argv: the arguments after `git boocode`.
    """
    if argv[:1] == ["hook"] and not "".join(argv[1:2]).startswith("-"):
        # Whatever follows, it is not for click to refuse.
        from git_boocode.cli.hook import run_hook

        return partial(run_hook, argv[1:])
    command = COMMANDS.get(argv[0]) if argv else None
    values = parse(command, argv[1:]) if command else None
    if command is None or values is None:
        return None
    return partial(getattr(import_module(command.module), command.function), **values)


def parse(command: Direct, arguments: Iterable[str]) -> dict[str, Any] | None:
    """The parameters that arguments stand for, as far as they set any; None if that is unclear."""
    values: dict[str, Any] = {}
    paths: list[str] = []
    remaining = iter(arguments)
    for word in remaining:
        spelling, equals, value = word.partition("=")
        if word in command.flags:
            values[command.flags[word]] = True
        elif not word.startswith("-"):
            paths.append(word)
        elif name := (command.texts.get(spelling) or command.numbers.get(spelling)):
            value = value if equals else next(remaining, "-")
            if value.startswith("-") or (equals and not word.startswith("--")):
                return None
            if spelling in command.numbers and not _NUMBER.fullmatch(value):
                return None
            values[name] = int(value) if spelling in command.numbers else value
        else:
            return None
    if (paths and not command.paths) or len(command.exclusive.intersection(values)) > 1:
        return None
    return {**values, command.paths: tuple(paths)} if paths else values
