"""Prune and pack refs once a day, without anyone having to wait for it or to fail because of it."""

from __future__ import annotations

import os
from contextlib import suppress

from git_boocode.checkpoints.store.last_pruning import is_due, note_pruning
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import INSIDE_RESTORE


def prune_now_and_then(repository: Repository) -> None:
    """Prune once a day, all worktrees, and pack what is left if that is very much.

    What called this has succeeded, so nothing that is wrong here makes it fail; it is noted for
    `last_failure`. All but once a day it takes one look at one file.
    """
    # Nothing can be noted on a full disk; tomorrow is another day.
    with suppress(OSError):
        if os.environ.get(INSIDE_RESTORE) or not is_due(repository):
            return
        # At once, so that of several at the same time only one does it.
        note_pruning(repository, "")
        try:
            _prune(repository)
        except RefusedError:
            # Someone else was at work, and will not be tomorrow.
            return
        except (BoocodeError, OSError) as error:
            said = error.message if isinstance(error, BoocodeError) else str(error)
            note_pruning(repository, said)


def _prune(repository: Repository) -> None:
    # Every checkpoint asks whether it is time; only one a day has to load what does it.
    from git_boocode.checkpoints.store.retention import prune
    from git_boocode.repo.packing import pack_many_refs

    prune(repository, everywhere=True, patience=0)
    pack_many_refs(repository)
