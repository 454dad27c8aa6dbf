"""Restore parts of files: hunks of the change from a file as it is now to that of a checkpoint.

Files are compared in the form that they have on disk. A file that has no hunks, because it is
created, deleted, binary or a symbolic link, is restored as a whole; so is a mode. The staging area
stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.exact import read_exact, with_blobs
from git_boocode.checkpoints.restore.request import (
    RESTORE,
    RestoreRequest,
    TurnStep,
    WantedFile,
    WantedPaths,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.restore.target import find_target
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint
from git_boocode.checkpoints.worktree.indexer import may_convert
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.editing.text_changes import (
    TextHunk,
    check_numbers,
    is_binary,
    spliced,
    text_hunks,
    unified_diff,
    without_hunk,
)
from git_boocode.editing.textfile import RAW, FileText, decode
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import tree_path
from git_boocode.proposals.proposal import BlobVersion, NewVersion
from git_boocode.repo.entries import MetadataError
from git_boocode.repo.errors import (
    NextStep,
    RefusedError,
    UsageError,
    shell_command,
)
from git_boocode.repo.files import MAX_BYTES
from git_boocode.repo.object_writer import DIRECTORY, NO_FILE, REGULAR, SYMLINK, object_id
from git_boocode.repo.repository import Repository
from git_boocode.workflows.disk_form import DiskFile, files_now, files_of, unreadable, wanted_file
from git_boocode.workflows.restore_with_edits import restore_host

WHOLE = 0
"""The number of what is no hunk: the mode of a file, or all of a file that has no hunks."""
LISTED = 20  # files of which a dry run lists the hunks
_FILES = REGULAR | {SYMLINK}
_Value = TypeVar("_Value")
_File = TypeVar("_File", "ChangedFile", Change)

Numbers = Mapping[str, Collection[int]]
"""The numbers of hunks by path, relative to the top."""


class ChangedFile:
    """A file as it is now and as it is in a checkpoint; None for no file."""

    def __init__(
        self,
        path: str,
        now: DiskFile | None,
        then: DiskFile | None,
        raw: str,
        command: str = RESTORE,
    ) -> None:
        self.path = path
        self.now = now
        self.then = then
        self._raw = raw  # the blob with the exact bytes of `then`; empty if git writes them
        self._command = command

    @property
    def is_same(self) -> bool:
        """Whether there is nothing to restore."""
        sides = [side and (side.mode, side.data) for side in (self.now, self.then)]
        return sides[0] == sides[1]

    @property
    def version(self) -> str:
        """What differs if either file does."""
        text = repr([side and (side.mode, side.data) for side in (self.now, self.then)])
        return object_id("sha1", b"blob", text.encode())

    @cached_property
    def why_whole(self) -> str:
        """Why it has no hunks; empty if it has."""
        if self.now is None or self.then is None:
            does = "create" if self.now is None else "delete"
            return f"the {self._command} would {does} it"
        if not REGULAR.issuperset((self.now.mode, self.then.mode)):
            return "it is a symbolic link"
        if self.now.data == self.then.data:
            return "only its mode differs"
        return "" if self._texts else "it is binary, or its encoding changes"

    @cached_property
    def _texts(self) -> tuple[FileText, FileText] | None:
        """Both texts, which encode to the same bytes; None for a binary file."""
        assert self.now is not None
        assert self.then is not None
        old, new = decode(self.now.data), decode(self.then.data)
        if not (old.codec == new.codec and old.codec.startswith("utf-16")):
            # A byte order mark is a part of the first line, and so is a byte that is no text.
            old, new = (
                FileText(side.data.decode("utf-8", "surrogateescape"), RAW)
                for side in (self.now, self.then)
            )
        return None if is_binary(old) or is_binary(new) else (old, new)

    @cached_property
    def hunks(self) -> list[TextHunk]:
        """The hunks from the file as it is now to that of the checkpoint."""
        if self.why_whole or self._texts is None:
            return []
        old, new = self._texts
        return text_hunks(old.text, new.text)

    @property
    def numbers(self) -> list[int]:
        """What can be chosen of it; WHOLE for its mode or, alone, for all of it."""
        numbers = [hunk.number for hunk in self.hunks]
        return [WHOLE, *numbers] if self._changes_mode or not numbers else numbers

    @property
    def _changes_mode(self) -> bool:
        return self.now is not None and self.then is not None and self.now.mode != self.then.mode

    def diff(self, number: int) -> str:
        """The diff of one of its `numbers`."""
        if number == WHOLE:
            before, after = (side.mode if side else NO_FILE for side in (self.now, self.then))
            modes = before, after
            if self.hunks:
                return unified_diff(self.path, FileText(""), FileText(""), None, modes)
            old, new = (side and decode(side.data) for side in (self.now, self.then))
            return unified_diff(self.path, old, new, None, modes)
        assert self._texts is not None
        old, _ = self._texts
        text = spliced(old.text, [self.hunks[number - 1]])
        return unified_diff(self.path, old, old._replace(text=text))

    def check(self, numbers: Collection[int]) -> None:
        """Refuse numbers that are not among its own."""
        if self.hunks:
            check_numbers(self.path, self.hunks, {*numbers} - {WHOLE}, "dry_run")
        elif {*numbers} != {WHOLE}:
            raise RefusedError(
                f"'{self.path}' has no hunks: {self.why_whole}",
                code="invalid_input",
                hints=(without_hunk(f"{self._command} the whole file"),),
            )

    def check_version(self, seen: str) -> None:
        """Refuse what is not as it was seen (`conflict`); empty if nobody has looked at it."""
        if seen not in ("", self.version):
            raise RefusedError(
                f"'{self.path}' has changed since you looked at it",
                code="conflict",
                hints=(
                    NextStep(
                        "nothing was changed; look at it again with {}",
                        "dry_run",
                        given={"dry_run": True, "hunk": None, "expect": None},
                    ),
                ),
            )

    def with_parts(self, numbers: Collection[int]) -> bytes | None:
        """The bytes of the file with some parts of the other one's; None for no file."""
        if self.now is None or self.then is None or not self.hunks or self._texts is None:
            return self.then and self.then.data
        old, _ = self._texts
        chosen = (hunk for hunk in self.hunks if hunk.number in numbers)
        return old._replace(text=spliced(old.text, chosen)).encode()

    def wanted(
        self, repository: Repository, snapshot: Snapshot, numbers: Collection[int]
    ) -> WantedFile:
        """The file with some parts of the checkpoint's."""
        data, then, now = self.with_parts(numbers), self.then, self.now
        if data is None or then is None:
            return WantedFile(self.path, "")
        if now is None or not self.hunks:
            return WantedFile(self.path, then.mode, then.id, self._raw)
        mode = then.mode if WHOLE in numbers else now.mode
        if data == then.data:
            return WantedFile(self.path, mode, then.id, self._raw)
        return wanted_file(repository, snapshot, self.path, NewVersion(mode, data), now)

    def as_json(self) -> dict[str, object]:
        """The keys of a dry run's answer."""
        return {"version": self.version, "hunks": [hunk._asdict() for hunk in self.hunks]}

    def parts_json(self) -> dict[str, object]:
        """All that can be chosen of it, with its diffs."""
        parts = [{"number": number, "diff": self.diff(number)} for number in self.numbers]
        return {"path": self.path, "version": self.version, "parts": parts}


