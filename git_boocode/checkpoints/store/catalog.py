"""The checkpoints of a repository: list, find and compare them, and prove where they were taken."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from typing import Any, NamedTuple

from git_boocode.repo.durable import read_private, sync, sync_path
from git_boocode.repo.entries import EntryCatalog, Metadata, Unusable, refs_beginning
from git_boocode.repo.errors import NextStep, RefusedError, shortened
from git_boocode.repo.git import Git, nul_records
from git_boocode.repo.ids import OBJECT_ID, relative_offset
from git_boocode.repo.layout import (
    ARCHIVE,
    CHECKPOINTS,
    ORIGIN_KEY,
    PROPOSALS,
    REMOTE_PROPOSALS,
    REMOTE_TURN_ENDS,
    REMOTES,
    SAFETY,
    TOOL_STATES,
    TURN_ENDS,
)
from git_boocode.repo.lock import file_lock
from git_boocode.repo.object_writer import GITLINK
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit, Ref

SAFETY_KIND = "pre-restore"
TURN_END_KIND = "turn-end"
TOOL_STATE_KIND = "tool-state"
# Keys of the metadata: pathspecs of what a checkpoint does not hold, the ignored files that it
# holds, and what a commit lacks that was pushed instead of another.
EXCLUDED = "excluded"
INCLUDED = "included"
REDACTED = "redacted"
WITHHELD = "withheld"
NO_CHECKPOINTS = NextStep(
    "this worktree has no checkpoints; {} takes one",
    "checkpoint",
    typed="'git boocode checkpoint'",
)
# Override the user's `diff.ignoreSubmodules`.
_DIFF_TREE = ("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none")
_ACTIONS = {"A": "create", "D": "delete"}
_KEY_SIZE = 32  # bytes
_PATIENCE = 10.0
_PROOF = "proof"


def texts_of(meta: Metadata, key: str) -> tuple[str, ...]:
    """The texts in a list of the metadata, such as `EXCLUDED`."""
    values = meta.values.get(key)
    return (
        tuple(text for text in values if isinstance(text, str)) if isinstance(values, list) else ()
    )


class Checkpoint(NamedTuple):
    """A readable checkpoint; `ref` is the full name of its ref."""

    id: str
    ref: str
    commit: Commit
    meta: Metadata

    @property
    def tree(self) -> str:
        """The tree of the worktree at that time."""
        return self.commit.tree

    @property
    def head(self) -> str | None:
        """The commit that HEAD named at that time; None on an unborn branch."""
        head = self.meta.part("head", "commit")
        return head if head in self.commit.parents else None

    @property
    def commits(self) -> list[str]:
        """The commits whose trees it needs."""
        details = self.meta.part("index", "details")
        more = [details] if details is not None and OBJECT_ID.fullmatch(details) else []
        return [self.commit.id, *self.commit.parents, *more]

    @property
    def in_turn(self) -> str:
        """The id of the turn during which its own agent took it; empty if it begins a turn."""
        return self.meta.text("in_turn")

    @property
    def texts(self) -> dict[str, str]:
        """The texts that lists show, without secrets; missing ones are empty."""
        keys = ("created_at", "label", "prompt", "session", "chat", "message", "agent", "trigger")
        return {key: self.meta.shown(key) for key in keys}

    @property
    def remote(self) -> str:
        """The remote that it was fetched from; empty for a local checkpoint."""
        return remote_of(self.ref)


class Catalog(EntryCatalog[Checkpoint]):
    """The checkpoints of one repository, as seen from one worktree."""

    noun = "checkpoint"
    prefixes = (CHECKPOINTS, SAFETY, ARCHIVE, REMOTES)
    listing_hint = NextStep("{} lists the checkpoints", "log", typed="'git boocode log'")

    @staticmethod
    def read(ref: Ref, commit: Commit) -> Checkpoint:
        """See `EntryCatalog.read`."""
        return Checkpoint(ref.id, ref.name, commit, Metadata.parse(commit.message))

    def ref_of(self, name: str) -> Ref:
        """See `EntryCatalog.ref_of`; names a proposal as such."""
        try:
            return super().ref_of(name)
        except RefusedError as error:
            if error.code != "not_found" or not refs_beginning(
                name.lower(), self.store.refs(PROPOSALS)
            ):
                raise
        raise RefusedError(
            f"'{shortened(name)}' is a proposal, not a checkpoint",
            code="not_found",
            hints=(
                NextStep(
                    "'git boocode status' and {} show the newest one",
                    "diff",
                    "proposal",
                    typed="'git boocode diff --proposal'",
                ),
            ),
        )

    def _not_found(self, message: str) -> RefusedError:
        if self.latest() is None:
            return RefusedError(message, code="not_found", hints=(NO_CHECKPOINTS,))
        return super()._not_found(message)

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint of this worktree; None if there is none."""
        return next(self.history(), None)

    def way_to_latest(self) -> NextStep:
        """The hint at the latest checkpoint, or at how to take the first one."""
        if self.latest() is None:
            return NO_CHECKPOINTS
        text = "{} goes back to before the latest turn"
        return NextStep(text, "restore", "@", typed="'git boocode restore @'")

    def safety(self, *, everywhere: bool = False) -> list[Checkpoint]:
        """The safety checkpoints of this worktree, or of all, newest first."""
        entries = self.entries(self.store.refs(SAFETY))
        readable = (each for each in entries if isinstance(each, Checkpoint))
        return [each for each in readable if everywhere or self.is_ours(each)]

    def archived(self, *, everywhere: bool = False) -> Iterator[Checkpoint | Unusable]:
        """The checkpoints of this worktree, or of all, that restores archived, newest first."""
        refs = sorted(self.store.refs(ARCHIVE), key=lambda ref: ref.id, reverse=True)
        entries = self.entries(refs)
        return (e for e in entries if everywhere or isinstance(e, Unusable) or self.is_ours(e))

    def fetched(self, remote: str | None = None) -> Iterator[Checkpoint | Unusable]:
        """The checkpoints fetched from one remote, or from all remotes, newest first."""
        refs = self.store.refs(REMOTES if remote is None else f"{REMOTES}{remote}/")
        if remote is None:
            refs.sort(key=lambda ref: ref.id, reverse=True)
        # A remote's name may be the prefix of another one: `team`, `team/alice`.
        return self.entries(ref for ref in refs if remote in (None, remote_of(ref.name)))

    def everything(self) -> Iterator[Checkpoint | Unusable]:
        """The checkpoints of all worktrees, the archived and the fetched ones, newest first.

        One may come several times; that of the log comes first.
        """
        local = self.newest_first(everywhere=True)
        others = (self.archived(everywhere=True), self.fetched())
        return merge(local, *others, key=attrgetter("id"), reverse=True)

    def matching(self, name: str) -> list[Ref]:
        """See `EntryCatalog.matching`; of several refs with the same id, only the preferred one.

        An archived checkpoint may also be in the log, and a local one may also have been fetched.
        If remotes have different checkpoints under the same id, all of them are listed.
        """
        found: dict[str, Ref] = {}
        others: list[Ref] = []
        matches = super().matching(name)
        # Local checkpoints first, then archived ones, then fetched ones.
        matches.sort(key=lambda ref: (ref.name.startswith(REMOTES), ref.name.startswith(ARCHIVE)))
        for ref in matches:
            first = found.setdefault(ref.id, ref)
            if remote_of(first.name) and first.target != ref.target:
                others.append(ref)
        return [*found.values(), *others]

    def ambiguous(self, name: str, matches: Sequence[Ref]) -> RefusedError:
        """See `EntryCatalog.ambiguous`."""
        if len({ref.id for ref in matches}) > 1:
            return super().ambiguous(name, matches)
        shown = ", ".join(f"{ref.target} ({remote_of(ref.name)})" for ref in matches)
        return RefusedError(
            f"remotes have different checkpoints with the id '{matches[0].id}'",
            code="ambiguous",
            hints=(f"use the commit instead: {shown}",),
        )

    def refs_of(self, name: str) -> list[Ref]:
        """The refs of the checkpoint with this name; an archived checkpoint may have two.

        A full id also finds an unusable checkpoint. RefusedError as for `find`.
        """
        if relative_offset(name) is not None or name.startswith(("message:", "label:")):
            entry = self.find(name)
            return [Ref(entry.ref, entry.commit.id)]
        found = self.ref_of(name)
        if found.id != name.lower():
            self.usable(found)
        same = (ref for ref in self.store.refs(*self.prefixes) if ref.id == found.id)
        return [ref for ref in same if ref.target == found.target]


