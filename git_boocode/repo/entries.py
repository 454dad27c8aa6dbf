"""Checkpoints, proposals and edit records in common: metadata, lookup by name, retention limits.

All are commits under our refs, with JSON in the message. The user can name one by its id, a prefix
of its id or of the commit's hash, `@`, `@~N`, `message:ID` or `label:TEXT`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import tee
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from git_boocode.repo.config import Config
from git_boocode.repo.errors import NextStep, RefusedError, shortened
from git_boocode.repo.ids import ID, ID_PART, id_time, relative_offset
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref

VERSION = 1
HOUR = 3_600.0
DAY = 86_400.0
TOO_OLD = "too_old"
TOO_MANY = "too_many"
TOO_LARGE = "too_large"
MAX_DISK = "boocode.maxDisk"
# Characters that control a terminal or reverse its text: `git log` prints subjects unchanged.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
# A ref may have any name, but hints contain ids as words of commands.
_SAFE_NAME = "[0-9A-Za-z_][0-9A-Za-z_.-]*"
_SUBJECT_LENGTH = 72
# The number of refs to read first: a page of `log`, which nearly always includes `@`.
_FIRST_PAGE = 32
_SHOWN_MATCHES = 5
_MASKED = ("label", "prompt")
_SECRETS = "boocode.secret"


class MetadataError(RefusedError):
    """A commit's message contains no metadata that this version can read."""


class Metadata:
    """The metadata in a commit message; unknown keys are preserved."""

    def __init__(self, values: dict[str, Any], mask: Callable[[str], str] | None = None) -> None:
        """`mask` is what `shown` masks with, if the user has patterns of his own."""
        self.values = values
        self.mask = mask

    @classmethod
    def parse(cls, message: str) -> Metadata:
        """Read the metadata in a commit message.

        MetadataError if there is none (`malformed`), or a newer git-boocode wrote it (`newer`).
        """
        _, _, body = message.partition("\n\n")
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise MetadataError("its message contains no JSON object", code="malformed") from None
        if not isinstance(values, dict) or type(values.get("boocode")) is not int:
            raise MetadataError("its message was not written by git-boocode", code="malformed")
        if values["boocode"] > VERSION:
            raise MetadataError(
                f"its format {values['boocode']} is newer than this version of git-boocode",
                code="newer",
                hints=("update git-boocode",),
            )
        return cls(values)

    def message(self) -> str:
        """The commit message: a subject, a blank line, one JSON object."""
        kind, label = " ".join(self.text("kind").split()), " ".join(self.text("label").split())
        subject = f"boocode {kind}: {label}" if label else f"boocode {kind}"
        if not subject.isprintable():
            subject = re.sub(_CONTROL, "?", subject)
        if len(subject) > _SUBJECT_LENGTH:
            subject = subject[: _SUBJECT_LENGTH - 1] + "…"
        body = json.dumps(self.values, ensure_ascii=True, indent=1)
        return f"{subject.encode('utf-8', 'replace').decode()}\n\n{body}\n"

    @property
    def worktree_key(self) -> str:
        """The key of the worktree that it belongs to; see `Repository.worktree_key`."""
        return self.part("worktree", "id") or self.worktree_name

    @property
    def worktree_name(self) -> str:
        """The worktree that it belongs to: `main`, or the name of a linked one."""
        return self.part("worktree", "name") or "main"

    @property
    def skipped_paths(self) -> frozenset[str]:
        """The paths that were not captured."""
        paths = (row.get("path") for row in self.tables("skipped"))
        return frozenset(path for path in paths if isinstance(path, str))

    def text(self, key: str) -> str:
        """A text value; empty if it is missing or of another type."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def shown(self, key: str) -> str:
        """A text value to show, or to store for others, of which secrets are masked."""
        text = self.text(key)
        return self.masked(text) if key in _MASKED else text

    @property
    def values_shown(self) -> dict[str, Any]:
        """All values, as `shown` has them."""
        given = (key for key in _MASKED if isinstance(self.values.get(key), str))
        return {**self.values, **{key: self.shown(key) for key in given}}

    def masked(self, text: str) -> str:
        """A text of it without secrets."""
        return (self.mask or _mask())(text) if text else text

    def table(self, key: str) -> dict[str, Any]:
        """An object value; empty if it is missing or of another type."""
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}

    def tables(self, key: str) -> list[dict[str, Any]]:
        """The objects in a list value; items of other types are ignored."""
        value = self.values.get(key)
        return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []

    def part(self, key: str, name: str) -> str | None:
        """A text value inside an object value, or None."""
        value = self.table(key).get(name)
        return value if isinstance(value, str) else None


@cache
def _mask() -> Callable[[str], str]:
    # Many commands show no text, and compiling its patterns takes milliseconds.
    from git_boocode.repo.masking import Masker

    return Masker()


class Unusable(NamedTuple):
    """A ref among the entries that cannot be used, and the reason."""

    ref: str
    why: MetadataError

    @property
    def id(self) -> str:
        """The last component of the ref's name."""
        return self.ref.rpartition("/")[2]


