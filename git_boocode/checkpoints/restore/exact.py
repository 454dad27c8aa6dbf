"""The bytes and modes of files, where git's own form of a file loses them.

A tree holds what the conversions of line endings, `ident`, encodings and filters make of a file,
and no more of its mode than whether it is executable. A safety checkpoint also records the raw
bytes and the permission bits of the files that its restore replaces or deletes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, NamedTuple

from git_boocode.checkpoints.restore.ignore_rules import directories_of
from git_boocode.checkpoints.store.changes import Change
from git_boocode.checkpoints.worktree.attributes import filtered, may_convert
from git_boocode.checkpoints.worktree.indexer import Disk
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.git import GitError, Talk, nul_lines, nul_records, quoted_lines
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.index import Index
from git_boocode.repo.metadata import Metadata, MetadataError
from git_boocode.repo.object_writer import GITLINK
from git_boocode.repo.repository import Repository

_CHUNK = 1 << 20
_NONE = "-"
_SAME = "="
# Git holds smaller blobs in memory.
_STREAM = "core.bigFileThreshold=16m"


class ExactFile(NamedTuple):
    """What git's form of one file loses."""

    mode: int | None = None  # the permission bits; None if they are not known
    # The id of a blob with the raw bytes; `=` if these are what the tree holds, empty if git knows
    # how to write them, as with a filter driver.
    blob: str = ""


def encode(files: Mapping[str, ExactFile]) -> bytes:
    """The records of some files by path, as the bytes of a blob."""
    return nul_lines(
        f"{_NONE if file.mode is None else format(file.mode, 'o')} {file.blob or _NONE}\t{path}"
        for path, file in files.items()
    )


def read_exact(repository: Repository, meta: Metadata) -> dict[str, ExactFile]:
    """The records that a safety checkpoint holds, by path; MetadataError if malformed."""
    commit = meta.part("exact", "commit")
    if commit is None:
        return {}
    try:
        if not OBJECT_ID.fullmatch(commit):
            raise ValueError(commit)
        entries = repository.git.run("cat-file", "blob", f"{commit}:entries")
        return dict(map(_decode, nul_records(entries)))
    except ValueError:
        raise MetadataError("its record of exact files is malformed", code="malformed") from None


def _decode(record: str) -> tuple[str, ExactFile]:
    fields, _, path = record.partition("\t")
    mode, blob = fields.split(" ")
    if blob not in (_NONE, _SAME) and not OBJECT_ID.fullmatch(blob):
        raise ValueError(blob)
    permissions = None if mode == _NONE else int(mode, 8) & 0o7777
    return path, ExactFile(permissions, "" if blob == _NONE else blob)


def _with_blobs(
    files: Mapping[str, ExactFile], ids: Mapping[str, str], *, convert: bool
) -> dict[str, ExactFile]:
    """The records of the paths in `ids`, the blobs in the tree; `=` becomes an id or nothing.

    Without `convert`, git writes the very bytes of the tree.
    """
    return {
        path: file._replace(blob=ids[path] if convert else "") if file.blob == _SAME else file
        for path, file in files.items()
        if path in ids
    }


