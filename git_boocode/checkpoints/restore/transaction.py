"""Run a restore, undo or redo: all of it, or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple

from git_boocode.checkpoints.callback import Callback
from git_boocode.checkpoints.capture import safety_checkpoint
from git_boocode.checkpoints.restore.apply import (
    WorktreeUpdate,
    keeping_directory,
    refuse_to_replace_directory,
)
from git_boocode.checkpoints.restore.conversation import Conversation, ConversationFiles
from git_boocode.checkpoints.restore.exact import after_restore, record_exact
from git_boocode.checkpoints.restore.file_plan import FilePlan, FilePlanner
from git_boocode.checkpoints.restore.interrupted import InterruptedWork, interrupted_work
from git_boocode.checkpoints.restore.plan import (
    LogChange,
    RestorePlan,
    read_plan,
)
from git_boocode.checkpoints.restore.request import (
    IGNORED,
    LATER_CHANGES,
    NEWER_TURNS,
    RESTORE,
    UNDO,
    MakeWanted,
    RestoreHost,
    TurnStep,
    WantedPaths,
)
from git_boocode.checkpoints.restore.result import RestoreResult, version_of
from git_boocode.checkpoints.restore.target import target_from
from git_boocode.checkpoints.restore.user_work import (
    changed_since,
    files_written_by,
    staged_since,
    user_files_of,
)
from git_boocode.checkpoints.store.catalog import (
    INCLUDED,
    Catalog,
    Change,
    Checkpoint,
    compare_trees,
    count_lines,
    texts_of,
)
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree.snapshot import ExactFiles, Snapshot
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.errors import (
    BoocodeError,
    FatalError,
    NextStep,
    RefusedError,
    from_os,
    shell_command,
)
from git_boocode.repo.gc import protect_from_gc
from git_boocode.repo.git import GitError
from git_boocode.repo.head import HeadMove, HeadTarget, plan_move, removed_commits
from git_boocode.repo.index import refuse_if_locked
from git_boocode.repo.layout import CHECKPOINTS, SAFETY, TURN_ENDS
from git_boocode.repo.lock import (
    begin_restore,
    end_restore,
    interrupted_restore,
    scratch_directory,
)
from git_boocode.repo.process import SignalsWait, ignore_signals
from git_boocode.repo.reported_turn import open_beside, read_turns
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange

_SEARCHED = 50  # checkpoints among which the newest turn of an agent is
_NAMED = 3  # maximum number of paths in a message


class Operation(NamedTuple):
    """A plan to carry out, and what it names."""

    plan: RestorePlan
    target: Checkpoint
    head: HeadTarget | None = None  # the new HEAD; None to leave HEAD
    log: LogChange | None = None  # the checkpoints to archive or return; None for none
    reverts: RestorePlan | None = None  # the finished operation that it undoes or redoes
    # The safety checkpoints of an interrupted operation that it undoes, and of its repairs, newest
    # first.
    unfinished: tuple[Checkpoint, ...] = ()
    make: MakeWanted | None = None  # makes the target from the current state; None: it is made
    conversation: Checkpoint | None = None  # whose conversation is restored, if not the target's

    @property
    def step(self) -> str:
        """The command; an undo of a part is recorded as a restore."""
        return UNDO if self.plan.kind == RESTORE and self.reverts else self.plan.kind


class Transaction:
    """Runs one operation."""

    def __init__(self, catalog: Catalog, host: RestoreHost, operation: Operation) -> None:
        self._repository = catalog.repository
        self._catalog = catalog
        self._host = host
        self._operation = operation
        self._plan: RestorePlan = operation.plan  # completed before anything changes
        self._target = operation.target
        self._request = operation.plan.request
        self._earlier = interrupted_restore(self._repository.state_dir)
        self._reflog = f"boocode {self._plan.kind}: moving to {operation.target.id}"
        target, plan = operation.target, operation.plan
        self._talk = operation.conversation or target  # where the conversation is restored to
        self._conversation = Conversation(catalog, host, plan, self._talk)
        self._exact: ExactFiles = {}  # what the target records beside its tree
        self._wanted = WantedPaths()  # of which the target is made, if it is made now
        self._moved: HeadMove | None = None

    def run(self) -> RestoreResult:
        """Run the operation; a refusal changes nothing, a failure is rolled back."""
        return protect_from_gc(self._run)

    def _run(self) -> RestoreResult:
        """Scan, plan, then change files."""
        repository, dry_run = self._repository, self._request.dry_run
        callback = self._conversation.callback
        with scratch_directory(repository.state_dir, read_only=dry_run) as scratch:
            snapshot = take_snapshot(repository, scratch, partial(self._user_files, scratch))
            visible, wanted = snapshot.disk_tree, self._operation.head
            move = plan_move(repository, snapshot.head, wanted) if wanted else None
            if self._operation.make is not None:
                self._make_target(snapshot, self._operation.make)
            snapshot, files = self._plan_files(snapshot)
            self._plan = self._plan._replace(
                move=move,
                blocked=files.blocked,
                callback=callback is not None,
                step=self._step_done(files),
            )
            if self._operation.make is not None and files.blocked:
                raise _blocked(files)
            self._refuse_later_changes(visible, snapshot.head.tree, files)
            refuse_to_replace_directory(repository, files.changes)
            # Make the result now, because nothing may fail after the files have changed.
            result = self._result(snapshot, files)
            if dry_run:
                # In a partial clone the contents may be missing; the plan does not need them.
                with suppress(GitError):
                    lines = count_lines(repository.git, files.before, files.tree)
                    result = replace(result, lines=lines)
                return self._with_diff(result, files)
            self._refuse_unseen(result)
            is_empty = files.is_empty and move is None
            if is_empty and self._is_done(files):
                end_restore(repository.state_dir)
                return result
            if not is_empty:
                # The process that holds the lock may also be writing files.
                refuse_if_locked(repository.index_path)
            if callback is not None:
                _check_callback_stays(repository, callback, files.changes)
            result = self._with_diff(result, files)
            with keeping_directory(repository, files.changes), SignalsWait() as self._signals:
                safety = self._begin(snapshot, files)
                return self._carry_out(safety, files, result)

    # Planning.

    def _make_target(self, snapshot: Snapshot, make: MakeWanted) -> None:
        """Make the target from the snapshot and what some paths are to be."""
        wanted, plan = make(snapshot), self._plan
        self._target = target_from(self._catalog, snapshot, wanted, plan.target)
        self._request = plan.request._replace(only=wanted.paths)
        self._plan = plan._replace(target_commit=self._target.commit.id, request=self._request)
        self._wanted = wanted

    def _step_done(self, files: FilePlan) -> TurnStep | None:
        """The step as it is recorded: it is not whole if anything of it was left out."""
        step, wanted = self._plan.step, self._wanted
        is_partial = wanted.has_conflicts or wanted.kept or files.kept
        return step._replace(whole=False) if step and is_partial else step

    def _user_files(self, scratch: str, untracked: list[str]) -> set[str]:
        """The untracked files that the ignore rules before or after an operation ignore.

        They are visible only because the rules were replaced, so undo and redo do not touch them,
        nor does a restore over an interrupted operation.
        """
        repository, target, found = self._repository, self._target, set[str]()
        returns = self._plan.kind != RESTORE or target.ref.startswith(SAFETY)
        for state in filter(None, (target if returns else None, self._over)):
            is_target = state is target
            request = self._request
            written = self._written if is_target else files_written_by(repository, state, request)
            with self._objects_of(state):
                found |= user_files_of(repository, state, written, untracked, scratch)
        return found

    @cached_property
    def _written(self) -> dict[str, Change]:
        """The files that the operation of the target wrote."""
        return files_written_by(self._repository, self._target, self._request)

    @cached_property
    def _over(self) -> Checkpoint | None:
        """The safety checkpoint of the interrupted operation that this one replaces."""
        safety = self._catalog.safety() if self._plan.over else ()
        return next((each for each in safety if each.id == self._plan.over), None)

    def _plan_files(self, snapshot: Snapshot) -> tuple[Snapshot, FilePlan]:
        """Plan the changes of files; returns a snapshot that has all that they replace."""
        repository, target = self._repository, self._target
        if not self._request.files:
            return snapshot, FilePlan(snapshot.disk_tree, snapshot.disk_tree, [])
        with self._objects_of(target):
            planner = FilePlanner(repository, snapshot, self._request, target, self._written)
            if hidden := planner.written_and_hidden():
                planner.snapshot = snapshot.with_files(hidden, repository.worktree)
            self._exact = planner.exact
            # The pathspecs of an undo or redo need not match anything any more.
            hook_files = self._host.hook_files
            if self._operation.unfinished:
                planner.interrupted = self._interrupted()
            files = planner.plan(hook_files, each=self._plan.kind == RESTORE)
            if files.in_the_way:
                # So that an undo brings them back.
                in_the_way, top = files.in_the_way, repository.worktree
                planner.snapshot = planner.snapshot.with_files(in_the_way, top)
                files = planner.plan(hook_files, added=in_the_way)._replace(later=files.later)
            return planner.snapshot, files

    def _interrupted(self) -> InterruptedWork:
        unfinished = self._operation.unfinished
        return interrupted_work(self._catalog, unfinished, self._as_left_by(unfinished[-1].id))

    def _as_left_by(self, operation: str) -> set[str]:
        """The files that are as the callback of an operation edited them."""
        return ConversationFiles(self._repository, operation, None).as_left()

    def _refuse_later_changes(self, visible: str, head: str | None, files: FilePlan) -> None:
        """Refuse an undo or redo of files that changed since the operation that it reverts.

        `visible` is the tree of the files before the plan added ignored ones, `head` that of HEAD.
        """
        done, force = self._operation.reverts, self._request.force
        unfinished = self._operation.unfinished
        if LATER_CHANGES in force or not (done or unfinished):
            return
        if done is None:
            done, later = read_plan(unfinished[-1]), [*files.later]
        elif NEWER_TURNS in force:
            return
        else:
            later = self._changed_since(done, visible, files)
        later += staged_since(self._catalog, done, (visible, head), files.staged)
        if later:
            later = sorted({*later})
            raise _later_changes(self._operation, later, self._keeping(later, files.changes))

    def _keeping(self, later: Sequence[str], changes: Iterable[Change]) -> tuple[NextStep, ...]:
        """The restore of the other files, which keeps those that changed later."""
        others = sorted({change.path for change in changes}.difference(later))
        request, target = self._operation.plan.request, self._target.id
        is_listed = request.only is not None
        if self._operation.unfinished or not others or len(others if is_listed else later) > _NAMED:
            return ()
        if is_listed:
            paths = [f":(top,literal){path}" for path in others]
        else:
            paths = [*(request.from_top() or (":/",))]
            paths += [f":(top,exclude,literal){path}" for path in later]
        return (
            NextStep(
                "this restores only the other files: {}",
                RESTORE,
                target,
                typed=f"git boocode restore {target} -- {shell_command(*paths)}",
                given={"checkpoint": target, "paths": paths},
            ),
        )

    def _changed_since(self, done: RestorePlan, visible: str, files: FilePlan) -> list[str]:
        # A new file replaces nothing but ignored files.
        force = self._request.force
        changes = [c for c in files.changes if c.action != "create" or IGNORED not in force]
        later = changed_since(self._catalog, done, visible, changes) if changes else []
        left_so = self._as_left_by(done.id) if later else ()
        return [path for path in later if path not in left_so]

    @contextmanager
    def _objects_of(self, checkpoint: Checkpoint) -> Iterator[None]:
        """Name the checkpoint if its objects are missing, or its metadata is malformed."""
        try:
            yield
        except GitError as error:
            if error.code == "disk_full":
                raise
            why = error.stderr.strip() or error.message
            raise FatalError(
                f"checkpoint '{checkpoint.id}' is incomplete: {why}",
                code="missing_objects",
                hints=("nothing was changed; list the missing objects with: git fsck",),
            ) from error
        except MetadataError as error:
            raise self._catalog.unusable(checkpoint.id, error) from error

    def _result(self, snapshot: Snapshot, files: FilePlan) -> RestoreResult:
        plan, target = self._plan, self._target
        head = plan.move.new if plan.move else snapshot.head.commit
        back = target.ref.startswith(SAFETY) and plan.concerns_conversation
        removed = removed_commits(self._repository, plan.move) if plan.move else ()
        return RestoreResult(
            plan.kind,
            target,
            tuple(files.changes),
            tuple(files.staged),
            (*self._wanted.kept, *files.kept),
            files.missing,
            tuple(files.hooks_lost),
            index_reset=files.staging is not None,
            head_moved=plan.move is not None,
            branch=plan.move.branch if plan.move else "",
            removed_commits=tuple(removed),
            head_differs=target.meta.part("head", "commit") != head,
            dry_run=self._request.dry_run,
            callback=plan.callback,
            foreign=plan.concerns_conversation and self._conversation.is_foreign,
            conversation_left=back and not plan.callback and read_plan(target).callback,
            repairs=plan.repairs,
            blocked=bool(files.blocked),
            proposal=plan.proposal,
            step=plan.step,
            after=plan.kind == RESTORE and self._request.after,
            conversation_at=self._talk,
            open_turn=self._open_turn(),
        )

    def _refuse_unseen(self, result: RestoreResult) -> None:
        """Refuse changes of files that are not those of the dry run that the request names."""
        if self._request.seen not in ("", version_of(result)):
            raise RefusedError(
                "files have changed since you looked at what would change",
                code="conflict",
                hints=(
                    NextStep(
                        "nothing was changed; look at it again with {}",
                        "dry_run",
                        given={"dry_run": True, "expect": None},
                    ),
                ),
            )

    def _with_diff(self, result: RestoreResult, files: FilePlan) -> RestoreResult:
        if not self._request.diff:
            return result
        _, diff = compare_trees(self._repository, files.before, files.tree)
        return replace(result, diff=diff)

    def _open_turn(self) -> str:
        """The newest turn that an agent began, if that agent reports ends and has reported none.

        If that has ended, it is the newest of those that began before it and are still open.
        """
        triggers, refs = self._host.turn_triggers, self._catalog.store.refs
        for checkpoint in islice(self._catalog.history(), _SEARCHED):
            agent, trigger = (checkpoint.meta.text(key) for key in ("agent", "trigger"))
            if trigger in triggers.get(agent, ()):
                if not refs(f"{TURN_ENDS}{checkpoint.id}"):
                    return checkpoint.id
                break
        reported = read_turns(self._repository.state_dir)
        beside = open_beside((turn for turn in reported if turn.agent in triggers), "", "")
        open_ones = (each for each in beside if refs(f"{CHECKPOINTS}{each}"))
        return max((each for each in open_ones if not refs(f"{TURN_ENDS}{each}")), default="")

    def _is_done(self, files: FilePlan) -> bool:
        """Whether an operation that changes no file, staging and HEAD does nothing else either."""
        # An undo or redo is recorded even if it changes nothing, because the next one continues
        # from it. If ignored files are in the way it is not, so that it can be repeated with force.
        plan = self._plan
        if plan.kind != RESTORE and (plan.repairs or not files.blocked):
            return False
        return not (plan.callback or self._conversation.has_edits_to_revert or plan.returns)

    # Changing files, HEAD and conversation.

    def _begin(self, snapshot: Snapshot, files: FilePlan) -> Checkpoint:
        """Record that the operation has begun, and take the safety checkpoint."""
        repository, changes = self._repository, files.changes
        identifier, plan = self._catalog.store.new_id(), self._plan
        exact_now = record_exact(repository, snapshot, changes, self._exact)
        snapshot = snapshot._replace(exact=exact_now)
        private = snapshot.included.union(texts_of(self._target.meta, INCLUDED))
        exact = after_restore(repository, changes, snapshot.exact, self._exact, private)
        self._update = WorktreeUpdate(repository, snapshot, files._replace(exact=exact))
        if plan.proposal is not None and self._host.proposals is not None:
            newest = self._host.proposals.newest_id()
            plan = plan._replace(proposal=plan.proposal._replace(before=newest))
        # The note comes first: once the checkpoint exists, the history includes this operation.
        begin_restore(repository.state_dir, identifier)
        try:
            about = Metadata({}) if self._conversation.is_foreign else self._talk.meta
            trigger = plan.step.command if plan.step else RESTORE
            # No ref names a state that was made, and the end of a turn may be recorded again.
            is_own = self._operation.make is not None or plan.request.after
            made = [self._target.commit.id] if is_own else []
            safety = safety_checkpoint(
                repository, snapshot, about, plan.as_json(), identifier, trigger, keeping=made
            )
        except BaseException:
            # It may have failed behind the checkpoint, which would be one more step to undo.
            with suppress(BoocodeError):
                store = self._catalog.store
                refs = store.refs(f"{SAFETY}{identifier}")
                store.update_refs([RefChange(ref.name, None, ref.target) for ref in refs])
            end_restore(repository.state_dir, self._earlier)
            raise
        return safety

    def _carry_out(
        self, safety: Checkpoint, files: FilePlan, result: RestoreResult
    ) -> RestoreResult:
        plan, state_dir = self._plan, self._repository.state_dir
        self._conversation.begin(safety.id, files.changes)
        try:
            with self._signals.passing():
                if self._over is not None and self._request.conversation:
                    self._conversation.supersede(self._over)
                self._conversation.prepare()
                self._update.do()
                if plan.move is not None:
                    self._move_head(plan.move)
                answer = self._conversation.commit()
            moved = self._archive(safety)
            ignore_signals()
        except BaseException as error:
            failed = self._roll_back(safety, error)
            if self._forget(safety):
                end_restore(state_dir, self._earlier)
            if failed is not None:
                raise failed from error
            raise
        # An undo of an operation over an interrupted one exposes the latter again.
        over = read_plan(self._target).over if plan.kind == UNDO else ""
        end_restore(state_dir, over or None)
        log, edited = self._operation.log, self._conversation.files.paths
        result = replace(result, undo=safety.id, answer=answer, edited=edited)
        returns = log is not None and log.about is None
        return replace(result, returned=moved) if returns else replace(result, archived=moved)

    def _move_head(self, move: HeadMove) -> None:
        self._moved = move
        try:
            move.carry_out(self._repository, self._reflog)
        except BoocodeError:
            # Git refused, because another process has moved HEAD.
            self._moved = None
            raise

    def _archive(self, safety: Checkpoint) -> tuple[str, ...]:
        """Bring back a proposal; move checkpoints to the archive, or back to the log.

        Returns the ids of the checkpoints.
        """
        proposal, proposals = self._plan.proposal, self._host.proposals
        if proposal is not None and proposals is not None:
            proposals.bring_back(proposal)
        self._conversation.forget_obsolete()
        log = self._operation.log
        return log.carry_out(self._catalog, safety.id) if log is not None else ()

    # Rolling back.

    def _roll_back(self, safety: Checkpoint, error: BaseException) -> BoocodeError | None:
        """Roll everything back; returns an error to raise instead of `error`, with more details.

        FatalError (`rollback`) if something cannot be rolled back.
        """
        cause = from_os(error) if isinstance(error, OSError) else error
        reason = cause.message if isinstance(cause, BoocodeError) else type(error).__name__
        failures: list[str] = []
        warnings: list[str] = []
        try:
            _try("the host's files", self._conversation.files.roll_back, failures)
            if self._moved is not None:
                back = partial(self._moved.roll_back, self._repository, self._reflog)
                _try("HEAD", back, failures)
            _try("the files", self._update.roll_back, failures)
        finally:
            try:
                with self._signals.sparing_children():
                    self._conversation.roll_back(reason)
            except FatalError as second:
                # Not a hint, because hints can be silenced.
                warnings.append(f"the conversation may be incomplete: {second.message}")
        message = "\nand ".join((reason, *failures, *warnings))
        if failures:
            hint = NextStep(
                "the state before the restore is saved: {}",
                "restore",
                safety.id,
                typed=f"git boocode restore {safety.id}",
            )
            hints = cause.hints if isinstance(cause, FatalError) else ()
            raise FatalError(message, code="rollback", hints=(*hints, hint)) from error
        if isinstance(error, FatalError):
            hints = (*error.hints, "files and staging area are unchanged")
            return FatalError(
                message,
                code=error.code,
                hints=hints,
                details=error.details,
            )
        if warnings and isinstance(error, RefusedError):
            return RefusedError(
                message,
                code=error.code,
                hints=error.hints,
                details=error.details,
            )
        return None

    def _forget(self, safety: Checkpoint) -> bool:
        """Delete the safety checkpoint after a rollback, because there is nothing to undo.

        If that fails, the operation counts as interrupted, and undoing it is harmless.
        """
        try:
            self._catalog.store.update_refs([RefChange(safety.ref, None, safety.commit.id)])
        except BoocodeError:
            return False
        return True


def _try(subject: str, roll_back: Callable[[], None], failures: list[str]) -> None:
    """Roll one thing back; a failure is appended, so that the rest is rolled back anyway."""
    try:
        roll_back()
    except (BoocodeError, OSError) as error:
        cause = error if isinstance(error, BoocodeError) else from_os(error)
        failures.append(f"{subject} could not be rolled back: {cause.message}")


def _check_callback_stays(
    repository: Repository, callback: Callback, changes: Iterable[Change]
) -> None:
    own = os.path.relpath(os.path.realpath(callback.program), repository.worktree)
    if callback.function is None and any(change.path == own for change in changes):
        raise RefusedError(
            f"the restore would change the callback '{callback.program}'",
            code="conflict",
            hints=(
                NextStep(
                    "move it out of the worktree or ignore it, or skip it with {}", "files_only"
                ),
            ),
        )


def _blocked(files: FilePlan) -> RefusedError:
    kept = next(each for each in files.kept if "is in the way" in each.reason)
    return RefusedError(
        f"'{kept.path}' cannot be written: {kept.reason}",
        code="conflict",
        hints=("nothing was changed; move that file away, and run the command again",),
    )


def _later_changes(
    operation: Operation, paths: Sequence[str], keeping: tuple[NextStep, ...]
) -> RefusedError:
    """The refusal of an undo or redo that would replace what changed after it."""
    # A name must not look like a line of its own.
    named = ", ".join(f"'{' '.join(path.splitlines())}'" for path in paths[:_NAMED])
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    request, step = operation.plan.request, operation.step
    return RefusedError(
        f"{step} would replace later changes: {named}{more}",
        code="later_changes",
        hints=(*keeping, *request.ways_over(step, LATER_CHANGES)),
        details={"later_changes": [*paths]},
    )
