"""The words and marks for turns and for what happened beside them, the same in every list."""

from __future__ import annotations

REVERTED, RESTORED, ARCHIVED = "reverted", "restored", "archived"
"""The states of turns that are not in force."""
BEFORE, AFTER, DURING = "before", "after", "during"
"""The sides of a turn."""
STATES = {REVERTED: "reverted", RESTORED: "restored away", ARCHIVED: "archived"}
SIDES = {side: f"{side} this turn" for side in (BEFORE, AFTER, DURING)}
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


def taken_by(agent: str, trigger: str) -> str:
    """Who or what took the checkpoint of a turn."""
    return agent or (BY_HAND if trigger in ("", "manual") else f"by {trigger}")


def state_words(state: str, *, is_open: bool = False) -> str:
    """The state of a turn; empty for one that is in force and has ended."""
    return STATES.get(state, "running" if is_open else "")


def marks(state: str, *, is_open: bool = False) -> str:
    """The mark behind the label of a turn; empty for one that is in force and has ended."""
    words = state_words(state, is_open=is_open)
    return f"({words})" if words else ""
