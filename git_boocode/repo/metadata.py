"""Our commits under refs: the JSON in their messages, how they are found, how long they are kept.

Checkpoints and records of edits are both such commits, and share the names that a user may give
them: an id, the beginning of an id or of a commit's hash, `@`, `@~N`, `message:ID`, `label:TEXT`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import tee
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from git_boocode.repo.config import Config
from git_boocode.repo.errors import RefusedError, shortened
from git_boocode.repo.head import loose_ref
from git_boocode.repo.ids import ID, ID_PART, id_time, places_back
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref, Store

VERSION = 1
DAY = 86_400.0
TOO_OLD = "too_old"
TOO_MANY = "too_many"
# `git log` prints subjects as they are: nothing there may steer a terminal or turn its text around.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_SUBJECT_LENGTH = 72
# A page of `log`; `@` is nearly always among them.
_FIRST_LOOK = 32
_SHOWN_MATCHES = 5

_Result = TypeVar("_Result")


class MetadataError(RefusedError):
    """A commit's message holds no metadata that this version can read."""


class Metadata:
    """Metadata as read from a message or about to be written; unknown keys are kept."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    @classmethod
    def parse(cls, message: str) -> Metadata:
        """Read the metadata in a commit message.

        MetadataError if there is none (`malformed`), or a newer git-boocode wrote it (`newer`).
        """
        _, _, body = message.partition("\n\n")
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise MetadataError("its message holds no JSON object", code="malformed") from None
        if not isinstance(values, dict) or type(values.get("boocode")) is not int:
            raise MetadataError("its message is not git-boocode's", code="malformed")
        if values["boocode"] > VERSION:
            raise MetadataError(
                f"it was written in format {values['boocode']}, newer than this git-boocode reads",
                code="newer",
                hints=("update git-boocode",),
            )
        return cls(values)

    def message(self) -> str:
        """The commit message: a subject, a blank line, one JSON object."""
        kind, label = (" ".join(self.text(key).split()) for key in ("kind", "label"))
        subject = f"boocode {kind}: {label}" if label else f"boocode {kind}"
        if not subject.isprintable():
            subject = re.sub(_CONTROL, "?", subject)
        if len(subject) > _SUBJECT_LENGTH:
            subject = subject[: _SUBJECT_LENGTH - 1] + "…"
        body = json.dumps(self.values, ensure_ascii=True, indent=1)
        return f"{subject.encode('utf-8', 'replace').decode()}\n\n{body}\n"

    @property
    def worktree_key(self) -> str:
        """What identifies the worktree that it is about; see `Repository.worktree_key`."""
        return self.part("worktree", "id") or self.worktree_name

    @property
    def worktree_name(self) -> str:
        """The worktree that it is about: `main`, or the name of a linked one."""
        return self.part("worktree", "name") or "main"

    @property
    def skipped_paths(self) -> frozenset[str]:
        """The paths that could not be captured."""
        paths = (row.get("path") for row in self.tables("skipped"))
        return frozenset(path for path in paths if isinstance(path, str))

    def text(self, key: str) -> str:
        """A value that should be text; empty if it is missing or something else."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def table(self, key: str) -> dict[str, Any]:
        """A value that should be an object; empty if it is missing or something else."""
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}

    def tables(self, key: str) -> list[dict[str, Any]]:
        """The objects in a value that should be a list; what else it holds is left out."""
        value = self.values.get(key)
        return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []

    def part(self, key: str, name: str) -> str | None:
        """A text inside an object, or None."""
        value = self.table(key).get(name)
        return value if isinstance(value, str) else None


class Unusable(NamedTuple):
    """A ref that has the name of an entry and cannot be used, and why."""

    ref: str
    why: MetadataError

    @property
    def id(self) -> str:
        """The last part of its name."""
        return self.ref.rpartition("/")[2]


class CatalogEntry(Protocol):
    """What a catalogue lists."""

    @property
    def id(self) -> str:
        """The last part of its ref's name."""

    @property
    def meta(self) -> Metadata:
        """Its metadata."""


