"""Edit records: store, list and find them, read their files, and prune old ones.

An edit record is a commit with the files of a call before and after it, and its edits. Refused
calls are in a log.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.repo.durable import LineLog
from git_boocode.repo.entries import (
    DAY,
    VERSION,
    EntryCatalog,
    Limits,
    Metadata,
    MetadataError,
    Unusable,
)
from git_boocode.repo.errors import (
    BoocodeError,
    FatalError,
    NextStep,
    RefusedError,
    from_os,
    shortened,
)
from git_boocode.repo.gc import protect_from_gc, publish
from git_boocode.repo.ids import id_time, timestamp
from git_boocode.repo.layout import EDITS, REFUSAL_LOG
from git_boocode.repo.lock import record_of_interrupted_edit, scratch_directory
from git_boocode.repo.object_writer import Quarantine, raw_commit
from git_boocode.repo.reported_turn import calling_session
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange, retry_conflicts
from git_boocode.repo.trees import Item, write_tree

if TYPE_CHECKING:
    from git_boocode.editing.edits import Failure
    from git_boocode.repo.store import Commit, Ref

ACTIONS = ("modify", "create", "delete", "rename")
DEFAULTS = Limits(keep=1_000, max_age=30 * DAY)
_OCTAL = re.compile(r"[0-7]{3,4}")
_PRUNED_EVERY = 64
# Bytes of the log of refused calls and of a line, characters of a path and of a message in it.
_LARGEST_LOG, _LONGEST_LINE, _MAX_PATH, _MAX_MESSAGE = 128 << 10, 4096, 100, 200
_MAX_FAILURES = 10  # of a call
_FAILURE_KEYS = ("path", "code", "message")
_LATEST = 1 << 40  # seconds since 1970


class RecordedFile(NamedTuple):
    """One file of a record.

    ``path`` is the path after the call, relative to the top of the worktree, with symlinks
    resolved; ``source`` is the path before, if it was renamed. ``mode`` are the permission bits
    before the call (after it for a new file), ``new_mode`` those after it.
    """

    path: str
    action: str
    mode: int
    new_mode: int
    source: str | None = None

    @property
    def old_path(self) -> str:
        """Its path before the call."""
        return self.source or self.path

    @property
    def content_names(self) -> tuple[str | None, str | None]:
        """The paths of its two contents in the record's tree; None if there was no file."""
        return (
            f"before/{self.old_path}" if self.action != "create" else None,
            f"after/{self.path}" if self.action != "delete" else None,
        )

    def as_json(self) -> dict[str, object]:
        """Path and action, in the format of `log --edits`."""
        origin = {"from": self.source} if self.source else {}
        return {"path": self.path, "action": self.action, **origin}


class Contents(NamedTuple):
    """A file of a record with its bytes before and after the call; None if there was no file."""

    file: RecordedFile
    before: bytes | None
    after: bytes | None

    def items(self) -> Iterator[tuple[str, int, bytes]]:
        """Its two contents that exist: path in the record's tree, permission bits, bytes."""
        old, new = self.file.content_names
        if old is not None and self.before is not None:
            yield old, self.file.mode, self.before
        if new is not None and self.after is not None:
            yield new, self.file.new_mode, self.after


