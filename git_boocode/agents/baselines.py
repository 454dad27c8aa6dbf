"""What an agent's file was before our hooks went in, so that it can be given back as it was."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode, b64encode
from typing import Any, NamedTuple

from git_boocode.agents.edits import Edit, read_file
from git_boocode.agents.entries import Baseline
from git_boocode.repo.durable import read_private_json
from git_boocode.repo.errors import RefusedError

_FORMAT = 1
# The settings of an agent may hold keys and passwords.
_MODE = 0o600
_LARGEST = 64 << 20


class Record(NamedTuple):
    """What is remembered of one file.

    Attributes:
        before: its bytes before us; None if there was none.
        written: the digest of what we wrote.
        made: what we had to add for our hooks to be in; None if nobody knows.
        directories: the directories that we made for it, outermost first.
    """

    before: bytes | None
    written: str
    made: frozenset[str] | None
    directories: tuple[str, ...] = ()

    def is_of(self, data: bytes | None) -> bool:
        """Whether a file holds just what we wrote."""
        return data is not None and digest(data) == self.written

    @property
    def baseline(self) -> Baseline:
        """What a file that others have changed since is to be judged by."""
        return Baseline(self.made, self.before is None)


def digest(data: bytes) -> str:
    """What tells whether a file has changed."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def load(path: str) -> Record | None:
    """What is remembered in a file of records; None if that is nothing, or makes no sense.

    Args:
        path: the file.
    """
    try:
        return _decoded(read_private_json(path, largest=_LARGEST))
    except (OSError, ValueError, KeyError, TypeError):
        # Without one, what is ours is told by what it looks like.
        return None


def saved(path: str, record: Record | None) -> Edit:
    """The change of a file by which something is remembered, or forgotten.

    Args:
        path: the file.
        record: what to remember; None to forget what there is.

    Raises:
        BoocodeError: the file cannot be read.
    """
    after = None if record is None else _encoded(record)
    try:
        before = read_file(path, replace_link=True)
    except RefusedError as error:
        error.hints += ("delete it; 'git boocode doctor --fix' does so in the git directory",)
        raise
    mode = None if after is None else _MODE
    return Edit(path, before, after, mode, "", replace_link=True)


def _encoded(record: Record) -> bytes:
    before, made = record.before, record.made
    stored: dict[str, Any] = {
        "boocode": _FORMAT,
        "before": None if before is None else b64encode(before).decode("ascii"),
        "written": record.written,
        "made": None if made is None else sorted(made),
        "directories": [os.fsencode(path).hex() for path in record.directories],
    }
    return json.dumps(stored, indent=2).encode() + b"\n"


def _decoded(stored: Any) -> Record | None:  # noqa: ANN401 - whatever the file holds
    if stored["boocode"] != _FORMAT or not isinstance(stored["written"], str):
        return None
    before, made = stored["before"], stored["made"]
    return Record(
        None if before is None else b64decode(before, validate=True),
        stored["written"],
        None if made is None else frozenset(map(str, made)),
        tuple(os.fsdecode(bytes.fromhex(path)) for path in stored["directories"]),
    )
