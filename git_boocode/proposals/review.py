"""What a user does with a proposal beside accepting it: discard it, or sync its context."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.restore.commands import undoable_change
from git_boocode.checkpoints.restore.request import ProposalStep
from git_boocode.editing.answer import file_json
from git_boocode.editing.edits import DEFAULT_ENCODING, EditedFile, MissError
from git_boocode.editing.recovery import interrupted_edit, recover
from git_boocode.editing.text_changes import (
    TextHunk,
    is_binary,
    merge_texts,
    text_hunks,
    with_hunks,
)
from git_boocode.editing.textfile import FileText, decode
from git_boocode.editing.workspace import LOCK_PATIENCE, Workspace, read_file
from git_boocode.proposals.local_files import (
    OTHER,
    KnownVersions,
    file_mode,
    file_statuses,
    is_below,
    known_versions,
    letters_of,
    local_version,
    path_kind,
    store_version,
    tree_path,
    worktree_bytes,
    worktree_contents,
)
from git_boocode.proposals.proposal import (
    BlobVersion,
    ContextFile,
    NewState,
    ObjectStore,
    Proposal,
    Proposals,
    ProposalState,
    base_of,
    refuse_moved,
    retry_moved,
    store_proposal,
)
from git_boocode.repo.atomic_write import Target
from git_boocode.repo.errors import NextStep, RefusedError, UsageError, first_few, shell_command
from git_boocode.repo.files import FileState, Symlink
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.running_turn import refuse_if_running

DISCARD, SYNC = "discard", "sync"
_SHOWN_HUNKS = 5

Hunks = Mapping[str, Collection[int]]
"""The numbers of some hunks, by path relative to the top."""


class ChosenPart(NamedTuple):
    """A part of a proposal: paths of the command line, empty for all, and the only hunks.

    `of` is the id of the proposal that the choice was made for; empty for the newest.
    """

    paths: tuple[str, ...] = ()
    hunks: Hunks = MappingProxyType({})
    of: str = ""


EVERYTHING = ChosenPart()


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

    `id` is the new proposal, `undo` the safety checkpoint, both None if nothing was done.
    """

    applied: bool
    files: tuple[ReviewedFile, ...]
    id: str | None = None
    undo: str | None = None
    warnings: tuple[str, ...] = ()

    def as_json(self, encoding: str = DEFAULT_ENCODING) -> dict[str, object]:
        """The JSON answer."""
        return {
            "ok": True,
            "applied": self.applied,
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
        self._contents = dict[tuple[str, BlobVersion], bytes]()
        self._refuse_turn()
        self.newest: Proposal | None = Proposals(self.repository).newest()
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
                    hints=(NextStep(f"changes are proposed of {shown}", "status"),),
                )
            chosen |= {file.path: file for file in found}
        return [*chosen.values()] if paths else pending

    def chosen(self, part: ChosenPart, verb: str) -> list[ContextFile]:
        """The files of a part; errors as for `pending`, or if the proposal is another one now."""
        if part.of and (self.newest is None or part.of != self.newest.id):
            raise RefusedError(
                "the proposal has changed since you looked at it",
                code="conflict",
                hints=(NextStep("nothing was changed; look at it again", "status"),),
            )
        files = self.pending(part.paths, verb)
        if others := sorted(part.hunks.keys() - {file.path for file in files}):
            raise RefusedError(f"no hunks of '{others[0]}' are proposed", code="not_found")
        return files

    def locals_of(self, file: ContextFile) -> dict[str, LocalFile]:
        """The user's files at the paths of a file, by path; see `local`."""
        return {path: self.local(path, known) for path, known in known_versions([file]).items()}

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
            state = buffer or read_file(real, links=True)
        except MissError as miss:
            raise RefusedError(f"'{path}': {miss.message}", code=miss.code) from None
        if state is None:
            return LocalFile(target, None, None)
        version = local_version(self.workspace, path, state.data, known)
        return LocalFile(target, state, version, buffer is not None)

    def bytes_of(self, path: str, version: BlobVersion) -> bytes:
        """The bytes of a version, as they would be in the worktree."""
        if (path, version) not in self._contents:
            self._contents[path, version] = worktree_bytes(self.repository, path, version)
        return self._contents[path, version]

    def read_ahead(self, files: Sequence[ContextFile]) -> None:
        """Read the contexts and outputs of some files at once."""
        sides = ((file.paths[0], file.context) for file in files)
        others = ((file.path, file.output) for file in files)
        both = [(path, version) for path, version in (*sides, *others) if version is not None]
        self._contents |= worktree_contents(self.repository, both)

    def sides(self, file: ContextFile) -> tuple[FileText, FileText]:
        """The texts of the context and of the output; an empty one for no file."""
        old = self.bytes_of(file.paths[0], file.context) if file.context else b""
        new = self.bytes_of(file.path, file.output) if file.output else b""
        return decode(old), decode(new)

    def hunks_of(self, file: ContextFile) -> list[TextHunk]:
        """The hunks of the proposed change; RefusedError if it has none."""
        old, new = self.sides(file)
        if file.source or is_binary(old) or is_binary(new):
            raise RefusedError(
                f"'{file.path}' has no hunks: it is {'renamed' if file.source else 'binary'}",
                code="invalid_input",
                hints=("leave out --hunk to take the whole change",),
            )
        return text_hunks(old.text, new.text)

    def check_hunks(self, file: ContextFile, numbers: Collection[int]) -> set[int]:
        """The numbers of all hunks of a file; RefusedError if one of some numbers is not there."""
        hunks = self.hunks_of(file)
        there = {hunk.number for hunk in hunks}
        for number in sorted(numbers):
            if number not in there:
                raise _no_hunk(file, number, hunks)
        return there

    def part_of(self, file: ContextFile, numbers: Collection[int]) -> FileText:
        """The context with only some hunks of the proposed change."""
        old, new = self.sides(file)
        text = with_hunks(old.text, new.text, numbers)
        part = (old if file.context else new)._replace(text=text)
        return part if part.is_encodable else new._replace(text=text)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the worktree's lock while the state is what this review began with."""
        with worktree_lock(self.repository.state_dir, shared=False, patience=LOCK_PATIENCE):
            self._refuse_turn()
            recover(self.repository)
            refuse_moved(self.repository, self.newest)
            yield

    def _refuse_turn(self) -> None:
        if not self._forced:
            refuse_if_running(self.repository)

    def step(self, change: str, paths: Sequence[str]) -> ProposalStep:
        """What `undo` takes back of a change of some paths."""
        return ProposalStep(change, self.newest.id if self.newest else "", tuple(paths))

    def store(self, action: str, new_state: Callable[[ObjectStore], ProposalState]) -> Proposal:
        """Store a new state; the caller holds the lock."""
        base = base_of(self.repository, self.newest)
        return store_proposal(
            self.repository, lambda objects: NewState(new_state(objects), action, base)
        )


