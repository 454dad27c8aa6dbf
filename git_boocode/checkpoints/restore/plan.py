"""What a restore, undo or redo does, and the history of those that were done.

Every operation takes a safety checkpoint of the state before it, whose metadata records the plan.
Replaying these records, oldest first, yields the operations that can be undone and redone. There is
no other record of the history that could contradict them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from git_boocode.checkpoints.restore.request import (
    REDO,
    RESTORE,
    UNDO,
    ProposalStep,
    RestoreRequest,
    TurnStep,
)
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.entries import Metadata
from git_boocode.repo.head import HeadMove
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, SAFETY
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange

TRIM = "trim"


class Root(NamedTuple):
    """The restore at the beginning of a chain of undos and redos."""

    id: str = ""  # the restored checkpoint, whose conversation the chain concerns
    commit: str = ""  # its commit
    event: str = UNDO  # the callback's event for the restore, `trim` or `undo`
    archives: bool = False  # whether the restore archives later checkpoints
    with_it: bool = False  # whether it archives the restored checkpoint as well
    before: str = ""  # the restore's id in a later operation; archive nothing after it


class LogChange(NamedTuple):
    """A move of checkpoints from the log to the archive of a restore, or back."""

    under: str = ""  # the id of that restore; empty for the operation itself
    about: Metadata | None = None  # has the chat or session to archive; None: return all
    after: str = ""  # archive only checkpoints after this id
    before: str = ""  # archive only checkpoints before this id; empty for no limit
    with_it: bool = False  # archive the checkpoint `after` as well

    def carry_out(self, catalog: Catalog, operation_id: str) -> tuple[str, ...]:
        """Move the refs, all or none; returns the ids of the checkpoints."""
        archive = f"{ARCHIVE}{self.under or operation_id}/"
        if self.about is None:
            refs, to = catalog.store.refs(archive), CHECKPOINTS
        else:
            refs, to = self._leaving(catalog, self.about), archive
        changes = []
        for ref in refs:
            changes.append(RefChange(f"{to}{ref.id}", ref.target, None))
            changes.append(RefChange(ref.name, None, ref.target))
        catalog.store.update_refs(changes)
        return tuple(ref.id for ref in refs)

    def _leaving(self, catalog: Catalog, about: Metadata) -> list[Ref]:
        key = "chat" if about.text("chat") else "session"
        wanted, after, before = about.text(key), self.after, self.before
        if not wanted:
            return []
        found = (entry for entry in catalog.history() if entry.meta.text(key) == wanted)
        leaving = (
            e
            for e in found
            if (e.id > after or (self.with_it and e.id == after)) and (not before or e.id < before)
        )
        return [Ref(entry.ref, entry.commit.id) for entry in leaving]


class WrittenFile(NamedTuple):
    """A file that a change of proposals writes: its path, and git's mode and blob id."""

    path: str
    mode: str
    id: str


