"""How long checkpoints are kept, which of them may go at all, and how they are deleted.

Checkpoints go by number and age, safety checkpoints by an age of their own, and with them what
their restore archived. A restore and what undid or redid it since form a chain, which goes as a
whole: `undo` reads history out of the safety checkpoints, and half a chain would mean something
else. What an interrupted restore needs stays in any case.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from git_boocode.checkpoints.restore.operation import needed_safety_ids, read_history
from git_boocode.checkpoints.store.catalog import ARCHIVE, CHECKPOINTS, SAFETY, Catalog, Checkpoint
from git_boocode.checkpoints.store.commit import note_pruning
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.lock import interrupted_restore, worktree_lock
from git_boocode.repo.metadata import DAY, TOO_OLD, Limits, Metadata, Unusable, is_older, patiently
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref, RefChange

DEFAULTS = Limits(keep=1_000, max_age=90 * DAY)
"""What is kept unless `boocode.keep` and `boocode.maxAge` say otherwise."""
SAFETY_MAX_AGE = 30 * DAY
"""Seconds that a safety checkpoint is kept, unless `boocode.safetyMaxAge` says otherwise."""
PATIENCE = 10.0
"""Seconds to wait for a restore, which may be on its way to what is to go."""
_USED = ("kind", "label", "worktree", "restore")
KINDS = {CHECKPOINTS: "checkpoint", SAFETY: "safety", ARCHIVE: "archived"}


class Rules(NamedTuple):
    """What is kept.

    `safety_max_age`, in seconds and None for no limit, is the age of safety checkpoints and of what
    their restores archived.
    """

    checkpoints: Limits
    safety_max_age: float | None

    @classmethod
    def configured(cls, repository: Repository) -> Rules:
        """The rules that are configured; FatalError (`bad_config`) if a setting makes no sense."""
        config = repository.config
        return cls(
            DEFAULTS.configured(config, "boocode.keep", "boocode.maxAge"),
            config.age("boocode.safetyMaxAge", default=SAFETY_MAX_AGE),
        )


class Expired(NamedTuple):
    """A ref beyond the limits: its kind as in `KINDS`, `too_old` or `too_many`, what it holds."""

    ref: Ref
    kind: str
    why: str
    entry: Checkpoint | Unusable | None = None


class Dropped(NamedTuple):
    """A checkpoint that was dropped: its id, its commit, the names of all its refs."""

    id: str
    commit: str
    refs: list[str]


def prune(
    repository: Repository,
    rules: Rules | None = None,
    *,
    everywhere: bool = False,
    dry_run: bool = False,
    now: float | None = None,
    patience: float = PATIENCE,
) -> list[Expired]:
    """Delete the checkpoints beyond the rules, by default the configured ones, that nothing needs.

    With `everywhere` also those of other worktrees, and of worktrees that are gone. `now` is in
    seconds since 1970; `patience` is how many seconds to wait for a restore to end.

    Raises FatalError if a setting makes no sense (`bad_config`), and RefusedError if a restore is
    at work (`locked`) or others keep changing the same refs (`conflict`).
    """
    rules = Rules.configured(repository) if rules is None else rules
    now = time.time() if now is None else now
    catalog = Catalog(repository)
    worktree = None if everywhere else repository.worktree_key

    def look() -> list[Expired]:
        return _expired(catalog, rules, now, worktree)

    def delete() -> list[Expired]:
        going = look()
        # If git is killed on the way, an undo may be left without its restore, which means nothing;
        # but no restore without the undo that shows it was undone, or without what it archived.
        ordered = sorted(going, key=lambda expired: (expired.kind != KINDS[SAFETY], expired.ref.id))
        changes = [RefChange(expired.ref.name, None, expired.ref.target) for expired in ordered]
        catalog.store.update_refs(changes)
        return going

    with _blocking_restores(repository, patience, looking=dry_run):
        going = look() if dry_run else patiently(delete)
    if everywhere and not dry_run:
        note_pruning(repository)
    return going


def _expired(catalog: Catalog, rules: Rules, now: float, worktree: str | None) -> list[Expired]:
    """What is beyond the rules and needed by nothing, checkpoints first, newest first.

    With the key of a worktree, only its own; without, also what cannot be read, of which nobody
    knows whose it is.
    """
    repository, refs = catalog.repository, catalog.store.refs(*KINDS)
    found = {ref: _slim(entry) for ref, entry in zip(refs, catalog.entries(refs), strict=True)}
    of_kind = {kind: [ref for ref in refs if ref.name.startswith(kind)] for kind in KINDS}
    interrupted_ids = interrupted(repository)

    def is_wanted(entry: Checkpoint | Unusable) -> bool:
        if isinstance(entry, Unusable):
            # Nobody but a newer version knows what its checkpoints are worth.
            return worktree is None and entry.why.code != "newer"
        return worktree in (None, entry.meta.worktree_key)

    def may_go(entry: Checkpoint | Unusable) -> bool:
        old = is_older(entry.id, rules.safety_max_age, now)
        return old and entry.id not in interrupted_ids and is_wanted(entry)

    safety = [found[ref] for ref in of_kind[SAFETY]]
    readable = [entry for entry in safety if isinstance(entry, Checkpoint)]
    unread = {entry.id for entry in safety if isinstance(entry, Unusable) and may_go(entry)}
    going = whole_chains(readable, may_go) | unread
    staying = {entry.id for entry in safety} - going
    owned = (
        (ref, entry.meta.worktree_key if isinstance(entry, Checkpoint) else None)
        for ref in of_kind[CHECKPOINTS]
        if is_wanted(entry := found[ref])
    )
    # A worktree that is there keeps a last checkpoint, however long nobody has worked in it.
    spared = repository.worktree_keys()
    why = dict(rules.checkpoints.beyond(owned, now, spared=spared))
    why |= {ref: TOO_OLD for ref in of_kind[SAFETY] if ref.id in going}
    for ref in of_kind[ARCHIVE]:
        restore = restore_of(ref)
        old = restore not in staying and is_older(restore, rules.safety_max_age, now)
        if old and is_wanted(found[ref]):
            why[ref] = TOO_OLD
    targets = {_target(entry) for entry in readable if entry.id in staying}
    return [
        Expired(ref, name, why[ref], found[ref])
        for kind, name in KINDS.items()
        for ref in of_kind[kind]
        if ref in why and ref.id not in targets
    ]


def drop(
    repository: Repository,
    names: Sequence[str],
    *,
    even_needed: bool = False,
    dry_run: bool = False,
) -> list[Dropped]:
    """Delete the refs of all checkpoints named as for `Catalog.refs_of`, or of none.

    Raises RefusedError if one cannot be found, if an interrupted restore or `undo` needs one
    (`needed`) and not `even_needed`, if a restore is at work (`locked`), or if a ref was changed
    meanwhile (`conflict`).
    """
    with _blocking_restores(repository, PATIENCE, looking=dry_run):
        catalog = Catalog(repository)
        # A checkpoint may have been named twice, by its id and as `@`.
        found = {refs[0].name: refs for refs in map(catalog.refs_of, names)}
        if not even_needed:
            _refuse_needed(catalog, [refs[0].id for refs in found.values()])
        refs = {ref.name: ref for each in found.values() for ref in each}
        if not dry_run:
            changes = [RefChange(ref.name, None, ref.target) for ref in refs.values()]
            catalog.store.update_refs(changes)
    return [
        Dropped(refs[0].id, refs[0].target, [ref.name for ref in refs]) for refs in found.values()
    ]


def _refuse_needed(catalog: Catalog, ids: list[str]) -> None:
    reasons = _needed(catalog, frozenset(ids))
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
            "--even-needed drops it anyway; undo or redo through it will fail",
        ),
        details={"needed": [{"id": each, "reason": reasons[each]} for each in refused]},
    )


def _needed(catalog: Catalog, going: frozenset[str]) -> dict[str, str]:
    """What must not go, by id, and why."""
    entries = catalog.entries(catalog.store.refs(SAFETY))
    safety = [entry for entry in entries if isinstance(entry, Checkpoint)]
    interrupted_ids = interrupted(catalog.repository)
    reasons: dict[str, str] = {}
    for worktree in {entry.meta.worktree_key for entry in safety}:
        own = {entry.id: entry for entry in safety if entry.meta.worktree_key == worktree}
        # Without some of them, others would count that do not: as not undone, or to be redone.
        rest = [entry for entry in own.values() if entry.id not in going]
        for revived in sorted(_active_ids(rest) - _active_ids(own.values())):
            why = f"without it, {revived} would count for undo and redo again"
            reasons |= dict.fromkeys(going & own.keys(), why)
        live = needed_safety_ids(
            [*own.values()], next((each for each in own if each in interrupted_ids), None)
        )
        for entry in (own[each] for each in own if each in live):
            why = f"taking back the {entry.meta.part('restore', 'operation')} {entry.id}"
            reasons[_target(entry)] = f"{why} compares files with it"
        reasons |= dict.fromkeys(live, "'git boocode undo' and 'redo' go by it")
    for entry in safety:
        if entry.id in interrupted_ids:
            reasons[_target(entry)] = f"the interrupted restore {entry.id} was on its way to it"
    return reasons | dict.fromkeys(interrupted_ids, "it is the state before an interrupted restore")


def _active_ids(safety: Iterable[Checkpoint]) -> set[str]:
    """What can be undone and redone."""
    found = read_history(safety)
    return {operation.id for operation in (*found.done, *found.undone)}


def _target(safety: Checkpoint) -> str:
    return safety.meta.part("restore", "target") or ""


@contextmanager
def _blocking_restores(repository: Repository, patience: float, *, looking: bool) -> Iterator[None]:
    """Keep restores from beginning, in every worktree, while refs are deleted; captures go on.

    RefusedError (`locked`) if one is at work for longer than `patience` seconds.
    """
    with ExitStack() as held:
        # Where there is no private directory, git-boocode has never run.
        for state_dir in filter(os.path.isdir, repository.state_dirs()):
            lock = worktree_lock(state_dir, shared=True, patience=patience, looking=looking)
            held.enter_context(lock)
        yield


def interrupted(repository: Repository) -> set[str]:
    """The ids of the safety checkpoints of restores that never ended, in whichever worktree."""
    return set(filter(None, map(interrupted_restore, repository.state_dirs())))


def restore_of(archived: Ref) -> str:
    """The id of the restore that archived a checkpoint."""
    return archived.name.removeprefix(ARCHIVE).partition("/")[0]


def whole_chains(safety: Iterable[Checkpoint], may_go: Callable[[Checkpoint], bool]) -> set[str]:
    """The ids of the safety checkpoints, newest first, whose whole chain may go.

    The one of an undo names that of what it undid, that of a redo the one of the undo, and so on.
    """
    chain_of: dict[str, list[Checkpoint]] = {}
    for entry in reversed(list(safety)):
        chain = chain_of[entry.id] = [entry]
        for named in (entry.meta.part("restore", key) for key in ("of", "target")):
            other = chain_of.get(named or "", chain)
            if other is not chain:
                other += chain
                chain_of.update((each.id, other) for each in chain)
                chain = other
    chains = {id(chain): chain for chain in chain_of.values()}.values()
    return {entry.id for chain in chains if all(map(may_go, chain)) for entry in chain}


def _slim(entry: Checkpoint | Unusable) -> Checkpoint | Unusable:
    """The same with what pruning and its report need: there can be many, with long messages."""
    if isinstance(entry, Unusable):
        return entry
    values = {key: entry.meta.values.get(key) for key in _USED}
    return entry._replace(commit=Commit(entry.commit.id, "", (), ""), meta=Metadata(values))
