"""What went wrong in hooks, which tell nobody: a small log in the git directory."""

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
from git_boocode.repo.repository import make_state_dir
from git_boocode.repo.scratch import taking_turns

_NAME = "hooks.log"
_LARGEST = 64 << 10
_LONGEST = 1000
# In seconds; a hook does not wait for another one that only writes a line.
_PATIENCE = 0.2
_KEYS = ("time", "agent", "event", "worktree", "what", "message")


class Entry(NamedTuple):
    """Something that went wrong.

    Attributes:
        time: when, as in metadata.
        agent: whose hook it was.
        event: what it was called for.
        worktree: where; empty if that is not known.
        what: a stable word for it.
        message: it, in one sentence. What a user has asked an agent for is never in it.
    """

    time: str
    agent: str
    event: str
    worktree: str
    what: str
    message: str


def log_path(state_dir: str) -> str:
    """The log.

    Args:
        state_dir: where the private files of all worktrees live.
    """
    return os.path.join(state_dir, _NAME)


def log(state_dir: str, agent: str, event: str, worktree: str, what: str, message: str) -> None:
    """Write an entry, if that is possible; the oldest ones go.

    Args:
        state_dir: where the private files of all worktrees live.
        agent: see `Entry`, as all that follows.
        event: the event.
        worktree: the worktree.
        what: the word for it.
        message: the sentence.
    """
    told = (agent, event, worktree, what, message)
    entry = Entry(timestamp(time.time()), *(text[:_LONGEST] for text in told))
    line = json.dumps(entry._asdict()).encode("ascii") + b"\n"
    path = log_path(state_dir)
    # There is nobody left to be told.
    with suppress(OSError, BoocodeError):
        make_state_dir(state_dir)
        _rotate(path, len(line))
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        try:
            os.write(descriptor, line if _ends_a_line(descriptor) else b"\n" + line)
        finally:
            os.close(descriptor)


def _ends_a_line(descriptor: int) -> bool:
    """Whether a log does not end in half an entry, as one does whose disk became full."""
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _rotate(path: str, more: int) -> None:
    if _size(path) + more <= _LARGEST:
        return
    # If another one is at it, it is done.
    with suppress(RefusedError), taking_turns(f"{path}.lock", patience=_PATIENCE):
        if _size(path) + more > _LARGEST:
            os.replace(path, f"{path}.1")


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def entries(state_dir: str, *, since: float) -> list[Entry]:
    """What the log holds, oldest first; lines that cannot be read are left out.

    Args:
        state_dir: where the private files of all worktrees live.
        since: a time in seconds since 1970; what is older is left out.
    """
    path = log_path(state_dir)
    found = [*_read(f"{path}.1"), *_read(path)]
    return [entry for entry in found if entry.time >= timestamp(since)]


def newest(found: list[Entry], count: int) -> list[tuple[Entry, int]]:
    """What went wrong last, each with how often it did, newest first.

    Args:
        found: what `entries` found.
        count: how many different ones are wanted.
    """
    times: dict[Entry, int] = {}
    last: dict[Entry, Entry] = {}
    for entry in reversed(found):
        kind = entry._replace(time="")
        last.setdefault(kind, entry)
        times[kind] = times.get(kind, 0) + 1
    return [(entry, times[kind]) for kind, entry in last.items()][:count]


def _read(path: str) -> Iterator[Entry]:
    data = None
    with suppress(OSError):
        data = read_private(path)
    for line in (data or b"").decode("utf-8", "replace").splitlines():
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict) and isinstance(values.get("time"), str):
            texts = (values.get(key) for key in _KEYS)
            yield Entry(*(text if isinstance(text, str) else "" for text in texts))
