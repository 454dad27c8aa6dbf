"""Read and write commits and refs with git's plumbing commands.

Git starts in 1 to 3 ms, while importing pygit2 takes about 80 ms, so plumbing is faster in a
short-lived process. `git_boocode.repo.libgit2` has the same interface for a long-running one.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from git_boocode.repo.config import Identity
from git_boocode.repo.durable import sync_refs
from git_boocode.repo.errors import MAKE_ROOM, BoocodeError, FatalError, RefusedError, from_os
from git_boocode.repo.git import batch_bodies
from git_boocode.repo.ids import SHORT_ID
from git_boocode.repo.messages import REF_CHANGED, REF_LOCKED, failure_reason, is_disk_full, says
from git_boocode.repo.repository import Repository

ALL_REFS = "refs/boocode/"


class Ref(NamedTuple):
    """A ref and the object that it names."""

    name: str
    target: str

    @property
    def id(self) -> str:
        """The last component of its name; an id for most of our refs."""
        return self.name.rpartition("/")[2]


class Commit(NamedTuple):
    """A stored commit; undecodable bytes of the message become surrogates."""

    id: str
    tree: str
    parents: tuple[str, ...]
    message: str


class RefChange(NamedTuple):
    """One step of a ref transaction; if `new` equals `old`, the ref is only verified."""

    name: str  # the full name of the ref
    new: str | None  # the new object id; None to delete the ref
    old: str | None  # the expected object id; None if the ref must not exist


def raw_commit(tree: str, parents: Sequence[str], message: str, by: Identity, when: float) -> bytes:
    """The bytes of a commit object, independent of the user's signing, dates and encoding."""
    who = f"{by.name} <{by.email}> {int(when)} +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {who}", f"committer {who}", "", message]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def parse_commit(identifier: str, raw: bytes) -> Commit | None:
    """Parse a commit object; None if it is malformed."""
    head, _, message = raw.decode("utf-8", "surrogateescape").partition("\n\n")
    fields = [line.partition(" ")[::2] for line in head.split("\n")]
    trees = [value for key, value in fields if key == "tree"]
    parents = tuple(value for key, value in fields if key == "parent")
    return Commit(identifier, trees[-1], parents, message) if trees and trees[-1] else None


class Store:
    """The commits and refs of a repository, of any kind that git supports."""

    # Enough for a page of `log`; a longer list is read in batches.
    BATCH = 32
    # A batch is held in memory.
    LARGEST_BATCH = 1024

    def __init__(self, repository: Repository) -> None:
        self._git = repository.git
        self._zero = repository.zero_id
        self._repository = repository

    def refs(self, *prefixes: str, newest: int = 0) -> list[Ref]:
        """The refs below some prefixes, in descending order of name; at most `newest`, 0 for all.

        A prefix is a full name, or ends in `/`.
        """
        if not prefixes:
            return []
        form = ("--sort=-refname", "--format=%(objectname) %(refname)", f"--count={newest}")
        listing = self._git.line("for-each-ref", *form, *prefixes)
        # Not `splitlines`: a ref name contains no newline, but may contain Python's other line
        # separators.
        records = (line.partition(" ") for line in listing.split("\n") if line)
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        found = (Ref(name, target) for target, _, name in records)
        return [ref for ref in found if ref.name in prefixes or ref.name.startswith(below)]

    def commits(self, ids: Iterable[str]) -> Iterator[Commit | None]:
        """Commits in the given order; None for missing and other objects."""
        remaining = iter(ids)
        size = self.BATCH
        while batch := list(islice(remaining, size)):
            yield from self._read(batch)
            size = min(size * 3, self.LARGEST_BATCH)

    def _read(self, ids: list[str]) -> Iterator[Commit | None]:
        request = "".join(f"{identifier}\n" for identifier in ids).encode()
        done = self._git.attempt("cat-file", "--batch", stdin=request)
        if done.status:
            yield from self._read_around_damage(ids)
            return
        for identifier, body in zip(ids, batch_bodies(done.stdout, b"commit"), strict=True):
            yield None if body is None else parse_commit(identifier, body)

    def _read_around_damage(self, ids: list[str]) -> Iterator[Commit | None]:
        # Git stops at a damaged object and does not read the rest of the request.
        if len(ids) == 1:
            yield None
            return
        middle = len(ids) // 2
        yield from self._read(ids[:middle])
        yield from self._read(ids[middle:])

    def write_commit(
        self, tree: str, parents: Sequence[str], message: str, by: Identity, when: float
    ) -> str:
        """Store a commit by `by`, made `when` (seconds since 1970), and return its id."""
        raw = raw_commit(tree, parents, message, by, when)
        return self._git.line("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)

    def update_refs(
        self, changes: Sequence[RefChange], beside: Callable[[], None] | None = None
    ) -> None:
        """Apply all changes or none, each only if the ref has the expected value.

        `beside` is called while git starts, before any ref changes. RefusedError (`conflict`) if
        another process created, moved or deleted a ref.
        """
        if not changes:
            return
        script = os.fsencode("".join(map(self._instruction, changes)))
        command = ("update-ref", "--no-deref", "-z", "--stdin")
        done = self._git.attempt(*command, stdin=script, beside=beside)
        if done.status:
            raise ref_error(os.fsdecode(done.stderr))
        written = [change.name for change in changes if change.new not in (None, change.old)]
        deleted = any(change.new is None for change in changes)
        try:
            sync_refs(self._repository.common_dir, written, packed=deleted)
        except OSError as error:
            raise from_os(error) from error

    def _instruction(self, change: RefChange) -> str:
        old = change.old or self._zero
        if change.new == old:
            return f"verify {change.name}\0{old}\0"
        if change.new is None:
            return f"delete {change.name}\0{old}\0"
        return f"update {change.name}\0{change.new}\0{old}\0"


def ref_error(stderr: str) -> BoocodeError:
    """The error for a failed ref update, according to git's error output."""
    reason = failure_reason(stderr)
    if says(reason, REF_CHANGED):
        return RefusedError(
            f"a ref was changed by another process: {reason.splitlines()[0]}",
            code="conflict",
            hints=("nothing was changed; run the command again",),
        )
    if says(reason, REF_LOCKED):
        return RefusedError(
            f"a ref is locked: {reason.splitlines()[0]}",
            code="locked",
            hints=("try again; if it stays locked, 'git boocode doctor' names the lock file",),
        )
    if is_disk_full(reason):
        return FatalError(f"cannot update refs: {reason}", code="disk_full", hints=(MAKE_ROOM,))
    return FatalError(f"cannot update refs: {reason}", code="refs")


class ShortIds:
    """The ids of a repository, each abbreviated to what is unique in it.

    All refs are listed when the first one is asked for.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, identifier: str) -> str:
        """The shortest unique prefix of an id; other names of refs as they are."""
        ids = self._ids
        at = bisect_left(ids, identifier)
        near = [each for each in ids[max(at - 1, 0) : at + 2] if each != identifier]
        sizes = range(SHORT_ID, len(identifier))
        starts = (identifier[:size] for size in sizes)
        return next((s for s in starts if not any(n.startswith(s) for n in near)), identifier)

    @cached_property
    def _ids(self) -> list[str]:
        return sorted({ref.id for ref in self._store.refs(ALL_REFS)})