def remote_of(ref: str) -> str:
    """The remote of the ref of a fetched checkpoint or proposal; empty for any other ref."""
    for below in (REMOTES, REMOTE_PROPOSALS):
        if ref.startswith(below):
            return ref.removeprefix(below).rpartition("/")[0]
    return ""


def turn_end_ref(checkpoint: str) -> str:
    """The ref of the recorded end of the turn that a checkpoint began, by the checkpoint's ref."""
    if checkpoint.startswith(REMOTES):
        return REMOTE_TURN_ENDS + checkpoint.removeprefix(REMOTES)
    return TURN_ENDS + checkpoint.rpartition("/")[2]


def tool_states_ref(checkpoint: str) -> str:
    """The ref of the states around the tool calls of a turn, by the ref of its checkpoint."""
    return TOOL_STATES + checkpoint.rpartition("/")[2]


# Comparing trees.


class Change(NamedTuple):
    """A path, relative to the top of the worktree, that differs between an old and a new tree.

    `action` is `create`, `delete` or `modify`; the mode of a missing path is `000000`.
    """

    path: str
    action: str
    old_mode: str
    mode: str
    id: str
    old_id: str = ""

    @property
    def touches_gitlink(self) -> bool:
        """Whether either side is a submodule or a nested repository."""
        return GITLINK in (self.old_mode, self.mode)

    def as_json(self) -> dict[str, object]:
        """The path and the action."""
        return {"path": self.path, "action": self.action}


