"""Move the branch that HEAD is on, or a detached HEAD, as `git reset --soft` does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.durable import sync_refs
from git_boocode.repo.errors import BoocodeError, RefusedError, from_os
from git_boocode.repo.head import Head, operation_in_progress, read_head
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ref_error

# Where an operation in progress notes the branch that it has taken HEAD off, to come back to it.
_TAKEN = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


class HeadMove(NamedTuple):
    """A move of HEAD.

    Attributes:
        ref: the branch that HEAD is on and that moves; None if HEAD is detached.
        old: the commit that it leaves; None if the branch is unborn.
        new: the commit that it goes to; None if the branch is to be unborn again.
    """

    ref: str | None
    old: str | None
    new: str | None

    @property
    def back(self) -> HeadMove:
        """The same move the other way round."""
        return HeadMove(self.ref, self.new, self.old)

    def carry_out(self, repository: Repository, message: str) -> None:
        """Do it, if HEAD still is where it has to leave.

        Args:
            repository: whose HEAD.
            message: what the reflog says, where the user keeps one.

        Raises:
            RefusedError: HEAD has been moved by someone else (`conflict`, `locked`).
            FatalError: git cannot write the ref.
        """
        name = self.ref or "HEAD"
        old = self.old or repository.zero_id
        how = ("update-ref", *(() if self.ref else ("--no-deref",)), "-m", message)
        what = ("-d", name, old) if self.new is None else (name, self.new, old)
        done = repository.git.without("core.logAllRefUpdates").attempt(*how, *what)
        if done.status:
            raise ref_error(os.fsdecode(done.stderr))
        git_dir = repository.common_dir if self.ref else repository.git_dir
        try:
            sync_refs(git_dir, [name], packed=self.new is None)
        except OSError as error:
            raise from_os(error) from error


class MovingHead:
    """HEAD, moved and moved back; or left where it is.

    Args:
        repository: whose HEAD.
        move: where it goes; None if it stays.
        message: what the reflog says.
    """

    def __init__(self, repository: Repository, move: HeadMove | None, message: str) -> None:
        self._repository = repository
        self._move = move
        self._message = message
        self._begun = False

    def do(self) -> None:
        """Move it.

        Raises:
            RefusedError: someone else has moved it.
            FatalError: git cannot write it.
        """
        if self._move is None:
            return
        self._begun = True
        try:
            self._move.carry_out(self._repository, self._message)
        except BoocodeError:
            # Git has said no, so that HEAD is whatever someone else has made it.
            self._begun = False
            raise

    def take_back(self) -> None:
        """Move it back, if it was moved.

        Raises:
            RefusedError: someone else has moved it since.
            FatalError: git cannot write it.
        """
        if self._move is None or not self._begun:
            return
        now = read_head(self._repository)
        if (now.ref, now.commit) == (self._move.ref, self._move.new):
            self._move.back.carry_out(self._repository, f"{self._message}, rolled back")
        elif (now.ref, now.commit) != (self._move.ref, self._move.old):
            raise RefusedError(
                f"someone else has moved it to {now.commit or 'an unborn branch'}; before, it was "
                f"at {self._move.old or 'an unborn branch'}",
                code="conflict",
            )


def plan_move(
    repository: Repository, now: Head, ref: str | None, commit: str | None, stay: str
) -> HeadMove | None:
    """Plan to bring HEAD to where it once was; None if it is there.

    Args:
        repository: whose HEAD.
        now: where it is.
        ref: the branch that it was on, None if it was detached.
        commit: the commit that it named, None if the branch was unborn.
        stay: how the caller can leave HEAD where it is, for hints.

    Raises:
        RefusedError: HEAD is on another branch (`other_branch`), a merge or the like is under way
            (`in_progress`), someone else could be on that branch (`branch_in_use`), or the commit
            is missing (`missing_objects`).
    """
    if now.ref != ref:
        raise _other_branch(now.ref, ref, stay)
    if now.commit == commit:
        return None
    if state := operation_in_progress(repository):
        raise RefusedError(
            f"HEAD cannot be moved: a {state} is under way",
            code="in_progress",
            hints=(f"finish or abort the {state} first; {stay}",),
        )
    if ref is not None and (where := _in_use(repository, ref)):
        raise RefusedError(
            f"the branch '{_short(ref)}' is also checked out at '{where}'",
            code="branch_in_use",
            hints=(f"someone else could be at work there; {stay}",),
        )
    if commit and repository.git.attempt("cat-file", "-e", f"{commit}^{{commit}}").status:
        raise RefusedError(
            f"HEAD cannot be moved: the commit '{commit}' is missing",
            code="missing_objects",
            hints=(stay,),
        )
    return HeadMove(ref, now.commit, commit)


def _other_branch(now: str | None, then: str | None, stay: str) -> RefusedError:
    where = f"on the branch '{_short(now)}'" if now else "detached"
    was = f"on '{_short(then)}'" if then else "detached"
    switch = f"git switch {_short(then)}" if then else "git switch --detach"
    return RefusedError(
        f"HEAD is {where}, and was {was} at the checkpoint",
        code="other_branch",
        hints=(f"'{switch}' goes there; {stay}",),
    )


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/")


def _in_use(repository: Repository, ref: str) -> str:
    """Another worktree that has a branch checked out, or will come back to it; empty if none."""
    for path, branch in _checked_out(repository):
        if branch == ref and os.path.realpath(path) != os.path.realpath(repository.worktree):
            return path
    for git_dir in _other_git_dirs(repository):
        if ref in _taken(git_dir):
            return os.path.dirname(_content(git_dir, "gitdir")) or os.path.dirname(git_dir)
    return ""


def _checked_out(repository: Repository) -> Iterator[tuple[str, str]]:
    """Each worktree with the branch that it has checked out."""
    path = ""
    for line in repository.git.line("worktree", "list", "--porcelain").split("\n"):
        key, _, value = line.partition(" ")
        if key == "worktree":
            path = value
        elif key == "branch":
            yield path, value


def _other_git_dirs(repository: Repository) -> Iterator[str]:
    linked = os.path.join(repository.common_dir, "worktrees")
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    for git_dir in (repository.common_dir, *(os.path.join(linked, name) for name in names)):
        if os.path.realpath(git_dir) != os.path.realpath(repository.git_dir):
            yield git_dir


def _taken(git_dir: str) -> set[str]:
    """The branches that an operation in progress has taken HEAD off."""
    found = {_content(git_dir, name) for name in _TAKEN}
    # A bisection notes the short name.
    return found | {f"refs/heads/{name}" for name in found}


def _content(git_dir: str, name: str) -> str:
    path = os.path.join(git_dir, name)
    with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().strip()
    return ""
