"""Prune and pack refs once a day, without anyone having to wait for it or to fail because of it.

Every checkpoint asks whether it is time, so this module loads nothing of what does it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from git_boocode.repo.durable import is_regular, read_private, write_private
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.lock import INSIDE_RESTORE
from git_boocode.repo.repository import Repository, make_state_dir

_STAMP = "last-prune"
_DAY = 86_400.0


def prune_now_and_then(repository: Repository) -> None:
    """Prune all worktrees once a day, and pack refs if many are loose.

    The caller has succeeded, so no error here makes it fail; it is noted for `last_failure`.
    """
    # Nothing can be noted on a full disk; tomorrow is another day.
    with suppress(OSError):
        if os.environ.get(INSIDE_RESTORE) or not _is_due(repository):
            return
        # At once, so that of several at the same time only one does it.
        note_pruning(repository)
        from git_boocode.checkpoints.store.retention import prune
        from git_boocode.repo.gc import pack_many_refs

        try:
            prune(repository, everywhere=True, patience=0)
            pack_many_refs(repository)
        except RefusedError:
            # Someone else was at work, and will not be tomorrow.
            return
        except (BoocodeError, OSError) as error:
            said = error.message if isinstance(error, BoocodeError) else str(error)
            note_pruning(repository, said)


def note_pruning(repository: Repository, failure: str = "") -> None:
    """Note that checkpoints were pruned just now, or why they could not be."""
    make_state_dir(repository.common_state_dir)
    write_private(_stamp(repository), failure.encode("utf-8", "replace"), to_disk=False)


def last_failure(repository: Repository) -> str | None:
    """Why the latest pruning failed; None if it did not."""
    data = read_private(_stamp(repository))
    return data.decode("utf-8", "replace") if data else None


def _is_due(repository: Repository) -> bool:
    if not is_regular(_stamp(repository)):
        return True
    age = time.time() - os.stat(_stamp(repository)).st_mtime
    # A clock that was wrong must not put it off for ever.
    return not -_DAY < age < _DAY


def _stamp(repository: Repository) -> str:
    return os.path.join(repository.common_state_dir, _STAMP)
