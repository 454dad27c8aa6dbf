"""Work out what a restore changes, before it changes anything.

Planning only reads: the worktree, the user's index and git's objects. What it has git write goes to
the private scratch directory.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.restore.exact import ExactFile
from git_boocode.checkpoints.restore.ignore_rules import (
    directories_of,
    ignored_by,
    tree_paths,
    unchanged,
)
from git_boocode.checkpoints.store.changes import Change, tree_changes
from git_boocode.checkpoints.worktree.indexer import Disk, Skipped, is_recorded
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.moving_head import HeadMove
from git_boocode.repo.object_writer import SYMLINK
from git_boocode.repo.repository import Repository

_ABSENT = "0"


class Goal(NamedTuple):
    """Where files and staging are to go."""

    tree: str  # of the files that were on disk at the checkpoint
    staging: Staging | None  # what was staged then; None if that is unknown
    skipped: frozenset[str]  # the paths that the checkpoint could not capture
    written: Mapping[str, Change]  # by an earlier restore; they go though ignored, if unchanged
    replaces_ignored: bool  # whether ignored files that are in the way are replaced
    paths: frozenset[str] | None = None  # the only paths to touch; None for all


class StagingPlan(NamedTuple):
    """What a restore does to the staging area."""

    tree: str  # of the plainly staged entries, before the changes
    changes: list[Change]  # to that tree
    special: tuple[Entry, ...]  # the entries afterwards that a tree cannot hold
    staged: list[Change]  # all paths whose staging changes, as far as that is known

    def write_staging(self, snapshot: Snapshot) -> Staging:
        """The staging area that the changes lead to; its tree is stored if need be."""
        tree = self.tree
        if self.changes:
            tree = snapshot.store_tree(_changed(_read(snapshot, tree, "mixed"), self.changes))
        return Staging(tree, self.special)


class RestorePlan(NamedTuple):
    """What an operation changes: files, staging area and HEAD."""

    before: str  # the tree of what is there now
    tree: str  # the tree to go to
    changes: list[Change]
    kept: list[Skipped]  # the paths that differ from the tree and stay as they are, and why
    is_whole: bool = False  # no path stays
    nested: frozenset[str] = frozenset()  # repositories where files were or are; they stay
    blocked: frozenset[str] = frozenset()  # where ignored files are in the way of what is kept
    in_the_way: tuple[str, ...] = ()  # the files to be replaced that the snapshot lacks
    exact: Mapping[str, ExactFile] = MappingProxyType({})  # what files become beyond git's form
    staging: StagingPlan | None = None  # None if the staging area stays
    move: HeadMove | None = None  # None if HEAD stays

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not self.changes and self.staging is None and self.move is None

    def write_tree(self, snapshot: Snapshot) -> str:
        """The tree that the changes lead to, stored if need be."""
        if self.is_whole:
            return self.tree
        return snapshot.store_tree(_changed(snapshot.index.copy(), self.changes))


def plan_files(
    repository: Repository, snapshot: Snapshot, goal: Goal, recorded: Collection[str] = ()
) -> RestorePlan:
    """Plan to turn the worktree into the goal's tree.

    A path with an ignored file in the way is left alone, unless the goal replaces it. What is
    replaced has to be in the snapshot, so that it can come back: if the plan finds files in the way
    that are not, the caller records them and plans again.

    `recorded` are the files in the way that the caller has recorded in the snapshot.
    """
    differing = tree_changes(repository.git, snapshot.disk_tree, goal.tree)
    wanted, hindered = _chosen(differing, goal.paths, recorded)
    nested = _nested_in_the_way(repository.worktree, snapshot, wanted)
    nested |= _inside_what_would_be_nested(repository, wanted, goal.staging)
    ignored = _ignored(repository, snapshot, goal, differing, wanted)
    untouchable = goal.skipped.union(path for path, _ in snapshot.skipped)
    kept = dict(_reasons_to_keep(wanted, untouchable, ignored, nested))
    kept |= dict.fromkeys((change.path for change in hindered), "blocked by a path not named")
    # What the snapshot leaves out, too, because the rules of the goal ignore it.
    left_out = set(snapshot.left_out).difference(change.path for change in wanted)
    left_out = left_out if goal.paths is None else left_out & goal.paths
    kept |= dict.fromkeys(sorted(left_out), "ignored in the checkpoint")
    kept |= _unreadable(snapshot, goal, kept)
    blockers = blockers_of(repository.worktree, (c for c in wanted if c.path not in kept))
    blocked = {} if goal.replaces_ignored else _blocked(repository, snapshot, wanted, blockers)
    kept |= {path: f"ignored file '{blocker}' is in the way" for path, blocker in blocked.items()}
    for path in recorded:
        # It cannot stay where something else goes, ignored or not.
        kept.pop(path, None)
    lost = {path for path, _ in snapshot.skipped}.intersection(recorded)
    kept |= {
        change.path: "what is in the way cannot be recorded"
        for change in wanted
        if any(_covers(path, change.path) for path in lost)
    }
    changes = [change for change in wanted if change.path not in kept]
    in_the_way = (path for change in changes for path in blockers.get(change.path, ()))
    return RestorePlan(
        snapshot.disk_tree,
        goal.tree,
        changes,
        [Skipped(path, reason) for path, reason in kept.items()],
        len(changes) == len(differing),
        frozenset(nested.values()),
        # The shorter path of the two: an ignored file may be in the way of many.
        frozenset(min(pair, key=len) for pair in blocked.items()),
        () if recorded else tuple(dict.fromkeys(in_the_way)),
    )


def plan_return(repository: Repository, halfway: Snapshot, plan: RestorePlan) -> RestorePlan:
    """Plan the way back from a restore that stopped half-way, touching none but its own paths."""
    planned = {change.path for change in plan.changes}
    wanted = tree_changes(repository.git, halfway.disk_tree, plan.before)
    changes = [change for change in wanted if change.path in planned]
    return RestorePlan(halfway.disk_tree, plan.before, changes, [])


def _chosen(
    changes: list[Change], paths: frozenset[str] | None, also: Collection[str] = ()
) -> tuple[list[Change], list[Change]]:
    """The changes to some paths, None for all, and those of them that a path that stays blocks."""
    if paths is None:
        return changes, []
    chosen = [change for change in changes if change.path in paths or change.path in also]
    staying = {c.path for c in changes if c.action == "delete"} - {c.path for c in chosen}
    if not staying:
        return chosen, []
    above = directories_of(staying)
    hindered = [
        change
        for change in chosen
        if change.action == "create"
        and (change.path in above or not staying.isdisjoint(directories_of([change.path])))
    ]
    return [change for change in chosen if change not in hindered], hindered


def _changed(index: Index, changes: Iterable[Change]) -> Index:
    """An index after some changes were made to it."""
    entries = []
    for change in changes:
        mode = _ABSENT if change.action == "delete" else change.mode
        entries.append(Entry("H", mode, change.id, 0, change.path))
    # Deletions first: a directory must be gone before a file can take its name.
    index.put(sorted(entries, key=lambda entry: entry.mode != _ABSENT))
    return index


# Why a path stays as it is.


def _reasons_to_keep(
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


def _ignored(
    repository: Repository,
    snapshot: Snapshot,
    goal: Goal,
    differing: list[Change],
    wanted: list[Change],
) -> frozenset[str]:
    """The paths that would be deleted although the goal's rules ignore them."""
    doomed = [c.path for c in wanted if c.action == "delete" and not _is_as_written(c, goal)]
    if doomed and not any(os.path.basename(change.path) == ".gitignore" for change in differing):
        # The rules are the same, so they can ignore only what was tracked in between.
        since: set[str] = set()
        if snapshot.staging is not None and goal.staging is not None:
            staged = tree_changes(repository.git, snapshot.staging.tree, goal.staging.tree)
            since = {change.path for change in staged if change.action == "delete"}
            since.update(entry.path for entry in snapshot.staging.special)
        doomed = [path for path in doomed if path in since]
    ignored = ignored_by(repository, goal.tree, doomed, os.path.dirname(snapshot.index.path))
    if ignored and goal.staging is not None:
        # No rule ignores what was tracked.
        ignored -= _tracked(repository, goal.staging)
    return ignored


