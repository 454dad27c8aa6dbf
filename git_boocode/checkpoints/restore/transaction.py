"""Carry out one restore, undo or redo: all of it, or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from git_boocode.checkpoints.callback import Callback, CallbackAnswer, event_of, find_callback
from git_boocode.checkpoints.conversation_files import (
    ConversationFiles,
    forget_files,
    operations_with_files,
)
from git_boocode.checkpoints.restore import apply, exact, file_plan, journal
from git_boocode.checkpoints.restore.file_plan import Goal, RestorePlan
from git_boocode.checkpoints.restore.ignore_rules import StateRules, went_to, written_after
from git_boocode.checkpoints.restore.operation import (
    REDO,
    RESTORE,
    UNDO,
    Operation,
    goes_before_operation,
    recorded,
)
from git_boocode.checkpoints.store.catalog import CHECKPOINTS, SAFETY, Catalog, Checkpoint
from git_boocode.checkpoints.store.changes import Change, count_lines
from git_boocode.checkpoints.store.commit import kept_staging, safety_checkpoint
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.pathspecs import Pathspecs
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError, from_os
from git_boocode.repo.gc import GcWatch, kept_from_gc
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import OBJECT_ID, new_id
from git_boocode.repo.index import refuse_if_locked
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.metadata import MetadataError
from git_boocode.repo.moving_head import HeadMove, plan_move
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange


class Result(NamedTuple):
    """What an operation did, or would do."""

    kind: str  # `restore`, `undo` or `redo`
    checkpoint: Checkpoint  # where it went
    changes: list[Change]  # the paths that changed
    kept: list[Skipped]  # the paths that differ from the checkpoint and were left alone, and why
    staged: list[Change]  # the paths whose staging changed, as far as that is known
    index_reset: bool  # the staging area changed
    head_moved: bool
    head_differs: bool  # HEAD names another commit than at the checkpoint
    dry_run: bool
    callback: bool  # there is a callback
    conversation_left: bool  # it was not restored: the callback that trimmed it is missing
    repairs: bool  # it reverted an operation that was interrupted
    blocked: bool  # some were left alone because ignored files are in the way
    undo: str | None = None  # the safety checkpoint of the state before; None: nothing was done
    answer: CallbackAnswer | None = None
    archived: Sequence[str] = []  # the checkpoints that went to, or came back from, the archive
    edited: Sequence[str] = []  # the host's own files that were written, absolute
    # Of a dry run, added and removed lines by path; None for what is not text.
    lines: Mapping[str, tuple[int, int] | None] = MappingProxyType({})

    @property
    def does_something(self) -> bool:
        """Whether anything changed, as far as that is known in advance."""
        return bool(self.changes or self.index_reset or self.head_moved or self.callback)


class Transaction:
    """One operation."""

    def __init__(self, repository: Repository, catalog: Catalog, operation: Operation) -> None:
        self._repository = repository
        self._catalog = catalog
        self._operation = operation
        self._target = operation.target
        self._request = operation.request
        self._earlier = journal.interrupted(repository.state_dir)
        self._reflog = f"boocode {operation.kind}: moving to {operation.target.id}"
        self._watch: GcWatch | None = None
        self._callback: Callback | None = None
        self._prepared = self._moved = False

    def run(self) -> Result:
        """Do it; if it is refused nothing was changed, and what fails is rolled back."""
        if self._request.dry_run:
            return self._run(None)
        return kept_from_gc(self._repository, self._run)

    def _run(self, watch: GcWatch | None) -> Result:
        """Look, plan, then carry it out; without a watch, only plan."""
        repository = self._repository
        self._watch = watch
        self._callback = self._find_callback()
        with scratch_directory(repository.state_dir, looking=watch is None) as scratch:
            user_files = partial(self._user_files, scratch)
            snapshot = take_snapshot(repository, scratch, user_files)
            plan = self._plan(snapshot)
            apply.refuse_to_replace_directory(repository, plan)
            # Before anything is done: afterwards nothing may fail any more.
            result = self._result(snapshot, plan)
            if watch is None:
                # In a partial clone the contents need not be here; what would be done is known.
                with suppress(GitError):
                    before, after = plan.before, plan.tree
                    return result._replace(lines=count_lines(repository.git, before, after))
                return result
            if self._is_done(plan):
                journal.end(repository.state_dir)
                return result
            if not plan.is_empty:
                # Who holds the lock may be writing files of the worktree as well.
                refuse_if_locked(repository.index_path)
            if self._callback is not None:
                _check_callback_stays(repository, self._callback, plan)
            with apply.keeping_directory(repository, plan):
                return self._carry_out(snapshot, plan, result)

    # Looking and planning.

    def _find_callback(self) -> Callback | None:
        if not self._operation.concerns_conversation:
            return None
        callback = find_callback(self._repository, self._request.callback)
        if callback is None and not self._request.files and not self._has_edits_to_revert():
            raise RefusedError(
                "there is no callback, and only it can restore the conversation",
                code="no_callback",
                hints=("name one: --callback <file>, or git config boocode.callback <file>",),
            )
        return callback

    def _has_edits_to_revert(self) -> bool:
        return self._operation.edits_of in operations_with_files(self._repository.state_dir)

    def _user_files(self, scratch: str, untracked: list[str]) -> set[str]:
        """The untracked files that the rules from before or after an operation ignore.

        They are visible only because the rules were replaced; undo and redo leave them alone. The
        same holds for a restore over an interrupted operation.
        """
        operation, repository = self._operation, self._repository
        returns = operation.kind != RESTORE or self._target.ref.startswith(SAFETY)
        states = (self._target if returns else None, operation.over)
        found: set[str] = set()
        for state in filter(None, states):
            own = state is self._target
            written = self._written if own else written_after(repository, state, self._request)
            with self._objects_of(state):
                rules = StateRules(repository, state.tree, written)
                found |= rules.user_files(untracked, scratch)
            if target := went_to(repository, state):
                # By its rules, files were left out of this state.
                rules = StateRules(repository, target, written, state.tree)
                # It may have been dropped since.
                with suppress(GitError):
                    found |= rules.user_files(untracked, scratch)
        return found

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
                hints=("nothing was changed; 'git fsck' reports what the repository has lost",),
            ) from error
        except MetadataError as error:
            raise self._catalog.unusable(checkpoint.id, error) from error

    def _plan(self, snapshot: Snapshot) -> RestorePlan:
        """What changes; the snapshot takes in what is replaced though ignored."""
        head, tree = self._operation.head, snapshot.disk_tree
        move = plan_move(self._repository, snapshot.head, head) if head is not None else None
        if not self._request.files:
            return RestorePlan(tree, tree, [], [], is_whole=True, move=move)
        with self._objects_of(self._target):
            return self._plan_files(snapshot)._replace(move=move)

    def _plan_files(self, snapshot: Snapshot) -> RestorePlan:
        repository, request, target = self._repository, self._request, self._target
        staging = kept_staging(repository, target.meta)
        goal = Goal(
            file_plan.disk_tree(snapshot, target.tree, staging),
            staging,
            target.meta.skipped_paths,
            self._written,
            replaces_ignored="ignored" in request.force,
        )
        if hidden := file_plan.written_and_hidden(repository, snapshot, goal):
            snapshot.force_add(hidden, repository.worktree)
        if request.paths:
            pathspecs = Pathspecs(repository.worktree, request.prefix, request.paths)
            views = file_plan.index_views(snapshot, goal)
            # What they matched once may be nowhere by now.
            each = self._operation.kind == RESTORE
            goal = goal._replace(paths=pathspecs.matching(views, each=each))
        plan = file_plan.plan_files(repository, snapshot, goal)
        if plan.in_the_way:
            snapshot.force_add(plan.in_the_way, repository.worktree)
            plan = file_plan.plan_files(repository, snapshot, goal, plan.in_the_way)
        # Who goes back to the state before an operation gets what was staged then in any case.
        own = goes_before_operation(repository, target)
        nested = frozenset[str]() if own else plan.nested
        return plan._replace(
            changes=plan.changes + self._lost(snapshot, plan, goal),
            staging=file_plan.plan_staging(repository, snapshot, goal, nested),
        )

    @cached_property
    def _written(self) -> dict[str, Change]:
        return written_after(self._repository, self._target, self._request)

    @cached_property
    def _exact(self) -> dict[str, exact.ExactFile]:
        """What the target records beside its tree; of what was fetched, nothing counts."""
        return {} if self._target.remote else exact.read_exact(self._repository, self._target.meta)

    def _lost(self, snapshot: Snapshot, plan: RestorePlan, goal: Goal) -> list[Change]:
        """The files of which only git's form is as recorded."""
        if not self._exact:
            return []
        planned = {change.path for change in plan.changes} | {kept.path for kept in plan.kept}
        paths = self._exact.keys() - planned
        if goal.paths is not None:
            paths &= goal.paths
        return exact.ExactRecorder(self._repository, snapshot, self._exact).lost(sorted(paths))

    def _result(self, snapshot: Snapshot, plan: RestorePlan) -> Result:
        operation, target = self._operation, self._target
        head = plan.move.new if plan.move else snapshot.head.commit
        back = target.ref.startswith(SAFETY) and operation.concerns_conversation
        return Result(
            operation.kind,
            target,
            plan.changes,
            plan.kept,
            plan.staging.staged if plan.staging else [],
            index_reset=plan.staging is not None,
            head_moved=plan.move is not None,
            head_differs=target.meta.part("head", "commit") != head,
            dry_run=self._request.dry_run,
            callback=self._callback is not None,
            conversation_left=back and self._callback is None and recorded(target).callback,
            repairs=operation.repairs,
            blocked=bool(plan.blocked),
        )

    def _is_done(self, plan: RestorePlan) -> bool:
        # An undo or a redo is recorded even if it changes nothing: the next one continues from
        # there. Not if ignored files are in the way: then it can be repeated with force.
        operation = self._operation
        if operation.kind != RESTORE and (operation.repairs or not plan.blocked):
            return False
        others = self._callback or self._has_edits_to_revert() or operation.returns_checkpoints
        return plan.is_empty and not others

    # Carrying it out.

    def _carry_out(self, snapshot: Snapshot, plan: RestorePlan, result: Result) -> Result:
        repository = self._repository
        with self._objects_of(self._target):
            tree = plan.write_tree(snapshot)
            staging = plan.staging.write_staging(snapshot) if plan.staging else None
        changes = plan.changes
        snapshot.exact = exact.ExactRecorder(repository, snapshot, self._exact).record(changes)
        after = exact.after_restore(repository, changes, snapshot.exact, self._exact)
        plan = plan._replace(exact=after)
        safety = self._keep_before(snapshot, plan)
        self._update = apply.WorktreeUpdate(repository, snapshot, plan, tree, staging)
        self._conversation = ConversationFiles(repository, safety.id, self._request.editor)
        if self._callback is not None:
            self._callback = self._callback.about(self._event(safety, changes))
        try:
            self._supersede()
            self._prepare()
            self._update.do()
            self._move_head(plan.move)
            answer = self._commit()
            archived = self._archive(safety)
        except BaseException as error:
            failed = self._roll_back(safety, plan.move, error)
            if self._forget(safety):
                journal.end(repository.state_dir, self._earlier)
            if failed is not None:
                raise failed from error
            raise
        journal.end(repository.state_dir, self._still_open())
        edited = self._conversation.paths
        return result._replace(undo=safety.id, answer=answer, archived=archived, edited=edited)

    def _keep_before(self, snapshot: Snapshot, plan: RestorePlan) -> Checkpoint:
        """Take the safety checkpoint, and note that the operation has begun."""
        repository, identifier = self._repository, new_id()
        called = self._callback is not None
        record = self._operation.as_json(plan.move, plan.blocked, callback=called)
        # Noted before the checkpoint is taken: from then on, history knows of this operation.
        journal.begin(repository.state_dir, identifier)
        try:
            safety = safety_checkpoint(repository, snapshot, self._target.meta, record, identifier)
            if self._watch is not None:
                self._watch.confirm(safety.ref, safety.commits)
        except BaseException:
            journal.end(repository.state_dir, self._earlier)
            raise
        return safety

    def _supersede(self) -> None:
        """Take the conversation out of an interrupted operation, whose files need no going back.

        What the host has trimmed, it could not trim once more.
        """
        over = self._operation.over
        if over is None or not self._request.conversation:
            return
        self._conversation.revert(over.id, self._conversation.look(over.id), unchanged=True)
        if self._callback is not None:
            record = recorded(over)
            commits = UNDO if record.kind == UNDO else record.root.event
            event = event_of(self._repository, (record.kind, commits, over.id), over, ())
            about = (record.target, record.target_commit)
            identifier, commit = about if record.kind == UNDO else record.root[:2]
            event |= {"checkpoint_id": identifier, "commit": commit, "label": None}
            self._callback.about(event).roll_back("it was interrupted")

    def _prepare(self) -> None:
        if self._callback is not None:
            self._callback.prepare()
            self._prepared = True

    def _move_head(self, move: HeadMove | None) -> None:
        if move is None:
            return
        self._moved = True
        try:
            move.carry_out(self._repository, self._reflog)
        except BoocodeError:
            # Git refused, so HEAD is wherever someone else has moved it.
            self._moved = False
            raise

    def _commit(self) -> CallbackAnswer | None:
        """Let the conversation follow: by the callback, by edits it asks for, by what was kept."""
        conversation, operation = self._conversation, self._operation
        other = operation.edits_of
        seen = conversation.look(other) if other else {}
        answer = None
        if self._callback is not None:
            answer = self._callback.commit(operation.event)
            if answer.edits:
                try:
                    conversation.edit(answer.edits)
                except BoocodeError as error:
                    raise self._callback.asked_for_wrong_edits(error) from error
        if other:
            conversation.revert(other, seen, unchanged=operation.kind == REDO)
        return answer

    def _archive(self, safety: Checkpoint) -> list[str]:
        store, state_dir = self._catalog.store, self._repository.state_dir
        for other in operations_with_files(state_dir):
            if not store.refs(f"{SAFETY}{other}"):
                forget_files(state_dir, other)
        log = self._operation.log
        return log.carry_out(self._catalog, safety.id) if log is not None else []

    def _still_open(self) -> str | None:
        """The interrupted operation that there is again, once another one over it is undone."""
        return recorded(self._target).over if self._operation.kind == UNDO else None

    def _event(self, safety: Checkpoint, changes: list[Change]) -> dict[str, Any]:
        """What every event of this operation reports: of a redo, what was restored first."""
        operation, whose = self._operation, self._target
        if operation.kind == REDO:
            root = operation.root
            # Its ref may be gone, and itself in time; the conversation is known anyway.
            commit = whose.commit._replace(id=root.commit)
            found = checkpoint_at(self._catalog, root.id, root.commit)
            whose = found or whose._replace(id=root.id, commit=commit)
        what = (operation.kind, operation.event, safety.id)
        return event_of(self._repository, what, whose, changes)

    # Rolling it back.

    def _roll_back(
        self, safety: Checkpoint, move: HeadMove | None, error: BaseException
    ) -> BoocodeError | None:
        """Roll everything back; returns the error to raise instead if there is more to say.

        If something could not be rolled back, that is raised (`rollback`).
        """
        known = from_os(error) if isinstance(error, OSError) else error
        reason = known.message if isinstance(known, BoocodeError) else type(error).__name__
        failures: list[str] = []
        doubt: list[str] = []
        try:
            _try("the host's files", self._conversation.roll_back, failures)
            if move is not None and self._moved:
                back = partial(move.roll_back, self._repository, self._reflog)
                _try("HEAD", back, failures)
            _try("the files", self._update.roll_back, failures)
        finally:
            if self._callback is not None and self._prepared:
                try:
                    self._callback.roll_back(reason)
                except FatalError as second:
                    # Not a hint, which can be silenced.
                    doubt.append(f"the conversation may be in doubt: {second.message}")
        if failures:
            safe = f"the state before is safe: git boocode restore {safety.id}"
            why = known.hints if isinstance(known, FatalError) else ()
            raise FatalError(
                "\nand ".join((reason, *failures, *doubt)), code="rollback", hints=(*why, safe)
            ) from error
        if not isinstance(error, FatalError) and not (doubt and isinstance(error, RefusedError)):
            return None
        kind = FatalError if isinstance(error, FatalError) else RefusedError
        more = ("files and staging are as they were before",) if kind is FatalError else ()
        message = "\nand ".join((reason, *doubt))
        return kind(message, code=error.code, hints=error.hints + more, details=error.details)

    def _forget(self, safety: Checkpoint) -> bool:
        """Drop a safety checkpoint after a rollback, as there is nothing to undo.

        If that fails, the operation counts as interrupted, and undoing it does no harm.
        """
        try:
            self._catalog.store.update_refs([RefChange(safety.ref, None, safety.commit.id)])
        except BoocodeError:
            return False
        return True


def checkpoint_at(catalog: Catalog, identifier: str, commit: str) -> Checkpoint | None:
    """A checkpoint by its id and commit, whatever has become of its ref; None if it is gone."""
    if not OBJECT_ID.fullmatch(commit):
        return None
    found = next(catalog.entries([Ref(f"{CHECKPOINTS}{identifier}", commit)]))
    return found if isinstance(found, Checkpoint) else None


def _try(what: str, roll_back: Callable[[], None], failures: list[str]) -> None:
    """Roll one thing back; if that fails, the others are rolled back anyway."""
    try:
        roll_back()
    except (BoocodeError, OSError) as error:
        why = error if isinstance(error, BoocodeError) else from_os(error)
        failures.append(f"{what} could not be rolled back: {why.message}")


def _check_callback_stays(repository: Repository, callback: Callback, plan: RestorePlan) -> None:
    own = os.path.relpath(os.path.realpath(callback.program), repository.worktree)
    if any(change.path == own for change in plan.changes):
        raise RefusedError(
            f"callback '{callback.program}' is itself among the files to restore",
            code="conflict",
            hints=("keep it outside the worktree, or ignored; or skip it with --files-only",),
        )
