"""Retention: which checkpoints are too many or too old, which are still needed, and deleting them.

Checkpoints are limited by number and age, and so are proposals, which are counted by themselves.
Safety checkpoints, and the checkpoints that their restores archived, have an age limit of their
own. A restore and the undos and redos of it form a
chain, which is deleted as a whole: `undo` reads the history from the safety checkpoints, and a
partial chain would give another history. A restore during a turn is kept as long as the turn, whose
changes it divides. Whatever an interrupted restore needs is kept, and so are
the proposals that undo or redo would bring back. What is left after that is limited in bytes, see
`disk_budget`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from git_boocode.checkpoints.restore.plan import needed_safety_ids, read_history, read_plan
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, tool_states_ref, turn_end_ref
from git_boocode.checkpoints.store.disk_budget import DiskBudget, own_refs
from git_boocode.repo.disk import disk_usage
from git_boocode.repo.durable import make_state_dir, read_private, write_private
from git_boocode.repo.entries import (
    DAY,
    MAX_DISK,
    TOO_LARGE,
    TOO_OLD,
    Limits,
    Metadata,
    Unusable,
    is_older,
)
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.layout import (
    ARCHIVE,
    CHECKPOINTS,
    EDITS,
    PROPOSALS,
    PRUNING_STAMP,
    READS,
    REMOTE_TURN_ENDS,
    REMOTES,
    SAFETY,
    TOOL_STATES,
    TURN_ENDS,
)
from git_boocode.repo.lock import interrupted_restore, worktree_lock
from git_boocode.repo.process import SignalsWait, ignore_signals
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref, RefChange, retry_conflicts

DEFAULTS = Limits(keep=1_000, max_age=90 * DAY)
"""The defaults of `boocode.keep` and `boocode.maxAge`."""
SAFETY_MAX_AGE = 30 * DAY
"""The default of `boocode.safetyMaxAge`, in seconds."""
PATIENCE = 10.0
"""Seconds to wait for a running restore, whose target may be about to be deleted."""
_USED = ("kind", "label", "worktree", "restore")
KINDS = {
    CHECKPOINTS: "checkpoint",
    SAFETY: "safety",
    ARCHIVE: "archived",
    PROPOSALS: "proposal",
}
_ALL_KINDS = {**KINDS, EDITS: "edit", READS: "read"}


class Rules(NamedTuple):
    """The retention limits.

    `safety_max_age` is the maximum age in seconds, None for no limit, of safety checkpoints and of
    the checkpoints that their restores archived. `max_disk` is the maximum size in bytes of all
    that is recorded here, 0 for no limit.
    """

    checkpoints: Limits
    safety_max_age: float | None
    max_disk: int = 0

    @classmethod
    def configured(cls, repository: Repository) -> Rules:
        """The configured rules; FatalError (`bad_config`) if a setting is invalid."""
        config = repository.config
        return cls(
            DEFAULTS.configured(config, "boocode.keep", "boocode.maxAge"),
            config.age("boocode.safetyMaxAge", default=SAFETY_MAX_AGE),
            config.size(MAX_DISK, default=0),
        )


class Expired(NamedTuple):
    """A ref beyond the limits: its kind, why it goes, its checkpoint.

    `kind` is one of `KINDS`, `edit` or `read`; `why` is `too_old`, `too_many` or `too_large`.
    """

    ref: Ref
    kind: str
    why: str
    entry: Checkpoint | Unusable | None = None


class Dropped(NamedTuple):
    """A dropped checkpoint: its id, its commit, the names of all its refs."""

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
    gone: Collection[Ref] = (),
) -> list[Expired]:
    """Delete the checkpoints and proposals beyond the rules, by default the configured ones.

    Those that are needed stay. To hold `max_disk`, edit records and versions that were read are
    deleted, too; what is `gone` does not count. With `everywhere`, also those of other worktrees
    and of deleted worktrees. `now` is in seconds since 1970; `patience` is the number of seconds to
    wait for a running restore.

    Raises FatalError if a setting is invalid (`bad_config`), and RefusedError if a restore is
    running (`locked`) or other processes keep changing the same refs (`conflict`).
    """
    rules = Rules.configured(repository) if rules is None else rules
    now = time.time() if now is None else now
    catalog = Catalog(repository)
    worktree = None if everywhere else repository.worktree_key

    def look() -> list[Expired]:
        expired, needed = _expired(catalog, rules, now, worktree)
        if not rules.max_disk:
            return expired
        budget = DiskBudget(rules.max_disk, now, worktree, needed)
        old = [each.ref for each in expired]
        beyond = budget.beyond(catalog, {*gone, *old, *_ends_of(catalog, old)})
        entries = zip(beyond, catalog.entries(beyond), strict=True)
        return expired + [Expired(ref, _kind_of(ref), TOO_LARGE, _slim(e)) for ref, e in entries]

    def delete() -> list[Expired]:
        going = look()
        # If git is killed halfway, an undo without its restore is harmless. A restore without its
        # undo, or without the checkpoints that it archived, would change the history.
        ordered = sorted(going, key=lambda expired: (expired.kind != KINDS[SAFETY], expired.ref.id))
        changes = [RefChange(expired.ref.name, None, expired.ref.target) for expired in ordered]
        ends = _ends_of(catalog, (expired.ref for expired in going))
        changes += [RefChange(ref.name, None, ref.target) for ref in ends]
        catalog.store.update_refs(changes)
        return going

    with _blocking_restores(repository, patience, read_only=dry_run):
        done = look() if dry_run else retry_conflicts(delete)
    if everywhere and not dry_run:
        note_pruning(repository)
    return done


def _kind_of(ref: Ref) -> str:
    return next(kind for prefix, kind in _ALL_KINDS.items() if ref.name.startswith(prefix))


class Overdraft(NamedTuple):
    """Bytes above the limit: of all that counts, and of what pruning all worktrees would leave."""

    limit: int
    used: int
    left: int


def overdraft(repository: Repository) -> Overdraft | None:
    """Whether what is recorded takes more than `boocode.maxDisk`; None if it does not.

    Raises FatalError if a setting is invalid (`bad_config`), and RefusedError (`locked`) while a
    restore runs.
    """
    rules, refs = Rules.configured(repository), own_refs(repository)
    usage = disk_usage(repository, refs) if rules.max_disk else None
    if usage is None or (used := sum(usage.values())) <= rules.max_disk:
        return None
    going = {each.ref for each in prune(repository, rules, everywhere=True, dry_run=True)}
    going.update(_ends_of(Catalog(repository), going))
    left = disk_usage(repository, [ref for ref in refs if ref not in going], going)
    return Overdraft(rules.max_disk, used, used if left is None else sum(left.values()))


def note_pruning(repository: Repository, failure: str = "") -> None:
    """Record that all worktrees were pruned just now, or why that failed."""
    make_state_dir(repository.common_state_dir)
    stamp = os.path.join(repository.common_state_dir, PRUNING_STAMP)
    write_private(stamp, failure.encode("utf-8", "replace"), to_disk=False)


def last_prune_failure(repository: Repository) -> str | None:
    """Why the latest pruning of all worktrees failed; None if it succeeded."""
    data = read_private(os.path.join(repository.common_state_dir, PRUNING_STAMP))
    return data.decode("utf-8", "replace") if data else None


def _expired(
    catalog: Catalog, rules: Rules, now: float, worktree: str | None
) -> tuple[list[Expired], set[str]]:
    """The refs beyond number and age that nothing needs, newest first, and the ids of what stays.

    These are needed by safety checkpoints that are kept. Checkpoints come first.

    `worktree` is the key of the only worktree to prune; None for all, including unreadable
    checkpoints, whose worktree is unknown.
    """
    repository, refs = catalog.repository, catalog.store.refs(*KINDS)
    found = {ref: _slim(entry) for ref, entry in zip(refs, catalog.entries(refs), strict=True)}
    of_kind = {kind: [ref for ref in refs if ref.name.startswith(kind)] for kind in KINDS}
    interrupted_ids = interrupted(repository)

    def is_wanted(entry: Checkpoint | Unusable) -> bool:
        if isinstance(entry, Unusable):
            # Keep the checkpoints of newer versions.
            return worktree is None and entry.why.code != "newer"
        return worktree in (None, entry.meta.worktree_key)

    # Every existing worktree keeps its newest checkpoint and proposal, however old they are.
    spared = repository.worktree_keys()
    why: dict[Ref, str] = {}
    for kind in (CHECKPOINTS, PROPOSALS):
        owned = (
            (ref, entry.meta.worktree_key if isinstance(entry, Checkpoint) else None)
            for ref in of_kind[kind]
            if is_wanted(entry := found[ref])
        )
        why |= rules.checkpoints.beyond(owned, now, spared=spared)
    kept_turns = {ref.id for ref in of_kind[CHECKPOINTS] if ref not in why}
    ends = [
        (end.meta.worktree_key, end.id, end.meta.text("id"))
        for end in catalog.entries(catalog.store.refs(TURN_ENDS))
        if isinstance(end, Checkpoint) and end.id in kept_turns
    ]

    def may_go(entry: Checkpoint | Unusable) -> bool:
        old = is_older(entry.id, rules.safety_max_age, now)
        old = old and entry.id not in interrupted_ids and is_wanted(entry)
        return old and not divides(entry)

    def divides(entry: Checkpoint | Unusable) -> bool:
        # Without it, what the restore did would count for the turn.
        return isinstance(entry, Checkpoint) and any(
            entry.meta.worktree_key == key and begun < entry.id < end for key, begun, end in ends
        )

    safety = [found[ref] for ref in of_kind[SAFETY]]
    readable = [entry for entry in safety if isinstance(entry, Checkpoint)]
    unread = {entry.id for entry in safety if isinstance(entry, Unusable) and may_go(entry)}
    going = whole_chains(readable, may_go) | unread
    staying = {entry.id for entry in safety} - going
    why |= {ref: TOO_OLD for ref in of_kind[SAFETY] if ref.id in going}
    for ref in of_kind[ARCHIVE]:
        restore = restore_of(ref)
        old = restore not in staying and is_older(restore, rules.safety_max_age, now)
        if old and is_wanted(found[ref]):
            why[ref] = TOO_OLD
    kept = [entry for entry in readable if entry.id in staying]
    needed = {_target(entry) for entry in kept}
    # Undo or redo would bring these proposals back.
    needed |= {step.before for entry in kept if (step := read_plan(entry).proposal)}
    expired = [
        Expired(ref, name, why[ref], found[ref])
        for kind, name in KINDS.items()
        for ref in of_kind[kind]
        if ref in why and ref.id not in needed
    ]
    return expired, needed


def drop(
    repository: Repository,
    names: Sequence[str],
    *,
    even_needed: bool = False,
    dry_run: bool = False,
) -> list[Dropped]:
    """Delete the refs of the named checkpoints (see `Catalog.refs_of`), all or none.

    Raises RefusedError if one cannot be found, if `undo` or an interrupted restore needs one
    (`needed`; not with `even_needed`), if a restore is running (`locked`), or if a ref changed
    meanwhile (`conflict`).
    """
    with _blocking_restores(repository, PATIENCE, read_only=dry_run):
        catalog = Catalog(repository)
        # The same checkpoint may be named twice, for example by its id and as `@`.
        found = {refs[0].name: refs for refs in map(catalog.refs_of, names)}
        if not even_needed:
            _refuse_needed(catalog, [refs[0].id for refs in found.values()])
        refs = {ref.name: ref for each in found.values() for ref in each}
        if not dry_run:
            changes = [RefChange(ref.name, None, ref.target) for ref in refs.values()]
            ends = _ends_of(catalog, refs.values())
            changes += [RefChange(ref.name, None, ref.target) for ref in ends]
            with SignalsWait():
                catalog.store.update_refs(changes)
                ignore_signals()
    return [
        Dropped(refs[0].id, refs[0].target, [ref.name for ref in refs]) for refs in found.values()
    ]


def _ends_of(catalog: Catalog, going: Iterable[Ref]) -> list[Ref]:
    """The ends and the tool states of the turns whose checkpoints are deleted."""
    begun = [ref.name for ref in going if ref.name.startswith((CHECKPOINTS, ARCHIVE, REMOTES))]
    names = set(map(turn_end_ref, begun))
    names.update(tool_states_ref(name) for name in begun if not name.startswith(REMOTES))
    ends = catalog.store.refs(TURN_ENDS, TOOL_STATES, REMOTE_TURN_ENDS) if names else []
    return [ref for ref in ends if ref.name in names]


def _refuse_needed(catalog: Catalog, ids: list[str]) -> None:
    reasons = _needed(catalog, frozenset(ids))
    refused = [identifier for identifier in ids if identifier in reasons]
    if not refused:
        return
    first, *others = refused
    more = f" (and {len(others)} more)" if others else ""
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
    """The reasons to keep checkpoints, by id."""
    entries = catalog.entries(catalog.store.refs(SAFETY))
    safety = [entry for entry in entries if isinstance(entry, Checkpoint)]
    interrupted_ids = interrupted(catalog.repository)
    reasons: dict[str, str] = {}
    for worktree in {entry.meta.worktree_key for entry in safety}:
        own = {entry.id: entry for entry in safety if entry.meta.worktree_key == worktree}
        # Without some of them, undo and redo would find other operations.
        rest = [entry for entry in own.values() if entry.id not in going]
        for revived in sorted(_active_ids(rest) - _active_ids(own.values())):
            why = f"without it, undo and redo would find {revived} again"
            reasons |= dict.fromkeys(going & own.keys(), why)
        live = needed_safety_ids(
            [*own.values()], next((each for each in own if each in interrupted_ids), None)
        )
        for entry in (own[each] for each in own if each in live):
            operation = f"{entry.meta.part('restore', 'operation')} {entry.id}"
            reasons[_target(entry)] = f"undoing the {operation} compares files with it"
        reasons |= dict.fromkeys(live, "'git boocode undo' or 'git boocode redo' needs it")
    for entry in safety:
        if entry.id in interrupted_ids:
            reasons[_target(entry)] = f"it is the target of the interrupted restore {entry.id}"
    return reasons | dict.fromkeys(interrupted_ids, "it is the state before an interrupted restore")


def _active_ids(safety: Iterable[Checkpoint]) -> set[str]:
    """The ids of the operations that can be undone or redone."""
    found = read_history(safety)
    return {operation.id for operation in (*found.done, *found.undone)}


def _target(safety: Checkpoint) -> str:
    return safety.meta.part("restore", "target") or ""


@contextmanager
def _blocking_restores(
    repository: Repository, patience: float, *, read_only: bool
) -> Iterator[None]:
    """Prevent restores in every worktree while refs are deleted; captures are not affected.

    RefusedError (`locked`) if a restore runs for longer than `patience` seconds.
    """
    with ExitStack() as held:
        # Without a private directory, git-boocode has never run in that worktree.
        for state_dir in filter(os.path.isdir, repository.state_dirs()):
            lock = worktree_lock(state_dir, shared=True, patience=patience, read_only=read_only)
            held.enter_context(lock)
        yield


def interrupted(repository: Repository) -> set[str]:
    """The ids of the safety checkpoints of interrupted restores, in all worktrees."""
    return set(filter(None, map(interrupted_restore, repository.state_dirs())))


def restore_of(archived: Ref) -> str:
    """The id of the restore that archived a checkpoint."""
    return archived.name.removeprefix(ARCHIVE).partition("/")[0]


def whole_chains(safety: Iterable[Checkpoint], may_go: Callable[[Checkpoint], bool]) -> set[str]:
    """The ids of the safety checkpoints whose whole chain may be deleted.

    `safety` is newest first. The safety checkpoint of an undo names that of the restore, the one of
    a redo names that of the undo, and so on.
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
    """A copy with only the metadata that pruning needs, to save memory."""
    if isinstance(entry, Unusable):
        return entry
    values = {key: entry.meta.values.get(key) for key in _USED}
    return entry._replace(
        commit=Commit(entry.commit.id, "", (), ""), meta=Metadata(values, entry.meta.mask)
    )
