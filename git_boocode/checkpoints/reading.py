"""Read a worktree into a private index: from what the last capture left, or from the beginning.

Git walks the worktree twice, side by side: for what changed in the files that are known, and for
the files that are not. All else is small beside these two walks.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property

from git_boocode.checkpoints.conversion import ATTRIBUTES, conversion_rules, is_attributes
from git_boocode.checkpoints.kept import Kept, load_kept
from git_boocode.checkpoints.recorder import Recorder, Skipped, last_line
from git_boocode.checkpoints.snapshot import Snapshot
from git_boocode.checkpoints.specials import NOTHING, Specials, find_specials
from git_boocode.checkpoints.staging import Staging, match_disk, recheck
from git_boocode.checkpoints.untracked import LISTING, size_limit, sort_out, unreadable
from git_boocode.checkpoints.users_index import UsersIndex
from git_boocode.repo.git import Git, GitError, Running, nul_records
from git_boocode.repo.head import Head, read_head
from git_boocode.repo.index import Index, copy_index
from git_boocode.repo.repository import Repository

_GITLINK = "160000"
# In seconds: how coarse the clock of a file system may be, and how far it may be behind ours.
_COARSE = 2.0
_CLOCKS_DIFFER = 0.05


def take_snapshot(repository: Repository, scratch: str) -> Snapshot:
    """Read the worktree and the staging area; objects are written, refs are not.

    Args:
        repository: whose worktree to read.
        scratch: a directory for private files, which must outlive the snapshot.

    Raises:
        FatalError: the worktree could not be read as a whole.
    """
    with reading(repository, scratch) as under_way:
        return under_way.finish()


@contextmanager
def reading(repository: Repository, scratch: str) -> Iterator[Reading]:
    """Start to read a worktree, and go on while git walks it; see `take_snapshot`."""
    users = UsersIndex(repository, scratch)
    index = Index(repository.git, os.path.join(scratch, "worktree.index"))
    kept = load_kept(repository, index.path)
    under_way = Reading(_Pass(repository, users, index, kept))
    try:
        under_way.begin()
        yield under_way
    finally:
        under_way.stop()


class _OutdatedError(Exception):
    """What the last capture left does not fit any more."""


class Reading:
    """The reading of a worktree, under way."""

    def __init__(self, first: _Pass) -> None:
        self._pass = first

    def begin(self) -> None:
        """Let git start."""
        with suppress(_OutdatedError):
            self._pass.begin()

    def stop(self) -> None:
        """End what still runs."""
        self._pass.stop()

    def finish(self) -> Snapshot:
        """Wait for git, and give what was read.

        Raises:
            FatalError: the worktree could not be read as a whole.
        """
        try:
            return self._pass.finish()
        except (_OutdatedError, GitError):
            if not self._pass.is_warm:
                raise
        self._pass.stop()
        self._pass = self._pass.anew()
        self._pass.begin()
        return self._pass.finish()


class _Pass:
    """One try at reading the worktree: warm, with what the last capture left, or cold."""

    def __init__(
        self, repository: Repository, users: UsersIndex, index: Index, kept: Kept | None
    ) -> None:
        self._repository = repository
        self._users = users
        self._index = index
        self._kept = kept
        self._recorder = Recorder(index, repository.worktree)
        self._skipped: list[Skipped] = []
        self._known: Running | None = None
        self._listing: Running | None = None
        self._again: list[str] = []
        self._start = time.time() - _CLOCKS_DIFFER
        # Looked up at once: a bad setting is to be told before anything is done.
        self._limit = size_limit(repository.config)

    @property
    def is_warm(self) -> bool:
        return self._kept is not None

    def anew(self) -> _Pass:
        """The same, from the beginning."""
        return _Pass(self._repository, self._users, self._index, None)

    def begin(self) -> None:
        if self._kept is None:
            self._begin_cold()
        else:
            self._begin_warm(self._kept)
        self._known = self._recorder.begin_known()

    def stop(self) -> None:
        for running in (self._known, self._listing):
            if running is not None:
                running.stop()
        self._index.break_lock()

    @cached_property
    def _head(self) -> Head:
        return read_head(self._repository)

    def _begin_cold(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._index.path)
        copy_index(self._users.index.path, self._index.path)
        if self._staging is None:
            return
        match_disk(self._index, self._staging)
        self._begin_listing(self._users.index.git)

    def _begin_warm(self, kept: Kept) -> None:
        if conversion_rules(self._repository, kept.attributes) != kept.rules:
            raise _OutdatedError
        self._again = sorted(self._touched_since(kept.since, kept.recent))
        self._index.forget([*self._outgrown(kept), *self._again])
        self._begin_listing(self._users.index.git)

    def _touched_since(self, moment: float, paths: Iterable[str]) -> Iterator[str]:
        """The files that changed at a moment or later, whatever their time stamps claim.

        Of two changes within one second git sees only the first, if the file keeps its size and is
        given its old time of modification back.
        """
        for path in paths:
            with suppress(OSError):
                if os.lstat(self._on_disk(path)).st_ctime >= moment:
                    yield path

    def _begin_listing(self, git: Git) -> None:
        self._listing = git.begin(*LISTING)

    def _outgrown(self, kept: Kept) -> Iterator[str]:
        """What was recorded though it is not tracked, and must not even be looked at now."""
        for path in kept.extra.difference(kept.left_to_head):
            with suppress(OSError):
                found = os.lstat(self._on_disk(path))
                regular = stat.S_ISREG(found.st_mode)
                if (regular and found.st_size > self._limit) or (
                    not regular and not stat.S_ISLNK(found.st_mode)
                ):
                    yield path

    @cached_property
    def _staging(self) -> Staging | None:
        """What is staged; None if the user's index cannot be read."""
        kept = self._kept
        if kept is not None and self._users.fingerprint == kept.users_index:
            return recheck(kept.staging, self._repository.worktree)
        try:
            return self._users.staging(f"{self._index.path}.staged")
        except GitError as error:
            if self.is_warm or not self._users.is_damaged(error):
                raise
            self._do_without_index(error)
            return None

    def _do_without_index(self, error: GitError) -> None:
        # A corrupt index must not cost the user the files: HEAD tells what is tracked.
        self._skipped.append(Skipped(".git/index", last_line(error.stderr)))
        os.unlink(self._index.path)
        self._index.break_lock()
        self._index.read_tree(self._head.tree)
        path = f"{self._index.path}.of-head"
        copy_index(self._index.path, path)
        self._begin_listing(Index(self._repository.git, path).git)

    def finish(self) -> Snapshot:
        if self._known is None or self._listing is None:
            raise _OutdatedError
        if self._kept is not None:
            self._check_ref(self._kept)
        staging = self._staging
        self._skipped += self._specials.skipped()
        left = self._left_to_head()
        self._recorder.finish_known(self._known)
        extra = [*self._untracked(), *filter(self._is_own_file, left)]
        come = self._match_names(extra)
        self._settle_failed()
        skipped = sorted({*self._skipped, *self._recorder.failed})
        original = self._users.index if self._users.exists else None
        snapshot = Snapshot(self._head, self._index, original, staging, skipped)
        if self._staging is not None and self._recorder.told_all:
            snapshot.kept = self._to_keep(self._staging, extra, come, left)
        return snapshot

    @cached_property
    def _specials(self) -> Specials:
        before = self._kept.specials if self._kept else NOTHING
        return find_specials(self._repository.git, self._repository.worktree, before)

    def _check_ref(self, kept: Kept) -> None:
        # While the ref is there, no object that the private index names has been collected.
        done = self._repository.git.attempt("rev-parse", "--verify", "--quiet", kept.ref, "--")
        if os.fsdecode(done.stdout).strip() != kept.commit:
            raise _OutdatedError

    def _left_to_head(self) -> list[str]:
        """The paths that HEAD has and the user's index has not.

        `git rm --cached` on an ignored file leaves it on disk, known to HEAD alone.
        """
        kept, staging = self._kept, self._staging
        if staging is None or staging.tree == self._head.tree:
            return []
        same = kept is not None and kept.users_index == self._users.fingerprint
        if kept is not None and same and kept.head_tree == self._head.tree:
            return list(kept.left_to_head)
        arguments = ("diff-index", "--cached", "--diff-filter=D", "--name-only", "-z")
        return nul_records(self._users.index.git.run(*arguments, self._head.tree))

    def _untracked(self) -> list[str]:
        assert self._listing is not None
        done = self._listing.finish()
        if done.status:
            raise GitError(LISTING, done.status, os.fsdecode(done.stderr))
        self._skipped += unreadable(os.fsdecode(done.stderr))
        paths = nul_records(done.stdout)
        wanted, skipped = sort_out(self._repository.worktree, paths, self._limit)
        self._skipped += skipped
        return wanted

    def _is_own_file(self, path: str) -> bool:
        full = self._on_disk(path)
        if os.path.realpath(os.path.dirname(full)) != os.path.dirname(full):
            return False
        return os.path.islink(full) or os.path.isfile(full)

    def _match_names(self, extra: list[str]) -> list[str]:
        """Let the private index hold what is tracked, and the extra paths, and nothing else.

        Returns:
            The tracked paths that it did not hold.
        """
        if self._kept is None:
            self._recorder.add(extra)
            return []
        come, gone = self._differences(self._kept, extra)
        new = [path for path in (*come, *extra) if is_attributes(path)]
        if not self._kept.attributes_known(new):
            raise _OutdatedError
        self._index.forget(gone)
        self._recorder.add([*self._to_add(come), *extra])
        return come

    def _differences(self, kept: Kept, extra: list[str]) -> tuple[list[str], set[str]]:
        """The tracked paths to add to the private index, and the paths to take out of it."""
        if self._names_stay:
            back = {*filter(self._is_there, kept.missing), *self._again}
            return sorted(back - kept.extra), set(kept.extra).difference(extra)
        mine = set(self._index.paths())
        return sorted(self._tracked - mine), mine.difference(self._tracked, extra)

    @cached_property
    def _names_stay(self) -> bool:
        """Whether the user's index names the same files on disk as at the last capture."""
        kept = self._kept
        if kept is None or self._users.fingerprint != kept.users_index:
            return False
        return self._absent == {entry.path for entry in kept.staging.absent}

    @cached_property
    def _absent(self) -> set[str]:
        return {entry.path for entry in self._staging.absent} if self._staging else set()

    @cached_property
    def _tracked(self) -> set[str]:
        """What the user's index names and ought to be on disk."""
        return self._users.records.keys() - self._absent

    def _is_there(self, path: str) -> bool:
        return self._is_own_file(path) or os.path.isdir(self._on_disk(path))

    def _to_add(self, paths: list[str]) -> Iterator[str]:
        """Of tracked paths those to be read from disk; new submodules are put in as they are."""
        links = []
        for path in paths:
            entry = self._users.entry(path)
            if entry is None or entry.mode != _GITLINK:
                if self._is_own_file(path):
                    yield path
            elif os.path.isdir(self._on_disk(path)):
                links.append(entry._replace(stage=0))
                if os.path.lexists(os.path.join(self._on_disk(path), ".git")):
                    yield path
        self._index.put(links)

    def _settle_failed(self) -> None:
        """What could not be recorded stays as the user's index has it, or out."""
        failed = [path for path, _ in self._recorder.failed]
        if not failed or self._staging is None:
            return
        entries = {path: self._users.entry(path) for path in failed}
        self._index.forget(path for path, entry in entries.items() if entry is None)
        self._index.put(entry._replace(stage=0) for entry in entries.values() if entry)

    def _to_keep(
        self, staging: Staging, extra: list[str], come: list[str], left: list[str]
    ) -> Kept | None:
        if self._kept is not None:
            attributes, rules = self._kept.attributes, self._kept.rules
        else:
            attributes = tuple(self._attributes())
            rules = conversion_rules(self._repository, attributes)
            if any(self._touched_since(self._start - _COARSE, attributes)):
                # It may have changed while files were being read by it.
                return None
        failed = {path for path, _ in self._recorder.failed}
        return Kept(
            ref="",
            commit="",
            users_index=self._users.fingerprint,
            staging=staging,
            head_tree=self._head.tree,
            left_to_head=tuple(left),
            extra=frozenset(extra) - failed,
            missing=self._missing(come),
            since=self._start,
            recent=self._recent(extra, come),
            specials=self._specials,
            attributes=attributes,
            rules=rules,
        )

    def _missing(self, come: list[str]) -> frozenset[str]:
        """The tracked paths that the private index does not hold."""
        kept = self._kept
        if kept is None:
            return frozenset(self._recorder.removed)
        if not self._names_stay:
            return frozenset(self._tracked.difference(self._index.paths()))
        missing = kept.missing.union(self._recorder.removed) - kept.extra
        return missing.difference(self._index.paths()) if come else missing

    def _recent(self, extra: list[str], come: list[str]) -> frozenset[str]:
        known = self._kept.extra if self._kept else frozenset()
        before = self._kept.recent if self._kept else frozenset()
        read = {*self._recorder.changed, *come, *before, *set(extra).difference(known)}
        return frozenset(self._touched_since(int(self._start), read))

    def _attributes(self) -> list[str]:
        pattern = f":(glob)**/{ATTRIBUTES}"
        return nul_records(self._index.git.run("ls-files", "-z", "--", pattern))

    def _on_disk(self, path: str) -> str:
        return os.path.join(self._repository.worktree, path)
