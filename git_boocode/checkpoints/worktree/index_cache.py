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


class Content(NamedTuple):
    """What two checkpoints have in common if there is no difference between them.

    Attributes:
        tree: the tree of the files.
        head: the commit that HEAD names.
        staged: the tree of what is staged; None if that could not be read.
        special: what `Staging.encode` gives, as text.
    """

    tree: str
    head: str | None
    staged: str | None
    special: str


class IndexCache(NamedTuple):
    """What one capture leaves to the next.

    Attributes:
        path: where this process has its own copy of the private index.
        crc: the checksum of the index in the private directory; None if this one is new.
        since: when the reading began that it is from, in seconds since 1970.
        ref: the checkpoint that has the index's tree.
        commit: what that ref named.
        content: what the checkpoint holds.
        user_index: the fingerprint of the user's index.
        head_tree: the tree of HEAD.
        left_to_head: the paths that HEAD has and the user's index has not.
        extra: the paths that were recorded and the user's index has not.
        missing: the paths in the user's index that were not on disk.
        recent: the paths recorded in the second in which they changed, though they claim to be
            older: git, which compares whole seconds, would miss another change in that second.
        modules: the submodules and nested repositories in the user's index, and whether each had
            a repository on disk.
        rules: the fingerprint of the conversions.
    """

    path: str
    crc: int | None
    since: float
    ref: str
    commit: str
    content: Content
    user_index: str
    head_tree: str
    left_to_head: tuple[str, ...]
    extra: frozenset[str]
    missing: frozenset[str]
    recent: frozenset[str]
    modules: dict[str, bool]
    rules: str

    def is_intact(self) -> bool:
        """Whether the index is as it was left, to the last bit."""
        try:
            return crc_of(self.path) == self.crc
        except (OSError, ValueError):
            return False

    def staging(self, worktree: str) -> Staging | None:
        """What was staged, with another look at what is on disk; None if it could not be read."""
        content = self.content
        if content.staged is None:
            return None
        special = decode_special(os.fsencode(content.special))
        return Staging(content.staged, special).rechecked(worktree)


def load_cache(repository: Repository, scratch: str) -> IndexCache | None:
    """Read what the last capture left; None if there is nothing that can be used.

    Whether the index is intact remains to be seen.
    """
    try:
        note: Any = read_private_json(_file(repository, _NOTE), largest=LARGEST)
        cache = _parse(note, fresh_path(os.path.join(scratch, "worktree.index")))
        path = _file(repository, _INDEX)
        if not is_regular(path) or not borrow_index(path, cache.path):
            return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, AttributeError):
        return None
    return cache


def _parse(note: dict[str, Any], path: str) -> IndexCache:
    content = Content(*note["content"])
    if note["version"] != _VERSION or not OBJECT_ID.fullmatch(content.tree):
        raise ValueError("another version wrote it")
    if not str(note["ref"]).startswith("refs/boocode/") or not OBJECT_ID.fullmatch(note["commit"]):
        raise ValueError("it names no checkpoint")
    if content.staged is not None and not OBJECT_ID.fullmatch(content.staged):
        raise ValueError("it names no tree")
    decode_special(os.fsencode(content.special))
    return IndexCache(
        path=path,
        crc=int(note["crc"]),
        since=float(note["since"]),
        ref=str(note["ref"]),
        commit=str(note["commit"]),
        content=content,
        user_index=str(note["user_index"]),
        head_tree=str(note["head_tree"]),
        left_to_head=tuple(map(str, note["left_to_head"])),
        extra=frozenset(map(str, note["extra"])),
        missing=frozenset(map(str, note["missing"])),
        recent=frozenset(map(str, note["recent"])),
        modules={str(name): bool(opened) for name, opened in dict(note["modules"]).items()},
        rules=str(note["rules"]),
    )


def save_cache(repository: Repository, cache: IndexCache) -> None:
    """Leave a private index to the next capture; what is left may be replaced by another one."""
    # The checkpoint has been taken; that the next one will take longer is no reason to fail.
    with suppress(OSError):
        crc = cache.crc
        if crc is None:
            crc = _replace(cache, _file(repository, _INDEX))
        note = {
            "version": _VERSION,
            **cache._asdict(),
            "crc": crc,
            "extra": sorted(cache.extra),
            "missing": sorted(cache.missing),
            "recent": sorted(cache.recent),
        }
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
