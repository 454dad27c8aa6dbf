"""What a restore tells the host's callback in each of its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from git_boocode.checkpoints.restore.history import UNDO
from git_boocode.checkpoints.restore.operation import Told
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.changes import Change
from git_boocode.repo.repository import Repository

_ABOUT = ("label", "session", "chat", "message", "agent", "created_at", "anchor", "meta")


def event(
    repository: Repository,
    what: tuple[str, str],
    restore_id: str,
    whose: Checkpoint,
    changes: Sequence[Change],
) -> dict[str, Any]:
    """What every event of one operation holds.

    Args:
        repository: where it happens.
        what: the kind of the operation, and the event that follows `prepare`.
        restore_id: the id of the operation.
        whose: the checkpoint whose conversation it is.
        changes: the paths that change.
    """
    kind, commits = what
    return {
        "operation": kind,
        "commits": commits,
        "restore_id": restore_id,
        "checkpoint_id": whose.id,
        "commit": whose.commit.id,
        **{key: whose.meta.values.get(key) for key in _ABOUT},
        "worktree": repository.worktree,
        "git_dir": repository.git_dir,
        "changed": [change.as_json() for change in changes],
    }


def interrupted_event(repository: Repository, safety: Checkpoint) -> dict[str, Any]:
    """What can still be told of an operation that was interrupted.

    Args:
        repository: where it happened.
        safety: its safety checkpoint, which tells of the same conversation.
    """
    kind = safety.meta.part("restore", "operation") or ""
    origin = Told(safety).origin
    commits = UNDO if kind == UNDO else origin.event
    told = event(repository, (kind, commits), safety.id, safety, ())
    target = (safety.meta.part("restore", key) for key in ("target", "target_commit"))
    identifier, commit = target if kind == UNDO else (origin.id, origin.commit)
    return {**told, "checkpoint_id": identifier, "commit": commit, "label": None}
