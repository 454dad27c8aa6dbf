"""Who is at work in a worktree: its lock, private files of one process, locks left on refs.

All locks are taken on open files, so that they die with their process, and leftovers of a killed
one differ from what is in use. What only looks works as well where the git directory cannot be
written: nothing can change there meanwhile, so it needs no lock, and its private files may lie
elsewhere.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from git_boocode.repo.durable import (
    MAKING,
    is_blocked,
    open_private,
    read_private_json,
    remove,
    try_lock,
    write_private,
)
from git_boocode.repo.errors import FatalError, RefusedError, from_os
from git_boocode.repo.ids import ID
from git_boocode.repo.repository import Repository, make_state_dir

# Set for the commands of a restore's callback: the id of that restore.
INSIDE_RESTORE = "GIT_BOOCODE_RESTORE"
# The state directory of the restore whose callback, a function, runs in this context.
CALLING: ContextVar[str] = ContextVar("CALLING", default="")
# The notes, in a worktree's private directory, that an edit is being written, and that a restore
# is at work, which names the safety checkpoint that leads back.
EDIT_NOTE = "edit-in-progress"
RESTORE_NOTE = "restore-in-progress"

# How the system refuses to write where nothing may be written.
_SEALED = (errno.EROFS, errno.EACCES, errno.EPERM)
_PREFIX = "tmp-"
_GUARD = "alive"
# How old something half-made is, in seconds, when its maker must have been killed.
_ABANDONED = 60
REF_PATIENCE = 3.0
"""Seconds after which nobody holds the lock of a ref any more: git holds one for milliseconds."""


@contextmanager
def worktree_lock(
    state_dir: str, *, shared: bool, patience: float, read_only: bool = False
) -> Iterator[None]:
    """Hold the lock of a worktree: restores alone, captures beside each other.

    What a restore's callback runs is covered by the lock of that restore, and takes none. Who is
    only `looking` needs none where none can be made. RefusedError (`locked`) if someone else held
    it for longer than `patience` seconds, FatalError (`io`) if it cannot be made.
    """
    descriptor = None if inside_restore(state_dir) else _open_lock(state_dir, read_only=read_only)
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
    """Let processes do something one after the other, by a lock on a file that stays empty.

    RefusedError (`locked`) if someone else held it for longer than `patience`, in seconds.
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


def inside_restore(state_dir: str) -> bool:
    """Whether a callback runs this, and the restore that called it is still at work here.

    What a callback starts may outlive the restore, such as an agent's server, or turn to another
    repository, and the variable goes with it.
    """
    if CALLING.get() == state_dir:
        return True
    if not os.environ.get(INSIDE_RESTORE):
        return False
    descriptor = _open_lock(state_dir, read_only=True)
    return descriptor is not None and _is_locked(descriptor, shared=True)


def _is_locked(descriptor: int, *, shared: bool = False) -> bool:
    """Whether another process has a lock that excludes this one; closes the file."""
    try:
        return not try_lock(descriptor, shared=shared)
    finally:
        os.close(descriptor)


def begin_restore(state_dir: str, safety_id: str) -> None:
    """Note, on disk, that a restore is about to change the worktree; `safety_id` leads back."""
    note = json.dumps({"safety": safety_id}).encode("ascii")
    write_private(os.path.join(state_dir, RESTORE_NOTE), note)


def end_restore(state_dir: str, earlier: str | None = None) -> None:
    """Note that the worktree is in a known state again, or that an earlier restore still is not."""
    if earlier is None:
        remove(os.path.join(state_dir, RESTORE_NOTE))
    else:
        begin_restore(state_dir, earlier)


def interrupted_restore(state_dir: str) -> str | None:
    """The id of the safety checkpoint of a restore that never ended, or None.

    A restore that is still running looks the same to all but the holder of the worktree's lock.
    There is no such checkpoint if the restore ended before it had taken one.
    """
    note = read_private_json(os.path.join(state_dir, RESTORE_NOTE))
    safety = note.get("safety") if isinstance(note, dict) else None
    return safety if isinstance(safety, str) and ID.fullmatch(safety) else None


def _open_lock(state_dir: str, *, read_only: bool) -> int | None:
    """Open the file to lock; None if there is none, and none can be made, to lock out others."""
    path = os.path.join(state_dir, "lock")
    try:
        with _explained(state_dir):
            make_state_dir(state_dir)
            return open_private(path, os.O_RDWR)
    except FatalError:
        if not read_only:
            raise
    with suppress(OSError):
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    return None


