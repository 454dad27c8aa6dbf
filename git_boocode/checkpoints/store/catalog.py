"""The checkpoints of a repository: list them, and find the one that a user means."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import tee
from typing import NamedTuple

from git_boocode.checkpoints.store.changes import count_changes
from git_boocode.checkpoints.store.metadata import Metadata
from git_boocode.repo.errors import RefusedError, shortened
from git_boocode.repo.ids import ID, ID_PART, OBJECT_ID, places_back
from git_boocode.repo.metadata import MetadataError
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref, Store, ambiguous_name

CHECKPOINTS = "refs/boocode/checkpoints/"
SAFETY = "refs/boocode/safety/"
ARCHIVE = "refs/boocode/archive/"
REMOTES = "refs/boocode/remotes/"
SAFETY_KIND = "pre-restore"

# `@` is nearly always among the newest few; only beside many worktrees does one look further.
_FIRST_LOOK = 16
# The first page of `log`, and the next one: just what is read of commits in two steps.
_FIRST_LISTED = 128
# So many are looked up one by one; beyond that, to list all of them is as fast.
_LAST_LISTED = 2048
_SEARCHES = ("message:", "label:")
_REDUCED = ("label", "worktree")


class Checkpoint(NamedTuple):
    """A checkpoint that can be used.

    Attributes:
        id: its id, the last part of its ref's name.
        ref: the whole name of its ref.
        commit: the commit that holds it.
        meta: its metadata.
    """

    id: str
    ref: str
    commit: Commit
    meta: Metadata

    @property
    def tree(self) -> str:
        """The tree of the worktree at that time."""
        return self.commit.tree

    @property
    def head(self) -> str | None:
        """The commit that HEAD named at that time; None on an unborn branch."""
        head = self.meta.part("head", "commit")
        return head if head in self.commit.parents else None

    @property
    def is_safety(self) -> bool:
        """Whether it is the state of before a restore."""
        return self.meta.text("kind") == SAFETY_KIND

    @property
    def commits(self) -> list[str]:
        """The commits whose trees it needs."""
        details = self.meta.part("index", "details")
        more = [details] if details is not None and OBJECT_ID.fullmatch(details) else []
        return [self.commit.id, *self.commit.parents, *more]

    @property
    def worktree_name(self) -> str:
        """The worktree that it was taken of: `main`, or the name of a linked one."""
        return self.meta.part("worktree", "name") or "main"

    def reduced(self) -> Checkpoint:
        """The same without what only few need of it, for whoever holds very many."""
        kept = {key: value for key, value in self.meta.values.items() if key in _REDUCED}
        return self._replace(commit=Commit(self.commit.id, "", (), ""), meta=Metadata(kept))

    @property
    def remote(self) -> str:
        """The remote that it was fetched from; empty if it was taken here."""
        return remote_of(self.ref)


class Unusable(NamedTuple):
    """A ref that looks like a checkpoint and cannot be used, and why."""

    ref: str
    why: MetadataError


class Catalog:
    """The checkpoints of one repository, as seen from one worktree."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._worktree = repository.worktree_key
        self.store = Store(repository)

    def entries(self, refs: Iterable[Ref]) -> Iterator[Checkpoint | Unusable]:
        """Read refs one after the other, the unusable ones included."""
        listed, asked_for = tee(refs)
        commits = self.store.commits(ref.target for ref in asked_for)
        for ref, commit in zip(listed, commits, strict=True):
            yield _entry(ref, commit)

    def count_files(self, checkpoints: list[Checkpoint]) -> list[int | None]:
        """How many files each checkpoint changes against its HEAD; None if objects are missing."""
        empty = self._repository.empty_tree
        pairs = [
            (entry.commit.id, head) if (head := entry.head) else (empty, entry.tree)
            for entry in checkpoints
        ]
        return count_changes(self._repository.git, pairs)

    def newest_first(self, *, everywhere: bool = False) -> Iterator[Checkpoint | Unusable]:
        """The checkpoints of this worktree, or of all; those that cannot be read come too."""
        for entry in self.entries(self._listed()):
            if everywhere or isinstance(entry, Unusable) or self._is_ours(entry):
                yield entry

    def newest(self) -> list[Ref]:
        """The refs of the newest few checkpoints, of whatever worktree."""
        return self.store.refs(CHECKPOINTS, newest=_FIRST_LOOK)

    def latest(self, newest: list[Ref] | None = None) -> Checkpoint | None:
        """The newest checkpoint of this worktree.

        Args:
            newest: what `newest` gave just now, if it was asked.
        """
        newest = self.newest() if newest is None else newest
        found = next(self._ours(self.entries(newest)), None)
        if found is not None or len(newest) < _FIRST_LOOK:
            return found
        return next(self._ours(self.entries(self.store.refs(CHECKPOINTS))), None)

    def safety(self) -> list[Checkpoint]:
        """The safety checkpoints of this worktree, newest first."""
        return list(self._ours(self.entries(self.store.refs(SAFETY))))

    def fetched(self, remote: str | None = None) -> Iterator[Checkpoint | Unusable]:
        """The checkpoints fetched from a remote, or from all, newest first.

        Args:
            remote: the name of the remote.
        """
        refs = self.store.refs(REMOTES if remote is None else f"{REMOTES}{remote}/")
        if remote is None:
            refs.sort(key=lambda ref: ref.id, reverse=True)
        # The names of remotes may begin alike: `team`, `team/alice`.
        ours = (ref for ref in refs if remote in (None, remote_of(ref.name)))
        return self.entries(ours)

    def find(self, name: str) -> Checkpoint:
        """The checkpoint that a user names, by its id also one that was fetched.

        Of several with the same id, one that was taken here comes before one that was fetched.

        Args:
            name: a full id, a unique beginning of an id or of the commit's hash, `@`, `@~N`,
                `message:ID` or `label:TEXT`.

        Raises:
            RefusedError: there is none (`not_found`), there are several (`ambiguous`), or it
                cannot be used (`malformed`, `newer`).
        """
        if (back := places_back(name)) is not None:
            return self._nth(back, name)
        if name.startswith(_SEARCHES):
            key, _, wanted = name.partition(":")
            return self._by(key, wanted)
        return _usable(self._by_id(name), self)

    def refs_of(self, name: str) -> list[Ref]:
        """The refs of the checkpoint that a user names, of which an archived one may have two.

        Args:
            name: as `find` reads it; a full id also names one that cannot be used.

        Raises:
            RefusedError: as `find` does.
        """
        if places_back(name) is not None or name.startswith(_SEARCHES):
            entry = self.find(name)
            return [Ref(entry.ref, entry.commit.id)]
        found = self._by_id(name)
        if found.id != name.lower():
            _usable(found, self)
        same = (ref for ref in self._all_refs() if ref.id == found.id)
        return [ref for ref in same if ref.target == found.target]

    def _listed(self) -> Iterator[Ref]:
        """The refs of checkpoints, newest first: more and more of them while they are wanted."""
        count, last = _FIRST_LISTED, None
        while count <= _LAST_LISTED:
            newest = self.store.refs(CHECKPOINTS, newest=count)
            # What came or went in between shifts none of the others.
            yield from (ref for ref in newest if last is None or _sorting(ref) < last)
            if len(newest) < count:
                return
            last = _sorting(newest[-1])
            count *= 4
        yield from (ref for ref in self.store.refs(CHECKPOINTS) if last and _sorting(ref) < last)

    def _is_ours(self, entry: Checkpoint) -> bool:
        return entry.meta.worktree_key == self._worktree

    def _ours(self, entries: Iterator[Checkpoint | Unusable]) -> Iterator[Checkpoint]:
        usable = (entry for entry in entries if isinstance(entry, Checkpoint))
        return filter(self._is_ours, usable)

    def _nth(self, number: int, name: str) -> Checkpoint:
        count = 0
        for count, entry in enumerate(self._ours(self.newest_first()), 1):
            if count > number:
                return entry
        if not count:
            raise RefusedError(
                f"'{shortened(name)}': this worktree has no checkpoints",
                code="not_found",
                hints=("'git boocode checkpoint' takes one",),
            )
        noun = "checkpoint" if count == 1 else "checkpoints"
        raise not_found(f"'{shortened(name)}': this worktree has only {count} {noun}")

    def _by(self, key: str, wanted: str) -> Checkpoint:
        if not wanted:
            raise not_found(f"'{key}:' names no {key}")
        for entry in self._ours(self.newest_first()):
            if entry.meta.text(key) == wanted:
                return entry
        raise not_found(f"no checkpoint of this worktree has the {key} '{wanted}'")

    def _by_id(self, name: str) -> Ref:
        lowered = name.lower()
        if ID.fullmatch(lowered):
            whole = (f"{CHECKPOINTS}{lowered}", f"{SAFETY}{lowered}")
            if exact := self.store.refs(*whole, newest=1):
                return exact[0]
        if name.startswith("@"):
            raise not_found(f"'{shortened(name)}': '@' is the newest, '@~<n>' the n-th before it")
        if not ID_PART.fullmatch(lowered):
            shown = shortened(name)
            raise not_found(f"'{shown}' is no checkpoint's id, nor four or more characters of one")
        matches = _one_of_each_id(ref for ref in self._all_refs() if _matches(ref, lowered))
        if not matches:
            raise not_found(f"no checkpoint's id or commit begins with '{name}'")
        if len({ref.id for ref in matches}) > 1:
            raise ambiguous_name(name, matches, "checkpoints")
        if len(matches) > 1:
            raise _remotes_differ(matches)
        return matches[0]

    def _all_refs(self) -> list[Ref]:
        return self.store.refs(CHECKPOINTS, SAFETY, ARCHIVE, REMOTES)


