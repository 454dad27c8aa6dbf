"""The context of a turn: the files as they are when it begins, with an editor's unsaved text."""

from __future__ import annotations

import os

from git_boocode.checkpoints.turn_request import BegunTurn, TurnRequest, begin_turn
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.conversion import file_mode, store_version
from git_boocode.proposals.local_files import is_executable
from git_boocode.proposals.new_proposal import versions_in
from git_boocode.proposals.proposal import (
    BlobVersion,
    NewState,
    ObjectStore,
    Versions,
    store_proposal,
)
from git_boocode.proposals.review import Review
from git_boocode.repo.running_turn import read_turn, remove_turn


def begin(workspace: Workspace, request: TurnRequest) -> BegunTurn:
    """Begin a turn; its checkpoint is the context of what is proposed, with the buffers.

    A file with a change that is still proposed keeps its context. Errors are those of `begin_turn`;
    if the context cannot be stored, no turn runs.
    """
    assert workspace.repository is not None
    begun = begin_turn(workspace.repository, request)
    try:
        _refresh(workspace, begun.captured.checkpoint.commit.id)
    except BaseException:
        if read_turn(workspace.repository) == begun.turn:
            remove_turn(workspace.repository)
        raise
    return begun


def _refresh(workspace: Workspace, base: str) -> None:
    """Make the files of a checkpoint, and the buffers, the context of all that is not pending."""
    review = Review(workspace)
    state, repository = review.state, review.repository
    pending = {path for file in state.files() if file.is_pending for path in file.paths}
    settled = state.context.keys() - pending
    buffers = {
        path: data.data
        for real, data in workspace.buffers.items()
        if data is not None and (path := workspace.tree_path(real)) not in pending
    }
    recorded: Versions = versions_in(repository, base, settled) if settled else {}
    if not buffers and all(state.context[path] == version for path, version in recorded.items()):
        return

    def write(objects: ObjectStore) -> NewState:
        known: dict[str, BlobVersion | None] = dict(recorded)
        for path, data in buffers.items():
            real = os.path.join(workspace.top, path)
            mode = file_mode(executable=is_executable(real))
            known[path] = store_version(repository, objects, (path, data), mode)
        return NewState(state.with_versions(known, known), "turn", base)

    store_proposal(repository, write, review.locked)
