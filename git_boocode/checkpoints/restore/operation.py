"""What one operation is to do: where it goes, how far, and what undoing it will mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from git_boocode.checkpoints.restore.history import REDO, RESTORE, UNDO, Operation
from git_boocode.checkpoints.store.catalog import CHECKPOINTS, SAFETY, Catalog, Checkpoint
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.moving_head import HeadMove
from git_boocode.repo.store import Ref

TRIM = "trim"


class Scope(NamedTuple):
    """How far an operation goes.

    Attributes:
        files: whether it is for files and staging.
        conversation: whether it is for the conversation.
        paths: pathspecs of the only files it is for; empty for all.
        prefix: where they count from, `""` or `"sub/dir/"`.
    """

    files: bool = True
    conversation: bool = True
    paths: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all files are in a known state afterwards."""
        return self.files and not self.paths

    def within(self, other: Scope) -> Scope:
        """The part of this one that another one allows; whose paths these are stays."""
        return self._replace(
            files=self.files and other.files,
            conversation=self.conversation and other.conversation,
        )


class Origin(NamedTuple):
    """The checkpoint whose conversation an operation is about: that of the restore at its root.

    Attributes:
        id: its id.
        commit: its commit.
        event: what that restore tells the callback, `trim` or `undo`.
    """

    id: str
    commit: str
    event: str


class HeadWish(NamedTuple):
    """Where HEAD is to go.

    Attributes:
        ref: the branch that it has to be on; None if it has to be detached.
        commit: where that goes; None for an unborn branch.
        leave: the commits that it may be moved away from; None for any.
    """

    ref: str | None
    commit: str | None
    leave: tuple[str | None, ...] | None = None


class Course(NamedTuple):
    """What one operation is to do.

    Attributes:
        kind: `restore`, `undo` or `redo`.
        target: where files and staging go.
        scope: how far it goes.
        origin: whose conversation it is about.
        head: where HEAD goes; None if it stays.
        of: the id of the operation that it undoes or redoes; empty for a restore.
        mends: whether that operation was interrupted.
        archives: whether the restore at its root archives later checkpoints.
        again: the id of the restore whose archive an interrupted undo may have emptied.
        before: the id of the restore at its root, after which nothing is archived that came later;
            empty for that restore itself.
        returned: whether what it undoes had brought back checkpoints that were archived.
    """

    kind: str
    target: Checkpoint
    scope: Scope
    origin: Origin
    head: HeadWish | None = None
    of: str = ""
    mends: bool = False
    archives: bool = False
    again: str = ""
    before: str = ""
    returned: bool = False

    @property
    def event(self) -> str:
        """What the callback is told: to cut the conversation, or to bring back an earlier one."""
        return UNDO if self.kind == UNDO else self.origin.event

    @property
    def is_told(self) -> bool:
        """Whether it concerns the conversation; never where only some files go back."""
        return self.scope.conversation and not self.scope.paths

    @property
    def returns(self) -> bool:
        """Whether it goes back to before an earlier restore, with what that had archived.

        The log goes with the conversation.
        """
        again = self.kind != UNDO and self.origin.event == UNDO
        return again and self.target.ref.startswith(SAFETY) and self.is_told

    def describe(
        self, move: HeadMove | None, over: str | None, *, callback: bool, returns: bool
    ) -> dict[str, Any]:
        """The metadata by which the safety checkpoint tells the operation.

        Args:
            move: where HEAD goes in the end.
            over: the id of an interrupted operation that this one takes no notice of.
            callback: whether there is a callback to be told of it.
            returns: whether it brings back checkpoints that were archived.
        """
        return {
            "operation": self.kind,
            "target": self.target.id,
            "target_commit": self.target.commit.id,
            "of": self.of or None,
            "mends": self.mends,
            "origin": self.origin._asdict(),
            **self.scope._asdict(),
            "archives": self.archives,
            "before": self.before or None,
            "head": move._asdict() if move else None,
            "over": over,
            "callback": callback,
            "returns": returns,
        }


def restoring(target: Checkpoint, scope: Scope, *, head: bool) -> Course:
    """The course of a restore.

    Args:
        target: where it goes.
        scope: how far.
        head: whether HEAD goes there, too.

    Raises:
        RefusedError: the checkpoint does not say where HEAD was (`malformed`).
    """
    returns = target.ref.startswith(SAFETY)
    origin = Origin(target.id, target.commit.id, UNDO if returns else TRIM)
    wish = _head_of(target) if head else None
    # What was fetched must not put anything away here by the chat that it claims.
    archives = not (returns or target.remote or scope.paths) and scope.conversation
    return Course(RESTORE, target, scope, origin, wish, archives=archives)


def undoing_in_part(safety: Checkpoint, scope: Scope, *, head: bool) -> Course:
    """The course of an undo that leaves something to be undone: it counts as a restore of its own.

    Args:
        safety: the safety checkpoint of what is undone.
        scope: how far.
        head: whether HEAD goes back if the operation has moved it.
    """
    wish = _back(Told(safety).move) if head else None
    return restoring(safety, scope, head=False)._replace(head=wish)


def _head_of(target: Checkpoint) -> HeadWish:
    ref, commit = (target.meta.part("head", key) for key in ("ref", "commit"))
    if commit != target.head or (ref is None and commit is None):
        raise RefusedError(
            f"checkpoint '{target.id}' does not hold where HEAD was",
            code="malformed",
            hints=("without --head, HEAD stays",),
        )
    return HeadWish(ref, commit)


