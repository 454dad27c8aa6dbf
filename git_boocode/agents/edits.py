"""Planned changes of files that are not ours alone: all of them are written, or none."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from git_boocode.editing.snapshot import Snapshot
from git_boocode.editing.write import remove_directories, signals_wait, write_new
from git_boocode.repo.durable import sync_directory
from git_boocode.repo.errors import FatalError, RefusedError, from_os

_MAX_BYTES = 16 * 1024 * 1024
_OURS = ".boocode-"
# In seconds; what is older has been left by a process that was killed.
_LEFTOVER_AGE = 60


class Symlink(bytes):
    """What a symbolic link leads to, where else the bytes of a file stand."""


class Edit(NamedTuple):
    """One planned change of a file.

    Attributes:
        path: the file, absolute, as the user names it.
        before: its bytes as they were read; None if there is no file.
        after: the bytes that it shall have; None if there shall be no file.
        mode: the permission bits that it shall have; None keeps them, or leaves those of a new
            file to the umask.
        title: what it is for people, such as `Claude Code (local)`; empty for files of our own
            that nobody asks for.
        replace_link: a symlink at `path` is itself what is changed; otherwise it is followed. It is
            implied where `before` or `after` is a `Symlink`.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None
    title: str
    replace_link: bool = False


class _Step(NamedTuple):
    """An edit, and the names of the files beside its own that serve to make it."""

    edit: Edit
    real: str
    staged: str
    backup: str


def read_file(path: str, *, replace_link: bool = False) -> bytes | None:
    """What is at a path now: a file's bytes, a `Symlink`, or None.

    Args:
        path: absolute.
        replace_link: do not follow a symlink.

    Raises:
        RefusedError: it is something else, or far too large for what it should be.
        FatalError: it cannot be read.
    """
    try:
        found = os.lstat(path) if replace_link else os.stat(path)
        if stat.S_ISLNK(found.st_mode):
            return Symlink(os.fsencode(os.readlink(path)))
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
            what = "is too large" if stat.S_ISREG(found.st_mode) else "is no regular file"
            raise RefusedError(f"'{path}' {what}; nothing was changed", code="unusable_file")
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise RefusedError(
            f"'{path}' cannot be made: what stands above it is no directory; nothing was changed",
            code="unusable_file",
        ) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RefusedError(
                f"'{path}' is a symlink that leads nowhere; nothing was changed",
                code="unusable_file",
            ) from None
        raise from_os(error) from error


def apply(edits: Iterable[Edit]) -> None:
    """Make all changes, or leave everything as it was.

    Each file is written beside its place, synced, and renamed into it, with the mode, owner and
    attributes of the one that it replaces.

    Args:
        edits: the changes, made in this order; those that change nothing are left out.

    Raises:
        RefusedError: a file is not what was read (`stale`), or is read-only (`read_only`).
        FatalError: one cannot be written.
    """
    steps = [_step(edit) for edit in edits if edit.before != edit.after or edit.mode is not None]
    _check_distinct(steps)
    for step in steps:
        _check(step)
    made: list[str] = []
    done: list[_Step] = []
    with signals_wait():
        try:
            _write(steps, made, done)
            done.clear()
            made.clear()
        except OSError as error:
            raise _unwritten(error) from error
        finally:
            for step in reversed(done):
                _undo(step)
            for step in steps:
                _remove(step.staged)
                _remove(step.backup)
            remove_directories(reversed(made))


def sweep(path: str) -> None:
    """Remove what killed processes have left beside a file.

    Args:
        path: the file, absolute, symlinks as given.
    """
    for each in {path, os.path.realpath(path)}:
        directory, name = os.path.split(each)
        beginning = _beside(name)
        with suppress(OSError):
            for found in os.scandir(directory):
                age = time.time() - found.stat(follow_symlinks=False).st_mtime
                if found.name.startswith(beginning) and age > _LEFTOVER_AGE:
                    _remove(found.path)


def _write(steps: Sequence[_Step], made: list[str], done: list[_Step]) -> None:
    """Make all changes, noting the directories and the changes that are made."""
    _make_directories(steps, made)
    for step in steps:
        with _named(step):
            _stage(step)
    for step in steps:
        _check(step)
        done.append(step)
        with _named(step):
            _put(step)
    for directory in {os.path.dirname(step.real) for step in steps}:
        if os.path.isdir(directory):
            sync_directory(directory)


def missing_directories(path: str) -> list[str]:
    """The directories above a file that are not there, outermost first.

    Args:
        path: absolute.
    """
    missing = []
    above = os.path.dirname(path)
    while not os.path.lexists(above):
        missing.append(above)
        above = os.path.dirname(above)
    return missing[::-1]


def diff_text(edits: Sequence[Edit]) -> str:
    """What edits would change, as a unified diff; bytes that are not UTF-8 become surrogates."""
    return "".join(line for edit in edits if edit.title for line in _diff(edit))


