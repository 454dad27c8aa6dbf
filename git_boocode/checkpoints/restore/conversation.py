"""The conversation of a restore: the host's callback, and the host's files that it edits.

The files may be anywhere on disk. They are saved, so that an undo can restore them, in the
worktree's private directory, and never read from a ref, which could come from a remote.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from git_boocode.checkpoints.callback import (
    AgentCallback,
    Callback,
    CallbackAnswer,
    find_callback,
)
from git_boocode.checkpoints.restore.plan import RestorePlan, checkpoint_at, read_plan
from git_boocode.checkpoints.restore.request import (
    REDO,
    RESTORE,
    UNDO,
    Editor,
    HostFile,
    RestoreHost,
)
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint, is_taken_here
from git_boocode.repo.durable import (
    is_regular,
    read_private,
    read_private_json,
    remove,
    sync_path,
    write_private,
)
from git_boocode.repo.errors import BoocodeError, FatalError, NextStep, RefusedError
from git_boocode.repo.layout import SAFETY, TRANSCRIPTS
from git_boocode.repo.repository import Repository

# What an event has of the metadata of a checkpoint.
_ABOUT = ("label", "session", "chat", "message", "agent", "created_at", "anchor", "meta")
_NOTE = "note.json"
_LEFTOVER = ".boocode-"
_LARGEST = 16 << 20


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
        without = "files_only" if request.files else ""
        if self.is_foreign:
            if request.callback is None and request.files:
                return None
            raise RefusedError(
                f"no callback is called for checkpoint '{self._plan.root.id}': nothing proves "
                "that it was taken in this repository",
                code="untrusted",
                hints=(NextStep("{} restores without the conversation", without),)
                if without
                else (),
            )
        of_agent = self._of_agent()
        callback = find_callback(self._repository, request.callback, of_agent, without=without)
        if callback is None and not request.files and not self.has_edits_to_revert:
            if turn := self._target.in_turn:
                does = NextStep(
                    "{} takes it to before that turn",
                    RESTORE,
                    typed=f"'git boocode restore {turn} --conversation-only'",
                    given={"checkpoint": turn, "conversation_only": True},
                )
                raise RefusedError(
                    "cannot restore the conversation: the checkpoint was taken during a turn",
                    code="no_callback",
                    hints=(does,),
                )
            raise RefusedError(
                "cannot restore the conversation: no callback is configured",
                code="no_callback",
                hints=("set one: --callback <file>, or git config boocode.callback <file>",),
            )
        return callback

    def _of_agent(self) -> AgentCallback | None:
        """The callback of the agent whose conversation it is; see `callback_of`.

        None for the state before an operation that called no callback.
        """
        target = self._target
        if target.ref.startswith(SAFETY) and not read_plan(target).callback:
            return None
        return callback_of(self._host, target)

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

    def begin(self, operation_id: str, changes: Iterable[Change]) -> None:
        """Prepare the events; `changes` are those of files in the worktree."""
        self.files = ConversationFiles(self._repository, operation_id, self._host.editor)
        if self.callback is None:
            return
        plan, checkpoint = self._plan, self._target
        if plan.kind == REDO:
            # It names the restored checkpoint. If that was deleted, its conversation is known.
            root = plan.root
            commit = checkpoint.commit._replace(id=root.commit)
            restored = checkpoint_at(self._catalog, root.id, root.commit)
            checkpoint = restored or checkpoint._replace(id=root.id, commit=commit)
        event = self._event(plan, operation_id, checkpoint, changes)
        self.callback = self.callback._replace(event=event)

    def _event(
        self, plan: RestorePlan, plan_id: str, checkpoint: Checkpoint, changes: Iterable[Change]
    ) -> dict[str, Any]:
        """The fields that all events of an operation share; `checkpoint` has its conversation."""
        return {
            "operation": plan.kind,
            "commits": plan.event,
            "restore_id": plan_id,
            **conversation_of(self._repository, self._host, checkpoint),
            "changed": [change.as_json() for change in changes],
        }

    def supersede(self, over: Checkpoint) -> None:
        """Roll back the conversation of an interrupted operation, whose files are replaced anyway.

        Otherwise the host would have to trim a conversation that it has already trimmed.
        """
        self.files.revert(over.id, self.files.read(over.id), unchanged=True)
        if self.callback is not None and is_taken_here(self._repository, over):
            plan = read_plan(over)
            identifier, commit = plan.root.id, plan.root.commit
            if plan.kind == UNDO:
                identifier, commit = plan.target, plan.target_commit
            event = self._event(plan, over.id, over, ())
            event |= {"checkpoint_id": identifier, "commit": commit, "label": None}
            self.callback._replace(event=event).roll_back("it was interrupted")

    def prepare(self) -> None:
        """Announce the operation, before any file of the worktree changes."""
        if self.callback is not None:
            self.callback.prepare()
            self._prepared = True
        if self._plan.edits_of:
            found, restored = self.files.read(self._plan.edits_of), self._restored
            self._seen = {path: data for path, data in found.items() if not restored(path)}

    def _restored(self, path: str) -> bool:
        """Whether an undo brings a file back with those of the worktree."""
        top = os.path.join(self._repository.worktree, "")
        if self._plan.kind == REDO or not self._plan.request.files or not path.startswith(top):
            return False
        inside = path.removeprefix(top)
        return bool(self._catalog.store.tree(self._target.commit.id, [inside]))

    def commit(self) -> CallbackAnswer | None:
        """Call the callback, apply its edits, and revert those of an earlier operation."""
        plan, answer = self._plan, None
        if self.callback is not None:
            answer = self.callback.commit(plan.event)
            if answer.edits:
                try:
                    self.files.edit(answer.edits)
                except BoocodeError as error:
                    problem = f"returned edits that cannot be applied: {error.message}"
                    raise self.callback.failed(problem) from error
        if plan.edits_of:
            self.files.revert(plan.edits_of, self._seen, unchanged=plan.kind == REDO)
        return answer

    def forget_obsolete(self) -> None:
        """Delete the saved files of operations that can no longer be undone."""
        for other in operations_with_files(self._repository.state_dir):
            if not self._catalog.store.refs(f"{SAFETY}{other}"):
                forget_files(self._repository.state_dir, other)

    def roll_back(self, reason: str) -> None:
        """Report a failure to the callback; FatalError if it cannot roll back."""
        if self.callback is not None and self._prepared:
            self.callback.roll_back(reason)


def callback_of(host: RestoreHost, checkpoint: Checkpoint) -> AgentCallback | None:
    """The callback of the agent whose conversation a checkpoint names.

    None if nothing says where to cut the conversation, or its transcript is gone.
    """
    callback = host.callbacks.get(checkpoint.meta.text("agent"))
    # Only a message says where to cut the conversations of a database.
    store = callback.store if callback and checkpoint.meta.text("message") else ""
    return callback if os.path.isfile(checkpoint.meta.part("anchor", "path") or store) else None


def conversation_of(
    repository: Repository, host: RestoreHost, checkpoint: Checkpoint
) -> dict[str, Any]:
    """The fields of an event about a checkpoint and its conversation."""
    meta, top = checkpoint.meta, repository.worktree
    about = {key: meta.values.get(key) for key in _ABOUT}
    if meta.table("anchor").get("message", "") is None:
        # Its id is that of an earlier message as well: only the position is certain.
        about["message"] = None
    return {
        "checkpoint_id": checkpoint.id,
        "commit": checkpoint.commit.id,
        **about,
        "worktree": top,
        "git_dir": repository.git_dir,
        # An unknown agent keeps its transcripts in the worktree.
        "transcripts": host.transcripts.get(meta.text("agent"), (top,)),
    }


class ConversationFiles:
    """The host files that one operation writes.

    Paths in the worktree are stored relative to it, because it may be moved or copied. Without an
    editor, nothing can be written.
    """

    def __init__(
        self, repository: Repository, operation: str, editor: Callable[[], Editor] | None
    ) -> None:
        self._top = repository.worktree
        self._state_dir = repository.state_dir
        self._directory = _directory(repository.state_dir, operation)
        self._make_editor = editor
        self._written: dict[str, HostFile] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that were written."""
        return tuple(sorted(self._written))

    def edit(self, edits: object) -> None:
        """Apply a callback's edits, with paths relative to the top; see `Editor`."""
        self._editor.edit(edits, self._top, self._keep)

    def read(self, other: str) -> dict[str, bytes | None]:
        """The current contents of the files of another operation, by path."""
        return {file.path: _read(file.path) for file in self._saved(other)}

    def as_left(self) -> set[str]:
        """The paths, relative to the top, of the files that are as the operation left them."""
        top, saved = os.path.join(self._top, ""), _load(self._directory, self._top)
        unchanged = (file.path for file in saved if _read(file.path) == file.after)
        return {path.removeprefix(top) for path in unchanged if path.startswith(top)}

    def revert(self, other: str, seen: Mapping[str, bytes | None], *, unchanged: bool) -> None:
        """Restore the files from before another operation, all or none on a BoocodeError.

        `seen` is the result of `read` before the callback ran: a file that the callback itself has
        changed since is kept, and so is one that it lacks. With `unchanged`, so is a file that was
        changed after that operation, other than by the edits of the current one.
        """
        files = []
        for file in self._saved(other):
            for path in file.leftovers:
                if _LEFTOVER in os.path.basename(path):
                    with suppress(OSError):
                        os.unlink(path)
            expected = seen.get(file.path)
            if file.path not in seen or (unchanged and expected != file.after):
                continue
            current = _read(file.path)
            edited = self._written.get(file.path) if unchanged else None
            # Nothing else has written it since.
            if current == (edited.after if edited else expected) and current != file.before:
                files.append(file._replace(before=current, after=file.before, leftovers=()))
        if files:
            self._editor.write(files, self._keep)

    def roll_back(self) -> None:
        """Restore all files from before this operation.

        BoocodeError if a file cannot be written or another program changed it; its original content
        stays saved.
        """
        files = []
        for file in self._written.values():
            current = _read(file.path)
            if current not in (file.before, file.after):
                raise FatalError(
                    f"another program changed '{file.path}' meanwhile; its original content is in "
                    f"'{self._directory}'",
                    code="conflict",
                )
            if current != file.before:
                files.append(file._replace(before=current, after=file.before))
        if files:
            self._editor.write(files, lambda _: None)
        self._written.clear()
        with suppress(OSError):
            remove(self._directory)

    @property
    def _editor(self) -> Editor:
        if self._make_editor is None:
            raise FatalError("edits of the host's files are not supported here", code="callback")
        return self._make_editor()

    def _keep(self, files: Sequence[HostFile]) -> None:
        for file in files:
            earlier = self._written.get(file.path, file)
            self._written[file.path] = file._replace(before=earlier.before)
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        top = os.path.join(self._top, "")
        rows = [
            {
                "path": file.path.removeprefix(top),
                "mode": file.mode,
                "leftovers": [path.removeprefix(top) for path in file.leftovers],
                "before": self._store(file.before),
                "after": self._store(file.after),
            }
            for file in self._written.values()
        ]
        note = json.dumps({"files": rows}).encode("ascii")
        write_private(os.path.join(self._directory, _NOTE), note)
        sync_path(self._directory)
        sync_path(os.path.dirname(self._directory))

    def _store(self, content: bytes | None) -> str | None:
        """Save a content under its hash; returns the hash."""
        if content is None:
            return None
        import hashlib

        name = hashlib.sha256(content).hexdigest()
        path = os.path.join(self._directory, name)
        if not is_regular(path):
            write_private(path, content)
        return name

    def _saved(self, other: str) -> list[HostFile]:
        return _load(_directory(self._state_dir, other), self._top)


