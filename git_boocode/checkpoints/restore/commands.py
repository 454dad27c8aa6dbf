"""Restore, undo and redo: plan the operation and run it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import takewhile
from typing import NoReturn

from git_boocode.checkpoints.callback import timeout_of, wait_for_callback
from git_boocode.checkpoints.capture import safety_checkpoint
from git_boocode.checkpoints.restore.exact import record_exact
from git_boocode.checkpoints.restore.file_plan import covers
from git_boocode.checkpoints.restore.plan import (
    TRIM,
    History,
    LogChange,
    RestorePlan,
    Root,
    WrittenFile,
    checkpoint_at,
    is_own_safety,
    proposal_record,
    read_history,
    read_plan,
)
from git_boocode.checkpoints.restore.request import (
    NEWER_TURNS,
    REDO,
    RESTORE,
    RUNNING_TURN,
    UNDO,
    MakeWanted,
    ProposalStep,
    RestoreHost,
    RestoreRequest,
    TurnStep,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.restore.target import Target, find_target, no_target
from git_boocode.checkpoints.restore.transaction import Operation, Transaction
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import BoocodeError, NextStep, RefusedError, shell_command
from git_boocode.repo.gc import protect_from_gc
from git_boocode.repo.head import HeadMove, HeadTarget
from git_boocode.repo.layout import ARCHIVE, SAFETY
from git_boocode.repo.lock import (
    break_ref_locks,
    end_restore,
    inside_restore,
    interrupted_restore,
    scratch_directory,
    worktree_lock,
)
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.process import SignalsWait, ignore_signals
from git_boocode.repo.reported_turn import is_in_turn
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import known_turns, refuse_if_running, running_turns
from git_boocode.repo.store import RefChange

PATIENCE = 10.0
_NO_HOST = RestoreHost()


def restore(
    repository: Repository, name: str, request: RestoreRequest, host: RestoreHost = _NO_HOST
) -> RestoreResult:
    """Restore a checkpoint; `name` is any name that `Catalog.find` accepts.

    Raises:
        RefusedError: nothing was changed: the checkpoint does not exist or was taken elsewhere,
            something is locked, a turn is running, the callback vetoed the restore, or a file
            changed meanwhile.
        FatalError: a step failed, and the steps before it were rolled back.
    """
    with _locked_planner(repository, request) as planner:
        _refuse_running_turn(repository, request)
        target = find_target(planner.catalog, name, after=request.after)
        refuse_foreign(repository, target.files, request)
        planner.refuse_partial_over_interrupted(request)
        head = _recorded_head(target.files) if request.head else None
        request = request._replace(prefix=repository.prefix)
        plan = partial(planner.restore, target, head=head)
        return planner.carry_out(plan(request), plan, request, host)


def change_paths(
    repository: Repository,
    step: TurnStep,
    make: MakeWanted,
    request: RestoreRequest,
    host: RestoreHost = _NO_HOST,
) -> RestoreResult:
    """Change some paths to what `make` computes from the current state; errors as `restore`.

    It is one step for undo and redo, which then concern the same paths only.
    """
    with _locked_planner(repository, request) as planner:
        _refuse_running_turn(repository, request)
        request = request._replace(conversation=False, only=frozenset())
        planner.refuse_partial_over_interrupted(request)
        target = no_target(repository, step.turns[0])
        plan = RestorePlan(RESTORE, target.id, request=request, root=Root(target.id), step=step)
        return Transaction(planner.catalog, host, Operation(plan, target, make=make)).run()


def undo(
    repository: Repository, request: RestoreRequest, host: RestoreHost = _NO_HOST
) -> RestoreResult:
    """Undo an interrupted operation, or else the latest restore or redo; errors as `restore`."""
    with _locked_planner(repository, request) as planner:
        operation = planner.repair(request) or planner.undo(request)
        if operation is None:
            message = "there is no restore to undo in this worktree"
            hint = planner.catalog.way_to_latest()
            raise RefusedError(message, code="not_found", hints=(hint,))
        _refuse_other(request, operation.target.id, "undo")
        if not operation.plan.repairs:
            _refuse_running_turn(repository, request)
        return planner.carry_out(operation, planner.undo, request, host)


def _refuse_other(request: RestoreRequest, found: str, command: str) -> None:
    """Refuse an undo or redo of another operation than the one that the request names."""
    if request.only_to in ("", found):
        return
    typed = f"'git boocode {command}'"
    done = {"undo": "undone", "redo": "redone"}[command]
    raise RefusedError(
        f"another restore was made, or this one was {done}",
        code="stale",
        hints=(NextStep(f"{{}} {command}es the latest one", command, typed=typed),),
    )


def redo(
    repository: Repository, request: RestoreRequest, host: RestoreHost = _NO_HOST
) -> RestoreResult:
    """Redo the latest undone restore; refused if an operation was interrupted; see `restore`."""
    with _locked_planner(repository, request) as planner:
        if planner.interrupted is not None:
            _refuse(planner.interrupted, "undo it before a redo")
        _refuse_running_turn(repository, request)
        operation = planner.redo(request)
        _refuse_other(request, operation.plan.of, "redo")
        return planner.carry_out(operation, planner.redo, request, host)


def repair(
    repository: Repository, request: RestoreRequest, host: RestoreHost = _NO_HOST
) -> RestoreResult | None:
    """Undo an interrupted operation, None if there is none; the caller holds the lock."""
    planner = _OperationPlanner(repository)
    planner.wait_for_interrupted()
    operation = planner.repair(request)
    if operation is None:
        end_restore(repository.state_dir)
        return None
    return Transaction(planner.catalog, host, operation).run()


@contextmanager
def undoable_change(
    repository: Repository, step: ProposalStep, written: Mapping[str, WrittenFile | None]
) -> Iterator[str]:
    """Take a safety checkpoint for a change of proposals, which `undo` takes back with the files.

    `written` are the files that the block writes by path, None for one that it deletes. The caller
    holds the worktree's lock; if the block fails, the checkpoint is deleted. Yields its id. Signals
    wait in the block, and are ignored when it has succeeded. RefusedError (`interrupted`) if a
    restore was interrupted.
    """
    planner = _OperationPlanner(repository)
    if planner.interrupted is not None:
        _refuse(planner.interrupted, "undo it before anything else")
    left = [file for file in written.values() if file is not None]
    record = proposal_record(step, left, files=bool(written))
    identifier = repository.store.new_id()

    def take() -> Checkpoint:
        with scratch_directory(repository.state_dir) as scratch:
            with signals.passing():
                snapshot = take_snapshot(repository, scratch)
            top = repository.worktree
            there = {path for path in written if os.path.lexists(os.path.join(top, path))}
            skipped = [path.rstrip("/") for path, _ in snapshot.skipped]
            unrecorded = {path for path in written if any(covers(each, path) for each in skipped)}
            unrecorded |= snapshot.exclude.matching(repository, scratch, written)
            entries = [*snapshot.disk_index.entries_of(written)]
            if ignored := there.difference(entry.path for entry in entries):
                snapshot = snapshot.with_files(sorted(ignored), top)
                entries = [*snapshot.disk_index.entries_of(written)]
            unrecorded |= there.difference(entry.path for entry in entries)
            if unrecorded:
                raise _unrecorded(min(unrecorded))
            changes = (Change(e.path, "modify", e.mode, e.mode, e.id, e.id) for e in entries)
            snapshot = snapshot._replace(exact=record_exact(repository, snapshot, changes, {}))
            return safety_checkpoint(
                repository, snapshot, Metadata({}), record, identifier, step.change
            )

    with SignalsWait() as signals:
        safety = protect_from_gc(take)
        try:
            signals.check()
            yield safety.id
        except BaseException:
            with suppress(BoocodeError):
                planner.catalog.store.update_refs([RefChange(safety.ref, None, safety.commit.id)])
            raise
        ignore_signals()


def _unrecorded(path: str) -> RefusedError:
    return RefusedError(
        f"'{path}' cannot be replaced, because no checkpoint can record it",
        code="conflict",
        hints=("nested repositories and what boocode.exclude names are not; nothing was changed",),
    )


@contextmanager
def _locked_planner(repository: Repository, request: RestoreRequest) -> Iterator[_OperationPlanner]:
    """Hold the worktree's lock; a dry run shares it with captures."""
    if inside_restore(repository.state_dir):
        raise RefusedError(
            "a callback cannot restore: it runs inside a restore",
            code="locked",
            hints=("restore after the callback has finished",),
        )
    read_only, planner = request.dry_run, _OperationPlanner(repository)
    with worktree_lock(
        repository.state_dir, shared=read_only, patience=PATIENCE, read_only=read_only
    ):
        if read_only:
            with temporary_objects(repository):
                yield planner
        else:
            planner.wait_for_interrupted()
            yield planner


