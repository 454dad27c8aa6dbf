"""How an operation is to be carried out, and what came of it."""

from __future__ import annotations

from typing import NamedTuple

from git_boocode.checkpoints.callback import Answer
from git_boocode.checkpoints.conversation_files import Editor
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.changes import Change
from git_boocode.checkpoints.worktree.indexer import Skipped


class Manner(NamedTuple):
    """How an operation is carried out.

    Attributes:
        callback: a callback to use instead of the configured one.
        dry_run: only say what would change.
        editor: what edits the host's files, if the callback asks for it.
        force: what to do nevertheless: `ignored`, or nothing.
    """

    callback: str | None = None
    dry_run: bool = False
    editor: Editor | None = None
    force: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """What an operation did.

    Attributes:
        kind: `restore`, `undo` or `redo`.
        checkpoint: where it went.
        undo: the id of the safety checkpoint of the state before; None if nothing was done.
        changes: the paths that changed, or would.
        kept: the paths that differ from the checkpoint and were left alone, and why.
        staged: the paths whose staging changed, or would, as far as that is known.
        index_reset: whether the staging area changed, or would.
        answer: what the callback answered; None if there was none to ask.
        archived: the ids of the checkpoints that went to, or came back from, the archive.
        head_moved: whether HEAD was moved, or would be.
        head_differs: whether HEAD names another commit than at the checkpoint.
        dry_run: whether it was only asked what would change.
        callback: whether there is a callback to tell.
        conversation_left: whether the conversation is not brought back, for want of the callback
            that was told when it was cut.
        edited: the host's own files that were written, absolute.
        mends: whether it took back an operation that was interrupted.
        blocked: whether some were left alone because ignored files are in the way.
        lines: of a dry run, the lines that would come and go by path; None for what is no text.
    """

    kind: str
    checkpoint: Checkpoint
    undo: str | None
    changes: list[Change]
    kept: list[Skipped]
    staged: list[Change]
    index_reset: bool
    answer: Answer | None
    archived: list[str]
    head_moved: bool
    head_differs: bool
    dry_run: bool
    callback: bool
    conversation_left: bool
    edited: list[str]
    mends: bool
    blocked: bool
    lines: dict[str, tuple[int, int] | None]

    @property
    def does_something(self) -> bool:
        """Whether anything changed, or would, as far as can be told in advance."""
        return bool(self.changes or self.index_reset or self.head_moved or self.callback)
