"""Proposals: what a model wants of some files, beside what it has seen of them.

A proposal is a commit at `refs/boocode/proposals/<id>`. Its first parent is the context, its tree
the output, its message names the files in question. No ref moves: whatever changes the state, such
as another proposal or its acceptance, is a new commit, and the newest one of a worktree counts.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from git_boocode.repo.entries import VERSION, EntryCatalog, Metadata, MetadataError
from git_boocode.repo.errors import NextStep, RefusedError
from git_boocode.repo.files import is_in_dot_git
from git_boocode.repo.gc import create_refs, protect_from_gc
from git_boocode.repo.git import Git
from git_boocode.repo.ids import ID, OBJECT_ID, id_time, timestamp
from git_boocode.repo.layout import PROPOSALS
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import Quarantine, raw_commit
from git_boocode.repo.process import SignalsWait, ignore_signals
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref, RefChange
from git_boocode.repo.trees import Item, TreeEditor

KIND = "proposal"
_ATTEMPTS = 5
_CONTEXT_KIND = "context"
_MODE = re.compile("100644|100755|120000")


_Result = TypeVar("_Result")


class BlobVersion(NamedTuple):
    """A version of a file: git's mode, and the id of the blob that git stores for it."""

    mode: str
    id: str

    @property
    def is_executable(self) -> bool:
        """Whether it is an executable file."""
        return self.mode == "100755"


Versions = Mapping[str, BlobVersion | None]
"""Versions by path, relative to the top; None for a missing file."""


class ContextFile(NamedTuple):
    """A file that a model has seen or proposes; None if there is no such file.

    `source` is the path that it had before, if the proposal renames it, and `context` its version
    there; it is empty for other files.
    """

    path: str
    source: str
    context: BlobVersion | None
    output: BlobVersion | None

    @property
    def is_pending(self) -> bool:
        """Whether the proposal changes it."""
        return bool(self.source) or self.context != self.output

    @property
    def paths(self) -> list[str]:
        """Its path, and the one that it had before."""
        return [path for path in (self.source, self.path) if path]

    @property
    def change(self) -> str:
        """The letter of the proposed change: `M`, `A`, `D` or `R`; empty for none."""
        if self.source:
            return "R"
        if self.context == self.output:
            return ""
        return "A" if self.context is None else "D" if self.output is None else "M"


class ProposalState(NamedTuple):
    """What is proposed: by path, the versions that the model has seen, and those it wants.

    Both name the same paths. `renames` are old paths by new path.
    """

    context: Versions = MappingProxyType({})
    output: Versions = MappingProxyType({})
    renames: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, files: Iterable[ContextFile]) -> ProposalState:
        """The state that consists of some files."""
        context: dict[str, BlobVersion | None] = {}
        output: dict[str, BlobVersion | None] = {}
        renames = {}
        for file in files:
            if file.source:
                renames[file.path] = file.source
                context |= {file.source: file.context, file.path: None}
                output |= {file.source: None, file.path: file.output}
            else:
                context[file.path], output[file.path] = file.context, file.output
        return cls(context, output, renames)

    def files(self) -> list[ContextFile]:
        """The files, by path; a rename is one of them."""
        renames = {new: old for new, old in self.renames.items() if self._is_rename(new, old)}
        hidden = set(renames.values())
        return [
            ContextFile(
                path,
                renames.get(path, ""),
                self.context[renames.get(path, path)],
                self.output[path],
            )
            for path in sorted(self.context)
            if path not in hidden
        ]

    def _is_rename(self, new: str, old: str) -> bool:
        there = [side.get(path) for side, path in ((self.context, old), (self.output, new))]
        gone = [side.get(path) for side, path in ((self.context, new), (self.output, old))]
        return None not in there and not any(gone)

    def with_versions(
        self, context: Versions, output: Versions, renames: Mapping[str, str] | None = None
    ) -> ProposalState:
        """A copy with other versions of some paths; a path that has none on either side leaves."""
        contexts, outputs = {**self.context, **context}, {**self.output, **output}
        kept = [
            path
            for path in contexts.keys() | outputs.keys()
            if contexts.get(path) is not None or outputs.get(path) is not None
        ]
        return ProposalState(
            {path: contexts.get(path) for path in kept},
            {path: outputs.get(path) for path in kept},
            {**self.renames, **(renames or {})},
        )

    def with_paths_of(self, earlier: ProposalState, paths: Iterable[str]) -> ProposalState:
        """A copy in which some paths are as in an earlier state."""
        chosen = {*paths}
        context = {path: earlier.context.get(path) for path in chosen}
        output = {path: earlier.output.get(path) for path in chosen}
        renames = {new: old for new, old in earlier.renames.items() if new in chosen}
        return self.with_versions(context, output, renames)


