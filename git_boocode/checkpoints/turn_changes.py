"""What changed in turns: the files of each, their numbers of lines and diffs, or only the counts.

One git compares many turns, and its output is read as far as limits allow.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Container, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import NamedTuple

from git_boocode.checkpoints.own_changes import own_turns
from git_boocode.checkpoints.store.catalog import (
    INCLUDED,
    Catalog,
    Checkpoint,
    texts_of,
    without_index,
)
from git_boocode.checkpoints.turns import CHECKPOINT, NOW, RECORDED, RESTORE, CurrentTree, Turn
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.ids import time_of
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.messages import OUT_OF_MEMORY, failure_reason, says
from git_boocode.repo.path_rule import INCLUDE, PathRule
from git_boocode.repo.repository import Repository

_MOST_OUTPUT = 64 << 20  # bytes of git's output that are read
# Of a git that searches with a regex: MiB of memory, and seconds of processor time.
_SEARCH_LIMITS = (1024, 60)
_HEADER = re.compile(rb"([0-9a-f]{40,64})(?:\0| ([0-9a-f]{40,64})\n)")
_LONGEST_HEADER = 2 * 64 + 2
_LINE_STARTS = (b" ", b"+", b"-", b"\\", b"@")  # of nearly all lines of a diff
_ACTIONS = {"A": "create", "D": "delete", "R": "rename", "C": "copy"}
_LISTING = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--numstat", "--always")


class ChangeCounts(NamedTuple):
    """The number of files that differ, and of their added and removed lines, binary files aside."""

    files: int
    added: int
    removed: int


class DiffLimits(NamedTuple):
    """How many bytes of diffs are kept of a turn, and of all turns, the newest first.

    Git shows no lines of a file of more bytes than `largest_file`.
    """

    of_turn: int = 200_000
    of_all: int = 20_000_000
    largest_file: int = 512 << 10


TOO_LONG, TOO_MANY, TOO_LARGE = "turn", "page", "size"
PRIVATE = "private"
"""Why a diff has not all lines: the limit of its turn, of all turns, or of its file."""


class TurnFile(NamedTuple):
    """A file that a turn changed; `path` counts from the top of the worktree.

    `action` is `create`, `delete`, `modify`, `rename` or `copy`; the last two have a `source`.
    The numbers of lines are None for a binary file, and for one that is too large. `diff` are
    hunks; `missing` is why lines of it are missing, empty if none are. The ids are those of blobs,
    only zeros on a side without the file. Without lines, `sizes` are those of both sides in bytes.
    """

    path: str
    action: str
    source: str
    old_mode: str
    mode: str
    added: int | None
    removed: int | None
    old_id: str = ""
    id: str = ""
    diff: str = ""
    missing: str = ""
    sizes: tuple[int | None, ...] = ()

    @property
    def cut(self) -> bool:
        """Whether lines of its diff are missing, though git showed them."""
        return self.missing in (TOO_LONG, TOO_MANY)


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
"""The files of turns whose end is a commit, by the turns' keys."""


def newest_everywhere(catalog: Catalog, now: CurrentTree, most: int) -> list[Turn]:
    """The newest turns of all worktrees."""
    return [*islice(own_turns(catalog, catalog.newest_first(everywhere=True), now), most)]


def with_details(
    repository: Repository, found: Sequence[Turn], limits: DiffLimits, cache: FileCache
) -> list[TurnDetails]:
    """Turns with what changed in them; the caller provides for temporary objects."""
    files = {turn.key: cache[turn.key] for turn in found if turn.key in cache}
    wanted = [turn for turn in found if turn.after and turn.key not in files]
    files |= _compared(repository, wanted, limits)
    cache.update(
        {turn.key: files[turn.key] for turn in found if turn.end != NOW and turn.key in files}
    )
    # A file without lines may also be text that is too large to show.
    counts: dict[str, ChangeCounts | None] = {
        key: counted(each)
        for key, each in files.items()
        if all(file.added is not None for file in each)
    }
    unknown = [turn for turn in found if turn.after and turn.key not in counts]
    others = count_changes(repository, unknown)
    counts |= {turn.key: each for turn, each in zip(unknown, others, strict=True)}
    begun = {turn.checkpoint.commit.id: time_of(turn.checkpoint.id) for turn in found}
    ends = dict(_end_times(Catalog(repository), found, begun))
    return [
        TurnDetails(
            turn,
            time_of(turn.checkpoint.id),
            ends.get(turn.after) if turn.end == RECORDED else None,
            ends.get(turn.after) or (begun.get(turn.after) if turn.end == CHECKPOINT else None),
            counts.get(turn.key),
            files.get(turn.key),
        )
        for turn in found
    ]


