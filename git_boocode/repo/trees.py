"""Make a tree out of another one; only the trees on the way to what differs are read and written.

`git write-tree` asks after every tree of the repository, and writes the index once more; `git
mktree` makes and removes a directory for each tree that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from git_boocode.repo.git import Git, GitError, Talk, batch_bodies

TREE = b"40000"
"""The mode of a directory."""

GITLINK = "160000"
SYMLINK = "120000"
"""The mode of a submodule, or of a nested repository that was added."""

# So many questions and the answers' beginnings fit into a pipe, so that neither side waits.
_AT_ONCE = 64


class Item(NamedTuple):
    """What a name in a tree stands for: a mode in octal digits, and an object's id."""

    mode: bytes
    id: bytes


class ClashError(ValueError):
    """There is a file where a directory is to be, or the other way round."""


Table = dict[bytes, Item]
Changes = Mapping[bytes, Item | None]


def edit_tree(git: Git, tree: str, changes: Changes, store: Callable[[bytes, bytes], bytes]) -> str:
    """Write the tree that some changes make of another.

    Args:
        git: git that may read objects.
        tree: the id of a tree.
        changes: by path, what is to be there; None where no file is to be any more.
        store: stores an object of a kind and gives its id, as `Quarantine.store` does.

    Raises:
        ClashError: the changes leave a file where there is a directory, or the other way round.
        GitError: git could not read a tree.
    """
    files = _by_directory(changes)
    below = _subdirectories(files)
    root = tree.encode("ascii")
    found = _read(git, root, files)
    made: dict[bytes, Item | None] = {}
    # A directory comes before the one in which it lies.
    for directory in sorted(files, key=_depth, reverse=True):
        old = found.get(directory, {})
        new = _edit(old, files[directory], {_name(sub): made[sub] for sub in below[directory]})
        if new == old and (old or not directory):
            identifier = _id_of(directory, root, found)
        else:
            identifier = store(b"tree", format_tree(new)) if new or not directory else None
        made[directory] = Item(TREE, identifier) if identifier else None
    whole = made[b""]
    assert whole is not None
    return whole.id.decode("ascii")


def read_trees(git: Git, ids: Sequence[str]) -> list[Table | None]:
    """What some trees hold; None for what is missing or is no tree.

    Args:
        git: git for our own work.
        ids: the ids of the trees.

    Raises:
        GitError: one of them is damaged.
    """
    request = "".join(f"{identifier}\n" for identifier in ids).encode()
    bodies = batch_bodies(git.run("cat-file", "--batch", stdin=request), b"tree")
    sizes = (len(identifier) // 2 for identifier in ids)
    return [
        None if body is None else _parse(body, size)
        for body, size in zip(bodies, sizes, strict=True)
    ]


def _depth(directory: bytes) -> int:
    return directory.count(b"/") + 1 if directory else 0


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _by_directory(changes: Changes) -> dict[bytes, dict[bytes, Item | None]]:
    """The changes of each directory by name, also of those in which it lies."""
    files: dict[bytes, dict[bytes, Item | None]] = {b"": {}}
    for path, item in changes.items():
        directory, _, name = path.rpartition(b"/")
        missing = directory
        while missing not in files:
            files[missing] = {}
            missing = missing.rpartition(b"/")[0]
        files[directory][name] = item
    return files


def _subdirectories(directories: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    below: dict[bytes, list[bytes]] = {directory: [] for directory in directories}
    for directory in below:
        if directory:
            below[directory.rpartition(b"/")[0]].append(directory)
    return below


def _edit(
    old: Table, files: Mapping[bytes, Item | None], trees: Mapping[bytes, Item | None]
) -> Table:
    """What a directory holds after some changes.

    Args:
        old: what it held.
        files: its files that change, by name.
        trees: its directories in which something changes; None for those that are empty now.
    """
    new = dict(old)
    for name, item in files.items():
        was_tree = _is_tree(old.get(name))
        if item is not None and was_tree and name not in trees:
            raise ClashError("a file is to be where a directory is")
        if item is not None or not was_tree:
            _set(new, name, item)
    for name, tree in trees.items():
        is_free = name not in new or _is_tree(new[name])
        if tree is not None and not is_free:
            raise ClashError("a directory is to be where a file is")
        if is_free:
            _set(new, name, tree)
    return new


def _is_tree(item: Item | None) -> bool:
    return item is not None and item.mode == TREE


def _set(table: Table, name: bytes, item: Item | None) -> None:
    if item is None:
        table.pop(name, None)
    else:
        table[name] = item


def _read(git: Git, root: bytes, directories: Iterable[bytes]) -> dict[bytes, Table]:
    """What the directories hold that there are; each level needs the ids that the one above has."""
    found: dict[bytes, Table] = {}
    levels: dict[int, list[bytes]] = {}
    for directory in directories:
        levels.setdefault(_depth(directory), []).append(directory)
    with git.talk("cat-file", "--batch") as talk:
        for depth in sorted(levels):
            ids = {}
            for directory in levels[depth]:
                identifier = _id_of(directory, root, found)
                if identifier is not None:
                    ids[directory] = identifier
            found.update(zip(ids, _ask(talk, ids.values()), strict=True))
    return found


def _id_of(directory: bytes, root: bytes, found: Mapping[bytes, Table]) -> bytes | None:
    if not directory:
        return root
    parent, _, name = directory.rpartition(b"/")
    item = found.get(parent, {}).get(name)
    return item.id if item is not None and item.mode == TREE else None


def _ask(talk: Talk, ids: Iterable[bytes]) -> Iterator[Table]:
    remaining = iter(ids)
    while some := list(islice(remaining, _AT_ONCE)):
        talk.give(b"".join(b"%s\n" % identifier for identifier in some))
        for identifier in some:
            header = talk.line().split(b" ")
            if header[1:2] != [b"tree"]:
                raise GitError(("cat-file",), 128, f"fatal: tree {identifier.decode()} is missing")
            yield _parse(talk.take(int(header[2]) + 1)[:-1], len(identifier) // 2)


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


def format_tree(table: Table) -> bytes:
    """The bytes of a tree object; git sorts directories as if their names ended in a slash."""
    items = sorted(
        table.items(), key=lambda pair: pair[0] + b"/" if pair[1].mode == TREE else pair[0]
    )
    return b"".join(
        b"%s %s\0%s" % (item.mode, name, bytes.fromhex(item.id.decode("ascii")))
        for name, item in items
    )
