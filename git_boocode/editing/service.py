"""Apply the edits of one call: parse, plan, record the old contents, write. Or locate a text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.answer import Answer, EditsRefusedError
from git_boocode.editing.edit_plan import EditPlan, PlannedFile
from git_boocode.editing.edits import DEFAULT_PROFILE, EditedFile, Failure, MatchOptions, MissError
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.textfile import decode
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.atomic_write import (
    ChangedMeanwhileError,
    FileChange,
    Journal,
    Target,
    WriteStep,
    write_files,
)
from git_boocode.repo.errors import RETRY, NextStep, RefusedError
from git_boocode.repo.files import mode_only, with_executable

if TYPE_CHECKING:
    from git_boocode.editing.records import Contents, Record
    from git_boocode.matching import Match
    from git_boocode.repo.repository import Repository

_PLANS = 5
"""Maximum number of attempts to plan a call while other programs change its files."""
_MAX_RECORDED = 65_536
"""Maximum length of an edit's JSON in the record, in characters; a longer one is omitted."""


class Options(NamedTuple):
    """How a call is carried out.

    `format` restricts the input format, `more` are further keys of the record's JSON, `modes` the
    permission bits of restored files by absolute path; `journal` is for use without a repository.
    `session` is that of the agent whose edits they are, empty if it is unknown.
    """

    how: MatchOptions = MatchOptions()
    format: str | None = None
    dry_run: bool = False
    record: bool = True
    more: Mapping[str, object] = MappingProxyType({})
    modes: Mapping[str, int] = MappingProxyType({})
    journal: Journal | None = None
    session: str = ""


def apply_edits(sources: Sequence[Source], workspace: Workspace, options: Options) -> Answer:
    """Apply the edits of one call, all or none.

    EditsRefusedError if an edit cannot be applied, a file changed meanwhile, or another command is
    running here (`locked`); FatalError if a file cannot be read, recorded or written. A refusal is
    noted for `git boocode view`, unless edits are not recorded.
    """
    try:
        return apply_inputs(read_inputs(sources, options.format), workspace, options)
    except EditsRefusedError as error:
        if options.record and not options.dry_run and workspace.repository is not None:
            from git_boocode.editing.records import note_refusal

            note_refusal(workspace.repository, error.failures, error.edits)
        raise


def apply_inputs(inputs: Inputs, workspace: Workspace, options: Options) -> Answer:
    """Apply parsed edits; see `apply_edits`."""
    plan = EditPlan(inputs, workspace, options.how)
    identifier = None
    if plan.written and not options.dry_run:
        plan, identifier = _carry_out(plan, inputs, workspace, options)
    elif plan.failures:
        raise EditsRefusedError(named_failures(plan, workspace, options), inputs.total)
    if identifier is not None and workspace.repository is not None:
        from git_boocode.editing.records import prune_occasionally

        prune_occasionally(workspace.repository, identifier)
    files = [file.edited(options.modes) for file in plan.listed]
    if not options.dry_run:
        from git_boocode.editing.kept_versions import keep_new, with_versions

        files = with_versions(files, workspace.repository)
        if options.record:
            keep_new(workspace, filter(_is_to_keep, files))
    return Answer(not options.dry_run, identifier, tuple(files))


def _is_to_keep(file: EditedFile) -> bool:
    """Whether the version of an edited file is to be kept, and no record or journal has it.

    An editor sends each buffer again with its text, unless its edits name versions.
    """
    return any(edit.base for edit, _ in file.applied) if file.in_buffer else not file.changes


def named_failures(
    plan: EditPlan, workspace: Workspace, options: Options, held: Collection[str] = ()
) -> list[Failure]:
    """The failures of a plan with the versions of their files.

    These are kept unless they are `held`, or the call would not be recorded.
    """
    from git_boocode.editing.kept_versions import failures_with_versions

    states = {file.target: file.before for file in plan.files}
    keep = options.record and not options.dry_run
    return failures_with_versions(workspace, plan.failures, states, held, keep=keep)


