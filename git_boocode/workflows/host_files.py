"""Edit the host's own files for a restore's callback, as `apply-edit` does."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence

from git_boocode.checkpoints.conversation_files import HostFile, KeepOriginals
from git_boocode.editing.answer import EditsRefusedError, describe
from git_boocode.editing.edits import Failure
from git_boocode.editing.inputs import Source, read_inputs
from git_boocode.editing.service import Options, apply_inputs
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.atomic_write import (
    ChangedMeanwhileError,
    FileChange,
    Journal,
    Target,
    WriteStep,
    write_files,
)
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import mode_only, read_state

_NEW_FILE = 0o600


class FileEditor:
    """Writes files anywhere on disk, because the request comes from the host's own program."""

    def edit(self, edits: object, base: str, keep: KeepOriginals) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.edit`."""
        inputs = read_inputs([Source("the answer", json.dumps(edits).encode())])
        prefix = os.path.relpath(base, os.sep).replace(os.sep, "/")
        workspace = Workspace(os.sep, f"{prefix}/", None, from_here=True)
        try:
            apply_inputs(inputs, workspace, Options(record=False, journal=_Keeper(keep)))
        except EditsRefusedError as error:
            failures = (_located(failure) for failure in error.failures)
            reasons = (describe(failure, many=error.edits > 1) for failure in failures)
            raise RefusedError("; ".join(reasons), code=error.code) from None

    def write(self, files: Sequence[HostFile], keep: KeepOriginals) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.write`."""
        write_files([_change(file) for file in files], _Keeper(keep))


def _located(failure: Failure) -> Failure:
    # Resolved paths are relative to the root directory; others are reported as they are.
    path = failure.path
    resolved = failure.code == "missing_file" or os.path.lexists(f"{os.sep}{path}")
    if path is None or os.path.isabs(path) or not resolved:
        return failure
    return failure._replace(path=os.sep + path)


class _Keeper(Journal):
    """Reports the planned writes to a restore, which saves them in order to undo them."""

    def __init__(self, keep: KeepOriginals) -> None:
        self._keep = keep

    def begin(self, files: Sequence[tuple[FileChange, WriteStep]]) -> None:
        """Save all planned writes; the empty directories that a killed process leaves stay."""
        written = []
        for change, step in files:
            mode = stat.S_IMODE(change.before.mode) if change.before else _NEW_FILE
            before = change.before.data if change.before else None
            leftovers = (step.staged, step.backup)
            written.append(HostFile(change.target.real, before, change.after, mode, leftovers))
        self._keep(written)

    def commit(self) -> None:
        """Do nothing: the restore goes on."""


def _change(file: HostFile) -> FileChange:
    target = Target(file.path, file.path, file.path)
    try:
        now = read_state(file.path)
    except RefusedError as error:
        raise FatalError(f"'{file.path}': {error.message}", code=error.code) from None
    if (None if now is None else now.data) != file.before:
        raise ChangedMeanwhileError(target)
    return FileChange(target, now, file.after, now or mode_only(file.mode))
