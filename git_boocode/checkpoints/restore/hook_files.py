"""Files of the worktree that may hold our hooks: a restore never removes these silently.

A checkpoint from before the hooks were installed lacks them. A file that git does not track is left
alone, because it belongs to this machine and not to the work; a tracked one is restored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.callback import AgentCallback
from git_boocode.checkpoints.store.catalog import Change
from git_boocode.repo.object_writer import read_blobs
from git_boocode.repo.repository import Repository


class HookFile(NamedTuple):
    """A file that may hold our hooks.

    `title` names the program that reads it; the command `install` adds the hooks again.
    """

    title: str
    install: str
    has_hooks: Callable[[bytes], bool]


class AgentSupport(NamedTuple):
    """What a restore has to know about agents."""

    callbacks: Mapping[str, AgentCallback] = MappingProxyType({})  # by the agent's name
    hook_files: Mapping[str, HookFile] = MappingProxyType({})  # by the path in the worktree


class LostHooks(NamedTuple):
    """A file from which a restore removes our hooks; the command `install` adds them again."""

    path: str
    title: str
    install: str


def hooks_to_keep(
    repository: Repository,
    files: Mapping[str, HookFile],
    changes: Collection[Change],
    tracked: Collection[str],
) -> Iterator[tuple[str, str]]:
    """The untracked files that have our hooks before or after some changes, and why they stay."""
    for change in changes:
        file = files.get(change.path)
        if file is None or change.path in tracked:
            continue
        if any(_is_below(change.path, each.path) for each in changes):
            # What replaces the file or its directory takes precedence.
            continue
        now, then = _before(repository, change), _after(repository, change)
        if now == then:
            # An ignored file, which is not in the way.
            continue
        if file.has_hooks(now):
            yield change.path, f"hooks of {file.title} stay installed"
        elif file.has_hooks(then):
            yield change.path, f"hooks of {file.title} are not installed again"


def lost_hooks(
    repository: Repository, files: Mapping[str, HookFile], changes: Iterable[Change]
) -> Iterator[LostHooks]:
    """The files from which some changes remove our hooks."""
    for change in changes:
        file = files.get(change.path)
        if file is None or not file.has_hooks(_before(repository, change)):
            continue
        if not file.has_hooks(_after(repository, change)):
            yield LostHooks(change.path, file.title, file.install)


def _is_below(path: str, other: str) -> bool:
    """Whether one of two paths is below the other."""
    return path.startswith(f"{other}/") or other.startswith(f"{path}/")


def _before(repository: Repository, change: Change) -> bytes:
    with suppress(OSError), open(os.path.join(repository.worktree, change.path), "rb") as file:
        return file.read()
    return b""


def _after(repository: Repository, change: Change) -> bytes:
    # A path that is deleted has the id of no object.
    blobs = read_blobs(repository.git, [change.id]) if change.action != "delete" else ()
    return next(iter(blobs), None) or b""
