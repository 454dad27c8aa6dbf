"""Record files in a private index, and know how git converts their bytes.

A file that git cannot record does not affect the others.
"""

from __future__ import annotations

import os
import re
import signal
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from git_boocode.repo.errors import MAKE_ROOM, FatalError
from git_boocode.repo.git import Completed, GitError, Running, nul_lines, nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.messages import (
    IGNORED_PATH,
    REFUSED_BY_SYSTEM,
    SHORT_READ,
    UNREADABLE_DIRECTORY,
    complaints,
    is_disk_full,
)
from git_boocode.repo.repository import Repository

OTHERS = ("--others", "--exclude-standard")
LISTING = ("ls-files", *OTHERS, "-z")
ALL_OTHERS = ("ls-files", "--others", "-z")
NESTED = "nested repository"
"""Why a repository that is not a submodule is not recorded."""
MAX_FILE_SIZE = 50 << 20
"""Larger untracked files, in bytes, are not recorded; the default of `boocode.maxFileSize`."""
MAX_INCLUDED_SIZE = 1 << 20
"""The same for files of `boocode.include`; the default of `boocode.maxIncludedSize`."""
# git memory-maps the files that it hashes, and SIGBUS kills it if a writer truncates one meanwhile.
_ATTEMPTS = 3
_ATTRIBUTES = ".gitattributes"
_SECTIONS = ("core", "filter", "attr")
# The tree to read attributes from, like the setting `attr.tree`.
_SOURCE = "GIT_ATTR_SOURCE"
# The answers of `check-attr` for a file without a filter driver.
_NO_DRIVER = ("unspecified", "unset", "set")


class Skipped(NamedTuple):
    """A path that could not be captured, and why."""

    path: str
    reason: str


def is_recorded(status: os.stat_result) -> bool:
    """Whether git records files of this type: regular files and symbolic links."""
    return stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)


def directories_of(paths: Iterable[str]) -> set[str]:
    """All parent directories of some paths, except the top."""
    found: set[str] = set()
    for path in paths:
        while (path := os.path.dirname(path)) and path not in found:
            found.add(path)
    return found