class _OperationPlanner:
    """Plans operations from the recorded history of a worktree."""

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
        """The safety checkpoint of an interrupted operation; None if there is none."""
        noted = interrupted_restore(self._repository.state_dir)
        return None if noted is None else self._safety.get(noted)

    def wait_for_interrupted(self) -> None:
        """Wait for the callback of an interrupted operation, and remove its ref locks."""
        noted = interrupted_restore(self._repository.state_dir)
        if noted is not None:
            wait_for_callback(self._repository.state_dir, timeout_of(self._repository))
            move = read_plan(self.interrupted).move if self.interrupted else None
            break_ref_locks(self._repository, move.ref if move else None)

    def carry_out(
        self,
        operation: Operation,
        plan: Callable[[RestoreRequest], Operation | None],
        request: RestoreRequest,
        host: RestoreHost,
    ) -> RestoreResult:
        """Run an operation that `plan` has made of a request.

        Where the request spares an open turn, the agent that runs it would go on with a
        conversation that is not its own any more; so only the rest is done. A running turn without
        a session may be of any conversation.
        """
        spares = request.spares_open_turn and not operation.plan.repairs
        concerns = operation.plan.concerns_conversation
        kept = spares and concerns and self._is_in_turn(operation.target.meta.text("session"))
        if kept:
            rest = plan(request._replace(conversation=False)) if request.files else None
            # Without the conversation, an undo could be that of an earlier operation.
            if rest is None or rest.target.id != operation.target.id:
                raise _in_turn(operation)
            operation = rest
        self.refuse_newer_turns(operation)
        result = Transaction(self.catalog, host, operation).run()
        return replace(result, conversation_kept=kept)

    def _is_in_turn(self, session: str) -> bool:
        is_unnamed = any(not turn.session for turn in running_turns(self._repository))
        return is_unnamed or is_in_turn(known_turns(self._repository.state_dir), session)

    def restore(
        self, target: Target, request: RestoreRequest, head: HeadTarget | None
    ) -> Operation:
        """A restore, or a partial undo, which counts as a restore."""
        files, talk = target
        returns = files.ref.startswith(SAFETY)
        if talk is None:
            # There is nothing to cut.
            request, talk = request._replace(conversation=False), files
        # A fetched checkpoint must not archive local ones by claiming their chat.
        archives = not (returns or files.remote or request.paths) and request.conversation
        # After a turn, the next one leaves the log, too.
        with_it = archives and request.after
        root = Root(talk.id, talk.commit.id, UNDO if returns else TRIM, archives, with_it)
        over = self.interrupted.id if self.interrupted else ""
        plan = RestorePlan(RESTORE, files.id, files.commit.id, request, root, over=over)
        return self._with_log_change(Operation(plan, files, head, conversation=talk))

    def repair(self, request: RestoreRequest) -> Operation | None:
        """The undo of an interrupted operation; None if there is none."""
        plan = read_plan(self.interrupted) if self.interrupted else None
        if plan is None or not plan.kind:
            return None
        chain = self._history.unfinished(plan)
        chain = chain if chain[-1].id in self._safety else [plan]
        operation = self._undo_of(chain[-1], request, repairs=True)
        unfinished = tuple(self._safety[each.id] for each in chain)
        return operation._replace(unfinished=unfinished)

    def undo(self, request: RestoreRequest) -> Operation | None:
        """The undo of the latest operation that the request covers; None if there is none."""
        done = self._history.done
        for plan in reversed(done):
            covered = request.limited_to(plan.request)
            of_proposal = plan.proposal is not None and request.files
            if not (covered.files or covered.conversation or of_proposal):
                continue
            is_partial = plan.request.files != covered.files or (
                plan.callback and plan.request.conversation != covered.conversation
            )
            if plan is done[-1] and not is_partial:
                return self._undo_of(plan, request, repairs=False)
            head = None if covered.paths else _head_before(plan.move, request)
            safety = self._safety[plan.id]
            return self.restore(Target(safety, safety), covered, head)._replace(reverts=plan)
        return None

    def _undo_of(self, done: RestorePlan, request: RestoreRequest, *, repairs: bool) -> Operation:
        root, safety = done.root, self._safety[done.id]
        log: LogChange | None = LogChange(done.id)
        if repairs and done.kind == UNDO and root.archives and done.of:
            # The interrupted undo may have returned the checkpoints from the restore's archive.
            log = LogChange(done.of, safety.meta, root.id, done.id, root.with_it)
        elif done.returns:
            # Archive the checkpoints again that this operation returned to the log.
            first = self._safety.get(root.id)
            its = read_plan(first).root if first else root
            before = its.before or root.id
            log = first and LogChange(root.id, first.meta, its.id, before, its.with_it)
        plan = RestorePlan(
            UNDO,
            safety.id,
            safety.commit.id,
            request.limited_to(done.request),
            root._replace(before=root.before or done.id),
            of=done.id,
            repairs=repairs,
            proposal=done.proposal,
        )
        head = _head_before(done.move, request)
        return Operation(plan, safety, head, log, reverts=None if repairs else done)

    def refuse_newer_turns(self, operation: Operation) -> None:
        """Refuse an undo or redo that would replace what turns did that were recorded since."""
        request, done = operation.plan.request, operation.reverts
        if done is None or NEWER_TURNS in request.force:
            return
        if done.step is not None:
            # It concerns only its own paths, which `Transaction` compares.
            return
        since = takewhile(lambda each: each.id > done.id, self.catalog.history())
        newer = sum(1 for _ in since)
        if not newer or not request.files:
            return
        kind = operation.step
        turns = "a turn was" if newer == 1 else f"{newer} turns were"
        raise RefusedError(
            f"{turns} recorded since that restore; {kind} would replace those changes, too",
            code="newer_turns",
            hints=(self.catalog.way_to_latest(), *request.ways_over(kind, NEWER_TURNS)),
            details={"newer_turns": newer},
        )

    def redo(self, request: RestoreRequest) -> Operation:
        """The redo of the latest undo; after a repair, the interrupted operation is redone."""
        if not self._history.undone:
            hints = tuple(self._redo_hints())
            message = "there is no undone restore to redo in this worktree"
            raise RefusedError(message, code="not_found", hints=hints)
        newest = again = self._history.undone[-1]
        target, move, talk = self._safety[newest.id], newest.move, None
        if newest.repairs and newest.of in self._safety:
            again = read_plan(self._safety[newest.of])
            found = checkpoint_at(self.catalog, again.target, again.target_commit)
            if found is None:
                raise RefusedError(
                    f"checkpoint '{again.target}', the target of the interrupted restore, is gone",
                    code="not_found",
                    hints=(f"the state before the undo is saved as {newest.id}",),
                )
            if again.request.after:
                talk = checkpoint_at(self.catalog, again.root.id, again.root.commit)
            target, again = found, again._replace(root=again.root._replace(before=""))
            move = again.move and HeadMove(again.move.ref, again.move.new, again.move.old)
        limited = request.limited_to(again.request)
        plan = RestorePlan(
            REDO,
            target.id,
            target.commit.id,
            limited,
            again.root._replace(archives=again.root.archives and limited.conversation),
            of=newest.id,
            proposal=newest.proposal,
        )
        head = _head_before(move, request)
        operation = Operation(plan, target, head, reverts=newest, conversation=talk)
        return self._with_log_change(operation)

    def _redo_hints(self) -> Iterator[str]:
        plans = [plan for plan in map(read_plan, self._safety.values()) if plan.kind]
        if plans and plans[0].kind == RESTORE and (ended := History(plans[:0:-1]).undone):
            yield "the latest restore cleared the redo history"
            before = ended[-1].id
            command = f"'git boocode restore {before}'"
            yield NextStep(
                "{} restores the state before the undo", "restore", before, typed=command
            )

    def _with_log_change(self, operation: Operation) -> Operation:
        """A restore or redo with the checkpoints that it archives, or returns to the log."""
        plan, target = operation.plan, operation.target
        root, talk = plan.root, operation.conversation or target
        if root.archives:
            log = LogChange("", talk.meta, root.id, root.before, root.with_it)
            return operation._replace(log=log)
        back = root.event == UNDO and plan.concerns_conversation
        back = back and is_own_safety(self._repository, target)
        if back and self.catalog.store.refs(f"{ARCHIVE}{root.id}/"):
            plan = plan._replace(returns=True)
            return operation._replace(plan=plan, log=LogChange(root.id))
        return operation

    def refuse_partial_over_interrupted(self, request: RestoreRequest) -> None:
        """Refuse a partial restore over an interrupted operation."""
        if self.interrupted is None:
            return
        if request.paths or request.only is not None or not request.files:
            _refuse(self.interrupted, "undo it before you restore only a part")
        if read_plan(self.interrupted).callback and not request.conversation:
            _refuse(self.interrupted, "undo it before you restore without the conversation")


