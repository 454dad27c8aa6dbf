"""Revert and pick: take back what turns did, or do it here, and keep everybody else's work.

Each path that a turn changed is merged three-way with the file as it is now; see `turn_merge`. It
is carried out as a restore of these paths, so that undo and redo concern nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.agents.registry import find_agent
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.plan import read_history
from git_boocode.checkpoints.restore.request import (
    RUNNING_TURN,
    RestoreRequest,
    TurnStep,
    Wanted,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_work import TurnWork, work_of
from git_boocode.checkpoints.turns import NOW, Turn, turns
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.errors import (
    ArgumentError,
    NextStep,
    RefusedError,
    refuse_combined,
    refuse_unknown,
    shell_command,
)
from git_boocode.repo.layout import SAFETY
from git_boocode.repo.repository import Repository
from git_boocode.workflows.restore_with_edits import restore_host
from git_boocode.workflows.turn_conflicts import refusal_of
from git_boocode.workflows.turn_merge import Merged, merge_turns, with_hunks_only

REVERT, PICK = "revert", "pick"
SHARED = "shared"
REFUSALS = (SHARED, RUNNING_TURN)
"""The refusals that `force` can override."""
_SEARCHED = 50  # turns among which the one is that ended last


class TakeBackRequest(NamedTuple):
    """What to revert or pick, and how.

    Without turns, session and agent, it is the turn that ended last. `hunks` are the numbers of the
    only hunks by path, of those that a dry run lists; empty for all. `markers` leaves conflict
    markers where others changed the same lines. `buffers` are the texts of an editor by path, which
    are merged instead of the files, and are not written.
    """

    turns: tuple[str, ...] = ()
    session: str = ""
    agent: str = ""
    paths: tuple[str, ...] = ()  # pathspecs from the caller's directory; empty for all
    hunks: Mapping[str, frozenset[int]] = MappingProxyType({})
    dry_run: bool = False
    diff: bool = False
    markers: bool = False
    force: frozenset[str] = frozenset()
    buffers: Mapping[str, bytes] = MappingProxyType({})

    def checked(self) -> TakeBackRequest:
        """This request, if its arguments fit together (ArgumentError)."""
        refuse_combined(session=self.session, turns=self.turns)
        refuse_combined(agent=self.agent, turns=self.turns)
        refuse_combined(hunks=self.hunks, markers=self.markers)
        refuse_unknown("force", sorted(self.force), REFUSALS)
        return self


class TakenBack(NamedTuple):
    """What a revert or a pick did, or would do."""

    command: str
    turns: tuple[Checkpoint, ...]  # in the order in which they were merged
    merged: Merged
    result: RestoreResult

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        result = self.result
        return {
            "ok": True,
            "turns": [turn.id for turn in self.turns],
            "undo": result.undo,
            "dry_run": result.dry_run,
            "changed": [change.as_json() for change in result.changed],
            "staged": [change.as_json() for change in result.staged],
            "kept": [kept._asdict() for kept in result.kept],
            **({"diff": result.diff} if result.diff else {}),
        }


def take_back(repository: Repository, command: str, request: TakeBackRequest) -> TakenBack:
    """Carry out REVERT or PICK.

    Raises:
        RefusedError: nothing was changed: a turn does not exist (`not_found`), others have changed
            the same lines (`conflict`), it is uncertain whose change it is (`shared`), a turn is
            running (`locked`), or what `restore` refuses.
        FatalError: as for a restore.
    """
    catalog = Catalog(repository)
    chosen = chosen_turns(catalog, command, request)
    specs = checked_pathspecs(repository, request.paths)
    found: Merged | None = None

    def make(snapshot: Snapshot) -> Wanted:
        nonlocal found
        works = [_known(catalog, each, snapshot) for each in chosen]
        found = merge_turns(
            repository,
            snapshot,
            works,
            forwards=command == PICK,
            pathspecs=specs,
            markers=request.markers,
            force_shared=SHARED in request.force,
            buffers=request.buffers,
        )
        if request.hunks:
            found = with_hunks_only(repository, snapshot, found, request.hunks)
        elif found.conflicts and not request.markers:
            raise refusal_of(found.conflicts, works, command)
        return found.wanted

    step = TurnStep(command, tuple(each.id for each in chosen), not (specs or request.hunks))
    asked = RestoreRequest(dry_run=request.dry_run, diff=request.diff, force=request.force)
    result = commands.change_paths(repository, step, make, asked, restore_host(repository))
    assert found is not None
    return TakenBack(command, tuple(chosen), found, result)


def _known(catalog: Catalog, checkpoint: Checkpoint, snapshot: Snapshot) -> TurnWork:
    work = work_of(catalog, checkpoint, lambda: snapshot.tree)
    if not work.turn.after:
        raise RefusedError(
            f"it is unknown how the turn {checkpoint.id} ended",
            code="not_found",
            hints=("its end was not recorded, and no later checkpoint of that worktree is here",),
        )
    return work


# Which turns.


def chosen_turns(catalog: Catalog, command: str, request: TakeBackRequest) -> list[Checkpoint]:
    """The turns to merge, in order: to revert the newest first, to pick the oldest first."""
    if request.turns:
        found = [catalog.find(name) for name in request.turns]
    elif request.session or request.agent:
        found = _turns_of(catalog, request)
    elif command == PICK:
        raise ArgumentError("{} is missing", "turns")
    else:
        found = [_ended_last(catalog)]
    for each in found:
        _refuse_other(catalog, command, each)
    by_id = {each.id: each for each in found}
    return [by_id[identifier] for identifier in sorted(by_id, reverse=command == REVERT)]


def _turns_of(catalog: Catalog, request: TakeBackRequest) -> list[Checkpoint]:
    """The turns of a session, an agent, or both that are not reverted."""
    agent = find_agent(request.agent)
    names = {request.agent, agent.name if agent else request.agent}
    reverted = reverted_turns(catalog.safety())
    found = [
        each
        for each in catalog.history()
        if request.session in ("", each.meta.text("session"))
        and (not request.agent or each.meta.text("agent") in names)
        and each.id not in reverted
    ]
    if not found:
        whose = f"session '{request.session}'" if request.session else f"agent '{request.agent}'"
        raise RefusedError(
            f"there is no turn of {whose} to revert in this worktree",
            code="not_found",
            hints=(NextStep("{} lists the turns", "log", typed="'git boocode log'"),),
        )
    return found


def _ended_last(catalog: Catalog) -> Checkpoint:
    """The turn of this worktree that ended last and is not reverted.

    One that an agent has begun and not ended is still running.
    """
    triggers = restore_host(catalog.repository).turn_triggers
    reverted = reverted_turns(catalog.safety())
    # A turn that goes on needs only to be known as such.
    found = [
        turn
        for turn in islice(turns(catalog, catalog.history(), lambda: NOW), _SEARCHED)
        if turn.checkpoint.id not in reverted and not turn.paths
    ]
    ends = dict(_ends(catalog, found))
    ended: list[tuple[str, str, Checkpoint]] = []
    for turn in found:
        meta = turn.checkpoint.meta
        if turn.end == NOW and meta.text("trigger") in triggers.get(meta.text("agent"), ()):
            continue
        # An id is greater than all earlier ones.
        ended.append((ends.get(turn.after, "~"), turn.checkpoint.id, turn.checkpoint))
    if not ended:
        message = "no turn of this worktree has ended that could be reverted"
        raise RefusedError(message, code="not_found", hints=(catalog.way_to_latest(),))
    return max(ended, key=lambda each: each[:2])[2]


def _ends(catalog: Catalog, found: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """The ids of the states at which turns ended, by their commits."""
    commits = [turn.after for turn in found if turn.end != NOW and turn.after]
    for identifier, commit in zip(commits, catalog.store.commits(commits), strict=True):
        with suppress(MetadataError):
            yield identifier, Metadata.parse(commit.message).text("id") if commit else ""


def _refuse_other(catalog: Catalog, command: str, checkpoint: Checkpoint) -> None:
    """Refuse what began no turn, and to revert what was done in another worktree."""
    if checkpoint.ref.startswith(SAFETY):
        raise RefusedError(
            f"'{checkpoint.id}' is the state before a restore, not a turn",
            code="not_found",
            hints=(NextStep("{} lists the turns", "log", typed="'git boocode log'"),),
        )
    if command == PICK or checkpoint.remote or catalog.is_ours(checkpoint):
        return
    where = checkpoint.meta.part("worktree", "path") or checkpoint.meta.worktree_name
    there = shell_command("git", "-C", where, "boocode", REVERT, checkpoint.id)
    raise RefusedError(
        f"turn '{checkpoint.id}' was done in another worktree: '{where}'",
        code="other_worktree",
        hints=(f"revert it there: {there}",),
    )


def reverted_turns(safety: Iterable[Checkpoint]) -> set[str]:
    """The ids of the turns that are reverted as a whole now; `safety` is newest first."""
    reverted = set[str]()
    for plan in read_history(safety).done:
        if plan.step is not None and plan.step.whole:
            if plan.step.command == REVERT:
                reverted.update(plan.step.turns)
            else:
                reverted.difference_update(plan.step.turns)
    return reverted
