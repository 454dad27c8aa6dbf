"""Check the commands that hints name: they parse, their options exist, and they keep the paths.

Every output of a command that a test runs comes here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from git_boocode.cli.framework import boocode

_COMMAND = re.compile(r"(?:(?<=')|(?<=: )|(?<=then ))git (?:-C (?:'[^']*'|\S+) )?boocode (?=[a-z])")
_PAINT = re.compile(r"\x1b\[[\d;]*m")
# What stands for a word that the user knows.
_PLACEHOLDER = re.compile(r"<[^<>]*>(?:\.\.\.)?|\[--\]|\[<options>\]")
_WORD = "X"


class HintError(AssertionError):
    """A hint names a command that does not exist as it is written."""


class _Parsed(NamedTuple):
    name: str
    words: list[str]
    options: set[str]
    paths: list[str]


def check_hints(argv: Sequence[str], out: str, err: str) -> None:
    """Check the hints in what `git boocode` printed when it was run with some arguments."""
    lines = [_PAINT.sub("", line) for line in err.split("\n")]
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    if '"hint":' in out:
        for answer in out.splitlines():
            # The server prints one object in each line.
            error = json.loads(answer).get("error", {}) if answer.startswith("{") else {}
            hints += error.get("hint", "").split("\n") if "code" in error else []
    for hint in hints:
        check_hint(hint, argv)


def check_hint(hint: str, argv: Sequence[str] = ()) -> None:
    """Check one hint of a command (HintError)."""
    ran = _ran(argv)
    if ran is not None and (option := re.match(r"--[a-z-]+", hint)) and ran.name:
        _expect(option[0] in ran.options, f"{ran.name} has no option", hint)
    for command in commands_in(hint):
        try:
            found = _parse(shlex.split(command))
        except (click.UsageError, ValueError) as error:
            raise HintError(f"{error}: {hint}") from error
        # A rewind names the edit that it recorded, which is of these paths alone.
        if ran and found and ran.paths and found.name == ran.name != "rewind":
            kept = any(path in word for path in ran.paths for word in found.words)
            _expect(kept, f"the paths {ran.paths} are missing", hint)


def _expect(holds: object, problem: str, hint: str) -> None:
    if not holds:
        raise HintError(f"{problem}: {hint}")


def commands_in(hint: str) -> Iterator[str]:
    """The arguments of the commands of `git boocode` in a hint, in quotes or at its end."""
    text = _PLACEHOLDER.sub(_WORD, hint)
    for found in _COMMAND.finditer(text):
        rest = text[found.end() :]
        if text[found.start() - 1 : found.start()] == "'":
            rest = _quoted(rest)
        yield re.split(r" [<>|] |, |; ", rest)[0]


def _quoted(text: str) -> str:
    """The beginning of a text that ends at a quote which is not one of a shell."""
    inside = ""
    for position, character in enumerate(text):
        before = text[position - 1 : position]
        if inside:
            inside = "" if character == inside else inside
        elif character == "'" and before not in (" ", '"', "="):
            return text[:position]
        elif character in "'\"":
            inside = character
    raise HintError(f"a quote is not closed: {text}")


def _ran(argv: Sequence[str]) -> _Parsed | None:
    """The command that was run; None if it was called wrongly."""
    try:
        return _parse(argv)
    except click.UsageError:
        return None


def _parse(argv: Sequence[str]) -> _Parsed | None:
    """A command line behind `git boocode` (click.UsageError); None for one that is not in it."""
    words = [*argv]
    while words[:1] == ["-C"]:
        del words[:2]
    command: click.Command | None = boocode
    context = click.Context(boocode)
    names: list[str] = []
    while isinstance(command, click.Group):
        if not words or words[0].startswith("-") or words[0] == _WORD:
            return None
        names.append(words.pop(0))
        command = command.get_command(context, names[-1])
        if command is None:
            raise click.UsageError(f"there is no command '{' '.join(names)}'")
    assert command is not None
    context = command.context_class(command, info_name=names[-1])
    values, surplus, _ = command.make_parser(context).parse_args([*words])
    # A placeholder may stand for options.
    if {*surplus} - {_WORD} and names[0] not in ("run", "hook"):
        raise click.UsageError(f"unexpected arguments {surplus}")
    given = words[words.index("--") + 1 :] if "--" in words else []
    for value in map(values.get, ("paths", "pathspecs")):
        given += value if isinstance(value, tuple) else ()
    options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    return _Parsed(" ".join(names), words, options, given if names[0] != "run" else [])
