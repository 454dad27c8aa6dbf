"""How long records of edits are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.repository import Repository
from git_boocode.repo.retention import DAY, Limits, Owned, patiently
from git_boocode.repo.store import Ref

DEFAULTS = Limits(keep=1_000, max_age=30 * DAY)
"""What is kept unless `boocode.keepEdits` and `boocode.editsMaxAge` say otherwise."""
_EVERY = 64


def edits_beyond(
    repository: Repository,
    limits: Limits | None = None,
    *,
    worktree: str | None = None,
    now: float | None = None,
) -> list[tuple[Ref, str]]:
    """The records that are beyond the limits, newest first, each with the reason.

    What an interrupted edit of any worktree needs is not among them. ``limits`` are those that are
    configured unless given. ``worktree`` is the key of the only worktree to look at; by default all
    records count, also unreadable ones. ``now`` is in seconds since 1970. Raises FatalError
    (`bad_config`) for an invalid setting.
    """
    from git_boocode.editing.record import EDITS
    from git_boocode.editing.records import EditRecord, Records

    if limits is None:
        limits = DEFAULTS.configured(repository.config, "boocode.keepEdits", "boocode.editsMaxAge")
    records = Records(repository)
    refs = records.store.refs(EDITS)
    found = (
        Owned(ref, entry.meta.worktree_key if isinstance(entry, EditRecord) else None)
        for ref, entry in zip(refs, records.entries(refs), strict=True)
    )
    wanted = (owned for owned in found if worktree in (None, owned.worktree))
    needed = set(needed_records(repository))
    beyond = limits.beyond(wanted, time.time() if now is None else now)
    return [(ref, why) for ref, why in beyond if ref.id not in needed]


def prune_edits(
    repository: Repository,
    limits: Limits | None = None,
    *,
    worktree: str | None = None,
    now: float | None = None,
) -> list[tuple[Ref, str]]:
    """Delete the records that `edits_beyond` gives for the same arguments, and return them.

    Raises also RefusedError (`conflict`) if other processes keep changing records.
    """
    from git_boocode.repo.store import RefChange, open_store

    def delete() -> list[tuple[Ref, str]]:
        going = edits_beyond(repository, limits, worktree=worktree, now=now)
        changes = [RefChange(ref.name, None, ref.target) for ref, _ in going]
        open_store(repository).update_refs(changes)
        return going

    return patiently(delete)


def prune_now_and_then(repository: Repository, identifier: str) -> None:
    """Prune after one call in 64, chosen by the random end of its record's id.

    The call itself has succeeded, so no error here makes it fail.
    """
    if int(identifier[-2:], 16) % _EVERY == 0:
        with suppress(BoocodeError, OSError):
            prune_edits(repository)


def needed_records(repository: Repository) -> Iterator[str]:
    """The records of edits that were interrupted, in whichever worktree."""
    from git_boocode.editing.recovery import noted_record

    for state_dir in repository.state_dirs():
        record = noted_record(state_dir)
        if record is not None:
            yield record
