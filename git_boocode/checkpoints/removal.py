"""All that git-boocode keeps in a repository beside hooks, and its removal.

Every part can be listed again after a kill, so that running the removal again completes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, is_taken_here
from git_boocode.repo.durable import remove_all
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.layout import (
    ALL_REFS,
    ARCHIVE,
    CHECKPOINTS,
    COMMIT_NOTES,
    EDIT_NOTE,
    RESTORE_NOTE,
    SAFETY,
    aside,
    is_aside,
    private_dirs,
)
from git_boocode.repo.lock import interrupted_restore, worktree_lock
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, RefChange

SIDE_FILES, REFS, FILES, SETTINGS = "side_files", "refs", "files", "settings"
_PATIENCE = 5.0
"""Seconds to wait for a running command."""
# What the shipped callbacks leave beside a transcript, with the id of a safety checkpoint.
_SIDE_FILE = re.compile(r"\.(?:before|after|new)-([0-9a-f-]{36})(?:\.\d+)?(?:\.new)?")
_NOTES = (EDIT_NOTE, RESTORE_NOTE)
_KEYS = r"^(boocode\..*|advice\.boocode)$"


class RemovalStep(NamedTuple):
    """One step of a removal: refs, paths or settings, under a name of this module."""

    name: str
    items: list[str]
    remove: Callable[[], object]


def parts(repository: Repository) -> list[RemovalStep]:
    """What there is to remove, in the order in which it has to go.

    Checkpoints name the transcripts beside which side files are, and need the private files.
    """
    refs = repository.store.refs(ALL_REFS, COMMIT_NOTES)
    files, directories = _side_files(repository), _directories(repository)
    settings = list(_settings(repository))
    found = [
        RemovalStep(SIDE_FILES, files, partial(remove_all, files)),
        RemovalStep(REFS, [ref.name for ref in refs], partial(_remove_refs, repository, refs)),
        RemovalStep(FILES, directories, partial(_remove_directories, directories)),
        RemovalStep(SETTINGS, [key for _, key in settings], partial(_unset, repository, settings)),
    ]
    return [part for part in found if part.items]


def _refuse_interrupted(repository: Repository) -> None:
    """RefusedError (`interrupted`) if a restore or edit in any worktree was interrupted."""
    safety = {ref.id for ref in repository.store.refs(SAFETY)}
    for state in repository.state_dirs():
        edit, restore = (os.path.lexists(os.path.join(state, name)) for name in _NOTES)
        # Without its safety checkpoint a restore has not changed anything.
        if edit or (restore and interrupted_restore(state) in {None, *safety}):
            raise RefusedError(
                f"an edit or a restore was interrupted, as '{state}' says; nothing was removed",
                code="interrupted",
                hints=("run 'git boocode doctor --fix' in that worktree first",),
            )


@contextmanager
def all_locked(repository: Repository) -> Iterator[None]:
    """Keep out the commands of all worktrees; RefusedError if one is running or was interrupted."""
    with ExitStack() as held:
        for state in filter(os.path.isdir, repository.state_dirs()):
            held.enter_context(worktree_lock(state, shared=False, patience=_PATIENCE))
        _refuse_interrupted(repository)
        yield


def _side_files(repository: Repository) -> list[str]:
    """The files of callbacks beside the transcripts that local checkpoints name."""
    catalog = Catalog(repository)
    entries = catalog.entries(catalog.store.refs(CHECKPOINTS, SAFETY, ARCHIVE))
    usable = [
        entry
        for entry in entries
        if isinstance(entry, Checkpoint) and is_taken_here(repository, entry)
    ]
    restores = {ref.id for ref in catalog.store.refs(SAFETY)}
    found = []
    for path in sorted({path for entry in usable if (path := _transcript(entry))}):
        directory, name = os.path.split(path)
        for other in os.listdir(directory) if restores and os.path.isdir(directory) else ():
            match = _SIDE_FILE.fullmatch(other.removeprefix(name))
            if match and other.startswith(name) and match[1] in restores:
                found.append(os.path.join(directory, other))
    return sorted(path for path in found if os.path.isfile(path))


def _transcript(entry: Checkpoint) -> str:
    """The real path of a checkpoint's transcript; empty if it names none."""
    path = entry.meta.part("anchor", "path") or entry.meta.part("meta", "transcript")
    top = entry.meta.part("worktree", "path") or ""
    path = os.path.join(top, path) if path and "\0" not in path else ""
    return os.path.realpath(path) if os.path.isabs(path) else ""


def _remove_refs(repository: Repository, refs: list[Ref]) -> None:
    repository.store.update_refs([RefChange(ref.name, None, ref.target) for ref in refs])


def _directories(repository: Repository) -> list[str]:
    """The private directories of all worktrees, and what a killed removal left of them."""
    found = []
    for state in repository.state_dirs():
        found += private_dirs(os.path.dirname(state))
    return found


def _remove_directories(paths: list[str]) -> None:
    # Renamed first, so that a directory is never there in part.
    renamed = []
    for path in paths:
        renamed.append(path if is_aside(path) else aside(path))
        if renamed[-1] != path:
            os.rename(path, renamed[-1])
    remove_all(renamed)


def _settings(repository: Repository) -> Iterator[tuple[str, str]]:
    """Our settings in the repository's own configuration: each file with a key."""
    git_dirs = [os.path.dirname(state) for state in repository.state_dirs()]
    files = [os.path.join(git_dir, "config.worktree") for git_dir in git_dirs]
    for path in filter(os.path.isfile, (os.path.join(repository.common_dir, "config"), *files)):
        options = ("--null", "--no-includes", "--name-only", "--get-regexp")
        done = repository.git.attempt("config", "--file", path, *options, _KEYS)
        keys = os.fsdecode(done.stdout).split("\0")[:-1]
        yield from ((path, key) for key in dict.fromkeys(keys))


def _unset(repository: Repository, settings: list[tuple[str, str]]) -> None:
    for path, key in settings:
        repository.git.run("config", "--file", path, "--unset-all", key)


def users_settings(repository: Repository) -> list[str]:
    """The keys of our settings in the user's own configuration."""
    options = ("--global", "--null", "--name-only", "--get-regexp", _KEYS)
    listed = os.fsdecode(repository.git.attempt("config", *options).stdout)
    return list(dict.fromkeys(listed.split("\0")[:-1]))
