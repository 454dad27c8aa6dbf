"""Look at the newest proposal beside the user's files, and change it while nobody else does."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple, ParamSpec, TypeVar

from git_boocode.checkpoints.restore.commands import undoable_change
from git_boocode.checkpoints.restore.plan import WrittenFile
from git_boocode.checkpoints.restore.request import ProposalStep
from git_boocode.editing.answer import file_json
from git_boocode.editing.edits import DEFAULT_ENCODING, EditedFile
from git_boocode.editing.kept_versions import abbreviated
from git_boocode.editing.recovery import interrupted_edit, recover
from git_boocode.editing.text_changes import (
    LineMap,
    MergedText,
    TextHunk,
    check_numbers,
    is_binary,
    merge_texts,
    text_edits,
    text_hunks,
    with_hunks,
    without_hunk,
)
from git_boocode.editing.textfile import FileText, decode
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import (
    OTHER,
    is_below,
    letters_of,
    local_version,
    path_kind,
    tree_path,
    worktree_contents,
)
from git_boocode.proposals.proposal import (
    BlobVersion,
    Changes,
    ContextFile,
    EarlierStates,
    KnownVersions,
    Proposal,
    Proposals,
    ProposalState,
    StateChange,
    store_proposal,
)
from git_boocode.repo.atomic_write import Target
from git_boocode.repo.errors import (
    NextStep,
    RefusedError,
    UsageError,
    first_few,
    shell_command,
    step_that,
)
from git_boocode.repo.files import FileState, Symlink, read_state
from git_boocode.repo.object_writer import REGULAR
from git_boocode.repo.running_turn import refuse_if_running

FOREIGN = "the proposed file is not UTF-8, so that a buffer cannot take it as text"
_ATTEMPTS = 5
_FEW = 3
WrittenFiles = Mapping[str, WrittenFile | None]
NOTHING_WRITTEN: WrittenFiles = MappingProxyType({})
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

Hunks = Mapping[str, Collection[int]]
"""The numbers of some hunks, by path relative to the top."""


class ChosenPart(NamedTuple):
    """A part of a proposal: paths of the command line, empty for all, and the only hunks.

    `of` is the id of the proposal that the choice was made for; empty for the newest, None if there
    was none. It says what the numbers of hunks mean: they count in what is proposed, whatever the
    user's file is now.
    """

    paths: tuple[str, ...] = ()
    hunks: Hunks = MappingProxyType({})
    of: str | None = ""


class LocalFile(NamedTuple):
    """A file as the user has it: on disk, or in a buffer; `state` is None if it does not exist."""

    target: Target
    state: FileState | None
    version: BlobVersion | None
    in_buffer: bool = False

    @property
    def text(self) -> FileText | None:
        """Its text; None if it does not exist."""
        return decode(self.state.data) if self.state else None


class ComparedFile(NamedTuple):
    """A file of a proposal beside the user's: at the path before a rename, and at its own."""

    file: ContextFile
    letters: str
    local: LocalFile
    there: LocalFile

    @property
    def locals(self) -> dict[str, LocalFile]:
        """The user's files by path."""
        return {self.file.paths[0]: self.local, self.file.path: self.there}

    @property
    def in_buffer(self) -> bool:
        """Whether the buffer of an editor is the user's file."""
        return self.local.in_buffer or self.there.in_buffer

    def is_foreign(self, new: FileText) -> bool:
        """Whether a text has bytes that are not UTF-8, which the buffer has as characters."""
        local = self.local.text
        return self.in_buffer and new.has_bytes and not (local and local.has_bytes)

    @property
    def merged_mode(self) -> str:
        """The mode of an output with the user's changes: theirs, unless the proposal sets it."""
        context, local, output = self.file.context, self.local.version, self.file.output
        assert output is not None
        keeps_mode = context is not None and context.mode == output.mode
        return local.mode if keeps_mode and local and local.mode in REGULAR else output.mode


class ReviewedFile(NamedTuple):
    """A file of a review: its letters, and its change if it was accepted."""

    path: str
    letters: str
    edited: EditedFile | None = None

    def as_json(self, encoding: str) -> dict[str, object]:
        """The JSON answer; `encoding` is the one of the positions in text edits."""
        if self.edited is None:
            return {"path": self.path, "status": self.letters}
        values = file_json(self.edited, encoding)
        del values["edits"]
        return {**values, "status": self.letters}


