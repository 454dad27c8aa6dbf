"""Read a worktree into a private index: from what the last capture left, or from the beginning.

Git walks the worktree twice, side by side: for what changed in the files that are known, and for
the files that are not. All else is small beside these two walks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice

from git_boocode.checkpoints.store.changes import next_tree
from git_boocode.checkpoints.worktree.attributes import conversion_rules, is_attributes
from git_boocode.checkpoints.worktree.disk import Disk, is_recorded
from git_boocode.checkpoints.worktree.index_cache import Content, Kept, KeptIndex, load_kept
from git_boocode.checkpoints.worktree.indexer import Recorder, Skipped
from git_boocode.checkpoints.worktree.names import Names
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.specials import NOTHING, Specials, find_specials
from git_boocode.checkpoints.worktree.staging import Staging, match_disk
from git_boocode.checkpoints.worktree.timing import COARSE, changed_since, reading_begins
from git_boocode.checkpoints.worktree.untracked import LISTING, size_limit, sort_out, unreadable
from git_boocode.checkpoints.worktree.user_index import UsersIndex
from git_boocode.repo.git import Git, GitError, Running, nul_records
from git_boocode.repo.head import Head, read_head
from git_boocode.repo.index import Index
from git_boocode.repo.quarantine import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref

# To look at so many files takes as long as a process of git; more at once are no one's edits.
_MOST_RECENT = 2000
# So much may differ from the index that was kept; beyond that, it is time to write a new one.
_MOST_OVERLAID = 400
# Git's two walks take that many if each has one thread.
_FEW_CORES = 2
# For fewer files in a directory, on average, to list takes about as long as to compare.
_FILES_EACH = 25

LeaveOut = Callable[[list[str]], Collection[str]]


def take_snapshot(
    repository: Repository, scratch: str, leave_out: LeaveOut | None = None
) -> Snapshot:
    """Read the worktree and the staging area; objects are written, refs are not.

    Args:
        repository: whose worktree to read.
        scratch: a directory for private files, which must outlive the snapshot.
        leave_out: picks the untracked files that are not even to be read.

    Raises:
        FatalError: the worktree could not be read as a whole.
    """
    with reading(repository, scratch, leave_out) as under_way:
        snapshot = under_way.finish()
    snapshot.publish(repository.git)
    return snapshot


@contextmanager
def reading(
    repository: Repository, scratch: str, leave_out: LeaveOut | None = None
) -> Iterator[Reading]:
    """Start to read a worktree, and go on while git walks it; see `take_snapshot`."""
    quarantine = Quarantine(repository, scratch)
    users = UsersIndex(repository, scratch, quarantine.git)
    first = _Pass(repository, quarantine, users, load_kept(repository, scratch), leave_out)
    under_way = Reading(first)
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

    @property
    def kept(self) -> Kept | None:
        """What the last capture left; None if there is nothing, or it does not fit any more."""
        return self._pass.kept

    def begin(self) -> None:
        """Let git start."""
        try:
            self._pass.begin()
        except (_OutdatedError, GitError):
            if self._pass.kept is None:
                raise

    def stop(self) -> None:
        """End what still runs."""
        self._pass.stop()

    def finish(self, refs: Iterable[Ref] = ()) -> Snapshot:
        """Wait for git, and give what was read; the objects remain to be published.

        Args:
            refs: some that are known to be there; it saves looking for one.

        Raises:
            FatalError: the worktree could not be read as a whole.
        """
        try:
            return self._pass.finish(refs)
        except (_OutdatedError, GitError):
            if self._pass.kept is None:
                raise
        self._pass.stop()
        self._pass = self._pass.anew()
        self._pass.begin()
        return self._pass.finish(refs)


class _Pass:
    """One try at reading the worktree: warm, with what the last capture left, or cold."""

    def __init__(
        self,
        repository: Repository,
        quarantine: Quarantine,
        users: UsersIndex,
        kept: Kept | None,
        leave_out: LeaveOut | None,
    ) -> None:
        self._repository = repository
        self._quarantine = quarantine
        self._users = users
        if kept is None:
            base = users.index.copy(quarantine.git)
        else:
            base = Index(quarantine.git, kept.private.path)
        self._base = base
        self.kept = kept
        self._start = reading_begins()
        self._disk = disk = Disk(repository.worktree)
        self._layered = kept and kept.layered(repository, base, disk, self._start)
        self._index = self._layered or base
        self._recorder = Recorder(self._index, disk)
        self._skipped: list[Skipped] = []
        self._leave_out = leave_out
        self._left_out: Collection[str] = ()
        self._threads = True
        self._known: Running | None = None
        self._listing: Running | None = None
        self._forgotten: set[str] = set()
        # Looked up at once: a bad setting is to be told before anything is done.
        self._limit = size_limit(repository.config)

    def anew(self) -> _Pass:
        """The same, from the beginning."""
        return _Pass(self._repository, self._quarantine, self._users, None, self._leave_out)

    def begin(self) -> None:
        if self.kept is None:
            self._begin_cold()
        else:
            self._begin_warm(self.kept)
        self._threads = self._are_cores_left()
        self._known = self._recorder.begin_known(threads=self._threads)

    def _are_cores_left(self) -> bool:
        """Whether git gains time if it asks for the times of files in several threads at once.

        On two cores these threads starve the listing beside them; that is made up for only where
        there are few directories to list.
        """
        if self.kept is None or (os.cpu_count() or 1) > _FEW_CORES:
            return True
        return len(self.kept.specials.directories) * _FILES_EACH < self._base.count()

    def stop(self) -> None:
        for running in (self._known, self._listing):
            if running is not None:
                running.stop()
        self._index.break_lock()

    @cached_property
    def _head(self) -> Head:
        return read_head(self._repository)

    def _begin_cold(self) -> None:
        if self._staging is None:
            return
        match_disk(self._base, self._staging)
        self._base.join()
        self._begin_listing(self._users.index.git)

    def _begin_warm(self, kept: Kept) -> None:
        if conversion_rules(self._repository, kept.specials.attributes) != kept.rules:
            raise _OutdatedError
        if self._users.fingerprint != kept.users_index and self._repository.index_knows_modes:
            raise _OutdatedError
        self._forgotten = set(self._outgrown(kept))
        self._index.forget(self._forgotten)
        unread = kept.private.recent.difference(kept.private.overlay)
        self._index.doubt(changed_since(self._repository.worktree, kept.private.since, unread))
        self._begin_listing(self._users.index.git)

    def _begin_listing(self, git: Git) -> None:
        self._listing = git.begin(*LISTING)

    def _outgrown(self, kept: Kept) -> Iterator[str]:
        """What was recorded though it is not tracked, and must not even be looked at now."""
        for path in kept.extra.difference(kept.left_to_head):
            with suppress(OSError):
                found = os.lstat(os.path.join(self._repository.worktree, path))
                too_large = stat.S_ISREG(found.st_mode) and found.st_size > self._limit
                if too_large or not is_recorded(found):
                    yield path

    @cached_property
    def _staging(self) -> Staging | None:
        """What is staged; None if the user's index cannot be read."""
        if self.kept is not None:
            now = self.kept.staging_of(self._users.fingerprint, self._repository.worktree)
            if now is not None:
                return now
        try:
            return self._users.staging()
        except GitError as error:
            if self.kept is not None or not self._users.is_damaged(error):
                raise
            self._do_without_index()
            return None

    def _do_without_index(self) -> None:
        # It must not cost the user the files: HEAD tells what is tracked.
        self._skipped.append(Skipped(".git/index", "damaged"))
        os.unlink(self._base.path)
        self._base.break_lock()
        self._base.read_tree(self._head.tree)
        self._begin_listing(self._base.copy(self._repository.git).git)

    def finish(self, refs: Iterable[Ref]) -> Snapshot:
        known, listing = self._known, self._listing
        if known is None or listing is None:
            raise _OutdatedError
        # While git is at work, that costs nothing.
        if self.kept is not None and not self.kept.private.is_intact():
            raise _OutdatedError
        if self.kept is not None and Ref(self.kept.ref, self.kept.commit) not in refs:
            self._check_ref(self.kept)
        # Looking everywhere takes a while, and so does git.
        first_look = find_specials(self._repository, NOTHING) if self.kept is None else None
        left = self._left_to_head()
        waits = [lambda: self._recorder.finish_known(known), listing.wait]
        first, second = waits if self._threads else reversed(waits)
        first()
        if self.kept is not None and not self.kept.specials.are_many:
            # The other one is most likely still at work, and leaves us a core.
            first_look = self._look_again(())
        second()
        extra = self._untracked(listing)
        extra += self._only_in_head(left, extra)
        come = self._match_names(extra)
        if self._staging is not None:
            self._recorder.settle_failed(self._users.entry, self._staging.intended)
        # All files are written that this takes, most likely; trees are still to come.
        self._quarantine.begin_sync()
        specials = first_look or self._look_again(extra)
        skipped = sorted({*self._skipped, *specials.skipped(), *self._recorder.failed})
        original = self._users.index if self._users.exists else None
        tree = self._tree()
        snapshot = Snapshot(
            *(self._quarantine, self._head, self._index, original, self._staging, skipped),
            tree=tree,
        )
        snapshot.left_out = self._left_out
        # What was left out is not hidden from the next capture.
        if self._staging is not None and not self._left_out:
            snapshot.kept = self._to_keep(self._staging, extra, come, left, specials)
        return snapshot

    def _look_again(self, extra: Iterable[str]) -> Specials:
        """What git passes over, looked for where something may have changed since.

        Args:
            extra: the files that are untracked, for where there are too many directories.
        """
        assert self.kept is not None
        new = set(extra).difference(self.kept.extra)
        near = [*new, *self._recorder.changed, *self._recorder.removed]
        specials = find_specials(self._repository, self.kept.specials, near)
        if specials.attributes != self.kept.specials.attributes:
            raise _OutdatedError
        return specials

    def _check_ref(self, kept: Kept) -> None:
        # While the ref is there, no object that the private index names has been collected.
        done = self._repository.git.attempt("rev-parse", "--verify", "--quiet", kept.ref, "--")
        if os.fsdecode(done.stdout).strip() != kept.commit:
            raise _OutdatedError

    def _left_to_head(self) -> list[str]:
        """The paths that HEAD has and the user's index has not."""
        kept, staging = self.kept, self._staging
        if staging is None or staging.tree == self._head.tree:
            return []
        same = kept is not None and kept.users_index == self._users.fingerprint
        if kept is not None and same and kept.head_tree == self._head.tree:
            return list(kept.left_to_head)
        return self._users.left_to(self._head.tree)

    def _only_in_head(self, left: list[str], untracked: list[str]) -> Iterable[str]:
        """Of what HEAD has and the user's index has not, the files that are there."""
        there = list(filter(self._disk.is_own_file, left))
        if there and self._ignores_case:
            # One that was renamed, with its new name in the index, can be found by the old one.
            others = self._disk.other_spellings(there, [*self._users.records, *untracked])
            return (path for path in there if path not in others)
        return there

    @property
    def _ignores_case(self) -> bool:
        return self._repository.config.boolean("core.ignoreCase", default=False)

    def _untracked(self, listing: Running) -> list[str]:
        done = listing.finish()
        if done.status:
            raise GitError(LISTING, done.status, os.fsdecode(done.stderr))
        self._skipped += unreadable(os.fsdecode(done.stderr))
        paths = [*nul_records(done.stdout), *self._differing_in_case()]
        wanted, skipped = sort_out(self._repository.worktree, paths, self._limit)
        self._skipped += skipped
        if self._leave_out is None or not wanted:
            return wanted
        self._left_out = frozenset(self._leave_out(wanted))
        return [path for path in wanted if path not in self._left_out]

    def _differing_in_case(self) -> list[str]:
        """Files that git takes for tracked ones of another case, which are not on disk, however."""
        missing = self._recorder.removed or (self.kept is not None and self.kept.missing)
        if not missing or not self._ignores_case:
            return []
        present = self._users.index.copy()
        present.forget({*self._recorder.removed, *(self.kept.missing if self.kept else ())})
        return nul_records(present.git.run(*LISTING))

    @cached_property
    def _names(self) -> Names | None:
        """The names in the private index and the user's; None if there is none of either."""
        kept, staging = self.kept, self._staging
        if kept is None or staging is None or self._layered is None:
            return None
        return Names(self._disk, self._layered, self._users, staging, kept, self._recorder)

    def _match_names(self, extra: list[str]) -> list[str]:
        """Let the private index hold what is tracked, and the extra paths, and nothing else.

        Returns:
            The tracked paths that it did not hold.
        """
        recorder = self._recorder
        if self.kept is None:
            self._index.forget(recorder.removed)
            recorder.add([*recorder.changed, *extra])
            return []
        assert self._names is not None
        come, gone = self._names.differences(extra)
        modules = self._names.closed_modules()
        come += modules
        # What the private index held already has been looked at, unless it was gone just then.
        held = self.kept.extra.difference(recorder.removed, self._forgotten)
        new = [*self._names.put(come), *(path for path in extra if path not in held)]
        if not self.kept.attributes_known(filter(is_attributes, new)):
            raise _OutdatedError
        changed = [path for path in recorder.changed if path not in gone]
        gone.update(recorder.removed)
        self._index.forget(gone.difference(modules))
        recorder.add([*changed, *new])
        return come

    def _tree(self) -> str | None:
        """The tree of the files, made of the last one; None if git is to make it anew."""
        kept, staging, layered = self.kept, self._staging, self._layered
        if kept is None or staging is None or layered is None:
            return None
        return next_tree(layered, kept, staging, self._quarantine.store_tree)

    def _to_keep(
        self,
        staging: Staging,
        extra: list[str],
        come: list[str],
        left: list[str],
        specials: Specials,
    ) -> Kept | None:
        rules = self.kept.rules if self.kept is not None else self._rules(specials.attributes)
        if rules is None:
            return None
        failed = {path for path, _ in self._recorder.failed}
        return Kept(
            private=self._index_to_keep(extra, come),
            ref="",
            commit="",
            content=Content("", None, None, ""),
            users_index=self._users.fingerprint,
            staging=staging,
            head_tree=self._head.tree,
            left_to_head=tuple(left),
            extra=frozenset(extra) - failed,
            missing=self._names.missing(come) if self._names else frozenset(self._recorder.removed),
            specials=specials,
            modules=self._modules(),
            rules=rules,
        )

    def _index_to_keep(self, extra: list[str], come: list[str]) -> KeptIndex:
        """The index that was kept already, and what differs from it; or a new one."""
        kept, layered = self.kept, self._layered
        if kept is None or layered is None:
            return KeptIndex(self._base.path, self._start, self._recent(extra, come))
        overlay = layered.overlay
        if not layered.is_whole and len(overlay) <= _MOST_OVERLAID:
            return kept.private._replace(overlay=overlay)
        recent = self._recent(extra, [*come, *overlay])
        return KeptIndex(layered.whole().path, self._start, recent)

    def _rules(self, attributes: tuple[str, ...]) -> str | None:
        """What files were read by; None if it may have changed while they were."""
        moment = self._start - COARSE
        if any(changed_since(self._repository.worktree, moment, attributes)):
            return None
        return conversion_rules(self._repository, attributes)

    def _modules(self) -> frozenset[str]:
        """The submodules and nested repositories that are tracked, and have a repository."""
        if self.kept is not None and self.kept.users_index == self._users.fingerprint:
            known: Iterable[str] = self.kept.modules
        else:
            known = self._users.modules
        return frozenset(path for path in known if self._disk.has_repository(path))

    def _recent(self, extra: list[str], come: list[str]) -> frozenset[str]:
        """What was changed in the second of the reading, and claims to be older."""
        known = self.kept.extra if self.kept else frozenset()
        before = self.kept.private.recent if self.kept else frozenset()
        read = {*self._recorder.changed, *come, *before, *set(extra).difference(known)}
        second = int(self._start)
        found = changed_since(self._repository.worktree, second, read, before=second)
        return frozenset(islice(found, _MOST_RECENT))
