"""The private index that one capture leaves to the next, which spares it unchanged files.

Two files in the worktree's private directory: the index, and a note of what it was made from. They
are only a help: where they are missing, damaged or out of date, a capture starts from a copy of the
user's index. They count only while the ref of a checkpoint with the same tree exists, which keeps
the objects that the index names from being collected.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, NamedTuple

from git_boocode.checkpoints.worktree.staging import Staging, decode_special
from git_boocode.repo.durable import is_regular, read_private_json, remove, write_private
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.index import borrow_index, crc_of
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.repository import Repository

_INDEX = "kept-index"
_NOTE = "kept-index.json"
# Earlier versions kept several indexes.
PREFIX = "kept-index-"
_VERSION = 3
LARGEST = 256 << 20
"""Bytes of a note; it names each untracked file."""
_SETS = ("only_in_head", "extra", "missing", "recent")


class Content(NamedTuple):
    """What two checkpoints have in common if there is no difference between them."""

    tree: str  # of the files
    head: str | None  # the commit that HEAD names
    staged: str | None  # the tree of what is staged; None if that could not be read
    special: str  # what `Staging.encode` gives, as text


class IndexCache(NamedTuple):
    """What one capture leaves to the next; `recent` see `WorktreeScan`."""

    path: str  # where this process has its own copy of the private index
    crc: int | None  # of the index in the private directory; None if this one is new
    since: float  # when the reading began that it is from, in seconds since 1970
    ref: str  # the checkpoint that has the index's tree
    commit: str  # what that ref named
    content: Content  # what the checkpoint holds
    user_index: str  # the fingerprint of the user's index
    head_tree: str  # the tree of HEAD
    only_in_head: frozenset[str]  # the paths that HEAD has and the user's index has not
    extra: frozenset[str]  # the paths that were recorded and the user's index has not
    missing: frozenset[str]  # the paths in the user's index that were not on disk
    recent: frozenset[str]  # the paths that may change without git's noticing
    modules: dict[str, bool]  # the submodules in the user's index; whether on disk, too
    rules: str  # the fingerprint of the conversions

    def is_intact(self) -> bool:
        """Whether the index is as it was left, to the last bit."""
        try:
            return crc_of(self.path) == self.crc
        except (OSError, ValueError):
            return False

    def staging(self, worktree: str) -> Staging | None:
        """What was staged, with another look at what is on disk; None if it could not be read."""
        if self.content.staged is None:
            return None
        special = decode_special(os.fsencode(self.content.special))
        return Staging(self.content.staged, special).rechecked(worktree)


def load_cache(repository: Repository, scratch: str) -> IndexCache | None:
    """Read what the last capture left; None if there is nothing that can be used.

    Whether the index is intact remains to be seen.
    """
    with suppress(OSError, ValueError, TypeError, KeyError, OverflowError, AttributeError):
        note: Any = read_private_json(_file(repository, _NOTE), largest=LARGEST)
        cache = _parse(note, fresh_path(os.path.join(scratch, "worktree.index")))
        path = _file(repository, _INDEX)
        if is_regular(path) and borrow_index(path, cache.path):
            return cache
    return None


def _parse(note: dict[str, Any], path: str) -> IndexCache:
    content = Content(*note["content"])
    ids = (note["commit"], content.tree, content.tree if content.staged is None else content.staged)
    known = note["version"] == _VERSION and note["ref"].startswith("refs/boocode/")
    if not known or not all(map(OBJECT_ID.fullmatch, ids)):
        raise ValueError("another version wrote it")
    decode_special(os.fsencode(content.special))
    return IndexCache(
        path=path,
        crc=int(note["crc"]),
        since=float(note["since"]),
        ref=note["ref"],
        commit=note["commit"],
        content=content,
        user_index=str(note["user_index"]),
        head_tree=str(note["head_tree"]),
        modules={str(name): bool(opened) for name, opened in note["modules"].items()},
        rules=str(note["rules"]),
        **{name: frozenset(map(str, note[name])) for name in _SETS},
    )


def save_cache(repository: Repository, cache: IndexCache) -> None:
    """Leave a private index to the next capture; what is left may be replaced by another one."""
    # The checkpoint has been taken; that the next one will take longer is no reason to fail.
    with suppress(OSError):
        crc = _replace(cache, _file(repository, _INDEX)) if cache.crc is None else cache.crc
        sets = {name: sorted(getattr(cache, name)) for name in _SETS}
        note = {"version": _VERSION, **cache._asdict(), **sets, "crc": crc}
        del note["path"]
        write_private(_file(repository, _NOTE), json.dumps(note).encode(), to_disk=False)


def _replace(cache: IndexCache, path: str) -> int:
    making = fresh_path(cache.path)
    borrow_index(cache.path, making)
    # The user's index may be private; git gives its own files the mode of the umask.
    os.chmod(making, 0o600)
    # What changed after it was read is as new as it is, or newer, and git compares it again.
    os.utime(making, (cache.since, cache.since))
    crc = crc_of(making)
    os.replace(making, path)
    return crc


def discard_cache(repository: Repository) -> None:
    """Let the next capture start from a copy of the user's index."""
    with suppress(OSError):
        remove(_file(repository, _NOTE))


def _file(repository: Repository, name: str) -> str:
    return os.path.join(repository.state_dir, name)


def stale_indexes(state_dir: str) -> list[str]:
    """The private indexes that earlier versions left; the directory need not exist."""
    names = os.listdir(state_dir) if os.path.isdir(state_dir) else []
    return sorted(os.path.join(state_dir, name) for name in names if name.startswith(PREFIX))
