"""The older versions of a file that the repository holds, newest first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.editing.record import EDITS
from git_boocode.editing.textfile import decode
from git_boocode.repo.git import batch_bodies
from git_boocode.repo.metadata import Metadata, MetadataError
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, open_store

CHECKPOINTS = "refs/boocode/checkpoints/"
MOST = 24
"""Versions that are read, and checkpoints and records that are looked at."""
MOST_BYTES = 8 * 1024 * 1024
"""Bytes of all versions that are read."""


class VersionSource(NamedTuple):
    """Where a version is: its name for messages and what git calls it.

    Of a checkpoint or a record also the words for what changed with it, and the commit that was
    HEAD then.
    """

    name: str
    object: str
    cause: str = ""
    head: str = ""


class Version(NamedTuple):
    """One content of the file: the newest source that has it, its blob and its text."""

    source: VersionSource
    blob: str
    text: str


class FileVersions:
    """Older versions of one file: in the index, HEAD, checkpoints and records of applied edits.

    Iterating yields their texts, as `replace_text` takes them, and runs git only when it gets that
    far. ``path`` is the file's path from the top of the worktree.
    """

    def __init__(self, repository: Repository, path: str) -> None:
        self._repository = repository
        self._path = path
        self._read: list[Version] = []
        self._rest = self._versions()
        self._sizes: dict[str, int] = {}
        self._head = ""

    def __iter__(self) -> Iterator[str]:
        index = 0
        while index < len(self._read) or self._more():
            yield self._read[index].text
            index += 1

    def name(self, index: int) -> str:
        """What to call the version of that index in messages."""
        return self._read[index].source.name

    def cause(self, index: int, old: str) -> str | None:
        """What took ``old`` away since the version of that index, for messages; None if unknown."""
        texts = {version.blob: version.text.replace("\r\n", "\n") for version in self._all()}
        since, wanted = self._since(self._read[index].blob), old.replace("\r\n", "\n")
        gone = (source for source, blob in since if wanted not in texts.get(blob, wanted))
        return next((source.cause for source in gone), None)

    def _since(self, wanted: str) -> list[tuple[VersionSource, str]]:
        """The checkpoints and records made since a version, oldest first."""
        events = self._history
        at = [place for place, (_, blob) in enumerate(events) if blob == wanted]
        if not at:
            at = [place for place, (source, _) in enumerate(events) if source.head != self._head]
        return events[: min(at, default=len(events))][::-1]

    def _all(self) -> list[Version]:
        while self._more():
            pass
        return self._read

    def _more(self) -> bool:
        version = next(self._rest, None)
        if version is not None:
            self._read.append(version)
        return version is not None

    def _versions(self) -> Iterator[Version]:
        if "\n" in self._path:
            # Git reads one name a line.
            return
        names = {"the index": f":0:{self._path}", "HEAD": f"HEAD:{self._path}"}
        tracked = self._located([VersionSource(name, object_) for name, object_ in names.items()])
        if len({blob for _, blob in tracked}) == 1:
            # What is committed is called HEAD.
            del tracked[:-1]
        yield from self._contents(tracked)
        yield from self._contents(self._history)

    @cached_property
    def _history(self) -> list[tuple[VersionSource, str]]:
        """The checkpoints and records of this worktree that hold the file, newest first."""
        return self._located([*self._sources()])

    def _sources(self) -> Iterator[VersionSource]:
        store = open_store(self._repository)
        refs = [*store.refs(CHECKPOINTS, newest=MOST), *store.refs(EDITS, newest=MOST)]
        refs = sorted(refs, key=lambda ref: ref.id, reverse=True)[:MOST]
        commits = store.commits(ref.target for ref in refs)
        for ref, commit in zip(refs, commits, strict=True):
            if commit is not None and self._is_ours(commit.message):
                yield from self._sources_of(ref, next(iter(commit.parents), ""))

    def _sources_of(self, ref: Ref, head: str) -> Iterator[VersionSource]:
        if ref.name.startswith(CHECKPOINTS):
            name = f"checkpoint {ref.id}"
            yield VersionSource(name, f"{ref.target}:{self._path}", f"first seen in {name}", head)
            return
        name = f"edit {ref.id}"
        yield VersionSource(name, f"{ref.target}:after/{self._path}", f"by {name}", head)
        before = f"{ref.target}:before/{self._path}"
        yield VersionSource(f"the state before {name}", before, f"before {name}", head)

    def _is_ours(self, message: str) -> bool:
        try:
            return Metadata.parse(message).worktree_key == self._repository.worktree_key
        except MetadataError:
            return False

    def _located(self, sources: Sequence[VersionSource]) -> list[tuple[VersionSource, str]]:
        """The sources that hold the file, each with its blob's id."""
        request = "".join(f"{source.object}\n" for source in sources) + "HEAD\n"
        output = self._git("--batch-check=%(objecttype) %(objectname) %(objectsize)", request)
        *rows, head = (row.split(" ") for row in os.fsdecode(output).split("\n")[:-1] or [""])
        self._head = head[1] if head[0] == "commit" else ""
        found = [
            (source, row)
            for source, row in zip(sources, rows, strict=False)
            if row[0] == "blob" and row[-1].isdigit()
        ]
        self._sizes.update((row[1], int(row[2])) for _, row in found)
        return [(source, row[1]) for source, row in found]

    def _contents(self, located: Iterable[tuple[VersionSource, str]]) -> Iterator[Version]:
        """The contents that were not read before, each once and within the bounds."""
        left = MOST_BYTES - sum(self._sizes[version.blob] for version in self._read)
        newest: dict[str, VersionSource] = {}
        known = {version.blob for version in self._read}
        for source, blob in located:
            fresh = blob not in known and blob not in newest
            if fresh and self._sizes[blob] <= left and len(known) + len(newest) < MOST:
                newest[blob] = source
                left -= self._sizes[blob]
        output = self._git("--batch", "".join(f"{blob}\n" for blob in newest)) if newest else b""
        for (blob, source), data in zip(
            newest.items(), batch_bodies(output, b"blob"), strict=False
        ):
            text = None if data is None else decode(data)
            if text is not None and not text.is_raw:
                yield Version(source, blob, text.text)

    def _git(self, how: str, request: str) -> bytes:
        # A partial clone must not fetch what nobody has asked for.
        with self._repository.bound(GIT_NO_LAZY_FETCH="1"):
            return self._repository.git.attempt("cat-file", how, stdin=os.fsencode(request)).stdout
