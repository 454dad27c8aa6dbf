"""The records of applied edits: list them, find the one that a user means, read what it holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from git_boocode.editing.record import EDITS
from git_boocode.matching.text import common_prefix
from git_boocode.repo.blobs import read_blobs
from git_boocode.repo.errors import RefusedError, shortened
from git_boocode.repo.git import GitError, nul_records
from git_boocode.repo.ids import ID, ID_PART, places_back
from git_boocode.repo.metadata import Metadata, MetadataError
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref, Store, ambiguous_name, open_store

ACTIONS = ("modify", "create", "delete", "rename")
CHECKED = 1_000
"""The newest records that `problems` checks: as many as are kept of one worktree."""
_OCTAL = re.compile(r"[0-7]{3,4}")
_LEAST_ABBREVIATION = 13
"""The part of an id that is the time to the millisecond. No hash looks so: it has no hyphen."""


class KeptFile(NamedTuple):
    """One file of a record.

    ``path`` is the path after the call, from the top of the worktree, ``source`` the one before, if
    it was another. ``mode`` are the permission bits before the call (of a new file, afterwards),
    ``new_mode`` those afterwards.
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

    def as_json(self) -> dict[str, object]:
        """Path and action, as the list of records has them."""
        origin = {"from": self.source} if self.source else {}
        return {"path": self.path, "action": self.action, **origin}


class Contents(NamedTuple):
    """A file of a record with its bytes; None where there was no file."""

    file: KeptFile
    before: bytes | None
    after: bytes | None


class EditRecord(NamedTuple):
    """A record that can be used.

    ``rewinds`` is the id of the record that it took back, None if it is no rewind;
    ``rewound_paths`` are the paths of its files that later records took back, set by `history`.
    """

    id: str
    ref: str
    commit: Commit
    meta: Metadata
    files: tuple[KeptFile, ...]
    rewinds: str | None
    rewound_paths: frozenset[str] = frozenset()

    @property
    def worktree_name(self) -> str:
        """The worktree that was edited: `main`, or the name of a linked one."""
        return self.meta.part("worktree", "name") or "main"

    @property
    def edits(self) -> list[dict[str, Any]]:
        """Its edits, as JSON."""
        return self.meta.tables("edits")

    @property
    def rewound(self) -> bool:
        """Whether all of it is taken back."""
        return all(file.path in self.rewound_paths for file in self.files)

    @property
    def undone_paths(self) -> list[str]:
        """The paths of the record that it rewinds, of which it took the changes back."""
        paths = self.meta.table("rewinds").get("paths")
        listed = paths if isinstance(paths, list) else []
        return [path for path in listed if isinstance(path, str)]


class UnusableRecord(NamedTuple):
    """A ref that looks like a record and cannot be used, and why."""

    ref: str
    why: MetadataError


