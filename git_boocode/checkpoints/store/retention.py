"""How long checkpoints are kept, and which of them may go at all.

Checkpoints go by number and age, safety checkpoints by an age of their own, and with them what
their restore archived. A restore and what undid or redid it since form a chain, which goes as a
whole: `undo` reads history out of the safety checkpoints, and half a chain would tell it something
else. What an interrupted restore needs stays in any case.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from git_boocode.checkpoints.restore import journal
from git_boocode.checkpoints.store.catalog import (
    ARCHIVE,
    CHECKPOINTS,
    SAFETY,
    Catalog,
    Checkpoint,
    Unusable,
)
from git_boocode.checkpoints.store.last_pruning import note_pruning
from git_boocode.repo.repository import Repository
from git_boocode.repo.retention import DAY, TOO_OLD, Limits, Owned, is_older, patiently
from git_boocode.repo.scratch import worktree_lock
from git_boocode.repo.store import Ref, RefChange

DEFAULTS = Limits(keep=1_000, max_age=90 * DAY)
"""What is kept unless `boocode.keep` and `boocode.maxAge` say otherwise."""
SAFETY_MAX_AGE = 30 * DAY
"""Seconds that a safety checkpoint is kept, unless `boocode.safetyMaxAge` says otherwise."""
PATIENCE = 10.0
"""Seconds to wait for a restore, which may be on its way to what is to go."""
KINDS = {CHECKPOINTS: "checkpoint", SAFETY: "safety", ARCHIVE: "archived"}


class Rules(NamedTuple):
    """What is kept.

    Attributes:
        checkpoints: the limits of checkpoints.
        safety_max_age: the age of safety checkpoints and of what their restores archived, in
            seconds; None for no limit.
    """

    checkpoints: Limits
    safety_max_age: float | None

    @classmethod
    def configured(cls, repository: Repository) -> Rules:
        """The rules that are configured.

        Raises:
            FatalError: a setting makes no sense (`bad_config`).
        """
        config = repository.config
        return cls(
            DEFAULTS.configured(config, "boocode.keep", "boocode.maxAge"),
            config.age("boocode.safetyMaxAge", default=SAFETY_MAX_AGE),
        )


class Beyond(NamedTuple):
    """A ref that is beyond the limits.

    Attributes:
        ref: it.
        kind: `checkpoint`, `safety` or `archived`.
        why: `too_old` or `too_many`.
        entry: what it holds.
    """

    ref: Ref
    kind: str
    why: str
    entry: Checkpoint | Unusable


class Survey:
    """All checkpoints of a repository, of every kind but the fetched ones, newest first.

    Attributes:
        found: the refs with what they hold, by the beginning of their names.
        interrupted: the ids of the safety checkpoints of restores that never ended.
    """

    def __init__(self, repository: Repository, catalog: Catalog, refs: Sequence[Ref]) -> None:
        self._repository = repository
        entries = zip(refs, catalog.entries(refs), strict=True)
        self.found: dict[str, list[tuple[Ref, Checkpoint | Unusable]]] = {
            beginning: [] for beginning in KINDS
        }
        for ref, whole in entries:
            entry, beginning = whole, _beginning(ref)
            # Of safety checkpoints alone, more than the label and the worktree is needed.
            if beginning != SAFETY and isinstance(entry, Checkpoint):
                entry = entry.reduced()
            self.found[beginning].append((ref, entry))
        self.interrupted = interrupted(repository)

    @property
    def safety(self) -> list[Checkpoint]:
        """The safety checkpoints that can be read, newest first."""
        return [entry for _, entry in self.found[SAFETY] if isinstance(entry, Checkpoint)]

    def beyond(self, rules: Rules, now: float, worktree: str | None) -> Iterator[Beyond]:
        """What is beyond the rules and needed by nothing.

        Args:
            rules: what is kept.
            now: the time, in seconds since 1970.
            worktree: the key of the only worktree to look at; None for all, and for what cannot
                be read, of which nobody knows whose it is.
        """
        old = self._old_safety(rules, now, worktree)
        kept = [entry for entry in self.safety if entry.id not in old]
        needed = {entry.meta.part("restore", "target") for entry in kept}
        found = (
            *self._beyond_limits(rules.checkpoints, now, worktree),
            *(
                Beyond(ref, KINDS[SAFETY], TOO_OLD, entry)
                for ref, entry in self.found[SAFETY]
                if ref.id in old
            ),
            *self._without_restore(rules, now, worktree, old),
        )
        yield from (beyond for beyond in found if beyond.ref.id not in needed)

    def _beyond_limits(self, limits: Limits, now: float, worktree: str | None) -> Iterator[Beyond]:
        wanted = [pair for pair in self.found[CHECKPOINTS] if _is_wanted(pair[1], worktree)]
        entries = {ref.name: entry for ref, entry in wanted}
        owned = (Owned(ref, _worktree(entry)) for ref, entry in wanted)
        # A worktree that is there keeps a last checkpoint, however long nobody has worked in it.
        spared = {*self._repository.worktree_keys(), *self._repository.worktree_names()}
        for ref, why in limits.beyond(owned, now, spared=spared):
            yield Beyond(ref, KINDS[CHECKPOINTS], why, entries[ref.name])

    def _without_restore(
        self, rules: Rules, now: float, worktree: str | None, old: set[str]
    ) -> Iterator[Beyond]:
        """What was archived by restores that are old, and go too or have gone already."""
        staying = {ref.id for ref, _ in self.found[SAFETY]} - old
        for ref, entry in self.found[ARCHIVE]:
            restore = restore_of(ref)
            if restore in staying or not is_older(restore, rules.safety_max_age, now):
                continue
            if _is_wanted(entry, worktree):
                yield Beyond(ref, KINDS[ARCHIVE], TOO_OLD, entry)

    def _old_safety(self, rules: Rules, now: float, worktree: str | None) -> set[str]:
        """The ids of the safety checkpoints that go."""

        def may_go(entry: Checkpoint | Unusable) -> bool:
            name = entry.ref.rpartition("/")[2]
            old = is_older(name, rules.safety_max_age, now) and name not in self.interrupted
            return old and _is_wanted(entry, worktree)

        unread = [pair for pair in self.found[SAFETY] if isinstance(pair[1], Unusable)]
        return {ref.id for ref, entry in unread if may_go(entry)} | whole_chains(
            self.safety, may_go
        )


def interrupted(repository: Repository) -> set[str]:
    """The ids of the safety checkpoints of restores that never ended, in whichever worktree."""
    found = map(journal.interrupted, repository.state_dirs())
    return {identifier for identifier in found if identifier is not None}


def restore_of(archived: Ref) -> str:
    """The id of the restore that archived a checkpoint."""
    return archived.name.removeprefix(ARCHIVE).partition("/")[0]


def chains(safety: Iterable[Checkpoint]) -> list[list[Checkpoint]]:
    """Safety checkpoints, those together that tell of each other.

    The one of an undo names that of what it undid, that of a redo the one of the undo, and so on.

    Args:
        safety: the safety checkpoints, newest first.
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
    return list({id(chain): chain for chain in chain_of.values()}.values())


