"""What is amiss with checkpoints and what killed commands left, in plain words; and mend it."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from git_boocode.checkpoints.conversation_files import damaged_files
from git_boocode.checkpoints.restore import journal
from git_boocode.checkpoints.store import retention
from git_boocode.checkpoints.store.catalog import (
    ARCHIVE,
    CHECKPOINTS,
    REMOTES,
    SAFETY,
    Catalog,
    Checkpoint,
    remote_of,
)
from git_boocode.checkpoints.store.daily import last_failure
from git_boocode.checkpoints.worktree.index_cache import LARGEST as LARGEST_NOTE
from git_boocode.checkpoints.worktree.index_cache import PREFIX as KEPT_INDEX
from git_boocode.checkpoints.worktree.index_cache import stale_indexes
from git_boocode.repo import scratch
from git_boocode.repo.connectivity import missing_objects
from git_boocode.repo.durable import (
    LARGEST,
    is_blocked,
    is_regular,
    read_private_json,
    remove,
    write_private,
)
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import ID_PART, OBJECT_ID
from git_boocode.repo.index import Index, is_whole
from git_boocode.repo.metadata import Unusable
from git_boocode.repo.ref_locks import reftable_locks
from git_boocode.repo.repository import WORKTREE_ID, Repository, worktree_id
from git_boocode.repo.store import Ref, RefChange, Store

_MOMENT = 10.0
"""Seconds for which git may lock refs without anything being amiss."""
_ABANDONED = 60.0
"""Seconds after which no git command can still be writing the refs of ours that it has locked."""
_FIX = "'git boocode doctor --fix'"
_DIRECTORIES = ("hooks", "transcripts")
_FILES = (
    *("lock", "hooks.lock", "hooks.log", "hooks.log.1", "hooks.log.lock", "last-prune"),
    *("turns.json", "tools.json", "kept-index", "kept-index.json", "callback-running"),
)
"""The private files of all packages, but for the two notes, which have checks of their own."""
_LARGEST = {"kept-index.json": LARGEST_NOTE}
_LARGER = 64 << 20
"""Bytes that a file below `hooks` may have; it holds what an agent's file held before."""


class Finding(NamedTuple):
    """Something that is amiss.

    Attributes:
        kind: a stable word for it.
        message: what it is, in one sentence.
        paths: the files that it is about.
        remedy: what to do about it by hand, or what was done.
        fixed: whether it is mended now.
        lines: what it consists of, each as one sentence.
        past: whether it is over, and only told of.
    """

    kind: str
    message: str
    paths: tuple[str, ...]
    remedy: str
    fixed: bool = False
    lines: tuple[str, ...] = ()
    past: bool = False


