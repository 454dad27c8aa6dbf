"""Propose the edits of one call: apply them to the context, and store the result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import chain

from git_boocode.checkpoints.turn_request import BegunTurn, TurnRequest, begin_turn, remove_marks
from git_boocode.editing.answer import Answer, EditsRefusedError
from git_boocode.editing.edit_plan import EditPlan, PlannedFile
from git_boocode.editing.edits import MissError
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.kept_versions import keep_new, with_versions
from git_boocode.editing.records import note_refusal
from git_boocode.editing.service import Options, named_failures, recorded_edits
from git_boocode.editing.workspace import Workspace, buffer_files
from git_boocode.proposals.local_files import git_mode, mode_of, worktree_contents
from git_boocode.proposals.proposal import (
    AnyVersion,
    BlobVersion,
    NewVersion,
    Proposals,
    StateChange,
    store_proposal,
)
from git_boocode.proposals.review import Review, held_by, retry_moved
from git_boocode.repo.entries import Metadata
from git_boocode.repo.files import with_executable
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.ids import ID, new_id
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.object_writer import SYMLINK
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import read_turn
from git_boocode.repo.trees import directories_above


def propose(
    sources: Sequence[Source], workspace: Workspace, options: Options, retry_of: str = ""
) -> Answer:
    """Apply the edits of one call to the context, all or none, and store what they make of it.

    The context of a file is its output in the newest proposal if that changes it; else the file at
    the beginning of the running turn; else the file, or its buffer, as it is now. No file of the
    worktree is changed. `retry_of` names the proposal or the refused attempt that this one repeats.

    EditsRefusedError if an edit cannot be applied, whose `details["id"]` names the attempt;
    RefusedError if `retry_of` names nothing (`not_found`, `ambiguous`), another process keeps
    changing the proposal (`conflict`), or the worktree is locked (`locked`).
    """
    repository = workspace.repository
    assert repository is not None
    retried = retry_of or None
    if retry_of and not ID.fullmatch(retry_of):
        # Nothing is kept of a refused attempt, so its id need not name anything.
        retried = Proposals(repository).find(retry_of).id
    inputs = read_inputs(sources, options.format)

    @retry_moved
    def attempt() -> Answer:
        return _Attempt(Review(workspace), inputs, options).run(retried)

    try:
        return attempt()
    except EditsRefusedError as error:
        if options.record and not options.dry_run:
            note_refusal(repository, error.failures, error.edits)
        raise


class _Attempt:
    """One attempt to propose, based on the newest proposal."""

    def __init__(self, review: Review, inputs: Inputs, options: Options) -> None:
        self._review = review
        self._workspace = review.workspace
        self._inputs = inputs
        self._options = options
        self._turn = _turn_commit(review.repository)

    def run(self, retried: str | None) -> Answer:
        """Plan the edits without a lock, then store the result if nobody else has."""
        review = self._review
        known = self._known_versions()
        plan = EditPlan(self._inputs, self._on_context(known), self._options.how)
        if plan.failures:
            failures = named_failures(plan, self._workspace, self._options, held_by(review.newest))
            raise EditsRefusedError(failures, self._inputs.total, attempt=new_id())
        changed = [file for file in plan.files if file.changes]
        proposal = None
        if changed and not self._options.dry_run:
            change = StateChange(
                "propose",
                dict(self._sides(known, changed)),
                dict(self._renames(changed)),
                self._turn,
                {"edits": recorded_edits(plan.listed), "retry_of": retried},
            )
            proposal = store_proposal(
                review.repository, review.newest, change, review.locked_as_it_is
            )
        files = [file.edited()._replace(in_buffer=True) for file in plan.listed]
        if not self._options.dry_run:
            files = with_versions(files, review.repository)
            held = held_by(proposal or review.newest)
            keep_new(self._workspace, (file for file in files if file.version not in held))
        return Answer(applied=False, id=proposal and proposal.id, files=tuple(files))

    def _known_versions(self) -> dict[str, BlobVersion | None]:
        """The versions of the edited files that are not those of now, by path."""
        paths, state = set[str](), self._review.state
        for edit in self._inputs.edits:
            # The plan reports a path that is invalid.
            with suppress(MissError):
                target = self._workspace.target(edit.path)
                to = edit.to and self._workspace.destination(edit.path, edit.to)
                paths |= {self._workspace.tree_path(each.real) for each in (target, to) if each}
        pending = {path for path in paths if self._is_pending(path)}
        known = {path: state.at(path).output for path in pending}
        if self._turn:
            known |= versions_in(self._review.repository, self._turn, paths - pending)
            held = (path for path in paths - pending if path in state.sides)
            known |= {path: state.at(path).context for path in held}
        return known

    def _is_pending(self, path: str) -> bool:
        context, output = self._review.state.at(path)
        return context != output

    def _on_context(self, known: Mapping[str, BlobVersion | None]) -> Workspace:
        """A workspace in which the files have the versions that the model has seen."""
        read = worktree_contents(self._review.repository, known.items())
        contents = {
            os.path.join(self._workspace.top, path): read[path, version] if version else None
            for path, version in known.items()
        }
        executable = [
            os.path.join(self._workspace.top, path)
            for path, version in known.items()
            if version and version.is_executable
        ]
        buffers = {**self._workspace.buffers, **buffer_files(contents, executable)}
        return self._workspace._replace(buffers=buffers)

    def _sides(
        self, known: Mapping[str, BlobVersion | None], changed: Sequence[PlannedFile]
    ) -> Iterator[tuple[str, tuple[AnyVersion | None, AnyVersion | None]]]:
        """The new sides of the paths that the edits changed."""
        for path, before, after in chain.from_iterable(map(self._changed_paths, changed)):
            context: AnyVersion | None = known.get(path, before)
            if self._is_pending(path):
                context = self._review.state.at(path).context
            yield path, (context, after)

    def _changed_paths(
        self, file: PlannedFile
    ) -> Iterator[tuple[str, NewVersion | None, NewVersion | None]]:
        """The paths that a file changes, with their versions before and after it."""
        like = file.before or (file.source.before if file.source else None)
        mode = new_mode = like.mode if like else 0o644
        if file.executable is not None:
            new_mode = with_executable(mode, executable=file.executable)
        before = NewVersion(git_mode(mode), file.before.data) if file.before else None
        after = None if file.after is None else NewVersion(git_mode(new_mode), file.after)
        path = self._workspace.tree_path(file.target.real)
        if file.spelling is None:
            yield path, before, after
        else:
            yield path, before, None
            yield self._workspace.tree_path(file.spelling.real), None, after

    def _renames(self, changed: Sequence[PlannedFile]) -> Iterator[tuple[str, str]]:
        """The new and the old path of each renamed file."""
        earlier = {file.path: file.source for file in self._review.state.files()}
        for file in changed:
            if file.moved_from is not None and file.source is not None:
                new = self._workspace.tree_path((file.spelling or file.target).real)
                old = self._workspace.tree_path(file.source.target.real)
                yield new, earlier.get(old) or old


def _turn_commit(repository: Repository) -> str:
    """The checkpoint at which the running turn began; empty if none runs, or it was dropped."""
    turn = read_turn(repository)
    if turn is None:
        return ""
    found = repository.store.commit(CHECKPOINTS + turn.checkpoint)
    return found.id if found else ""


def versions_in(
    repository: Repository, commit: str, paths: AbstractSet[str]
) -> dict[str, BlobVersion | None]:
    """The versions of some files in a checkpoint; one that it could not record is left out."""
    # With the directories above, which may be submodules or nested repositories.
    above = {path: [path, *filter(None, directories_above(path))] for path in paths}
    names = sorted({name for each in above.values() for name in each})
    found, unrecorded = dict[str, BlobVersion | None](), set[str]()
    for name, (mode, kind, identifier) in repository.store.tree(commit, names).items():
        if kind == "commit" or mode == SYMLINK:
            unrecorded.add(name)
        elif kind == "blob" and name in paths:
            found[name] = BlobVersion(mode, identifier)
    if checkpoint := repository.store.commit(commit):
        unrecorded |= Metadata.parse(checkpoint.message).skipped_paths
    missing = {path for path in paths - found.keys() if unrecorded.isdisjoint(above[path])}
    return {**dict.fromkeys(missing - _ignored(repository, missing)), **found}


def _ignored(repository: Repository, paths: AbstractSet[str]) -> set[str]:
    if not paths:
        return set()
    done = repository.git.attempt("check-ignore", "-z", "--stdin", stdin=nul_lines(paths))
    return set(nul_records(done.stdout))


def begin(workspace: Workspace, request: TurnRequest) -> BegunTurn:
    """Begin a turn; its checkpoint is the context of what is proposed, with the buffers.

    A file with a change that is still proposed keeps its context. Errors are those of `begin_turn`;
    if the context cannot be stored, no turn runs.
    """
    assert workspace.repository is not None
    begun = begin_turn(workspace.repository, request)
    try:
        _refresh(workspace, begun.captured.checkpoint.commit.id)
    except BaseException:
        remove_marks(workspace.repository, lambda turn: turn.checkpoint == begun.turn.checkpoint)
        raise
    return begun


def _refresh(workspace: Workspace, base: str) -> None:
    """Make the files of a checkpoint, and the buffers, the context of all that is not pending."""
    review = Review(workspace)
    state, repository = review.state, review.repository
    pending = {path for file in state.files() if file.is_pending for path in file.paths}
    settled = state.sides.keys() - pending
    known: dict[str, AnyVersion | None] = {}
    if settled:
        known |= versions_in(repository, base, settled)
    changed = any(state.at(path).context != version for path, version in known.items())
    for real, data in workspace.buffers.items():
        if data is not None and (path := workspace.tree_path(real)) not in pending:
            known[path] = NewVersion(mode_of(real), data.data)
            changed = True
    if changed:
        sides = {path: (version, version) for path, version in known.items()}
        store_proposal(
            repository, review.newest, StateChange("turn", sides, base=base), review.locked
        )
