"""The safety copy of a call: a commit that holds its files before and after, and its edits."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.gc import GcWatch, kept_from_gc
from git_boocode.repo.ids import id_time, new_id, timestamp
from git_boocode.repo.quarantine import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory
from git_boocode.repo.store import RefChange, open_store, raw_commit
from git_boocode.repo.trees import Item, edit_tree

EDITS = "refs/boocode/edits/"
VERSION = 1
_PRUNED_EVERY = 64


class KeptFile(NamedTuple):
    """One file of a record.

    ``path`` is the path after the call, from the top of the worktree with symlinks resolved,
    ``source`` the one before if it was renamed. ``mode`` are the permission bits before the call
    (of a new file, afterwards), ``new_mode`` those afterwards.
    """

    path: str
    action: str
    mode: int
    new_mode: int
    source: str | None = None

    @property
    def old_path(self) -> str:
        """Its path before the call."""
        return self.source or self.path

    @property
    def kept_names(self) -> tuple[str | None, str | None]:
        """The names of its two contents in the record's tree; None where there was no file."""
        return (
            f"before/{self.old_path}" if self.action != "create" else None,
            f"after/{self.path}" if self.action != "delete" else None,
        )

    def as_json(self) -> dict[str, object]:
        """Path and action, as `log --edits` lists them."""
        origin = {"from": self.source} if self.source else {}
        return {"path": self.path, "action": self.action, **origin}


class Contents(NamedTuple):
    """A file of a record with its bytes; None where there was no file."""

    file: KeptFile
    before: bytes | None
    after: bytes | None


class Record:
    """A record that `publish` stores; ``more`` are further keys of the message's JSON."""

    def __init__(
        self,
        repository: Repository,
        files: Sequence[Contents],
        edits: Sequence[dict[str, object]],
        more: Mapping[str, object],
    ) -> None:
        self.id = new_id()
        self._repository = repository
        self._files = files
        self._edits = edits
        self._more = more

    def publish(self) -> None:
        """Store everything, and make the ref; FatalError if that fails."""
        try:
            kept_from_gc(self._repository, self._keep)
        except OSError as error:
            raise _unkept((error.strerror or str(error)).lower()) from error
        except BoocodeError as error:
            raise _unkept(error.message) from error

    def _keep(self, watch: GcWatch) -> None:
        ref, commit = EDITS + self.id, self._store()
        open_store(self._repository).update_refs([RefChange(ref, commit, None)])
        watch.confirm(ref, [commit])

    def _store(self) -> str:
        """Store all objects anew, also those that exist already: `git gc` may remove them."""
        with scratch_directory(self._repository.state_dir) as scratch:
            quarantine = Quarantine(self._repository, scratch)
            items = {
                os.fsencode(name): Item(
                    b"100755" if mode & stat.S_IXUSR else b"100644", quarantine.store(b"blob", data)
                )
                for file, *sides in self._files
                for name, data, mode in zip(file.kept_names, sides, file[2:4], strict=True)
                if name is not None and data is not None
            }
            git, empty = self._repository.git, self._repository.empty_tree
            tree = edit_tree(git, empty, items, quarantine.store_tree)
            commit = quarantine.store(b"commit", self._commit_body(tree, items))
            quarantine.release()
        return commit.decode("ascii")

    def _commit_body(self, tree: str, items: Mapping[bytes, Item]) -> bytes:
        when = id_time(self.id)
        head = self._repository.git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        parents = [head.stdout.decode("ascii").strip()] if head.status == 0 else []
        document = {
            "boocode": VERSION,
            "kind": "edit",
            "id": self.id,
            "created_at": timestamp(when),
            "worktree": self._repository.worktree_json(),
            **self._more,
            "edits": list(self._edits),
            "files": [_file_json(file, items) for file, *_ in self._files],
        }
        first = json.dumps(self._files[0].file.path)[1:-1]
        more = f" and {len(self._files) - 1} more" if len(self._files) > 1 else ""
        message = f"edit {first}{more}\n\n{json.dumps(document)}\n"
        return raw_commit(tree, parents, message, self._repository.config.identity(), when)


def _file_json(file: KeptFile, items: Mapping[bytes, Item]) -> dict[str, object]:
    kept = [items.get(os.fsencode(name or "")) for name in file.kept_names]
    before, after = (item and item.id.decode("ascii") for item in kept)
    mode, new_mode = (f"{stat.S_IMODE(mode):04o}" for mode in (file.mode, file.new_mode))
    modes = {"mode": mode, "new_mode": new_mode}
    return {**file.as_json(), **modes, "before": before, "after": after}


def prune_now_and_then(repository: Repository, identifier: str) -> None:
    """Prune old records after one call in 64, chosen by the random end of its record's id."""
    if int(identifier[-2:], 16) % _PRUNED_EVERY == 0:
        from git_boocode.editing.records import prune_edits

        # The call has succeeded, and no error here makes it fail.
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
