"""What is asked of a capture, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.catalog import Checkpoint

# A capture waits for a restore to end: half-restored files are no state to remember.
PATIENCE = 30.0


class Request(NamedTuple):
    """What the caller says of a checkpoint; every text may be empty.

    Attributes:
        label: for people.
        session: the agent's session.
        chat: the conversation in it.
        message: the message that the conversation is to be cut at on restore.
        agent: which agent.
        trigger: what made it take the checkpoint, such as `manual` or a hook's name.
        meta: anything else.
        only_if_changed: take none when nothing differs from the latest one.
        paths: pathspecs; only what they match is looked at, the rest is as in the latest one.
        allow_home: whether the worktree may be the home directory or the root.
        anchor: where the conversation stands, beside the session and the message: the transcript,
            and how far it goes.
        patience: how many seconds to wait for a restore that is at work.
    """

    label: str = ""
    session: str = ""
    chat: str = ""
    message: str = ""
    agent: str = ""
    trigger: str = "manual"
    meta: Mapping[str, Any] = {}
    only_if_changed: bool = False
    paths: tuple[str, ...] = ()
    allow_home: bool = False
    anchor: Mapping[str, Any] = {}
    patience: float = PATIENCE


class Captured(NamedTuple):
    """A checkpoint that was taken, or the one that already holds the same.

    Attributes:
        checkpoint: it.
        changed: whether files or staging differ from the latest checkpoint before it.
        is_new: whether it was taken just now.
    """

    checkpoint: Checkpoint
    changed: bool
    is_new: bool = True
