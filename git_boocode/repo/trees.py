"""Write trees without an index, from scratch or from a tree whose files are replaced."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from git_boocode.repo.store import Store

_DIRECTORY = b"40000"
_Table = dict[bytes, "Item"]


class Item(NamedTuple):
    """A tree entry without its name: a mode in octal digits and an object id."""

    mode: bytes
    id: bytes


class TreeEditor:
    """A tree of which files are added, replaced and removed, by path relative to its top."""

    def __init__(self) -> None:
        # The entries of the directories that may change, and those of them as they are stored.
        self._tables: dict[bytes, _Table] = {b"": {}}
        self._stored: dict[bytes, tuple[_Table, bytes]] = {}

    @classmethod
    def of(cls, store: Store, treeish: str, paths: Iterable[str]) -> TreeEditor:
        """Begin with a tree or a commit; only files at `paths` may be changed.

        FatalError if an object is missing or damaged.
        """
        made = cls()
        above = {directory for path in paths for directory in directories_above(path)}
        for directory, (identifier, entries) in store.directories(treeish, sorted(above)).items():
            table = {
                os.fsencode(name): Item(entry.mode.lstrip("0").encode(), entry.id.encode())
                for name, entry in entries.items()
            }
            name = os.fsencode(directory)
            made._tables[name], made._stored[name] = table, (dict(table), identifier.encode())
        return made

    def put(self, path: bytes, item: Item | None) -> None:
        """Add or replace a file, or remove it; it replaces a directory and files above it."""
        directory, _, name = path.rpartition(b"/")
        if item is None:
            table = self._tables.get(directory, {})
            if name in table and table[name].mode != _DIRECTORY:
                del table[name]
            return
        self._make(directory)
        if path in self._tables:
            below = [each for each in self._tables if each == path or each.startswith(path + b"/")]
            for each in below:
                del self._tables[each]
        self._tables[directory][name] = item

    def _make(self, directory: bytes) -> None:
        missing = []
        while directory not in self._tables:
            missing.append(directory)
            directory = directory.rpartition(b"/")[0]
        for each in reversed(missing):
            self._tables[each] = {}
            parent, _, name = each.rpartition(b"/")
            self._tables[parent].pop(name, None)

    def write(self, store: Callable[[bytes, bytes], bytes]) -> bytes:
        """Store the trees that changed and return the id of the root.

        `store` stores an object of a type and returns its id, like `Quarantine.store`.
        """
        # Each directory before its parent.
        for path in sorted(filter(None, self._tables), key=lambda path: -path.count(b"/")):
            parent, _, name = path.rpartition(b"/")
            if self._tables[path]:
                self._tables[parent][name] = Item(_DIRECTORY, self._write(path, store))
            else:
                self._tables[parent].pop(name, None)
        return self._write(b"", store)

    def _write(self, path: bytes, store: Callable[[bytes, bytes], bytes]) -> bytes:
        table = self._tables[path]
        before, identifier = self._stored.get(path, (None, b""))
        if table != before:
            identifier = store(b"tree", tree_body(table))
            self._stored[path] = dict(table), identifier
        return identifier


def write_tree(files: Mapping[bytes, Item], store: Callable[[bytes, bytes], bytes]) -> bytes:
    """Store the trees for some files, by path; see `TreeEditor.write`."""
    editor = TreeEditor()
    for path, item in files.items():
        editor.put(path, item)
    return editor.write(store)


def directories_above(path: str) -> list[str]:
    """The directories above a path, the nearest first; the top is empty."""
    found = []
    while path:
        path = path.rpartition("/")[0]
        found.append(path)
    return found


def tree_body(table: Mapping[bytes, Item]) -> bytes:
    """The bytes of a tree object with some entries, by name."""

    # Git sorts directories as if their names ended in a slash.
    def order(name: bytes) -> bytes:
        return name + b"/" if table[name].mode == _DIRECTORY else name

    return b"".join(
        b"%s %s\0%s" % (table[name].mode, name, bytes.fromhex(table[name].id.decode("ascii")))
        for name in sorted(table, key=order)
    )
