"""Read some paths of a worktree, and take the rest from the newest checkpoint.

For callers that know which paths are about to change: instead of walking the worktree, git only
reads an index.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.worktree.attributes import conversion_rules, is_attributes
from git_boocode.checkpoints.worktree.index_cache import IndexCache, load_cache
from git_boocode.checkpoints.worktree.indexer import (
    MAX_FILE_SIZE,
    OTHERS,
    Disk,
    Indexer,
    Skipped,
    is_recorded,
    select_untracked,
)
from git_boocode.checkpoints.worktree.pathspecs import (
    list_files,
    refuse_unmatched,
    resolve_pathspec,
)
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import UserIndex
from git_boocode.repo.head import read_head
from git_boocode.repo.index import Index
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.object_writer import GITLINK, Quarantine
from git_boocode.repo.repository import Repository


class PartialScan:
    """A scan of the paths that some pathspecs match, on top of the checkpoint `base`.

    The directory `scratch` for private files must outlive the snapshot. `cache` is the cached index
    that the scan builds on, None if it starts from the trees of `base`. GitError if those trees are
    missing, or the user's index is damaged.
    """

    def __init__(
        self, repository: Repository, scratch: str, base: Checkpoint, pathspecs: Sequence[str]
    ) -> None:
        self._repository = repository
        self._pathspecs = pathspecs
        self._here = os.path.join(repository.worktree, repository.prefix)
        # If this scan fails, a full scan with its own objects follows in the same directory.
        scratch = fresh_path(os.path.join(scratch, "partial"))
        os.mkdir(scratch)
        self._quarantine = Quarantine(repository, scratch)
        self._user = UserIndex(repository, scratch, self._quarantine.git)
        self._staging = self._user.staging()
        cache = load_cache(repository, scratch)
        self.cache = cache if cache is not None and self._fits(cache, base) else None
        if self.cache is not None:
            self._index = Index(self._quarantine.git, self.cache.path)
        else:
            self._index = Index(self._quarantine.git, os.path.join(scratch, "base.index"))
            self._index.read_tree(base.tree)
        self._disk = Disk(repository.worktree)
        self._indexer = Indexer(self._index, self._disk)
        self._head = read_head(repository)

    def _fits(self, cache: IndexCache, base: Checkpoint) -> bool:
        # The cache lacks the paths that a sparse checkout omits; the base has them.
        is_base = (cache.ref, cache.commit) == (base.ref, base.commit.id)
        same = cache.rules == conversion_rules(self._repository)
        return is_base and same and not cache.content.special and cache.is_intact()

    def finish(self, *, require_match: bool) -> Snapshot:
        """Read the paths and return the snapshot, whose objects the caller publishes.

        RefusedError if a pathspec is outside the worktree (`outside_worktree`) or invalid
        (`invalid_pathspec`), or with `require_match` if one matches no file (`not_found`); GitError
        if git failed otherwise.
        """
        held, not_held = self._list(self._index, "--cached")
        tracked, not_tracked = self._list(self._user.index, "--cached")
        others, not_others = self._list(self._user.index, *OTHERS)
        if require_match:
            git = self._repository.git.bind(cwd=self._here)
            refuse_unmatched(git, self._pathspecs, not_held & not_tracked & not_others)
        limit = self._repository.config.integer("boocode.maxFileSize", default=MAX_FILE_SIZE)
        extra, skipped = select_untracked(self._repository.worktree, others, limit)
        held += self._old_names({*tracked, *extra}.difference(held))
        self._record(held, tracked, extra)
        skipped += [*self._indexer.failed, *self._unlisted({*tracked, *others, *extra})]
        snapshot = Snapshot(
            self._quarantine, self._head, self._index, self._user, self._staging, skipped
        )
        # In a partial clone, objects of the base may be missing.
        snapshot.disk_tree = snapshot.tree = self._index.write_tree("--missing-ok")
        snapshot.cache = self._new_cache({*held, *tracked, *extra}, tracked, extra)
        return snapshot

    def _list(self, index: Index, *options: str) -> tuple[list[str], set[str]]:
        git = index.git.bind(cwd=self._here)
        return list_files(git, *options, "--", *self._resolved())

    def _resolved(self) -> Iterator[str]:
        repository = self._repository
        return (
            resolve_pathspec(repository.worktree, repository.prefix, spec)
            for spec in self._pathspecs
        )

    def _old_names(self, new: set[str]) -> set[str]:
        """The names in the base of files that were renamed by case, and still exist under them."""
        if not new or not self._repository.config.boolean("core.ignoreCase", default=False):
            return set()
        names = set(self._index.paths()).difference(self._user.records)
        return self._disk.other_spellings(names, new)

    def _record(self, held: list[str], tracked: list[str], extra: list[str]) -> None:
        wanted = [*filter(self._disk.is_own_file, tracked), *extra]
        links = [path for path in tracked if self._is_module(path)]
        named = set(tracked)
        self._index.forget(set(held).difference(wanted, links))
        self._index.put(entry for entry in self._staging.absent if entry.path in named)
        # Git reads the named files even if their times have not changed.
        self._index.invalidate(set(held).intersection(wanted))
        self._indexer.add([*wanted, *filter(self._disk.has_repository, links)])
        self._indexer.resolve_failed(self._user.entry, self._staging.intended)

    def _is_module(self, path: str) -> bool:
        if not os.path.isdir(os.path.join(self._repository.worktree, path)):
            return False
        entry = self._user.entry(path)
        return entry is not None and entry.mode == GITLINK

    def _unlisted(self, listed: set[str]) -> Iterator[Skipped]:
        """The files that the caller named and git does not list."""
        top = self._repository.worktree
        for spec, resolved in zip(self._pathspecs, self._resolved(), strict=True):
            full = os.path.normpath(os.path.join(self._here, resolved))
            path = os.path.relpath(full, top).replace(os.sep, "/")
            is_file = os.path.lexists(full) and not (spec.endswith("/") or os.path.isdir(full))
            if is_file and path not in listed:
                yield Skipped(path, _unlisted_reason(top, path))

    def _new_cache(
        self, named: set[str], tracked: list[str], extra: list[str]
    ) -> IndexCache | None:
        """The cache for the next capture, in which only the named paths are updated."""
        cache = self.cache
        if cache is None or self._staging.special or any(map(is_attributes, named)):
            return None
        failed = {path for path, _ in self._indexer.failed}
        missing = {path for path in tracked if not self._disk.exists(path)}
        same = cache.user_index == self._user.fingerprint
        return cache._replace(
            path=self._index.path,
            crc=None,
            # If the index has changed, the next capture compares all paths.
            user_index=cache.user_index if same else "?",
            head_tree=self._head.tree,
            extra=(cache.extra - named).union(set(extra) - failed),
            missing=cache.missing.difference(tracked) | missing,
            recent=cache.recent | named,
        )


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
