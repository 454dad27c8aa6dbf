"""Take a checkpoint: a snapshot, kept as a commit under a ref of ours."""

from __future__ import annotations

import os

from git_boocode.checkpoints.request import Captured, Request
from git_boocode.checkpoints.worktree.scan import reading
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.gc import GcWatch, kept_from_gc
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory, worktree_lock

__all__ = ("Captured", "Request", "capture")


def capture(repository: Repository, request: Request) -> Captured:
    """Take a checkpoint of the worktree and the staging area.

    Raises:
        RefusedError: a restore is at work (`locked`), the worktree is the home directory or the
            root (`home_worktree`), or a path leads out of it (`outside_worktree`).
        FatalError: the worktree could not be read, or the checkpoint not be written.
    """
    if not request.allow_home:
        _refuse_home(repository)
    with worktree_lock(repository.state_dir, shared=True, patience=request.patience):
        return kept_from_gc(repository, lambda watch: _capture(repository, request, watch))


def _capture(repository: Repository, request: Request, watch: GcWatch) -> Captured:
    with scratch_directory(repository.state_dir) as scratch:
        taken = _take(repository, scratch, request)
        if taken.is_new:
            watch.confirm(taken.checkpoint.ref, taken.checkpoint.commits)
        return taken


def _take(repository: Repository, scratch: str, request: Request) -> Captured:
    if request.paths:
        from git_boocode.checkpoints.store.commit import capture_paths

        if taken := capture_paths(repository, scratch, request):
            return taken
    with reading(repository, scratch) as under_way:
        # While git walks the worktree, there is time to import what comes afterwards.
        from git_boocode.checkpoints.store.commit import capture_all

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