def _is_as_written(change: Change, goal: Goal) -> bool:
    """Whether what a change deletes is what an earlier restore wrote there."""
    written = goal.written.get(change.path)
    if written is None or (written.mode == SYMLINK) != (change.old_mode == SYMLINK):
        return False
    return written.id == change.old_id


def _tracked(repository: Repository, staging: Staging) -> set[str]:
    return {*tree_paths(repository.git, staging.tree), *(entry.path for entry in staging.special)}


def _unreadable(snapshot: Snapshot, goal: Goal, kept: Mapping[str, str]) -> dict[str, str]:
    """The goal's files that cannot be read now, so that it is unknown whether they differ."""
    unread = {path: reason for path, reason in snapshot.skipped if path not in kept}
    if goal.paths is not None:
        unread = {path: reason for path, reason in unread.items() if path in goal.paths}
    names = tree_paths(snapshot.index.git, goal.tree, *unread) if unread else []
    return {path: f"cannot be compared: {unread[path]}" for path in names if path in unread}


def _covers(path: str, other: str) -> bool:
    return other == path or other.startswith(f"{path}/") or path.startswith(f"{other}/")


# What is on disk where files go.


def _nested_in_the_way(top: str, snapshot: Snapshot, wanted: list[Change]) -> dict[str, str]:
    """The nested repositories in the way of what is to be written, by its path."""

    @cache
    def look(step: str) -> str | None:
        """The repository at a step; empty if the way ends there, None if it goes on."""
        full = os.path.join(top, step)
        if os.path.islink(full) or not os.path.isdir(full):
            return ""
        is_nested = os.path.lexists(f"{full}/.git") and not _holds_files(snapshot, step)
        return step if is_nested else None

    found = {}
    for change in wanted:
        if change.action != "delete" and not change.touches_gitlink:
            looks = map(look, _steps(change.path))
            nested = next((one for one in looks if one is not None), None)
            found[change.path] = _repository_below(top, change.path) if nested is None else nested
    return {path: nested for path, nested in found.items() if nested}


