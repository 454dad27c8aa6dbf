"""Drop checkpoints, unless an interrupted restore or `undo` needs them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.restore.history import needed, read_history
from git_boocode.checkpoints.store.catalog import SAFETY, Catalog, Checkpoint
from git_boocode.checkpoints.store.retention import (
    PATIENCE,
    beside_restores,
    interrupted,
)
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange


class Dropped(NamedTuple):
    """A checkpoint that was dropped.

    Attributes:
        id: its id.
        commit: the commit that held it.
        refs: the names of the refs that it had.
    """

    id: str
    commit: str
    refs: list[str]


def drop(
    repository: Repository,
    names: Sequence[str],
    *,
    even_needed: bool = False,
    dry_run: bool = False,
) -> list[Dropped]:
    """Delete the refs of some checkpoints, of all or of none.

    Args:
        repository: where they are.
        names: the checkpoints, as `Catalog.refs_of` reads them.
        even_needed: whether those may go that an interrupted restore or `undo` needs.
        dry_run: only say what would go.

    Raises:
        RefusedError: one of them cannot be found, something needs one of them (`needed`), a
            restore is at work (`locked`), or a ref was changed meanwhile (`conflict`).
    """
    with beside_restores(repository, PATIENCE, looking=dry_run):
        catalog = Catalog(repository)
        # A checkpoint may have been named twice, by its id and as `@`.
        found = {refs[0].name: refs for refs in map(catalog.refs_of, names)}
        if not even_needed:
            _refuse_needed(repository, catalog, [refs[0].id for refs in found.values()])
        refs = {ref.name: ref for each in found.values() for ref in each}
        if not dry_run:
            changes = [RefChange(ref.name, None, ref.target) for ref in refs.values()]
            catalog.store.update_refs(changes)
    return list(map(_dropped, found.values()))


def _dropped(refs: list[Ref]) -> Dropped:
    return Dropped(refs[0].id, refs[0].target, [ref.name for ref in refs])


def _refuse_needed(repository: Repository, catalog: Catalog, ids: list[str]) -> None:
    reasons = dict(_needed(repository, catalog, frozenset(ids)))
    refused = [identifier for identifier in ids if identifier in reasons]
    if not refused:
        return
    first, *others = refused
    more = f", and so are {len(others)} more of them" if others else ""
    raise RefusedError(
        f"checkpoint '{first}' is needed: {reasons[first]}{more}",
        code="needed",
        hints=(
            "nothing was dropped",
            "--even-needed drops it all the same; that way back is then lost or incomplete",
        ),
        details={"needed": [{"id": each, "reason": reasons[each]} for each in refused]},
    )


def _needed(
    repository: Repository, catalog: Catalog, going: Collection[str]
) -> Iterator[tuple[str, str]]:
    """What must not go, and why; of several reasons for the same the last counts."""
    entries = catalog.entries(catalog.store.refs(SAFETY))
    safety = [entry for entry in entries if isinstance(entry, Checkpoint)]
    interrupted_ones = interrupted(repository)
    for worktree in {entry.meta.worktree_key for entry in safety}:
        own = [entry for entry in safety if entry.meta.worktree_key == worktree]
        yield from _reviving(own, going)
        never_ended = next((entry.id for entry in own if entry.id in interrupted_ones), None)
        live = needed(own, never_ended)
        for entry in own:
            if entry.id in live:
                yield _target(entry), f"taking back {_described(entry)} compares files with it"
        for identifier in live:
            yield identifier, "'git boocode undo' and 'redo' go by it"
    for entry in safety:
        if entry.id in interrupted_ones:
            yield _target(entry), f"the interrupted restore {entry.id} was on its way to it"
    for identifier in interrupted_ones:
        yield identifier, "it is the state before an interrupted restore"


def _reviving(safety: list[Checkpoint], going: Collection[str]) -> Iterator[tuple[str, str]]:
    """Those without which something would count that does not: as not undone, or to be redone."""
    rest = [entry for entry in safety if entry.id not in going]
    before, after = map(_counting, (safety, rest))
    for revived in sorted(after - before):
        for entry in safety:
            if entry.id in going:
                yield entry.id, f"without it, {revived} would count for undo and redo again"


def _counting(safety: list[Checkpoint]) -> set[str]:
    """What can be undone and redone."""
    found = read_history(safety)
    return {operation.id for operation in (*found.done, *found.undone)}


def _described(safety: Checkpoint) -> str:
    return f"the {safety.meta.part('restore', 'operation')} {safety.id}"


def _target(safety: Checkpoint) -> str:
    return safety.meta.part("restore", "target") or ""
