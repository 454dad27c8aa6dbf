"""The safety copy of a call: a commit that holds its files before and after, and its edits."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.identity import identity
from git_boocode.repo.ids import id_time, new_id, timestamp
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory
from git_boocode.repo.store import RefChange, open_store

EDITS = "refs/boocode/edits/"
VERSION = 1
_SUBJECT = 60


class RecordedFile(NamedTuple):
    """One file of a call.

    Attributes:
        path: from the top of the worktree, symlinks resolved.
        action: `modify`, `create`, `delete` or `rename`.
        before: its bytes before, None if there was no file.
        after: its bytes afterwards, None if there is no file any more.
        mode: its mode bits before; of a new file, afterwards.
        new_mode: its mode bits afterwards.
        source: the path that it had before, if that was another one.
    """

    path: str
    action: str
    before: bytes | None
    after: bytes | None
    mode: int
    new_mode: int
    source: str | None = None

    @property
    def old_path(self) -> str:
        """Its path before the call."""
        return self.source or self.path


class Record:
    """A record in the making: `prepare` stores its objects, `publish` its ref.

    Args:
        repository: where to keep it.
        files: the files that the call changes.
        edits: the edits and where they landed, as JSON.
        more: what else the message says, as JSON.
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

    def prepare(self) -> None:
        """Store everything but the ref.

        Raises:
            FatalError: it cannot be stored.
        """
        try:
            self._commit = self._store()
        except OSError as error:
            raise _unkept((error.strerror or str(error)).lower()) from error
        except FatalError as error:
            raise _unkept(error.message) from error

    def publish(self) -> None:
        """Make the ref.

        Raises:
            FatalError: it cannot be made.
        """
        try:
            self._update(RefChange(self.ref, self._commit, None))
        except BoocodeError as error:
            raise _unkept(error.message) from error

    def withdraw(self) -> None:
        """Take the ref away again.

        Raises:
            BoocodeError: it was not made, or cannot be removed.
        """
        self._update(RefChange(self.ref, None, self._commit))

    def _update(self, change: RefChange) -> None:
        open_store(self._repository).update_refs([change])

    def _store(self) -> str:
        with scratch_directory(self._repository.state_dir) as scratch:
            entries = list(self._entries(scratch))
            tree = self._tree(scratch, entries)
        return self._write_commit(tree, {name: blob for name, blob, _ in entries})

    def _entries(self, scratch: str) -> Iterator[tuple[str, str, str]]:
        """Name, blob id and mode of each file of the tree; all blobs are stored by one git."""
        sides = [
            (f"{side}/{path}", data, "100755" if mode & stat.S_IXUSR else "100644")
            for file in self._files
            for side, path, data, mode in (
                ("before", file.old_path, file.before, file.mode),
                ("after", file.path, file.after, file.new_mode),
            )
            if data is not None
        ]
        names = [f"blob-{number}" for number in range(len(sides))]
        for name, (_, data, _) in zip(names, sides, strict=True):
            with open(os.path.join(scratch, name), "wb") as stream:
                stream.write(data)
        # Names are read relative to the worktree; as that, the scratch directory keeps them short.
        git = self._repository.git.bind(cwd=scratch, GIT_WORK_TREE=scratch)
        listing = "".join(f"{name}\n" for name in names).encode()
        blobs = git.line("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listing)
        for (path, _, mode), blob in zip(sides, blobs.split("\n"), strict=True):
            yield path, blob, mode

    def _tree(self, scratch: str, entries: Sequence[tuple[str, str, str]]) -> str:
        git = self._repository.git.bind(GIT_INDEX_FILE=os.path.join(scratch, "index"))
        listing = "".join(f"{mode} {blob}\t{path}\0" for path, blob, mode in entries)
        git.run("update-index", "-z", "--index-info", stdin=os.fsencode(listing))
        return git.line("write-tree")

    def _write_commit(self, tree: str, blobs: dict[str, str]) -> str:
        when = id_time(self.id)
        head = self._repository.git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        parents = [head.stdout.decode("ascii").strip()] if head.status == 0 else []
        by = identity(self._repository.config)
        message = f"{self._subject()}\n\n{json.dumps(self._document(blobs, when))}\n"
        return open_store(self._repository).write_commit(tree, parents, message, by, when)

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
            "worktree": {
                "name": self._repository.worktree_name,
                "path": self._repository.worktree,
            },
            **self._more,
            "edits": list(self._edits),
            "files": [_file_json(file, blobs) for file in self._files],
        }


def _file_json(file: RecordedFile, blobs: Mapping[str, str]) -> dict[str, object]:
    return {
        "path": file.path,
        **({"from": file.source} if file.source else {}),
        "action": file.action,
        "mode": f"{stat.S_IMODE(file.mode):04o}",
        **(
            {"new_mode": f"{stat.S_IMODE(file.new_mode):04o}"} if file.new_mode != file.mode else {}
        ),
        "before": None if file.before is None else blobs[f"before/{file.old_path}"],
        "after": None if file.after is None else blobs[f"after/{file.path}"],
    }


def _unkept(reason: str) -> FatalError:
    full = re.search("no space left|quota", reason, re.IGNORECASE)
    return FatalError(
        f"cannot keep the files' old content in git: {reason}; nothing was changed",
        code="disk_full" if full else "record",
        hints=("--no-record edits without the safety copy",),
        details={"applied": False},
    )
