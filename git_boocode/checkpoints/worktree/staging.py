"""The staging area as an object that can be kept and put back exactly.

A tree holds what is plainly staged. What a tree cannot hold – conflict stages, intent-to-add
entries, assume-unchanged and skip-worktree flags – is kept beside it, one record per entry.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from typing import NamedTuple

from git_boocode.repo.files import is_dot_git
from git_boocode.repo.git import nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import GITLINK

# Any record that is not an ordinary entry: another tag than H, or another stage than 0.
_SPECIAL = re.compile(rb"(?:(?<=\0)|\A)(?!H [0-7]+ [0-9a-f]+ 0\t)[^\0]+")
# Tags of our own, beside git's: intent-to-add, and skip-worktree without a file on disk.
INTENT_TO_ADD = "I"
_ABSENT = {"S": "X", "s": "x"}


class Staging(NamedTuple):
    """What is staged.

    Attributes:
        tree: the tree of the plainly staged entries.
        special: the entries that a tree cannot hold in full.
    """

    tree: str
    special: tuple[Entry, ...]

    @property
    def absent(self) -> list[Entry]:
        """The entries of a sparse checkout that have no file on disk and are not deleted."""
        return [entry for entry in self.special if entry.tag in _ABSENT.values()]

    @property
    def intended(self) -> frozenset[str]:
        """The paths that are only intended to be added."""
        return frozenset(entry.path for entry in self.special if entry.tag == INTENT_TO_ADD)

    def encode(self) -> bytes:
        """The special entries as bytes, to be kept in a blob."""
        return os.fsencode("".join(f"{entry}\0" for entry in self.special))


def decode_special(data: bytes) -> tuple[Entry, ...]:
    """Read what `Staging.encode` wrote.

    Raises:
        ValueError: it is no such thing, or names a path that no index may hold, or one twice; a
            checkpoint may come from elsewhere.
    """
    special = tuple(map(Entry.parse, nul_records(data)))
    if len({(entry.tag, entry.stage, entry.path) for entry in special}) != len(special):
        raise ValueError("a path is named twice")
    if not all(map(_may_be_staged, (entry.path for entry in special))):
        raise ValueError("a path leads out of the worktree")
    return special


def _may_be_staged(path: str) -> bool:
    return not any(part in ("", ".", "..") or is_dot_git(part) for part in path.split("/"))


def read_staging(repository: Repository, index: Index, dump: bytes) -> Staging:
    """Read the staging area out of a private copy of the index, which stays as it is.

    Args:
        repository: whose objects the entries name.
        index: the copy.
        dump: the copy's entries.
    """
    found = (Entry.parse(os.fsdecode(found[0])) for found in _SPECIAL.finditer(dump))
    special = [_mark_absent(entry, repository.worktree) for entry in found]
    conflicts = [entry.path for entry in special if entry.stage]
    plain = _without(index, conflicts) if conflicts else index
    tree = plain.write_tree()
    if f" {repository.empty_blob} 0\t".encode() in dump:
        special += _intent_to_add(plain, tree)
    return Staging(tree, tuple(special))


def _mark_absent(entry: Entry, worktree: str) -> Entry:
    if entry.tag not in _ABSENT or os.path.lexists(os.path.join(worktree, entry.path)):
        return entry
    return entry._replace(tag=_ABSENT[entry.tag])


def recheck(staging: Staging, worktree: str) -> Staging:
    """The same staging area, with what is on disk by now looked at anew.

    Args:
        staging: as it was read earlier from the same index.
        worktree: the top of the worktree.
    """
    present = {absent: tag for tag, absent in _ABSENT.items()}
    entries = (entry._replace(tag=present.get(entry.tag, entry.tag)) for entry in staging.special)
    return Staging(staging.tree, tuple(_mark_absent(entry, worktree) for entry in entries))


def _without(index: Index, paths: list[str]) -> Index:
    copy = index.copy()
    copy.forget(paths)
    return copy


def _intent_to_add(index: Index, tree: str) -> list[Entry]:
    # A tree written from the index leaves out intent-to-add entries and nothing else.
    arguments = ("diff-index", "--cached", "--ita-visible-in-index", "--raw", "--abbrev=64", "-z")
    records = nul_records(index.git.run(*arguments, tree))
    found = []
    for fields, path in zip(records[::2], records[1::2], strict=True):
        _, mode, _, identifier, _ = fields.split(" ")
        found.append(Entry(INTENT_TO_ADD, mode, identifier, 0, path))
    return found


def conflict_blobs(staging: Staging) -> list[str]:
    """The ids of the blobs that only conflict stages name, which must stay reachable."""
    kept = (entry.id for entry in staging.special if entry.stage and entry.mode != GITLINK)
    return sorted(set(kept))


def build_index(staging: Staging, base: Index) -> Index:
    """Make an index that holds a staging area.

    Args:
        staging: what it shall hold.
        base: an index that matches the files on disk; its stat data is carried over.
    """
    made = base.copy()
    # Of the index alone: someone may have written a file since, which is no matter here.
    made.read_tree("-i", "-m", staging.tree)
    _put_conflicts(made, staging.special)
    _put_intent_to_add(made, staging.special)
    _put_flags(made, staging.special)
    return made


def _put_conflicts(index: Index, special: Iterable[Entry]) -> None:
    stages = [entry for entry in special if entry.stage]
    index.forget({entry.path for entry in stages})
    index.put(stages)


def _put_intent_to_add(index: Index, special: Iterable[Entry]) -> None:
    entries = [entry for entry in special if entry.tag == INTENT_TO_ADD]
    if not entries:
        return
    # `add -N` wants files, which may be missing in the worktree: empty ones elsewhere will do.
    scratch = f"{index.path}.intent"
    for entry in entries:
        target = os.path.join(scratch, entry.path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _make_empty(target, int(entry.mode, 8))
    git = index.git.bind(cwd=scratch, GIT_WORK_TREE=scratch, GIT_LITERAL_PATHSPECS="1")
    paths = os.fsencode("".join(f"{entry.path}\0" for entry in entries))
    command = ("add", "--intent-to-add", "--force", "--sparse")
    git.run(*command, "--pathspec-from-file=-", "--pathspec-file-nul", stdin=paths)


def _make_empty(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        os.symlink("nowhere", path)
        return
    with open(path, "wb"):
        pass
    os.chmod(path, mode & 0o777)


def _put_flags(index: Index, special: Iterable[Entry]) -> None:
    flagged = [entry for entry in special if not entry.stage and entry.tag != INTENT_TO_ADD]
    index.flag("--skip-worktree", (entry.path for entry in flagged if entry.tag in "SsXx"))
    index.flag("--assume-unchanged", (entry.path for entry in flagged if entry.tag.islower()))


def match_disk(index: Index, staging: Staging) -> None:
    """Make a private index look at every file on disk, and at no other.

    Args:
        index: a copy of the user's index, flags included.
        staging: what was read from it.
    """
    index.forget(entry.path for entry in staging.absent)
    flagged = [entry for entry in staging.special if not entry.stage and entry.tag not in "IXx"]
    index.flag("--no-assume-unchanged", (entry.path for entry in flagged if entry.tag.islower()))
    index.flag("--no-skip-worktree", (entry.path for entry in flagged if entry.tag in "Ss"))