def undoing(
    operation: Operation, safety: Checkpoint, scope: Scope, *, head: bool, mends: bool
) -> Course:
    """The course of an undo.

    Args:
        operation: what to undo.
        safety: its safety checkpoint.
        scope: what the caller wants of it.
        head: whether HEAD goes back if the operation has moved it.
        mends: whether the operation was interrupted.
    """
    told = Told(safety)
    return Course(
        UNDO,
        safety,
        told.scope.within(scope),
        told.origin,
        _back(told.move) if head else None,
        of=operation.id,
        mends=mends,
        archives=told.archives,
        again=operation.of if mends and operation.kind == UNDO and told.archives else "",
        before=told.before or operation.id,
        returned=told.returns,
    )


def redoing(undo: Checkpoint, scope: Scope, *, head: bool) -> Course:
    """The course of a redo that takes back an undo.

    Args:
        undo: the safety checkpoint of the undo.
        scope: what the caller wants of it.
        head: whether HEAD is moved again.
    """
    told = Told(undo)
    wish = _back(told.move) if head else None
    wanted = told.scope.within(scope)
    return Course(
        *(REDO, undo, wanted, told.origin, wish),
        of=undo.id,
        archives=told.archives and wanted.conversation,
        before=told.before,
    )


def doing_again(
    catalog: Catalog, undo: Checkpoint, mended: Checkpoint, scope: Scope, *, head: bool
) -> Course:
    """The course of a redo that does again what was interrupted and then undone.

    Args:
        catalog: the checkpoints.
        undo: the safety checkpoint of the undo.
        mended: that of the operation which was interrupted.
        scope: what the caller wants of it.
        head: whether HEAD is moved again.

    Raises:
        RefusedError: where it went cannot be read any more.
    """
    told = Told(mended)
    identifier, commit = (mended.meta.part("restore", key) or "" for key in _TARGET)
    target = checkpoint_at(catalog, identifier, commit)
    if target is None:
        raise RefusedError(
            f"checkpoint '{identifier}', where the interrupted restore went, is gone",
            code="not_found",
            hints=(f"what was there when it was undone is kept as {undo.id}",),
        )
    move = told.move
    wish = HeadWish(move.ref, move.new, (move.old, move.new)) if move and head else None
    wanted = told.scope.within(scope)
    archives = told.archives and wanted.conversation
    return Course(REDO, target, wanted, told.origin, wish, of=undo.id, archives=archives)


_TARGET = ("target", "target_commit")


def checkpoint_at(catalog: Catalog, identifier: str, commit: str) -> Checkpoint | None:
    """A checkpoint by its id and commit, whatever has become of its ref; None if it is gone."""
    if not OBJECT_ID.fullmatch(commit):
        return None
    found = next(catalog.entries([Ref(f"{CHECKPOINTS}{identifier}", commit)]))
    return found if isinstance(found, Checkpoint) else None


def _back(move: HeadMove | None) -> HeadWish | None:
    # An interrupted one may not have come to it.
    return HeadWish(move.ref, move.old, (move.new, move.old)) if move else None


class Told:
    """What a safety checkpoint tells of its operation.

    Args:
        safety: the checkpoint; what it lacks or holds amiss counts as not told.
    """

    def __init__(self, safety: Checkpoint) -> None:
        self._safety = safety
        self._values = safety.meta.table("restore")

    @property
    def scope(self) -> Scope:
        """How far it went."""
        paths = self._values.get("paths")
        return Scope(
            files=self._values.get("files") is not False,
            conversation=self._values.get("conversation") is not False,
            paths=tuple(map(str, paths)) if isinstance(paths, list) else (),
            prefix=self._safety.meta.part("restore", "prefix") or "",
        )

    @property
    def origin(self) -> Origin:
        """Whose conversation it was about."""
        found = self._values.get("origin")
        values: Mapping[str, Any] = found if isinstance(found, dict) else {}
        parts = [values.get(key) for key in Origin._fields]
        if all(isinstance(part, str) for part in parts) and parts[2] in (TRIM, UNDO):
            return Origin(*map(str, parts))
        return Origin(self._safety.id, self._safety.commit.id, UNDO)

    @property
    def archives(self) -> bool:
        """Whether the restore at its root archived checkpoints."""
        return self._values.get("archives") is True

    @property
    def before(self) -> str:
        """The id of the restore at its root; empty if that is itself."""
        return self._safety.meta.part("restore", "before") or ""

    @property
    def move(self) -> HeadMove | None:
        """How it moved HEAD."""
        found = self._values.get("head")
        if not isinstance(found, dict):
            return None
        ref, old, new = (found.get(key) for key in HeadMove._fields)
        commits = [part for part in (old, new) if part is not None]
        if not all(isinstance(part, str) and OBJECT_ID.fullmatch(part) for part in commits):
            return None
        return HeadMove(str(ref) if ref is not None else None, old, new)

    @property
    def blocked(self) -> frozenset[str]:
        """The paths at which ignored files were in its way and stayed."""
        paths = self._values.get("blocked")
        return frozenset(map(str, paths)) if isinstance(paths, list) else frozenset()

    @property
    def callback(self) -> bool:
        """Whether there was a callback to be told of it."""
        return self._values.get("callback") is True

    @property
    def returns(self) -> bool:
        """Whether it brought back checkpoints that were archived."""
        return self._values.get("returns") is True

    @property
    def over(self) -> str | None:
        """The interrupted operation that it took no notice of."""
        return self._safety.meta.part("restore", "over")
