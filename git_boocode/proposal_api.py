"""The Python API of proposals; see `git_boocode.api` for what all of it has in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from git_boocode.api import (
    Edits,
    EditsResult,
    FileEdits,
    check_encoding,
    checked,
    edits_result,
    fatal_os_errors,
    file_edits,
    source_of,
    strings,
    workspace_of,
)
from git_boocode.checkpoints.capture import prune_daily
from git_boocode.editing.edits import DEFAULT_ENCODING, MatchOptions
from git_boocode.editing.service import Options
from git_boocode.proposals import acceptance, discard_sync, local_files, new_proposal, review

Buffers = Mapping[str, str] | None
"""Texts of an editor by path relative to the top, which count instead of the files."""
HunkNumbers = Mapping[str, Collection[int]] | None
"""Numbers of hunks, from 1, by path; None for everything."""


@dataclass(frozen=True)
class ProposedFile:
    """A file of the newest proposal, with the letters of `git boocode status`.

    `context`, `output` and `local` are ids of blobs, None for a missing file; `moved_from` is the
    old path of a file that the proposal renames. `proposal` is the id of the newest proposal.
    """

    path: str
    status: str
    context: str | None
    output: str | None
    local: str | None
    moved_from: str | None
    proposal: str


@dataclass(frozen=True)
class ReviewedProposal:
    """What became of a proposal: the new one, and the safety checkpoint that `undo` goes back to.

    `files` are those that were written, or would be in a dry run; `statuses` are letters by path,
    of `accept` the ones before it, else the ones after it.
    """

    id: str | None
    undo: str | None
    files: tuple[FileEdits, ...]
    statuses: Mapping[str, str]
    warnings: tuple[str, ...]


@fatal_os_errors
def propose(
    edits: Edits,
    root: str = ".",
    *,
    dry_run: bool = False,
    profile: str = "default",
    buffers: Buffers = None,
    retry_of: str = "",
    position_encoding: str = DEFAULT_ENCODING,
) -> EditsResult:
    """Apply edits to what the model has seen, all or none, and store the result as a proposal.

    No file is changed. The result has the id of the proposal. `retry_of` is the proposal, or the
    `details["id"]` of the refused call, that this call repeats. Errors are those of `apply_edits`.
    """
    workspace = workspace_of(root, buffers)
    options = Options(MatchOptions.of(profile), dry_run=dry_run)
    check_encoding(position_encoding)
    answer = new_proposal.propose([source_of(edits)], workspace, options, retry_of)
    if answer.id and workspace.repository is not None:
        prune_daily(workspace.repository)
    return edits_result(answer, position_encoding)


@fatal_os_errors
def status(
    root: str = ".", *, paths: Sequence[str] = (), buffers: Buffers = None
) -> tuple[ProposedFile, ...]:
    """The files of the newest proposal; `paths`, relative to `root`, select some of them."""
    found = local_files.proposal_status(workspace_of(root, buffers), strings(paths))
    return tuple(_proposed(file, found.id or "") for file in found.files)


@fatal_os_errors
def accept(
    root: str = ".",
    *,
    paths: Sequence[str] = (),
    hunks: HunkNumbers = None,
    expect: str | None = None,
    merge: bool = False,
    overwrite: bool = False,
    markers: bool = False,
    dry_run: bool = False,
    force: bool = False,
    buffers: Buffers = None,
    position_encoding: str = DEFAULT_ENCODING,
) -> ReviewedProposal:
    """Write what is proposed to the files, all or none; the files of buffers are not written.

    `paths` are relative to `root`, those of `hunks` to the top. `expect` is the id of the proposal
    that was looked at, any other one is refused. `merge` merges with local changes, leaving
    conflict markers with `markers`, and `overwrite` replaces them. With `force`, a running turn
    does not matter. Raises RefusedError (`conflict`, `not_found`, `stale`, `locked`), FatalError,
    and ValueError for options that exclude each other.
    """
    request = acceptance.AcceptRequest(
        _chosen(paths, hunks, expect), overwrite, merge, markers, dry_run, force
    )
    checked(request.checked)
    check_encoding(position_encoding)
    return _result(acceptance.accept(workspace_of(root, buffers), request), position_encoding)


@fatal_os_errors
def discard(
    root: str = ".",
    *,
    paths: Sequence[str] = (),
    hunks: HunkNumbers = None,
    expect: str | None = None,
    force: bool = False,
) -> ReviewedProposal:
    """Drop what is proposed; arguments and errors are those of `accept`."""
    chosen = _chosen(paths, hunks, expect)
    return _result(discard_sync.discard(workspace_of(root, None), chosen, force=force))


@fatal_os_errors
def sync(
    root: str = ".", *, paths: Sequence[str] = (), force: bool = False, buffers: Buffers = None
) -> ReviewedProposal:
    """Make files as they are now the context; arguments and errors are those of `accept`."""
    return _result(discard_sync.sync(workspace_of(root, buffers), strings(paths), force=force))


def _chosen(paths: Sequence[str], hunks: HunkNumbers, expect: str | None) -> review.ChosenPart:
    if hunks and not all(hunks.values()):
        raise ValueError("hunks name no numbers for a path")
    if expect == "":
        raise ValueError("expect is empty")
    return review.ChosenPart(strings(paths), hunks or {}, expect or "")


def _proposed(found: local_files.FileStatus, proposal: str) -> ProposedFile:
    context, output, local = found.ids
    source = found.file.source or None
    return ProposedFile(found.file.path, found.letters, context, output, local, source, proposal)


def _result(done: review.ReviewResult, encoding: str = DEFAULT_ENCODING) -> ReviewedProposal:
    return ReviewedProposal(
        done.id,
        done.undo,
        tuple(file_edits(file.edited, encoding) for file in done.files if file.edited),
        {file.path: file.letters for file in done.files},
        done.warnings,
    )
