"""The tree of a few changed files, made from the tree before.

`git write-tree` reads the whole index and writes it again: of 50,000 files, that takes a sixth of
a checkpoint.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

from git_boocode.checkpoints.worktree.indexer import may_convert
from git_boocode.repo.errors import FatalError
from git_boocode.repo.object_writer import SYMLINK, Quarantine, object_id
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import Item, TreeEditor

# Limits to the files that are read again: their number, and their size in bytes.
_MOST, _LARGEST = 64, 4 << 20
# In bytes: for a smaller index, git is as fast, unless objects are kept open in this process.
_LARGE_INDEX = 1 << 20

Statuses = Mapping[str, os.stat_result | None]


def patched_tree(
    repository: Repository,
    quarantine: Quarantine,
    base: str,
    recorded: Statuses,
    gone: Iterable[str],
) -> str | None:
    """The tree `base` with the files that git has recorded, and without those that are gone.

    `recorded` are the statuses of these files before git read them. None if git has to write the
    tree, because it may have recorded something else than the bytes that are there now.
    """
    try:
        index_size = os.stat(repository.index_path).st_size
    except OSError:
        return None
    if index_size < _LARGE_INDEX and not repository.keeps_store_open:
        return None
    sizes = [0 if status is None else status.st_size for status in recorded.values()]
    too_many = len(recorded) > _MOST or sum(sizes) > _LARGEST
    if too_many or repository.index_knows_modes or may_convert(repository, recorded):
        return None
    items = {path: _item(repository, path, status) for path, status in recorded.items()}
    ids = sorted({item.id.decode("ascii") for item in items.values() if item})
    stored = (each for each in ids if not quarantine.holds(each))
    if None in items.values() or None in repository.store.blobs([*stored]):
        return None
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


def _item(repository: Repository, path: str, before: os.stat_result | None) -> Item | None:
    """The entry of a file; None if it has changed since, or is none that git records as it is."""
    real = os.path.join(repository.worktree, path)
    if before is None:
        return None
    try:
        if stat.S_ISLNK(before.st_mode):
            data, mode = os.fsencode(os.readlink(real)), SYMLINK.encode("ascii")
        elif stat.S_ISREG(before.st_mode):
            with open(real, "rb") as file:
                data = file.read()
            mode = b"100755" if before.st_mode & stat.S_IXUSR else b"100644"
        else:
            return None
        if _mark(os.lstat(real)) != _mark(before):
            return None
    except OSError:
        return None
    return Item(mode, object_id(repository.object_format, b"blob", data).encode("ascii"))


def _mark(status: os.stat_result) -> tuple[int, ...]:
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, *times)