AnyEntry = TypeVar("AnyEntry", bound=CatalogEntry)


class EntryCatalog(Generic[AnyEntry]):
    """The entries of one kind, as seen from one worktree.

    A subclass says how an entry is read, and below which `prefixes` their refs are; `@~N`,
    `message:` and `label:` look only below the first one. RefusedError if what a user names is not
    there (`not_found`), not clear (`ambiguous`), or cannot be read (`malformed`, `newer`).
    """

    noun: str
    prefixes: tuple[str, ...]
    listing_hint: str

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._worktree = repository.worktree_key
        self.store = Store(repository)

    @staticmethod
    def read(ref: Ref, commit: Commit) -> AnyEntry:
        """The entry that a commit holds; MetadataError if it holds none."""
        raise NotImplementedError

    def entries(self, refs: Iterable[Ref]) -> Iterator[AnyEntry | Unusable]:
        """Read refs one after the other, the unusable ones included."""
        listed, asked_for = tee(refs)
        commits = self.store.commits(ref.target for ref in asked_for)
        found = map(self._entry, listed, commits)
        return iter(self.repository.git.counted(f"reading: {{}} {self.noun}s", found))

    def _entry(self, ref: Ref, commit: Commit | None) -> AnyEntry | Unusable:
        try:
            if commit is None:
                raise MetadataError("it names no commit", code="malformed")
            return self.read(ref, commit)
        except MetadataError as error:
            return Unusable(ref.name, error.with_traceback(None))

    def newest_first(self, *, everywhere: bool = False) -> Iterator[AnyEntry | Unusable]:
        """The entries of this worktree, or of all, and the unusable ones; read as they are used."""
        for entry in self.entries(self._newest_refs()):
            if everywhere or isinstance(entry, Unusable) or self.is_ours(entry):
                yield entry

    def _newest_refs(self) -> Iterator[Ref]:
        below = self.prefixes[0]
        # Not the messages as well, in one process: git would read those of all refs to sort them.
        first = self.store.refs(below, newest=_FIRST_LOOK)
        yield from first
        if len(first) == _FIRST_LOOK:
            # Git sorts by bytes; what came or went since then shifts none of the others.
            last = os.fsencode(first[-1].name)
            yield from (ref for ref in self.store.refs(below) if os.fsencode(ref.name) < last)

    def is_ours(self, entry: AnyEntry) -> bool:
        """Whether an entry is of this worktree."""
        return entry.meta.worktree_key == self._worktree

    def history(self) -> Iterator[AnyEntry]:
        """The usable entries of this worktree, newest first."""
        return (entry for entry in self.newest_first() if not isinstance(entry, Unusable))

    def find(self, name: str) -> AnyEntry:
        """The entry that a user names: see the top of the module."""
        if (back := places_back(name)) is not None:
            return self._nth(back, name)
        if name.startswith(("message:", "label:")):
            return self._labelled(*name.split(":", 1))
        return self.usable(self.ref_of(name))

    def ref_of(self, name: str) -> Ref:
        """The ref of the one entry whose id or commit begins so."""
        shown = shortened(name)
        if name.startswith("@"):
            raise self._not_found(f"'{shown}': '@' is the newest, '@~<n>' the n-th before it")
        matches = self.matching(name)
        if len(matches) > 1:
            raise self.ambiguous(name, matches)
        if not matches:
            least = "" if ID_PART.fullmatch(name.lower()) else " (ids need at least 4 characters)"
            raise self._not_found(f"no {self.noun} matches '{shown}'{least}")
        return matches[0]

    def matching(self, name: str) -> list[Ref]:
        """The refs whose id or commit begins so, newest first."""
        beginning = name.lower()
        if ID.fullmatch(beginning):
            exact = self.prefixes[0] + beginning
            target = loose_ref(self.repository, exact)
            if found := [Ref(exact, target)] if target else self.store.refs(exact):
                return found
        return refs_beginning(beginning, self.store.refs(*self.prefixes))

    def usable(self, ref: Ref) -> AnyEntry:
        """The entry of a ref."""
        entry = next(self.entries([ref]))
        if isinstance(entry, Unusable):
            raise self.unusable(ref.id, entry.why)
        return entry

    def unusable(self, name: str, why: MetadataError) -> RefusedError:
        """The error of an entry that cannot be used."""
        message = f"{self.noun} '{name}' cannot be used: {why.message}"
        return RefusedError(message, code=why.code, hints=why.hints)

    def ambiguous(self, name: str, matches: Sequence[Ref]) -> RefusedError:
        """The error of a name that several entries have."""
        return ambiguous_name(name, matches, f"{self.noun}s")

    def _nth(self, number: int, name: str) -> AnyEntry:
        count = 0
        for count, entry in enumerate(self.history(), 1):
            if count > number:
                return entry
        has = f"only {count}" if count else "no"
        plural = "" if count == 1 else "s"
        raise self._not_found(f"'{shortened(name)}': this worktree has {has} {self.noun}{plural}")

    def _labelled(self, key: str, wanted: str) -> AnyEntry:
        for entry in self.history() if wanted else ():
            if entry.meta.text(key) == wanted:
                return entry
        raise self._not_found(f"no {self.noun} of this worktree has the {key} '{wanted}'")

    def _not_found(self, message: str) -> RefusedError:
        return RefusedError(message, code="not_found", hints=(self.listing_hint,))