def recover_if_killed(workspace: Workspace) -> None:
    """Clean up after an accept that was killed; errors as those of `recover`."""
    assert workspace.repository is not None
    if interrupted_edit(workspace.repository) is not None:
        with workspace.locked():
            recover(workspace.repository)


def _no_hunk(file: ContextFile, number: int, hunks: Sequence[TextHunk]) -> RefusedError:
    count = "no hunks" if not hunks else f"only {len(hunks)} hunk{'s' * (len(hunks) > 1)}"
    shown = [f"{hunk.number} at line {hunk.start_line}" for hunk in hunks]
    hint = f"the hunks are: {first_few(shown, _SHOWN_HUNKS)}"
    hints = (NextStep(hint, "preview"),) if hunks else ()
    message = f"'{file.path}' has {count}, not a hunk {number}"
    return RefusedError(message, code="not_found", hints=hints)


def discard(
    workspace: Workspace, chosen: ChosenPart = EVERYTHING, *, force: bool = False
) -> ReviewResult:
    """Drop what is proposed for some files, or some hunks of it; no file is changed.

    RefusedError if nothing is proposed for a path (`not_found`), or a turn is running (`locked`),
    unless forced.
    """
    return retry_moved(partial(_discard, workspace, chosen, force=force))


def _discard(workspace: Workspace, chosen: ChosenPart, *, force: bool) -> ReviewResult:
    review = Review(workspace, forced=force)
    files = review.chosen(chosen, DISCARD)
    parts = {}
    for file in files:
        if (numbers := chosen.hunks.get(file.path)) is not None:
            left = review.check_hunks(file, numbers).difference(numbers)
            parts[file.path] = review.part_of(file, left).encode() if left else None

    def new_state(objects: ObjectStore) -> ProposalState:
        outputs = {path: review.state.context[path] for file in files for path in file.paths}
        contexts = dict(outputs)
        for file in files:
            data = parts.get(file.path)
            if data is not None and file.output is not None:
                mode = file.output.mode
                outputs[file.path] = store_version(
                    review.repository, objects, (file.path, data), mode
                )
        return review.state.with_versions(contexts, outputs)

    step = review.step(DISCARD, all_paths(files))
    with review.locked(), undoable_change(review.repository, step, {}) as undo:
        stored = review.store(DISCARD, new_state)
    return ReviewResult(applied=True, files=_letters(workspace, files), id=stored.id, undo=undo)


