"""The safety copy of a call: a commit that holds its files before and after, and its edits."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.gc import GcWatch, kept_from_gc
from git_boocode.repo.identity import identity
from git_boocode.repo.ids import id_time, new_id, timestamp
from git_boocode.repo.quarantine import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory
from git_boocode.repo.store import RefChange, open_store, raw_commit
from git_boocode.repo.trees import Item, edit_tree

EDITS = "refs/boocode/edits/"
VERSION = 1
_SUBJECT = 60
_PRUNED_EVERY = 64
"""Old records are pruned after one call in this many."""


class RecordedFile(NamedTuple):
    """One file of a call.

    ``path`` counts from the top of the worktree, symlinks resolved; ``source`` is the path before
    the call, if it was another. ``before`` and ``after`` are the bytes, None if there is no file.
    ``mode`` are the mode bits before (of a new file, afterwards), ``new_mode`` those afterwards.
    """

    path: str
    action: str
    before: bytes | None
    after: bytes | None
    mode: int
    new_mode: int
    source: str | None = None

    @property
    def kept(self) -> Iterator[tuple[str, bytes, int]]:
        """Name in the record's tree, bytes and mode of each content."""
        if self.before is not None:
            yield f"before/{self.source or self.path}", self.before, self.mode
        if self.after is not None:
            yield f"after/{self.path}", self.after, self.new_mode


class Record:
    """A record that `publish` stores.

    ``edits`` are the edits with the lines they changed, ``more`` further keys of the message's
    JSON.
    """

    def __init__(
        self,
        repository: Repository,
        files: Sequence[RecordedFile],
        edits: Sequence[dict[str, object]],
        more: Mapping[str, object] | None = None,
    ) -> None:
        self.id = new_id()
        self._repository = repository
        self._files = files
        self._edits = edits
        self._more = more or {}
        self._commit = ""

    @property
    def ref(self) -> str:
        """The ref that will name it."""
        return EDITS + self.id

    def publish(self) -> None:
        """Store everything, and make the ref; FatalError if that fails."""
        try:
            kept_from_gc(self._repository, self._keep)
        except OSError as error:
            raise _unkept((error.strerror or str(error)).lower()) from error
        except BoocodeError as error:
            raise _unkept(error.message) from error

    def _keep(self, watch: GcWatch) -> None:
        self._commit = self._store()
        open_store(self._repository).update_refs([RefChange(self.ref, self._commit, None)])
        watch.confirm(self.ref, [self._commit])

    def withdraw(self) -> None:
        """Remove the ref; BoocodeError if it was not made, or cannot be removed."""
        open_store(self._repository).update_refs([RefChange(self.ref, None, self._commit)])

    def _store(self) -> str:
        """Store all objects anew, also those that exist already: `git gc` may remove them."""
        with scratch_directory(self._repository.state_dir) as scratch:
            quarantine = Quarantine(self._repository, scratch)
            items = {
                name: Item(
                    b"100755" if mode & stat.S_IXUSR else b"100644", quarantine.store(b"blob", data)
                )
                for file in self._files
                for name, data, mode in file.kept
            }
            tree = edit_tree(
                self._repository.git,
                self._repository.empty_tree,
                {os.fsencode(name): item for name, item in items.items()},
                quarantine.store_tree,
            )
            blobs = {name: item.id.decode("ascii") for name, item in items.items()}
            commit = quarantine.store(b"commit", self._commit_body(tree, blobs))
            quarantine.release()
        return commit.decode("ascii")

    def _commit_body(self, tree: str, blobs: dict[str, str]) -> bytes:
        when = id_time(self.id)
        head = self._repository.git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        parents = [head.stdout.decode("ascii").strip()] if head.status == 0 else []
        by = identity(self._repository.config)
        message = f"{self._subject()}\n\n{json.dumps(self._document(blobs, when))}\n"
        return raw_commit(tree, parents, message, by, when)

    def _subject(self) -> str:
        first = json.dumps(self._files[0].path)[1:-1]
        shown = first if len(first) <= _SUBJECT else f"…{first[-_SUBJECT:]}"
        more = len(self._files) - 1
        return f"edit {shown}" + (f" and {more} more" if more else "")

    def _document(self, blobs: dict[str, str], when: float) -> dict[str, object]:
        return {
            "boocode": VERSION,
            "kind": "edit",
            "id": self.id,
            "created_at": timestamp(when),
            "worktree": self._repository.worktree_json(),
            **self._more,
            "edits": list(self._edits),
            "files": [_file_json(file, blobs) for file in self._files],
        }


def _file_json(file: RecordedFile, blobs: Mapping[str, str]) -> dict[str, object]:
    moved = {"from": file.source} if file.source else {}
    changed = {"new_mode": _octal(file.new_mode)} if file.new_mode != file.mode else {}
    return {
        "path": file.path,
        **moved,
        "action": file.action,
        "mode": _octal(file.mode),
        **changed,
        "before": blobs.get(f"before/{file.source or file.path}"),
        "after": blobs.get(f"after/{file.path}"),
    }


def _octal(mode: int) -> str:
    return f"{stat.S_IMODE(mode):04o}"


def prune_now_and_then(repository: Repository, identifier: str) -> None:
    """Prune old records after one call in 64, chosen by the random end of its record's id.

    No error here makes the call fail, which has succeeded.
    """
    if int(identifier[-2:], 16) % _PRUNED_EVERY == 0:
        from git_boocode.editing.records import prune_edits

        with suppress(BoocodeError, OSError):
            prune_edits(repository)


def _unkept(reason: str) -> FatalError:
    full = re.search("no space left|quota", reason, re.IGNORECASE)
    return FatalError(
        f"cannot keep the files' old content in git: {reason}; nothing was changed",
        code="disk_full" if full else "record",
        hints=("--no-record edits without the safety copy",),
        details={"applied": False},
    )