def _entry(ref: Ref, commit: Commit | None) -> Checkpoint | Unusable:
    if commit is None:
        return Unusable(ref.name, MetadataError("it names no commit", code="malformed"))
    try:
        meta = Metadata.parse(commit.message)
    except MetadataError as error:
        return Unusable(ref.name, error.with_traceback(None))
    return Checkpoint(ref.id, ref.name, commit, meta)


def _matches(ref: Ref, beginning: str) -> bool:
    return ref.id.startswith(beginning) or ref.target.startswith(beginning)


def _one_of_each_id(refs: Iterable[Ref]) -> list[Ref]:
    """Of refs with the same id, such as an archived one that was kept too, the one to use.

    Remotes can have different checkpoints under one id; then there is one of each.
    """
    found: dict[str, Ref] = {}
    others: list[Ref] = []
    for ref in sorted(refs, key=_distance):
        first = found.setdefault(ref.id, ref)
        if remote_of(first.name) and first.target != ref.target:
            others.append(ref)
    return [*found.values(), *others]


def _distance(ref: Ref) -> int:
    """How far a ref is from being the checkpoint that is meant by its id."""
    places = ((CHECKPOINTS, SAFETY), (ARCHIVE,), (REMOTES,))
    return next(number for number, below in enumerate(places) if ref.name.startswith(below))


