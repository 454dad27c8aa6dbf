"""Pathspecs, relative to the caller's directory, and what no checkpoint holds below them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from git_boocode.checkpoints.worktree.indexer import LISTING, NESTED, Skipped
from git_boocode.repo.errors import NextStep, RefusedError, shell_command
from git_boocode.repo.files import make_directories
from git_boocode.repo.git import Completed, Git, GitError, nul_records
from git_boocode.repo.index import Index
from git_boocode.repo.messages import (
    BAD_PATHSPEC,
    OUTSIDE_REPOSITORY,
    UNMATCHED_PATHSPEC,
    failure_reason,
)
from git_boocode.repo.object_writer import GITLINK
from git_boocode.repo.repository import Repository

_STATUS = (
    *("status", "--porcelain=v2", "-z", "--no-renames"),
    *("--ignore-submodules=none", "--untracked-files=normal"),
)
_ARGUMENTS = 500  # paths of one command line
# The number of fields of a record, by its first letter; the last one is the path.
_FIELDS = {"1": 9, "u": 11}


def pathspec_error(error: GitError) -> RefusedError | None:
    """The error for an invalid pathspec; None if git failed for another reason."""
    reason = failure_reason(error.stderr)
    if OUTSIDE_REPOSITORY in reason:
        return _outside(reason.partition(": ")[0])
    if BAD_PATHSPEC in reason:
        hints = ("'git help glossary' describes pathspecs",)
        return RefusedError(reason[:1].lower() + reason[1:], code="invalid_pathspec", hints=hints)
    return None


def list_files(
    git: Git, *arguments: str, shown: Callable[[str], str] = str
) -> tuple[list[str], set[str]]:
    """What `git ls-files` lists, and its complaints about pathspecs that match nothing of it.

    `shown` makes git's messages those of the real worktree.

    RefusedError if a pathspec is outside the worktree (`outside_worktree`) or invalid
    (`invalid_pathspec`), GitError if git failed otherwise.
    """
    command = ("ls-files", "-z", "--error-unmatch", "--full-name", *arguments)
    done = git.attempt(*command)
    stderr = shown(os.fsdecode(done.stderr))
    if done.status not in (0, 1):
        error = GitError(command, done.status, stderr)
        raise pathspec_error(error) or error
    complaints = (line.removeprefix("error: ") for line in stderr.split("\n"))
    unmatched = {line for line in complaints if UNMATCHED_PATHSPEC in line}
    return list(dict.fromkeys(nul_records(done.stdout))), unmatched


def refuse_unmatched(git: Git, pathspecs: Sequence[str], unmatched: Iterable[str]) -> None:
    """RefusedError (`not_found`) if pathspecs match no file; `unmatched` are git's complaints.

    `git` runs in the directory that the pathspecs are relative to.
    """
    complaints = sorted(unmatched)
    if not complaints:
        return
    text = " ".join(pathspecs)
    hints: list[str] = [NextStep("{} allows paths that do not exist yet", "ignore_unmatch")]
    missing = complaints[0].split("'")[1]
    for path in (each.partition("'")[2].rpartition("'")[0] for each in complaints):
        if os.path.lexists(os.path.join(git.cwd, path)) and _is_ignored(git, path):
            raise RefusedError(
                f"'{path}' is ignored, so no checkpoint records it",
                code="not_found",
                hints=(
                    f"'{shell_command('git', 'check-ignore', '-v', '--', path)}' names the rule",
                ),
            )
    if len(complaints) == len(pathspecs) and not any(map(os.path.dirname, pathspecs)):
        missing = text
        meant = shell_command("git", "boocode", "checkpoint", "-m", text)
        hints.insert(0, f"did you mean: {meant}")
    raise RefusedError(f"no file matches '{missing}'", code="not_found", hints=tuple(hints))


def _is_ignored(git: Git, path: str) -> bool:
    return git.attempt("check-ignore", "-q", "--", path).status == 0


def _outside(spec: str) -> RefusedError:
    hints = ("only paths in the worktree are recorded and restored",)
    return RefusedError(f"'{spec}' is outside the worktree", code="outside_worktree", hints=hints)


def resolve_pathspec(top: str, prefix: str, spec: str) -> str:
    """Make an absolute pathspec relative to `prefix`; it may reach the worktree by a symlink.

    `prefix` is the caller's directory below the top of the worktree, `""` or `"sub/dir/"`.
    RefusedError if the pathspec is outside the worktree (`outside_worktree`).
    """
    if not os.path.isabs(spec):
        return spec
    directory, name = os.path.split(spec)
    full = os.path.join(os.path.realpath(directory), name)
    if os.path.commonpath((full, top)) != top:
        raise _outside(spec)
    return os.path.relpath(full, os.path.join(top, prefix))


def checked_pathspecs(repository: Repository, pathspecs: Iterable[str]) -> list[str]:
    """Validate pathspecs and make them relative to the caller's directory; they may match nothing.

    RefusedError if one is outside the worktree (`outside_worktree`) or git rejects it
    (`invalid_pathspec`).
    """
    top, prefix = repository.worktree, repository.prefix
    specs = [resolve_pathspec(top, prefix, spec) for spec in pathspecs]
    git = repository.git.bind(cwd=os.path.join(top, prefix))
    try:
        # Git parses the pathspecs although there is nothing to compare.
        git.run("diff-tree", repository.empty_tree, repository.empty_tree, "--", *specs)
    except GitError as error:
        raise pathspec_error(error) or error from None
    return specs


class Pathspecs:
    """Pathspecs relative to `prefix`, see `resolve_pathspec`.

    They can be matched even if that directory no longer exists.
    """

    def __init__(self, top: str, prefix: str, pathspecs: Sequence[str]) -> None:
        self.prefix = prefix
        self._top = top
        self._pathspecs = tuple(resolve_pathspec(top, prefix, spec) for spec in pathspecs)

    def name(self, path: str, *, or_top: bool = False) -> bool:
        """Whether one of them is the path itself or a directory above it, except the top."""
        named = (os.path.normpath(os.path.join(self.prefix, spec)) for spec in self._pathspecs)
        return any(f"{path}/".startswith(f"{name}/") or (or_top and name == ".") for name in named)

    def matching(self, indexes: Iterable[Index], *, each: bool) -> frozenset[str]:
        """The paths in any of the private indexes that the pathspecs match.

        RefusedError if a pathspec is outside the worktree (`outside_worktree`), git rejects it
        (`invalid_pathspec`), or `each` is true and it matches nothing (`not_found`).
        """
        found: set[str] = set()
        unmatched: set[str] | None = None
        for index in indexes:
            names, missing = self._matching(index)
            found.update(names)
            unmatched = missing if unmatched is None else unmatched & missing
        if unmatched and each:
            hints = ("it matches nothing in the checkpoint or in the worktree",)
            raise RefusedError(min(unmatched), code="not_found", hints=hints)
        return frozenset(found)

    def _matching(self, index: Index) -> tuple[list[str], set[str]]:
        # Match in an empty worktree, because the caller's directory may no longer exist.
        top = f"{index.path}.names"
        directory = os.path.join(top, self.prefix)
        make_directories(directory)
        git = index.git.bind(cwd=directory, GIT_WORK_TREE=top)
        real = self._top
        arguments = ("--cached", "--", *self._pathspecs)
        return list_files(git, *arguments, shown=lambda text: text.replace(top, real))


def changed_submodules(repository: Repository, pathspecs: Sequence[str] = ()) -> list[Skipped]:
    """The submodules in the index with uncommitted changes, as `git status` sees them.

    Pathspecs are relative to the caller's directory. Empty if the index cannot be read.
    """
    done = _list(repository, ("ls-files", "-s", "-z"), pathspecs)
    link = f"{GITLINK} "
    if done.status or link.encode() not in done.stdout:
        return []
    records = (record for record in nul_records(done.stdout) if record.startswith(link))
    paths = sorted({record.partition("\t")[2] for record in records})
    git = repository.git.bind(cwd=repository.worktree, GIT_LITERAL_PATHSPECS="1")
    starts = range(0, len(paths), _ARGUMENTS)
    return [found for at in starts for found in _changed(git, paths[at : at + _ARGUMENTS])]


def _changed(git: Git, paths: Sequence[str]) -> Iterator[Skipped]:
    done = git.attempt(*_STATUS, "--", *paths)
    if done.status == 0:
        for record in nul_records(done.stdout):
            fields = record.split(" ", _FIELDS.get(record[:1], 1) - 1)
            # `S` for a submodule, `C` for other commits, `M` for changes, `U` for untracked files.
            if len(fields) > 1 and fields[2][0] == "S" and fields[2][2:] != "..":
                yield Skipped(fields[-1], "submodule with uncommitted changes")
    elif len(paths) == 1:
        yield Skipped(paths[0], "submodule that git cannot compare")
    else:
        middle = len(paths) // 2
        yield from _changed(git, paths[:middle])
        yield from _changed(git, paths[middle:])


def unrecorded_repositories(repository: Repository, pathspecs: Sequence[str] = ()) -> list[Skipped]:
    """The submodules with uncommitted changes, and the nested repositories that are not ignored."""
    others = nul_records(_list(repository, LISTING, pathspecs).stdout)
    nested = [Skipped(path.rstrip("/"), NESTED) for path in others if path.endswith("/")]
    return sorted([*changed_submodules(repository, pathspecs), *nested])


def _list(repository: Repository, command: Sequence[str], pathspecs: Sequence[str]) -> Completed:
    # The caller's directory may no longer exist.
    git = repository.git.bind(cwd=repository.directory if pathspecs else repository.worktree)
    return git.attempt(*command, "--full-name", "--", *pathspecs)
