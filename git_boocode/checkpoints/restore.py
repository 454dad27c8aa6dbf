"""Take files, staging and conversation back to a checkpoint, together or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from git_boocode.checkpoints import history, journal
from git_boocode.checkpoints.callback import Answer, Callback, find_callback
from git_boocode.checkpoints.catalog import (
    ARCHIVE,
    CHECKPOINTS,
    Catalog,
    Checkpoint,
    Unusable,
    unusable,
)
from git_boocode.checkpoints.changes import Change
from git_boocode.checkpoints.keeping import kept_staging, safety_checkpoint
from git_boocode.checkpoints.plan import Plan, disk_tree, plan_restore
from git_boocode.checkpoints.reading import take_snapshot
from git_boocode.checkpoints.recorder import Skipped
from git_boocode.checkpoints.snapshot import Snapshot
from git_boocode.checkpoints.staging import Staging
from git_boocode.checkpoints.work import Work
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import new_id
from git_boocode.repo.index import refuse_if_locked
from git_boocode.repo.metadata import MetadataError
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import inside_restore, scratch_directory, worktree_lock
from git_boocode.repo.signals import ended_by_signals
from git_boocode.repo.store import RefChange

PATIENCE = 10.0


class Options(NamedTuple):
    """How to restore.

    Attributes:
        files: whether files and staging go back.
        conversation: whether the callback is told.
        callback: a callback to use instead of the configured one.
        dry_run: only say what would change.
    """

    files: bool = True
    conversation: bool = True
    callback: str | None = None
    dry_run: bool = False


class Outcome(NamedTuple):
    """What a restore did.

    Attributes:
        kind: `restore` or `undo`.
        checkpoint: where it went.
        undo: the id of the safety checkpoint of the state before; None if nothing was done.
        changes: the paths that changed, or would.
        kept: the paths that differ from the checkpoint and were left alone, and why.
        index_reset: whether the staging area changed, or would.
        answer: what the callback answered; None if there was none to ask.
        archived: the ids of the checkpoints that went to, or came back from, the archive.
        head_differs: whether HEAD names another commit than at the checkpoint.
        dry_run: whether it was only asked what would change.
        callback: whether there is a callback to tell.
    """

    kind: str
    checkpoint: Checkpoint
    undo: str | None
    changes: list[Change]
    kept: list[Skipped]
    index_reset: bool
    answer: Answer | None
    archived: list[str]
    head_differs: bool
    dry_run: bool
    callback: bool


def restore(repository: Repository, name: str, options: Options) -> Outcome:
    """Take the worktree back to a checkpoint.

    Args:
        repository: the repository.
        name: the checkpoint, as `Catalog.find` reads it.
        options: how.

    Raises:
        RefusedError: nothing was changed: there is no such checkpoint, it is of another worktree,
            something is locked, the callback said no, or a file changed meanwhile.
        FatalError: a step failed, and what had been done was rolled back.
    """
    with _alone(repository):
        target = Catalog(repository).find(name)
        return _Restore(repository, history.RESTORE, target, options).run()


def undo(repository: Repository, options: Options) -> Outcome:
    """Undo what was interrupted, else the latest restore not undone yet; see `restore`.

    Raises:
        RefusedError: there is none.
    """
    with _alone(repository):
        safety = Catalog(repository).safety()
        interrupted = journal.interrupted(repository.state_dir)
        # One that never ended comes first; it may itself have been an undo.
        targets = [entry for entry in safety if entry.id == interrupted]
        targets += [operation.safety for operation in reversed(history.undoable(safety))]
        if not targets:
            raise RefusedError("there is no restore to undo in this worktree", code="not_found")
        return _Restore(repository, history.UNDO, targets[0], options).run()


@contextmanager
def _alone(repository: Repository) -> Iterator[None]:
    if inside_restore(repository.state_dir):
        raise RefusedError(
            "a callback cannot restore: it runs inside a restore",
            code="locked",
            hints=("let it answer, and restore afterwards",),
        )
    with worktree_lock(repository.state_dir, shared=False, patience=PATIENCE):
        yield


class _Restore:
    """One restore or undo, from looking at the worktree to the answer."""

    def __init__(
        self, repository: Repository, kind: str, target: Checkpoint, options: Options
    ) -> None:
        self._repository = repository
        self._kind = kind
        self._target = target
        self._options = options
        self._told = False
        self._callback: Callback | None = None

    def run(self) -> Outcome:
        """Do it."""
        repository, target = self._repository, self._target
        _check_worktree(repository, target)
        self._callback = callback = self._find_callback()
        with scratch_directory(repository.state_dir) as scratch:
            snapshot = take_snapshot(repository, scratch)
            plan, staging = self._plan(snapshot)
            if self._options.dry_run:
                return self._outcome(None, plan, snapshot, staging, None, [])
            if self._is_done(plan, staging, callback):
                journal.end(repository.state_dir)
                return self._outcome(None, plan, snapshot, staging, None, [])
            if staging is not None:
                refuse_if_locked(repository.index_path)
            if callback is not None:
                _check_callback_stays(repository, callback, plan)
            with ended_by_signals():
                return self._carry_out(snapshot, plan, staging, callback)

    def _is_done(self, plan: Plan, staging: Staging | None, callback: Callback | None) -> bool:
        # An undo is noted even so: the next one goes on from there.
        restoring = self._kind == history.RESTORE
        return restoring and not plan.changes and staging is None and callback is None

    def _find_callback(self) -> Callback | None:
        if not self._options.conversation:
            return None
        callback = find_callback(self._repository, self._options.callback)
        if callback is None and not self._options.files:
            raise RefusedError(
                "there is no callback, and only it can restore the conversation",
                code="no_callback",
                hints=("name one: --callback FILE, or git config boocode.callback FILE",),
            )
        return callback

    def _plan(self, snapshot: Snapshot) -> tuple[Plan, Staging | None]:
        """What to do to the files, and what to stage; None if that is to stay as it is."""
        if not self._options.files:
            return Plan(snapshot.disk_tree, snapshot.disk_tree, [], []), None
        target = self._target
        skipped = frozenset(path for path, _ in snapshot.skipped) | target.meta.skipped_paths
        try:
            staging = self._kept_staging(snapshot)
            tree = disk_tree(snapshot, target.tree, staging)
            ours = history.made_by_restore(self._repository.git, target)
            plan = plan_restore(self._repository, snapshot, tree, skipped, ours)
        except GitError as error:
            raise _missing_objects(target, error) from error
        except MetadataError as error:
            raise unusable(target.id, error) from error
        return plan, None if staging == snapshot.staging else staging

    def _kept_staging(self, snapshot: Snapshot) -> Staging | None:
        staging = kept_staging(self._repository, self._target.meta)
        if staging is not None and staging != snapshot.staging:
            # Before anything is touched: the tree may have been lost, or be no tree.
            self._repository.git.run("rev-parse", "--verify", f"{staging.tree}^{{tree}}")
        return staging

    def _carry_out(
        self, snapshot: Snapshot, plan: Plan, staging: Staging | None, callback: Callback | None
    ) -> Outcome:
        repository = self._repository
        meta = history.describe(self._kind, self._target)
        identifier = new_id()
        # Noted before the checkpoint is taken: from then on, history tells of this operation.
        earlier = journal.interrupted(repository.state_dir)
        journal.begin(repository.state_dir, identifier)
        try:
            safety = safety_checkpoint(repository, snapshot, self._target.meta, meta, identifier)
        except BaseException:
            journal.revert(repository.state_dir, earlier)
            raise
        work = Work(repository, snapshot, plan, staging)
        if callback is not None:
            callback = callback.about(_event(repository, self._kind, self._target, safety, plan))
        try:
            self._prepare(callback)
            work.do()
            answer = callback.commit(_commit_event(self._target)) if callback else None
            archived = self._archive(safety)
        except BaseException as error:
            self._roll_back(work, safety, callback, error)
            if self._forget(safety):
                journal.revert(repository.state_dir, earlier)
            if isinstance(error, FatalError):
                error.hints += ("files and staging are as they were before",)
            raise
        journal.end(repository.state_dir)
        return self._outcome(safety.id, plan, snapshot, staging, answer, archived)

    def _prepare(self, callback: Callback | None) -> None:
        if callback is not None:
            callback.prepare()
            self._told = True

    def _roll_back(
        self, work: Work, safety: Checkpoint, callback: Callback | None, error: BaseException
    ) -> None:
        reason = error.message if isinstance(error, BoocodeError) else type(error).__name__
        try:
            work.take_back()
        except BoocodeError as second:
            raise FatalError(
                f"{reason}\nand the files could not be rolled back: {second.message}",
                code="rollback",
                hints=(f"the state before is safe: git boocode restore {safety.id}",),
            ) from error
        finally:
            if callback is not None and self._told:
                _tell_rollback(callback, reason, error)

    def _forget(self, safety: Checkpoint) -> bool:
        """Drop a safety checkpoint after a rollback: all is as it was, there is nothing to undo.

        Returns:
            Whether it is gone. If not, the restore counts as interrupted, and undoing it does no
            harm.
        """
        store = Catalog(self._repository).store
        try:
            store.update_refs([RefChange(safety.ref, None, safety.commit.id)])
        except BoocodeError:
            return False
        return True

    def _archive(self, safety: Checkpoint) -> list[str]:
        catalog = Catalog(self._repository)
        if self._target.is_safety:
            return _bring_back(catalog, self._target.id)
        return _put_away(catalog, self._target, safety.id) if self._options.conversation else []

    def _outcome(
        self,
        undo_id: str | None,
        plan: Plan,
        snapshot: Snapshot,
        staging: Staging | None,
        answer: Answer | None,
        archived: list[str],
    ) -> Outcome:
        return Outcome(
            kind=self._kind,
            checkpoint=self._target,
            undo=undo_id,
            changes=plan.changes,
            kept=plan.kept,
            index_reset=staging is not None,
            answer=answer,
            archived=archived,
            head_differs=self._target.meta.part("head", "commit") != snapshot.head.commit,
            dry_run=self._options.dry_run,
            callback=self._callback is not None,
        )


def _commit_event(target: Checkpoint) -> str:
    """What the callback is to do: cut the conversation, or bring back one of before a restore."""
    return "undo" if target.is_safety else "trim"


def _missing_objects(target: Checkpoint, error: GitError) -> FatalError:
    return FatalError(
        f"checkpoint '{target.id}' is incomplete: {error.stderr.strip() or error.message}",
        code="missing_objects",
        hints=("nothing was changed; 'git fsck' tells what the repository has lost",),
    )


def _check_worktree(repository: Repository, target: Checkpoint) -> None:
    if target.worktree_name == repository.worktree_name:
        return
    where = target.meta.part("worktree", "path") or target.worktree_name
    there = f"run it there: git -C '{where}' boocode restore {target.id}"
    gone = f"that worktree is gone; git worktree add DIRECTORY {target.commit.id} shows its files"
    raise RefusedError(
        f"checkpoint '{target.id}' is of another worktree: '{where}'",
        code="other_worktree",
        hints=(there if os.path.isdir(where) else gone,),
    )


def _check_callback_stays(repository: Repository, callback: Callback, plan: Plan) -> None:
    own = os.path.relpath(os.path.realpath(callback.program), repository.worktree)
    if any(change.path == own.replace(os.sep, "/") for change in plan.changes):
        raise RefusedError(
            f"the callback '{callback.program}' is itself among the files to restore",
            code="conflict",
            hints=("keep it outside the worktree, or ignored; --files-only does without it",),
        )


def _event(
    repository: Repository, kind: str, target: Checkpoint, safety: Checkpoint, plan: Plan
) -> dict[str, Any]:
    """What every event of one restore tells the callback."""
    about = ("label", "session", "chat", "message", "agent", "created_at", "anchor", "meta")
    return {
        "operation": kind,
        "commits": _commit_event(target),
        "restore_id": safety.id,
        "checkpoint_id": target.id,
        "commit": target.commit.id,
        **{key: target.meta.values.get(key) for key in about},
        "worktree": repository.worktree,
        "git_dir": repository.git_dir,
        "changed": [change.as_json() for change in plan.changes],
    }


def _tell_rollback(callback: Callback, reason: str, error: BaseException) -> None:
    try:
        callback.rollback(reason)
    except FatalError as second:
        # No hint, which can be silenced: the conversation may be at another point than the files.
        if isinstance(error, BoocodeError):
            error.message += f"\nand the conversation may be in doubt: {second.message}"


def _put_away(catalog: Catalog, target: Checkpoint, restore_id: str) -> list[str]:
    """Archive the later checkpoints of the same chat, or else of the same session."""
    key = "chat" if target.meta.text("chat") else "session"
    wanted = target.meta.text(key)
    if not wanted:
        return []
    later = [
        entry
        for entry in catalog.newest_first()
        if not isinstance(entry, Unusable)
        and entry.id > target.id
        and entry.meta.text(key) == wanted
    ]
    moves = [(entry.ref, f"{ARCHIVE}{restore_id}/{entry.id}", entry.commit.id) for entry in later]
    _move(catalog, moves)
    return [entry.id for entry in later]


def _bring_back(catalog: Catalog, restore_id: str) -> list[str]:
    refs = catalog.store.refs(f"{ARCHIVE}{restore_id}/")
    ids = [ref.name.rpartition("/")[2] for ref in refs]
    _move(
        catalog,
        [
            (ref.name, f"{CHECKPOINTS}{name}", ref.target)
            for ref, name in zip(refs, ids, strict=True)
        ],
    )
    return ids


def _move(catalog: Catalog, moves: list[tuple[str, str, str]]) -> None:
    changes = []
    for old, new, target in moves:
        changes += [RefChange(new, target, None), RefChange(old, None, target)]
    catalog.store.update_refs(changes)