def whole_chains(safety: Iterable[Checkpoint], may_go: Callable[[Checkpoint], bool]) -> set[str]:
    """The ids of the safety checkpoints that may go, those only whose whole chain may.

    Args:
        safety: the safety checkpoints, newest first.
        may_go: whether one may go by itself.
    """
    going = (chain for chain in chains(safety) if all(map(may_go, chain)))
    return {entry.id for chain in going for entry in chain}


def prune(
    repository: Repository,
    rules: Rules | None = None,
    *,
    everywhere: bool = False,
    dry_run: bool = False,
    now: float | None = None,
    patience: float = PATIENCE,
) -> list[Beyond]:
    """Delete the checkpoints that are beyond the rules and that nothing needs.

    Args:
        repository: where they are.
        rules: what is kept; by default what is configured.
        everywhere: those of all worktrees, also of those that are gone, not of this one alone.
        dry_run: only say what would go.
        now: the time, in seconds since 1970; by default the current one.
        patience: how many seconds to wait for a restore to end.

    Returns:
        What has gone, checkpoints first, newest first.

    Raises:
        FatalError: a setting makes no sense (`bad_config`).
        RefusedError: a restore is at work (`locked`), or someone else keeps changing the same refs
            (`conflict`).
    """
    rules = Rules.configured(repository) if rules is None else rules
    now = time.time() if now is None else now
    worktree = None if everywhere else repository.worktree_key
    with beside_restores(repository, patience, looking=dry_run):
        if dry_run:
            return _beyond(repository, rules, now, worktree)
        going = patiently(lambda: _delete(repository, _beyond(repository, rules, now, worktree)))
    if everywhere:
        note_pruning(repository, "")
    return going


