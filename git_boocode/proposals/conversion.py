"""Convert files between their bytes in the worktree and the blobs that git stores for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from git_boocode.checkpoints.worktree.attributes import may_convert
from git_boocode.proposals.proposal import BlobVersion, ObjectStore
from git_boocode.repo.errors import FatalError
from git_boocode.repo.object_writer import object_id
from git_boocode.repo.repository import Repository

SYMLINK = "120000"
_REGULAR = {"100644", "100755"}

KnownVersions = Sequence[BlobVersion | None]
"""The versions that a file of the worktree may have: of the context, and of the output."""


def worktree_bytes(repository: Repository, path: str, version: BlobVersion) -> bytes:
    """The bytes that git would write to the worktree, with its line endings and filters.

    FatalError (`missing_objects`) if the blob is missing.
    """
    return worktree_contents(repository, [(path, version)])[path, version]


def worktree_contents(
    repository: Repository, files: Iterable[tuple[str, BlobVersion]]
) -> dict[tuple[str, BlobVersion], bytes]:
    """The bytes of versions of some files; see `worktree_bytes`.

    One git reads all that it would not convert.
    """
    found = dict[tuple[str, BlobVersion], bytes]()
    plain = []
    for path, version in dict.fromkeys(files):
        if version.mode == SYMLINK or not may_convert(repository, [path]):
            plain.append((path, version))
            continue
        how = ("--filters", f"--path={path}")
        done = repository.git.attempt("cat-file", *how, version.id)
        if done.status:
            raise _missing(path, version)
        found[path, version] = done.stdout
    contents = repository.store.blobs([version.id for _, version in plain])
    for each, data in zip(plain, contents, strict=True):
        if data is None:
            raise _missing(*each)
        found[each] = data
    return found


def _missing(path: str, version: BlobVersion) -> FatalError:
    return FatalError(
        f"cannot read the version {version.id} of '{path}'",
        code="missing_objects",
        hints=(
            "nothing was changed",
            "'git boocode discard' and then 'git boocode sync' start from the file as it is",
        ),
    )


def version_of(repository: Repository, path: str, data: bytes, mode: str) -> BlobVersion:
    """The version that git would store for some bytes of the worktree.

    FatalError if a filter fails.
    """
    if mode == SYMLINK or not may_convert(repository, [path]):
        return BlobVersion(mode, object_id(repository.object_format, b"blob", data))
    options = (f"--path={path}", "--stdin")
    return BlobVersion(mode, repository.git.line("hash-object", *options, stdin=data))


def store_version(
    repository: Repository, objects: ObjectStore, file: tuple[str, bytes], mode: str
) -> BlobVersion:
    """Store a file with a path and its bytes, and return its version; see `version_of`."""
    path, data = file
    if mode == SYMLINK or not may_convert(repository, [path]):
        return BlobVersion(mode, objects.store(data))
    options = ("-w", f"--path={path}", "--stdin")
    return BlobVersion(mode, objects.git.line("hash-object", *options, stdin=data))


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
        if len(modes) > 1 and (has_modes or not modes <= _REGULAR):
            continue
        if version.id == other.id:
            return other
        if b"\r\n" in data and worktree_bytes(repository, path, other) == data:
            return other
    return version


def file_mode(*, executable: bool) -> str:
    """Git's mode of a regular file."""
    return "100755" if executable else "100644"
