"""Make a linked worktree in the state of a checkpoint: all of it, or nothing.

It is made in a directory of its own beside its place, and moved there when it is complete. Git
lists it from the beginning, so that the next fork, or `doctor`, finds what a killed one left.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from git_boocode.checkpoints.capture import Request, capture, read_staging
from git_boocode.checkpoints.restore.apply import WorktreeUpdate
from git_boocode.checkpoints.restore.exact import after_restore
from git_boocode.checkpoints.restore.file_plan import FilePlanner
from git_boocode.checkpoints.restore.request import IGNORED, RestoreRequest
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.repo.durable import (
    make_state_dir,
    read_private_json,
    remove,
    worktree_id,
    write_private,
)
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import make_directories, missing_directories, remove_directories
from git_boocode.repo.gc import missing_objects
from git_boocode.repo.git import GitError
from git_boocode.repo.layout import FORK_LOCK, FORK_NOTE, FORKING, PRIVATE
from git_boocode.repo.lock import file_lock, scratch_directory, worktree_lock
from git_boocode.repo.object_writer import GITLINK
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange

PATIENCE = 60.0
"""Seconds to wait for another fork."""
TRIGGER = "fork"
_REFLOG = "boocode fork"

RollBack = Callable[[Mapping[str, Any]], None]
"""Removes the conversation of a fork that was not finished, by the event of its callback."""


class NewWorktree(NamedTuple):
    """What a new worktree is to be: its place, its state, and the name of its branch if any."""

    path: str  # absolute, without symlinks
    state: Checkpoint
    branch: str = ""  # empty to detach HEAD
    forked_from: Mapping[str, Any] = {}
    label: str = ""


class MadeWorktree(NamedTuple):
    """A new worktree: its first checkpoint, and the paths that could not be made, and why."""

    checkpoint: Checkpoint
    kept: Sequence[Skipped]


# Before anything is made.


def refuse_taken(repository: Repository, path: str) -> None:
    """Refuse the path of a new worktree that exists (`exists`), or is in a git directory."""
    if os.path.lexists(path):
        raise RefusedError(
            f"'{path}' exists already",
            code="exists",
            hints=("name a directory that does not exist",),
        )
    git_dir = repository.common_dir
    inside = os.path.join(path, "").startswith(os.path.join(git_dir, ""))
    if inside or ".git" in path.split(os.sep):
        raise RefusedError(
            f"'{path}' is inside of a git directory",
            code="outside_worktree",
            hints=("name a directory beside the worktree",),
        )


def refuse_branch(repository: Repository, branch: str) -> None:
    """Refuse the name of a new branch that exists (`exists`) or that no branch can have."""
    git = repository.git
    if git.attempt("check-ref-format", "--branch", branch).status or branch.startswith("@"):
        raise RefusedError(f"'{branch}' is not a valid branch name", code="invalid_input")
    if not git.attempt("show-ref", "--verify", "--quiet", f"refs/heads/{branch}").status:
        raise RefusedError(
            f"a branch named '{branch}' exists already",
            code="exists",
            hints=("name another branch, or omit -b to detach HEAD",),
        )


def refuse_incomplete(repository: Repository, state: Checkpoint) -> None:
    """Raise FatalError (`missing_objects`) if objects of a checkpoint are missing."""
    try:
        missing = missing_objects(repository, {state.id: state.commits})
        why = f"object {missing[state.id]} is missing" if missing else ""
    except GitError as error:
        why = error.stderr.strip() or error.message
    if why:
        raise FatalError(
            f"checkpoint '{state.id}' is incomplete: {why}",
            code="missing_objects",
            hints=("nothing was changed; list the missing objects with: git fsck",),
        )


# Making it.

Converse = Callable[[str, Callable[[Mapping[str, Any]], None]], None]
"""Copies the conversation to the worktree with a git directory.

