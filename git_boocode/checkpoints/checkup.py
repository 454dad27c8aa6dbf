"""Diagnose and repair checkpoints and proposals, and leftovers of killed commands."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from git_boocode.checkpoints.restore.conversation import damaged_files
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, remote_of
from git_boocode.checkpoints.store.retention import (
    KINDS,
    interrupted,
    last_prune_failure,
    prune,
    restore_of,
)
from git_boocode.checkpoints.turn_request import remove_marks
from git_boocode.repo.durable import (
    is_blocked,
    is_directory,
    is_regular,
    remove,
    remove_all,
    worktree_id,
    write_private,
)
from git_boocode.repo.entries import EntryCatalog, Unusable
from git_boocode.repo.errors import BoocodeError, shell_command
from git_boocode.repo.gc import missing_objects
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import ID_PART, OBJECT_ID
from git_boocode.repo.index import Index, is_whole
from git_boocode.repo.layout import (
    ALL_REFS,
    ARCHIVE,
    CHECKPOINTS,
    DIRECTORIES,
    EDIT_NOTE,
    EDITS,
    FILES,
    LOCK,
    PROPOSALS,
    REMOTE_PROPOSALS,
    REMOTES,
    RESTORE_NOTE,
    SAFETY,
    WORKTREE_ID,
)
from git_boocode.repo.lock import (
    end_restore,
    interrupted_restore,
    leftover_index_lock,
    leftovers,
    loose_locks,
    reftable_locks,
    sweep,
)
from git_boocode.repo.messages import broken_refs, failure_reason
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import read_marks
from git_boocode.repo.store import Ref, RefChange, Store

_MOMENT = 10.0
"""A lock of a ref that is younger, in seconds, is normal."""
_ABANDONED = 60.0
"""A lock of our refs that is older, in seconds, is abandoned."""
FIX = "'git boocode doctor --fix'"
_WITH_OWN_CHECK = {LOCK, EDIT_NOTE, RESTORE_NOTE, WORKTREE_ID}


class Finding(NamedTuple):
    """A problem: a stable word for it, one sentence, the files that it concerns.

    `remedy` says how to fix it or, if it is `fixed`, what was done. A `past` problem is only
    reported; `lines` are its details.
    """

    kind: str
    message: str
    paths: tuple[str, ...]
    remedy: str
    fixed: bool = False
    lines: tuple[str, ...] = ()
    past: bool = False

    def repaired(self, repair: Callable[[], object], done: str, *, fix: bool) -> Finding:
        """Repair the problem if `fix`, and return the finding; `done` says what was done."""
        if not fix:
            return self
        try:
            repair()
        except BoocodeError as error:
            return self._replace(remedy="; ".join((error.message, *error.hints)))
        return self._replace(remedy=done, fixed=True)


def check_directories(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Find what is in place of the private directories and of the worktree's lock."""
    found = dict.fromkeys(filter(is_blocked, repository.state_dirs()), "a directory")
    lock = os.path.join(repository.state_dir, LOCK)
    if os.path.lexists(lock) and not is_regular(lock):
        found[lock] = "a regular file"
    for path, kind in found.items():
        message = f"'{path}' is not {kind}"
        yield Finding("unusable_files", message, (path,), f"{FIX} removes it").repaired(
            partial(remove, path), "it was removed", fix=fix
        )


def check_owner(repository: Repository) -> Finding | None:
    """Find private files that cannot be read, so that nothing else can be checked."""
    states = dict.fromkeys((repository.common_state_dir, repository.state_dir))
    paths = (os.path.join(state, name) for state in states for name in sorted(FILES))
    denied = tuple(path for path in paths if is_regular(path) and not os.access(path, os.R_OK))
    if not denied:
        return None
    message = "private files of git boocode cannot be read, so nothing can be recorded"
    return Finding("unusable_files", message, denied, "check their owner and permissions")