def _in_turn(operation: Operation) -> RefusedError:
    agent = operation.target.meta.text("agent") or "an agent"
    typed = f"'git boocode {operation.step}'"
    if operation.step == RESTORE:
        after = " --after" if operation.plan.request.after else ""
        typed = f"'git boocode restore {operation.target.id}{after} --conversation-only'"
    without = (NextStep("{} leaves the conversation", "files_only"),)
    return RefusedError(
        f"the conversation cannot go back, because {agent} is in a turn of it",
        code="locked",
        hints=(
            *(without if operation.plan.request.files else ()),
            f"once the turn has ended, the user can run {typed}",
        ),
    )


def _head_before(move: HeadMove | None, request: RestoreRequest) -> HeadTarget | None:
    """The target that reverts a move of HEAD, which an interrupted operation may not have made."""
    if move is None or not request.files or request.head is False:
        return None
    return HeadTarget(move.ref, move.old, (move.new, move.old))


def _recorded_head(target: Checkpoint) -> HeadTarget:
    ref, commit = (target.meta.part("head", key) for key in ("ref", "commit"))
    if commit != target.head or (ref is None and commit is None):
        raise RefusedError(
            f"checkpoint '{target.id}' does not record HEAD",
            code="malformed",
            hints=(
                NextStep(
                    "omit {} to leave HEAD where it is",
                    "head",
                    typed="--head",
                    given={"head": None},
                ),
            ),
        )
    return HeadTarget(ref, commit)


