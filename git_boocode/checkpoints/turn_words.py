"""The words and marks for turns and for what happened beside them, the same in every list."""

from __future__ import annotations

from git_boocode.checkpoints.operation_log import (
    AFTER,
    ARCHIVED,
    BEFORE,
    DURING,
    RESTORED,
    REVERTED,
)

MARKS = {REVERTED: "(reverted)", RESTORED: "(restored away)", ARCHIVED: "(archived)"}
"""Behind the label of a turn, by its state."""
RUNNING = "(running)"
SIDES = {
    BEFORE: "before this turn",
    AFTER: "after this turn",
    DURING: "during this turn",
}
HERE = "you are here"
BY_HAND = "by hand"
COMMITTED = {
    "commit": "committed",
    "amend": "amended",
    "merge": "merged",
    "cherry-pick": "cherry-picked",
    "revert": "committed",
    "rebase": "rebased",
    "am": "applied",
    "pull": "pulled",
    "checkout": "checked out",
    "reset": "reset to",
}
"""What was done with a commit, by the kind of the move of HEAD."""


def marks(state: str, *, is_open: bool = False) -> str:
    """The marks of a turn; empty for one that is in force and has ended."""
    return " ".join(filter(None, (MARKS.get(state, ""), RUNNING if is_open else "")))
