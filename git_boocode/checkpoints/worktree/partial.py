"""Read only some paths of a worktree, and take the rest from the newest checkpoint.

For callers that know what is about to be touched: the cost is that of reading an index, however
many files there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.changes import next_tree
from git_boocode.checkpoints.worktree.attributes import is_attributes
from git_boocode.checkpoints.worktree.disk import Disk
from git_boocode.checkpoints.worktree.index_cache import Kept, KeptIndex, load_kept
from git_boocode.checkpoints.worktree.indexer import Recorder, Skipped
from git_boocode.checkpoints.worktree.layered import LayeredIndex
from git_boocode.checkpoints.worktree.pathspecs import from_here, refusal
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.checkpoints.worktree.timing import reading_begins
from git_boocode.checkpoints.worktree.untracked import OTHERS, size_limit, sort_out, why_left_out
from git_boocode.checkpoints.worktree.user_index import UsersIndex
from git_boocode.repo.git import GitError
from git_boocode.repo.head import read_head
from git_boocode.repo.index import Index
from git_boocode.repo.quarantine import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import fresh_path
from git_boocode.repo.trees import GITLINK


class PartialReading:
    """The reading of what some pathspecs match, on top of a checkpoint.

    Args:
        repository: whose worktree to read.
        scratch: a directory for private files, which must outlive the snapshot.
        base: what holds everything else.
        pathspecs: as git reads them, from where the caller stands.

    Attributes:
        kept: what the last capture left, if it was that checkpoint.

    Raises:
        GitError: the checkpoint's trees are missing, or the user's index is damaged.
    """

    def __init__(
        self, repository: Repository, scratch: str, base: Checkpoint, pathspecs: Sequence[str]
    ) -> None:
        self._repository = repository
        self._pathspecs = pathspecs
        # A reading of everything may follow a failed one, with objects of its own.
        scratch = fresh_path(os.path.join(scratch, "partial"))
        os.mkdir(scratch)
        self._quarantine = Quarantine(repository, scratch)
        self._users = UsersIndex(repository, scratch, self._quarantine.git)
        index = self._load(base, scratch)
        self._disk = disk = Disk(repository.worktree)
        kept = self.kept
        self._layered = kept and kept.layered(repository, index, disk, reading_begins())
        self._index = self._layered or index
        self._recorder = Recorder(self._index, disk)
        self._staging = self._read_staging()
        self._head = read_head(repository)

    def _load(self, base: Checkpoint, scratch: str) -> Index:
        kept = load_kept(self._repository, scratch)
        is_base = kept is not None and (kept.ref, kept.commit) == (base.ref, base.commit.id)
        # It lacks what a sparse checkout had left out, which the base has.
        fits = kept is not None and is_base and not kept.staging.absent
        self.kept = kept if kept is not None and fits and kept.private.is_intact() else None
        if self.kept is not None:
            return Index(self._quarantine.git, self.kept.private.path)
        index = Index(self._quarantine.git, os.path.join(scratch, "base.index"))
        index.read_tree(base.tree)
        return index

    def _read_staging(self) -> Staging:
        staging = None
        if self.kept is not None:
            staging = self.kept.staging_of(self._users.fingerprint, self._repository.worktree)
        return staging or self._users.staging()

    def read(self) -> Snapshot:
        """Read them; the objects remain to be published.

        Raises:
            RefusedError: one leads out of the worktree (`outside_worktree`).
            FatalError: git cannot make sense of one, or failed otherwise.
        """
        held = self._list(self._index, "--cached")
        tracked = self._list(self._users.index, "--cached")
        others = self._list(self._users.index, *OTHERS)
        limit = size_limit(self._repository.config)
        extra, skipped = sort_out(self._repository.worktree, others, limit)
        old_names = self._old_names({*tracked, *extra}.difference(held))
        held += old_names
        extra += self._left_to_head(set(held).difference(tracked, extra, old_names))
        self._record(held, tracked, extra)
        skipped += [*self._recorder.failed, *self._passed_over({*tracked, *others, *extra})]
        original = self._users.index if self._users.exists else None
        skipped = sorted(set(skipped))
        tree = self._tree()
        snapshot = Snapshot(
            *(self._quarantine, self._head, self._index, original, self._staging, skipped),
            tree=tree,
        )
        snapshot.kept = self._to_keep(held, tracked, extra)
        return snapshot

    def _list(self, index: Index | LayeredIndex, *options: str) -> list[str]:
        here = os.path.join(self._repository.worktree, self._repository.prefix)
        specs = map(self._from_here, self._pathspecs)
        try:
            found = index.listed(index.git.bind(cwd=here), *options, "--full-name", "--", *specs)
        except GitError as error:
            raise refusal(error) or error from None
        return list(dict.fromkeys(found))

    def _from_here(self, spec: str) -> str:
        return from_here(self._repository.worktree, self._repository.prefix, spec)

    def _old_names(self, come: set[str]) -> set[str]:
        """The names in the base of files that were renamed, and by which they are still found."""
        if not come or not self._repository.config.boolean("core.ignoreCase", default=False):
            return set()
        names = set(self._index.paths()).difference(self._users.records)
        return self._disk.other_spellings(names, come)

    def _left_to_head(self, candidates: set[str]) -> list[str]:
        """The paths that HEAD has and the user's index has not, as in a capture of everything."""
        if not candidates:
            return []
        left = self._users.left_to(self._head.tree)
        return [path for path in left if path in candidates and self._disk.is_own_file(path)]

    def _record(self, held: list[str], tracked: list[str], extra: list[str]) -> None:
        wanted = [*filter(self._disk.is_own_file, tracked), *extra]
        links = [path for path in tracked if self._is_module(path)]
        named = set(tracked)
        absent = [entry for entry in self._staging.absent if entry.path in named]
        self._index.forget(set(held).difference(wanted, links))
        self._index.put(absent)
        # They were named, and are read whatever their times say.
        self._index.doubt(set(held).intersection(wanted))
        begun = [path for path in links if self._disk.has_repository(path)]
        self._recorder.add([*wanted, *begun])
        self._recorder.settle_failed(self._users.entry, self._staging.intended)

    def _is_module(self, path: str) -> bool:
        if not os.path.isdir(os.path.join(self._repository.worktree, path)):
            return False
        entry = self._users.entry(path)
        return entry is not None and entry.mode == GITLINK

    def _passed_over(self, found: set[str]) -> Iterator[Skipped]:
        """The paths that were named, are there, and are not among what git found."""
        top = self._repository.worktree
        for spec in self._pathspecs:
            given = os.path.join(top, self._repository.prefix, self._from_here(spec))
            full = os.path.normpath(given)
            path = os.path.relpath(full, top).replace(os.sep, "/")
            known = spec.endswith("/") or os.path.isdir(full) or not os.path.lexists(full)
            if not known and path not in found:
                yield Skipped(path, why_left_out(top, path))

    def _tree(self) -> str:
        """The tree of the base, with what was read."""
        layered, tree = self._layered, None
        if self.kept is not None and layered is not None:
            # Where the last tree is lost, git makes it anew.
            with suppress(GitError):
                tree = next_tree(layered, self.kept, self._staging, self._quarantine.store_tree)
        if tree is None:
            index = self._index.whole() if isinstance(self._index, LayeredIndex) else self._index
            # In a partial clone, the repository need not have what the base names.
            tree = index.write_tree("--missing-ok")
        return tree

    def _to_keep(self, held: list[str], tracked: list[str], extra: list[str]) -> Kept | None:
        """What to leave to the next capture; what it says of the user's index stays as it was."""
        kept, layered = self.kept, self._layered
        if self._staging.absent:
            return None
        named = {*held, *tracked, *extra}
        if kept is None or layered is None or any(map(is_attributes, named)):
            return None
        index = kept.private._replace(overlay=layered.overlay)
        if layered.is_whole:
            recent = index.recent.union(index.overlay, named)
            index = KeptIndex(layered.whole().path, index.since, recent)
        failed = {path for path, _ in self._recorder.failed}
        missing = {path for path in tracked if not self._disk.is_there(path)}
        return kept._replace(
            private=index,
            extra=(kept.extra - named).union(set(extra) - failed),
            missing=kept.missing.difference(tracked) | missing,
        )