def differences(repository: Repository, name: str, request: RestoreRequest) -> RestoreResult:
    """What a restore of the files would change; errors as `restore`."""
    look = request._replace(dry_run=True, conversation=False, diff=False)
    return commands.restore(repository, name, look, restore_host(repository))


def changed_file(repository: Repository, checkpoint: Checkpoint, change: Change) -> ChangedFile:
    """A file of the differences from a checkpoint, with its texts."""
    now = None if change.action == "create" else BlobVersion(change.old_mode, change.old_id)
    then = None if change.action == "delete" else BlobVersion(change.mode, change.id)
    return _FileReader(repository, checkpoint).read(change.path, now, then)


def from_top(repository: Repository, values: Mapping[str, _Value]) -> dict[str, _Value]:
    """Values by path from the caller's directory, by path relative to the top.

    RefusedError (`outside_worktree`) if a path is not in the worktree.
    """
    workspace = Workspace(repository.worktree, repository.prefix, repository)
    return {tree_path(workspace, path): value for path, value in values.items()}


def files_to_choose(
    repository: Repository, name: str, paths: Collection[str], *, after: bool = False
) -> tuple[list[ChangedFile], tuple[str, ...]]:
    """The files at some paths from the top that differ from a checkpoint, or the end of its turn.

    Also why others were left alone. RefusedError (`not_found`) if none differs, or as `restore`.
    """
    found = differences(repository, name, RestoreRequest(only=frozenset(paths), after=after))
    files = [changed_file(repository, found.checkpoint, change) for change in found.changed]
    files = [file for file in files if not file.is_same]
    if not files:
        raise _nothing_differs(found)
    return files, found_hints(found)


