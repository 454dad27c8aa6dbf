"""Commits that are pushed instead of others: without secrets, and without private files.

A twin has the id of its checkpoint or proposal, and says in its metadata what it lacks. The same
commit gets the same twin, on every machine, so that a push that is repeated pushes nothing. The
commits here stay as they are; a private file lists their twins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from git_boocode.checkpoints.store.catalog import INCLUDED, REDACTED, WITHHELD, texts_of
from git_boocode.checkpoints.store.secret_scan import Outgoing, read_objects, utf_16_of
from git_boocode.repo.durable import read_private_json, write_private
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.layout import ALL_REFS, TWINS
from git_boocode.repo.masking import Masker, mask_value
from git_boocode.repo.object_writer import Quarantine
from git_boocode.repo.path_rule import INCLUDED_SIZE
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import CatFile, tree_entries
from git_boocode.repo.trees import Item, tree_body

LARGEST_REDACTED = 64 << 20
"""The maximum size in bytes of a file in which secrets can be replaced: it is held in memory."""
_SIGNATURES = ("gpgsig", "gpgsig-sha256", "mergetag")
_PROOF = "proof"
_SKIPPED = "skipped"
_PARTIAL = "partial"


def known_twins(repository: Repository) -> dict[str, str]:
    """The twins that were pushed from here, by the commits that they stand for."""
    found = read_private_json(_path(repository), largest=None)
    table = found if isinstance(found, dict) else {}
    return {key: value for key, value in table.items() if isinstance(value, str)}


def remember_twins(repository: Repository, twins: Mapping[str, str]) -> None:
    """Note the twins of some commits; those of commits that are gone are forgotten."""
    if not twins:
        return
    here = {ref.target for ref in repository.store.refs(ALL_REFS)}
    every = {**known_twins(repository), **twins}
    kept = {commit: twin for commit, twin in every.items() if commit in here}
    # Without the note, the next push makes the same twins and finds them on the remote.
    with suppress(OSError):
        write_private(_path(repository), json.dumps(kept).encode())


def _path(repository: Repository) -> str:
    return os.path.join(repository.common_state_dir, TWINS)


def private_paths(meta: Metadata) -> frozenset[str]:
    """The private files that a checkpoint records, or names because they are too large for that."""
    rows = (row for row in meta.tables(_SKIPPED) if INCLUDED_SIZE in str(row.get("reason")))
    return frozenset((*texts_of(meta, INCLUDED), *(str(row.get("path")) for row in rows)))


class Twins(NamedTuple):
    """The twins of commits, by the commits that they stand for, of which some are redacted."""

    commits: Mapping[str, str] = MappingProxyType({})
    redacted: Collection[str] = ()


class Rewriter:
    """Makes the twins of the commits that a push sends.

    `private` are the paths that no twin has, by the commits that have them; `hidden` are commits of
    staging areas that no twin has. With a `mask`, secrets are replaced as well. New objects go to
    the quarantine, which the caller releases.
    """

    def __init__(
        self,
        git: Git,
        quarantine: Quarantine,
        going: Outgoing,
        private: Mapping[str, Collection[str]],
        hidden: Collection[str] = (),
        mask: Masker | None = None,
    ) -> None:
        self._git = git
        self._files = CatFile(git)
        self._store = quarantine.store
        self._going = going
        self._private = private
        self._hidden = hidden
        self._mask = mask
        self._new: dict[str, str] = {}  # the ids of what was rewritten, by the old ones
        self._redacted: set[str] = set()  # the old ids of what has secrets in it
        # Trees without their private files; None for one that is empty then.
        self._trees: dict[tuple[str, frozenset[str]], str | None] = {}
        self._sent: set[str] = set()  # the trees that may have a file with a secret

    def twins(self) -> Twins:
        """The twins of those targets that have one."""
        try:
            if self._mask is not None:
                self._redact_files(self._mask)
            commits = ((each, "") for each in self._going.commits(self._git))
            for identifier, kind, _, pieces in read_objects(self._git, commits):
                if kind == "commit":
                    self._rewrite_commit(identifier, b"".join(pieces))
        finally:
            self._files.close()
        targets = self._going.targets
        twins = {each: self._new[each] for each in targets if each in self._new}
        return Twins(twins, self._redacted.intersection(targets))

    def _redact_files(self, mask: Masker) -> None:
        objects = self._going.objects(self._git)
        for identifier, kind, path, pieces in read_objects(self._git, objects):
            if kind == "tree":
                self._sent.add(identifier)
            if kind == "blob":
                body = _beginning(pieces)
                utf_16 = "" if len(body) % 2 else utf_16_of(body)
                if utf_16 or mask.may_have_secrets(body):
                    form = (utf_16, "surrogatepass") if utf_16 else ("utf-8", "surrogateescape")
                    text = body.decode(*form)
                    masked = mask(text)
                    if masked != text and len(body) > LARGEST_REDACTED:
                        raise _too_large(path)
                    if masked != text:
                        self._set(identifier, b"blob", masked.encode(*form), redacted=True)

    def _set(self, old: str, kind: bytes, raw: bytes, *, redacted: bool) -> str:
        self._new[old] = new = self._store(kind, raw).decode("ascii")
        if redacted:
            self._redacted.add(old)
        return new

    def _rewrite_commit(self, identifier: str, raw: bytes) -> None:
        head, _, message = raw.decode("utf-8", "surrogateescape").partition("\n\n")
        private = frozenset(self._private.get(identifier, ()))
        before = head.split("\n")
        redacted, after = False, list[str]()
        for line in before:
            key, _, value = line.partition(" ")
            if key == "tree":
                after.append(f"tree {self._rewritten_root(value, private)}")
            elif value not in self._hidden:
                after.append(f"parent {self._new.get(value, value)}" if key == "parent" else line)
            redacted = redacted or (key in ("tree", "parent") and value in self._redacted)
        masked = self._mask(message) if self._mask else message
        redacted = redacted or masked != message
        if redacted or private or after != before:
            text = self._rewritten_message(message, private, redacted=redacted)
            made = "\n".join((*_unsigned(after), "", text if text is not None else masked))
            raw = made.encode("utf-8", "surrogateescape")
            self._set(identifier, b"commit", raw, redacted=redacted)

    def _rewritten_message(
        self, message: str, private: Collection[str], *, redacted: bool
    ) -> str | None:
        """The message of a checkpoint or proposal with other metadata; None for any other."""
        try:
            meta = Metadata.parse(message)
        except MetadataError:
            return None
        values = dict(meta.values)
        # It proves that the commit is unchanged.
        values.pop(_PROOF, None)
        if private:
            values.pop(INCLUDED, None)
            values[WITHHELD] = len(private)
            values[_SKIPPED] = [r for r in meta.tables(_SKIPPED) if r.get("path") not in private]
            if part := meta.table(_PARTIAL):
                names = {os.path.basename(path) for path in private}
                specs = (spec for spec in part.get("paths") or () if isinstance(spec, str))
                kept = [spec for spec in specs if not any(name in spec for name in names)]
                values[_PARTIAL] = {**part, "paths": kept or None}
        if self._mask and isinstance(own := values.get("meta"), dict):
            # Of the other tables, the keys are ours.
            values["meta"] = {self._mask(key): value for key, value in own.items()}
        index = values.get("index")
        if isinstance(index, dict) and (
            index.get("details") in self._redacted or index.get("commit") in self._hidden
        ):
            # Its records name the files as they were, or name private ones.
            values["index"] = dict.fromkeys(index)
        return Metadata(
            {**self._mapped(values), **({REDACTED: True} if redacted else {})}
        ).message()

    def _mapped(self, value: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(value, str):
            return self._new.get(value) or (
                mask_value(self._mask, name, value) if self._mask else value
            )
        if isinstance(value, dict):
            return {key: self._mapped(each, key) for key, each in value.items()}
        return [self._mapped(each) for each in value] if isinstance(value, list) else value

    def _rewritten_root(self, tree: str, private: frozenset[str]) -> str:
        new = self._rewritten_tree(tree, private) or self._store(b"tree", b"").decode("ascii")
        # The last one is right for the metadata of the commit, which has the same files.
        self._new[tree] = new
        return new

    def _rewritten_tree(self, tree: str, private: frozenset[str]) -> str | None:
        key = tree, private
        if not private and tree not in self._sent:
            return tree
        if key not in self._trees:
            self._trees[key] = self._made_tree(tree, private)
        return self._trees[key]

    def _made_tree(self, tree: str, private: frozenset[str]) -> str | None:
        [found] = self._files.read([tree])
        if found is None:
            raise GitError(("cat-file",), 128, f"cannot read tree {tree}")
        table = dict[bytes, Item]()
        for name, entry in tree_entries(found):
            new: str | None = None if name in private else entry.id
            if new and entry.kind == "tree":
                top = f"{name}/"
                inside = frozenset(p.removeprefix(top) for p in private if p.startswith(top))
                new = self._rewritten_tree(entry.id, inside)
            elif new:
                new = self._new.get(new, new)
            if new is not None:
                if entry.id in self._redacted:
                    self._redacted.add(tree)
                mode = entry.mode.lstrip("0").encode()
                table[os.fsencode(name)] = Item(mode, new.encode("ascii"))
        return self._store(b"tree", tree_body(table)).decode("ascii") if table else None


def _beginning(pieces: Iterator[bytes]) -> bytes:
    """The bytes of a file, and only the beginning of one that is too large to rewrite."""
    body = bytearray()
    for piece in pieces:
        if len(body) <= LARGEST_REDACTED:
            body += piece
    return bytes(body)


def _too_large(path: str) -> RefusedError:
    return RefusedError(
        f"'{path}' is larger than {LARGEST_REDACTED >> 20} MiB; its secrets cannot be replaced",
        code="secrets",
        hints=("'git boocode help push' says in SECRETS what works instead",),
    )


def _unsigned(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a commit without signatures, which are not those of its twin."""
    is_signature = False
    for line in lines:
        if not line.startswith(" "):
            is_signature = line.partition(" ")[0] in _SIGNATURES
        if not is_signature:
            yield line