def turn_files(
    repository: Repository, turn: Turn, limits: DiffLimits, options: Sequence[str] = ()
) -> Sequence[TurnFile] | None:
    """The files of a turn, whose end is known; None if objects are missing, or it is too much.

    `options` are those of `git diff-tree`, such as `--ignore-all-space`. The caller provides for
    temporary objects.
    """
    return _compared(repository, [turn], limits, options).get(turn.key)


def _compared(
    repository: Repository, found: Sequence[Turn], limits: DiffLimits, options: Sequence[str] = ()
) -> dict[str, Sequence[TurnFile]]:
    """The files of turns with their diffs, by the turns' keys."""
    git = repository.git.bind(
        f"core.bigFileThreshold={limits.largest_file}", "diff.suppressBlankEmpty=false"
    )
    given = ("--no-textconv", rename_option(repository), *options)
    files = _Comparison(git, given, limits).files(found)
    if not limits.of_turn:
        return files
    files = _without_private(repository, found, files)
    binary = (file for each in files.values() for file in each if file.added is None)
    ids = sorted({each for file in binary for each in (file.old_id, file.id)})
    sizes = {each.id: each.size for each in repository.store.lookup(ids) if each} if ids else {}

    def with_sizes(file: TurnFile) -> TurnFile:
        if file.added is not None:
            return file
        if file.old_id == file.id:
            # Only its mode or its name changed.
            return file._replace(added=0, removed=0)
        both = (sizes.get(file.old_id), sizes.get(file.id))
        is_large = max(each or 0 for each in both) > limits.largest_file
        return file._replace(sizes=both, missing=TOO_LARGE if is_large else "")

    return {key: [*map(with_sizes, each)] for key, each in files.items()} if ids else files


def private_paths(repository: Repository, paths: Iterable[str]) -> frozenset[str]:
    """Those of some paths that `boocode.include` names."""
    rule = PathRule.read(repository, INCLUDE)
    if not rule.specs:
        return frozenset()
    with scratch_directory(repository.state_dir, read_only=True) as scratch:
        return rule.matching(repository, scratch, paths)


def _without_private(
    repository: Repository, turns: Iterable[Turn], files: Mapping[str, Sequence[TurnFile]]
) -> dict[str, Sequence[TurnFile]]:
    """The files of turns, without the lines of those that `boocode.include` names."""
    private = {path for turn in turns for path in texts_of(turn.checkpoint.meta, INCLUDED)}
    private |= private_paths(repository, (f.path for each in files.values() for f in each))
    return {
        key: [
            file._replace(diff="", missing=PRIVATE) if file.path in private else file
            for file in each
        ]
        for key, each in files.items()
    }


def count_changes(
    repository: Repository,
    compared: Sequence[Turn],
    options: Sequence[str] = (),
    pathspecs: Sequence[str] = (),
) -> list[ChangeCounts | None]:
    """How much changed in each turn; see `changed_files`."""
    found = changed_files(repository, compared, options, pathspecs)
    return [None if files is None else counted(files) for files in found]