class Proposal(NamedTuple):
    """A stored proposal."""

    id: str
    commit: Commit
    meta: Metadata
    files: tuple[ContextFile, ...]

    @property
    def commits(self) -> list[str]:
        """The commits whose trees it needs."""
        return [self.commit.id, *self.commit.parents]

    @property
    def state(self) -> ProposalState:
        """The state that it recorded."""
        return ProposalState.of(self.files)


class Proposals(EntryCatalog[Proposal]):
    """The proposals of one repository, as seen from one worktree."""

    noun = "proposal"
    prefixes = (PROPOSALS,)
    listing_hint = NextStep("{} shows the newest proposal", "status", typed="'git boocode status'")

    @staticmethod
    def read(ref: Ref, commit: Commit) -> Proposal:
        """See `EntryCatalog.read`."""
        meta = Metadata.parse(commit.message)
        if meta.text("kind") != KIND:
            raise _malformed("it is not a proposal")
        # By its name, a ref would be the newest one for ever.
        name = ref.name.removeprefix(PROPOSALS) if ref.name.startswith(PROPOSALS) else ref.id
        if not ID.fullmatch(name) or meta.text("id") != name:
            raise _malformed("its message has another id")
        files = tuple(map(_parsed_file, meta.tables("files")))
        ids = {version.id for file in files for version in (file.context, file.output) if version}
        if any(len(identifier) != len(commit.id) for identifier in ids):
            raise _malformed("it names objects of another hash")
        return Proposal(ref.id, commit, meta, files)

    def newest(self) -> Proposal | None:
        """The newest proposal of this worktree, which is its state; None if there is none."""
        return next(self.history(), None)

    def state_of(self, identifier: str) -> ProposalState:
        """The state that a proposal recorded; an empty one for an empty id."""
        return self.find(identifier).state if identifier else ProposalState()


class NewState(NamedTuple):
    """A state to store: what led to it, and more metadata.

    `base` is the commit that has the files which are not in the state; empty for none.
    """

    state: ProposalState
    action: str
    base: str
    more: Mapping[str, object] = MappingProxyType({})


class ObjectStore:
    """Writes the objects of one proposal; they are published when it is stored."""

    def __init__(self, repository: Repository, scratch: str) -> None:
        self._repository = repository
        self._quarantine = Quarantine(repository, scratch)

    @property
    def git(self) -> Git:
        """Git that writes new objects to the quarantine, and sees them."""
        return self._quarantine.git

    def store(self, data: bytes) -> str:
        """Write a blob; returns its id."""
        return self._quarantine.store(b"blob", data).decode("ascii")

    def _tree(self, tree: TreeEditor, versions: Versions) -> str:
        """Store a tree with other versions of some files, and return its id."""
        # Removals first: a file may replace a directory, or the other way round.
        for path, version in sorted(versions.items(), key=lambda item: item[1] is not None):
            item = version and Item(version.mode.encode(), version.id.encode())
            tree.put(os.fsencode(path), item)
        return tree.write(self._quarantine.store).decode("ascii")

    def write(self, new: NewState) -> Proposal:
        """Write the commits and create the ref of a proposal."""
        repository, state = self._repository, new.state
        identifier = repository.store.new_id()
        when, by = id_time(identifier), repository.config.identity()
        base = new.base or repository.empty_tree
        tree = TreeEditor.of(repository.store, base, state.context)
        before, context, output = (self._tree(tree, v) for v in ({}, state.context, state.output))
        common = {
            "boocode": VERSION,
            "id": identifier,
            "created_at": timestamp(time.time()),
            "worktree": repository.worktree_json(),
        }

        def commit(tree: str, parent: str, kind: str, values: Mapping[str, object]) -> Commit:
            message = Metadata({**common, "kind": kind, **values}).message()
            parents = [parent] if parent else []
            raw = raw_commit(tree, parents, message, by, when)
            made = self._quarantine.store(b"commit", raw).decode("ascii")
            return Commit(made, tree, tuple(parents), message)

        parent = new.base
        if not parent or context != before:
            parent = commit(context, new.base, _CONTEXT_KIND, {}).id
        files = state.files()
        values = {"action": new.action, "base": new.base or None, **new.more}
        made = commit(output, parent, KIND, {**values, "files": [*map(_file_json, files)]})
        self._quarantine.release()
        changes = [RefChange(PROPOSALS + identifier, made.id, None)]
        with SignalsWait():
            create_refs(repository, self._quarantine, changes, [made.id, parent])
            ignore_signals()
        return Proposal(identifier, made, Metadata.parse(made.message), tuple(files))


