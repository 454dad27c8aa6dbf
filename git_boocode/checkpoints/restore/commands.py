"""Take files, staging and conversation back to a checkpoint; undo that; do it again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import NoReturn

from git_boocode.checkpoints.callback import timeout_of, wait_for_callback
from git_boocode.checkpoints.restore.operation import (
    REDO,
    RESTORE,
    TRIM,
    UNDO,
    History,
    LogChange,
    Operation,
    OperationRecord,
    RestoreRequest,
    Root,
    is_own_safety,
    read_history,
    read_record,
)
from git_boocode.checkpoints.restore.transaction import Result, Transaction, checkpoint_at
from git_boocode.checkpoints.store.catalog import ARCHIVE, SAFETY, Catalog, Checkpoint
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import id_time
from git_boocode.repo.lock import (
    break_ref_locks,
    end_restore,
    inside_restore,
    interrupted_restore,
    worktree_lock,
)
from git_boocode.repo.moving_head import HeadMove, HeadTarget
from git_boocode.repo.object_writer import new_objects_aside
from git_boocode.repo.repository import Repository

PATIENCE = 10.0


def restore(repository: Repository, name: str, request: RestoreRequest) -> Result:
    """Take the worktree back to a checkpoint, named as `Catalog.find` reads it.

    Raises:
        RefusedError: nothing was changed: there is no such checkpoint, it was not taken here,
            something is locked, the callback said no, or a file changed meanwhile.
        FatalError: a step failed, and what had been done was rolled back.
    """
    with _locked_planner(repository, request) as planner:
        target = planner.catalog.find(name)
        refuse_foreign(repository, target, request)
        planner.refuse_if_too_little(request)
        request = request._replace(prefix=repository.prefix)
        head = _recorded_head(target) if request.head else None
        operation = planner.restore(target, request, head)
        return Transaction(repository, planner.catalog, operation).run()


def undo(repository: Repository, request: RestoreRequest) -> Result:
    """Undo what was interrupted, else the latest restore or redo not undone yet; see `restore`."""
    with _locked_planner(repository, request) as planner:
        operation = planner.repair(request) or planner.undo(request)
        if operation is None:
            raise RefusedError("there is no restore to undo in this worktree", code="not_found")
        return Transaction(repository, planner.catalog, operation).run()


def redo(repository: Repository, request: RestoreRequest) -> Result:
    """Do the restore again that was undone last, unless another was interrupted; see `restore`."""
    with _locked_planner(repository, request) as planner:
        if planner.interrupted is not None:
            _refuse(planner.interrupted, "nothing can be redone over it")
        return Transaction(repository, planner.catalog, planner.redo(request)).run()


def repair(repository: Repository, request: RestoreRequest) -> Result | None:
    """Undo what was interrupted, None if nothing was; the caller holds the worktree's lock."""
    planner = _OperationPlanner(repository)
    planner.wait_for_interrupted()
    operation = planner.repair(request)
    if operation is None:
        end_restore(repository.state_dir)
        return None
    return Transaction(repository, planner.catalog, operation).run()


@contextmanager
def _locked_planner(repository: Repository, request: RestoreRequest) -> Iterator[_OperationPlanner]:
    """Hold the worktree's lock; who only looks hinders no capture."""
    if inside_restore(repository.state_dir):
        raise RefusedError(
            "a callback cannot restore: it runs inside a restore",
            code="locked",
            hints=("restore after the callback has finished",),
        )
    looking, planner = request.dry_run, _OperationPlanner(repository)
    with worktree_lock(repository.state_dir, shared=looking, patience=PATIENCE, looking=looking):
        if looking:
            with new_objects_aside(repository):
                yield planner
        else:
            planner.wait_for_interrupted()
            yield planner


