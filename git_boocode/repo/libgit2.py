"""The store through libgit2, for a long-running process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import pygit2

from git_boocode.repo.config import Identity
from git_boocode.repo.errors import FatalError
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, Store, raw_commit


def open_libgit2(repository: Repository) -> Libgit2Store | None:
    """The store of a repository; None if libgit2 does not support the repository.

    libgit2 opens neither SHA-256 nor reftable repositories, does not read refs outside the git
    directory, and fetches nothing in partial clones. It syncs what it writes only if the process
    has set its option `ENABLE_FSYNC_GITDIR`.
    """
    config = repository.config
    partial = config.text("extensions.partialclone")
    if repository.object_format != "sha1" or not repository.has_plain_refs or partial:
        return None
    try:
        return Libgit2Store(repository, pygit2.Repository(repository.git_dir))
    except pygit2.GitError:
        return None


class Libgit2Store(Store):
    """Lists refs and writes commits in this process; git does the rest.

    libgit2 loops endlessly on a truncated loose object, which a crash can leave behind. Its ref
    transactions are missing from the newest pygit2 for Python 3.10.
    """

    def __init__(self, repository: Repository, opened: pygit2.Repository) -> None:
        super().__init__(repository)
        self._opened = opened

    def refs(self, *prefixes: str, newest: int = 0) -> list[Ref]:
        """See `Store.refs`."""
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        names = (
            name for name in self._opened.references if name in prefixes or name.startswith(below)
        )
        return list(islice(self._resolved(names), newest or None))

    def _resolved(self, names: Iterable[str]) -> Iterator[Ref]:
        for name in sorted(names, key=os.fsencode, reverse=True):
            # A ref may have been deleted meanwhile, or be broken.
            with suppress(KeyError, pygit2.GitError):
                yield Ref(name, str(self._opened.references[name].resolve().target))

    def write_commit(
        self, tree: str, parents: Sequence[str], message: str, by: Identity, when: float
    ) -> str:
        """See `Store.write_commit`."""
        raw = raw_commit(tree, parents, message, by, when)
        try:
            return str(self._opened.write(pygit2.enums.ObjectType.COMMIT, raw))
        except (OSError, pygit2.GitError) as error:
            raise FatalError(f"cannot write a commit: {error}", code="git") from error
