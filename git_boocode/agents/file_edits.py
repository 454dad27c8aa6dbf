"""Planned changes of files that belong to others: all of them are written, or none."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.atomic_write import (
    ChangedMeanwhileError,
    FileChange,
    Target,
    leftover_prefix,
    write_files,
)
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.files import FileState, Symlink, mode_only, read_state

# In seconds; older temporary files were left by a process that was killed.
_LEFTOVER_AGE = 60


class FileEdit(NamedTuple):
    """One planned change of a file.

    `path` is absolute, as the user names it. `before` is its content as it was read and `after`
    the new one: bytes, a `Symlink`, or None for no file. `mode` sets the permission bits; None
    keeps them, or leaves those of a new file to the umask. `title` describes it for people, such
    as `Claude Code (local)`; it is empty for our own files. With `replace_link`, which a `Symlink`
    implies, a symlink at `path` is changed itself; otherwise it is followed.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None
    title: str
    replace_link: bool = False


def read_file(path: str, *, replace_link: bool = False) -> bytes | None:
    """What is at an absolute path now: a file's bytes, a `Symlink`, or None.

    Raises RefusedError (`unusable_file`) if it is something else, or too large.
    """
    _, now = _found(path, itself=replace_link)
    return None if now is None else now.data


def apply(edits: Iterable[FileEdit]) -> None:
    """Make all changes, or leave everything as it was; see `git_boocode.repo.atomic_write`.

    Raises RefusedError if a file is not what was read (`stale`) or is read-only (`read_only`).
    """
    changed = [edit for edit in edits if edit.before != edit.after or edit.mode is not None]
    changes = [_change(edit) for edit in changed]
    names: dict[str, str] = {}
    for target in (change.target for change in changes):
        other = names.setdefault(target.real, target.path)
        if other != target.path:
            raise RefusedError(
                f"'{other}' and '{target.path}' are the same file; nothing was changed",
                code="conflict",
                hints=("name only one of the agents or scopes at a time",),
            )
    try:
        if changes:
            write_files(changes, keep_directories=True)
    except ChangedMeanwhileError as error:
        raise _stale(error.target.path) from None


def sweep(path: str) -> None:
    """Remove the temporary files that killed processes left beside a file."""
    for each in {path, os.path.realpath(path)}:
        prefix = leftover_prefix(each)
        with suppress(OSError):
            for found in os.scandir(os.path.dirname(each)):
                # Not the time of modification: that of a backup is the file's own.
                age = time.time() - found.stat(follow_symlinks=False).st_ctime
                if found.path.startswith(prefix) and age > _LEFTOVER_AGE:
                    os.unlink(found.path)


def diff_text(edits: Sequence[FileEdit]) -> str:
    """What edits would change, as a unified diff; bytes that are not UTF-8 become surrogates."""
    return "".join(line for edit in edits if edit.title for line in _diff(edit))


def _found(path: str, *, itself: bool) -> tuple[Target, FileState | None]:
    """The file at a path, or the symlink `itself` that is there."""
    directory, name = os.path.split(path)
    real = os.path.join(os.path.realpath(directory), name) if itself else os.path.realpath(path)
    try:
        return Target(path, real if itself else path, real), read_state(real, links=itself)
    except RefusedError as error:
        raise RefusedError(
            f"'{path}' cannot be used: {error.message}; nothing was changed", code="unusable_file"
        ) from None


def _change(edit: FileEdit) -> FileChange:
    links = isinstance(edit.before, Symlink) or isinstance(edit.after, Symlink)
    target, now = _found(edit.path, itself=edit.replace_link or links)
    data = None if now is None else now.data
    if data != edit.before or isinstance(data, Symlink) is not isinstance(edit.before, Symlink):
        raise _stale(edit.path)
    like = None if isinstance(data, Symlink) else now
    # The mode is checked too: the superuser may write what its owner has protected.
    if like is not None and not (like.mode & 0o222 and os.access(target.real, os.W_OK)):
        raise RefusedError(
            f"'{edit.path}' is read-only; nothing was changed",
            code="read_only",
            hints=("another program may write it for you: change it there, or make it writable",),
        )
    if edit.mode is not None:
        like = (like or mode_only(0))._replace(mode=stat.S_IFREG | edit.mode)
    return FileChange(target, now, edit.after, like)


def _stale(path: str) -> RefusedError:
    return RefusedError(
        f"'{path}' was changed by another program meanwhile; nothing was changed",
        code="stale",
        hints=("run the command again",),
    )


def _diff(edit: FileEdit) -> Iterator[str]:
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
