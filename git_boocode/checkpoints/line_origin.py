"""Blame: which turn wrote each line of a file, found by git's own engine over the checkpoints.

`git blame -S` reads ancestry from a file. There, the checkpoints of a worktree and the ends of
their turns are one line of history on top of the commit at which the first of them was taken, and
the worktree as it is now is the newest state. A line belongs to the state in which it first
appears. Where turns overlapped, the states around their tool calls are in it as well, and so are
those around restores, whose lines come from where they were taken.
"""

from __future__ import annotations

import os
import re
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from git_boocode.checkpoints.overlaps import Overlaps
from git_boocode.checkpoints.store.agent_trace import CommitNote, NotedTurn
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.store.notes import Note, NotesError, read_notes
from git_boocode.checkpoints.timeline import BEGIN
from git_boocode.checkpoints.turn_work import RecordedHistory
from git_boocode.checkpoints.turns import RecordedStates
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.repo.config import FALLBACK_IDENTITY
from git_boocode.repo.errors import NextStep, RefusedError
from git_boocode.repo.files import inside_worktree
from git_boocode.repo.git import GitError
from git_boocode.repo.head import read_head
from git_boocode.repo.layout import COMMIT_NOTES, SAFETY, TURN_ENDS
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.messages import failure_reason
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository

TURN, LATER, BEFORE, COMMIT, NOTE = "turn", "later", "before", "commit", "note"
_KEYS = ("agent", "label", "session", "message", "created_at")
_LINE = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")


class LineOrigin(NamedTuple):
    """Where a line comes from.

    `source` is `turn` if it was written in the turn that `checkpoint` began; `later` if it was
    written after that turn had ended; `before` if the first checkpoint of the worktree has it, and
    no commit; `commit` if it comes from `commit`, and `note` if that commit has a note of the turn
    that wrote it, which need not be here. Restoring `checkpoint` removes a line of the first two
    kinds. If no end of the turn was recorded, everything until the next checkpoint counts as the
    turn. If turns overlapped, `later` also is what no turn, or no single one, wrote; the checkpoint
    is the latest one before it. `problem` is why the note of `commit` was not read.
    """

    source: str
    checkpoint: Checkpoint | None = None
    commit: str = ""
    author: str = ""
    time: int = 0  # of the commit, in seconds since 1970
    noted: NotedTurn | None = None
    problem: str = ""


class BlamedLine(NamedTuple):
    """A line of a file: its 1-based number, its text without the line ending, its origin."""

    number: int
    text: str
    origin: LineOrigin


def blame(repository: Repository, path: str, lines: str = "") -> list[BlamedLine]:
    """The origin of each line of a file of the worktree, uncommitted changes included.

    `path` counts from `repository.prefix`; `lines` is a range as `git blame -L` reads it, empty for
    all. RefusedError if there is no such file (`missing_file`) or range (`invalid_input`), or if no
    checkpoint was taken yet (`not_found`).
    """
    path = inside_worktree(repository.worktree, os.path.join(repository.prefix, path))
    with line_history(repository) as history:
        return history.blame(path, lines)


def _that_begin_turns(taken: list[Checkpoint]) -> list[Checkpoint]:
    """The checkpoints without those that were taken during the turn of another one."""
    ids = {each.id for each in taken}
    return [each for each in taken if each.in_turn not in ids]


_States = dict[str, Callable[[str], LineOrigin]]
"""States, oldest first, with the origin of lines of a path that first appear there."""


