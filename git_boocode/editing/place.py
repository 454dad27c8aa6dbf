"""Where the paths of an input lead: the worktree, or without a repository the current directory."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.editing.textfile import Snapshot
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.paths import git_directory_above, inside_worktree
from git_boocode.repo.repository import Repository

LOCK_PATIENCE = 10.0
"""Seconds to wait for another command that writes to the same worktree."""
PATH_BYTES = 4_095
"""No path is longer: PATH_MAX of Linux, which counts a NUL at the end; others allow less."""
NAME_BYTES = 255
"""No part of a path is longer: NAME_MAX."""
_SHOWN = 3


class Target(NamedTuple):
    """A file that an edit is for.

    `path` counts from the top, its parts joined by `/`; `link` is the absolute path with symlinks
    as given, `real` the one with symlinks resolved.
    """

    path: str
    link: str
    real: str

    def is_resolved(self) -> bool:
        """Whether no symlink on the way has changed; the file itself may be one."""
        if self.link != self.real:
            return os.path.realpath(self.link) == self.real
        parent = os.path.dirname(self.real)
        return os.path.realpath(parent) == parent


class Place:
    """A directory that bounds all edits, and how paths in it are read.

    Args:
        top: the directory, absolute, symlinks resolved.
        prefix: where the caller stands below it, `""` or `"sub/dir/"`.
        repository: the repository whose worktree it is, or None.
        from_here: read paths from where the caller stands, as git reads those of its command line;
            otherwise from the top, and from there only where nothing is found at the top.
    """

    def __init__(
        self, top: str, prefix: str, repository: Repository | None, *, from_here: bool = False
    ) -> None:
        self.top = top
        self.prefix = prefix
        self.repository = repository
        self.from_here = from_here

    @classmethod
    def find(cls, *, index: bool, from_here: bool = False) -> Place:
        """The place for the current directory.

        Args:
            index: use the repository; without it, the current directory alone bounds the edits.
            from_here: see the class.

        Raises:
            FatalError: there is no repository, and one is wanted.
        """
        if not index:
            return cls(_here(), "", None, from_here=from_here)
        try:
            found = Repository.discover()
        except FatalError as error:
            if error.code == "not_a_repository":
                error.hints += ("--no-index edits files outside a repository",)
            raise
        return cls(found.worktree, found.prefix, found, from_here=from_here)

    def target(self, path: str) -> Target:
        """The file that a path names.

        Raises:
            MissError: it is no path, or it leads out (`outside_worktree`, `invalid_input`).
        """
        _check_path(path)
        if self.from_here:
            return self._resolve(self._from_prefix(path))
        return self._from_top_or_prefix(path)

    def destination(self, path: str, to: str) -> Target:
        """The file that a renamed one becomes; its path is read from where the old one was.

        Args:
            path: the path of the file to rename, as the input names it.
            to: its new path.

        Raises:
            MissError: it is no path, or it leads out (`outside_worktree`, `invalid_input`).
        """
        _check_path(to)
        below = self._existing_below(path)
        if self.from_here or (below is not None and below == self.target(path)):
            return self._resolve(self._from_prefix(to))
        return self._resolve(to)

    def _from_top_or_prefix(self, path: str) -> Target:
        try:
            target = self._resolve(path)
        except MissError:
            below = self._existing_below(path)
            if below is None:
                raise
            return below
        below = self._existing_below(path)
        if below is None or not os.path.lexists(target.link):
            return below or target
        if target.real != below.real:
            raise MissError(
                "ambiguous",
                f"there is '{target.path}' at the top of the worktree, and '{below.path}' from "
                "where the command was called",
                hint="send the absolute path of the one that is meant",
            )
        return target

    def _existing_below(self, path: str) -> Target | None:
        if not self.prefix or not path or os.path.isabs(path):
            return None
        try:
            target = self._resolve(self._from_prefix(path))
        except MissError:
            return None
        return target if os.path.lexists(target.link) else None

    def _from_prefix(self, path: str) -> str:
        return os.path.join(self.prefix, path) if path else path

    def _resolve(self, path: str) -> Target:
        if path.startswith("~/") and not os.path.lexists(os.path.join(self.top, "~")):
            raise MissError(
                "outside_worktree",
                "'~' is read by shells, not here",
                hint="name the file by its path from the top of the worktree",
            )
        try:
            below = inside_worktree(self.top, path)
        except RefusedError as error:
            hint = "\n".join(error.hints) or None
            message = error.message.removeprefix(f"'{path}' ")
            raise MissError(error.code, message, hint=hint) from None
        link = os.path.join(self.top, *below.split("/"))
        target = Target(below, link, os.path.realpath(link))
        if git_directory_above(target.real) is not None:
            raise MissError("outside_worktree", "it lies in a git directory")
        return target

    def names(self, real: str, before: Snapshot | None) -> list[tuple[object, ...]]:
        """What two paths have in common that name one file, whatever the file system calls equal.

        Args:
            real: a path with its symlinks resolved.
            before: what is there, None if nothing is.
        """
        folded = unicodedata.normalize("NFC", real).casefold()
        names: list[tuple[object, ...]] = [(real,)]
        if before is not None:
            # Hard links share the inode, yet are files of their own; names that differ in case or
            # in their Unicode form share it where the file system does not tell them apart.
            names.append((before.device, before.inode, folded))
        if self._is_set("core.ignorecase"):
            names.append((folded,))
        elif self._is_set("core.precomposeunicode"):
            names.append((unicodedata.normalize("NFC", real),))
        return names

    def _is_set(self, key: str) -> bool:
        return self.repository is not None and self.repository.config.boolean(key, default=False)

    def clean_blob_id(self, path: str, data: bytes) -> str | None:
        """The id that git would store a file under, after its clean filters and line endings."""
        if self.repository is None:
            return None
        done = self.repository.git.attempt("hash-object", f"--path={path}", "--stdin", stdin=data)
        return done.stdout.decode("ascii").strip() if done.status == 0 else None

    def similar(self, path: str) -> list[str]:
        """The existing paths that come nearest to one that does not exist, best first."""
        wanted = os.path.normpath(self._from_prefix(path)) if self.from_here else path
        known = [other for other in self._known(wanted) if self._is_there(other)]
        name = os.path.basename(wanted).casefold()
        same_name = [other for other in known if os.path.basename(other).casefold() == name]
        near = _nearest(wanted, same_name, 0) or _nearest(wanted, known, 70)
        return [self._spelled(other) for other in near]

    def _is_there(self, path: str) -> bool:
        return os.path.exists(os.path.join(self.top, path))

    def _spelled(self, path: str) -> str:
        """A path from the top, as the caller would write it."""
        return os.path.relpath(path, self.prefix or ".") if self.from_here else path

    def _known(self, path: str) -> list[str]:
        if self.repository is not None:
            from git_boocode.repo.git import nul_records

            listing = (
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
                "--deduplicate",
            )
            return nul_records(self.repository.git.attempt(*listing).stdout)
        parent = os.path.dirname(path)
        try:
            return [
                os.path.join(parent, name) for name in os.listdir(os.path.join(self.top, parent))
            ]
        except OSError:
            return []

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold off every other command that writes to this worktree.

        Raises:
            RefusedError: one is at work and does not end (`locked`).
        """
        if self.repository is None:
            yield
            return
        from git_boocode.repo.scratch import worktree_lock

        with worktree_lock(self.repository.state_dir, shared=False, patience=LOCK_PATIENCE):
            yield


