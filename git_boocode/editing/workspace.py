"""Resolve the paths of an input in the worktree, or in the current directory without one."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Container, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.repo.atomic_write import Target
from git_boocode.repo.errors import FatalError, RefusedError, shortened
from git_boocode.repo.files import (
    FileState,
    git_directory_above,
    inside_worktree,
    mode_only,
    read_state,
)
from git_boocode.repo.repository import Repository

LOCK_PATIENCE = 10.0  # Seconds to wait for another command that writes to the same worktree.
# PATH_MAX of Linux without its final NUL, and NAME_MAX; no supported system allows more.
_PATH_BYTES, _NAME_BYTES = 4_095, 255


class Workspace(NamedTuple):
    """The directory `top`, absolute and resolved, that contains all edited files.

    The caller's directory is `prefix` below it, `""` or `"sub/dir/"`. With `from_here` paths are
    relative to that directory, as on git's command line; otherwise to the top, or to that directory
    if nothing exists at the top. `repository` is the repository of the worktree, or None. `buffers`
    replace the files on disk, by absolute path without symlinks (see `buffer_files`), as an editor
    holds them; what is edited in them is not written.
    """

    top: str
    prefix: str
    repository: Repository | None
    from_here: bool = False
    buffers: Mapping[str, FileState | None] = MappingProxyType({})

    @classmethod
    def find(cls, *, index: bool, from_here: bool = False) -> Workspace:
        """The worktree, or without `index` the current directory; FatalError if there is none.

        For commands that have an option `--no-index`; others use `here`.
        """
        try:
            if not index:
                return cls(os.path.realpath(os.getcwd()), "", None, from_here=from_here)
            found = Repository.discover()
        except FileNotFoundError:
            raise FatalError("the current directory does not exist", code="no_directory") from None
        except FatalError as error:
            if error.code != "not_a_repository":
                raise
            hints = (*error.hints, "--no-index edits files outside a repository")
            raise FatalError(
                error.message, code=error.code, hints=hints, details=error.details
            ) from None
        return cls(found.worktree, found.prefix, found, from_here=from_here)

    @classmethod
    def here(cls, directory: str | None = None) -> Workspace:
        """The worktree of a directory, by default the current one; FatalError if there is none."""
        found = Repository.discover(directory)
        return cls(found.worktree, found.prefix, found)

    def target(self, path: str) -> Target:
        """Resolve a path; MissError if it is invalid, or leaves the workspace."""
        _check_path(path)
        if self.from_here:
            return self._resolve(os.path.join(self.prefix, path))
        here = self._existing_here(path)
        try:
            target = self._resolve(path)
        except MissError:
            if here is None:
                raise
            return here
        if here is None or here.real == target.real:
            return target
        if not os.path.lexists(target.link):
            return here
        raise MissError(
            "ambiguous",
            f"both '{target.path}' and '{here.path}' exist, relative to the top of the worktree "
            "and to the current directory",
            hint="send the absolute path of one of them",
        )

    def destination(self, path: str, to: str) -> Target:
        """Resolve the new path of a renamed file, relative to the same directory as `path`."""
        _check_path(to)
        if self.from_here or self._existing_here(path) is not None:
            to = os.path.join(self.prefix, to)
        return self._resolve(to)

    def _existing_here(self, path: str) -> Target | None:
        """The existing file of a path relative to the caller's directory below the top."""
        if not self.prefix or os.path.isabs(path):
            return None
        try:
            target = self._resolve(os.path.join(self.prefix, path))
        except MissError:
            return None
        return target if self._is_there(target) else None

    def _is_there(self, target: Target) -> bool:
        if target.real in self.buffers:
            return self.buffers[target.real] is not None
        return os.path.lexists(target.link)

    def _resolve(self, path: str) -> Target:
        if path.startswith("~/") and not os.path.lexists(os.path.join(self.top, "~")):
            raise MissError(
                "outside_worktree",
                "only shells expand '~'",
                hint="name a file inside the worktree",
            )
        try:
            below = inside_worktree(self.top, path)
        except RefusedError as error:
            message = error.message.removeprefix(f"'{path}' ")
            raise MissError(error.code, message, hint="\n".join(error.hints)) from None
        link = os.path.join(self.top, below)
        target = Target(below, link, os.path.realpath(link))
        if git_directory_above(target.real) is not None:
            raise MissError("outside_worktree", "it is inside a git directory")
        return target

    def tree_path(self, real: str) -> str:
        """The path of a file in git's trees, of its absolute path without symlinks."""
        return os.path.relpath(real, self.top).replace(os.sep, "/")

    def with_buffers(self, contents: Mapping[str, bytes]) -> Workspace:
        """A copy with buffers by path; RefusedError if a path cannot be used."""
        return self._replace(
            buffers=buffer_files({self._buffer_path(path): contents[path] for path in contents})
        )

    def buffer_data(self) -> dict[str, bytes]:
        """The contents of the buffers by path relative to the top."""
        held = self.buffers.items()
        return {self.tree_path(real): bytes(state.data) for real, state in held if state}

    def _buffer_path(self, path: str) -> str:
        try:
            return self.target(path).real
        except MissError as miss:
            hints = (miss.hint,) if miss.hint else ()
            message = f"buffer '{shortened(path)}': {miss.message}"
            raise RefusedError(message, code=miss.code, hints=hints) from None

    def read(self, target: Target) -> FileState | None:
        """Read a file, or the buffer that replaces it; see `read_file`."""
        if target.real in self.buffers:
            return self.buffers[target.real]
        return read_file(target.real)

    def has(self, path: str) -> bool:
        """Whether a path names something that exists, perhaps as a buffer."""
        try:
            return self._is_there(self.target(path))
        except MissError:
            return False

    def existing(self, path: str) -> tuple[Target, FileState]:
        """Resolve and read a file that must exist, for commands that take a path instead of edits.

        RefusedError if the path or the file cannot be used, or is missing; FatalError if it cannot
        be read.
        """
        from git_boocode.editing.text_changes import quoted

        try:
            target = self.target(path)
            state = self.read(target)
            if state is None:
                raise self.missing_file(path)
        except MissError as miss:
            hints = (miss.hint,) if miss.hint else ()
            where = f"{quoted(path)}: " if path else ""
            raise RefusedError(f"{where}{miss.message}", code=miss.code, hints=hints) from None
        return target, state

    def names(self, real: str, before: FileState | None) -> list[tuple[object, ...]]:
        """Keys that two resolved paths share if they may name the same file, `before`."""
        normal = unicodedata.normalize("NFC", real)
        folded = normal.casefold()
        names: list[tuple[object, ...]] = [(real,)]
        if before is not None:
            # Hard links share the inode, but are separate files. Names that differ in case or
            # Unicode form share it if the file system does not distinguish them.
            names.append((before.device, before.inode, folded))
        if self._is_set("core.ignorecase"):
            names.append((folded,))
        elif self._is_set("core.precomposeunicode"):
            names.append((normal,))
        return names

    def _is_set(self, key: str) -> bool:
        return self.repository is not None and self.repository.config.boolean(key, default=False)

    def clean_blob_id(self, path: str, data: bytes) -> str | None:
        """The id of the blob that git would store, after clean filters and line endings."""
        if self.repository is None:
            return None
        done = self.repository.git.attempt("hash-object", f"--path={path}", "--stdin", stdin=data)
        return done.stdout.decode("ascii").strip() if done.status == 0 else None

    def missing_file(self, path: str) -> MissError:
        """The error for a missing file, with the most similar paths."""
        near = self._similar(path)
        hint = f"the most similar paths are: {', '.join(near)}" if near else None
        return MissError("missing_file", "the file does not exist", hint=hint)

    def _similar(self, path: str) -> list[str]:
        from rapidfuzz import fuzz, process

        start = self.prefix if self.from_here else ""
        missing = os.path.normpath(os.path.join(start, path))
        there = [other for other in self._paths(missing) if os.path.exists(f"{self.top}/{other}")]
        held = [real for real, state in self.buffers.items() if state is not None]
        paths = [*(os.path.relpath(real, self.top) for real in held), *there]
        name = os.path.basename(missing).casefold()
        same_name = [other for other in paths if os.path.basename(other).casefold() == name]
        others, cutoff = (same_name, 0) if same_name else (paths, 70)
        found = process.extract(missing, others, scorer=fuzz.ratio, limit=3, score_cutoff=cutoff)
        return [os.path.relpath(other, start or ".") for other, *_ in found]

    def _paths(self, path: str) -> list[str]:
        """The files of the worktree; without a repository, those next to a path."""
        if self.repository is not None:
            from git_boocode.repo.git import nul_records

            which = ("--cached", "--others", "--exclude-standard", "--deduplicate")
            return nul_records(self.repository.git.attempt("ls-files", "-z", *which).stdout)
        parent = os.path.dirname(path)
        with suppress(OSError):
            return [os.path.join(parent, name) for name in os.listdir(f"{self.top}/{parent}")]
        return []

    def locked(self) -> AbstractContextManager[None]:
        """Hold the worktree's lock; entering may raise RefusedError."""
        if self.repository is None:
            return nullcontext()
        from git_boocode.repo.lock import worktree_lock

        return worktree_lock(self.repository.state_dir, shared=False, patience=LOCK_PATIENCE)


