"""What a restore, undo or redo did, as the command line, the server and the Python API answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from git_boocode.checkpoints.callback import CallbackAnswer
from git_boocode.checkpoints.restore.request import RESTORE, ProposalStep, TurnStep
from git_boocode.checkpoints.store.catalog import Change, Checkpoint
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.repo.errors import NextStep
from git_boocode.repo.head import RemovedCommit
from git_boocode.repo.object_writer import object_id
from git_boocode.repo.open_files import OpenIn


class LostHooks(NamedTuple):
    """A file from which a restore removes what `title` says; `install` adds it again."""

    path: str
    title: str
    install: str


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of a restore, undo or redo, or of its dry run.

    `open_turn` is the id of a turn that an agent has begun and not ended, so that it may still
    write files. `lines` are the added and removed lines of a dry run by path, None for a binary
    file.
    """

    kind: str  # `restore`, `undo` or `redo`
    checkpoint: Checkpoint  # the one that was restored
    changed: tuple[Change, ...]
    staged: tuple[Change, ...]  # the paths whose staging changed, as far as that is known
    kept: tuple[Skipped, ...]  # the paths that differ from the target and were kept, and why
    missing: frozenset[str]  # those of them that are gone, because the target does not have them
    hooks_lost: tuple[LostHooks, ...]  # the files that lose hooks of agents or the server
    index_reset: bool  # the staging area changed
    head_moved: bool
    removed_commits: tuple[RemovedCommit, ...]  # those that the move takes off the branch
    branch: str  # the branch that moves; empty for a detached HEAD
    head_differs: bool  # HEAD names another commit than the checkpoint recorded
    dry_run: bool
    callback: bool  # there is a callback
    foreign: bool  # the conversation was recorded elsewhere, so no callback was called
    conversation_left: bool  # not restored, because the callback that trimmed it is missing
    repairs: bool  # it reverted an interrupted operation
    blocked: bool  # paths were kept because ignored files are in the way
    proposal: ProposalStep | None = None  # the change of a proposal that was taken back or redone
    open_turn: str = ""
    after: bool = False  # the files are those at the end of the turn that the checkpoint began
    conversation_at: Checkpoint | None = None  # the one to whose beginning the conversation goes
    conversation_kept: bool = False  # not restored, because a turn of it is open
    conversation_note: str = ""  # why it was not restored otherwise, and what restores it
    undo: str | None = None  # the id of the safety checkpoint; None if nothing was done
    answer: CallbackAnswer | None = None
    resume: str = ""  # the command that continues the conversation; empty if none is known
    open_in: tuple[OpenIn, ...] = ()  # the programs that have the conversation open
    other_turns: tuple[Checkpoint, ...] = ()  # those of other sessions whose changes it removes
    instead: NextStep | None = None  # what leaves the work of other sessions alone
    archived: tuple[str, ...] = ()  # the checkpoints that left the log for the archive
    returned: tuple[str, ...] = ()  # the checkpoints that returned from it
    edited: tuple[str, ...] = ()  # the host's own files that were written, absolute
    lines: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)
    # The hunks of files by path, as JSON, of a dry run of some paths.
    parts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    step: TurnStep | None = None  # what was done with turns, or parts of a checkpoint
    diff: str = ""  # from the files before to those after it, if requested

    @property
    def checkpoint_id(self) -> str:
        """The id of the checkpoint that was restored."""
        return self.checkpoint.id

    @property
    def commit(self) -> str:
        """The commit of that checkpoint."""
        return self.checkpoint.commit.id

    @property
    def messages_deleted(self) -> int:
        """The number of messages that the callback deleted."""
        return self.answer.messages_deleted if self.answer else 0

    @property
    def backend_reset(self) -> bool:
        """Whether the callback reset the backend's session, and nobody has the old one open."""
        return self.answer is not None and self.answer.backend_reset and not self.open_in

    @property
    def message(self) -> str:
        """What the callback has to say."""
        return self.answer.message if self.answer else ""

    @property
    def changes_something(self) -> bool:
        """Whether the operation has an effect, as far as a dry run knows."""
        others = self.head_moved or self.callback or self.proposal
        return bool(self.changed or self.index_reset or others)

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        # A host whose checkpoints name no agent knows what its own callback does.
        note = self.conversation_note if self.checkpoint.meta.text("agent") else ""
        looks = self.dry_run and self.kind == RESTORE and self.step is None
        return {
            "ok": True,
            "checkpoint_id": self.checkpoint_id,
            "commit": self.commit,
            **({"after": True} if self.after else {}),
            "undo": self.undo,
            "dry_run": self.dry_run,
            **({"version": version_of(self)} if looks else {}),
            "worktree_reset": bool(self.changed),
            "index_reset": self.index_reset,
            "head_moved": self.head_moved,
            **self._removed_commits_json(),
            "head_differs": self.head_differs,
            "messages_deleted": self.messages_deleted,
            "backend_reset": self.backend_reset,
            "archived": self.archived,
            "returned": self.returned,
            "changed": [self._change_json(change) for change in self.changed],
            "staged": [change.as_json() for change in self.staged],
            "kept": [self._kept_json(kept) for kept in self.kept],
            "hooks_lost": [
                {"path": lost.path, "install": lost.install} for lost in self.hooks_lost
            ],
            "edited": self.edited,
            "conversation_left": self.conversation_left,
            **({"proposal": self.proposal.change} if self.proposal else {}),
            **({"open_turn": self.open_turn} if self.open_turn else {}),
            **({"conversation_kept": True} if self.conversation_kept else {}),
            **({"conversation_note": note} if note else {}),
            **({"open_in": [each._asdict() for each in self.open_in]} if self.open_in else {}),
            "message": self.message,
            "resume": self.resume or None,
            **self._other_sessions_json(),
        }

    def _other_sessions_json(self) -> dict[str, object]:
        keys = ("label", "agent", "session")
        turns = [
            {"id": each.id, **{key: each.meta.shown(key) for key in keys}}
            for each in self.other_turns
        ]
        step = self.instead
        return {
            **({"other_turns": turns} if turns else {}),
            **({"hint": str(step), "next": [step.as_json()]} if step else {}),
        }

    def _removed_commits_json(self) -> dict[str, object]:
        rows = [each.as_json() for each in self.removed_commits]
        return {"removed_commits": rows} if rows else {}

    def _kept_json(self, kept: Skipped) -> dict[str, object]:
        return {**kept._asdict(), **({"missing": True} if kept.path in self.missing else {})}

    def _change_json(self, change: Change) -> dict[str, object]:
        if not self.dry_run:
            return change.as_json()
        both = self.lines.get(change.path)
        lines = {"added": both[0], "removed": both[1]} if both else None
        return {**change.as_json(), "lines": lines, **self.parts.get(change.path, {})}


def version_of(result: RestoreResult) -> str:
    """An id of the changes to files that an operation would make."""
    return object_id("sha1", b"blob", repr(result.changed).encode())
