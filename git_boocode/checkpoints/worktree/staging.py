"""The staging area: read from a copy of the user's index, recorded exactly, and rebuilt.

A tree holds the plain entries. Entries that a tree cannot represent – conflict stages,
intent-to-add, assume-unchanged and skip-worktree – are stored beside it, one record per entry.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable
from functools import cached_property
from typing import NamedTuple

from git_boocode.checkpoints.worktree.indexer import Disk
from git_boocode.repo.errors import FatalError
from git_boocode.repo.files import is_dot_git, make_directories
from git_boocode.repo.git import Git, GitError, nul_lines, nul_records
from git_boocode.repo.index import Entry, Index, borrow_index, fingerprint, is_whole
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.messages import is_disk_full
from git_boocode.repo.object_writer import GITLINK
from git_boocode.repo.repository import Repository

# Our own tags, beside git's: intent-to-add, and skip-worktree without a file on disk.
INTENT_TO_ADD = "I"
_ABSENT = {"S": "X", "s": "x"}
# The stages of a conflict in order of preference; stage 2 is our side.
_PREFERRED = (0, 2, 3, 1)


class Staging(NamedTuple):
    """A staging area: the tree of the plain entries, and the special entries beside it."""

    tree: str
    special: tuple[Entry, ...]

    @property
    def absent(self) -> list[Entry]:
        """The entries of a sparse checkout that have no file on disk and are not deleted."""
        return [entry for entry in self.special if entry.tag in _ABSENT.values()]

    @property
    def intended(self) -> frozenset[str]:
        """The paths of intent-to-add entries."""
        return frozenset(entry.path for entry in self.special if entry.tag == INTENT_TO_ADD)

    def encode(self) -> bytes:
        """The special entries as the bytes of a blob."""
        return nul_lines(map(str, self.special))

    def rechecked(self, worktree: str) -> Staging:
        """A copy that reflects which entries of a sparse checkout are on disk now."""
        return self._replace(special=_mark_absent(map(_present, self.special), worktree))

    def with_files(self, paths: Container[str]) -> Staging:
        """A copy in which entries of a sparse checkout at some paths have files on disk."""
        special = (_present(each) if each.path in paths else each for each in self.special)
        return self._replace(special=tuple(special))


def decode_special(data: bytes) -> tuple[Entry, ...]:
    """Parse the result of `Staging.encode`, which may come from an untrusted remote.

    ValueError if it is malformed, or names a path twice or a path that no index may hold.
    """
    special = tuple(map(Entry.parse, nul_records(data)))
    if len({(entry.tag, entry.stage, entry.path) for entry in special}) != len(special):
        raise ValueError("a path is named twice")
    parts = (part for entry in special for part in entry.path.split("/"))
    if any(part in ("", ".", "..") or is_dot_git(part) for part in parts):
        raise ValueError("a path is outside the worktree")
    return special


class UserIndex:
    """A private copy of the user's index, made at the beginning of a capture.

    `index` is the copy. If the user has no index, the copy's file is missing and `fingerprint` is
    empty. `git` writes objects. FatalError if the user's index cannot be read (`unreadable`).
    """

    def __init__(self, repository: Repository, scratch: str, git: Git) -> None:
        self._repository = repository
        self._git = git
        self.index = Index(repository.git, fresh_path(os.path.join(scratch, "original.index")))
        try:
            self.exists = borrow_index(repository.index_path, self.index.path)
            self.fingerprint = fingerprint(self.index.path)
        except (PermissionError, IsADirectoryError) as error:
            reason = (error.strerror or str(error)).lower()
            raise FatalError(
                # The system's message names the copy.
                f"cannot read the index '{repository.index_path}': {reason}",
                code="unreadable",
                hints=("check the file's permissions and try again",),
            ) from error

    @cached_property
    def dump(self) -> bytes:
        """All its entries, as `Index.dump` gives them. GitError if it is damaged."""
        if not self.exists:
            return b""
        if not is_whole(self.index.path, self._repository.object_format):
            raise GitError(("ls-files",), 128, "fatal: index file corrupt: its checksum is wrong")
        return self.index.dump()

    @cached_property
    def special(self) -> tuple[Entry, ...]:
        """The entries that a tree cannot represent, except intent-to-add entries."""
        plain = b"H 100644 %s 0" % self._repository.zero_id.encode()
        stage = slice(len(plain) - 2, len(plain))
        # Two short slices decide, because there can be very many entries.
        found = (
            Entry.parse(os.fsdecode(record))
            for record in self.dump.split(b"\0")
            if record and (record[:2] != b"H " or record[stage] != b" 0")
        )
        return _mark_absent(found, self._repository.worktree)

    def staging(self) -> Staging:
        """The staging area. GitError if git cannot read it, or objects are missing."""
        special = self.special
        copy = self.index.copy(self._git)
        copy.forget([entry.path for entry in special if entry.stage])
        tree = copy.write_tree()
        if f" {self._repository.empty_blob} 0\t".encode() in self.dump:
            special += tuple(_intent_to_add(copy, tree))
        return Staging(tree, special)

    def is_damaged(self, error: GitError) -> bool:
        """Whether git failed because the index is damaged.

        A killed git or a full disk does not mean that the staging area is lost.
        """
        return error.status >= 0 and not is_disk_full(error.stderr)

    @cached_property
    def records(self) -> dict[str, list[str]]:
        """The records of its entries by path, for `Entry.parse`; several for a conflict."""
        found: dict[str, list[str]] = {}
        for record in nul_records(self.dump):
            found.setdefault(record[record.index("\t") + 1 :], []).append(record)
        return found

    @cached_property
    def modules(self) -> list[str]:
        """The paths of its submodules and nested repositories."""
        if f" {GITLINK} ".encode() not in self.dump:
            return []
        entries = map(self.entry, self.records)
        return [entry.path for entry in entries if entry and entry.mode == GITLINK]

    def entry(self, path: str) -> Entry | None:
        """The entry of a path, our side of a conflict; None if there is no entry."""
        entries = {entry.stage: entry for entry in map(Entry.parse, self.records.get(path, ()))}
        return next((entries[stage] for stage in _PREFERRED if stage in entries), None)


def _present(entry: Entry) -> Entry:
    present = {absent: tag for tag, absent in _ABSENT.items()}
    return entry._replace(tag=present.get(entry.tag, entry.tag))


def _mark_absent(entries: Iterable[Entry], worktree: str) -> tuple[Entry, ...]:
    """Mark the skip-worktree entries at whose paths, or above them, nothing else is on disk."""
    disk = Disk(worktree)
    return tuple(
        entry._replace(tag=_ABSENT[entry.tag])
        if entry.tag in _ABSENT and disk.is_vacant(entry.path)
        else entry
        for entry in entries
    )


def _intent_to_add(index: Index, tree: str) -> Iterable[Entry]:
    # A tree written from the index leaves out intent-to-add entries and nothing else.
    arguments = ("diff-index", "--cached", "--ita-visible-in-index", "--raw", "--abbrev=64", "-z")
    records = nul_records(index.git.run(*arguments, tree))
    for fields, path in zip(records[::2], records[1::2], strict=True):
        _, mode, _, identifier, _ = fields.split(" ")
        yield Entry(INTENT_TO_ADD, mode, identifier, 0, path)


def conflict_blobs(staging: Staging) -> list[str]:
    """The ids of the blobs of conflict stages, which nothing else keeps reachable."""
    return sorted({entry.id for entry in staging.special if entry.stage and entry.mode != GITLINK})


def match_disk(index: Index, special: Iterable[Entry]) -> None:
    """Prepare a copy of the user's index to be compared with the files on disk, and no others.

    `special` is `UserIndex.special`.
    """
    index.forget(entry.path for entry in special if entry.tag in _ABSENT.values())
    flagged = [entry for entry in special if not entry.stage and entry.tag not in "IXx"]
    index.flag("--no-assume-unchanged", (entry.path for entry in flagged if entry.tag.islower()))
    index.flag("--no-skip-worktree", (entry.path for entry in flagged if entry.tag in "Ss"))


def build_index(staging: Staging, base: Index) -> Index:
    """Build the index of a staging area, with the stat data of `base`, an index of files."""
    made = base.copy()
    # `-i` ignores the files, some of which may have changed since.
    made.read_tree("-i", "-m", staging.tree)
    stages = [entry for entry in staging.special if entry.stage]
    made.forget({entry.path for entry in stages})
    made.put(stages)
    _put_intent_to_add(made, [entry for entry in staging.special if entry.tag == INTENT_TO_ADD])
    flagged = [entry for entry in staging.special if not entry.stage and entry.tag != INTENT_TO_ADD]
    made.flag("--skip-worktree", (entry.path for entry in flagged if entry.tag in "SsXx"))
    made.flag("--assume-unchanged", (entry.path for entry in flagged if entry.tag.islower()))
    return made


def _put_intent_to_add(index: Index, entries: list[Entry]) -> None:
    if not entries:
        return
    # `add -N` requires files, which may be missing in the worktree: use empty ones elsewhere.
    scratch = f"{index.path}.intent"
    for entry in entries:
        target = os.path.join(scratch, entry.path)
        make_directories(os.path.dirname(target))
        mode = int(entry.mode, 8)
        if stat.S_ISLNK(mode):
            os.symlink("nowhere", target)
        else:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.chmod(target, mode & 0o777)
    git = index.git.bind(cwd=scratch, GIT_WORK_TREE=scratch, GIT_LITERAL_PATHSPECS="1")
    paths = nul_lines(entry.path for entry in entries)
    command = ("add", "--intent-to-add", "--force", "--sparse")
    git.run(*command, "--pathspec-from-file=-", "--pathspec-file-nul", stdin=paths)