class Records:
    """The records of one repository, as seen from one worktree.

    ``unreadable`` holds, by ref, the records that `history` has met and could not use.
    """

    def __init__(self, repository: Repository) -> None:
        self.unreadable: dict[str, UnusableRecord] = {}
        self._repository = repository
        self._worktree = repository.worktree_key
        self.store: Store = open_store(repository)

    def entries(self, refs: Sequence[Ref] | None = None) -> Iterator[EditRecord | UnusableRecord]:
        """The records of some refs, the unusable ones included; by default all, newest first."""
        yield from self._read(self.store.refs(EDITS) if refs is None else refs)

    def history(self, *, everywhere: bool = False) -> Iterator[EditRecord]:
        """The records of this worktree, or of all, newest first, with what became of them."""
        # A rewind is newer than what it rewinds, so what undoes a record has been seen before it.
        rewound: dict[str, set[str]] = {}
        for entry in self.entries():
            if isinstance(entry, UnusableRecord):
                self.unreadable[entry.ref] = entry
                continue
            mine = frozenset(rewound.pop(entry.id, ()))
            if entry.rewinds is not None:
                rewound.setdefault(entry.rewinds, set()).update(_still_undone(entry, mine))
            if everywhere or self.is_ours(entry):
                yield entry._replace(rewound_paths=mine)

    def is_ours(self, record: EditRecord) -> bool:
        """Whether a record is of this worktree."""
        return record.meta.worktree_key == self._worktree

    def to_rewind(self) -> EditRecord:
        """The newest record of this worktree that is no rewind and has not been taken back.

        Raises RefusedError (`not_found`) if there is none.
        """
        for record in self.history():
            if record.rewinds is None and not record.rewound:
                return record
        but = " that can be read" if self.unreadable else ""
        raise RefusedError(
            f"this worktree has no edit left to rewind{but}",
            code="not_found",
            hints=(
                "'git boocode log --edits' lists the edits",
                "'git boocode rewind <id>' of a rewind brings the edit back",
            ),
        )

    def find(self, name: str) -> EditRecord:
        """The record that a user names.

        A name is a full id, a unique beginning of an id or of the commit's hash, or `@` and `@~N`,
        which count as `log --edits` lists. Raises RefusedError: `not_found`, `ambiguous`, or for a
        record that cannot be used `malformed` or `newer`.
        """
        if (back := places_back(name)) is not None:
            return self._nth(back, name)
        if name.startswith("@"):
            raise not_found(f"'{shortened(name)}': '@' is the newest, '@~<n>' the n-th before it")
        if not ID_PART.fullmatch(name.lower()):
            raise not_found(
                f"'{shortened(name)}' is no edit's id, nor four or more characters of one"
            )
        matches = self.matching(name)
        if not matches:
            raise not_found(f"no edit's id or commit begins with '{name}'")
        if len(matches) > 1:
            raise ambiguous_name(name, matches, "edits")
        return self.usable(matches[0])

    def matching(self, name: str) -> list[Ref]:
        """The refs of the records whose id or commit begins so."""
        lowered = name.lower()
        if ID.fullmatch(lowered):
            return self.store.refs(EDITS + lowered, newest=1)
        if not ID_PART.fullmatch(lowered):
            return []
        return [ref for ref in self.store.refs(EDITS) if _matches(ref, lowered)]

    def usable(self, ref: Ref) -> EditRecord:
        """The record of a ref, with what became of it; RefusedError if it cannot be used."""
        for record in self.history(everywhere=True):
            if record.ref == ref.name:
                return record
        entry = next(iter(self._read([ref])))
        why = entry.why if isinstance(entry, UnusableRecord) else _malformed("it is gone")
        name = ref.name.removeprefix(EDITS)
        raise RefusedError(
            f"the record '{name}' cannot be used: {why.message}", code=why.code, hints=why.hints
        )

    def contents(self, record: EditRecord, files: Sequence[KeptFile]) -> list[Contents]:
        """Files of a record with their bytes; RefusedError (`malformed`) if some are missing."""
        wanted = [_kept_names(file) for file in files]
        data = self._blobs(record, [name for pair in wanted for name in pair if name is not None])
        return [
            Contents(file, data[old] if old else None, data[new] if new else None)
            for file, (old, new) in zip(files, wanted, strict=True)
        ]

    def sides(self, record: EditRecord) -> tuple[str, str]:
        """The trees that hold the files of a record before and after the call.

        Raises RefusedError (`malformed`) if its objects are missing.
        """
        try:
            rows = nul_records(self._repository.git.run("ls-tree", "-z", record.commit.tree))
        except GitError:
            raise _incomplete(record) from None
        trees = _by_name(rows)
        empty = self._repository.empty_tree
        return trees.get("before", empty), trees.get("after", empty)

    def _blobs(self, record: EditRecord, names: Sequence[str]) -> dict[str, bytes]:
        git = self._repository.git
        try:
            rows = nul_records(git.run("ls-tree", "-r", "-z", record.commit.tree))
            ids = _by_name(rows)
            found = read_blobs(git, [ids[name] for name in names])
        except (GitError, KeyError):
            raise _incomplete(record) from None
        if None in found:
            raise _incomplete(record)
        return {name: data for name, data in zip(names, found, strict=True) if data is not None}

    def _read(self, refs: Sequence[Ref]) -> Iterator[EditRecord | UnusableRecord]:
        commits = self.store.commits(ref.target for ref in refs)
        for ref, commit in zip(refs, commits, strict=True):
            yield _entry(ref, commit)

    def _nth(self, number: int, name: str) -> EditRecord:
        count = 0
        for count, record in enumerate(self.history(), 1):
            if count > number:
                return record
        noun = "recorded edit" if count == 1 else "recorded edits"
        has = f"this worktree has {'only ' if count else ''}{count} {noun}"
        raise not_found(f"'{shortened(name)}': {has}")


def problems(repository: Repository, *, most: int = CHECKED) -> list[tuple[str, str]]:
    """The ids of records with a problem, of all worktrees, newest first, each with the reason.

    A record cannot be read, or the content of a file is missing; `git fsck` finds damaged content.
    Only the newest ``most`` are checked, in three git processes.
    """
    records = Records(repository)
    found: dict[str, str] = {}
    sound: list[EditRecord] = []
    for entry in records.entries(records.store.refs(EDITS, newest=most)):
        if isinstance(entry, UnusableRecord):
            found[entry.ref.removeprefix(EDITS)] = entry.why.message
        else:
            sound.append(entry)
    found |= {record.id: why for record, why in _lacking(repository, sound)}
    return sorted(found.items(), reverse=True)


