"""Concurrency in a worktree: its lock, scratch directories, stale locks of the index and of refs.

All locks are held on open files, so that they end with their process, and the leftovers of a killed
process can be distinguished from files in use. Read-only commands also work if the git directory is
not writable: nothing can change there meanwhile, so they need no lock, and their private files go
elsewhere.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from git_boocode.repo.durable import (
    make_state_dir,
    open_private,
    read_private_json,
    remove,
    try_lock,
    write_private,
)
from git_boocode.repo.errors import FatalError, NextStep, RefusedError, from_os
from git_boocode.repo.files import MAX_BYTES, walk_directories
from git_boocode.repo.ids import ID
from git_boocode.repo.layout import (
    ARCHIVE,
    CHECKPOINTS,
    EDIT_NOTE,
    LOCK,
    MAKING,
    RESTORE_NOTE,
    SAFETY,
    SCRATCH,
)
from git_boocode.repo.location import Location

# Set in the environment of a restore's callback: the id of that restore.
INSIDE_RESTORE = "GIT_BOOCODE_RESTORE"
# The state directory of the restore whose callback function runs in this context.
CALLING: ContextVar[str] = ContextVar("CALLING", default="")

# The descriptors of exclusive locks, by the state directories of their worktrees.
_exclusive: dict[str, int] = {}
# Errors of writing to a place that is not writable.
_SEALED = (errno.EROFS, errno.EACCES, errno.EPERM)
_GUARD = "alive"
# Age in seconds at which an incomplete file must be left over from a killed process.
_ABANDONED = 60
REF_PATIENCE = 3.0
"""Age in seconds at which the lock of a ref is stale: git holds one for milliseconds."""


@contextmanager
def worktree_lock(
    state_dir: str, *, shared: bool, patience: float, read_only: bool = False
) -> Iterator[None]:
    """Hold the lock of a worktree: exclusive for restores, shared for captures.

    Commands of a restore's callback take no lock, because the restore holds it. A `read_only`
    command goes without a lock if none can be created. RefusedError (`locked`) if another process
    held it for longer than `patience` seconds, FatalError (`io`) if it cannot be created.
    """
    descriptor = None if inside_restore(state_dir) else _open_lock(state_dir, read_only=read_only)
    if descriptor is None:
        yield
        return
    try:
        _wait_for(descriptor, shared=shared, patience=patience)
        if shared:
            yield
            return
        _exclusive[state_dir] = descriptor
        try:
            yield
        finally:
            del _exclusive[state_dir]
    finally:
        os.close(descriptor)


def held_lock(state_dir: str) -> int | None:
    """The descriptor of a worktree's lock, if this process holds it exclusively.

    For git commands that continue after we are killed; see `Git.keeping_lock`.
    """
    return _exclusive.get(state_dir)


@contextmanager
def file_lock(path: str, *, patience: float) -> Iterator[int]:
    """Hold an exclusive lock on a private file; yields its descriptor, for reading and writing.

    RefusedError (`locked`) if another process held it for longer than `patience`, in seconds.
    """
    make_state_dir(os.path.dirname(path))
    descriptor = open_private(path, os.O_RDWR)
    try:
        _wait_for(descriptor, shared=False, patience=patience)
        yield descriptor
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, *, shared: bool, patience: float) -> None:
    deadline = time.monotonic() + patience
    while not try_lock(descriptor, shared=shared):
        if time.monotonic() > deadline:
            raise RefusedError(
                "another git boocode command is running in this worktree",
                code="locked",
                hints=(NextStep("wait until it has finished, then try again", "retry"),),
            )
        time.sleep(0.02)


def inside_restore(state_dir: str) -> bool:
    """Whether this is part of a callback whose restore is still running in this worktree.

    The environment variable is not sufficient: a process that the callback starts, such as an
    agent's server, may outlive the restore, or work in another repository.
    """
    if CALLING.get() == state_dir:
        return True
    if not os.environ.get(INSIDE_RESTORE):
        return False
    descriptor = _open_lock(state_dir, read_only=True)
    return descriptor is not None and _is_locked(descriptor, shared=True)


def _is_locked(descriptor: int, *, shared: bool = False) -> bool:
    """Whether another process holds a conflicting lock; closes the file."""
    try:
        return not try_lock(descriptor, shared=shared)
    finally:
        os.close(descriptor)


def is_noted(state_dir: str) -> bool:
    """Whether an edit or a restore is in progress, or was interrupted."""
    edit, restore = os.path.join(state_dir, EDIT_NOTE), os.path.join(state_dir, RESTORE_NOTE)
    return os.path.lexists(edit) or os.path.lexists(restore)


def record_of_interrupted_edit(state_dir: str) -> str | None:
    """The id of the record of a killed edit; None if there is none, or its note is damaged."""
    note = read_private_json(os.path.join(state_dir, EDIT_NOTE), largest=MAX_BYTES)
    record = note.get("record") if isinstance(note, dict) else None
    return record if isinstance(record, str) else None


def begin_restore(state_dir: str, safety_id: str) -> None:
    """Record that a restore is about to change the worktree, with its safety checkpoint."""
    note = json.dumps({"safety": safety_id}).encode("ascii")
    write_private(os.path.join(state_dir, RESTORE_NOTE), note)


def end_restore(state_dir: str, earlier: str | None = None) -> None:
    """Record that the restore has finished; `earlier` is an interrupted one that remains so."""
    if earlier is None:
        remove(os.path.join(state_dir, RESTORE_NOTE))
    else:
        begin_restore(state_dir, earlier)


def interrupted_restore(state_dir: str) -> str | None:
    """The id of the safety checkpoint of an interrupted restore, or None.

    Only the holder of the worktree's lock can distinguish it from a running restore. The checkpoint
    does not exist if the restore was interrupted before it had taken one.
    """
    note = read_private_json(os.path.join(state_dir, RESTORE_NOTE))
    safety = note.get("safety") if isinstance(note, dict) else None
    return safety if isinstance(safety, str) and ID.fullmatch(safety) else None


def _open_lock(state_dir: str, *, read_only: bool) -> int | None:
    """Open the lock file; None if a read-only command can neither create nor open it."""
    path = os.path.join(state_dir, LOCK)
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
    """Add a hint to errors about a private directory that is not writable."""
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
    """Whether a directory, or its nearest existing parent, is writable."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


