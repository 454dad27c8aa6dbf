"""Take files, staging and conversation back to a checkpoint, undo that, and do it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, NoReturn

from git_boocode.checkpoints.callback import timeout_of
from git_boocode.checkpoints.conversation_files import Editor
from git_boocode.checkpoints.restore import journal
from git_boocode.checkpoints.restore.foreign import Caller, refuse_foreign
from git_boocode.checkpoints.restore.history import (
    REDO,
    RESTORE,
    History,
    operation_of,
    read_history,
)
from git_boocode.checkpoints.restore.operation import (
    Course,
    Scope,
    Told,
    doing_again,
    redoing,
    restoring,
    undoing,
    undoing_in_part,
)
from git_boocode.checkpoints.restore.outcome import Manner, Outcome
from git_boocode.checkpoints.restore.transaction import Transaction
from git_boocode.checkpoints.running import wait_for_callback
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import ID, id_time
from git_boocode.repo.quarantine import new_objects_aside
from git_boocode.repo.ref_locks import break_ref_locks
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import inside_restore, worktree_lock

PATIENCE = 10.0


class Options(NamedTuple):
    """How to restore.

    Attributes:
        files: whether files and staging go back.
        conversation: whether the callback is told.
        callback: a callback to use instead of the configured one.
        dry_run: only say what would change.
        paths: pathspecs of the only files to restore, from where the caller stands; empty for all.
        head: whether HEAD goes, too. An undo or a redo goes without saying where HEAD was moved.
        caller: who asks for it; of no interest to an undo or a redo.
        editor: what edits the host's files, if the callback asks for it.
        force: what to do nevertheless: `ignored` replaces ignored files that are in the way, and
            records them in the safety checkpoint.
    """

    files: bool = True
    conversation: bool = True
    callback: str | None = None
    dry_run: bool = False
    paths: tuple[str, ...] = ()
    head: bool | None = None
    caller: Caller = Caller()
    editor: Editor | None = None
    force: frozenset[str] = frozenset()

    @property
    def scope(self) -> Scope:
        """How far it goes, apart from paths."""
        return Scope(self.files, self.conversation)

    @property
    def takes_head(self) -> bool:
        """Whether an undo or a redo moves HEAD where the restore did."""
        return self.files and self.head is not False

    @property
    def manner(self) -> Manner:
        """How it is carried out."""
        return Manner(self.callback, self.dry_run, self.editor, self.force)


def restore(repository: Repository, name: str, options: Options) -> Outcome:
    """Take the worktree back to a checkpoint.

    Args:
        repository: the repository.
        name: the checkpoint, as `Catalog.find` reads it.
        options: how.

    Raises:
        RefusedError: nothing was changed: there is no such checkpoint, it was not taken here,
            something is locked, the callback said no, or a file changed meanwhile.
        FatalError: a step failed, and what had been done was rolled back.
    """
    with _alone(repository, looking=options.dry_run):
        catalog = Catalog(repository)
        target = catalog.find(name)
        refuse_foreign(repository, target, options.caller)
        scope = Scope(options.files, options.conversation, options.paths, repository.prefix)
        _refuse_if_too_little(repository, catalog, scope)
        course = restoring(target, scope, head=bool(options.head))
        return Transaction(repository, course, options.manner).run()


def undo(repository: Repository, options: Options) -> Outcome:
    """Undo what was interrupted, else the latest restore or redo not undone yet; see `restore`.

    Raises:
        RefusedError: there is none.
    """
    with _alone(repository, looking=options.dry_run):
        course = _mending(repository, options) or _undoing(repository, options)
        if course is None:
            raise RefusedError("there is no restore to undo in this worktree", code="not_found")
        return Transaction(repository, course, options.manner).run()


def redo(repository: Repository, options: Options) -> Outcome:
    """Do the restore again that was undone last; see `restore`.

    Raises:
        RefusedError: there is none, or an operation was interrupted (`interrupted`).
    """
    with _alone(repository, looking=options.dry_run):
        catalog = Catalog(repository)
        if (interrupted := _interrupted(repository, catalog)) is not None:
            _refuse(interrupted, "nothing can be redone over it")
        course = _redoing(catalog, options)
        if course is None:
            raise RefusedError(
                "there is no undone restore to redo in this worktree",
                code="not_found",
                hints=tuple(_why_none_to_redo(catalog)),
            )
        return Transaction(repository, course, options.manner).run()


def mend(repository: Repository, options: Options) -> Outcome | None:
    """Undo what was interrupted; call it with the worktree's lock held.

    Returns:
        None if nothing was interrupted.

    Raises:
        RefusedError: see `restore`.
        FatalError: see `restore`.
    """
    _settle(repository)
    course = _mending(repository, options)
    if course is None:
        journal.end(repository.state_dir)
        return None
    return Transaction(repository, course, options.manner).run()


@contextmanager
def _alone(repository: Repository, *, looking: bool) -> Iterator[None]:
    if inside_restore(repository.state_dir):
        raise RefusedError(
            "a callback cannot restore: it runs inside a restore",
            code="locked",
            hints=("let it answer, and restore afterwards",),
        )
    state = repository.state_dir
    # Who only looks hinders no capture.
    with worktree_lock(state, shared=looking, patience=PATIENCE, looking=looking):
        if looking:
            with new_objects_aside(repository):
                yield
            return
        _settle(repository)
        yield


def _settle(repository: Repository) -> None:
    """Wait for the callback of an interrupted operation, and remove the locks of refs it left."""
    noted = journal.interrupted(repository.state_dir)
    if noted is None or not ID.fullmatch(noted):
        return
    wait_for_callback(repository.state_dir, timeout_of(repository))
    safety = _by_id(Catalog(repository)).get(noted)
    move = Told(safety).move if safety is not None else None
    break_ref_locks(repository, move.ref if move else None, id_time(noted))


def _mending(repository: Repository, options: Options) -> Course | None:
    """How to take back what never ended; None if there is no such thing."""
    interrupted = journal.interrupted(repository.state_dir)
    safety = _by_id(Catalog(repository))
    if interrupted is None or interrupted not in safety:
        return None
    found = operation_of(safety[interrupted])
    if found is None:
        return None
    history = read_history(safety.values())
    cause = history.cause(found)
    if cause.id not in safety:
        cause = found
    return undoing(cause, safety[cause.id], options.scope, head=options.takes_head, mends=True)


def _undoing(repository: Repository, options: Options) -> Course | None:
    history, safety = _history(Catalog(repository))
    for operation in reversed(history.done):
        done = Told(safety[operation.id]).scope
        left = done.within(options.scope)
        if not (left.files or left.conversation):
            continue
        target = safety[operation.id]
        if operation is history.done[-1] and not _is_part(target, done, left):
            return undoing(operation, target, options.scope, head=options.takes_head, mends=False)
        return undoing_in_part(target, left, head=options.takes_head and not left.paths)
    return None


def _is_part(safety: Checkpoint, done: Scope, left: Scope) -> bool:
    """Whether something that an operation has done stays if only what is left of it is undone."""
    if done.files != left.files:
        return True
    return Told(safety).callback and done.conversation != left.conversation


def _redoing(catalog: Catalog, options: Options) -> Course | None:
    history, safety = _history(catalog)
    if not history.undone:
        return None
    newest = history.undone[-1]
    undone, head = safety[newest.id], options.takes_head
    if newest.mends and newest.of in safety:
        return doing_again(catalog, undone, safety[newest.of], options.scope, head=head)
    return redoing(undone, options.scope, head=head)


def _why_none_to_redo(catalog: Catalog) -> Iterator[str]:
    operations = list(filter(None, map(operation_of, reversed(catalog.safety()))))
    if not operations:
        return
    *before, newest = operations
    ended = History(before).undone if newest.kind == RESTORE else []
    if ended:
        yield "a restore ends the chain of what can be redone, and the latest one did"
        yield f"'git boocode restore {ended[-1].id}' goes to the state from before the undo"
    elif newest.kind == REDO:
        yield "what had been undone has been redone"
    else:
        yield "nothing has been undone since the latest restore"


def _history(catalog: Catalog) -> tuple[History, dict[str, Checkpoint]]:
    safety = _by_id(catalog)
    return read_history(safety.values()), safety


def _by_id(catalog: Catalog) -> dict[str, Checkpoint]:
    """The safety checkpoints of this worktree, newest first."""
    return {entry.id: entry for entry in catalog.safety()}


def _interrupted(repository: Repository, catalog: Catalog) -> Checkpoint | None:
    """The safety checkpoint of what was interrupted."""
    noted = journal.interrupted(repository.state_dir)
    return None if noted is None else _by_id(catalog).get(noted)


def _refuse_if_too_little(repository: Repository, catalog: Catalog, scope: Scope) -> None:
    """Refuse a restore that would leave something half-way of one that was interrupted."""
    interrupted = _interrupted(repository, catalog)
    if interrupted is None:
        return
    if not scope.is_whole:
        _refuse(interrupted, "only all files can be restored over it")
    if Told(interrupted).callback and not scope.conversation:
        _refuse(interrupted, "the conversation has to be restored with the files over it")


def _refuse(interrupted: Checkpoint, what: str) -> NoReturn:
    raise RefusedError(
        f"a restore was interrupted half-way; {what}",
        code="interrupted",
        hints=(f"'git boocode undo' goes back to the state before it, kept as {interrupted.id}",),
    )
