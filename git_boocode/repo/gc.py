"""Protect new objects and refs from a concurrent `git gc`; pack refs.

`git gc --prune=now` reads all refs, indexes and reflogs, and later deletes every object that none
of them reached, however new: an object that was written before its ref, or an older one that the
new ref uses. `publish` lets a running gc end, because that would delete what is published now.
It looks once, after the ref is written: it lets a gc end that has begun since, and if there was
one, or one was running when the quarantine was made, or git has repacked since then, it checks that
all objects exist. If one is missing, it puts the ref back, and `protect_from_gc` writes everything
again.

Not covered: a gc that runs for more than `PATIENCE` seconds or on another host, and a manual
`git prune`. `doctor --fix` removes such a ref.

`incoming` receives objects from a remote: packs in a quarantine, each with a `.keep` file beside
it, so that git neither deletes nor repacks it (gitformat-pack(5), git-repack(1)) before there are
refs to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from git_boocode.repo.durable import sync_refs
from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.files import walk_directories
from git_boocode.repo.git import Git, GitError, id_lines
from git_boocode.repo.layout import ALL_REFS
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import Quarantine, objects_directory, running_gc
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange

# Seconds to wait for a running `git gc`, and to write again what one has deleted.
PATIENCE = 10.0
_POLL = 0.01
KEEP_MARK = b"git-boocode fetch\n"  # the content of our `.keep` files; git and users write others
# Age in seconds at which one of our `.keep` files must be left over from a killed fetch.
_ABANDONED = 3600.0
# Keep even a few objects in a pack: there is no `.keep` for loose objects.
_PACKED = ("fetch.unpackLimit=1", "transfer.unpackLimit=1")
# Git opens each loose ref separately, for example in `git log` on a terminal: 100 take 1 ms.
MANY_LOOSE = 100
_USAGE = 129  # the exit status of git for an option that it does not know
_WALK = ("rev-list", "--objects", "--no-walk=unsorted", "--stdin")

_Result = TypeVar("_Result")


class CollectedError(FatalError):
    """Another process deleted objects before a ref named them."""

    def __init__(self) -> None:
        hint = "wait until 'git gc --prune=now' has finished, then try again"
        message = "another process deleted objects before a ref named them"
        super().__init__(message, code="missing_objects", hints=(hint,))


def protect_from_gc(write: Callable[[], _Result]) -> _Result:
    """Write objects and refs by `publish`; write them again if git deleted some meanwhile."""
    # Not a number of attempts: on a slow disk, one gc after another may hit several.
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(CollectedError):
            return write()
    return write()


def publish(
    repository: Repository,
    quarantine: Quarantine,
    changes: Sequence[RefChange],
    commits: Iterable[str] = (),
    blobs: Sequence[str] = (),
) -> None:
    """Publish the objects of a quarantine; apply changes, which create, move or verify refs.

    The refs need the blobs and the trees of the commits, which are only listed if git may have
    deleted objects. CollectedError if it has; then the refs are as before.
    """
    store = repository.store
    deadline = time.monotonic() + PATIENCE
    _wait_for_gc(repository, deadline)
    quarantine.release()
    try:
        store.update_refs(changes)
    except FatalError as error:
        if _wait_for_gc(repository, deadline) or quarantine.may_lack_objects():
            raise CollectedError from error
        raise
    if not _wait_for_gc(repository, deadline) and not quarantine.may_lack_objects():
        return
    with suppress(GitError):
        if None not in store.lookup(blobs) and not missing_objects(repository, {"": [*commits]}):
            return
    with suppress(BoocodeError):
        made = (change for change in changes if change.new != change.old)
        store.update_refs([RefChange(change.name, change.old, change.new) for change in made])
    raise CollectedError


def _wait_for_gc(repository: Repository, deadline: float) -> bool:
    """Wait for a running gc if it may delete recent objects; returns whether there was one."""
    found = running_gc(repository)
    if found and _deletes_recent(repository, found):
        while running_gc(repository) == found and time.monotonic() < deadline:
            time.sleep(_POLL)
    return bool(found)


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
    listing = git.line("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=id_lines(ids))
    answers = (line.split(" ") for line in listing.splitlines())
    present = [identifier for identifier, kind in answers if kind == "commit"]
    lost = {identifier: identifier for identifier in set(ids).difference(present)}
    if present and repository.config.section("remote", ".promisor"):
        git.run(*_WALK, "--missing=allow-promisor", "--quiet", stdin=id_lines(present))
    elif present:
        lost |= _missing_per_commit(git, present)
    missing = {
        name: [lost[identifier] for identifier in group if identifier in lost]
        for name, group in commits.items()
    }
    return {name: objects[0] for name, objects in missing.items() if objects}


def _missing_per_commit(git: Git, commits: Sequence[str]) -> dict[str, str]:
    """A missing object for each incomplete commit, found by bisection."""
    walked = git.run(*_WALK, "--missing=print", stdin=id_lines(commits)).split(b"\n")
    # Git cuts a path at a newline, so only lines of missing objects begin with `?`.
    missing = next((os.fsdecode(line[1:]) for line in walked if line.startswith(b"?")), None)
    if missing is None:
        return {}
    if len(commits) == 1:
        return {commits[0]: missing}
    middle = len(commits) // 2
    return _missing_per_commit(git, commits[:middle]) | _missing_per_commit(git, commits[middle:])


@contextmanager
def incoming(repository: Repository) -> Iterator[tuple[Git, Callable[[], None]]]:
    """A quarantine for objects from a remote: a git that fetches there, and a release function.

    The function moves the objects into the repository; OSError if there is no space or permission.
    Afterwards, objects without a ref are left to `git gc`.
    """
    for path in abandoned_keep_files(repository):
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


def abandoned_keep_files(repository: Repository) -> list[str]:
    """The `.keep` files of killed fetches: git repacks and deletes nothing beside them."""
    packs = os.path.join(objects_directory(repository), "pack")
    names = sorted(os.listdir(packs)) if os.path.isdir(packs) else []
    paths = (os.path.join(packs, name) for name in names if name.endswith(".keep"))
    return list(filter(_is_abandoned, paths))


def _is_abandoned(path: str) -> bool:
    """Whether a `.keep` file is left over from a killed fetch."""
    with suppress(OSError), open(path, "rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        return age > _ABANDONED and file.read(len(KEEP_MARK) + 1) == KEEP_MARK
    return False


def pack_many_refs(repository: Repository) -> None:
    """Pack our refs if many of them are loose.

    Git before 2.43 can pack only all refs, or tags. So it packs nothing if the user has turned off
    automatic packing by `gc.auto` or `gc.packRefs`.
    """
    below = os.path.join(repository.common_dir, ALL_REFS)
    found = (entry for _, entries in walk_directories(below) for entry in entries)
    if sum(entry.is_file() for entry in found) <= MANY_LOOSE:
        return
    # If this fails because another process is packing, that one does the work.
    done = repository.git.attempt("pack-refs", "--include", f"{ALL_REFS}*", "--prune")
    if done.status == _USAGE and _may_pack_all(repository):
        repository.git.attempt("pack-refs", "--all", "--prune")
    sync_refs(repository.common_dir, (), packed=True)


def _may_pack_all(repository: Repository) -> bool:
    try:
        repository.config.integer("gc.auto", default=1, least=1)
    except FatalError:
        return False
    # Any other value, such as `notbare`, lets git pack here.
    setting = repository.config.text("gc.packRefs") or "true"
    return setting.lower() not in ("false", "no", "off", "0")
