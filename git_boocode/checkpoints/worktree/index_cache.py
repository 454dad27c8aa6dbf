"""The private index that one capture leaves to the next, so that no file is read twice for nothing.

It is kept for each worktree, beside a note of what it was made from. It is only a help: where it is
missing, damaged or no longer fits, a capture starts from a copy of the user's index. It counts only
as long as a checkpoint's ref keeps the objects that it names from being collected.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from git_boocode.checkpoints.worktree.disk import Disk
from git_boocode.checkpoints.worktree.layered import LayeredIndex, Overlay, Recorded
from git_boocode.checkpoints.worktree.specials import Specials
from git_boocode.checkpoints.worktree.staging import Staging, decode_special, recheck
from git_boocode.repo.durable import is_regular, read_private_json, remove, write_private
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.index import Index, borrow_index, crc_of
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import fresh_path

_NOTE = "kept-index.json"
PREFIX = "kept-index-"
_VERSION = 2
LARGEST = 256 << 20
"""Bytes; the note names each file that differs from the index or is left out of it."""
# In seconds: what another process has put there and not yet noted is left alone for so long.
_GRACE = 60.0


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


class KeptIndex(NamedTuple):
    """A private index, and what differs from it.

    Attributes:
        path: where this process has it.
        since: when the reading began that it is from, in seconds since 1970.
        recent: the paths that were changed in that second or later, and claim to be older.
        number: what it is kept under; empty if it is new.
        crc: of all its bytes; None if it is new.
        overlay: what differs from it.
    """

    path: str
    since: float
    recent: frozenset[str]
    number: str = ""
    crc: int | None = None
    overlay: Overlay = MappingProxyType({})

    def is_intact(self) -> bool:
        """Whether it is as it was left, to the last bit."""
        try:
            return crc_of(self.path) == self.crc
        except (OSError, ValueError):
            return False


class Kept(NamedTuple):
    """What one capture leaves to the next.

    Attributes:
        private: the private index, and what differs from it.
        ref: the checkpoint whose tree they hold together.
        commit: what that ref named.
        content: what the checkpoint holds, to be compared with that of a snapshot.
        users_index: the fingerprint of the user's index.
        staging: what was staged in it.
        head_tree: the tree of HEAD.
        left_to_head: the paths that HEAD has and the user's index has not.
        extra: the paths that were recorded and the user's index has not.
        missing: the paths in the user's index that were not on disk.
        specials: the special files, and the directories that were looked into.
        modules: the submodules and nested repositories in it that have a repository.
        rules: the fingerprint of the conversions.
    """

    private: KeptIndex
    ref: str
    commit: str
    content: Content
    users_index: str
    staging: Staging
    head_tree: str
    left_to_head: tuple[str, ...]
    extra: frozenset[str]
    missing: frozenset[str]
    specials: Specials
    modules: frozenset[str]
    rules: str

    def attributes_known(self, paths: Iterable[str]) -> bool:
        """Whether no other `.gitattributes` files than those of that time are among some."""
        return set(self.specials.attributes).issuperset(paths)

    def layered(
        self, repository: Repository, index: Index, disk: Disk, since: float
    ) -> LayeredIndex:
        """The private index, and what differs from it, to be brought up to what is on disk.

        Args:
            repository: whose worktree it is about.
            index: where this process has the index.
            disk: the files of the worktree.
            since: when the reading of the worktree began, in seconds since 1970.
        """
        return LayeredIndex(index, self.private.overlay, disk, since, repository.zero_id)

    def staging_of(self, users_index: str, worktree: str) -> Staging | None:
        """What is staged now; None if that may be something else than at that time.

        Args:
            users_index: the fingerprint of the user's index.
            worktree: the top of the worktree.
        """
        if users_index != self.users_index or recheck(self.staging, worktree) != self.staging:
            return None
        return self.staging


def load_kept(repository: Repository, scratch: str) -> Kept | None:
    """Read what the last capture left.

    Args:
        repository: whose worktree it is about.
        scratch: a directory for private files, where to put the private index.

    Returns:
        None if nothing was left, or nothing that can be used; whether the index is intact remains
        to be seen.
    """
    try:
        note: Any = _note(repository.state_dir)
        kept = _read(note, fresh_path(os.path.join(scratch, "worktree.index")))
        path = os.path.join(repository.state_dir, PREFIX + kept.private.number)
        if not is_regular(path) or not borrow_index(path, kept.private.path):
            return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, AttributeError):
        return None
    return kept


def _read(note: dict[str, Any], path: str) -> Kept:
    if note["version"] != _VERSION:
        raise ValueError("another version wrote it")
    if not OBJECT_ID.fullmatch(note["tree"]) or not OBJECT_ID.fullmatch(note["content"][0]):
        raise ValueError("it names no tree")
    staging = Staging(note["tree"], decode_special(os.fsencode(note["special"])))
    return Kept(
        private=_read_index(note, path),
        ref=str(note["ref"]),
        commit=str(note["commit"]),
        content=Content(*note["content"]),
        users_index=str(note["users_index"]),
        staging=staging,
        head_tree=str(note["head_tree"]),
        left_to_head=tuple(map(str, note["left_to_head"])),
        extra=frozenset(map(str, note["extra"])),
        missing=frozenset(map(str, note["missing"])),
        specials=Specials.load(note["specials"]),
        modules=frozenset(map(str, note["modules"])),
        rules=str(note["rules"]),
    )


def _read_index(note: dict[str, Any], path: str) -> KeptIndex:
    return KeptIndex(
        path=path,
        since=float(note["since"]),
        recent=frozenset(map(str, note["recent"])),
        # No path but a name: the note may have been tampered with.
        number=f"{int(note['number'], 16):x}",
        crc=int(note["crc"]),
        overlay={str(name): _recorded(value) for name, value in dict(note["overlay"]).items()},
    )


def _recorded(value: Any) -> Recorded | None:  # noqa: ANN401 - it is what JSON gives
    if value is None:
        return None
    mode, identifier, seen = value
    return Recorded(str(mode), str(identifier), None if seen is None else tuple(map(int, seen)))


def leave_kept(repository: Repository, kept: Kept) -> None:
    """Leave a private index to the next capture.

    Args:
        repository: whose worktree it is about.
        kept: what to leave; the index may be replaced afterwards.
    """
    # The checkpoint has been taken; that the next one will take longer is no reason to fail.
    with suppress(OSError):
        _leave(repository.state_dir, kept)


def _leave(state_dir: str, kept: Kept) -> None:
    index = kept.private
    number = index.number or f"{int.from_bytes(os.urandom(8), 'big'):x}"
    path = os.path.join(state_dir, f"{PREFIX}{number}")
    note = {
        **kept._asdict(),
        **index._asdict(),
        "overlay": dict(index.overlay),
        "version": _VERSION,
        "number": number,
        "crc": crc_of(index.path) if index.crc is None else index.crc,
        "recent": sorted(index.recent),
        "tree": kept.staging.tree,
        "special": os.fsdecode(kept.staging.encode()),
        **{name: sorted(getattr(kept, name)) for name in ("extra", "missing", "modules")},
    }
    del note["staging"], note["private"], note["path"]
    if not os.path.lexists(path):
        borrow_index(index.path, path)
        # The user's index may be private; git gives its own files the mode of the umask.
        os.chmod(path, 0o600)
        # What changed after it was read is as new as it is, or newer, and git compares it again.
        os.utime(path, (index.since, index.since))
    # What is there already has been noted by others, and they have swept.
    before = "" if index.number else _current(state_dir)
    try:
        write_private(os.path.join(state_dir, _NOTE), json.dumps(note).encode(), to_disk=False)
    except BaseException:
        if not index.number:
            with suppress(OSError):
                os.unlink(path)
        raise
    _sweep(state_dir, os.path.basename(path), before)


def _current(state_dir: str) -> str:
    """The name of the index that the note speaks of; empty if there is none."""
    note = _note(state_dir)
    return f"{PREFIX}{note.get('number')}" if isinstance(note, dict) else ""


def _note(state_dir: str) -> object:
    with suppress(OSError):
        return read_private_json(os.path.join(state_dir, _NOTE), largest=LARGEST)
    return None


def _sweep(state_dir: str, current: str, before: str) -> None:
    for path in _stale(state_dir, current, before):
        with suppress(OSError):
            remove(path)


def stale_indexes(state_dir: str) -> list[str]:
    """The private indexes that killed captures left, and that no later one will use.

    Args:
        state_dir: the worktree's private directory; it need not exist.
    """
    return sorted(_stale(state_dir, _current(state_dir), ""))


def _stale(state_dir: str, current: str, before: str) -> Iterator[str]:
    limit = time.time() - _GRACE
    for name in os.listdir(state_dir) if os.path.isdir(state_dir) else []:
        path = os.path.join(state_dir, name)
        if name.startswith(PREFIX) and name != current:
            with suppress(OSError):
                # By the time that it was put here: the other one is when git wrote it.
                if name == before or os.lstat(path).st_ctime < limit:
                    yield path
