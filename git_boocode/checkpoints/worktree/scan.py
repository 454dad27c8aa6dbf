"""Read the worktree into a private index and a tree, without changing the user's files or index.

Two git commands walk the worktree in parallel: `diff-files` finds the changed files of the private
index, `ls-files` the untracked files of the user's index. The changes are recorded in the private
index, from which git writes the tree. The private index is the one of the last capture
(`IndexCache`), or a copy of the user's index.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from git_boocode.checkpoints.worktree.indexer import (
    ALL_OTHERS,
    LISTING,
    MAX_FILE_SIZE,
    MAX_INCLUDED_SIZE,
    Disk,
    Indexer,
    Skipped,
    conversion_rules,
    is_attributes,
    select_untracked,
    unreadable_directories,
)
from git_boocode.checkpoints.worktree.snapshot import IndexCache, Snapshot, load_cache, write_trees
from git_boocode.checkpoints.worktree.staging import Staging, UserIndex, match_disk
from git_boocode.repo.git import GitError, Running, nul_records
from git_boocode.repo.head import Head, read_head
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import GITLINK, Quarantine
from git_boocode.repo.path_rule import EXCLUDE, INCLUDE, INCLUDED_SIZE, PathRule, as_in_head
from git_boocode.repo.repository import Repository

LeaveOut = Callable[[list[str]], Collection[str]]
_STAGED = ("diff-index", "--cached", "--name-only", "--no-renames", "--ita-visible-in-index", "-z")


def take_snapshot(
    repository: Repository,
    scratch: str,
    leave_out: LeaveOut | None = None,
    *,
    exclude: PathRule | None = None,
) -> Snapshot:
    """Read the worktree and the staging area; this writes objects, but no refs.

    The directory `scratch` for private files must outlive the snapshot. `leave_out` selects the
    untracked files to exclude without reading them; `exclude` is instead of the user's rule.
    FatalError if the worktree cannot be read.
    """
    with WorktreeScan(repository, scratch, leave_out, exclude=exclude) as scan:
        if scan.cache is not None and not is_reachable(repository, scan.cache):
            scan.start_without_cache()
        snapshot = scan.finish()
    snapshot.quarantine.release()
    return snapshot


def current_tree(repository: Repository) -> str:
    """The tree of the worktree as it is now, for commands that only read; see `take_snapshot`."""
    return current_snapshot(repository).tree


def current_snapshot(repository: Repository) -> Snapshot:
    """What the worktree is now: only its tree and its skipped files can still be used."""
    with scratch_directory(repository.state_dir, read_only=True) as scratch:
        return take_snapshot(repository, scratch)


def is_reachable(repository: Repository, cache: IndexCache) -> bool:
    """Whether the checkpoint that keeps the objects of a cached index still exists."""
    return any(ref.target == cache.commit for ref in repository.store.refs(cache.ref))


class _Changes(NamedTuple):
    """The changes after which the private index has all files as they are on disk."""

    staging: Staging | None
    gone: frozenset[str]  # the paths to remove
    entries: list[Entry]  # entries as the user's index has them
    paths: list[str]  # the files to record as they are on disk
    extra: frozenset[str]  # the untracked files among all paths
    missing: frozenset[str]  # the tracked paths that are not on disk


class WorktreeScan:
    """One scan of the worktree: entering the context starts git, `finish` returns the snapshot.

    `cache` is the cached index that the scan builds on, None if it starts from the user's index.
    The caller verifies that the cache's checkpoint exists (`is_reachable`).
    """

    cache: IndexCache | None = None

    def __init__(
        self,
        repository: Repository,
        scratch: str,
        leave_out: LeaveOut | None = None,
        *,
        exclude: PathRule | None = None,
    ) -> None:
        self._repository = repository
        self._scratch = scratch
        self._leave_out = leave_out
        # Read it now: an invalid setting is an error before anything is done.
        self._limit = repository.config.size("boocode.maxFileSize", default=MAX_FILE_SIZE)
        self._exclude = exclude or PathRule.read(repository, EXCLUDE)
        self._include = PathRule.read(repository, INCLUDE)
        self._largest_included = repository.config.size(INCLUDED_SIZE, default=MAX_INCLUDED_SIZE)
        self._quarantine = Quarantine(repository, scratch)
        self._user = UserIndex(repository, scratch, self._quarantine.git)
        self._index = self._tracked = self._user.index
        self._disk = Disk(repository.worktree)
        self._walks: list[Running] = []
        self._skipped: list[Skipped] = []

    def __enter__(self) -> WorktreeScan:  # noqa: PYI034 - typing.Self came with Python 3.11
        try:
            self._begin(with_cache=True)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def start_without_cache(self) -> None:
        """Start again from a copy of the user's index."""
        self._stop()
        self._skipped.clear()
        self.__dict__.pop("_included", None)
        self._begin(with_cache=False)

    def _begin(self, *, with_cache: bool) -> None:
        self._start = _file_time(self._repository.worktree, self._scratch)
        self._listing = self._walk(self._user.index)
        rules = conversion_rules(self._repository)
        self._rules = rules + self._exclude.mark + self._include.mark
        cache = load_cache(self._repository, self._scratch, self._rules) if with_cache else None
        # Whether the user's index is unchanged since the last capture.
        self._same_index = cache is not None and cache.user_index == self._user.fingerprint
        if cache is not None and not self._same_index:
            # Only the user's index has the modes that the file system cannot represent.
            cache = None if self._repository.index_knows_modes else cache
        self.cache = cache
        if cache is not None and self._exclude.specs and self._head.tree != cache.head_tree:
            # It has what is excluded as the earlier HEAD had it.
            self.cache = cache = None
        if cache is not None:
            self._index = Index(self._quarantine.git, cache.path)
            if cache.recent:
                self._index.invalidate(cache.recent)
        else:
            self._index = self._user.index.copy(self._quarantine.git)
            self._prepare_copy()
            if self._exclude.specs:
                as_in_head(self._exclude, self._index, self._head.tree)
        self._indexer = Indexer(self._index, self._disk)
        self._comparison = self._index.begin_comparison()
        self._walks.append(self._comparison)

    def _walk(self, index: Index) -> Running:
        running = index.git.begin(*LISTING)
        self._walks.append(running)
        return running

    def _prepare_copy(self) -> None:
        try:
            match_disk(self._index, self._user.special)
        except GitError as error:
            if not self._user.is_damaged(error):
                raise
            self._start_from_head()
        self._index.join()

    def _start_from_head(self) -> None:
        # A damaged index must not prevent a checkpoint: HEAD lists the tracked files.
        self._skipped.append(Skipped(".git/index", "damaged"))
        os.unlink(self._index.path)
        self._index.break_lock()
        self._index.read_tree(self._head.tree)
        self._listing.stop()
        self._walks.remove(self._listing)
        self._tracked = self._index.copy(self._repository.git)
        self._listing = self._walk(self._tracked)

    def _stop(self) -> None:
        for running in self._walks:
            running.stop()
        self._walks.clear()
        self._index.break_lock()

    def finish(self) -> Snapshot:
        """Wait for git and return the snapshot, whose objects the caller publishes.

        FatalError if the worktree cannot be read.
        """
        if self.cache is not None:
            with suppress(GitError):
                changes = self._changes()
                # Other attributes may convert files that have not changed.
                if not any(map(is_attributes, (*changes.gone, *changes.paths))):
                    return self._record(changes)
            self.start_without_cache()
        return self._record(self._changes())

    def _changes(self) -> _Changes:
        staging = self._staging()
        self._indexer.compare(self._comparison)
        self._indexer.leave_out(self._excluded((*self._indexer.changed, *self._indexer.removed)))
        untracked, removed = self._untracked(), frozenset(self._indexer.removed)
        extra, missing = self._differing_paths(staging)
        absent = filter(None, map(self._user.entry, sorted(filter(self._disk.exists, missing))))
        returned = {entry.path: entry for entry in absent if self._is_on_disk(entry)}
        closed = {entry.path: entry for entry in self._closed_modules()}
        gone = extra.difference(untracked).union(removed).difference(closed)
        # A file that was missing during git's walk may exist again.
        held = extra - removed
        new = (path for path in untracked if path not in held)
        changed = (path for path in self._indexer.changed if path not in gone)
        return _Changes(
            staging,
            gone,
            [entry._replace(stage=0) for entry in (returned | closed).values()],
            [path for path in (*changed, *returned, *new) if path not in closed],
            frozenset(untracked),
            missing.difference(returned).union(removed - extra),
        )

    def _record(self, changes: _Changes) -> Snapshot:
        if changes.gone:
            self._index.forget(changes.gone)
        if changes.entries:
            # First: they may have modes that the file system cannot represent.
            self._index.put(changes.entries)
        self._indexer.add(changes.paths)
        staging = changes.staging
        if staging is not None and self._indexer.failed:
            self._indexer.resolve_failed(self._user.entry, staging.intended)
        # Whether the private index stays as the last capture left it.
        is_same = self.cache is not None and not self.cache.recent
        is_same = is_same and not (changes.gone or changes.entries or changes.paths)
        before = self.cache.content if self.cache and is_same else None
        if before is None or before.special or staging is None or staging.special:
            trees = write_trees(self._index, staging)
        else:
            trees = before.tree, before.tree
        keep = staging is not None and not self._left_out
        return Snapshot(
            self._quarantine,
            self._head,
            Index(self._repository.git, self._index.path),
            self._user.index if self._user.exists else None,
            staging,
            sorted({*self._skipped, *self._indexer.failed}),
            *trees,
            self._left_out,
            self._new_cache(changes, is_same=is_same) if keep else None,
            exclude=self._exclude,
            included=self._private,
        )

    @cached_property
    def _head(self) -> Head:
        cache = self.cache
        content = None if cache is None else cache.content
        earlier = cache and content and Head(None, content.head, cache.head_tree)
        return read_head(self._repository, earlier)

    def _staging(self) -> Staging | None:
        """The staging area; None if the user's index cannot be read."""
        if self.cache is not None and self._same_index:
            staging = self.cache.staging(self._repository.worktree)
            if staging is not None:
                return staging
        try:
            return self._user.staging()
        except GitError as error:
            if self.cache is not None or not self._user.is_damaged(error):
                raise
            return None

    def _excluded(self, paths: Iterable[str]) -> frozenset[str]:
        return self._exclude.matching(self._repository, self._scratch, paths)

    @cached_property
    def _included(self) -> list[str]:
        """The files that are recorded even if git ignores them."""
        if not self._include.specs:
            return []
        listed = self._include.listed(self._tracked.git, *ALL_OTHERS)
        excluded = self._excluded(listed)
        paths = [path for path in listed if path not in excluded and not path.endswith("/")]
        wanted, skipped = select_untracked(
            self._repository.worktree, paths, self._largest_included, INCLUDED_SIZE
        )
        self._skipped += skipped
        return wanted

    @property
    def _private(self) -> frozenset[str]:
        """The included files that HEAD does not have, staged or not."""
        if not self._include.specs:
            return frozenset()
        differing = self._include.listed(self._tracked.git, *_STAGED, self._head.tree)
        known = self._repository.store.tree(self._head.tree, differing) if differing else {}
        new = {*differing} - known.keys()
        return frozenset((*self._included, *(new - self._excluded(new))))

    def _untracked(self) -> list[str]:
        done = self._listing.finish()
        if done.status:
            raise GitError(LISTING, done.status, os.fsdecode(done.stderr))
        if done.stderr:
            self._skipped += unreadable_directories(os.fsdecode(done.stderr))
        paths = [*nul_records(done.stdout), *self._differing_in_case()]
        others = self._excluded(paths).union(
            self._included, self._include.matching(self._repository, self._scratch, paths)
        )
        paths = [path for path in paths if path not in others]
        wanted, skipped = select_untracked(self._repository.worktree, paths, self._limit)
        self._skipped += skipped
        self._left_out: Collection[str] = ()
        if self._leave_out is not None and wanted:
            self._left_out = frozenset(self._leave_out(wanted))
        return [*self._included, *(path for path in wanted if path not in self._left_out)]

    def _differing_in_case(self) -> list[str]:
        """The untracked files that git mistakes for missing tracked files of another case."""
        missing = {*self._indexer.removed, *(self.cache.missing if self.cache else ())}
        ignores_case = self._repository.config.boolean("core.ignoreCase", default=False)
        if not missing or not ignores_case:
            return []
        present = self._user.index.copy()
        present.forget(missing)
        return nul_records(present.git.run(*LISTING))

    def _differing_paths(self, staging: Staging | None) -> tuple[frozenset[str], frozenset[str]]:
        """The paths that only the private index has, and those that only the user's index has."""
        if self.cache is not None and self._same_index:
            return self.cache.extra, self.cache.missing
        absent = frozenset(entry.path for entry in staging.absent) if staging else frozenset[str]()
        if self.cache is None:
            return frozenset(), absent - self._excluded(absent)
        tracked, held = self._user.records.keys() - absent, frozenset(self._index.paths())
        excluded = self._excluded(held ^ tracked)
        return held - tracked - excluded, absent.union(tracked - held - excluded)

    def _is_on_disk(self, entry: Entry) -> bool:
        # A file may have replaced a submodule.
        is_module = entry.mode == GITLINK and self._disk.is_directory(entry.path)
        return is_module or self._disk.is_own_file(entry.path)

    def _closed_modules(self) -> list[Entry]:
        """The entries of submodules whose directory has no repository; git cannot record these."""
        if self.cache is None:
            return []
        modules = self.cache.modules.union(self._indexer.removed)
        candidates = modules if self._same_index else self._user.modules
        if not candidates:
            return []
        directories = filter(self._disk.is_directory, candidates)
        closed = [path for path in directories if not self._disk.has_repository(path)]
        closed = sorted({*closed} - self._excluded(closed))
        entries = filter(None, map(self._user.entry, closed))
        return [entry for entry in entries if entry.mode == GITLINK]

    def _new_cache(self, changes: _Changes, *, is_same: bool) -> IndexCache:
        cache = self.cache
        modules, recent = (cache.modules, cache.recent) if cache else ((), ())
        recorded = frozenset(changes.paths)
        return IndexCache(
            path=self._index.path,
            since=cache.since if cache and is_same else self._start,
            ref="",
            commit="",
            content=None,
            user_index=self._user.fingerprint,
            head_tree=self._head.tree,
            extra=changes.extra.difference(path for path, _ in self._indexer.failed),
            missing=changes.missing,
            recent=self._recent(recorded.union(recent)),
            modules=frozenset(filter(self._disk.has_repository, recorded.union(modules))),
            rules=self._rules,
        )

    def _recent(self, paths: Iterable[str]) -> frozenset[str]:
        """The paths recorded in the second of their last change, with an older modification time.

        Git compares whole seconds, so it would miss another change in that second. Programs can set
        the modification time, but not the time of the status change.
        """
        second, found = self._start // 1_000_000_000, set[str]()
        for path in paths:
            status = self._disk.status(path)
            if status and status.st_ctime >= second > status.st_mtime:
                found.add(path)
        return frozenset(found)


def _file_time(worktree: str, scratch: str) -> int:
    """The time of the worktree's file system, or an earlier one, in nanoseconds since 1970.

    The system's clock may be ahead of it. The directory `scratch` has just been written to.
    """
    top, made = os.stat(worktree), os.stat(scratch)
    if made.st_dev == top.st_dev:
        return made.st_mtime_ns
    # The git directory is on another file system.
    times = [top.st_ctime_ns]
    with suppress(OSError):
        git_file = os.path.join(worktree, ".git")
        if stat.S_ISREG(mode := os.lstat(git_file).st_mode):
            # The same mode again, which updates only the time of the status change.
            os.chmod(git_file, stat.S_IMODE(mode))
            times.append(os.lstat(git_file).st_ctime_ns)
    return max(times)
