"""Apply the edits of one call: read them, plan, keep the old contents, write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import Edit, Failure, How, Landing
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.place import Place, Target
from git_boocode.editing.plan import Plan, PlannedFile, make_plan
from git_boocode.editing.result import Answer, EditsRefusedError, landing_json
from git_boocode.editing.snapshot import mode_only
from git_boocode.editing.write import (
    Change,
    ChangedMeanwhileError,
    Journal,
    with_executable,
    write_files,
)
from git_boocode.repo.errors import RefusedError

if TYPE_CHECKING:
    from git_boocode.editing.record import Record, RecordedFile
    from git_boocode.editing.recovery import EditJournal

_PLANS = 5
"""So many plans are made of one call while other programs change its files."""
MAX_RECORDED = 65_536
"""An edit whose JSON is longer is not repeated in the record, which holds the files anyhow."""


class Options(NamedTuple):
    """How a call is carried out.

    Attributes:
        how: how edits are matched.
        format: the one input format to accept, None to detect it.
        dry_run: write nothing.
        record: keep the old contents in git.
        more: what else the record says, as JSON.
        modes: the permission bits of files that come back, by their absolute path.
        journal: what remembers what is going on where there is no repository; None for nothing.
    """

    how: How = How()
    format: str | None = None
    dry_run: bool = False
    record: bool = True
    more: Mapping[str, object] = MappingProxyType({})
    modes: Mapping[str, int] = MappingProxyType({})
    journal: Journal | None = None


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
    return apply_inputs(read_inputs(sources, options.format), place, options)


def apply_inputs(inputs: Inputs, place: Place, options: Options) -> Answer:
    """Apply edits that have been read already; see `apply_edits`."""
    count = len(inputs.edits) + len(inputs.failures)
    plan = make_plan(inputs, place, options.how)
    identifier = None
    if not options.dry_run:
        plan, identifier = _carry_out(plan, inputs, place, options)
    elif plan.failures:
        raise EditsRefusedError(plan.failures, count)
    if identifier is not None and place.repository is not None:
        from git_boocode.editing.retention import prune_now_and_then

        prune_now_and_then(place.repository, identifier)
    return Answer(not options.dry_run, identifier, tuple(plan.told))


def _carry_out(
    plan: Plan, inputs: Inputs, place: Place, options: Options
) -> tuple[Plan, str | None]:
    """Write a plan that was made without the lock, or a new one if the files have changed since.

    Matching may take its time, and holds no other command off.
    """
    count = len(inputs.edits) + len(inputs.failures)
    made = 1
    while True:
        with _held(place, count):
            changed = plan.changed_file()
            if changed is None:
                if plan.failures:
                    raise EditsRefusedError(plan.failures, count)
                return plan, _write(plan, inputs, place, options)
        if made == _PLANS:
            raise _changed_meanwhile(changed.target, plan.files, inputs)
        made += 1
        plan = make_plan(inputs, place, options.how)


@contextmanager
def _held(place: Place, count: int) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(place.locked())
        except RefusedError as error:
            hint = "\n".join(error.hints)
            failure = Failure(None, None, error.code, error.message, hint=hint)
            raise EditsRefusedError([failure], count) from None
        if place.repository is not None:
            from git_boocode.editing.recovery import settle

            settle(place.repository)
        yield


def _write(plan: Plan, inputs: Inputs, place: Place, options: Options) -> str | None:
    files = [file for file in plan.files if file.changes]
    if not files:
        return None
    told = [file for file in plan.told if file.changes]
    record = _record(told, place, options) if options.record else None
    try:
        journal = options.journal or _journal(place, record)
        write_files([_change(file, options) for file in files], journal)
    except ChangedMeanwhileError as error:
        raise _changed_meanwhile(error.target, files, inputs) from None
    return record.id if record else None


def _change(file: PlannedFile, options: Options) -> Change:
    like = file.source.before if file.source else None
    if file.source is None and file.target.real in options.modes:
        like = mode_only(options.modes[file.target.real])
    return Change(file.target, file.before, file.after, like, file.spelling, file.executable)


def _record(files: Sequence[PlannedFile], place: Place, options: Options) -> Record | None:
    if place.repository is None:
        return None
    from git_boocode.editing.record import Record

    recorded = [_recorded(file, place, options) for file in files]
    return Record(place.repository, recorded, _recorded_edits(files), options.more)


def _journal(place: Place, record: Record | None) -> EditJournal | None:
    if place.repository is None:
        return None
    from git_boocode.editing.recovery import EditJournal

    return EditJournal(place.repository, record)


def _changed_meanwhile(
    target: Target, files: Sequence[PlannedFile], inputs: Inputs
) -> EditsRefusedError:
    message = "another program changed the file while it was being edited"
    hint = "nothing was written; run the command again"
    failures = [
        Failure(edit.number, file.target.path, "conflict", message, given=edit.given, hint=hint)
        for file in files
        if file.target == target
        for edit in (file.edits or [edit for edit, _ in file.landings])[:1]
    ]
    return EditsRefusedError(failures, len(inputs.edits))


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


def _recorded(file: PlannedFile, place: Place, options: Options) -> RecordedFile:
    from git_boocode.editing.record import RecordedFile

    before = file.source.before if file.source else None
    mode = options.modes.get(file.target.real, 0o644) if before is None else before.mode
    new_mode = (
        mode if file.executable is None else with_executable(mode, executable=file.executable)
    )
    return RecordedFile(
        _below(file.target.real, place) if file.spelling is None else file.spelling.path,
        file.action,
        None if before is None else before.data,
        file.after,
        new_mode if before is None else mode,
        new_mode,
        _below(file.source.target.real, place) if file.source and file.moved_from else None,
    )


def _below(real: str, place: Place) -> str:
    return os.path.relpath(real, place.top).replace(os.sep, "/")
