"""One restore, undo or redo, from looking at the worktree to the answer: all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from git_boocode.checkpoints.callback import Answer, Callback, find_callback
from git_boocode.checkpoints.conversation_files import (
    Transcripts,
    forget_files,
    operations_with_files,
)
from git_boocode.checkpoints.restore import journal
from git_boocode.checkpoints.restore.apply import (
    Work,
    keeping_directory,
    refuse_to_replace_directory,
)
from git_boocode.checkpoints.restore.archive import bring_back, put_away
from git_boocode.checkpoints.restore.choice import Choice, choose, mix
from git_boocode.checkpoints.restore.events import event, interrupted_event
from git_boocode.checkpoints.restore.exact import (
    ExactFile,
    ExactRecorder,
    after_restore,
    read_exact,
)
from git_boocode.checkpoints.restore.history import REDO, RESTORE, UNDO
from git_boocode.checkpoints.restore.ignore_rules import StateRules
from git_boocode.checkpoints.restore.operation import Course, Scope, Told, checkpoint_at
from git_boocode.checkpoints.restore.outcome import Manner, Outcome
from git_boocode.checkpoints.restore.plan import Plan, disk_tree, plan_restore, take_in_hidden
from git_boocode.checkpoints.store.catalog import ARCHIVE, SAFETY, Catalog, Checkpoint
from git_boocode.checkpoints.store.changes import Change, count_lines, staged_changes, tree_changes
from git_boocode.checkpoints.store.commit import kept_staging, safety_checkpoint
from git_boocode.checkpoints.worktree.pathspecs import Pathspecs
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError, from_os
from git_boocode.repo.gc import GcWatch, kept_from_gc
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.ids import OBJECT_ID, new_id
from git_boocode.repo.index import refuse_if_locked
from git_boocode.repo.metadata import MetadataError
from git_boocode.repo.moving_head import HeadMove, MovingHead, plan_move
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory
from git_boocode.repo.signals import ended_by_signals
from git_boocode.repo.store import Ref, RefChange


class _Steps(NamedTuple):
    """What is to be done, and what takes it back."""

    safety: Checkpoint
    work: Work
    head: MovingHead
    transcripts: Transcripts
    callback: Callback | None


class Transaction:
    """One operation.

    Args:
        repository: the repository.
        course: what to do.
        manner: how to do it.
    """

    def __init__(self, repository: Repository, course: Course, manner: Manner) -> None:
        self._repository = repository
        self._course = course
        self._target = course.target
        self._manner = manner
        self._told = False
        self._watch: GcWatch | None = None
        self._callback: Callback | None = None
        self._earlier = journal.interrupted(repository.state_dir)

    def run(self) -> Outcome:
        """Do it.

        Raises:
            RefusedError: nothing was changed.
            FatalError: a step failed, and what had been done was rolled back.
        """
        if self._manner.dry_run:
            return self._run(None)
        return kept_from_gc(self._repository, self._run)

    def _run(self, watch: GcWatch | None) -> Outcome:
        self._watch = watch
        repository = self._repository
        self._callback = self._find_callback()
        with scratch_directory(repository.state_dir, looking=self._manner.dry_run) as scratch:
            snapshot = take_snapshot(
                repository, scratch, lambda paths: self._user_files(paths, scratch)
            )
            move = self._plan_move(snapshot)
            plan, staging = self._plan(snapshot)
            refuse_to_replace_directory(repository, plan)
            # Before anything is done: afterwards nothing may fail any more.
            outcome = self._outcome(snapshot, plan, staging, move)
            if watch is None:
                return self._preview(plan, outcome)
            if self._is_done(plan, staging, move):
                journal.end(repository.state_dir)
                return outcome
            if plan.changes or staging is not None or move is not None:
                # Who holds the lock may be writing files of the worktree as well.
                refuse_if_locked(repository.index_path)
            if self._callback is not None:
                _check_callback_stays(repository, self._callback, plan)
            with ended_by_signals(), keeping_directory(repository, plan):
                done = self._carry_out(snapshot, plan, staging, move)
                return outcome._replace(**done)

    def _user_files(self, untracked: list[str], scratch: str) -> set[str]:
        """The untracked files that the rules from before or after an operation ignore.

        They are visible only because the rules were replaced; undo and redo leave them alone. The
        same holds for a restore over an interrupted operation.
        """
        found: set[str] = set()
        returns = self._course.kind != RESTORE or self._target.ref.startswith(SAFETY)
        states = [self._target] if returns else []
        over = self._interrupted() if self._course.kind == RESTORE else None
        for state in (*states, *([over] if over else [])):
            written = _written_by(self._repository, state, self._course.scope)
            rules = StateRules(self._repository, state.tree, written)
            try:
                found |= rules.user_files(untracked, scratch)
            except GitError as error:
                if error.code == "disk_full":
                    raise
                raise _missing_objects(state, error) from error
            if went_to := _went_to(self._repository, state):
                # By its rules, files were left out of this state.
                rules = StateRules(self._repository, went_to, written, state.tree)
                # It may have been dropped since.
                with suppress(GitError):
                    found |= rules.user_files(untracked, scratch)
        return found

    def _preview(self, plan: Plan, outcome: Outcome) -> Outcome:
        # In a partial clone the contents need not be here; what would be done is known.
        with suppress(GitError):
            lines = count_lines(self._repository.git, plan.before, plan.target)
            return outcome._replace(lines=lines)
        return outcome

    def _is_done(self, plan: Plan, staging: Staging | None, move: HeadMove | None) -> bool:
        # An undo or a redo is noted even if it changes nothing: the next one continues from there.
        # Not if ignored files are in the way: then it can be repeated with force.
        course = self._course
        unnoted = course.kind == RESTORE or (bool(plan.blocked) and not course.mends)
        todo = plan.changes or staging is not None or move is not None
        returns = self._returns and self._archived_before()
        others = self._callback or self._has_files_to_put_back() or returns
        return unnoted and not (todo or others)

    def _find_callback(self) -> Callback | None:
        if not self._course.is_told:
            return None
        callback = find_callback(self._repository, self._manner.callback)
        if callback is None and not self._course.scope.files and not self._has_files_to_put_back():
            raise RefusedError(
                "there is no callback, and only it can restore the conversation",
                code="no_callback",
                hints=("name one: --callback <file>, or git config boocode.callback <file>",),
            )
        return callback

    def _has_files_to_put_back(self) -> bool:
        return self._other() in operations_with_files(self._repository.state_dir)

    def _plan_move(self, snapshot: Snapshot) -> HeadMove | None:
        wish = self._course.head
        if wish is None:
            return None
        asked = wish.leave is None
        stay = "without --head, HEAD stays" if asked else "with --no-head, HEAD stays"
        move = plan_move(self._repository, snapshot.head, wish.ref, wish.commit, stay)
        if move is not None and wish.leave is not None and move.old not in wish.leave:
            raise RefusedError(
                f"HEAD has been moved since, to {move.old or 'an unborn branch'}",
                code="head_moved",
                hints=(f"{stay} where it is, and all else is brought back",),
            )
        return move

    def _plan(self, snapshot: Snapshot) -> tuple[Plan, Staging | None]:
        """What to do to the files, and what to stage; None if that is to stay as it is."""
        if not self._course.scope.files:
            return Plan(snapshot.disk_tree, snapshot.disk_tree, [], []), None
        target = self._target
        try:
            staging = self._kept_staging(snapshot)
            tree = disk_tree(snapshot, target.tree, staging)
            ours = _written_by(self._repository, target, self._course.scope)
            take_in_hidden(self._repository, snapshot, tree, ours)
            skipped = frozenset(path for path, _ in snapshot.skipped) | target.meta.skipped_paths
            choice = self._choose(snapshot, staging)
            plan = plan_restore(
                *(self._repository, snapshot, tree, skipped, ours, choice, staging),
                self._manner.force,
            )
            plan = self._with_lost(snapshot, plan, choice)
            nested = self._not_to_be_staged(plan)
            if staging is not None and (choice is not None or nested):
                empty = self._repository.empty_tree
                return plan, mix(snapshot, staging, choice, nested, empty)
        except GitError as error:
            if error.code == "disk_full":
                raise
            raise _missing_objects(target, error) from error
        except MetadataError as error:
            raise Catalog(self._repository).unusable(target.id, error) from error
        return plan, None if staging == snapshot.staging else staging

    def _with_lost(self, snapshot: Snapshot, plan: Plan, choice: Choice | None) -> Plan:
        """The plan, and the files of which only git's form is as recorded."""
        if not self._exact:
            return plan
        planned = {change.path for change in plan.changes} | {kept.path for kept in plan.kept}
        paths = self._exact.keys() - planned
        if choice is not None:
            paths &= choice.paths
        lost = ExactRecorder(self._repository, snapshot, self._exact).lost(sorted(paths))
        return plan._replace(changes=[*plan.changes, *lost])

    @cached_property
    def _exact(self) -> dict[str, ExactFile]:
        """What the target records beside its tree; of what was fetched, nothing counts."""
        return {} if self._target.remote else read_exact(self._repository, self._target.meta)

    def _record_exact(self, snapshot: Snapshot, plan: Plan) -> Plan:
        """Record what the tree loses of what goes; the plan, with what is to come instead."""
        recorder = ExactRecorder(self._repository, snapshot, self._exact)
        snapshot.exact = recorder.record(plan.changes)
        exact = after_restore(self._repository, plan.changes, snapshot.exact, self._exact)
        return plan._replace(exact=exact)

    def _not_to_be_staged(self, plan: Plan) -> frozenset[str]:
        """The nested repositories below which nothing is to be staged.

        Whoever goes back to the state before an operation gets what was staged then, though.
        """
        returns = self._target.ref.startswith(SAFETY) and _is_of(self._repository, self._target)
        return frozenset() if returns else plan.nested

    def _choose(self, snapshot: Snapshot, staging: Staging | None) -> Choice | None:
        scope = self._course.scope
        if not scope.paths:
            return None
        pathspecs = Pathspecs(self._repository.worktree, scope.prefix, scope.paths)
        # What they matched once may be nowhere by now.
        each = self._course.kind == RESTORE
        return choose(pathspecs, snapshot, self._target.tree, staging, each=each)

    def _kept_staging(self, snapshot: Snapshot) -> Staging | None:
        staging = kept_staging(self._repository, self._target.meta)
        if staging is not None and staging != snapshot.staging:
            # Before anything is touched: the tree may have been lost, or be no tree.
            self._repository.git.run("rev-parse", "--verify", f"{staging.tree}^{{tree}}")
        return staging

    def _carry_out(
        self, snapshot: Snapshot, plan: Plan, staging: Staging | None, move: HeadMove | None
    ) -> dict[str, Any]:
        """Do it, and give what only then is known of the outcome."""
        repository = self._repository
        over = self._interrupted() if self._course.kind == RESTORE else None
        plan = self._record_exact(snapshot, plan)
        safety = self._keep_before(snapshot, move, over, plan.blocked)
        steps = _Steps(
            safety,
            Work(repository, snapshot, plan, staging),
            MovingHead(
                repository, move, f"boocode {self._course.kind}: moving to {self._target.id}"
            ),
            Transcripts(repository.worktree, repository.state_dir, safety.id, self._manner.editor),
            self._callback and self._callback.about(self._event(safety, plan)),
        )
        try:
            if over is not None:
                self._supersede(over, steps)
            self._prepare(steps.callback)
            steps.work.do()
            steps.head.do()
            answer = self._commit(steps)
            archived = self._archive(safety)
        except BaseException as error:
            self._roll_back(steps, error)
            if self._forget(safety):
                journal.revert(repository.state_dir, self._earlier)
            if isinstance(error, FatalError):
                error.hints += ("files and staging are as they were before",)
            raise
        journal.revert(repository.state_dir, self._still_open())
        edited = steps.transcripts.paths
        return {"undo": safety.id, "answer": answer, "archived": archived, "edited": edited}

    def _keep_before(
        self,
        snapshot: Snapshot,
        move: HeadMove | None,
        over: Checkpoint | None,
        blocked: frozenset[str],
    ) -> Checkpoint:
        """Take the safety checkpoint, and note that the operation has begun."""
        repository, course = self._repository, self._course
        identifier = new_id()
        # Noted before the checkpoint is taken: from then on, history tells of this operation.
        journal.begin(repository.state_dir, identifier)
        try:
            safety = safety_checkpoint(
                repository,
                snapshot,
                self._target.meta,
                course.describe(
                    move,
                    over and over.id,
                    callback=self._callback is not None,
                    returns=self._returns and bool(self._archived_before()),
                )
                | {"blocked": sorted(blocked)},
                identifier,
            )
            if self._watch is not None:
                self._watch.confirm(safety.ref, safety.commits)
        except BaseException:
            journal.revert(repository.state_dir, self._earlier)
            raise
        return safety

    def _interrupted(self) -> Checkpoint | None:
        """The safety checkpoint of an interrupted operation that this one is done over."""
        safety = Catalog(self._repository).safety() if self._earlier is not None else []
        return next((entry for entry in safety if entry.id == self._earlier), None)

    def _supersede(self, over: Checkpoint, steps: _Steps) -> None:
        """Take the conversation out of an interrupted operation, whose files need no going back.

        What the host cut, it could not cut once more.
        """
        if not self._course.scope.conversation:
            return
        seen = steps.transcripts.look(over.id)
        steps.transcripts.put_back(over.id, seen, unchanged=True)
        if self._callback is not None:
            about = interrupted_event(self._repository, over)
            self._callback.about(about).rollback("it was interrupted")

    def _still_open(self) -> str | None:
        """The interrupted operation that there is again, once another one over it is undone."""
        if self._course.kind != UNDO:
            return None
        return Told(self._target).over

    def _prepare(self, callback: Callback | None) -> None:
        if callback is not None:
            callback.prepare()
            self._told = True

    def _commit(self, steps: _Steps) -> Answer | None:
        """Let the conversation follow: by the callback, by edits it asks for, by what was kept."""
        other = self._other()
        seen = steps.transcripts.look(other) if other else {}
        answer = steps.callback.commit(self._course.event) if steps.callback else None
        if answer is not None and answer.edits and steps.callback is not None:
            try:
                steps.transcripts.edit(answer.edits, self._repository.worktree)
            except BoocodeError as error:
                raise steps.callback.asked_for_wrong_edits(error) from error
        if other:
            steps.transcripts.put_back(other, seen, unchanged=self._course.kind == REDO)
        return answer

    def _other(self) -> str:
        """The operation whose edits of the host's files are taken back; empty for none."""
        course = self._course
        if not course.is_told:
            return ""
        return course.target.id if course.kind == RESTORE and course.event == UNDO else course.of

    def _roll_back(self, steps: _Steps, error: BaseException) -> None:
        known = from_os(error) if isinstance(error, OSError) else error
        reason = known.message if isinstance(known, BoocodeError) else type(error).__name__
        failures: list[str] = []
        try:
            for what, take_back in (
                ("the host's files", steps.transcripts.take_back),
                ("HEAD", steps.head.take_back),
                ("the files", steps.work.take_back),
            ):
                _try(what, take_back, failures)
            if failures:
                safe = f"the state before is safe: git boocode restore {steps.safety.id}"
                why = known.hints if isinstance(known, FatalError) else ()
                raise FatalError(
                    "\nand ".join((reason, *failures)), code="rollback", hints=(*why, safe)
                ) from error
        finally:
            if steps.callback is not None and self._told:
                _tell_rollback(steps.callback, reason, error)

    def _forget(self, safety: Checkpoint) -> bool:
        """Drop a safety checkpoint after a rollback: all is as it was, there is nothing to undo.

        Returns:
            Whether it is gone. If not, the operation counts as interrupted, and undoing it does
            no harm.
        """
        store = Catalog(self._repository).store
        try:
            store.update_refs([RefChange(safety.ref, None, safety.commit.id)])
        except BoocodeError:
            return False
        return True

    def _archive(self, safety: Checkpoint) -> list[str]:
        catalog, course = Catalog(self._repository), self._course
        _forget_old_files(self._repository, catalog)
        if course.again:
            about = self._target.meta
            return put_away(catalog, about, course.origin.id, course.again, before=course.of)
        if course.returned:
            return self._put_away_again(catalog)
        if course.kind == UNDO:
            return bring_back(catalog, course.of)
        if course.archives:
            about, after = self._target.meta, course.origin.id
            return put_away(catalog, about, after, safety.id, before=course.before)
        return bring_back(catalog, course.origin.id) if self._returns else []

    @property
    def _returns(self) -> bool:
        return self._course.returns and _is_of(self._repository, self._target)

    def _archived_before(self) -> list[Ref]:
        """What the restore before which this operation goes back has archived."""
        return Catalog(self._repository).store.refs(f"{ARCHIVE}{self._course.origin.id}/")

    def _put_away_again(self, catalog: Catalog) -> list[str]:
        """Archive what the operation that is undone has brought back."""
        origin = self._course.origin.id
        first = next((entry for entry in catalog.safety() if entry.id == origin), None)
        if first is None:
            return []
        told = Told(first)
        return put_away(catalog, first.meta, told.origin.id, origin, before=told.before or origin)

    def _event(self, safety: Checkpoint, plan: Plan) -> dict[str, Any]:
        """What every event of this operation tells the callback."""
        course = self._course
        return event(
            self._repository, (course.kind, course.event), safety.id, self._whose(), plan.changes
        )

    def _whose(self) -> Checkpoint:
        """The checkpoint that the events tell of: of a redo, the one that was restored first."""
        if self._course.kind != REDO:
            return self._target
        origin = self._course.origin
        found = checkpoint_at(Catalog(self._repository), origin.id, origin.commit)
        # Its ref may be gone, and itself in time; the conversation is known all the same.
        commit = self._target.commit._replace(id=origin.commit)
        return found or self._target._replace(id=origin.id, commit=commit)

    def _staged(self, snapshot: Snapshot, staging: Staging | None) -> list[Change]:
        if staging is None:
            return []
        return staged_changes(self._repository.git, snapshot.staging, staging)

    def _leaves_conversation(self) -> bool:
        """Whether what the host was told by the operation that goes back is not taken back."""
        about_operation = self._target.ref.startswith(SAFETY) and self._course.is_told
        return about_operation and self._callback is None and Told(self._target).callback

    def _outcome(
        self, snapshot: Snapshot, plan: Plan, staging: Staging | None, move: HeadMove | None
    ) -> Outcome:
        head = move.new if move else snapshot.head.commit
        return Outcome(
            kind=self._course.kind,
            checkpoint=self._target,
            undo=None,
            changes=plan.changes,
            kept=plan.kept,
            staged=self._staged(snapshot, staging),
            index_reset=staging is not None,
            answer=None,
            archived=[],
            head_moved=move is not None,
            head_differs=self._target.meta.part("head", "commit") != head,
            dry_run=self._manner.dry_run,
            callback=self._callback is not None,
            conversation_left=self._leaves_conversation(),
            edited=[],
            mends=self._course.mends,
            blocked=bool(plan.blocked),
            lines={},
        )


