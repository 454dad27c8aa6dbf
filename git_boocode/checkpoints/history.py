"""What has been restored and undone, read back from the safety checkpoints alone.

Every restore and every undo leaves a safety checkpoint of the state before it, which says what the
operation was. Replaying them, oldest first, gives the stack of what can be undone; nothing else is
stored, so nothing can disagree with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from git_boocode.checkpoints.catalog import Checkpoint
from git_boocode.checkpoints.changes import tree_changes
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.ids import OBJECT_ID

RESTORE = "restore"
UNDO = "undo"


class Operation(NamedTuple):
    """Something that changed the worktree, as its safety checkpoint tells it.

    Attributes:
        kind: `restore` or `undo`.
        safety: the state before it.
        target: the id of the checkpoint that it went to.
    """

    kind: str
    safety: Checkpoint
    target: str


def describe(kind: str, target: Checkpoint) -> dict[str, Any]:
    """The metadata by which a safety checkpoint tells its operation.

    Args:
        kind: `restore` or `undo`.
        target: where the operation goes.
    """
    return {"operation": kind, "target": target.id, "target_commit": target.commit.id}


def made_by_restore(git: Git, safety: Checkpoint) -> frozenset[str]:
    """The paths that an operation made, where there were none.

    A safety checkpoint holds what stood in the way of its operation, ignored files included; so
    what it lacks was not there.

    Args:
        git: git for our own work.
        safety: the state before the operation; of any other checkpoint the answer is empty.
    """
    target = safety.meta.part("restore", "target_commit")
    if not safety.is_safety or target is None or not OBJECT_ID.fullmatch(target):
        return frozenset()
    try:
        changes = tree_changes(git, safety.tree, f"{target}^{{tree}}")
    except GitError:
        # It has been dropped since.
        return frozenset()
    return frozenset(change.path for change in changes if change.action == "create")


def operation_of(safety: Checkpoint) -> Operation | None:
    """The operation that a safety checkpoint was taken for; None if it does not say."""
    kind = safety.meta.part("restore", "operation")
    target = safety.meta.part("restore", "target")
    if kind not in (RESTORE, UNDO) or target is None:
        return None
    return Operation(kind, safety, target)


def undoable(newest_first: list[Checkpoint]) -> list[Operation]:
    """The restores that can be undone, the next one last.

    Args:
        newest_first: the safety checkpoints of a worktree.
    """
    stack: list[Operation] = []
    undone: dict[str, Operation] = {}
    for operation in filter(None, map(operation_of, reversed(newest_first))):
        if operation.kind == RESTORE:
            stack.append(operation)
        elif operation.target in undone:
            # An undo that was interrupted has been undone itself.
            stack.append(undone.pop(operation.target))
        elif stack and stack[-1].safety.id == operation.target:
            # An undo goes to the safety checkpoint of what it undoes, and so names it.
            undone[operation.safety.id] = stack.pop()
    return stack
