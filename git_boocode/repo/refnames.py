"""The greatest names of refs below a prefix, without reading all the others.

`git for-each-ref --count` reads and sorts every ref below a prefix, however few are wanted. The
files in which git keeps refs are sorted already, or listed fast. What is found here is a hint, for
git to be asked about: only git says what a ref names.

The format: gitrepository-layout(5), and refs/packed-backend.c of git's sources.
"""

from __future__ import annotations

import os
from heapq import nlargest
from itertools import islice
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# What stands in the first line of a file of packed refs that is in the order of their names.
_SORTED = b" sorted "


def greatest_names(common_dir: str, prefix: str, count: int) -> list[str] | None:
    """The greatest names of refs below a prefix, in descending order.

    Args:
        common_dir: the git directory that all worktrees share.
        prefix: of whole names; it ends in `/`.
        count: how many are wanted at the most.

    Returns:
        None if git does not keep its refs in files that could tell.
    """
    if os.path.lexists(os.path.join(common_dir, "reftable")):
        return None
    try:
        packed = _packed(os.path.join(common_dir, "packed-refs"), os.fsencode(prefix), count)
        loose = _loose(os.path.join(common_dir, prefix), os.fsencode(prefix))
        return [os.fsdecode(name) for name in nlargest(count, {*packed, *loose})]
    except (OSError, ValueError):
        return None


def _loose(directory: str, prefix: bytes) -> Iterator[bytes]:
    try:
        names = os.listdir(os.fsencode(directory))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if not name.endswith(b".lock"):
            yield prefix + name


def _packed(path: str, prefix: bytes, count: int) -> list[bytes]:
    """The greatest names below a prefix in a file of packed refs.

    Raises:
        ValueError: it is not sorted.
    """
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return []
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                if _SORTED not in content[: content.find(b"\n") + 1]:
                    raise ValueError("the packed refs are not sorted")
                return list(islice(_names_before(content, prefix), count))
    except FileNotFoundError:
        return []


def _names_before(content: mmap, prefix: bytes) -> Iterator[bytes]:
    """The names below a prefix, from the greatest on."""
    # What follows them all: `0` comes next after `/`.
    end = _position(content, prefix[:-1] + b"0")
    while end > 0:
        start = content.rfind(b"\n", 0, end - 1) + 1
        line = content[start : end - 1]
        end = start
        if line.startswith(b"^"):
            continue
        name = line.partition(b" ")[2]
        if not name.startswith(prefix):
            return
        yield name


def _position(content: mmap, wanted: bytes) -> int:
    """Where the first line begins whose name is not less than a wanted one."""
    low, high = content.find(b"\n") + 1, len(content)
    while low < high:
        start = content.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = _end(content, start)
        # A line that tells what a tag stands for belongs to the one before.
        while content[start : start + 1] == b"^" and start > low:
            start = content.rfind(b"\n", low, start - 1) + 1 or low
        name = content[start:end].partition(b"\n")[0].partition(b" ")[2]
        if name < wanted:
            low = end
            while content[low : low + 1] == b"^":
                low = _end(content, low)
        else:
            high = start
    return low


def _end(content: mmap, start: int) -> int:
    """Where the line after one begins."""
    found = content.find(b"\n", start)
    return len(content) if found < 0 else found + 1
