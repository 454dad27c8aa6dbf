"""The state of HEAD, and the operation in progress."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.durable import is_regular, sync_refs
from git_boocode.repo.errors import NextStep, RefusedError, from_os, shell_command
from git_boocode.repo.git import nul_records
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import loose_ref, read_ref_file, ref_error

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
_NEWEST_ENTRIES = 8  # of the stash
# The pseudorefs among them, which not every ref storage keeps in files.
_STATE_REFS = ("CHERRY_PICK_HEAD", "REVERT_HEAD")


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
    name = read_ref_file(os.path.join(repository.git_dir, "HEAD"))
    if OBJECT_ID.fullmatch(name):
        return None, name
    if not name.startswith("ref:"):
        return None, None
    ref = name.removeprefix("ref:").strip()
    return ref, loose_ref(repository, ref)


def operation_in_progress(repository: Repository) -> str | None:
    """The name of an unfinished operation, such as `merge` or `rebase`, or None."""
    present: list[str] = []
    if not repository.has_plain_refs:
        command = ("for-each-ref", "--include-root-refs", "--format=%(refname)", *_STATE_REFS)
        present = os.fsdecode(repository.git.attempt(*command).stdout).splitlines()
    for name, state in _STATES:
        if name in present or os.path.exists(os.path.join(repository.git_dir, name)):
            return state
    return None


def stash_entries(repository: Repository) -> list[str]:
    """The commits of the newest stash entries, the newest first, as far as a plain file has them.

    Once an entry is popped, nothing of git leads to its commit any more.
    """
    path = os.path.join(repository.common_dir, "logs", "refs", "stash")
    if not (repository.has_plain_refs and is_regular(path)):
        return []
    with open(path, "rb") as file:
        rows = [line.split(b" ", 2) for line in file.read().splitlines()[-_NEWEST_ENTRIES:]]
    ids = [row[1].decode("ascii", "replace") for row in reversed(rows) if len(row) > 1]
    return [each for each in ids if OBJECT_ID.fullmatch(each)]


# Files in which an operation in progress records the branch that it will return to.
_TAKEN = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


class HeadTarget(NamedTuple):
    """The target of a move of HEAD."""

    ref: str | None  # the required branch; None if HEAD must be detached
    commit: str | None  # None for an unborn branch
    leave: tuple[str | None, ...] | None = None  # the allowed current commits; None for any


class HeadMove(NamedTuple):
    """A move of HEAD's branch, or of a detached HEAD if `ref` is None.

    The commits `old` and `new` are None for an unborn branch.
    """

    ref: str | None
    old: str | None
    new: str | None

    @property
    def branch(self) -> str:
        """The name of the branch; empty for a detached HEAD."""
        return _short(self.ref) if self.ref else ""

    def carry_out(self, repository: Repository, message: str) -> None:
        """Move HEAD; `message` is written to the reflog, if there is one.

        RefusedError if another process has moved HEAD or is moving it (`conflict`, `locked`).
        """
        name = self.ref or "HEAD"
        old = self.old or repository.zero_id
        how = ("update-ref", *(() if self.ref else ("--no-deref",)), "-m", message)
        what = ("-d", name, old) if self.new is None else (name, self.new, old)
        log = repository.config.text("core.logAllRefUpdates") or "true"
        done = repository.git.bind(f"core.logAllRefUpdates={log}").attempt(*how, *what)
        if done.status:
            raise ref_error(os.fsdecode(done.stderr))
        git_dir = repository.common_dir if self.ref else repository.git_dir
        try:
            sync_refs(git_dir, [name], packed=self.new is None)
        except OSError as error:
            raise from_os(error) from error

    def roll_back(self, repository: Repository, message: str) -> None:
        """Move HEAD back if it was moved (see `carry_out`)."""
        now = read_head(repository)
        if (now.ref, now.commit) == (self.ref, self.new):
            HeadMove(self.ref, self.new, self.old).carry_out(repository, message)
        elif (now.ref, now.commit) != (self.ref, self.old):
            unborn = "an unborn branch"
            raise RefusedError(
                f"another process moved HEAD from {self.old or unborn} to {now.commit or unborn}",
                code="conflict",
            )


class RemovedCommit(NamedTuple):
    """A commit that a move of HEAD takes off the branch."""

    id: str
    short: str  # its abbreviated id
    subject: str

    def as_json(self) -> dict[str, str]:
        """The id and the subject."""
        return {"id": self.id, "subject": self.subject}


def removed_commits(repository: Repository, move: HeadMove) -> list[RemovedCommit]:
    """The commits that a move takes off the branch or the detached HEAD, newest first."""
    if move.old is None:
        return []
    kept = () if move.new is None else (f"^{move.new}",)
    form = "--format=%H %h %s"
    rows = nul_records(repository.git.run("log", "-z", form, move.old, *kept, "--"))
    return [RemovedCommit(*row.split(" ", 2)) for row in rows]


def plan_move(repository: Repository, now: Head, target: HeadTarget) -> HeadMove | None:
    """Plan a move of HEAD to an earlier position; None if it is there.

    RefusedError with the codes `other_branch`, `in_progress`, `branch_in_use`, `missing_objects`,
    or, if HEAD is at none of the commits in `target.leave`, `head_moved`.
    """
    if now.ref != target.ref:
        raise _other_branch(now.ref, target, operation_in_progress(repository))
    if now.commit == target.commit:
        return None
    if state := operation_in_progress(repository):
        hints = (_ending(state), _staying(target))
        message = f"HEAD cannot be moved: a {state} is in progress"
        raise RefusedError(message, code="in_progress", hints=hints)
    if target.ref is not None and (where := _in_use(repository, target.ref)):
        hints = ("another process may be using it there", _staying(target))
        message = f"branch '{_short(target.ref)}' is also checked out at '{where}'"
        raise RefusedError(message, code="branch_in_use", hints=hints)
    commit = target.commit
    if commit and repository.store.commit(commit) is None:
        message = f"HEAD cannot be moved: commit '{commit}' is missing"
        raise RefusedError(message, code="missing_objects", hints=(_staying(target),))
    if target.leave is not None and now.commit not in target.leave:
        message = f"HEAD has been moved since, to {now.commit or 'an unborn branch'}"
        raise RefusedError(message, code="head_moved", hints=(_staying(target),))
    return HeadMove(target.ref, now.commit, commit)


def _staying(target: HeadTarget) -> NextStep:
    """The step with which HEAD stays."""
    if target.leave is None:
        return NextStep("without {}, HEAD stays where it is", "head", given={"head": None})
    return NextStep("{} leaves HEAD where it is, and restores everything else", "no_head")


def _ending(state: str) -> str:
    return f"finish or abort the {state} first"


def _other_branch(now: str | None, target: HeadTarget, state: str | None) -> RefusedError:
    then = target.ref
    where = f"on branch '{_short(now)}'" if now else "detached"
    was = f"on '{_short(then)}'" if then else "detached"
    switch = shell_command("git", "switch", _short(then) if then else "--detach")
    # Git does not switch branches meanwhile.
    way = _ending(state) if state else f"switch with '{switch}'"
    message = f"HEAD is {where}, but was {was} at the checkpoint"
    return RefusedError(message, code="other_branch", hints=(way, _staying(target)))


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/")


def _in_use(repository: Repository, ref: str) -> str:
    """Another worktree that has a branch checked out or will return to it; empty if none."""
    for path, branch in worktrees(repository):
        if branch == ref and os.path.realpath(path) != os.path.realpath(repository.worktree):
            return path
    linked = os.path.join(repository.common_dir, "worktrees")
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    for git_dir in (repository.common_dir, *(os.path.join(linked, name) for name in names)):
        if os.path.realpath(git_dir) == os.path.realpath(repository.git_dir):
            continue
        taken = {_content(git_dir, name) for name in _TAKEN}
        # A bisection records the short name.
        if ref in taken or _short(ref) in taken:
            return os.path.dirname(_content(git_dir, "gitdir")) or os.path.dirname(git_dir)
    return ""


def worktrees(repository: Repository) -> Iterator[tuple[str, str]]:
    """The path of each worktree, and the branch that it has checked out; empty for none."""
    for worktree in listed_worktrees(repository):
        yield worktree.get("worktree", ""), worktree.get("branch", "")


def listed_worktrees(repository: Repository) -> list[dict[str, str]]:
    """The attributes of each worktree, the main one first, as `git worktree list` has them."""
    listing = repository.git.line("worktree", "list", "--porcelain")
    return [
        dict(line.partition(" ")[::2] for line in worktree.split("\n"))
        for worktree in listing.split("\n\n")
    ]


def _content(git_dir: str, name: str) -> str:
    path = os.path.join(git_dir, name)
    with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().strip()
    return ""
