"""Restore only some paths: which ones they are, and what is staged then."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from git_boocode.checkpoints.store.changes import Change, tree_changes
from git_boocode.checkpoints.worktree.pathspecs import Pathspecs
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.index import Entry, Index

_ABSENT = "0"


class Choice(NamedTuple):
    """The paths to restore.

    Attributes:
        paths: all that the pathspecs match, in the worktree, in the checkpoint, or staged in
            either.
    """

    paths: frozenset[str]

    def split(self, changes: list[Change]) -> tuple[list[Change], list[Change]]:
        """The changes that are chosen and can be made, and those for which others are in the way.

        Args:
            changes: all that differs.
        """
        chosen = [change for change in changes if change.path in self.paths]
        kept = [change for change in changes if change.path not in self.paths]
        staying = {change.path for change in kept if change.action == "delete"}
        hindered = [change for change in chosen if _is_hindered(change, staying)]
        return [change for change in chosen if change not in hindered], hindered

    def without(self, directories: Collection[str]) -> Choice:
        """The same choice, but nothing in some directories, nor what is called like them."""
        below = tuple(f"{directory}/" for directory in directories)
        return Choice(frozenset(p for p in self.paths if not f"{p}/".startswith(below)))

    def with_paths(self, paths: list[str]) -> Choice:
        """The same choice, and some more paths."""
        return Choice(self.paths.union(paths))


def _is_hindered(change: Change, staying: set[str]) -> bool:
    """Whether a file that stays is where a path is to be created, above it or below it."""
    if change.action != "create" or not staying:
        return False
    parts = change.path.split("/")
    if any("/".join(parts[:count]) in staying for count in range(1, len(parts))):
        return True
    return any(path.startswith(f"{change.path}/") for path in staying)


def choose(
    pathspecs: Pathspecs, snapshot: Snapshot, tree: str, staging: Staging | None, *, each: bool
) -> Choice:
    """Find the paths that pathspecs match.

    Args:
        pathspecs: the pathspecs.
        snapshot: what is there now.
        tree: the checkpoint's tree.
        staging: what was staged at the checkpoint.
        each: whether each pathspec has to match something.

    Raises:
        RefusedError: see `Pathspecs.matching`.
    """
    return Choice(pathspecs.matching(_indexes(snapshot, tree, staging), each=each))


def _indexes(snapshot: Snapshot, tree: str, staging: Staging | None) -> Iterator[Index]:
    yield snapshot.index
    if snapshot.original is not None and snapshot.staging is not None:
        yield snapshot.original
    yield _read(snapshot, tree, "target")
    if staging is not None:
        index = _read(snapshot, staging.tree, "target-staged")
        index.put(entry for entry in staging.special if entry.stage)
        yield index


def _read(snapshot: Snapshot, tree: str, name: str) -> Index:
    index = Index(snapshot.index.git, f"{snapshot.index.path}.{name}-names")
    index.read_tree(tree)
    return index


def mix(
    snapshot: Snapshot,
    target: Staging,
    choice: Choice | None,
    nested: Collection[str],
    empty_tree: str,
) -> Staging | None:
    """What is to be staged where some paths stay as they are.

    Args:
        snapshot: what is there now.
        target: what was staged at the checkpoint.
        choice: the paths to restore; None for all.
        nested: the nested repositories in the way. Below them, all stays as it is staged: by that
            git tells them from plain directories, and so would the next restore.
        empty_tree: the id of the empty tree.

    Returns:
        None if that is what is staged already.

    Raises:
        RefusedError: the index cannot be read, so that nothing of it can be kept (`bad_index`).
    """
    current = snapshot.staging or Staging(empty_tree, ())
    if snapshot.staging is None and choice is not None:
        raise RefusedError(
            "the index cannot be read, so that only all of it can be restored",
            code="bad_index",
            hints=("leave out the paths; 'git boocode restore' then makes the index anew",),
        )
    differing = tree_changes(snapshot.index.git, current.tree, target.tree)
    choice = (choice or _all(differing, current, target)).without(nested)
    changes, hindered = choice.split(differing)
    paths = choice.paths.difference(change.path for change in hindered)
    stay = (entry for entry in current.special if entry.path not in paths)
    come = (entry for entry in target.special if entry.path in paths)
    special = (*stay, *come)
    if current is snapshot.staging and not changes and set(special) == set(current.special):
        return None
    return Staging(_changed(snapshot, current.tree, changes), special)


def _all(differing: Iterable[Change], *stagings: Staging) -> Choice:
    special = (entry.path for staging in stagings for entry in staging.special)
    return Choice(frozenset((*(change.path for change in differing), *special)))


def _changed(snapshot: Snapshot, tree: str, changes: list[Change]) -> str:
    index = _read(snapshot, tree, "mixed")
    entries = [_entry(change) for change in changes]
    # Deletions first: a directory must be gone before a file can take its name.
    index.put(sorted(entries, key=lambda entry: entry.mode != _ABSENT))
    return snapshot.store_tree(index)


def _entry(change: Change) -> Entry:
    return Entry(
        "H", _ABSENT if change.action == "delete" else change.mode, change.id, 0, change.path
    )
