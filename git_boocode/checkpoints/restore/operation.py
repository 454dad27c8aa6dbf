"""What one restore, undo or redo is, and what safety checkpoints record of earlier ones.

Every operation leaves a safety checkpoint of the state before it, whose metadata records the
operation. Replaying these records, oldest first, gives what can be undone and redone; nothing else
is stored, so nothing can disagree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from git_boocode.checkpoints.callback import HostFunction
from git_boocode.checkpoints.conversation_files import Editor
from git_boocode.checkpoints.store.catalog import ARCHIVE, CHECKPOINTS, SAFETY, Catalog, Checkpoint
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.metadata import Metadata
from git_boocode.repo.moving_head import HeadMove, HeadTarget
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange

RESTORE = "restore"
UNDO = "undo"
REDO = "redo"
TRIM = "trim"
# Refusals that a caller can override.
IGNORED = "ignored"
FOREIGN = ("other-worktree", "other-session", "other-repository")


class RestoreRequest(NamedTuple):
    """What the caller wants; `force` names refusals to override.

    `ignored` replaces ignored files that are in the way, and records them in the safety checkpoint;
    `other-worktree`, `other-session` and `other-repository` restore checkpoints taken there.
    """

    files: bool = True  # files and staging go back
    conversation: bool = True  # the conversation goes back
    paths: tuple[str, ...] = ()  # pathspecs of the only files to restore; empty for all
    prefix: str = ""  # the directory that they count from, `""` or `"sub/dir/"`
    head: bool | None = None  # HEAD goes, too; None: only back from where a restore moved it
    dry_run: bool = False  # only report what would change
    callback: str | HostFunction | None = None  # to use instead of the configured one
    editor: Callable[[], Editor] | None = None  # makes what applies a callback's edits
    session: str = ""  # the agent's session that asks; empty if unknown
    force: frozenset[str] = frozenset()

    def limited_to(self, earlier: RestoreRequest) -> RestoreRequest:
        """This request for what an earlier operation covered; the paths are that one's."""
        conversation = self.conversation and earlier.conversation
        limited = self._replace(files=self.files and earlier.files, conversation=conversation)
        return limited._replace(paths=earlier.paths, prefix=earlier.prefix)


class Root(NamedTuple):
    """The restore that a chain of undos and redos goes back to."""

    id: str  # the checkpoint that was restored; its conversation is what the chain is about
    commit: str  # its commit
    event: str  # what the restore sends to the callback, `trim` or `undo`
    archives: bool = False  # whether the restore archives later checkpoints
    before: str = ""  # the id of the restore, if another operation; nothing later is archived


class LogChange(NamedTuple):
    """Checkpoints that leave the log for the archive of a restore, or come back from there."""

    under: str = ""  # the id of that restore; empty for the operation itself
    about: Metadata | None = None  # names the chat or session that leaves; None: all come back
    after: str = ""  # the id after which those lie that leave
    before: str = ""  # the id before which they lie; empty for no limit

    def carry_out(self, catalog: Catalog, operation_id: str) -> list[str]:
        """Move the refs, all or none; returns the ids of the checkpoints."""
        archive = f"{ARCHIVE}{self.under or operation_id}/"
        if self.about is None:
            refs, to = catalog.store.refs(archive), CHECKPOINTS
        else:
            refs, to = self._leaving(catalog, self.about), archive
        changes = []
        for ref in refs:
            changes.append(RefChange(f"{to}{ref.id}", ref.target, None))
            changes.append(RefChange(ref.name, None, ref.target))
        catalog.store.update_refs(changes)
        return [ref.id for ref in refs]

    def _leaving(self, catalog: Catalog, about: Metadata) -> list[Ref]:
        key = "chat" if about.text("chat") else "session"
        wanted, after, before = about.text(key), self.after, self.before
        if not wanted:
            return []
        found = (entry for entry in catalog.history() if entry.meta.text(key) == wanted)
        leaving = (e for e in found if e.id > after and (not before or e.id < before))
        return [Ref(entry.ref, entry.commit.id) for entry in leaving]


