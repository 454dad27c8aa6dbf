"""Pruning once a day, after a checkpoint, and the note of it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from git_boocode.repo.durable import is_regular, make_state_dir, read_private, write_private
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.gc import pack_many_refs
from git_boocode.repo.layout import PRUNING_STAMP
from git_boocode.repo.lock import INSIDE_RESTORE
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.retention import Expired, Rules

_DAY = 86_400.0


def prune_daily(repository: Repository) -> None:
    """Prune all worktrees once a day, and pack refs if many are loose.

    Errors do not make the caller's checkpoint fail; `last_prune_failure` reports them.
    """
    # On a full disk, not even the failure can be stored; the next checkpoint tries again.
    with suppress(OSError):
        stamp = os.path.join(repository.common_state_dir, PRUNING_STAMP)
        due = not is_regular(stamp)
        # A time in the future, from a wrong clock, must not postpone pruning for ever.
        due = due or not -_DAY < time.time() - os.stat(stamp).st_mtime < _DAY
        if not due or os.environ.get(INSIDE_RESTORE):
            return
        # Store the time first, so that parallel checkpoints do not prune as well.
        _note(repository)
        try:
            prune_everywhere(repository, patience=0)
            pack_many_refs(repository)
        except RefusedError:
            # Another command holds a lock; the next day's checkpoint tries again.
            return
        except (BoocodeError, OSError) as error:
            reason = error.message if isinstance(error, BoocodeError) else str(error)
            _note(repository, reason)


def prune_everywhere(
    repository: Repository, rules: Rules | None = None, patience: float | None = None
) -> list[Expired]:
    """Prune all worktrees, see `retention.prune`, and note that."""
    # Not before: a checkpoint usually has nothing to prune.
    from git_boocode.checkpoints.store import retention

    patience = retention.PATIENCE if patience is None else patience
    gone = retention.prune(repository, rules, everywhere=True, patience=patience)
    _note(repository)
    return gone


def _note(repository: Repository, failure: str = "") -> None:
    """Record that checkpoints were pruned just now, or why that failed."""
    make_state_dir(repository.common_state_dir)
    stamp = os.path.join(repository.common_state_dir, PRUNING_STAMP)
    write_private(stamp, failure.encode("utf-8", "replace"), to_disk=False)


def last_prune_failure(repository: Repository) -> str | None:
    """Why the latest daily pruning failed; None if it succeeded."""
    data = read_private(os.path.join(repository.common_state_dir, PRUNING_STAMP))
    return data.decode("utf-8", "replace") if data else None
