"""Protect new objects and refs from a concurrent `git gc`; pack refs; measure disk usage.

`git gc --prune=now` reads all refs, indexes and reflogs, and later deletes every object that none
of them reached, however new: an object that was written before its ref, or an older one that the
new ref uses.

`protect_from_gc` checks all objects after the ref is written, and writes everything again if one
is missing. To check only if necessary, it detects whether git may have deleted anything:
`git prune` removes temporary files that we leave among the objects, `git repack` removes
packs, ours as well, and `git gc` holds `gc.pid` while it runs. A gc that is running when the ref
is written gets time to finish before the check.

Not covered: a gc that runs for more than `PATIENCE` seconds after the ref was written or on another
host, and a manual `git prune` or `git repack`, if it reads the refs before ours is written and
deletes objects after our check. `doctor --fix` removes such a ref.

`incoming` receives objects from a remote: packs in a quarantine, each with a `.keep` file beside
it, so that git neither deletes nor repacks it (gitformat-pack(5), git-repack(1)) before there are
refs to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from git_boocode.repo.durable import sync_refs
from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.files import walk_directories
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import FAN_OUT, Quarantine, objects_directory
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange

PATIENCE = 10.0  # seconds to wait for a running `git gc`
_ATTEMPTS = 8
_POLL = 0.01
KEEP_MARK = b"git-boocode fetch\n"  # the content of our `.keep` files; git and users write others
# Age in seconds at which one of our `.keep` files must be left over from a killed fetch.
_ABANDONED = 3600.0
# Keep even a few objects in a pack: there is no `.keep` for loose objects.
_PACKED = ("fetch.unpackLimit=1", "transfer.unpackLimit=1")
# Git opens each loose ref separately: listing 1,000 of them takes 11 ms instead of 3.
MANY_LOOSE = 200
_WALK = ("rev-list", "--objects", "--no-walk=unsorted", "--stdin")

_Result = TypeVar("_Result")


class CollectedError(FatalError):
    """Another process deleted objects before a ref named them."""

    def __init__(self) -> None:
        hint = "wait until 'git gc --prune=now' has finished, then try again"
        message = "another process deleted objects before a ref named them"
        super().__init__(message, code="missing_objects", hints=(hint,))


def protect_from_gc(repository: Repository, write: Callable[[GcWatch], _Result]) -> _Result:
    """Write objects and a ref; retry if git deleted some of the objects meanwhile.

    `write` writes them and calls `GcWatch.confirm` after it has written the ref. CollectedError if
    objects were deleted at every attempt.
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
        # The next gc needs some time before it deletes anything.
        _wait_for_gc(repository)
    raise AssertionError


