"""Read the worktree into a private index and a tree, without changing the user's files or index.

Two git commands walk the worktree in parallel: `diff-files` finds the changed files of the private
index, `ls-files` the untracked files of the user's index. The private index is the one of the last
capture (`index_cache`), or a copy of the user's index.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.checkpoints.worktree.attributes import conversion_rules, is_attributes
from git_boocode.checkpoints.worktree.index_cache import Content, IndexCache, load_cache
from git_boocode.checkpoints.worktree.indexer import (
    LISTING,
    MAX_FILE_SIZE,
    Disk,
    Indexer,
    Skipped,
    select_untracked,
    unreadable_directories,
)
from git_boocode.checkpoints.worktree.snapshot import Later, Snapshot
from git_boocode.checkpoints.worktree.staging import Staging, UserIndex, match_disk
from git_boocode.repo.files import is_in_dot_git
from git_boocode.repo.git import GitError, Running, nul_records
from git_boocode.repo.head import Head, loose_ref, read_head
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import GITLINK, Quarantine
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.checkpoints.worktree.patched_tree import FileReader, Statuses
    from git_boocode.repo.trees import Item

# In bytes: for a smaller index, git is as fast, unless objects are kept open in this process.
_LARGE_INDEX = 1 << 20

LeaveOut = Callable[[list[str]], Collection[str]]


def take_snapshot(
    repository: Repository, scratch: str, leave_out: LeaveOut | None = None
) -> Snapshot:
    """Read the worktree and the staging area; this writes objects, but no refs.

    The directory `scratch` for private files must outlive the snapshot. `leave_out` selects the
    untracked files to exclude without reading them. FatalError if the worktree cannot be read.
    """
    with WorktreeScan(repository, scratch, leave_out) as scan:
        if scan.cache is not None and not is_reachable(repository, scan.cache):
            scan.start_without_cache()
        snapshot = scan.finish()
    snapshot.publish(repository.git)
    snapshot.quarantine.sync_directories()
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
    if loose_ref(repository, cache.ref) == cache.commit:
        return True
    return any(ref.target == cache.commit for ref in repository.store.refs(cache.ref))


class _OutdatedError(Exception):
    """The cached index no longer fits the worktree."""


class _IndexDifference(NamedTuple):
    """The difference between the paths of the private index and those that it has to hold."""

    lacking: list[Entry]  # the user's entries of tracked paths that it lacks
    stale: frozenset[str]  # the paths that it no longer has to hold
    new: list[str]  # the untracked paths that it lacks
    missing: frozenset[str]  # the tracked paths that it lacks and that are still not on disk
    untracked: frozenset[str]  # the paths that it holds and that are not tracked


class _IndexChanges(NamedTuple):
    """The changes to the private index."""

    gone: frozenset[str]  # the paths to remove
    entries: list[Entry]  # entries as the user's index has them
    paths: list[str]  # the files to record as they are on disk
    missing: frozenset[str]  # the tracked paths that are not on disk


class WorktreeScan:
    """One scan of the worktree: entering the context starts git, `finish` returns the snapshot.

    `cache` is the cached index that the scan builds on, None if it starts from the user's index.
    The caller verifies that the cache's checkpoint exists (`is_reachable`). With `later`, the
    private index of the snapshot may be older than its tree; see `Snapshot.update_index`.
    """

    cache: IndexCache | None = None

    def __init__(
        self,
        repository: Repository,
        scratch: str,
        leave_out: LeaveOut | None = None,
        *,
        later: Later | None = None,
    ) -> None:
        self._repository = repository
        self._scratch = scratch
        self._leave_out = leave_out
        self._later = later
        # Read it now: an invalid setting is an error before anything is done.
        self._limit = repository.config.integer("boocode.maxFileSize", default=MAX_FILE_SIZE)
        self._quarantine = Quarantine(repository, scratch)
        self._user = UserIndex(repository, scratch, self._quarantine.git)
        self._index = self._user.index
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
        self._begin(with_cache=False)

    def _begin(self, *, with_cache: bool) -> None:
        self._start = _file_time(self._repository.worktree, self._scratch)
        self._listing = self._walk(self._user.index)
        self._rules = conversion_rules(self._repository)
        self.cache = self._load_cache() if with_cache else None
        if self.cache is not None:
            self._index = Index(self._quarantine.git, self.cache.path)
            self._index.invalidate(self.cache.recent)
        else:
            self._index = self._user.index.copy(self._quarantine.git)
            self._prepare_copy()
        self._indexer = Indexer(self._index, self._disk)
        self._comparison = self._index.begin_comparison()
        self._walks.append(self._comparison)

    def _walk(self, index: Index) -> Running:
        running = index.git.begin(*LISTING)
        self._walks.append(running)
        return running

    def _load_cache(self) -> IndexCache | None:
        cache = load_cache(self._repository, self._scratch)
        if cache is None or cache.rules != self._rules:
            return None
        # Only the user's index has the modes that the file system cannot represent.
        same = cache.user_index == self._user.fingerprint or not self._repository.index_knows_modes
        return cache if same and cache.is_intact() else None

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
        self._listing = self._walk(self._index.copy(self._repository.git))

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
            try:
                return self._finish()
            except (_OutdatedError, GitError):
                self.start_without_cache()
        return self._finish()

    def _finish(self) -> Snapshot:
        staging = self._staging()
        self._indexer.compare(self._comparison)
        reader = self._reader(staging)
        if reader is not None:
            # Read the changed files while git still lists the untracked ones.
            reader.read(self._statuses(self._indexer.changed))
        extra = self._untracked()
        changes = self._index_changes(staging, extra)
        items = None if reader is None else self._items(reader, changes)
        tree = None if items is None else self._patched_tree(items, changes)
        is_later = tree is not None
        if not is_later:
            tree = self._record(staging, changes)
        skipped = (*self._skipped, *self._indexer.failed)
        snapshot = Snapshot(self._quarantine, self._head, self._index, self._user, staging, skipped)
        if tree is None:
            snapshot.write_trees()
        else:
            snapshot.disk_tree = snapshot.tree = tree
        if staging is not None and not self._left_out:
            held = frozenset(extra) - {path for path, _ in self._indexer.failed}
            new_cache = partial(self._new_cache, held, changes.missing)
            if is_later and items is not None:
                snapshot.update_index = partial(self._update_index, changes, items, new_cache)
            else:
                snapshot.cache = new_cache()
        snapshot.left_out, snapshot.later = self._left_out, self._later
        return snapshot

    @cached_property
    def _head(self) -> Head:
        cache = self.cache
        earlier = cache and Head(None, cache.content.head, cache.head_tree)
        return read_head(self._repository, earlier)

    @property
    def _same_index(self) -> bool:
        """Whether the user's index is unchanged since the last capture."""
        return self.cache is not None and self.cache.user_index == self._user.fingerprint

    def _staging(self) -> Staging | None:
        """The staging area; None if the user's index cannot be read."""
        if self.cache is not None and self._same_index:
            return self.cache.staging(self._repository.worktree)
        try:
            return self._user.staging()
        except GitError as error:
            if self.cache is not None or not self._user.is_damaged(error):
                raise
            return None

    @property
    def _ignores_case(self) -> bool:
        return self._repository.config.boolean("core.ignoreCase", default=False)

    def _untracked(self) -> list[str]:
        done = self._listing.finish()
        if done.status:
            raise GitError(LISTING, done.status, os.fsdecode(done.stderr))
        self._skipped += unreadable_directories(os.fsdecode(done.stderr))
        paths = [*nul_records(done.stdout), *self._differing_in_case()]
        wanted, skipped = select_untracked(self._repository.worktree, paths, self._limit)
        self._skipped += skipped
        self._left_out: Collection[str] = ()
        if self._leave_out is None or not wanted:
            return wanted
        self._left_out = frozenset(self._leave_out(wanted))
        return [path for path in wanted if path not in self._left_out]

    def _differing_in_case(self) -> list[str]:
        """The untracked files that git mistakes for missing tracked files of another case."""
        missing = {*self._indexer.removed, *(self.cache.missing if self.cache else ())}
        if not missing or not self._ignores_case:
            return []
        present = self._user.index.copy()
        present.forget(missing)
        return nul_records(present.git.run(*LISTING))

    def _index_changes(self, staging: Staging | None, extra: list[str]) -> _IndexChanges:
        """The changes after which the private index has the tracked and the extra paths."""
        indexer = self._indexer
        difference = self._compare_paths(staging, extra)
        closed = {entry.path: entry for entry in self._closed_modules()}
        returned = [entry for entry in difference.lacking if self._is_on_disk(entry)]
        gone = difference.stale.union(indexer.removed).difference(closed)
        added = [entry.path for entry in returned if entry.path not in closed]
        added += [path for path in difference.new if path not in closed]
        changed = [path for path in indexer.changed if path not in gone]
        if self.cache is not None and any(map(is_attributes, (*gone, *added, *changed))):
            raise _OutdatedError
        absent = (entry.path for entry in difference.lacking if entry not in returned)
        missing = difference.missing.union(absent, set(indexer.removed) - difference.untracked)
        entries = [*(entry._replace(stage=0) for entry in returned), *closed.values()]
        self._recorded = frozenset((*changed, *added))
        rechecked = self.cache is not None and self.cache.recent
        self._is_changed = bool(rechecked or self._recorded or gone or entries)
        return _IndexChanges(gone, entries, [*changed, *added], missing)

    def _record(self, staging: Staging | None, changes: _IndexChanges) -> str | None:
        """Make the changes; returns the tree, None if git has to write it."""
        before = self._statuses(changes.paths)
        self._index.forget(changes.gone)
        # Put the entries first: they may have modes that the file system cannot represent.
        self._index.put(changes.entries)
        self._indexer.add(changes.paths)
        if staging is not None:
            self._indexer.resolve_failed(self._user.entry, staging.intended)
        if self.cache is None or self._indexer.failed or not self._is_plain(staging):
            return None
        if not self._is_changed:
            return self.cache.content.tree
        if changes.entries or self.cache.recent or not self._is_worth_patching():
            return None
        from git_boocode.checkpoints.worktree.patched_tree import recorded_items

        items = recorded_items(self._repository, self._quarantine, self._disk, before)
        return None if items is None else self._patched_tree(items, changes)

    def _is_plain(self, staging: Staging | None) -> bool:
        """Whether the cached index has no entries that its tree lacks, nor will have."""
        special = self.cache is None or self.cache.content.special
        return not (special or staging is None or staging.special)

    def _is_worth_patching(self) -> bool:
        """Whether a tree is made faster from the tree before than by git."""
        if self._repository.keeps_store_open:
            return True
        with suppress(OSError):
            return os.stat(self._user.index.path).st_size >= _LARGE_INDEX
        return False

    def _statuses(self, paths: Iterable[str]) -> Statuses:
        return {path: self._disk.status(path) for path in paths}

    def _reader(self, staging: Staging | None) -> FileReader | None:
        """What reads the changed files, if the private index can be updated later."""
        cache = self.cache
        if cache is None or cache.recent or self._later is None or not self._is_plain(staging):
            return None
        if not self._is_worth_patching():
            return None
        from git_boocode.checkpoints.worktree.patched_tree import FileReader

        store = partial(self._quarantine.store, b"blob")
        return FileReader(self._repository, self._disk, store)

    def _items(self, reader: FileReader, changes: _IndexChanges) -> dict[str, Item] | None:
        """The tree entries of the changed files; None if git has to record one of them."""
        if not self._is_changed or changes.entries or any(map(is_in_dot_git, changes.paths)):
            return None
        reader.read(self._statuses(changes.paths))
        return reader.items and {path: reader.items[path] for path in changes.paths}

    def _patched_tree(self, items: Mapping[str, Item], changes: _IndexChanges) -> str | None:
        # Only large worktrees, and servers, need it.
        from git_boocode.checkpoints.worktree.patched_tree import patched_tree

        assert self.cache is not None
        base = self.cache.content.tree
        return patched_tree(self._repository, self._quarantine, base, items, changes.gone)

    def _update_index(
        self,
        changes: _IndexChanges,
        items: Mapping[str, Item],
        new_cache: Callable[[], IndexCache],
    ) -> IndexCache | None:
        """Make the changes after the tree; None if a file has changed since it was read."""
        from git_boocode.repo.trees import Item

        # The objects are published by now, and nobody observes the call any more.
        self._index = Index(self._repository.git, self._index.path)
        self._indexer = Indexer(self._index, self._disk)
        self._index.forget(changes.gone)
        self._indexer.add(changes.paths)
        recorded = {
            entry.path: Item(entry.mode.encode("ascii"), entry.id.encode("ascii"))
            for entry in self._index.entries_of(items)
        }
        return new_cache() if recorded == items else None

    def _compare_paths(self, staging: Staging | None, extra: list[str]) -> _IndexDifference:
        """Compare the paths of the private index with those that it has to hold."""
        cache = self.cache
        # They may be on disk in the next scan, although the user's index remains the same.
        absent = frozenset(entry.path for entry in staging.absent) if staging else frozenset[str]()
        if cache is None or staging is None:
            return _IndexDifference([], frozenset(), extra, absent, frozenset())
        if self._same_index:
            returned = filter(self._disk.exists, cache.missing)
            entries = [entry for entry in map(self._user.entry, returned) if entry]
            # A file that was missing during git's walk may exist again.
            held = cache.extra.difference(self._indexer.removed)
            return _IndexDifference(
                entries,
                cache.extra.difference(extra),
                [path for path in extra if path not in held],
                cache.missing.difference(entry.path for entry in entries),
                cache.extra,
            )
        tracked = self._user.records.keys() - absent
        held = frozenset(self._index.paths())
        untracked = held - tracked
        return _IndexDifference(
            [entry for entry in map(self._user.entry, sorted(tracked - held)) if entry],
            untracked.difference(extra),
            [path for path in extra if path not in held],
            absent,
            untracked,
        )

    def _is_on_disk(self, entry: Entry) -> bool:
        # A file may have replaced a submodule.
        is_module = entry.mode == GITLINK and self._disk.is_directory(entry.path)
        return is_module or self._disk.is_own_file(entry.path)

    def _closed_modules(self) -> list[Entry]:
        """The entries of submodules whose directory has no repository; git cannot record these."""
        if self.cache is None:
            return []
        candidates: Iterable[str] = self._user.modules if not self._same_index else ()
        if self._same_index:
            lost = (path for path, opened in self.cache.modules.items() if opened)
            candidates = {*lost, *self.cache.modules.keys() & set(self._indexer.removed)}
        directories = filter(self._disk.is_directory, candidates)
        closed = (path for path in directories if not self._disk.has_repository(path))
        return [entry for entry in map(self._user.entry, closed) if entry]

    def _new_cache(self, extra: frozenset[str], missing: frozenset[str]) -> IndexCache:
        cache = self.cache
        modules = cache.modules if cache is not None and self._same_index else self._user.modules
        return IndexCache(
            path=self._index.path,
            crc=None if cache is None or self._is_changed else cache.crc,
            since=self._start if cache is None or self._is_changed else cache.since,
            ref="",
            commit="",
            content=Content("", None, None, ""),
            user_index=self._user.fingerprint,
            head_tree=self._head.tree,
            extra=extra,
            missing=missing,
            recent=self._recent(cache.recent if cache else ()),
            modules={path: self._disk.has_repository(path) for path in modules},
            rules=self._rules,
        )

    def _recent(self, before: Iterable[str]) -> frozenset[str]:
        """The paths recorded in the second of their last change, with an older modification time.

        Git compares whole seconds, so it would miss another change in that second. Programs can set
        the modification time, but not the time of the status change.
        """
        second = self._start // 1_000_000_000
        found = {path: self._disk.status(path) for path in self._recorded.union(before)}
        return frozenset(
            path
            for path, status in found.items()
            if status and status.st_ctime >= second > status.st_mtime
        )


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
