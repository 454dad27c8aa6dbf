"""Which untracked files are recorded: those that git lists, unless they are too much for a blob."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from git_boocode.checkpoints.worktree.disk import is_recorded
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.repo.config import Config

OTHERS = ("--others", "--exclude-standard")
LISTING = ("ls-files", *OTHERS, "-z")
MAX_FILE_SIZE = 50 << 20
# git lists what it can, and only warns of a directory that it cannot look into.
_UNREADABLE = re.compile(r"^warning: could not open directory '(.*)/': (.*)", re.MULTILINE)


def size_limit(config: Config) -> int:
    """How many bytes an untracked file may have to be recorded (`boocode.maxFileSize`).

    Raises:
        FatalError: the setting is no number.
    """
    return config.integer("boocode.maxFileSize", default=MAX_FILE_SIZE)


def unreadable(stderr: str) -> list[Skipped]:
    """The directories that git could not look into, from what it said while it listed files."""
    return [Skipped(path, reason.lower()) for path, reason in _UNREADABLE.findall(stderr)]


def sort_out(worktree: str, paths: Iterable[str], limit: int) -> tuple[list[str], list[Skipped]]:
    """Tell the files to record from what is not to be recorded.

    Args:
        worktree: the top of the worktree.
        paths: what git lists as untracked, from there.
        limit: how many bytes a file may have.
    """
    wanted, skipped = [], []
    for path in paths:
        if reason := _why_not(worktree, path, limit):
            skipped.append(Skipped(path.rstrip("/"), reason))
        else:
            wanted.append(path)
    return wanted, skipped


def _why_not(worktree: str, path: str, limit: int) -> str:
    if path.endswith("/"):
        return "nested repository"
    try:
        size = os.lstat(os.path.join(worktree, path)).st_size
    except OSError as error:
        return f"{error.strerror}".lower()
    return f"larger than boocode.maxFileSize ({limit} bytes)" if size > limit else ""


def why_left_out(worktree: str, path: str) -> str:
    """Why git does not list a path that is there.

    Args:
        worktree: the top of the worktree.
        path: the path, from there.
    """
    parts = path.split("/")
    if ".git" in parts:
        return "part of a repository"
    for count in range(1, len(parts)):
        step = "/".join(parts[:count])
        full = os.path.join(worktree, step)
        if os.path.islink(full):
            return f"beyond the symbolic link '{step}'"
        if os.path.lexists(os.path.join(full, ".git")):
            return f"inside the repository '{step}'"
    found = os.lstat(os.path.join(worktree, path))
    return "ignored" if is_recorded(found) else "no regular file"
