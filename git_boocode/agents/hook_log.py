"""The log of hook problems, a small file in the git directory, because hooks print nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.agents.dedupe import last_reports
from git_boocode.repo.durable import open_private, read_private
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.ids import timestamp
from git_boocode.repo.lock import file_lock
from git_boocode.repo.repository import Repository, make_state_dir

_LARGEST = 64 << 10
_LONGEST = 1000
# In seconds; short, because other hooks only write a line.
_PATIENCE = 0.2


class LogEntry(NamedTuple):
    """A problem; `what` is its code, and `message` never contains a part of a prompt.

    `time` has the format of the metadata; `worktree` is empty if unknown.
    """

    time: str
    agent: str
    event: str
    worktree: str
    what: str
    message: str


def log_path(state_dir: str) -> str:
    """The path of the log, among the private files of all worktrees."""
    return os.path.join(state_dir, "hooks.log")


def log(state_dir: str, agent: str, event: str, worktree: str, what: str, message: str) -> None:
    """Write an entry (see `LogEntry`) if possible; drops the oldest ones."""
    texts = (text[:_LONGEST] for text in (agent, event, worktree, what, message))
    entry = LogEntry(timestamp(time.time()), *texts)
    line = json.dumps(entry._asdict()).encode("ascii") + b"\n"
    path = log_path(state_dir)
    # Errors here cannot be reported anywhere.
    with suppress(OSError, BoocodeError):
        make_state_dir(state_dir)
        _rotate(path, len(line))
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                # The last entry is incomplete, for example because the disk was full.
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _rotate(path: str, more: int) -> None:
    if not _is_full(path, more):
        return
    # If another process is doing this, nothing is left to do.
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


def last_calls(repository: Repository) -> dict[str, str]:
    """When each agent last called a hook in this worktree, in the format of the metadata.

    Only calls that begin a turn, record a tool, or fail leave a trace.
    """
    reported = last_reports(repository.state_dir).items()
    calls = {agent: timestamp(when) for agent, when in reported}
    for entry in entries(repository.common_state_dir, since=0):
        if entry.worktree == repository.worktree:
            calls[entry.agent] = max(entry.time, calls.get(entry.agent, ""))
    return calls


def newest(found: list[LogEntry], count: int) -> list[tuple[LogEntry, int]]:
    """The newest `count` distinct entries, newest first, with their number of occurrences."""
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