def _steps(path: str) -> Iterator[str]:
    """The directories that lead to a path, from the top, and the path itself."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def _repository_below(top: str, path: str) -> str:
    for directory, names, files in os.walk(os.path.join(top, path)):
        if ".git" in names or ".git" in files:
            return os.path.relpath(directory, top)
    return ""


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
    repositories = [place for place in directories_of(doomed) if disk.has_repository(place)]
    if not repositories:
        return {}
    tracked = directories_of(_tracked(repository, staging))
    nested = [place for place in repositories if place not in tracked]
    return {path: top for path in doomed for top in nested if path.startswith(f"{top}/")}


def blockers_of(top: str, changes: Iterable[Change]) -> dict[str, list[str]]:
    """The files on disk where others are to be created, by the paths of these.

    They are at the path itself, below it, or where a directory above it has to be.
    """

    @cache
    def is_file(step: str) -> bool:
        full = os.path.join(top, step)
        return os.path.islink(full) or (os.path.lexists(full) and not os.path.isdir(full))

    found = {}
    for path in (change.path for change in changes if change.action == "create"):
        first = next(filter(is_file, _steps(path)), None)
        found[path] = [first] if first is not None else list(_files_below(top, path))
    return {path: blockers for path, blockers in found.items() if blockers}


def _files_below(top: str, path: str) -> Iterator[str]:
    for directory, names, files in os.walk(os.path.join(top, path)):
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(directory, name), top)


def _blocked(
    repository: Repository,
    snapshot: Snapshot,
    wanted: list[Change],
    blockers: Mapping[str, list[str]],
) -> dict[str, str]:
    """The paths that an ignored file is in the way of, and the path of one such file each.

    One that git takes for just what is to be written is not in the way.
    """
    every = {path for paths in blockers.values() for path in paths}
    if not every:
        return {}
    recorded = {entry.path for entry in snapshot.index.entries_of(every)}
    if repository.config.boolean("core.ignoreCase", default=False):
        leaving = {change.path.casefold() for change in wanted if change.action != "create"}
        recorded |= {path for path in every if path.casefold() in leaving}
    top = repository.worktree
    hidden = {path for path in every - recorded if is_recorded(os.lstat(os.path.join(top, path)))}
    as_recorded = unchanged(repository, {change.path: change for change in wanted}, hidden)
    return {
        path: blocker
        for path, paths in blockers.items()
        for blocker in sorted(hidden.intersection(paths), reverse=True)
        if blocker != path or blocker not in as_recorded
    }


# What is on disk, ignored, and has to go.


def written_and_hidden(repository: Repository, snapshot: Snapshot, goal: Goal) -> list[str]:
    """What an earlier restore wrote, and what is ignored by now, so that the snapshot lacks it.

    The rules that ignore it need not be among what is restored, and it has to go anyway. A file
    with other bytes than we wrote is the user's own.
    """
    disk = Disk(repository.worktree)
    there = [path for path in goal.written if (found := disk.status(path)) and is_recorded(found)]
    if not there:
        return []
    changes = tree_changes(repository.git, snapshot.disk_tree, goal.tree)
    known = {change.path for change in changes if change.action != "create"}
    hidden = [
        path
        for path in there
        if path not in known
        and not any(_covers(other, path) for other, _ in snapshot.skipped)
        and not any(disk.has_repository(place) for place in directories_of([path]))
    ]
    recorded = {entry.path for entry in snapshot.index.entries_of(hidden)}
    return sorted(unchanged(repository, goal.written, (p for p in hidden if p not in recorded)))


# What is staged.


def plan_staging(
    repository: Repository, snapshot: Snapshot, goal: Goal, nested: Collection[str]
) -> StagingPlan | None:
    """Plan what is staged; None if nothing changes.

    Below the nested repositories in the way, all stays as it is staged: by that git knows them from
    plain directories, and so would the next restore. Refused (`bad_index`) if something of an index
    that cannot be read would have to stay.
    """
    target, paths = goal.staging, goal.paths
    if target is None or target == snapshot.staging:
        return None
    if snapshot.staging is None and paths is not None:
        raise RefusedError(
            "the index cannot be read, so that only all of it can be restored",
            code="bad_index",
            hints=("without paths, 'git boocode restore' makes the index anew",),
        )
    current = snapshot.staging or Staging(repository.empty_tree, ())
    differing = tree_changes(snapshot.index.git, current.tree, target.tree)
    special = {entry.path for staging in (current, target) for entry in staging.special}
    chosen = paths if paths is not None else special.union(c.path for c in differing)
    below = tuple(f"{directory}/" for directory in nested)
    chosen = frozenset(path for path in chosen if not f"{path}/".startswith(below))
    changes, hindered = _chosen(differing, chosen)
    chosen = chosen.difference(change.path for change in hindered)
    stay = (entry for entry in current.special if entry.path not in chosen)
    come = (entry for entry in target.special if entry.path in chosen)
    after = (*stay, *come)
    others = {entry.path for entry in {*current.special} ^ {*after}}
    if snapshot.staging is not None and not changes and not others:
        return None
    others -= {change.path for change in changes}
    staged = [*changes, *(Change(path, "modify", "", "", "") for path in sorted(others))]
    staged = staged if snapshot.staging is not None else []
    if len(changes) == len(differing):
        return StagingPlan(target.tree, [], after, staged)
    return StagingPlan(current.tree, changes, after, staged)


def index_views(snapshot: Snapshot, goal: Goal) -> Iterator[Index]:
    """The indexes in which pathspecs look for paths: of now, as staged, and of the goal."""
    yield snapshot.index
    if snapshot.original is not None and snapshot.staging is not None:
        yield snapshot.original
    yield _read(snapshot, goal.tree, "target")
    if goal.staging is not None:
        index = _read(snapshot, goal.staging.tree, "target-staged")
        index.put(entry for entry in goal.staging.special if entry.stage)
        yield index


def _read(snapshot: Snapshot, tree: str, name: str) -> Index:
    index = Index(snapshot.index.git, f"{snapshot.index.path}.{name}-names")
    index.read_tree(tree)
    return index


def disk_tree(snapshot: Snapshot, tree: str, staging: Staging | None) -> str:
    """The part of a checkpoint's tree that was on disk: all but what was sparse."""
    absent = staging.absent if staging else []
    if not absent:
        return tree
    index = _read(snapshot, tree, "disk")
    index.forget(entry.path for entry in absent)
    return snapshot.store_tree(index)
