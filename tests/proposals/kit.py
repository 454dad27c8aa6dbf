"""What tests of proposals do: store any state, look at letters and files, and review it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from git_boocode.checkpoints.restore.request import NEWER_TURNS, RestoreRequest
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.editing.answer import Answer
from git_boocode.editing.inputs import Source
from git_boocode.editing.service import Options
from git_boocode.editing.workspace import Workspace, buffer_files
from git_boocode.proposals import acceptance, discard_sync, new_proposal
from git_boocode.proposals.acceptance import AcceptRequest
from git_boocode.proposals.local_files import file_statuses
from git_boocode.proposals.proposal import (
    NewVersion,
    Proposal,
    Proposals,
    StateChange,
    store_proposal,
)
from git_boocode.proposals.review import ChosenPart, ReviewResult
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_with_edits
from tests.repo_kit import Repo


class Version(NamedTuple):
    """A version of a file: its bytes in the worktree, and git's mode."""

    data: bytes
    mode: str = "100644"


class ProposedFile(NamedTuple):
    """A file of a proposal, with `source` if it is renamed; None for no file."""

    path: str
    context: Version | None
    output: Version | None
    source: str = ""


def workspace(buffers: Mapping[str, bytes] | None = None, cwd: str = "") -> Workspace:
    """The workspace of the current directory, with an editor's buffers by path."""
    found = Workspace.find(index=True, from_here=True)
    contents = {os.path.join(found.top, path): data for path, data in (buffers or {}).items()}
    executable = [real for real in contents if os.access(real, os.X_OK)]
    return found._replace(buffers=buffer_files(contents, executable), prefix=cwd)


def store_state(files: Iterable[ProposedFile]) -> Proposal:
    """Make some files all that is proposed, although no input of `propose` may lead there."""
    repository, files = Repository.discover(), list(files)
    sides = dict[str, tuple[NewVersion | None, NewVersion | None]]()
    for file in files:
        context, output = (
            version and NewVersion(version.mode, version.data)
            for version in (file.context, file.output)
        )
        if file.source:
            sides |= {file.source: (context, None), file.path: (None, output)}
        else:
            sides[file.path] = (context, output)
    renames = {file.path: file.source for file in files if file.source}
    return store_proposal(repository, None, StateChange("propose", sides, renames))


def propose(*edits: Any, buffers: Mapping[str, bytes] | None = None, **options: Any) -> Answer:
    """Propose edits; a text is given as it is, anything else as JSON."""
    texts = [edit if isinstance(edit, str) else json.dumps(edit) for edit in edits]
    sources = [Source("<edits>", os.fsencode(text)) for text in texts]
    retry_of = options.pop("retry_of", "")
    return new_proposal.propose(sources, workspace(buffers), Options(**options), retry_of)


def edit(path: str, old: str, new: str, **more: object) -> dict[str, object]:
    """An edit of one place."""
    return {"path": path, "old_string": old, "new_string": new, **more}


def accept(
    *paths: str,
    hunks: Mapping[str, Collection[int]] | None = None,
    buffers: Mapping[str, bytes] | None = None,
    cwd: str = "",
    of: str = "",
    **options: Any,
) -> ReviewResult:
    """Accept paths, or everything."""
    chosen = ChosenPart(paths, hunks or {}, of)
    return acceptance.accept(workspace(buffers, cwd), AcceptRequest(chosen, **options))


def discard(
    *paths: str,
    hunks: Mapping[str, Collection[int]] | None = None,
    of: str = "",
    **options: Any,
) -> ReviewResult:
    """Discard paths, or everything."""
    return discard_sync.discard(workspace(), ChosenPart(paths, hunks or {}, of), **options)


def sync(*paths: str, buffers: Mapping[str, bytes] | None = None, **options: Any) -> ReviewResult:
    """Sync paths, or everything."""
    return discard_sync.sync(workspace(buffers), paths, **options)


def undo() -> RestoreResult:
    """Undo the latest change."""
    request = RestoreRequest(force=frozenset({NEWER_TURNS}))
    return restore_with_edits.undo(Repository.discover(), request)


def redo() -> RestoreResult:
    """Redo what was undone."""
    request = RestoreRequest(force=frozenset({NEWER_TURNS}))
    return restore_with_edits.redo(Repository.discover(), request)


def letters(*paths: str, buffers: Mapping[str, bytes] | None = None) -> dict[str, str]:
    """The letters of the proposed files, by path."""
    return {each.file.path: each.letters for each in file_statuses(workspace(buffers), paths)}


def newest() -> Proposal | None:
    """The newest proposal."""
    return Proposals(Repository.discover()).newest()


def content_of(repo: Repo, proposal: Proposal, path: str, *, side: str = "output") -> bytes | None:
    """The stored bytes of one side of a file."""
    for file in proposal.files:
        if path in file.paths:
            version = file.output if side == "output" else file.context
            if version is None:
                return None
            return os.fsencode(repo.git("cat-file", "blob", version.id))
    return None


def put(repo: Repo, path: str, version: Version | None) -> None:
    """Make a file of the worktree what a version says; mode `040000` is a directory."""
    target = repo.top / path
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        for below in target.iterdir():
            below.unlink()
        target.rmdir()
    if version is None:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if version.mode == "120000":
        target.symlink_to(os.fsdecode(version.data))
    elif version.mode == "040000":
        target.mkdir()
        (target / "below").write_bytes(version.data)
    else:
        target.write_bytes(version.data)
        target.chmod(0o755 if version.mode == "100755" else 0o644)


def found_at(top: Path, path: str) -> Version | None:
    """The version of a file in the worktree."""
    target = top / path
    if target.is_symlink():
        return Version(os.fsencode(os.readlink(target)), "120000")
    if target.is_dir():
        return Version((target / "below").read_bytes(), "040000")
    if not target.exists():
        return None
    executable = target.stat().st_mode & 0o100
    return Version(target.read_bytes(), "100755" if executable else "100644")


def everything(repo: Repo) -> tuple[object, ...]:
    """All that a proposal must not touch, byte by byte."""
    index = repo.top / ".git/index"
    refs = repo.git("for-each-ref", "refs/heads", "refs/tags", "refs/stash", "refs/remotes")
    head = repo.read(".git/HEAD")
    return repo.files(), index.read_bytes() if index.exists() else b"", head, refs
