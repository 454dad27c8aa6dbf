"""The journal of a call that writes files, and the repair of what a killed call left behind.

A journal on disk names every file before the first is replaced. Whoever finds one while holding
the worktree's lock knows that a call was killed, and completes it or rolls it back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.editing.textfile import read_snapshot
from git_boocode.editing.write import Journal, Step, emptied, remove_directories, write_new
from git_boocode.repo.durable import sync_directory
from git_boocode.repo.errors import FatalError, RefusedError
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

    Paths are absolute in memory and relative to the worktree on disk, which may be moved or
    copied; `path` is always relative. `staged` holds the new content, `backup` the old one;
    `before` and `after` are their fingerprints, None where there is no file. `spelling` is the
    new name where the file system takes both names for one file.
    """

    path: str
    real: str
    spelling: str | None
    staged: str | None
    backup: str | None
    before: str | None
    after: str | None


class Note(NamedTuple):
    """A journal: the id of the record or None, the files, the directories made, outermost first."""

    record: str | None
    files: tuple[NotedFile, ...]
    made: tuple[str, ...]


def fingerprint(data: bytes | None) -> str | None:
    """The hash by which a journal knows a content; None for no file."""
    import hashlib

    return None if data is None else hashlib.sha256(data).hexdigest()


class EditJournal(Journal):
    """The journal of one call (see `write.Journal`); `record` holds the old contents."""

    def __init__(self, repository: Repository, record: Record | None) -> None:
        self._path = os.path.join(repository.state_dir, EDIT_NOTE)
        self._top = repository.worktree
        self._record = record

    def begin(self, steps: Sequence[Step], made: Sequence[str]) -> None:
        """Write the journal to disk."""
        note = {
            "record": self._record.id if self._record else None,
            "files": [self._noted(step)._asdict() for step in steps],
            "made": [self._below(path) for path in made],
        }
        write_private(self._path, json.dumps(note).encode("ascii"))

    def publish(self) -> None:
        """Store the record."""
        if self._record is not None:
            self._record.publish()

    def withdraw(self) -> None:
        """Remove the record's ref and the journal."""
        try:
            if self._record is not None:
                self._record.withdraw()
        finally:
            self.end()

    def end(self) -> None:
        """Remove the journal; one that cannot be removed still says that all is written."""
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
    """The journal of a call that never ended, or None.

    A running call looks the same; only the holder of the worktree's lock can tell them apart.

    Raises:
        FatalError: it cannot be read, or names files outside the worktree.
    """
    with _said_if_unreadable(repository.state_dir):
        raw = _raw(repository.state_dir)
        return None if raw is None else _parsed(raw, os.path.realpath(repository.worktree))


def noted_record(state_dir: str) -> str | None:
    """The id of the record of a call that never ended, or None; a damaged journal needs no record.

    Raises:
        FatalError: the journal in this private directory of a worktree cannot be read.
    """
    with _said_if_unreadable(state_dir):
        try:
            raw = _raw(state_dir)
        except ValueError:
            return None
        record = None if raw is None else raw.get("record")
        return record if isinstance(record, str) else None