@contextmanager
def beside_restores(
    repository: Repository, patience: float, *, looking: bool = False
) -> Iterator[None]:
    """Keep restores from beginning, in every worktree, while refs are deleted; captures go on.

    Args:
        repository: the repository.
        patience: how many seconds to wait for one that is at work.
        looking: whether nothing is to be deleted after all.

    Raises:
        RefusedError: one was at work for longer (`locked`).
    """
    with ExitStack() as held:
        for state_dir in repository.state_dirs():
            # Where there is none, nothing of ours has ever run.
            if os.path.isdir(state_dir):
                held.enter_context(
                    worktree_lock(state_dir, shared=True, patience=patience, looking=looking)
                )
        yield


def _beyond(repository: Repository, rules: Rules, now: float, worktree: str | None) -> list[Beyond]:
    catalog = Catalog(repository)
    refs = catalog.store.refs(*KINDS)
    if not _worth_reading(refs, rules, now):
        return []
    return list(Survey(repository, catalog, refs).beyond(rules, now, worktree))


def _worth_reading(refs: list[Ref], rules: Rules, now: float) -> bool:
    """Whether anything could be beyond the rules, by the names of the refs alone."""
    keep, max_age = rules.checkpoints
    checkpoints = [ref for ref in refs if ref.name.startswith(CHECKPOINTS)]
    if 0 < keep < len(checkpoints):
        return True
    if any(is_older(ref.id, max_age, now) for ref in checkpoints):
        return True
    restores = [ref.id for ref in refs if ref.name.startswith(SAFETY)]
    restores += [restore_of(ref) for ref in refs if ref.name.startswith(ARCHIVE)]
    return any(is_older(identifier, rules.safety_max_age, now) for identifier in restores)


def _delete(repository: Repository, going: list[Beyond]) -> list[Beyond]:
    # If git is killed on the way, an undo may be left without its restore, which means nothing, but
    # no restore without the undo that tells that it has been undone, nor without what it archived.
    ordered = sorted(going, key=lambda beyond: (beyond.kind != KINDS[SAFETY], beyond.ref.id))
    changes = [RefChange(beyond.ref.name, None, beyond.ref.target) for beyond in ordered]
    Catalog(repository).store.update_refs(changes)
    return going


def _beginning(ref: Ref) -> str:
    return next(beginning for beginning in KINDS if ref.name.startswith(beginning))


def _worktree(entry: Checkpoint | Unusable) -> str | None:
    return entry.meta.worktree_key if isinstance(entry, Checkpoint) else None


def _is_wanted(entry: Checkpoint | Unusable, worktree: str | None) -> bool:
    if isinstance(entry, Unusable):
        # Nobody but a newer version knows what its checkpoints are worth.
        return worktree is None and entry.why.code != "newer"
    return worktree in (None, entry.meta.worktree_key)
