"""Run a restore, undo or redo: all of it, or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

from git_boocode.checkpoints.callback import (
    AgentCallback,
    Callback,
    CallbackAnswer,
    event_of,
    find_callback,
)
from git_boocode.checkpoints.capture import safety_checkpoint
from git_boocode.checkpoints.conversation_files import (
    ConversationFiles,
    forget_files,
    operations_with_files,
)
from git_boocode.checkpoints.restore.apply import (
    WorktreeUpdate,
    keeping_directory,
    refuse_to_replace_directory,
)
from git_boocode.checkpoints.restore.exact import after_restore, record_exact
from git_boocode.checkpoints.restore.file_plan import FilePlan, FilePlanner
from git_boocode.checkpoints.restore.plan import (
    LogChange,
    RestorePlan,
    checkpoint_at,
    read_plan,
)
from git_boocode.checkpoints.restore.request import (
    IGNORED,
    LATER_CHANGES,
    NEWER_TURNS,
    REDO,
    RESTORE,
    UNDO,
    RestoreHost,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.restore.user_work import (
    changed_since,
    files_written_by,
    staged_since,
    user_files_of,
)
from git_boocode.checkpoints.store.catalog import (
    SAFETY,
    TURN_ENDS,
    Catalog,
    Change,
    Checkpoint,
    count_lines,
)
from git_boocode.checkpoints.store.origin import is_taken_here
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree.snapshot import ExactFiles, Snapshot
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError, from_os
from git_boocode.repo.gc import protect_from_gc
from git_boocode.repo.git import GitError
from git_boocode.repo.head import HeadMove, HeadTarget, plan_move
from git_boocode.repo.index import refuse_if_locked
from git_boocode.repo.lock import (
    begin_restore,
    end_restore,
    interrupted_restore,
    scratch_directory,
)
from git_boocode.repo.metadata import Metadata, MetadataError
from git_boocode.repo.process import SignalsWait, ignore_signals
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
        self._callback: Callback | None = None
        self._exact: ExactFiles = {}  # what the target records beside its tree
        self._prepared = False
        self._moved: HeadMove | None = None

    def run(self) -> RestoreResult:
        """Run the operation; a refusal changes nothing, a failure is rolled back."""
        return protect_from_gc(self._run)

    def _run(self) -> RestoreResult:
        """Scan, plan, then change files."""
        repository, dry_run = self._repository, self._request.dry_run
        self._callback = self._find_callback()
        with scratch_directory(repository.state_dir, read_only=dry_run) as scratch:
            snapshot = take_snapshot(repository, scratch, partial(self._user_files, scratch))
            visible, wanted = snapshot.disk_tree, self._operation.head
            move = plan_move(repository, snapshot.head, wanted) if wanted else None
            files = self._plan_files(snapshot)
            self._plan = self._plan._replace(
                move=move, blocked=files.blocked, callback=self._callback is not None
            )
            if not dry_run:
                self._refuse_later_changes(visible, snapshot.head.tree, files)
            refuse_to_replace_directory(repository, files.changes)
            # Make the result now, because nothing may fail after the files have changed.
            result = self._result(snapshot, files)
            if dry_run:
                # In a partial clone the contents may be missing; the plan does not need them.
                with suppress(GitError):
                    lines = count_lines(repository.git, files.before, files.tree)
                    result = replace(result, lines=lines)
                return result
            is_empty = files.is_empty and move is None
            if is_empty and self._is_done(files):
                end_restore(repository.state_dir)
                return result
            if not is_empty:
                # The process that holds the lock may also be writing files.
                refuse_if_locked(repository.index_path)
            if self._callback is not None:
                _check_callback_stays(repository, self._callback, files.changes)
            with keeping_directory(repository, files.changes), SignalsWait() as self._signals:
                safety = self._begin(snapshot, files)
                return self._carry_out(safety, files, result)

    # Planning.

    def _find_callback(self) -> Callback | None:
        if not self._plan.concerns_conversation:
            return None
        if self._is_foreign:
            if self._request.callback is None and self._request.files:
                return None
            raise RefusedError(
                f"no callback is called for checkpoint '{self._plan.root.id}': nothing proves "
                "that it was taken in this repository",
                code="untrusted",
                hints=("--files-only restores without the conversation",),
            )
        callback = find_callback(self._repository, self._request.callback, self._agent_callback())
        if callback is None and not self._request.files and not self._has_edits_to_revert():
            raise RefusedError(
                "cannot restore the conversation: no callback is configured",
                code="no_callback",
                hints=("set one: --callback <file>, or git config boocode.callback <file>",),
            )
        return callback

    def _agent_callback(self) -> AgentCallback | None:
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
    def _is_foreign(self) -> bool:
        """Whether the conversation was recorded elsewhere: its checkpoint could name any file."""
        target, root = self._target, self._plan.root
        if target.ref.startswith(SAFETY):
            root = read_plan(target).root
        if not is_taken_here(self._repository, target):
            return True
        known = root.commit == target.commit.id
        first = None if known else checkpoint_at(self._catalog, root.id, root.commit)
        return first is not None and not is_taken_here(self._repository, first)

    def _has_edits_to_revert(self) -> bool:
        return self._plan.edits_of in operations_with_files(self._repository.state_dir)

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

    def _plan_files(self, snapshot: Snapshot) -> FilePlan:
        """Plan the changes of files; adds what they replace or delete to the snapshot."""
        repository, target = self._repository, self._target
        if not self._request.files:
            return FilePlan(snapshot.disk_tree, snapshot.disk_tree, [])
        with self._objects_of(target):
            planner = FilePlanner(repository, snapshot, self._request, target, self._written)
            if hidden := planner.written_and_hidden():
                snapshot.force_add(hidden, repository.worktree)
            self._exact = planner.exact
            # The pathspecs of an undo or redo need not match anything any more.
            hook_files = self._host.hook_files
            files = planner.plan(hook_files, each=self._plan.kind == RESTORE)
            if files.in_the_way:
                # So that an undo brings them back.
                snapshot.force_add(files.in_the_way, repository.worktree)
                files = planner.plan(hook_files, added=files.in_the_way)
            return files

    def _refuse_later_changes(self, visible: str, head: str | None, files: FilePlan) -> None:
        """Refuse an undo or redo of files that changed since the operation that it reverts.

        `visible` is the tree of the files before the plan added ignored ones, `head` that of HEAD.
        """
        done, force = self._operation.reverts, self._request.force
        if done is None or force & {LATER_CHANGES, NEWER_TURNS}:
            return
        # A new file replaces nothing but ignored files.
        changes = [c for c in files.changes if c.action != "create" or IGNORED not in force]
        later = changed_since(self._catalog, done, visible, changes) if changes else []
        if later:
            left_so = ConversationFiles(self._repository, done.id, None).as_left()
            later = [path for path in later if path not in left_so]
        later += staged_since(self._catalog, done, (visible, head), files.staged)
        if later:
            raise _later_changes(self._operation, sorted({*later}))

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
        return RestoreResult(
            plan.kind,
            target,
            tuple(files.changes),
            tuple(files.staged),
            tuple(files.kept),
            tuple(files.hooks_lost),
            index_reset=files.staging is not None,
            head_moved=plan.move is not None,
            head_differs=target.meta.part("head", "commit") != head,
            dry_run=self._request.dry_run,
            callback=plan.callback,
            foreign=plan.concerns_conversation and self._is_foreign,
            conversation_left=back and not plan.callback and read_plan(target).callback,
            repairs=plan.repairs,
            blocked=bool(files.blocked),
            proposal=plan.proposal,
            open_turn=self._open_turn(),
        )

    def _open_turn(self) -> str:
        """The newest turn that an agent began, if that agent reports ends and has reported none."""
        triggers = self._host.turn_triggers
        for checkpoint in islice(self._catalog.history(), _SEARCHED):
            agent, trigger = (checkpoint.meta.text(key) for key in ("agent", "trigger"))
            if trigger in triggers.get(agent, ()):
                ended = self._catalog.store.refs(f"{TURN_ENDS}{checkpoint.id}")
                return "" if ended else checkpoint.id
        return ""

    def _is_done(self, files: FilePlan) -> bool:
        """Whether an operation that changes no file, staging and HEAD does nothing else either."""
        # An undo or redo is recorded even if it changes nothing, because the next one continues
        # from it. If ignored files are in the way it is not, so that it can be repeated with force.
        plan = self._plan
        if plan.kind != RESTORE and (plan.repairs or not files.blocked):
            return False
        return not (plan.callback or self._has_edits_to_revert() or plan.returns)

    # Changing files, HEAD and conversation.

    def _begin(self, snapshot: Snapshot, files: FilePlan) -> Checkpoint:
        """Record that the operation has begun, and take the safety checkpoint."""
        repository, changes = self._repository, files.changes
        identifier, plan = self._catalog.store.new_id(), self._plan
        snapshot.exact = record_exact(repository, snapshot, changes, self._exact)
        exact = after_restore(repository, changes, snapshot.exact, self._exact)
        self._update = WorktreeUpdate(repository, snapshot, files._replace(exact=exact))
        if plan.proposal is not None and self._host.proposals is not None:
            newest = self._host.proposals.newest_id()
            plan = plan._replace(proposal=plan.proposal._replace(before=newest))
        # The note comes first: once the checkpoint exists, the history includes this operation.
        begin_restore(repository.state_dir, identifier)
        try:
            about = Metadata({}) if self._is_foreign else self._target.meta
            safety = safety_checkpoint(repository, snapshot, about, plan.as_json(), identifier)
        except BaseException:
            # It may have failed behind the checkpoint, which would be one more step to undo.
            with suppress(BoocodeError):
                store = self._catalog.store
                made = store.refs(f"{SAFETY}{identifier}")
                store.update_refs([RefChange(ref.name, None, ref.target) for ref in made])
            end_restore(repository.state_dir, self._earlier)
            raise
        return safety

    def _carry_out(
        self, safety: Checkpoint, files: FilePlan, result: RestoreResult
    ) -> RestoreResult:
        repository, plan = self._repository, self._plan
        self._conversation = ConversationFiles(repository, safety.id, self._host.editor)
        if self._callback is not None:
            self._callback = self._callback._replace(event=self._event(safety, files.changes))
        try:
            with self._signals.passing():
                if self._over is not None and self._request.conversation:
                    self._supersede(self._over)
                self._prepare()
                # Before files change: the update restores those in the worktree.
                seen = self._conversation.read(plan.edits_of) if plan.edits_of else {}
                self._update.do()
                if plan.move is not None:
                    self._move_head(plan.move)
                answer = self._commit(seen)
            moved = self._archive(safety)
            ignore_signals()
        except BaseException as error:
            failed = self._roll_back(safety, error)
            if self._forget(safety):
                end_restore(repository.state_dir, self._earlier)
            if failed is not None:
                raise failed from error
            raise
        # An undo of an operation over an interrupted one exposes the latter again.
        over = read_plan(self._target).over if plan.kind == UNDO else ""
        end_restore(repository.state_dir, over or None)
        log, edited = self._operation.log, tuple(self._conversation.paths)
        result = replace(result, undo=safety.id, answer=answer, edited=edited)
        returns = log is not None and log.about is None
        return replace(result, returned=moved) if returns else replace(result, archived=moved)

    def _event(self, safety: Checkpoint, changes: list[Change]) -> dict[str, Any]:
        """The fields of every event of this operation; a redo names the restored checkpoint."""
        plan, checkpoint = self._plan, self._target
        if plan.kind == REDO:
            root = plan.root
            # The checkpoint may have been deleted; the conversation is known anyway.
            commit = checkpoint.commit._replace(id=root.commit)
            restored = checkpoint_at(self._catalog, root.id, root.commit)
            checkpoint = restored or checkpoint._replace(id=root.id, commit=commit)
        return self._event_of((plan.kind, plan.event, safety.id), checkpoint, changes)

    def _event_of(
        self, operation: tuple[str, str, str], checkpoint: Checkpoint, changes: Iterable[Change]
    ) -> dict[str, Any]:
        """See `event_of`; an unknown agent keeps its transcripts in the worktree."""
        agent, top = checkpoint.meta.text("agent"), self._repository.worktree
        transcripts = self._host.transcripts.get(agent, (top,))
        event = event_of(self._repository, operation, checkpoint, changes)
        return {**event, "transcripts": transcripts}

    def _supersede(self, over: Checkpoint) -> None:
        """Roll back the conversation of an interrupted operation, whose files are replaced anyway.

        Otherwise the host would have to trim a conversation that it has already trimmed.
        """
        self._conversation.revert(over.id, self._conversation.read(over.id), unchanged=True)
        if self._callback is not None and is_taken_here(self._repository, over):
            plan = read_plan(over)
            root = plan.root
            identifier, commit = root.id, root.commit
            if plan.kind == UNDO:
                identifier, commit = plan.target, plan.target_commit
            event = self._event_of((plan.kind, plan.event, over.id), over, ())
            event |= {"checkpoint_id": identifier, "commit": commit, "label": None}
            self._callback._replace(event=event).roll_back("it was interrupted")

    def _prepare(self) -> None:
        if self._callback is not None:
            self._callback.prepare()
            self._prepared = True

    def _move_head(self, move: HeadMove) -> None:
        self._moved = move
        try:
            move.carry_out(self._repository, self._reflog)
        except BoocodeError:
            # Git refused, because another process has moved HEAD.
            self._moved = None
            raise

    def _commit(self, seen: Mapping[str, bytes | None]) -> CallbackAnswer | None:
        """Restore the conversation: call the callback, apply its edits, revert earlier edits.

        `seen` are the files that earlier edits wrote, as they were before this operation.
        """
        conversation, plan, answer = self._conversation, self._plan, None
        if self._callback is not None:
            answer = self._callback.commit(plan.event)
            if answer.edits:
                try:
                    conversation.edit(answer.edits)
                except BoocodeError as error:
                    problem = f"returned edits that cannot be applied: {error.message}"
                    raise self._callback.failed(problem) from error
        if plan.edits_of:
            conversation.revert(plan.edits_of, seen, unchanged=plan.kind == REDO)
        return answer

    def _archive(self, safety: Checkpoint) -> tuple[str, ...]:
        """Bring back a proposal; move checkpoints to the archive, or back to the log.

        Returns the ids of the checkpoints.
        """
        proposal, proposals = self._plan.proposal, self._host.proposals
        if proposal is not None and proposals is not None:
            proposals.bring_back(proposal)
        store, state_dir = self._catalog.store, self._repository.state_dir
        for other in operations_with_files(state_dir):
            if not store.refs(f"{SAFETY}{other}"):
                forget_files(state_dir, other)
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
            _try("the host's files", self._conversation.roll_back, failures)
            if self._moved is not None:
                back = partial(self._moved.roll_back, self._repository, self._reflog)
                _try("HEAD", back, failures)
            _try("the files", self._update.roll_back, failures)
        finally:
            if self._callback is not None and self._prepared:
                try:
                    with self._signals.sparing_children():
                        self._callback.roll_back(reason)
                except FatalError as second:
                    # Not a hint, because hints can be silenced.
                    warnings.append(f"the conversation may be incomplete: {second.message}")
        message = "\nand ".join((reason, *failures, *warnings))
        if failures:
            hint = f"the state before the restore is saved: git boocode restore {safety.id}"
            hints = cause.hints if isinstance(cause, FatalError) else ()
            raise FatalError(message, code="rollback", hints=(*hints, hint)) from error
        if isinstance(error, FatalError):
            hints = (*error.hints, "files and staging area are unchanged")
            return FatalError(message, code=error.code, hints=hints, details=error.details)
        if warnings and isinstance(error, RefusedError):
            return RefusedError(message, code=error.code, hints=error.hints, details=error.details)
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
            hints=("move it out of the worktree or ignore it, or skip it with --files-only",),
        )


def _later_changes(operation: Operation, paths: Sequence[str]) -> RefusedError:
    """The refusal of an undo or redo that would replace what changed after it."""
    # A name must not look like a line of its own.
    named = ", ".join(f"'{' '.join(path.splitlines())}'" for path in paths[:_NAMED])
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    request, step = operation.plan.request._replace(paths=()), operation.step
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
