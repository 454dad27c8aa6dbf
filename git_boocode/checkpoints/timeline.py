"""The timeline: the newest turns of all worktrees, with the files and the diff of each.

Git compares all turns in one process, whose output is read as far as limits allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import NamedTuple

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, without_index
from git_boocode.checkpoints.turns import (
    CHECKPOINT,
    NOW,
    RECORDED,
    RESTORE,
    ChangeCounts,
    CurrentTree,
    Turn,
    count_changes,
    diff_header,
    diff_request,
    rename_option,
    turns,
)
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import time_of
from git_boocode.repo.metadata import Metadata, MetadataError
from git_boocode.repo.repository import Repository

# In bytes: git shows no lines of a larger file, and no more of its output is read.
_LARGEST_FILE = "512k"
_MOST_OUTPUT = 64 << 20
_HEADER = re.compile(rb"([0-9a-f]{40,64})(?:\0| ([0-9a-f]{40,64})\n)")
_LONGEST_HEADER = 2 * 64 + 2
_LINE_STARTS = (b" ", b"+", b"-", b"\\", b"@")  # of nearly all lines of a diff
_ACTIONS = {"A": "create", "D": "delete", "R": "rename", "C": "copy"}
_OPTIONS = ("-r", "-z", "-p", "--raw", "--numstat", "--no-ext-diff", "--no-textconv")


class DiffLimits(NamedTuple):
    """How many bytes of diffs are kept of a turn, and of all turns, the newest first."""

    of_turn: int = 200_000
    of_all: int = 20_000_000


class TurnFile(NamedTuple):
    """A file that a turn changed; `path` counts from the top of the worktree.

    `action` is `create`, `delete`, `modify`, `rename` or `copy`; the last two have a `source`.
    The numbers of lines are None for a binary file. `diff` are hunks; `cut` if lines are missing.
    """

    path: str
    action: str
    source: str
    old_mode: str
    mode: str
    added: int | None
    removed: int | None
    diff: str = ""
    cut: bool = False


class TurnDetails(NamedTuple):
    """A turn with its times in seconds since 1970.

    `ended` is None if its end was not recorded; `following` is the time of its end, also if that
    is a checkpoint or a restore.
    `counts` is None if its end is unknown or objects are missing, `files` also if git's output is
    too long.
    """

    turn: Turn
    started: float
    ended: float | None
    following: float | None
    counts: ChangeCounts | None
    files: Sequence[TurnFile] | None

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that began the turn."""
        return self.turn.checkpoint


FileCache = MutableMapping[str, Sequence[TurnFile]]
"""The files of turns whose end is a commit, by `_key`."""


def newest_everywhere(catalog: Catalog, now: CurrentTree, most: int) -> list[Turn]:
    """The newest turns of all worktrees."""
    return [*islice(turns(catalog, catalog.newest_first(everywhere=True), now), most)]


def with_details(
    repository: Repository,
    found: Sequence[Turn],
    limits: DiffLimits,
    cache: FileCache,
    following: Sequence[Turn] = (),
) -> list[TurnDetails]:
    """Turns with what changed in them; the caller provides for temporary objects.

    Turns that follow one of them, and are not among them, are `following`.
    """
    files = _files(repository, found, limits, cache)
    counts: dict[str, ChangeCounts | None] = {
        key: ChangeCounts(len(files[key]), *_sum_lines(files[key]))
        for key in files
        # It may also be text that is too large to show.
        if all(file.added is not None for file in files[key])
    }
    unknown = [turn for turn in found if turn.after and _key(turn) not in counts]
    for turn, counted in zip(unknown, count_changes(repository, unknown), strict=True):
        counts[_key(turn)] = counted
        if counted is not None and not counted.files:
            # Git prints nothing for a turn without changes.
            files[_key(turn)] = ()
    settled = (_key(turn) for turn in found if turn.end != NOW)
    cache.update({key: files[key] for key in settled if key in files})
    ends = dict(_end_times(Catalog(repository), found))
    begun = {
        turn.checkpoint.commit.id: time_of(turn.checkpoint.id) for turn in (*found, *following)
    }
    return [
        TurnDetails(
            turn,
            time_of(turn.checkpoint.id),
            ends.get(turn.after) if turn.end == RECORDED else None,
            ends.get(turn.after) or (begun.get(turn.after) if turn.end == CHECKPOINT else None),
            counts.get(_key(turn)) if turn.after else None,
            files.get(_key(turn)) if turn.after else None,
        )
        for turn in found
    ]


def _end_times(catalog: Catalog, found: Sequence[Turn]) -> Iterator[tuple[str, float]]:
    """When turns ended, by the commits that recorded it or came before a restore."""
    commits = [turn.after for turn in found if turn.end in (RECORDED, RESTORE)]
    for identifier, commit in zip(commits, catalog.store.commits(commits), strict=True):
        with suppress(MetadataError):
            own = Metadata.parse(commit.message).text("id") if commit else ""
            if when := time_of(own):
                yield identifier, when


def _key(turn: Turn) -> str:
    return f"{turn.checkpoint.ref} {turn.after}"


def _files(
    repository: Repository, found: Sequence[Turn], limits: DiffLimits, cache: FileCache
) -> dict[str, Sequence[TurnFile]]:
    """The files of each turn by `_key`, except of those for which objects are missing."""
    files = {key: cache[key] for turn in found if (key := _key(turn)) in cache}
    wanted = [turn for turn in found if turn.after and _key(turn) not in files]
    while wanted:
        try:
            _compare(repository, [turn for turn in wanted if not turn.paths], limits, files)
            for turn in [turn for turn in wanted if turn.paths]:
                _compare(repository, [turn], limits, files)
            break
        except GitError:
            # Git stops at a turn whose objects are missing; `count_changes` finds all of those.
            left = [turn for turn in wanted if _key(turn) not in files]
            counted = zip(left, count_changes(repository, left), strict=True)
            readable = [turn for turn, counts in counted if counts is not None]
            if len(readable) == len(wanted):
                raise
            wanted = readable
    return files


