"""The store through libgit2, for a long-running process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from threading import Lock

import pygit2

from git_boocode.repo.git import RawObject
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.layout import ALL_REFS
from git_boocode.repo.location import Location
from git_boocode.repo.store import PersistentStore, Ref, loose_ref

# In bytes: in a larger `packed-refs`, git finds a ref faster than libgit2 lists all.
_LARGE = 1 << 20
_MAPPED, _FILES = 32 << 20, 16
"""Maximum size of mapped parts of packs, in bytes, and number of open packs, over all."""
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
# What pygit2 raises; KeyError if an object or a ref is missing, ValueError for a name or an id.
_FAILURES = (pygit2.GitError, KeyError, ValueError, OSError)


def open_store(repository: Location) -> PersistentStore:
    """The store of a long-running process, through libgit2 as far as that supports the repository.

    libgit2 opens neither SHA-256 nor reftable repositories, does not read refs outside the git
    directory, and fetches nothing in partial clones. This sets libgit2's options for the process:
    it caches no objects, and keeps few packs open.
    """
    config, environ = repository.config, repository.git.env
    moved = any(key in environ for key in ("GIT_OBJECT_DIRECTORY", "GIT_SHALLOW_FILE"))
    partial = config.text("extensions.partialClone")
    if repository.object_format == "sha1" and repository.has_plain_refs and not (partial or moved):
        option = pygit2.enums.Option
        pygit2.option(option.ENABLE_CACHING, False)  # noqa: FBT003 - libgit2's
        pygit2.option(option.SET_MWINDOW_MAPPED_LIMIT, _MAPPED)
        # Not in the oldest pygit2 that is supported.
        with suppress(AttributeError, ValueError):
            pygit2.option(option.SET_MWINDOW_FILE_LIMIT, _FILES)
        with suppress(*_FAILURES):
            return Libgit2Store(repository)
    return PersistentStore(repository)


class Libgit2Store(PersistentStore):
    """Reads refs and packed objects in this process; git does the rest.

    libgit2 loops endlessly on a truncated loose object, which a crash can leave behind, and its ref
    transactions are missing from the newest pygit2 for Python 3.10.
    """

    def __init__(self, repository: Location) -> None:
        super().__init__(repository)
        # libgit2's objects must not be used by two threads at once.
        self._lock = Lock()
        self._opened: tuple[pygit2.Repository, pygit2.Odb] | None = self._open()

    def _open(self) -> tuple[pygit2.Repository, pygit2.Odb]:
        packs = pygit2.Odb()
        packs.add_backend(pygit2.OdbBackendPack(self._objects), 1)
        return pygit2.Repository(self._repository.git_dir), packs

    def close(self) -> None:
        """See `PersistentStore.close`."""
        super().close()
        with self._lock:
            self._opened = None

    @contextmanager
    def _library(self) -> Iterator[tuple[pygit2.Repository, pygit2.Odb]]:
        """libgit2, for one thread at a time; raises one of `_FAILURES` if it does not succeed."""
        with self._lock:
            self._opened = self._opened or self._open()
            yield self._opened

    def refs(self, *prefixes: str, newest: int = 0) -> list[Ref]:
        """See `Store.refs`."""
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        packed = os.path.join(self._repository.common_dir, "packed-refs")
        with suppress(*_FAILURES):
            if (below and _size(packed) <= _LARGE) or (prefixes and not below):
                names = {prefix for prefix in prefixes if not prefix.endswith("/")}
                with self._library() as (opened, _):
                    found = self._found(opened, below, names)
                    return list(islice(found, newest or None))
        return super().refs(*prefixes, newest=newest)

    def _found(
        self, opened: pygit2.Repository, below: tuple[str, ...], names: set[str]
    ) -> Iterator[Ref]:
        """The refs in some directories and those with some names, in descending order."""
        every = opened.references.iterator() if below else ()
        listed = {ref.name: ref for ref in every if ref.name.startswith(below)}
        for name in sorted({*listed, *names}, key=os.fsencode, reverse=True):
            # A ref may not exist, may have been deleted meanwhile, or be broken.
            with suppress(*_FAILURES):
                is_listed = name in listed
                yield Ref(name, _end(listed[name]) if is_listed else self._target(opened, name))

    def _target(self, opened: pygit2.Repository, name: str) -> str:
        """The object that a ref names (one of `_FAILURES`)."""
        ours = loose_ref(self._repository, name) if name.startswith(ALL_REFS) else None
        return ours or _end(_lookup(opened, name))

    def _named(self, name: str) -> RawObject | None:
        if not OBJECT_ID.fullmatch(name):
            with suppress(*_FAILURES), self._library() as (opened, _):
                name = self._target(opened, name)
        return super()._named(name)

    def _read(self, names: Sequence[str]) -> Sequence[RawObject | None]:
        self.refresh()
        found = {name: self._packed(name) if OBJECT_ID.fullmatch(name) else None for name in names}
        missing = [name for name in names if found[name] is None]
        found.update(zip(missing, self._cat_file.read(missing), strict=True))
        return [found[name] for name in names]

    def _packed(self, name: str) -> RawObject | None:
        with suppress(*_FAILURES), self._library() as (_, packs):
            kind, body = packs.read(name)
            return RawObject(name, _KINDS[kind], body)
        return None


def _lookup(opened: pygit2.Repository, name: str) -> pygit2.Reference:
    """A ref (one of `_FAILURES`)."""
    # pygit2 never releases the string; interned, it keeps each name once.
    return opened.references[sys.intern(name)]


def _end(ref: pygit2.Reference) -> str:
    """The object to which a ref leads (one of `_FAILURES`)."""
    return str(ref.resolve().target)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
