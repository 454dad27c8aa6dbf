"""Mend what an edit left behind that was killed while it wrote: all old, or all new."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.editing.durable import write_new
from git_boocode.editing.edits import MissError
from git_boocode.editing.journal import (
    Note,
    NotedFile,
    fingerprint,
    forget_note,
    read_note,
)
from git_boocode.editing.snapshot import read_snapshot
from git_boocode.editing.write import emptied, remove_directories
from git_boocode.repo.durable import sync_directory
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import EDIT_NOTE

OLD, NEW, OTHER = "old", "new", "other"


class Interrupted(NamedTuple):
    """A call that was killed while it wrote.

    Attributes:
        note: what it was about to do.
        states: what each file of the note holds now: `old`, `new` or `other`.
    """

    note: Note
    states: tuple[str, ...]

    @property
    def done(self) -> bool:
        """Whether all files are written, so that only the cleaning up is missing."""
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
    """The call that was killed in this worktree while it wrote, if there is one.

    Call it with the worktree's lock held: a call at work looks the same.

    Raises:
        FatalError: its note, or a file, cannot be read.
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
    """Clean up after a killed call if no file, or every file, was written; else refuse.

    Call it with the worktree's lock held, before writing.

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
            hints=("'git boocode doctor --fix' takes the files back to what they were before it",),
        )
    mend(repository, found)


def describe(found: Interrupted) -> str:
    """What happened, in one sentence."""
    count, written = len(found.states), len(found.written)
    said = f"an edit was killed while it wrote: {written} of {count} files hold its new content"
    if found.changed_since:
        said += f", and since then {_listed(found.changed_since)} changed again"
    return said


def mend(repository: Repository, found: Interrupted) -> str:
    """Finish a killed call if all its files are written, else take the written ones back.

    A file that has changed again since stays as it is.

    Args:
        repository: where it happened.
        found: what `interrupted_edit` said.

    Returns:
        What was done, in one sentence.

    Raises:
        FatalError: a file cannot be put back; what is not done yet can be tried again.
    """
    if found.done:
        _clean_up(found.note, ())
        for file in found.note.files:
            if file.after is None:
                remove_directories(emptied(file.real, repository.worktree))
        forget_note(repository)
        return "the edit was complete; what it left behind is removed"
    for file, state in reversed(list(zip(found.note.files, found.states, strict=True))):
        if state == NEW:
            _put_back(repository, found.note.record, file)
    kept = _kept_backups(found)
    _clean_up(found.note, kept)
    remove_directories(reversed(found.note.made))
    if not found.changed_since:
        _drop_record(repository, found.note.record)
    forget_note(repository)
    return _told(found, kept)


def _put_back(repository: Repository, record: str | None, file: NotedFile) -> None:
    try:
        if file.before is None:
            os.unlink(file.real)
        elif file.backup is not None and _holds_old(file, file.backup):
            os.replace(file.backup, file.real)
        else:
            _put_recorded(repository, record, file)
        if file.spelling is not None:
            with suppress(FileNotFoundError):
                os.rename(file.spelling, file.real)
        sync_directory(os.path.dirname(file.real))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FatalError(f"cannot put '{file.path}' back: {reason}", code="unwritable") from error


def _put_recorded(repository: Repository, record: str | None, file: NotedFile) -> None:
    """Write the old content again, from the record; the file kept beside it may be gone."""
    below = os.path.relpath(file.real, repository.worktree).replace(os.sep, "/")
    name = f"refs/boocode/edits/{record}:before/{below}"
    found = repository.git.attempt("cat-file", "blob", name)
    if record is None or found.status or fingerprint(found.stdout) != file.before:
        note = os.path.join(repository.state_dir, EDIT_NOTE)
        raise FatalError(
            f"cannot put '{file.path}' back: its old content is neither beside it nor in git",
            code="missing_object",
            hints=(f"bring it back by hand, then remove '{note}'",),
        )
    listing = repository.git.line("ls-tree", f"refs/boocode/edits/{record}", f"before/{below}")
    temp = f"{file.real}.boocode-{os.urandom(6).hex()}.tmp"
    os.makedirs(os.path.dirname(file.real), exist_ok=True)
    write_new(temp, found.stdout, file.real, None)
    os.chmod(temp, 0o755 if listing.startswith("100755") else 0o644)
    os.replace(temp, file.real)


def _kept_backups(found: Interrupted) -> tuple[str, ...]:
    """The old contents of files that changed again, where no record holds them."""
    if found.note.record is not None:
        return ()
    pairs = zip(found.note.files, found.states, strict=True)
    return tuple(
        file.backup
        for file, state in pairs
        if state == OTHER and file.backup and _holds_old(file, file.backup)
    )


def _holds_old(file: NotedFile, backup: str) -> bool:
    # A file that was never replaced shares its bytes with its backup, and so its later changes.
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
    """A record of what did not happen must not be offered for rewinding."""
    if record is None:
        return
    from git_boocode.editing.record import EDITS
    from git_boocode.repo.store import RefChange, open_store

    store = open_store(repository)
    refs = store.refs(EDITS + record)
    store.update_refs([RefChange(ref.name, None, ref.target) for ref in refs])


def _told(found: Interrupted, kept: Sequence[str]) -> str:
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
