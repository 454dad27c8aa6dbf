"""Pathspecs, as git reads them from where the caller stands."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import GitError, nul_records
from git_boocode.repo.index import Index
from git_boocode.repo.messages import (
    BAD_PATHSPEC,
    OUTSIDE_REPOSITORY,
    UNMATCHED_PATHSPEC,
    failure_reason,
)
from git_boocode.repo.repository import Repository


def pathspec_error(error: GitError) -> RefusedError | None:
    """What is wrong with the pathspecs; None if they are not what git complains of."""
    said = failure_reason(error.stderr)
    if OUTSIDE_REPOSITORY in said:
        return _outside(said.partition(": ")[0])
    if BAD_PATHSPEC in said:
        hints = ("'git help glossary' describes pathspecs",)
        return RefusedError(said[:1].lower() + said[1:], code="invalid_pathspec", hints=hints)
    return None


def _outside(spec: str) -> RefusedError:
    hints = ("only what is in the worktree is recorded and restored",)
    return RefusedError(f"'{spec}' is outside the worktree", code="outside_worktree", hints=hints)


def resolve_pathspec(top: str, prefix: str, spec: str) -> str:
    """A pathspec as git takes it; what is absolute may lead through a symlink to the top.

    The caller is in `prefix`, `""` or `"sub/dir/"`, below the top of the worktree. RefusedError
    if it is absolute and leads out of the worktree (`outside_worktree`).
    """
    if not os.path.isabs(spec):
        return spec
    directory, name = os.path.split(spec)
    full = os.path.join(os.path.realpath(directory), name)
    if os.path.commonpath((full, top)) != top:
        raise _outside(spec)
    return os.path.relpath(full, os.path.join(top, prefix))


def checked_pathspecs(repository: Repository, given: Iterable[str]) -> list[str]:
    """Some pathspecs as git takes them from where the caller stands; they may match nothing.

    RefusedError if one leads out of the worktree (`outside_worktree`), or git cannot make sense of
    it (`invalid_pathspec`).
    """
    top, prefix = repository.worktree, repository.prefix
    specs = [resolve_pathspec(top, prefix, spec) for spec in given]
    git = repository.git.bind(cwd=os.path.join(top, prefix))
    try:
        # Git reads the pathspecs before it finds that there is nothing to compare.
        git.run("diff-tree", repository.empty_tree, repository.empty_tree, "--", *specs)
    except GitError as error:
        raise pathspec_error(error) or error from None
    return specs


class Pathspecs:
    """Some pathspecs, and the directory that they count from, see `resolve_pathspec`.

    They may be read again after that directory has gone.
    """

    def __init__(self, top: str, prefix: str, given: Sequence[str]) -> None:
        self.prefix = prefix
        self._top = top
        self.given = tuple(resolve_pathspec(top, prefix, spec) for spec in given)

    def matching(self, indexes: Iterable[Index], *, each: bool) -> frozenset[str]:
        """The paths in any of some private indexes that they match.

        RefusedError if one leads out of the worktree (`outside_worktree`), git cannot make sense of
        it (`invalid_pathspec`), or it matches nothing although `each` has to (`not_found`).
        """
        found: set[str] = set()
        unmatched: set[str] | None = None
        for index in indexes:
            names, missing = self._matching(index)
            found.update(names)
            unmatched = missing if unmatched is None else unmatched & missing
        if unmatched and each:
            hints = ("neither the checkpoint nor the worktree has such a path",)
            raise RefusedError(min(unmatched), code="not_found", hints=hints)
        return frozenset(found)

    def _matching(self, index: Index) -> tuple[list[str], set[str]]:
        # Only names are looked at, in a worktree of their own: the directory may have gone.
        elsewhere = f"{index.path}.names"
        here = os.path.join(elsewhere, self.prefix)
        os.makedirs(here, exist_ok=True)
        git = index.git.bind(cwd=here, GIT_WORK_TREE=elsewhere)
        arguments = ("ls-files", "--cached", "--error-unmatch", "--full-name", "-z", "--")
        done = git.attempt(*arguments, *self.given)
        # What it complains of is the worktree that the caller knows.
        said = os.fsdecode(done.stderr).replace(elsewhere, self._top)
        if done.status not in (0, 1):
            error = GitError(arguments, done.status, said)
            raise pathspec_error(error) or error
        complaints = (line.removeprefix("error: ") for line in said.split("\n"))
        return nul_records(done.stdout), {line for line in complaints if UNMATCHED_PATHSPEC in line}