def buffer_files(
    contents: Mapping[str, bytes | None], executable: Container[str] = ()
) -> Mapping[str, FileState | None]:
    """The buffers of a workspace, by absolute path; None for a file that does not exist.

    `executable` are the paths whose files are executable.
    """
    # A unique inode, because every buffer is a separate file.
    states = {
        real: None
        if data is None
        else mode_only(0o755 if real in executable else 0o644)._replace(data=data, inode=-number)
        for number, (real, data) in enumerate(contents.items(), 1)
    }
    return MappingProxyType(states)


def read_file(real: str, *, links: bool = False) -> FileState | None:
    """Like `read_state`, but with MissError in place of RefusedError."""
    try:
        return read_state(real, links=links)
    except RefusedError as error:
        raise MissError(error.code, error.message) from None


def _check_path(path: str) -> None:
    """Refuse a path that no file system supports."""
    try:
        data = os.fsencode(path)
    except UnicodeEncodeError:
        message = "the path contains characters that are invalid in file names"
        raise MissError("invalid_input", message) from None
    longest = max(map(len, data.split(b"/")))
    sizes = ("the path", len(data), _PATH_BYTES), ("a part of the path", longest, _NAME_BYTES)
    for what, size, most in sizes:
        if size > most:
            message = f"{what} is too long: {size} bytes (at most {most})"
            raise MissError("invalid_input", message)
