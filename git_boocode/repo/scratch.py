"""Private files of one process, below the git directory, and the lock of a worktree.

What only looks works as well where the git directory cannot be written: nothing can change there
meanwhile, so it needs no lock, and its private files may lie elsewhere.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from git_boocode.repo.durable import MAKING, is_blocked, open_private, remove, try_lock
from git_boocode.repo.errors import FatalError, RefusedError, from_os
from git_boocode.repo.repository import make_state_dir

# Set for the commands of a restore's callback: the id of that restore.
INSIDE_RESTORE = "GIT_BOOCODE_RESTORE"

# The name of the note, below a worktree's private directory, that an edit is being written.
EDIT_NOTE = "edit-in-progress"

# How the system refuses to write where nothing may be written.
_SEALED = (errno.EROFS, errno.EACCES, errno.EPERM)

# No two private files of a process get the same name.
_NUMBERS = count()

_PREFIX = "tmp-"
_GUARD = "alive"


def may_write(path: str) -> bool:
    """Whether something can be made in a directory, or in the one where it would be made.

    Args:
        path: the directory; it need not exist.
    """
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


@contextmanager
def elsewhere() -> Iterator[str]:
    """A directory for private files that has nothing to do with the repository, removed later."""
    # Hardly ever needed, and it takes long to import.
    import tempfile

    with tempfile.TemporaryDirectory(prefix="git-boocode-") as path:
        yield os.path.realpath(path)


def fresh_path(path: str) -> str:
    """A path for a private file, beginning like another one, that was never given before."""
    return f"{path}.{next(_NUMBERS)}"


@contextmanager
def scratch_directory(state_dir: str, *, looking: bool = False) -> Iterator[str]:
    """A directory for this process alone, removed afterwards; what killed ones left goes too.

    The directory is guarded by a file lock, which dies with its process: another process can tell
    a leftover from one in use.

    Args:
        state_dir: where to make it; created if it is missing.
        looking: whether nothing is to be changed, so that it may lie elsewhere if need be.

    Raises:
        FatalError: nothing may be written there (`io`).
    """
    if looking and (not may_write(state_dir) or is_blocked(state_dir)):
        with elsewhere() as path:
            yield path
        return
    path = os.path.join(state_dir, f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}")
    # Made and locked under a name that no sweep looks for, so that none can come in between.
    making = os.path.join(state_dir, f"{MAKING}{os.path.basename(path)}")
    with _said_if_sealed(state_dir):
        make_state_dir(state_dir)
        sweep(state_dir)
        os.mkdir(making, 0o700)
    guard = os.open(os.path.join(making, _GUARD), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try_lock(guard)
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


def _remove(path: str) -> None:
    # Another process may be removing it, too.
    with suppress(OSError):
        remove(path)


def leftovers(state_dir: str) -> list[str]:
    """The directories and files that killed processes left.

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
    if name.startswith(MAKING):
        return _older_than(path, seconds=60)
    return name.startswith(_PREFIX) and not _in_use(path)


def _in_use(path: str) -> bool:
    try:
        guard = _open_existing(os.path.join(path, _GUARD))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        return not try_lock(guard)
    finally:
        os.close(guard)


def _open_existing(path: str) -> int:
    """Open a file that is there to lock it, which where it may not be written works as well."""
    try:
        return os.open(path, os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        if error.errno not in _SEALED:
            raise
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


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
    descriptor = _open_lock(state_dir, looking=True)
    if descriptor is None:
        return False
    try:
        return not try_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _open_lock(state_dir: str, *, looking: bool) -> int | None:
    """Open the file to lock; None if there is none, and none can be made, to lock out others."""
    path = os.path.join(state_dir, "lock")
    try:
        with _said_if_sealed(state_dir):
            make_state_dir(state_dir)
            return open_private(path, os.O_RDWR)
    except FatalError:
        if not looking:
            raise
    with suppress(OSError):
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    return None


@contextmanager
def _said_if_sealed(state_dir: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _SEALED:
            raise
        raise _sealed(state_dir, error) from error


def _sealed(state_dir: str, error: OSError) -> FatalError:
    found, git_dir = from_os(error), os.path.dirname(state_dir)
    if may_write(git_dir):
        found.hints += ("see to the owner and the mode of what it names, then run it again",)
    else:
        found.hints += (
            f"'{git_dir}' is not writable; there, only what looks works: log, diff, restore -n",
        )
    return found


@contextmanager
def worktree_lock(
    state_dir: str, *, shared: bool, patience: float, looking: bool = False
) -> Iterator[None]:
    """Hold the lock of a worktree: restores alone, captures beside each other.

    What a restore's callback runs is covered by the lock of that restore, and takes none.

    Args:
        state_dir: the worktree's private directory.
        shared: whether others may hold it so too.
        patience: how many seconds to wait for it.
        looking: whether nothing is to be changed; where no lock can be made, none is needed then.

    Raises:
        RefusedError: someone else held it for longer (`locked`).
        FatalError: the lock cannot be made (`io`).
    """
    if inside_restore(state_dir):
        yield
        return
    descriptor = _open_lock(state_dir, looking=looking)
    if descriptor is None:
        yield
        return
    try:
        _wait_for(descriptor, shared=shared, patience=patience)
        # For git commands that go on if we are killed; see `Git.keeping_locks`.
        os.set_inheritable(descriptor, not shared)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def taking_turns(path: str, *, patience: float) -> Iterator[None]:
    """Let processes do something one after the other; the lock dies with its process.

    Args:
        path: the file to lock, made if it is missing; it holds nothing, and stays.
        patience: how many seconds to wait for the others.

    Raises:
        RefusedError: someone else held it for longer (`locked`).
    """
    make_state_dir(os.path.dirname(path))
    descriptor = open_private(path, os.O_RDWR)
    try:
        _wait_for(descriptor, shared=False, patience=patience)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, *, shared: bool, patience: float) -> None:
    deadline = time.monotonic() + patience
    while not try_lock(descriptor, shared=shared):
        if time.monotonic() > deadline:
            raise RefusedError(
                "another git boocode command is at work in this worktree",
                code="locked",
                hints=("wait for it to end, then try again",),
            )
        time.sleep(0.02)
