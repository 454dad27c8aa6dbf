"""What has been restored, undone and redone, read back from the safety checkpoints alone.

Every operation leaves a safety checkpoint of the state before it, which says what the operation
was. Replaying them, oldest first, gives what can be undone and what can be redone; nothing else is
stored, so nothing can disagree with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import Checkpoint

RESTORE = "restore"
UNDO = "undo"
REDO = "redo"


class Operation(NamedTuple):
    """Something that changed the worktree, as its safety checkpoint tells it.

    Attributes:
        kind: `restore`, `undo` or `redo`.
        id: the id of the safety checkpoint that holds the state before it.
        target: the id of the checkpoint that it went to.
        of: the id of the operation that it undid or redid; empty for a restore.
        mends: whether that operation had been interrupted.
    """

    kind: str
    id: str
    target: str
    of: str = ""
    mends: bool = False


class History:
    """The operations of a worktree, and where they have led.

    As in an editor: an undo takes the newest operation that is done, a redo takes back the newest
    undo, and a restore ends the chain of what can be redone.

    Args:
        oldest_first: the operations.

    Attributes:
        done: what can be undone, the next one last.
        undone: the undos that can be taken back, the next one last.
    """

    def __init__(self, oldest_first: Iterable[Operation]) -> None:
        self.done: list[Operation] = []
        self.undone: list[Operation] = []
        self._known: dict[str, Operation] = {}
        for operation in oldest_first:
            self._known[operation.id] = operation
            self._add(operation)

    def _add(self, operation: Operation) -> None:
        if operation.kind == RESTORE:
            self.done.append(operation)
            self.undone.clear()
        elif operation.kind == REDO:
            _drop_last(self.undone, operation.of)
            self.done.append(operation)
        elif operation.mends and not _ends_with(self.done, operation.of):
            # It took back an undo that was interrupted; or it went on with another one like it.
            if _ends_with(self.undone, operation.of):
                self._take_back_undo(self.undone.pop())
        else:
            _drop_last(self.done, operation.of)
            self.undone.append(operation)

    def _take_back_undo(self, undo: Operation) -> None:
        undone = self._known.get(undo.of)
        if undone is not None:
            self.done.append(undone)

    def cause(self, interrupted: Operation) -> Operation:
        """What has to be taken back of an interrupted operation.

        Args:
            interrupted: it; or an undo that was to mend another one, which is then meant.
        """
        while interrupted.mends and interrupted.of in self._known:
            interrupted = self._known[interrupted.of]
        return interrupted

    def needed(self) -> set[str]:
        """The ids of the operations from which the same history can be told."""
        needed = {operation.id for operation in (*self.done, *self.undone)}
        # What an undo mended says where a redo goes.
        return needed | {operation.of for operation in self.undone if operation.mends}


def _ends_with(operations: list[Operation], identifier: str) -> bool:
    return bool(operations) and operations[-1].id == identifier


def _drop_last(operations: list[Operation], identifier: str) -> None:
    # It may have been dropped for its age: then what came after it counts all the same.
    if _ends_with(operations, identifier):
        operations.pop()


def operation_of(safety: Checkpoint) -> Operation | None:
    """The operation that a safety checkpoint was taken for; None if it does not say."""
    kind, target, of = (safety.meta.part("restore", key) for key in ("operation", "target", "of"))
    if kind not in (RESTORE, UNDO, REDO) or target is None:
        return None
    mends = safety.meta.table("restore").get("mends") is True
    # An undo goes to the safety checkpoint of what it undoes.
    return Operation(kind, safety.id, target, of or (target if kind == UNDO else ""), mends)


def read_history(newest_first: Iterable[Checkpoint]) -> History:
    """The history of a worktree.

    Args:
        newest_first: its safety checkpoints.
    """
    return History(filter(None, map(operation_of, reversed(list(newest_first)))))


def needed(newest_first: list[Checkpoint], interrupted: str | None = None) -> set[str]:
    """The ids of the safety checkpoints that undo and redo still need.

    Without the others, the same can be undone and redone.

    Args:
        newest_first: the safety checkpoints of a worktree.
        interrupted: what `journal.interrupted` says of that worktree.
    """
    found = read_history(newest_first).needed()
    by_id = {safety.id: operation_of(safety) for safety in newest_first}
    while interrupted is not None and interrupted in by_id:
        found.add(interrupted)
        operation = by_id[interrupted]
        # Taking it back may mean to go on with what it was to mend, or to do again what it undid.
        interrupted = operation.of if operation is not None and operation.of else None
    return found