class LineHistory:
    """The states of a worktree as one line of history, in which files are blamed."""

    def __init__(self, repository: Repository, ancestry: str, states: _States) -> None:
        self._repository = repository
        self._ancestry = ancestry
        self._states = states

    def blame(self, path: str, lines: str = "") -> list[BlamedLine]:
        """As the function; `path` counts from the top of the worktree."""
        git, now = self._repository.git, next(reversed(self._states))
        # A mode, a type, an id, and the path.
        if " blob " not in git.line("ls-tree", now, "--", f":(top,literal){path}")[:12]:
            raise RefusedError(
                f"'{path}' is not a file of the worktree, or is ignored", code="missing_file"
            )
        options = ["-S", self._ancestry, "--porcelain", *(["-L", lines] if lines else [])]
        try:
            output = git.run("blame", *options, now, "--", f"{self._repository.worktree}/{path}")
        except GitError as error:
            if lines:
                reason = failure_reason(error.stderr)
                # Git prints its usage if it cannot parse the range at all.
                detail = f": {reason}" if reason and not reason.startswith("usage:") else ""
                raise RefusedError(
                    f"invalid range '{lines}'{detail}",
                    code="invalid_input",
                    hints=("examples of a range: 10,20 or 10,+5 or :function",),
                ) from None
            raise
        return _with_notes(self._repository, [*_parsed(output, path, self._states)])

    def versions(self, path: str) -> list[tuple[str, LineOrigin]]:
        """The blobs of a file over time, each with the origin of what it has first.

        An id is empty where the file does not exist. `path` counts from the top of the worktree.
        """
        found = self._repository.store.lookup([f"{state}:{path}" for state in self._states])
        ids = (info.id if info and info.kind == "blob" else "" for info in found)
        origins = (origin(path) for origin in self._states.values())
        every = [*zip(ids, origins, strict=True)]
        return every[:1] + [new for old, new in pairwise(every) if old[0] != new[0]]


@contextmanager
def line_history(repository: Repository) -> Iterator[LineHistory]:
    """The line history of a worktree as it is now.

    RefusedError if there are neither checkpoints nor notes of commits.
    """
    catalog = Catalog(repository)
    taken = _that_begin_turns([*catalog.history()][::-1])
    if not taken and not catalog.store.refs(COMMIT_NOTES):
        text = "{} takes one; until then, use 'git blame'"
        hint = NextStep(text, "checkpoint", typed="'git boocode checkpoint'")
        raise RefusedError("this worktree has no checkpoints", code="not_found", hints=(hint,))
    with (
        temporary_objects(repository),
        scratch_directory(repository.state_dir, read_only=True) as scratch,
    ):
        tree = current_tree(repository)
        now = repository.store.write_commit(tree, [], "now", FALLBACK_IDENTITY, time.time())
        states, more = _states(catalog, taken, now)
        ancestry = os.path.join(scratch, "ancestry")
        base = taken[0].head if taken else read_head(repository).commit
        with open(ancestry, "w", encoding="ascii") as file:
            file.write(f"{next(iter(states))} {base or ''}\n")
            for old, new in pairwise(states):
                others = [each for each in more.get(new, ()) if each in states and each != old]
                file.write(f"{' '.join((new, old, *others))}\n")
        yield LineHistory(repository, ancestry, states)


def _states(
    catalog: Catalog, taken: list[Checkpoint], now: str
) -> tuple[_States, Mapping[str, Sequence[str]]]:
    """The states of the worktree with the origin of lines, and from where restores took others."""
    if not taken:
        return {now: partial(_same, LineOrigin(BEFORE))}, {}
    overlaps = Overlaps(catalog, RecordedStates(catalog))
    observed = (e for e in overlaps.observed(reversed(taken)) if isinstance(e, Checkpoint))
    if catalog.store.refs(SAFETY, newest=1) or any(map(overlaps.may_overlap, observed)):
        return _divided_states(catalog, taken[-1], now)
    ends = {ref.id: ref.target for ref in catalog.store.refs(TURN_ENDS)}
    states: _States = {}
    origin = LineOrigin(BEFORE)
    for checkpoint in taken:
        states[checkpoint.commit.id] = partial(_same, origin)
        origin = LineOrigin(TURN, checkpoint)
        if end := ends.get(checkpoint.id):
            states[end] = partial(_same, origin)
            origin = LineOrigin(LATER, checkpoint)
    return {**states, now: partial(_same, origin)}, {}


def _same(origin: LineOrigin, _: str) -> LineOrigin:
    return origin


