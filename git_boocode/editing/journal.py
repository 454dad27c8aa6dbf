"""A note of the files that are being written, so that a kill halfway can be mended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.editing.write import Step
from git_boocode.repo.errors import FatalError
from git_boocode.repo.ids import ID
from git_boocode.repo.private import read_private, remove, write_private
from git_boocode.repo.scratch import EDIT_NOTE

if TYPE_CHECKING:
    from git_boocode.editing.record import Record
    from git_boocode.repo.repository import Repository

_DAMAGED = "damaged"
_LARGEST = 64 << 20


class NotedFile(NamedTuple):
    """One file of a call that was being written.

    All paths are absolute here and relative to the worktree on disk, which may be moved or copied.

    Attributes:
        path: from the top of the worktree, symlinks as given; the one that stays relative.
        real: where it is.
        spelling: the name it was to get, where the file system takes that for the same one.
        staged: where its new content waited.
        backup: where its old content was kept.
        before: the hash of its old content, None if there was no file.
        after: the hash of its new content, None if there was to be no file.
    """

    path: str
    real: str
    spelling: str | None
    staged: str | None
    backup: str | None
    before: str | None
    after: str | None


class Note(NamedTuple):
    """What was going on.

    Attributes:
        record: the id of the call's record, None if there is none.
        files: the files, in the order in which they were written.
        made: the directories that were missing, outermost first.
    """

    record: str | None
    files: tuple[NotedFile, ...]
    made: tuple[str, ...]


def fingerprint(data: bytes | None) -> str | None:
    """The hash by which a note knows a content; None for no file."""
    import hashlib

    return None if data is None else hashlib.sha256(data).hexdigest()


class EditJournal:
    """The journal of one call; see `write.Journal`.

    Args:
        repository: whose worktree is edited.
        record: keeps the old contents in git, or None.
    """

    def __init__(self, repository: Repository, record: Record | None) -> None:
        self._path = os.path.join(repository.state_dir, EDIT_NOTE)
        self._top = repository.worktree
        self._record = record

    def begin(self, steps: Sequence[Step], made: Sequence[str]) -> None:
        """Put the note on disk."""
        note = {
            "record": self._record.id if self._record else None,
            "files": [self._noted(step)._asdict() for step in steps],
            "made": [self._below(path) for path in made],
        }
        write_private(self._path, json.dumps(note).encode("ascii"))

    def publish(self) -> None:
        """Make the ref of the record."""
        if self._record is not None:
            self._record.publish()

    def withdraw(self) -> None:
        """Take the ref and the note away."""
        try:
            if self._record is not None:
                self._record.withdraw()
        finally:
            self.end()

    def end(self) -> None:
        """Take the note away; one that cannot be removed tells that all is written."""
        with suppress(OSError):
            remove(self._path)

    def _noted(self, step: Step) -> NotedFile:
        change = step.change
        return NotedFile(
            change.target.path,
            self._below(change.target.real),
            self._below(change.spelling.real) if change.spelling else None,
            self._below(step.staged) if step.staged else None,
            self._below(step.backup) if step.backup else None,
            fingerprint(change.before.data if change.before else None),
            fingerprint(change.after),
        )

    def _below(self, path: str) -> str:
        return os.path.relpath(path, self._top)


def read_note(repository: Repository) -> Note | None:
    """The note of a call that never ended, or None.

    A call that is still running looks the same; only the holder of the worktree's lock can tell.

    Args:
        repository: whose worktree was edited.

    Raises:
        FatalError: there is one that cannot be read, or that leads out of the worktree.
    """
    with _said_if_unreadable(repository.state_dir):
        raw = _raw(repository.state_dir)
        return None if raw is None else _parsed(raw, os.path.realpath(repository.worktree))


def noted_record(state_dir: str) -> str | None:
    """The id of the record of a call that never ended, or None; a damaged note needs no record.

    Args:
        state_dir: a worktree's private directory.

    Raises:
        FatalError: the note cannot be read.
    """
    with _said_if_unreadable(state_dir):
        try:
            raw = _raw(state_dir)
        except ValueError:
            return None
        record = None if raw is None else raw.get("record")
        return record if isinstance(record, str) else None


def is_damaged(repository: Repository) -> bool:
    """Whether there is something in the place of the note that is none.

    Args:
        repository: whose worktree was edited.
    """
    if not os.path.lexists(os.path.join(repository.state_dir, EDIT_NOTE)):
        return False
    try:
        return read_note(repository) is None
    except FatalError as error:
        return error.code == _DAMAGED


def _raw(state_dir: str) -> dict[str, Any] | None:
    data = read_private(os.path.join(state_dir, EDIT_NOTE), largest=_LARGEST)
    if data is None:
        return None
    try:
        note = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(note, dict):
        raise ValueError("it is not a JSON object")
    return note


@contextmanager
def _said_if_unreadable(state_dir: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FatalError(
            f"the note of an interrupted edit cannot be read: {error}", code="unreadable"
        ) from None
    except (ValueError, TypeError, KeyError) as error:
        path = os.path.join(state_dir, EDIT_NOTE)
        raise FatalError(
            f"the note of an interrupted edit is damaged: {error}",
            code=_DAMAGED,
            hints=(f"check the files; then 'git boocode doctor --fix' removes '{path}'",),
        ) from None


def _parsed(note: dict[str, Any], top: str) -> Note:
    files = tuple(_absolute(NotedFile(**file), top) for file in note["files"])
    record = note["record"]
    if record is not None and not ID.fullmatch(record):
        raise ValueError("it names no record")
    return Note(record, files, tuple(_inside(path, top) for path in note["made"]))


def _absolute(file: NotedFile, top: str) -> NotedFile:
    spelling, staged, backup = (
        None if path is None else _inside(path, top)
        for path in (file.spelling, file.staged, file.backup)
    )
    return file._replace(
        real=_inside(file.real, top), spelling=spelling, staged=staged, backup=backup
    )


def _inside(path: str, top: str) -> str:
    found = os.path.normpath(os.path.join(top, path))
    parent = os.path.realpath(os.path.dirname(found))
    if parent != top and not parent.startswith(os.path.join(top, "")):
        raise ValueError(f"'{path}' is outside the worktree")
    return found


def forget_note(repository: Repository) -> None:
    """Remove the note of a call that never ended."""
    EditJournal(repository, None).end()
