"""The tree of a few changed files, made from the tree before.

`git write-tree` reads the whole index and writes it again: of 50,000 files, that takes a sixth of
a checkpoint.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping

from git_boocode.checkpoints.worktree.attributes import may_convert
from git_boocode.checkpoints.worktree.indexer import Disk
from git_boocode.repo.errors import FatalError
from git_boocode.repo.object_writer import SYMLINK, Quarantine, object_id
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import Item, TreeEditor

# Limits to the files that are read here: their number, and their size in bytes.
_MOST, _LARGEST = 64, 4 << 20
Statuses = dict[str, "os.stat_result | None"]


class FileReader:
    """Reads a few files as git records them, if git does not convert their bytes.

    `identify` returns the id of a blob, like `Quarantine.store`. `items` are the tree entries by
    path; None if git has to record one of the files.
    """

    def __init__(
        self, repository: Repository, disk: Disk, identify: Callable[[bytes], bytes]
    ) -> None:
        self._repository = repository
        self._disk = disk
        self._identify = identify
        self._left = _LARGEST
        self.items: dict[str, Item] | None = None if repository.index_knows_modes else {}

    def read(self, statuses: Statuses) -> None:
        """Read files that were not read before; `statuses` are from before anything read them."""
        if self.items is None:
            return
        new = {path: status for path, status in statuses.items() if path not in self.items}
        self._left -= sum(0 if status is None else status.st_size for status in new.values())
        too_many = len(self.items) + len(new) > _MOST or self._left < 0
        items = self.items
        self.items = None
        if too_many or may_convert(self._repository, new):
            return
        for path, before in new.items():
            item = self._item(path, before)
            if item is None:
                return
            items[path] = item
        self.items = items

    def _item(self, path: str, before: os.stat_result | None) -> Item | None:
        """A file's entry; None if it has changed since, or is none that git records as it is."""
        if before is None:
            return None
        real = f"{self._disk.worktree}/{path}"
        try:
            if stat.S_ISLNK(before.st_mode):
                if _may_be_refused(path):
                    return None
                data, mode = os.fsencode(os.readlink(real)), SYMLINK.encode("ascii")
            elif stat.S_ISREG(before.st_mode):
                with open(real, "rb") as file:
                    data = file.read()
                mode = b"100755" if before.st_mode & stat.S_IXUSR else b"100644"
            else:
                return None
        except OSError:
            return None
        after = self._disk.status(path)
        if after is None or _mark(after) != _mark(before):
            return None
        return Item(mode, self._identify(data))


def _may_be_refused(link: str) -> bool:
    """Whether git may refuse a symlink, because some file system takes it for `.gitmodules`."""
    name = link.rpartition("/")[2].casefold()
    return not name.isascii() or "gitmod" in name or name.startswith("gi7eba")


def recorded_items(
    repository: Repository, quarantine: Quarantine, disk: Disk, statuses: Statuses
) -> dict[str, Item] | None:
    """The entries of files that git has just recorded; None unless it has recorded these bytes."""

    def identify(data: bytes) -> bytes:
        return object_id(repository.object_format, b"blob", data).encode("ascii")

    reader = FileReader(repository, disk, identify)
    reader.read(statuses)
    ids = sorted({item.id.decode("ascii") for item in (reader.items or {}).values()})
    stored = [each for each in ids if not quarantine.holds(each)]
    return None if None in repository.store.blobs(stored) else reader.items


def patched_tree(
    repository: Repository,
    quarantine: Quarantine,
    base: str,
    items: Mapping[str, Item],
    gone: Iterable[str],
) -> str | None:
    """The tree `base` with some entries and without others; None if git has to write the tree."""
    try:
        editor = TreeEditor.of(repository.store, base, [*gone, *items])
    except FatalError:
        # Git says what is missing, or needs nothing of it.
        return None
    for path in gone:
        editor.put(os.fsencode(path), None)
    for path, item in items.items():
        editor.put(os.fsencode(path), item)
    return editor.write(quarantine.store).decode("ascii")


def _mark(status: os.stat_result) -> tuple[int, ...]:
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, *times)
