"""Pathspecs, relative to the caller's directory: matching them, and checkpoints of some paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from git_boocode.checkpoints.store.catalog import (
    INCLUDED,
    Change,
    Checkpoint,
    texts_of,
    tree_changes,
    without_index,
)
from git_boocode.checkpoints.worktree.indexer import (
    LISTING,
    NESTED,
    OTHERS,
    Disk,
    Skipped,
    is_recorded,
)
from git_boocode.checkpoints.worktree.snapshot import Snapshot, complete_index
from git_boocode.repo.errors import NextStep, RefusedError, shell_command
from git_boocode.repo.files import make_directories
from git_boocode.repo.git import Completed, Git, GitError, nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.messages import (
    BAD_PATHSPEC,
    OUTSIDE_REPOSITORY,
    UNMATCHED_PATHSPEC,
    failure_reason,
)
from git_boocode.repo.object_writer import GITLINK
from git_boocode.repo.path_rule import REASON
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
        hints.insert(0, NextStep("did you mean: {}", "label", text, typed=meant))
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


def is_excluding(spec: str) -> bool:
    """Whether a pathspec names what to leave out."""
    return re.match(r":[!^]|:\([^)]*\bexclude\b", spec) is not None


def checked_pathspecs(repository: Repository, pathspecs: Iterable[str]) -> list[str]:
    """Validate pathspecs and make them relative to the caller's directory; they may match nothing.

    RefusedError if one is outside the worktree (`outside_worktree`) or git rejects it
    (`invalid_pathspec`).
    """
    top, prefix = repository.worktree, repository.prefix
    specs = [resolve_pathspec(top, prefix, spec) for spec in pathspecs]
    git = without_index(repository.git.bind(cwd=os.path.join(top, prefix)))
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


# A checkpoint of some paths: those as they are on disk, the rest as in the newest checkpoint.


def narrow(
    repository: Repository,
    snapshot: Snapshot,
    base: Checkpoint | None,
    pathspecs: Sequence[str],
    *,
    require_match: bool,
) -> Snapshot | None:
    """Take the named paths from a snapshot, and the rest from `base`.

    The snapshot's objects are not published yet. None without a base, if trees of the base are
    missing, or if the user's index is damaged. RefusedError if a pathspec is
    outside the worktree (`outside_worktree`) or invalid (`invalid_pathspec`), or with
    `require_match` if one matches no file (`not_found`).
    """
    if snapshot.staging is None:
        return None
    top, prefix = repository.worktree, repository.prefix
    specs = [resolve_pathspec(top, prefix, spec) for spec in pathspecs]

    def matching(git: Git, *options: str) -> tuple[set[str], set[str]]:
        paths, unmatched = list_files(git.bind(cwd=repository.directory), *options, "--", *specs)
        return set(paths), unmatched

    tracked, not_tracked = matching(repository.git, "--cached")
    untracked, not_untracked = matching(repository.git, *OTHERS)
    held = complete_index(
        Index(snapshot.quarantine.git, snapshot.disk_index.path), snapshot.staging
    )
    present, not_present = matching(held.git, "--cached")
    unmatched = not_tracked & not_untracked & not_present
    changes = [] if base is None else _differences(snapshot, base)
    old = {each.path: each for each in changes or () if each.action == "delete"}
    deleted = set[str]()
    if old:
        index = Index(repository.git, fresh_path(f"{snapshot.disk_index.path}.deleted"))
        index.put(Entry("H", each.old_mode, each.old_id, 0, path) for path, each in old.items())
        deleted, not_deleted = matching(index.git, "--cached")
        unmatched &= not_deleted
    if require_match:
        refuse_unmatched(repository.git.bind(cwd=repository.directory), pathspecs, unmatched)
    if base is None or changes is None:
        return None
    scratch = os.path.dirname(snapshot.disk_index.path)
    # The base may be from before a path was excluded.
    hidden = snapshot.exclude.matching(repository, scratch, (each.path for each in changes))
    deleted |= hidden.intersection(old)
    chosen = present | hidden
    written = [each for each in changes if each.path in chosen and each.path not in old]
    if repository.config.boolean("core.ignoreCase", default=False):
        # A file that was renamed by case still exists under its old name.
        deleted |= Disk(top).other_spellings(old, [each.path for each in written])
    edits = [*(old[path] for path in deleted), *written]
    tree = snapshot.edited_tree(repository.store, base.tree, edits)
    named = {path.rstrip("/") for path in (*tracked, *untracked)}
    skipped = [each for each in snapshot.skipped if each.path in named]
    excluded = snapshot.exclude.matching(repository, scratch, named)
    skipped += [Skipped(path, REASON) for path in sorted(excluded)]
    skipped += _unlisted(repository, specs, named | present)
    included = snapshot.included.union(texts_of(base.meta, INCLUDED)) - hidden
    return snapshot._replace(tree=tree, skipped=skipped, cache=None, included=included)


def _differences(snapshot: Snapshot, base: Checkpoint) -> list[Change] | None:
    """The changes from a checkpoint to a snapshot; None if trees of the checkpoint are missing."""
    with suppress(GitError):
        return tree_changes(snapshot.quarantine.git, base.tree, snapshot.tree)
    return None


def _unlisted(repository: Repository, specs: Sequence[str], listed: set[str]) -> Iterator[Skipped]:
    """The files that the caller named and git does not list."""
    for spec in specs:
        full = os.path.normpath(os.path.join(repository.directory, spec))
        path = os.path.relpath(full, repository.worktree).replace(os.sep, "/")
        is_file = os.path.lexists(full) and not (spec.endswith("/") or os.path.isdir(full))
        if is_file and path not in listed:
            yield Skipped(path, _unlisted_reason(repository.worktree, path))


def _unlisted_reason(worktree: str, path: str) -> str:
    """Why git does not list a path that exists."""
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
    return "ignored" if is_recorded(found) else "not a regular file"
