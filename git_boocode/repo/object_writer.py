"""Write objects into a quarantine directory, and publish them once they are complete and on disk.

`git receive-pack` also uses a quarantine. Git syncs objects one after the other; we sync them in
parallel and then move them to the object directory. An unfinished write leaves nothing behind.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from git_boocode.repo.config import Identity
from git_boocode.repo.durable import sync_all
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.location import Location
from git_boocode.repo.lock import scratch_directory

# Modes of tree entries: a submodule (or an added nested repository), a symbolic link, a directory.
GITLINK = "160000"
SYMLINK = "120000"
DIRECTORY = "040000"
NO_FILE = "000000"
"""The mode of a missing file in a comparison of trees."""
REGULAR = frozenset(("100644", "100755"))
"""The modes of regular files."""
# The number of an id's characters that name the directory of a loose object.
_FAN_OUT = 2
_ATTEMPTS = 5
# Git finds a pack by its index, so the index is moved last.
_LAST = ".idx"
# Git's own choice for loose objects.
_COMPRESSION = 1
_LARGE = 2**20  # bytes that OpenSSL hashes faster, with the time to load it
# Values of core.sharedRepository that do not change modes.
_UNSHARED = frozenset(("umask", "false", "no", "off", "0"))


def raw_commit(tree: str, parents: Sequence[str], message: str, by: Identity, when: float) -> bytes:
    """The bytes of a commit object, independent of the user's signing, dates and encoding."""
    who = f"{by.name} <{by.email}> {int(when)} +0000"
    lines = [f"tree {tree}", *map("parent {}".format, parents)]
    lines += [f"author {who}", f"committer {who}", "", message]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


@contextmanager
def temporary_objects(repository: Location) -> Iterator[None]:
    """Write new objects to a temporary directory, so that a read-only command leaves none."""
    objects = objects_directory(repository)
    with (
        scratch_directory(repository.state_dir, read_only=True) as aside,
        repository.bound(**_reading_from(repository, objects, aside)),
    ):
        yield


def objects_directory(repository: Location) -> str:
    """The directory to which git writes new objects."""
    configured = repository.git.env.get("GIT_OBJECT_DIRECTORY")
    return configured or os.path.join(repository.common_dir, "objects")


def running_gc(repository: Location) -> str:
    """The process id of a `git gc` that is running on this host; empty if there is none."""
    try:
        with open(os.path.join(repository.common_dir, "gc.pid"), encoding="ascii") as file:
            process, _, host = file.read(1024).strip().partition(" ")
        if host != os.uname().nodename or not process.isdecimal():
            return ""
        # The process may belong to another user.
        with suppress(PermissionError):
            os.kill(int(process), 0)
    except (OSError, ValueError, OverflowError):
        return ""
    return process