class GcWatch:
    """Detects whether git may have deleted objects since the watch was created."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._objects = objects_directory(repository)
        self._confirmed = False
        self._gc = _running_gc(repository)
        self._packs = self._pack_names()
        self._written = frozenset(repository.written_packs)
        # `git prune --expire=now` removes temporary files, first and last in these directories. Any
        # other prune leaves them for two weeks.
        fan_out = sorted(entry for entry in self._list() if len(entry) == FAN_OUT)
        places = [os.path.join(self._objects, entry) for entry in fan_out[:1]] + [self._objects]
        name = f"tmp_obj_boocode_{os.urandom(8).hex()}"
        self._canaries = [os.path.join(directory, name) for directory in places]
        for path in self._canaries:
            # Git may just have removed the directory, because it was empty.
            with suppress(FileNotFoundError):
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def end(self) -> None:
        """Remove the temporary files."""
        for path in self._canaries:
            with suppress(OSError):
                os.unlink(path)

    def explains(self, error: FatalError) -> bool:
        """Whether deleted objects may be the cause of an error."""
        return isinstance(error, CollectedError) or (not self._confirmed and self._is_disturbed())

    def confirm(self, ref: str, commits: Sequence[str]) -> None:
        """Check that all objects of a new ref exist; otherwise delete the ref (CollectedError).

        The ref points to the first of the commits, and needs the trees of all.
        """
        self.confirm_all({ref: commits})

    def confirm_all(self, refs: Mapping[str, Sequence[str]]) -> None:
        """Check the objects of several new refs, of all or none; see `confirm`."""
        self._gc = _wait_for_gc(self._repository) or self._gc
        if self._is_disturbed():
            try:
                whole = not missing_objects(self._repository, refs)
            except GitError:
                whole = False
            if not whole:
                gone = [RefChange(ref, None, commits[0]) for ref, commits in refs.items()]
                with suppress(BoocodeError):
                    self._repository.store.update_refs(gone)
                raise CollectedError
        self._confirmed = True

    def _is_disturbed(self) -> bool:
        return (
            bool(self._gc or _running_gc(self._repository))
            or not all(map(os.path.lexists, self._canaries))
            or not self._packs | self._new_packs <= self._pack_names()
        )

    @property
    def _new_packs(self) -> set[str]:
        return self._repository.written_packs - self._written

    def _pack_names(self) -> set[str]:
        return {name for name in self._list("pack") if name.endswith(".pack")}

    def _list(self, name: str = "") -> list[str]:
        """What is in the directory of objects, or in one below it, which need not exist."""
        try:
            return os.listdir(os.path.join(self._objects, name))
        except FileNotFoundError:
            return []


def _wait_for_gc(repository: Repository) -> str:
    """Wait for a running gc if it could delete recent objects; returns its process id."""
    found = _running_gc(repository)
    if found and _deletes_recent(repository, found):
        deadline = time.monotonic() + PATIENCE
        while _running_gc(repository) == found and time.monotonic() < deadline:
            time.sleep(_POLL)
    return found


def _running_gc(repository: Repository) -> str:
    """The process id of a `git gc` that is running on this host; empty if there is none."""
    try:
        with open(os.path.join(repository.common_dir, "gc.pid"), encoding="ascii") as file:
            process, _, host = file.read(1024).strip().partition(" ")
        if host != os.uname().nodename or not process.isdecimal():
            return ""
        # The process may belong to another user.
        with suppress(PermissionError):
            os.kill(int(process), 0)
    except (OSError, ValueError, OverflowError):
        return ""
    return process


def _deletes_recent(repository: Repository, process: str) -> bool:
    """Whether a gc may delete recent objects; by default it deletes those older than two weeks."""
    if repository.config.setting("gc.pruneExpire") is not None:
        return True
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return b"prune" in file.read().lower()
    except OSError:
        return True


def missing_objects(repository: Repository, commits: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The id of a missing object for each incomplete group of commits.

    Git walks the trees of all commits together, each object once, but not the history. The content
    of objects is not verified; `git fsck` does that. Objects that a partial clone has not fetched
    are not missing. GitError if a damaged object stopped git.
    """
    git = repository.git
    ids = sorted({identifier for group in commits.values() for identifier in group})
    listing = git.line("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=_lines(ids))
    answers = (line.split(" ") for line in listing.splitlines())
    present = [identifier for identifier, kind in answers if kind == "commit"]
    lost = {identifier: identifier for identifier in set(ids).difference(present)}
    if present and repository.config.section("remote", ".promisor"):
        git.run(*_WALK, "--missing=allow-promisor", "--quiet", stdin=_lines(present))
    elif present:
        lost |= _missing_per_commit(git, present)
    missing = {
        name: [lost[identifier] for identifier in group if identifier in lost]
        for name, group in commits.items()
    }
    return {name: objects[0] for name, objects in missing.items() if objects}


def _missing_per_commit(git: Git, commits: Sequence[str]) -> dict[str, str]:
    """A missing object for each incomplete commit, found by bisection."""
    walked = git.run(*_WALK, "--missing=print", stdin=_lines(commits)).split(b"\n")
    # Git cuts a path at a newline, so only lines of missing objects begin with `?`.
    missing = next((os.fsdecode(line[1:]) for line in walked if line.startswith(b"?")), None)
    if missing is None:
        return {}
    if len(commits) == 1:
        return {commits[0]: missing}
    middle = len(commits) // 2
    return _missing_per_commit(git, commits[:middle]) | _missing_per_commit(git, commits[middle:])


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{identifier}\n" for identifier in ids).encode()


@contextmanager
def incoming(repository: Repository) -> Iterator[tuple[Git, Callable[[], None]]]:
    """A quarantine for objects from a remote: a git that fetches there, and a release function.

    The function moves the objects into the repository; OSError if there is no space or permission.
    Afterwards, objects without a ref are left to `git gc`.
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
    """Whether a `.keep` file is left over from a killed fetch."""
    with suppress(OSError), open(path, "rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        return age > _ABANDONED and file.read(len(KEEP_MARK) + 1) == KEEP_MARK
    return False


def pack_many_refs(repository: Repository) -> None:
    """Pack the refs of a repository if many of our refs are loose.

    Git can pack only all refs, or tags. So nothing is packed if the user has turned off automatic
    packing by `gc.auto` or `gc.packRefs`.
    """
    below = os.path.join(repository.common_dir, "refs", "boocode")
    found = (entry for _, entries in walk_directories(below) for entry in entries)
    if sum(entry.is_file() for entry in found) <= MANY_LOOSE:
        return
    try:
        repository.config.integer("gc.auto", default=1, least=1)
    except FatalError:
        return
    # Any other value, such as `notbare`, lets git pack here.
    if (repository.config.text("gc.packRefs") or "true").lower() in ("false", "no", "off", "0"):
        return
    # If this fails because another process is packing, that one does the work.
    repository.git.attempt("pack-refs", "--all", "--prune")
    sync_refs(repository.common_dir, (), packed=True)


def disk_usage(repository: Repository, deleted: Collection[Ref]) -> int | None:
    """The compressed size, in bytes, of the objects that only the given refs reach.

    The refs may already be deleted. Objects that a reflog, an index or a detached HEAD reaches do
    not count; a file that has returned to its content in an older commit may count. None if objects
    are missing.
    """
    if not deleted:
        return 0
    names = {ref.name for ref in deleted}
    kept = {ref.target for ref in repository.store.refs("refs/") if ref.name not in names}
    done = repository.git.attempt(
        *("rev-list", "--objects-edge-aggressive", "--disk-usage"),
        *("--missing=allow-any", "--ignore-missing", "--stdin"),
        # Only HEAD of each worktree: the refs are in the input.
        *("--not", "--exclude=refs/*", "--all", "--reflog", "--indexed-objects"),
        stdin=_lines([ref.target for ref in deleted] + [f"^{target}" for target in kept]),
    )
    # The edges precede the sum, each prefixed with a hyphen.
    last = done.stdout.rpartition(b"\n")[0].rpartition(b"\n")[2]
    return int(last) if done.status == 0 and last.isdigit() else None
