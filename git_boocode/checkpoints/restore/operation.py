"""A restore, undo or redo, and the records of earlier ones in safety checkpoints.

Every operation takes a safety checkpoint of the state before it, whose metadata records the
operation. Replaying these records, oldest first, yields the operations that can be undone and
redone. There is no other record of the history that could contradict them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from git_boocode.checkpoints.restore.request import (
    LATER_CHANGES,
    REDO,
    RESTORE,
    UNDO,
    ProposalStep,
    RestoreRequest,
)
from git_boocode.checkpoints.store.catalog import ARCHIVE, CHECKPOINTS, SAFETY, Catalog, Checkpoint
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.head_move import HeadMove, HeadTarget
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.metadata import Metadata
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange

TRIM = "trim"
_NAMED = 3  # maximum number of paths in a message


class Root(NamedTuple):
    """The restore at the beginning of a chain of undos and redos."""

    id: str  # the restored checkpoint, whose conversation the chain concerns
    commit: str  # its commit
    event: str  # the callback's event for the restore, `trim` or `undo`
    archives: bool = False  # whether the restore archives later checkpoints
    before: str = ""  # the restore's id in a later operation; archive nothing after it


class LogChange(NamedTuple):
    """A move of checkpoints from the log to the archive of a restore, or back."""

    under: str = ""  # the id of that restore; empty for the operation itself
    about: Metadata | None = None  # has the chat or session to archive; None: return all
    after: str = ""  # archive only checkpoints after this id
    before: str = ""  # archive only checkpoints before this id; empty for no limit

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
    """A restore, undo or redo to run."""

    kind: str  # `restore`, `undo` or `redo`
    target: Checkpoint  # the state to restore
    request: RestoreRequest  # the scope and the options
    root: Root  # the restore that it belongs to
    head: HeadTarget | None = None  # the new HEAD; None to leave HEAD
    of: str = ""  # the id of the operation that it undoes or redoes; empty for a restore
    repairs: bool = False  # whether that operation was interrupted
    log: LogChange | None = None  # the checkpoints to archive or return; None for none
    over: Checkpoint | None = None  # the safety checkpoint of an interrupted operation to replace
    proposal: ProposalStep | None = None  # the change of a proposal to revert
    reverts: OperationRecord | None = None  # the finished operation that it undoes or redoes

    @property
    def event(self) -> str:
        """The event for the callback: trim the conversation, or bring back an earlier one."""
        return UNDO if self.kind == UNDO else self.root.event

    @property
    def step(self) -> str:
        """The command; an undo of a part is recorded as a restore."""
        return UNDO if self.kind == RESTORE and self.reverts is not None else self.kind

    @property
    def concerns_conversation(self) -> bool:
        """Whether the conversation is restored; never with paths."""
        return self.request.conversation and not self.request.paths

    @property
    def returns_checkpoints(self) -> bool:
        """Whether a restore or redo returns the checkpoints that an earlier restore archived."""
        return self.kind != UNDO and self.log is not None and self.log.about is None

    @property
    def edits_of(self) -> str:
        """The id of the operation whose edits of the host's files it reverts; empty for none."""
        if not self.concerns_conversation:
            return ""
        return self.target.id if self.kind == RESTORE and self.event == UNDO else self.of

    def as_json(
        self, move: HeadMove | None, blocked: Iterable[str], *, callback: bool
    ) -> dict[str, Any]:
        """The record for the safety checkpoint, which `read_record` parses."""
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
            **self._proposal_json(),
        }

    def _proposal_json(self) -> dict[str, Any]:
        step, proposals = self.proposal, self.request.proposals
        if step is None or proposals is None:
            return {}
        return {"proposal": step._replace(before=proposals.newest_id())._asdict()}


def later_changes(operation: Operation, paths: Sequence[str]) -> RefusedError:
    """The refusal of an undo or redo that would replace what changed after it."""
    # A name must not look like a line of its own.
    named = ", ".join(f"'{' '.join(path.splitlines())}'" for path in paths[:_NAMED])
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    request, step = operation.request._replace(paths=()), operation.step
    forced = request._replace(force=request.force | {LATER_CHANGES})
    return RefusedError(
        f"{step} would replace later changes: {named}{more}",
        code="later_changes",
        hints=(
            f"'{request.command(step, '-n')}' shows what would be replaced",
            f"'{forced.command(step)}' does it anyway",
        ),
        details={"later_changes": [*paths]},
    )


class WrittenFile(NamedTuple):
    """A file that a change of proposals writes: its path, and git's mode and blob id."""

    path: str
    mode: str
    id: str


def proposal_record(
    step: ProposalStep, written: Sequence[WrittenFile], *, files: bool
) -> dict[str, Any]:
    """The record of a change of proposals for undo; `files` is whether it changes files."""
    return {
        "operation": RESTORE,
        "target": step.before,
        "files": files,
        "written": [file._asdict() for file in written],
        "conversation": False,
        "paths": [f":(top,literal){path}" for path in step.paths],
        "prefix": "",
        "proposal": step._asdict(),
    }


