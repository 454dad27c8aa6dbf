"""Whether commits have all the objects of their trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from git_boocode.repo.git import Git, batch_bodies
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import parse_commit
from git_boocode.repo.trees import Item, read_trees

_TREE = b"40000"
_GITLINK = b"160000"
_WALK = ("rev-list", "--objects", "--no-walk=unsorted", "--stdin")


def missing_objects(repository: Repository, commits: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """An object that is missing, of each group of commits that is not whole.

    Git walks through all trees together, each object once, and not through history. Whether the
    bytes of an object are right is for `git fsck` to say. What a partial clone has left on its
    server is not missing.

    Args:
        repository: where they ought to be.
        commits: the commits of each group.

    Returns:
        The id of the object, by the name of the group.

    Raises:
        GitError: an object is damaged, so that git gave up.
    """
    git = repository.git
    wanted = sorted({identifier for group in commits.values() for identifier in group})
    known = _existing(git, wanted) if wanted else []
    lost = {identifier: identifier for identifier in set(wanted).difference(known)}
    if known and repository.config.has("remote.", ".promisor"):
        git.run(*_WALK, "--missing=allow-promisor", "--quiet", stdin=_lines(known))
    elif known:
        # Git cuts a name at a newline; so no line but that of a missing object begins so.
        walked = git.run(*_WALK, "--missing=print", stdin=_lines(known)).split(b"\n")
        gone = {os.fsdecode(line[1:]) for line in walked if line.startswith(b"?")}
        lost |= _Trees(git).lacking(known, gone) if gone else {}
    found = {}
    for name, group in commits.items():
        lacking = [lost[identifier] for identifier in group if identifier in lost]
        if lacking:
            found[name] = lacking[0]
    return found


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{identifier}\n" for identifier in ids).encode()


def _existing(git: Git, ids: Sequence[str]) -> list[str]:
    """The commits that are there."""
    done = git.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=_lines(ids))
    answers = (line.split(" ") for line in os.fsdecode(done).splitlines())
    return [identifier for identifier, kind in answers if kind == "commit"]


class _Trees:
    """Reads trees, each once, to tell below which of them an object is missing."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._below: dict[str, list[Item]] = {}

    def lacking(self, commits: Sequence[str], gone: set[str]) -> dict[str, str]:
        """A missing object of each commit that lacks one.

        Args:
            commits: the commits, which are there.
            gone: the ids of all objects that are missing.
        """
        roots = self._roots(commits)
        self._load(set(roots.values()) - gone, gone)
        known: dict[str, str | None] = {identifier: identifier for identifier in gone}
        for root in roots.values():
            self._settle(root, known)
        return {commit: lost for commit, root in roots.items() if (lost := known[root])}

    def _roots(self, commits: Sequence[str]) -> dict[str, str]:
        """The tree of each commit."""
        bodies = batch_bodies(
            self._git.run("cat-file", "--batch", stdin=_lines(commits)), b"commit"
        )
        read = (parse_commit(name, body or b"") for name, body in zip(commits, bodies, strict=True))
        return {commit.id: commit.tree for commit in read if commit is not None}

    def _load(self, trees: set[str], gone: set[str]) -> None:
        while trees:
            ids = sorted(trees)
            for name, table in zip(ids, read_trees(self._git, ids), strict=True):
                items = (table or {}).values()
                self._below[name] = [item for item in items if item and item.mode != _GITLINK]
            named = (item for name in ids for item in self._below[name] if item.mode == _TREE)
            trees = {item.id.decode("ascii") for item in named} - self._below.keys() - gone

    def _settle(self, root: str, known: dict[str, str | None]) -> None:
        """Find out what a tree lacks, after all that is below it; trees can be very deep."""
        open_ones = [root]
        while open_ones:
            tree = open_ones[-1]
            items = self._below.get(tree, ())
            trees = {item.id.decode("ascii") for item in items if item.mode == _TREE}
            if waiting := [name for name in trees if name not in known]:
                open_ones += waiting
                continue
            names = (item.id.decode("ascii") for item in items)
            known.setdefault(tree, next(filter(None, map(known.get, names)), None))
            open_ones.pop()
