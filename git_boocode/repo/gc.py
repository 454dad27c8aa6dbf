"""Write objects and the refs that name them beside a `git gc` that deletes what no ref names.

`git gc --prune=now` looks at all refs, indexes and reflogs, and later deletes every object that
none of them reached, however new: one that was written before its ref, or was there already.

`kept_from_gc` checks all objects after the ref is written, and writes everything again if one is
missing. To check only where it is needed, it detects whether git may have deleted anything:
`git prune` removes temporary files that we leave among the objects, `git repack` changes
the directory of packs, and `git gc` holds `gc.pid` while it runs. A gc that is running when the ref
is written gets time to end before the check.

Not covered: a gc that goes on for more than `PATIENCE` seconds after the ref was written or runs
on another host, and `git prune` or `git repack` started by hand, where these read the refs before
ours was written and delete after our check. `doctor --fix` removes such a ref.

What comes from a remote is `incoming`: packs in a quarantine, each with a `.keep` file beside it,
so that git neither deletes nor repacks it (gitformat-pack(5), git-repack(1)) until there are refs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from git_boocode.repo.durable import sync_refs
from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import Quarantine, objects_directory
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange, Store

PATIENCE = 10.0  # seconds to wait for a running `git gc` to end
_ATTEMPTS = 8
_POLL = 0.01
KEEP_MARK = b"git-boocode fetch\n"  # what our `.keep` files hold; git and users write others
# Seconds after which nobody is going to name what one of our `.keep` files keeps.
_ABANDONED = 3600.0
# However few they are: loose objects cannot be kept so.
_PACKED = ("fetch.unpackLimit=1", "transfer.unpackLimit=1")
# Git opens each loose ref by itself: with 1,000, listing them takes 11 ms instead of 3.
MANY_LOOSE = 200
_WALK = ("rev-list", "--objects", "--no-walk=unsorted", "--stdin")

_Result = TypeVar("_Result")


class CollectedError(FatalError):
    """Another process deleted objects before a ref named them."""

    def __init__(self) -> None:
        hint = "wait for 'git gc --prune=now' to end, then try again"
        message = "another process deleted objects before a ref named them"
        super().__init__(message, code="missing_objects", hints=(hint,))


def kept_from_gc(repository: Repository, write: Callable[[GcWatch], _Result]) -> _Result:
    """Write objects and a ref, again if git deleted some of the objects meanwhile.

    `write` writes them, and calls `GcWatch.confirm` once the ref is written. CollectedError if
    objects were deleted again and again.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        watch = GcWatch(repository)
        try:
            return write(watch)
        except FatalError as error:
            if not watch.explains(error):
                raise
            if not attempts_left:
                raise CollectedError from error
        finally:
            watch.end()
        # The next gc takes a while before it deletes anything.
        _wait_for_gc(repository)
    raise AssertionError


