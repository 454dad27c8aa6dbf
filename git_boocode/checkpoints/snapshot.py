"""Read the worktree into a private index and a tree, without touching anything of the user's."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from typing import NamedTuple

from git_boocode.checkpoints.staging import Staging, match_disk, read_staging
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Completed, GitError, nul_records
from git_boocode.repo.head import Head, read_head
from git_boocode.repo.index import Entry, Index, copy_index
from git_boocode.repo.repository import Repository

MAX_FILE_SIZE = 50 << 20
# git memory-maps what it hashes and dies by SIGBUS if a writer truncates the file meanwhile.
_ATTEMPTS = 3
# git lists what it can, and only warns of a directory that it cannot look into.
_UNREADABLE = re.compile(r"^warning: could not open directory '(.*)/': (.*)$", re.MULTILINE)
_DISK_FULL = "No space left on device"


class Skipped(NamedTuple):
    """A path that could not be captured, and why."""

    path: str
    reason: str


class Snapshot:
    """The worktree and the staging area at one moment.

    Attributes:
        head: HEAD at that moment.
        index: a private index that matches the files on disk.
        original: a copy of the user's index, byte for byte; None if there was no index.
        dump: the entries of the user's index; None if it could not be read.
        staging: what was staged; None if the user's index could not be read.
        disk_tree: the tree of the files that are on disk.
        tree: the tree to keep: what is on disk, and what a sparse checkout leaves out.
        skipped: what could not be captured.
    """

    def __init__(self, repository: Repository, scratch: str, head: Head) -> None:
        self._repository = repository
        self._scratch = scratch
        self.head = head
        self.index = Index(repository.git, os.path.join(scratch, "worktree.index"))
        self.original: str | None = None
        self.dump: bytes | None = b""
        self.staging: Staging | None = None
        self.disk_tree = ""
        self.tree = ""
        self.skipped: list[Skipped] = []

    def force_add(self, paths: Iterable[str]) -> None:
        """Take ignored files in as well, and write the tree anew."""
        self._add_each_way(list(paths))
        self._write_trees()

    def read(self) -> None:
        """Read everything; see `take_snapshot`."""
        self._copy_users_index()
        self._add_tracked()
        self._add_untracked()
        self._add_untracked_since_head()
        self._write_trees()

    def _write_trees(self) -> None:
        self.disk_tree = self.tree = self.index.write_tree()
        absent = self.staging.absent if self.staging else []
        if absent:
            path = f"{self.index.path}.with-absent"
            copy_index(self.index.path, path)
            complete = Index(self.index.git, path)
            complete.put(absent)
            self.tree = complete.write_tree()

    def _copy_users_index(self) -> None:
        original = os.path.join(self._scratch, "original.index")
        if copy_index(self._repository.index_path, original):
            self.original = original
            copy_index(original, self.index.path)
        try:
            self.dump = dump = self.index.dump()
            self.staging = read_staging(self._repository, self.index, dump)
        except GitError as error:
            if error.status < 0 or _DISK_FULL in error.stderr:
                # The index is sound, and what is staged must not be taken for lost.
                raise
            self._do_without_index(error)
        else:
            match_disk(self.index, self.staging)

    def _do_without_index(self, error: GitError) -> None:
        # A corrupt index must not cost the user the files: HEAD tells what is tracked.
        self.dump = None
        self.skipped.append(Skipped(".git/index", last_line(error.stderr)))
        os.unlink(self.index.path)
        self.index.break_lock()
        self.index.read_tree(self.head.tree)

    def _add_tracked(self) -> None:
        for _ in range(_ATTEMPTS):
            done = self.index.git.attempt("add", "--update", "--sparse", "--ignore-errors", ".")
            if done.status >= 0:
                break
            self.index.break_lock()
        if done.status:
            self._add_each_way(self._perhaps_changed())

    def _perhaps_changed(self) -> list[str]:
        try:
            return self.index.changed_on_disk()
        except GitError:
            # What cannot be recorded cannot be compared either, and while its entry is racily
            # clean, git compares it whenever it writes the index.
            self.index.forget_times()
            return self.index.paths()

    def _add_untracked(self) -> None:
        listing = self._list_untracked()
        limit = self._repository.config.integer("boocode.maxFileSize", default=MAX_FILE_SIZE)
        wanted = []
        for path in nul_records(listing):
            if reason := self._why_not(path, limit):
                self.skipped.append(Skipped(path.rstrip("/"), reason))
            else:
                wanted.append(path)
        self._add_each_way(wanted)

    def _list_untracked(self) -> bytes:
        arguments = ("ls-files", "--others", "--exclude-standard", "-z")
        done = self.index.git.attempt(*arguments)
        if done.status:
            raise GitError(arguments, done.status, os.fsdecode(done.stderr))
        for path, reason in _UNREADABLE.findall(os.fsdecode(done.stderr)):
            self.skipped.append(Skipped(path, reason.lower()))
        return done.stdout

    def _why_not(self, path: str, limit: int) -> str:
        if path.endswith("/"):
            return "nested repository"
        try:
            size = os.lstat(self._on_disk(path)).st_size
        except OSError as error:
            return f"{error.strerror}".lower()
        return f"larger than boocode.maxFileSize ({limit} bytes)" if size > limit else ""

    def _add_untracked_since_head(self) -> None:
        # `git rm --cached` on an ignored file leaves it on disk, known to HEAD alone.
        if self.staging is not None and self.staging.tree == self.head.tree:
            return
        arguments = ("diff-index", "--cached", "--diff-filter=D", "--name-only", "-z")
        missing = nul_records(self.index.git.run(*arguments, self.head.tree))
        self._add_each_way([path for path in missing if self._is_own_file(path)])

    def _is_own_file(self, path: str) -> bool:
        if any(skipped.path == path for skipped in self.skipped):
            return False
        full = self._on_disk(path)
        if os.path.realpath(os.path.dirname(full)) != os.path.dirname(full):
            return False
        return os.path.islink(full) or os.path.isfile(full)

    def _add_each_way(self, paths: list[str]) -> None:
        """Record paths at once, or else by halves down to the ones that cannot be recorded."""
        if not paths:
            return
        done = self.index.add(paths)
        if not done.status:
            return
        self.index.break_lock()
        if len(paths) > 1:
            middle = len(paths) // 2
            self._add_each_way(paths[:middle])
            self._add_each_way(paths[middle:])
        else:
            self._add_alone(paths[0], done)

    def _add_alone(self, path: str, done: Completed) -> None:
        if done.status < 0:
            done = self._add_bytes(path)
        if done.status:
            self.index.break_lock()
            self._skip(path, last_line(os.fsdecode(done.stderr)))

    def _add_bytes(self, path: str) -> Completed:
        full = self._on_disk(path)
        try:
            mode = os.lstat(full).st_mode
            with open(full, "rb") as file:
                content = file.read()
        except OSError as error:
            return Completed(1, b"", os.fsencode(error.strerror or "unreadable"))
        done = self.index.git.attempt(
            "hash-object", "-w", f"--path={path}", "--stdin", stdin=content
        )
        if done.status == 0:
            git_mode = "100755" if mode & stat.S_IXUSR else "100644"
            identifier = os.fsdecode(done.stdout).strip()
            self.index.put([Entry("H", git_mode, identifier, 0, path)])
        return done

    def _skip(self, path: str, reason: str) -> None:
        if _DISK_FULL in reason:
            raise FatalError(f"cannot capture '{path}': no space left on device", code="disk_full")
        self.skipped.append(Skipped(path, reason))

    def _on_disk(self, path: str) -> str:
        return os.path.join(self._repository.worktree, path)


def take_snapshot(repository: Repository, scratch: str) -> Snapshot:
    """Read the worktree and the staging area; objects are written, refs are not.

    Args:
        repository: whose worktree to read.
        scratch: a directory for private files, which must outlive the snapshot.

    Raises:
        FatalError: the worktree could not be read as a whole.
    """
    snapshot = Snapshot(repository, scratch, read_head(repository))
    snapshot.read()
    return snapshot


def last_line(stderr: str) -> str:
    """The line of git's complaint that tells the most, without its severity."""
    lines = [line for line in stderr.strip().splitlines() if line.startswith(("error:", "fatal:"))]
    line = (lines or stderr.strip().splitlines() or ["git gave no reason"])[0]
    return line.partition(": ")[2] if lines else line