def is_damaged(repository: Repository) -> bool:
    """Whether there is a journal that cannot be understood."""
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
            f"cannot read the journal of an interrupted edit: {error}", code="unreadable"
        ) from None
    except (ValueError, TypeError, KeyError) as error:
        path = os.path.join(state_dir, EDIT_NOTE)
        raise FatalError(
            f"the journal of an interrupted edit is damaged: {error}",
            code=_DAMAGED,
            hints=(
                f"check the files, then run 'git boocode doctor --fix', which removes '{path}'",
            ),
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
    """Remove the journal of a call that never ended."""
    EditJournal(repository, None).end()


OLD, NEW, OTHER = "old", "new", "other"


class Interrupted(NamedTuple):
    """A call that was killed while it wrote: its journal, and what each of the files holds now."""

    note: Note
    states: tuple[str, ...]

    @property
    def done(self) -> bool:
        """Whether all files are written, and only the clean-up is missing."""
        return all(state == NEW for state in self.states)

    @property
    def untouched(self) -> bool:
        """Whether no file was written yet."""
        return all(state == OLD for state in self.states)

    @property
    def written(self) -> list[str]:
        """The paths of the files that hold the new content."""
        return self._paths(NEW)

    @property
    def changed_since(self) -> list[str]:
        """The paths of the files that hold neither the old content nor the new one."""
        return self._paths(OTHER)

    def _paths(self, wanted: str) -> list[str]:
        pairs = zip(self.note.files, self.states, strict=True)
        return [file.path for file, state in pairs if state == wanted]


def interrupted_edit(repository: Repository) -> Interrupted | None:
    """The call that was killed in this worktree while it wrote, if any; needs the worktree's lock.

    Raises:
        FatalError: the journal or a file cannot be read.
    """
    note = read_note(repository)
    if note is None:
        return None
    return Interrupted(note, tuple(_state(file) for file in note.files))


def _state(file: NotedFile) -> str:
    try:
        now = read_snapshot(file.real)
    except MissError:
        return OTHER
    found = fingerprint(None if now is None else now.data)
    # The old content may be the new one too, where a file only gets another name.
    if file.spelling is not None:
        renamed = os.path.basename(file.spelling) in os.listdir(os.path.dirname(file.real))
        return (NEW if renamed else OLD) if found in (file.before, file.after) else OTHER
    if found == file.before == file.after is not None and file.backup is not None:
        # Only its mode is new: whether it was replaced shows in that it is another file.
        kept = os.path.exists(file.backup) and os.path.exists(file.real)
        return NEW if kept and not os.path.samefile(file.backup, file.real) else OLD
    if found == file.before:
        return OLD
    return NEW if found == file.after else OTHER


def settle(repository: Repository) -> None:
    """Clean up after a killed call that wrote all of its files or none; needs the worktree's lock.

    Raises:
        RefusedError: some files were written and some were not (`half_written`).
        FatalError: something cannot be read or removed.
    """
    found = interrupted_edit(repository)
    if found is None:
        return
    if not (found.done or found.untouched):
        raise RefusedError(
            describe(found),
            code="half_written",
            hints=("run 'git boocode doctor --fix' to restore the files as they were before it",),
        )
    repair(repository, found)


def describe(found: Interrupted) -> str:
    """One sentence on what happened."""
    count, written = len(found.states), len(found.written)
    said = f"an edit was killed while it wrote: {written} of {count} files hold its new content"
    if found.changed_since:
        said += f", and since then {_listed(found.changed_since)} changed again"
    return said


def repair(repository: Repository, found: Interrupted) -> str:
    """Complete a killed call if all its files are written, else roll the written ones back.

    A file that changed again since stays as it is. The answer is one sentence on what was done.

    Raises:
        FatalError: a file cannot be restored; the repair can be run again.
    """
    if found.done:
        _clean_up(found.note, ())
        for file in found.note.files:
            if file.after is None:
                remove_directories(emptied(file.real, repository.worktree))
        forget_note(repository)
        return "the edit was complete; its temporary files were removed"
    for file, state in reversed(list(zip(found.note.files, found.states, strict=True))):
        if state == NEW:
            _roll_back(repository, found.note.record, file)
    kept = _kept_backups(found)
    _clean_up(found.note, kept)
    remove_directories(reversed(found.note.made))
    if not found.changed_since:
        _drop_record(repository, found.note.record)
    forget_note(repository)
    return _summary(found, kept)


def _roll_back(repository: Repository, record: str | None, file: NotedFile) -> None:
    try:
        if file.before is None:
            os.unlink(file.real)
        elif file.backup is not None and _holds_old(file, file.backup):
            os.replace(file.backup, file.real)
        else:
            _restore_recorded(repository, record, file)
        if file.spelling is not None:
            with suppress(FileNotFoundError):
                os.rename(file.spelling, file.real)
        sync_directory(os.path.dirname(file.real))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FatalError(f"cannot restore '{file.path}': {reason}", code="unwritable") from error


def _restore_recorded(repository: Repository, record: str | None, file: NotedFile) -> None:
    """Write the old content from the record: the backup may be gone."""
    below = os.path.relpath(file.real, repository.worktree).replace(os.sep, "/")
    name = f"refs/boocode/edits/{record}:before/{below}"
    found = repository.git.attempt("cat-file", "blob", name)
    if record is None or found.status or fingerprint(found.stdout) != file.before:
        note = os.path.join(repository.state_dir, EDIT_NOTE)
        raise FatalError(
            f"cannot restore '{file.path}': its old content is neither beside it nor in git",
            code="missing_object",
            hints=(f"restore it by hand, then remove '{note}'",),
        )
    listing = repository.git.line("ls-tree", f"refs/boocode/edits/{record}", f"before/{below}")
    temp = f"{file.real}.boocode-{os.urandom(6).hex()}.tmp"
    os.makedirs(os.path.dirname(file.real), exist_ok=True)
    write_new(temp, found.stdout, file.real, None)
    os.chmod(temp, 0o755 if listing.startswith("100755") else 0o644)
    os.replace(temp, file.real)


def _kept_backups(found: Interrupted) -> tuple[str, ...]:
    """The backups of files that changed again, where no record holds the old content."""
    if found.note.record is not None:
        return ()
    pairs = zip(found.note.files, found.states, strict=True)
    return tuple(
        file.backup
        for file, state in pairs
        if state == OTHER and file.backup and _holds_old(file, file.backup)
    )


def _holds_old(file: NotedFile, backup: str) -> bool:
    # A file that was never replaced is its backup, so later changes are in both.
    try:
        kept = read_snapshot(backup)
    except MissError:
        return False
    return kept is not None and fingerprint(kept.data) == file.before


def _clean_up(note: Note, kept: Sequence[str]) -> None:
    for file in note.files:
        for path in (file.staged, file.backup):
            if path is not None and path not in kept:
                with suppress(OSError):
                    os.unlink(path)


def _drop_record(repository: Repository, record: str | None) -> None:
    """Delete the record of an edit that did not happen, so that it is not offered for rewinding."""
    if record is None:
        return
    from git_boocode.editing.record import EDITS
    from git_boocode.repo.store import RefChange, open_store

    store = open_store(repository)
    refs = store.refs(EDITS + record)
    store.update_refs([RefChange(ref.name, None, ref.target) for ref in refs])


def _summary(found: Interrupted, kept: Sequence[str]) -> str:
    if not found.changed_since:
        return "all files are as they were before the edit"
    said = f"{_listed(found.changed_since)} changed again since and was left alone"
    if kept:
        return f"{said}; the content from before the edit is in {_listed(kept)}"
    if found.note.record is not None:
        return f"{said}; the contents from before the edit are in its record {found.note.record}"
    return said


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(f"'{path}'" for path in paths)