def check_files(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Find leftovers of killed commands in this worktree, and a damaged index.

    The caller holds the worktree's lock exclusively.
    """
    # The lock first: the leftover files prove that the lock is ours.
    yield from _index_lock(repository, fix=fix)
    yield from _index(repository)
    yield from _leftover_files(repository.state_dir, fix=fix)
    yield from _stale_note(repository, fix=fix)
    yield from _finished_turn(repository, fix=fix)
    if paths := tuple(_unusable_files(repository)):
        message = "private files of git boocode are damaged"
        yield Finding("unusable_files", message, paths, f"{FIX} removes them").repaired(
            partial(remove_all, paths), "they were removed", fix=fix
        )
    yield from _damaged_id(repository, fix=fix)
    yield from _ref_locks(repository, fix=fix)


def check_checkpoints(
    repository: Repository, proposals: EntryCatalog[Any], *, fix: bool
) -> Iterator[Finding]:
    """Find unusable checkpoints and proposals, unreachable checkpoints, and missing objects.

    The entries of `proposals` name the `commits` that they need, as checkpoints do. This can take
    long, so no lock is held.
    """
    yield from _broken_refs(repository, fix=fix)
    catalog = Catalog(repository)
    yield from _other_refs(repository, catalog.store, fix=fix)
    yield from _broken_entries(repository, catalog, proposals, fix=fix)
    safety = catalog.store.refs(SAFETY)
    yield from _halfway(catalog, safety)
    yield from _orphans(catalog, {ref.id for ref in safety}, fix=fix)
    yield from _prune_failure(repository, fix=fix)


def _index_lock(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    lock, state = f"{repository.index_path}.lock", repository.state_dir
    if not os.path.lexists(lock):
        return
    if not any(leftover_index_lock(state, path) for path in leftovers(state)):
        yield _foreign_lock(lock, "the index")
        return
    message = "a killed git boocode command left the index locked"
    yield Finding("leftover_lock", message, (lock,), f"{FIX} removes the lock").repaired(
        partial(sweep, state), "the lock was removed", fix=fix
    )


def _index(repository: Repository) -> Iterator[Finding]:
    path, damage = repository.index_path, "its checksum is wrong"
    try:
        if is_whole(path, repository.object_format):
            Index(repository.git, path).paths()
            return
    except FileNotFoundError:
        return
    except (PermissionError, IsADirectoryError) as error:
        reason = (error.strerror or str(error)).lower()
        message = f"the index '{path}' cannot be read: {reason}; no checkpoint can be taken"
        yield Finding("unreadable_index", message, (path,), "check its owner and permissions")
        return
    except GitError as error:
        reason = failure_reason(error.stderr).partition("\n")[0]
        damage = reason.removeprefix(f"{path}: ") or error.message
    message = f"the index '{path}' is damaged: {damage}; staged changes may be lost"
    yield Finding("damaged_index", message, (path,), _index_remedy(repository))


def _index_remedy(repository: Repository) -> str:
    remove = shell_command("rm", repository.index_path)
    reset = f"'{remove} && git reset' rebuilds it from HEAD and does not change files"
    for entry in Catalog(repository).history():
        staged = entry.meta.part("index", "tree")
        if staged and OBJECT_ID.fullmatch(staged):
            read = f"'{remove} && git read-tree {staged}'"
            return f"{reset}; {read} restores the staging area of checkpoint {entry.id}"
    return reset


def _leftover_files(state: str, *, fix: bool) -> Iterator[Finding]:
    if paths := tuple(leftovers(state)):
        message = "killed git boocode commands left private files behind"
        remedy = f"{FIX} removes them, and so does the next checkpoint"
        finding = Finding("leftover_files", message, paths, remedy)
        yield finding.repaired(partial(sweep, state), "they were removed", fix=fix)


def _stale_note(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    state = repository.state_dir
    if not os.path.lexists(os.path.join(state, RESTORE_NOTE)):
        return
    safety, store = interrupted_restore(state), repository.store
    if safety is None:
        message = "the note of an interrupted restore cannot be read"
        if newest := store.refs(SAFETY, newest=1):
            message += f"; the newest safety checkpoint is {newest[0].id}"
    elif not store.refs(f"{SAFETY}{safety}"):
        message = "a restore was interrupted before it changed anything"
    else:
        return
    yield Finding("stale_note", message, (), f"{FIX} removes its note").repaired(
        partial(end_restore, state), "its note was removed", fix=fix
    )


def _finished_turn(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    over = [(turn, why) for turn in read_marks(repository.state_dir) if (why := turn.why_over)]
    for turn, why in over:
        message = f"the mark of a turn was left behind ({turn.describe()}); {why}"
        remedy = f"{FIX} removes it, and so does the next turn"
        yield Finding("leftover_turn", message, (), remedy).repaired(
            partial(remove_marks, repository, turn.__eq__), "it was removed", fix=fix
        )


def _unusable_files(repository: Repository) -> Iterator[str]:
    """Whatever else is at the path of a private file or directory, and damaged records."""
    for state in repository.state_dirs():
        for name in sorted({*FILES, *DIRECTORIES} - _WITH_OWN_CHECK):
            path = os.path.join(state, name)
            usable = is_regular(path) if name in FILES else is_directory(path)
            if os.path.lexists(path) and not usable:
                yield path
        yield from damaged_files(state)


def _damaged_id(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    path = os.path.join(repository.state_dir, WORKTREE_ID)
    if not os.path.lexists(path) or worktree_id(repository.state_dir):
        return
    here = (repository.worktree_name, repository.worktree)
    catalog = Catalog(repository)
    entries = catalog.entries(catalog.store.refs(*KINDS))
    worktrees = (each.meta.table("worktree") for each in entries if isinstance(each, Checkpoint))
    own = (each.get("id") for each in worktrees if (each.get("name"), each.get("path")) == here)
    recorded = next((each for each in own if isinstance(each, str)), None)
    identifier = recorded or os.urandom(16).hex()

    def write() -> None:
        remove(path)
        write_private(path, identifier.encode("ascii"))

    message = "the id of this worktree is damaged; its checkpoints cannot be found"
    done = "it was copied from a checkpoint or a proposal" if recorded else "a new one was made"
    finding = Finding("unusable_files", message, (path,), f"{FIX} rewrites it")
    yield finding.repaired(write, done, fix=fix)


def _ref_locks(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    packed = os.path.join(repository.common_dir, "packed-refs.lock")
    if _age(packed) > _MOMENT:
        yield _foreign_lock(packed, "packed-refs", " (no ref can be deleted)")
    for path in reftable_locks(repository):
        if _age(path) > _MOMENT:
            yield _foreign_lock(path, "the reftable", " (no ref can be written)")
    yield from _other_locks(repository)
    ours = os.path.join(repository.common_dir, ALL_REFS)
    ages = {path: _age(path) for path in loose_locks(ours)}
    # A command that writes many refs locks them one after the other, and then writes them.
    abandoned = min(ages.values(), default=0.0) > _ABANDONED
    for path in (path for path, age in ages.items() if age > _MOMENT):
        finding = _foreign_lock(path, "a ref")
        if abandoned:
            finding = finding._replace(remedy=f"{FIX} removes the lock")
            finding = finding.repaired(partial(remove, path), "the lock was removed", fix=fix)
        yield finding


def _other_locks(repository: Repository) -> Iterator[Finding]:
    """The locks of others, which stop only git itself."""
    common = repository.common_dir
    files = {os.path.join(repository.git_dir, "HEAD"): "HEAD"}
    files |= {os.path.join(common, name): f"git's file '{name}'" for name in ("config", "shallow")}
    locks = {f"{path}.lock": what for path, what in files.items()}
    ours = os.path.join(common, ALL_REFS)
    refs = loose_locks(os.path.join(common, "refs"))
    locks |= {path: "a ref" for path in refs if not path.startswith(ours)}
    for path, what in locks.items():
        if _age(path) > _ABANDONED:
            yield _foreign_lock(path, what)


def _foreign_lock(lock: str, what: str, effect: str = "") -> Finding:
    seconds, since = _age(lock), "was locked less than a minute ago"
    for unit, length in (("minute", 60), ("hour", 3600), ("day", 86_400)):
        if seconds >= length:
            number = int(seconds // length)
            since = f"has been locked for {number} {unit}" + ("" if number == 1 else "s")
    return Finding(
        "leftover_lock",
        f"{what} {since}{effect}: '{lock}' exists; another git process is running or was killed",
        (lock,),
        "if no git command is running here, delete that file",
    )


def _age(path: str) -> float:
    """Seconds since a file was written; 0 if it is gone."""
    try:
        return max(0.0, time.time() - os.lstat(path).st_mtime)
    except FileNotFoundError:
        return 0.0


def _broken_refs(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Refs whose file a crash left empty; git can neither read nor delete them."""
    listed = repository.git.attempt("for-each-ref", "--format=", ALL_REFS)
    for name in broken_refs(os.fsdecode(listed.stderr)):
        path = os.path.join(repository.common_dir, name)
        yield _broken_ref(name, path).repaired(
            partial(os.unlink, path),
            f"the ref '{name}' was removed",
            fix=fix and os.path.isfile(path),
        )


def _other_refs(repository: Repository, store: Store, *, fix: bool) -> Iterator[Finding]:
    """Refs of versions that were read, or that this version does not write, without an object."""
    checked_elsewhere = (*KINDS, REMOTES, REMOTE_PROPOSALS, EDITS)
    refs = [ref for ref in store.refs(ALL_REFS) if not ref.name.startswith(checked_elsewhere)]
    for ref, found in zip(refs, store.lookup([ref.target for ref in refs]), strict=True):
        # What a partial clone has not fetched is not gone.
        if found is None and _is_gone(repository, ref):
            yield remove_broken(store, ref, _broken_ref(ref.name), fix=fix)


def _broken_ref(name: str, *paths: str) -> Finding:
    message = f"the ref '{name}' names no object; 'git gc' and 'git fsck' fail because of it"
    return Finding("unreadable_checkpoint", message, paths, f"{FIX} removes it")


def _is_gone(repository: Repository, ref: Ref) -> bool:
    return repository.git.attempt("cat-file", "-e", ref.target).status != 0


def _broken_entries(
    repository: Repository, checkpoints: Catalog, proposals: EntryCatalog[Any], *, fix: bool
) -> Iterator[Finding]:
    """The checkpoints and proposals that cannot be read or lack objects; `fix` removes these."""
    store, entries = checkpoints.store, dict[Ref, Any]()
    refs = [*store.refs(*(kind for kind in KINDS if kind != PROPOSALS)), *store.refs(REMOTES)]
    proposed = [*store.refs(PROPOSALS), *store.refs(REMOTE_PROPOSALS)]
    found = chain(checkpoints.entries(refs), proposals.entries(proposed))
    for ref, entry in zip((*refs, *proposed), found, strict=True):
        if isinstance(entry, Unusable):
            goes = fix and _is_gone(repository, ref)
            yield remove_broken(store, ref, _unreadable(ref, entry), fix=goes)
        else:
            entries[ref] = entry
    needs = {ref.name: entry.commits for ref, entry in entries.items()}
    try:
        lacking = missing_objects(repository, needs)
    except GitError as error:
        message = f"git cannot check the objects of the checkpoints: {error.message}"
        remedy = "'git fsck' shows which objects are damaged or missing"
        yield Finding("missing_objects", message, (), remedy)
        return
    # An interrupted restore needs the rest of its safety checkpoint.
    needed = interrupted(repository)
    for ref in entries:
        if lost := lacking.get(ref.name):
            goes = fix and ref.id not in needed
            yield remove_broken(store, ref, _incomplete(ref, lost), fix=goes)


def remove_broken(store: Store, ref: Ref, finding: Finding, *, fix: bool) -> Finding:
    """If `fix`, remove a ref that lacks objects, because `git gc` and `git fsck` fail otherwise."""
    done = f"the ref '{ref.name}' was removed; it named {ref.target}"
    remove_ref = partial(store.update_refs, [RefChange(ref.name, None, ref.target)])
    return finding.repaired(remove_ref, done, fix=fix)


def _unreadable(ref: Ref, entry: Unusable) -> Finding:
    kind, what = "unreadable_checkpoint", "checkpoint"
    if _noun(ref) == "proposal":
        kind, what = "unreadable_proposal", "proposal"
    if remote_of(ref.name):
        kind, what, remedy = "unreadable_fetched", f"fetched {what}", _refetch_remedy(ref.name)
    elif ID_PART.fullmatch(ref.id) and not ref.name.startswith(PROPOSALS):
        remedy = f"to delete it: git boocode drop {ref.id}"
    else:
        remedy = f"to delete it: {shell_command('git', 'update-ref', '-d', ref.name)}"
    message = f"the {what} at {ref.name} cannot be used: {entry.why.message}"
    return Finding(kind, message, (), "; ".join(entry.why.hints) or remedy)


def _incomplete(ref: Ref, lost: str) -> Finding:
    what, lacks = f"the {_noun(ref)} {ref.id}", f"lacks objects, such as {lost}"
    if remote := remote_of(ref.name):
        message = f"{what}, fetched from '{remote}', {lacks}"
        return Finding("missing_objects_fetched", message, (), _refetch_remedy(ref.name))
    words = (
        ("update-ref", "-d", ref.name) if _noun(ref) == "proposal" else ("boocode", "drop", ref.id)
    )
    drop = shell_command("git", *words)
    again = "fetch it again from a clone that has it, or remove it"
    return Finding("missing_objects", f"{what} {lacks}", (), f"{again}: {FIX} or '{drop}'")


def _noun(ref: Ref) -> str:
    return "proposal" if ref.name.startswith((PROPOSALS, REMOTE_PROPOSALS)) else "checkpoint"


def _refetch_remedy(ref: str) -> str:
    # `drop` would delete a local checkpoint with the same id.
    remove = shell_command("git", "update-ref", "-d", ref)
    again = shell_command("git", "boocode", "fetch", remote_of(ref))
    return f"'{remove}' deletes it, and '{again}' fetches it again"


def _halfway(catalog: Catalog, safety: list[Ref]) -> Iterator[Finding]:
    for entry in catalog.entries(safety):
        if isinstance(entry, Checkpoint) and entry.meta.table("restore").get("halfway") is True:
            saved = f"they are saved in {entry.id}"
            message = f"a restore failed while another process changed files; {saved}"
            show, drop = f"git boocode show {entry.id}", f"git boocode drop {entry.id}"
            yield Finding("halfway", message, (), f"'{show}' shows it; '{drop}' deletes it")


def _orphans(catalog: Catalog, restores: set[str], *, fix: bool) -> Iterator[Finding]:
    """The readable checkpoints that were archived by restores that are gone."""
    orphans: dict[str, list[Ref]] = {}
    refs = [ref for ref in catalog.store.refs(ARCHIVE) if restore_of(ref) not in restores]
    for ref, entry in zip(refs, catalog.entries(refs), strict=True):
        if isinstance(entry, Checkpoint):
            orphans.setdefault(restore_of(ref), []).append(ref)
    for restore, archived in orphans.items():
        what = "1 checkpoint" if len(archived) == 1 else f"{len(archived)} checkpoints"
        message = f"{what} archived by restore {restore}, which can no longer be undone"
        remedy = f"{FIX} returns them to the log"
        yield Finding("orphaned_archive", message, (), remedy).repaired(
            partial(_bring_back, catalog, archived), "they are in the log again", fix=fix
        )


def _bring_back(catalog: Catalog, refs: list[Ref]) -> None:
    existing = {ref.name: ref.target for ref in catalog.store.refs(CHECKPOINTS)}
    changes = []
    for ref in refs:
        name = f"{CHECKPOINTS}{ref.id}"
        changes.append(RefChange(ref.name, None, ref.target))
        if existing.get(name) != ref.target:
            changes.append(RefChange(name, ref.target, None))
            existing[name] = ref.target
    catalog.store.update_refs(changes)


def _prune_failure(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    why = last_prune_failure(repository)
    if why is not None:
        message = f"old checkpoints could not be pruned: {why}"
        remedy = "'git boocode prune --all' tries again"
        yield Finding("pruning_failed", message, (), remedy).repaired(
            partial(prune, repository, everywhere=True), "they were pruned", fix=fix
        )