class _OperationPlanner:
    """The earlier operations of a worktree, and what a command does after them."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.catalog = Catalog(repository)

    @cached_property
    def _safety(self) -> dict[str, Checkpoint]:
        """The safety checkpoints of this worktree, newest first."""
        return {entry.id: entry for entry in self.catalog.safety()}

    @cached_property
    def _history(self) -> History:
        return read_history(self._safety.values())

    @cached_property
    def interrupted(self) -> Checkpoint | None:
        """The safety checkpoint of an operation that was interrupted."""
        noted = interrupted_restore(self._repository.state_dir)
        return None if noted is None else self._safety.get(noted)

    def wait_for_interrupted(self) -> None:
        """Wait for the callback of an interrupted operation, and remove its locks of refs."""
        noted = interrupted_restore(self._repository.state_dir)
        if noted is not None:
            wait_for_callback(self._repository.state_dir, timeout_of(self._repository))
            move = read_record(self.interrupted).move if self.interrupted else None
            break_ref_locks(self._repository, move.ref if move else None, id_time(noted))

    def restore(
        self, target: Checkpoint, request: RestoreRequest, head: HeadTarget | None
    ) -> Operation:
        """A restore, or an undo that leaves something to be undone: it counts as a restore."""
        returns = target.ref.startswith(SAFETY)
        # What was fetched must not archive anything here by the chat that it claims.
        archives = not (returns or target.remote or request.paths) and request.conversation
        root = Root(target.id, target.commit.id, UNDO if returns else TRIM, archives)
        operation = Operation(RESTORE, target, request, root, head, over=self.interrupted)
        return operation._replace(log=self._log_change(operation))

    def repair(self, request: RestoreRequest) -> Operation | None:
        """The undo of what never ended; None if there is no such thing."""
        record = read_record(self.interrupted) if self.interrupted else None
        if record is None or not record.kind:
            return None
        cause = self._history.cause(record)
        return self._undo_of(cause if cause.id in self._safety else record, request, repairs=True)

    def undo(self, request: RestoreRequest) -> Operation | None:
        """The undo of the latest operation of which the request covers anything; None for none."""
        done = self._history.done
        for record in reversed(done):
            left = request.limited_to(record.request)
            if not (left.files or left.conversation):
                continue
            is_part = record.request.files != left.files or (
                record.callback and record.request.conversation != left.conversation
            )
            if record is done[-1] and not is_part:
                return self._undo_of(record, request, repairs=False)
            head = None if left.paths else _head_before(record.move, request)
            return self.restore(self._safety[record.id], left, head)
        return None

    def _undo_of(
        self, record: OperationRecord, request: RestoreRequest, *, repairs: bool
    ) -> Operation:
        root, safety = record.root, self._safety[record.id]
        log: LogChange | None = LogChange(record.id)
        if repairs and record.kind == UNDO and root.archives and record.of:
            # That undo may have emptied the archive of the restore.
            log = LogChange(record.of, safety.meta, after=root.id, before=record.id)
        elif record.returned:
            # What it brought back goes to where it came from.
            first = self._safety.get(root.id)
            its = read_record(first).root if first else root
            log = first and LogChange(root.id, first.meta, its.id, its.before or root.id)
        request = request.limited_to(record.request)
        head = _head_before(record.move, request)
        root = root._replace(before=root.before or record.id)
        return Operation(UNDO, safety, request, root, head, record.id, repairs, log)

    def redo(self, request: RestoreRequest) -> Operation:
        """The redo of the latest undo; of a repair, what was interrupted is done again."""
        if not self._history.undone:
            hints = tuple(self._why_none_to_redo())
            what = "there is no undone restore to redo in this worktree"
            raise RefusedError(what, code="not_found", hints=hints)
        newest = record = self._history.undone[-1]
        target, move = self._safety[newest.id], newest.move
        if newest.repairs and newest.of in self._safety:
            record = read_record(self._safety[newest.of])
            found = checkpoint_at(self.catalog, record.target, record.target_commit)
            if found is None:
                raise RefusedError(
                    f"checkpoint '{record.target}', where the interrupted restore went, is gone",
                    code="not_found",
                    hints=(f"what was there when it was undone is kept as {newest.id}",),
                )
            target, record = found, record._replace(root=record.root._replace(before=""))
            move = record.move and HeadMove(record.move.ref, record.move.new, record.move.old)
        wanted = request.limited_to(record.request)
        root = record.root._replace(archives=record.root.archives and wanted.conversation)
        operation = Operation(REDO, target, wanted, root, _head_before(move, request), newest.id)
        return operation._replace(log=self._log_change(operation))

    def _why_none_to_redo(self) -> Iterator[str]:
        records = [record for record in map(read_record, self._safety.values()) if record.kind]
        if records and records[0].kind == RESTORE and (ended := History(records[:0:-1]).undone):
            yield "the latest restore cleared the redo history"
            yield f"'git boocode restore {ended[-1].id}' goes to the state from before the undo"

    def _log_change(self, operation: Operation) -> LogChange | None:
        """What a restore or a redo does to the log."""
        root, target = operation.root, operation.target
        if root.archives:
            return LogChange(about=target.meta, after=root.id, before=root.before)
        back = root.event == UNDO and operation.concerns_conversation
        back = back and is_own_safety(self._repository, target)
        archived = self.catalog.store.refs(f"{ARCHIVE}{root.id}/") if back else []
        return LogChange(root.id) if archived else None

    def refuse_if_too_little(self, request: RestoreRequest) -> None:
        """Refuse a restore that would leave an interrupted one half-way."""
        if self.interrupted is None:
            return
        if request.paths or not request.files:
            _refuse(self.interrupted, "only all files can be restored over it")
        if read_record(self.interrupted).callback and not request.conversation:
            _refuse(self.interrupted, "the conversation has to be restored with the files over it")


def _head_before(move: HeadMove | None, request: RestoreRequest) -> HeadTarget | None:
    """Where HEAD goes to revert a move; an interrupted operation may not have come to it."""
    if move is None or not request.files or request.head is False:
        return None
    return HeadTarget(move.ref, move.old, (move.new, move.old))


def _recorded_head(target: Checkpoint) -> HeadTarget:
    ref, commit = (target.meta.part("head", key) for key in ("ref", "commit"))
    if commit != target.head or (ref is None and commit is None):
        raise RefusedError(
            f"checkpoint '{target.id}' does not record HEAD",
            code="malformed",
            hints=("omit --head to leave HEAD where it is",),
        )
    return HeadTarget(ref, commit)


def _refuse(interrupted: Checkpoint, what: str) -> NoReturn:
    raise RefusedError(
        f"a restore was interrupted; {what}",
        code="interrupted",
        hints=(f"'git boocode undo' goes back to the state before it, kept as {interrupted.id}",),
    )


def refuse_foreign(repository: Repository, target: Checkpoint, request: RestoreRequest) -> None:
    """Refuse a checkpoint of another repository, worktree or session, unless that is forced."""
    foreign: list[tuple[str, str, str]] = []
    session = target.meta.text("session")
    if target.remote:
        # The names of worktrees say nothing across repositories.
        hint = f"it was fetched; 'git boocode show {target.id}' shows what is in it"
        foreign.append(("repository", target.remote, hint))
    elif target.meta.worktree_key != repository.worktree_key:
        where = target.meta.part("worktree", "path") or target.meta.worktree_name
        exists = os.path.isdir(where) and os.path.realpath(where) != repository.worktree
        there = f"run it there: git -C {shlex.quote(where)} boocode restore {target.id}"
        foreign.append(("worktree", where, there if exists else "that worktree is gone"))
    if request.session and session and session != request.session:
        foreign.append(("session", session, ""))
    for kind, name, hint in foreign:
        if f"other-{kind}" not in request.force:
            raise RefusedError(
                f"checkpoint '{target.id}' is of another {kind}: '{name}'",
                code=f"other_{kind}",
                hints=(*filter(None, [hint]), f"--force other-{kind} restores it here anyway"),
            )