class RestorePlan(NamedTuple):
    """What an operation does beside changing files, as its safety checkpoint records it."""

    kind: str = ""  # `restore`, `undo` or `redo`; empty if there is no usable record
    target: str = ""  # the id of the checkpoint whose state is restored
    target_commit: str = ""
    request: RestoreRequest = RestoreRequest()  # of an earlier operation, only its scope
    root: Root = Root()
    of: str = ""  # the id of the operation that it undoes or redoes; empty for a restore
    repairs: bool = False  # whether that operation was interrupted
    over: str = ""  # the id of the interrupted operation that it replaces
    proposal: ProposalStep | None = None  # the change of a proposal, which undo takes back
    written: tuple[WrittenFile, ...] = ()  # the files that this change wrote
    step: TurnStep | None = None  # what it did with turns, or parts of a checkpoint
    returns: bool = False  # whether it returns archived checkpoints to the log
    callback: bool = False  # whether a callback is called
    move: HeadMove | None = None
    blocked: frozenset[str] = frozenset()  # the paths where ignored files are in the way
    id: str = ""  # the safety checkpoint that records it

    @property
    def event(self) -> str:
        """The event for the callback: trim the conversation, or bring back an earlier one."""
        return UNDO if self.kind == UNDO else self.root.event

    @property
    def concerns_conversation(self) -> bool:
        """Whether the conversation is restored; never with paths."""
        return self.request.conversation and not self.request.paths

    @property
    def edits_of(self) -> str:
        """The id of the operation whose edits of the host's files it reverts; empty for none."""
        if not self.concerns_conversation:
            return ""
        return self.target if self.kind == RESTORE and self.event == UNDO else self.of

    def as_json(self) -> dict[str, Any]:
        """The record for the safety checkpoint, which `read_plan` parses."""
        request, root = self.request, self.root
        record = {
            "operation": self.kind,
            "target": self.target,
            "target_commit": self.target_commit,
            "of": self.of or None,
            "mends": self.repairs,
            "origin": {"id": root.id, "commit": root.commit, "event": root.event},
            "files": request.files,
            "conversation": request.conversation,
            "paths": request.paths,
            "prefix": request.prefix,
            "archives": root.archives,
            **({"archives_itself": True} if root.with_it else {}),
            **({"after": True} if request.after else {}),
            "before": root.before or None,
            "head": self.move._asdict() if self.move else None,
            "over": self.over or None,
            "callback": self.callback,
            "returns": self.returns,
            "blocked": sorted(self.blocked),
        }
        if request.only is not None:
            record["only"] = sorted(request.only)
        if self.step:
            record["step"] = self.step._asdict()
        return record | ({"proposal": self.proposal._asdict()} if self.proposal else {})


def proposal_record(
    step: ProposalStep, written: Sequence[WrittenFile], *, files: bool
) -> dict[str, Any]:
    """The record of a change of proposals for undo; `files` is whether it changes files."""
    return {
        "operation": RESTORE,
        "target": step.before,
        "files": files,
        "written": [file._asdict() for file in written],
        "conversation": False,
        "paths": [f":(top,literal){path}" for path in step.paths],
        "prefix": "",
        "proposal": step._asdict(),
    }


def read_plan(safety: Checkpoint) -> RestorePlan:
    """The record in a safety checkpoint; missing or malformed fields have their defaults."""
    values = safety.meta.table("restore")
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    lists = {key: value for key, value in values.items() if isinstance(value, list)}
    kind, target, commit = (texts.get(key, "") for key in ("operation", "target", "target_commit"))
    origin = _table(values.get("origin"))
    identifier, first, event = (origin.get(key) for key in ("id", "commit", "event"))
    if not (isinstance(identifier, str) and isinstance(first, str) and event in (TRIM, UNDO)):
        identifier, first, event = safety.id, safety.commit.id, UNDO
    before = safety.meta.part("restore", "before") or ""
    return RestorePlan(
        kind=kind if kind in (RESTORE, UNDO, REDO) and "target" in texts else "",
        target=target,
        target_commit=commit if OBJECT_ID.fullmatch(commit) else "",
        request=RestoreRequest(
            files=values.get("files") is not False,
            conversation=values.get("conversation") is not False,
            paths=tuple(map(str, lists.get("paths", ()))),
            after=values.get("after") is True,
            prefix=texts.get("prefix", ""),
            only=frozenset(map(str, lists["only"])) if "only" in lists else None,
        ),
        root=Root(
            identifier,
            first,
            event,
            values.get("archives") is True,
            values.get("archives_itself") is True,
            before,
        ),
        # The target of an undo is the safety checkpoint of the undone operation.
        of=texts.get("of") or (target if kind == UNDO else ""),
        repairs=values.get("mends") is True,
        over=texts.get("over", ""),
        proposal=_proposal(_table(values.get("proposal"))),
        written=tuple(_written(lists.get("written", ()))),
        step=_step(_table(values.get("step"))),
        returns=values.get("returns") is True,
        callback=values.get("callback") is True,
        move=_move(values.get("head")),
        blocked=frozenset(map(str, lists.get("blocked", ()))),
        id=safety.id,
    )


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _written(rows: Iterable[object]) -> Iterator[WrittenFile]:
    for row in map(_table, rows):
        match [row.get(key) for key in WrittenFile._fields]:
            case [str(path), str(mode), str(identifier)] if OBJECT_ID.fullmatch(identifier):
                yield WrittenFile(path, mode, identifier)