def fresh_path(path: str) -> str:
    """A unique path for a private file, which begins with another path."""
    return f"{path}.{os.urandom(6).hex()}"


@contextmanager
def scratch_directory(state_dir: str, *, read_only: bool = False) -> Iterator[str]:
    """A temporary directory for this process; also removes those of killed processes.

    For a `read_only` command it may lie elsewhere, and `state_dir` is not created. FatalError
    (`io`) if nothing is writable.
    """
    if read_only and not (os.path.isdir(state_dir) and _may_write(state_dir)):
        # Imported late, because it is slow to import and rarely needed.
        import tempfile

        elsewhere = os.path.realpath(tempfile.mkdtemp(prefix="git-boocode-"))
        try:
            yield elsewhere
        finally:
            _remove(elsewhere)
        return
    path = os.path.join(state_dir, f"{SCRATCH}{os.getpid()}-{os.urandom(6).hex()}")
    # Created and locked under a name that `sweep` ignores, so that it cannot remove the directory.
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
    """Remove the leftovers of killed processes, including their lock of the index."""
    for path in leftovers(state_dir):
        if leftover_index_lock(state_dir, path):
            with suppress(OSError):
                os.unlink(_index_lock(state_dir))
        _remove(path)


def leftovers(state_dir: str) -> list[str]:
    """The leftovers of killed processes in a private directory, which need not exist."""
    found = []
    for name in sorted(os.listdir(state_dir)) if os.path.isdir(state_dir) else ():
        path = os.path.join(state_dir, name)
        if name.startswith(MAKING):
            # A file system has its own clock; that of the system may be ahead.
            made, now = _made(path), _made(state_dir)
            is_left = made is not None and now is not None and now - made > _ABANDONED
        else:
            is_left = name.startswith(SCRATCH) and not _in_use(os.path.join(path, _GUARD))
        if is_left:
            found.append(path)
    return found


def leftover_index_lock(state_dir: str, leftover: str) -> bool:
    """Whether the index's lock is a hard link to a file in one of the `leftovers`."""
    lock = _index_lock(state_dir)
    with suppress(OSError):
        theirs = (os.path.join(leftover, name) for name in os.listdir(leftover))
        return any(os.path.samefile(path, lock) for path in theirs)
    return False


def _index_lock(state_dir: str) -> str:
    return os.path.join(os.path.dirname(state_dir), "index.lock")


def _in_use(guard: str) -> bool:
    # Some file systems lock only files that are open for writing; the guard may be read-only.
    mode = os.O_RDWR if os.access(guard, os.W_OK) else os.O_RDONLY
    try:
        return _is_locked(os.open(guard, mode | os.O_NONBLOCK))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _remove(path: str) -> None:
    # Another process may be removing it at the same time.
    with suppress(OSError):
        remove(path)


def break_ref_locks(repository: Location, ref: str | None) -> None:
    """Remove the locks of refs that git left behind when a restore was killed.

    The caller holds the worktree's lock, so the restore itself is not running any more. It moved
    the branch `ref`, if not None, and HEAD with it.
    """
    common = repository.common_dir
    since = _made(os.path.join(repository.state_dir, RESTORE_NOTE))
    if since is None:
        return
    paths = [
        os.path.join(common, "packed-refs.lock"),
        os.path.join(repository.git_dir, "HEAD.lock"),
        *([os.path.join(common, f"{ref}.lock")] if ref is not None else []),
    ]
    for prefix in (ARCHIVE, CHECKPOINTS, SAFETY):
        paths += loose_locks(os.path.join(common, prefix))
    for path in (*paths, *reftable_locks(repository)):
        # File times are coarser than the clock.
        _break_lock(path, since=since - 1)


def break_locks_of(repository: Location, refs: Iterable[str]) -> None:
    """Wait for the locks of some refs, and remove those that a killed git has left."""
    for ref in refs:
        _break_lock(os.path.join(repository.common_dir, f"{ref}.lock"))


def _break_lock(path: str, *, since: float = 0.0) -> None:
    """Wait for a lock of git's, and remove one made after `since` that a killed git has left."""
    deadline = time.monotonic() + REF_PATIENCE
    while (made := _made(path)) is not None and made > since:
        age = time.time() - made
        # The clock of a file system may be ahead, and that of the system may have been set back.
        if age >= REF_PATIENCE or (age < 0 and time.monotonic() >= deadline):
            with suppress(FileNotFoundError):
                os.unlink(path)
            return
        time.sleep(min(REF_PATIENCE - age, 0.1))


def loose_locks(top: str) -> Iterator[str]:
    """The locks of the loose refs in a directory; no ref can end in `.lock`."""
    for _, entries in walk_directories(top):
        yield from sorted(entry.path for entry in entries if entry.name.endswith(".lock"))


def reftable_locks(repository: Location) -> Iterator[str]:
    """The locks of the reftables of a worktree and of the whole repository, if any."""
    for git_dir in dict.fromkeys((repository.common_dir, repository.git_dir)):
        yield from loose_locks(os.path.join(git_dir, "reftable"))


def _made(path: str) -> float | None:
    """The modification time of a file; None if it does not exist."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None
