"""Take a checkpoint: a snapshot, kept as a commit under a ref of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.checkpoints.reading import reading
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory, worktree_lock

if TYPE_CHECKING:
    from git_boocode.checkpoints.catalog import Checkpoint

# A capture waits for a restore to end: half-restored files are no state to remember.
PATIENCE = 30.0


class Request(NamedTuple):
    """What the caller says of a checkpoint; every text may be empty.

    Attributes:
        label: for people.
        session: the agent's session.
        chat: the conversation in it.
        message: the message that the conversation is to be cut at on restore.
        agent: which agent.
        trigger: what made it take the checkpoint, such as `manual` or a hook's name.
        meta: anything else.
        only_if_changed: take none when nothing differs from the latest one.
        paths: pathspecs; only what they match is looked at, the rest is as in the latest one.
        allow_home: whether the worktree may be the home directory or the root.
        anchor: where the conversation stands, beside the session and the message: the transcript,
            and how far it goes.
        patience: how many seconds to wait for a restore that is at work.
    """

    label: str = ""
    session: str = ""
    chat: str = ""
    message: str = ""
    agent: str = ""
    trigger: str = "manual"
    meta: Mapping[str, Any] = {}
    only_if_changed: bool = False
    paths: tuple[str, ...] = ()
    allow_home: bool = False
    anchor: Mapping[str, Any] = {}
    patience: float = PATIENCE


class Captured(NamedTuple):
    """A checkpoint that was taken, or the one that already holds the same.

    Attributes:
        checkpoint: it.
        changed: whether files or staging differ from the latest checkpoint before it.
    """

    checkpoint: Checkpoint
    changed: bool


def capture(repository: Repository, request: Request) -> Captured:
    """Take a checkpoint of the worktree and the staging area.

    Raises:
        RefusedError: a restore is at work (`locked`), the worktree is the home directory or the
            root (`home_worktree`), or a path leads out of it (`outside_worktree`).
        FatalError: the worktree could not be read, or the checkpoint not be written.
    """
    if not request.allow_home:
        _refuse_home(repository)
    state = repository.state_dir
    with (
        worktree_lock(state, shared=True, patience=request.patience),
        scratch_directory(state) as scratch,
    ):
        if request.paths:
            from git_boocode.checkpoints.keeping import capture_paths

            if taken := capture_paths(repository, scratch, request):
                return taken
        with reading(repository, scratch) as under_way:
            # While git walks the worktree, there is time to import what comes afterwards.
            from git_boocode.checkpoints.keeping import capture_all

            return capture_all(repository, request, under_way)


def _refuse_home(repository: Repository) -> None:
    top = os.path.realpath(repository.worktree)
    if top != os.path.dirname(top) and top != os.path.realpath(os.path.expanduser("~")):
        return
    if repository.config.boolean("boocode.allowHome", default=False):
        return
    raise RefusedError(
        f"the worktree '{top}' is the home directory or the root; a checkpoint would take in "
        "everything that is not ignored there",
        code="home_worktree",
        hints=("if that is meant: --allow-home, or git config boocode.allowHome true",),
    )