def _nothing_differs(found: RestoreResult) -> RefusedError:
    message = "nothing of it differs from the checkpoint"
    return RefusedError(message, code="not_found", hints=found_hints(found))


def with_listed_hunks(
    repository: Repository, result: RestoreResult, request: RestoreRequest
) -> RestoreResult:
    """A dry run of some paths with the hunks of modified files, if these are few."""
    if not (request.dry_run and request.paths):
        return result
    reader, parts = _FileReader(repository, result.checkpoint), dict[str, dict[str, object]]()
    modified = [change for change in result.changed if change.action == "modify"]
    for change in modified if len(modified) <= LISTED else ():
        if REGULAR.issuperset((change.old_mode, change.mode)):
            now, then = (change.old_mode, change.old_id), (change.mode, change.id)
            file = reader.read(change.path, BlobVersion(*now), BlobVersion(*then))
            parts[change.path] = file.as_json()
    return replace(result, parts=parts)


def restore_hunks(
    repository: Repository,
    name: str,
    request: RestoreRequest,
    numbers: Collection[int],
    expect: str = "",
) -> RestoreResult:
    """Restore hunks of the only changed file that the paths of a request match.

    UsageError if they match several; else as `restore_parts`.
    """
    found = differences(repository, name, request)
    if not found.changed:
        raise _nothing_differs(found)
    change = only_file(repository, (RESTORE, name), found.changed, numbers)
    version = expect or changed_file(repository, found.checkpoint, change).version
    parts = {change.path: numbers}, {change.path: version}
    return restore_parts(repository, name_of(found), request, *parts)


def name_of(found: RestoreResult) -> str:
    """What names the same state in another request like that of a result."""
    return found.checkpoint.id if found.after else found.checkpoint.commit.id


def only_file(
    repository: Repository, command: Sequence[str], files: Sequence[_File], numbers: Collection[int]
) -> _File:
    """The only one of some files that hunks are of; UsageError if there are more.

    `command` are words of the command line, for the hint.
    """
    if len(files) > 1:
        path = os.path.relpath(files[0].path, repository.prefix or ".")
        words = ("git", "boocode", *command, "--hunk", str(min(numbers)), "--", path)
        hint = NextStep("name one file: {}", "paths", path, typed=shell_command(*words))
        raise UsageError("--hunk takes hunks of one file", hints=(hint,))
    return files[0]


def found_hints(found: RestoreResult) -> tuple[str, ...]:
    """The paths that were left alone, as hints."""
    return tuple(f"left alone: '{kept.path}': {kept.reason}" for kept in found.kept[:3])


