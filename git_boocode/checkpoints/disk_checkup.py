"""Diagnose and repair what takes disk space: too many checkpoints, and what killed commands left.

Temporary files that git itself was writing are removed like our own, as `git prune` does it:
only if they are old, and no process has them open. What belongs to other programs is only reported.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial

from git_boocode.checkpoints.checkup import FIX, Finding
from git_boocode.checkpoints.store.retention import last_prune_failure, overdraft, prune
from git_boocode.repo.disk import bytes_below, disk_usage, human_size
from git_boocode.repo.durable import read_private, remove_all
from git_boocode.repo.entries import DAY, MAX_DISK
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.files import walk_directories
from git_boocode.repo.gc import abandoned_keep_files
from git_boocode.repo.layout import is_aside, private_dirs
from git_boocode.repo.lock import leftovers
from git_boocode.repo.messages import unused_files
from git_boocode.repo.object_writer import objects_directory
from git_boocode.repo.open_files import open_below
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref

# Objects, packs with what belongs to them, and commit-graphs that git is writing; of a directory,
# all objects that a push or a command that syncs them together has not finished.
_TEMPORARY = re.compile(
    r"tmp_(obj|pack|idx|rev|mtimes|bitmap|midx|graph|objdir)[_-].+|\.tmp-\d+-pack-.+"
)
_GITS_OWN = frozenset((
    *("heads", "tags", "remotes", "notes", "stash", "boocode", "bisect", "worktree", "rewritten"),
    *("replace", "original", "prefetch"),
))  # fmt: skip
_LARGEST_LOG = 1 << 16


def check_disk(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """Find what takes space for nothing, or more than it may; this can take long."""
    if last_prune_failure(repository) is None:
        yield from _over_budget(repository, fix=fix)
    temporary = _temporary_files(repository)
    yield from _removable(
        temporary, "killed git commands left temporary files of objects behind", fix=fix
    )
    yield from _removable(
        [*_old_private_files(repository), *abandoned_keep_files(repository)],
        "killed git boocode commands left files behind",
        fix=fix,
    )
    yield from _gc_log(repository)
    yield from _unused(repository, set(temporary))
    yield from _foreign_refs(repository)


def _over_budget(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    try:
        found = overdraft(repository)
    except BoocodeError:
        # A restore is running, or the setting is invalid, which the next pruning reports.
        return
    if found is None:
        return
    used, limit = human_size(found.used), human_size(found.limit)
    message = f"checkpoints and edit records take {used}, more than {MAX_DISK} ({limit})"
    stays = "the newest day of each worktree, open turns, proposals, what undo and redo need"
    lines = (f"{human_size(found.left)} stay: {stays}",) if found.left > found.limit else ()
    if found.left < found.used:
        remedy = "'git boocode prune --all' deletes the oldest, and so does a later checkpoint"
        finding = Finding("over_budget", message, (), remedy, lines=lines)
        again = partial(prune, repository, everywhere=True)
        yield finding.repaired(again, "the oldest were deleted", fix=fix)
    else:
        remedy = f"'git config {MAX_DISK} <size>' sets a larger size"
        yield Finding("over_budget", message, (), remedy, lines=lines, past=True)


def _removable(paths: Iterable[str], message: str, *, fix: bool) -> Iterator[Finding]:
    if paths := tuple(paths):
        size = human_size(sum(map(bytes_below, paths)))
        finding = Finding("leftover_files", f"{message}, {size}", paths, f"{FIX} removes them")
        yield finding.repaired(partial(remove_all, paths), "they were removed", fix=fix)


def _temporary_files(repository: Repository) -> list[str]:
    """The files and directories of objects that a killed git was writing."""
    top = objects_directory(repository)
    found = []
    for directory, entries in walk_directories(top):
        inside = any(map(_TEMPORARY.fullmatch, os.path.relpath(directory, top).split(os.sep)))
        found += [e.path for e in entries if not inside and _TEMPORARY.fullmatch(e.name)]
    old = [path for path in found if _age(path) > DAY]
    in_use = open_below(top) if old else []
    # Where the system does not show what is open, nobody knows whether git is writing still.
    return [p for p in sorted(old) if in_use is not None and not _has_any(p, in_use)]


def _has_any(path: str, names: Iterable[str]) -> bool:
    real = os.path.realpath(path)
    return any(name == real or name.startswith(os.path.join(real, "")) for name in names)


def _age(path: str) -> float:
    """Seconds since anything at a path was written; 0 if it is gone."""
    try:
        newest = os.lstat(path).st_mtime
        for directory, entries in walk_directories(path) if os.path.isdir(path) else ():
            times = [entry.stat(follow_symlinks=False).st_mtime for entry in entries]
            newest = max(newest, os.lstat(directory).st_mtime, *times)
    except OSError:
        return 0.0
    return time.time() - newest


def _old_private_files(repository: Repository) -> Iterator[str]:
    """What killed commands left in other worktrees, and an uninstallation that was killed."""
    for state in repository.state_dirs():
        if state != repository.state_dir:
            yield from leftovers(state)
        aside = filter(is_aside, private_dirs(os.path.dirname(state)))
        yield from (path for path in aside if _age(path) > DAY)


def _gc_log(repository: Repository) -> Iterator[Finding]:
    path = os.path.join(repository.common_dir, "gc.log")
    said = (read_private(path, largest=_LARGEST_LOG) or b"").decode("utf-8", "replace").strip()
    if said:
        message = "git has not packed objects by itself since 'git gc --auto' reported a problem"
        remedy = f"'git gc' tries again; '{path}' has what it reported"
        yield Finding("gc_log", message, (path,), remedy, lines=tuple(said.split("\n")), past=True)


def _unused(repository: Repository, reported: set[str]) -> Iterator[Finding]:
    """Files of others among the objects, which git does not use."""
    done = repository.git.attempt("count-objects", "-v")
    real = {os.path.realpath(path) for path in reported}
    found = [
        path
        for path in unused_files(os.fsdecode(done.stderr))
        if os.path.realpath(os.path.join(repository.git.cwd, path)) not in real
    ]
    if found:
        size = human_size(sum(bytes_below(os.path.join(repository.git.cwd, p)) for p in found))
        message = f"git does not use some files among its objects, {size}"
        remedy = "if no git command is running here, delete those that you do not know"
        yield Finding("foreign_files", message, (), remedy, lines=tuple(found), past=True)


def _foreign_refs(repository: Repository) -> Iterator[Finding]:
    """The refs of other tools, by the first word of their names."""
    groups: defaultdict[str, list[Ref]] = defaultdict(list)
    for ref in repository.store.refs("refs/"):
        word = ref.name.split("/")[1]
        if word not in _GITS_OWN:
            groups[word].append(ref)
    for word, refs in groups.items():
        usage = disk_usage(repository, refs)
        size = "" if usage is None else f", {human_size(sum(usage.values()))} that only they need"
        number = "1 ref" if len(refs) == 1 else f"{len(refs):,} refs"
        message = f"another tool has {number} below 'refs/{word}'{size}"
        remedy = f"'git for-each-ref refs/{word}' lists them; git boocode leaves them alone"
        yield Finding("foreign_refs", message, (), remedy, past=True)
