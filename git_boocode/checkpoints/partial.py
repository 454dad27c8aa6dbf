"""Read only some paths of a worktree, and take the rest from the newest checkpoint.

For callers that know what is about to be touched: the cost is that of reading an index, however
many files there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from git_boocode.checkpoints.catalog import Checkpoint
from git_boocode.checkpoints.changes import next_tree
from git_boocode.checkpoints.conversion import is_attributes
from git_boocode.checkpoints.kept import Kept, load_kept
from git_boocode.checkpoints.recorder import Recorder, Skipped
from git_boocode.checkpoints.snapshot import Snapshot
from git_boocode.checkpoints.staging import Staging
from git_boocode.checkpoints.untracked import LISTING, size_limit, sort_out, why_left_out
from git_boocode.checkpoints.users_index import UsersIndex
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import GitError, nul_records
from git_boocode.repo.head import read_head
from git_boocode.repo.index import GITLINK, Index
from git_boocode.repo.quarantine import Quarantine
from git_boocode.repo.repository import Repository

_OUTSIDE = "is outside repository"


def _refusal(error: GitError) -> RefusedError | None:
    """What is wrong with the pathspecs; None if they are not what git complains of."""
    said = error.stderr.strip().removeprefix("fatal: ")
    if _OUTSIDE in said:
        return RefusedError(
            said.partition(": ")[2],
            code="outside_worktree",
            hints=("only what is in the worktree can be recorded",),
        )
    if "pathspec" in said:
        return RefusedError(
            said[:1].lower() + said[1:],
            code="invalid_pathspec",
            hints=("'git help glossary' describes pathspecs",),
        )
    return None


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
        self._quarantine = Quarantine(repository, scratch)
        self._users = UsersIndex(repository, scratch, self._quarantine.git)
        self._index = Index(self._quarantine.git, os.path.join(scratch, "worktree.index"))
        self.kept = self._load(base)
        self._recorder = Recorder(self._index, repository.worktree)
        self._staging = self._read_staging()
        self._stale = 0
        self._head = read_head(repository)

    def _load(self, base: Checkpoint) -> Kept | None:
        kept = load_kept(self._repository, self._index.path)
        if kept is not None and (kept.ref, kept.commit) == (base.ref, base.commit.id):
            return kept
        with suppress(FileNotFoundError):
            os.unlink(self._index.path)
        self._index.read_tree(base.tree)
        return None

    def _read_staging(self) -> Staging:
        staging = None
        if self.kept is not None:
            staging = self.kept.staging_of(self._users.fingerprint, self._repository.worktree)
        return staging or self._users.staging(f"{self._index.path}.staged")

    def read(self) -> Snapshot:
        """Read them.

        Raises:
            RefusedError: one leads out of the worktree (`outside_worktree`).
            FatalError: git cannot make sense of one, or failed otherwise.
        """
        held = self._list(self._index, "ls-files", "--cached", "-z")
        tracked = self._list(self._users.index, "ls-files", "--cached", "-z")
        others = self._list(self._users.index, *LISTING)
        limit = size_limit(self._repository.config)
        extra, skipped = sort_out(self._repository.worktree, others, limit)
        extra += self._left_to_head(set(held).difference(tracked, extra))
        self._record(held, tracked, extra)
        skipped += [*self._recorder.failed, *self._passed_over({*tracked, *others, *extra})]
        original = self._users.index if self._users.exists else None
        skipped = sorted(set(skipped))
        tree = self._tree()
        snapshot = Snapshot(self._head, self._index, original, self._staging, skipped, tree=tree)
        snapshot.kept = self._to_keep(held, tracked, extra)
        snapshot.publish(self._quarantine, self._repository.git)
        return snapshot

    def _list(self, index: Index, *arguments: str) -> list[str]:
        here = os.path.join(self._repository.worktree, self._repository.prefix)
        git = index.git.bind(cwd=here)
        try:
            found = git.run(*arguments, "--full-name", "--", *map(self._from_here, self._pathspecs))
        except GitError as error:
            raise _refusal(error) or error from None
        return list(dict.fromkeys(nul_records(found)))

    def _from_here(self, spec: str) -> str:
        """A pathspec as git takes it; what is absolute may lead through a symlink to the top."""
        if not os.path.isabs(spec):
            return spec
        directory, name = os.path.split(spec)
        full = os.path.join(os.path.realpath(directory), name)
        top = self._repository.worktree
        return os.path.relpath(full, os.path.join(top, self._repository.prefix))

    def _left_to_head(self, candidates: set[str]) -> list[str]:
        """The paths that HEAD has and the user's index has not, as in a capture of everything."""
        if not candidates:
            return []
        left = self._users.left_to(self._head.tree)
        return [path for path in left if path in candidates and self._is_file(path)]

    def _record(self, held: list[str], tracked: list[str], extra: list[str]) -> None:
        wanted = [*filter(self._is_file, tracked), *extra]
        links = [path for path in tracked if self._is_module(path)]
        self._index.forget(set(held).difference(wanted, links))
        # They were named, and are read whatever their times say.
        self._index.doubt(set(held).intersection(wanted))
        begun = [path for path in links if self._recorder.is_there(f"{path}/.git")]
        self._recorder.add([*wanted, *begun])
        self._recorder.settle_failed(self._users.entry, self._staging.intended)

    def _is_file(self, path: str) -> bool:
        return self._recorder.is_own_file(path)

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

    def _tree(self) -> str | None:
        """The tree of the files, made of the last one; None if git is to make it anew."""
        made = None
        if self.kept is not None:
            # If the last tree is lost, git makes it anew.
            with suppress(GitError):
                made = next_tree(self._index, self.kept, self._staging)
        tree, self._stale = made or (None, 0)
        return tree

    def _to_keep(self, held: list[str], tracked: list[str], extra: list[str]) -> Kept | None:
        """What to leave to the next capture; what it says of the user's index stays as it was."""
        kept = self.kept
        named = {*held, *tracked, *extra}
        if kept is None or any(map(is_attributes, named)):
            return None
        failed = {path for path, _ in self._recorder.failed}
        missing = {path for path in tracked if not self._recorder.is_there(path)}
        return kept._replace(
            extra=(kept.extra - named).union(set(extra) - failed),
            missing=kept.missing.difference(tracked) | missing,
            recent=kept.recent.union(named),
            stale=self._stale,
        )
