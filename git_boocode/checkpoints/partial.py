"""Read only some paths of a worktree, and take the rest from the newest checkpoint.

For callers that know what is about to be touched: the cost is that of reading an index, however
many files there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from git_boocode.checkpoints.catalog import Checkpoint
from git_boocode.checkpoints.kept import Kept, load_kept
from git_boocode.checkpoints.recorder import Recorder, Skipped
from git_boocode.checkpoints.snapshot import Snapshot
from git_boocode.checkpoints.staging import Staging, recheck
from git_boocode.checkpoints.untracked import LISTING, size_limit, sort_out
from git_boocode.checkpoints.users_index import UsersIndex
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import GitError, nul_records
from git_boocode.repo.head import read_head
from git_boocode.repo.index import Index
from git_boocode.repo.quarantine import Quarantine
from git_boocode.repo.repository import Repository

_GITLINK = "160000"
_OUTSIDE = "is outside repository"


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
        GitError: the checkpoint's trees are missing.
    """

    def __init__(
        self, repository: Repository, scratch: str, base: Checkpoint, pathspecs: Sequence[str]
    ) -> None:
        self._repository = repository
        self._pathspecs = pathspecs
        self._quarantine = Quarantine(repository, scratch)
        self._users = UsersIndex(repository, scratch, self._quarantine.git)
        self._index = Index(self._quarantine.git, os.path.join(scratch, "worktree.index"))
        self.kept = self._load(base)
        self._recorder = Recorder(self._index, repository.worktree)

    def _load(self, base: Checkpoint) -> Kept | None:
        kept = load_kept(self._repository, self._index.path)
        if kept is not None and (kept.ref, kept.commit) == (base.ref, base.commit.id):
            return kept
        with suppress(FileNotFoundError):
            os.unlink(self._index.path)
        self._index.read_tree(base.tree)
        return None

    def read(self) -> Snapshot:
        """Read them.

        Raises:
            RefusedError: one leads out of the worktree (`outside_worktree`).
            FatalError: git cannot make sense of one, or failed otherwise.
        """
        known = {
            *self._list(self._index, "ls-files", "--cached", "-z"),
            *self._list(self._users.index, "ls-files", "--cached", "-z"),
        }
        others = [path for path in self._list(self._index, *LISTING) if path not in known]
        limit = size_limit(self._repository.config)
        wanted, skipped = sort_out(self._repository.worktree, others, limit)
        self._index.forget(path for path in known if self._is_directory(path))
        self._recorder.add([*self._files(known), *wanted])
        skipped += [*self._recorder.failed, *self._passed_over({*known, *others})]
        original = self._users.index if self._users.exists else None
        head = read_head(self._repository)
        snapshot = Snapshot(head, self._index, original, self._staging(), sorted(set(skipped)))
        snapshot.kept = self._to_keep(known, wanted)
        self._quarantine.release()
        snapshot.index = Index(self._repository.git, self._index.path)
        return snapshot

    def _list(self, index: Index, *arguments: str) -> list[str]:
        here = os.path.join(self._repository.worktree, self._repository.prefix)
        git = index.git.bind(cwd=here)
        try:
            return nul_records(git.run(*arguments, "--full-name", "--", *self._pathspecs))
        except GitError as error:
            if _OUTSIDE not in error.stderr:
                raise
            raise RefusedError(
                error.stderr.strip().removeprefix("fatal: ").partition(": ")[2],
                code="outside_worktree",
                hints=("only what is in the worktree can be recorded",),
            ) from None

    def _is_directory(self, path: str) -> bool:
        """Whether there is a plain directory where a file was."""
        full = self._on_disk(path)
        if os.path.islink(full) or not os.path.isdir(full):
            return False
        entry = self._users.entry(path)
        return entry is None or entry.mode != _GITLINK

    def _files(self, known: Iterable[str]) -> Iterator[str]:
        for path in known:
            full = self._on_disk(path)
            is_link = os.path.islink(full)
            if is_link or not os.path.isdir(full) or os.path.lexists(os.path.join(full, ".git")):
                yield path

    def _passed_over(self, found: set[str]) -> Iterator[Skipped]:
        """The paths that were named, are there, and are not among what git found."""
        top = self._repository.worktree
        for spec in self._pathspecs:
            full = os.path.normpath(os.path.join(top, self._repository.prefix, spec))
            path = os.path.relpath(full, top).replace(os.sep, "/")
            if os.path.isdir(full) or not os.path.lexists(full) or path in found:
                continue
            if not any(path.startswith(f"{other}/") for other in found if other.endswith("/")):
                yield Skipped(path, "ignored, or no regular file")

    def _staging(self) -> Staging | None:
        kept = self.kept
        if kept is not None and kept.users_index == self._users.fingerprint:
            return recheck(kept.staging, self._repository.worktree)
        try:
            return self._users.staging(f"{self._index.path}.staged")
        except GitError as error:
            if self._users.is_damaged(error):
                return None
            raise

    def _to_keep(self, known: set[str], wanted: list[str]) -> Kept | None:
        """What to leave to the next capture; what it says of the user's index stays as it was."""
        kept = self.kept
        if kept is None:
            return None
        there = {path for path in known if os.path.lexists(self._on_disk(path))}
        return kept._replace(
            extra=kept.extra.union(wanted),
            missing=(kept.missing - there) | (known - there - kept.extra),
            recent=kept.recent.union(known, wanted),
            stale=0,
        )

    def _on_disk(self, path: str) -> str:
        return os.path.join(self._repository.worktree, path)