def operations_with_files(state_dir: str) -> list[str]:
    """The ids of the operations for which host files are saved."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(os.path.join(state_dir, TRANSCRIPTS))
    return []


def damaged_files(state_dir: str) -> list[str]:
    """The directories of operations whose saved files cannot be read."""
    damaged = []
    for operation in operations_with_files(state_dir):
        directory = _directory(state_dir, operation)
        try:
            _load(directory, "")
        except FatalError:
            damaged.append(directory)
    return damaged


def forget_files(state_dir: str, operation: str) -> None:
    """Delete the saved files of an operation that can no longer be undone."""
    with suppress(OSError):
        remove(_directory(state_dir, operation))


def _directory(state_dir: str, operation: str) -> str:
    return os.path.join(state_dir, TRANSCRIPTS, operation)


def _load(directory: str, top: str) -> list[HostFile]:
    path = os.path.join(directory, _NOTE)
    if not os.path.lexists(path):
        return []
    try:
        note: Any = read_private_json(path, largest=_LARGEST)
        return [_parsed(directory, top, row) for row in note["files"]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FatalError(
            f"cannot read the saved host files in '{directory}': {error}",
            code="unreadable",
            hints=(NextStep("{} restores without them", "files_only"),),
        ) from None


def _parsed(directory: str, top: str, row: Mapping[str, object]) -> HostFile:
    mode, leftovers = row["mode"], row["leftovers"]
    if not isinstance(leftovers, list) or not isinstance(mode, int):
        raise TypeError("the note is malformed")
    before, after = (_content(directory, row[side]) for side in ("before", "after"))
    path, *beside = (os.path.join(top, str(each)) for each in (row["path"], *leftovers))
    return HostFile(path, before, after, mode, tuple(beside))


def _content(directory: str, name: object) -> bytes | None:
    if name is None:
        return None
    content = read_private(os.path.join(directory, os.path.basename(str(name))), largest=None)
    if content is None:
        raise ValueError(f"'{name}' is missing")
    return content


def _read(path: str) -> bytes | None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
