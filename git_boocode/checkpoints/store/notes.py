"""Read, write and merge the notes at `refs/notes/boocode`, which `git notes` reads as well.

A note that two sides changed has afterwards what either of them says. The fanout of git's notes
tree is that of its writer; each note is replaced where it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from git_boocode.checkpoints.store.agent_trace import (
    LARGEST_NOTE,
    TOO_LARGE,
    Trace,
    TraceError,
    note_bytes,
    parse_note,
)
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import nul_records
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.layout import COMMIT_NOTES, NOTES_LOCK
from git_boocode.repo.lock import break_locks_of, file_lock
from git_boocode.repo.messages import failure_reason
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange, retry_conflicts

_PATIENCE = 30.0  # seconds
_SHORT = 13  # characters of the name of a commit
_MOST_BYTES = 64 << 20  # of notes at once
_MISSING = "its object is not here"
_MESSAGE = "Notes of git boocode\n"
_HINT = f"to begin anew: git update-ref -d {COMMIT_NOTES}"
# Several other programs would have to write just between reading and writing.
_ATTEMPTS = 10

NoteChanges = Mapping[str, bytes | None]
"""By commit, the new note; None to remove it."""


class NotesError(FatalError):
    """Notes are not such as git writes, or damaged."""


class Note(NamedTuple):
    """The note of a commit: its records, or why it is not read."""

    blob: str = ""
    content: bytes = b""
    traces: Sequence[Trace] = ()
    problem: str = ""

    def own(self, commit: str) -> Trace | None:
        """What it says of the commit; git also copies notes of other ones, and joins them."""
        found: Trace | None = None
        for trace in self.traces:
            if trace.revision in ("", commit):
                found = found.merged(trace) if found else trace
        return found

    def copied(self, commit: str) -> dict[str, Trace]:
        """What it says of other commits, by commit."""
        others = (trace for trace in self.traces if trace.revision not in ("", commit))
        return {trace.revision: trace for trace in others}


class _NotesTree(NamedTuple):
    """The blobs of notes and their paths, by commit."""

    blobs: Mapping[str, str]
    paths: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, repository: Repository, tip: str | None) -> _NotesTree:
        """The notes of a commit (NotesError)."""
        blobs, paths = dict[str, str](), dict[str, list[str]]()
        if tip is None:
            return cls(blobs, paths)
        done = repository.git.attempt("ls-tree", "-r", "-z", "--full-tree", f"{tip}^{{commit}}")
        if done.status:
            is_commit = repository.store.lookup([f"{tip}^{{commit}}"]) != [None]
            reason = failure_reason(os.fsdecode(done.stderr)).split("\n")[0]
            reason = reason if is_commit else "they are not a commit"
            message = f"the notes at {COMMIT_NOTES} cannot be read: {reason}"
            raise NotesError(message, code="notes", hints=(_HINT,))
        length = len(repository.zero_id)
        for record in nul_records(done.stdout):
            about, _, path = record.partition("\t")
            _, kind, blob = about.split(" ")
            commit = path.replace("/", "")
            if kind == "blob" and len(commit) == length and OBJECT_ID.fullmatch(commit):
                blobs[commit] = blob
                paths.setdefault(commit, []).append(path)
        return cls(blobs, paths)


def notes_tip(repository: Repository) -> str | None:
    """Where the notes are, if there are any."""
    return next((ref.target for ref in repository.store.refs(COMMIT_NOTES)), None)


def read_notes(repository: Repository, commits: Iterable[str]) -> dict[str, Note]:
    """The notes of commits (NotesError)."""
    tip = notes_tip(repository)
    if tip is None:
        return {}
    blobs = _NotesTree.of(repository, tip).blobs
    wanted = {commit: blobs[commit] for commit in dict.fromkeys(commits) if commit in blobs}
    found = dict(zip(wanted, _notes(repository, [*wanted.values()]), strict=True))
    for commit, note in found.items():
        if note.problem:
            message = f"the note of commit {commit[:_SHORT]} was not read: {note.problem}"
            found[commit] = note._replace(problem=message)
    return found


def _notes(repository: Repository, blobs: Sequence[str]) -> list[Note]:
    """The notes in blobs, as far as they are not large."""
    found = repository.store.lookup(blobs)
    sizes = {blob: each.size for blob, each in zip(blobs, found, strict=True) if each}
    totals = accumulate(sizes.values())
    small = [blob for blob, total in zip(sizes, totals, strict=True) if total <= _MOST_BYTES]
    small = [blob for blob in small if sizes[blob] <= LARGEST_NOTE]
    contents = dict(zip(small, repository.store.blobs(small), strict=True))
    return [_note(blob, sizes.get(blob), contents.get(blob)) for blob in blobs]


def _note(blob: str, size: int | None, content: bytes | None) -> Note:
    try:
        if size is None:
            raise TraceError(_MISSING)
        if size > LARGEST_NOTE:
            raise TraceError(f"it is {TOO_LARGE}")
        if content is None:
            raise TraceError(f"no more than {_MOST_BYTES >> 20} MiB of notes are read at once")
        return Note(blob, content, parse_note(content))
    except TraceError as error:
        return Note(blob, problem=str(error))


def write_notes(
    repository: Repository, notes: NoteChanges, known: Mapping[str, Note]
) -> Sequence[str]:
    """Change the notes of commits, all at once, and return those that are not as `known`.

    These are left, because another process has changed them. RefusedError (`locked`) if others
    write for long, FatalError if the repository cannot be written.
    """
    changed: list[str] = []

    def change(tip: str | None) -> str | None:
        tree = _NotesTree.of(repository, tip)
        before = {commit: known.get(commit, Note()).blob for commit in notes}
        changed[:] = [each for each in notes if tree.blobs.get(each, "") != before[each]]
        left = {commit: each for commit, each in notes.items() if commit not in changed}
        return _commit(repository, [tip] if tip else [], tree, left) if left else tip

    _move(repository, change)
    return changed


def has_notes(repository: Repository, tip: str, *, of: str) -> bool:
    """Whether notes contain others that are here, as a later commit."""
    return not repository.git.attempt("merge-base", "--is-ancestor", of, tip).status


def add_notes(repository: Repository, tip: str) -> bool:
    """Merge other notes into those here, and return whether any were new; errors: `write_notes`."""
    return _move(repository, lambda here: merged_notes(repository, here, tip))


def merged_notes(repository: Repository, tip: str | None, other: str) -> str:
    """A commit with the notes of two commits; one of these if that has all (NotesError)."""
    more = _NotesTree.of(repository, other)
    if repository.store.lookup([other]) != repository.store.lookup([f"{other}^{{commit}}"]):
        raise NotesError("the notes to merge are a tag, not a commit", code="notes")
    if tip is None or has_notes(repository, other, of=tip):
        return other
    if has_notes(repository, tip, of=other):
        return tip
    common = repository.git.attempt("merge-base", tip, other).stdout.decode().strip()
    tree, base = _NotesTree.of(repository, tip), _NotesTree.of(repository, common or None)
    blobs = {
        commit: (tree.blobs.get(commit), more.blobs.get(commit), base.blobs.get(commit))
        for commit in {*more.blobs, *base.blobs}
    }
    # A note that one side has removed and the other one changed stays.
    changes: dict[str, bytes | str | None] = {
        commit: new
        for commit, (blob, new, old) in blobs.items()
        if new != blob and (blob == old or (blob is None and new != old))
    }
    both = {
        commit: (blob, new)
        for commit, (blob, new, old) in blobs.items()
        if blob and new and len({blob, new, old}) == 3
    }
    sides = [_notes(repository, side) for side in zip(*both.values(), strict=True)]
    for commit, *notes in zip(both, *sides, strict=True):
        changes[commit] = _united(commit, notes)
    return _commit(repository, [tip, other], tree, changes)


def _united(commit: str, notes: Sequence[Note]) -> bytes | str:
    """A note that has what two say, or the blob of the one to keep."""
    if any(note.problem == _MISSING for note in notes):
        message = f"the notes of commit {commit[:_SHORT]} cannot be merged: {_MISSING}"
        raise NotesError(message, code="missing_objects")
    traces = [trace for note in notes if (trace := note.own(commit))]
    if len(traces) > 1:
        united = note_bytes(traces[0].merged(traces[1]).as_json(commit))
        if len(united) <= LARGEST_NOTE:
            return united
    return max(notes, key=lambda note: (bool(note.own(commit)), note.blob)).blob


def _move(repository: Repository, change: Callable[[str | None], str | None]) -> bool:
    """Move the ref of the notes to what a function makes of its target, one process at a time.

    Returns whether that is another commit.
    """
    with file_lock(os.path.join(repository.common_state_dir, NOTES_LOCK), patience=_PATIENCE):

        def move() -> bool:
            tip = notes_tip(repository)
            if (new := change(tip)) == tip:
                return False
            # A killed git may have left it.
            break_locks_of(repository, (COMMIT_NOTES,))
            repository.store.update_refs([RefChange(COMMIT_NOTES, new, tip)])
            return True

        return retry_conflicts(move, ("conflict", "locked"), _ATTEMPTS)


def _commit(
    repository: Repository,
    parents: Sequence[str],
    tree: _NotesTree,
    changes: Mapping[str, bytes | str | None],
) -> str:
    """Store a commit with changed notes, which are texts or blobs, in the tree of its parent."""
    identity = repository.config.identity()
    by = f"{identity.name} <{identity.email}> {int(time.time())} +0000"
    head = f"commit {COMMIT_NOTES}\nmark :1\ncommitter {by}\ndata {len(_MESSAGE)}\n{_MESSAGE}"
    links = zip(("from", "merge"), parents, strict=False)
    parts = [os.fsencode(head + "".join(f"{word} {parent}\n" for word, parent in links))]
    for commit, note in changes.items():
        # Git reads notes at any level; it does not compare the levels of one commit.
        path = next(iter(tree.paths.get(commit, ())), f"{commit[:2]}/{commit[2:]}")
        stale = tree.paths.get(commit, ())[0 if note is None else 1 :]
        parts += [b"D %s\n" % each.encode() for each in stale]
        if isinstance(note, str):
            parts.append(f"M 100644 {note} {path}\n".encode())
        elif note is not None:
            parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(note), note))
    # Without the last command, git would move the ref, whatever it is by then.
    parts.append(f"\nget-mark :1\nreset {COMMIT_NOTES}\n\n".encode())
    return repository.git.line("fast-import", "--quiet", stdin=b"".join(parts))
