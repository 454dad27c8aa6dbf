"""The private index that one capture leaves for the next, so that git skips unchanged files.

The cache is two files in the worktree's private directory: the index, and a note that describes
what it was made from. It is optional: if it is missing, damaged or outdated, a capture starts from
a copy of the user's index. It is valid only while the ref of a checkpoint with the same tree
exists, because that ref keeps the index's objects from being collected.
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
# Earlier versions wrote several indexes.
PREFIX = "kept-index-"
_VERSION = 4
LARGEST = 256 << 20
"""The maximum size of a note, in bytes; it lists every untracked file."""
_SETS = ("extra", "missing", "recent")


class Content(NamedTuple):
    """The recorded state; two checkpoints are the same if these values are equal."""

    tree: str  # of the files
    head: str | None  # the commit that HEAD names
    staged: str | None  # the staged tree; None if the index could not be read
    special: str  # the result of `Staging.encode`, as text


class IndexCache(NamedTuple):
    """The private index of a capture, and the state that it was made from."""

    path: str  # this process's own copy of the private index
    crc: int | None  # of the index in the private directory; None if this one is new
    since: int  # when the scan that wrote it began, by the worktree's file system, in ns since 1970
    ref: str  # the checkpoint that has the index's tree
    commit: str  # the commit that the ref named
    content: Content  # the state that the checkpoint records
    user_index: str  # the fingerprint of the user's index
    head_tree: str  # the tree of HEAD
    extra: frozenset[str]  # the recorded paths that the user's index lacks
    missing: frozenset[str]  # the paths in the user's index that were not on disk
    recent: frozenset[str]  # the paths whose next change git may miss, see `WorktreeScan`
    modules: dict[str, bool]  # the submodules in the user's index, and whether they are on disk
    rules: str  # the fingerprint of the conversion rules

    def is_intact(self) -> bool:
        """Whether the index still has its recorded checksum."""
        try:
            return crc_of(self.path) == self.crc
        except (OSError, ValueError):
            return False

    def staging(self, worktree: str) -> Staging | None:
        """The staging area, with absent files checked again; None if it could not be read."""
        if self.content.staged is None:
            return None
        special = decode_special(os.fsencode(self.content.special))
        return Staging(self.content.staged, special).rechecked(worktree)


def load_cache(repository: Repository, scratch: str) -> IndexCache | None:
    """Read the cache of the last capture; None if it cannot be used.

    The caller checks `is_intact`, which reads the whole index.
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
    supported = note["version"] == _VERSION and note["ref"].startswith("refs/boocode/")
    if not supported or not all(map(OBJECT_ID.fullmatch, ids)):
        raise ValueError("another version wrote it")
    decode_special(os.fsencode(content.special))
    return IndexCache(
        path=path,
        crc=int(note["crc"]),
        since=int(note["since"]),
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
    """Store a private index for the next capture; a parallel capture may replace it."""
    # The checkpoint exists; a slower next capture is no reason to fail.
    with suppress(OSError):
        crc = _replace(cache, _file(repository, _INDEX)) if cache.crc is None else cache.crc
        sets = {name: sorted(getattr(cache, name)) for name in _SETS}
        note = {"version": _VERSION, **cache._asdict(), **sets, "crc": crc}
        del note["path"]
        write_private(_file(repository, _NOTE), json.dumps(note).encode(), to_disk=False)


def _replace(cache: IndexCache, path: str) -> int:
    making = fresh_path(cache.path)
    borrow_index(cache.path, making)
    # The user's index may be private, but git writes indexes with the mode of the umask.
    os.chmod(making, 0o600)
    # Git compares files that are as new as the index, or newer: those that changed during the scan.
    os.utime(making, ns=(cache.since, cache.since))
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
    """The private indexes that earlier versions wrote; the directory need not exist."""
    names = os.listdir(state_dir) if os.path.isdir(state_dir) else []
    return sorted(os.path.join(state_dir, name) for name in names if name.startswith(PREFIX))
