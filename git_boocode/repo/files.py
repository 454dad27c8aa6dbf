"""Directories, modes and names of the files in a worktree."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress


def missing_directories(paths: Iterable[str]) -> list[str]:
    """The missing directories above some files, outermost first."""
    missing = set()
    for path in paths:
        while (path := os.path.dirname(path)) not in missing and not os.path.isdir(path):
            missing.add(path)
    return sorted(missing)


def remove_directories(paths: Iterable[str]) -> None:
    """Remove directories that are empty; their absolute paths come innermost first."""
    for path in paths:
        with suppress(OSError):
            os.rmdir(path)


def remove_emptied(path: str, top: str) -> None:
    """Remove the directories below `top`, an absolute path, that a deleted file left empty.

    The current directory and those above it stay.
    """
    with suppress(OSError):
        here = os.path.join(os.getcwd(), "")
        above = os.path.dirname(path)
        while above.startswith(os.path.join(top, "")) and not here.startswith(f"{above}{os.sep}"):
            with suppress(FileNotFoundError):
                os.rmdir(above)
            above = os.path.dirname(above)


def with_executable(mode: int, *, executable: bool) -> int:
    """Permission bits as git changes them: whoever may read a file may run it, or nobody."""
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def both_listed(one: str, other: str) -> bool:
    """Whether two resolved paths that may name one file part at two entries of one directory."""
    above = os.path.commonpath((one, other))
    names = {os.path.relpath(path, above).split(os.sep)[0] for path in (one, other)}
    try:
        return names <= {*os.listdir(above)}
    except OSError:
        return False
