"""End the hook of a tool at once if a call like it had nothing to do.

A turn calls many tools. Whether there is anything to do depends on the ids and directories in the
payload, and on the file of the turns. `idle_hook` notes these, so that the next call needs neither
the table of agents nor any module that is slow to import: what remains is Python's own start.
"""

from __future__ import annotations

import fcntl
import os
import select
import time

from git_boocode.repo.layout import (
    HOOK_IDLE,
    HOOK_LOCK,
    HOOK_TURNS,
    PRIVATE,
    TURN_LOCK,
    TURN_MARK,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = 5.0
"""Seconds to wait for a payload."""
_LARGEST = 1 << 20
# Seconds after which no turn counts as open, see `ReportedTurn.is_open`.
_LONGEST_SILENCE = 86_400.0
_GITDIR = "gitdir: "


def begin_input(arguments: list[str]) -> bytes:
    """What was read of the payload, often nothing.

    Does not return if a call like this one had nothing to do.
    """
    data = b""
    # Whoever serves the call meets what is wrong with it again, and logs it.
    try:
        if is_special():
            return data
        git_dir, call = git_dir_of(os.getcwd()), " ".join(arguments)
        if git_dir is None or call not in calls_noted(git_dir):
            return data
        if not select.select([0], [], [], PATIENCE)[0]:
            # An agent that leaves the pipe open has no use for a failure.
            os._exit(0)
        data = os.read(0, _LARGEST)
        payload = _decoded(data)
        # Not earlier: another turn may have begun meanwhile.
        if is_turn_beginning(git_dir):
            return data
        noted = calls_noted(git_dir)[call]
        if all(_value(payload, name) == value for name, value in noted.items()):
            os._exit(0)
    except Exception:  # noqa: BLE001 - the note may be damaged
        return data
    return data


def is_special() -> bool:
    """Whether a person called it, or git would not find the repository from the directory."""
    return "GIT_WORK_TREE" in os.environ or "GIT_CEILING_DIRECTORIES" in os.environ or os.isatty(0)


def git_dir_of(directory: str) -> str | None:
    """The git directory of the worktree in which a directory is; None outside of worktrees."""
    while True:
        path = os.path.join(directory, ".git")
        if os.path.isdir(path):
            return path
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read(_LARGEST).rstrip("\n")
            return os.path.join(directory, text.removeprefix(_GITDIR))
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def is_turn_beginning(git_dir: str) -> bool:
    """Whether a turn may be beginning in a worktree.

    It is noted after its checkpoint, so who reads the turns asks for this before.
    """
    for name in (HOOK_LOCK, TURN_LOCK):
        path = os.path.join(git_dir, PRIVATE, name)
        if not os.path.exists(path):
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def turns_mark(git_dir: str) -> list[str]:
    """A value that changes whenever the turns of a worktree do (OSError)."""
    names = (HOOK_TURNS, TURN_MARK, TURN_LOCK)
    paths = [os.path.join(git_dir, PRIVATE, name) for name in names]
    found = [os.stat(path) for path in paths if path == paths[0] or os.path.exists(path)]
    return [f"{each}" for stat in found for each in (stat.st_mtime_ns, stat.st_ino, stat.st_size)]


def calls_noted(git_dir: str) -> dict[str, dict[str, Any]]:
    """What the payloads of calls hold that have nothing to do, by the arguments of the calls.

    None are noted if the turns have changed since, or for a day. Raises any error if the note is
    damaged.
    """
    path = os.path.join(git_dir, PRIVATE, HOOK_IDLE)
    if not os.path.isfile(path):
        return {}
    if time.time() - os.stat(path).st_mtime > _LONGEST_SILENCE:
        return {}
    with open(path, "rb") as file:
        note = _decoded(file.read(_LARGEST))
    return dict(note["calls"]) if note["turns"] == turns_mark(git_dir) else {}


class _Decoding:
    """How `_decoded` reads JSON: numbers as text, as `parse_payload` does."""

    strict = False
    object_hook = object_pairs_hook = array_hook = None
    parse_int = parse_float = parse_constant = str


def _decoded(data: bytes) -> dict[str, Any]:
    # The decoder of `json`, a module which takes half as long to import as Python takes to start.
    text = data.decode().strip()
    value, end = __import__("_json").make_scanner(_Decoding)(text, 0)
    if end < len(text) or not isinstance(value, dict):
        raise ValueError
    return value


def _value(payload: dict[str, Any], name: str) -> object:
    """The value of a dotted path, see `Payload`."""
    found: object = payload
    for key in name.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found