def restore_parts(
    repository: Repository,
    name: str,
    request: RestoreRequest,
    hunks: Numbers,
    versions: Mapping[str, str] = MappingProxyType({}),
) -> RestoreResult:
    """Restore parts of some files, by their numbers; the paths of the request do not matter.

    `versions` are the `ChangedFile.version` of files when their hunks were looked at.

    Raises:
        RefusedError: nothing was changed: a file has no such hunk (`not_found`) or none at all
            (`invalid_input`), it is not what was looked at (`conflict`), or as `restore`.
        FatalError: as `restore`.
    """
    checkpoint = find_target(Catalog(repository), name, after=request.after).files
    commands.refuse_foreign(repository, checkpoint, request)

    def make(snapshot: Snapshot) -> WantedPaths:
        files = _files_of(repository, checkpoint, snapshot, sorted(hunks))
        for file in files:
            if file.is_same:
                raise RefusedError(f"'{file.path}' is as in the checkpoint", code="not_found")
            file.check_version(versions.get(file.path, ""))
            file.check(hunks[file.path])
        wanted = (file.wanted(repository, snapshot, hunks[file.path]) for file in files)
        return WantedPaths([*wanted])

    step = TurnStep(RESTORE, (checkpoint.id,), whole=False)
    request = request._replace(paths=(), head=None, callback=None)
    result = commands.change_paths(repository, step, make, request, restore_host(repository))
    return replace(result, checkpoint=checkpoint)


def _files_of(
    repository: Repository, checkpoint: Checkpoint, snapshot: Snapshot, paths: Collection[str]
) -> list[ChangedFile]:
    """Some files as a snapshot has them, and as a checkpoint does."""
    index = {entry.path: entry for entry in snapshot.disk_index.entries_of(paths)}
    tree = repository.store.tree(checkpoint.tree, [*paths])
    reader, files = _FileReader(repository, checkpoint), []
    for path in paths:
        now, then = (
            # Where the other side has a file, a directory is none.
            BlobVersion(entry.mode, entry.id) if entry and entry.mode != DIRECTORY else None
            for entry in (index.get(path), tree.get(path))
        )
        versions = {*filter(None, (now, then))}
        if not versions or any(version.mode not in _FILES for version in versions):
            what = "a submodule or a nested repository" if versions else "no file"
            raise RefusedError(
                f"'{path}' is {what}, here or in the checkpoint",
                code="not_found",
                hints=("name a file that the restore would change",),
            )
        files.append(reader.read(path, now, then))
    return files


class _FileReader:
    """Reads files as they are on disk, and as a restore of a checkpoint would write them."""

    def __init__(self, repository: Repository, checkpoint: Checkpoint) -> None:
        self._repository = repository
        try:
            # Those of a fetched checkpoint are not trusted.
            self._exact = {} if checkpoint.remote else read_exact(repository, checkpoint.meta)
        except MetadataError as error:
            raise Catalog(repository).unusable(checkpoint.id, error) from error

    def read(self, path: str, now: BlobVersion | None, then: BlobVersion | None) -> ChangedFile:
        """A file; its versions are those of the trees."""
        repository, raw = self._repository, ""
        if then is not None and path in self._exact:
            convert = may_convert(repository, [path])
            raw = with_blobs({path: self._exact[path]}, {path: then.id}, convert=convert)[path].blob
        if self._is_large(path, now, then):
            # It is restored as a whole, so that its bytes do not matter.
            here, there = (
                side and DiskFile(side.mode, side.id, f"\0{side.id}".encode())
                for side in (now, then)
            )
            return ChangedFile(path, here, there, raw)
        here = files_now(repository, [(path, now)])[path] if now else None
        if then is None:
            return ChangedFile(path, here, None, "")
        if not raw:
            there = files_of(repository, [(path, then)])[path]
            return ChangedFile(path, here, there, "")
        [data] = repository.store.blobs([raw])
        if data is None:
            raise unreadable(path, raw)
        return ChangedFile(path, here, DiskFile(then.mode, then.id, data), raw)

    def _is_large(self, path: str, now: BlobVersion | None, then: BlobVersion | None) -> bool:
        """Whether either side is too large for matching."""
        repository, size = self._repository, 0
        if then:
            [found] = repository.store.lookup([then.id])
            size = found.size if found else 0
        if now:
            with suppress(OSError):
                size = max(size, os.lstat(os.path.join(repository.worktree, path)).st_size)
        return size > MAX_BYTES
