"""The journal of a call that writes files, and the repair of what a killed call left behind.

A journal on disk names every file before the first is replaced. Whoever finds one while holding
the worktree's lock knows that a call was killed, and completes it or rolls it back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.editing.write import (
    NEW,
    OLD,
    OTHER,
    WriteStep,
    clean_up,
    fingerprint_at,
    write_new,
)
from git_boocode.repo.durable import is_regular, read_private_json, remove, write_private
from git_boocode.repo.errors import FatalError, RefusedError, from_os
from git_boocode.repo.files import MAX_BYTES, mode_only, remove_emptied
from git_boocode.repo.ids import ID
from git_boocode.repo.lock import EDIT_NOTE

if TYPE_CHECKING:
    from git_boocode.repo.repository import Repository

DAMAGED = "damaged"
"""The code of the error of a journal that cannot be understood."""


def note_call(repository: Repository, record: str | None, steps: Sequence[WriteStep]) -> None:
    """Write the journal of a call to disk; `record` is the id of the record of its old contents.

    Its paths are relative to the worktree, which may be moved or copied.
    """
    below = partial(os.path.relpath, start=repository.worktree)
    rows = [_with_paths(step, below)._asdict() for step in steps]
    note = json.dumps({"record": record, "files": rows})
    write_private(_path(repository.state_dir), note.encode("ascii"))


def end_call(repository: Repository, unwritten: str | None) -> None:
    """Remove the journal, and the record so named, of a call that wrote nothing."""
    try:
        if unwritten is not None:
            _forget_record(repository, unwritten)
    finally:
        forget_note(repository)


class Interrupted(NamedTuple):
    """A call that was killed while it wrote: its record's id, its steps and their states now."""

    record: str | None
    files: tuple[tuple[WriteStep, str], ...]

    @property
    def done(self) -> bool:
        """Whether all files are written, and only the clean-up is missing."""
        return all(state == NEW for _, state in self.files)

    def paths(self, *states: str) -> list[str]:
        """The paths of the files in some states, by default of all."""
        return [step.path for step, state in self.files if not states or state in states]


def interrupted_edit(repository: Repository) -> Interrupted | None:
    """The call that was killed in this worktree while it wrote, if any.

    A running call looks the same; only the holder of the worktree's lock can distinguish them.
    FatalError if the journal (`DAMAGED`) or a file cannot be read.
    """
    note = _load(repository.state_dir)
    if note is None:
        return None
    inside = partial(_inside, os.path.realpath(repository.worktree))
    try:
        record = note["record"]
        if record is not None and not ID.fullmatch(record):
            raise ValueError("it names no record")
        steps = [_with_paths(WriteStep(**file), inside) for file in note["files"]]
        return Interrupted(record, tuple((step, step.state()) for step in steps))
    except (KeyError, TypeError, ValueError) as error:
        fix = "check the files, then run 'git boocode doctor --fix', which removes "
        raise FatalError(
            f"the journal of an interrupted edit is damaged: {error}",
            code=DAMAGED,
            hints=(f"{fix}'{_path(repository.state_dir)}'",),
        ) from None


def noted_record(state_dir: str) -> str | None:
    """The id of the record of a killed call; None if there is none, or the journal is damaged."""
    record = (_load(state_dir) or {}).get("record")
    return record if isinstance(record, str) else None


def forget_note(repository: Repository) -> None:
    """Remove the journal; one that cannot be removed still says what is written."""
    with suppress(OSError):
        remove(_path(repository.state_dir))


def settle(repository: Repository) -> None:
    """Clean up after a killed call that wrote all of its files or none; needs the worktree's lock.

    RefusedError (`half_written`) if it wrote some of them, FatalError if something cannot be read.
    """
    found = interrupted_edit(repository)
    if found is None:
        return
    if not found.done and found.paths() != found.paths(OLD):
        raise RefusedError(
            describe(found),
            code="half_written",
            hints=("run 'git boocode doctor --fix' to restore the files as they were before it",),
        )
    repair(repository, found)


def describe(found: Interrupted) -> str:
    """One sentence on what happened."""
    count, written = len(found.files), len(found.paths(NEW))
    said = f"an edit was killed while it wrote: {written} of {count} files hold its new content"
    changed = found.paths(OTHER)
    return f"{said}, and since then {_listed(changed)} changed again" if changed else said


