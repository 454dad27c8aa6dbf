"""Undo an applied edit by its edit record, even if its files have changed since."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice, takewhile
from typing import NamedTuple

from git_boocode.editing.answer import Answer, EditsRefusedError
from git_boocode.editing.edit_plan import REWIND
from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.inputs import Inputs
from git_boocode.editing.records import Contents, EditRecord, RecordedFile, Records
from git_boocode.editing.recovery import recover
from git_boocode.editing.revert import ALREADY, Revert
from git_boocode.editing.service import Options, apply_inputs
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.errors import NextStep, RefusedError, first_few, shell_command
from git_boocode.repo.layout import EDITS
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import refuse_if_running

_LATER = 3  # maximum number of newer edits that a refusal names
# Hints for failures whose usual hints are for the model that writes an edit.
_HINTS = {
    "missing_file": "it was deleted or renamed since; restore its name, then rewind again",
    "exists": "move the existing file away, then rewind again",
    "binary": "'git show {before}' prints its old bytes",
    "outside_worktree": "the edit record names a file outside the worktree; it cannot be rewound",
}


class RewindResult(NamedTuple):
    """The result of a rewind of a ``record``, or of a dry run.

    ``answer`` contains the files and the new record; the paths ``already`` were already rewound.
    """

    record: EditRecord
    answer: Answer
    already: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        row = self.answer.as_json()
        files = {"files": row.pop("files")}
        return row | {"rewinds": self.record.id, "already_rewound": [*self.already]} | files


def rewind(
    repository: Repository,
    record: EditRecord,
    paths: Sequence[str] = (),
    *,
    dry_run: bool = False,
    keep: bool = True,
    force: bool = False,
) -> RewindResult:
    """Restore the files of a record to their content before the edit.

    A file that has not changed since gets its old bytes; in other files only the lines that the
    edit wrote are replaced. ``paths`` are files of the record or directories, relative to the
    caller's directory; empty for all files not yet rewound. With ``keep`` the rewind is recorded,
    with ``force`` it is done while a turn runs, too.

    Raises EditsRefusedError if a file cannot be rewound (nothing was changed), RefusedError
    (`not_found`, `other_worktree`, `malformed`, `locked`), and FatalError.
    """
    if not (dry_run or force):
        refuse_if_running(repository)
    records = Records(repository)
    if not records.is_ours(record):
        raise _other_worktree(record)
    named = {file for path in paths for file in _named(repository, record, path)}
    left = {file for file in record.files if file.path not in record.rewound_paths}
    chosen = [file for file in record.files if file in (named or left or record.files)]
    # Paths in a record are relative to the top, not to the caller's directory.
    workspace = Workspace(repository.worktree, "", repository)
    edits, modes, gone = _reversed(workspace, record, records.contents(record, chosen))
    more = {"rewinds": {"id": record.id, "paths": [file.path for file in chosen]}}
    options = Options(dry_run=dry_run, record=keep, more=more, modes=modes)
    try:
        answer = apply_inputs(Inputs(edits, []), workspace, options)
    except EditsRefusedError as error:
        hints = _later(records, record, error.failures)
        if record.rewound:
            text, command = "this edit was rewound before; {} shows it", "'git boocode log --edits'"
            hints.append(NextStep(text, "log", "edits", typed=command))
        failures = [_advised(failure, record) for failure in error.failures]
        raise EditsRefusedError(failures, 1, rewinds=record.id, hints=hints) from None
    unchanged = (
        file.path
        for file in answer.files
        if not file.changes and all(applied.rung == ALREADY for _, applied in file.applied)
    )
    return RewindResult(record, answer, (*gone, *unchanged))


def recover_interrupted(repository: Repository) -> None:
    """Recover a killed edit, whose record may be of changes that were never written."""
    with Workspace(repository.worktree, "", repository).locked():
        recover(repository)


def _advised(failure: Failure, record: EditRecord) -> Failure:
    hint = _HINTS.get(failure.code, failure.hint) or ""
    before = f"{EDITS}{record.id}:before/{failure.path or '<path>'}"
    hint = hint.replace("{id}", record.id).replace("{before}", shell_command(before))
    return failure._replace(hint=hint or None)


def _later(records: Records, record: EditRecord, failures: Sequence[Failure]) -> list[str]:
    """Hints about newer records of the same files, which may cause the conflict."""
    paths = {failure.path for failure in failures if failure.code == "conflict"}
    found = (
        NextStep(
            "{}",
            "rewind",
            other.id,
            typed=f"the edit {other.id}",
            rest=f" changed '{path}' since; rewind it first",
        )
        for other in takewhile(lambda other: other.id != record.id, records.history())
        if not other.rewound and other.rewinds != record.id
        for path in [file.path for file in other.files if file.path in paths][:1]
    )
    return [*islice(found, _LATER)]


def _other_worktree(record: EditRecord) -> RefusedError:
    where = record.meta.part("worktree", "path") or ""
    typed = shell_command("git", "-C", where, "boocode", "rewind", record.id)
    given = {"edit": record.id, "cwd": where}
    hint = NextStep("rewind it there: {}", "rewind", typed=typed, given=given)
    return RefusedError(
        f"the edit '{record.id}' was made in another worktree, '{record.meta.worktree_name}'",
        code="other_worktree",
        hints=(hint,) if where else (),
    )


def _reversed(
    workspace: Workspace, record: EditRecord, files: Sequence[Contents]
) -> tuple[list[Edit], dict[str, int], list[str]]:
    """The edits that undo the files of a record.

    Also the permission bits of restored files, by absolute path, and the paths of created files
    that are already deleted.
    """
    edits: list[Edit] = []
    modes: dict[str, int] = {}
    gone: list[str] = []
    # If the old name of a renamed file was used again, the file was in fact copied.
    taken = {file.path for file in record.files}
    for file, before, after in files:
        path, to = file.path, None
        executable = None if file.new_mode == file.mode else bool(file.mode & stat.S_IXUSR)
        action = Revert(before, after, executable=executable)
        if file.action == "create" or file.source in taken:
            action = Revert(None, after)
            if not _is_there(workspace, path):
                gone.append(path)
                continue
        elif file.action == "delete":
            # The plan refuses invalid paths.
            with suppress(MissError):
                modes[workspace.target(path).real] = file.mode
        elif file.source and _is_there(workspace, file.source) and not _is_there(workspace, path):
            # The file already has its old name again.
            path = file.source
        elif file.source:
            action, to = action._replace(moves=True), file.source
        given = {"path": path, "rewind": record.id}
        edits.append(Edit(len(edits), path, action, None, REWIND, given, to))
    return edits, modes, gone


def _is_there(workspace: Workspace, path: str) -> bool:
    try:
        return os.path.lexists(workspace.target(path).link)
    except MissError:
        return True


def _named(repository: Repository, record: EditRecord, path: str) -> list[RecordedFile]:
    found = [file for file in record.files if is_named(repository, file, path)]
    if found:
        return found
    others = (
        f"the newest edit that changed '{path}' is {other.id}"
        for other in Records(repository).history()
        if not other.rewound and any(is_named(repository, file, path) for file in other.files)
    )
    shown = first_few([f"'{file.path}'" for file in record.files], 3)
    raise RefusedError(
        f"'{path}' is not among the files of the edit '{record.id}'",
        code="not_found",
        hints=(f"it changed {shown}", *islice(others, 1)),
    )


def is_named(repository: Repository, file: RecordedFile, path: str) -> bool:
    """Whether a path of the command line names a file of a record, or a directory above it."""
    whole = os.path.join(repository.worktree, repository.prefix, path)
    parent, name = os.path.split(os.path.normpath(whole))
    both = {os.path.realpath(whole), os.path.join(os.path.realpath(parent), name)}
    below = [os.path.relpath(real, repository.worktree).replace(os.sep, "/") for real in both]
    names = f"{file.path}/", f"{file.old_path}/"
    return "." in below or any(each.startswith(f"{one}/") for each in names for one in below)
