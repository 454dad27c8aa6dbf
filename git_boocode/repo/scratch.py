"""Private files of one process, below the git directory, and the lock of a worktree."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import LOCKS

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, *, shared: bool) -> bool:
        # Windows has no shared form; taking turns is stricter than needed, and safe.
        del shared
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int, *, shared: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# Set for the commands of a restore's callback: the id of that restore.
INSIDE_RESTORE = "GIT_BOOCODE_RESTORE"

# The name of the note, below a worktree's private directory, that an edit is being written.
EDIT_NOTE = "edit-in-progress"

_PREFIX = "tmp-"
_MAKING = "new-"
_GUARD = "alive"


@contextmanager
def scratch_directory(state_dir: str) -> Iterator[str]:
    """A directory for this process alone, removed afterwards; what killed ones left goes too.

    The directory is guarded by a file lock, which dies with its process: another process can tell
    a leftover from one in use.

    Args:
        state_dir: where to make it; created if it is missing.
    """
    os.makedirs(state_dir, exist_ok=True)
    sweep(state_dir)
    path = os.path.join(state_dir, f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}")
    # Made and locked under a name that no sweep looks for, so that none can come in between.
    making = os.path.join(state_dir, f"{_MAKING}{os.path.basename(path)}")
    os.mkdir(making, 0o700)
    guard = os.open(os.path.join(making, _GUARD), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _try_lock(guard, shared=False)
        os.rename(making, path)
        yield path
    finally:
        os.close(guard)
        _remove(path)
        _remove(making)


def sweep(state_dir: str) -> None:
    """Remove what killed processes left, a lock of the index that is provably theirs included.

    Args:
        state_dir: the worktree's private directory.
    """
    for path in leftovers(state_dir):
        if leftover_index_lock(state_dir, path):
            with suppress(OSError):
                os.unlink(_index_lock(state_dir))
        _remove(path)


def _remove(directory: str) -> None:
    # Not `shutil.rmtree`: it takes longer to import than to use.
    for path, directories, files in os.walk(directory, topdown=False):
        for name in files:
            with suppress(OSError):
                os.unlink(os.path.join(path, name))
        for name in directories:
            _remove_directory(os.path.join(path, name))
    _remove_directory(directory)


def _remove_directory(path: str) -> None:
    with suppress(OSError):
        if os.path.islink(path):
            os.unlink(path)
        else:
            os.rmdir(path)


def leftovers(state_dir: str) -> list[str]:
    """The directories that killed processes left.

    Args:
        state_dir: the worktree's private directory; it need not exist.
    """
    names = os.listdir(state_dir) if os.path.isdir(state_dir) else []
    paths = {os.path.join(state_dir, name): name for name in sorted(names)}
    return [path for path, name in paths.items() if _is_leftover(name, path)]


def leftover_index_lock(state_dir: str, leftover: str) -> bool:
    """Whether the index's lock is a hard link to a file that a killed process left.

    Args:
        state_dir: the worktree's private directory.
        leftover: what the process left, one of `leftovers`.
    """
    lock = _index_lock(state_dir)
    with suppress(OSError):
        mine = (os.path.join(leftover, name) for name in os.listdir(leftover))
        return any(os.path.samefile(path, lock) for path in mine)
    return False


def _index_lock(state_dir: str) -> str:
    return os.path.join(os.path.dirname(state_dir), "index.lock")


def _is_leftover(name: str, path: str) -> bool:
    if name.startswith(_MAKING):
        return _older_than(path, seconds=60)
    return name.startswith(_PREFIX) and not _in_use(path)


def _in_use(path: str) -> bool:
    try:
        guard = os.open(os.path.join(path, _GUARD), os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not _try_lock(guard, shared=False)
    finally:
        os.close(guard)


def _older_than(path: str, *, seconds: float) -> bool:
    with suppress(OSError):
        return time.time() - os.stat(path).st_mtime > seconds
    return False


def inside_restore(state_dir: str) -> bool:
    """Whether a callback runs this, and the restore that called it is still at work here.

    What a callback starts may outlive the restore, such as an agent's server, or turn to another
    repository, and the variable goes with it.

    Args:
        state_dir: the worktree's private directory.
    """
    if not os.environ.get(INSIDE_RESTORE):
        return False
    descriptor = _open_lock(state_dir)
    try:
        return not _try_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _open_lock(state_dir: str) -> int:
    os.makedirs(state_dir, exist_ok=True)
    return os.open(os.path.join(state_dir, "lock"), os.O_RDWR | os.O_CREAT, 0o600)


@contextmanager
def worktree_lock(state_dir: str, *, shared: bool, patience: float) -> Iterator[None]:
    """Hold the lock of a worktree: restores alone, captures beside each other.

    What a restore's callback runs is covered by the lock of that restore, and takes none.

    Args:
        state_dir: the worktree's private directory.
        shared: whether others may hold it so too.
        patience: how many seconds to wait for it.

    Raises:
        RefusedError: someone else held it for longer (`locked`).
    """
    if inside_restore(state_dir):
        yield
        return
    descriptor = _open_lock(state_dir)
    try:
        _wait_for(descriptor, shared=shared, patience=patience)
        if not shared:
            LOCKS.add(descriptor)
        yield
    finally:
        LOCKS.discard(descriptor)
        os.close(descriptor)


def _wait_for(descriptor: int, *, shared: bool, patience: float) -> None:
    deadline = time.monotonic() + patience
    while not _try_lock(descriptor, shared=shared):
        if time.monotonic() > deadline:
            raise RefusedError(
                "another git boocode command is at work in this worktree",
                code="locked",
                hints=("wait for it to end, then try again",),
            )
        time.sleep(0.02)
