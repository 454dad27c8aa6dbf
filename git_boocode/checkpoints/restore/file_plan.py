"""Work out what a restore changes, before it changes anything.

Planning only reads: the worktree, the user's index and git's objects. What it has git write goes to
the private scratch directory, or is an object.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.restore.exact import ExactFiles, lost_changes, read_exact
from git_boocode.checkpoints.restore.ignore_rules import ignored_by, tree_files, unchanged
from git_boocode.checkpoints.restore.operation import RestoreRequest, is_own_safety
from git_boocode.checkpoints.store.catalog import Change, Checkpoint, tree_changes
from git_boocode.checkpoints.store.commit import read_staging
from git_boocode.checkpoints.worktree.indexer import Disk, Skipped, directories_of, is_recorded
from git_boocode.checkpoints.worktree.pathspecs import Pathspecs
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.moving_head import HeadMove
from git_boocode.repo.object_writer import SYMLINK
from git_boocode.repo.repository import Repository

_ABSENT = "0"


class RestorePlan(NamedTuple):
    """What an operation changes: files, staging area and HEAD."""

    before: str  # the tree of what is there now
    tree: str  # the tree that the changes lead to
    changes: list[Change]
    kept: Sequence[Skipped] = ()  # the paths that differ and stay as they are, and why
    blocked: frozenset[str] = frozenset()  # where ignored files are in the way of what is kept
    exact: ExactFiles = MappingProxyType({})  # what files become beyond git's form
    staging: Staging | None = None  # what is staged then; None if the staging area stays
    staged: Sequence[Change] = ()  # the paths whose staging changes, as far as that is known
    move: HeadMove | None = None  # None if HEAD stays

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not self.changes and self.staging is None and self.move is None


class RestorePlanner:
    """Plans to turn what a snapshot holds into a target; the snapshot takes in what gets lost.

    What an earlier restore has `written` goes though it is ignored, if it is unchanged.
    """

    def __init__(
        self,
        repository: Repository,
        snapshot: Snapshot,
        request: RestoreRequest,
        target: Checkpoint,
        written: Mapping[str, Change],
    ) -> None:
        self._repository = repository
        self._snapshot = snapshot
        self._request = request
        self._target = target
        self._written = written
        # What the target records beside its tree; of what was fetched, nothing counts.
        self.exact = {} if target.remote else read_exact(repository, target.meta)
        self._disk = Disk(repository.worktree)
        # What is staged often differs as the files do.
        self._compare = cache(partial(tree_changes, repository.git))
        # As things are on disk and, where that can be read, in the user's index.
        self._indexes = [snapshot.index]
        if snapshot.original is not None and snapshot.staging is not None:
            self._indexes.append(snapshot.original)
        self._paths: frozenset[str] | None = None  # the only paths to touch; None for all
        # What was staged then; None if that is unknown.
        self._staging = read_staging(repository, target.meta)
        self._tree = target.tree
        if self._staging and self._staging.absent:
            # Only what was on disk, not what was sparse.
            index = _read(snapshot, self._tree, "disk")
            index.forget(entry.path for entry in self._staging.absent)
            self._tree = snapshot.store_tree(index)

    def plan(self, *, each: bool) -> RestorePlan:
        """Plan files and staging; with `each`, every pathspec has to match something."""
        request, top = self._request, self._repository.worktree
        if self._written and (hidden := self._written_and_hidden()):
            self._snapshot.force_add(hidden, top)
        if request.paths:
            pathspecs = Pathspecs(top, request.prefix, request.paths)
            self._paths = pathspecs.matching(self._views(), each=each)
        return self._plan(())

    def _tree_after(
        self, now: str, then: str, changes: list[Change], differing: list[Change]
    ) -> str:
        """The tree that some of the differing paths lead to from one tree on the way to another."""
        # Who only looks needs none; in a partial clone its contents may not even be here.
        if len(changes) == len(differing) or self._request.dry_run:
            return then
        return tree_after(self._snapshot, now, changes)

    def _chosen(self, paths: Iterable[str]) -> set[str]:
        return {path for path in paths if self._paths is None or path in self._paths}

    def _views(self) -> Iterator[Index]:
        """The indexes in which pathspecs look: of now, as staged, and of the target."""
        yield from self._indexes
        yield _read(self._snapshot, self._tree, "target")
        if self._staging is not None:
            index = _read(self._snapshot, self._staging.tree, "target-staged")
            index.put(entry for entry in self._staging.special if entry.stage)
            yield index

    # Files.

    def _plan(self, recorded: Collection[str]) -> RestorePlan:
        """Plan it; `recorded` is what lies where files go and the snapshot has taken in."""
        repository, snapshot = self._repository, self._snapshot
        differing = self._compare(snapshot.disk_tree, self._tree)
        wanted, blocked_changes = _choose(differing, self._paths, recorded)
        nested = {**self._nested_in_the_way(wanted), **self._nested_around(wanted)}
        kept = dict(self._reasons_to_keep(wanted, self._ignored(differing, wanted), nested))
        kept |= {change.path: "blocked by a path not named" for change in blocked_changes}
        # What the snapshot leaves out, too, because the rules of the target ignore it.
        left_out = self._chosen(snapshot.left_out).difference(change.path for change in wanted)
        kept |= dict.fromkeys(sorted(left_out), "ignored in the checkpoint")
        # What cannot be read now, so that it is unknown whether it differs.
        unread = dict(snapshot.skipped)
        names = self._chosen(unread.keys() - kept.keys())
        for path in tree_files(repository.git, self._tree, *sorted(names)) if names else ():
            if path in names:
                kept[path] = f"cannot be compared: {unread[path]}"
        blockers = blockers_of(self._disk, (c for c in wanted if c.path not in kept))
        spared = blockers if "ignored" not in self._request.force else {}
        blocked = self._blocked(wanted, spared) if spared else {}
        for path, blocker in blocked.items():
            kept[path] = f"ignored file '{blocker}' is in the way"
        for path in recorded:
            # It cannot stay where something else goes, ignored or not.
            kept.pop(path, None)
        lost = [path for path, _ in snapshot.skipped if path in recorded]
        for change in wanted:
            if any(_covers(path, change.path) for path in lost):
                kept[change.path] = "what is in the way cannot be recorded"
        changes = [change for change in wanted if change.path not in kept]
        in_the_way = dict.fromkeys(p for change in changes for p in blockers.get(change.path, ()))
        if in_the_way and not recorded:
            # It has to be in the snapshot, so that it can come back.
            snapshot.force_add(in_the_way, repository.worktree)
            return self._plan(in_the_way)
        tree = self._tree_after(snapshot.disk_tree, self._tree, changes, differing)
        same = self._chosen(self.exact.keys() - {change.path for change in changes} - kept.keys())
        # Who goes back to the state before an operation gets what was staged then in any case.
        is_own = is_own_safety(repository, self._target)
        staging, staged = self._plan_staging(() if is_own else nested.values())
        return RestorePlan(
            snapshot.disk_tree,
            tree,
            changes + (lost_changes(repository, snapshot, self.exact, same) if same else []),
            [Skipped(path, reason) for path, reason in kept.items()],
            # The shorter path of the two: an ignored file may be in the way of many.
            frozenset(min(pair, key=len) for pair in blocked.items()),
            staging=staging,
            staged=staged,
        )

    def _reasons_to_keep(
        self, wanted: list[Change], ignored: Collection[str], nested: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        skipped = (path for path, _ in self._snapshot.skipped)
        untouchable = self._target.meta.skipped_paths.union(skipped)
        for change in wanted:
            if change.touches_gitlink:
                yield change.path, "submodule or nested repository"
            elif any(_covers(path, change.path) for path in untouchable):
                yield change.path, "not captured"
            elif change.path in ignored:
                yield change.path, "ignored in the checkpoint"
            elif change.path in nested:
                yield change.path, f"'{nested[change.path]}' is a nested repository"

    def _ignored(self, differing: list[Change], wanted: list[Change]) -> frozenset[str]:
        """The paths that would be deleted although the target's rules ignore them."""
        now, then = self._snapshot.staging, self._staging
        doomed = [c.path for c in wanted if c.action == "delete" and not self._is_as_written(c)]
        if doomed and not any(
            os.path.basename(change.path) == ".gitignore" for change in differing
        ):
            # The rules are the same, so they can ignore only what was tracked in between.
            since: set[str] = set()
            if now is not None and then is not None:
                staged = self._compare(now.tree, then.tree)
                since = {change.path for change in staged if change.action == "delete"}
                since.update(entry.path for entry in now.special)
            doomed = [path for path in doomed if path in since]
        if not doomed:
            return frozenset()
        scratch = os.path.dirname(self._snapshot.index.path)
        ignored = ignored_by(self._repository, self._tree, doomed, scratch)
        # No rule ignores what was tracked.
        return ignored - self._tracked if ignored else ignored

    def _is_as_written(self, change: Change) -> bool:
        """Whether what a change deletes is what an earlier restore wrote there."""
        written = self._written.get(change.path)
        if written is None or (written.mode == SYMLINK) != (change.old_mode == SYMLINK):
            return False
        return written.id == change.old_id

    @cached_property
    def _tracked(self) -> set[str]:
        """What the target tracked, as far as that is known."""
        if self._staging is None:
            return set()
        tracked = tree_files(self._repository.git, self._staging.tree).keys()
        return tracked | {entry.path for entry in self._staging.special}

    def _nested_in_the_way(self, wanted: list[Change]) -> dict[str, str]:
        """The nested repositories in the way of what is to be written, by its path."""

        @cache
        def is_nested(step: str) -> bool:
            is_repository = self._disk.is_directory(step) and self._disk.has_repository(step)
            return is_repository and not self._holds_files(step)

        found = {}
        for change in wanted:
            if change.action != "delete" and not change.touches_gitlink:
                found[change.path] = next(filter(is_nested, _steps(change.path)), None)
                found[change.path] = found[change.path] or self._repository_below(change.path)
        return {path: nested for path, nested in found.items() if nested}

    def _repository_below(self, path: str) -> str | None:
        top = self._repository.worktree
        walk = os.walk(os.path.join(top, path)) if self._disk.is_directory(path) else ()
        found = (place for place, names, files in walk if ".git" in (*names, *files))
        return next((os.path.relpath(place, top) for place in found), None)

    def _holds_files(self, directory: str) -> bool:
        """Whether git takes a directory for a plain one, as it tracks files there."""
        # Git lists a submodule that is called like the directory, too.
        below = (entry for index in self._indexes for entry in index.entries_of([f"{directory}/"]))
        return any(entry.path != directory for entry in below)

    def _nested_around(self, wanted: list[Change]) -> dict[str, str]:
        """The repositories in which files are to be deleted, by their paths.

        Git takes a repository for a plain directory because of the files that are tracked there. If
        none were any more, nothing in it could be recorded; so they stay, and stay tracked.
        """
        doomed = [change.path for change in wanted if change.action == "delete"]
        places = directories_of(doomed) if self._staging is not None else set()
        repositories = list(filter(self._disk.has_repository, places))
        tracked = directories_of(self._tracked) if repositories else set()
        nested = [place for place in repositories if place not in tracked]
        return {path: top for path in doomed for top in nested if path.startswith(f"{top}/")}

    def _blocked(self, wanted: list[Change], blockers: Mapping[str, list[str]]) -> dict[str, str]:
        """The paths that an ignored file with another content is in the way of, and one such."""
        every = {path for paths in blockers.values() for path in paths}
        known = {entry.path for entry in self._snapshot.index.entries_of(every)}
        if self._repository.config.boolean("core.ignoreCase", default=False):
            leaving = {change.path.casefold() for change in wanted if change.action != "create"}
            known |= {path for path in every if path.casefold() in leaving}
        hidden = set(filter(self._is_recorded, every - known))
        alike = unchanged(self._repository, {change.path: change for change in wanted}, hidden)
        return {
            path: blocker
            for path, paths in blockers.items()
            for blocker in sorted(hidden.intersection(paths), reverse=True)
            if blocker != path or blocker not in alike
        }

    def _is_recorded(self, path: str) -> bool:
        found = self._disk.status(path)
        return found is not None and is_recorded(found)

    def _written_and_hidden(self) -> list[str]:
        """What an earlier restore wrote and is ignored by now, so that the snapshot lacks it.

        It has to go; but a file with other bytes than we wrote is the user's own.
        """
        snapshot, repository = self._snapshot, self._repository
        there = list(filter(self._is_recorded, self._written))
        changes = self._compare(snapshot.disk_tree, self._tree) if there else []
        known = {change.path for change in changes if change.action != "create"}
        hidden = [
            path
            for path in there
            if path not in known
            and not any(_covers(other, path) for other, _ in snapshot.skipped)
            and not any(map(self._disk.has_repository, directories_of([path])))
        ]
        known = {entry.path for entry in snapshot.index.entries_of(hidden)}
        return sorted(unchanged(repository, self._written, (p for p in hidden if p not in known)))

    # Staging.

    def _plan_staging(self, nested: Iterable[str]) -> tuple[Staging | None, list[Change]]:
        """What is staged then, None for no change, and the paths of which that is another one.

        Below the nested repositories in the way, all stays as it is staged: by that git knows them
        from plain directories. Refused (`bad_index`) if some of a damaged index would have to stay.
        """
        target, now = self._staging, self._snapshot.staging
        if target is None or target == now:
            return None, []
        if now is None and self._paths is not None:
            raise RefusedError(
                "the index cannot be read, so that only all of it can be restored",
                code="bad_index",
                hints=("without paths, 'git boocode restore' makes the index anew",),
            )
        current = now or Staging(self._repository.empty_tree, ())
        differing = self._compare(current.tree, target.tree)
        special = {entry.path for staging in (current, target) for entry in staging.special}
        below = tuple(f"{directory}/" for directory in nested)
        chosen = self._chosen(special.union(change.path for change in differing))
        chosen = {path for path in chosen if not f"{path}/".startswith(below)}
        changes, blocked_changes = _choose(differing, chosen)
        chosen -= {change.path for change in blocked_changes}
        stay = (entry for entry in current.special if entry.path not in chosen)
        come = (entry for entry in target.special if entry.path in chosen)
        after = (*stay, *come)
        others = {entry.path for entry in {*current.special} ^ {*after}}
        others -= {change.path for change in changes}
        staged = [*changes, *(Change(path, "modify", "", "", "") for path in sorted(others))]
        if now is not None and not staged:
            return None, []
        tree = self._tree_after(current.tree, target.tree, changes, differing)
        return Staging(tree, after), staged if now is not None else []


