"""Options for the unsaved text of an editor's buffers, and for positions in it."""

from __future__ import annotations

import json
import sys
from typing import NamedTuple

import click

from git_boocode.cli.candidates import one_of, paths
from git_boocode.cli.framework import gathered, option, refuse_together
from git_boocode.editing.edits import DEFAULT_ENCODING, ENCODINGS
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.errors import UsageError, shortened

encoding_option = option(
    "--position-encoding <name>",
    "Count positions in text edits in code units of utf-8, utf-16 (the default) or utf-32.",
    "encoding",
    type=click.Choice(ENCODINGS),
    default=DEFAULT_ENCODING,
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


def _buffers(single: tuple[str, ...], together: str | None) -> BufferOptions:
    refuse_together(("--buffer", single), ("--buffers", together is not None))
    return BufferOptions(single, together)


buffer_options = gathered(
    "buffers",
    _buffers,
    option(
        "--buffer <path>=<file>",
        "Use the text in <file> instead of the file <path>, and do not write <path>.",
        "single",
        multiple=True,
        shell_complete=paths,
    ),
    option(
        "--buffers <file> | -",
        "The same for a JSON object of texts by path.",
        "together",
        shell_complete=paths,
    ),
)


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
