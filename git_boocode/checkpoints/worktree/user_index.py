"""The user's index, copied once at the beginning of a capture and never touched."""

from __future__ import annotations

import os
from functools import cached_property

from git_boocode.checkpoints.worktree.staging import Staging, read_staging
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Git, GitError, is_disk_full, nul_records
from git_boocode.repo.index import (
    Entry,
    Index,
    borrow_index,
    fingerprint,
    is_whole,
)
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import fresh_path
from git_boocode.repo.trees import GITLINK

# What reads an index, for the words of an error.
_READ = ("ls-files",)
# Of the stages of a conflict, the first of these that is there stands for the path: ours.
_PREFERRED = (0, 2, 3, 1)


class UsersIndex:
    """A copy of the user's index.

    Args:
        repository: whose index to copy.
        scratch: a directory for private files.
        git: git that may write objects.

    Attributes:
        index: the copy; the file is missing where the user has no index.
        exists: whether the user has one.
        fingerprint: what tells it from any other; empty if the user has none.

    Raises:
        FatalError: the user's index may not be read (`unreadable`).
    """

    def __init__(self, repository: Repository, scratch: str, git: Git) -> None:
        self._repository = repository
        self._git = git
        self.index = Index(repository.git, fresh_path(os.path.join(scratch, "original.index")))
        try:
            self.exists = borrow_index(repository.index_path, self.index.path)
            self.fingerprint = fingerprint(self.index.path)
        except (PermissionError, IsADirectoryError) as error:
            raise _unreadable(repository.index_path, error) from error

    @cached_property
    def dump(self) -> bytes:
        """All its entries, as `Index.dump` gives them.

        Raises:
            GitError: it is damaged.
        """
        if not self.exists:
            return b""
        if not is_whole(self.index.path, self._repository.object_format):
            raise GitError(_READ, 128, "fatal: index file corrupt: its checksum is wrong")
        return self.index.dump()

    def staging(self) -> Staging:
        """What is staged.

        Raises:
            GitError: git cannot read it, or objects that it names are missing.
        """
        dump = self.dump
        return read_staging(self._repository, self.index.copy(self._git), dump)

    def is_damaged(self, error: GitError) -> bool:
        """Whether git failed to read it because of what is in it, and not for another reason.

        What is staged must not be taken for lost because git was killed, or the disk is full.

        Args:
            error: how it failed.
        """
        return error.status >= 0 and not is_disk_full(error.stderr)

    @cached_property
    def records(self) -> dict[str, list[str]]:
        """Its entries as `Entry.parse` reads them, by path; several of them in a conflict."""
        found: dict[str, list[str]] = {}
        for record in nul_records(self.dump):
            found.setdefault(record[record.index("\t") + 1 :], []).append(record)
        return found

    @cached_property
    def modules(self) -> list[str]:
        """The paths of its submodules and nested repositories."""
        if f" {GITLINK} ".encode() not in self.dump:
            return []
        return [
            path
            for path, records in self.records.items()
            if Entry.parse(records[0]).mode == GITLINK
        ]

    def left_to(self, tree: str) -> list[str]:
        """The paths that a tree has and the index has not.

        `git rm --cached` on an ignored file leaves it on disk, known to HEAD alone. What is in a
        submodule that has taken the place of a directory is none of ours any more.

        Args:
            tree: the tree of HEAD.
        """
        arguments = ("diff-index", "--cached", "--diff-filter=D", "--name-only", "-z")
        left = nul_records(self.index.git.run(*arguments, tree))
        modules = tuple(f"{path}/" for path in self.modules) if left else ()
        return [path for path in left if not path.startswith(modules)] if modules else left

    def entry(self, path: str) -> Entry | None:
        """The entry of a path; in a conflict the one that is ours; None if there is none."""
        entries = {entry.stage: entry for entry in map(Entry.parse, self.records.get(path, ()))}
        return next((entries[stage] for stage in _PREFERRED if stage in entries), None)


def _unreadable(path: str, error: OSError) -> FatalError:
    # A link to it can be made all the same, and it is that which the system names.
    return FatalError(
        f"cannot read the index '{path}': {(error.strerror or str(error)).lower()}",
        code="unreadable",
        hints=(
            "git cannot read it either; give yourself the right to, then run the command again",
        ),
    )
