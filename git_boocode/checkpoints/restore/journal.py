"""A note that a restore is under way, so that one which was killed does not go unnoticed."""

from __future__ import annotations

import json
import os

from git_boocode.repo.durable import read_private_json, remove, write_private
from git_boocode.repo.ids import ID

_NAME = "restore-in-progress"


def begin(state_dir: str, safety_id: str) -> None:
    """Note, on disk, that a restore is about to change the worktree.

    Args:
        state_dir: the worktree's private directory.
        safety_id: the safety checkpoint to go back to.
    """
    note = json.dumps({"safety": safety_id}).encode("ascii")
    write_private(os.path.join(state_dir, _NAME), note)


def end(state_dir: str) -> None:
    """Note that the worktree is in a known state again."""
    remove(os.path.join(state_dir, _NAME))


def revert(state_dir: str, earlier: str | None) -> None:
    """Note what was noted before: that nothing, or another restore, was under way."""
    if earlier is None:
        end(state_dir)
    else:
        begin(state_dir, earlier)


def is_noted(state_dir: str) -> bool:
    """Whether anything is noted, be it readable or not."""
    return os.path.lexists(os.path.join(state_dir, _NAME))


def interrupted(state_dir: str) -> str | None:
    """The id of the safety checkpoint of a restore that never ended, or None.

    A restore that is still running looks the same; only the holder of the worktree's lock can
    tell. There is no such checkpoint if the restore ended before it had taken one.
    """
    note = read_private_json(os.path.join(state_dir, _NAME))
    safety = note.get("safety") if isinstance(note, dict) else None
    return safety if isinstance(safety, str) and ID.fullmatch(safety) else None
