"""Agents' files in git's eyes: which are tracked or ignored; lines in `info/exclude` for others.

A comment before each of our lines marks it, so that exactly our lines are removed again.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from git_boocode.agents.file_edits import FileEdit, read_file
from git_boocode.repo.git import nul_lines, nul_records
from git_boocode.repo.repository import Repository

_MARK = b"# git-boocode: file of an agent, excluded when hooks or the server were installed\n"
_OLD_MARK = b"# git-boocode: hooks of an agent, excluded by 'git boocode hooks install'\n"
_TITLE = "git (exclude)"


class HookPaths(NamedTuple):
    """Paths below the worktree, by what git does with them."""

    tracked: list[str]
    addable: list[str]  # neither tracked nor ignored, so that `git add .` adds them


def sort_paths(repository: Repository, paths: Collection[str]) -> HookPaths:
    """Sort paths below the worktree, which need not exist."""
    git = repository.git
    tracked = nul_records(git.run("ls-files", "-z", "--", *paths)) if paths else []
    listed = git.attempt("check-ignore", "-z", "--stdin", stdin=nul_lines(paths)).stdout
    hidden = {*tracked, *nul_records(listed)}
    return HookPaths(tracked, [path for path in paths if path not in hidden])


def exclude_path(repository: Repository) -> str:
    """The path of `info/exclude`; in linked worktrees and submodules it is not below `.git`."""
    return os.path.join(repository.common_dir, "info", "exclude")


def exclude_paths(repository: Repository, paths: Iterable[str]) -> FileEdit:
    """The change that excludes paths below the worktree."""
    path = exclude_path(repository)
    before = read_file(path)
    text = before or b""
    if text and not text.endswith(b"\n"):
        text += b"\n"
    lines = b"".join(_lines(_MARK, path) for path in paths)
    return FileEdit(path, before, text + lines, None, _TITLE)


def stop_excluding(repository: Repository, paths: Iterable[str]) -> Iterator[FileEdit]:
    """The change that removes our lines for paths below the worktree; none if there are none."""
    path = exclude_path(repository)
    before = after = read_file(path)
    for lines in (_lines(mark, path) for path in paths for mark in (_MARK, _OLD_MARK)):
        after = after and after.replace(lines, b"")
    if after != before:
        yield FileEdit(path, before, after, None, _TITLE)


def _lines(mark: bytes, path: str) -> bytes:
    # The paths are those of the registry, which hold no characters that patterns interpret.
    return mark + b"/" + os.fsencode(path) + b"\n"
