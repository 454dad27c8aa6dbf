"""Drop checkpoints, unless an interrupted restore or `undo` needs them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.catalog import SAFETY, Catalog, Checkpoint
from git_boocode.checkpoints.history import undoable
from git_boocode.checkpoints.retention import (
    PATIENCE,
    beside_restores,
    chains,
    interrupted,
    needed_to_undo,
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
    with beside_restores(repository, PATIENCE):
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
    needed = [identifier for identifier in ids if identifier in reasons]
    if not needed:
        return
    first, *others = needed
    more = f", and so are {len(others)} more of them" if others else ""
    raise RefusedError(
        f"checkpoint '{first}' is needed: {reasons[first]}{more}",
        code="needed",
        hints=(
            "nothing was dropped",
            "--even-needed drops it all the same; that way back is then lost or incomplete",
        ),
        details={"needed": [{"id": each, "reason": reasons[each]} for each in needed]},
    )


def _needed(
    repository: Repository, catalog: Catalog, going: Collection[str]
) -> Iterator[tuple[str, str]]:
    """What must not go, and why; of several reasons for the same the last counts."""
    entries = catalog.entries(catalog.store.refs(SAFETY))
    safety = [entry for entry in entries if isinstance(entry, Checkpoint)]
    for worktree in {entry.worktree_name for entry in safety}:
        own = [entry for entry in safety if entry.worktree_name == worktree]
        yield from _reviving(own, going)
        live = needed_to_undo(own)
        for entry in own:
            if entry.id in live:
                yield _target(entry), f"undoing the restore {entry.id} compares files with it"
        for identifier in live:
            yield identifier, "'git boocode undo' goes back by it"
    never_ended = interrupted(repository)
    for entry in safety:
        if entry.id in never_ended:
            yield _target(entry), f"the interrupted restore {entry.id} was on its way to it"
    for identifier in never_ended:
        yield identifier, "it is the state before an interrupted restore"


def _reviving(safety: list[Checkpoint], going: Collection[str]) -> Iterator[tuple[str, str]]:
    """Those without which something that has been undone would count as not undone."""
    rest = [entry for entry in safety if entry.id not in going]
    before, after = (
        {operation.safety.id for operation in undoable(each)} for each in (safety, rest)
    )
    for chain in chains(safety):
        names = [entry.id for entry in chain]
        for revived in (after - before).intersection(names):
            for name in names:
                if name in going:
                    yield name, f"without it, the restore {revived} would not count as undone"


def _target(safety: Checkpoint) -> str:
    return safety.meta.part("restore", "target") or ""
