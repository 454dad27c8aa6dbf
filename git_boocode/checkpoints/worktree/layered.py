"""The private index of the last capture, and over it what has changed since.

To write an index takes longer than all else that a capture does beside looking at the files, and
an index is written whole. So the one that was kept stays as it is, and what differs from it is
noted beside it, until that has become much.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from git_boocode.checkpoints.worktree.disk import Disk, is_recorded
from git_boocode.checkpoints.worktree.timing import COARSE
from git_boocode.repo.git import Completed, Git, GitError, Running
from git_boocode.repo.index import Entry, Index, compared
from git_boocode.repo.scratch import fresh_path
from git_boocode.repo.trees import GITLINK, Item

_NANO = 1_000_000_000
_NOWHERE = "0"
# So many files are recorded beside an index; more than that are recorded in it.
_MOST = 1000


class Recorded(NamedTuple):
    """What a path stands for.

    Attributes:
        mode: as in `Entry`.
        id: the object's id.
        seen: what told the file from any other when it was read; None if nothing can.
    """

    mode: str
    id: str
    seen: tuple[int, ...] | None = None


Overlay = Mapping[str, Recorded | None]
"""By path, what differs from a kept index; None where it has an entry that does not count."""


class LayeredIndex:
    """An index that stays as it is, and what differs from it.

    It answers as `Index` does; where the whole is needed as one file, `whole` makes it. From then
    on, and as soon as very much differs, that file is what counts.

    Args:
        base: the index that was kept.
        overlay: what differs from it.
        disk: the files of the worktree.
        since: when the reading of the worktree began, in seconds since 1970.
        zero_id: the id that stands for no object.
    """

    def __init__(
        self, base: Index, overlay: Overlay, disk: Disk, since: float, zero_id: str
    ) -> None:
        self.path = base.path
        self.git = base.git
        self._base = base
        self._overlay = dict(overlay)
        self._disk = disk
        self._since = since
        self._zero_id = zero_id
        self._before: dict[str, Entry] = {}
        self._doubtful: set[str] = set()
        self._compared = False
        self._base_paths: frozenset[str] = frozenset()
        self._whole: Index | None = None

    @property
    def overlay(self) -> Overlay:
        """What differs from the index that was kept."""
        return self._overlay

    def changes(self, earlier: Overlay) -> dict[bytes, Item | None]:
        """What differs from an earlier state, as `edit_tree` takes it.

        Args:
            earlier: what differed from the kept index then; no path has come out of it since.
        """
        found: dict[bytes, Item | None] = {}
        for path, now in self._overlay.items():
            then = earlier.get(path)
            if path not in earlier or (now and now[:2]) != (then and then[:2]):
                item = Item(now.mode.encode("ascii"), now.id.encode("ascii")) if now else None
                found[os.fsencode(path)] = item
        return found

    def begin_comparison(self, *, threads: bool = True) -> Running:
        """See `Index.begin_comparison`."""
        return self._base.begin_comparison(threads=threads)

    def differing(self, output: bytes) -> list[str]:
        """See `Index.differing`; what may differ from what was recorded last is told."""
        self._before.update((entry.path, entry) for entry in compared(output))
        self._compared = True
        known = [path for path in self._before if path not in self._overlay]
        recorded = [path for path, now in self._overlay.items() if now and self._differs(path, now)]
        return [*known, *recorded, *(self._doubtful.difference(self._overlay, known))]

    def changed_on_disk(self) -> list[str]:
        """See `Index.changed_on_disk`."""
        return self.differing(self._base.compare())

    def _differs(self, path: str, recorded: Recorded) -> bool:
        if recorded.mode == GITLINK:
            # A submodule that was never filled, or has been emptied, is as it was.
            return self._disk.has_repository(path) or not self._disk.is_directory(path)
        return recorded.seen is None or self._mark(path) != recorded.seen

    def _mark(self, path: str) -> tuple[int, ...] | None:
        """What tells a file from any other; None if it may change and still look the same."""
        found = self._disk.status(path)
        if found is None or not is_recorded(found) or not self._is_settled(found):
            return None
        return (
            found.st_mode,
            found.st_size,
            found.st_ino,
            found.st_mtime_ns,
            found.st_ctime_ns,
        )

    def _is_settled(self, found: os.stat_result) -> bool:
        """Whether a file that changes once more will have another time then."""
        times = (found.st_mtime_ns, found.st_ctime_ns)
        # The file system may know no fractions of a second.
        coarse = not any(moment % _NANO for moment in times)
        return max(times) < (int(self._since) - (COARSE if coarse else 0)) * _NANO

    def forget(self, paths: Iterable[str]) -> None:
        """See `Index.forget`."""
        if self._whole is not None:
            self._whole.forget(paths)
            return
        self._overlay.update(dict.fromkeys(paths))

    def put(self, entries: Iterable[Entry]) -> None:
        """See `Index.put`."""
        if self._whole is not None:
            self._whole.put(entries)
            return
        for entry in entries:
            there = entry.mode != _NOWHERE
            self._overlay[entry.path] = Recorded(entry.mode, entry.id) if there else None

    def doubt(self, paths: Iterable[str]) -> None:
        """See `Index.doubt`."""
        for path in paths:
            self._doubtful.add(path)
            if now := self._overlay.get(path):
                self._overlay[path] = now._replace(seen=None)

    def add(self, paths: Iterable[str]) -> Completed:
        """See `Index.add`."""
        paths = list(paths)
        if self._whole is not None or len(paths) > _MOST:
            return self.whole().add(paths)
        # Before the files are read: one that changes meanwhile does not look the same later.
        marks = {path: self._mark(path) for path in paths}
        wanted = [path for path, mark in marks.items() if not self._is_known(path, mark)]
        if not wanted:
            return Completed(0, b"", b"")
        index = self._small(wanted)
        done = index.add(wanted)
        if done.status == 0:
            found = {entry.path: entry for entry in index.entries()}
            for path in wanted:
                entry = found.get(path)
                now = Recorded(entry.mode, entry.id, marks[path]) if entry else None
                self._overlay[path] = now
        return done

    def _is_known(self, path: str, mark: tuple[int, ...] | None) -> bool:
        """Whether a file is as it was recorded, as far as that can be told at no cost."""
        if path in self._overlay:
            now = self._overlay[path]
            return now is not None and now.seen is not None and now.seen == mark
        differs = not self._compared or path in self._before or path in self._doubtful
        return path in self._base_paths and not differs

    def _small(self, paths: list[str]) -> Index:
        """An index of some paths, with what was recorded of them.

        Git wants to know it: where modes cannot be told from the file, and whether it is one of
        those that had Windows line endings before.
        """
        index = Index(self.git, fresh_path(f"{self.path}.small"))
        unknown = self._doubtful.intersection(paths).difference(self._overlay, self._before)
        self._before.update((entry.path, entry) for entry in self._base.entries_of(unknown))
        index.put(entry for path in paths if (entry := self._entry(path)))
        return index

    def _entry(self, path: str) -> Entry | None:
        if path not in self._overlay:
            return self._before.get(path)
        now = self._overlay[path]
        return Entry("H", now.mode, now.id, 0, path) if now else None

    def paths(self) -> list[str]:
        """See `Index.paths`."""
        if self._whole is not None:
            return self._whole.paths()
        base = self._base.paths()
        self._base_paths = frozenset(base)
        return self._over(base, filter(self._overlay.get, self._overlay))

    def _over(self, base: Iterable[str], overlay: Iterable[str]) -> list[str]:
        return [*(path for path in base if path not in self._overlay), *overlay]

    def listed(self, git: Git, *arguments: str) -> list[str]:
        """See `Index.listed`."""
        if self._whole is not None:
            return self._whole.listed(git, *arguments)
        present = self._small([path for path, now in self._overlay.items() if now])
        return self._over(self._base.listed(git, *arguments), present.listed(git, *arguments))

    def forget_times(self) -> None:
        """See `Index.forget_times`; that is for a reading from the beginning.

        Raises:
            GitError: always.
        """
        raise GitError(("diff-files",), 128, "fatal: the files cannot be compared")

    def break_lock(self) -> None:
        """See `Index.break_lock`."""
        if self._whole is not None:
            self._whole.break_lock()

    @property
    def is_whole(self) -> bool:
        """Whether `whole` has made one index of it."""
        return self._whole is not None

    def whole(self) -> Index:
        """All of it as one index."""
        if self._whole is None:
            self._whole = self._base.copy()
            self._whole.put(self._instructions())
            files = (path for path, now in self._overlay.items() if now and now.mode != GITLINK)
            self._whole.refresh(files)
            self._whole.doubt(self._doubtful.difference(self._overlay))
        return self._whole

    def _instructions(self) -> Iterator[Entry]:
        """What makes the whole out of what was kept; what goes, goes first."""
        for path, now in self._overlay.items():
            if now is None:
                yield Entry("H", _NOWHERE, self._zero_id, 0, path)
        for path, now in self._overlay.items():
            if now is not None:
                yield Entry("H", now.mode, now.id, 0, path)