def refs_beginning(beginning: str, refs: Iterable[Ref]) -> list[Ref]:
    """The refs whose id or commit begins so, if that is long enough."""
    if not ID_PART.fullmatch(beginning):
        return []
    return [ref for ref in refs if ref.id.startswith(beginning) or ref.target.startswith(beginning)]


def ambiguous_name(name: str, matches: Sequence[Ref], what: str) -> RefusedError:
    """The error of a beginning that several ids have; `what` is their noun in the plural."""
    shown = ", ".join(ref.id for ref in matches[:_SHOWN_MATCHES])
    more = f" and {len(matches) - _SHOWN_MATCHES} more" if len(matches) > _SHOWN_MATCHES else ""
    return RefusedError(
        f"'{name}' is the beginning of {len(matches)} {what}",
        code="ambiguous",
        hints=(f"it could be: {shown}{more}",),
    )


class Limits(NamedTuple):
    """The newest `keep` of each worktree stay, 0 for all, unless older than `max_age` seconds."""

    keep: int
    max_age: float | None

    def configured(self, config: Config, keep: str, max_age: str) -> Limits:
        """These limits, except for what is configured under two keys (FatalError)."""
        return Limits(
            config.integer(keep, default=self.keep), config.age(max_age, default=self.max_age)
        )

    def beyond(
        self,
        newest_first: Iterable[tuple[Ref, str | None]],
        now: float,
        *,
        spared: Collection[str] = (),
    ) -> Iterator[tuple[Ref, str]]:
        """The refs beyond the limits, each with the reason, `too_old` or `too_many`.

        They come with the keys of their worktrees. One whose worktree is not known does not count,
        and goes by the time in its id alone. The newest of each `spared` worktree stays.
        """
        counted: Counter[str] = Counter()
        for ref, worktree in newest_first:
            if worktree is not None:
                counted[worktree] += 1
                if counted[worktree] == 1 and worktree in spared:
                    continue
            if is_older(ref.id, self.max_age, now):
                yield ref, TOO_OLD
            elif worktree is not None and 0 < self.keep < counted[worktree]:
                yield ref, TOO_MANY


def is_older(identifier: str, max_age: float | None, now: float) -> bool:
    """Whether the time in an id is more than `max_age` seconds ago; what is no id never is."""
    if max_age is None or not ID.fullmatch(identifier):
        return False
    return id_time(identifier) < now - max_age


def patiently(
    change: Callable[[], _Result], codes: Collection[str] = ("conflict",), attempts: int = 3
) -> _Result:
    """Look at refs and change them, again where another process changes them at the same time.

    RefusedError if it was refused with one of the codes again and again.
    """
    try:
        return change()
    except RefusedError as error:
        if error.code not in codes or attempts == 1:
            raise
    return patiently(change, codes, attempts - 1)
