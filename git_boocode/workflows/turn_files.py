"""The files of a merge: what is there now, older versions, and new ones, as they are on disk."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from filecmp import cmp
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.capture import read_staging
from git_boocode.checkpoints.restore.request import WantedFile
from git_boocode.checkpoints.restore.user_work import ignored_by
from git_boocode.checkpoints.store.catalog import Checkpoint, renames
from git_boocode.checkpoints.turn_work import PathStep, TurnWork, path_steps
from git_boocode.checkpoints.worktree.indexer import directories_of, may_convert, paths_with_filter
from git_boocode.checkpoints.worktree.pathspecs import is_excluding
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.proposals.local_files import worktree_contents
from git_boocode.proposals.proposal import BlobVersion, NewVersion, version_of
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.files import MAX_BYTES, read_state
from git_boocode.repo.git import GitError, nul_lines
from git_boocode.repo.object_writer import DIRECTORY, NO_FILE, REGULAR
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import TreeEntry
from git_boocode.workflows.disk_form import DiskFile, changed_meanwhile, wanted_file

_MOST_NAMED = 500  # more paths are looked up in a listing of the whole tree
_NOW = "~"  # greater than any id
_NEW = "new "  # begins the names of new contents, which no id does
_DISK = f"{_NEW}on disk"


class File(NamedTuple):
    """A file: git's mode, and the id of its blob or, of new content, a name of its own."""

    mode: str
    id: str


