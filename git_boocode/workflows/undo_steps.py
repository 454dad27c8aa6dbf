"""What the page of `git boocode view` offers beside turns: undo, redo, and the newest proposal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from git_boocode.checkpoints.restore.plan import RestorePlan, read_history, read_plan
from git_boocode.checkpoints.restore.request import RESTORE
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import file_statuses
from git_boocode.repo.ids import time_of
from git_boocode.repo.repository import Repository

JsonObject = dict[str, Any]


def undo_steps(safety: Sequence[Checkpoint]) -> dict[str, JsonObject | None]:
    """What `undo` and `redo` would do next in a worktree, None for nothing.

    `safety` are its safety checkpoints, newest first. The `id` of a step is what
    `RestoreRequest.only_to` takes; `command` is what was done, such as `restore` or `accept`.
    """
    by_id = {each.id: each for each in safety}
    history = read_history(safety)

    def step(plans: Sequence[RestorePlan]) -> JsonObject | None:
        if not plans:
            return None
        newest = done = plans[-1]
        while done.kind != RESTORE and done.of in by_id:
            done = read_plan(by_id[done.of])
        command = done.step.command if done.step else RESTORE
        if done.proposal:
            command = done.proposal.change
        targets = done.step.turns if done.step else (done.target,)
        turns = [] if done.proposal else [*targets]
        return {"id": newest.id, "command": command, "turns": turns, "time": time_of(newest.id)}

    return {"undo": step(history.done), "redo": step(history.undone)}


def proposed_files(repository: Repository) -> list[str]:
    """The paths of the newest proposal that differ from it here."""
    workspace = Workspace(repository.worktree, repository.prefix, repository)
    return [each.file.path for each in file_statuses(workspace) if each.letters]
