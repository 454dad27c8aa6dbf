"""Files of the worktree that may hold our hooks or server: a restore never removes these silently.

A checkpoint from before the hooks were installed lacks them. A file that git does not track is left
alone, because it belongs to this machine and not to the work; a tracked one is restored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.callback import AgentCallback
from git_boocode.checkpoints.store.catalog import Change
from git_boocode.repo.repository import Repository


class HookFile(NamedTuple):
    """What a file may hold: our hooks, or our server.

    `title` says which, and of which program; the command `install` adds them again.
    """

    title: str
    install: str
    has_hooks: Callable[[bytes], bool]


class AgentSupport(NamedTuple):
    """What a restore has to know about agents."""

    callbacks: Mapping[str, AgentCallback] = MappingProxyType({})  # by the agent's name
    # By the path in the worktree.
    hook_files: Mapping[str, tuple[HookFile, ...]] = MappingProxyType({})
    # The directories of an agent's transcripts, by the agent's name.
    transcripts: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    # The triggers of checkpoints that begin turns, by the agents that report the ends of these.
    turn_triggers: Mapping[str, Collection[str]] = MappingProxyType({})


class LostHooks(NamedTuple):
    """A file from which a restore removes what `title` says; `install` adds it again."""

    path: str
    title: str
    install: str


def hooks_to_keep(
    repository: Repository,
    files: Mapping[str, Sequence[HookFile]],
    changes: Collection[Change],
    tracked: Collection[str],
) -> Iterator[tuple[str, str]]:
    """The untracked files that have our hooks before or after some changes, and why they stay."""
    for change in changes:
        held = files.get(change.path, ())
        if not held or change.path in tracked:
            continue
        if any(_is_below(change.path, each.path) for each in changes):
            # What replaces the file or its directory takes precedence.
            continue
        now, then = _before(repository, change), _after(repository, change)
        if now == then:
            # An ignored file, which is not in the way.
            continue
        if there := [file.title for file in held if file.has_hooks(now)]:
            yield change.path, f"{there[0]} left installed"
        elif gone := [file.title for file in held if file.has_hooks(then)]:
            yield change.path, f"{gone[0]} not installed again"


def lost_hooks(
    repository: Repository, files: Mapping[str, Sequence[HookFile]], changes: Iterable[Change]
) -> Iterator[LostHooks]:
    """The files from which some changes remove our hooks or server."""
    for change in changes:
        held = files.get(change.path)
        now = _before(repository, change) if held else b""
        there = [file for file in held or () if file.has_hooks(now)]
        then = _after(repository, change) if there else b""
        for file in there:
            if not file.has_hooks(then):
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
    blobs = repository.store.blobs([change.id]) if change.action != "delete" else ()
    return next(iter(blobs), None) or b""
