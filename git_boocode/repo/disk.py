"""The disk space that our objects, refs and private files take."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain

from git_boocode.repo.files import walk_directories
from git_boocode.repo.git import id_lines
from git_boocode.repo.layout import (
    ARCHIVE,
    CHECKPOINTS,
    EDITS,
    FETCHED,
    PROPOSALS,
    READS,
    SAFETY,
    TOOL_STATES,
    TURN_ENDS,
    private_dirs,
)
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref

KINDS = {
    "checkpoints": (CHECKPOINTS, TURN_ENDS, TOOL_STATES),
    "safety": (SAFETY,),
    "archive": (ARCHIVE,),
    "edits": (EDITS,),
    "reads": (READS,),
    "proposals": (PROPOSALS,),
    "remotes": FETCHED,
    "other": ("",),
}
"""The prefixes of the refs of each kind by which disk usage is shown."""
_TIMESTAMP = 20
"""Digits; a longer word at the beginning of a line is an object's id."""


def disk_usage(
    repository: Repository, refs: Collection[Ref], gone: Iterable[Ref] = ()
) -> dict[Ref, int] | None:
    """The compressed bytes of the objects that only the given refs reach, by ref.

    An object that several of them reach counts for the newest commit. The refs may already be
    deleted; those that are `gone` count for nothing. Objects that a reflog, an index or a detached
    HEAD reaches do not count; a file that has returned to its content in an older commit may count.
    None if objects are missing.
    """
    if not refs:
        return {}
    names = {ref.name for ref in chain(refs, gone)}
    kept = {ref.target for ref in repository.store.refs("refs/") if ref.name not in names}
    # Where commits are of the same second, that of the newest ref is the first.
    newest_first = sorted(refs, key=lambda ref: ref.id, reverse=True)
    tips = [ref.target for ref in newest_first] + [f"^{target}" for target in kept]
    done = repository.git.attempt(
        *("rev-list", "--objects-edge-aggressive", "--in-commit-order", "--timestamp", "--parents"),
        *("--missing=allow-any", "--ignore-missing", "--stdin"),
        # Only HEAD of each worktree: the refs are in the input.
        *("--not", "--exclude=refs/*", "--all", "--reflog", "--indexed-objects"),
        stdin=id_lines(tips),
    )
    if done.status:
        return None
    ids, owners = bytearray(), list[Ref]()
    for identifier, owner in _owned(done.stdout, {ref.target.encode(): ref for ref in refs}):
        ids += identifier + b"\n"
        owners.append(owner)
    listing = ("cat-file", "--buffer", "--batch-check=%(objectsize:disk)")
    git = repository.git.bind(GIT_NO_LAZY_FETCH="1")
    sizes = git.attempt(*listing, stdin=bytes(ids)).stdout.split(b"\n")[:-1]
    if len(sizes) < len(owners):
        return None
    usage = dict.fromkeys(refs, 0)
    for owner, size in zip(owners, sizes, strict=True):
        # A missing object has no size.
        if size.isdigit():
            usage[owner] += int(size)
    return usage


def by_kind(usage: Mapping[Ref, int]) -> dict[str, int]:
    """The bytes of each of `KINDS`, also of those that have none."""
    found = dict.fromkeys(KINDS, 0)
    for ref, size in usage.items():
        kind = next(kind for kind, below in KINDS.items() if ref.name.startswith(below))
        found[kind] += size
    return found


def _owned(listed: bytes, owner_of: dict[bytes, Ref]) -> Iterator[tuple[bytes, Ref]]:
    """Each object that `rev-list` lists, and the ref for which it counts."""
    owner, of_commit = next(iter(owner_of.values())), dict(owner_of)
    for line in listed.split(b"\n"):
        first, _, rest = line.partition(b" ")
        if len(first) > _TIMESTAMP and not first.startswith(b"-"):
            # A tree or a file. A ref may name it, too.
            yield first, owner_of.get(first, owner)
        elif first.isdigit():
            identifier, *parents = rest.split(b" ")
            owner = of_commit.get(identifier, owner)
            for parent in parents:
                of_commit.setdefault(parent, owner)
            yield identifier, owner


def private_bytes(repository: Repository) -> int:
    """The size of our private files in the git directories of all worktrees."""
    total = 0
    for state in repository.state_dirs():
        for top in private_dirs(os.path.dirname(state)):
            total += bytes_below(top)
    return total


def bytes_below(path: str) -> int:
    """The size of a file, or of all files in a directory; 0 if it is gone."""
    with suppress(OSError):
        if not os.path.isdir(path) or os.path.islink(path):
            return os.lstat(path).st_size
    total = 0
    for _, entries in walk_directories(path):
        for entry in entries:
            with suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def human_size(size: int) -> str:
    """A number of bytes as git shows it, such as `1.21 MiB`."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.2f} {unit}"
    return "1 byte" if size == 1 else f"{size} bytes"