def sync(workspace: Workspace, paths: Sequence[str] = (), *, force: bool = False) -> ReviewResult:
    """Make files as they are now the context of what is proposed; no file is changed.

    `paths` are files, or directories with files of the proposal; other files join it. Without
    paths, all its files are synced. A proposed change is merged with the user's; where they
    conflict, the proposed lines stay, and a warning names the user's lines that accepting replaces.
    RefusedError if a path names nothing (`not_found`), or a turn is running (`locked`), unless
    forced.
    """
    return retry_moved(partial(_sync, workspace, paths, force=force))


def _sync(workspace: Workspace, paths: Sequence[str], *, force: bool) -> ReviewResult:
    review = Review(workspace, forced=force)
    files = _to_sync(review, paths)
    review.read_ahead([file for file in files if file.is_pending])
    plan = [_synced(review, file) for file in files]

    def new_state(objects: ObjectStore) -> ProposalState:
        contexts, outputs = dict[str, BlobVersion | None](), dict[str, BlobVersion | None]()
        for each in plan:
            for path, local in each.locals.items():
                version = local.version
                unchanged = version in (each.file.context, each.file.output)
                if local.state is not None and version is not None and not unchanged:
                    data, mode = local.state.data, version.mode
                    version = store_version(review.repository, objects, (path, data), mode)
                contexts[path] = outputs[path] = version
            if each.file.is_pending:
                outputs |= dict.fromkeys(each.file.paths[:-1])
                outputs[each.file.path] = each.output
            if each.merged is not None and each.output is not None:
                path, mode = each.file.path, each.output.mode
                data = each.merged.encode()
                outputs[path] = store_version(review.repository, objects, (path, data), mode)
        return review.state.with_versions(contexts, outputs)

    step = review.step(SYNC, all_paths(files))
    with review.locked(), undoable_change(review.repository, step, {}) as undo:
        stored = review.store(SYNC, new_state)
    return ReviewResult(
        applied=True,
        files=_letters(workspace, files),
        id=stored.id,
        undo=undo,
        warnings=tuple(filter(None, (each.warning for each in plan))),
    )


class _Synced(NamedTuple):
    """A file to sync: the user's files at its paths, and what becomes of its output."""

    file: ContextFile
    locals: Mapping[str, LocalFile]
    output: BlobVersion | None
    merged: FileText | None = None
    warning: str = ""


def _synced(review: Review, file: ContextFile) -> _Synced:
    locals_ = review.locals_of(file)
    for path, local in locals_.items():
        if local.version == OTHER:
            raise irregular(path)
    plain = _Synced(file, locals_, file.output)
    letters = letters_of(file, {path: local.version for path, local in locals_.items()})
    if letters in ("", "~", file.change):
        # Either the user has changed nothing, or there is nothing else to accept.
        return plain
    merged = None if "!" in letters else _merged_output(review, file, locals_[file.paths[0]])
    warning = f"accepting '{file.path}' now replaces your changes"
    if merged is None:
        return plain._replace(warning=warning)
    output, text, places = merged
    where = f"{warning}: {first_few(places, _SHOWN_HUNKS)}" if places else ""
    return plain._replace(output=output, merged=text, warning=where)


