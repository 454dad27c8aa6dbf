"""Lines that git held before they appear in a worktree: somebody brought them in.

`git merge --squash`, `cherry-pick -n`, `revert -n`, `checkout <commit> -- <path>` and the like move
no HEAD and leave no trace but the lines themselves. So these are looked for in all versions of the
file that any commit has: of branches, tags, remotes, stashes and reflogs.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.checkpoints.blob_lines import BlobLines, has_word, shared_lines
from git_boocode.checkpoints.head_moves import HeadHistory
from git_boocode.checkpoints.tree_lines import MOST_PATHS
from git_boocode.repo.git import id_lines, nul_records
from git_boocode.repo.layout import HELD_COMMITS
from git_boocode.repo.object_writer import REGULAR
from git_boocode.repo.repository import Repository

_LOG = (
    *("log", "--no-show-signature", "--full-history", "-m", "-z"),
    *("--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=all", "--no-relative"),
    "--format=%x00%H %T %ct %at %ae %s",
    "-50000",  # commits
    *("--exclude=refs/boocode/*", "--exclude=refs/notes/*", "--all", "--reflog"),
    *("--ignore-missing", "FETCH_HEAD"),
)
# Fewer lines may be equal by chance, as when two agents try the same task.
_LEAST_LINES = 3
# Of versions of files that are read for one commit, the newest ones.
_MOST_BYTES = 32 << 20


class HeldVersion(NamedTuple):
    """A version of a file that a commit has; a copy of the commit has the same `origin`."""

    commit: str
    tree: str
    time: int
    origin: str
    blob: str


class HeldVersions:
    """The versions of files in the commits of a repository, listed once when they are asked for.

    Those of `recorded` states do not count. The commits `stashed` need no ref.
    """

    def __init__(
        self, repository: Repository, recorded: Collection[str], stashed: Collection[str]
    ) -> None:
        self.store = repository.store
        self._git = repository.git.bind("log.showRoot=true", GIT_LITERAL_PATHSPECS="1")
        self._recorded = recorded
        self._stashed = stashed
        self._listed: dict[str, list[HeldVersion]] = {}
        self._expected: Sequence[str] = ()
        self.used: set[str] = set()
        """The commits of which lines were brought in."""

    def expect(self, commits: Sequence[str]) -> None:
        """Prepare to be asked for the files that commits change, as all can be listed at once."""
        self._expected = commits

    def of(self, paths: Sequence[str]) -> dict[str, list[HeldVersion]]:
        """The versions of files that commits made, the newest first."""
        missing = {path for path in paths if path not in self._listed}
        if missing and self._expected:
            form = ("diff-tree", "--stdin", "-r", "-m", "--root", "-z", "--name-only")
            request = id_lines(self._expected)
            output = self._git.run(*form, "--no-commit-id", "--no-relative", stdin=request)
            missing |= {*nul_records(output)} - self._listed.keys()
            self._expected = ()
        if missing:
            self._list(missing)
        return {path: self._listed[path] for path in paths}

    def keep_used(self) -> None:
        """Keep the commits of which lines were brought in: their branches may be gone later.

        The reflog of one ref has them, from which git removes them in time. A commit that cannot
        be noted in it, as another process does the same, is noted when it is used again.
        """
        kept = self._git.attempt("log", "--walk-reflogs", "--format=%H", HELD_COMMITS, "--")
        for commit in sorted(self.used - {*kept.stdout.decode("ascii").split()}):
            message = ("-m", "lines of it were brought in")
            self._git.attempt("update-ref", "--create-reflog", *message, HELD_COMMITS, commit)

    def _list(self, paths: Collection[str]) -> None:
        self._listed |= {path: [] for path in paths}
        named = sorted(paths) if len(paths) <= MOST_PATHS else ()
        output = self._git.run(*_LOG, *self._stashed, "--", *named)
        commit, tree, time, origin = "", "", 0, ""
        fields = iter(output.split(b"\0"))
        for field in fields:
            if not field.strip():
                continue
            if field.lstrip(b"\n").startswith(b":"):
                _, mode, _, blob, _ = field.decode("ascii").split(" ")
                path = os.fsdecode(next(fields))
                if path in paths and mode in REGULAR and commit not in self._recorded:
                    self._listed[path].append(HeldVersion(commit, tree, time, origin, blob))
            else:
                commit, tree, when, origin = field.decode("utf-8", "replace").split(" ", 3)
                time = int(when)


class _Held(NamedTuple):
    """The versions of a file, the newest first, and by line the numbers of those that have it."""

    versions: list[HeldVersion]
    places: Mapping[bytes, Sequence[int]]


class HeldLines:
    """The lines of some files that git holds.

    Of many versions, the oldest are not read, so that what only these had is taken for new.
    """

    def __init__(self, versions: HeldVersions, blobs: BlobLines, paths: Sequence[str]) -> None:
        self.paths = paths
        self._versions = versions
        self._blobs = blobs

    def brought_in(
        self, heads: HeadHistory, number: int, path: str, blob: str, lines: Sequence[int]
    ) -> Iterator[tuple[int, bool]]:
        """Those lines of a blob that git held before they appeared in the file after a state.

        Each with whether that is sure: whether so many were held that it is no chance.
        """
        held = self._held.get(path) if lines else None
        if held is None:
            return
        texts = self._blobs.of(blob)
        words = {texts[line] for line in lines if has_word(texts[line])}
        known = self._known_before(held, heads, number, words)
        left = {*lines}
        for at, anchors in sorted(known.items()):
            if not left:
                break
            shared = shared_lines(texts, self._blobs.of(held.versions[at].blob), left, anchors)
            for run in _runs(shared):
                count = sum(has_word(texts[line]) for line in run)
                is_sure = count >= _LEAST_LINES or len(run) == len(texts)
                yield from ((line, is_sure) for line in run)
            if shared:
                self._versions.used.add(held.versions[at].commit)
            left.difference_update(shared)

    def _known_before(
        self, held: _Held, heads: HeadHistory, number: int, lines: Collection[bytes]
    ) -> dict[int, set[bytes]]:
        """By the number of a version, lines that it had before they appeared after a state."""
        known: dict[int, set[bytes]] = defaultdict(set)
        # Lines that the same versions have share the answer.
        groups: dict[tuple[int, ...], list[bytes]] = defaultdict(list)
        for text in lines:
            groups[tuple(held.places.get(text, ()))].append(text)
        for places, texts in groups.items():
            versions = [held.versions[at] for at in places]
            mine = [each for each in versions if heads.is_origin(each.commit, each.tree, number)]
            times = ((each.time, heads.written(each.commit)) for each in mine)
            first, copied = min(times, default=None), {each.origin for each in mine}
            for at, version in zip(places, versions, strict=True):
                if heads.is_former(version.commit, number) or (
                    not heads.is_own(version.commit, version.tree, number)
                    and self._is_in_time(version, heads, number)
                    and (first is None or self._is_before(version, first, copied, heads))
                ):
                    known[at].update(texts)
        return known

    @staticmethod
    def _is_in_time(version: HeldVersion, heads: HeadHistory, number: int) -> bool:
        """Whether a version was committed before the state after a state."""
        until = heads.time_after(number)
        # Within a second only this repository knows, and only of its own commits.
        written = heads.written(version.commit) if heads.is_here else 0.0
        return version.time <= until and (version.time <= until - 1 or written <= until)

    @staticmethod
    def _is_before(
        version: HeldVersion,
        first: tuple[int, float],
        copied: Collection[str],
        heads: HeadHistory,
    ) -> bool:
        """Whether a version was committed before the first one of the worktree.

        If that is unknown, it was, unless its commit is a copy of one of these.
        """
        time, other = first
        if version.time != time:
            return version.time < time
        written = heads.written(version.commit) if heads.is_here else 0.0
        if written and other and written != other:
            return written < other
        return version.origin not in copied

    @cached_property
    def _held(self) -> dict[str, _Held]:
        """The versions of each file that are read, the newest first."""
        listed = self._versions.of(self.paths)
        ids = [*dict.fromkeys(each.blob for found in listed.values() for each in found)]
        read, size = set(), 0
        for identifier, info in zip(ids, self._versions.store.lookup(ids), strict=True):
            size += info.size if info else 0
            if info and size <= _MOST_BYTES:
                read.add(identifier)
        self._blobs.read(read)
        known = {path: [e for e in found if e.blob in read] for path, found in listed.items()}
        return {path: _Held(found, self._places(found)) for path, found in known.items()}

    def _places(self, versions: Sequence[HeldVersion]) -> dict[bytes, list[int]]:
        places: dict[bytes, list[int]] = defaultdict(list)
        for at, version in enumerate(versions):
            for text in {*self._blobs.of(version.blob)}:
                places[text].append(at)
        return places


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