class Operation(NamedTuple):
    """One restore, undo or redo that is to be carried out."""

    kind: str  # `restore`, `undo` or `redo`
    target: Checkpoint  # where files and staging go
    request: RestoreRequest  # how far it goes, and how
    root: Root  # the restore that it belongs to
    head: HeadTarget | None = None  # where HEAD goes; None if it stays
    of: str = ""  # the id of the operation that it undoes or redoes; empty for a restore
    repairs: bool = False  # whether that operation was interrupted
    log: LogChange | None = None  # which checkpoints leave the log, or come back; None for none
    over: Checkpoint | None = None  # the state before an interrupted operation that it goes over

    @property
    def event(self) -> str:
        """What the callback is sent: trim the conversation, or bring back an earlier one."""
        return UNDO if self.kind == UNDO else self.root.event

    @property
    def concerns_conversation(self) -> bool:
        """Whether the conversation goes back; never where only some files do."""
        return self.request.conversation and not self.request.paths

    @property
    def returns_checkpoints(self) -> bool:
        """Whether it goes back to before an earlier restore, with what that had archived."""
        return self.kind != UNDO and self.log is not None and self.log.about is None

    @property
    def edits_of(self) -> str:
        """The id of the operation whose edits of the host's files are reverted; empty for none."""
        if not self.concerns_conversation:
            return ""
        return self.target.id if self.kind == RESTORE and self.event == UNDO else self.of

    def as_json(
        self, move: HeadMove | None, blocked: Iterable[str], *, callback: bool
    ) -> dict[str, Any]:
        """What the safety checkpoint records, and `read_record` reads; see `OperationRecord`."""
        request, root = self.request, self.root
        return {
            "operation": self.kind,
            "target": self.target.id,
            "target_commit": self.target.commit.id,
            "of": self.of or None,
            "mends": self.repairs,
            "origin": {"id": root.id, "commit": root.commit, "event": root.event},
            "files": request.files,
            "conversation": request.conversation,
            "paths": request.paths,
            "prefix": request.prefix,
            "archives": root.archives,
            "before": root.before or None,
            "head": move._asdict() if move else None,
            "over": self.over.id if self.over else None,
            "callback": callback,
            "returns": self.returns_checkpoints,
            "blocked": sorted(blocked),
        }


class OperationRecord(NamedTuple):
    """What a safety checkpoint records of its operation; see `Operation`."""

    kind: str  # empty if there is no usable record
    id: str  # the safety checkpoint, which holds the state before the operation
    target: str
    of: str = ""
    repairs: bool = False
    target_commit: str = ""
    request: RestoreRequest = RestoreRequest()
    root: Root = Root("", "", UNDO)
    move: HeadMove | None = None
    blocked: frozenset[str] = frozenset()  # where ignored files were in its way, and stayed
    callback: bool = False  # whether one was called
    returned: bool = False  # whether it brought back checkpoints that were archived
    over: str | None = None


def read_record(safety: Checkpoint) -> OperationRecord:
    """The record in a safety checkpoint; what is missing or malformed has its default."""
    values = safety.meta.table("restore")
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    lists = {key: value for key, value in values.items() if isinstance(value, list)}
    kind, target, commit = (texts.get(key, "") for key in ("operation", "target", "target_commit"))
    return OperationRecord(
        kind if kind in (RESTORE, UNDO, REDO) and "target" in texts else "",
        safety.id,
        target,
        # An undo goes to the safety checkpoint of what it undoes.
        texts.get("of") or (target if kind == UNDO else ""),
        values.get("mends") is True,
        commit if OBJECT_ID.fullmatch(commit) else "",
        RestoreRequest(
            values.get("files") is not False,
            values.get("conversation") is not False,
            tuple(map(str, lists.get("paths", ()))),
            texts.get("prefix", ""),
        ),
        _root(safety, values),
        _move(values.get("head")),
        frozenset(map(str, lists.get("blocked", ()))),
        values.get("callback") is True,
        values.get("returns") is True,
        texts.get("over"),
    )