def _refuse(interrupted: Checkpoint, remedy: str) -> NoReturn:
    raise RefusedError(
        f"a restore was interrupted; {remedy}",
        code="interrupted",
        hints=(
            NextStep(
                f"{{}} restores the state before it, saved as {interrupted.id}",
                "undo",
                typed="'git boocode undo'",
            ),
        ),
    )


def _refuse_running_turn(repository: Repository, request: RestoreRequest) -> None:
    if not request.dry_run and RUNNING_TURN not in request.force:
        refuse_if_running(repository, RUNNING_TURN)


def refuse_foreign(repository: Repository, target: Checkpoint, request: RestoreRequest) -> None:
    """Refuse a checkpoint of another repository, worktree or session, unless forced."""
    foreign: list[tuple[str, str, tuple[str, ...]]] = []
    session = target.meta.text("session")
    if target.remote:
        # Worktree names of another repository mean nothing here.
        command = f"git boocode show {target.id}"
        hint = NextStep("it was fetched; look at it first: {}", "show", target.id, typed=command)
        foreign.append(("repository", target.remote, (hint,)))
    elif target.meta.worktree_key != repository.worktree_key:
        where = target.meta.part("worktree", "path") or target.meta.worktree_name
        exists = os.path.isdir(where) and os.path.realpath(where) != repository.worktree
        there = os.path.join(where, repository.prefix) if request.paths else where
        command = request.command("restore", target.id).removeprefix("git ")
        typed = f"{shell_command('git', '-C', there)} {command}"
        given = {"checkpoint": target.id, "cwd": there}
        way: str = NextStep("restore it there: {}", RESTORE, typed=typed, given=given)
        if not exists:
            way = "that worktree no longer exists"
        foreign.append(("worktree", where, (way,)))
    if request.session and session and session != request.session:
        foreign.append(("session", session, ()))
    for kind, name, hints in foreign:
        if (refusal := f"other-{kind}") not in request.force:
            force = NextStep("{} restores it here anyway", "force", refusal)
            raise RefusedError(
                f"checkpoint '{target.id}' belongs to another {kind}: '{name}'",
                code=f"other_{kind}",
                hints=(*hints, force),
            )
