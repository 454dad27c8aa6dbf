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

_DIRECTORY = "transcripts"
_NOTE = "note.json"
_LEFTOVER = ".boocode-"
_LARGEST = 16 << 20


class Written(NamedTuple):
    """A file and what becomes of it.

    Attributes:
        path: where it is: absolute, symlinks resolved.
        before: its bytes before; None if there was no file.
        after: its bytes afterwards; None if there is no file then.
        mode: its permission bits.
        leftovers: files that a kill could leave beside it.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int
    leftovers: tuple[str, ...] = ()


Keep = Callable[[Sequence[Written]], None]
"""Keeps what files were before they are written; nothing has been touched yet."""


class Editor(Protocol):
    """What can write files, all of them or none."""

    def edit(self, edits: object, base: str, keep: Keep) -> None:
        """Apply edits in any format that `apply-edit` reads.

        Args:
            edits: the edits, as JSON.
            base: the directory that relative paths count from.
            keep: called before anything is touched, with what is about to happen.

        Raises:
            BoocodeError: they cannot be applied; nothing was changed.
        """

    def write(self, files: Sequence[Written], keep: Keep) -> None:
        """Write files that still are what they were.

        Args:
            files: the files.
            keep: called before anything is touched.

        Raises:
            BoocodeError: one of them cannot be written, or is something else by now; nothing was
                changed.
        """


class Transcripts:
    """The files that one operation writes for the host.

    Args:
        top: the top of the worktree. Files in it are noted relative to it, as it may be moved or
            copied.
        state_dir: the worktree's private directory.
        operation: the id of the operation.
        editor: what writes them; None where nothing can.
    """

    def __init__(self, top: str, state_dir: str, operation: str, editor: Editor | None) -> None:
        self._top = top
        self._state_dir = state_dir
        self._operation = operation
        self._editor = editor
        self._written: dict[str, Written] = {}

    @property
    def paths(self) -> list[str]:
        """The files that were written."""
        return sorted(self._written)

    def edit(self, edits: object, base: str) -> None:
        """Apply what a callback asks for; see `Editor.edit`.

        Raises:
            BoocodeError: nothing was changed.
        """
        self._able().edit(edits, base, self._keep)

    def look(self, other: str) -> dict[str, bytes | None]:
        """What the files of another operation hold now, by path."""
        return {file.path: _read(file.path) for file in self._kept(other)}

    def put_back(self, other: str, seen: Mapping[str, bytes | None], *, unchanged: bool) -> None:
        """Make files what they were before another operation.

        Args:
            other: the id of that operation.
            seen: what they held before the callback was told; what it has changed itself since,
                it has seen to.
            unchanged: leave those alone, too, that changed after that operation; but not what the
                callback's edits have made since.

        Raises:
            BoocodeError: nothing was changed.
        """
        files = []
        for file in self._kept(other):
            _remove_leftovers(file)
            now = seen.get(file.path)
            if unchanged and now != file.after:
                continue
            here = _read(file.path)
            if self._is_settled(file.path, here, now, mine=unchanged) and here != file.before:
                files.append(file._replace(before=here, after=file.before, leftovers=()))
        if files:
            self._able().write(files, self._keep)

    def take_back(self) -> None:
        """Make all files what they were before this operation.

        Raises:
            BoocodeError: one of them could not be written, or is something else by now; what it
                was before stays kept.
        """
        files = []
        for file in self._written.values():
            here = _read(file.path)
            if here not in (file.before, file.after):
                raise FatalError(
                    f"'{file.path}' was changed by another program meanwhile; what it was before "
                    f"is kept in '{_directory(self._state_dir, self._operation)}'",
                    code="conflict",
                )
            if here != file.before:
                files.append(file._replace(before=here, after=file.before))
        if files:
            self._able().write(files, lambda _: None)
        self.forget()

    def forget(self) -> None:
        """Drop what was kept."""
        self._written.clear()
        forget_files(self._state_dir, self._operation)

    def _is_settled(self, path: str, here: bytes | None, seen: bytes | None, *, mine: bool) -> bool:
        """Whether nobody else has written a file: it is what was seen, or what our edits made."""
        edited = self._written.get(path) if mine else None
        return here == (edited.after if edited else seen)

    def _able(self) -> Editor:
        if self._editor is None:
            raise FatalError("there is nothing here that could edit files", code="callback")
        return self._editor

    def _keep(self, files: Sequence[Written]) -> None:
        for file in files:
            earlier = self._written.get(file.path)
            self._written[file.path] = file._replace(before=earlier.before) if earlier else file
        files = [_moved(file, self._below) for file in self._written.values()]
        _store(_directory(self._state_dir, self._operation), files)

    def _kept(self, operation: str) -> list[Written]:
        kept = _kept(_directory(self._state_dir, operation))
        return [_moved(file, lambda path: os.path.join(self._top, path)) for file in kept]

    def _below(self, path: str) -> str:
        inside = path.startswith(os.path.join(self._top, ""))
        return os.path.relpath(path, self._top) if inside else path


def _moved(file: Written, name: Callable[[str], str]) -> Written:
    return file._replace(path=name(file.path), leftovers=tuple(map(name, file.leftovers)))


def operations_with_files(state_dir: str) -> list[str]:
    """The ids of the operations for which files are kept.

    Args:
        state_dir: the worktree's private directory.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(os.path.join(state_dir, _DIRECTORY))
    return []