class ExactRecorder:
    """Records what a restore is about to replace or delete in a snapshot.

    `target` are the records of the state that the restore goes to.
    """

    def __init__(
        self, repository: Repository, snapshot: Snapshot, target: Mapping[str, ExactFile]
    ) -> None:
        self._repository = repository
        self._snapshot = snapshot
        self._target = target
        self._disk = Disk(repository.worktree)

    def lost(self, paths: Iterable[str]) -> list[Change]:
        """The files with other bytes or another mode than recorded, where git sees no change.

        `paths` are those of the target's records where git sees none.
        """
        found = self._regular(paths)
        convert = may_convert(self._repository, found)
        doubtful = []
        for path, status in found.items():
            file = self._target[path]
            other_mode = file.mode not in (None, stat.S_IMODE(status.st_mode))
            if other_mode or (convert if file.blob == _SAME else file.blob):
                doubtful.append(path)
        entries = list(self._snapshot.index.entries_of(doubtful)) if doubtful else []
        files = _with_blobs(self._target, {e.path: e.id for e in entries}, convert=convert)
        return [
            Change(entry.path, "modify", entry.mode, entry.mode, entry.id, entry.id)
            for entry in entries
            if _differs(self._repository, entry.path, found[entry.path], files[entry.path])
        ]

    def record(self, changes: Iterable[Change]) -> dict[str, ExactFile]:
        """Record the files that some changes replace or delete; raw bytes are stored as blobs."""
        old = {change.path: change for change in changes if _is_file(change.old_mode)}
        found = self._regular(old)
        converted = set(found) if may_convert(self._repository, found) else set()
        raw = {path for path, file in self._target.items() if OBJECT_ID.fullmatch(file.blob)}
        converted |= raw.intersection(found)
        blobs = self._raw_blobs({path: old[path].old_id for path in converted})
        return {
            path: ExactFile(
                stat.S_IMODE(status.st_mode), blobs.get(path, "") if path in converted else _SAME
            )
            for path, status in found.items()
        }

    def _regular(self, paths: Iterable[str]) -> dict[str, os.stat_result]:
        found = {path: status for path in paths if (status := self._disk.status(path))}
        return {path: status for path, status in found.items() if stat.S_ISREG(status.st_mode)}

    def _raw_blobs(self, known: Mapping[str, str]) -> dict[str, str]:
        """The blobs of raw bytes by path, for those that git may not write as they are.

        `known` are the blobs of git's form by path.
        """
        read = {path: _raw_id(self._repository, path) for path in known}
        raw = {path: identifier for path, identifier in read.items() if identifier}
        other = [path for path in raw if raw[path] != known[path]]
        for path in self._written_alike(other, raw):
            del raw[path]
        other = [path for path in other if path in raw]
        if other:
            command = ("hash-object", "-w", "--no-filters", "--stdin-paths")
            names = quoted_lines(f"{self._repository.worktree}/{path}" for path in other)
            git = self._snapshot.quarantine.git.bind(_STREAM)
            raw |= zip(other, git.line(*command, stdin=names).split("\n"), strict=True)
        return raw

    def _written_alike(self, paths: list[str], raw: Mapping[str, str]) -> list[str]:
        """The paths with a filter driver that gives back the very bytes, such as LFS."""
        index = self._snapshot.index
        driven = filtered(index, paths) if paths else []
        if not driven:
            return []
        prefix = f"{index.path}.written/"
        command = ("checkout-index", "-z", "--stdin", f"--prefix={prefix}")
        index.git.attempt(*command, stdin=nul_lines(driven))
        return [path for path in driven if _raw_id(self._repository, path, prefix) == raw[path]]


def after_restore(
    repository: Repository,
    changes: Iterable[Change],
    before: Mapping[str, ExactFile],
    target: Mapping[str, ExactFile],
) -> dict[str, ExactFile]:
    """What some files are to become, beyond what git makes of them.

    What replaces a file gets its permission bits, so that private files stay private. `before` are
    the records of what is there, `target` those of the state that a restore goes to.
    """
    new = {change.path: change for change in changes if _is_file(change.mode)}
    ids = {path: change.id for path, change in new.items()}
    files = _with_blobs(target, ids, convert=bool(target) and may_convert(repository, new))
    for path in new.keys() & before.keys():
        file, replaced = files.get(path, ExactFile()), before[path].mode
        if file.mode is None and replaced is not None:
            mode = _mode_like(replaced, executable=new[path].mode == "100755")
            files[path] = file._replace(mode=mode)
    return files


def before_restore(
    changes: Iterable[Change], before: Mapping[str, ExactFile]
) -> dict[str, ExactFile]:
    """What some files become again if a restore is rolled back; `before` records them."""
    # The restore may have brought or removed rules by which git converts.
    return _with_blobs(before, {change.path: change.old_id for change in changes}, convert=True)


def _is_file(mode: str) -> bool:
    return mode in ("100644", "100755")


def _mode_like(replaced: int, *, executable: bool) -> int:
    if not executable:
        return replaced & 0o666
    if replaced & stat.S_IXUSR:
        return replaced & 0o777
    return replaced & 0o777 | stat.S_IXUSR | (replaced & 0o044) >> 2