def _merged_output(
    review: Review, file: ContextFile, local: LocalFile
) -> tuple[BlobVersion, FileText | None, list[str]] | None:
    """The output with the user's changes, its text unless it is stored, and where they conflict.

    Conflicting lines are those of the output. The id of an output with a text does not count. None
    if there is nothing to merge.
    """
    now, context, output = local.version, file.context, file.output
    if now is None or local.state is None or context is None or output is None:
        return None
    output = output._replace(mode=merged_mode(context, now, output))
    if isinstance(local.state.data, Symlink):
        return None
    if context.id in (now.id, output.id):
        # Only one side has changed the content.
        return output if now.id == context.id else output._replace(id=now.id), None, []
    ours, (base, theirs) = decode(local.state.data), review.sides(file)
    if any(map(is_binary, (ours, base, theirs))):
        return None
    merged = merge_texts(base, ours, theirs, favour_theirs=True)
    return (output, merged.text, merged.places) if merged.text.is_encodable else None


def merged_mode(context: BlobVersion, local: BlobVersion, output: BlobVersion) -> str:
    """The mode that the proposal changes to, or else the user's, if that is a regular file's."""
    regular = local.mode in (file_mode(executable=False), file_mode(executable=True))
    return local.mode if regular and output.mode == context.mode else output.mode


def irregular(path: str) -> RefusedError:
    """The error for a path with something else than a file."""
    hints = ("name a file; move away what is in its place",)
    return RefusedError(f"'{path}' is not a regular file", code="invalid_input", hints=hints)


def _to_sync(review: Review, paths: Sequence[str]) -> list[ContextFile]:
    known = review.state.files()
    if not paths:
        if not known:
            raise RefusedError(
                "there is nothing to sync: no file is part of a proposal",
                code="not_found",
                hints=(
                    NextStep(
                        "{} adds files to the context",
                        "paths",
                        typed="'git boocode sync <path>...'",
                    ),
                ),
            )
        return known
    chosen = dict[str, ContextFile]()
    for path in paths:
        name = tree_path(review.workspace, path)
        found = [file for file in known if is_below(file, name)]
        if not found:
            local = review.local(name)
            if local.version == OTHER:
                raise irregular(path)
            if local.state is None:
                raise RefusedError(
                    f"'{path}' is neither a file nor part of a proposal",
                    code="not_found",
                    hints=(
                        NextStep(
                            "{} lists the files of the proposal",
                            "status",
                            typed="'git boocode status'",
                        ),
                    ),
                )
            found = [ContextFile(name, "", None, None)]
        chosen |= {file.path: file for file in found}
    return [*chosen.values()]


def hunks_of_one_file(
    workspace: Workspace, paths: Sequence[str], numbers: Collection[int], verb: str
) -> ChosenPart:
    """Some hunks of the only file that paths select; UsageError if they select several."""
    review = Review(workspace)
    files = review.pending(paths, verb)
    if len(files) > 1:
        path = os.path.relpath(files[0].path, workspace.prefix or ".")
        words = ("git", "boocode", verb, "--hunk", str(min(numbers)), path)
        hint = f"name one file: {shell_command(*words)}"
        raise UsageError("--hunk takes hunks of one file", hints=(hint,))
    of = review.newest.id if review.newest else ""
    return ChosenPart(tuple(paths), {files[0].path: set(numbers)}, of)


def all_paths(files: Sequence[ContextFile]) -> list[str]:
    """All paths of some files, also those before a rename."""
    return [path for file in files for path in file.paths]


def _letters(workspace: Workspace, files: Sequence[ContextFile]) -> tuple[ReviewedFile, ...]:
    """The letters of some files after a review; a file that has left the proposal has none."""
    paths, found = {*all_paths(files)}, file_statuses(workspace)
    there = {each.file.path: each.letters for each in found if {*each.file.paths} & paths}
    names = {file.path for file in files} | there.keys()
    return tuple(ReviewedFile(path, there.get(path, "")) for path in sorted(names))