def damaged_files(state_dir: str) -> list[str]:
    """The directories of operations for which nothing that is kept can be read.

    Args:
        state_dir: the worktree's private directory.
    """
    damaged = []
    for operation in operations_with_files(state_dir):
        directory = _directory(state_dir, operation)
        try:
            _kept(directory)
        except FatalError:
            damaged.append(directory)
    return damaged


def forget_files(state_dir: str, operation: str) -> None:
    """Drop what was kept for an operation that cannot be undone any more.

    Args:
        state_dir: the worktree's private directory.
        operation: its id.
    """
    with suppress(OSError):
        remove(_directory(state_dir, operation))


def _directory(state_dir: str, operation: str) -> str:
    return os.path.join(state_dir, _DIRECTORY, operation)


def _store(directory: str, files: list[Written]) -> None:
    os.makedirs(directory, mode=0o700, exist_ok=True)
    rows = [_row(directory, file) for file in files]
    write_private(os.path.join(directory, _NOTE), json.dumps({"files": rows}).encode("ascii"))
    sync_directory(directory)
    sync_directory(os.path.dirname(directory))


def _row(directory: str, file: Written) -> dict[str, object]:
    return {
        "path": file.path,
        "mode": file.mode,
        "leftovers": file.leftovers,
        "before": _store_content(directory, file.before),
        "after": _store_content(directory, file.after),
    }


def _store_content(directory: str, content: bytes | None) -> str | None:
    """Keep a content under its hash, which is given back."""
    if content is None:
        return None
    import hashlib

    name = hashlib.sha256(content).hexdigest()
    path = os.path.join(directory, name)
    if not is_regular(path):
        write_private(path, content)
    return name


def _kept(directory: str) -> list[Written]:
    path = os.path.join(directory, _NOTE)
    if not os.path.lexists(path):
        return []
    try:
        note: Any = read_private_json(path, largest=_LARGEST)
        return [_parsed(directory, row) for row in note["files"]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FatalError(
            f"what is kept of the host's files in '{directory}' cannot be read: {error}",
            code="unreadable",
            hints=("--files-only does without it",),
        ) from None


def _parsed(directory: str, row: Mapping[str, object]) -> Written:
    before, after = (
        None if (name := row[side]) is None else _stored(directory, str(name))
        for side in ("before", "after")
    )
    leftovers = row["leftovers"]
    if not isinstance(leftovers, list) or not isinstance(mode := row["mode"], int):
        raise TypeError("it is malformed")
    return Written(str(row["path"]), before, after, mode, tuple(map(str, leftovers)))


def _stored(directory: str, name: str) -> bytes:
    content = read_private(os.path.join(directory, os.path.basename(name)), largest=None)
    if content is None:
        raise ValueError(f"'{name}' is missing")
    return content


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _read(path: str) -> bytes | None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        return _content(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _remove_leftovers(file: Written) -> None:
    for path in file.leftovers:
        if _LEFTOVER in os.path.basename(path):
            with suppress(OSError):
                os.unlink(path)
