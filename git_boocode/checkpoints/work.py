"""The part of a restore that touches the worktree: do it, and take it back."""

from __future__ import annotations

import os

from git_boocode.checkpoints.capture import safety_checkpoint
from git_boocode.checkpoints.metadata import Metadata
from git_boocode.checkpoints.plan import Plan, plan_return
from git_boocode.checkpoints.snapshot import Snapshot, take_snapshot
from git_boocode.checkpoints.staging import Staging, build_index
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError
from git_boocode.repo.index import Index, copy_index, install_index
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory

# What read-tree says when it has looked at everything, touched nothing and refuses.
_CHANGED_MEANWHILE = ("not uptodate", "would be overwritten", "would lose", "would be removed")


class ChangedMeanwhileError(RefusedError):
    """A file is not what it was when it was looked at; nothing was touched."""


class Work:
    """The files and the staging area, brought to a target and, if need be, back again.

    Args:
        repository: the repository.
        snapshot: what is there before; its private index follows the files.
        plan: what to do to the files.
        staging: what to stage; None to leave the staging area alone.
    """

    def __init__(
        self, repository: Repository, snapshot: Snapshot, plan: Plan, staging: Staging | None
    ) -> None:
        self._repository = repository
        self._snapshot = snapshot
        self._plan = plan
        self._staging = staging
        self._files_touched = False
        self._installed: Index | None = None

    def do(self) -> None:
        """Bring files and staging to the target.

        Raises:
            ChangedMeanwhileError: a file changed since the snapshot.
            RefusedError: the staging area is locked or changed since the snapshot.
            FatalError: git could not write a file.
        """
        if self._plan.changes:
            self._files_touched = True
            self._merge_forward()
        if self._staging is not None:
            index = self._snapshot.index
            made = build_index(self._staging, index, f"{index.path}.staged")
            self._install(made.path, self._snapshot.dump)
            self._installed = made

    def take_back(self) -> None:
        """Bring files and staging back to where they were; nothing happens if `do` did nothing."""
        if self._installed is not None:
            self._install_original(self._installed.dump())
            self._installed = None
        if self._files_touched:
            self._merge_back()
            self._files_touched = False

    def _merge_forward(self) -> None:
        try:
            self._merge(self._plan.before, self._plan.target)
        except ChangedMeanwhileError:
            self._files_touched = False
            raise

    def _merge_back(self) -> None:
        self._snapshot.index.break_lock()
        # git writes the index last: where it names the target, every file is there.
        if self._snapshot.index.write_tree() == self._plan.target:
            try:
                self._merge(self._plan.target, self._plan.before)
            except ChangedMeanwhileError:
                self._merge_back_from_here()
        else:
            self._merge_back_from_here()

    def _merge_back_from_here(self) -> None:
        """Go back from whatever is there now, which is kept as well."""
        with scratch_directory(self._repository.state_dir) as scratch:
            halfway = take_snapshot(self._repository, scratch)
            plan = plan_return(self._repository, halfway, self._plan)
            if plan.changes:
                safety_checkpoint(self._repository, halfway, Metadata({}), {"halfway": True})
                Work(self._repository, halfway, plan, None).do()

    def _merge(self, before: str, after: str) -> None:
        done = self._snapshot.index.git.attempt(
            "read-tree", "--no-sparse-checkout", "-m", "-u", before, after
        )
        if done.status:
            raise _merge_error(os.fsdecode(done.stderr).strip())

    def _install(self, path: str, expected: bytes | None) -> None:
        repository = self._repository
        install_index(path, repository.index_path, expected=expected, git=repository.git)

    def _install_original(self, expected: bytes) -> None:
        original = self._snapshot.original
        if original is None:
            os.unlink(self._repository.index_path)
            return
        # The copy to install gets the index's mode; the original stays as it is.
        copy = f"{original}.again"
        copy_index(original, copy)
        self._install(copy, expected)


def _merge_error(said: str) -> BoocodeError:
    if any(phrase in said for phrase in _CHANGED_MEANWHILE):
        return ChangedMeanwhileError(
            f"a file was changed by another process meanwhile: {said.splitlines()[0]}",
            code="conflict",
            hints=("nothing was changed; run the command again",),
        )
    if "No space left on device" in said:
        return FatalError("cannot restore the files: no space left on device", code="disk_full")
    return FatalError(f"git could not put the files in place: {said}", code="git")
