"""Proposals: what a model wants of some files, beside what it has seen of them.

A proposal is a commit at `refs/boocode/proposals/<id>`. Its first parent is the context, its tree
the output, its message names the files in question. No ref moves: whatever changes the state, such
as another proposal or its acceptance, is a new commit, and the newest one of a worktree counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.checkpoints.worktree.indexer import may_convert
from git_boocode.repo.entries import VERSION, EntryCatalog, Metadata, MetadataError
from git_boocode.repo.errors import NextStep, RefusedError
from git_boocode.repo.files import is_in_dot_git
from git_boocode.repo.gc import protect_from_gc, publish
from git_boocode.repo.ids import ID, OBJECT_ID, id_time, timestamp
from git_boocode.repo.layout import PROPOSALS
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.object_writer import REGULAR, SYMLINK, Quarantine, object_id, raw_commit
from git_boocode.repo.process import SignalsWait, ignore_signals
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref, RefChange
from git_boocode.repo.trees import Item, TreeEditor

if TYPE_CHECKING:
    from git_boocode.checkpoints.restore.request import ProposalStep

KIND = "proposal"
_CONTEXT_KIND = "context"


class BlobVersion(NamedTuple):
    """A version of a file: git's mode, and the id of the blob that git stores for it."""

    mode: str
    id: str

    @property
    def is_executable(self) -> bool:
        """Whether it is an executable file."""
        return self.mode == "100755"


class NewVersion(NamedTuple):
    """A version of a file that git may not have stored: git's mode, and its worktree bytes."""

    mode: str
    data: bytes


AnyVersion = BlobVersion | NewVersion
Changes = Mapping[str, tuple[AnyVersion | None, AnyVersion | None]]
"""New contexts and outputs by path, relative to the top; None for a missing file."""


KnownVersions = tuple[BlobVersion | None, ...]
"""The versions that a file of the worktree may have: of the context, and of the output."""


class Sides(NamedTuple):
    """What a model has seen at a path, and what it wants there; None for no file."""

    context: BlobVersion | None = None
    output: BlobVersion | None = None


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
    def known(self) -> dict[str, KnownVersions]:
        """The versions that the user's files may have, by path; of a rename, one of each side."""
        if self.source:
            return {self.source: (self.context,), self.path: (self.output,)}
        return {self.path: (self.context, self.output)}

    @property
    def change(self) -> str:
        """The letter of the proposed change: `M`, `A`, `D` or `R`; empty for none."""
        if self.source:
            return "R"
        if self.context == self.output:
            return ""
        return "A" if self.context is None else "D" if self.output is None else "M"


class ProposalState(NamedTuple):
    """What is proposed: the sides of files by path, and the old paths of renames by new path."""

    sides: Mapping[str, Sides] = MappingProxyType({})
    renames: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, files: Iterable[ContextFile]) -> ProposalState:
        """The state that consists of some files."""
        sides, renames = dict[str, Sides](), dict[str, str]()
        for file in files:
            if file.source:
                renames[file.path] = file.source
                sides[file.source] = Sides(file.context, None)
                sides[file.path] = Sides(None, file.output)
            else:
                sides[file.path] = Sides(file.context, file.output)
        return cls(sides, renames)

    def at(self, path: str) -> Sides:
        """The sides of a path; None on both if it is not in the state."""
        return self.sides.get(path, Sides())

    def files(self) -> list[ContextFile]:
        """The files, by path; a rename is one of them."""
        renames = {
            new: old
            for new, old in self.renames.items()
            if self.at(old).context is not None
            and self.at(new).output is not None
            and not (self.at(new).context or self.at(old).output)
        }
        gone = set(renames.values())
        return [
            ContextFile(
                path,
                renames.get(path, ""),
                self.sides[renames.get(path, path)].context,
                self.sides[path].output,
            )
            for path in sorted(self.sides)
            if path not in gone
        ]

    def with_changes(self, sides: Mapping[str, Sides], renames: Mapping[str, str]) -> ProposalState:
        """A copy with other sides of some paths; a path with no file on both leaves the state."""
        changed = {**self.sides, **sides}
        kept = {path: each for path, each in changed.items() if each != Sides()}
        return ProposalState(kept, {**self.renames, **renames})


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


class StateChange(NamedTuple):
    """A change of what is proposed: what led to it, and the new sides and renames by path.

    `base` is the commit that has the files which are not in the state; by default that of the
    newest proposal, or HEAD. `more` are further metadata.
    """

    action: str
    sides: Changes
    renames: Mapping[str, str] = MappingProxyType({})
    base: str = ""
    more: Mapping[str, object] = MappingProxyType({})


