"""Refuse checkpoints that were not taken here, unless they are asked for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository

WORKTREE, SESSION, REPOSITORY = "other-worktree", "other-session", "other-repository"
KINDS = (WORKTREE, SESSION, REPOSITORY)


class Caller(NamedTuple):
    """Who asks for a restore.

    Attributes:
        session: the agent's session that the caller is; empty if it does not say.
        allowed: which checkpoints of others are all right: any of `KINDS`.
    """

    session: str = ""
    allowed: frozenset[str] = frozenset()


def refuse_foreign(repository: Repository, checkpoint: Checkpoint, caller: Caller) -> None:
    """Stop if a checkpoint was taken elsewhere and the caller does not know.

    Args:
        repository: where it is to be restored.
        checkpoint: the checkpoint.
        caller: who asks, and for what.

    Raises:
        RefusedError: it is of another worktree (`other_worktree`), session (`other_session`) or
            repository (`other_repository`).
    """
    for kind, whose, hint in _strangeness(repository, checkpoint, caller):
        if kind not in caller.allowed:
            force = f"--force {kind} restores it here all the same"
            raise RefusedError(
                f"checkpoint '{checkpoint.id}' is of another {whose}",
                code=kind.replace("-", "_"),
                hints=(hint, force) if hint else (force,),
            )


def _strangeness(
    repository: Repository, checkpoint: Checkpoint, caller: Caller
) -> Iterator[tuple[str, str, str]]:
    if checkpoint.remote:
        # The names of worktrees say nothing across repositories.
        look = f"it was fetched; 'git boocode show {checkpoint.id}' shows what is in it"
        yield REPOSITORY, f"repository: '{checkpoint.remote}'", look
    elif checkpoint.meta.worktree_key != repository.worktree_key:
        where = checkpoint.meta.part("worktree", "path") or checkpoint.meta.worktree_name
        there = f"run it there: git -C {shlex.quote(where)} boocode restore {checkpoint.id}"
        gone = "that worktree is gone"
        exists = os.path.isdir(where) and os.path.realpath(where) != repository.worktree
        yield WORKTREE, f"worktree: '{where}'", there if exists else gone
    session = checkpoint.meta.text("session")
    if caller.session and session and session != caller.session:
        yield SESSION, f"session: '{session}'", ""
