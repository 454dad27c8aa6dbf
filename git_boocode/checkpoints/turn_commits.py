"""Attribute the commits of a turn again once its end is recorded, in the background.

While a turn runs, its end is unknown, and a checkpoint that the hook before a commit takes ends it
as far as is recorded: when that commit has been made, the lines written after the checkpoint of
an earlier one have no turn yet.
"""

from __future__ import annotations

import os
from contextlib import suppress

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.durable import is_regular
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.ids import time_of
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.repository import Repository

POST_COMMIT = "post-commit"
TURN = "--turn="
"""With the id of a turn, the argument of the hook that `attribute_later` calls."""
_MOST_MOVES = 200
_OWN = b"boocode"


def attribute_later(repository: Repository, begun: str) -> None:
    """Attribute the commits that HEAD was at since a turn began, if git's hook is installed.

    `begun` is the id of the checkpoint at which it began. Another process does it, and no failure
    is reported.
    """
    with suppress(BoocodeError, OSError):
        if _has_moved(repository, begun) and _has_hook(repository):
            repository.start_detached("hook", "git", POST_COMMIT, f"{TURN}{begun}")


def commits_of_turn(repository: Repository, begun: str) -> list[str]:
    """The commits that HEAD was at since a turn began, oldest first, as its reflog says.

    Of these, the newest. The times in it are those of commits, which may be any: what has an
    earlier time counts as well, back to the last time at which HEAD was where the turn began.
    """
    catalog, since = Catalog(repository), int(time_of(begun))
    begin = next(iter(catalog.entries(catalog.store.refs(f"{CHECKPOINTS}{begun}"))), None)
    if not isinstance(begin, Checkpoint):
        return []
    form = ("log", "--no-show-signature", "--walk-reflogs", "--date=unix", "--format=%H %gd")
    moves = repository.git.attempt(*form, f"-{_MOST_MOVES}", "HEAD", "--").stdout.decode()
    found, is_before = [], False
    for move in moves.splitlines():
        commit, _, at = move.partition(" ")
        is_before = is_before or commit == begin.head
        if is_before and int(at.removeprefix("HEAD@{").removesuffix("}")) < since:
            break
        if commit != begin.head:
            found.append(commit)
    return [*dict.fromkeys(reversed(found))]


def _has_moved(repository: Repository, begun: str) -> bool:
    """Whether HEAD may have moved since a turn began."""
    if not repository.has_plain_refs:
        return True
    path = os.path.join(repository.git_dir, "logs", "HEAD")
    return os.path.isfile(path) and os.stat(path).st_mtime >= int(time_of(begun))


def _has_hook(repository: Repository) -> bool:
    section = f"hook.boocode-{POST_COMMIT}"
    if repository.config.setting(f"{section}.command"):
        return repository.config.boolean(f"{section}.enabled", default=True)
    path = os.path.realpath(repository.hook_path(POST_COMMIT))
    if not is_regular(path):
        return False
    with open(path, "rb") as file:
        return _OWN in file.read()
