"""Work out what a restore would do to the files, before it does any of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.restore.choice import Choice
from git_boocode.checkpoints.restore.exact import ExactFile
from git_boocode.checkpoints.restore.ignore_rules import ignored_by, unchanged
from git_boocode.checkpoints.store.changes import Change, tree_changes
from git_boocode.checkpoints.worktree.disk import Disk, is_recorded
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.git import Git, nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import GITLINK, SYMLINK

_ABSENT = "0"
IGNORED = "ignored"
"""What `force` names to have ignored files replaced that are in the way."""


class Plan(NamedTuple):
    """What a restore does to the files.

    Attributes:
        before: the tree of what is there now, what stands in the way included.
        target: the tree of what will be there.
        changes: the paths that differ, and how.
        kept: the paths that differ from the checkpoint and stay as they are, and why.
        nested: the nested repositories that lie where files were or are, and stay.
        exact: what files are to become beyond what git makes of them, by path.
        blocked: the paths at which ignored files are in the way of what is kept.
    """

    before: str
    target: str
    changes: list[Change]
    kept: list[Skipped]
    nested: frozenset[str] = frozenset()
    exact: Mapping[str, ExactFile] = MappingProxyType({})
    blocked: frozenset[str] = frozenset()


def plan_restore(
    repository: Repository,
    snapshot: Snapshot,
    tree: str,
    untouchable: frozenset[str],
    ours: Mapping[str, Change] = MappingProxyType({}),
    choice: Choice | None = None,
    staging: Staging | None = None,
    force: Collection[str] = (),
) -> Plan:
    """Plan to turn the worktree into a tree.

    A path with an ignored file in the way is left alone, unless that is forced; then the file is
    taken into the snapshot, so that it can come back.

    Args:
        repository: the repository.
        snapshot: what is in the worktree now; it may grow.
        tree: the tree of the files that shall be on disk.
        untouchable: paths that one side could not capture.
        ours: what an earlier restore wrote, by path; to be deleted though ignored, unless it was
            changed since.
        choice: the only paths to touch; None for all.
        staging: what was staged at the checkpoint; no rule ignores what was tracked.
        force: what to do nevertheless: `ignored`, or nothing.
    """
    git = repository.git
    differing = tree_changes(git, snapshot.disk_tree, tree)
    wanted, hindered = choice.split(differing) if choice else (differing, [])
    rules_change = any(os.path.basename(change.path) == ".gitignore" for change in differing)
    doomed = [c.path for c in wanted if c.action == "delete" and not _is_as_written(c, ours)]
    if doomed and not rules_change:
        since = _tracked_since(git, snapshot, staging)
        doomed = [path for path in doomed if path in since]
    ignored = ignored_by(repository, tree, doomed, os.path.dirname(snapshot.index.path))
    if ignored and staging is not None:
        ignored -= _tracked(repository, staging)
    nested = _nested_in_the_way(repository.worktree, snapshot, wanted)
    nested |= _inside_what_would_be_nested(repository, wanted, staging)
    kept = dict(_keep(wanted, untouchable, ignored, nested))
    kept |= dict.fromkeys((change.path for change in hindered), "in the way is what was not named")
    kept |= _left_out(snapshot, wanted, choice)
    kept |= _unknown(snapshot, tree, kept, choice)
    blocked = {} if IGNORED in force else _blocked(repository, snapshot, wanted, kept)
    kept |= {path: f"ignored file '{blocker}' is in the way" for path, blocker in blocked.items()}
    blockers = list(in_the_way(repository.worktree, wanted, kept))
    if blockers:
        for path in blockers:
            # In the way it cannot stay, ignored or not.
            kept.pop(path, None)
        snapshot.force_add(blockers, repository.worktree)
        differing = tree_changes(git, snapshot.disk_tree, tree)
        wanted = choice.with_paths(blockers).split(differing)[0] if choice else differing
        kept |= dict(_keep_what_blocks(snapshot, blockers, wanted))
    changes = [change for change in wanted if change.path not in kept]
    target = tree if len(changes) == len(differing) else _apply(snapshot, changes)
    skipped = [Skipped(path, reason) for path, reason in kept.items()]
    return Plan(
        snapshot.disk_tree,
        target,
        changes,
        skipped,
        frozenset(nested.values()),
        # The shorter path of the two: an ignored file may be in the way of many.
        blocked=frozenset(min(pair, key=len) for pair in blocked.items()),
    )


def take_in_hidden(
    repository: Repository, snapshot: Snapshot, tree: str, ours: Mapping[str, Change]
) -> None:
    """Take in what an earlier restore wrote, and what is ignored by now.

    The rules that ignore it need not be among what is restored, and it has to go anyway. A file
    with other bytes than we wrote is the user's own.

    Args:
        repository: the repository.
        snapshot: what is in the worktree now; it may grow.
        tree: the tree of the files that shall be on disk.
        ours: what the earlier restore wrote, by path.
    """
    disk = Disk(repository.worktree)
    there = [path for path in ours if (found := disk.status(path)) and is_recorded(found)]
    if not there:
        return
    changes = tree_changes(repository.git, snapshot.disk_tree, tree)
    known = {change.path for change in changes if change.action != "create"}
    skipped = [path for path, _ in snapshot.skipped]
    hidden = [
        path
        for path in there
        if path not in known
        and not any(_covers(other, path) for other in skipped)
        and not _inside_repository(disk, path)
    ]
    recorded = {entry.path for entry in snapshot.index.entries_of(hidden)}
    if recorded.issuperset(hidden):
        return
    mine = unchanged(repository, ours, (path for path in hidden if path not in recorded))
    if mine:
        snapshot.force_add(sorted(mine), repository.worktree)


def _inside_repository(disk: Disk, path: str) -> bool:
    while path := os.path.dirname(path):
        if disk.has_repository(path):
            return True
    return False


def disk_tree(snapshot: Snapshot, tree: str, staging: Staging | None) -> str:
    """The part of a checkpoint's tree that was on disk: all but what was sparse.

    Args:
        snapshot: whose scratch directory to use.
        tree: the checkpoint's tree.
        staging: what was staged at that time.
    """
    absent = staging.absent if staging else []
    if not absent:
        return tree
    index = Index(snapshot.index.git, f"{snapshot.index.path}.disk")
    index.read_tree(tree)
    index.forget(entry.path for entry in absent)
    return snapshot.store_tree(index)


def plan_return(repository: Repository, halfway: Snapshot, plan: Plan) -> Plan:
    """Plan the way back from a restore that stopped half-way, touching none but its own paths.

    Args:
        repository: the repository.
        halfway: what is in the worktree now.
        plan: the plan that was being carried out.
    """
    planned = {change.path for change in plan.changes}
    wanted = tree_changes(repository.git, halfway.disk_tree, plan.before)
    changes = [change for change in wanted if change.path in planned]
    target = _apply(halfway, changes) if changes else halfway.disk_tree
    return Plan(halfway.disk_tree, target, changes, [])


def _keep(
    wanted: list[Change],
    untouchable: frozenset[str],
    ignored: frozenset[str],
    nested: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    for change in wanted:
        if change.touches_gitlink:
            yield change.path, "submodule or nested repository"
        elif any(_covers(path, change.path) for path in untouchable):
            yield change.path, "not captured"
        elif change.path in ignored:
            yield change.path, "ignored in the checkpoint"
        elif change.path in nested:
            yield change.path, f"'{nested[change.path]}' is a nested repository"


def _is_as_written(change: Change, ours: Mapping[str, Change]) -> bool:
    """Whether what a change deletes is what an earlier restore wrote there."""
    written = ours.get(change.path)
    same_kind = written and (written.mode == SYMLINK) == (change.old_mode == SYMLINK)
    return bool(same_kind and written and written.id == change.old_id)


def _left_out(snapshot: Snapshot, wanted: list[Change], choice: Choice | None) -> dict[str, str]:
    """The files that the snapshot leaves out because the target's rules ignore them."""
    changing = {change.path for change in wanted}
    paths = (path for path in snapshot.left_out if path not in changing)
    chosen = paths if choice is None else (path for path in paths if path in choice.paths)
    return dict.fromkeys(chosen, "ignored in the checkpoint")


