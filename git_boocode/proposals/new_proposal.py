"""Propose the edits of one call: apply them to the context, and store the result."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from git_boocode.checkpoints.turn_request import BegunTurn, TurnRequest, begin_turn
from git_boocode.editing.answer import Answer, EditsRefusedError
from git_boocode.editing.edit_plan import EditPlan, PlannedFile
from git_boocode.editing.edits import Edit, MissError
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.records import note_refusal
from git_boocode.editing.service import Options, recorded_edits
from git_boocode.editing.workspace import LOCK_PATIENCE, Workspace, buffer_files
from git_boocode.proposals.local_files import (
    SYMLINK,
    file_mode,
    is_executable,
    store_version,
    worktree_contents,
)
from git_boocode.proposals.proposal import (
    BlobVersion,
    NewState,
    ObjectStore,
    Proposals,
    ProposalState,
    Versions,
    base_of,
    refuse_moved,
    retry_moved,
    store_proposal,
)
from git_boocode.proposals.review import Review
from git_boocode.repo.entries import Metadata
from git_boocode.repo.files import with_executable
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.ids import ID, new_id
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import read_turn, remove_turn

_PROPOSE = "propose"


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
    retried = _retried(repository, retry_of) if retry_of else None
    inputs = read_inputs(sources, options.format)

    def attempt() -> Answer:
        return _Attempt(repository, workspace, inputs, options).run(retried)

    try:
        return retry_moved(attempt)
    except EditsRefusedError as error:
        if options.record and not options.dry_run:
            note_refusal(repository, error.failures, error.edits)
        raise


def _retried(repository: Repository, name: str) -> str:
    # Nothing is kept of a refused attempt, so its id need not name anything.
    return name if ID.fullmatch(name) else Proposals(repository).find(name).id


class _PathChange(NamedTuple):
    """A path that the edits changed: the bytes and the mode of its file before and after them."""

    path: str
    before: tuple[bytes, str] | None
    after: tuple[bytes, str] | None


class _Attempt:
    """One attempt to propose, based on the newest proposal."""

    def __init__(
        self, repository: Repository, workspace: Workspace, inputs: Inputs, options: Options
    ) -> None:
        self._repository = repository
        self._workspace = workspace
        self._inputs = inputs
        self._options = options
        self._newest = Proposals(repository).newest()
        self._state = self._newest.state if self._newest else ProposalState()
        self._turn = _turn_commit(repository)

    def run(self, retried: str | None) -> Answer:
        """Plan the edits without a lock, then store the result if nobody else has."""
        known = self._known_versions()
        plan = EditPlan(self._inputs, self._on_context(known), self._options.how)
        if plan.failures:
            raise EditsRefusedError(plan.failures, self._inputs.total, attempt=new_id())
        changed = [file for file in plan.files if file.changes]
        identifier = None
        if changed and not self._options.dry_run:
            more = {"edits": recorded_edits(plan.listed), "retry_of": retried}

            def write(objects: ObjectStore) -> NewState:
                state = self._new_state(objects, known, changed)
                base = self._turn or base_of(self._repository, self._newest)
                return NewState(state, _PROPOSE, base, more)

            identifier = store_proposal(self._repository, write, self._locked).id
        files = (file.edited()._replace(in_buffer=True) for file in plan.listed)
        return Answer(applied=False, id=identifier, files=tuple(files))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        state_dir = self._repository.state_dir
        with worktree_lock(state_dir, shared=False, patience=LOCK_PATIENCE):
            refuse_moved(self._repository, self._newest)
            yield

    def _known_versions(self) -> dict[str, BlobVersion | None]:
        """The versions of the edited files that are not those of now, by path."""
        paths = {self._workspace.tree_path(real) for real in self._edited}
        state = self._state
        pending = {path for path in paths & state.output.keys() if self._is_pending(path)}
        known = {path: state.output[path] for path in pending}
        if self._turn:
            known |= versions_in(self._repository, self._turn, paths - pending)
            held = (path for path in paths - pending if path in state.context)
            known |= {path: state.context[path] for path in held}
        return known

    @cached_property
    def _edited(self) -> set[str]:
        """The absolute paths that the edits name, as far as they are valid."""
        return set().union(*map(self._paths_of, self._inputs.edits))

    def _paths_of(self, edit: Edit) -> set[str]:
        try:
            found = {self._workspace.target(edit.path).real}
            if edit.to is not None:
                found.add(self._workspace.destination(edit.path, edit.to).real)
        except MissError:
            # The plan reports it.
            return set()
        return found

    def _is_pending(self, path: str) -> bool:
        return self._state.context[path] != self._state.output[path]

    def _on_context(self, known: dict[str, BlobVersion | None]) -> Workspace:
        """A workspace in which the files have the versions that the model has seen."""
        contents, executable = dict[str, bytes | None](), set()
        there = [(path, version) for path, version in known.items() if version is not None]
        read = worktree_contents(self._repository, there)
        for path, version in known.items():
            real = os.path.join(self._workspace.top, path)
            if version is not None and version.is_executable:
                executable.add(real)
            contents[real] = read[path, version] if version is not None else None
        buffers = {**self._workspace.buffers, **buffer_files(contents, executable)}
        return self._workspace._replace(buffers=buffers)

    def _new_state(
        self,
        objects: ObjectStore,
        known: dict[str, BlobVersion | None],
        changed: Sequence[PlannedFile],
    ) -> ProposalState:
        """The state with the changed files, whose blobs are written."""
        context, output = dict[str, BlobVersion | None](), dict[str, BlobVersion | None]()

        def stored(path: str, side: tuple[bytes, str] | None) -> BlobVersion | None:
            if side is None:
                return None
            data, mode = side
            return store_version(self._repository, objects, (path, data), mode)

        for path, before, after in chain.from_iterable(map(self._changed_paths, changed)):
            output[path] = stored(path, after)
            if path in self._state.context and self._is_pending(path):
                context[path] = self._state.context[path]
            else:
                context[path] = known[path] if path in known else stored(path, before)
        return self._state.with_versions(context, output, dict(self._renames(changed)))

    def _changed_paths(self, file: PlannedFile) -> Iterator[_PathChange]:
        like = file.before or (file.source.before if file.source else None)
        mode = new_mode = like.mode if like else 0o644
        if file.executable is not None:
            new_mode = with_executable(mode, executable=file.executable)
        before = (file.before.data, _git_mode(mode)) if file.before else None
        after = None if file.after is None else (file.after, _git_mode(new_mode))
        path = self._workspace.tree_path(file.target.real)
        if file.spelling is None:
            yield _PathChange(path, before, after)
        else:
            yield _PathChange(path, before, None)
            yield _PathChange(self._workspace.tree_path(file.spelling.real), None, after)

    def _renames(self, changed: Sequence[PlannedFile]) -> Iterator[tuple[str, str]]:
        """The new and the old path of each renamed file."""
        earlier = {file.path: file.source for file in self._state.files()}
        for file in changed:
            if file.moved_from is not None and file.source is not None:
                old = self._workspace.tree_path(file.source.target.real)
                yield (
                    self._workspace.tree_path((file.spelling or file.target).real),
                    earlier.get(old) or old,
                )


def _git_mode(mode: int) -> str:
    return file_mode(executable=bool(mode & stat.S_IXUSR))


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
    # With their parents, which may be submodules or nested repositories.
    names = sorted({name for path in paths for name in (path, *parents_of(path))})
    found, unrecorded = dict[str, BlobVersion | None](), set[str]()
    for name, (mode, kind, identifier) in repository.store.tree(commit, names).items():
        if kind == "commit" or mode == SYMLINK:
            unrecorded.add(name)
        elif kind == "blob" and name in paths:
            found[name] = BlobVersion(mode, identifier)
    if checkpoint := repository.store.commit(commit):
        unrecorded |= Metadata.parse(checkpoint.message).skipped_paths
    missing = {
        path for path in paths - found.keys() if unrecorded.isdisjoint((path, *parents_of(path)))
    }
    return {**dict.fromkeys(missing - _ignored(repository, missing)), **found}


def parents_of(path: str) -> list[str]:
    """The directories above a path."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


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
        if read_turn(workspace.repository) == begun.turn:
            remove_turn(workspace.repository)
        raise
    return begun


def _refresh(workspace: Workspace, base: str) -> None:
    """Make the files of a checkpoint, and the buffers, the context of all that is not pending."""
    review = Review(workspace)
    state, repository = review.state, review.repository
    pending = {path for file in state.files() if file.is_pending for path in file.paths}
    settled = state.context.keys() - pending
    buffers = {
        path: data.data
        for real, data in workspace.buffers.items()
        if data is not None and (path := workspace.tree_path(real)) not in pending
    }
    recorded: Versions = versions_in(repository, base, settled) if settled else {}
    if not buffers and all(state.context[path] == version for path, version in recorded.items()):
        return

    def write(objects: ObjectStore) -> NewState:
        known: dict[str, BlobVersion | None] = dict(recorded)
        for path, data in buffers.items():
            real = os.path.join(workspace.top, path)
            mode = file_mode(executable=is_executable(real))
            known[path] = store_version(repository, objects, (path, data), mode)
        return NewState(state.with_versions(known, known), "turn", base)

    store_proposal(repository, write, review.locked)
