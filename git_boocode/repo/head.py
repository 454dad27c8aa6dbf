"""Where HEAD stands, and what operation is in progress."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.git import Git
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.repository import Repository

# Files and directories in the git directory that say what is going on; the first one decides.
_STATES = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
# Those that are refs, which not every ref storage keeps in files.
_STATE_REFS = ("CHERRY_PICK_HEAD", "REVERT_HEAD")


class Head(NamedTuple):
    """HEAD of a worktree.

    Attributes:
        ref: the branch it is on, such as `refs/heads/main`; None if detached.
        commit: the commit it names; None on an unborn branch.
        tree: that commit's tree, or the empty tree.
    """

    ref: str | None
    commit: str | None
    tree: str


def read_head(repository: Repository) -> Head:
    """Ask git for HEAD."""
    git = repository.git
    ref = _branch(repository)
    found = git.attempt("rev-parse", "HEAD^{commit}", "HEAD^{tree}", "--")
    if found.status:
        return Head(ref, None, repository.empty_tree)
    commit, tree = os.fsdecode(found.stdout).split("\n")[:2]
    return Head(ref, commit, tree)


def _branch(repository: Repository) -> str | None:
    # Read from the file where it is plain: the process would cost as much as all else here.
    path = os.path.join(repository.git_dir, "HEAD")
    if repository.has_plain_refs and not os.path.islink(path):
        with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
            content = file.read()
            name = content.removeprefix("ref:").strip()
            if OBJECT_ID.fullmatch(name):
                return None
            if content.startswith("ref:"):
                return name
    symbolic = repository.git.attempt("symbolic-ref", "-q", "HEAD")
    return os.fsdecode(symbolic.stdout).strip() or None


def tree_of(git: Git, commit: str) -> str:
    """The id of a commit's tree."""
    return git.line("rev-parse", "--verify", f"{commit}^{{tree}}")


def operation_in_progress(repository: Repository) -> str | None:
    """The name of an unfinished operation, such as `merge` or `rebase`, or None."""
    present = _state_refs(repository)
    for name, state in _STATES:
        if name in present or os.path.exists(os.path.join(repository.git_dir, name)):
            return state
    return None


def _state_refs(repository: Repository) -> list[str]:
    """Those of `_STATE_REFS` that exist, where refs are not kept in files, as with reftable."""
    if repository.has_plain_refs:
        return []
    command = ("for-each-ref", "--include-root-refs", "--format=%(refname)", *_STATE_REFS)
    return os.fsdecode(repository.git.attempt(*command).stdout).splitlines()