def _proposal(table: dict[str, Any]) -> ProposalStep | None:
    match [table.get(key) for key in ProposalStep._fields]:
        case [str(change), str(before), list(paths)]:
            return ProposalStep(change, before, tuple(p for p in paths if isinstance(p, str)))
    return None


def _step(table: dict[str, Any]) -> TurnStep | None:
    match [table.get(key) for key in TurnStep._fields]:
        case [str(command), list(turns), bool(whole)]:
            return TurnStep(command, tuple(map(str, turns)), whole)
    return None


def _move(head: object) -> HeadMove | None:
    if not isinstance(head, dict):
        return None
    ref, old, new = (head.get(key) for key in ("ref", "old", "new"))
    for commit in (old, new):
        if commit is not None and not (isinstance(commit, str) and OBJECT_ID.fullmatch(commit)):
            return None
    return HeadMove(None if ref is None else str(ref), old, new)


def checkpoint_at(catalog: Catalog, identifier: str, commit: str) -> Checkpoint | None:
    """A checkpoint by its id and commit, even without its ref; None if the commit is gone."""
    if not OBJECT_ID.fullmatch(commit):
        return None
    found = next(catalog.entries([Ref(f"{CHECKPOINTS}{identifier}", commit)]))
    return found if isinstance(found, Checkpoint) else None


def is_own_safety(repository: Repository, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint is a safety checkpoint of this worktree."""
    here = checkpoint.meta.worktree_key == repository.worktree_key
    return here and checkpoint.ref.startswith(SAFETY)


class History:
    """The operations of a worktree that can be undone and redone.

    As in an editor: an undo reverts the newest operation, a redo reverts the newest undo, and a
    restore clears the redo history.
    """

    def __init__(self, oldest_first: Iterable[RestorePlan]) -> None:
        self.done: list[RestorePlan] = []  # the operations to undo, the next one last
        self.undone: list[RestorePlan] = []  # the undos to redo, the next one last
        self._by_id: dict[str, RestorePlan] = {}
        for plan in oldest_first:
            self._by_id[plan.id] = plan
            if plan.kind == RESTORE:
                self.done.append(plan)
                self.undone.clear()
            elif plan.kind == REDO:
                _drop_last(self.undone, plan.of)
                self.done.append(plan)
            elif _drop_last(self.done, plan.of) or not plan.repairs:
                self.undone.append(plan)
            elif (undo := _drop_last(self.undone, plan.of)) and undo.of in self._by_id:
                # It reverted an interrupted undo.
                self.done.append(self._by_id[undo.of])

    def unfinished(self, interrupted: RestorePlan) -> list[RestorePlan]:
        """The interrupted operation, the one that it was repairing, and so on.

        The last one is the operation to revert.
        """
        found = [interrupted]
        while found[-1].repairs and found[-1].of in self._by_id:
            found.append(self._by_id[found[-1].of])
        return found

    def needed(self) -> set[str]:
        """The ids of the operations that yield the same history without the others."""
        needed = {plan.id for plan in (*self.done, *self.undone)}
        # The record of a repaired operation has the target of its redo.
        return needed | {plan.of for plan in self.undone if plan.repairs}


def _drop_last(plans: list[RestorePlan], identifier: str) -> RestorePlan | None:
    # Its record may have been pruned; the later operations count anyway.
    return plans.pop() if plans and plans[-1].id == identifier else None


def read_history(newest_first: Iterable[Checkpoint]) -> History:
    """The history of a worktree, from its safety checkpoints."""
    plans = map(read_plan, reversed(list(newest_first)))
    return History(plan for plan in plans if plan.kind)


def needed_safety_ids(newest_first: list[Checkpoint], interrupted: str | None = None) -> set[str]:
    """The ids of the safety checkpoints of a worktree that undo and redo still need.

    `interrupted` is the id of an interrupted operation; None if there is none.
    """
    found = read_history(newest_first).needed()
    by_id = {safety.id: read_plan(safety) for safety in newest_first}
    while interrupted is not None and interrupted in by_id:
        found.add(interrupted)
        # Reverting it may repair or redo the operation that it repaired or undid.
        interrupted = by_id[interrupted].of or None
    return found