class OperationRecord(NamedTuple):
    """The record of an operation in its safety checkpoint; see `Operation`."""

    kind: str  # empty if there is no usable record
    id: str  # the safety checkpoint, which records the state before the operation
    target: str
    of: str = ""
    repairs: bool = False
    target_commit: str = ""
    request: RestoreRequest = RestoreRequest()
    root: Root = Root("", "", UNDO)
    move: HeadMove | None = None
    blocked: frozenset[str] = frozenset()  # the paths where ignored files were in the way
    callback: bool = False  # whether a callback was called
    returned: bool = False  # whether it returned archived checkpoints to the log
    over: str | None = None
    proposal: ProposalStep | None = None  # the change of a proposal that it made
    written: tuple[WrittenFile, ...] = ()  # the files that this change wrote


def read_record(safety: Checkpoint) -> OperationRecord:
    """The record in a safety checkpoint; missing or malformed fields have their defaults."""
    values = safety.meta.table("restore")
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    lists = {key: value for key, value in values.items() if isinstance(value, list)}
    kind, target, commit = (texts.get(key, "") for key in ("operation", "target", "target_commit"))
    return OperationRecord(
        kind if kind in (RESTORE, UNDO, REDO) and "target" in texts else "",
        safety.id,
        target,
        # The target of an undo is the safety checkpoint of the undone operation.
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
        _proposal(values.get("proposal")),
        tuple(_written(values.get("written"))),
    )


def _written(value: object) -> Iterator[WrittenFile]:
    for row in value if isinstance(value, list) else ():
        fields = map(row.get, WrittenFile._fields) if isinstance(row, dict) else ()
        match [*fields]:
            case [str(path), str(mode), str(identifier)] if OBJECT_ID.fullmatch(identifier):
                yield WrittenFile(path, mode, identifier)


def _proposal(value: object) -> ProposalStep | None:
    table = value if isinstance(value, dict) else {}
    change, before, paths = map(table.get, ProposalStep._fields)
    if not (isinstance(change, str) and isinstance(before, str) and isinstance(paths, list)):
        return None
    return ProposalStep(change, before, tuple(path for path in paths if isinstance(path, str)))


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
    """Whether a checkpoint is a safety checkpoint of this worktree."""
    here = checkpoint.meta.worktree_key == repository.worktree_key
    return here and checkpoint.ref.startswith(SAFETY)


class History:
    """The operations of a worktree that can be undone and redone.

    As in an editor: an undo reverts the newest operation, a redo reverts the newest undo, and a
    restore clears the redo history.
    """

    def __init__(self, oldest_first: Iterable[OperationRecord]) -> None:
        self.done: list[OperationRecord] = []  # the operations to undo, the next one last
        self.undone: list[OperationRecord] = []  # the undos to redo, the next one last
        self._by_id: dict[str, OperationRecord] = {}
        for record in oldest_first:
            self._by_id[record.id] = record
            if record.kind == RESTORE:
                self.done.append(record)
                self.undone.clear()
            elif record.kind == REDO:
                _drop_last(self.undone, record.of)
                self.done.append(record)
            elif _drop_last(self.done, record.of) or not record.repairs:
                self.undone.append(record)
            elif (undo := _drop_last(self.undone, record.of)) and undo.of in self._by_id:
                # It reverted an interrupted undo.
                self.done.append(self._by_id[undo.of])

    def cause(self, interrupted: OperationRecord) -> OperationRecord:
        """The operation to revert: the interrupted one, or the one that it was repairing."""
        while interrupted.repairs and interrupted.of in self._by_id:
            interrupted = self._by_id[interrupted.of]
        return interrupted

    def needed(self) -> set[str]:
        """The ids of the operations that yield the same history without the others."""
        needed = {record.id for record in (*self.done, *self.undone)}
        # The record of a repaired operation has the target of its redo.
        return needed | {record.of for record in self.undone if record.repairs}


def _drop_last(records: list[OperationRecord], identifier: str) -> OperationRecord | None:
    # Its record may have been pruned; the later operations count anyway.
    return records.pop() if records and records[-1].id == identifier else None


def read_history(newest_first: Iterable[Checkpoint]) -> History:
    """The history of a worktree, from its safety checkpoints."""
    records = map(read_record, reversed(list(newest_first)))
    return History(record for record in records if record.kind)


def needed_safety_ids(newest_first: list[Checkpoint], interrupted: str | None = None) -> set[str]:
    """The ids of the safety checkpoints of a worktree that undo and redo still need.

    `interrupted` is the id of an interrupted operation; None if there is none.
    """
    found = read_history(newest_first).needed()
    by_id = {safety.id: read_record(safety) for safety in newest_first}
    while interrupted is not None and interrupted in by_id:
        found.add(interrupted)
        # Reverting it may repair or redo the operation that it repaired or undid.
        interrupted = by_id[interrupted].of or None
    return found
