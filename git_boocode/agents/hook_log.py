"""The log of hook problems, a small file in the git directory, because hooks print nothing."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from git_boocode.agents.dedupe import last_reports
from git_boocode.repo.ids import timestamp
from git_boocode.repo.line_log import LineLog
from git_boocode.repo.repository import Repository

_LARGEST = 64 << 10
_LONGEST = 1000


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
    _log_file(state_dir).append(entry._asdict())


def _log_file(state_dir: str) -> LineLog:
    return LineLog(log_path(state_dir), _LARGEST)


def entries(state_dir: str, *, since: float) -> list[LogEntry]:
    """The entries since a time (seconds since 1970), oldest first, without unreadable lines."""
    found = filter(None, map(_entry, _log_file(state_dir).read()))
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


def _entry(values: dict[str, Any]) -> LogEntry | None:
    if not isinstance(values.get("time"), str):
        return None
    texts = (values.get(key) for key in LogEntry._fields)
    return LogEntry(*(text if isinstance(text, str) else "" for text in texts))