It calls the function with the event of its callback, before that can leave anything.
"""


def make_worktree(
    repository: Repository, new: NewWorktree, converse: Converse, roll_back: RollBack
) -> MadeWorktree:
    """Make a worktree; see `NewWorktree`. The caller has made sure that it can be made.

    `converse` is called when the files are there, before the last step. RefusedError (`exists`,
    `locked`) and FatalError if it cannot be made; then nothing remains of it.
    """
    with fork_lock(repository) as lock:
        for left in leftovers(repository):
            remove_leftover(repository, left, roll_back)
        _remove_empty(os.path.dirname(new.path))
        missing = missing_directories([new.path])
        making = _Making(repository, new)
        try:
            forked = making.add(lock)
            kept = _fill(forked, new.state)
            converse(forked.git_dir, making.note)
            return MadeWorktree(making.finish(), kept)
        except BaseException:
            for left in leftovers(repository):
                remove_leftover(repository, left, roll_back)
            remove(os.path.dirname(making.path))
            remove_directories(reversed(missing))
            raise


class _Making:
    """A worktree that is being made, below a directory of its own."""

    def __init__(self, repository: Repository, new: NewWorktree) -> None:
        self._repository = repository
        self._new = new
        parent, name = os.path.split(new.path)
        self.path = os.path.join(parent, f"{FORKING}{os.urandom(8).hex()}", name)

    def add(self, lock: int) -> Repository:
        """Add the worktree, without files."""
        new, head = self._new, self._new.state.head
        make_directories(os.path.dirname(self.path))
        git = self._repository.git.keeping_lock(lock)
        commit = head or new.state.commit.id
        git.run("worktree", "add", "--no-checkout", "--detach", self.path, commit)
        self._forked = _linked(self._repository, self.path)
        self._forked.recorded_path = new.path
        make_state_dir(self._forked.state_dir)
        self.note({})
        if head is None:
            # Git before 2.42 adds no worktree on an unborn branch.
            self._switch(new.branch or os.path.basename(new.path))
        return self._forked

    def note(self, event: Mapping[str, Any]) -> None:
        """Note what has to be removed if this process is killed."""
        new = self._new
        about = {
            "path": new.path,
            "making": self.path,
            "branch": new.branch,
            "head": new.state.head,
            "event": event,
        }
        data = json.dumps(about).encode("ascii")
        write_private(os.path.join(self._forked.state_dir, FORK_NOTE), data)

    def finish(self) -> Checkpoint:
        """Create the branch, take the first checkpoint, and move the worktree to its place."""
        new, forked = self._new, self._forked
        if new.branch and new.state.head:
            # In this order, because HEAD shows whose the branch is.
            self._switch(new.branch)
            create = ("update-ref", "-m", _REFLOG, f"refs/heads/{new.branch}")
            try:
                forked.git.run(*create, new.state.head, forked.zero_id)
            except GitError:
                forked.git.run("update-ref", "--no-deref", "HEAD", new.state.head)
                refuse_branch(self._repository, new.branch)
                raise
        about = Request(
            label=new.label, trigger=TRIGGER, allow_home=True, forked_from=new.forked_from
        )
        checkpoint = capture(forked, about).checkpoint
        refuse_taken(self._repository, new.path)
        os.rename(self.path, new.path)
        _settle(self._repository, forked.git_dir, self.path, new.path)
        return checkpoint

    def _switch(self, branch: str) -> None:
        self._forked.git.run("symbolic-ref", "-m", _REFLOG, "HEAD", f"refs/heads/{branch}")


def _remove_empty(parent: str) -> None:
    """Remove the directories of forks that were killed before git added their worktrees."""
    for name in os.listdir(parent) if os.path.isdir(parent) else ():
        if name.startswith(FORKING):
            remove_directories([os.path.join(parent, name)])


def _linked(repository: Repository, path: str) -> Repository:
    """The repository of a linked worktree of this one."""
    with open(os.path.join(path, ".git"), encoding="utf-8", errors="surrogateescape") as file:
        named = file.read().removeprefix("gitdir:").strip()
    git_dir = os.path.realpath(os.path.join(path, named))
    return Repository(path, git_dir, repository.common_dir, "", repository.object_format)


def _fill(forked: Repository, state: Checkpoint) -> list[Skipped]:
    """Write the files and the staging area of a checkpoint into an empty worktree.

    Returns the paths that the checkpoint does not hold.
    """
    request = RestoreRequest(conversation=False, force=frozenset({IGNORED}))
    with (
        worktree_lock(forked.state_dir, shared=False, patience=PATIENCE),
        scratch_directory(forked.state_dir) as scratch,
    ):
        snapshot = take_snapshot(forked, scratch)
        planner = FilePlanner(forked, snapshot, request, state, {})
        plan = planner.plan({})
        exact = after_restore(forked, plan.changes, {}, planner.exact)
        WorktreeUpdate(forked, snapshot, plan._replace(exact=exact)).do()
    kept = {each.path: each for each in plan.kept}
    staging = read_staging(forked, state.meta)
    staged = forked.store.tree(staging.tree, sorted(kept)) if staging and kept else {}
    for path, entry in staged.items():
        if entry.mode == GITLINK:
            # Git leaves an empty directory for a submodule.
            make_directories(os.path.join(forked.worktree, path))
            del kept[path]
    return [*kept.values()]


def _settle(repository: Repository, git_dir: str, old: str, path: str) -> None:
    """Let git know where a worktree was moved, and forget that it was being made."""
    repository.git.run("worktree", "repair", path)
    if os.path.basename(os.path.dirname(old)).startswith(FORKING):
        remove_directories([os.path.dirname(old)])
    remove(os.path.join(git_dir, PRIVATE, FORK_NOTE))


# What killed forks left.


class Leftover(NamedTuple):
    """A worktree that a killed fork left: its git directory, and where the worktree was made.

    `moved_to` is its place, if it is complete there and only git does not know; else empty.
    """

    git_dir: str
    path: str
    moved_to: str
    note: Mapping[str, Any]


@contextmanager
def fork_lock(repository: Repository, patience: float = PATIENCE) -> Iterator[int]:
    """Hold the lock of forks; yields its descriptor."""
    path = os.path.join(repository.common_state_dir, FORK_LOCK)
    with file_lock(path, patience=patience) as lock:
        yield lock


def leftovers(repository: Repository) -> Iterator[Leftover]:
    """The worktrees that killed forks left; the caller holds the lock of forks."""
    linked = os.path.join(repository.common_dir, "worktrees")
    for name in sorted(os.listdir(linked)) if os.path.isdir(linked) else ():
        git_dir = os.path.join(linked, name)
        found = read_private_json(os.path.join(git_dir, PRIVATE, FORK_NOTE))
        note = found if isinstance(found, dict) else {}
        made = os.path.dirname(os.path.normpath(os.path.join(git_dir, _gitdir(git_dir))))
        is_held = os.path.basename(os.path.dirname(made)).startswith(FORKING)
        path = str(note.get("path", ""))
        is_there = bool(path) and os.path.lexists(os.path.join(path, ".git"))
        if is_held and not os.path.lexists(made) and is_there:
            yield Leftover(git_dir, made, path, note)
        elif is_held:
            yield Leftover(git_dir, made, "", note)
        elif note:
            yield Leftover(git_dir, str(note.get("making", "")), made, note)


def remove_leftover(repository: Repository, left: Leftover, roll_back: RollBack) -> None:
    """Remove what a killed fork left, or complete its last step."""
    if left.moved_to:
        _settle(repository, left.git_dir, left.path, left.moved_to)
        return
    state_dir = os.path.join(left.git_dir, PRIVATE)
    if event := left.note.get("event"):
        roll_back(event)
    if os.path.isdir(state_dir):
        # Its git may be running.
        with worktree_lock(state_dir, shared=False, patience=PATIENCE):
            pass
        catalog, key = Catalog(repository), worktree_id(state_dir)
        own = [
            RefChange(each.ref, None, each.commit.id)
            for each in catalog.newest_first(everywhere=True)
            if not isinstance(each, Unusable) and key and each.meta.worktree_key == key
        ]
        catalog.store.update_refs(own)
    branch, head = left.note.get("branch"), left.note.get("head")
    if branch and head and _content(left.git_dir, "HEAD") == f"ref: refs/heads/{branch}":
        repository.git.attempt("update-ref", "-d", f"refs/heads/{branch}", str(head))
    remove(os.path.dirname(left.path))
    remove(left.git_dir)


def _gitdir(git_dir: str) -> str:
    """Where git looks for the `.git` of a linked worktree."""
    return _content(git_dir, "gitdir")


def _content(git_dir: str, name: str) -> str:
    path = os.path.join(git_dir, name)
    with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().removesuffix("\n")
    return ""