def check_directories(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Look for something else where the private directories belong.

    Args:
        repository: the repository; nobody can hold a lock in what is found.
        fix: whether to remove it.
    """
    for state in filter(is_blocked, repository.state_dirs()):
        message = f"'{state}' is not a directory"
        if fix:
            remove(state)
            yield Finding("unusable_files", message, (state,), "it was removed", fixed=True)
        else:
            yield Finding("unusable_files", message, (state,), f"{_FIX} removes it")


def check_files(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Look for what killed commands left in this worktree, and for a damaged index.

    Args:
        repository: the repository; the caller holds the worktree's lock for itself alone.
        fix: whether to mend what can be mended safely.
    """
    # The lock first: what proves whose it is goes with the leftover files.
    yield from _index_lock(repository, fix=fix)
    yield from _index(repository)
    yield from _leftover_files(repository, fix=fix)
    yield from _stale_note(repository, fix=fix)
    yield from _unusable(repository, fix=fix)
    yield from _damaged_id(repository, fix=fix)
    yield from _ref_locks(repository, fix=fix)


def check_checkpoints(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Look for checkpoints that cannot be used or reached, and for objects that are missing.

    Args:
        repository: the repository; no lock is held, for it can take a while.
        fix: whether to mend what can be mended safely.
    """
    yield from _broken_refs(repository, fix=fix)
    catalog = Catalog(repository)
    yield from _other_refs(repository, catalog.store, fix=fix)
    yield from _broken_checkpoints(repository, catalog, fix=fix)
    survey = retention.Survey(repository, catalog, catalog.store.refs(*retention.KINDS))
    yield from map(_halfway, filter(_is_halfway, survey.safety))
    yield from _orphans(catalog, survey, fix=fix)
    yield from _pruning(repository, fix=fix)


def _broken_checkpoints(
    repository: Repository, catalog: Catalog, *, fix: bool
) -> Iterator[Finding]:
    """The checkpoints that cannot be read or lack objects; the latter are removed."""
    refs = [*catalog.store.refs(*retention.KINDS), *catalog.store.refs(REMOTES)]
    entries: dict[Ref, Checkpoint] = {}
    for ref, entry in zip(refs, catalog.entries(refs), strict=True):
        if isinstance(entry, Checkpoint):
            entries[ref] = entry
            continue
        finding = _unreadable_fetched(entry) if remote_of(ref.name) else _unreadable(ref, entry)
        is_gone = fix and repository.git.attempt("cat-file", "-e", ref.target).status
        yield remove_broken(catalog.store, ref, finding) if is_gone else finding
    try:
        lacking = missing_objects(
            repository, {ref.name: entry.commits for ref, entry in entries.items()}
        )
    except GitError as error:
        yield _damaged(error)
        return
    # What is left of these is still needed.
    needed = retention.interrupted(repository)
    for ref, entry in entries.items():
        if lost := lacking.get(ref.name):
            finding = _incomplete(entry, lost)
            goes = fix and ref.id not in needed
            yield remove_broken(catalog.store, ref, finding) if goes else finding


def remove_broken(store: Store, ref: Ref, finding: Finding) -> Finding:
    """Remove a ref that lacks objects, because of which `git gc` and `git fsck` fail.

    Returns:
        The finding, with what was done.
    """
    try:
        store.update_refs([RefChange(ref.name, None, ref.target)])
    except BoocodeError as error:
        return finding._replace(remedy=f"'{ref.name}' could not be removed: {error.message}")
    return finding._replace(
        remedy=f"the ref '{ref.name}' was removed; it named {ref.target}", fixed=True
    )


_ALL = "refs/boocode/"
_EDITS = "refs/boocode/edits/"
_BROKEN = "warning: ignoring broken ref "


def _broken_refs(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Refs whose file a crash left empty; git can neither read nor delete them."""
    listed = repository.git.attempt("for-each-ref", "--format=", _ALL)
    for line in os.fsdecode(listed.stderr).split("\n"):
        if not line.startswith(_BROKEN):
            continue
        name = line.removeprefix(_BROKEN)
        path = os.path.join(repository.common_dir, name)
        message = f"the ref '{name}' names nothing; 'git gc' and 'git fsck' fail because of it"
        if not fix or not os.path.isfile(path):
            yield Finding("unreadable_checkpoint", message, (path,), f"{_FIX} removes it")
            continue
        os.unlink(path)
        yield Finding(
            "unreadable_checkpoint", message, (path,), f"the ref '{name}' was removed", fixed=True
        )


def _other_refs(repository: Repository, store: Store, *, fix: bool) -> Iterator[Finding]:
    """Refs of another kind than this version writes that name no object."""
    known = (*retention.KINDS, REMOTES, _EDITS)
    for ref in store.refs(_ALL):
        if (
            ref.name.startswith(known)
            or not repository.git.attempt("cat-file", "-e", ref.target).status
        ):
            continue
        message = f"the ref '{ref.name}' names nothing; 'git gc' and 'git fsck' fail because of it"
        finding = Finding("unreadable_checkpoint", message, (), f"{_FIX} removes it")
        yield remove_broken(store, ref, finding) if fix else finding


def _index_lock(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    lock = f"{repository.index_path}.lock"
    if not os.path.lexists(lock):
        return
    state = repository.state_dir
    ours = any(scratch.leftover_index_lock(state, path) for path in scratch.leftovers(state))
    if not ours:
        yield _foreign_lock(lock, "the index")
        return
    message = "a killed git boocode command left the index locked"
    if fix:
        scratch.sweep(state)
        yield Finding("leftover_lock", message, (lock,), "the lock was removed", fixed=True)
    else:
        yield Finding("leftover_lock", message, (lock,), f"{_FIX} removes the lock")


def _index(repository: Repository) -> Iterator[Finding]:
    path = repository.index_path
    try:
        damage = _damage(repository)
    except (PermissionError, IsADirectoryError) as error:
        reason = (error.strerror or str(error)).lower()
        yield Finding(
            "unreadable_index",
            f"the index '{path}' cannot be read: {reason}; without it, no checkpoint can be taken",
            (path,),
            "see to its owner and its mode",
        )
        return
    if damage is not None:
        yield Finding(
            "damaged_index",
            f"the index '{path}' is damaged: {damage}; what is staged in it may be lost, files "
            "and commits are not",
            (path,),
            _way_to_an_index(repository),
        )


def _damage(repository: Repository) -> str | None:
    """What is wrong with the user's index; None if nothing is.

    Raises:
        OSError: it cannot be read.
    """
    try:
        if not is_whole(repository.index_path, repository.object_format):
            return "its checksum is wrong"
    except FileNotFoundError:
        return None
    index = Index(repository.git, repository.index_path)
    try:
        index.paths()
    except GitError as error:
        said = error.stderr.strip().partition("\n")[0].removeprefix("fatal: ")
        return said.removeprefix(f"{index.path}: ") or error.message
    return None


def _way_to_an_index(repository: Repository) -> str:
    remove = f"rm {shlex.quote(repository.index_path)}"
    anew = f"'{remove} && git reset' makes it anew from HEAD, and leaves the files as they are"
    for entry in Catalog(repository).newest_first():
        staged = entry.meta.part("index", "tree") if isinstance(entry, Checkpoint) else None
        if isinstance(entry, Checkpoint) and staged and OBJECT_ID.fullmatch(staged):
            back = f"'{remove} && git read-tree {staged}'"
            return f"{anew}; {back} brings back what was staged at the checkpoint {entry.id}"
    return anew


def _ref_locks(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    packed = os.path.join(repository.common_dir, "packed-refs.lock")
    if _age(packed) > _MOMENT:
        yield _foreign_lock(packed, "packed-refs", ", so that no ref can be deleted")
    for path in reftable_locks(repository):
        if _age(path) > _MOMENT:
            yield _foreign_lock(path, "the reftable", ", so that no ref can be written")
    ages = {path: _age(path) for path in _locks_of_ours(repository)}
    # A command that writes many refs locks them all, one after the other, before it is done.
    abandoned = min(ages.values(), default=0.0) > _ABANDONED
    for path, age in ages.items():
        if age > _MOMENT:
            yield _ref_lock(path, abandoned=abandoned, fix=fix)


def _locks_of_ours(repository: Repository) -> Iterator[str]:
    for directory, _, names in os.walk(os.path.join(repository.common_dir, "refs", "boocode")):
        # Git allows no ref such a name.
        locks = (name for name in sorted(names) if name.endswith(".lock"))
        yield from (os.path.join(directory, name) for name in locks)


def _ref_lock(path: str, *, abandoned: bool, fix: bool) -> Finding:
    told = _foreign_lock(path, "a ref")
    if not abandoned:
        return told
    if not fix:
        return told._replace(remedy=f"{_FIX} removes the lock")
    with suppress(FileNotFoundError):
        os.unlink(path)
    return told._replace(remedy="the lock was removed", fixed=True)


def _age(path: str) -> float:
    """Seconds since a file was written; 0 if it is gone."""
    try:
        return max(0.0, time.time() - os.lstat(path).st_mtime)
    except FileNotFoundError:
        return 0.0


def _foreign_lock(lock: str, what: str, effect: str = "") -> Finding:
    return Finding(
        "leftover_lock",
        f"{what} {_locked(_age(lock))}{effect}: '{lock}' exists; "
        "another git process is at work, or was killed",
        (lock,),
        "if no git command runs here any more, delete that file",
    )


def _locked(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"has been locked for {number} {unit}" + ("" if number == 1 else "s")
    return "was locked less than a minute ago"


def _leftover_files(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    state = repository.state_dir
    stale = stale_indexes(state)
    paths = (*scratch.leftovers(state), *stale)
    if not paths:
        return
    message = "killed git boocode commands left private files behind"
    if not fix:
        remedy = f"{_FIX} removes them, and so does the next checkpoint"
        yield Finding("leftover_files", message, paths, remedy)
        return
    scratch.sweep(state)
    for path in stale:
        remove(path)
    yield Finding("leftover_files", message, paths, "they were removed", fixed=True)


def _unusable(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    paths = tuple(path for state in repository.state_dirs() for path in _unusable_in(state))
    if not paths:
        return
    message = "private files are not what git boocode writes"
    if not fix:
        yield Finding("unusable_files", message, paths, f"{_FIX} removes them")
        return
    for path in paths:
        remove(path)
    yield Finding("unusable_files", message, paths, "they were removed", fixed=True)


def _damaged_id(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    path = os.path.join(repository.state_dir, WORKTREE_ID)
    if not os.path.lexists(path) or worktree_id(repository.state_dir):
        return
    message = "the id of this worktree is damaged, so that its checkpoints are not found"
    if not fix:
        yield Finding("unusable_files", message, (path,), f"{_FIX} writes it anew")
        return
    remove(path)
    known = _recorded_id(repository)
    write_private(path, (known or os.urandom(16).hex()).encode("ascii"))
    how = "it was taken from the newest checkpoint" if known else "a new one was made"
    yield Finding("unusable_files", message, (path,), how, fixed=True)


def _recorded_id(repository: Repository) -> str | None:
    """The id of this worktree in its newest checkpoint."""
    catalog = Catalog(repository)
    for entry in catalog.entries(catalog.store.refs(*retention.KINDS)):
        if isinstance(entry, Checkpoint):
            worktree = entry.meta.table("worktree")
            here = (repository.worktree_name, repository.worktree)
            if (worktree.get("name"), worktree.get("path")) == here:
                return entry.meta.part("worktree", "id")
    return None


def _unusable_in(state: str) -> Iterator[str]:
    directories = [os.path.join(state, name) for name in _DIRECTORIES]
    yield from (path for path in directories if is_blocked(path) or os.path.islink(path))
    files = [os.path.join(state, name) for name in (*_FILES, *_names(state, KEPT_INDEX))]
    files += _paths(directories[0])
    yield from (path for path in files if os.path.lexists(path) and not _is_usable(path))
    for path in _paths(directories[1]):
        # A directory for each restore.
        if os.path.islink(path) or not os.path.isdir(path):
            yield path
    yield from damaged_files(state)


def _paths(directory: str) -> list[str]:
    return [os.path.join(directory, name) for name in _names(directory)]


def _names(directory: str, beginning: str = "") -> list[str]:
    if not os.path.isdir(directory):
        return []
    return sorted(name for name in os.listdir(directory) if name.startswith(beginning))


def _is_usable(path: str) -> bool:
    if not is_regular(path):
        return False
    directory, name = os.path.split(path)
    if name == "kept-index" or name.startswith(KEPT_INDEX):
        return True
    largest = _LARGEST.get(name, LARGEST if os.path.basename(directory) == "boocode" else _LARGER)
    if not name.endswith(".json"):
        return os.path.getsize(path) <= largest
    return read_private_json(path, largest=largest) is not None


def _stale_note(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    state = repository.state_dir
    if not journal.is_noted(state):
        return
    safety = journal.interrupted(state)
    store = Catalog(repository).store
    if safety is None:
        message = "the note of a restore that was interrupted cannot be read"
        newest = store.refs(SAFETY, newest=1)
        if newest:
            message += f"; the newest state that was kept before a restore is {newest[0].id}"
    elif not store.refs(f"{SAFETY}{safety}"):
        message = "a restore was interrupted before it changed anything"
    else:
        return
    if fix:
        journal.end(state)
        yield Finding("stale_note", message, (), "its note was removed", fixed=True)
    else:
        yield Finding("stale_note", message, (), f"{_FIX} removes its note")


def _unreadable(ref: Ref, entry: Unusable) -> Finding:
    remedy = "; ".join(entry.why.hints) or f"{_dropping(ref)} drops it, if it is of no use"
    return Finding(
        "unreadable_checkpoint",
        f"the checkpoint at {ref.name} cannot be used: {entry.why.message}",
        (),
        remedy,
    )


def _dropping(ref: Ref) -> str:
    if ID_PART.fullmatch(ref.id):
        return f"'git boocode drop {ref.id}'"
    return f"'git update-ref -d {ref.name}'"


def _unreadable_fetched(entry: Unusable) -> Finding:
    return Finding(
        "unreadable_fetched",
        f"the fetched checkpoint at {entry.ref} cannot be used: {entry.why.message}",
        (),
        "; ".join(entry.why.hints) or _fetching_again(entry.ref),
    )


def _fetching_again(ref: str) -> str:
    # Its id may be that of a checkpoint taken here as well, which `drop` would take it for.
    gone, again = f"git update-ref -d {shlex.quote(ref)}", shlex.quote(remote_of(ref))
    return f"'{gone}' drops it, and 'git boocode fetch {again}' gets it again"


def _damaged(error: GitError) -> Finding:
    return Finding(
        "missing_objects",
        f"git cannot go through the objects of the checkpoints: {error.message}",
        (),
        "'git fsck' tells which objects are damaged or missing",
    )


def _incomplete(entry: Checkpoint, lost: str) -> Finding:
    if entry.remote:
        return Finding(
            "missing_objects_fetched",
            f"the checkpoint {entry.id}, fetched from '{entry.remote}', lacks objects, "
            f"such as {lost}",
            (),
            _fetching_again(entry.ref),
        )
    return Finding(
        "missing_objects",
        f"the checkpoint {entry.id} lacks objects, such as {lost}",
        (),
        f"fetch it again from a clone that has it, or remove it: {_FIX} "
        f"or 'git boocode drop {entry.id}'",
    )


def _is_halfway(entry: Checkpoint) -> bool:
    return entry.meta.table("restore").get("halfway") is True


def _halfway(entry: Checkpoint) -> Finding:
    return Finding(
        "halfway",
        f"a restore failed, and files had changed meanwhile; as they were then, {entry.id} "
        "keeps them",
        (),
        f"'git boocode show {entry.id}' shows it; 'git boocode drop {entry.id}' drops it",
    )


def _orphans(catalog: Catalog, survey: retention.Survey, *, fix: bool) -> Iterator[Finding]:
    known = {ref.id for ref, _ in survey.found[SAFETY]}
    orphans: dict[str, list[Ref]] = {}
    for ref, entry in survey.found[ARCHIVE]:
        restore = retention.restore_of(ref)
        # What cannot be read is of no use in the log.
        if restore not in known and isinstance(entry, Checkpoint):
            orphans.setdefault(restore, []).append(ref)
    for restore, refs in orphans.items():
        what = "a checkpoint" if len(refs) == 1 else f"{len(refs)} checkpoints"
        message = f"{what} left the log with the restore {restore}, which can no longer be undone"
        if not fix:
            remedy = f"{_FIX} brings back to the log what it archived"
            yield Finding("orphaned_archive", message, (), remedy)
            continue
        try:
            _bring_back(catalog, refs)
        except RefusedError as error:
            yield Finding("orphaned_archive", message, (), error.message)
        else:
            yield Finding(
                "orphaned_archive", message, (), "what it archived is in the log again", fixed=True
            )


def _bring_back(catalog: Catalog, refs: list[Ref]) -> None:
    there = {ref.name: ref.target for ref in catalog.store.refs(CHECKPOINTS)}
    changes = []
    for ref in refs:
        name = f"{CHECKPOINTS}{ref.id}"
        changes.append(RefChange(ref.name, None, ref.target))
        if there.get(name) != ref.target:
            changes.append(RefChange(name, ref.target, None))
            there[name] = ref.target
    catalog.store.update_refs(changes)


def _pruning(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    why = last_failure(repository)
    if why is None:
        return
    message = f"old checkpoints could not be pruned: {why}"
    if not fix:
        yield Finding("pruning_failed", message, (), "'git boocode prune --all' tries it again")
        return
    try:
        gone = retention.prune(repository, everywhere=True)
    except BoocodeError as error:
        yield Finding("pruning_failed", message, (), "; ".join((error.message, *error.hints)))
    else:
        yield Finding(
            "pruning_failed", message, (), f"it succeeds now; deleted: {len(gone)}", fixed=True
        )
