"""The work of other sessions that a restore or undo removes, and how to keep it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile
from typing import NamedTuple

from git_boocode.agents.registry import find_agent
from git_boocode.checkpoints.restore.request import UNDO
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, tree_changes
from git_boocode.checkpoints.turns import CurrentTree, Turn, only_paths
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import step_that
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository

_LOOKED_AT = 200
"""The most checkpoints that are looked at, newest first."""


class _Later(NamedTuple):
    """The turns since a state: of its own session, and of others."""

    own: list[Checkpoint]
    others: list[Checkpoint]


def with_other_sessions(repository: Repository, result: RestoreResult) -> RestoreResult:
    """A result with the turns of other sessions whose changes it removes, as far as it has any.

    A state without a session belongs to no agent, so that all turns are meant that began since.
    """
    target = result.checkpoint
    is_turn = target.ref.startswith(CHECKPOINTS)
    if not result.changed or result.step or (is_turn and not target.meta.text("session")):
        return result
    catalog = Catalog(repository)
    # The state at the end of a turn can be the beginning of the next one.
    since = target.meta.text("id") if result.after else f"{target.id}~"
    later = _later(catalog, target, since)
    if not later.others:
        return result
    others = _whose_work_is_in(catalog, later.others, result)
    archived = set(result.archived)
    known = (each for each in catalog.archived() if not isinstance(each, Unusable))
    gone = [each for each in known if each.id in archived] if archived else []
    own = [*[target][: is_turn and not result.after], *later.own, *gone]
    turns = sorted({each.id for each in own if not begins_no_turn(each)}, reverse=True)
    is_to_keep = turns and (others or _is_of(later.others, result.open_turn))
    if not is_to_keep:
        return replace(result, other_turns=tuple(others))
    command = f"git boocode revert {' '.join(turns)}"
    back = "redo" if result.kind == UNDO else "undo"
    when = "" if result.dry_run else f", after 'git boocode {back}'"
    does = "takes back only the turns of its session"
    hint = step_that(does, command, "revert", " ".join(turns), when)
    return replace(result, other_turns=tuple(others), instead=hint)


def _is_of(turns: list[Checkpoint], open_turn: str) -> bool:
    return any(each.id == open_turn for each in turns)


def _later(catalog: Catalog, target: Checkpoint, first: str) -> _Later:
    """The turns since a state, from the id `first` on."""
    found, own = _Later([], []), _session(target)
    since = takewhile(lambda each: each.id >= first, catalog.history())
    for each in islice(since, _LOOKED_AT):
        if each.meta.text("session"):
            (found.own if _session(each) == own else found.others).append(each)
    return found


def _session(checkpoint: Checkpoint) -> tuple[str, str]:
    return checkpoint.meta.text("agent"), checkpoint.meta.text("session")


def _whose_work_is_in(
    catalog: Catalog, wanted: list[Checkpoint], result: RestoreResult
) -> list[Checkpoint]:
    """Those of some turns that changed a path that a restore changed."""
    # Only here, because it takes long to load.
    from git_boocode.checkpoints.own_changes import own_turns

    paths, ids = {change.path for change in result.changed}, {each.id for each in wanted}
    with temporary_objects(catalog.repository):
        now = CurrentTree(catalog.repository)
        turns = own_turns(catalog, catalog.history(), now, lambda each: each.id in ids)
        found = {
            turn.checkpoint.id: turn.checkpoint
            for turn in islice(turns, len(wanted))
            if paths.intersection(_changed_by(catalog.repository, turn))
        }
    return [each for each in found.values() if not begins_no_turn(each)]


def _changed_by(repository: Repository, turn: Turn) -> Iterator[str]:
    before, after = turn.states
    if after:
        changes = tree_changes(repository.git, before, after, turn.paths)
        yield from (change.path for change in changes)


def begins_no_turn(checkpoint: Checkpoint) -> bool:
    """Whether it was taken before a tool of an agent, or by an agent during its own turn."""
    agent = find_agent(checkpoint.meta.text("agent"))
    is_before_tool = agent is not None and checkpoint.meta.text("trigger") == agent.tool
    return bool(checkpoint.in_turn) or (is_before_tool and only_paths(checkpoint) != ())
