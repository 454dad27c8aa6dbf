"""Make a linked worktree in the state of a checkpoint: all of it, or nothing.

It is made in a directory of its own beside its place, and moved there when it is complete. A note
in the repository lets the next fork, or `doctor`, find what a killed one left.
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
from git_boocode.checkpoints.store.catalog import EXCLUDED, INCLUDED, Catalog, Checkpoint, texts_of
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree_place import cannot_create, refuse_existing
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
from git_boocode.repo.path_rule import EXCLUDE, PathRule
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
    branch: str = ""  # empty to detach HEAD, which an unborn branch does not allow
    forked_from: Mapping[str, Any] = {}
    label: str = ""
    request: Sequence[object] = ()  # recognises the same command after a kill, as JSON


class MadeWorktree(NamedTuple):
    """A new worktree, and what became of the conversation."""

    checkpoint: str  # the id of the first one there
    kept: Sequence[Skipped]  # the paths that could not be made, and why
    conversation: Mapping[str, Any] | None


class ForkRecord(NamedTuple):
    """What a fork makes, noted before it does, so that nothing is left if it is killed."""

    request: Sequence[object]
    path: str
    temporary_path: str  # where the worktree is made: its name, in a directory of its own
    created: Sequence[str]  # the directories above it that did not exist, outermost first
    branch: str
    head: str | None
    event: Mapping[str, Any] = {}  # that of the callback, once it was called
    made: MadeWorktree | None = None  # once the worktree only has to be moved

    @property
    def is_complete(self) -> bool:
        """Whether the worktree is in its place, and only git may not know."""
        return self.made is not None and not os.path.lexists(self.temporary_path)

    def note(self, repository: Repository) -> None:
        """Write this down."""
        data = json.dumps(self._asdict()).encode("ascii")
        write_private(os.path.join(repository.common_state_dir, FORK_NOTE), data)

    def forget(self, repository: Repository) -> None:
        """Remove what `note` has written, and the empty directory."""
        remove_directories([os.path.dirname(self.temporary_path)])
        remove(os.path.join(repository.common_state_dir, FORK_NOTE))


# Before anything is made.


def refuse_branch(
    repository: Repository, branch: str, interrupted: ForkRecord | None = None
) -> None:
    """Refuse the name of a new branch that is taken (`exists`) or that no branch can have.

    A branch of an interrupted fork does not count: it is removed first.
    """
    git = repository.git
    if git.attempt("check-ref-format", "--branch", branch).status or branch.startswith("@"):
        raise RefusedError(
            f"'{branch}' is not a valid branch name",
            code="invalid_input",
            hints=("name another branch with -b <branch>",),
        )
    parts = branch.split("/")
    above = ["/".join(parts[:number]) for number in range(1, len(parts))]
    patterns = [f"refs/heads/{each}" for each in (*above, branch)]
    found = git.line("for-each-ref", "--format=%(refname)", *patterns).splitlines()
    names = {each.removeprefix("refs/heads/") for each in found}
    if interrupted and _has_made_branch(repository, interrupted):
        names.discard(interrupted.branch)
    for name in sorted(names):
        # A branch cannot be a directory of another one.
        if name in above or f"{name}/".startswith(f"{branch}/"):
            raise RefusedError(
                f"a branch named '{name}' exists already",
                code="exists",
                hints=("name another branch with -b <branch>",),
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

CopyConversation = Callable[[str, Callable[[Mapping[str, Any]], None]], Mapping[str, Any] | None]
"""Copies the conversation to the worktree with a git directory, and returns what became of it.

