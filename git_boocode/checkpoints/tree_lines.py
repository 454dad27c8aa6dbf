"""Which lines of which files differ between many pairs of trees, by one git process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from git_boocode.checkpoints.blob_lines import has_word
from git_boocode.checkpoints.store.catalog import without_index
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Git, nul_records

_COMMAND = (
    *("diff-tree", "--stdin", "-r", "-z", "--raw", "-p", "--no-abbrev", "-U0", "-M"),
    # A line that occurs once is kept, whatever else would make fewer differences.
    "--patience",
    # A file that becomes a symlink would have two patches.
    *("--diff-filter=AMDR", "--ignore-submodules=all", "--inter-hunk-context=0"),
    *("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
)
_PAIR = re.compile(rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n", re.MULTILINE)
_PART = re.compile(
    rb"^(?:(diff --git )|(Binary files )|@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@)", re.MULTILINE
)
_UNENDED = b"\n\\ No newline"
MOST_PATHS = 500  # on a command line


class LineHunk(NamedTuple):
    """Lines that replace others: 0-based first line and number of the old and the new ones."""

    old: int
    old_count: int
    new: int
    new_count: int


class TreeFileChange(NamedTuple):
    """How a file differs between two trees; `hunks` is None for a binary file.

    The ids are those of the blobs, zeros where there is none; `source` is its path in the old tree.
    """

    path: str
    source: str
    mode: str
    old_id: str
    id: str
    hunks: tuple[LineHunk, ...] | None = ()


TreePair = tuple[str, str]
"""An old and a new tree."""


def diff_trees(
    git: Git, pairs: Iterable[TreePair], paths: Sequence[str] = ()
) -> dict[TreePair, dict[str, TreeFileChange]]:
    """What differs between pairs of trees, by path; `paths` are literal, none for all.

    The last line of a file is the same with and without a newline.
    """
    wanted = [*dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])]
    found: dict[TreePair, dict[str, TreeFileChange]] = {pair: {} for pair in wanted}
    if not wanted:
        return found
    request = "".join(f"{old} {new}\n" for old, new in wanted).encode()
    quiet = without_index(git).bind(GIT_LITERAL_PATHSPECS="1")
    # A file may be renamed to any of the paths, so that they cannot be compared in parts.
    named = [] if len(paths) > MOST_PATHS else paths
    output = quiet.run(*_COMMAND, "--", *named, stdin=request)
    starts = [*_PAIR.finditer(output)]
    ends = [*(each.start() for each in starts[1:]), len(output)]
    for start, end in zip(starts, ends, strict=True):
        pair = (start[1].decode(), start[2].decode())
        found[pair] = {each.path: each for each in _changes(output[start.end() : end])}
    return found


class ChangedNames(NamedTuple):
    """The paths that only the new one of two trees has, and those that only the old one has."""

    added: set[str]
    removed: set[str]


def changed_names(git: Git, pairs: Iterable[TreePair]) -> dict[TreePair, ChangedNames]:
    """Which files appear and disappear between pairs of trees."""
    wanted = [*dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])]
    if not wanted:
        return {}
    request = "".join(f"{old} {new}\n" for old, new in wanted).encode()
    command = ("diff-tree", "--stdin", "-r", "-z", "--no-renames", "--name-status")
    output = without_index(git).run(*command, "--diff-filter=AD", stdin=request)
    found: dict[TreePair, ChangedNames] = {}
    names = ChangedNames(set(), set())
    records = iter(nul_records(output.rstrip(b"\0") + b"\0"))
    for record in records:
        # The first status of a pair follows its ids, and these those of pairs without any.
        ids, _, status = record.rpartition("\n")
        if ids:
            old, _, new = ids.rpartition("\n")[2].partition(" ")
            names = found.setdefault((old, new), ChangedNames(set(), set()))
        if status:
            (names.added if status == "A" else names.removed).add(next(records))
    return found


def _changes(output: bytes) -> Iterator[TreeFileChange]:
    raw, separator, patch = output.partition(b"\0\0")
    if not separator:
        return
    records = iter(nul_records(raw + b"\0"))
    changes = []
    for about in records:
        _, mode, old_id, identifier, letter = about.removeprefix(":").split(" ")
        source = next(records)
        path = next(records) if letter.startswith("R") else source
        changes.append(TreeFileChange(path, source, mode, old_id, identifier))
    hunks = _patches(patch)
    if len(hunks) != len(changes):
        raise FatalError("git's diff cannot be read", code="bug")
    for change, lines in zip(changes, hunks, strict=True):
        yield change._replace(hunks=None if lines is None else tuple(lines))


def _patches(patch: bytes) -> list[list[LineHunk] | None]:
    """The hunks of each file; None for a binary one."""
    hunks: list[list[LineHunk] | None] = []
    parts = [*_PART.finditer(patch)]
    ends = [*(part.start() for part in parts[1:]), len(patch)]
    for part, end in zip(parts, ends, strict=True):
        if part[1]:
            hunks.append([])
        elif part[2]:
            hunks[-1] = None
        elif (known := hunks[-1]) is not None:
            known += _hunks(part, patch[part.end() : end])
    return hunks


def _hunks(part: re.Match[bytes], body: bytes) -> Iterator[LineHunk]:
    """A hunk, which is divided if the old file's last line only got a newline, or lost it."""
    old, old_count, new, new_count = (1 if n is None else int(n) for n in part.groups()[2:])
    # Git names the line before, where there are none.
    whole = LineHunk(old - (old_count > 0), old_count, new - (new_count > 0), new_count)
    lines = body.split(b"\n")[1:] if _UNENDED in body else []
    removed = [line[1:] for line in lines if line.startswith(b"-")]
    added = [line[1:] for line in lines if line.startswith(b"+")]
    if not removed or not added:
        yield whole
    elif removed[-1] in added:
        at = added.index(removed[-1])
        yield LineHunk(whole.old, old_count - 1, whole.new, at)
        yield LineHunk(whole.old + old_count, 0, whole.new + at + 1, new_count - at - 1)
    elif added[-1] in removed:
        at = len(removed) - 1 - removed[::-1].index(added[-1])
        yield LineHunk(whole.old, at, whole.new, new_count - 1)
        yield LineHunk(whole.old + at + 1, old_count - at - 1, whole.new + new_count, 0)
    else:
        yield whole


