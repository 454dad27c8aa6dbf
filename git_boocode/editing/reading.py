"""Read a file with its version, so that later edits can name lines of what was read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.editing.kept_versions import keep_if_possible, version_of
from git_boocode.editing.text_changes import quoted
from git_boocode.editing.textfile import decode
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.errors import RefusedError

_RANGE = re.compile(r"(?s)(.+):(?=-?\d)(\d{0,18})(?:(-)(\d{0,18}))?")
_OTHER_RANGE = re.compile(r"(?s)(.+?)[:#]L?(\d{1,18})(?:[-,:]L?(\d{1,18}))?")
"""Ranges as other tools write them, to name the form that is read."""


class NumberedLines(NamedTuple):
    """Some lines of a file, which has `total` lines; the first of them is line `first`.

    `path` is relative to the top of the worktree. The texts of lines have no line endings; bytes
    that are not UTF-8 are surrogates. `warning` is why the version could not be kept.
    """

    path: str
    version: str
    first: int
    lines: tuple[str, ...]
    total: int
    warning: str = ""

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        lines = [{"number": at, "text": text} for at, text in enumerate(self.lines, self.first)]
        return {
            "ok": True,
            "path": self.path,
            "version": self.version,
            "lines": lines,
            "total": self.total,
            **({"warning": self.warning} if self.warning else {}),
        }

    def as_text(self) -> Iterator[str]:
        """The lines for a model: a header with path and version, then lines with their numbers."""
        yield f"[{quoted(self.path)}#{self.version}]"
        width = len(str(self.first + len(self.lines) - 1))
        for number, text in enumerate(self.lines, self.first):
            yield f"{number:>{width}}| {text}"


def read_lines(
    workspace: Workspace, path: str, first: int | None = None, last: int | None = None
) -> NumberedLines:
    """Read the lines `first` to `last` of a file, from 1, and keep its version for later edits.

    Without these, `path` may end in a range, `:<from>-<to>`, `:<from>-`, `:-<to>` or `:<line>`,
    unless there is a file of that name. RefusedError if there is no such file (`missing_file`) or
    line (`invalid_input`), or if the file has no lines (`binary`); FatalError if it cannot be read.
    """
    asked = path
    if first is None and last is None:
        path, first, last = _split_range(workspace, path)
    try:
        target, state = workspace.existing(path)
    except RefusedError as error:
        meant = _meant(workspace, asked)
        if not meant:
            raise
        hints = (f"for these lines, give {quoted(meant)}", *error.hints)
        raise RefusedError(error.message, code=error.code, hints=hints) from None
    text = decode(state.data).text
    if "\0" in text:
        message = f"{quoted(path)}: the file is binary: it has no lines"
        raise RefusedError(message, code="binary")
    rows = text.split("\n")
    # What follows the last line ending is a line only if it is not empty.
    lines = [*(row.removesuffix("\r") for row in rows[:-1]), *filter(None, rows[-1:])]
    first = 1 if first is None else first
    _check_range(path, first, last, len(lines))
    why = keep_if_possible(workspace, {target.real: state.data})
    return NumberedLines(
        target.path,
        version_of(state.data, workspace.repository),
        first,
        tuple(lines[first - 1 : last]),
        len(lines),
        f"the version is not kept for later edits: {why}" if why else "",
    )


def _split_range(workspace: Workspace, path: str) -> tuple[str, int | None, int | None]:
    found = _RANGE.fullmatch(path)
    if found is None or workspace.has(path):
        return path, None, None
    name, first, to, last = found.groups()
    one = int(first) if first else None
    return name, one, int(last) if last else None if to else one


def _meant(workspace: Workspace, path: str) -> str:
    """The path and range that a path in another spelling seems to mean; empty if none does."""
    found = _OTHER_RANGE.fullmatch(path)
    if found is None or not workspace.has(found[1]):
        return ""
    return f"{found[1]}:{found[2]}" + (f"-{found[3]}" if found[3] else "")


def _check_range(path: str, first: int, last: int | None, total: int) -> None:
    problem = ""
    if first < 1 or (last is not None and last < 1):
        problem = "lines are numbered from 1"
    elif last is not None and last < first:
        problem = f"the range ends with line {last}, before line {first}"
    elif first > max(total, 1):
        problem = f"there is no line {first}; the file has {total} line{'s' * (total != 1)}"
    if problem:
        raise RefusedError(f"{quoted(path)}: {problem}", code="invalid_input")
