"""The files of a worktree: allowed paths, file contents, modes and directories."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.errors import FatalError, RefusedError

MAX_BYTES = 100 * 1024 * 1024  # Matching holds several copies of a text in memory.
_PIECE = 1 << 16  # bytes that are read at once of a file that has grown
_UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)
# Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` there.
_IGNORED = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070)))
_IGNORED[0xFEFF] = None


class Symlink(bytes):
    """The target of a symbolic link, which takes the place of a file's bytes."""


class FileState(NamedTuple):
    """A file at the time it was read; `mode` includes its type, `owner` is its user and group."""

    data: bytes
    device: int
    inode: int
    mode: int
    owner: tuple[int, int]
    links: int

    def is_same(self, other: FileState) -> bool:
        """Whether both are the same file with the same mode and content."""
        own, others = (self.device, self.inode, self.mode), (other.device, other.inode, other.mode)
        return own == others and self.data == other.data


def mode_only(mode: int) -> FileState:
    """A state that supplies permission bits only; its owner -1 leaves the owner unchanged."""
    return FileState(b"", 0, 0, stat.S_IFREG | mode, (-1, -1), 1)


def read_state(real: str, *, links: bool = False) -> FileState | None:
    """Read a regular file by its absolute path without symlinks; None if it does not exist.

    With `links`, a symlink at the path is read itself, and its data is a `Symlink`. RefusedError if
    the path is invalid or names something else or a file that is too large; FatalError if the file
    cannot be read.
    """
    try:
        return _read(real, links=links)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        above = os.path.dirname(real)
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        name = os.path.basename(above)
        raise RefusedError(
            f"its parent '{name}' is not a directory", code="invalid_input"
        ) from None
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        if error.errno in _UNUSABLE:
            raise RefusedError(f"the path cannot be used: {reason}", code="invalid_input") from None
        raise FatalError(
            f"cannot read '{real}': {reason}; nothing was changed",
            code="unreadable",
            hints=("check its permissions, or leave it out of the edit",),
            details={"applied": False},
        ) from error


def _read(real: str, *, links: bool) -> FileState:
    found = os.lstat(real)
    if links and stat.S_ISLNK(found.st_mode):
        data: bytes = Symlink(os.fsencode(os.readlink(real)))
    else:
        # Checked before opening, because opening a device or a pipe can have effects.
        _check(found.st_mode, found.st_size)
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            data = _content(descriptor, found.st_size)
            found = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        _check(found.st_mode, len(data))
    owner = (found.st_uid, found.st_gid)
    return FileState(data, found.st_dev, found.st_ino, found.st_mode, owner, found.st_nlink)


def _content(descriptor: int, size: int) -> bytes:
    """All bytes of an open file of about this size, but not much more than the largest one has."""
    data = os.read(descriptor, size + 1)
    while len(data) <= MAX_BYTES and (more := os.read(descriptor, min(_PIECE, MAX_BYTES))):
        data += more
    return data


def _check(mode: int, size: int) -> None:
    # Opening a symlink fails by itself.
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        kind = "a directory" if stat.S_ISDIR(mode) else "a special file"
        raise RefusedError(f"it is {kind}, not a regular file", code="invalid_input")
    if size > MAX_BYTES:
        raise RefusedError(
            f"the file is too large to edit: {size} bytes (at most {MAX_BYTES})",
            code="invalid_input",
        )


def missing_directories(paths: Iterable[str]) -> list[str]:
    """The missing directories above some files, outermost first."""
    missing = set()
    for path in paths:
        while (path := os.path.dirname(path)) not in missing and not os.path.isdir(path):
            missing.add(path)
    return sorted(missing)


def make_directories(path: str) -> None:
    """Create a directory, given by its absolute path, and the missing ones above it."""
    # `os.makedirs` calls itself for each, and Python limits the depth of calls.
    for missing in missing_directories([os.path.join(path, "")]):
        with suppress(FileExistsError):
            os.mkdir(missing)


