"""Private copies of the index, and safe replacement of the user's index."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from typing import NamedTuple
from zlib import crc32

from git_boocode.repo.durable import sync_path
from git_boocode.repo.errors import RETRY, FatalError, NextStep, RefusedError
from git_boocode.repo.git import Completed, Git, Running, nul_lines, nul_records
from git_boocode.repo.lock import fresh_path

_DUMP = ("ls-files", "-s", "-v", "-z")
_COMPARISON = ("diff-files", "--name-only", "--ignore-submodules=dirty", "-z")
_ARGUMENTS = 500  # maximum number of paths on a command line
# In bytes: SHA-256 and SHA-1.
_LONGEST_CHECKSUM = 32
_SHORTEST_CHECKSUM = 20


class Entry(NamedTuple):
    """One entry of an index, as `git ls-files -s -v` lists it.

    The tag is `H` cached, `S` skip-worktree or `M` unmerged, in lower case if assume-unchanged; we
    add `I` for intent-to-add. The stage is 0, or 1 to 3 in a conflict.
    """

    tag: str
    mode: str
    id: str
    stage: int
    path: str

    @classmethod
    def parse(cls, record: str) -> Entry:
        """Parse one record; the inverse of `str`."""
        fields, _, path = record.partition("\t")
        tag, mode, identifier, stage = fields.split(" ")
        return cls(tag, mode, identifier, int(stage), path)

    def __str__(self) -> str:
        return f"{self.tag} {self.mode} {self.id} {self.stage}\t{self.path}"


class Index:
    """A private index file, which need not exist."""

    def __init__(self, git: Git, path: str) -> None:
        self.path = path
        self.git = git.bind(GIT_INDEX_FILE=path)

    def copy(self, git: Git | None = None) -> Index:
        """A private copy, optionally with another `git`; if this index has no file, nor has it."""
        path = fresh_path(self.path)
        copy_index(self.path, path)
        return Index(git or self.git, path)

    def dump(self) -> bytes:
        """All entries with flags, modes and stages, NUL-terminated (`ls-files -s -v -z`)."""
        return self.git.run(*_DUMP)

    def write_tree(self, *options: str) -> str:
        """Store the entries as trees and return the id of the root; there must be no conflict."""
        return os.fsdecode(self.git.run("write-tree", *options)).strip()

    def read_tree(self, *arguments: str) -> None:
        """Run `git read-tree`; a sparse checkout neither hides entries nor removes files."""
        self.git.run("read-tree", "--no-sparse-checkout", *arguments)

    def add(self, paths: Iterable[str]) -> Completed:
        """Update the entries of files from disk, or remove them; the caller checks the result."""
        arguments = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        return self.git.feed("recording: {} files", paths, *arguments)

    def entries_of(self, paths: Iterable[str]) -> Iterator[Entry]:
        """The entries of some paths; for a single path that ends in a slash, those below it."""
        selected = frozenset(paths)
        if not selected:
            return
        # Git compares every entry with every pathspec: many cost more than reading all entries.
        pathspecs = selected if len(selected) <= _ARGUMENTS else ()
        git = self.git.bind(GIT_LITERAL_PATHSPECS="1")
        for record in nul_records(git.run(*_DUMP, "--", *pathspecs)):
            entry = Entry.parse(record)
            if pathspecs or entry.path in selected:
                yield entry

    def forget(self, paths: Iterable[str]) -> None:
        """Remove all stages of some entries, whether or not the files exist."""
        self.flag("--force-remove", paths)

    def put(self, entries: Iterable[Entry]) -> None:
        """Set entries; remove those with mode `0`."""
        lines = (f"{entry.mode} {entry.id} {entry.stage}\t{entry.path}" for entry in entries)
        if stdin := nul_lines(lines):
            self.git.run("update-index", "-z", "--replace", "--index-info", stdin=stdin)

    def flag(self, option: str, paths: Iterable[str]) -> None:
        """Run `update-index` with an option for each path, such as `--skip-worktree`."""
        if stdin := nul_lines(paths):
            self.git.run("update-index", option, "-z", "--stdin", stdin=stdin)

    def invalidate(self, paths: Iterable[str]) -> None:
        """Discard the cached stat data of some files, so that git reads them again."""
        self.put(list(self.entries_of(paths)))

    def join(self) -> None:
        """Convert a split index to a self-contained one."""
        with suppress(FileNotFoundError), open(self.path, "rb") as file:
            if b"link" in file.read():
                self.git.run("update-index", "--no-split-index")

    def paths(self) -> list[str]:
        """The paths of all entries, each once."""
        return list(dict.fromkeys(nul_records(self.git.run("ls-files", "-z"))))

    def forget_times(self) -> list[str]:
        """Discard all stat data and flags, so that git reads every file; returns the paths."""
        entries = self.git.run("ls-files", "-s", "-z")
        os.unlink(self.path)
        self.git.run("update-index", "-z", "--index-info", stdin=entries)
        return self.paths()

    def begin_comparison(self) -> Running:
        """Start listing the paths whose files differ from their entries.

        A submodule differs only if its HEAD does.
        """
        return self.git.begin(*_COMPARISON)

    def changed_on_disk(self) -> list[str]:
        """The paths whose files differ from their entries; see `begin_comparison`."""
        return nul_records(self.git.run(*_COMPARISON))

    def break_lock(self) -> None:
        """Remove the lock that a killed git process has left on this private index."""
        with suppress(FileNotFoundError):
            os.unlink(f"{self.path}.lock")


def copy_index(source: str, target: str) -> bool:
    """Copy an index with its mode and its time stamp, which git needs for racily clean entries.

    False if the source does not exist; FileExistsError if the target does, because it may be a hard
    link to the user's index.
    """
    try:
        with open(source, "rb") as file:
            content, status = file.read(), os.fstat(file.fileno())
    except FileNotFoundError:
        return False
    with open(target, "xb") as copy:
        try:
            copy.write(content)
            copy.flush()
            os.chmod(target, stat.S_IMODE(status.st_mode))
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        except BaseException:
            os.unlink(target)
            raise
    return True


def borrow_index(source: str, target: str) -> bool:
    """Take a snapshot of an index, as a hard link if possible; otherwise like `copy_index`.

    Git never writes an index in place, so changes of one file do not affect the other.
    """
    if os.path.islink(source):
        return copy_index(source, target)
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except FileExistsError:
        raise
    except OSError:
        # Hard links are unsupported, or the file belongs to another user.
        return copy_index(source, target)
    return True


def fingerprint(path: str) -> str:
    """A value that changes whenever git writes the index; empty if there is no index.

    It consists of size, time and git's checksum. Without a checksum (`index.skipHash`), the inode
    number replaces it: git writes a new file every time.
    """
    with suppress(FileNotFoundError), open(path, "rb") as file:
        found = os.fstat(file.fileno())
        file.seek(max(0, found.st_size - _LONGEST_CHECKSUM))
        end = file.read()
        mark = end.hex() if any(end[-_SHORTEST_CHECKSUM:]) else f"{found.st_ino:x}"
        return f"{found.st_size:x}-{found.st_mtime_ns:x}-{mark}"
    return ""


def crc_of(path: str) -> int:
    """A CRC of all bytes of an index, to detect damage by a crash."""
    with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        return crc32(content)


def is_whole(path: str, object_format: str) -> bool:
    """Whether an index is undamaged, according to the checksum at its end.

    Git does not verify it when it reads an index, and uses a damaged index as far as it can.
    `object_format` is the repository's, `sha1` or `sha256`.
    """
    # Imported late: it is needed only if the user's index has changed.
    import hashlib

    with open(path, "rb") as file:
        content = file.read()
    size = hashlib.new(object_format).digest_size
    hashed = hashlib.new(object_format, content[:-size], usedforsecurity=False)
    # All zeros with `index.skipHash`.
    return hashed.digest() == content[-size:] or not any(content[-size:])


def refuse_if_locked(index_path: str) -> None:
    """Raise RefusedError (`locked`) if `index.lock` exists."""
    if os.path.lexists(f"{index_path}.lock"):
        raise _locked(index_path)


def install_index(new: str, index_path: str, *, expected: bytes | None, git: Git) -> None:
    """Replace the user's index by a new one, under git's own lock.

    The lock is a link to the complete new file, so it exists only for an instant and is never
    incomplete. The file `new` must be on the same file system, and is kept. RefusedError if the
    index is locked (`locked`), or if its dump differs from `expected`, unless that is None
    (`conflict`).
    """
    with suppress(FileNotFoundError):
        os.chmod(new, stat.S_IMODE(os.stat(index_path).st_mode))
    _sync(new)
    lock = f"{index_path}.lock"
    try:
        borrow_index(new, lock)
    except FileExistsError:
        raise _locked(index_path) from None
    try:
        if expected is not None:
            now = git.bind(GIT_INDEX_FILE=index_path).attempt(*_DUMP)
            if now.status or now.stdout != expected:
                raise RefusedError(
                    "another process has changed the staging area meanwhile",
                    code="conflict",
                    hints=(NextStep("nothing was lost; run the command again", "retry"),),
                )
        os.replace(lock, index_path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(lock)
        raise
    _sync(os.path.dirname(index_path))


def _sync(path: str) -> None:
    try:
        sync_path(path)
    except OSError as error:
        raise FatalError(f"cannot sync '{path}': {error.strerror}", code="io") from error


def _locked(index_path: str) -> RefusedError:
    return RefusedError(
        f"the index is locked: '{index_path}.lock' exists",
        code="locked",
        hints=(
            NextStep("if another git process is running here, try again once it has ended", RETRY),
            "if none is, a killed one has left the file behind: delete it",
        ),
    )