def store_proposal(
    repository: Repository,
    write: Callable[[ObjectStore], NewState],
    locked: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Proposal:
    """Store the state that `write` returns, which may write the blobs of it first.

    `locked` takes the worktree's lock for the rest, unless the caller holds it. `write` is called
    again if git deleted objects meanwhile.
    """

    def attempt() -> Proposal:
        with scratch_directory(repository.state_dir) as scratch:
            objects = ObjectStore(repository, scratch)
            new = write(objects)
            with locked():
                return objects.write(new)

    return protect_from_gc(attempt)


def base_of(repository: Repository, newest: Proposal | None) -> str:
    """The commit for the files that are not in the state: that of the newest proposal, or HEAD."""
    base = newest.meta.text("base") if newest else ""
    for name in (base, "HEAD") if OBJECT_ID.fullmatch(base) else ("HEAD",):
        if found := repository.store.commit(name):
            return found.id
    return ""


class ProposalMovedError(RefusedError):
    """Another process has stored a proposal since the newest one was read."""

    def __init__(self) -> None:
        super().__init__(
            "another process changed the proposal meanwhile",
            code="conflict",
            hints=(NextStep("nothing was changed; run the command again", "retry"),),
        )


def refuse_moved(repository: Repository, expected: Proposal | None) -> None:
    """ProposalMovedError if another process has stored a proposal since."""
    now = Proposals(repository).newest()
    if (now and now.id) != (expected and expected.id):
        raise ProposalMovedError


def retry_moved(change: Callable[[], _Result]) -> _Result:
    """Call a function that changes the newest proposal; again if another process does it, too."""
    for _ in range(_ATTEMPTS):
        with suppress(ProposalMovedError):
            return change()
    return change()


def _file_json(file: ContextFile) -> dict[str, object]:
    origin = {"from": file.source} if file.source else {}
    sides = {"context": file.context, "output": file.output}
    versions = {side: version and version._asdict() for side, version in sides.items()}
    return {"path": file.path, **origin, **versions}


def _parsed_file(row: dict[str, Any]) -> ContextFile:
    path, source = row.get("path"), row.get("from", "")
    if not (isinstance(path, str) and isinstance(source, str)):
        raise _malformed("it lacks the path of a file")
    if not (_is_tree_path(path) and (not source or _is_tree_path(source))):
        raise _malformed("it names a path that is not in a worktree")
    return ContextFile(path, source, _version(row.get("context")), _version(row.get("output")))


def _is_tree_path(path: str) -> bool:
    """Whether git could have a file at a path, and git-boocode has written it like this."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    dots = any(part in ("", ".", "..") for part in path.split("/"))
    return not dots and "\0" not in path and not is_in_dot_git(path)


def _version(value: object) -> BlobVersion | None:
    if value is None:
        return None
    table = value if isinstance(value, dict) else {}
    mode, identifier = (str(table.get(key)) for key in BlobVersion._fields)
    if not (_MODE.fullmatch(mode) and OBJECT_ID.fullmatch(identifier)):
        raise _malformed("it lacks the version of a file")
    return BlobVersion(mode, identifier)


def _malformed(message: str) -> MetadataError:
    return MetadataError(message, code="malformed")