def _choose(
    changes: list[Change], paths: Collection[str] | None, also: Collection[str] = ()
) -> tuple[list[Change], list[Change]]:
    """The changes to some paths, None for all, and those of them that a path that stays blocks."""
    if paths is None:
        return changes, []
    chosen = [change for change in changes if change.path in paths or change.path in also]
    staying = {c.path for c in changes if c.action == "delete"} - {c.path for c in chosen}
    above = directories_of(staying)
    blocked_changes = [
        change
        for change in chosen
        if change.action == "create"
        and (change.path in above or not staying.isdisjoint(directories_of([change.path])))
    ]
    return [change for change in chosen if change not in blocked_changes], blocked_changes


def blockers_of(disk: Disk, changes: Iterable[Change]) -> dict[str, list[str]]:
    """The files on disk where others are to be created, by the paths of these.

    They are at the path itself, below it, or where a directory above it has to be.
    """
    is_file = cache(disk.is_own_file)
    found = {}
    for path in (change.path for change in changes if change.action == "create"):
        first = next(filter(is_file, _steps(path)), None)
        found[path] = [first] if first is not None else list(_files_below(disk.worktree, path))
    return {path: blockers for path, blockers in found.items() if blockers}


def _files_below(top: str, path: str) -> Iterator[str]:
    for directory, names, files in os.walk(os.path.join(top, path)):
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(directory, name), top)


def _steps(path: str) -> Iterator[str]:
    """The directories that lead to a path, from the top, and the path itself."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def _covers(path: str, other: str) -> bool:
    return other == path or other.startswith(f"{path}/") or path.startswith(f"{other}/")


def tree_after(snapshot: Snapshot, tree: str, changes: Iterable[Change]) -> str:
    """The tree that some changes to another one lead to; it is stored."""
    entries = []
    for change in changes:
        mode = _ABSENT if change.action == "delete" else change.mode
        entries.append(Entry("H", mode, change.id, 0, change.path))
    index = _read(snapshot, tree, "mixed")
    # Deletions first: a directory must be gone before a file can take its name.
    index.put(sorted(entries, key=lambda entry: entry.mode != _ABSENT))
    return snapshot.store_tree(index) if entries else tree


def _read(snapshot: Snapshot, tree: str, name: str) -> Index:
    index = Index(snapshot.index.git, f"{snapshot.index.path}.{name}-names")
    index.read_tree(tree)
    return index
