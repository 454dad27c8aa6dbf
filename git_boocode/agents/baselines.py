"""What an agent's file was before our hooks went in, so that it can be given back as it was."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode, b64encode
from typing import Any, NamedTuple

from git_boocode.agents.file_edits import FileEdit, read_file
from git_boocode.repo.durable import read_private_json
from git_boocode.repo.errors import RefusedError

_FORMAT = 1
# The settings of an agent may hold keys and passwords.
_MODE = 0o600
_LARGEST = 64 << 20


class Baseline(NamedTuple):
    """What is remembered of a file.

    `before` is its content before us, None for no file; `written` the digest of what we wrote.
    `made` is what we had to add to hold our hooks, such as `hooks` or `hooks.Stop`, and None if
    nobody remembers: then what our hooks leave empty counts as added. `directories` are those that
    we made for the file, outermost first.
    """

    before: bytes | None
    written: str
    made: frozenset[str] | None
    directories: tuple[str, ...] = ()

    @property
    def created(self) -> bool:
        """Whether the whole file is ours, so that it goes when nothing else is left in it."""
        return self.before is None

    def is_of(self, data: bytes | None) -> bool:
        """Whether a file holds just what we wrote."""
        return data is not None and digest(data) == self.written


UNKNOWN = Baseline(b"", "", None)
"""The baseline of a file of which nothing is remembered."""


def digest(data: bytes) -> str:
    """By which a content is recognized."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def load(path: str) -> Baseline | None:
    """What a record holds; None if there is none, or none that makes sense."""
    try:
        stored: Any = read_private_json(path, largest=_LARGEST)
        if stored["boocode"] != _FORMAT or not isinstance(stored["written"], str):
            return None
        before, made = stored["before"], stored["made"]
        return Baseline(
            None if before is None else b64decode(before, validate=True),
            stored["written"],
            None if made is None else frozenset(map(str, made)),
            tuple(os.fsdecode(bytes.fromhex(path)) for path in stored["directories"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        # Without one, what is ours is recognized by its command line.
        return None


def saved(path: str, baseline: Baseline | None) -> FileEdit:
    """The change of a record that remembers a baseline, or forgets it if it is None."""
    try:
        before = read_file(path, replace_link=True)
    except RefusedError as error:
        error.hints += ("delete it; 'git boocode doctor --fix' does so in the git directory",)
        raise
    if baseline is None:
        return FileEdit(path, before, None, None, "", replace_link=True)
    stored = {
        "boocode": _FORMAT,
        "before": None if baseline.before is None else b64encode(baseline.before).decode("ascii"),
        "written": baseline.written,
        "made": None if baseline.made is None else sorted(baseline.made),
        "directories": [os.fsencode(path).hex() for path in baseline.directories],
    }
    after = json.dumps(stored, indent=2).encode() + b"\n"
    return FileEdit(path, before, after, _MODE, "", replace_link=True)
