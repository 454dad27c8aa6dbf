"""Apply the edits of one call: read them, plan, keep the old contents, write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from git_boocode.editing.edits import Edit, Failure, How, Landing
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.place import Place
from git_boocode.editing.plan import Plan, PlannedFile, make_plan
from git_boocode.editing.result import Answer, EditsRefusedError, landing_json
from git_boocode.editing.snapshot import Snapshot
from git_boocode.editing.write import Change, ChangedMeanwhileError, write_files

if TYPE_CHECKING:
    from git_boocode.editing.record import RecordedFile

MAX_RECORDED = 65_536
"""An edit whose JSON is longer is not repeated in the record, which holds the files anyhow."""


class Options(NamedTuple):
    """How a call is carried out.

    Attributes:
        how: how edits are matched.
        format: the one input format to accept, None to detect it.
        dry_run: write nothing.
        record: keep the old contents in git.
    """

    how: How = How()
    format: str | None = None
    dry_run: bool = False
    record: bool = True


def apply_edits(sources: Sequence[Source], place: Place, options: Options) -> Answer:
    """Apply the edits of one call, all or none.

    Args:
        sources: the inputs.
        place: where their paths lead.
        options: how to do it.

    Raises:
        EditsRefusedError: an edit cannot be applied, or a file changed meanwhile.
        RefusedError: another command is at work here (`locked`).
        FatalError: something cannot be read, kept or written.
    """
    inputs = read_inputs(sources, options.format)
    count = len(inputs.edits) + len(inputs.failures)
    with _held(place, options):
        plan = make_plan(inputs, place, options.how)
        if plan.failures:
            raise EditsRefusedError(plan.failures, count)
        identifier = None if options.dry_run else _write(plan, inputs, place, options)
    return Answer(not options.dry_run, identifier, tuple(plan.files))


@contextmanager
def _held(place: Place, options: Options) -> Iterator[None]:
    if options.dry_run:
        yield
        return
    with place.locked():
        yield


def _write(plan: Plan, inputs: Inputs, place: Place, options: Options) -> str | None:
    from git_boocode.editing.record import Record

    files = [file for file in plan.files if file.changes]
    changes = [Change(file.target, file.before, file.after or b"") for file in files]
    if not changes:
        return None
    record = None
    if options.record and place.repository is not None:
        recorded = [_recorded(file, place) for file in files]
        record = Record(place.repository, recorded, _recorded_edits(files))
        record.prepare()
    try:
        write_files(changes, record)
    except ChangedMeanwhileError as error:
        _refuse_changed(error, files, inputs)
    return record.id if record else None


def _refuse_changed(
    error: ChangedMeanwhileError, files: Sequence[PlannedFile], inputs: Inputs
) -> NoReturn:
    message = "another program changed the file while it was being edited"
    hint = "nothing was written; run the command again"
    failures = [
        Failure(edit.number, file.target.path, error.code, message, given=edit.given, hint=hint)
        for file in files
        if file.target == error.target
        for edit in file.edits[:1]
    ]
    raise EditsRefusedError(failures, len(inputs.edits)) from None


def _recorded_edits(files: Sequence[PlannedFile]) -> list[dict[str, object]]:
    landings = [landing for file in files for landing in file.landings]
    return [_edit_json(edit, landing) for edit, landing in sorted(landings, key=_number)]


def _number(landing: tuple[Edit, Landing]) -> int:
    return landing[0].number


def _edit_json(edit: Edit, landing: Landing) -> dict[str, object]:
    given = edit.given if len(json.dumps(edit.given)) <= MAX_RECORDED else None
    return {
        "path": edit.path,
        "format": edit.format,
        **landing_json(edit, landing),
        "edit": given,
    }


def _recorded(file: PlannedFile, place: Place) -> RecordedFile:
    from git_boocode.editing.record import RecordedFile

    path = os.path.relpath(file.target.real, place.top).replace(os.sep, "/")
    return RecordedFile(path, file.action, _bytes(file.before), file.after, _mode(file.before))


def _bytes(snapshot: Snapshot | None) -> bytes | None:
    return None if snapshot is None else snapshot.data


def _mode(snapshot: Snapshot | None) -> int:
    return 0o644 if snapshot is None else snapshot.mode