def _try(what: str, take_back: Callable[[], None], failures: list[str]) -> None:
    """Take one thing back; if that fails, the others are taken back all the same."""
    try:
        take_back()
    except (BoocodeError, OSError) as error:
        why = error.message if isinstance(error, BoocodeError) else from_os(error).message
        failures.append(f"{what} could not be rolled back: {why}")


def _forget_old_files(repository: Repository, catalog: Catalog) -> None:
    """Drop what is kept of the host's files for operations that have been dropped themselves."""
    for operation in operations_with_files(repository.state_dir):
        if not catalog.store.refs(f"{SAFETY}{operation}"):
            forget_files(repository.state_dir, operation)


def _tell_rollback(callback: Callback, reason: str, error: BaseException) -> None:
    try:
        callback.rollback(reason)
    except FatalError as second:
        # No hint, which can be silenced: the conversation may be at another point than the files.
        if isinstance(error, BoocodeError):
            error.message += f"\nand the conversation may be in doubt: {second.message}"


def _missing_objects(target: Checkpoint, error: GitError) -> FatalError:
    return FatalError(
        f"checkpoint '{target.id}' is incomplete: {error.stderr.strip() or error.message}",
        code="missing_objects",
        hints=("nothing was changed; 'git fsck' tells what the repository has lost",),
    )