def _unknown(
    snapshot: Snapshot, tree: str, kept: Mapping[str, str], choice: Choice | None
) -> dict[str, str]:
    """The files of the target that cannot be read now, so that there is no telling if they differ.

    Args:
        snapshot: what is in the worktree.
        tree: the tree of the files that shall be on disk.
        kept: those of which it is known that they differ.
        choice: the only paths to look at; None for all.
    """
    unread = {path: reason for path, reason in snapshot.skipped if path not in kept}
    if choice is not None:
        unread = {path: reason for path, reason in unread.items() if path in choice.paths}
    if not unread:
        return {}
    git = snapshot.index.git.bind(GIT_LITERAL_PATHSPECS="1")
    names = nul_records(git.run("ls-tree", "-r", "-z", "--name-only", tree, "--", *unread))
    return {path: f"cannot be compared: {unread[path]}" for path in names if path in unread}


def _keep_what_blocks(
    snapshot: Snapshot, blockers: list[str], wanted: list[Change]
) -> Iterator[tuple[str, str]]:
    lost = {path for path, _ in snapshot.skipped}.intersection(blockers)
    for change in wanted:
        if any(_covers(path, change.path) for path in lost):
            yield change.path, "what is in the way cannot be recorded"


def _covers(path: str, other: str) -> bool:
    return other == path or other.startswith(f"{path}/") or path.startswith(f"{other}/")