def tree_changes(git: Git, old: str, new: str, pathspecs: Iterable[str] = ()) -> list[Change]:
    """The paths that differ between two trees, in git's order."""
    if old == new:
        return []
    raw = without_index(git).run(*_DIFF_TREE, "--raw", "--abbrev=64", old, new, "--", *pathspecs)
    records = nul_records(raw)
    changes = []
    for fields, path in zip(records[::2], records[1::2], strict=True):
        old_mode, mode, old_id, new_id, letter = fields.removeprefix(":").split(" ")
        action = _ACTIONS.get(letter, "modify")
        changes.append(Change(path, action, old_mode, mode, new_id, old_id))
    return changes


def renames(git: Git, old: str, new: str) -> dict[str, str]:
    """The new names of the files that git takes for renamed between two trees."""
    options = ("-r", "-z", "-M", "--diff-filter=R", "--name-status", "--no-commit-id")
    records = nul_records(without_index(git).run("diff-tree", *options, old, new, "--"))
    return dict(zip(records[1::3], records[2::3], strict=True))


def compare_trees(
    repository: Repository, old: str, new: str, pathspecs: Iterable[str] = ()
) -> tuple[list[Change], str]:
    """The paths that differ between two trees, and the diff as text.

    Pathspecs are relative to the caller's directory. The text does not depend on the user's diff
    settings; bytes that are not UTF-8 become surrogates.
    """
    git = repository.git.bind(cwd=repository.directory)
    specs = list(pathspecs)
    changes = tree_changes(git, old, new, specs)
    text = without_index(git).run("diff-tree", "-r", "-p", old, new, "--", *specs)
    return changes, text.decode("utf-8", "surrogateescape")


def count_lines(git: Git, old: str, new: str) -> dict[str, tuple[int, int] | None]:
    """The added and removed lines by path, counted as `git diff --numstat`; None if binary."""
    options = ("--numstat", "--no-ext-diff", "--no-textconv")
    counts: dict[str, tuple[int, int] | None] = {}
    for record in nul_records(without_index(git).run(*_DIFF_TREE, *options, old, new)):
        added, removed, path = record.split("\t", 2)
        counts[path] = None if added == "-" else (int(added), int(removed))
    return counts


def without_index(git: Git) -> Git:
    """Git without the user's index, which comparing trees does not need.

    Git would read it first, and fail if it is damaged.
    """
    # The name is random, so that the file does not exist.
    name = f"no-index-{os.urandom(6).hex()}"
    return git.bind(GIT_INDEX_FILE=os.path.join(git.env["GIT_DIR"], name))


# The proof of origin. A checkpoint names files outside the repository, such as a transcript, which
# a callback changes. Its ref proves nothing: a clone or a mirror brings refs of any name. So its
# metadata has a keyed hash of the commit; the key never leaves the repository's private directory.
# A checkpoint without it, of a remote or of an earlier version, starts no callback.


def with_proof(
    repository: Repository, tree: str, parents: Sequence[str], values: Mapping[str, Any]
) -> dict[str, Any]:
    """The metadata of a new checkpoint with the proof that it was taken here.

    There is none if the key belongs to another user.
    """
    with suppress(PermissionError):
        key = _key(repository) or _make_key(repository)
        return {**values, _PROOF: _hash(key, tree, parents, values)}
    return dict(values)


def is_taken_here(repository: Repository, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint was taken in this repository, and is unchanged since."""
    commit, values = checkpoint.commit, checkpoint.meta.values
    with suppress(PermissionError):
        key = _key(repository)
        unproven = {name: value for name, value in values.items() if name != _PROOF}
        return (
            key is not None
            and values.get("id") == checkpoint.id
            and values.get(_PROOF) == _hash(key, commit.tree, commit.parents, unproven)
        )
    return False


def _hash(key: bytes, tree: str, parents: Sequence[str], values: Mapping[str, Any]) -> str:
    try:
        # What hashlib uses: loading OpenSSL as well would take longer than the rest.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    text = json.dumps([tree, [*parents], values])
    return str(blake2b(text.encode("ascii"), key=key, digest_size=_KEY_SIZE).hexdigest())


def _key(repository: Repository) -> bytes | None:
    path = os.path.join(repository.common_state_dir, ORIGIN_KEY)
    found = read_private(path, largest=_KEY_SIZE)
    return found if found and len(found) == _KEY_SIZE else None


def _make_key(repository: Repository) -> bytes:
    """Store a key, unless another process has just done so."""
    path = os.path.join(repository.common_state_dir, ORIGIN_KEY)
    with file_lock(path, patience=_PATIENCE) as descriptor:
        key = _key(repository)
        if key is None:
            key = os.urandom(_KEY_SIZE)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, key, 0)
            sync(descriptor)
            sync_path(os.path.dirname(path))
    return key