It calls the function with the event of its callback, before that can leave anything.
"""


@contextmanager
def fork_lock(repository: Repository, patience: float = PATIENCE) -> Iterator[int]:
    """Hold the lock of forks, of which one is made at a time; yields its descriptor."""
    path = os.path.join(repository.common_state_dir, FORK_LOCK)
    with file_lock(path, patience=patience) as lock:
        yield lock


def make_worktree(
    repository: Repository,
    lock: int,
    new: NewWorktree,
    copy_conversation: CopyConversation,
    roll_back: RollBack,
) -> MadeWorktree:
    """Make a worktree; see `NewWorktree`.

    The caller holds the lock of forks, has made sure that the worktree can be made, and that no
    interrupted fork is left. The conversation is forked when the files are there, before the last
    step. RefusedError (`exists`, `locked`) and FatalError if it cannot be made; then nothing
    remains of it.
    """
    builder = _WorktreeBuilder(repository, new)
    try:
        forked = builder.add(lock)
        kept = _fill(forked, new.state)
        return builder.finish(kept, copy_conversation(forked.git_dir, builder.note_event))
    except BaseException:
        if left := interrupted_fork(repository):
            resolve_fork(repository, left, roll_back)
        raise


class _WorktreeBuilder:
    """A worktree that is being made, below a directory of its own."""

    def __init__(self, repository: Repository, new: NewWorktree) -> None:
        self._repository = repository
        self._new = new
        parent, name = os.path.split(new.path)
        self._fork = ForkRecord(
            new.request,
            new.path,
            os.path.join(parent, f"{FORKING}{os.urandom(8).hex()}", name),
            missing_directories([new.path]),
            new.branch,
            new.state.head,
        )

    def add(self, lock: int) -> Repository:
        """Add the worktree, without files."""
        new, head, path = self._new, self._new.state.head, self._fork.temporary_path
        self._fork.note(self._repository)
        try:
            make_directories(path)
        except OSError as error:
            raise cannot_create(new.path, error) from error
        git = self._repository.git.keeping_lock(lock)
        commit = head or new.state.commit.id
        words = ("worktree", "add", "--no-checkout", "--detach", path, commit)
        done = git.attempt(*words)
        if done.status:
            stderr = os.fsdecode(done.stderr).replace(path, new.path)
            raise GitError(words, done.status, stderr)
        self._forked = _linked(self._repository, path)
        self._forked.recorded_path = new.path
        make_state_dir(self._forked.state_dir)
        if head is None:
            # Git before 2.42 adds no worktree on an unborn branch.
            self._switch(new.branch)
        return self._forked

    def note_event(self, event: Mapping[str, Any]) -> None:
        """Note the event of the callback, for its rollback if this process is killed."""
        self._fork = self._fork._replace(event=event)
        self._fork.note(self._repository)

    def finish(
        self, kept: Sequence[Skipped], conversation: Mapping[str, Any] | None
    ) -> MadeWorktree:
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
        made = MadeWorktree(checkpoint.id, kept, conversation)
        self._fork = self._fork._replace(made=made)
        self._fork.note(self._repository)
        refuse_existing(new.path)
        os.rename(self._fork.temporary_path, new.path)
        self._repository.git.run("worktree", "repair", new.path)
        self._fork.forget(self._repository)
        return made

    def _switch(self, branch: str) -> None:
        self._forked.git.run("symbolic-ref", "-m", _REFLOG, "HEAD", f"refs/heads/{branch}")


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
    # Nothing in it can be left alone.
    request = RestoreRequest(conversation=False, force=frozenset({IGNORED, EXCLUDED}))
    with (
        worktree_lock(forked.state_dir, shared=False, patience=PATIENCE),
        scratch_directory(forked.state_dir) as scratch,
    ):
        snapshot = take_snapshot(forked, scratch, exclude=PathRule(EXCLUDE))
        planner = FilePlanner(forked, snapshot, request, state, {})
        plan = planner.plan({})
        private = texts_of(state.meta, INCLUDED)
        exact = after_restore(forked, plan.changes, {}, planner.exact, private)
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


# What killed forks left.


def interrupted_fork(repository: Repository) -> ForkRecord | None:
    """The fork that was killed, if any; the caller holds the lock of forks."""
    path = os.path.join(repository.common_state_dir, FORK_NOTE)
    note = read_private_json(path, largest=None)
    if not isinstance(note, dict) or {*note} != {*ForkRecord._fields}:
        return None
    fork = ForkRecord(**note)
    if fork.made:
        identifier, kept, conversation = fork.made
        made = MadeWorktree(identifier, [Skipped(*each) for each in kept], conversation)
        fork = fork._replace(made=made)
    return fork


def resolve_fork(repository: Repository, fork: ForkRecord, roll_back: RollBack) -> None:
    """Remove what a killed fork left, or complete its last step; the caller holds the lock."""
    if fork.is_complete:
        # The user may have moved or removed it since.
        if os.path.lexists(os.path.join(fork.path, ".git")):
            repository.git.attempt("worktree", "repair", fork.path)
    else:
        if fork.event:
            roll_back(fork.event)
        if git_dir := _git_dir(repository, fork):
            _remove_worktree(repository, fork, git_dir)
        remove_directories(
            [fork.temporary_path, os.path.dirname(fork.temporary_path), *reversed(fork.created)]
        )
    fork.forget(repository)


def _remove_worktree(repository: Repository, fork: ForkRecord, git_dir: str) -> None:
    state_dir = os.path.join(git_dir, PRIVATE)
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
    if fork.head and _has_made_branch(repository, fork):
        repository.git.attempt("update-ref", "-d", f"refs/heads/{fork.branch}", fork.head)
    # In a copy of the repository, the worktree is that of the original.
    link = os.path.join(fork.temporary_path, ".git")
    if not os.path.lexists(link) or _linked(repository, fork.temporary_path).git_dir == git_dir:
        remove(os.path.dirname(fork.temporary_path))
    remove(git_dir)


def _has_made_branch(repository: Repository, fork: ForkRecord) -> bool:
    """Whether HEAD of an incomplete fork shows that it is the one that created its branch."""
    if not fork.branch or not fork.head or fork.is_complete:
        return False
    head = f"worktrees/{os.path.basename(_git_dir(repository, fork))}/HEAD"
    branch = f"refs/heads/{fork.branch}"
    found = repository.git.attempt("symbolic-ref", "-q", head)
    if os.fsdecode(found.stdout).strip() != branch:
        return False
    found = repository.git.attempt("rev-parse", "--verify", "-q", branch)
    return os.fsdecode(found.stdout).strip() == fork.head


def _git_dir(repository: Repository, fork: ForkRecord) -> str:
    """The git directory of an incomplete fork; empty if git has not added it."""
    linked = os.path.join(repository.common_dir, "worktrees")
    for name in sorted(os.listdir(linked)) if os.path.isdir(linked) else ():
        git_dir = path = os.path.join(linked, name)
        with suppress(OSError), open(f"{path}/gitdir", errors="surrogateescape") as file:
            path = os.path.normpath(os.path.join(git_dir, file.read().removesuffix("\n")))
        if path == os.path.join(fork.temporary_path, ".git"):
            return git_dir
    return ""
