"""A note that a restore is under way, so that one which was killed does not go unnoticed."""

from __future__ import annotations

import json
import os
from contextlib import suppress

_NAME = "restore-in-progress"
_MAKING = f"{_NAME}.new"


def begin(state_dir: str, safety_id: str) -> None:
    """Note, on disk, that a restore is about to change the worktree.

    Args:
        state_dir: the worktree's private directory.
        safety_id: the safety checkpoint to go back to.
    """
    path = os.path.join(state_dir, _NAME)
    making = os.path.join(state_dir, _MAKING)
    with open(making, "w", encoding="ascii") as file:
        json.dump({"safety": safety_id}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(making, path)


def end(state_dir: str) -> None:
    """Note that the worktree is in a known state again."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(state_dir, _NAME))


def revert(state_dir: str, earlier: str | None) -> None:
    """Note what was noted before: that nothing, or another restore, was under way."""
    if earlier is None:
        end(state_dir)
    else:
        begin(state_dir, earlier)


def is_noted(state_dir: str) -> bool:
    """Whether anything is noted, be it readable or not."""
    return os.path.lexists(os.path.join(state_dir, _NAME))


def half_written(state_dir: str) -> list[str]:
    """The note that a restore was killed over, which says nothing yet.

    Args:
        state_dir: the worktree's private directory; the caller holds its lock.
    """
    path = os.path.join(state_dir, _MAKING)
    return [path] if os.path.lexists(path) else []


def interrupted(state_dir: str) -> str | None:
    """The id of the safety checkpoint of a restore that never ended, or None.

    A restore that is still running looks the same; only the holder of the worktree's lock can
    tell. There is no such checkpoint if the restore ended before it had taken one.
    """
    try:
        with open(os.path.join(state_dir, _NAME), encoding="ascii") as file:
            safety = json.load(file)["safety"]
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        return None
    return str(safety)