class TurnFiles:
    """Reads and makes the files of one merge."""

    def __init__(
        self, repository: Repository, snapshot: Snapshot, begun: Iterable[Checkpoint] = ()
    ) -> None:
        self.buffers: Mapping[str, bytes] = MappingProxyType({})
        self._repository = repository
        self._snapshot = snapshot
        self._contents: dict[tuple[str, str], bytes] = {}  # by path and id
        # The files whose bytes on disk git does not store as they are, as it stores them.
        self.stored: dict[str, File] = {}
        self._new: dict[tuple[str, bytes], str] = {}  # the names of new contents
        # A turn that goes on begins with a tree, which has no metadata of its own.
        self._begun = {checkpoint.tree: checkpoint.meta for checkpoint in begun}
        self._on_disk: dict[str, str] = {}  # the ids of the current blobs
        self.meta = cache(self._meta)
        self.renames = cache(partial(renames, repository.git))

    # Now.

    def current(self, paths: Iterable[str]) -> dict[str, File | None]:
        """The files at some paths; a directory counts as no file."""
        names = sorted(paths)
        listed = self._entries(names)
        found: dict[str, File | None] = {}
        for path in names:
            entry = listed.get(path)
            file = File(entry.mode, entry.id) if entry and entry.kind != "tree" else None
            found[path] = file
            if path in self.buffers:
                found[path] = self._in_buffer(path, file)
            elif file is not None:
                self._on_disk[path] = file.id
        for path in self._not_as_stored(p for p, f in found.items() if f and f.mode in REGULAR):
            if (file := found[path]) is not None:
                self.stored[path] = file
                del self._on_disk[path]
                found[path] = File(file.mode, _DISK)
                self._contents[path, _DISK] = self._read_disk(path, file)
        return found

    def _in_buffer(self, path: str, file: File | None) -> File:
        """The file that a buffer would be if it was saved."""
        new = NewVersion(file.mode if file else "100644", self.buffers[path])
        identifier = version_of(self._repository, path, new).id
        self._contents[path, identifier] = new.data
        return File(new.mode, identifier)

    def _not_as_stored(self, paths: Iterable[str]) -> set[str]:
        """The files with other bytes than git would write, although it sees no change.

        Those with a filter driver are not compared.
        """
        names = [path for path in paths if path in self._on_disk]
        if not names or not may_convert(self._repository, names):
            return set()
        index = self._snapshot.disk_index
        names = sorted({*names}.difference(paths_with_filter(index, names)))
        top = f"{index.path}.as-stored/"
        index.git.attempt(
            "checkout-index", "-z", "--stdin", f"--prefix={top}", stdin=nul_lines(names)
        )
        found = set()
        for path in names:
            with suppress(OSError):
                if not cmp(f"{top}{path}", f"{self._repository.worktree}/{path}", shallow=False):
                    found.add(path)
        return found

    def in_the_way(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """New paths, each with another path, now or new as well, that excludes it.

        That is a file in place of a directory above it, or one below it, or one whose name differs
        only in case, if the file system ignores case.
        """
        names, every = [*paths], cache(self._every_file)
        above = directories_of(names)
        found = self._entries({*names, *above})
        for path in names:
            blocking = (each for each in directories_of([path]) if each in found)
            yield from ((path, each) for each in blocking if found[each].kind != "tree")
            if path in found and found[path].kind == "tree":
                yield from ((path, each) for each in every() if each.startswith(f"{path}/"))
        if self._repository.config.boolean("core.ignoreCase", default=False):
            yield from _alike_but_for_case(names, every())

    def _every_file(self) -> Mapping[str, TreeEntry]:
        return self._repository.store.tree(self._snapshot.tree)

    def _entries(self, paths: Collection[str]) -> Mapping[str, TreeEntry]:
        """What is at some paths, or at many more."""
        if len(paths) <= _MOST_NAMED:
            return self._repository.store.tree(self._snapshot.tree, sorted(paths))
        every = self._every_file()
        directory = TreeEntry(DIRECTORY, "tree", "")
        return {**every, **dict.fromkeys(directories_of(every), directory)}

    def ignored_now(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of some missing paths at which there are ignored files."""
        top = self._repository.worktree
        there = [path for path in paths if _is_file(os.path.join(top, path))]
        return self._ignored(self._snapshot.tree, there)

    def ignored_in(self, state: str, other: str, paths: Collection[str]) -> frozenset[str]:
        """The paths that one state may lack only because of its rules, and another one has."""
        if not (self._is_whole(state) and self._is_whole(other)):
            return frozenset()
        ignored = self._ignored(state, sorted({*paths} - self._tracked(state, paths)))
        if not ignored:
            return ignored
        # What is ignored in both, by rules outside of them, was recorded in spite of that.
        known = ignored - self._tracked(other, ignored)
        return ignored - self._ignored(other, sorted(known))

    def _ignored(self, state: str, paths: list[str]) -> frozenset[str]:
        if not paths:
            return frozenset()
        scratch = os.path.dirname(self._snapshot.disk_index.path)
        return ignored_by(self._repository, state, paths, scratch)

    def _is_whole(self, name: str) -> bool:
        """Whether a state is one of the whole worktree; an edit record has only its files."""
        return name == self._snapshot.tree or self.meta(name) is not None

    def _tracked(self, state: str, paths: Collection[str]) -> set[str]:
        staging = self.staging(state)
        return {*self._repository.store.tree(staging.tree, sorted(paths))} if staging else set()

    # Contents.

    def read_ahead(self, files: Iterable[tuple[str, File | None]]) -> None:
        """Read the contents of some files at once."""
        listed = [*dict.fromkeys((path, file) for path, file in files if file is not None)]
        listed = [(path, file) for path, file in listed if (path, file.id) not in self._contents]
        sizes = self._repository.store.lookup([file.id for _, file in listed]) if listed else ()
        wanted = []
        for (path, file), found in zip(listed, sizes, strict=True):
            if found and found.size > MAX_BYTES:
                # It is not merged, just as a binary file.
                self._contents[path, file.id] = f"\0{file.id}".encode()
            elif self._on_disk.get(path) == file.id and may_convert(self._repository, [path]):
                self._contents[path, file.id] = self._read_disk(path, file)
            else:
                wanted.append((path, BlobVersion(file.mode, file.id)))
        for (path, version), data in worktree_contents(self._repository, wanted).items():
            if version is not None:
                self._contents[path, version.id] = data

    def read(self, path: str, file: File) -> bytes:
        """The bytes of a file as it is, or would be, on disk."""
        self.read_ahead([(path, file)])
        return self._contents[path, file.id]

    def _read_disk(self, path: str, file: File) -> bytes:
        state = read_state(os.path.join(self._repository.worktree, path), links=True)
        now = NewVersion(file.mode, state.data) if state else None
        if now is None or version_of(self._repository, path, now).id != file.id:
            raise changed_meanwhile(path)
        return now.data

    def new(self, path: str, mode: str, data: bytes) -> File:
        """A file with new content."""
        known = self._on_disk.get(path, "")
        if self._contents.get((path, known)) == data:
            return File(mode, known)
        name = self._new.setdefault((path, data), f"{_NEW}{len(self._new)}")
        self._contents[path, name] = data
        return File(mode, name)

    def renamed(self, path: str, to: str, file: File) -> File:
        """A file under another name."""
        return self.new(to, file.mode, self.read(path, file)) if self.is_new(file) else file

    def is_new(self, file: File | None) -> bool:
        """Whether the content of a file is new."""
        return file is not None and file.id.startswith(_NEW)

    def wanted(self, path: str, file: File | None) -> WantedFile:
        """What a path is to be; new content is stored, and its exact bytes if git changes them."""
        if file is None:
            return WantedFile(path, "")
        if not self.is_new(file):
            return WantedFile(path, file.mode, file.id)
        new, known = NewVersion(file.mode, self._contents[path, file.id]), self._on_disk.get(path)
        now = None
        if known and may_convert(self._repository, [path]):
            now = DiskFile(file.mode, known, self.read(path, File(file.mode, known)))
        return wanted_file(self._repository, self._snapshot, path, new, now)

    # Recorded states.

    def steps(self, work: TurnWork, pathspecs: Sequence[str]) -> dict[str, tuple[PathStep, ...]]:
        """The steps of each path; see `path_steps`.

        A renamed file has two paths and is one change: either path stands for both, and without
        the one that a pathspec excludes, the other stays, too.
        """
        found = path_steps(self._repository, work, pathspecs)
        halves = [
            path
            for path, steps in found.items()
            if (steps[0].change.old_mode == NO_FILE) != (steps[-1].change.mode == NO_FILE)
        ]
        if not (pathspecs and halves):
            return found
        every, excludes = path_steps(self._repository, work), any(map(is_excluding, pathspecs))
        for path in halves:
            steps = found[path]
            names = self.renames(steps[0].step.before, steps[-1].step.after)
            both = names.get(path) or {new: old for old, new in names.items()}.get(path, "")
            if both not in every or both in found:
                continue
            if excludes:
                del found[path]
            else:
                found[both] = every[both]
        return found

    def _meta(self, name: str) -> Metadata | None:
        """What a state records beside its tree; None if that is unknown."""
        if name in self._begun:
            return self._begun[name]
        commit = next(iter(self._repository.store.commits([name])), None)
        try:
            return Metadata.parse(commit.message) if commit else None
        except MetadataError:
            return None

    def time_of(self, name: str) -> str:
        """The id of a recorded state, greater than those of all earlier ones; empty if unknown."""
        if name == self._snapshot.tree:
            return _NOW
        meta = self.meta(name)
        return meta.text("id") if meta else ""

    def staging(self, name: str) -> Staging | None:
        """The staging area of a recorded state, or of the worktree by its tree; None if unknown."""
        if name == self._snapshot.tree:
            return self._snapshot.staging
        meta = self.meta(name)
        try:
            return read_staging(self._repository, meta) if meta else None
        except (GitError, MetadataError):
            return None


def _is_file(path: str) -> bool:
    return os.path.islink(path) or os.path.isfile(path)


def _alike_but_for_case(paths: Iterable[str], others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Paths, each with another one that is at it or above it if case is ignored."""
    by_folded = defaultdict[str, list[str]](list)
    names = [*paths]
    for path in {*names, *others}:
        by_folded[path.casefold()].append(path)
    for path in names:
        for step in (path, *directories_of([path])):
            found = by_folded.get(step.casefold(), ())
            yield from ((path, each) for each in found if each != path)
