"""A checkpoint of some paths: those as they are on disk, the rest as in the newest checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from git_boocode.checkpoints.store.catalog import Change, Checkpoint, tree_changes
from git_boocode.checkpoints.worktree.indexer import OTHERS, Disk, Skipped, is_recorded
from git_boocode.checkpoints.worktree.pathspecs import (
    list_files,
    refuse_unmatched,
    resolve_pathspec,
)
from git_boocode.checkpoints.worktree.snapshot import Snapshot, complete_index
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import Item, TreeEditor


def narrow(
    repository: Repository,
    snapshot: Snapshot,
    base: Checkpoint | None,
    pathspecs: Sequence[str],
    *,
    require_match: bool,
) -> Snapshot | None:
    """Take the named paths from a snapshot, and the rest from `base`.

    The snapshot's objects are not published yet. None without a base, if trees of the base are
    missing, or if the user's index is damaged. RefusedError if a pathspec is
    outside the worktree (`outside_worktree`) or invalid (`invalid_pathspec`), or with
    `require_match` if one matches no file (`not_found`).
    """
    if snapshot.staging is None:
        return None
    top, prefix = repository.worktree, repository.prefix
    specs = [resolve_pathspec(top, prefix, spec) for spec in pathspecs]

    def matching(git: Git, *options: str) -> tuple[set[str], set[str]]:
        paths, unmatched = list_files(git.bind(cwd=repository.directory), *options, "--", *specs)
        return set(paths), unmatched

    tracked, not_tracked = matching(repository.git, "--cached")
    untracked, not_untracked = matching(repository.git, *OTHERS)
    unmatched = not_tracked & not_untracked
    changes = [] if base is None else _differences(snapshot, base)
    old = {each.path: each for each in changes or () if each.action == "delete"}
    deleted = set[str]()
    if old:
        index = Index(repository.git, fresh_path(f"{snapshot.disk_index.path}.deleted"))
        index.put(Entry("H", each.old_mode, each.old_id, 0, path) for path, each in old.items())
        deleted, not_deleted = matching(index.git, "--cached")
        unmatched &= not_deleted
    if require_match:
        refuse_unmatched(repository.git.bind(cwd=repository.directory), pathspecs, unmatched)
    if base is None or changes is None:
        return None
    held = complete_index(
        Index(snapshot.quarantine.git, snapshot.disk_index.path), snapshot.staging
    )
    present, _ = matching(held.git, "--cached")
    written = [each for each in changes if each.path in present and each.path not in old]
    if repository.config.boolean("core.ignoreCase", default=False):
        # A file that was renamed by case still exists under its old name.
        deleted |= Disk(top).other_spellings(old, [each.path for each in written])
    edits = [*(old[path] for path in deleted), *written]
    tree = _edited(repository, snapshot, base.tree, edits)
    named = {path.rstrip("/") for path in (*tracked, *untracked)}
    skipped = [each for each in snapshot.skipped if each.path in named]
    skipped += _unlisted(repository, specs, named | present)
    return snapshot._replace(tree=tree, skipped=skipped, cache=None)


def _differences(snapshot: Snapshot, base: Checkpoint) -> list[Change] | None:
    """The changes from a checkpoint to a snapshot; None if trees of the checkpoint are missing."""
    with suppress(GitError):
        return tree_changes(snapshot.quarantine.git, base.tree, snapshot.tree)
    return None


def _edited(repository: Repository, snapshot: Snapshot, tree: str, changes: list[Change]) -> str:
    """A tree with some changes, deletions first."""
    editor = TreeEditor.of(repository.store, tree, [each.path for each in changes])
    for each in changes:
        item = Item(each.mode.encode(), each.id.encode()) if each.action != "delete" else None
        editor.put(os.fsencode(each.path), item)
    return editor.write(snapshot.quarantine.store).decode("ascii")


def _unlisted(repository: Repository, specs: Sequence[str], listed: set[str]) -> Iterator[Skipped]:
    """The files that the caller named and git does not list."""
    for spec in specs:
        full = os.path.normpath(os.path.join(repository.directory, spec))
        path = os.path.relpath(full, repository.worktree).replace(os.sep, "/")
        is_file = os.path.lexists(full) and not (spec.endswith("/") or os.path.isdir(full))
        if is_file and path not in listed:
            yield Skipped(path, _unlisted_reason(repository.worktree, path))


def _unlisted_reason(worktree: str, path: str) -> str:
    """Why git does not list a path that exists."""
    parts = path.split("/")
    if ".git" in parts:
        return "part of a repository"
    for count in range(1, len(parts)):
        step = "/".join(parts[:count])
        full = os.path.join(worktree, step)
        if os.path.islink(full):
            return f"beyond the symbolic link '{step}'"
        if os.path.lexists(os.path.join(full, ".git")):
            return f"inside the repository '{step}'"
    found = os.lstat(os.path.join(worktree, path))
    return "ignored" if is_recorded(found) else "not a regular file"
