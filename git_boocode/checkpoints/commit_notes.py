"""Notes at `refs/notes/boocode`: which turn wrote which lines of a commit, in Agent Trace 0.1.

A note is one JSON object of https://agent-trace.dev, with a conversation for each file and turn.
Its `related` resource of type `turn` is `urn:uuid:<id of the turn>`; what is known of the turn is
in the `metadata`. The same lines give the same bytes, on every machine.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from git_boocode import __version__
from git_boocode.checkpoints.attribution import Attribution, Attributor
from git_boocode.checkpoints.line_changes import ranges_of
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.errors import RefusedError, shortened
from git_boocode.repo.ids import ID
from git_boocode.repo.layout import COMMIT_NOTES, NOTES_LOCK
from git_boocode.repo.lock import file_lock
from git_boocode.repo.repository import Repository

_VERSION = "0.1.0"
_OWN = "dev.git-boocode"
_TURN = "urn:uuid:"
_MESSAGE = "Notes of git boocode\n"
_PATIENCE = 30.0  # seconds
_MOST_LINES = 1_000_000  # of a file in a note
_TEXTS = ("agent", "session", "label", "created_at")


class NotedTurn(NamedTuple):
    """What a note says of a turn; `prompt` is the first line, or the label."""

    id: str
    agent: str = ""
    session: str = ""
    prompt: str = ""
    created_at: str = ""


class NotedRange(NamedTuple):
    """Lines of a file in a commit, 1-based and inclusive, that a turn wrote."""

    first: int
    last: int
    turn: NotedTurn

    def as_json(self) -> dict[str, object]:
        """The lines and the turn."""
        turn = {"turn": self.turn.id, **{k: v or None for k, v in self.turn._asdict().items()}}
        del turn["id"]
        return {"start_line": self.first, "end_line": self.last, **turn}


CommitNote = Mapping[str, Sequence[NotedRange]]
"""The ranges of a commit by path; empty for none."""


class NotedCommit(NamedTuple):
    """A commit with its ranges, the note that has them, and whether that is new or another one."""

    commit: str
    files: CommitNote
    trace: dict[str, Any] | None
    written: bool

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
        }


def commits_of(repository: Repository, names: Sequence[str]) -> list[str]:
    """The commits of names and ranges such as `main..topic`, oldest first in a range.

    RefusedError (`not_found`) if there is none.
    """
    found: dict[str, None] = {}
    for name in names:
        is_range = ".." in name
        command = ("rev-list", "--reverse") if is_range else ("rev-parse", "--verify", "-q")
        asked = name if is_range else f"{name}^{{commit}}"
        done = repository.git.attempt(*command, "--end-of-options", asked)
        if done.status:
            raise RefusedError(f"'{shortened(name)}' is not a commit or range", code="not_found")
        lines = os.fsdecode(done.stdout).split()
        found |= dict.fromkeys(line for line in lines if line != "--end-of-options")
    return [*found]


def attribute(
    repository: Repository, names: Sequence[str], *, dry_run: bool = False
) -> list[NotedCommit]:
    """Attribute commits, and write the notes of those that turns wrote lines of."""
    commits = commits_of(repository, names)
    attributor = Attributor(repository)
    made = {each: attributor.attribute(each) for each in commits} if attributor.has_turns else {}
    before = read_notes(repository, commits)
    found, new = [], dict[str, bytes]()
    for commit in commits:
        files = _with_known(made.get(commit), before.get(commit), attributor)
        trace = _trace(repository, commit, files) if files else None
        content = _bytes(trace) if trace else b""
        if trace and content != _bytes(before.get(commit)):
            new[commit] = content
        found.append(NotedCommit(commit, files, trace, written=commit in new))
    if new and not dry_run:
        write_notes(repository, new)
    return found


def turns_of_commits(repository: Repository, commits: str) -> dict[str, NotedTurn]:
    """By id, the turns that wrote lines of a commit or a range of commits."""
    found = attribute(repository, [commits], dry_run=True)
    every = (each.turn for noted in found for ranges in noted.files.values() for each in ranges)
    return {turn.id: turn for turn in every}


def _with_known(
    made: Attribution | None, before: Mapping[str, Any] | None, attributor: Attributor
) -> CommitNote:
    """The ranges of a commit, and of its earlier note those of turns that are gone by now."""
    lines: dict[str, dict[int, NotedTurn]] = {}
    for path, old in ranges_of_note(before).items():
        gone = (each for each in old if not attributor.is_turn(each.turn.id))
        lines[path] = {n: e.turn for e in gone for n in range(e.first, e.last + 1)}
    for path, new in (made.files if made else {}).items():
        known = lines.setdefault(path, {})
        known |= {n: _noted(e.turn) for e in new for n in range(e.first, e.last + 1)}
    return {path: _ranges(lines[path]) for path in sorted(lines) if lines[path]}


def _ranges(lines: Mapping[int, NotedTurn]) -> list[NotedRange]:
    found = []
    for turn in dict.fromkeys(lines.values()):
        numbers = sorted(number for number, each in lines.items() if each == turn)
        found += [NotedRange(first, last, turn) for first, last in ranges_of(numbers)]
    return sorted(found)


def _noted(turn: Checkpoint) -> NotedTurn:
    agent, session, label, created_at = (turn.meta.text(key) for key in _TEXTS)
    prompt = turn.meta.text("prompt").strip().partition("\n")[0].strip() or label
    return NotedTurn(turn.id, agent, session, prompt, created_at)


def _trace(repository: Repository, commit: str, files: CommitNote) -> dict[str, Any]:
    """The Agent Trace record of a commit."""
    # Only where lines are attributed.
    from uuid import NAMESPACE_URL, uuid5

    when = repository.git.line("show", "-s", "--no-show-signature", "--format=%ct", commit, "--")
    turns = sorted({each.turn for ranges in files.values() for each in ranges})
    rows = [
        {
            "path": path,
            "conversations": [
                {
                    "contributor": {"type": "ai"},
                    "ranges": [
                        {"start_line": each.first, "end_line": each.last}
                        for each in ranges
                        if each.turn == turn
                    ],
                    "related": [{"type": "turn", "url": f"{_TURN}{turn.id}"}],
                }
                for turn in turns
                if any(each.turn == turn for each in ranges)
            ],
        }
        for path, ranges in files.items()
    ]
    about = {t.id: {k: v for k, v in t._asdict().items() if v and k != "id"} for t in turns}
    return {
        "version": _VERSION,
        "id": str(uuid5(NAMESPACE_URL, json.dumps([commit, rows]))),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(when))),
        "vcs": {"type": "git", "revision": commit},
        "tool": {"name": "git-boocode", "version": __version__},
        "files": rows,
        "metadata": {_OWN: {"turns": about}},
    }


def _bytes(trace: Mapping[str, Any] | None) -> bytes:
    return json.dumps(trace, indent=1).encode("ascii") + b"\n" if trace else b""


# Reading and writing.


def read_notes(repository: Repository, commits: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The notes of commits, without those that are no such JSON object."""
    wanted = dict.fromkeys(commits)
    if not repository.store.refs(COMMIT_NOTES):
        return {}
    listed = repository.git.attempt("notes", f"--ref={COMMIT_NOTES}", "list").stdout.decode()
    rows = (line.split(" ") for line in listed.splitlines())
    blobs = {commit: blob for blob, commit in rows if commit in wanted}
    contents = repository.store.blobs([*blobs.values()])
    found = {}
    for commit, content in zip(blobs, contents, strict=True):
        try:
            note = json.loads(content or b"")
        except (ValueError, RecursionError):
            continue
        if isinstance(note, dict) and isinstance(note.get("files"), list):
            found[commit] = note
    return found