class Record:
    """A record that `publish` stores; ``more`` are further keys of the message's JSON."""

    def __init__(
        self,
        repository: Repository,
        files: Sequence[Contents],
        edits: Sequence[dict[str, object]],
        more: Mapping[str, object],
    ) -> None:
        self.id = repository.store.new_id()
        self.repository = repository
        self._head = repository.store.commit("HEAD")
        self._files = files
        self._edits = edits
        self._more = more

    def publish(self) -> None:
        """Store all objects and create the ref; FatalError if that fails."""

        def write() -> None:
            with scratch_directory(self.repository.state_dir) as scratch:
                quarantine = Quarantine(self.repository, scratch)
                commit = self._store(quarantine)
                changes = [RefChange(EDITS + self.id, commit, None)]
                publish(self.repository, quarantine, changes, [commit])

        try:
            protect_from_gc(write)
        except (BoocodeError, OSError) as error:
            why = from_os(error) if isinstance(error, OSError) else error
            raise FatalError(
                f"cannot record the old content of the files: {why.message}; nothing was changed",
                code="record" if why.code != "disk_full" else "disk_full",
                hints=(NextStep("{} edits without an edit record", "no_record"),),
                details={"applied": False},
            ) from error

    def _store(self, quarantine: Quarantine) -> str:
        """Store all objects, including existing ones, because `git gc` may delete those."""
        items = {
            os.fsencode(name): Item(
                b"100755" if mode & stat.S_IXUSR else b"100644", quarantine.store(b"blob", data)
            )
            for each in self._files
            for name, mode, data in each.items()
        }
        tree = write_tree(items, quarantine.store).decode("ascii")
        commit = quarantine.store(b"commit", self._commit_body(tree, items))
        return commit.decode("ascii")

    def _commit_body(self, tree: str, items: Mapping[bytes, Item]) -> bytes:
        when = id_time(self.id)
        session, agent = calling_session()
        document = {
            "boocode": VERSION,
            "kind": "edit",
            "id": self.id,
            "created_at": timestamp(time.time()),
            "worktree": self.repository.worktree_json(),
            **({"session": session, "agent": agent} if session else {}),
            **self._more,
            "edits": list(self._edits),
            "files": [_file_json(each.file, items) for each in self._files],
        }
        first = json.dumps(self._files[0].file.path)[1:-1]
        more = f" and {len(self._files) - 1} more" if len(self._files) > 1 else ""
        message = f"edit {first}{more}\n\n{json.dumps(document)}\n"
        parents = [self._head.id] if self._head else []
        return raw_commit(tree, parents, message, self.repository.config.identity(), when)


class EditRecord(NamedTuple):
    """A valid record.

    ``rewinds`` is the id of the record that it rewinds; ``rewound_paths`` are the paths of its own
    files that later records have rewound, set by `history`.
    """

    id: str
    commit: Commit
    meta: Metadata
    files: tuple[RecordedFile, ...]
    rewinds: str | None
    rewound_paths: frozenset[str] = frozenset()

    @property
    def edits(self) -> list[dict[str, Any]]:
        """Its edits, as JSON."""
        return self.meta.tables("edits")

    @property
    def rewound(self) -> bool:
        """Whether all its files are rewound."""
        return all(file.path in self.rewound_paths for file in self.files)

    def as_json(self) -> dict[str, object]:
        """The record in the JSON answer of `log --edits`."""
        return {
            "id": self.id,
            "commit": self.commit.id,
            "created_at": self.meta.text("created_at") or None,
            "worktree": self.meta.worktree_name,
            "files": [file.as_json() for file in self.files],
            "edits": len(self.edits),
            "rewound": self.rewound,
            "rewinds": self.rewinds,
        }


