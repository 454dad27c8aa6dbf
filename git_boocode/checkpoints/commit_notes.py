"""Which turns wrote the lines of commits, as noted at `refs/notes/boocode`.

The turns that are recorded here are the truth, see `attribution`. Of turns that are gone, or were
fetched, or never here, what notes say of them is kept: the note of the commit itself, and then
those of commits that it replaces, see `replaced_commits`. No line counts that the commit does not
add.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from git_boocode.checkpoints.attribution import Attribution, Attributor
from git_boocode.checkpoints.replaced_commits import AddedLines, ReplacedCommits, added_lines
from git_boocode.checkpoints.store.agent_trace import (
    LARGEST_NOTE,
    TOO_LARGE,
    CommitNote,
    NotedTurn,
    Range,
    Trace,
    common,
    note_bytes,
    record_time,
    united,
    without,
)
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.notes import Note, NotesError, read_notes, write_notes
from git_boocode.repo.errors import RefusedError, shortened
from git_boocode.repo.git import id_lines
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS
from git_boocode.repo.repository import Repository

_TEXTS = ("agent", "session", "label", "created_at")
_ATTEMPTS = 5


class NotedCommit(NamedTuple):
    """A commit with the ranges that turns wrote, and its note.

    `trace` is None for no note. `written` is whether the note is new, changed or removed, also if a
    dry run left it as it was. `problem` is why the earlier note was not read, or the new one not
    written.
    """

    commit: str
    files: CommitNote
    trace: dict[str, Any] | None
    written: bool
    problem: str = ""

    def as_json(self) -> dict[str, object]:
        """The commit in the JSON answer of `attribute`."""
        files = [
            {"path": path, "ranges": [each.as_json() for each in ranges]}
            for path, ranges in self.files.items()
        ]
        return {
            "commit": self.commit,
            "written": self.written,
            "files": files,
            "trace": self.trace,
            **({"problem": self.problem} if self.problem else {}),
        }


def commits_of(repository: Repository, names: Sequence[str]) -> list[str]:
    """The commits of names and ranges such as `main..topic`, oldest first in a range.

    RefusedError (`not_found`) if there is none.
    """
    single = [name for name in names if ".." not in name]
    commits = dict(
        zip(single, repository.store.lookup([f"{n}^{{commit}}" for n in single]), strict=True)
    )
    found: dict[str, None] = {}
    for name in names:
        if name in commits:
            commit = commits[name]
            ids = [commit.id] if commit else None
        else:
            done = repository.git.attempt("rev-list", "--reverse", "--end-of-options", name, "--")
            ids = None if done.status else done.stdout.decode("ascii").split()
        if ids is None:
            raise RefusedError(f"'{shortened(name)}' is not a commit or range", code="not_found")
        found |= dict.fromkeys(ids)
    return [*found]


def attribute(
    repository: Repository,
    names: Sequence[str],
    *,
    rewritten: Iterable[tuple[str, str]] = (),
    dry_run: bool = False,
) -> list[NotedCommit]:
    """Attribute commits, and write the notes of those that turns wrote lines of.

    `rewritten` are commits that an amend or a rebase replaced, with the new ones. RefusedError if a
    name is not that of commits (`not_found`), or if others write notes for long (`locked`,
    `conflict`); NotesError if the notes are damaged, but not in a dry run.
    """
    commits = commits_of(repository, names)
    attribution = _TurnsAndNotes(repository, commits)
    for _ in range(_ATTEMPTS):
        try:
            notes, problem = read_notes(repository, commits), ""
        except NotesError as error:
            if not dry_run:
                raise
            notes, problem = {}, error.message
        replaced = None if problem else ReplacedCommits(repository, commits, rewritten)
        found = attribution.noted(notes, replaced)
        if problem:
            found = [each._replace(problem=problem) for each in found]
        changes = {
            each.commit: note_bytes(each.trace) if each.trace else None
            for each in found
            if each.written
        }
        if not dry_run:
            attribution.keep_evidence()
        if dry_run or not changes or not write_notes(repository, changes, notes):
            return found
    raise RefusedError(
        "other processes change the notes of the same commits",
        code="conflict",
        hints=("try again when they have finished",),
    )


def turns_of_commits(
    repository: Repository, commits: str
) -> tuple[dict[str, NotedTurn], list[str]]:
    """By id, the turns that wrote lines of a commit or a range; and which notes were not read."""
    found = attribute(repository, [commits], dry_run=True)
    every = (each.turn for noted in found for ranges in noted.files.values() for each in ranges)
    return {turn.id: turn for turn in every}, problems_of(found)


def problems_of(found: Iterable[NotedCommit]) -> list[str]:
    """Which notes of commits were not read, and why."""
    return [*dict.fromkeys(each.problem for each in found if each.problem)]


class _TurnsAndNotes:
    """What the turns that are here say of commits, to which notes add what they know."""

    def __init__(self, repository: Repository, commits: Sequence[str]) -> None:
        self._repository = repository
        self._commits = commits
        self._attributor = Attributor(repository)
        # What these add is not known.
        self._cut = _shallow_commits(repository)
        # Of fetched turns, more may have been known where a note was made.
        recorded = repository.store.refs(CHECKPOINTS, ARCHIVE)
        self._recorded = {each.id for each in recorded if self._attributor.is_turn(each.id)}
        self._made: dict[str, Trace] = {}
        if self._attributor.has_turns:
            self._attributor.expect(commits)
            for commit in commits:
                if commit not in self._cut:
                    self._made[commit] = _trace_of(self._attributor.attribute(commit))

    def keep_evidence(self) -> None:
        """Keep the commits that showed which lines no turn wrote."""
        self._attributor.keep_evidence()

    def noted(
        self, notes: Mapping[str, Note], replaced: ReplacedCommits | None
    ) -> list[NotedCommit]:
        """The commits with their ranges."""
        traces = self._with_notes(notes, replaced)
        times = _times(self._repository, [each for each in traces if traces[each].claims])
        found = []
        for commit, trace in traces.items():
            note, dated = notes.get(commit, Note()), trace._replace(timestamp=times.get(commit, ""))
            # What only other programs have noted is left as it is.
            is_ours = any(each.claims for each in (trace, *note.traces))
            json = dated.as_json(commit) if is_ours and (trace.claims or trace.others) else None
            content = note_bytes(json) if json else b""
            is_new = is_ours and content != note.content
            problem, is_written = note.problem, is_new and commit not in self._cut
            if len(content) > LARGEST_NOTE:
                problem, is_written = f"the note of commit {commit} would be {TOO_LARGE}", False
            found.append(NotedCommit(commit, trace.files, json, is_written, problem))
        return found

    def _with_notes(
        self, notes: Mapping[str, Note], replaced: ReplacedCommits | None
    ) -> dict[str, Trace]:
        """The records of the commits, with what notes say of turns that are not recorded here."""
        found = dict[str, Trace]()
        for commit in self._commits:
            own = notes.get(commit, Note()).own(commit) or Trace()
            made = self._made.get(commit, Trace())
            if own.claims:
                # Where the turns were recorded, the reflog and more commits were known.
                made = _of_turns(made, self._recorded)
            found[commit] = made._replace(others=own.others, metadata=own.metadata)
        if replaced is None:
            return found
        noted = self._commits if replaced.notes else [each for each in notes if notes[each].traces]
        for commit, added in added_lines(self._repository, noted).items():
            note = notes.get(commit, Note())
            recorded = self._recorded if commit in self._made else set()
            others = replaced.traces(commit, note.copied(commit), added)
            for trace in chain([note.own(commit) or Trace()], others):
                left = _left(trace, found[commit], added, recorded)
                found[commit] = found[commit].merged(left)
                if _is_complete(found[commit], added):
                    break
        return found


def _of_turns(trace: Trace, turns: Collection[str]) -> Trace:
    """The record with the claims of some turns only."""
    claims = {
        path: {turn: ranges for turn, ranges in each.items() if turn in turns}
        for path, each in trace.claims.items()
    }
    return trace._replace(claims={path: each for path, each in claims.items() if each})


def _is_complete(trace: Trace, added: Mapping[str, AddedLines]) -> bool:
    """Whether turns wrote all lines that a commit adds."""
    return not any(without(each.lines, _claimed(trace, path)) for path, each in added.items())


def _left(
    trace: Trace, better: Trace, added: Mapping[str, AddedLines], recorded: Container[str]
) -> Trace:
    """The lines of turns that are not recorded here, without those of a better record."""
    claims = dict[str, dict[str, Sequence[Range]]]()
    for path in trace.claims.keys() & added.keys():
        lines = without(added[path].lines, _claimed(better, path))
        for turn, ranges in trace.claims[path].items():
            if turn not in recorded and (left := common(ranges, lines)):
                claims.setdefault(path, {})[turn] = left
    return Trace(claims=claims, turns=trace.turns)


def _claimed(trace: Trace, path: str) -> list[Range]:
    return united(each for ranges in trace.claims.get(path, {}).values() for each in ranges)


def _trace_of(attribution: Attribution) -> Trace:
    claims = dict[str, dict[str, list[Range]]]()
    for path, ranges in attribution.files.items():
        for each in ranges:
            claims.setdefault(path, {}).setdefault(each.turn.id, []).append((each.first, each.last))
    return Trace(claims=claims, turns={turn.id: _noted(turn) for turn in attribution.turns})


def _noted(turn: Checkpoint) -> NotedTurn:
    texts = {key: turn.meta.shown(key) for key in _TEXTS}
    prompt = turn.meta.shown("prompt").strip() or texts.pop("label")
    return NotedTurn.of(turn.id, {**texts, "prompt": prompt})


def _times(repository: Repository, commits: Sequence[str]) -> dict[str, str]:
    """When commits were made."""
    if not commits:
        return {}
    form = ("log", "--no-walk=unsorted", "--no-show-signature", "--format=%H %ct", "--stdin")
    output = repository.git.line(*form, stdin=id_lines(commits))
    rows = (line.split(" ") for line in output.split("\n"))
    return {commit: record_time(int(seconds)) for commit, seconds in rows}


def _shallow_commits(repository: Repository) -> set[str]:
    """The commits whose parents a shallow clone lacks."""
    with suppress(FileNotFoundError), open(f"{repository.common_dir}/shallow") as file:
        return set(file.read().split())
    return set()
