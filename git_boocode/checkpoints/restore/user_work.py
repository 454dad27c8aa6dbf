"""The user's own work, which a restore must not touch: ignored files, and what changed since.

A restore replaces `.gitignore` files. A file that is untracked before an undo may be ignored after
it: such a file is the user's own, and is neither recorded nor deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.checkpoints.capture import read_staging
from git_boocode.checkpoints.restore.plan import (
    RestorePlan,
    checkpoint_at,
    is_own_safety,
    read_plan,
)
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint, tree_changes
from git_boocode.checkpoints.worktree.indexer import directories_of
from git_boocode.repo.files import make_directories
from git_boocode.repo.git import Git, GitError, nul_lines, nul_records, quoted_lines
from git_boocode.repo.index import Index
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.object_writer import SYMLINK, object_id
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Store, TreeEntry

_RULES = ".gitignore"


class StateRules(NamedTuple):
    """The ignore rules of one state of the worktree."""

    repository: Repository
    tree: str  # of that state
    written: Mapping[str, Change]  # the files that a restore has written since, by path
    target: str = ""  # the tree to return to, if it is another one

    def user_files(self, untracked: list[str], scratch: str) -> frozenset[str]:
        """The untracked files that the rules ignore, except the target's and the written ones."""
        ignored = ignored_by(self.repository, self.tree, untracked, scratch)
        if ignored:
            tree = self.target or self.tree
            ignored -= self.repository.store.tree(tree).keys()
        return ignored - unchanged(self.repository, self.written, ignored)


def user_files_of(
    repository: Repository,
    state: Checkpoint,
    written: Mapping[str, Change],
    untracked: list[str],
    scratch: str,
) -> frozenset[str]:
    """The untracked files that the rules of a checkpoint, or of its operation's target, ignore."""
    found = StateRules(repository, state.tree, written).user_files(untracked, scratch)
    if is_own_safety(repository, state) and (target := read_plan(state).target_commit):
        # This state omits files by the target's rules. The target may have been dropped since.
        with suppress(GitError):
            rules = StateRules(repository, target, written, state.tree)
            found |= rules.user_files(untracked, scratch)
    return found


def files_written_by(
    repository: Repository, safety: Checkpoint, request: RestoreRequest
) -> dict[str, Change]:
    """The files that the operation of a safety checkpoint wrote in this worktree, by path.

    The safety checkpoint holds all files that were in the way, except ignored files that blocked a
    change; any other path that it lacks did not exist. If the operation had pathspecs, the result
    is empty unless the request has the same.
    """
    if not is_own_safety(repository, safety):
        return {}
    record = read_plan(safety)
    done, target = record.request, record.target_commit
    other_paths = (done.paths, done.prefix) != (request.paths, request.prefix)
    if not done.files or (done.paths and other_paths) or done.only != request.only:
        return {}
    if record.proposal is not None and record.written:
        return {
            file.path: Change(file.path, "modify", file.mode, file.mode, file.id)
            for file in record.written
        }
    if not target:
        return {}
    try:
        changes = tree_changes(repository.git, safety.tree, f"{target}^{{tree}}")
    except GitError:
        # The target has been dropped since.
        return {}
    return {
        change.path: change
        for change in changes
        if change.action != "delete"
        and record.blocked.isdisjoint({change.path, *directories_of([change.path])})
    }


def changed_since(
    catalog: Catalog, done: RestorePlan, visible: str, changes: list[Change]
) -> list[str]:
    """The paths of some changes whose files are not as an operation left them.

    `visible` is the tree of the current files. All paths if the target of the operation is gone.
    """
    left = _left_otherwise(catalog, done, visible)
    return [
        change.path
        for change in changes
        if left is None
        or (change.path in left and left[change.path] != (change.old_mode, change.old_id))
    ]