def _written_by(repository: Repository, safety: Checkpoint, scope: Scope) -> dict[str, Change]:
    """What an operation wrote here, by path.

    A safety checkpoint holds what stood in the way of its operation, except for ignored files that
    kept their place; so what else it lacks was not there.

    Args:
        repository: the repository.
        safety: the state before the operation; of any other checkpoint the answer is empty.
        scope: how far one goes back to it; of the paths of an operation on some of them, nothing is
            known beyond these.
    """
    target = _went_to(repository, safety)
    if target is None:
        return {}
    done = Told(safety).scope
    if not done.files or (done.paths and (done.paths, done.prefix) != (scope.paths, scope.prefix)):
        return {}
    written = _written(repository.git, safety.tree, target)
    blocked = Told(safety).blocked
    return {c.path: c for c in written if not _lies_in(c.path, blocked)}


def _went_to(repository: Repository, safety: Checkpoint) -> str | None:
    """The commit to which an operation went; None for any other checkpoint than its own."""
    target = safety.meta.part("restore", "target_commit")
    if not safety.ref.startswith(SAFETY) or not _is_of(repository, safety):
        return None
    return target if target is not None and OBJECT_ID.fullmatch(target) else None


def _is_of(repository: Repository, checkpoint: Checkpoint) -> bool:
    return checkpoint.meta.worktree_key == repository.worktree_key


def _lies_in(path: str, places: frozenset[str]) -> bool:
    while path and path not in places:
        path = os.path.dirname(path)
    return bool(path)


def _written(git: Git, tree: str, commit: str) -> list[Change]:
    try:
        changes = tree_changes(git, tree, f"{commit}^{{tree}}")
    except GitError:
        # It has been dropped since.
        return []
    return [change for change in changes if change.action != "delete"]


def _check_callback_stays(repository: Repository, callback: Callback, plan: Plan) -> None:
    own = os.path.relpath(os.path.realpath(callback.program), repository.worktree)
    if any(change.path == own.replace(os.sep, "/") for change in plan.changes):
        raise RefusedError(
            f"the callback '{callback.program}' is itself among the files to restore",
            code="conflict",
            hints=("keep it outside the worktree, or ignored; --files-only does without it",),
        )
