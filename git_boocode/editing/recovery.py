"""The journal of a call that writes files, and the recovery of a killed call.

The journal on disk lists all files before the first is replaced. If it exists while we hold the
worktree's lock, a call was killed, and we complete it or roll it back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from git_boocode.repo.atomic_write import (
    NEW,
    OLD,
    OTHER,
    WriteStep,
    clean_up,
    fingerprint_at,
    write_new,
)
from git_boocode.repo.durable import is_regular, read_private_json, remove, write_private
from git_boocode.repo.errors import FatalError, NextStep, RefusedError, from_os
from git_boocode.repo.files import MAX_BYTES, make_directories, mode_only, remove_emptied
from git_boocode.repo.ids import ID
from git_boocode.repo.layout import EDIT_NOTE, EDITS
from git_boocode.repo.repository import Repository

DAMAGED = "damaged"
"""The error code for a damaged journal."""


def begin_call(repository: Repository, record: str | None, steps: Iterable[WriteStep]) -> None:
    """Write the journal of a call; `record` is the id of its edit record."""
    files = [_step_json(step, repository.worktree) for step in steps]
    note = json.dumps({"record": record, "files": files})
    write_private(_path(repository.state_dir), note.encode("ascii"))


def end_call(repository: Repository, unwritten: str | None) -> None:
    """Remove the journal, and the record `unwritten` of a call that wrote nothing."""
    try:
        if unwritten is not None:
            _forget_record(repository, unwritten)
    finally:
        forget_note(repository)


class Interrupted(NamedTuple):
    """A call that was killed while writing: its record's id, and its steps with their states."""

    record: str | None
    files: tuple[tuple[WriteStep, str], ...]

    @property
    def done(self) -> bool:
        """Whether all files are written, so that only the cleanup is missing."""
        return all(state == NEW for _, state in self.files)

    def paths(self, *states: str) -> list[str]:
        """The paths of the files in some states, by default all."""
        return [step.path for step, state in self.files if not states or state in states]


def interrupted_edit(repository: Repository) -> Interrupted | None:
    """The call that was killed in this worktree while writing, if any.

    Only the holder of the worktree's lock can distinguish it from a running call. FatalError if the
    journal (`DAMAGED`) or a file cannot be read.
    """
    note = _load(repository.state_dir)
    if note is None:
        return None
    worktree = os.path.realpath(repository.worktree)
    try:
        record = note["record"]
        if record is not None and not ID.fullmatch(record):
            raise ValueError("the id of its record is invalid")
        steps = [_step(file, worktree) for file in note["files"]]
        return Interrupted(record, tuple((step, step.state()) for step in steps))
    except (KeyError, TypeError, ValueError) as error:
        fix = "check the files, then run 'git boocode doctor --fix', which removes "
        raise FatalError(
            f"the journal of an interrupted edit is damaged: {error}",
            code=DAMAGED,
            hints=(f"{fix}'{_path(repository.state_dir)}'",),
        ) from None


def forget_note(repository: Repository) -> None:
    """Remove the journal, if possible; one that remains is still correct."""
    with suppress(OSError):
        remove(_path(repository.state_dir))


def recover(repository: Repository) -> None:
    """Clean up after a killed call that wrote all its files or none, with the worktree's lock held.

    RefusedError (`half_written`) if it wrote some of them, FatalError if a file cannot be read.
    """
    found = interrupted_edit(repository)
    if found is None:
        return
    if not found.done and found.paths() != found.paths(OLD):
        raise RefusedError(
            describe(found),
            code="half_written",
            hints=(
                NextStep(
                    "run {} to restore the files to their old content",
                    "doctor",
                    "fix",
                    typed="'git boocode doctor --fix'",
                ),
            ),
        )
    repair(repository, found)


def describe(found: Interrupted) -> str:
    """A description of the interrupted call in one sentence."""
    count, written = len(found.files), len(found.paths(NEW))
    message = f"an edit was killed while writing: {written} of {count} files have the new content"
    changed = found.paths(OTHER)
    return f"{message}, and {_listed(changed)} changed since" if changed else message


def repair(repository: Repository, found: Interrupted) -> str:
    """Complete a killed call if all its files are written, else roll the written ones back.

    A file that changed since is left alone. Returns a sentence about the result. FatalError if a
    file cannot be restored; the repair can be repeated.
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
    # Without a record, keep the backups of changed files. If a file was never replaced, its backup
    # is a link to it, and has the later changes, too.
    changed = [step for step, state in found.files if state == OTHER]
    kept = [step.backup for step in changed if found.record is None and _has_backup(step)]
    clean_up((step for step, _ in found.files), kept)
    if not changed:
        if found.record is not None:
            _forget_record(repository, found.record)
        return "all files have their content from before the edit"
    message = f"{_listed(found.paths(OTHER))} changed since and was left alone"
    if kept:
        return f"{message}; the content from before the edit is in {_listed(kept)}"
    if found.record is not None:
        return f"{message}; the content from before the edit is in edit record {found.record}"
    return message


def _forget_record(repository: Repository, record: str) -> None:
    """Delete the record of an edit that did not happen, so that it cannot be rewound."""
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
    """Restore a missing backup from the edit record."""
    from git_boocode.editing.records import Records

    below = os.path.relpath(step.real, repository.worktree)
    records, kept = Records(repository), []
    with suppress(RefusedError):
        entry = records.find(record or "")
        kept = records.contents(entry, [file for file in entry.files if file.old_path == below])
    data = kept[0].before if kept else None
    if data is None:
        raise FatalError(
            f"cannot restore '{step.path}': its old content is neither on disk nor in git",
            code="missing_object",
            hints=(f"restore it by hand, then remove '{_path(repository.state_dir)}'",),
        )
    make_directories(os.path.dirname(step.real))
    remove(step.backup)
    write_new(step.backup, data, step.real, mode_only(kept[0].file.mode))


def _path(state_dir: str) -> str:
    return os.path.join(state_dir, EDIT_NOTE)


def _load(state_dir: str) -> dict[str, Any] | None:
    """Read the journal; None if it does not exist, empty if it is damaged."""
    path = _path(state_dir)
    if not is_regular(path):
        return None
    try:
        note = read_private_json(path, largest=MAX_BYTES)
    except OSError as error:
        raise from_os(error) from None
    return note if isinstance(note, dict) else {}


def _step_json(step: WriteStep, worktree: str) -> dict[str, str | None]:
    """A step as JSON; its paths are relative to the worktree, which may be moved or copied."""
    return {
        "path": step.path,
        "real": os.path.relpath(step.real, worktree),
        "beside": os.path.relpath(step.beside, worktree),
        "before": step.before,
        "after": step.after,
        "spelling": step.spelling and os.path.relpath(step.spelling, worktree),
    }


def _step(row: Mapping[str, Any], worktree: str) -> WriteStep:
    spelling = row.get("spelling")
    return WriteStep(
        row["path"],
        _inside(worktree, row["real"]),
        _inside(worktree, row["beside"]),
        row["before"],
        row["after"],
        None if spelling is None else _inside(worktree, spelling),
    )


def _inside(top: str, path: str) -> str:
    # Since the kill, a directory may have been replaced by a symlink that leads out.
    found = os.path.normpath(os.path.join(top, path))
    parent = os.path.realpath(os.path.dirname(found))
    if parent != top and not parent.startswith(os.path.join(top, "")):
        raise ValueError(f"'{path}' is outside the worktree")
    return found


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(f"'{path}'" for path in paths)
