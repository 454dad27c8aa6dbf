"""Bring back what was proposed before it was accepted, discarded or synced, for undo and redo."""

from __future__ import annotations

from git_boocode.checkpoints.restore.request import ProposalStep
from git_boocode.proposals.proposal import (
    BlobVersion,
    NewState,
    ObjectStore,
    Proposals,
    ProposalState,
    base_of,
    store_proposal,
)
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository


class EarlierStates:
    """The proposals of a worktree; see `git_boocode.checkpoints.restore.request`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def newest_id(self) -> str:
        """The id of the newest proposal; empty for none."""
        newest = Proposals(self._repository).newest()
        return newest.id if newest else ""

    def bring_back(self, step: ProposalStep) -> None:
        """Make the paths of a step as they were before it, unless that proposal was pruned."""
        proposals = Proposals(self._repository)
        newest = proposals.newest()
        now = newest.state if newest else ProposalState()
        try:
            earlier = proposals.state_of(step.before)
        except RefusedError:
            # The files go back anyway, and `status` shows how they differ from the proposal.
            return
        after = _state_after(proposals, step.before)
        # What was proposed since stays proposed.
        same = [path for path in step.paths if _sides(now, path) == _sides(after, path)]

        def write(_: ObjectStore) -> NewState:
            state = now.with_paths_of(earlier, same)
            return NewState(state, "undo", base_of(self._repository, newest))

        store_proposal(self._repository, write)


def _state_after(proposals: Proposals, before: str) -> ProposalState:
    """The state that a step led to, which is the next one after the state before it."""
    found = ProposalState()
    for proposal in proposals.history():
        if proposal.id <= before:
            break
        found = proposal.state
    return found


def _sides(state: ProposalState, path: str) -> tuple[BlobVersion | None, BlobVersion | None]:
    return state.context.get(path), state.output.get(path)
