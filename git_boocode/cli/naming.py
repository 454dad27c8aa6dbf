"""What a checkpoint is called where people read it."""

from __future__ import annotations

from git_boocode.checkpoints.restore.history import REDO, RESTORE, UNDO, operation_of
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.cli.output import printable
from git_boocode.repo.ids import OBJECT_ID

# As many characters of a commit as `log` shows.
_ABBREVIATION = 10


def label_of(checkpoint: Checkpoint) -> str:
    """The label of a checkpoint; of the state before an operation, which operation that was.

    Args:
        checkpoint: any checkpoint.

    Returns:
        Text that is safe to print; empty if there is no label.
    """
    operation = operation_of(checkpoint) if checkpoint.is_safety else None
    if operation is None:
        return printable(checkpoint.meta.text("label"))
    if operation.kind != RESTORE:
        return {UNDO: "before an undo", REDO: "before a redo"}[operation.kind]
    commit = checkpoint.meta.part("restore", "target_commit") or ""
    target = commit[:_ABBREVIATION] if OBJECT_ID.fullmatch(commit) else operation.target
    return f"before the restore to {printable(target)}"