class Disk:
    """The files below `worktree`, without following symlinks; directories are looked up once."""

    def __init__(self, worktree: str) -> None:
        self.worktree = worktree
        # By path, whether it is a directory that no symlink leads to.
        self._directories = {"": True}
        self._vacant: set[str] = set()  # directories that are known to be missing

    def status(self, path: str) -> os.stat_result | None:
        """The lstat of a path; None if it does not exist, or a symlink leads to it."""
        return self._lstat(path) if self._is_own_directory(path.rpartition("/")[0]) else None

    def _is_own_directory(self, path: str) -> bool:
        steps = []
        while (own := self._directories.get(path)) is None:
            steps.append(path)
            path = path.rpartition("/")[0]
        for step in reversed(steps):
            found = self._lstat(step) if own else None
            own = self._directories[step] = found is not None and stat.S_ISDIR(found.st_mode)
        return own

    def _lstat(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(f"{self.worktree}/{path}")
        except OSError:
            return None

    def is_own_file(self, path: str) -> bool:
        """Whether a path exists, is not a directory, and no symlink leads to it."""
        found = self.status(path)
        return found is not None and not stat.S_ISDIR(found.st_mode)

    def is_directory(self, path: str) -> bool:
        """Whether a path is a directory, and no symlink leads to it."""
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def exists(self, path: str) -> bool:
        """Whether a path exists."""
        return self._lstat(path) is not None

    def is_vacant(self, path: str) -> bool:
        """Whether nothing is at a path, and no file or symlink in place of a directory above it."""
        missing: list[str] = []
        while path not in self._vacant and not (missing and self._is_own_directory(path)):
            if self.exists(path):
                return False
            missing.append(path)
            path = path.rpartition("/")[0]
        self._vacant.update(missing[1:])
        return True

    def has_repository(self, path: str) -> bool:
        """Whether a path is the top of a repository."""
        return self.exists(f"{path}/.git")

    def other_spellings(self, paths: Iterable[str], of: Iterable[str]) -> set[str]:
        """The paths that name the same file as one of the others, which differs only in case."""
        by_folded = {path.casefold(): path for path in of}
        pairs = ((path, by_folded.get(path.casefold(), path)) for path in paths)
        return {path for path, other in pairs if path != other and self._is_same(path, other)}

    def _is_same(self, path: str, other: str) -> bool:
        one, two = self.status(path), self.status(other)
        return one is not None and two is not None and os.path.samestat(one, two)


class Indexer:
    """Records files in one private index.

    `failed` lists the files that could not be recorded; `changed` and `removed` list the files in
    the index that may have changed, and that no longer exist.
    """

    def __init__(self, index: Index, disk: Disk) -> None:
        self._index = index
        self._disk = disk
        self.failed: list[Skipped] = []
        self.changed: list[str] = []
        self.removed: list[str] = []

    def compare(self, running: Running) -> None:
        """Wait for `Index.begin_comparison`, and fill `changed` and `removed`."""
        done = running.finish()
        names = self._compare_again(done.status) if done.status else nul_records(done.stdout)
        for path in dict.fromkeys(names):
            exists = self._disk.is_own_file(path) or self._disk.has_repository(path)
            (self.changed if exists else self.removed).append(path)

    def leave_out(self, paths: Collection[str]) -> None:
        """Leave some files as the index has them, whether or not they have changed."""
        self.changed, self.removed = (
            [path for path in listed if path not in paths]
            for listed in (self.changed, self.removed)
        )

    def _compare_again(self, status: int) -> list[str]:
        for _ in range(_ATTEMPTS - 1):
            if status >= 0:
                break
            try:
                return self._index.changed_on_disk()
            except GitError as error:
                status = error.status
        # Git cannot compare a file that it cannot record, and while the file's entry is racily
        # clean, git compares it whenever it writes the index.
        return self._index.forget_times()

    def add(self, paths: list[str]) -> None:
        """Record files, or their absence; halve the list to isolate those that fail."""
        if not paths:
            return
        done = self._index.add(paths)
        if not done.status:
            # Git skips names that mean `.git` on some file system, such as `git~1`.
            stderr = os.fsdecode(done.stderr)
            for path in paths if IGNORED_PATH in stderr else ():
                if f"{IGNORED_PATH}{path}\n" in stderr and self._disk.exists(path):
                    self.failed.append(Skipped(path, "git does not allow this name"))
            return
        self._index.break_lock()
        if len(paths) > 1:
            middle = len(paths) // 2
            self.add(paths[:middle])
            self.add(paths[middle:])
            return
        if done.status < 0 or SHORT_READ in done.stderr:
            # Another process is writing the file.
            done = self._add_bytes(paths[0])
        if done.status:
            self._index.break_lock()
            self.failed.append(Skipped(paths[0], _reason(paths[0], done)))

    def _add_bytes(self, path: str) -> Completed:
        full = os.path.join(self._disk.worktree, path)
        try:
            mode = os.lstat(full).st_mode
            with open(full, "rb") as file:
                content = file.read()
        except OSError as error:
            return Completed(1, b"", os.fsencode(error.strerror or "unreadable"))
        command = ("hash-object", "-w", f"--path={path}", "--stdin")
        done = self._index.git.attempt(*command, stdin=content)
        if done.status == 0:
            git_mode = "100755" if mode & stat.S_IXUSR else "100644"
            self._index.put([Entry("H", git_mode, os.fsdecode(done.stdout).strip(), 0, path)])
        return done

    def resolve_failed(
        self, entry_of: Callable[[str], Entry | None], intended: Collection[str]
    ) -> None:
        """Replace the entries of failed files by those of the user's index, or remove them.

        `entry_of` returns the entry of a path in the user's index; the entry of an `intended` path
        has no content.
        """
        failed = {path for path, _ in self.failed}
        entries = {path: None if path in intended else entry_of(path) for path in failed}
        self._index.forget(path for path, entry in entries.items() if entry is None)
        self._index.put(entry._replace(stage=0) for entry in entries.values() if entry)


def _reason(path: str, done: Completed) -> str:
    """Why git could not record a file; FatalError if the cause affects all files."""
    if done.status == -signal.SIGXFSZ:
        raise FatalError(
            f"cannot capture '{path}': file too large",
            code="disk_full",
            hints=("the system limits the size of files: ulimit -f",),
        )
    if done.status < 0:
        message = f"cannot capture '{path}': git was killed by signal {-done.status}"
        raise FatalError(message, code="git")
    stderr = os.fsdecode(done.stderr)
    # The most specific line comes first.
    reason = (complaints(stderr) or stderr.strip().splitlines() or ["no reason given"])[0]
    if refused := re.match(REFUSED_BY_SYSTEM, reason):
        reason = f"cannot be read: {refused[1].lower()}"
    if is_disk_full(reason):
        message = f"cannot capture '{path}': no space left on device"
        raise FatalError(message, code="disk_full", hints=(MAKE_ROOM,))
    return reason.removeprefix(f"{path}: ")


def unreadable_directories(stderr: str) -> list[Skipped]:
    """The directories that git could not read, from its warnings when it listed files."""
    found = re.findall(UNREADABLE_DIRECTORY, stderr)
    return [Skipped(path, reason.lower()) for path, reason in found]


def select_untracked(
    worktree: str, paths: Iterable[str], limit: int, setting: str = "boocode.maxFileSize"
) -> tuple[list[str], list[Skipped]]:
    """Split untracked files into those to record and those to skip: e.g. above `limit` bytes."""
    wanted, skipped = [], []
    too_large = f"larger than {setting} ({limit} bytes)"
    for path in paths:
        if path.endswith("/"):
            skipped.append(Skipped(path.rstrip("/"), NESTED))
            continue
        try:
            if os.lstat(f"{worktree}/{path}").st_size > limit:
                skipped.append(Skipped(path, too_large))
            else:
                wanted.append(path)
        except OSError as error:
            skipped.append(Skipped(path, f"{error.strerror}".lower()))
    return wanted, skipped


# How git converts the bytes of files: by settings, and by attributes.


def conversion_rules(repository: Repository) -> str:
    """A fingerprint of all conversion rules except the worktree's `.gitattributes` files.

    With other attributes, `git add` makes another blob of an unchanged file, for example if it is
    UTF-16. If the rules change, all files must be read again.
    """
    found: list[object] = [*map(repository.config.section, _SECTIONS)]
    found.append(repository.git.env.get(_SOURCE))
    for path in _outside_attributes(repository):
        # A missing or unreadable file counts as empty, as in git.
        with suppress(OSError), open(path, "rb") as file:
            found.append((path, file.read()))
    rules = repr(found)
    return f"{len(rules):x}-{crc32(os.fsencode(rules)):x}"


def is_attributes(path: str) -> bool:
    """Whether a path is that of a `.gitattributes` file."""
    return path.rpartition("/")[2] == _ATTRIBUTES


def may_convert(repository: Repository, paths: Iterable[str]) -> bool:
    """Whether settings or attributes may make git convert the bytes of some files."""
    autocrlf = repository.config.setting("core.autocrlf")
    if autocrlf is not None and (autocrlf.value is None or autocrlf.value.lower() != "false"):
        return True
    if repository.config.setting("attr.tree") or repository.git.env.get(_SOURCE):
        return True
    directories = ("", *directories_of(paths))
    inside = (
        os.path.join(repository.worktree, directory, _ATTRIBUTES) for directory in directories
    )
    return any(map(os.path.lexists, (*_outside_attributes(repository), *inside)))


def _outside_attributes(repository: Repository) -> Iterator[str]:
    """The attribute files outside the worktree; they need not exist."""
    config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    own = repository.config.path("core.attributesFile")
    yield os.path.join(repository.worktree, own or os.path.join(config_home, "git/attributes"))
    yield os.path.join(repository.common_dir, "info/attributes")
    # The system's attributes depend on git's installation directory.
    yield "/etc/gitattributes"
    programs = (os.path.join(directory, "git") for directory in os.get_exec_path())
    program = next((path for path in programs if os.access(path, os.X_OK)), None)
    for path in dict.fromkeys((program, os.path.realpath(program))) if program else ():
        yield os.path.join(os.path.dirname(os.path.dirname(path)), "etc/gitattributes")


def paths_with_filter(index: Index, paths: Iterable[str], *options: str) -> list[str]:
    """The paths that have a filter driver; `options` are for `git check-attr`."""
    question = ("check-attr", *options, "-z", "--stdin", "filter")
    answers = nul_records(index.git.run(*question, stdin=nul_lines(paths)))
    drivers = zip(answers[::3], answers[2::3], strict=True)
    return [path for path, driver in drivers if driver not in _NO_DRIVER]