def ranges_of_note(note: Mapping[str, Any] | None) -> CommitNote:
    """The ranges of turns in a note, which may be of any program's making."""
    found: dict[str, list[NotedRange]] = {}
    metadata = _table(_table(note or {}, "metadata"), _OWN)
    turns = _table(metadata, "turns")
    for file in _rows(note or {}, "files"):
        path = file.get("path")
        for conversation in _rows(file, "conversations"):
            turn = _turn_of(conversation, turns)
            if turn is None or not isinstance(path, str):
                continue
            for row in _rows(conversation, "ranges"):
                first, last = row.get("start_line"), row.get("end_line")
                if type(first) is int and type(last) is int and 0 < first <= last < _MOST_LINES:
                    found.setdefault(path, []).append(NotedRange(first, last, turn))
    return {path: sorted(ranges) for path, ranges in found.items()}


def _turn_of(conversation: Mapping[str, Any], turns: Mapping[str, Any]) -> NotedTurn | None:
    for row in _rows(conversation, "related"):
        url = row.get("url")
        if isinstance(url, str) and ID.fullmatch(identifier := url.removeprefix(_TURN)):
            about = _table(turns, identifier)
            keys = NotedTurn._fields[1:]
            texts = {key: str(about[key]) for key in keys if isinstance(about.get(key), str)}
            return NotedTurn(identifier, **texts)
    return None


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _rows(values: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    found = values.get(key)
    return (row for row in (found if isinstance(found, list) else ()) if isinstance(row, dict))


def write_notes(repository: Repository, notes: Mapping[str, bytes]) -> None:
    """Add notes to commits, or replace theirs, all at once; git keeps the fanout of the tree."""
    path = os.path.join(repository.common_state_dir, NOTES_LOCK)
    identity = repository.config.identity()
    with file_lock(path, patience=_PATIENCE):
        tips = repository.store.refs(COMMIT_NOTES)
        by = f"{identity.name} <{identity.email}> {int(time.time())} +0000"
        head = f"commit {COMMIT_NOTES}\ncommitter {by}\ndata {len(_MESSAGE)}\n{_MESSAGE}"
        parts = [os.fsencode(head + "".join(f"from {tip.target}\n" for tip in tips))]
        for commit, content in notes.items():
            parts.append(b"N inline %s\ndata %d\n%s\n" % (commit.encode(), len(content), content))
        repository.git.run("fast-import", "--quiet", stdin=b"".join(parts))
