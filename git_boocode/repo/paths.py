"""Which paths an edit may touch: inside the worktree, in no `.git`, through no symlink out."""

from __future__ import annotations

import os
import unicodedata

from git_boocode.repo.errors import RefusedError

# Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` there.
_IGNORED = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070)))
_IGNORED[0xFEFF] = None


def inside_worktree(top: str, path: str) -> str:
    """The path below the top of a worktree that a given path names, in git's spelling.

    Args:
        top: the top of the worktree, absolute, symlinks resolved.
        path: a path relative to the top, or an absolute one.

    Returns:
        The path relative to the top, parts joined by `/`; it need not exist.

    Raises:
        RefusedError: the path is empty, is no file's name, leaves the worktree by `..`, by being
            absolute or through a symlink, or lies in a `.git` directory (`outside_worktree`).
    """
    if not path or "\0" in path:
        raise RefusedError("the path is empty or holds a NUL character", code="invalid_input")
    relative = _below(top, path)
    parts = relative.split("/")
    if ".." in parts:
        raise _outside(path, "it climbs out with '..'")
    # Git for Windows takes a backslash for a separator, as git's own `verify_path` considers.
    if any(map(is_dot_git, relative.replace("\\", "/").split("/"))):
        raise _outside(path, "it lies in a git directory")
    _check_symlinks(top, parts, path)
    return relative


def git_directory_above(path: str) -> str | None:
    """The git directory that a path lies in, whatever its name, or None.

    Args:
        path: absolute, symlinks resolved; it need not exist.
    """
    above = os.path.dirname(path)
    while above != os.path.dirname(above):
        if is_dot_git(os.path.basename(above)) or _looks_like_git(above):
            return above
        if os.path.lexists(os.path.join(above, ".git")):
            # A worktree, which may itself stand inside a bare repository.
            return None
        above = os.path.dirname(above)
    return None


def _looks_like_git(path: str) -> bool:
    # What git itself looks for; a linked worktree's own directory points to the shared one.
    if not os.path.isfile(os.path.join(path, "HEAD")):
        return False
    shared = os.path.isfile(os.path.join(path, "commondir"))
    return shared or all(os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs"))


def is_dot_git(name: str) -> bool:
    """Whether a file system could take a name for `.git` (as git's own `verify_path` judges)."""
    plain = unicodedata.normalize("NFC", name).translate(_IGNORED).casefold()
    plain = plain.split(":")[0].rstrip(". ")
    return plain in (".git", "git~1")


def _below(top: str, path: str) -> str:
    if os.path.isabs(path):
        # The parent is resolved, not the file itself: a symlink is judged where it stands.
        parent, name = os.path.split(os.path.normpath(path))
        path = os.path.relpath(os.path.join(os.path.realpath(parent), name), top)
        if path == ".." or path.startswith(".." + os.sep):
            raise _outside(os.path.join(parent, name), "it is absolute and lies elsewhere")
    normal = os.path.normpath(path).replace(os.sep, "/")
    if normal == "." or path.endswith(("/", os.sep)):
        raise RefusedError(f"'{path}' names a directory, not a file", code="invalid_input")
    return normal


def _check_symlinks(top: str, parts: list[str], path: str) -> None:
    step = top
    for count, part in enumerate(parts, start=1):
        step = os.path.join(step, part)
        if not os.path.lexists(step):
            # Nothing is below what is missing.
            return
        if not os.path.islink(step):
            continue
        real = os.path.relpath(os.path.realpath(step), os.path.realpath(top))
        inner = real.replace(os.sep, "/").split("/")
        if inner[0] == ".." or os.path.isabs(real):
            raise _outside(path, f"the symlink '{'/'.join(parts[:count])}' leads out of it")
        if any(map(is_dot_git, inner)):
            raise _outside(path, f"the symlink '{'/'.join(parts[:count])}' leads into '.git'")


def _outside(path: str, why: str) -> RefusedError:
    return RefusedError(
        f"'{path}' is outside the worktree: {why}",
        code="outside_worktree",
        hints=("name the file by its path from the top of the worktree",),
    )
