"""Write objects and the ref that names them beside a `git gc` that deletes what no ref names.

`git gc --prune=now` looks at all refs, indexes and reflogs, and later deletes every object that
none of them reached, however new. Objects are written before their ref, so they can be deleted
before the ref exists, or after it if git looked earlier. So can objects that were in the repository
already, which nothing named and which were therefore not written again.

`kept_from_gc` checks all objects after the ref is written, and writes everything again if one is
missing. To check only where it is needed, it detects whether git may have deleted anything:
`git prune` removes temporary files that we leave among the objects, `git repack` changes
the directory of packs, and `git gc` holds `gc.pid` while it runs. A gc that is running when the ref
is written gets time to end before the check.

Not covered: a gc that goes on for more than `PATIENCE` seconds after the ref was written or runs
on another host, and `git prune` or `git repack` started by hand, where these read the refs before
ours was written and delete after our check. `doctor --fix` removes such a ref.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from git_boocode.repo.connectivity import missing_objects
from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.git import GitError
from git_boocode.repo.quarantine import objects_directory
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange, Store

PATIENCE = 10.0
"""Seconds to wait for a running `git gc` to end."""
_ATTEMPTS = 8
_POLL = 0.01

_Result = TypeVar("_Result")


class CollectedError(FatalError):
    """Another process deleted objects before a ref named them."""

    def __init__(self) -> None:
        super().__init__(
            "another process deleted objects before a ref named them",
            code="missing_objects",
            hints=("wait for 'git gc --prune=now' to end, then try again",),
        )


def kept_from_gc(repository: Repository, write: Callable[[GcWatch], _Result]) -> _Result:
    """Write objects and a ref, again if git deleted some of the objects meanwhile.

    `write` writes them, and calls `GcWatch.confirm` once the ref is written. CollectedError if
    objects were deleted again and again.
    """
    for watch in gc_watches(repository):
        with watch:
            return write(watch)
    raise AssertionError


def gc_watches(repository: Repository) -> Iterator[GcWatch]:
    """A watch for each attempt to write objects and a ref.

    Whoever leaves the loop from within the context has succeeded. The last one raises
    CollectedError.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        yield GcWatch(repository, is_last=not attempts_left)
        # The next gc takes a while before it deletes anything.
        _wait_for_gc(repository)


class GcWatch:
    """Detects whether git may have deleted objects since this was entered.

    As a context, it suppresses a CollectedError, unless it is the last attempt.
    """

    def __init__(self, repository: Repository, *, is_last: bool) -> None:
        self._repository = repository
        self._is_last = is_last
        self._objects = objects_directory(repository)
        self._witnesses = self._new_witnesses()
        self._confirmed = False

    def _new_witnesses(self) -> list[str]:
        """Paths for temporary files that `git prune --expire=now` removes first and last.

        Any other prune leaves them for two weeks.
        """
        name = f"tmp_obj_boocode_{os.urandom(8).hex()}"
        fan_out = (os.path.join(self._objects, f"{number:02x}") for number in range(256))
        first = next(filter(os.path.isdir, fan_out), None)
        return [os.path.join(directory, name) for directory in (first, self._objects) if directory]

    def __enter__(self) -> GcWatch:  # noqa: PYI034 - typing.Self came with Python 3.11
        self._gc = _running_gc(self._repository)
        self._packs = _modified(os.path.join(self._objects, "pack"))
        for path in self._witnesses:
            # Git may just have removed the directory, because it was empty.
            with suppress(FileNotFoundError):
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        failed = isinstance(error, FatalError) and not self._confirmed
        collected = isinstance(error, CollectedError) or (failed and self._is_disturbed())
        for path in self._witnesses:
            with suppress(OSError):
                os.unlink(path)
        if collected and self._is_last:
            raise CollectedError from error
        return collected

    def confirm(self, ref: str, commits: Sequence[str]) -> None:
        """Check that everything is there that a new ref needs; delete the ref if not.

        Args:
            ref: its name.
            commits: the commit that it names, and others whose trees are needed.

        Raises:
            CollectedError: something is missing.
        """
        self._gc = _wait_for_gc(self._repository) or self._gc
        if self._is_disturbed() and not self._is_whole(commits):
            with suppress(BoocodeError):
                Store(self._repository).update_refs([RefChange(ref, None, commits[0])])
            raise CollectedError
        self._confirmed = True

    def _is_disturbed(self) -> bool:
        return (
            bool(self._gc or _running_gc(self._repository))
            or not all(map(os.path.lexists, self._witnesses))
            or _modified(os.path.join(self._objects, "pack")) != self._packs
        )

    def _is_whole(self, commits: Sequence[str]) -> bool:
        try:
            return not missing_objects(self._repository, {"": commits})
        except GitError:
            return False


def _wait_for_gc(repository: Repository) -> str:
    """Wait until the gc that runs now has ended, if it could delete recent objects.

    Returns:
        Its process id; empty if none runs.
    """
    found = _running_gc(repository)
    if found and _deletes_recent(repository, found):
        deadline = time.monotonic() + PATIENCE
        while _running_gc(repository) == found and time.monotonic() < deadline:
            time.sleep(_POLL)
    return found


def _running_gc(repository: Repository) -> str:
    """The process id of the `git gc` that runs here; empty if none does on this host."""
    try:
        with open(os.path.join(repository.common_dir, "gc.pid"), encoding="ascii") as file:
            process, _, host = file.read(1024).strip().partition(" ")
    except (OSError, ValueError):
        return ""
    if host != socket.gethostname() or not process.isdecimal() or len(process) > len(str(1 << 63)):
        return ""
    return process if _is_alive(int(process)) else ""


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _deletes_recent(repository: Repository, process: str) -> bool:
    """Whether a gc may delete recent objects; by default it deletes those of two weeks ago."""
    if repository.config.setting("gc.pruneExpire") is not None:
        return True
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return b"prune" in file.read().lower()
    except OSError:
        return True


def _modified(directory: str) -> int:
    try:
        return os.stat(directory).st_mtime_ns
    except FileNotFoundError:
        return 0
