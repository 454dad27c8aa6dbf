"""Edit the host's own files for a restore's callback, with the matcher of `apply-edit`."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence

from git_boocode.checkpoints.conversation_files import Keep, Written
from git_boocode.editing.answer import EditsRefusedError, describe
from git_boocode.editing.edits import Failure
from git_boocode.editing.inputs import Source, read_inputs
from git_boocode.editing.service import Options, apply_inputs
from git_boocode.editing.workspace import Target, Workspace
from git_boocode.editing.write import Change, ChangedMeanwhileError, Journal, Step, write_files
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import Snapshot, mode_only, read_snapshot

_NEW_FILE = 0o600


class FileEditor:
    """Writes files wherever they are: who asks for it is the host's own program."""

    def edit(self, edits: object, base: str, keep: Keep) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.edit`."""
        inputs = read_inputs([Source("the answer", json.dumps(edits).encode())])
        below = os.path.relpath(base, os.sep).replace(os.sep, "/")
        workspace = Workspace(os.sep, f"{below}/", None, from_here=True)
        try:
            apply_inputs(inputs, workspace, Options(record=False, journal=_Keeper(keep)))
        except EditsRefusedError as error:
            raise _all_told(error) from None

    def write(self, files: Sequence[Written], keep: Keep) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.write`."""
        write_files([_change(file) for file in files], _Keeper(keep))


def _all_told(error: EditsRefusedError) -> RefusedError:
    """A refusal that tells every reason, with whole paths."""
    failures = (_located(failure) for failure in error.failures)
    told = (describe(failure, many=error.edits > 1) for failure in failures)
    return RefusedError("; ".join(told), code=error.code)


def _located(failure: Failure) -> Failure:
    # Paths that were understood count from the root; what was not is told as given.
    path = failure.path
    understood = failure.code == "missing_file" or os.path.lexists(f"{os.sep}{path}")
    if path is None or os.path.isabs(path) or not understood:
        return failure
    return failure._replace(path=os.sep + path)


class _Keeper(Journal):
    """Hands all that is going to be written to a restore, which keeps it to be undone."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep

    def begin(self, files: Sequence[tuple[Change, Step]]) -> None:
        """Have everything kept; directories that a kill leaves behind are empty, and stay."""
        self._keep([_written(change, step) for change, step in files])


def _written(change: Change, step: Step) -> Written:
    mode = stat.S_IMODE(change.before.mode) if change.before else _NEW_FILE
    before = change.before.data if change.before else None
    return Written(change.target.real, before, change.after, mode, (step.staged, step.backup))


def _change(file: Written) -> Change:
    target = Target(file.path, file.path, file.path)
    now = _read(file.path)
    if (None if now is None else now.data) != file.before:
        raise ChangedMeanwhileError(target)
    return Change(target, now, file.after, now or mode_only(file.mode))


def _read(path: str) -> Snapshot | None:
    try:
        return read_snapshot(path)
    except RefusedError as error:
        raise FatalError(f"'{path}': {error.message}", code=error.code) from None