class Records(EntryCatalog[EditRecord]):
    """The records of one repository, as seen from one worktree."""

    noun = "edit record"
    prefixes = (EDITS,)
    listing_hint = NextStep("{} lists the edits", "log", "edits", typed="'git boocode log --edits'")

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository)
        # The errors of invalid records that `history` has read, by ref.
        self.unreadable: dict[str, MetadataError] = {}

    @staticmethod
    def read(ref: Ref, commit: Commit) -> EditRecord:
        """See `EntryCatalog.read`."""
        meta = Metadata.parse(commit.message)
        if meta.text("kind") != "edit":
            raise _malformed("it is not an edit record")
        files = tuple(map(_file, meta.tables("files")))
        if not files:
            raise _malformed("it names no files")
        return EditRecord(ref.id, commit, meta, files, meta.part("rewinds", "id"))

    def history(self, *, everywhere: bool = False) -> Iterator[EditRecord]:
        """The valid records of this worktree, or of all, newest first, with ``rewound_paths``."""
        # A rewind is newer than what it rewinds, so it comes first.
        rewound: dict[str, set[str]] = {}
        for entry in self.newest_first(everywhere=True):
            if isinstance(entry, Unusable):
                self.unreadable[entry.ref] = entry.why
                continue
            mine = frozenset(rewound.pop(entry.id, ()))
            paths = entry.meta.table("rewinds").get("paths")
            if entry.rewinds is not None and isinstance(paths, list):
                # This rewind may itself have been rewound.
                again = {file.old_path for file in entry.files if file.path in mine}
                undone = {path for path in paths if isinstance(path, str)} - again
                rewound.setdefault(entry.rewinds, set()).update(undone)
            if everywhere or self.is_ours(entry):
                yield entry._replace(rewound_paths=mine)

    def to_rewind(self) -> EditRecord:
        """The newest record of this worktree that can be rewound; RefusedError (`not_found`)."""
        for record in self.history():
            if record.rewinds is None and not record.rewound:
                return record
        but = " that can be read" if self.unreadable else ""
        raise RefusedError(
            f"this worktree has no edit left to rewind{but}",
            code="not_found",
            hints=(
                self.listing_hint,
                "to redo an edit, use 'git boocode rewind <id of the rewind>'",
            ),
        )

    def usable(self, ref: Ref) -> EditRecord:
        """The record of a ref, with ``rewound_paths``; RefusedError if it is invalid."""
        for record in self.history(everywhere=True):
            if EDITS + record.id == ref.name:
                return record
        raise self.unusable(ref.id, self.unreadable.get(ref.name) or _malformed("it was deleted"))

    def contents(self, record: EditRecord, files: Sequence[RecordedFile]) -> list[Contents]:
        """Files of a record with their bytes; RefusedError (`malformed`) if some are missing."""
        names = [name for file in files for name in file.content_names if name]
        # Not only at these paths, which could be no paths at all.
        objects = self._objects(record)
        found = self.store.blobs([objects[name] for name in names if name in objects])
        if None in found or len(found) < len(names):
            raise _incomplete(record)
        data = dict(zip(names, found, strict=True))
        return [
            Contents(file, *(data.get(name or "") for name in file.content_names)) for file in files
        ]

    def sides(self, record: EditRecord) -> tuple[str, str]:
        """The trees with the files before and after the call; RefusedError as for `contents`."""
        trees, empty = self._objects(record, ("before", "after")), self.repository.empty_tree
        return trees.get("before", empty), trees.get("after", empty)

    def _objects(self, record: EditRecord, names: Sequence[str] | None = None) -> dict[str, str]:
        try:
            entries = self.store.tree(record.commit.tree, names)
        except FatalError:
            raise _incomplete(record) from None
        return {name: entry.id for name, entry in entries.items()}


def problems(repository: Repository, *, most: int = DEFAULTS.keep) -> list[tuple[str, str]]:
    """The ids of invalid records among the newest ``most``, with the reason."""
    entries = islice(Records(repository).newest_first(everywhere=True), most)
    return [(entry.id, entry.why.message) for entry in entries if isinstance(entry, Unusable)]


def prune_edits(
    repository: Repository,
    *,
    worktree: str | None = None,
    dry_run: bool = False,
    now: float | None = None,
) -> list[tuple[Ref, str]]:
    """Delete the records beyond the configured limits; returns them newest first, with the reason.

    Records of interrupted edits stay. With the key of a ``worktree``, only its records are
    considered; ``now`` is in seconds since 1970. Raises FatalError (`bad_config`), and RefusedError
    (`conflict`) if other processes keep changing the same refs.
    """
    limits = DEFAULTS.configured(repository.config, "boocode.keepEdits", "boocode.editsMaxAge")
    records = Records(repository)

    def prune() -> list[tuple[Ref, str]]:
        refs = records.store.refs(EDITS)
        found = (
            (ref, entry.meta.worktree_key if isinstance(entry, EditRecord) else None)
            for ref, entry in zip(refs, records.entries(refs), strict=True)
        )
        chosen = (pair for pair in found if worktree in (None, pair[1]))
        beyond = limits.beyond(chosen, time.time() if now is None else now)
        needed = needed_records(repository)
        old = [(ref, why) for ref, why in beyond if ref.id not in needed]
        if not dry_run:
            records.store.update_refs([RefChange(ref.name, None, ref.target) for ref, _ in old])
        return old

    return retry_conflicts(prune)