def changed_files(
    repository: Repository,
    compared: Sequence[Turn],
    options: Sequence[str] = (),
    pathspecs: Sequence[str] = (),
) -> list[Sequence[TurnFile] | None]:
    """What changed in each turn; None if its end is unknown or objects are missing.

    `options` are those of `git diff-tree` that select changes, such as `-S<text>`; a turn without
    such a change has changed no files. Pathspecs are relative to the caller's directory. With
    either, turns of some paths are not counted: a turn around them has the same changes. Renamed
    files count as one if `diff.renames` says so, as in what `git diff` shows.

    RefusedError if a regex of `options` takes git too much time or memory.
    """
    git = repository.git.bind(cwd=repository.directory) if pathspecs else repository.git
    if any(option.startswith("-G") for option in options):
        git = git.limited(*_SEARCH_LIMITS)
    # As in `git log`, which also searches what a user's `textconv` makes of a file.
    textconv = "--textconv" if options else "--no-textconv"
    comparison = _Comparison(git, (textconv, rename_option(repository), *options))
    is_search = bool(options or pathspecs)
    wanted = (turn for turn in compared if turn.after and not (is_search and turn.paths))
    files = comparison.files(wanted, pathspecs)
    return [files.get(turn.key) for turn in compared]


def counted(files: Iterable[TurnFile]) -> ChangeCounts:
    """How many files and lines changed."""
    rows = [(file.added or 0, file.removed or 0) for file in files]
    return ChangeCounts(len(rows), sum(row[0] for row in rows), sum(row[1] for row in rows))


def regex_refused(status: int, stderr: str) -> RefusedError:
    """The error for a regex that git does not take, or cannot search with."""
    reason = f"invalid regex: git was killed by signal {-status}" if status < 0 else ""
    if status == -signal.SIGXCPU:
        reason = "the regex takes git too much time"
    elif says(stderr, OUT_OF_MEMORY):
        reason = "the regex takes git too much memory"
    if not reason:
        return RefusedError(failure_reason(stderr), code="invalid_input")
    hint = "use a simpler one, or search for a text: git boocode log -S <text>"
    return RefusedError(reason, code="invalid_input", hints=(hint,))


def rename_option(repository: Repository) -> str:
    """The option for what the user configured for `git diff`."""
    word = (repository.config.text("diff.renames") or "true").lower()
    if word in ("copies", "copy"):
        return "--find-copies"
    return "--no-renames" if word in ("false", "no", "off", "0") else "--find-renames"


def _end_times(
    catalog: Catalog, found: Sequence[Turn], begun: Container[str]
) -> Iterator[tuple[str, float]]:
    """When turns ended, by commit, apart from the ends that are in `begun`."""
    commits = [
        turn.after
        for turn in found
        if turn.end in (RECORDED, RESTORE) or (turn.end == CHECKPOINT and turn.after not in begun)
    ]
    for identifier, commit in zip(commits, catalog.store.commits(commits), strict=True):
        with suppress(MetadataError):
            own = Metadata.parse(commit.message).text("id") if commit else ""
            if when := time_of(own):
                yield identifier, when


