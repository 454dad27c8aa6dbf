"""The conversation of a restore: the host's callback, and the host's files that it edits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from git_boocode.checkpoints.callback import (
    AgentCallback,
    Callback,
    CallbackAnswer,
    event_of,
    find_callback,
)
from git_boocode.checkpoints.conversation_files import (
    ConversationFiles,
    forget_files,
    operations_with_files,
)
from git_boocode.checkpoints.restore.plan import RestorePlan, checkpoint_at, read_plan
from git_boocode.checkpoints.restore.request import REDO, UNDO, RestoreHost
from git_boocode.checkpoints.store.catalog import SAFETY, Catalog, Change, Checkpoint
from git_boocode.checkpoints.store.origin import is_taken_here
from git_boocode.repo.errors import BoocodeError, RefusedError


class Conversation:
    """The conversation of one operation; without a callback, most steps do nothing."""

    def __init__(
        self, catalog: Catalog, host: RestoreHost, plan: RestorePlan, target: Checkpoint
    ) -> None:
        self._catalog = catalog
        self._repository = catalog.repository
        self._host = host
        self._plan = plan
        self._target = target
        self._prepared = False
        self._seen: Mapping[str, bytes | None] = {}  # the files that are reverted, as they were

    @cached_property
    def callback(self) -> Callback | None:
        """The callback that is called; RefusedError if one is needed and there is none."""
        request = self._plan.request
        if not self._plan.concerns_conversation:
            return None
        if self.is_foreign:
            if request.callback is None and request.files:
                return None
            raise RefusedError(
                f"no callback is called for checkpoint '{self._plan.root.id}': nothing proves "
                "that it was taken in this repository",
                code="untrusted",
                hints=("--files-only restores without the conversation",),
            )
        callback = find_callback(self._repository, request.callback, self._of_agent())
        if callback is None and not request.files and not self.has_edits_to_revert:
            raise RefusedError(
                "cannot restore the conversation: no callback is configured",
                code="no_callback",
                hints=("set one: --callback <file>, or git config boocode.callback <file>",),
            )
        return callback

    def _of_agent(self) -> AgentCallback | None:
        """The callback of the agent whose conversation it is.

        None for the state before an operation that called no callback, and if nothing says where to
        cut the conversation, or its transcript is gone.
        """
        target = self._target
        if target.ref.startswith(SAFETY) and not read_plan(target).callback:
            return None
        callback = self._host.callbacks.get(target.meta.text("agent"))
        store = callback.store if callback else ""
        return callback if os.path.isfile(target.meta.part("anchor", "path") or store) else None

    @cached_property
    def is_foreign(self) -> bool:
        """Whether it was recorded elsewhere: its checkpoint could name any file."""
        target, root = self._target, self._plan.root
        if target.ref.startswith(SAFETY):
            root = read_plan(target).root
        if not is_taken_here(self._repository, target):
            return True
        known = root.commit == target.commit.id
        first = None if known else checkpoint_at(self._catalog, root.id, root.commit)
        return first is not None and not is_taken_here(self._repository, first)

    @property
    def has_edits_to_revert(self) -> bool:
        """Whether the operation that is reverted has edited files of the host."""
        return self._plan.edits_of in operations_with_files(self._repository.state_dir)

    @property
    def edited(self) -> tuple[str, ...]:
        """The host's files that were written."""
        return tuple(self._files.paths)

    def begin(self, operation_id: str, changes: Iterable[Change]) -> None:
        """Prepare the events; `changes` are those of files in the worktree."""
        self._files = ConversationFiles(self._repository, operation_id, self._host.editor)
        if self.callback is None:
            return
        plan, checkpoint = self._plan, self._target
        if plan.kind == REDO:
            # It names the restored checkpoint. If that was deleted, its conversation is known.
            root = plan.root
            commit = checkpoint.commit._replace(id=root.commit)
            restored = checkpoint_at(self._catalog, root.id, root.commit)
            checkpoint = restored or checkpoint._replace(id=root.id, commit=commit)
        event = self._event((plan.kind, plan.event, operation_id), checkpoint, changes)
        self.callback = self.callback._replace(event=event)

    def _event(
        self, operation: tuple[str, str, str], checkpoint: Checkpoint, changes: Iterable[Change]
    ) -> dict[str, Any]:
        """See `event_of`; an unknown agent keeps its transcripts in the worktree."""
        agent, top = checkpoint.meta.text("agent"), self._repository.worktree
        transcripts = self._host.transcripts.get(agent, (top,))
        event = event_of(self._repository, operation, checkpoint, changes)
        return {**event, "transcripts": transcripts}

    def supersede(self, over: Checkpoint) -> None:
        """Roll back the conversation of an interrupted operation, whose files are replaced anyway.

        Otherwise the host would have to trim a conversation that it has already trimmed.
        """
        self._files.revert(over.id, self._files.read(over.id), unchanged=True)
        if self.callback is not None and is_taken_here(self._repository, over):
            plan = read_plan(over)
            identifier, commit = plan.root.id, plan.root.commit
            if plan.kind == UNDO:
                identifier, commit = plan.target, plan.target_commit
            event = self._event((plan.kind, plan.event, over.id), over, ())
            event |= {"checkpoint_id": identifier, "commit": commit, "label": None}
            self.callback._replace(event=event).roll_back("it was interrupted")

    def prepare(self) -> None:
        """Announce the operation, before any file of the worktree changes."""
        if self.callback is not None:
            self.callback.prepare()
            self._prepared = True
        self._seen = self._files.read(self._plan.edits_of) if self._plan.edits_of else {}

    def commit(self) -> CallbackAnswer | None:
        """Call the callback, apply its edits, and revert those of an earlier operation."""
        plan, answer = self._plan, None
        if self.callback is not None:
            answer = self.callback.commit(plan.event)
            if answer.edits:
                try:
                    self._files.edit(answer.edits)
                except BoocodeError as error:
                    problem = f"returned edits that cannot be applied: {error.message}"
                    raise self.callback.failed(problem) from error
        if plan.edits_of:
            self._files.revert(plan.edits_of, self._seen, unchanged=plan.kind == REDO)
        return answer

    def forget_obsolete(self) -> None:
        """Delete the saved files of operations that can no longer be undone."""
        for other in operations_with_files(self._repository.state_dir):
            if not self._catalog.store.refs(f"{SAFETY}{other}"):
                forget_files(self._repository.state_dir, other)

    def roll_back_files(self) -> None:
        """Restore the host's files."""
        self._files.roll_back()

    def roll_back(self, reason: str) -> None:
        """Report a failure to the callback; FatalError if it cannot roll back."""
        if self.callback is not None and self._prepared:
            self.callback.roll_back(reason)