def _step(edit: Edit) -> _Step:
    is_link = isinstance(edit.before, Symlink) or isinstance(edit.after, Symlink)
    real = edit.path if edit.replace_link or is_link else os.path.realpath(edit.path)
    directory, name = os.path.split(real)
    beside = os.path.join(directory, f"{_beside(name)}{os.urandom(6).hex()}")
    return _Step(edit, real, f"{beside}.tmp", f"{beside}.old")


def _beside(name: str) -> str:
    """How the names of our temporary files begin that belong to a file."""
    return f".{os.fsdecode(os.fsencode(name)[:200])}{_OURS}"


def _check_distinct(steps: Sequence[_Step]) -> None:
    names: dict[str, str] = {}
    for step in steps:
        other = names.setdefault(step.real, step.edit.path)
        if other != step.edit.path:
            raise RefusedError(
                f"'{other}' and '{step.edit.path}' lead to the same file; nothing was changed",
                code="conflict",
                hints=("name only one of the agents or scopes at a time",),
            )


def _check(step: _Step) -> None:
    edit = step.edit
    # Whatever stands where a link is to come is looked at itself.
    itself = step.real == edit.path
    now = read_file(step.real, replace_link=itself)
    if now != edit.before or isinstance(now, Symlink) is not isinstance(edit.before, Symlink):
        raise RefusedError(
            f"'{edit.path}' was changed by another program meanwhile; nothing was changed",
            code="stale",
            hints=("run the command again",),
        )
    if now is None or isinstance(now, Symlink):
        return
    # Asked of the mode, too: the superuser may write what its owner has protected.
    if not os.stat(step.real).st_mode & 0o222 or not os.access(step.real, os.W_OK):
        raise RefusedError(
            f"'{edit.path}' is read-only; nothing was changed",
            code="read_only",
            hints=("another program may write it for you: change it there, or make it writable",),
        )


def _make_directories(steps: Sequence[_Step], made: list[str]) -> None:
    for step in steps:
        if step.edit.after is None:
            continue
        for directory in missing_directories(step.real):
            # Another program may be quicker; what it makes is not ours to remove.
            with suppress(FileExistsError):
                os.mkdir(directory)
                made.append(directory)


@contextmanager
def _named(step: _Step) -> Iterator[None]:
    """Have errors name the file that a user knows of."""
    try:
        yield
    except OSError as error:
        error.filename = step.edit.path
        raise


def _stage(step: _Step) -> None:
    edit = step.edit
    if isinstance(edit.after, Symlink):
        os.symlink(os.fsdecode(edit.after), step.staged)
        return
    if edit.after is None:
        return
    like = None if isinstance(edit.before, Symlink) else _attributes(step.real)
    write_new(step.staged, edit.after, step.real, like)
    if edit.mode is not None:
        os.chmod(step.staged, edit.mode)


def _attributes(real: str) -> Snapshot | None:
    try:
        found = os.lstat(real)
    except FileNotFoundError:
        return None
    owner = (found.st_uid, found.st_gid)
    return Snapshot(b"", found.st_dev, found.st_ino, found.st_mode, owner, found.st_nlink)


def _put(step: _Step) -> None:
    """Move what is staged into its place; the old file keeps a second name until all is done."""
    edit = step.edit
    if isinstance(edit.before, Symlink):
        os.symlink(os.fsdecode(edit.before), step.backup)
    elif edit.before is not None:
        write_new(step.backup, edit.before, step.real, _attributes(step.real))
    if edit.after is None:
        os.unlink(step.real)
    else:
        os.replace(step.staged, step.real)


def _undo(step: _Step) -> None:
    if os.path.lexists(step.staged):
        # It never got to its place.
        return
    with suppress(OSError):
        if os.path.lexists(step.backup):
            os.replace(step.backup, step.real)
        elif step.edit.before is None and step.edit.after is not None:
            os.unlink(step.real)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _unwritten(error: OSError) -> FatalError:
    told = from_os(error)
    hints = told.hints or ("check the permissions of the file and of its directory",)
    return FatalError(f"{told.message}; nothing was changed", code=told.code, hints=hints)


def _diff(edit: Edit) -> Iterator[str]:
    from difflib import unified_diff

    if edit.before == edit.after:
        if edit.mode is not None:
            yield f"mode {edit.mode:04o} {edit.path}\n"
        return
    before = "/dev/null" if edit.before is None else edit.path
    after = "/dev/null" if edit.after is None else edit.path
    for line in unified_diff(_lines(edit.before), _lines(edit.after), before, after):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "surrogateescape")
    if isinstance(data, Symlink):
        text = f"symbolic link to {text}"
    # Not `splitlines`, which breaks lines at characters that git does not.
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]
