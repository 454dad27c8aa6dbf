"""Run a restore, undo or redo: all of it, or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

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
from git_boocode.checkpoints.restore.apply import (
    WorktreeUpdate,
    keeping_directory,
    refuse_to_replace_directory,
)
from git_boocode.checkpoints.restore.exact import after_restore, record_exact
from git_boocode.checkpoints.restore.file_plan import RestorePlan, RestorePlanner
from git_boocode.checkpoints.restore.hook_files import LostHooks
from git_boocode.checkpoints.restore.ignore_rules import files_written_by, user_files_of
from git_boocode.checkpoints.restore.operation import (
    Operation,
    OperationRecord,
    later_changes,
    read_record,
)
from git_boocode.checkpoints.restore.request import (
    IGNORED,
    LATER_CHANGES,
    NEWER_TURNS,
    REDO,
    RESTORE,
    UNDO,
    ProposalStep,
)
from git_boocode.checkpoints.store.catalog import (
    CHECKPOINTS,
    SAFETY,
    TURN_ENDS,
    Catalog,
    Change,
    Checkpoint,
    count_lines,
    tree_changes,
)
from git_boocode.checkpoints.store.commit import read_staging, safety_checkpoint
from git_boocode.checkpoints.store.origin import is_taken_here
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree.snapshot import ExactFiles, Snapshot
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError, from_os
from git_boocode.repo.gc import GcWatch, protect_from_gc
from git_boocode.repo.git import GitError
from git_boocode.repo.head_move import HeadMove, plan_move
from git_boocode.repo.ids import OBJECT_ID
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
from git_boocode.repo.store import Ref, RefChange

_SEARCHED = 50  # checkpoints among which the newest turn of an agent is


class Result(NamedTuple):
    """The result of an operation, or of its dry run."""

    kind: str  # `restore`, `undo` or `redo`
    checkpoint: Checkpoint  # the target
    changes: list[Change]  # the paths that changed
    kept: Sequence[Skipped]  # the paths that differ from the target and were kept, and why
    staged: Sequence[Change]  # the paths whose staging changed, as far as that is known
    index_reset: bool  # the staging area changed
    head_moved: bool
    head_differs: bool  # HEAD names another commit than the checkpoint recorded
    dry_run: bool
    callback: bool  # there is a callback
    foreign: bool  # the conversation was recorded elsewhere, so no callback was called
    conversation_left: bool  # not restored, because the callback that trimmed it is missing
    repairs: bool  # it reverted an interrupted operation
    blocked: bool  # paths were kept because ignored files are in the way
    hooks_lost: Sequence[LostHooks] = ()  # the files that lose our hooks
    proposal: ProposalStep | None = None  # the change of a proposal that was taken back or redone
    open_turn: Checkpoint | None = None  # an agent began this turn, and has reported no end of it
    undo: str | None = None  # the safety checkpoint; None if nothing was done
    answer: CallbackAnswer | None = None
    archived: Sequence[str] = []  # the checkpoints that left the log for the archive
    returned: Sequence[str] = []  # the checkpoints that returned from it
    edited: Sequence[str] = []  # the host's own files that were written, absolute
    # The added and removed lines of a dry run by path; None for binary files.
    lines: Mapping[str, tuple[int, int] | None] = MappingProxyType({})

    @property
    def changes_something(self) -> bool:
        """Whether the operation has an effect, as far as a dry run knows."""
        others = self.head_moved or self.callback or self.proposal
        return bool(self.changes or self.index_reset or others)


class Transaction:
    """Runs one operation."""

    def __init__(self, repository: Repository, catalog: Catalog, operation: Operation) -> None:
        self._repository = repository
        self._catalog = catalog
        self._operation = operation
        self._target = operation.target
        self._request = operation.request
        self._earlier = interrupted_restore(repository.state_dir)
        self._reflog = f"boocode {operation.kind}: moving to {operation.target.id}"
        self._callback: Callback | None = None
        self._exact: ExactFiles = {}  # what the target records beside its tree
        self._prepared = False
        self._moved: HeadMove | None = None

    def run(self) -> Result:
        """Run the operation; a refusal changes nothing, a failure is rolled back."""
        if self._request.dry_run:
            return self._run(None)
        return protect_from_gc(self._repository, self._run)

    def _run(self, watch: GcWatch | None) -> Result:
        """Scan, plan, then change files; without a watch, only plan."""
        repository = self._repository
        self._callback = self._find_callback()
        with scratch_directory(repository.state_dir, read_only=watch is None) as scratch:
            snapshot = take_snapshot(repository, scratch, partial(self._user_files, scratch))
            visible = snapshot.disk_tree
            plan = self._plan(snapshot)
            if watch is not None:
                self._refuse_later_changes(visible, snapshot.head.tree, plan)
            refuse_to_replace_directory(repository, plan.changes)
            # Make the result now, because nothing may fail after the files have changed.
            result = self._result(snapshot, plan)
            if watch is None:
                # In a partial clone the contents may be missing; the plan does not need them.
                with suppress(GitError):
                    lines = count_lines(repository.git, plan.before, plan.tree)
                    result = result._replace(lines=lines)
                return result
            if self._is_done(plan):
                end_restore(repository.state_dir)
                return result
            if not plan.is_empty:
                # The process that holds the lock may also be writing files.
                refuse_if_locked(repository.index_path)
            if self._callback is not None:
                _check_callback_stays(repository, self._callback, plan)
            with keeping_directory(repository, plan.changes), SignalsWait() as self._signals:
                safety = self._begin(snapshot, plan, watch)
                return self._carry_out(safety, plan, result)

    # Planning.

    def _find_callback(self) -> Callback | None:
        if not self._operation.concerns_conversation:
            return None
        if self._is_foreign:
            if self._request.callback is None and self._request.files:
                return None
            raise RefusedError(
                f"no callback is called for checkpoint '{self._operation.root.id}': nothing proves "
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
        if target.ref.startswith(SAFETY) and not read_record(target).callback:
            return None
        callback = self._request.agents.callbacks.get(target.meta.text("agent"))
        store = callback.store if callback else ""
        return callback if os.path.isfile(target.meta.part("anchor", "path") or store) else None

    @cached_property
    def _is_foreign(self) -> bool:
        """Whether the conversation was recorded elsewhere: its checkpoint could name any file."""
        target, root = self._target, self._operation.root
        if target.ref.startswith(SAFETY):
            root = read_record(target).root
        if not is_taken_here(self._repository, target):
            return True
        known = root.commit == target.commit.id
        first = None if known else checkpoint_at(self._catalog, root.id, root.commit)
        return first is not None and not is_taken_here(self._repository, first)

    def _has_edits_to_revert(self) -> bool:
        return self._operation.edits_of in operations_with_files(self._repository.state_dir)

    def _user_files(self, scratch: str, untracked: list[str]) -> set[str]:
        """The untracked files that the ignore rules before or after an operation ignore.

        They are visible only because the rules were replaced, so undo and redo do not touch them,
        nor does a restore over an interrupted operation.
        """
        repository, operation, request = self._repository, self._operation, self._request
        found: set[str] = set()
        returns = operation.kind != RESTORE or self._target.ref.startswith(SAFETY)
        for state in filter(None, (self._target if returns else None, operation.over)):
            is_target = state is self._target
            written = self._written if is_target else files_written_by(repository, state, request)
            with self._objects_of(state):
                found |= user_files_of(repository, state, written, untracked, scratch)
        return found

    def _plan(self, snapshot: Snapshot) -> RestorePlan:
        """Plan the changes; adds the ignored files that are replaced to the snapshot."""
        repository, operation = self._repository, self._operation
        request, target = self._request, self._target
        move = plan_move(repository, snapshot.head, operation.head) if operation.head else None
        if not request.files:
            return RestorePlan(snapshot.disk_tree, snapshot.disk_tree, [], move=move)
        with self._objects_of(target):
            planner = RestorePlanner(repository, snapshot, request, target, self._written)
            self._exact = planner.exact
            # The pathspecs of an undo or redo need not match anything any more.
            return planner.plan(each=operation.kind == RESTORE)._replace(move=move)

    def _refuse_later_changes(self, visible: str, head: str | None, plan: RestorePlan) -> None:
        """Refuse an undo or redo of files that changed since the operation that it reverts.

        `visible` is the tree of the files before the plan added ignored ones, `head` that of HEAD.
        """
        operation, force = self._operation, self._request.force
        if operation.reverts is None or force & {LATER_CHANGES, NEWER_TURNS}:
            return
        # A new file replaces nothing but ignored files.
        changes = [c for c in plan.changes if c.action != "create" or IGNORED not in force]
        left = self._differing(visible, operation.reverts) if changes else {}
        later = [
            change.path
            for change in changes
            if left is None
            or (change.path in left and left[change.path] != (change.old_mode, change.old_id))
        ]
        if later:
            files = ConversationFiles(self._repository, operation.reverts.id, None)
            later = sorted({*later} - files.as_left())
        later += self._staged_later((visible, head), plan, operation.reverts)
        if later:
            raise later_changes(operation, sorted({*later}))

    def _staged_later(
        self, held: Iterable[str | None], plan: RestorePlan, done: OperationRecord
    ) -> Iterator[str]:
        """The paths whose staged content is in none of the trees, and not from the operation."""
        staged = {c.path: c.old_id for c in plan.staged if c.old_id and c.action != "create"}
        target = checkpoint_at(self._catalog, done.target, done.target_commit) if staged else None
        staging = read_staging(self._repository, target.meta) if target else None
        trees = filter(None, (*held, staging.tree if staging else None))
        store, paths = self._catalog.store, sorted(staged)
        entries = [store.tree(tree, paths) for tree in trees] if staged else []
        for path, content in staged.items():
            if all(path not in found or found[path].id != content for found in entries):
                yield path

    def _differing(self, visible: str, done: OperationRecord) -> dict[str, tuple[str, str]] | None:
        """The mode and the id that an operation left of each path that differs now.

        None if that is unknown, because the target of the operation is gone.
        """
        store, git = self._catalog.store, self._repository.git
        if done.proposal is not None and not done.target_commit:
            wrote = {file.path: (file.mode, file.id) for file in done.written}
            absent = store.tree(visible, [*done.proposal.paths]).keys() - wrote.keys()
            return wrote | dict.fromkeys(absent, ("", ""))
        target = checkpoint_at(self._catalog, done.target, done.target_commit)
        if target is None:
            return None
        staging = read_staging(self._repository, target.meta)
        omitted = {entry.path for entry in staging.absent} if staging else set[str]()
        try:
            changes = tree_changes(git, visible, target.tree)
        except GitError:
            return None
        return {
            change.path: (change.mode, change.id)
            for change in changes
            if change.action != "create" or change.path not in omitted
        }

    @cached_property
    def _written(self) -> dict[str, Change]:
        if not self._target.ref.startswith(SAFETY):
            return {}
        return files_written_by(self._repository, self._target, self._request)

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

    def _result(self, snapshot: Snapshot, plan: RestorePlan) -> Result:
        operation, target = self._operation, self._target
        head = plan.move.new if plan.move else snapshot.head.commit
        back = target.ref.startswith(SAFETY) and operation.concerns_conversation
        return Result(
            operation.kind,
            target,
            plan.changes,
            plan.kept,
            plan.staged,
            index_reset=plan.staging is not None,
            head_moved=plan.move is not None,
            head_differs=target.meta.part("head", "commit") != head,
            dry_run=self._request.dry_run,
            callback=self._callback is not None,
            foreign=operation.concerns_conversation and self._is_foreign,
            conversation_left=back and self._callback is None and read_record(target).callback,
            repairs=operation.repairs,
            blocked=bool(plan.blocked),
            hooks_lost=plan.hooks_lost,
            proposal=operation.proposal,
            open_turn=self._open_turn(),
        )

    def _open_turn(self) -> Checkpoint | None:
        """The newest turn that an agent began, if that agent reports ends and has reported none."""
        triggers = self._request.agents.turn_triggers
        for checkpoint in islice(self._catalog.history(), _SEARCHED):
            agent, trigger = (checkpoint.meta.text(key) for key in ("agent", "trigger"))
            if trigger in triggers.get(agent, ()):
                ended = self._catalog.store.refs(f"{TURN_ENDS}{checkpoint.id}")
                return None if ended else checkpoint
        return None

    def _is_done(self, plan: RestorePlan) -> bool:
        # An undo or redo is recorded even if it changes nothing, because the next one continues
        # from it. If ignored files are in the way it is not, so that it can be repeated with force.
        operation = self._operation
        if operation.kind != RESTORE and (operation.repairs or not plan.blocked):
            return False
        others = self._callback or self._has_edits_to_revert() or operation.returns_checkpoints
        return plan.is_empty and not others

    # Changing files, HEAD and conversation.

    def _begin(self, snapshot: Snapshot, plan: RestorePlan, watch: GcWatch) -> Checkpoint:
        """Record that the operation has begun, and take the safety checkpoint."""
        repository, changes = self._repository, plan.changes
        identifier = self._catalog.store.new_id()
        snapshot.exact = record_exact(repository, snapshot, changes, self._exact)
        plan = plan._replace(exact=after_restore(repository, changes, snapshot.exact, self._exact))
        self._update = WorktreeUpdate(repository, snapshot, plan)
        called = self._callback is not None
        record = self._operation.as_json(plan.move, plan.blocked, callback=called)
        # The record comes first: once the checkpoint exists, the history includes this operation.
        begin_restore(repository.state_dir, identifier)
        try:
            about = Metadata({}) if self._is_foreign else self._target.meta
            safety = safety_checkpoint(repository, snapshot, about, record, identifier)
            watch.confirm(safety.ref, safety.commits)
        except BaseException:
            # It may have failed behind the checkpoint, which would be one more step to undo.
            with suppress(BoocodeError):
                store = self._catalog.store
                made = store.refs(f"{SAFETY}{identifier}")
                store.update_refs([RefChange(ref.name, None, ref.target) for ref in made])
            end_restore(repository.state_dir, self._earlier)
            raise
        return safety

    def _carry_out(self, safety: Checkpoint, plan: RestorePlan, result: Result) -> Result:
        repository = self._repository
        self._conversation = ConversationFiles(repository, safety.id, self._request.editor)
        if self._callback is not None:
            self._callback = self._callback._replace(event=self._event(safety, plan.changes))
        try:
            with self._signals.passing():
                if self._operation.over is not None and self._request.conversation:
                    self._supersede(self._operation.over)
                self._prepare()
                # Before files change: the update restores those in the worktree.
                other = self._operation.edits_of
                seen = self._conversation.read(other) if other else {}
                self._update.do()
                if plan.move is not None:
                    self._move_head(plan.move)
                answer = self._commit(seen)
            self._bring_back_proposal()
            moved = self._archive(safety)
            ignore_signals()
        except BaseException as error:
            failed = self._roll_back(safety, error)
            if self._forget(safety):
                end_restore(repository.state_dir, self._earlier)
            if failed is not None:
                raise failed from error
            raise
        end_restore(repository.state_dir, self._still_open())
        edited = self._conversation.paths
        result = result._replace(undo=safety.id, answer=answer, edited=edited)
        returns = self._operation.log is not None and self._operation.log.about is None
        return result._replace(returned=moved) if returns else result._replace(archived=moved)

    def _event(self, safety: Checkpoint, changes: list[Change]) -> dict[str, Any]:
        """The fields of every event of this operation; a redo names the restored checkpoint."""
        operation, checkpoint = self._operation, self._target
        if operation.kind == REDO:
            root = operation.root
            # The checkpoint may have been deleted; the conversation is known anyway.
            commit = checkpoint.commit._replace(id=root.commit)
            restored = checkpoint_at(self._catalog, root.id, root.commit)
            checkpoint = restored or checkpoint._replace(id=root.id, commit=commit)
        identity = (operation.kind, operation.event, safety.id)
        return self._event_of(identity, checkpoint, changes)

    def _event_of(
        self, operation: tuple[str, str, str], checkpoint: Checkpoint, changes: Iterable[Change]
    ) -> dict[str, Any]:
        """See `event_of`; an unknown agent keeps its transcripts in the worktree."""
        agent, top = checkpoint.meta.text("agent"), self._repository.worktree
        transcripts = self._request.agents.transcripts.get(agent, (top,))
        event = event_of(self._repository, operation, checkpoint, changes)
        return {**event, "transcripts": transcripts}

    def _supersede(self, over: Checkpoint) -> None:
        """Roll back the conversation of an interrupted operation, whose files are replaced anyway.

        Otherwise the host would have to trim a conversation that it has already trimmed.
        """
        self._conversation.revert(over.id, self._conversation.read(over.id), unchanged=True)
        if self._callback is not None and is_taken_here(self._repository, over):
            record = read_record(over)
            identifier, commit, commits = record.root[:3]
            if record.kind == UNDO:
                identifier, commit, commits = record.target, record.target_commit, UNDO
            event = self._event_of((record.kind, commits, over.id), over, ())
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
        conversation, operation = self._conversation, self._operation
        other, answer = operation.edits_of, None
        if self._callback is not None:
            answer = self._callback.commit(operation.event)
            if answer.edits:
                try:
                    conversation.edit(answer.edits)
                except BoocodeError as error:
                    problem = f"returned edits that cannot be applied: {error.message}"
                    raise self._callback.failed(problem) from error
        if other:
            conversation.revert(other, seen, unchanged=operation.kind == REDO)
        return answer

    def _bring_back_proposal(self) -> None:
        step, proposals = self._operation.proposal, self._request.proposals
        if step is not None and proposals is not None:
            proposals.bring_back(step)

    def _archive(self, safety: Checkpoint) -> list[str]:
        """Move checkpoints to the archive, or back to the log; returns their ids."""
        store, state_dir = self._catalog.store, self._repository.state_dir
        for other in operations_with_files(state_dir):
            if not store.refs(f"{SAFETY}{other}"):
                forget_files(state_dir, other)
        log = self._operation.log
        return log.carry_out(self._catalog, safety.id) if log is not None else []

    def _still_open(self) -> str | None:
        """The interrupted operation that an undo of the operation over it exposes again."""
        return read_record(self._target).over if self._operation.kind == UNDO else None

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


def checkpoint_at(catalog: Catalog, identifier: str, commit: str) -> Checkpoint | None:
    """A checkpoint by its id and commit, even without its ref; None if the commit is gone."""
    if not OBJECT_ID.fullmatch(commit):
        return None
    found = next(catalog.entries([Ref(f"{CHECKPOINTS}{identifier}", commit)]))
    return found if isinstance(found, Checkpoint) else None


def _try(subject: str, roll_back: Callable[[], None], failures: list[str]) -> None:
    """Roll one thing back; a failure is appended, so that the rest is rolled back anyway."""
    try:
        roll_back()
    except (BoocodeError, OSError) as error:
        cause = error if isinstance(error, BoocodeError) else from_os(error)
        failures.append(f"{subject} could not be rolled back: {cause.message}")


def _check_callback_stays(repository: Repository, callback: Callback, plan: RestorePlan) -> None:
    own = os.path.relpath(os.path.realpath(callback.program), repository.worktree)
    if callback.function is None and any(change.path == own for change in plan.changes):
        raise RefusedError(
            f"the restore would change the callback '{callback.program}'",
            code="conflict",
            hints=("move it out of the worktree or ignore it, or skip it with --files-only",),
        )
