"""Edits of whole files: out of a history, or made ones on sources that every machine has."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tests.benchmarks.hunks import TEXT, git, lines_of, text_of
from tests.benchmarks.sources import library

_MAX_CHANGES = 6
_MAX_LINES = 20
_TRIES = 12


class Change(NamedTuple):
    """Lines of a file that become others.

    Attributes:
        start: the first line, from 0.
        stop: the line after the last one; `start` where lines are only added.
        new: what will stand there.
    """

    start: int
    stop: int
    new: tuple[str, ...]


class Edit(NamedTuple):
    """A file and its changes, in order."""

    path: str
    lines: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def before(self) -> str:
        """The file before."""
        return "".join(self.lines)

    @property
    def after(self) -> str:
        """The file after."""
        lines = list(self.lines)
        for start, stop, new in reversed(self.changes):
            lines[start:stop] = new
        return "".join(lines)

    def only(self, number: int) -> Edit:
        """The same file with one of the changes."""
        return self._replace(changes=self.changes[number : number + 1])

    def mapped(self, change: Callable[[str], str]) -> Edit:
        """The same edit of a file whose lines, and the new ones, are all written otherwise."""
        changes = (old._replace(new=tuple(map(change, old.new))) for old in self.changes)
        return Edit(self.path, tuple(map(change, self.lines)), tuple(changes))

    def with_lines(self, changed: dict[int, str]) -> Edit:
        """The same changes in a file some of whose other lines are different."""
        lines = (changed.get(number, line) for number, line in enumerate(self.lines))
        return self._replace(lines=tuple(lines))

    def with_inserted(self, at: int, lines: Sequence[str]) -> Edit:
        """The same changes in a file that has more lines; `at` lies outside all changes."""
        shift = len(lines)
        changes = (
            change._replace(start=change.start + shift, stop=change.stop + shift)
            if change.start >= at
            else change
            for change in self.changes
        )
        return Edit(self.path, (*self.lines[:at], *lines, *self.lines[at:]), tuple(changes))


class Hunk(NamedTuple):
    """Changes that lie close together, with lines around them.

    Attributes:
        start: its first line in the file before, from 0.
        new_start: the one in the file after.
        body: its lines, each with its mark: a blank, `-` or `+`.
    """

    start: int
    new_start: int
    body: tuple[tuple[str, str], ...]

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that it expects."""
        return tuple(line for mark, line in self.body if mark != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The lines that shall stand there."""
        return tuple(line for mark, line in self.body if mark != "-")

    @property
    def stop(self) -> int:
        """The line after its last one in the file before."""
        return self.start + len(self.old)


def hunks_of(edit: Edit, context: int = 3) -> tuple[Hunk, ...]:
    """The hunks of an edit, with so many lines around each change."""
    hunks: list[Hunk] = []
    shift = 0
    for group in _groups(edit, context):
        start = max(group[0].start - context, 0)
        body, at = [], start
        for change in group:
            body += [(" ", line) for line in edit.lines[at : change.start]]
            body += [("-", line) for line in edit.lines[change.start : change.stop]]
            body += [("+", line) for line in change.new]
            at = change.stop
        body += [(" ", line) for line in edit.lines[at : at + context]]
        hunks.append(Hunk(start, start + shift, tuple(body)))
        shift += sum(len(change.new) - change.stop + change.start for change in group)
    return tuple(hunks)


def _groups(edit: Edit, context: int) -> list[list[Change]]:
    groups: list[list[Change]] = []
    for change in edit.changes:
        if groups and change.start - groups[-1][-1].stop <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def distinct(lines: Sequence[str], start: int, stop: int, margin: int) -> bool:
    """Whether lines stand out of their file: any other place lacks so many of them.

    What is compared are lines without their blanks, in any order; so no drift that touches fewer
    lines than the margin can make another place the better one.
    """
    bare = ["".join(line.split()) for line in lines]
    wanted = Counter(filter(None, bare[start:stop]))
    total = sum(wanted.values())
    if total <= margin or sum(map(len, wanted)) < 20 or _repeats(bare, start, stop):
        return False
    # A place that overlaps the true one shares lines with it without being another.
    apart = (_best_window(part, wanted, stop - start) for part in (bare[:start], bare[stop:]))
    return total - max(apart) >= margin


def _repeats(bare: Sequence[str], start: int, stop: int) -> bool:
    """Whether the very lines stand elsewhere too, even if the two places overlap."""
    block, size = bare[start:stop], stop - start
    return any(bare[at : at + size] == block for at in range(len(bare) - size + 1) if at != start)


def _best_window(bare: Sequence[str], wanted: Counter[str], size: int) -> int:
    """How many of the wanted lines at most stand in so many lines on end."""
    best = score = 0
    held: Counter[str] = Counter()
    for at, line in enumerate(bare):
        if line in wanted:
            score += held[line] < wanted[line]
            held[line] += 1
        if at >= size and bare[at - size] in wanted:
            held[bare[at - size]] -= 1
            score -= held[bare[at - size]] < wanted[bare[at - size]]
        best = max(best, score)
    return best


def drawn(count: int, rng: random.Random, git_dir: str | None) -> list[Edit]:
    """So many edits, of a history or made ones."""
    source = from_history(git_dir, rng) if git_dir else made(library(rng), rng)
    return list(islice(source, count))


def from_history(git_dir: str, rng: random.Random) -> Iterator[Edit]:
    """Edits out of a history: of one to six of the changes that a commit made to a file."""
    commits = git(git_dir, "rev-list", "--no-merges", "--max-count=4000", "HEAD").decode().split()
    rng.shuffle(commits)
    files = [_changed_files(git_dir, commit, rng) for commit in commits[:400]]
    while files:
        # In turns, so that no commit speaks for the whole history.
        files = [paths for paths in files if paths]
        for paths in files:
            yield from _of_file(git_dir, *paths.pop(), rng)


def _changed_files(git_dir: str, commit: str, rng: random.Random) -> list[tuple[str, str, str]]:
    listing = git(git_dir, "diff-tree", "-r", "-z", "--diff-filter=M", "--no-commit-id", commit)
    fields = listing.decode("utf-8", "replace").split("\0")
    files = [
        (path, *head.split(" ")[2:4])
        for head, path in zip(fields[::2], fields[1::2], strict=False)
        if path.endswith(TEXT)
    ]
    rng.shuffle(files)
    return [(path, old, new) for path, old, new in files]


def _of_file(git_dir: str, path: str, old: str, new: str, rng: random.Random) -> Iterator[Edit]:
    before, after = (text_of(git(git_dir, "cat-file", "blob", name)) for name in (old, new))
    if not before.endswith("\n") or not after.endswith("\n"):
        return
    diff = git(git_dir, "diff", "--no-ext-diff", "--no-color", "-U0", old, new)
    changes = list(_parsed(diff.decode("utf-8", "replace"), lines_of(after)))
    yield from _chosen(Edit(path, tuple(lines_of(before)), ()), changes, rng)


def _parsed(diff: str, after: list[str]) -> Iterator[Change]:
    for found in re.finditer(r"(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", diff):
        start, count, new_start, new_count = (
            1 if number is None else int(number) for number in found.groups()
        )
        first = start - 1 if count else start
        new = after[new_start - 1 : new_start - 1 + new_count] if new_count else []
        yield Change(first, first + count, tuple(new))


def _chosen(edit: Edit, changes: list[Change], rng: random.Random) -> Iterator[Edit]:
    """Some of the changes: those whose place stands out of the file."""
    fitting = [
        change
        for change in rng.sample(changes, min(_TRIES, len(changes)))
        if change.stop - change.start <= _MAX_LINES
        and edit.lines[change.start : change.stop] != change.new
        and len(change.new) <= _MAX_LINES
        and distinct(edit.lines, max(change.start - 3, 0), change.stop + 3, 3)
    ]
    wanted = rng.randint(1, _MAX_CHANGES)
    if fitting:
        yield edit._replace(changes=tuple(sorted(fitting[:wanted])))


def made(files: Iterable[tuple[str, str]], rng: random.Random) -> Iterator[Edit]:
    """Made-up edits of the named texts: lines changed, added, deleted, moved."""
    for name, text in files:
        lines = lines_of(text)
        if len(lines) > 10 * _TRIES and lines[-1].endswith("\n"):
            places = sorted(rng.sample(range(0, len(lines) - 8, 8), _TRIES))
            changes = [_made(lines, at + rng.randrange(4), rng) for at in places]
            yield from _chosen(Edit(f"lib/{name}", tuple(lines), ()), changes, rng)


def _made(lines: list[str], at: int, rng: random.Random) -> Change:
    size = rng.randint(1, 4)
    old = lines[at : at + size]
    indent = re.match(r"[ \t]*", old[0])
    blank = indent[0] if indent else ""
    fresh = [f"{blank}step_{at}_{number} = prepare(value, {at})\n" for number in range(size)]
    renamed = [re.sub(r"(\w+)(\W*)$", rf"\1_{at}\2", line.rstrip("\n")) + "\n" for line in old]
    return rng.choice(
        (
            Change(at, at + size, tuple(renamed)),
            Change(at, at + size, tuple(fresh[:1] + renamed)),
            Change(at, at, tuple(fresh)),
            Change(at, at + size, ()),
            Change(at, at + size, tuple(fresh)),
        )
    )
