"""The files of a proposal as the user has them, and how they relate to it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.checkpoints.worktree.indexer import may_convert
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.proposal import (
    BlobVersion,
    ContextFile,
    KnownVersions,
    NewVersion,
    Proposals,
    version_of,
)
from git_boocode.repo.errors import FatalError, NextStep, RefusedError
from git_boocode.repo.files import Symlink, is_in_dot_git
from git_boocode.repo.git import Git, GitError, nul_lines, nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.layout import PROPOSALS_INDEX
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import REGULAR, SYMLINK
from git_boocode.repo.repository import Repository

OTHER = BlobVersion("040000", "")
"""What blocks a path: a directory, a special file, or something above it."""


class FileStatus(NamedTuple):
    """A file of the newest proposal: its letters, and its local version.

    For a renamed file, `local` is the version at the old path.
    """

    file: ContextFile
    letters: str
    local: BlobVersion | None

    @property
    def ids(self) -> list[str | None]:
        """The blobs of the context, the output and the local file; None for a missing file."""
        versions = self.file.context, self.file.output, self.local
        return [(version.id or None) if version else None for version in versions]

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        ids = dict(zip(("context", "output", "local"), self.ids, strict=True))
        origin = {"from": self.file.source} if self.file.source else {}
        return {"path": self.file.path, "status": self.letters, **ids, **origin}


class ProposalStatus(NamedTuple):
    """The id of the newest proposal, None for none, and its files."""

    id: str | None
    files: list[FileStatus]

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        files = [file.as_json() for file in self.files]
        return {"ok": True, "proposal": self.id, "files": files}


def file_statuses(workspace: Workspace, paths: Sequence[str] = ()) -> list[FileStatus]:
    """The files of the newest proposal; see `proposal_status`."""
    return proposal_status(workspace, paths).files


def proposal_status(workspace: Workspace, paths: Sequence[str] = ()) -> ProposalStatus:
    """The newest proposal, its files by path; with `paths`, only these and those below them.

    The paths are of the command line. A buffer of the workspace is what the user has, not the file.
    """
    assert workspace.repository is not None
    newest = Proposals(workspace.repository).newest()
    files = chosen_files(workspace, newest.files if newest else (), paths)
    local = _local_versions(workspace, files)
    found = [
        FileStatus(
            file, letters_of(file, local[file.paths[0]], local[file.path]), local[file.paths[0]]
        )
        for file in files
    ]
    return ProposalStatus(newest.id if newest else None, found)


def chosen_files(
    workspace: Workspace, files: Iterable[ContextFile], paths: Sequence[str]
) -> list[ContextFile]:
    """The files that paths of the command line name, or that are below them; all without paths.

    RefusedError (`outside_worktree`) if a path is not in the worktree.
    """
    if not paths:
        return [*files]
    names = [tree_path(workspace, path) for path in paths]
    return [file for file in files if any(is_below(file, name) for name in names)]


def is_below(file: ContextFile, name: str) -> bool:
    """Whether a file is at a path relative to the top, or below it; `.` is the top."""
    return name == "." or any(path == name or path.startswith(f"{name}/") for path in file.paths)


def tree_path(workspace: Workspace, path: str) -> str:
    """A path of the command line, relative to the top; symlinks of its parents are resolved."""
    whole = os.path.normpath(os.path.join(workspace.top, workspace.prefix, path))
    parent, name = os.path.split(whole)
    below = os.path.relpath(os.path.join(os.path.realpath(parent), name), workspace.top)
    if below.split(os.sep)[0] == ".." or is_in_dot_git(below):
        raise RefusedError(
            f"'{path}' is outside the worktree",
            code="outside_worktree",
            hints=(f"the worktree is '{workspace.top}'",),
        )
    return below.replace(os.sep, "/")


def letters_of(file: ContextFile, now: BlobVersion | None, there: BlobVersion | None) -> str:
    """The letters for a file, with the user's versions at its old path and at its path."""
    if file.source:
        if now is None and there == file.output:
            return "~"
        if there not in (None, file.output):
            return "!R"
    elif now != file.context:
        if not file.is_pending or now == file.output:
            return "~"
        if file.context is None:
            return "!A"
    return file.change if now == file.context else f"~{file.change}"