class CatalogEntry(Protocol):
    """An item of a catalog."""

    @property
    def id(self) -> str:
        """The last component of its ref's name."""

    @property
    def meta(self) -> Metadata:
        """Its metadata."""


AnyEntry = TypeVar("AnyEntry", bound=CatalogEntry)


class EntryCatalog(Generic[AnyEntry]):
    """The entries of one kind, as seen from one worktree.

    A subclass defines how to read an entry, and the `prefixes` of their refs; `@~N`, `message:` and
    `label:` search only below the first prefix. RefusedError if an entry that the user names does
    not exist (`not_found`), is ambiguous (`ambiguous`), or cannot be read (`malformed`, `newer`).
    """

    noun: str
    prefixes: tuple[str, ...]
    listing_hint: NextStep

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._worktree = repository.worktree_key
        self.store = repository.store

    @cached_property
    def _mask(self) -> Callable[[str], str] | None:
        """What masks the secrets in texts, if the user has patterns for them."""
        if self.repository.config.setting(_SECRETS) is None:
            return None
        from git_boocode.repo.masking import LenientMasker

        return LenientMasker(self.repository.git)

    @staticmethod
    def read(ref: Ref, commit: Commit) -> AnyEntry:
        """Read the entry in a commit (MetadataError)."""
        raise NotImplementedError

    def entries(self, refs: Iterable[Ref]) -> Iterator[AnyEntry | Unusable]:
        """Read refs lazily, including the unusable ones."""
        refs, targets = tee(refs)
        commits = self.store.commits(ref.target for ref in targets)
        found = map(self._entry, refs, commits)
        return iter(self.repository.git.counted(f"reading: {{}} {self.noun}s", found))

    def _entry(self, ref: Ref, commit: Commit | None) -> AnyEntry | Unusable:
        try:
            if not re.fullmatch(_SAFE_NAME, ref.id):
                raise MetadataError("its name is not an id", code="malformed")
            if commit is None:
                raise MetadataError("its ref does not point to a commit", code="malformed")
            entry = self.read(ref, commit)
            entry.meta.mask = self._mask
            return entry
        except MetadataError as error:
            return Unusable(ref.name, error.with_traceback(None))

    def newest_first(self, *, everywhere: bool = False) -> Iterator[AnyEntry | Unusable]:
        """The entries of this worktree, or of all, and the unusable ones, read lazily."""
        for entry in self.entries(self._newest_refs()):
            if everywhere or isinstance(entry, Unusable) or self.is_ours(entry):
                yield entry

    def _newest_refs(self) -> Iterator[Ref]:
        below = self.prefixes[0]
        # Reading the messages in the same process would be slower: git reads all to sort the refs.
        first = self.store.refs(below, newest=_FIRST_PAGE)
        yield from first
        if len(first) == _FIRST_PAGE:
            # Continue after the last name, in git's byte order: refs may have changed meanwhile.
            last = os.fsencode(first[-1].name)
            yield from (ref for ref in self.store.refs(below) if os.fsencode(ref.name) < last)

    def is_ours(self, entry: AnyEntry) -> bool:
        """Whether an entry belongs to this worktree."""
        return entry.meta.worktree_key == self._worktree

    def history(self) -> Iterator[AnyEntry]:
        """The usable entries of this worktree, newest first."""
        return (entry for entry in self.newest_first() if not isinstance(entry, Unusable))

    def find(self, name: str) -> AnyEntry:
        """The entry with a name of the user's; the module docstring lists the forms."""
        if (back := relative_offset(name)) is not None:
            return self._nth(back, name)
        if name.startswith(("message:", "label:")):
            return self._labelled(*name.split(":", 1))
        return self.usable(self.ref_of(name))

    def ref_of(self, name: str) -> Ref:
        """The ref of the only entry with a prefix of its id or commit."""
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
        """The refs with a prefix of their id or commit, newest first."""
        beginning = name.lower()
        if ID.fullmatch(beginning):
            exact = self.prefixes[0] + beginning
            if found := self.store.refs(exact):
                return found
        return refs_beginning(beginning, self.store.refs(*self.prefixes))

    def usable(self, ref: Ref) -> AnyEntry:
        """The entry of a ref."""
        entry = next(self.entries([ref]))
        if isinstance(entry, Unusable):
            raise self.unusable(ref.id, entry.why)
        return entry

    def unusable(self, name: str, why: MetadataError) -> RefusedError:
        """The error for an entry that cannot be used."""
        message = f"{self.noun} '{name}' cannot be used: {why.message}"
        return RefusedError(message, code=why.code, hints=why.hints)

    def ambiguous(self, name: str, matches: Sequence[Ref]) -> RefusedError:
        """The error for a name of several entries."""
        return ambiguous_name(name, matches, f"{self.noun}s")

    def _nth(self, number: int, name: str) -> AnyEntry:
        count = 0
        for count, entry in enumerate(self.history(), 1):
            if count > number:
                return entry
        has = f"only {count}" if count else "no"
        plural = "" if count == 1 else "s"
        raise self._not_found(f"'{shortened(name)}': this worktree has {has} {self.noun}{plural}")

    def _labelled(self, key: str, text: str) -> AnyEntry:
        for entry in self.history() if text else ():
            # The label of a longer text is its first words.
            if text in (entry.meta.text(key), key == "label" and entry.meta.text("prompt")):
                return entry
        raise self._not_found(f"no {self.noun} of this worktree has the {key} '{text}'")

    def _not_found(self, message: str) -> RefusedError:
        return RefusedError(message, code="not_found", hints=(self.listing_hint,))