def kept_lines(hunks: Sequence[LineHunk], count: int) -> Iterator[tuple[int, int]]:
    """The lines that hunks leave, of `count` new ones, each with its old number; from 0."""
    old = new = 0
    for hunk in (*hunks, LineHunk(0, 0, count, 0)):
        while new < hunk.new:
            yield new, old
            new, old = new + 1, old + 1
        old, new = old + hunk.old_count, new + hunk.new_count


def kept_runs(
    hunks: Sequence[LineHunk], old: Sequence[bytes], new: Sequence[bytes]
) -> Iterator[tuple[int, int, int]]:
    """The lines that hunks leave and that are surely the same: new number, old one, count.

    That are those beside one with a word that occurs once in both files.
    """
    counts, before = Counter(new), Counter(old)
    start, size, is_sure = (0, 0), 0, False
    for at in (*kept_lines(hunks, len(new)), (-1, -1)):
        if at != (start[0] + size, start[1] + size):
            if is_sure:
                yield *start, size
            start, size, is_sure = at, 0, False
        size += 1
        text = new[at[0]]
        is_sure = is_sure or (counts[text] == before[text] == 1 and has_word(text))


def ranges_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending numbers as ranges, both ends inclusive."""
    runs = groupby(enumerate(numbers), key=lambda each: each[1] - each[0])
    grouped = ([number for _, number in run] for _, run in runs)
    return [(run[0], run[-1]) for run in grouped]
