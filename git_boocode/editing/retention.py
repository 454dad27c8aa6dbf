"""How long records of edits are kept."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.editing.records import EditRecord, UnusableRecord

KEEP = 1_000
"""Records kept of each worktree, unless `boocode.keepEdits` says otherwise."""
MAX_AGE = 30 * 86_400.0
"""Seconds that a record is kept, unless `boocode.editsMaxAge` says otherwise."""
_EVERY = 64


class Limits(NamedTuple):
    """What is kept.

    Attributes:
        keep: so many of the newest records of each worktree.
        max_age: records older than so many seconds go; None keeps them whatever their age.
    """

    keep: int = KEEP
    max_age: float | None = MAX_AGE

    @classmethod
    def configured(cls, repository: Repository) -> Limits:
        """The limits that are configured.

        Raises:
            FatalError: a setting makes no sense (`bad_config`).
        """
        config = repository.config
        return cls(
            config.integer("boocode.keepEdits", default=KEEP, least=1),
            config.age("boocode.editsMaxAge", default=MAX_AGE),
        )


def prune_edits(
    repository: Repository,
    limits: Limits | None = None,
    *,
    now: float | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Delete the records that are beyond the limits, of all worktrees.

    What an interrupted edit of any worktree needs stays.

    Args:
        repository: where they are.
        limits: what is kept; by default what is configured.
        now: the time, in seconds since 1970; by default the current one.
        dry_run: only say which records would go.

    Returns:
        Their ids, newest first.

    Raises:
        FatalError: a setting makes no sense (`bad_config`).
        RefusedError: a record was changed or deleted by someone else meanwhile (`conflict`).
    """
    from git_boocode.editing.record import EDITS
    from git_boocode.editing.records import Records
    from git_boocode.repo.store import RefChange

    limits = Limits.configured(repository) if limits is None else limits
    records = Records(repository)
    refs = records.store.refs(EDITS)
    targets = {ref.name: ref.target for ref in refs}
    needed = set(_needed(repository))
    beyond = _beyond(records.entries(refs), limits, time.time() if now is None else now)
    going = [ref for ref in beyond if _id(ref) not in needed]
    if going and not dry_run:
        records.store.update_refs([RefChange(ref, None, targets[ref]) for ref in going])
    return [_id(ref) for ref in going]


def prune_now_and_then(repository: Repository, identifier: str) -> None:
    """Prune after one call in 64, chosen by the random end of its record's id.

    The call itself has succeeded, so nothing that is wrong here makes it fail; `prune_edits` says.
    """
    if int(identifier[-2:], 16) % _EVERY == 0:
        with suppress(BoocodeError, OSError):
            prune_edits(repository)


def _beyond(
    entries: Iterator[EditRecord | UnusableRecord], limits: Limits, now: float
) -> Iterator[str]:
    """The refs that are to go; `entries` come newest first."""
    from git_boocode.editing.records import EditRecord

    kept: Counter[str] = Counter()
    for entry in entries:
        if _is_old(entry.ref, limits, now):
            yield entry.ref
        elif isinstance(entry, EditRecord):
            kept[entry.worktree_name] += 1
            if kept[entry.worktree_name] > limits.keep:
                yield entry.ref


def _is_old(ref: str, limits: Limits, now: float) -> bool:
    from git_boocode.repo.ids import ID, id_time

    # What has another name than ours have is not ours to judge.
    if limits.max_age is None or not ID.fullmatch(_id(ref)):
        return False
    return id_time(_id(ref)) < now - limits.max_age


def _id(ref: str) -> str:
    return ref.rpartition("/")[2]


def _needed(repository: Repository) -> Iterator[str]:
    """The records of edits that were interrupted, in whichever worktree."""
    from git_boocode.editing.journal import noted_record

    linked = os.path.join(repository.common_dir, "worktrees")
    names = os.listdir(linked) if os.path.isdir(linked) else []
    for git_dir in (repository.common_dir, *(os.path.join(linked, name) for name in names)):
        record = noted_record(os.path.join(git_dir, "boocode"))
        if record is not None:
            yield record