def prune_occasionally(repository: Repository, identifier: str) -> None:
    """Prune old records after one call in 64, chosen by the random end of its record's id."""
    if int(identifier[-2:], 16) % _PRUNED_EVERY == 0:
        # The call has succeeded; an error here must not make it fail.
        with suppress(BoocodeError, OSError):
            prune_edits(repository)


def needed_records(repository: Repository) -> set[str]:
    """The ids of the records of interrupted edits, in all worktrees."""
    return set(filter(None, map(record_of_interrupted_edit, repository.state_dirs())))


def _file_json(file: RecordedFile, items: Mapping[bytes, Item]) -> dict[str, object]:
    kept = [items.get(os.fsencode(name or "")) for name in file.content_names]
    before, after = (item and item.id.decode("ascii") for item in kept)
    return {
        **file.as_json(),
        "mode": f"{stat.S_IMODE(file.mode):04o}",
        "new_mode": f"{stat.S_IMODE(file.new_mode):04o}",
        "before": before,
        "after": after,
    }


def _file(row: dict[str, Any]) -> RecordedFile:
    path, action, mode, source = (row.get(key) for key in ("path", "action", "mode", "from"))
    if not (isinstance(path, str) and path and isinstance(source or "", str)):
        raise _malformed("it lacks the path of a file")
    if action not in ACTIONS or (action == "rename" and not source):
        raise _malformed("it lacks the action or the old path of a file")
    bits = _bits(mode, 0o644)
    new_bits = _bits(row.get("new_mode"), bits)
    return RecordedFile(path, action, bits, new_bits, source if action == "rename" else None)


def _bits(mode: object, default: int) -> int:
    return int(mode, 8) & 0o777 if isinstance(mode, str) and _OCTAL.fullmatch(mode) else default


def _malformed(message: str) -> MetadataError:
    return MetadataError(message, code="malformed")


def _incomplete(record: EditRecord) -> RefusedError:
    return RefusedError(
        f"edit record '{record.id}' lacks the content of a file",
        code="malformed",
        hints=("'git fsck' lists the missing objects",),
    )


# The log of refused calls, which `git boocode view` shows among the edits of a turn


class Refusal(NamedTuple):
    """A refused call: when (seconds since 1970), the key of its worktree, the number of its edits.

    `failures` are the first ones only, each with its `path` (empty if unknown), `code` and
    `message`.
    """

    time: float
    worktree: str
    edits: int
    failures: list[dict[str, str]]


def _unquoted(message: str) -> str:
    """A message without what it quotes, which may be of the file, quotes included."""
    first, last = message.find("'"), message.rfind("'")
    return f"{message[:first]}'…{message[last:]}" if first < last else message


def note_refusal(repository: Repository, failures: Sequence[Failure], edits: int) -> None:
    """Append a refused call to the log if possible; file contents stay out of it."""
    rows = [
        {
            "path": shortened(failure.path or "", _MAX_PATH),
            "code": failure.code,
            "message": shortened(_unquoted(failure.message), _MAX_MESSAGE),
        }
        for failure in failures[:_MAX_FAILURES]
    ]
    values = {
        "time": round(time.time(), 3),
        "worktree": repository.worktree_key,
        "edits": edits,
        "failures": rows,
    }
    while len(json.dumps(values)) >= _LONGEST_LINE and len(rows) > 1:
        rows.pop()
    LineLog(refusals_path(repository), _LARGEST_LOG).append(values)


def refusals(repository: Repository) -> Iterator[Refusal]:
    """The calls in the log, oldest first, of all worktrees."""
    for values in LineLog(refusals_path(repository), _LARGEST_LOG).read():
        when, worktree, edits = (values.get(key) for key in ("time", "worktree", "edits"))
        if not (isinstance(when, int | float) and isinstance(worktree, str)):
            continue
        if not 0 <= when <= _LATEST:
            # Not a number, either.
            continue
        rows = values.get("failures")
        failures = [
            {key: text if isinstance(text := row.get(key), str) else "" for key in _FAILURE_KEYS}
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, dict)
        ]
        yield Refusal(float(when), worktree, edits if isinstance(edits, int) else 0, failures)


def refusals_path(repository: Repository) -> str:
    """The path of the log, among the private files of all worktrees."""
    return os.path.join(repository.common_state_dir, REFUSAL_LOG)
