"""The host's own files that a callback asks to edit, kept so that they can come back.

They may lie anywhere, so what is known of them stays in the worktree's private directory and is
never read from a ref, which could come from elsewhere.
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
    """A file and what becomes of it."""

    path: str  # absolute, symlinks resolved
    before: bytes | None  # None if there was no file
    after: bytes | None  # None if there is no file then
    mode: int  # its permission bits
    leftovers: tuple[str, ...] = ()  # files that a kill could leave beside it


KeepOriginals = Callable[[Sequence[HostFile]], None]
"""Keeps what files were before they are written; nothing has been touched yet."""


class Editor(Protocol):
    """What can write files, all of them or none; on a BoocodeError, nothing was changed.

    `keep` is called before anything is touched, with what is about to happen.
    """

    def edit(self, edits: object, base: str, keep: KeepOriginals) -> None:
        """Apply edits in any format that `apply-edit` reads, with paths relative to `base`."""

    def write(self, files: Sequence[HostFile], keep: KeepOriginals) -> None:
        """Write files that still are what they were."""


class ConversationFiles:
    """The files that one operation writes for the host.

    Those in the worktree are noted relative to it, as it may be moved or copied. Without an editor,
    nothing can be written.
    """

    def __init__(
        self, repository: Repository, operation: str, editor: Callable[[], Editor] | None
    ) -> None:
        self._top = repository.worktree
        self._state_dir = repository.state_dir
        self._directory = _directory(repository.state_dir, operation)
        self._given_editor = editor
        self._written: dict[str, HostFile] = {}

    @property
    def paths(self) -> list[str]:
        """The files that were written."""
        return sorted(self._written)

    def edit(self, edits: object) -> None:
        """Apply what a callback asks for; paths count from the top. See `Editor`."""
        self._editor.edit(edits, self._top, self._keep)

    def read(self, other: str) -> dict[str, bytes | None]:
        """What the files of another operation hold now, by path."""
        return {file.path: _read(file.path) for file in self._kept(other)}

    def revert(self, other: str, seen: Mapping[str, bytes | None], *, unchanged: bool) -> None:
        """Make files what they were before another operation; on a BoocodeError, none changes.

        `seen` is what `look` found before the callback ran: what the callback has changed itself
        since stays. `unchanged` leaves those alone, too, that changed after that operation; but not
        what the callback's edits have made since.
        """
        files = []
        for file in self._kept(other):
            _remove_leftovers(file)
            now = seen.get(file.path)
            if unchanged and now != file.after:
                continue
            here = _read(file.path)
            edited = self._written.get(file.path) if unchanged else None
            # Nobody else has written it since.
            if here == (edited.after if edited else now) and here != file.before:
                files.append(file._replace(before=here, after=file.before, leftovers=()))
        if files:
            self._editor.write(files, self._keep)

    def roll_back(self) -> None:
        """Make all files what they were before this operation.

        On a BoocodeError, one could not be written, or is something else by now; what it was before
        stays kept.
        """
        files = []
        for file in self._written.values():
            here = _read(file.path)
            if here not in (file.before, file.after):
                raise FatalError(
                    f"another program changed '{file.path}' meanwhile; what it was before is kept "
                    f"in '{self._directory}'",
                    code="conflict",
                )
            if here != file.before:
                files.append(file._replace(before=here, after=file.before))
        if files:
            self._editor.write(files, lambda _: None)
        self._written.clear()
        with suppress(OSError):
            remove(self._directory)

    @property
    def _editor(self) -> Editor:
        if self._given_editor is None:
            raise FatalError("edits of the host's files are not supported here", code="callback")
        return self._given_editor()

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
        """Keep a content under its hash; returns the hash."""
        if content is None:
            return None
        import hashlib

        name = hashlib.sha256(content).hexdigest()
        path = os.path.join(self._directory, name)
        if not is_regular(path):
            write_private(path, content)
        return name

    def _kept(self, other: str) -> list[HostFile]:
        return _load(_directory(self._state_dir, other), self._top)


def operations_with_files(state_dir: str) -> list[str]:
    """The ids of the operations for which files are kept."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(os.path.join(state_dir, _DIRECTORY))
    return []


def damaged_files(state_dir: str) -> list[str]:
    """The directories of operations for which nothing that is kept can be read."""
    damaged = []
    for operation in operations_with_files(state_dir):
        directory = _directory(state_dir, operation)
        try:
            _load(directory, "")
        except FatalError:
            damaged.append(directory)
    return damaged


def forget_files(state_dir: str, operation: str) -> None:
    """Drop what was kept for an operation that cannot be undone any more."""
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
            f"cannot read what is kept of the host's files in '{directory}': {error}",
            code="unreadable",
            hints=("--files-only restores without it",),
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