def _root(safety: Checkpoint, values: Mapping[str, Any]) -> Root:
    origin = values.get("origin")
    table = origin if isinstance(origin, dict) else {}
    identifier, commit, event = (table.get(key) for key in ("id", "commit", "event"))
    if not (isinstance(identifier, str) and isinstance(commit, str) and event in (TRIM, UNDO)):
        identifier, commit, event = safety.id, safety.commit.id, UNDO
    before = safety.meta.part("restore", "before") or ""
    return Root(identifier, commit, event, values.get("archives") is True, before)


def _move(head: object) -> HeadMove | None:
    if not isinstance(head, dict):
        return None
    ref, old, new = (head.get(key) for key in ("ref", "old", "new"))
    for commit in (old, new):
        if commit is not None and not (isinstance(commit, str) and OBJECT_ID.fullmatch(commit)):
            return None
    return HeadMove(None if ref is None else str(ref), old, new)


def is_own_safety(repository: Repository, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint is the state before an operation on this very worktree."""
    here = checkpoint.meta.worktree_key == repository.worktree_key
    return here and checkpoint.ref.startswith(SAFETY)


class History:
    """The operations of a worktree, oldest first, and where they have led.

    As in an editor: an undo takes the newest operation that is done, a redo takes back the newest
    undo, and a restore ends the chain of what can be redone.
    """

    def __init__(self, oldest_first: Iterable[OperationRecord]) -> None:
        self.done: list[OperationRecord] = []  # what can be undone, the next one last
        self.undone: list[OperationRecord] = []  # the undos that can be redone, the next one last
        self._known: dict[str, OperationRecord] = {}
        for record in oldest_first:
            self._known[record.id] = record
            if record.kind == RESTORE:
                self.done.append(record)
                self.undone.clear()
            elif record.kind == REDO:
                _drop_last(self.undone, record.of)
                self.done.append(record)
            elif _drop_last(self.done, record.of) or not record.repairs:
                self.undone.append(record)
            elif (undo := _drop_last(self.undone, record.of)) and undo.of in self._known:
                # It reverted an undo that was interrupted.
                self.done.append(self._known[undo.of])

    def cause(self, interrupted: OperationRecord) -> OperationRecord:
        """What has to be reverted: the operation, or the one that it was about to repair."""
        while interrupted.repairs and interrupted.of in self._known:
            interrupted = self._known[interrupted.of]
        return interrupted

    def needed(self) -> set[str]:
        """The ids of the operations that give the same history without the others."""
        needed = {record.id for record in (*self.done, *self.undone)}
        # What an undo repaired records where a redo goes.
        return needed | {record.of for record in self.undone if record.repairs}


def _drop_last(records: list[OperationRecord], identifier: str) -> OperationRecord | None:
    # It may have been dropped for its age; what came after it counts anyway.
    return records.pop() if records and records[-1].id == identifier else None


def read_history(newest_first: Iterable[Checkpoint]) -> History:
    """The history of a worktree, from its safety checkpoints."""
    records = map(read_record, reversed(list(newest_first)))
    return History(record for record in records if record.kind)


def needed_safety_ids(newest_first: list[Checkpoint], interrupted: str | None = None) -> set[str]:
    """The ids of the safety checkpoints of a worktree that undo and redo still need.

    `interrupted` is the operation there that never ended, if there is one.
    """
    found = read_history(newest_first).needed()
    by_id = {safety.id: read_record(safety) for safety in newest_first}
    while interrupted is not None and interrupted in by_id:
        found.add(interrupted)
        # Reverting it may mean to go on with what it was to repair, or to redo what it undid.
        interrupted = by_id[interrupted].of or None
    return found
