"""The host's own files that a callback edits, saved so that an undo can restore them.

They may be anywhere on disk. Therefore they are saved in the worktree's private directory, and
never read from a ref, which could come from a remote.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from git_boocode.repo.durable import (
    is_regular,
    read_private,
    read_private_json,
    remove,
    sync_directory,
    write_private,
)
from git_boocode.repo.errors import FatalError
from git_boocode.repo.repository import Repository

_DIRECTORY = "transcripts"
_NOTE = "note.json"
_LEFTOVER = ".boocode-"
_LARGEST = 16 << 20


class HostFile(NamedTuple):
    """A host file before and after it is written."""

    path: str  # absolute, symlinks resolved
    before: bytes | None  # None if the file did not exist
    after: bytes | None  # None if the file is deleted
    mode: int  # its permission bits
    leftovers: tuple[str, ...] = ()  # temporary files that a killed write could leave beside it


KeepOriginals = Callable[[Sequence[HostFile]], None]
"""Saves the original contents of files before they are written."""


class Editor(Protocol):
    """Writes files, all or none; after a BoocodeError, nothing was changed.

    `keep` is called with the planned changes before anything is written.
    """

    def edit(self, edits: object, base: str, keep: KeepOriginals) -> None:
        """Apply edits in any format that `apply-edit` reads, with paths relative to `base`."""

    def write(self, files: Sequence[HostFile], keep: KeepOriginals) -> None:
        """Write files whose content is still `before`."""


class ConversationFiles:
    """The host files that one operation writes.

    Paths in the worktree are stored relative to it, because it may be moved or copied. Without an
    editor, nothing can be written.
    """

    def __init__(
        self, repository: Repository, operation: str, editor: Callable[[], Editor] | None
    ) -> None:
        self._top = repository.worktree
        self._state_dir = repository.state_dir
        self._directory = _directory(repository.state_dir, operation)
        self._make_editor = editor
        self._written: dict[str, HostFile] = {}

    @property
    def paths(self) -> list[str]:
        """The files that were written."""
        return sorted(self._written)

    def edit(self, edits: object) -> None:
        """Apply a callback's edits, with paths relative to the top; see `Editor`."""
        self._editor.edit(edits, self._top, self._keep)

    def read(self, other: str) -> dict[str, bytes | None]:
        """The current contents of the files of another operation, by path."""
        return {file.path: _read(file.path) for file in self._saved(other)}

    def as_left(self) -> set[str]:
        """The paths, relative to the top, of the files that are as the operation left them."""
        top, saved = os.path.join(self._top, ""), _load(self._directory, self._top)
        unchanged = (file.path for file in saved if _read(file.path) == file.after)
        return {path.removeprefix(top) for path in unchanged if path.startswith(top)}

    def revert(self, other: str, seen: Mapping[str, bytes | None], *, unchanged: bool) -> None:
        """Restore the files from before another operation, all or none on a BoocodeError.

        `seen` is the result of `read` before the callback ran: a file that the callback itself has
        changed since is kept. With `unchanged`, so is a file that was changed after that operation,
        other than by the edits of the current one.
        """
        files = []
        for file in self._saved(other):
            _remove_leftovers(file)
            expected = seen.get(file.path)
            if unchanged and expected != file.after:
                continue
            current = _read(file.path)
            edited = self._written.get(file.path) if unchanged else None
            # Nothing else has written it since.
            if current == (edited.after if edited else expected) and current != file.before:
                files.append(file._replace(before=current, after=file.before, leftovers=()))
        if files:
            self._editor.write(files, self._keep)

    def roll_back(self) -> None:
        """Restore all files from before this operation.

        BoocodeError if a file cannot be written or another program changed it; its original content
        stays saved.
        """
        files = []
        for file in self._written.values():
            current = _read(file.path)
            if current not in (file.before, file.after):
                raise FatalError(
                    f"another program changed '{file.path}' meanwhile; its original content is in "
                    f"'{self._directory}'",
                    code="conflict",
                )
            if current != file.before:
                files.append(file._replace(before=current, after=file.before))
        if files:
            self._editor.write(files, lambda _: None)
        self._written.clear()
        with suppress(OSError):
            remove(self._directory)

    @property
    def _editor(self) -> Editor:
        if self._make_editor is None:
            raise FatalError("edits of the host's files are not supported here", code="callback")
        return self._make_editor()

    def _keep(self, files: Sequence[HostFile]) -> None:
        for file in files:
            earlier = self._written.get(file.path, file)
            self._written[file.path] = file._replace(before=earlier.before)
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        top = os.path.join(self._top, "")
        rows = [
            {
                "path": file.path.removeprefix(top),
                "mode": file.mode,
                "leftovers": [path.removeprefix(top) for path in file.leftovers],
                "before": self._store(file.before),
                "after": self._store(file.after),
            }
            for file in self._written.values()
        ]
        note = json.dumps({"files": rows}).encode("ascii")
        write_private(os.path.join(self._directory, _NOTE), note)
        sync_directory(self._directory)
        sync_directory(os.path.dirname(self._directory))

    def _store(self, content: bytes | None) -> str | None:
        """Save a content under its hash; returns the hash."""
        if content is None:
            return None
        import hashlib

        name = hashlib.sha256(content).hexdigest()
        path = os.path.join(self._directory, name)
        if not is_regular(path):
            write_private(path, content)
        return name

    def _saved(self, other: str) -> list[HostFile]:
        return _load(_directory(self._state_dir, other), self._top)


def operations_with_files(state_dir: str) -> list[str]:
    """The ids of the operations for which host files are saved."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(os.path.join(state_dir, _DIRECTORY))
    return []


def damaged_files(state_dir: str) -> list[str]:
    """The directories of operations whose saved files cannot be read."""
    damaged = []
    for operation in operations_with_files(state_dir):
        directory = _directory(state_dir, operation)
        try:
            _load(directory, "")
        except FatalError:
            damaged.append(directory)
    return damaged


def forget_files(state_dir: str, operation: str) -> None:
    """Delete the saved files of an operation that can no longer be undone."""
    with suppress(OSError):
        remove(_directory(state_dir, operation))


def _directory(state_dir: str, operation: str) -> str:
    return os.path.join(state_dir, _DIRECTORY, operation)


def _load(directory: str, top: str) -> list[HostFile]:
    path = os.path.join(directory, _NOTE)
    if not os.path.lexists(path):
        return []
    try:
        note: Any = read_private_json(path, largest=_LARGEST)
        return [_parsed(directory, top, row) for row in note["files"]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FatalError(
            f"cannot read the saved host files in '{directory}': {error}",
            code="unreadable",
            hints=("--files-only restores without them",),
        ) from None


def _parsed(directory: str, top: str, row: Mapping[str, object]) -> HostFile:
    mode, leftovers = row["mode"], row["leftovers"]
    if not isinstance(leftovers, list) or not isinstance(mode, int):
        raise TypeError("the note is malformed")
    before, after = (_content(directory, row[side]) for side in ("before", "after"))
    path, *beside = (os.path.join(top, str(each)) for each in (row["path"], *leftovers))
    return HostFile(path, before, after, mode, tuple(beside))


def _content(directory: str, name: object) -> bytes | None:
    if name is None:
        return None
    content = read_private(os.path.join(directory, os.path.basename(str(name))), largest=None)
    if content is None:
        raise ValueError(f"'{name}' is missing")
    return content


def _read(path: str) -> bytes | None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _remove_leftovers(file: HostFile) -> None:
    for path in file.leftovers:
        if _LEFTOVER in os.path.basename(path):
            with suppress(OSError):
                os.unlink(path)
