"""Files in the form that they have on disk, where git may convert line endings, encodings and more.

Texts are compared and merged in this form, so that no byte of a file changes that nobody named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from git_boocode.checkpoints.restore.request import WantedFile
from git_boocode.checkpoints.worktree.indexer import may_convert
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.proposals.local_files import checked_out
from git_boocode.proposals.proposal import BlobVersion, NewVersion, version_of
from git_boocode.repo.errors import FatalError, NextStep, RefusedError
from git_boocode.repo.files import Symlink, read_state
from git_boocode.repo.object_writer import SYMLINK
from git_boocode.repo.repository import Repository


class DiskFile(NamedTuple):
    """A file of a state: git's mode, the blob in the tree, and its bytes on disk.

    The latter are the target of a symbolic link.
    """

    mode: str
    id: str
    data: bytes


def files_now(
    repository: Repository, versions: Iterable[tuple[str, BlobVersion]]
) -> dict[str, DiskFile]:
    """The files on disk by path; `versions` are those of the snapshot.

    RefusedError (`conflict`) if one was replaced or deleted since the snapshot.
    """
    found = {}
    for path, version in versions:
        state = read_state(os.path.join(repository.worktree, path), links=True)
        if state is None or isinstance(state.data, Symlink) != (version.mode == SYMLINK):
            raise changed_meanwhile(path)
        found[path] = DiskFile(version.mode, version.id, bytes(state.data))
    return found


def changed_meanwhile(path: str) -> RefusedError:
    """The refusal if a file is not as the snapshot has it."""
    return RefusedError(
        f"'{path}' was changed meanwhile",
        code="conflict",
        hints=(NextStep("nothing was changed; run the command again", "retry"),),
    )


def files_of(
    repository: Repository, versions: Iterable[tuple[str, BlobVersion]]
) -> dict[str, DiskFile]:
    """Versions of files by path, as git would write them to disk; errors as `unreadable`."""
    found = {}
    for (path, version), data in checked_out(repository, versions).items():
        if data is None:
            raise unreadable(path, version.id)
        found[path] = DiskFile(version.mode, version.id, data)
    return found


def unreadable(path: str, identifier: str) -> FatalError:
    """The error if a blob is missing, or its filter fails (`missing_objects`)."""
    return FatalError(
        f"cannot read the version {identifier} of '{path}'",
        code="missing_objects",
        hints=("nothing was changed; its object is missing, or its filter failed",),
    )


def wanted_file(
    repository: Repository,
    snapshot: Snapshot,
    path: str,
    new: NewVersion,
    now: DiskFile | None = None,
) -> WantedFile:
    """The request to write some bytes to disk; its blobs are in the snapshot's quarantine.

    `now` is the file that they replace. FatalError if a filter fails.
    """
    quarantine = snapshot.quarantine
    if new.mode == SYMLINK or not may_convert(repository, [path]):
        return WantedFile(path, new.mode, version_of(repository, path, new, quarantine).id)
    if _keeps_crlf(repository, path, new, now):
        stored = quarantine.git.line("hash-object", "-w", "--no-filters", "--stdin", stdin=new.data)
    else:
        stored = version_of(repository, path, new, quarantine).id
    done = quarantine.git.attempt("cat-file", "--filters", f"--path={path}", stored)
    if done.status == 0 and done.stdout == new.data:
        return WantedFile(path, new.mode, stored)
    raw = quarantine.store(b"blob", new.data).decode("ascii")
    return WantedFile(path, new.mode, stored, raw)


def _keeps_crlf(repository: Repository, path: str, new: NewVersion, now: DiskFile | None) -> bool:
    """Whether git stores a file with CR LF as it is, because it has stored it so before."""
    if now is None or now.mode == SYMLINK or b"\r\n" not in new.data or b"\r\n" not in now.data:
        return False
    if version_of(repository, path, NewVersion(now.mode, now.data)).id == now.id:
        return False
    plain = repository.git.line("hash-object", "--no-filters", "--stdin", stdin=now.data)
    return plain == now.id
