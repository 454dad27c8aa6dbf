"""Make a tree out of another one; only the trees on the way to what differs are read and written.

`git write-tree` asks after every tree of the repository, and writes the index once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from git_boocode.repo.git import Git, GitError, Talk, batch_bodies

_TREE = b"40000"
_TYPES = {_TREE: b"tree", b"160000": b"commit"}
_COMMAND = ("mktree", "-z", "--batch", "--missing")


class Item(NamedTuple):
    """What a name in a tree stands for: a mode in octal digits, and an object's id."""

    mode: bytes
    id: bytes


class NewlineError(ValueError):
    """A name cannot be asked for."""


Table = dict[bytes, Item | None]


def edit_tree(git: Git, tree: str, changes: Mapping[bytes, Item | None]) -> str:
    """Write the tree that some changes make of another.

    Args:
        git: git that may write objects.
        tree: the id of a tree.
        changes: by path, what is to be there; None where nothing is to be any more.

    Raises:
        NewlineError: a directory's name holds a newline, which ends a question to git.
        GitError: git could not read or write a tree.
    """
    tables = _by_directory(changes)
    found = _read(git, tree, list(tables))
    _check_complete(tree, found)
    with git.talk(*_COMMAND) as talk:
        # A directory comes before the one in which it lies, and the root last.
        for directory in sorted(tables, key=_depth, reverse=True):
            old, new = found[directory] or {}, tables[directory]
            items = [(name, item) for name, item in {**old, **new}.items() if item is not None]
            written = _write(talk, items) if items or not directory else None
            if directory:
                _put_below(tables, directory, written)
    assert written is not None
    return written.decode("ascii")


def _depth(directory: bytes) -> int:
    return directory.count(b"/") + 1 if directory else 0


def _check_complete(tree: str, found: Mapping[bytes, Table | None]) -> None:
    """Raise an error if a tree is not there, although one that is there names it."""
    for directory, table in found.items():
        parent, _, name = directory.rpartition(b"/")
        above = found[parent] if directory else None
        named = above.get(name) if above else None
        if table is None and (not directory or (named is not None and named.mode == _TREE)):
            raise GitError(("cat-file",), 128, f"fatal: a tree of {tree} is missing")


def _by_directory(changes: Mapping[bytes, Item | None]) -> dict[bytes, Table]:
    """The changes of each directory by name, also of those in which it lies."""
    tables: dict[bytes, Table] = {b"": {}}
    for path, item in changes.items():
        directory, _, name = path.rpartition(b"/")
        tables.setdefault(directory, {})[name] = item
        while directory:
            directory = directory.rpartition(b"/")[0]
            tables.setdefault(directory, {})
    return tables


def _put_below(tables: dict[bytes, Table], directory: bytes, written: bytes | None) -> None:
    parent, _, name = directory.rpartition(b"/")
    table = tables[parent]
    if written is not None:
        table[name] = Item(_TREE, written)
    elif table.get(name) is None:
        # Unless a file has come where the directory was.
        table[name] = None


def _read(git: Git, tree: str, directories: list[bytes]) -> dict[bytes, Table | None]:
    """What some directories of a tree hold; None if they are not there."""
    if any(b"\n" in directory for directory in directories):
        raise NewlineError("a name holds a newline")
    request = b"".join(b"%s:%s\n" % (tree.encode(), directory) for directory in directories)
    bodies = batch_bodies(git.run("cat-file", "--batch", stdin=request), b"tree")
    size = len(tree) // 2
    return {
        directory: None if body is None else _parse(body, size)
        for directory, body in zip(directories, bodies, strict=True)
    }


def _parse(body: bytes, size: int) -> Table:
    """Read a tree object, in which an id has so many bytes."""
    table: Table = {}
    position = 0
    while position < len(body):
        end = body.index(b"\0", position)
        mode, _, name = body[position:end].partition(b" ")
        position = end + 1 + size
        table[name] = Item(mode, body[end + 1 : position].hex().encode("ascii"))
    return table


def _write(talk: Talk, items: Iterable[tuple[bytes, Item]]) -> bytes:
    """Write a tree, and give its id."""
    records = (
        b"%s %s %s\t%s\0" % (item.mode, _TYPES.get(item.mode, b"blob"), item.id, name)
        for name, item in items
    )
    return talk.ask(b"".join(records) + b"\0")