def repair(repository: Repository, found: Interrupted) -> str:
    """Complete a killed call if all its files are written, else roll the written ones back.

    A file that changed again since stays as it is. The answer is one sentence on what was done.
    FatalError if a file cannot be restored; the repair can be run again.
    """
    done = _complete(found) if found.done else _roll_back(repository, found)
    for step, _ in found.files:
        if not os.path.lexists(step.real):
            remove_emptied(step.real, repository.worktree)
    forget_note(repository)
    return done


def _complete(found: Interrupted) -> str:
    for step, _ in found.files:
        if step.spelling is not None:
            os.rename(step.real, step.spelling)
    clean_up(step for step, _ in found.files)
    return "the edit was complete; its temporary files were removed"


def _roll_back(repository: Repository, found: Interrupted) -> str:
    for step, state in reversed(found.files):
        if state == NEW:
            _undo(repository, found.record, step)
    # Where no record holds the old contents, backups are kept. That of a file that was never
    # replaced is the file itself, so later changes are in both.
    changed = [step for step, state in found.files if state == OTHER]
    kept = [step.backup for step in changed if found.record is None and _has_backup(step)]
    clean_up((step for step, _ in found.files), kept)
    if not changed:
        if found.record is not None:
            _forget_record(repository, found.record)
        return "all files are as they were before the edit"
    said = f"{_listed(found.paths(OTHER))} changed again since and was left alone"
    if kept:
        return f"{said}; the content from before the edit is in {_listed(kept)}"
    if found.record is not None:
        return f"{said}; the contents from before the edit are in its record {found.record}"
    return said


def _forget_record(repository: Repository, record: str) -> None:
    """Delete the ref of an edit that did not happen: it must not be offered for rewinding."""
    from git_boocode.editing.records import EDITS

    repository.git.line("update-ref", "--no-deref", "-d", f"{EDITS}{record}")


def _undo(repository: Repository, record: str | None, step: WriteStep) -> None:
    try:
        if step.before is not None and not _has_backup(step):
            _restore_backup(repository, record, step)
        step.undo()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FatalError(f"cannot restore '{step.path}': {reason}", code="unwritable") from error


def _has_backup(step: WriteStep) -> bool:
    return step.before is not None and fingerprint_at(step.backup) == step.before


def _restore_backup(repository: Repository, record: str | None, step: WriteStep) -> None:
    """Write a backup that is gone from the record."""
    from git_boocode.editing.records import Records

    below = os.path.relpath(step.real, repository.worktree)
    records, kept = Records(repository), []
    with suppress(RefusedError):
        entry = records.find(record or "")
        kept = records.contents(entry, [file for file in entry.files if file.old_path == below])
    data = kept[0].before if kept else None
    if data is None:
        raise FatalError(
            f"cannot restore '{step.path}': its old content is neither beside it nor in git",
            code="missing_object",
            hints=(f"restore it by hand, then remove '{_path(repository.state_dir)}'",),
        )
    os.makedirs(os.path.dirname(step.real), exist_ok=True)
    remove(step.backup)
    write_new(step.backup, data, step.real, mode_only(kept[0].file.mode))


def _path(state_dir: str) -> str:
    return os.path.join(state_dir, EDIT_NOTE)


def _load(state_dir: str) -> dict[str, Any] | None:
    """The journal, None if there is none; empty if it is damaged."""
    path = _path(state_dir)
    try:
        if not is_regular(path):
            return None
        note = read_private_json(path, largest=MAX_BYTES)
    except OSError as error:
        raise from_os(error) from None
    return note if isinstance(note, dict) else {}


def _with_paths(step: WriteStep, name: Callable[[str], str]) -> WriteStep:
    """A step whose paths are written in another way."""
    spelling = None if step.spelling is None else name(step.spelling)
    return step._replace(real=name(step.real), beside=name(step.beside), spelling=spelling)


def _inside(top: str, path: str) -> str:
    found = os.path.normpath(os.path.join(top, path))
    parent = os.path.realpath(os.path.dirname(found))
    if parent != top and not parent.startswith(os.path.join(top, "")):
        raise ValueError(f"'{path}' is outside the worktree")
    return found


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(f"'{path}'" for path in paths)