def walk_directories(top: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """The directories at and below an absolute path, with their entries; no symlink is followed.

    A missing, unreadable or too deep directory counts as empty. `os.walk` calls itself for each
    level before Python 3.12.
    """
    waiting = [top]
    while waiting:
        directory, entries = waiting.pop(), list[os.DirEntry[str]]()
        with suppress(OSError), os.scandir(directory) as found:
            entries.extend(found)
        yield directory, entries
        waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def remove_directories(paths: Iterable[str]) -> None:
    """Remove the empty ones of some directories, given innermost first by absolute path."""
    for path in paths:
        with suppress(OSError):
            os.rmdir(path)


def remove_emptied(path: str, top: str) -> None:
    """Remove the directories below `top`, an absolute path, that a deleted file left empty.

    The current directory and its parents stay.
    """
    with suppress(OSError):
        here, top = os.path.join(os.getcwd(), ""), os.path.join(top, "")
        while (path := os.path.dirname(path)).startswith(top) and not here.startswith(f"{path}/"):
            with suppress(FileNotFoundError):
                os.rmdir(path)


def with_executable(mode: int, *, executable: bool) -> int:
    """Permission bits as git sets them: executable for everyone who may read, or for nobody."""
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def both_listed(one: str, other: str) -> bool:
    """Whether two resolved paths differ in names that are separate entries of a directory.

    On a case-insensitive file system, paths that differ otherwise can name the same file.
    """
    above = os.path.commonpath((one, other))
    names = {os.path.relpath(path, above).split("/")[0] for path in (one, other)}
    try:
        return names <= {*os.listdir(above)}
    except OSError:
        return False


def inside_worktree(top: str, path: str) -> str:
    """Convert a path to git's form, relative to `top`, which contains no symlinks.

    The file need not exist. RefusedError if the path is empty or names a directory
    (`invalid_input`), or if it leaves the worktree, by `..`, as an absolute path or through a
    symlink, or lies in a `.git` directory (`outside_worktree`).
    """
    if not path or "\0" in path:
        raise RefusedError("the path is empty or contains a NUL character", code="invalid_input")
    below = path
    if os.path.isabs(path):
        # Only the parent is resolved: a symlink counts as a file of its own directory.
        parent, name = os.path.split(os.path.normpath(path))
        below = os.path.relpath(os.path.join(os.path.realpath(parent), name), top)
        if below.split("/")[0] == "..":
            raise _outside(os.path.normpath(path), "it is an absolute path to another directory")
    relative = os.path.normpath(below)
    if relative == "." or below.endswith("/"):
        raise RefusedError(f"'{below}' names a directory, not a file", code="invalid_input")
    if ".." in relative.split("/"):
        raise _outside(path, "it leaves the worktree with '..'")
    if is_in_dot_git(relative):
        raise _outside(path, "it lies in a git directory")
    _check_symlinks(top, relative.split("/"), path)
    return relative


def _check_symlinks(top: str, parts: list[str], path: str) -> None:
    for above in ("/".join(parts[:count]) for count in range(1, len(parts) + 1)):
        link = os.path.join(top, above)
        if os.path.islink(link):
            inner = os.path.relpath(os.path.realpath(link), os.path.realpath(top)).split("/")
            if inner[0] == "..":
                raise _outside(path, f"the symlink '{above}' points outside")
            if any(map(is_dot_git, inner)):
                raise _outside(path, f"the symlink '{above}' points into '.git'")


def git_directory_above(path: str) -> str | None:
    """The git directory, of any name, that contains an absolute path without symlinks."""
    while (path := os.path.dirname(path)) != "/":
        if is_dot_git(os.path.basename(path)) or _looks_like_git(path):
            return path
        if os.path.lexists(os.path.join(path, ".git")):
            # A worktree, which may itself be inside a bare repository.
            return None
    return None


def _looks_like_git(path: str) -> bool:
    # Git's own criteria; the directory of a linked worktree contains `commondir` instead.
    if not os.path.isfile(os.path.join(path, "HEAD")):
        return False
    shared = os.path.isfile(os.path.join(path, "commondir"))
    return shared or all(os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs"))


def is_possible(path: str) -> bool:
    """Whether the system accepts a path or an argument, which may come from a remote."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def is_in_dot_git(path: str) -> bool:
    """Whether a part of a path is `.git`; see `is_dot_git`."""
    # A backslash is a separator in Git for Windows; git's own `verify_path` considers that, too.
    return any(map(is_dot_git, path.replace("\\", "/").split("/")))


def is_dot_git(name: str) -> bool:
    """Whether some file system equates a name with `.git`, as in git's own `verify_path`."""
    plain = unicodedata.normalize("NFC", name).translate(_IGNORED).casefold()
    plain = plain.split(":")[0].rstrip(". ")
    return plain in (".git", "git~1")


def _outside(path: str, why: str) -> RefusedError:
    return RefusedError(
        f"'{path}' is outside the worktree: {why}",
        code="outside_worktree",
        hints=("use a path relative to the top of the worktree",),
    )


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shipped_file(name: str) -> str:
    """The path of a file such as `callbacks/trim-jsonl`; FatalError if it is missing."""
    if path := find_shipped(name):
        return path
    raise FatalError(
        f"the installation lacks '{name}'",
        code="broken_installation",
        hints=("install git-boocode again",),
    )


def find_shipped(name: str) -> str | None:
    """The path of a file such as `callbacks/trim-jsonl`; None if there is none of that name."""
    # An editable installation runs from the checkout, where the files lie beside the package.
    for directory in ("shipped_hooks", os.path.join("..", "hooks")):
        path = os.path.normpath(os.path.join(_PACKAGE, directory, name))
        if os.path.isfile(path):
            return path
    return None