def _lacking(
    repository: Repository, found: Sequence[EditRecord]
) -> Iterator[tuple[EditRecord, str]]:
    """The records that lack the content of a file, and of which."""
    wanted = [
        (record, file, f"{record.commit.id}:{name}")
        for record in found
        for file in record.files
        for name in _kept_names(file)
        if name is not None
    ]
    # Git reads one name a line; no name of a file that holds more than one is asked for.
    asked = [row for row in wanted if "\n" not in row[2]]
    request = "".join(f"{name}\n" for _, _, name in asked)
    done = repository.git.attempt(
        "cat-file", "--batch-check=%(objecttype)", stdin=os.fsencode(request)
    )
    answers = done.stdout.split(b"\n")[:-1]
    told: set[str] = set()
    for (record, file, _), answer in zip(asked, answers, strict=False):
        if answer != b"blob" and record.id not in told:
            told.add(record.id)
            yield record, f"it lacks the content of '{file.path}'"
    if len(answers) < len(asked):
        # Git ends at an object that is damaged.
        yield asked[len(answers)][0], "it holds a damaged object"


def abbreviations(store: Store, *others: str) -> dict[str, str]:
    """The shortest useful beginning of the id of each record.

    It differs from those of all refs below ``others``, too.
    """
    names = [ref.name for ref in store.refs(EDITS, *others)]
    ids = sorted({name.rpartition("/")[2] for name in names})
    neighbours = zip(ids, ["", *ids], [*ids[1:], ""], strict=False)
    short = {
        own: own[
            : max(_LEAST_ABBREVIATION, common_prefix(own, above) + 1, common_prefix(own, below) + 1)
        ]
        for own, above, below in neighbours
    }
    recorded = (name.removeprefix(EDITS) for name in names if name.startswith(EDITS))
    return {name: short[name] for name in recorded if name in short}


def not_found(message: str) -> RefusedError:
    """The error of a name that leads nowhere."""
    return RefusedError(
        message, code="not_found", hints=("'git boocode log --edits' lists the edits",)
    )


def _kept_names(file: KeptFile) -> tuple[str | None, str | None]:
    """Where the tree of a record keeps the content of before and after; None if there was none."""
    return (
        f"before/{file.old_path}" if file.action != "create" else None,
        f"after/{file.path}" if file.action != "delete" else None,
    )


def _by_name(rows: Sequence[str]) -> dict[str, str]:
    """The objects of a tree by their names, from `ls-tree -z`."""
    split = (row.partition("\t") for row in rows)
    return {name: head.split(" ")[2] for head, _, name in split}


def _matches(ref: Ref, beginning: str) -> bool:
    return ref.name.removeprefix(EDITS).startswith(beginning) or ref.target.startswith(beginning)


def _still_undone(rewind: EditRecord, rewound: frozenset[str]) -> Iterator[str]:
    """The paths, as the record that was rewound names them, that are still taken back."""
    here = {file.old_path: file.path for file in rewind.files}
    for path in rewind.undone_paths:
        if here.get(path) not in rewound:
            yield path


def _entry(ref: Ref, commit: Commit | None) -> EditRecord | UnusableRecord:
    try:
        return _parsed(ref, commit)
    except MetadataError as error:
        return UnusableRecord(ref.name, error)


def _parsed(ref: Ref, commit: Commit | None) -> EditRecord:
    if commit is None:
        raise _malformed("it names no commit")
    meta = Metadata.parse(commit.message)
    if meta.text("kind") != "edit":
        raise _malformed("it is no record of an edit")
    files = tuple(map(_file, meta.tables("files")))
    if not files:
        raise _malformed("it names no files")
    rewinds = meta.part("rewinds", "id")
    return EditRecord(ref.name.removeprefix(EDITS), ref.name, commit, meta, files, rewinds)


def _file(row: dict[str, Any]) -> KeptFile:
    path, action, mode, source = (row.get(key) for key in ("path", "action", "mode", "from"))
    if not isinstance(path, str) or not path or action not in ACTIONS:
        raise _malformed("it does not say what became of its files")
    if (source is not None and not isinstance(source, str)) or (action == "rename" and not source):
        raise _malformed("it does not say where a file was renamed from")
    bits = _bits(mode, 0o644)
    new_bits = _bits(row.get("new_mode"), bits)
    return KeptFile(path, action, bits, new_bits, source if action == "rename" else None)


def _bits(mode: object, default: int) -> int:
    return int(mode, 8) & 0o777 if isinstance(mode, str) and _OCTAL.fullmatch(mode) else default


def _malformed(message: str) -> MetadataError:
    return MetadataError(message, code="malformed")


def _incomplete(record: EditRecord) -> RefusedError:
    return RefusedError(
        f"the record '{record.id}' lacks the content of a file",
        code="malformed",
        hints=("'git fsck' tells what else is missing from the repository",),
    )