def missing_file(place: Place, path: str) -> MissError:
    """The refusal of a path that leads nowhere, with the paths that come nearest."""
    near = place.similar(path)
    hint = f"the most similar paths are: {', '.join(near)}" if near else None
    return MissError("missing_file", "there is no such file", hint=hint)


def both_listed(one: str, other: str) -> bool:
    """Whether two paths that may name one file part at two entries of one directory.

    Args:
        one: a path with its symlinks resolved.
        other: another one.
    """
    if one == other:
        return False
    above = os.path.commonpath((one, other))
    names = [os.path.relpath(path, above).split(os.sep)[0] for path in (one, other)]
    try:
        return {*names} <= {*os.listdir(above)}
    except OSError:
        return False


def _nearest(path: str, others: list[str], cutoff: float) -> list[str]:
    if not others:
        return []
    from rapidfuzz import fuzz, process

    found = process.extract(path, others, scorer=fuzz.ratio, limit=_SHOWN, score_cutoff=cutoff)
    return [other for other, _, _ in found]


def _check_path(path: str) -> None:
    """Refuse what no system takes for a path, before each of its parts is looked at."""
    try:
        data = os.fsencode(path)
    except UnicodeEncodeError:
        raise MissError(
            "invalid_input", "the path holds characters that no file name can have"
        ) from None
    if len(data) > PATH_BYTES:
        raise MissError(
            "invalid_input",
            f"the path has {len(data)} bytes, more than the {PATH_BYTES} that a path can have",
        )
    longest = max(map(len, data.split(b"/")))
    if longest > NAME_BYTES:
        raise MissError(
            "invalid_input",
            f"a part of the path has {longest} bytes, more than the {NAME_BYTES} that a file name "
            "can have",
        )


def _here() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except FileNotFoundError:
        raise FatalError("the current directory is gone", code="no_directory") from None