def _tracked_since(git: Git, snapshot: Snapshot, staging: Staging | None) -> set[str]:
    """The paths that are tracked now, and may not have been at the checkpoint."""
    if snapshot.staging is None or staging is None:
        return set()
    changes = tree_changes(git, snapshot.staging.tree, staging.tree)
    special = {entry.path for entry in snapshot.staging.special}
    return special.union(change.path for change in changes if change.action == "delete")


def _tracked(repository: Repository, staging: Staging) -> set[str]:
    listing = repository.git.run("ls-tree", "-r", "-z", "--name-only", staging.tree)
    return {*nul_records(listing), *(entry.path for entry in staging.special)}


def _nested_in_the_way(top: str, snapshot: Snapshot, wanted: list[Change]) -> dict[str, str]:
    """The nested repositories in the way of what is to be written, by its path."""
    paths = [
        change.path for change in wanted if change.action != "delete" and not change.touches_gitlink
    ]

    def look(step: str) -> str | None:
        full = os.path.join(top, step)
        if os.path.islink(full) or not os.path.isdir(full):
            return ""
        if os.path.lexists(os.path.join(full, ".git")) and not _holds_files(snapshot, step):
            return step
        return None

    known: dict[str, str | None] = {}
    found = {}
    for path in paths:
        nested = _first_on_the_way(path, look, known)
        found[path] = _repository_below(os.path.join(top, path), path) if nested is None else nested
    return {path: nested for path, nested in found.items() if nested}


def _first_on_the_way(
    path: str, look: Callable[[str], str | None], known: dict[str, str | None]
) -> str | None:
    """The first finding on the way from the top to a path; None if there is none.

    Args:
        path: the path; it is looked at, too.
        look: looks at one path.
        known: the findings so far, by path; it grows.
    """
    steps = []
    while path and path not in known:
        steps.append(path)
        path = path.rpartition("/")[0]
    found = known.get(path)
    for step in reversed(steps):
        found = known[step] = look(step) if found is None else found
    return found


def _inside_what_would_be_nested(
    repository: Repository, wanted: list[Change], staging: Staging | None
) -> dict[str, str]:
    """The repositories in which files are to be deleted, by their paths.

    It is for files that are tracked that git takes a repository for a plain directory. If none were
    tracked there any more, as at the checkpoint, nothing in it could be recorded or brought back;
    so they stay, and stay tracked.
    """
    doomed = [change.path for change in wanted if change.action == "delete"]
    if staging is None or not doomed:
        return {}
    disk = Disk(repository.worktree)
    own = {directory: disk.has_repository(directory) for directory in _directories(doomed)}
    repositories = [directory for directory, is_one in own.items() if is_one]
    if not repositories:
        return {}
    tracked = set(_directories(_tracked(repository, staging)))
    nested = [directory for directory in repositories if directory not in tracked]
    return {path: top for path in doomed for top in nested if path.startswith(f"{top}/")}