class Quarantine:
    """A directory of new objects in `scratch`; `git` writes there, and also reads existing objects.

    Measured with 30 changed files on a disk, a checkpoint takes a fifth less time than if git
    writes into the object directory and syncs in batches (`core.fsyncMethod`).
    """

    def __init__(self, repository: Location, scratch: str) -> None:
        self._target = objects_directory(repository)
        # In this order: a gc that begins later changes the times.
        self._repacked = self._repack_times()
        self._gc = running_gc(repository)
        self._path = os.path.join(scratch, "objects")
        os.makedirs(self._path)
        self._object_format = repository.object_format
        shared = repository.config.setting("core.sharedRepository")
        self._is_shared = shared is not None and (shared.value or "").lower() not in _UNSHARED
        git = repository.git.bind(**_reading_from(repository, self._target, self._path))
        self.git = git.bind("core.fsync=none")

    def may_lack_objects(self) -> bool:
        """Whether git may have deleted objects that this uses or has published.

        A gc was running when this was made, or git has repacked since. A gc that is running now is
        left to the caller.
        """
        return bool(self._gc) or self._repack_times() != self._repacked

    def _repack_times(self) -> list[int]:
        """When git last repacked, which writes a pack, and `info/packs` even if there is none."""
        times = []
        for name in ("pack", "info"):
            with suppress(OSError):
                times.append(os.stat(os.path.join(self._target, name)).st_mtime_ns)
        return times

    def store(self, kind: bytes, body: bytes) -> bytes:
        """Write an object and return its id; git would need a process for each object.

        Git does not see it until it is published.
        """
        if self._is_shared:
            # Leave the modes of group-shared objects to git.
            command = ("hash-object", "-w", "--stdin", "-t", kind.decode("ascii"))
            return self.git.run(*command, stdin=body).strip()
        content = _object(kind, body)
        name = hexdigest(self._object_format, content)
        with suppress(FileExistsError):
            # Directories would cost more than the file.
            descriptor = os.open(
                f"{self._path}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444
            )
            with open(descriptor, "wb") as file:
                file.write(zlib.compress(content, _COMPRESSION))
        return name.encode("ascii")

    def keep_packs(self, content: bytes) -> list[str]:
        """Write a `.keep` file for each pack; returns their paths after `release`."""
        kept = []
        for path, target in self._finished().items():
            if path.endswith(".pack"):
                with open(f"{path.removesuffix('.pack')}.keep", "wb") as file:
                    file.write(content)
                kept.append(f"{target.removesuffix('.pack')}.keep")
        return kept

    def release(self) -> None:
        """Sync the new objects and move them to the object directory.

        OSError if there is no space or permission; on a full disk, nothing is moved.
        """
        files = self._finished()
        if not files:
            return
        sync_all([*files])
        directories = {os.path.dirname(target): path for path, target in files.items()}
        present = set(os.listdir(self._target))
        missing = [path for path in directories if os.path.basename(path) not in present]
        try:
            # Directories first, because they need space.
            for directory in missing:
                self._make_directory(directory, directories[directory])
            for path, target in files.items():
                self._move(path, target)
        except OSError:
            for directory in missing:
                with suppress(OSError):
                    os.rmdir(directory)
            raise
        # If `git gc` has packed the objects meanwhile and removed a directory, it has synced them.
        sync_all([self._target, *directories])

    def _finished(self) -> dict[str, str]:
        """The complete files, and where they go; the indexes of packs come last."""
        files, last = dict[str, str](), dict[str, str]()
        for name in os.listdir(self._path):
            path = f"{self._path}/{name}"
            if OBJECT_ID.fullmatch(name):
                files[path] = f"{self._target}/{name[:_FAN_OUT]}/{name[_FAN_OUT:]}"
            elif name == "pack" or len(name) == _FAN_OUT:
                for inner in os.listdir(path):
                    if not inner.startswith("tmp_"):
                        found = last if inner.endswith(_LAST) else files
                        found[f"{path}/{inner}"] = f"{self._target}/{name}/{inner}"
        return files | last

    def _move(self, path: str, target: str, attempts: int = _ATTEMPTS) -> None:
        try:
            os.rename(path, target)
        except FileNotFoundError:
            # `git gc` removes empty directories.
            if attempts == 1 or not os.path.lexists(path):
                raise
            self._make_directory(os.path.dirname(target), path)
            self._move(path, target, attempts - 1)

    def _make_directory(self, directory: str, path: str) -> None:
        with suppress(FileExistsError, FileNotFoundError):
            os.mkdir(directory)
            if self._is_shared:
                os.chmod(directory, stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode))


def _reading_from(repository: Location, objects: str, new: str) -> dict[str, str]:
    """The environment for git to write objects to `new`, and to read from `objects` as well."""
    others = repository.git.env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    path = os.path.abspath(objects)
    if os.pathsep in path or path.startswith('"'):
        # Git's syntax for a directory whose name contains the separator.
        escaped = path.replace("\\", "\\\\").replace('"', '\\"')
        path = f'"{escaped}"'
    places = f"{path}{os.pathsep}{others}" if others else path
    return {"GIT_OBJECT_DIRECTORY": new, "GIT_ALTERNATE_OBJECT_DIRECTORIES": places}


def object_id(object_format: str, kind: bytes, body: bytes) -> str:
    """Compute the id of an object; the format is `sha1` or `sha256`."""
    return hexdigest(object_format, _object(kind, body))


def _object(kind: bytes, body: bytes) -> bytes:
    return b"%s %d\0%s" % (kind, len(body), body)


def hexdigest(algorithm: str, content: bytes) -> str:
    """The SHA-1 or SHA-256 of some bytes; the algorithm is `sha1` or `sha256`."""
    newer = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    name = "_sha1" if algorithm == "sha1" else newer
    try:
        # What hashlib falls back to: loading OpenSSL takes as long as it saves on a megabyte.
        module = __import__(name if len(content) < _LARGE else "hashlib")
    except ImportError:
        module = __import__("hashlib")
    return str(getattr(module, algorithm)(content, usedforsecurity=False).hexdigest())


def blob_ids(data: bytes) -> list[str]:
    """The SHA-1 and SHA-256 ids of a blob."""
    return [object_id(object_format, b"blob", data) for object_format in ("sha1", "sha256")]


def has_blob_id(data: bytes, base: str) -> bool:
    """Whether an id, which may be abbreviated, is that of a blob with these bytes."""
    formats = ("sha1", "sha256")
    return any(object_id(name, b"blob", data).startswith(base) for name in formats)
