"""A note that a restore is at work, so that one which was killed does not go unnoticed."""

from __future__ import annotations

import json
import os

from git_boocode.repo.durable import read_private_json, remove, write_private
from git_boocode.repo.ids import ID

_NAME = "restore-in-progress"


def begin(state_dir: str, safety_id: str) -> None:
    """Note, on disk, that a restore is about to change the worktree; `safety_id` leads back."""
    note = json.dumps({"safety": safety_id}).encode("ascii")
    write_private(os.path.join(state_dir, _NAME), note)


def end(state_dir: str, earlier: str | None = None) -> None:
    """Note that the worktree is in a known state again, or that an earlier restore still is not."""
    if earlier is None:
        remove(os.path.join(state_dir, _NAME))
    else:
        begin(state_dir, earlier)


def is_noted(state_dir: str) -> bool:
    """Whether anything is noted, readable or not."""
    return os.path.lexists(os.path.join(state_dir, _NAME))


def interrupted(state_dir: str) -> str | None:
    """The id of the safety checkpoint of a restore that never ended, or None.

    A restore that is still running looks the same to all but the holder of the worktree's lock.
    There is no such checkpoint if the restore ended before it had taken one.
    """
    note = read_private_json(os.path.join(state_dir, _NAME))
    safety = note.get("safety") if isinstance(note, dict) else None
    return safety if isinstance(safety, str) and ID.fullmatch(safety) else None
