"""Options for the unsaved text of an editor's buffers, and for positions in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import click

from git_boocode.cli.candidates import one_of, paths
from git_boocode.cli.framework import refuse_together
from git_boocode.editing.edits import DEFAULT_ENCODING, ENCODINGS
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.errors import UsageError, shortened

_OPTIONS = (
    click.option(
        "--buffer",
        "buffers",
        multiple=True,
        metavar="<path>=<file>",
        help="Use the text in <file> instead of the file <path>, and do not write <path>.",
        shell_complete=paths,
    ),
    click.option(
        "--buffers",
        "all_buffers",
        metavar="<file> | -",
        help="The same for a JSON object of texts by path.",
        shell_complete=paths,
    ),
)

encoding_option = click.option(
    "--position-encoding",
    "encoding",
    type=click.Choice(ENCODINGS),
    default=DEFAULT_ENCODING,
    metavar="<name>",
    help="Count positions in text edits in code units of utf-8, utf-16 (the default) or utf-32.",
    shell_complete=one_of(ENCODINGS),
)


class BufferOptions(NamedTuple):
    """The buffers that are given on the command line."""

    single: tuple[str, ...] = ()
    together: str | None = None

    @property
    def read_standard_input(self) -> bool:
        """Whether they come from standard input, which then holds nothing else."""
        return self.together == "-"

    def fill(self, workspace: Workspace) -> Workspace:
        """A workspace with the buffers; paths count from the current directory.

        UsageError if an option is malformed, RefusedError if a path is outside the worktree.
        """
        texts = _read_all(self.together) if self.together is not None else {}
        for pair in self.single:
            path, equals, name = pair.partition("=")
            if not (path and equals and name):
                message = f"'{shortened(pair)}' is not of the form <path>=<file>"
                raise UsageError(message, hints=("example: --buffer src/a.py=/tmp/unsaved",))
            with open(name, "rb") as stream:
                texts[path] = stream.read()
        filled = workspace._replace(from_here=True).with_buffers(texts)
        return workspace._replace(buffers=filled.buffers)


def buffer_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options for buffers, as one argument `buffers`."""

    @wraps(command)
    def with_buffers(**given: Any) -> int:  # noqa: ANN401 - click's own
        single, together = given.pop("buffers"), given.pop("all_buffers")
        refuse_together(("--buffer", single), ("--buffers", together is not None))
        return command(**given, buffers=BufferOptions(single, together))

    decorated: Callable[..., int] = with_buffers
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _read_all(name: str) -> dict[str, bytes]:
    """The texts of a JSON object."""
    if name == "-":
        data = sys.stdin.buffer.read()
    else:
        with open(name, "rb") as stream:
            data = stream.read()
    hints = ('the form is: {"src/a.py": "its text", …}',)
    try:
        values = json.loads(data)
        if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
            raise UsageError("--buffers is not a JSON object of texts by path", hints=hints)
        return {path: text.encode("utf-8", "surrogateescape") for path, text in values.items()}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--buffers is not valid JSON: {error}", hints=hints) from None
