"""Which turns may have overlapped: found from less than all recorded states.

Everything that shows to the timeline of a worktree that turns of other sessions were open during a
turn, or that a restore divides it, shows here. So a turn that was open alone costs next to nothing,
and every command agrees on which ones were.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, texts_of
from git_boocode.checkpoints.timeline import NO_SESSION, Session
from git_boocode.checkpoints.turns import RecordedStates, only_paths
from git_boocode.repo.entries import Metadata, Unusable
from git_boocode.repo.layout import CHECKPOINTS, EDITS, TOOL_STATES


def session_of(meta: Metadata) -> Session:
    """The agent and the session of a state."""
    session = meta.text("session")
    return (meta.text("agent"), session) if session else NO_SESSION


class _Reach(NamedTuple):
    """The last sign of a turn, or of the latest turn of a session if `turn` is empty.

    `is_beside` is whether it shows that turns of other sessions were open.
    """

    id: str
    worktree: str
    session: Session
    turn: str = ""
    is_beside: bool = False


class Overlaps:
    """Finds the turns during which others may have been open, or a restore ran."""

    def __init__(self, catalog: Catalog, recorded: RecordedStates) -> None:
        self._catalog = catalog
        self._recorded = recorded
        self._found: set[str] = set()
        self._signs = self._newest_signs()
        self._next_sign = next(self._signs, None)
        # By worktree, what is later than the checkpoint that was observed last: how far the turns
        # reach that began no later, and the beginnings.
        self._reaches: dict[str, dict[str | Session, _Reach]] = defaultdict(dict)
        self._begun: dict[str, list[tuple[str, Session]]] = defaultdict(list)

    def observed(self, entries: Iterable[Checkpoint | Unusable]) -> Iterator[Checkpoint | Unusable]:
        """The same entries, newest first; each is looked at before it is compared."""
        for entry in entries:
            if not isinstance(entry, Unusable) and entry.ref.startswith(CHECKPOINTS):
                self._look_at(entry)
            yield entry

    def may_overlap(self, checkpoint: Checkpoint) -> bool:
        """Whether others may have been open during the turn of an observed checkpoint.

        Of archived and fetched ones, too little is known.
        """
        return not checkpoint.ref.startswith(CHECKPOINTS) or checkpoint.ref in self._found

    def _look_at(self, entry: Checkpoint) -> None:
        while self._next_sign and self._next_sign.id > entry.id:
            self._note(self._next_sign)
            self._next_sign = next(self._signs, None)
        key, session = entry.meta.worktree_key, session_of(entry.meta)
        if only_paths(entry) != ():
            self._note(_Reach(entry.id, key, session))
            return
        reaches = self._reaches[key]
        own = [reach for name in (entry.id, session) if (reach := reaches.pop(name, None))]
        beside = texts_of(entry.meta, "beside")
        if (
            beside
            or any(reach.is_beside for reach in own)
            or any(r.session != session and r.turn < entry.id for r in reaches.values())
            or self._is_divided(entry, max((reach.id for reach in own), default=""))
        ):
            self._found.add(entry.ref)
        self._begun[key].append((entry.id, session))
        for turn in beside:
            # It was still open when this one began.
            self._note(_Reach(entry.id, key, ("", turn), turn))

    def _note(self, sign: _Reach) -> None:
        if sign.turn or sign.session != NO_SESSION:
            self._reaches[sign.worktree].setdefault(sign.turn or sign.session, sign)

    def _is_divided(self, entry: Checkpoint, last: str) -> bool:
        """Whether a turn of another session began, or a restore ran, before the last sign."""
        if not last:
            return False
        for begun, session in reversed(self._begun[entry.meta.worktree_key]):
            if begun > last:
                break
            if session not in (NO_SESSION, session_of(entry.meta)):
                return True
        return self._recorded.restore_between(entry, last) is not None

    def _newest_signs(self) -> Iterator[_Reach]:
        """The recorded ends, tool states and edits, newest first."""
        ends = sorted(map(_reach, self._recorded.signs), key=lambda sign: sign.id, reverse=True)
        edits = self._catalog.entries(self._catalog.store.refs(EDITS))
        read = (_reach(entry) for entry in edits if not isinstance(entry, Unusable))
        return merge(ends, read, key=lambda sign: sign.id, reverse=True)


def _reach(entry: Checkpoint) -> _Reach:
    """How far a sign shows that its turn went."""
    meta = entry.meta
    is_beside = entry.ref.startswith(TOOL_STATES) or bool(texts_of(meta, "beside"))
    return _Reach(
        meta.text("id"), meta.worktree_key, session_of(meta), meta.text("turn"), is_beside
    )
