"""Undo an applied edit by its record, although its files have changed since."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.inputs import Inputs
from git_boocode.editing.place import Place
from git_boocode.editing.plan import REWIND
from git_boocode.editing.record import Contents, KeptFile
from git_boocode.editing.records import EditRecord, Records
from git_boocode.editing.recovery import settle
from git_boocode.editing.result import Answer, EditsRefusedError
from git_boocode.editing.revert import ALREADY, Revert
from git_boocode.editing.service import Options, apply_inputs
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository

_LATER = 3
"""Newer edits that a refusal names, at most."""
_HINTS = {
    "missing_file": "it was deleted or renamed since; give it its name back, then rewind again",
    "exists": "move what is there out of the way, then rewind again",
    "binary": "'git show refs/boocode/edits/{id}:before/{path}' prints its old bytes",
    "outside_worktree": "the record names a file that no edit may touch, and cannot be rewound",
}
"""What to do about failures whose usual advice is meant for whoever writes an edit."""


class RewindRefusedError(EditsRefusedError):
    """A file of a record cannot be taken back; nothing was changed.

    ``later`` names the newer records of the same file, in a sentence each.
    """

    def __init__(
        self, failures: Sequence[Failure], record: EditRecord, later: Sequence[str] = ()
    ) -> None:
        super().__init__([_advised(failure, record) for failure in failures], 1)
        self.hints += tuple(later)
        # It is for the model that wrote an edit, and no model wrote this one.
        del self.details["retry_context"]
        self.details["rewinds"] = record.id
        if record.rewound:
            self.hints += ("this edit was rewound before; 'git boocode log --edits' shows it",)


def _advised(failure: Failure, record: EditRecord) -> Failure:
    hint = _HINTS.get(failure.code, failure.hint)
    if hint is not None:
        hint = hint.replace("{id}", record.id).replace("{path}", failure.path or "<path>")
    return failure._replace(hint=hint)


class Rewound(NamedTuple):
    """What a rewind did, or on a dry run would do.

    ``record`` was rewound, ``answer`` holds the files and the new record, ``already`` the paths in
    which there was nothing left to do.
    """

    record: EditRecord
    answer: Answer
    already: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        row = self.answer.as_json()
        files = row.pop("files")
        rewound = {"rewinds": self.record.id, "already_rewound": list(self.already)}
        return {**row, **rewound, "files": files}


def rewind(
    repository: Repository,
    record: EditRecord,
    paths: Sequence[str] = (),
    *,
    dry_run: bool = False,
    keep: bool = True,
) -> Rewound:
    """Bring back what the files of a record were before the edit.

    A file that has not changed since gets its old bytes; in another one only what the edit wrote is
    replaced. ``paths`` are files of the record or directories, from where the caller stands; none
    for all files that are not rewound yet. With ``keep`` the rewind is recorded itself.

    Raises RewindRefusedError where a file cannot be taken back (nothing was changed), RefusedError
    with `not_found` for a path that is not in the record, `other_worktree`, `malformed` for a
    record that lacks objects, or `locked`, and FatalError where something cannot be read, kept or
    written.
    """
    records = Records(repository)
    _check_worktree(records, record)
    chosen = _chosen(repository, record, paths)
    # Paths in a record count from the top, wherever the caller stands.
    place = Place(repository.worktree, "", repository)
    plan = _Reverse(place, record)
    edits = [*plan.edits(records.contents(record, chosen))]
    options = Options(
        dry_run=dry_run,
        record=keep,
        more={"rewinds": {"id": record.id, "paths": [file.path for file in chosen]}},
        modes=plan.modes,
    )
    try:
        answer = apply_inputs(Inputs(edits, []), place, options)
    except EditsRefusedError as error:
        later = _later(records, record, error.failures)
        raise RewindRefusedError(error.failures, record, later) from None
    return Rewound(record, answer, (*plan.gone, *_unchanged(answer)))


def settled(repository: Repository) -> None:
    """Clean up after a killed edit, whose record may be that of something that never happened."""
    with Place(repository.worktree, "", repository).locked():
        settle(repository)


def _unchanged(answer: Answer) -> Iterator[str]:
    for file in answer.files:
        rungs = {landing.rung for _, landing in file.landings}
        if rungs == {ALREADY} and not file.changes:
            yield file.path


def _later(records: Records, record: EditRecord, failures: Sequence[Failure]) -> list[str]:
    """The newer records that changed the same files, which may be what is in the way."""
    from itertools import takewhile

    paths = {failure.path for failure in failures if failure.code == "conflict"}
    newer = takewhile(lambda other: other.id != record.id, records.history())
    return [
        f"the edit {other.id} changed {name} since; rewind it first"
        for other in newer
        if not other.rewound and other.rewinds != record.id
        if (name := next((f"'{file.path}'" for file in other.files if file.path in paths), None))
    ][:_LATER]


def _check_worktree(records: Records, record: EditRecord) -> None:
    if records.is_ours(record):
        return
    where = record.meta.part("worktree", "path")
    hint = f"rewind it there: git -C '{where}' boocode rewind {record.id}" if where else None
    raise RefusedError(
        f"the edit '{record.id}' was made in another worktree, '{record.worktree_name}'",
        code="other_worktree",
        hints=(hint,) if hint else (),
    )


class _Reverse:
    """Turns the files of a record into the edits that undo it.

    ``modes`` are the permission bits of the files that come back, by absolute path, ``gone`` the
    paths of files that the edit created and that are gone already.
    """

    def __init__(self, place: Place, record: EditRecord) -> None:
        self.modes: dict[str, int] = {}
        self.gone: list[str] = []
        self._place = place
        self._record = record
        # Where the old name of a renamed file was used again, the file was in fact copied.
        self._taken = {file.path for file in record.files}

    def edits(self, files: Sequence[Contents]) -> Iterator[Edit]:
        """The edits, numbered; what is gone already needs none."""
        number = 0
        for kept in files:
            edit = self._edit(number, kept)
            if edit is not None:
                number += 1
                yield edit

    def _edit(self, number: int, kept: Contents) -> Edit | None:
        file, before, after = kept
        copied = file.source in self._taken
        if file.action == "create" or copied:
            if not self._is_there(file.path):
                self.gone.append(file.path)
                return None
            return self._made(number, file.path, Revert(None, after))
        if file.action == "delete":
            self._keep_mode(file)
        was = None if file.new_mode == file.mode else bool(file.mode & stat.S_IXUSR)
        if file.source is None:
            return self._made(number, file.path, Revert(before, after, executable=was))
        if self._is_there(file.source) and not self._is_there(file.path):
            # Someone gave it its old name back.
            return self._made(number, file.source, Revert(before, after, executable=was))
        moving = Revert(before, after, moves=True, executable=was)
        return self._made(number, file.path, moving)._replace(to=file.source)

    def _made(self, number: int, path: str, action: Revert) -> Edit:
        given = {"path": path, "rewind": self._record.id}
        return Edit(number, path, action, None, REWIND, given)

    def _is_there(self, path: str) -> bool:
        try:
            return os.path.lexists(self._place.target(path).link)
        except MissError:
            return True

    def _keep_mode(self, file: KeptFile) -> None:
        try:
            self.modes[self._place.target(file.path).real] = file.mode
        except MissError:
            # The plan refuses it, with the reason.
            return


def _chosen(repository: Repository, record: EditRecord, paths: Sequence[str]) -> list[KeptFile]:
    if not paths:
        left = [file for file in record.files if file.path not in record.rewound_paths]
        return left or list(record.files)
    wanted = [_named(repository, record, path) for path in paths]
    return [file for file in record.files if any(file in files for files in wanted)]


def _named(repository: Repository, record: EditRecord, path: str) -> list[KeptFile]:
    found = [file for file in record.files if is_named(repository, file, path)]
    if found:
        return found
    names = [file.path for file in record.files]
    shown = ", ".join(f"'{name}'" for name in names[:3]) + (" …" if len(names) > 3 else "")
    raise RefusedError(
        f"'{path}' is not among the files of the edit '{record.id}'",
        code="not_found",
        hints=(f"it changed {shown}", *_other_records(repository, path)),
    )


def _other_records(repository: Repository, path: str) -> Iterator[str]:
    for record in Records(repository).history():
        if not record.rewound and any(is_named(repository, file, path) for file in record.files):
            yield f"the newest edit that changed '{path}' is {record.id}"
            return


def is_named(repository: Repository, file: KeptFile, path: str) -> bool:
    """Whether a path of the command line names a file of a record, or a directory above it.

    The file may have another name now, or be gone.
    """
    given = os.path.join(repository.worktree, repository.prefix, path)
    parent, name = os.path.split(os.path.normpath(given))
    both = {os.path.realpath(given), os.path.join(os.path.realpath(parent), name)}
    below = {os.path.relpath(real, repository.worktree).replace(os.sep, "/") for real in both}
    names = {file.path, file.old_path}
    return "." in below or any(
        known == one or known.startswith(f"{one}/") for known in names for one in below
    )
