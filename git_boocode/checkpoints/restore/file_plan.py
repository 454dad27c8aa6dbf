"""Plan the changes of files and staging area before a restore changes anything.

Planning reads the worktree, the user's index and git's objects. It writes only objects, and files
in the private scratch directory.

Some files of the worktree may hold our hooks or our server, which a checkpoint from before they
were installed lacks. One that git does not track is left alone, because it belongs to this machine
and not to the work; a tracked one is restored, and reported.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.capture import read_staging
from git_boocode.checkpoints.restore.exact import exact_changes, read_exact
from git_boocode.checkpoints.restore.interrupted import InterruptedWork
from git_boocode.checkpoints.restore.plan import is_own_safety
from git_boocode.checkpoints.restore.request import (
    IGNORED,
    RESTORE,
    HookFile,
    RestoreRequest,
)
from git_boocode.checkpoints.restore.result import LostHooks
from git_boocode.checkpoints.restore.user_work import ignored_by, unchanged
from git_boocode.checkpoints.store.catalog import (
    EXCLUDED,
    Change,
    Checkpoint,
    renames,
    texts_of,
    tree_changes,
)
from git_boocode.checkpoints.worktree.indexer import (
    NESTED,
    Disk,
    Skipped,
    directories_of,
    is_recorded,
)
from git_boocode.checkpoints.worktree.pathspecs import Pathspecs, changed_submodules
from git_boocode.checkpoints.worktree.snapshot import ExactFiles, Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.errors import FatalError, NextStep, RefusedError, shell_command, step_that
from git_boocode.repo.files import is_in_dot_git, is_possible, walk_directories
from git_boocode.repo.ids import id_time
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.object_writer import GITLINK, SYMLINK
from git_boocode.repo.path_rule import REASON, recorded_rule
from git_boocode.repo.repository import Repository


class FilePlan(NamedTuple):
    """The changes of files and staging area."""

    before: str  # the tree of the current files
    tree: str  # the tree after the changes
    changes: list[Change]
    kept: Sequence[Skipped] = ()  # the paths that differ and are kept, and why
    missing: frozenset[str] = frozenset()  # those of them that are gone and not brought back
    blocked: frozenset[str] = frozenset()  # the paths where ignored files block a change
    later: Sequence[str] = ()  # the changes that replace what came after an interruption
    in_the_way: Collection[str] = ()  # files to record first; the plan then must be made again
    exact: ExactFiles = MappingProxyType({})  # the exact bytes and modes to restore
    hooks_lost: Sequence[LostHooks] = ()  # the files that lose our hooks
    staging: Staging | None = None  # the new staging area; None if it does not change
    staged: Sequence[Change] = ()  # the paths whose staging changes, as far as that is known

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not self.changes and self.staging is None


class FilePlanner:
    """Plans the changes from a snapshot to a target.

    `written` are the files that an earlier restore wrote: unchanged ones are deleted even if they
    are ignored now. The caller replaces `snapshot` by one that has more files, and sets
    `interrupted` for a rollback of an interrupted operation.
    """

    interrupted: InterruptedWork | None = None

    def __init__(
        self,
        repository: Repository,
        snapshot: Snapshot,
        request: RestoreRequest,
        target: Checkpoint,
        written: Mapping[str, Change],
    ) -> None:
        self._repository = repository
        self.snapshot = snapshot
        self._request = request
        self._target = target
        self._written = written
        # The exact bytes and modes of the target; those of a fetched checkpoint are not trusted.
        self.exact = {} if target.remote else read_exact(repository, target.meta)
        self._disk = Disk(repository.worktree)
        # Cached, because the staging area often has the same trees as the files.
        self._compare = cache(partial(tree_changes, repository.git))
        # The files on disk and, if it can be read, the user's index.
        self._indexes = [snapshot.disk_index]
        if snapshot.original is not None and snapshot.staging is not None:
            self._indexes.append(snapshot.original)
        self._pathspecs: Pathspecs | None = None
        self._paths: frozenset[str] | None = None  # the only paths to change; None for all
        # The target's staging area; None if it is unknown.
        self._staging = read_staging(repository, target.meta)
        self._tree = target.tree
        if self._staging and self._staging.absent:
            # Without the files that a sparse checkout omitted.
            index = _read(snapshot, self._tree, "disk")
            index.forget(entry.path for entry in self._staging.absent)
            self._tree = snapshot.store_tree(index)

    def written_and_hidden(self) -> list[str]:
        """The files that an earlier restore wrote and that are ignored now.

        They must be deleted, and the snapshot lacks them; a file with other bytes is the user's.
        """
        snapshot, repository = self.snapshot, self._repository
        existing = list(filter(self._is_recorded, self._written))
        changes = self._compare(snapshot.disk_tree, self._tree) if existing else []
        visible = {change.path for change in changes if change.action != "create"}
        hidden = [
            path
            for path in existing
            if path not in visible
            and not any(covers(other, path) for other, _ in snapshot.skipped)
            and not any(map(self._disk.has_repository, directories_of([path])))
        ]
        visible = {entry.path for entry in snapshot.disk_index.entries_of(hidden)}
        visible |= self._excluded(hidden)
        return sorted(unchanged(repository, self._written, (p for p in hidden if p not in visible)))

    def plan(
        self,
        hook_files: Mapping[str, Sequence[HookFile]],
        *,
        each: bool = False,
        added: Collection[str] = (),
    ) -> FilePlan:
        """Plan files and staging area; with `each`, every pathspec must match something.

        `added` are the files in the way of an earlier plan, which are now in the snapshot.
        """
        repository, snapshot, request = self._repository, self.snapshot, self._request
        if request.paths:
            self._pathspecs = Pathspecs(repository.worktree, request.prefix, request.paths)
            self._paths = self._pathspecs.matching(self._views(), each=each)
        elif request.only is not None:
            self._paths = request.only
        differing = self._compare(snapshot.disk_tree, self._tree)
        paths, later, others = self._limited(differing, added)
        wanted, blocked_changes = _choose(differing, paths, added)
        nested = {**self._nested_in_the_way(wanted), **self._nested_around(wanted)}
        kept = dict(self._reasons_to_keep(wanted, self._ignored(differing, wanted), nested))
        kept |= {change.path: "blocked by a path not named" for change in blocked_changes}
        kept |= dict.fromkeys(others, "changed after the interruption")
        kept |= dict(self._hooks_to_keep(wanted, hook_files))
        kept |= dict.fromkeys(self._excluded(change.path for change in wanted), REASON)
        # Report also the files that the snapshot omits because the target's rules ignore them.
        left_out = self._chosen(snapshot.left_out).difference(change.path for change in wanted)
        kept |= dict.fromkeys(sorted(left_out), "ignored in the checkpoint")
        kept |= self._unrecorded(kept)
        not_held = self._not_held(dict(snapshot.skipped))
        kept |= {path: reason for path, reason in not_held if path not in kept}
        kept |= self._not_recorded_then(kept)
        excluded = self._excluded_then(kept)
        kept |= dict.fromkeys(excluded, f"was not recorded: {REASON}")
        missing = {c.path for c in wanted if c.touches_gitlink and c.action == "create"}
        missing |= excluded | self._skipped_then.keys()
        missing = {path for path in missing if not self._disk.exists(path)}
        blockers = blockers_of(self._disk, (c for c in wanted if c.path not in kept))
        kept |= self._behind_excluded(blockers)
        blockers = {path: paths for path, paths in blockers.items() if path not in kept}
        spared = blockers if IGNORED not in request.force else {}
        blocked = self._blocked(wanted, spared) if spared else {}
        for path, blocker in blocked.items():
            kept[path] = f"ignored file '{blocker}' is in the way"
        for path in added:
            # Another file replaces it, even if it is ignored.
            kept.pop(path, None)
        unrecorded = [path for path, _ in snapshot.skipped if path in added]
        for change in wanted:
            if any(covers(path, change.path) for path in unrecorded):
                kept[change.path] = "the file in the way cannot be recorded"
        changes = [change for change in wanted if change.path not in kept]
        former = self._former_names(changes, differing)
        kept |= former
        missing |= former.keys()
        in_the_way = dict.fromkeys(p for change in changes for p in blockers.get(change.path, ()))
        if in_the_way and not added:
            before = snapshot.disk_tree
            return FilePlan(before, before, [], later=later, in_the_way=[*in_the_way])
        tree = self._tree_after(snapshot.disk_tree, self._tree, changes, differing)
        same = self._chosen(self.exact.keys() - {change.path for change in changes} - kept.keys())
        same -= self._excluded(same)
        # A safety checkpoint's staging area is restored completely.
        is_own = is_own_safety(repository, self._target)
        # What is ignored and untracked remains so, or the next checkpoint would record it.
        unstaged = {path for path, blocker in blocked.items() if blocker == path}
        staging, staged = self._plan_staging(unstaged.union(() if is_own else nested.values()))
        return FilePlan(
            snapshot.disk_tree,
            tree,
            changes + (exact_changes(repository, snapshot, self.exact, same) if same else []),
            [Skipped(path, reason) for path, reason in kept.items()],
            frozenset(missing & kept.keys()),
            # The shorter path of each pair, because one ignored file may block many paths.
            blocked=frozenset(min(pair, key=len) for pair in blocked.items()),
            later=[path for path in later if path not in kept],
            hooks_lost=[*self._lost_hooks(changes, hook_files)],
            staging=staging,
            staged=staged,
        )

    def _tree_after(
        self, current: str, target: str, changes: list[Change], differing: list[Change]
    ) -> str:
        """The tree after `changes`, a part of the differences between two trees."""
        # A dry run does not need it, and in a partial clone the contents may be missing.
        if len(changes) == len(differing) or self._request.dry_run:
            return target
        tree = self.snapshot.edited_tree(self._repository.store, current, changes)
        self.snapshot.quarantine.release()
        return tree

    def _excluded(self, paths: Iterable[str]) -> frozenset[str]:
        """The paths that are not recorded, now or in the target, and so stay as they are."""
        if EXCLUDED in self._request.force:
            return frozenset()
        scratch, paths = os.path.dirname(self.snapshot.disk_index.path), [*paths]
        now, then = self.snapshot.exclude, recorded_rule(texts_of(self._target.meta, EXCLUDED))
        found = now.matching(self._repository, scratch, paths)
        if then != now:
            # A remote may have sent pathspecs that git rejects.
            with suppress(FatalError):
                found |= then.matching(self._repository, scratch, paths)
        return found

    def _limited(
        self, differing: list[Change], added: Collection[str]
    ) -> tuple[frozenset[str] | None, list[str], list[str]]:
        """The paths to change; of a rollback, those of them with later work, and the others."""
        if self.interrupted is None:
            return self._paths, [], []
        named, _ = _choose(differing, self._paths)
        paths, later = self.interrupted.limited([c for c in named if c.path not in added])
        return paths, later, [c.path for c in named if c.path not in paths | {*added}]

    def _chosen(self, paths: Iterable[str]) -> set[str]:
        return {path for path in paths if self._paths is None or path in self._paths}

    def _views(self) -> Iterator[Index]:
        """The indexes that pathspecs are matched in.

        They have the current files, the staged ones, the target, and what it did not record.
        """
        yield from self._indexes
        yield _read(self.snapshot, self._tree, "target")
        if self._staging is not None:
            index = _read(self.snapshot, self._staging.tree, "target-staged")
            index.put(entry for entry in self._staging.special if entry.stage)
            yield index
        if self._skipped_then:
            index = _read(self.snapshot, self._repository.empty_tree, "target-skipped")
            modes = {NESTED: GITLINK}
            index.put(
                Entry("H", modes.get(reason, "100644"), self._repository.empty_tree, 0, path)
                for path, reason in self._skipped_then.items()
            )
            yield index

    # Files.

    def _reasons_to_keep(
        self, wanted: list[Change], ignored: Collection[str], nested: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        skipped = (path for path, _ in self.snapshot.skipped)
        untouchable = self._target.meta.skipped_paths.union(skipped)
        for change in wanted:
            if change.touches_gitlink:
                yield change.path, self._way_to_gitlink(change)
            elif any(covers(path, change.path) for path in untouchable):
                why = self._skipped_then.get(change.path)
                yield change.path, f"was not recorded: {why}" if why else "not captured"
            elif change.path in ignored:
                yield change.path, "ignored in the checkpoint"
            elif self._is_private_and_new(change):
                yield change.path, "private file, which the checkpoint does not hold"
            elif change.path in nested:
                yield change.path, f"'{nested[change.path]}' is a nested repository"

    def _unrecorded(self, kept: Container[str]) -> dict[str, str]:
        """The other paths that cannot be recorded, unless the target skipped them as well."""
        skipped, found = self.snapshot.skipped, dict[str, str]()
        unread = {
            path: why for path, why in skipped if path not in kept and not is_in_dot_git(path)
        }
        names = self._chosen(unread)
        if self._pathspecs is not None:
            # No index has them.
            names |= {path for path in unread if self._pathspecs.name(path, or_top=True)}
        entries = self._repository.store.tree(self._tree, sorted(names))
        for path in names:
            if path not in entries:
                if path not in self._target.meta.skipped_paths and self._disk.exists(path):
                    nested = unread[path] == NESTED
                    found[path] = NESTED if nested else f"not recorded: {unread[path]}"
            elif entries[path].kind != "tree" or (
                unread[path] != NESTED and self._disk.is_directory(path)
            ):
                found[path] = f"cannot be compared: {unread[path]}"
        return found

    @cached_property
    def _skipped_then(self) -> dict[str, str]:
        """Why the target does not have some paths."""
        rows = self._target.meta.tables("skipped")
        pairs = ((row.get("path"), row.get("reason")) for row in rows)
        return {
            path: str(reason)
            for path, reason in pairs
            if isinstance(path, str) and is_possible(path) and not is_in_dot_git(path)
        }

    def _former_names(self, changes: list[Change], differing: list[Change]) -> dict[str, str]:
        """The former names of the renamed files that are deleted, if no pathspec names these."""
        deleted = {change.path for change in changes if change.action == "delete"}
        staying = {change.path for change in differing if change.action == "create"}
        staying -= self._chosen(staying)
        if self._pathspecs is None or not (deleted and staying):
            return {}
        names = renames(self._repository.git, self._tree, self.snapshot.disk_tree)
        found = {}
        for old, new in names.items():
            if old in staying and new in deleted:
                path = os.path.relpath(old, self._request.prefix or os.curdir)
                request = self._request._replace(paths=(path,))
                way = step_that("brings it back", request.command(RESTORE, self._target.id), "", "")
                found[old] = f"renamed to '{new}', and not named; {way}"
        return found

    def _not_recorded_then(self, kept: Container[str]) -> dict[str, str]:
        """The other paths that the target does not have, and that are gone or may have changed."""
        found = dict[str, str]()
        taken = id_time(self._target.meta.text("id") or self._target.id)
        for path, reason in self._skipped_then.items():
            if path in kept or not self._chosen([path]):
                continue
            if not self._disk.exists(path):
                found[path] = f"was not recorded: {reason}"
            elif (now := self._disk.status(path)) and reason != NESTED and now.st_ctime > taken:
                found[path] = f"may have changed, and was not recorded: {reason}"
        return found

    def _excluded_then(self, kept: Container[str]) -> set[str]:
        """The other excluded files that are gone, of which the target has only HEAD's version."""
        rule = self.snapshot.exclude
        if not rule.specs or EXCLUDED in self._request.force:
            return set()
        index = _read(self.snapshot, self._tree, "target-excluded")
        listed = self._chosen(rule.listed(index.git, "ls-files", "-z"))
        return {path for path in listed if path not in kept and not self._disk.exists(path)}

    def _way_to_gitlink(self, change: Change) -> str:
        """Why a submodule is kept, and what checks out the commit that the target stages."""
        if change.mode == GITLINK and self._staging is not None:
            entries = self._repository.store.tree(self._staging.tree, [change.path, ".gitmodules"])
            staged = entries.get(change.path)
            if staged and staged.id == change.id and ".gitmodules" in entries:
                path = os.path.relpath(change.path, self._repository.prefix or os.curdir)
                command = shell_command("git", "submodule", "update", "--init", "--", path)
                return f"submodule: {step_that('checks out its commit', command, '', '')}"
        return "submodule or nested repository"

    def _not_held(self, unread: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The named submodules and nested repositories, inside of which nothing is compared."""
        nested, specs = (each for each in unread.items() if each[1] == NESTED), self._pathspecs
        for path, reason in (*changed_submodules(self._repository), *nested):
            if self._chosen([path]) or (specs is not None and specs.name(path, or_top=True)):
                yield path, reason

    def _hooks_to_keep(
        self, wanted: list[Change], hook_files: Mapping[str, Sequence[HookFile]]
    ) -> Iterator[tuple[str, str]]:
        """The untracked files with our hooks, unless the request names them, and why they stay."""
        specs = self._pathspecs
        found = [change for change in wanted if change.path in hook_files]
        found = [change for change in found if specs is None or not specs.name(change.path)]
        if not found:
            return
        indexes = self._indexes[1:]
        staged = {e.path for index in indexes for e in index.entries_of([c.path for c in found])}
        for change in found:
            path = change.path
            others = (each.path for each in wanted if each is not change)
            if path in staged or path in self._tracked or any(covers(path, p) for p in others):
                # What replaces the file or its directory takes precedence.
                continue
            now, then = self._now(change), self._then(change)
            if now == then:
                # An ignored file, which is not in the way.
                continue
            if there := [file.title for file in hook_files[path] if file.has_hooks(now)]:
                yield path, f"{there[0]} left installed"
            elif gone := [file.title for file in hook_files[path] if file.has_hooks(then)]:
                yield path, f"{gone[0]} not installed again"

    def _lost_hooks(
        self, changes: list[Change], hook_files: Mapping[str, Sequence[HookFile]]
    ) -> Iterator[LostHooks]:
        for change in changes:
            if held := hook_files.get(change.path):
                now, then = self._now(change), self._then(change)
                for file in held:
                    if file.has_hooks(now) and not file.has_hooks(then):
                        yield LostHooks(change.path, file.title, file.install)

    def _now(self, change: Change) -> bytes:
        with suppress(OSError), open(f"{self._repository.worktree}/{change.path}", "rb") as file:
            return file.read()
        return b""

    def _then(self, change: Change) -> bytes:
        # A path that is deleted has the id of no object.
        deleted = change.action == "delete"
        blobs = () if deleted else self._repository.store.blobs([change.id])
        return next(iter(blobs), None) or b""

    def _ignored(self, differing: list[Change], wanted: list[Change]) -> frozenset[str]:
        """The paths that would be deleted although the target's rules ignore them."""
        current, target = self.snapshot.staging, self._staging
        doomed = [c.path for c in wanted if c.action == "delete" and not self._is_as_written(c)]
        if doomed and not any(
            os.path.basename(change.path) == ".gitignore" for change in differing
        ):
            # The rules are the same, so only paths that were tracked since can be ignored.
            tracked: set[str] = set()
            if current is not None and target is not None:
                staged = self._compare(current.tree, target.tree)
                tracked = {change.path for change in staged if change.action == "delete"}
                tracked.update(entry.path for entry in current.special)
            doomed = [path for path in doomed if path in tracked]
        if not doomed:
            return frozenset()
        scratch = os.path.dirname(self.snapshot.disk_index.path)
        ignored = ignored_by(self._repository, self._tree, doomed, scratch)
        # Rules do not ignore tracked files.
        return ignored - self._tracked if ignored else ignored

    def _is_private_and_new(self, change: Change) -> bool:
        """Whether a change deletes a file of `boocode.include`, which no restore has written."""
        is_private = change.action == "delete" and change.path in self.snapshot.included
        return is_private and not self._is_as_written(change)

    def _is_as_written(self, change: Change) -> bool:
        """Whether a change deletes a file that is still as an earlier restore wrote it."""
        written = self._written.get(change.path)
        if written is None or (written.mode == SYMLINK) != (change.old_mode == SYMLINK):
            return False
        return written.id == change.old_id

    @cached_property
    def _tracked(self) -> set[str]:
        """The paths that the target tracked, as far as that is known."""
        if self._staging is None:
            return set()
        tracked = self._repository.store.tree(self._staging.tree).keys()
        return tracked | {entry.path for entry in self._staging.special}

    def _nested_in_the_way(self, wanted: list[Change]) -> dict[str, str]:
        """The nested repositories in the way of files to write, by the paths of these files."""

        @cache
        def is_nested(step: str) -> bool:
            is_repository = self._disk.is_directory(step) and self._disk.has_repository(step)
            return is_repository and not (self._holds_files(step) and self._is_plain_after(step))

        found = {}
        for change in wanted:
            if change.action != "delete" and not change.touches_gitlink:
                found[change.path] = next(filter(is_nested, _steps(change.path)), None)
                found[change.path] = found[change.path] or self._repository_below(change.path)
        return {path: nested for path, nested in found.items() if nested}

    def _repository_below(self, path: str) -> str | None:
        top = self._repository.worktree
        walk = walk_directories(f"{top}/{path}") if self._disk.is_directory(path) else ()
        for directory, entries in walk:
            if any(entry.name == ".git" for entry in entries):
                return os.path.relpath(directory, top)
        return None

    def _holds_files(self, directory: str) -> bool:
        """Whether git treats a directory as a plain one, because it tracks files there."""
        # Git lists a submodule at the directory itself as well.
        below = (entry for index in self._indexes for entry in index.entries_of([f"{directory}/"]))
        return any(entry.path != directory for entry in below)

    def _is_plain_after(self, directory: str) -> bool:
        """Whether git still treats a directory as a plain one after the operation."""
        return self._staging is None or directory in self._tracked_directories

    @cached_property
    def _tracked_directories(self) -> set[str]:
        return directories_of(self._tracked)

    def _nested_around(self, wanted: list[Change]) -> dict[str, str]:
        """The nested repositories that contain files to delete, by the paths of these files.

        Git treats a repository as a plain directory only as long as it tracks files there. Without
        them nothing in it could be recorded, so the files are kept, and stay tracked.
        """
        doomed = [change.path for change in wanted if change.action == "delete"]
        directories = directories_of(doomed)
        repositories = filter(self._disk.has_repository, directories)
        nested = [directory for directory in repositories if not self._is_plain_after(directory)]
        return {path: top for path in doomed for top in nested if path.startswith(f"{top}/")}

    def _blocked(self, wanted: list[Change], blockers: Mapping[str, list[str]]) -> dict[str, str]:
        """The paths that an ignored file with other content blocks, each with such a file."""
        every = {path for paths in blockers.values() for path in paths}
        visible = {entry.path for entry in self.snapshot.disk_index.entries_of(every)}
        if self._repository.config.boolean("core.ignoreCase", default=False):
            replaced = {change.path.casefold() for change in wanted if change.action != "create"}
            visible |= {path for path in every if path.casefold() in replaced}
        hidden = set(filter(self._is_recorded, every - visible))
        alike = unchanged(self._repository, {change.path: change for change in wanted}, hidden)
        return {
            path: blocker
            for path, paths in blockers.items()
            for blocker in sorted(hidden.intersection(paths), reverse=True)
            if blocker != path or blocker not in alike
        }

    def _behind_excluded(self, blockers: Mapping[str, list[str]]) -> dict[str, str]:
        """The paths that a file blocks which is not recorded, and so stays, and why."""
        excluded = self._excluded(each for paths in blockers.values() for each in paths)
        found = {path: excluded.intersection(paths) for path, paths in blockers.items()}
        return {
            path: f"'{min(there)}' is in the way, {REASON}"
            for path, there in found.items()
            if there
        }

    def _is_recorded(self, path: str) -> bool:
        found = self._disk.status(path)
        return found is not None and is_recorded(found)

    # Staging.

    def _plan_staging(self, left_alone: Iterable[str]) -> tuple[Staging | None, list[Change]]:
        """The new staging area, None for no change, and the paths whose staging changes.

        Entries at and below the paths `left_alone` are kept: git treats a nested repository as a
        plain directory only as long as it tracks files there. Refused (`bad_index`) if the index is
        damaged and only some paths are restored.
        """
        target, before = self._staging, self.snapshot.staging
        if target is None or target == before:
            return None, []
        if before is None and self._paths is not None:
            raise RefusedError(
                "the index is damaged; paths in it cannot be restored",
                code="bad_index",
                hints=(
                    NextStep(
                        "restore the whole index with {} without paths",
                        "restore",
                        typed="'git boocode restore'",
                    ),
                ),
            )
        current = before or Staging(self._repository.empty_tree, ())
        differing = self._compare(current.tree, target.tree)
        special = {entry.path for staging in (current, target) for entry in staging.special}
        below = tuple(f"{path}/" for path in left_alone)
        chosen = self._chosen(special.union(change.path for change in differing))
        chosen = {path for path in chosen if not f"{path}/".startswith(below)}
        changes, blocked_changes = _choose(differing, chosen)
        chosen -= {change.path for change in blocked_changes}
        if excluded := self._excluded(chosen):
            chosen -= excluded
            changes = [change for change in changes if change.path in chosen]
        kept = (entry for entry in current.special if entry.path not in chosen)
        restored = (entry for entry in target.special if entry.path in chosen)
        after = (*kept, *restored)
        others = {entry.path for entry in {*current.special} ^ {*after}}
        others -= {change.path for change in changes}
        staged = [*changes, *(Change(path, "modify", "", "", "") for path in sorted(others))]
        if before is not None and not staged:
            return None, []
        tree = self._tree_after(current.tree, target.tree, changes, differing)
        return Staging(tree, after), staged if before is not None else []


def _choose(
    changes: list[Change], paths: Collection[str] | None, also: Collection[str] = ()
) -> tuple[list[Change], list[Change]]:
    """The changes to some paths, None for all, and those of them that an unchanged path blocks."""
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
    """The files on disk in the way of files to create, by the paths of the latter.

    A file is in the way at the path itself, below it, or at one of its parent directories.
    """
    is_file = cache(disk.is_own_file)
    found = {}
    for path in (change.path for change in changes if change.action == "create"):
        first = next(filter(is_file, _steps(path)), None)
        found[path] = [first] if first is not None else list(_files_below(disk.worktree, path))
    return {path: blockers for path, blockers in found.items() if blockers}


def _files_below(top: str, path: str) -> Iterator[str]:
    for _, entries in walk_directories(f"{top}/{path}"):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield os.path.relpath(entry.path, top)


def _steps(path: str) -> Iterator[str]:
    """The parent directories of a path, from the top, and the path itself."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def covers(path: str, other: str) -> bool:
    """Whether two paths are the same, or one is a directory that contains the other."""
    return other == path or other.startswith(f"{path}/") or path.startswith(f"{other}/")


def _read(snapshot: Snapshot, tree: str, name: str) -> Index:
    index = Index(snapshot.disk_index.git, f"{snapshot.disk_index.path}.{name}-names")
    index.read_tree(tree)
    return index