def store_proposal(
    repository: Repository,
    newest: Proposal | None,
    change: StateChange,
    locked: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Proposal:
    """Store what a change makes of the newest proposal, with the blobs that git does not have.

    `locked` takes the worktree's lock after the blobs are written, unless the caller holds it.
    """
    before = newest.state if newest else ProposalState()
    change = change._replace(base=change.base or _base_of(repository, newest))

    def attempt() -> Proposal:
        with scratch_directory(repository.state_dir) as scratch:
            quarantine = Quarantine(repository, scratch)

            def stored(path: str, version: AnyVersion | None) -> BlobVersion | None:
                if isinstance(version, NewVersion):
                    return version_of(repository, path, version, quarantine)
                return version

            sides = dict[str, Sides]()
            for path, (context, output) in change.sides.items():
                first = stored(path, context)
                sides[path] = Sides(first, first if output == context else stored(path, output))
            state = before.with_changes(sides, change.renames)
            with locked():
                return _publish(repository, quarantine, state, change)

    return protect_from_gc(attempt)


def version_of(
    repository: Repository, path: str, new: NewVersion, quarantine: Quarantine | None = None
) -> BlobVersion:
    """The version that git stores for some bytes of the worktree; it does so in a quarantine.

    FatalError if a filter fails.
    """
    if new.mode != SYMLINK and may_convert(repository, [path]):
        git, write = (quarantine.git, ["-w"]) if quarantine else (repository.git, [])
        options = (*write, f"--path={path}", "--stdin")
        return BlobVersion(new.mode, git.line("hash-object", *options, stdin=new.data))
    if quarantine is None:
        return BlobVersion(new.mode, object_id(repository.object_format, b"blob", new.data))
    return BlobVersion(new.mode, quarantine.store(b"blob", new.data).decode("ascii"))


def _base_of(repository: Repository, newest: Proposal | None) -> str:
    base = newest.meta.text("base") if newest else ""
    for name in (base, "HEAD") if OBJECT_ID.fullmatch(base) else ("HEAD",):
        if found := repository.store.commit(name):
            return found.id
    return ""


def _publish(
    repository: Repository, quarantine: Quarantine, state: ProposalState, change: StateChange
) -> Proposal:
    """Write the commits of a state, and create its ref."""
    identifier = repository.store.new_id()
    when, by = id_time(identifier), repository.config.identity()
    tree = TreeEditor.of(repository.store, change.base or repository.empty_tree, state.sides)

    def write_tree(versions: Mapping[str, BlobVersion | None]) -> str:
        # Removals first: a file may replace a directory, or the other way round.
        for path, version in sorted(versions.items(), key=lambda item: item[1] is not None):
            item = version and Item(version.mode.encode(), version.id.encode())
            tree.put(os.fsencode(path), item)
        return tree.write(quarantine.store).decode("ascii")

    before = write_tree({})
    context = write_tree({path: sides.context for path, sides in state.sides.items()})
    output = write_tree({path: sides.output for path, sides in state.sides.items()})
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
        made = quarantine.store(b"commit", raw).decode("ascii")
        return Commit(made, tree, tuple(parents), message)

    parent = change.base
    if not parent or context != before:
        parent = commit(context, change.base, _CONTEXT_KIND, {}).id
    files = state.files()
    values = {"action": change.action, "base": change.base or None, **change.more}
    made = commit(output, parent, KIND, {**values, "files": [*map(_file_json, files)]})
    changes = [RefChange(PROPOSALS + identifier, made.id, None)]
    with SignalsWait():
        publish(repository, quarantine, changes, [made.id, parent])
        ignore_signals()
    return Proposal(identifier, made, Metadata.parse(made.message), tuple(files))


class EarlierStates:
    """The proposals of a worktree; see `git_boocode.checkpoints.restore.request`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def newest_id(self) -> str:
        """The id of the newest proposal; empty for none."""
        newest = Proposals(self._repository).newest()
        return newest.id if newest else ""

    def bring_back(self, step: ProposalStep) -> None:
        """Make the paths of a step as they were before it, unless that proposal was pruned."""
        proposals = Proposals(self._repository)
        newest = proposals.newest()
        now = newest.state if newest else ProposalState()
        try:
            earlier = proposals.find(step.before).state if step.before else ProposalState()
        except RefusedError:
            # The files go back anyway, and `status` shows how they differ from the proposal.
            return
        # The step led to the next state after the one before it.
        since = takewhile(lambda proposal: proposal.id > step.before, proposals.history())
        after = ProposalState()
        for proposal in since:
            after = proposal.state
        # What was proposed since stays proposed.
        same = {path: earlier.at(path) for path in step.paths if now.at(path) == after.at(path)}
        renames = {new: old for new, old in earlier.renames.items() if new in same}
        store_proposal(self._repository, newest, StateChange("undo", same, renames))


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
    if not (mode in {*REGULAR, SYMLINK} and OBJECT_ID.fullmatch(identifier)):
        raise _malformed("it lacks the version of a file")
    return BlobVersion(mode, identifier)


def _malformed(message: str) -> MetadataError:
    return MetadataError(message, code="malformed")