def refs_beginning(beginning: str, refs: Iterable[Ref]) -> list[Ref]:
    """The refs with a prefix of their id or commit; none if it is too short."""
    if not ID_PART.fullmatch(beginning):
        return []
    return [ref for ref in refs if ref.id.startswith(beginning) or ref.target.startswith(beginning)]


def ambiguous_name(name: str, matches: Sequence[Ref], what: str) -> RefusedError:
    """The error for a prefix of several ids; `what` is their noun in the plural."""
    shown = ", ".join(ref.id for ref in matches[:_SHOWN_MATCHES])
    more = f" and {len(matches) - _SHOWN_MATCHES} more" if len(matches) > _SHOWN_MATCHES else ""
    return RefusedError(
        f"'{name}' is ambiguous: it matches {len(matches)} {what}",
        code="ambiguous",
        hints=(f"candidates: {shown}{more}",),
    )


class Limits(NamedTuple):
    """Keep the newest `keep` of each worktree (0 for all), none older than `max_age` seconds."""

    keep: int
    max_age: float | None

    def configured(self, config: Config, keep: str, max_age: str) -> Limits:
        """A copy with the values of two configuration keys, if set (FatalError)."""
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

        Each ref comes with the key of its worktree. If that is None, only the age applies, by the
        time in the id. The newest ref of each `spared` worktree stays.
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
    """Whether the time in an id is more than `max_age` seconds ago; False for anything else."""
    if max_age is None or not ID.fullmatch(identifier):
        return False
    return id_time(identifier) < now - max_age