def _divided_states(
    catalog: Catalog, newest: Checkpoint, now: str
) -> tuple[_States, Mapping[str, Sequence[str]]]:
    """All recorded states of the worktree; whose a line is depends on its path as well."""
    history = RecordedHistory.of(catalog, newest)
    timeline, latest = history.timeline, LineOrigin(BEFORE)
    states: _States = {}

    def origin_of(interval: int, otherwise: LineOrigin, path: str) -> LineOrigin:
        writer = timeline.writer(interval, path)
        return LineOrigin(TURN, history.begin(writer)) if writer else otherwise

    # What a restore brought back is as old as it was there.
    older: dict[str, Sequence[str]] = {}
    restored: Sequence[str] = ()
    for number, state in enumerate(timeline.states):
        commit = history.commit(number)
        states[commit], older[commit] = partial(origin_of, number - 1, latest), restored
        restored = history.restored_from(number)
        if state.kind == BEGIN:
            latest = LineOrigin(LATER, history.begin(state.turn))
    states[now] = partial(origin_of, len(timeline.states) - 1, latest)
    return states, {**older, now: restored}


class _FileLine(NamedTuple):
    """The file and the line of a commit that a line comes from."""

    path: str
    number: int


def _parsed(output: bytes, path: str, states: _States) -> Iterator[tuple[BlamedLine, _FileLine]]:
    commits: dict[str, dict[str, str]] = {}
    commit, number, old = "", 0, 0
    for line in output.split(b"\n"):
        if line.startswith(b"\t"):
            about = commits[commit]
            origin = LineOrigin(
                COMMIT, None, commit, about.get("author", ""), int(about.get("author-time", "0"))
            )
            if commit in states:
                origin = states[commit](path)
            text = line[1:].decode("utf-8", "surrogateescape")
            yield BlamedLine(number, text, origin), _FileLine(about.get("filename", path), old)
        elif found := _LINE.fullmatch(line):
            commit, old, number = found[1].decode("ascii"), int(found[2]), int(found[3])
            commits.setdefault(commit, {})
        elif line:
            key, _, value = line.decode("utf-8", "surrogateescape").partition(" ")
            commits[commit][key] = value


def _with_notes(
    repository: Repository, found: Sequence[tuple[BlamedLine, _FileLine]]
) -> list[BlamedLine]:
    """The lines; those of commits that have notes with what these say of them."""
    commits = {line.origin.commit for line, _ in found if line.origin.source == COMMIT}
    problem, notes, files = "", dict[str, Note](), dict[str, CommitNote]()
    try:
        notes = read_notes(repository, commits) if commits else {}
    except NotesError as error:
        problem = error.message
    for commit, note in notes.items():
        files[commit] = own.files if (own := note.own(commit)) else {}
    lines = []
    for line, (path, number) in found:
        origin = line.origin
        if origin.source == COMMIT:
            ranges = files.get(origin.commit, {}).get(path, ())
            at = bisect(ranges, number, key=attrgetter("first")) - 1
            if at >= 0 and number <= ranges[at].last:
                origin = origin._replace(source=NOTE, noted=ranges[at].turn)
            note = notes.get(origin.commit, Note())
            origin = origin._replace(problem=problem or note.problem)
        lines.append(line._replace(origin=origin))
    return lines


def blamed_ranges(found: Sequence[BlamedLine]) -> list[dict[str, object]]:
    """Runs of lines of the same origin, for the JSON answer."""
    ranges: list[dict[str, object]] = []
    for origin, group in groupby(found, key=lambda line: line.origin):
        lines = list(group)
        meta = origin.checkpoint.meta if origin.checkpoint else None
        texts = {key: (meta.shown(key) or None) if meta else None for key in _KEYS}
        if noted := origin.noted:
            known = {**noted._asdict(), "label": noted.prompt}
            texts |= {key: known.get(key) or None for key in _KEYS}
        ranges.append(
            {
                "start_line": lines[0].number,
                "end_line": lines[-1].number,
                "source": origin.source,
                "checkpoint_id": origin.checkpoint.id if origin.checkpoint else None,
                **texts,
                **({"turn": noted.id} if noted else {}),
                "commit": origin.commit or None,
                "author": origin.author or None,
                "lines": [line.text for line in lines],
            }
        )
    return ranges