def _left_otherwise(
    catalog: Catalog, done: RestorePlan, visible: str
) -> dict[str, tuple[str, str]] | None:
    """The mode and the id that an operation left of each path that differs now."""
    if done.proposal is not None and not done.target_commit:
        wrote = {file.path: (file.mode, file.id) for file in done.written}
        absent = _tree(catalog, visible, [*done.proposal.paths]).keys() - wrote.keys()
        return wrote | dict.fromkeys(absent, ("", ""))
    target = checkpoint_at(catalog, done.target, done.target_commit)
    if target is None:
        return None
    staging = read_staging(catalog.repository, target.meta)
    omitted = {entry.path for entry in staging.absent} if staging else set[str]()
    try:
        changes = tree_changes(catalog.repository.git, visible, target.tree)
    except GitError:
        return None
    return {
        change.path: (change.mode, change.id)
        for change in changes
        if change.action != "create" or change.path not in omitted
    }


def _tree(catalog: Catalog, tree: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
    """Entries of a tree that a dry run may just have written, beside what a server reads."""
    return Store(catalog.repository).tree(tree, paths)


def staged_since(
    catalog: Catalog, done: RestorePlan, held: Iterable[str | None], changes: Iterable[Change]
) -> list[str]:
    """The paths whose staged content is in none of some trees, and not from an operation."""
    staged = {c.path: c.old_id for c in changes if c.old_id and c.action != "create"}
    if not staged:
        return []
    target = checkpoint_at(catalog, done.target, done.target_commit)
    staging = read_staging(catalog.repository, target.meta) if target else None
    trees = filter(None, (*held, staging.tree if staging else None))
    entries = [_tree(catalog, tree, sorted(staged)) for tree in trees]
    return [
        path
        for path, content in staged.items()
        if all(path not in found or found[path].id != content for found in entries)
    ]


def ignored_by(repository: Repository, tree: str, paths: list[str], scratch: str) -> frozenset[str]:
    """The paths, tracked or not, that the rules of a tree, or those outside it, ignore."""
    top = fresh_path(os.path.join(scratch, "rules"))
    os.mkdir(top)
    names = [os.path.join(name, _RULES) for name in ("", *sorted(directories_of(paths)))]
    # Only these paths, because other objects of the tree may be missing.
    entries = repository.store.tree(tree, names)
    rules = {path: each.id for path, each in entries.items() if each.mode.startswith("100")}
    contents = repository.store.blobs([*rules.values()])
    for (path, blob), content in zip(rules.items(), contents, strict=True):
        full = os.path.join(top, path)
        make_directories(os.path.dirname(full))
        with open(full, "xb") as file:
            # Git reports a missing blob.
            file.write(repository.git.run("cat-file", "blob", blob) if content is None else content)
    git = Index(repository.git, f"{top}.index").git.bind(cwd=top, GIT_WORK_TREE=top)
    question = ("check-ignore", "--no-index", "-z", "--stdin")
    # `./` prevents that a name such as `:(glob)*` is read as a pathspec.
    done = git.attempt(*question, stdin=nul_lines(f"./{path}" for path in paths))
    # 1 means that none is ignored.
    if done.status not in (0, 1):
        raise GitError(question, done.status, os.fsdecode(done.stderr))
    return frozenset(path.removeprefix("./") for path in nul_records(done.stdout))


def unchanged(
    repository: Repository, written: Mapping[str, Change], paths: Iterable[str]
) -> frozenset[str]:
    """The paths whose files git considers the same as those that were written."""
    links, files = list[str](), list[str]()
    for change in (written[path] for path in paths if path in written):
        is_link = os.path.islink(os.path.join(repository.worktree, change.path))
        if is_link == (change.mode == SYMLINK):
            (links if is_link else files).append(change.path)
    ids = dict(_hashed(repository.git, files))
    for path in links:
        target = os.fsencode(os.readlink(os.path.join(repository.worktree, path)))
        ids[path] = object_id(repository.object_format, b"blob", target)
    return frozenset(path for path, identifier in ids.items() if identifier == written[path].id)


def _hashed(git: Git, paths: list[str]) -> Iterator[tuple[str, str]]:
    """The ids that git would give to files; those that it cannot read are left out."""
    while paths:
        done = git.attempt("hash-object", "--stdin-paths", stdin=quoted_lines(paths))
        ids = os.fsdecode(done.stdout).split()
        yield from zip(paths, ids, strict=False)
        # Git stops at the first file that it cannot read.
        paths = paths[len(ids) + 1 :]
