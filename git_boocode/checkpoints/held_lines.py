"""Lines that git held before they appear in a worktree: somebody brought them in.

`git merge --squash`, `cherry-pick -n`, `revert -n`, `checkout <commit> -- <path>` and the like move
no HEAD and leave no trace but the lines themselves. So these are looked for in all versions of the
file that any commit has: of branches, tags, remotes, stashes and reflogs.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.checkpoints.blob_lines import BlobLines, has_word, shared_lines
from git_boocode.checkpoints.head_moves import HeadHistory
from git_boocode.checkpoints.tree_lines import REGULAR
from git_boocode.repo.repository import Repository

_LOG = (
    *("log", "--no-show-signature", "--full-history", "-m", "-z"),
    *("--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=all", "--no-relative"),
    "--format=%x00%H %ct %at %ae %s",
    *("--exclude=refs/boocode/*", "--exclude=refs/notes/*", "--all", "--reflog"),
    *("--ignore-missing", "FETCH_HEAD"),
)
# Fewer lines may be equal by chance, as when two agents try the same task.
_LEAST_LINES = 3
# Of versions of files that are read for one commit, the newest ones.
_MOST_BYTES = 32 << 20


class _Holder(NamedTuple):
    """A version of a file that a commit has; a copy of the commit has the same `origin`."""

    commit: str
    time: int
    origin: str
    blob: str


class _Held(NamedTuple):
    """The versions of a file, the newest first, and by line the numbers of those that have it."""

    versions: list[_Holder]
    places: Mapping[bytes, Sequence[int]]


class HeldLines:
    """The versions of some files in the commits of a repository; they are listed when asked for.

    Those of `recorded` states do not count. The commits `stashed` need no ref. Of many versions,
    the oldest are not read, so that what only these had is taken for new.
    """

    def __init__(
        self,
        repository: Repository,
        blobs: BlobLines,
        paths: Sequence[str],
        recorded: Collection[str],
        stashed: Collection[str],
    ) -> None:
        self.paths = paths
        self._repository = repository
        self._blobs = blobs
        self._recorded = recorded
        self._stashed = stashed

    def brought_in(
        self, heads: HeadHistory, number: int, path: str, blob: str, lines: Sequence[int]
    ) -> Iterator[tuple[int, bool]]:
        """Those lines of a blob that git held before they appeared in the file after a state.

        Each with whether that is sure: whether so many were held that it is no chance.
        """
        held = self._held.get(path) if lines else None
        if held is None:
            return
        own, former = heads.own(number), heads.former(number)
        texts = self._blobs.of(blob)
        known: dict[int, set[bytes]] = defaultdict(set)
        for text in {texts[line] for line in lines if has_word(texts[line])}:
            places = held.places.get(text, ())
            mine = [held.versions[at] for at in places if held.versions[at].commit in own]
            for at in places:
                version = held.versions[at]
                if version.commit in former or (
                    version.commit not in own and self._is_before(version, mine, heads, number)
                ):
                    known[at].add(text)
        left = {*lines}
        for at, anchors in sorted(known.items()):
            shared = shared_lines(texts, self._blobs.of(held.versions[at].blob), left, anchors)
            for run in _runs(shared):
                is_sure = sum(has_word(texts[line]) for line in run) >= _LEAST_LINES
                yield from ((line, is_sure) for line in run)
            left.difference_update(shared)

    def _is_before(
        self, version: _Holder, mine: Sequence[_Holder], heads: HeadHistory, number: int
    ) -> bool:
        """Whether a version was committed before the next state and before all of others.

        If that is unknown, it was, unless its commit is a copy of one of these.
        """
        until = heads.time_after(number)
        if version.time > until - 1:
            # Within a second only this repository knows, and only of its own commits.
            written = heads.written(version.commit) if heads.is_known else math.inf
            if version.time > until or written > until:
                return False
        if not mine:
            return True
        first = min(mine, key=lambda each: (each.time, heads.written(each.commit)))
        if version.time != first.time:
            return version.time < first.time
        if version.origin in {each.origin for each in mine}:
            return False
        written, other = heads.written(version.commit), heads.written(first.commit)
        return not heads.is_known or written <= other or not other

    @cached_property
    def _held(self) -> dict[str, _Held]:
        """The versions of each file that are read, the newest first."""
        listed = [*self._listed()]
        ids = [*dict.fromkeys(version.blob for _, version in listed)]
        sizes, size = {}, 0
        for identifier, info in zip(ids, self._repository.store.lookup(ids), strict=True):
            size += info.size if info else 0
            if info and size <= _MOST_BYTES:
                sizes[identifier] = info.size
        self._blobs.read(sizes)
        versions: dict[str, list[_Holder]] = defaultdict(list)
        for path, version in listed:
            if version.blob in sizes:
                versions[path].append(version)
        return {path: _Held(found, self._places(found)) for path, found in versions.items()}

    def _places(self, versions: Sequence[_Holder]) -> dict[bytes, list[int]]:
        places: dict[bytes, list[int]] = defaultdict(list)
        for at, version in enumerate(versions):
            for text in {*self._blobs.of(version.blob)}:
                places[text].append(at)
        return places

    def _listed(self) -> Iterator[tuple[str, _Holder]]:
        """The versions that commits made, each with the path."""
        git = self._repository.git.bind("log.showRoot=true", GIT_LITERAL_PATHSPECS="1")
        output = git.run(*_LOG, *self._stashed, "--", *self.paths)
        commit, time, origin = "", 0, ""
        fields = iter(output.split(b"\0"))
        for field in fields:
            if not field.strip():
                continue
            if field.lstrip(b"\n").startswith(b":"):
                _, mode, _, blob, _ = field.decode("ascii").split(" ")
                path = os.fsdecode(next(fields))
                if mode in REGULAR and commit not in self._recorded:
                    yield path, _Holder(commit, time, origin, blob)
            else:
                commit, when, origin = field.decode("utf-8", "replace").split(" ", 2)
                time = int(when)


def _runs(lines: Mapping[int, int]) -> Iterator[list[int]]:
    """Lines that follow each other in both files, by their numbers."""
    run: list[int] = []
    for number in sorted(lines):
        if run and (number, lines[number]) != (run[-1] + 1, lines[run[-1]] + 1):
            yield run
            run = []
        run.append(number)
    if run:
        yield run
