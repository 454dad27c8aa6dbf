"""Where a new worktree may be made: a directory that does not exist, outside of other worktrees."""

from __future__ import annotations

import os
from itertools import count

from git_boocode.repo.errors import FatalError, RefusedError, from_os, shell_command
from git_boocode.repo.head import listed_worktrees
from git_boocode.repo.repository import Repository


def default_place(repository: Repository, suffix: str) -> str:
    """A free directory beside the main worktree, with its name and a suffix.

    That of a bare repository is beside that one; that of a submodule is beside the outermost
    repository.
    """
    main, *others = listed_worktrees(repository)
    named = repository.worktree
    if "bare" in main and not os.path.basename(main["worktree"]).startswith("."):
        named = os.path.realpath(main["worktree"]).removesuffix(".git")
    elif "bare" not in main and os.path.basename(repository.common_dir) == ".git":
        named = os.path.dirname(repository.common_dir)
    outermost = named
    if named == repository.worktree:
        outermost = _outermost(repository)
    beside = os.path.join(os.path.dirname(outermost), f"{os.path.basename(named)}-{suffix}")
    registered = {os.path.realpath(each["worktree"]) for each in others}
    numbered = (f"{beside}-{number}" if number > 1 else beside for number in count(1))
    return next(path for path in numbered if not os.path.lexists(path) and path not in registered)


def _outermost(repository: Repository) -> str:
    """The top of the repository that is not a submodule, in which this one is one at some depth."""
    found = repository.git.attempt("rev-parse", "--show-superproject-working-tree")
    around = os.fsdecode(found.stdout).removesuffix("\n")
    return _outermost(Repository.discover(around)) if around else repository.worktree


def refuse_place(repository: Repository, path: str, default: str) -> None:
    """Refuse a directory for a new worktree; its path is absolute, and without symlinks above it.

    RefusedError if it exists or git knows a worktree there (`exists`), or if it is in a git
    directory (`outside_worktree`), or in a worktree that does not ignore it, or in what is no
    directory (`invalid_input`); FatalError (`io`) if it cannot be created. A hint names `default`.
    """
    refuse_existing(path)
    git_dir = repository.common_dir
    inside = os.path.join(path, "").startswith(os.path.join(git_dir, ""))
    if inside or ".git" in path.split(os.sep):
        raise RefusedError(
            f"'{path}' is inside of a git directory",
            code="outside_worktree",
            hints=("name a directory beside the worktree",),
        )
    listed = [each for each in listed_worktrees(repository) if "bare" not in each]
    registered = [os.path.realpath(each["worktree"]) for each in listed]
    if path in registered:
        remedy = f"git worktree remove {shell_command(path)}"
        raise RefusedError(
            f"'{path}' is a worktree that git knows, although it is missing",
            code="exists",
            hints=(f"name another directory, or forget that worktree with: {remedy}",),
        )
    _refuse_inside(repository, path, {repository.worktree, *registered}, default)
    above = os.path.dirname(path)
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    if not os.access(above, os.W_OK | os.X_OK):
        raise FatalError(
            f"cannot create '{path}': '{above}' is not writable",
            code="io",
            hints=("name another directory",),
        )


def refuse_existing(path: str) -> None:
    """Refuse a path that exists (`exists`), or that none can have (`invalid_input`)."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        above = os.path.dirname(path)
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        raise RefusedError(f"'{above}' is not a directory", code="invalid_input") from None
    except ValueError:
        raise RefusedError("the path contains a NUL character", code="invalid_input") from None
    except OSError as error:
        raise cannot_create(path, error) from error
    raise RefusedError(
        f"'{path}' exists already",
        code="exists",
        hints=("name a directory that does not exist",),
    )


def _refuse_inside(repository: Repository, path: str, tops: set[str], default: str) -> None:
    """Refuse a path inside of a worktree, unless git ignores it there."""
    around = max((top for top in tops if _is_inside(path, top)), key=len, default="")
    if not around:
        return
    git = repository.git.bind(cwd=around, GIT_WORK_TREE=around)
    below = os.path.join(os.path.relpath(path, around), "")
    if not git.attempt("check-ignore", "-q", "--", below).status:
        return
    hint = "name a directory that git ignores, or one elsewhere"
    if not _is_inside(default, around):
        near = os.path.relpath(default, repository.directory)
        hint = f"a directory outside of it works: {shell_command(near)}"
    raise RefusedError(
        f"'{path}' is inside of the worktree '{around}', which does not ignore it",
        code="invalid_input",
        hints=(hint,),
    )


def _is_inside(path: str, top: str) -> bool:
    return path.startswith(os.path.join(top, ""))


def cannot_create(path: str, error: OSError) -> FatalError:
    """An error of the system as one about the directory of a new worktree."""
    found = from_os(error)
    why = (error.strerror or str(error)).lower()
    return FatalError(f"cannot create '{path}': {why}", code=found.code, hints=found.hints)
