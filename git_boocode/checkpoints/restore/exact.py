"""The exact bytes and modes of files, where git does not store them.

A tree holds a file after the conversion of line endings, `ident`, encodings and filters, and only
the executable bit of its mode. A safety checkpoint also records the raw bytes and the permission
bits of the files that its restore replaces or deletes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import IO

from git_boocode.checkpoints.store.catalog import Change
from git_boocode.checkpoints.worktree.indexer import (
    Disk,
    directories_of,
    may_convert,
    paths_with_filter,
)
from git_boocode.checkpoints.worktree.snapshot import NO_VALUE, ExactFile, ExactFiles, Snapshot
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.git import GitError, nul_lines, nul_records, quoted_lines
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.index import Index
from git_boocode.repo.object_writer import GITLINK, REGULAR
from git_boocode.repo.process import read_umask
from git_boocode.repo.repository import Repository

_CHUNK = 1 << 20
_SAME = "="
# Git streams larger blobs instead of holding them in memory.
_STREAM = "core.bigFileThreshold=16m"

CopyBlob = Callable[[str, IO[bytes]], None]  # as `Git.writing_blobs` yields it


def read_exact(repository: Repository, meta: Metadata) -> ExactFiles:
    """The records in a safety checkpoint by path; MetadataError if malformed."""
    commit, files = meta.part("exact", "commit"), dict[str, ExactFile]()
    if commit is None:
        return files
    try:
        if not OBJECT_ID.fullmatch(commit):
            raise ValueError(commit)
        for record in nul_records(repository.store.file(commit, "entries")):
            fields, _, path = record.partition("\t")
            mode, blob = fields.split(" ")
            if blob not in (NO_VALUE, _SAME) and not OBJECT_ID.fullmatch(blob):
                raise ValueError(blob)
            permissions = None if mode == NO_VALUE else int(mode, 8) & 0o7777
            files[path] = ExactFile(permissions, "" if blob == NO_VALUE else blob)
    except ValueError:
        raise MetadataError("its record of exact files is malformed", code="malformed") from None
    return files


def with_blobs(files: ExactFiles, ids: Mapping[str, str], *, convert: bool) -> dict[str, ExactFile]:
    """The records of the paths in `ids`, which has the tree's blobs, with `=` replaced.

    With `convert`, `=` becomes the blob's id; otherwise it becomes empty, because git writes the
    bytes of the tree.
    """
    return {
        path: file._replace(blob=ids[path] if convert else "") if file.blob == _SAME else file
        for path, file in files.items()
        if path in ids
    }


# Comparing and recording the current files.


def exact_changes(
    repository: Repository, snapshot: Snapshot, target: ExactFiles, paths: Iterable[str]
) -> list[Change]:
    """The files whose bytes or mode differ from the record although git sees no change.

    `target` has the records of the restore's target, `paths` are those without a change for git.
    """
    found = _regular_files(repository, sorted(paths))
    convert = may_convert(repository, found)
    candidates = []
    for path, status in found.items():
        file = target[path]
        other_mode = file.mode not in (None, stat.S_IMODE(status.st_mode))
        if other_mode or (convert if file.blob == _SAME else file.blob):
            candidates.append(path)
    entries = list(snapshot.disk_index.entries_of(candidates)) if candidates else []
    files = with_blobs(target, {entry.path: entry.id for entry in entries}, convert=convert)
    return [
        Change(entry.path, "modify", entry.mode, entry.mode, entry.id, entry.id)
        for entry in entries
        if _differs(repository, entry.path, found[entry.path], files[entry.path])
    ]


def record_exact(
    repository: Repository, snapshot: Snapshot, changes: Iterable[Change], target: ExactFiles
) -> dict[str, ExactFile]:
    """Record the files that some changes replace or delete; raw bytes are stored as blobs."""
    old = {change.path: change.old_id for change in changes if change.old_mode in REGULAR}
    found = _regular_files(repository, old)
    if may_convert(repository, found):
        converted = list(found)
    else:
        none = ExactFile()
        converted = [path for path in found if OBJECT_ID.fullmatch(target.get(path, none).blob)]
    ids = {path: _raw_id(repository, path) or "" for path in converted}
    raw = {path: ids[path] for path in converted if ids[path] not in ("", old[path])}
    # If a filter driver such as LFS restores the exact bytes, git can write the file.
    index = snapshot.disk_index
    if driven := paths_with_filter(index, raw) if raw else []:
        prefix = f"{index.path}.written/"
        command = ("checkout-index", "-z", "--stdin", f"--prefix={prefix}")
        index.git.attempt(*command, stdin=nul_lines(driven))
        for path in driven:
            if _raw_id(repository, path, prefix) == raw[path]:
                del raw[path]
                ids[path] = ""
    if raw:
        git = snapshot.quarantine.git.bind(_STREAM)
        names = quoted_lines(f"{repository.worktree}/{path}" for path in raw)
        stored = git.line("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=names)
        ids |= zip(raw, stored.split("\n"), strict=True)
    return {
        path: ExactFile(stat.S_IMODE(status.st_mode), ids.get(path, _SAME))
        for path, status in found.items()
    }


def is_cut_short(repository: Repository, path: str, blob: str) -> bool:
    """Whether a file has only the beginning of the bytes that git writes for a blob.

    Git leaves such a file if it is ended, or the disk is full, while it writes.
    """
    if not _regular_files(repository, [path]):
        return False
    pieces = repository.git.pieces("cat-file", "--filters", f"--path={path}", blob, stdin=b"")
    full = f"{repository.worktree}/{path}"
    with closing(pieces), suppress(GitError, OSError), open(full, "rb") as file:
        for piece in pieces:
            found = file.read(len(piece))
            if found != piece:
                return piece.startswith(found)
    return False


def _regular_files(repository: Repository, paths: Iterable[str]) -> dict[str, os.stat_result]:
    disk = Disk(repository.worktree)
    found = {path: status for path in paths if (status := disk.status(path))}
    return {path: status for path, status in found.items() if stat.S_ISREG(status.st_mode)}


def _differs(repository: Repository, path: str, found: os.stat_result, file: ExactFile) -> bool:
    if file.mode is not None and file.mode != stat.S_IMODE(found.st_mode):
        return True
    return bool(file.blob) and _raw_id(repository, path) not in (None, file.blob)


def _raw_id(repository: Repository, path: str, top: str = "") -> str | None:
    """The id of a blob with the bytes of a file below the top; None if it cannot be read."""
    # Imported here because it is slow to import and only needed if git may convert files.
    import hashlib

    hashed = hashlib.new(repository.object_format, usedforsecurity=False)
    try:
        with open(f"{top or repository.worktree}/{path}", "rb") as file:
            hashed.update(b"blob %d\0" % os.fstat(file.fileno()).st_size)
            while chunk := file.read(_CHUNK):
                hashed.update(chunk)
    except OSError:
        return None
    return hashed.hexdigest()


# The files after a restore.


def after_restore(
    repository: Repository,
    changes: Iterable[Change],
    before: ExactFiles,
    target: ExactFiles,
    private: Collection[str] = (),
) -> dict[str, ExactFile]:
    """The exact bytes and modes of the changed files after a restore.

    A new file keeps the permission bits of the file that it replaces, so that private files stay
    private. `before` has the records of the current files, `target` those of the restore's target;
    only the user may read the `private` files, unless the target records another mode.
    """
    new = {change.path: change for change in changes if change.mode in REGULAR}
    ids = {path: change.id for path, change in new.items()}
    files = with_blobs(target, ids, convert=bool(target) and may_convert(repository, new))
    for path in new.keys() & private:
        file = files.get(path, ExactFile())
        if file.mode is None:
            files[path] = file._replace(mode=0o700 if new[path].mode == "100755" else 0o600)
    for path in new.keys() & before.keys():
        file, mode = files.get(path, ExactFile()), before[path].mode
        if file.mode is None and mode is not None:
            if new[path].mode == "100644":
                mode &= 0o666
            elif not mode & stat.S_IXUSR:
                mode |= stat.S_IXUSR | (mode & 0o044) >> 2
            files[path] = file._replace(mode=mode & 0o777)
    return files


# Writing.


@contextmanager
def writing_exactly(
    repository: Repository, index: Index, modes: Mapping[str, str], files: ExactFiles
) -> Iterator[tuple[int, list[str]]]:
    """Give files their exact bytes and modes after git has written them inside the context.

    `modes` are their git modes. Yields the umask for that git (`Git.with_umask`), with which others
    cannot read a file before it has its mode, and a list that receives the paths that were written
    again.
    """
    umask = read_umask()
    usual = {
        path: (0o777 if mode == "100755" else 0o666) & ~umask
        for path, mode in modes.items()
        if mode in REGULAR
    }
    exact = {path: file.mode for path, file in files.items() if file.mode is not None}
    made: list[str] = []
    is_narrow = any(mode & ~exact.get(path, mode) for path, mode in usual.items())
    if is_narrow:
        disk = Disk(repository.worktree)
        # Git creates a directory for a submodule as well.
        inside = (f"{path}/" if mode == GITLINK else path for path, mode in modes.items())
        made = [path for path in directories_of(inside) if not disk.is_directory(path)]
    written: list[str] = []
    yield 0o077 if is_narrow else umask, written
    disk = Disk(repository.worktree)
    for path in filter(disk.is_directory, made):
        full = os.path.join(repository.worktree, path)
        os.chmod(full, stat.S_IMODE(os.lstat(full).st_mode) | 0o777 & ~umask)
    wanted = dict(files)
    for path in usual.keys() - exact.keys() if is_narrow else ():
        found = disk.status(path)
        # Keep the permissions of a default ACL, which applies instead of the umask.
        if found is not None and not found.st_mode & 0o077:
            wanted[path] = files.get(path, ExactFile())._replace(mode=usual[path])
    written += write_exact(repository, index, wanted)


def write_exact(repository: Repository, index: Index, files: ExactFiles) -> list[str]:
    """Give files their exact bytes and modes after git has written them.

    Bytes are never written in place, and a file with other hard links is replaced even if only its
    mode changes. New files are made beside `index`, a private one. Returns the written paths.
    """
    others = {
        path: found
        for path, found in _regular_files(repository, files).items()
        if _differs(repository, path, found, files[path])
    }
    with ExitStack() as stack:
        copy: CopyBlob | None = None
        for path, found in others.items():
            full, mode = f"{repository.worktree}/{path}", files[path].mode
            file = files[path]._replace(mode=stat.S_IMODE(found.st_mode) if mode is None else mode)
            if not file.blob and found.st_nlink == 1:
                os.chmod(full, file.mode or 0)
                continue
            copy = copy or stack.enter_context(index.git.bind(_STREAM).writing_blobs())
            try:
                _replace(copy, full, found, file, f"{index.path}.exact")
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                # The git directory is on another file system.
                _replace(copy, full, found, file, f"{full}.{os.urandom(6).hex()}")
    return list(others)


def _replace(
    copy: CopyBlob, full: str, found: os.stat_result, file: ExactFile, making: str
) -> None:
    """Replace a file by one with the bytes of a blob, or with its own bytes, and another mode."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(os.open(making, flags, 0o600), "wb") as new:
            if file.blob:
                copy(file.blob, new)
            else:
                with open(full, "rb") as old:
                    while chunk := old.read(_CHUNK):
                        new.write(chunk)
            if os.fstat(new.fileno()).st_gid != found.st_gid:
                # A set-group-ID directory passes its group on to the files that git creates in it.
                with suppress(PermissionError):
                    os.fchown(new.fileno(), -1, found.st_gid)
        os.chmod(making, file.mode or 0)
        os.replace(making, full)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(making)