@contextmanager
def _explained(state_dir: str) -> Iterator[None]:
    """Say what to do where the private directory may not be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in _SEALED:
            raise
        git_dir = os.path.dirname(state_dir)
        hint = "check the owner and permissions of that path"
        if not _may_write(git_dir):
            hint = f"'{git_dir}' is not writable; only log, diff and restore -n work there"
        found = from_os(error)
        raise FatalError(found.message, code=found.code, hints=(*found.hints, hint)) from error


def _may_write(path: str) -> bool:
    """Whether something can be made in a directory, or in the one where it would be made."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


def fresh_path(path: str) -> str:
    """A path for a private file, beginning like another one, that was never given before."""
    return f"{path}.{os.urandom(6).hex()}"


@contextmanager
def scratch_directory(state_dir: str, *, read_only: bool = False) -> Iterator[str]:
    """A directory for this process alone, removed afterwards; what killed ones left goes too.

    For who is only `looking` it may lie elsewhere. FatalError (`io`) if nothing may be written.
    """
    if read_only and (not _may_write(state_dir) or is_blocked(state_dir)):
        # Hardly ever needed, and it takes long to import.
        import tempfile

        with tempfile.TemporaryDirectory(prefix="git-boocode-") as elsewhere:
            yield os.path.realpath(elsewhere)
        return
    path = os.path.join(state_dir, f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}")
    # Made and locked under a name that no sweep looks for, so that none can come in between.
    making = os.path.join(state_dir, f"{MAKING}{os.path.basename(path)}")
    with _explained(state_dir):
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
    """Remove what killed processes left, a lock of the index that is provably theirs included."""
    for path in leftovers(state_dir):
        if leftover_index_lock(state_dir, path):
            with suppress(OSError):
                os.unlink(_index_lock(state_dir))
        _remove(path)


def leftovers(state_dir: str) -> list[str]:
    """The directories and files that killed processes left in a private directory, if it exists."""
    names = sorted(os.listdir(state_dir)) if os.path.isdir(state_dir) else []
    return [path for name in names if _is_leftover(name, path := os.path.join(state_dir, name))]


def leftover_index_lock(state_dir: str, leftover: str) -> bool:
    """Whether the index's lock is a hard link to a file in one of the `leftovers`."""
    lock = _index_lock(state_dir)
    with suppress(OSError):
        theirs = (os.path.join(leftover, name) for name in os.listdir(leftover))
        return any(os.path.samefile(path, lock) for path in theirs)
    return False


def _index_lock(state_dir: str) -> str:
    return os.path.join(os.path.dirname(state_dir), "index.lock")


def _is_leftover(name: str, path: str) -> bool:
    if name.startswith(MAKING):
        made = _made(path)
        return made is not None and time.time() - made > _ABANDONED
    return name.startswith(_PREFIX) and not _in_use(os.path.join(path, _GUARD))


def _in_use(guard: str) -> bool:
    # Some file systems lock only what is open for writing; in others nothing may be written.
    mode = os.O_RDWR if os.access(guard, os.W_OK) else os.O_RDONLY
    try:
        return _is_locked(os.open(guard, mode | os.O_NONBLOCK))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _remove(path: str) -> None:
    # Another process may be removing it, too.
    with suppress(OSError):
        remove(path)


def break_ref_locks(repository: Repository, ref: str | None, since: float) -> None:
    """Remove the locks of refs that git left when one of our operations was killed.

    Call it with the worktree's lock held: the operation itself is gone then. It began at `since`,
    in seconds since 1970, and was to move the branch `ref`, if any, and HEAD with it.
    """
    common = repository.common_dir
    paths = [
        os.path.join(common, "packed-refs.lock"),
        os.path.join(repository.git_dir, "HEAD.lock"),
        *([os.path.join(common, f"{ref}.lock")] if ref is not None else []),
    ]
    for name in ("archive", "checkpoints", "safety"):
        paths += loose_locks(os.path.join(common, "refs", "boocode", name))
    for path in (*paths, *reftable_locks(repository)):
        # Times of files are coarser than those of the clock.
        while (made := _made(path)) is not None and made > since - 1:
            age = time.time() - made
            if age >= REF_PATIENCE:
                with suppress(FileNotFoundError):
                    os.unlink(path)
                break
            time.sleep(min(REF_PATIENCE - age, 0.1))


def loose_locks(top: str) -> Iterator[str]:
    """The locks of the loose refs in a directory; git allows no ref such a name."""
    for directory, _, names in os.walk(top):
        locks = sorted(name for name in names if name.endswith(".lock"))
        yield from (os.path.join(directory, name) for name in locks)


def reftable_locks(repository: Repository) -> Iterator[str]:
    """The locks of the reftables of a worktree and of the whole repository, if any."""
    for git_dir in dict.fromkeys((repository.common_dir, repository.git_dir)):
        yield from loose_locks(os.path.join(git_dir, "reftable"))


def _made(path: str) -> float | None:
    """When a file was made; None if there is none."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None
