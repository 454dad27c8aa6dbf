"""Tree objects as bytes: a process of git for each would take longer than all else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

TREE = b"40000"
"""The mode of a directory in a tree object."""

GITLINK = "160000"
"""The mode of a submodule, or of a nested repository that was added."""

SYMLINK = "120000"


class Item(NamedTuple):
    """What a name in a tree stands for: a mode in octal digits, and an object's id."""

    mode: bytes
    id: bytes


Table = dict[bytes, Item]


def write_tree(files: Mapping[bytes, Item], store: Callable[[bytes, bytes], bytes]) -> bytes:
    """Store the trees that hold some files, and return the id of the root.

    Args:
        files: the files by path.
        store: stores an object of a kind and returns its id, as `Quarantine.store` does.
    """
    tables: dict[bytes, Table] = {b"": {}}
    for path, item in files.items():
        directory, _, name = path.rpartition(b"/")
        missing = directory
        while missing not in tables:
            tables[missing] = {}
            missing = missing.rpartition(b"/")[0]
        tables[directory][name] = item
    # A directory comes before the one in which it lies.
    for directory in sorted(filter(None, tables), key=lambda path: path.count(b"/"), reverse=True):
        parent, _, name = directory.rpartition(b"/")
        tables[parent][name] = Item(TREE, store(b"tree", format_tree(tables[directory])))
    return store(b"tree", format_tree(tables[b""]))


def format_tree(table: Table) -> bytes:
    """The bytes of a tree object; git sorts directories as if their names ended in a slash."""
    items = sorted(
        table.items(), key=lambda pair: pair[0] + b"/" if pair[1].mode == TREE else pair[0]
    )
    return b"".join(
        b"%s %s\0%s" % (item.mode, name, bytes.fromhex(item.id.decode("ascii")))
        for name, item in items
    )