def _compare(
    repository: Repository,
    compared: Sequence[Turn],
    limits: DiffLimits,
    files: dict[str, Sequence[TurnFile]],
) -> None:
    """Add the files of turns by `_key`; after a GitError, some are missing.

    The turns are of the same paths.
    """
    if not compared:
        return
    request = "".join(f"{diff_request(turn)}\n" for turn in compared).encode()
    plain = without_index(repository.git).bind(
        f"core.bigFileThreshold={_LARGEST_FILE}", "diff.suppressBlankEmpty=false"
    )
    arguments = (
        "diff-tree",
        "--stdin",
        *_OPTIONS,
        rename_option(repository),
        "--ignore-submodules=none",
        "--",
        *compared[0].paths,
    )
    with closing(plain.pieces(*arguments, stdin=request)) as pieces:
        output, left = _Output(pieces), limits.of_all
        remaining = iter(compared)
        while (header := output.header()) and output.position < _MOST_OUTPUT:
            # Several turns may end at the same state; git answers in order.
            turn = next((turn for turn in remaining if diff_header(turn) == header), None)
            if turn is None:
                return
            changed = _diffs(output, _raw(output), min(limits.of_turn, left))
            left -= sum(len(file.diff) for file in changed)
            files[_key(turn)] = changed


class _Output:
    """What git prints, read up to delimiters."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self._next = 0
        self.position = 0  # how many bytes were read

    def _more(self) -> bool:
        piece = next(self._pieces, b"")
        self._buffer, self._next = self._buffer[self._next :] + piece, 0
        self.position += len(piece)
        return bool(piece)

    def until(self, delimiter: bytes) -> bytes:
        """The bytes before a delimiter, which is skipped; what is left if there is none."""
        searched = self._next
        while (end := self._buffer.find(delimiter, searched)) < 0:
            searched = len(self._buffer) - self._next
            if not self._more():
                end = len(self._buffer)
                break
        found, self._next = self._buffer[self._next : end], end + 1
        return found

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._next >= len(self._buffer) and not self._more()

    @property
    def at_header(self) -> bool:
        """Whether the differences of another turn begin here."""
        return self._match() is not None

    def header(self) -> str:
        """Read the beginning of a turn's differences, as `diff_header` spells it; empty if none."""
        found = self._match()
        if found is None:
            return ""
        self._next = found.end()
        return b" ".join(filter(None, found.groups())).decode("ascii")

    def _match(self) -> re.Match[bytes] | None:
        if self._buffer[self._next : self._next + 1] in _LINE_STARTS:
            return None
        while len(self._buffer) - self._next < _LONGEST_HEADER and self._more():
            pass
        return _HEADER.match(self._buffer, self._next)


def _raw(output: _Output) -> list[TurnFile]:
    """The files with their numbers of lines, which git lists before the diff."""
    rows: list[tuple[str, str, str, str, str]] = []
    if output.ended or output.at_header:
        # Of two trees without differences, git prints the header alone.
        return []
    field = output.until(b"\0")
    while field.startswith(b":"):
        old_mode, mode, _, _, letter = field[1:].decode("ascii").split(" ")
        path = output.until(b"\0")
        source = b""
        if letter[0] in "RC":
            source, path = path, output.until(b"\0")
        rows.append((_text(path), letter[0], _text(source), old_mode, mode))
        field = output.until(b"\0")
    files = []
    for name, letter, origin, old_mode, mode in rows:
        *counts, rest = field.split(b"\t", 2)
        for _ in range(0 if rest else 2):
            output.until(b"\0")
        added, removed = (None if each == b"-" else int(each) for each in counts)
        action = _ACTIONS.get(letter, letter if letter == "T" else "modify")
        files.append(TurnFile(name, action, origin, old_mode, mode, added, removed))
        field = output.until(b"\0")
    return files


def _diffs(output: _Output, files: Sequence[TurnFile], room: int) -> list[TurnFile]:
    """The files with their diffs, of which `room` bytes are kept."""
    # A file that becomes a symlink or the other way round has two diffs, a deletion and a creation.
    order = [number for number, file in enumerate(files) for _ in range(1 + (file.action == "T"))]
    kept: list[list[bytes]] = [[] for _ in files]
    cut: set[int] = set()
    sections, current, in_hunk = iter(order), -1, False
    while not output.ended and not output.at_header:
        line = output.until(b"\n")
        if line.startswith(b"diff --git "):
            current, in_hunk = next(sections, -1), False
            continue
        in_hunk = in_hunk or line.startswith(b"@@ ")
        if not in_hunk or current < 0:
            continue
        room -= len(line) + 1
        if room < 0:
            cut.add(current)
        else:
            kept[current].append(line)
    return [
        file._replace(
            action="modify" if file.action == "T" else file.action,
            diff=_text(b"\n".join(lines)),
            cut=number in cut,
        )
        for number, (file, lines) in enumerate(zip(files, kept, strict=True))
    ]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _sum_lines(files: Iterable[TurnFile]) -> tuple[int, int]:
    rows = [(file.added or 0, file.removed or 0) for file in files]
    return sum(added for added, _ in rows), sum(removed for _, removed in rows)