def _directories(paths: Iterable[str]) -> Iterator[str]:
    """All directories that lead to some paths, each once."""
    seen = set()
    for path in paths:
        while (path := os.path.dirname(path)) and path not in seen:
            seen.add(path)
            yield path


def _holds_files(snapshot: Snapshot, directory: str) -> bool:
    """Whether git takes a directory for a plain one, `.git` in it or not: it tracks files there."""
    indexes = [snapshot.index]
    # What is tracked and not on disk is in the user's index alone.
    if snapshot.original is not None and snapshot.staging is not None:
        indexes.append(snapshot.original)
    gits = (index.git.bind(GIT_LITERAL_PATHSPECS="1") for index in indexes)
    listings = (nul_records(git.run("ls-files", "-z", "--", f"{directory}/")) for git in gits)
    # Git lists a submodule that is called like the directory, too.
    return any(path != directory for paths in listings for path in paths)


def _repository_below(full: str, step: str) -> str:
    for directory, names, files in os.walk(full):
        if ".git" in names or ".git" in files:
            return os.path.join(step, os.path.relpath(directory, full))
    return ""


def in_the_way(top: str, wanted: Iterable[Change], kept: Collection[str] = ()) -> Iterator[str]:
    """Files on disk where the target has something else, and which the snapshot lacks.

    Args:
        top: the top of the worktree.
        wanted: the changes to be made.
        kept: the paths that are left alone.
    """
    seen = set()
    known: dict[str, str | None] = {}
    for change in wanted:
        if change.action != "create" or change.path in kept:
            continue
        for blocker in _blockers(top, change.path, known):
            if blocker not in seen:
                seen.add(blocker)
                yield blocker


def _blocked(
    repository: Repository, snapshot: Snapshot, wanted: list[Change], kept: Collection[str]
) -> dict[str, str]:
    """The paths that an ignored file is in the way of, and the path of one such file each.

    One that git takes for just what is to be written is not in the way.
    """
    top = repository.worktree
    created = [c for c in wanted if c.action == "create" and c.path not in kept]
    known: dict[str, str | None] = {}
    found = {change: list(_blockers(top, change.path, known)) for change in created}
    blockers = {change: paths for change, paths in found.items() if paths}
    if not blockers:
        return {}
    every = {path for paths in blockers.values() for path in paths}
    recorded = {entry.path for entry in snapshot.index.entries_of(every)}
    if repository.config.boolean("core.ignoreCase", default=False):
        leaving = {change.path.casefold() for change in wanted if change.action != "create"}
        recorded |= {path for path in every if path.casefold() in leaving}
    hidden = {path for path in every - recorded if is_recorded(os.lstat(os.path.join(top, path)))}
    to_write = {change.path: change for change in blockers}
    as_recorded = unchanged(repository, to_write, hidden)
    return {
        change.path: path
        for change, paths in blockers.items()
        for path in sorted(hidden.intersection(paths), reverse=True)
        if path != change.path or path not in as_recorded
    }


def _blockers(top: str, path: str, known: dict[str, str | None]) -> Iterator[str]:
    def look(step: str) -> str | None:
        full = os.path.join(top, step)
        is_file = os.path.islink(full) or (os.path.lexists(full) and not os.path.isdir(full))
        return step if is_file else None

    if above := _first_on_the_way(path.rpartition("/")[0], look, known):
        yield above
        return
    full = os.path.join(top, path)
    if os.path.islink(full) or not os.path.isdir(full):
        if os.path.lexists(full):
            yield path
        return
    for directory, names, files in os.walk(full):
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(directory, name), top).replace(os.sep, "/")


def _apply(snapshot: Snapshot, changes: list[Change]) -> str:
    """The tree that some changes make out of the snapshot's."""
    index = snapshot.index.copy()
    gone = [
        Entry("H", _ABSENT, change.id, 0, change.path) for change in changes if not _stays(change)
    ]
    come = [
        Entry("H", change.mode, change.id, 0, change.path) for change in changes if _stays(change)
    ]
    # Deletions first: a directory must be gone before a file can take its name.
    index.put([*gone, *come])
    return snapshot.store_tree(index)


def _stays(change: Change) -> bool:
    return change.action != "delete" and change.mode != GITLINK
