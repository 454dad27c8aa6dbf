"""The log of problems in hooks, which print nothing: a small file in the git directory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.durable import open_private, read_private
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.ids import timestamp
from git_boocode.repo.lock import file_lock
from git_boocode.repo.repository import make_state_dir

_LARGEST = 64 << 10
_LONGEST = 1000
# In seconds; a hook does not wait for another one that only writes a line.
_PATIENCE = 0.2


class LogEntry(NamedTuple):
    """A problem; `what` is its code, and `message` never holds any part of a prompt.

    `time` is spelled as in metadata; `worktree` is empty if it is not known.
    """

    time: str
    agent: str
    event: str
    worktree: str
    what: str
    message: str


def log_path(state_dir: str) -> str:
    """The log, in the directory of the private files of all worktrees."""
    return os.path.join(state_dir, "hooks.log")


def log(state_dir: str, agent: str, event: str, worktree: str, what: str, message: str) -> None:
    """Write an entry, see `LogEntry`, if that is possible; the oldest ones are dropped."""
    texts = (text[:_LONGEST] for text in (agent, event, worktree, what, message))
    entry = LogEntry(timestamp(time.time()), *texts)
    line = json.dumps(entry._asdict()).encode("ascii") + b"\n"
    path = log_path(state_dir)
    # There is nowhere else to report it.
    with suppress(OSError, BoocodeError):
        make_state_dir(state_dir)
        _rotate(path, len(line))
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                # It ends in half an entry, as after the disk was full.
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _rotate(path: str, more: int) -> None:
    if not _is_full(path, more):
        return
    # If another process is at it, it is done.
    with suppress(RefusedError), file_lock(f"{path}.lock", patience=_PATIENCE):
        if _is_full(path, more):
            os.replace(path, f"{path}.1")


def _is_full(path: str, more: int) -> bool:
    return os.path.lexists(path) and os.lstat(path).st_size + more > _LARGEST


def entries(state_dir: str, *, since: float) -> list[LogEntry]:
    """The entries since a time (seconds since 1970), oldest first, without unreadable lines."""
    path = log_path(state_dir)
    found = [*_read(f"{path}.1"), *_read(path)]
    return [entry for entry in found if entry.time >= timestamp(since)]


def newest(found: list[LogEntry], count: int) -> list[tuple[LogEntry, int]]:
    """The newest `count` different entries, newest first, each with how often it occurs."""
    alike: dict[LogEntry, list[LogEntry]] = {}
    for entry in reversed(found):
        alike.setdefault(entry._replace(time=""), []).append(entry)
    return [(entries[0], len(entries)) for entries in alike.values()][:count]


def _read(path: str) -> Iterator[LogEntry]:
    data = None
    with suppress(OSError):
        data = read_private(path)
    for line in (data or b"").decode("utf-8", "replace").splitlines():
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict) and isinstance(values.get("time"), str):
            texts = (values.get(key) for key in LogEntry._fields)
            yield LogEntry(*(text if isinstance(text, str) else "" for text in texts))