def _carry_out(
    plan: EditPlan, inputs: Inputs, workspace: Workspace, options: Options
) -> tuple[EditPlan, str | None]:
    """Write a plan that was made without the lock, or a new plan if files changed since.

    Returns the plan and the id of its record, if there is one.
    """
    for attempt in range(_PLANS):
        if attempt:
            plan = EditPlan(inputs, workspace, options.how)
        with _locked(workspace, inputs.total):
            read = [(file.target, file.before) for file in plan.written]
            changed = next((file for file, before in read if not file.is_unchanged(before)), None)
            if changed is None:
                if plan.failures:
                    raise EditsRefusedError(named_failures(plan, workspace, options), inputs.total)
                return plan, _write(plan, inputs, workspace, options)
    assert changed is not None
    raise _changed_meanwhile(changed, plan.files, inputs, workspace, keep=options.record)


@contextmanager
def _locked(workspace: Workspace, count: int) -> Iterator[None]:
    """Lock the worktree, and recover an interrupted command."""
    with ExitStack() as stack:
        try:
            stack.enter_context(workspace.locked())
        except RefusedError as error:
            miss = MissError(error.code, error.message, hint="\n".join(error.hints))
            raise EditsRefusedError([Failure.of(miss, None, None, None)], count) from None
        if workspace.repository is not None:
            from git_boocode.editing.recovery import recover

            recover(workspace.repository)
        yield


def _write(plan: EditPlan, inputs: Inputs, workspace: Workspace, options: Options) -> str | None:
    """Record and write the files; returns the id of the record, if there is one."""
    files = [file for file in plan.written if file.changes]
    if not files:
        return None
    record, journal = None, options.journal
    if workspace.repository is not None:
        record = _record(plan, workspace, workspace.repository, options) if options.record else None
        journal = journal or EditJournal(workspace.repository, record)
    try:
        write_files([_change(file, options) for file in files], journal)
    except ChangedMeanwhileError as error:
        raise _changed_meanwhile(
            error.target, files, inputs, workspace, keep=options.record
        ) from None
    return record.id if record else None


class EditJournal(Journal):
    """Lists the files of a call on disk before it writes them, and publishes its record."""

    def __init__(self, repository: Repository, record: Record | None) -> None:
        self._repository = repository
        self._record = record

    def begin(self, files: Sequence[tuple[FileChange, WriteStep]]) -> None:
        """Write the journal first, so that an incomplete record is removed with it after a kill."""
        from git_boocode.editing.recovery import begin_call

        identifier = self._record.id if self._record else None
        begin_call(self._repository, identifier, (step for _, step in files))
        if self._record is not None:
            self._record.publish()

    def end(self, *, written: bool) -> None:
        """Remove the journal, and the record if nothing was written."""
        from git_boocode.editing.recovery import end_call

        end_call(self._repository, self._record.id if self._record and not written else None)


def _change(file: PlannedFile, options: Options) -> FileChange:
    like = file.source.before if file.source else None
    if file.source is None and file.target.real in options.modes:
        like = mode_only(options.modes[file.target.real])
    return FileChange(file.target, file.before, file.after, like, file.spelling, file.executable)


def _changed_meanwhile(
    target: Target,
    files: Sequence[PlannedFile],
    inputs: Inputs,
    workspace: Workspace,
    *,
    keep: bool,
) -> EditsRefusedError:
    message = "another program changed the file while it was being edited"
    hint = NextStep("nothing was written; run the command again", RETRY)
    file = next(file for file in files if file.target == target)
    # A file that is only replaced by a rename has no edit.
    edit = next(iter(file.edits or [edit for edit, _ in file.applied]), None)
    number, given = (edit.number, edit.given) if edit else (None, None)
    failure = Failure(number, target.path, "conflict", message, given=given, hint=hint)
    from git_boocode.editing.kept_versions import failures_with_versions

    state = None
    with suppress(MissError):
        state = workspace.read(target)
    named = failures_with_versions(workspace, [failure], {target: state}, keep=keep)
    return EditsRefusedError(named, inputs.total)


