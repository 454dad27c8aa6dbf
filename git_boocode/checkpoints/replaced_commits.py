"""What notes say of commits that others have replaced, in terms of the lines of the new ones.

That only counts for turns that are gone. Lines are the same in a file that does not differ from
that of a commit in the reflogs, and, where git says which commit was rewritten, if they surely are
lines of its file. Of all other lines, nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from git_boocode.checkpoints.blob_lines import BlobLines
from git_boocode.checkpoints.store.agent_trace import Range, Trace, common, united
from git_boocode.checkpoints.store.notes import Note, notes_tip, read_notes
from git_boocode.checkpoints.tree_lines import TreeFileChange, diff_trees, kept_runs
from git_boocode.repo.object_writer import REGULAR
from git_boocode.repo.repository import Repository

_AT_ONCE = 50  # commits that are compared with their parents
_MOST_REPLACED = 1000  # commits of the reflogs


class AddedLines(NamedTuple):
    """Lines that a commit adds to a file, with its blob."""

    blob: str
    lines: Sequence[Range]


def added_lines(repository: Repository, commits: Sequence[str]) -> dict[str, dict[str, AddedLines]]:
    """By commit and path, the lines that commits add against all their parents."""
    found = {}
    for start in range(0, len(commits), _AT_ONCE):
        some = [each for each in repository.store.commits(commits[start:][:_AT_ONCE]) if each]
        parents = [*{parent for commit in some for parent in commit.parents}]
        trees = {each.id: each.tree for each in repository.store.commits(parents) if each}
        pairs = {
            commit.id: [
                (tree, commit.tree)
                for tree in [trees[each] for each in commit.parents if each in trees]
                or [repository.empty_tree]
            ]
            for commit in some
        }
        changes = diff_trees(repository.git, [pair for each in pairs.values() for pair in each])
        for commit, each in pairs.items():
            found[commit] = _added_to_all([changes.get(pair, {}) for pair in each])
    return found


def _added_to_all(changes: Sequence[Mapping[str, TreeFileChange]]) -> dict[str, AddedLines]:
    first, *others = changes
    found = {}
    for path, change in first.items():
        lines = _added(change)
        for other in others:
            lines = common(lines, _added(other[path]) if path in other else [])
        if lines:
            found[path] = AddedLines(change.id, lines)
    return found


def _added(change: TreeFileChange) -> list[Range]:
    hunks = (change.hunks or ()) if change.mode in REGULAR else ()
    return [(hunk.new + 1, hunk.new + hunk.new_count) for hunk in hunks if hunk.new_count]


class ReplacedCommits:
    """The notes of commits that some commits have replaced; read if they are needed."""

    def __init__(
        self, repository: Repository, commits: Sequence[str], rewritten: Iterable[tuple[str, str]]
    ) -> None:
        self._repository = repository
        self._commits = commits
        self._rewritten = [*rewritten]

    @cached_property
    def notes(self) -> Mapping[str, Note]:
        """The notes of commits that were rewritten, or are only in the reflogs, newest first."""
        if notes_tip(self._repository) is None:
            return {}
        options = (f"-n{_MOST_REPLACED}", "--ignore-missing", "--reflog", "--stdin")
        given = "".join(f"^{commit}\n" for commit in self._commits).encode()
        listed = self._repository.git.attempt("rev-list", *options, stdin=given).stdout
        old = [*(old for old, _ in self._rewritten), *os.fsdecode(listed).split()]
        return read_notes(self._repository, old)

    def traces(
        self, commit: str, copied: Mapping[str, Trace], added: Mapping[str, AddedLines]
    ) -> Iterator[Trace]:
        """What is known of a commit from those that it replaced.

        `copied` are records of other commits, by commit, that git has added to its note.
        """
        rewritten = (old for old, new in self._rewritten if new == commit)
        for old in dict.fromkeys((*copied, *rewritten)):
            trace = copied.get(old) or self.notes.get(old, Note()).own(old)
            if trace:
                yield from self._of_rewritten(old, trace, commit, added)
        yield from self._of_equal_files(added)

    def _of_rewritten(
        self, old: str, trace: Trace, commit: str, added: Mapping[str, AddedLines]
    ) -> Iterator[Trace]:
        trees = [found.tree for found in self._repository.store.commits([old, commit]) if found]
        if len(trees) < 2:
            return
        pair = (trees[0], trees[1])
        changes = diff_trees(self._repository.git, [pair]).get(pair, {})
        changed = [changes[path] for path in added if path in changes]
        changed = [each for each in changed if each.hunks and each.source in trace.claims]
        blobs = BlobLines(self._repository.store)
        blobs.read(blob for each in changed for blob in (each.old_id, each.id))
        for path in added:
            change = changes.get(path)
            if claims := trace.claims.get(change.source if change else path):
                runs = _kept(change, blobs)
                moved = {turn: _moved(ranges, runs) for turn, ranges in claims.items()}
                yield trace._replace(claims={path: moved})

    @cached_property
    def _files(self) -> Mapping[str, Sequence[tuple[str, Trace]]]:
        """By path, the commits whose notes say something of it, with what that is."""
        found: dict[str, list[tuple[str, Trace]]] = {}
        for old, note in self.notes.items():
            if trace := note.own(old):
                for path in trace.claims:
                    found.setdefault(path, []).append((old, trace))
        return found

    def _of_equal_files(self, added: Mapping[str, AddedLines]) -> Iterator[Trace]:
        files = [(path, *each) for path in added for each in self._files.get(path, ())]
        names = [f"{old}:{path}" for path, old, _ in files]
        found = self._repository.store.lookup(names) if names else []
        for (path, _, trace), blob in zip(files, found, strict=True):
            if blob and blob.id == added[path].blob:
                yield trace._replace(claims={path: trace.claims[path]})


def _kept(change: TreeFileChange | None, blobs: BlobLines) -> Sequence[tuple[int, int, int]] | None:
    """The lines that are surely those of the old file; None for all."""
    if change is None or change.hunks == ():
        return None
    if not change.hunks:
        return []
    return [*kept_runs(change.hunks, blobs.of(change.old_id), blobs.of(change.id))]


def _moved(ranges: Sequence[Range], runs: Sequence[tuple[int, int, int]] | None) -> Sequence[Range]:
    """Lines of an old file by their numbers in the new one."""
    if runs is None:
        return ranges
    return united(
        (first + new - old, last + new - old)
        for new, old, count in runs
        for first, last in common(ranges, [(old + 1, old + count)])
    )