def _local_versions(
    workspace: Workspace, files: Iterable[ContextFile]
) -> dict[str, BlobVersion | None]:
    """The user's versions of some files; git only stats a file that it has read before.

    It knows them by a private index of its own.
    """
    repository = workspace.repository
    assert repository is not None
    known = {path: versions for file in files for path, versions in file.known.items()}
    found = dict[str, BlobVersion | None]()
    listed = []
    for path, versions in known.items():
        real = os.path.join(workspace.top, path)
        if (state := workspace.buffers.get(real)) is not None:
            found[path] = local_version(workspace, path, state.data, versions)
        elif (kind := path_kind(workspace.top, path)) == "file":
            listed.append(path)
        else:
            found[path] = OTHER if kind else None
    hashed = _hashed(repository, listed) if listed else {}
    differing = [path for path, version in hashed.items() if version not in known[path]]
    convert = bool(differing) and may_convert(repository, differing)
    for path in differing:
        data = b""
        if convert:
            with suppress(OSError), open(os.path.join(workspace.top, path), "rb") as file:
                data = file.read()
        hashed[path] = recognized(repository, path, (hashed[path], data), known[path])
    return {**found, **dict.fromkeys(listed, OTHER), **hashed}


def local_version(
    workspace: Workspace, path: str, data: bytes, known: KnownVersions
) -> BlobVersion:
    """The version of a file with these bytes; a `known` one if git sees no difference to it."""
    repository = workspace.repository
    assert repository is not None
    is_link = isinstance(data, Symlink)
    mode = SYMLINK if is_link else mode_of(os.path.join(workspace.top, path))
    version = version_of(repository, path, NewVersion(mode, data))
    return recognized(repository, path, (version, data), known)


def mode_of(real: str) -> str:
    """Git's mode of a regular file; of a missing one, that of a new file."""
    with suppress(OSError):
        mode = os.lstat(real).st_mode
        return git_mode(mode) if stat.S_ISREG(mode) else git_mode(0)
    return git_mode(0)


def git_mode(mode: int) -> str:
    """Git's mode of a regular file with some permission bits."""
    return "100755" if mode & stat.S_IXUSR else "100644"


def path_kind(top: str, path: str) -> str:
    """What is at a path relative to the top: `file`, also for a symlink, `other`, or nothing.

    A path below a symlink is `other`, because the file there has another path.
    """
    real = os.path.join(top, path)
    parent = os.path.dirname(real)
    if os.path.realpath(parent) != parent:
        return "other"
    try:
        mode = os.lstat(real).st_mode
    except NotADirectoryError:
        return "other"
    except OSError:
        return ""
    return "file" if stat.S_ISREG(mode) or stat.S_ISLNK(mode) else "other"


def _hashed(repository: Repository, paths: list[str]) -> dict[str, BlobVersion]:
    """The versions of some files on disk; one that cannot be read is left out."""
    kept = os.path.join(repository.state_dir, PROPOSALS_INDEX)
    with scratch_directory(repository.state_dir, read_only=True) as scratch:
        index = os.path.join(scratch, PROPOSALS_INDEX)
        with suppress(OSError):
            # With its time, by which git knows the files that changed right after it was written.
            shutil.copy2(kept, index)
        git = repository.git.bind("core.splitIndex=false", GIT_INDEX_FILE=index)
        read = _read_files(git, paths)
        if not read and os.path.exists(index):
            # It may be damaged.
            os.unlink(index)
            read = _read_files(git, paths)
        records = nul_records(git.run("ls-files", "-s", "-v", "-z")) if read else []
        entries = {entry.path: entry for entry in map(Entry.parse, records)}
        if os.path.isdir(repository.state_dir):
            with suppress(OSError):
                os.replace(index, kept)
    wanted = (entries[path] for path in read if path in entries)
    return {entry.path: BlobVersion(entry.mode, entry.id) for entry in wanted}


def _read_files(git: Git, paths: list[str]) -> list[str]:
    """Update an index from disk; the files that git could read."""
    options = ("--add", "--remove", "--replace", "--info-only", "-z", "--stdin")
    if git.attempt("update-index", *options, stdin=nul_lines(paths)).status == 0:
        return paths
    # Git stops at the first file that it cannot read.
    half = len(paths) // 2
    return [*_read_files(git, paths[:half]), *_read_files(git, paths[half:])] if half else []