class GcWatch:
    """Detects whether git may have deleted objects since this was made."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._objects = objects_directory(repository)
        self._confirmed = False
        self._gc = _running_gc(repository)
        self._packs = self._packs_time()
        # `git prune --expire=now` removes temporary files, first and last in these directories; any
        # other prune leaves them for two weeks.
        fan_out = (os.path.join(self._objects, f"{number:02x}") for number in range(256))
        first = next(filter(os.path.isdir, fan_out), self._objects)
        name = f"tmp_obj_boocode_{os.urandom(8).hex()}"
        self._witnesses = [os.path.join(place, name) for place in {first, self._objects}]
        for path in self._witnesses:
            # Git may just have removed the directory, because it was empty.
            with suppress(FileNotFoundError):
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def end(self) -> None:
        """Clean up."""
        for path in self._witnesses:
            with suppress(OSError):
                os.unlink(path)

    def explains(self, error: FatalError) -> bool:
        """Whether an error may come from deleted objects."""
        return isinstance(error, CollectedError) or (not self._confirmed and self._is_disturbed())

    def confirm(self, ref: str, commits: Sequence[str]) -> None:
        """Check that everything is there that a new ref needs; delete it and raise if not.

        The first of the commits is the one that it names; the trees of all are needed.
        """
        self._gc = _wait_for_gc(self._repository) or self._gc
        if self._is_disturbed():
            try:
                whole = not missing_objects(self._repository, {"": commits})
            except GitError:
                whole = False
            if not whole:
                with suppress(BoocodeError):
                    Store(self._repository).update_refs([RefChange(ref, None, commits[0])])
                raise CollectedError
        self._confirmed = True

    def _is_disturbed(self) -> bool:
        return (
            bool(self._gc or _running_gc(self._repository))
            or not all(map(os.path.lexists, self._witnesses))
            or self._packs_time() != self._packs
        )

    def _packs_time(self) -> int:
        try:
            return os.stat(os.path.join(self._objects, "pack")).st_mtime_ns
        except FileNotFoundError:
            return 0


def _wait_for_gc(repository: Repository) -> str:
    """Wait for the gc that runs now, if it could delete recent objects; returns its process id."""
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
        if host != os.uname().nodename or not process.isdecimal():
            return ""
        # It may be another user's.
        with suppress(PermissionError):
            os.kill(int(process), 0)
    except (OSError, ValueError, OverflowError):
        return ""
    return process


def _deletes_recent(repository: Repository, process: str) -> bool:
    """Whether a gc may delete recent objects; by default it deletes those of two weeks ago."""
    if repository.config.setting("gc.pruneExpire") is not None:
        return True
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return b"prune" in file.read().lower()
    except OSError:
        return True


def missing_objects(repository: Repository, commits: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The id of an object that is missing, for each group of commits that is not whole.

    Git walks through all trees together, each object once, and not through history. Whether the
    bytes of an object are right is for `git fsck` to say. What a partial clone has left on its
    server is not missing. GitError if an object is damaged, so that git gave up.
    """
    git = repository.git
    wanted = sorted({identifier for group in commits.values() for identifier in group})
    asked = git.line("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=_lines(wanted))
    answers = (line.split(" ") for line in asked.splitlines())
    known = [identifier for identifier, kind in answers if kind == "commit"]
    lost = {identifier: identifier for identifier in set(wanted).difference(known)}
    if known and repository.config.section("remote", ".promisor"):
        git.run(*_WALK, "--missing=allow-promisor", "--quiet", stdin=_lines(known))
    elif known:
        lost |= _lacking(git, known)
    lacking = {
        name: [lost[identifier] for identifier in group if identifier in lost]
        for name, group in commits.items()
    }
    return {name: gone[0] for name, gone in lacking.items() if gone}


def _lacking(git: Git, commits: Sequence[str]) -> dict[str, str]:
    """A missing object of each commit that lacks one; those without are sorted out in halves."""
    walked = git.run(*_WALK, "--missing=print", stdin=_lines(commits)).split(b"\n")
    # Git cuts a name at a newline; so no line but that of a missing object begins so.
    gone = next((os.fsdecode(line[1:]) for line in walked if line.startswith(b"?")), None)
    if gone is None:
        return {}
    if len(commits) == 1:
        return {commits[0]: gone}
    middle = len(commits) // 2
    return _lacking(git, commits[:middle]) | _lacking(git, commits[middle:])


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{identifier}\n" for identifier in ids).encode()


@contextmanager
def incoming(repository: Repository) -> Iterator[tuple[Git, Callable[[], None]]]:
    """A place for objects from a remote: a git that fetches there, and what lets others see them.

    The latter raises OSError if there is no room or no permission for it. In the end, what no ref
    names is left to `git gc`.
    """
    packs = os.path.join(objects_directory(repository), "pack")
    for name in os.listdir(packs) if os.path.isdir(packs) else []:
        path = os.path.join(packs, name)
        if name.endswith(".keep") and _is_abandoned(path):
            with suppress(OSError):
                os.unlink(path)
    with scratch_directory(repository.state_dir) as scratch:
        quarantine = Quarantine(repository, scratch)
        kept: list[str] = []

        def release() -> None:
            kept.extend(quarantine.keep_packs(KEEP_MARK))
            quarantine.release()

        try:
            yield quarantine.git.bind(*_PACKED), release
        finally:
            for path in kept:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def _is_abandoned(path: str) -> bool:
    """Whether a killed fetch has left a file to keep a pack by."""
    with suppress(OSError), open(path, "rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        return age > _ABANDONED and file.read(len(KEEP_MARK) + 1) == KEEP_MARK
    return False


def pack_many_refs(repository: Repository) -> None:
    """Pack the refs of a repository if many of our refs are loose.

    Git packs all refs or none but tags, as `git gc` does; so it is left to the user where
    `gc.auto` or `gc.packRefs` keeps git from doing it unasked.
    """
    below = os.path.join(repository.common_dir, "refs", "boocode")
    if sum(len(files) for _, _, files in os.walk(below)) <= MANY_LOOSE:
        return
    try:
        repository.config.integer("gc.auto", default=1, least=1)
    except FatalError:
        return
    # Or `notbare`, which git takes here as well.
    if (repository.config.text("gc.packRefs") or "true").lower() in ("false", "no", "off", "0"):
        return
    # If another process is at it, that one does the work.
    repository.git.attempt("pack-refs", "--all", "--prune")
    sync_refs(repository.common_dir, (), packed=True)


def disk_usage(repository: Repository, going: Collection[Ref]) -> int | None:
    """The bytes of the objects that only some refs reach, compressed as they are on disk.

    The refs may be deleted already. What only a reflog, an index or a detached HEAD reaches besides
    counts as kept; a file that is back as it was in an older commit may count as going. None if
    objects are missing.
    """
    if not going:
        return 0
    names = {ref.name for ref in going}
    kept = {ref.target for ref in Store(repository).refs("refs/") if ref.name not in names}
    done = repository.git.attempt(
        *("rev-list", "--objects-edge-aggressive", "--disk-usage"),
        *("--missing=allow-any", "--ignore-missing", "--stdin"),
        # Only HEAD of each worktree: the refs are given above.
        *("--not", "--exclude=refs/*", "--all", "--reflog", "--indexed-objects"),
        stdin=_lines([ref.target for ref in going] + [f"^{target}" for target in kept]),
    )
    # The edges come before the sum, each behind a hyphen.
    last = done.stdout.rpartition(b"\n")[0].rpartition(b"\n")[2]
    return int(last) if done.status == 0 and last.isdigit() else None