class ReviewResult(NamedTuple):
    """The result of a review, or of its dry run.

    `id` is the new proposal, `undo` the safety checkpoint, both None if nothing was done;
    `proposal` is the newest one then.
    """

    applied: bool
    files: tuple[ReviewedFile, ...]
    proposal: str
    id: str | None = None
    undo: str | None = None
    warnings: tuple[str, ...] = ()

    def as_json(self, encoding: str = DEFAULT_ENCODING) -> dict[str, object]:
        """The JSON answer."""
        return {
            "ok": True,
            "applied": self.applied,
            "proposal": self.proposal,
            "id": self.id,
            "undo": self.undo,
            "files": [file.as_json(encoding) for file in self.files],
            **({"warnings": [*self.warnings]} if self.warnings else {}),
        }


class Review:
    """One change of a worktree's proposals, based on the newest one.

    It may only be looked at; to change anything, `locked` is entered. Unless it is `forced`, it is
    refused while a turn is running (`locked`).
    """

    def __init__(self, workspace: Workspace, *, forced: bool = True) -> None:
        assert workspace.repository is not None
        self.workspace = workspace
        self.repository = workspace.repository
        self._forced = forced
        self._texts = dict[ContextFile, tuple[FileText, FileText]]()
        self._refuse_turn()
        self.newest: Proposal | None = Proposals(self.repository).newest()
        self.newest_id = self.newest.id if self.newest else ""
        self.state = self.newest.state if self.newest else ProposalState()

    def pending(self, paths: Sequence[str], verb: str) -> list[ContextFile]:
        """The files with a proposed change that some paths of the command line name; all for none.

        RefusedError (`not_found`) if there is none, or none for one of the paths.
        """
        pending = [file for file in self.state.files() if file.is_pending]
        if not pending:
            raise RefusedError(
                f"there is nothing to {verb}: no change is proposed",
                code="not_found",
                hints=(
                    NextStep(
                        "{} stores a model's edits as a proposal",
                        "propose",
                        typed="'git boocode propose'",
                    ),
                ),
            )
        chosen = dict[str, ContextFile]()
        for path in paths:
            name = tree_path(self.workspace, path)
            found = [file for file in pending if is_below(file, name)]
            if not found:
                shown = first_few([f"'{file.path}'" for file in pending], 3)
                raise RefusedError(
                    f"no change of '{name}' is proposed",
                    code="not_found",
                    hints=(NextStep("", "status", rest=f"changes are proposed of {shown}"),),
                )
            chosen |= {file.path: file for file in found}
        return [*chosen.values()] if paths else pending

    def chosen(self, part: ChosenPart, verb: str) -> list[ContextFile]:
        """The files of a part; errors as for `pending` and `expect`."""
        self.expect(part.of)
        files = self.pending(part.paths, verb)
        if others := sorted(part.hunks.keys() - {file.path for file in files}):
            raise RefusedError(f"no hunks of '{others[0]}' are proposed", code="not_found")
        return files

    def expect(self, proposal: str | None) -> None:
        """Refuse any other proposal than this (`stale`), None for none; empty allows any."""
        if proposal != "" and (proposal or "") != self.newest_id:
            text = "nothing was changed; look at it again: {}"
            raise RefusedError(
                "the proposal has changed since you looked at it",
                code="stale",
                hints=(NextStep(text, "status", typed="'git boocode status'"),),
            )

    def compare(self, file: ContextFile) -> ComparedFile:
        """A file beside those of the user; see `local`."""
        found = {path: self.local(path, known) for path, known in file.known.items()}
        local, there = found[file.paths[0]], found[file.path]
        return ComparedFile(file, letters_of(file, local.version, there.version), local, there)

    def local(self, path: str, known: KnownVersions = ()) -> LocalFile:
        """The user's file at a path relative to the top; RefusedError if it cannot be read.

        Its version is a `known` one if git sees no difference to it.
        """
        top = self.workspace.top
        real = os.path.join(top, path)
        target = Target(path, real, real)
        buffer = self.workspace.buffers.get(real)
        kind = path_kind(top, path)
        if buffer is None and kind != "file":
            return LocalFile(target, None, OTHER if kind else None)
        try:
            state = buffer or read_state(real, links=True)
        except RefusedError as error:
            raise RefusedError(f"'{path}': {error.message}", code=error.code) from None
        if state is None:
            return LocalFile(target, None, None)
        version = local_version(self.workspace, path, state.data, known)
        return LocalFile(target, state, version, buffer is not None)

    def read_ahead(self, files: Sequence[ContextFile]) -> None:
        """Read the contexts and outputs of some files at once, for `sides`."""
        sides = [((file.paths[0], file.context), (file.path, file.output)) for file in files]
        found = worktree_contents(self.repository, chain.from_iterable(sides))
        for file, (context, output) in zip(files, sides, strict=True):
            self._texts[file] = decode(found[context]), decode(found[output])

    def sides(self, file: ContextFile) -> tuple[FileText, FileText]:
        """The texts of the context and of the output; an empty one for no file."""
        if file not in self._texts:
            self.read_ahead([file])
        return self._texts[file]

    def hunks_of(self, file: ContextFile) -> list[TextHunk]:
        """The hunks of the proposed change; RefusedError if it has none."""
        old, new = self.sides(file)
        if file.source or is_binary(old) or is_binary(new):
            raise RefusedError(
                f"'{file.path}' has no hunks: it is {'renamed' if file.source else 'binary'}",
                code="invalid_input",
                hints=(without_hunk("take the whole change", expects_version=False),),
            )
        return text_hunks(old.text, new.text)

    def check_hunks(self, file: ContextFile, numbers: Collection[int]) -> set[int]:
        """The numbers of all hunks of a file; RefusedError if one of some numbers is not there."""
        hunks = self.hunks_of(file)
        check_numbers(file.path, hunks, numbers, "preview")
        return {hunk.number for hunk in hunks}

    def numbers_of(self, file: ContextFile) -> set[int]:
        """The numbers of all hunks of a file, which may have none."""
        with suppress(RefusedError):
            return {hunk.number for hunk in self.hunks_of(file)}
        return set()

    def part_of(self, file: ContextFile, numbers: Collection[int]) -> FileText:
        """The context with only some hunks of the proposed change."""
        old, new = self.sides(file)
        text = with_hunks(old.text, new.text, numbers)
        part = (old if file.context else new)._replace(text=text)
        return part if part.is_encodable else new._replace(text=text)

    def merge(
        self, seen: ComparedFile, part: FileText | None = None, *, favour_theirs: bool = False
    ) -> MergedText | str:
        """The user's file with the proposed change, or a part of it; or why it has no such text."""
        file, state = seen.file, seen.local.state
        if "!" in seen.letters and file.source:
            return "a file exists where the proposal moves one"
        if state is None:
            return "you have deleted the file that the proposal changes"
        if file.output is None:
            return "the proposal deletes the file that you have changed"
        if isinstance(state.data, Symlink):
            return "it is a symbolic link now"
        ours, (base, output) = decode(state.data), self.sides(file)
        theirs = part or output
        if ours in (base, theirs) or base == theirs:
            return MergedText(ours if base == theirs else theirs)
        if any(map(is_binary, (base, ours, theirs))):
            return "it is binary, and both sides have changed it"
        merged = merge_texts(base, ours, theirs, favour_theirs=favour_theirs)
        return merged if merged.text.is_encodable else "its encoding is not that of the proposal"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the worktree's lock while the proposal is the one that this review began with."""
        with self.locked_as_it_is():
            self._refuse_turn()
            recover(self.repository)
            yield

    @contextmanager
    def locked_as_it_is(self) -> Iterator[None]:
        """The same without a look at a running turn or an accept that was killed."""
        with self.workspace.locked():
            if EarlierStates(self.repository).newest_id() != self.newest_id:
                raise ProposalMovedError
            yield

    def _refuse_turn(self) -> None:
        if not self._forced:
            refuse_if_running(self.repository)

    @contextmanager
    def undoable(
        self, action: str, files: Sequence[ContextFile], written: WrittenFiles = NOTHING_WRITTEN
    ) -> Iterator[str]:
        """Hold the lock for a change of files that `undo` takes back; see `undoable_change`."""
        paths = tuple(path for file in files for path in file.paths)
        step = ProposalStep(action, self.newest_id, paths)
        with self.locked(), undoable_change(self.repository, step, written) as undo:
            yield undo

    def store(self, action: str, changes: Changes) -> Proposal:
        """Store changes of the proposal; the caller holds the lock."""
        return store_proposal(self.repository, self.newest, StateChange(action, changes))