@contextmanager
def writing_privately(
    top: str, modes: Mapping[str, str], files: Mapping[str, ExactFile]
) -> Iterator[list[str]]:
    """Let git write no file that others can read before `write_exact` gives it its mode.

    What git makes besides gets its usual mode at the end; the files of that are in the list then.
    `modes` are git's modes of what it writes, by path, below the worktree's `top`.
    """
    umask = os.umask(0o077)
    os.umask(umask)
    usual = {
        path: (0o777 if mode == "100755" else 0o666) & ~umask
        for path, mode in modes.items()
        if _is_file(mode)
    }
    exact = {path: file.mode for path, file in files.items() if file.mode is not None}
    if not any(mode & ~exact.get(path, mode) for path, mode in usual.items()):
        yield []
        return
    disk = Disk(top)
    # Git makes a directory for a submodule, too.
    inside = (f"{path}/" if mode == GITLINK else path for path, mode in modes.items())
    made = [path for path in directories_of(inside) if not disk.is_directory(path)]
    wider = dict.fromkeys(made, 0o777 & ~umask)
    wider |= {path: mode for path, mode in usual.items() if path not in exact}
    widened: list[str] = []
    os.umask(0o077)
    try:
        yield widened
    finally:
        os.umask(umask)
    disk = Disk(top)
    for path, mode in wider.items():
        found = disk.status(path)
        if found is None or stat.S_ISLNK(found.st_mode) or found.st_mode & 0o077:
            continue
        os.chmod(f"{top}/{path}", stat.S_IMODE(found.st_mode) | mode)
        if path in usual:
            widened.append(path)


def write_exact(repository: Repository, index: Index, files: Mapping[str, ExactFile]) -> list[str]:
    """Give files their exact bytes and modes, after git has written its own form of them.

    No file is written in place, and none is changed that may have other hard links. What is not a
    regular file by now is left alone. New files are made beside `index`, a private one. Returns the
    paths that were written.
    """
    disk = Disk(repository.worktree)
    others = {}
    for path, file in files.items():
        found = disk.status(path)
        if found is None or not stat.S_ISREG(found.st_mode):
            continue
        if _differs(repository, path, found, file):
            others[path] = found
    if others:
        git = index.git.bind(_STREAM)
        with git.talk("cat-file", "--batch") as blobs:
            for path, found in others.items():
                full = f"{repository.worktree}/{path}"
                _write(blobs, full, found, files[path], f"{index.path}.exact")
    return list(others)


def _differs(repository: Repository, path: str, found: os.stat_result, file: ExactFile) -> bool:
    if file.mode is not None and file.mode != stat.S_IMODE(found.st_mode):
        return True
    return bool(file.blob) and _raw_id(repository, path) not in (None, file.blob)


def _write(blobs: Talk, full: str, found: os.stat_result, file: ExactFile, scratch: str) -> None:
    mode = stat.S_IMODE(found.st_mode) if file.mode is None else file.mode
    file = file._replace(mode=mode)
    if not file.blob and found.st_nlink == 1:
        os.chmod(full, mode)
        return
    try:
        _replace(blobs, full, found, file, scratch)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The git directory lies on another file system.
        _replace(blobs, full, found, file, f"{full}.{os.urandom(6).hex()}")


def _replace(blobs: Talk, full: str, found: os.stat_result, file: ExactFile, making: str) -> None:
    """Put a file with the bytes of a blob, or the same bytes, in the place of another one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(os.open(making, flags, 0o600), "wb") as new:
            if file.blob:
                _write_blob(blobs, file.blob, new)
            else:
                with open(full, "rb") as old:
                    while chunk := old.read(_CHUNK):
                        new.write(chunk)
            if os.fstat(new.fileno()).st_gid != found.st_gid:
                # A directory may hand down its group to the files that git makes in it.
                with suppress(PermissionError):
                    os.fchown(new.fileno(), -1, found.st_gid)
        os.chmod(making, file.mode or 0)
        os.replace(making, full)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(making)


def _write_blob(blobs: Talk, blob: str, to: IO[bytes]) -> None:
    header = blobs.ask(b"%s\n" % blob.encode("ascii")).split(b" ")
    if header[1:2] != [b"blob"]:
        raise GitError(("cat-file",), 128, f"fatal: blob {blob} is missing")
    size = int(header[2])
    while size:
        chunk = blobs.take(min(size, _CHUNK))
        to.write(chunk)
        size -= len(chunk)
    blobs.take(1)


def _raw_id(repository: Repository, path: str, top: str = "") -> str | None:
    """The id of a blob with the bytes of a file below the top; None if it cannot be read."""
    # Only needed where git may convert files; it takes longer to import than to use.
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
