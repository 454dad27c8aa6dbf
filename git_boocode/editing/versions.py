"""Older versions of a file: those in the repository, and the base that an edit names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.editing.actions import (
    Create,
    Delete,
    Keep,
    Write,
    changed_since,
    merged_since,
)
from git_boocode.editing.edits import (
    DEFAULT_PROFILE,
    Edit,
    EditResult,
    MatchOptions,
    MissError,
)
from git_boocode.editing.formats.objects import read_it
from git_boocode.editing.kept_versions import abbreviated, version_of
from git_boocode.editing.textfile import FileText, decode
from git_boocode.editing.workspace import Workspace
from git_boocode.matching import MatchError
from git_boocode.matching.text import Text as Lines
from git_boocode.matching.three_way import Place, merge_edit
from git_boocode.repo.atomic_write import Target
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.files import MAX_BYTES, FileState
from git_boocode.repo.layout import CHECKPOINTS, EDITS
from git_boocode.repo.repository import Repository

MOST = 24  # maximum number of versions, and of checkpoints and records that are searched
MOST_BYTES = 8 * 1024 * 1024  # maximum total size of the versions
_AGAIN = "read the file again and make the edit for its current content"


class VersionSource(NamedTuple):
    """A source of a version: its name for messages, and git's name of the ``object``.

    A checkpoint or a record also has a ``cause``, a phrase for messages, and its HEAD commit.
    """

    name: str
    object: str
    cause: str = ""
    head: str = ""


class FileVersions:
    """Older versions of one file, from the index, HEAD, checkpoints and edit records.

    Iterating reads their texts, newest first. ``path`` is relative to the top of the worktree.
    """

    def __init__(self, repository: Repository, path: str) -> None:
        self._repository = repository
        self._path = path
        self._head = ""

    def __iter__(self) -> Iterator[str]:
        return (text for _, _, text in self._versions)

    def name(self, index: int) -> str:
        """The name of a version for messages, by its index."""
        return self._versions[index][0].name

    @property
    def contents(self) -> list[tuple[str, str]]:
        """The blob ids and the texts."""
        return [(blob, text) for _, blob, text in self._versions]

    def cause(self, index: int, old: str) -> str | None:
        """The cause of the removal of ``old`` since a version, for messages; None if unknown."""
        events = [(source, blob) for source, blob, _ in self._located if source.cause]
        version = self._versions[index][1]
        at = [place for place, (_, blob) in enumerate(events) if blob == version]
        at = at or [place for place, (source, _) in enumerate(events) if source.head != self._head]
        texts = {blob: text.replace("\r\n", "\n") for _, blob, text in self._versions}
        old = old.replace("\r\n", "\n")
        since = reversed(events[: min(at, default=len(events))])
        return next(
            (source.cause for source, blob in since if old not in texts.get(blob, old)), None
        )

    @cached_property
    def _versions(self) -> list[tuple[VersionSource, str, str]]:
        """The contents within the limits: the newest source, the blob id and the text of each."""
        left, newest = MOST_BYTES, dict[str, VersionSource]()
        for source, blob, size in self._located:
            if blob not in newest and size <= left and len(newest) < MOST:
                newest[blob] = source
                left -= size
            elif source.name == "HEAD" and blob in newest:
                newest[blob] = source  # in preference to the index
        found = zip(newest.items(), self._repository.store.blobs([*newest]), strict=True)
        texts = [(source, blob, decode(data)) for (blob, source), data in found if data is not None]
        return [(source, blob, text.text) for source, blob, text in texts if not text.is_raw]

    @cached_property
    def _located(self) -> list[tuple[VersionSource, str, int]]:
        """The sources that contain the file, newest first, with blob id and size."""
        if "\n" in self._path:  # git reads one name per line
            return []
        index = VersionSource("the index", f":0:{self._path}")
        sources = [index, VersionSource("HEAD", f"HEAD:{self._path}"), *self._history()]
        names = ["HEAD", *(source.object for source in sources)]
        head, *found = self._repository.store.lookup(names)
        self._head = head.id if head and head.kind == "commit" else ""
        return [
            (source, info.id, info.size)
            for source, info in zip(sources, found, strict=True)
            if info and info.kind == "blob"
        ]

    def _history(self) -> Iterator[VersionSource]:
        """The possible sources in checkpoints and records of this worktree, newest first."""
        for ref, commit in self._repository.store.newest(MOST, CHECKPOINTS, EDITS):
            try:
                key = Metadata.parse(commit.message).worktree_key
            except MetadataError:
                continue
            if key == self._repository.worktree_key:
                yield from self._sources(ref.name, commit.id, *commit.parents[:1])

    def _sources(self, ref: str, commit: str, head: str = "") -> Iterator[VersionSource]:
        if ref.startswith(CHECKPOINTS):
            name = f"checkpoint {ref.removeprefix(CHECKPOINTS)}"
            yield VersionSource(name, f"{commit}:{self._path}", f"first seen in {name}", head)
            return
        name = f"edit {ref.removeprefix(EDITS)}"
        yield VersionSource(name, f"{commit}:after/{self._path}", f"by {name}", head)
        before = f"{commit}:before/{self._path}"
        yield VersionSource(f"the state before {name}", before, f"before {name}", head)


def outdated_base(
    edit: Edit, target: Target, before: FileState | None, workspace: Workspace, profile: str
) -> FileText | None:
    """The version that an edit names as its base; None if the file still has that version.

    The bytes of the file have another id, but those that git would store for it may have that id.
    Raises MissError (`stale`) if the version is unknown, or if the action cannot be merged.
    """
    base = edit.base or ""
    if before is None:
        if not base.strip("0"):
            return None
        message = f"the file no longer exists; the edit is for version {base}"
        again = "send {path, content}" if edit.format == "lines" else "omit 'base'"
        hint = f"check whether it was renamed; to create it again, {again}"
        hint = workspace.missing_file(edit.path).hint or hint
        raise MissError("stale", message, hint=hint)
    whole = isinstance(edit.action, (Write, Create, Delete, Keep))
    by_lines = edit.format == "lines" and not whole
    clean = workspace.clean_blob_id(target.path, before.data)
    is_clean = clean is not None and clean.startswith(base)
    if is_clean and not by_lines:
        return None
    text = _find_blob(base, workspace)
    if is_clean and text is not None and _lf(text) == _lf(decode(before.data)):
        return None
    unmerged = text is None or (text.is_raw and not by_lines)
    if unmerged or whole or profile != DEFAULT_PROFILE:
        # An unknown version may never have been one of the file.
        what = "has changed" if text else "has another version"
        why = "" if text else ", which is not in the repository"
        if text and not whole and profile != DEFAULT_PROFILE:
            why = f"; the profile '{profile}' does not merge"
        now = version_of(before.data, workspace.repository)
        changed = f"the file {what}: it is {now}, but the edit is for {base}"
        hint = read_it(edit.path) if edit.format == "lines" else _AGAIN
        raise MissError("stale", changed + why, hint=hint)
    return text


def _lf(text: FileText) -> str:
    return text.text.replace("\r\n", "\n")


class OlderText(NamedTuple):
    """An older version of a file, its name, and the cause of the change since; for messages."""

    text: FileText
    name: str
    cause: str | None = None


def merged_outcome(
    edit: Edit, base: FileText, text: FileText, how: MatchOptions
) -> tuple[EditResult, FileText]:
    """Make an edit in an older version and merge it three-way into the file's text.

    Returns the result, and the older version after the edit, which is the base of the next edit.
    MissError if the merge conflicts or the old text is missing (`stale`), or `already_applied`.
    """
    shown = abbreviated(edit.base or "")
    try:
        made = edit.action.apply(base, how)
    except MissError as miss:
        message = f"the file has changed since {shown}, and in that version: {miss.message}"
        raise MissError("stale", message, hint=_AGAIN) from None
    rows = [(made.applied.start_line - 1, made.applied.end_line)]
    merged = merged_result(made, OlderText(base, shown), text, rows, proven=True)
    return merged, made.text or base


def merged_result(
    made: EditResult,
    older: OlderText,
    text: FileText,
    rows: Sequence[tuple[int, int]],
    *,
    proven: bool,
    places: Sequence[Place] | None = None,
) -> EditResult:
    """Merge an edit of some rows of an older version three-way into the text.

    It is ``proven`` if the edit is known to be for that version; ``places`` are its changes there
    if it names them by their lines. Raises MissError (`stale`, `already_applied`).
    """
    applied, base, edited = made.applied, older.text.text, (made.text or older.text).text
    try:
        content, now = merge_edit(
            Lines(text.text), base, edited, rows, proven=proven, places=places
        )
    except MatchError as error:
        near, message = error.candidates, error.message
        if error.code == "stale":
            message = changed_since(near, older.name, older.cause)
        lines = tuple(place.start_line for place in near)
        raise MissError(error.code, message, lines=lines, candidates=near) from None
    merged = applied._replace(
        kind="fuzzy",
        rung="merged",
        start_line=now[0][0] + 1,
        end_line=now[-1][1],
        notes=(merged_since(older.name), *applied.notes),
    )
    return made._replace(text=text._replace(text=content), applied=merged)


def _find_blob(base: str, workspace: Workspace) -> FileText | None:
    """The text of a blob, by its id or a unique prefix; None if it does not exist."""
    if workspace.repository is None:
        return None
    request, repository = os.fsencode(f"{base}^{{blob}}\n"), workspace.repository
    found = repository.git.attempt("cat-file", "--batch-check", stdin=request).stdout.split(b" ")
    sized = len(found) == 3 and found[1] == b"blob" and int(found[2]) <= MAX_BYTES
    if not sized or not found[0].startswith(os.fsencode(base)):
        return None
    (data,) = repository.store.blobs([os.fsdecode(found[0])])
    return None if data is None else decode(data)