def held_by(proposal: Proposal | None) -> set[str]:
    """The versions of files that a proposal holds, which are those that git does not convert."""
    sides = [(file.context, file.output) for file in proposal.files] if proposal else []
    return {abbreviated(side.id) for pair in sides for side in pair if side}


class ProposalMovedError(RefusedError):
    """Another process has stored a proposal since the newest one was read."""

    def __init__(self) -> None:
        super().__init__(
            "another process changed the proposal meanwhile",
            code="conflict",
            hints=(NextStep("nothing was changed; run the command again", "retry"),),
        )


def retry_moved(change: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Call a function that changes the newest proposal again if another process does it, too."""

    @wraps(change)
    def retried(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        for _ in range(_ATTEMPTS):
            with suppress(ProposalMovedError):
                return change(*args, **kwargs)
        return change(*args, **kwargs)

    return retried


def recover_if_killed(workspace: Workspace) -> None:
    """Clean up after an accept that was killed; errors as those of `recover`."""
    assert workspace.repository is not None
    if interrupted_edit(workspace.repository) is not None:
        with workspace.locked():
            recover(workspace.repository)


def irregular(path: str) -> RefusedError:
    """The error for a path with something else than a file."""
    hints = ("name a file; move away what is in its place",)
    return RefusedError(f"'{path}' is not a regular file", code="invalid_input", hints=hints)


def hunks_of_one_file(
    workspace: Workspace, part: ChosenPart, numbers: Collection[int], verb: str
) -> ChosenPart:
    """Some hunks of the only file of a part; UsageError if it has several, else as `chosen`."""
    review = Review(workspace)
    files = review.chosen(part, verb)
    if len(files) > 1:
        paths = [
            os.path.relpath(file.path, workspace.prefix or ".")
            for file in files
            if {*numbers} <= review.numbers_of(file)
        ]
        hints = [_hunks_step(verb, numbers, path) for path in paths[:_FEW]]
        raise UsageError("--hunk takes hunks of one file", hints=tuple(hints))
    return part._replace(hunks={files[0].path: {*numbers}}, of=review.newest_id)


def _hunks_step(verb: str, numbers: Collection[int], path: str) -> NextStep:
    """The same call for the hunks of one file."""
    options = (word for number in sorted(numbers) for word in ("--hunk", str(number)))
    words = shell_command("git", "boocode", verb, *options, path)
    return step_that(f"{verb}s that of '{path}'", words, "paths", path)


class Preview(NamedTuple):
    """A file as it is proposed, with a warning `FOREIGN`; or its context with another one.

    `hunks` are those of the proposed change; their old lines are of the user's file.
    """

    proposal: str  # the id of the newest one; empty for none
    path: str
    letters: str
    source: str  # `output` or `context`
    data: bytes
    local: FileText | None
    hunks: tuple[TextHunk, ...] = ()
    warning: str = ""

    def as_json(self, encoding: str = DEFAULT_ENCODING) -> dict[str, object]:
        """The JSON answer; its text edits lead from the user's text to the shown one."""
        shown, local = decode(self.data), self.local or FileText("")
        return {
            "ok": True,
            "proposal": self.proposal or None,
            "path": self.path,
            "status": self.letters,
            "source": self.source,
            "text": shown.marked,
            "text_edits": []
            if self.warning == FOREIGN
            else text_edits(local.text, shown.text, encoding),
            "hunks": [hunk._asdict() for hunk in self.hunks],
            **({"warning": self.warning} if self.warning else {}),
        }


def preview(workspace: Workspace, path: str) -> Preview:
    """The output of a file, or its context if no content is proposed.

    `path` is of the command line. RefusedError (`missing_file`) if there is no such file.
    """
    review = Review(workspace)
    name = tree_path(workspace, path)
    files = (file for file in review.state.files() if name in file.paths)
    file = next(files, ContextFile(name, "", None, None))
    seen = review.compare(file)
    local = seen.local
    if file.paths[0] not in review.state.sides:
        if local.version == OTHER:
            raise irregular(path)
        if local.state is None:
            raise _missing(workspace, path)
        warning = "the file is not part of a proposal; this is the file as it is"
        return Preview(
            review.newest_id, name, "", "context", local.state.data, local.text, warning=warning
        )
    context, output = review.sides(file)
    hunks = tuple(_hunks(review, file, local))
    if file.is_pending and file.output is not None:
        warning = FOREIGN if seen.is_foreign(output) else ""
        data = output.encode()
        return Preview(
            review.newest_id, file.path, seen.letters, "output", data, local.text, hunks, warning
        )
    proposed = "the proposal deletes the file" if file.is_pending else "no change is proposed"
    warning = f"{proposed}; this is what the model has seen"
    data = context.encode()
    return Preview(
        review.newest_id, file.path, seen.letters, "context", data, local.text, hunks, warning
    )


def _hunks(review: Review, file: ContextFile, local: LocalFile) -> list[TextHunk]:
    """The hunks with the lines that they have in the user's file."""
    if not file.is_pending:
        return []
    try:
        hunks = review.hunks_of(file)
    except RefusedError:
        # A renamed or a binary file has none.
        return []
    old, _ = review.sides(file)
    if local.text is None or local.text.text == old.text:
        return hunks
    lines = LineMap()
    lines.follow(local.text.text, old.text)
    ranges = [lines.original_range(hunk.start_line, hunk.end_line) for hunk in hunks]
    return [
        hunk._replace(start_line=start, end_line=end)
        for hunk, (start, end) in zip(hunks, ranges, strict=True)
    ]


def _missing(workspace: Workspace, path: str) -> RefusedError:
    """The error for a file that neither exists nor is proposed."""
    miss = workspace._replace(from_here=True).missing_file(path)
    status = "{} lists the files of a proposal"
    hint = miss.hint or NextStep(status, "status", typed="'git boocode status'")
    return RefusedError(f"'{path}': {miss.message}", code=miss.code, hints=(hint,))
