"""Which files may have changed although git, which looks at whole seconds only, cannot tell."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

COARSE = 2
"""Seconds for which a file that changes again may look the same, where a clock is so coarse."""
# In seconds: how far the clock of a file system may be behind ours.
_CLOCKS_DIFFER = 0.05


def reading_begins() -> float:
    """The present moment, in seconds since 1970, as a file system may have it that is behind."""
    return time.time() - _CLOCKS_DIFFER


def changed_since(
    worktree: str, moment: float, paths: Iterable[str], *, before: float = math.inf
) -> Iterator[str]:
    """The files whose status changed at a moment or later, although they claim to be older.

    Of two changes within one second git sees only the first, if the size stays, and if the file is
    given its old time of modification back; the time of the change of status cannot be set.

    Args:
        worktree: the top of the worktree.
        moment: in seconds since 1970.
        paths: the files.
        before: they must claim to be from before this, in seconds since 1970.
    """
    for path in paths:
        with suppress(OSError):
            found = os.lstat(f"{worktree}/{path}")
            if found.st_ctime >= moment and found.st_mtime < before:
                yield path