def _record(
    plan: EditPlan, workspace: Workspace, repository: Repository, options: Options
) -> Record:
    from git_boocode.editing.records import Record

    files = [file for file in plan.listed if file.changes and not file.in_buffer]
    recorded = [_recorded(file, workspace, options) for file in files]
    more = {**_whose(repository, options.session), **options.more}
    return Record(repository, recorded, recorded_edits(files), more)


def _whose(repository: Repository, session: str) -> dict[str, object]:
    """The session of edits, and its agent if that has a turn, as keys of the record's JSON."""
    if not session:
        return {}
    from git_boocode.repo.running_turn import agent_of_session

    return {"session": session, "agent": agent_of_session(repository.state_dir, session) or None}


def recorded_edits(files: Sequence[PlannedFile]) -> list[dict[str, object]]:
    """The applied edits of some files for metadata, in the order of the call."""
    edits = [
        {
            "path": edit.path,
            "format": edit.format,
            "index": edit.number,
            **applied.as_json(),
            "edit": edit.given if len(json.dumps(edit.given)) <= _MAX_RECORDED else None,
        }
        for file in files
        for edit, applied in file.applied
    ]
    return sorted(edits, key=itemgetter("index"))


def _recorded(file: PlannedFile, workspace: Workspace, options: Options) -> Contents:
    from git_boocode.editing.records import Contents, RecordedFile

    below = workspace.tree_path
    before = file.source.before if file.source else None
    mode = new_mode = before.mode if before else options.modes.get(file.target.real, 0o644)
    if file.executable is not None:
        new_mode = with_executable(mode, executable=file.executable)
    kept = RecordedFile(
        file.spelling.path if file.spelling else below(file.target.real),
        file.action,
        mode if before else new_mode,
        new_mode,
        below(file.source.target.real) if file.source and file.moved_from else None,
    )
    return Contents(kept, before.data if before else None, file.after)


class LocateResult(NamedTuple):
    """A match in a file, whose `path` is relative to the top."""

    path: str
    match: Match

    @property
    def found(self) -> bool:
        """Whether there is a unique match."""
        return self.match.kind in ("exact", "fuzzy")

    def refusal(self) -> RefusedError:
        """The error if there is no unique match; its details are the JSON answer."""
        from git_boocode.editing.text_changes import quoted

        match = self.match
        ambiguous = match.kind == "ambiguous"
        what = f"the text occurs {match.count} times" if ambiguous else "the text was not found"
        hint = "add lines above or below until it occurs once, or give --start-line"
        hints = (hint,) if ambiguous else ()
        message = f"{quoted(self.path)}: {what}"
        return RefusedError(message, code=match.kind, hints=hints, details=self.as_json())

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        match = self.match
        return {
            "ok": self.found,
            **{key: getattr(match, key) for key in ("kind", "rung", "similarity", "count")},
            "start": match.start and match.start._asdict(),
            "end": match.end and match.end._asdict(),
            "candidates": [candidate._asdict() for candidate in match.candidates],
        }


def locate(
    workspace: Workspace,
    path: str,
    needle: str,
    profile: str = DEFAULT_PROFILE,
    start_line: int | None = None,
) -> LocateResult:
    """Find a text in a file; `start_line` is its expected line, 1-based.

    Bytes of `needle` that are not UTF-8 are surrogates. RefusedError if the file does not exist
    (`missing_file`) or cannot be searched; FatalError if it cannot be read.
    """
    if not needle:
        raise RefusedError(
            "the text to find is empty",
            code="invalid_input",
            hints=("give at least one character of the file",),
        )
    from git_boocode.matching import locate_match

    target, state = workspace.existing(path)
    text = decode(state.data)
    used = "exact" if text.is_raw else profile
    return LocateResult(target.path, locate_match(text.text, needle, used, start_line=start_line))