def remote_of(ref: str) -> str:
    """The remote that the ref of a fetched checkpoint belongs to; empty for any other ref.

    Args:
        ref: its whole name.
    """
    return ref.removeprefix(REMOTES).rpartition("/")[0] if ref.startswith(REMOTES) else ""


def _remotes_differ(matches: list[Ref]) -> RefusedError:
    shown = ", ".join(f"{ref.target} ({remote_of(ref.name)})" for ref in matches)
    return RefusedError(
        f"remotes have different checkpoints under the id '{matches[0].id}'",
        code="ambiguous",
        hints=(f"name the one that is meant by its commit: {shown}",),
    )


def _sorting(ref: Ref) -> bytes:
    # Git sorts by bytes, and a name from elsewhere need not be UTF-8.
    return os.fsencode(ref.name)


def _usable(ref: Ref, catalog: Catalog) -> Checkpoint:
    entry = next(catalog.entries([ref]))
    if isinstance(entry, Checkpoint):
        return entry
    raise unusable(ref.id, entry.why)


def unusable(name: str, why: MetadataError) -> RefusedError:
    """The error of a checkpoint that cannot be read."""
    return RefusedError(
        f"checkpoint '{name}' cannot be used: {why.message}", code=why.code, hints=why.hints
    )


def not_found(message: str) -> RefusedError:
    """The error of a name that leads nowhere."""
    return RefusedError(
        message, code="not_found", hints=("'git boocode log' lists the checkpoints",)
    )
