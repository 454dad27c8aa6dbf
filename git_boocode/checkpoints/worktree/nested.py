"""Submodules and nested repositories: no checkpoint holds what changed inside of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from git_boocode.checkpoints.worktree.indexer import LISTING, NESTED, Skipped
from git_boocode.repo.git import Completed, Git, nul_records
from git_boocode.repo.object_writer import GITLINK
from git_boocode.repo.repository import Repository

_STATUS = (
    *("status", "--porcelain=v2", "-z", "--no-renames"),
    *("--ignore-submodules=none", "--untracked-files=normal"),
)
_ARGUMENTS = 500  # paths of one command line
# The number of fields of a record, by its first letter; the last one is the path.
_FIELDS = {"1": 9, "u": 11}


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
