"""Make a tree out of another one; only the trees on the way to what differs are read and written.

`git write-tree` asks after every tree of the repository, and writes the index once more.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, NamedTuple

from git_boocode.repo.git import Git, GitError, batch_bodies

_TREE = b"40000"
_TYPES = {_TREE: b"tree", b"160000": b"commit"}
_COMMAND = ("mktree", "-z", "--batch", "--missing")


class Item(NamedTuple):
    """What a name in a tree stands for: a mode in octal digits, and an object's id."""

    mode: bytes
    id: bytes


Table = dict[bytes, Item | None]
Write = Callable[[Iterable[tuple[bytes, Item]]], bytes]


def edit_tree(git: Git, tree: str, changes: Mapping[bytes, Item | None]) -> str:
    """Write the tree that some changes make of another.

    Args:
        git: git that may write objects.
        tree: the id of a tree.
        changes: by path, what is to be there; None where nothing is to be any more.

    Raises:
        ValueError: a directory's name holds a newline, which ends a question to git.
        GitError: git could not read or write a tree.
    """
    tables = _by_directory(changes)
    found = _read(git, tree, list(tables))
    _check_complete(tree, found)
    with _writer(git) as write:
        # A directory comes before those in which it lies.
        for directory in sorted(tables, key=lambda name: name.count(b"/"), reverse=True):
            if directory:
                _put_below(
                    tables, directory, _written(write, found[directory] or {}, tables[directory])
                )
        root = {**(found[b""] or {}), **tables[b""]}
        return write(_items(root)).decode("ascii")


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


def _written(write: Write, old: Table, new: Table) -> bytes | None:
    """The id of a directory's tree; None if nothing is left in it."""
    items = list(_items({**old, **new}))
    return write(items) if items else None


def _items(table: Table) -> Iterator[tuple[bytes, Item]]:
    return ((name, item) for name, item in table.items() if item is not None)


def _read(git: Git, tree: str, directories: list[bytes]) -> dict[bytes, Table | None]:
    """What some directories of a tree hold; None if they are not there."""
    if any(b"\n" in directory for directory in directories):
        raise ValueError("a name holds a newline")
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


@contextmanager
def _writer(git: Git) -> Iterator[Write]:
    """A function that writes a tree and gives its id, all of them by one process of git."""
    process = subprocess.Popen(
        git.command(*_COMMAND),
        cwd=git.cwd,
        env=git.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        given, answers = process.stdin, process.stdout
        assert given is not None
        assert answers is not None

        def write(items: Iterable[tuple[bytes, Item]]) -> bytes:
            identifier = _ask(given, answers, items)
            if not identifier:
                raise _failed(process)
            return identifier

        yield write
        given.close()


def _ask(given: IO[bytes], answers: IO[bytes], items: Iterable[tuple[bytes, Item]]) -> bytes:
    records = (
        b"%s %s %s\t%s\0" % (item.mode, _TYPES.get(item.mode, b"blob"), item.id, name)
        for name, item in items
    )
    try:
        given.write(b"".join(records) + b"\0")
        given.flush()
    except BrokenPipeError:
        return b""
    return answers.readline().rstrip(b"\n")


def _failed(process: subprocess.Popen[bytes]) -> GitError:
    said = process.stderr.read() if process.stderr else b""
    return GitError(_COMMAND, process.wait() or 128, said.decode("utf-8", "surrogateescape"))