def proposal_trees(
    workspace: Workspace, repository: Repository, paths: Sequence[str] = ()
) -> tuple[str, str]:
    """The trees of the user's files and of the output, of all files with a proposed change.

    The caller holds `temporary_objects`. RefusedError (`not_found`) if no change is proposed.
    """
    newest = Proposals(repository).newest()
    files = [file for file in newest.files if file.is_pending] if newest else []
    chosen = chosen_files(workspace, files, paths)
    if not chosen:
        raise RefusedError(
            "no change of these files is proposed" if files else "no change is proposed",
            code="not_found",
            hints=(NextStep("{} shows what is proposed", "status", typed="'git boocode status'"),),
        )
    names = sorted({path for file in chosen for path in file.paths})
    on_disk = [path for path in names if path_kind(workspace.top, path) == "file"]
    with scratch_directory(repository.state_dir, read_only=True) as scratch:
        index = Index(repository.git, os.path.join(scratch, "tree.index"))
        index.read_tree("--empty")
        # Git reads the files, as it would store them.
        done = index.add(on_disk)
        if done.status:
            raise GitError(("update-index",), done.status, done.stderr.decode(errors="replace"))
        local = index.write_tree()
        index.read_tree("--empty")
        outputs = ((file.path, file.output) for file in chosen if file.output)
        index.put(Entry("H", version.mode, version.id, 0, path) for path, version in outputs)
        return local, index.write_tree("--missing-ok")


def worktree_contents(
    repository: Repository, files: Iterable[tuple[str, BlobVersion | None]]
) -> dict[tuple[str, BlobVersion | None], bytes]:
    """The bytes that git would write to the worktree; None has no bytes.

    FatalError (`missing_objects`) if a blob is missing.
    """
    listed, found = [*files], dict[tuple[str, BlobVersion | None], bytes]()
    some = [(path, version) for path, version in listed if version is not None]
    for (path, version), data in checked_out(repository, some).items():
        if data is None:
            raise _missing(path, version)
        found[path, version] = data
    return {**found, **{(path, None): b"" for path, version in listed if version is None}}


def checked_out(
    repository: Repository, files: Iterable[tuple[str, BlobVersion]]
) -> dict[tuple[str, BlobVersion], bytes | None]:
    """The bytes that git would write to the worktree, with its line endings and filters.

    None if a blob is missing, or its filter fails. One git reads all that it would not convert.
    """
    found = dict[tuple[str, BlobVersion], bytes | None]()
    plain = []
    for path, version in dict.fromkeys(files):
        if version.mode == SYMLINK or not may_convert(repository, [path]):
            plain.append((path, version))
            continue
        how = ("--filters", f"--path={path}")
        done = repository.git.attempt("cat-file", *how, version.id)
        found[path, version] = None if done.status else done.stdout
    contents = repository.store.blobs([version.id for _, version in plain])
    return {**found, **dict(zip(plain, contents, strict=True))}


def _missing(path: str, version: BlobVersion) -> FatalError:
    return FatalError(
        f"cannot read the version {version.id} of '{path}'",
        code="missing_objects",
        hints=(
            "nothing was changed",
            NextStep(
                "{} and then 'git boocode sync' start from the file as it is",
                "discard",
                typed="'git boocode discard'",
            ),
        ),
    )


def recognized(
    repository: Repository, path: str, local: tuple[BlobVersion, bytes], known: KnownVersions
) -> BlobVersion:
    """The known version that git sees no difference to, else the file's own one.

    Git keeps the line endings of a file that was committed with CR LF, and the mode where the file
    system has none. `local` has the version of the file without regard to that, and its bytes.
    """
    version, data = local
    has_modes = repository.config.boolean("core.fileMode", default=True)
    for other in filter(None, known):
        modes = {version.mode, other.mode}
        if len(modes) > 1 and (has_modes or not modes <= REGULAR):
            continue
        if version.id == other.id:
            return other
        written = b"\r\n" in data and worktree_contents(repository, [(path, other)])
        if written and written[path, other] == data:
            return other
    return version
