"""The state of HEAD, and the operation in progress."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.repository import Repository

# Files and directories in the git directory that indicate an operation; the first match wins.
_STATES = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
# The pseudorefs among them, which not every ref storage keeps in files.
_STATE_REFS = ("CHERRY_PICK_HEAD", "REVERT_HEAD")
# Characters; the name of a ref is at most as long as a path.
_LONGEST = 8192


class Head(NamedTuple):
    """HEAD of a worktree."""

    ref: str | None  # the branch it is on, such as `refs/heads/main`; None if detached
    commit: str | None  # the commit it names; None on an unborn branch
    tree: str  # that commit's tree, or the empty tree


def read_head(repository: Repository, earlier: Head | None = None) -> Head:
    """Read HEAD.

    If its files show the same commit as `earlier`, no git process is started: a checkpoint starts
    seven, and this would be the eighth.
    """
    ref, commit = _read_files(repository)
    if commit is not None and earlier is not None and commit == earlier.commit:
        return earlier._replace(ref=ref)
    if ref is None and commit is None:
        symbolic = repository.git.attempt("symbolic-ref", "-q", "HEAD")
        ref = os.fsdecode(symbolic.stdout).strip() or None
    found = repository.store.commit("HEAD")
    return Head(ref, found.id, found.tree) if found else Head(ref, None, repository.empty_tree)


def _read_files(repository: Repository) -> tuple[str | None, str | None]:
    """The branch and the commit of HEAD, as far as plain files contain them."""
    if not repository.has_plain_refs:
        return None, None
    name = _read_ref(os.path.join(repository.git_dir, "HEAD"))
    if OBJECT_ID.fullmatch(name):
        return None, name
    if not name.startswith("ref:"):
        return None, None
    ref = name.removeprefix("ref:").strip()
    return ref, loose_ref(repository, ref)


def loose_ref(repository: Repository, name: str) -> str | None:
    """The object that a loose ref names; None if it cannot be read as a file."""
    if not repository.has_plain_refs:
        return None
    target = _read_ref(os.path.join(repository.common_dir, name))
    return target if OBJECT_ID.fullmatch(target) else None


def _read_ref(path: str) -> str:
    with suppress(OSError):
        if not os.path.islink(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read(_LONGEST).strip()
    return ""


def operation_in_progress(repository: Repository) -> str | None:
    """The name of an unfinished operation, such as `merge` or `rebase`, or None."""
    present = _state_refs(repository)
    for name, state in _STATES:
        if name in present or os.path.exists(os.path.join(repository.git_dir, name)):
            return state
    return None


def _state_refs(repository: Repository) -> list[str]:
    """Those of `_STATE_REFS` that exist, in a repository that does not keep refs in files."""
    if repository.has_plain_refs:
        return []
    command = ("for-each-ref", "--include-root-refs", "--format=%(refname)", *_STATE_REFS)
    return os.fsdecode(repository.git.attempt(*command).stdout).splitlines()
