"""A callback that runs: if the restore that called it is killed, the next one waits for it.

It would go on to cut the conversation otherwise, after that has been brought back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from git_boocode.repo.durable import is_regular, remove, try_lock

_NAME = "callback-running"
_PAUSE = 0.05


@contextmanager
def noted(state_dir: str) -> Iterator[tuple[int, ...]]:
    """Note that a callback runs, by a lock that ends with it.

    Args:
        state_dir: the worktree's private directory.

    Returns:
        The descriptors that it has to inherit; none where nothing can be noted, for even a full
        disk must not keep the callback from being told.
    """
    path = os.path.join(state_dir, _NAME)
    descriptor = -1
    # A file of its own each time: what an earlier callback has started may hold the last one.
    with suppress(OSError):
        remove(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if descriptor < 0:
        yield ()
        return
    try:
        try_lock(descriptor)
        yield (descriptor,)
    finally:
        os.close(descriptor)
        with suppress(OSError):
            os.unlink(path)


def wait_for_callback(state_dir: str, timeout: float) -> None:
    """Wait for the callback of a killed restore, but not beyond the time that it had.

    Args:
        state_dir: the worktree's private directory; the caller holds its lock.
        timeout: how many seconds a callback has.
    """
    path = os.path.join(state_dir, _NAME)
    if not is_regular(path):
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        end = os.fstat(descriptor).st_mtime + timeout
        # Its own time, and no more than that if the clock was set back.
        end = min(end, time.time() + timeout)
        while not try_lock(descriptor) and time.time() < end:
            time.sleep(_PAUSE)
    finally:
        os.close(descriptor)
    with suppress(OSError):
        os.unlink(path)