class _Comparison(NamedTuple):
    """How git compares turns; without `limits`, it makes no diffs."""

    git: Git
    options: tuple[str, ...]
    limits: DiffLimits | None = None

    def files(
        self, compared: Iterable[Turn], pathspecs: Sequence[str] = ()
    ) -> dict[str, Sequence[TurnFile]]:
        """The files of each turn by its key, except of turns for which objects are missing."""
        turns = list(compared)
        found = self._readable([turn for turn in turns if not turn.paths], pathspecs)
        for turn in turns:
            if turn.paths:
                found |= self._readable([turn], turn.paths)
        return found

    def _readable(
        self, compared: Sequence[Turn], pathspecs: Sequence[str]
    ) -> dict[str, Sequence[TurnFile]]:
        found: dict[str, Sequence[TurnFile]] = {}
        try:
            for turn, files in self._read(compared, pathspecs):
                found[turn.key] = files
        except GitError as error:
            is_search = any(option.startswith("-G") for option in self.options)
            if is_search and (error.status < 0 or says(error.stderr, OUT_OF_MEMORY)):
                raise regex_refused(error.status, error.stderr) from None
            # Git stops at a turn whose trees are missing.
            left = [turn for turn in compared if turn.key not in found]
            middle = len(left) // 2
            for half in (left[:middle], left[middle:]) if middle else ():
                found |= self._readable(half, pathspecs)
        return found

    def _read(
        self, compared: Sequence[Turn], pathspecs: Sequence[str]
    ) -> Iterator[tuple[Turn, Sequence[TurnFile]]]:
        """The files of each turn; git leaves out those whose commits are missing."""
        if not compared:
            return
        request = "".join(f"{_request(turn)}\n" for turn in compared).encode()
        patch = ("-p",) if self.limits else ()
        fixed = (*_LISTING, *patch, "--no-ext-diff", "--ignore-submodules=none")
        pieces = without_index(self.git).pieces(
            *fixed, *self.options, "--", *pathspecs, stdin=request
        )
        left = self.limits.of_all if self.limits else 0
        with closing(pieces):
            output = _Output(pieces)
            remaining = iter(compared)
            while header := output.header():
                if self.limits and output.position >= _MOST_OUTPUT:
                    return
                # Several turns may end at the same state; git answers in order.
                turn = next((turn for turn in remaining if _header(turn) == header), None)
                if turn is None:
                    return
                files: Sequence[TurnFile] = _listed(output, has_diffs=bool(self.limits))
                if self.limits and files:
                    files = _diffs(output, files, self.limits.of_turn, left)
                    left -= sum(len(file.diff) for file in files)
                yield turn, files


def _request(turn: Turn) -> str:
    """The line that asks `git diff-tree --stdin` for the differences of a turn."""
    # Git takes a commit and then its parent, but of two trees the old one first.
    before, after = turn.states
    return _header(turn) if turn.end == NOW else f"{after} {before}"


def _header(turn: Turn) -> str:
    """What git prints above the differences of a turn."""
    before, after = turn.states
    return f"{before} {after}" if turn.end == NOW else after


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


def _listed(output: _Output, *, has_diffs: bool) -> list[TurnFile]:
    """The files of a turn, which git lists first with their modes, and then with their lines.

    What separates these from diffs is read, too.
    """
    files: list[TurnFile] = []
    if output.ended or output.at_header:
        return []
    field = output.until(b"\0")
    while field.startswith(b":"):
        old_mode, mode, old_id, identifier, letter = field[1:].decode("ascii").split(" ")
        path = output.until(b"\0")
        source = b""
        if letter[0] in "RC":
            source, path = path, output.until(b"\0")
        action = _ACTIONS.get(letter[0], letter if letter == "T" else "modify")
        about = (_text(path), action, _text(source), old_mode, mode)
        files.append(TurnFile(*about, 0, 0, old_id, identifier))
        field = output.until(b"\0")
    # Of files in which only whitespace changed, git counts no lines if it is to ignore that.
    row: bytes | None = field
    for number, file in enumerate(files):
        row = output.until(b"\0") if row is None else row
        *counts, rest = row.split(b"\t", 2)
        if not row or _text(rest) != ("" if file.source else file.path):
            continue
        for _ in range(0 if rest else 2):
            output.until(b"\0")
        added, removed = (None if each == b"-" else int(each) for each in counts)
        files[number] = file._replace(added=added, removed=removed)
        row = None
    if has_diffs and row is None:
        output.until(b"\0")
    return files


def _diffs(output: _Output, files: Sequence[TurnFile], of_turn: int, of_all: int) -> list[TurnFile]:
    """The files with their diffs, of which so many bytes are kept as both limits allow."""
    room, reason = min((of_turn, TOO_LONG), (of_all, TOO_MANY))
    order = [number for number, file in enumerate(files) for _ in range(_sections(file))]
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
            missing=reason if number in cut else "",
        )
        for number, (file, lines) in enumerate(zip(files, kept, strict=True))
    ]


def _sections(file: TurnFile) -> int:
    """How many diffs git prints of a file."""
    if file.action == "T":
        # It becomes a symlink or the other way round: a deletion and a creation.
        return 2
    counts, modes = (file.added, file.removed), (file.old_mode, file.mode)
    return int(file.action != "modify" or counts != (0, 0) or modes[0] != modes[1])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
