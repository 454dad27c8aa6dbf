"""Find what git passes over in silence: sockets, FIFOs and devices among the files of a worktree.

Git lists none of them, so that they can only be found by looking. A directory whose time stamp has
not changed has the same names in it, and is not looked into again.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, NamedTuple

from git_boocode.checkpoints.worktree.attributes import ATTRIBUTES, fingerprint_of_files, users_file
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.timing import COARSE
from git_boocode.repo.git import GitError, Talk, nul_lines, nul_records
from git_boocode.repo.repository import Repository

IGNORES = ".gitignore"
_KINDS = {
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "FIFO",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_EVERY_ANSWER = ("--no-index", "--verbose", "--non-matching", "-z", "--stdin")
# In bytes: so much is asked at once; with one more path, it fits into a pipe.
_REQUEST = 2048
# To ask for the times of so many directories would take longer than git does for all else.
_MANY = 20_000
# In nanoseconds: a directory that changed so short a time ago may change again unnoticed.
_COARSE = COARSE * 1_000_000_000


class Specials(NamedTuple):
    """What was found, and what tells at the next look which directories have changed since.

    Attributes:
        files: the special files, and which kind each is.
        directories: the directories that are not ignored, and which they were and when each was
            changed, as one number; 0 if that is too short a time ago to tell.
        attributes: the `.gitattributes` files in them.
        ignores: the `.gitignore` files in them.
        rules: the fingerprint of what says which files are ignored.
    """

    files: dict[str, str]
    directories: dict[str, int]
    attributes: tuple[str, ...]
    ignores: tuple[str, ...]
    rules: str

    @classmethod
    def load(cls, values: Sequence[Any]) -> Specials:
        """Read it from JSON.

        Raises:
            ValueError: it is no such thing.
        """
        files, directories, attributes, ignores, rules = values
        times = {str(path): int(time) for path, time in dict(directories).items()}
        return cls(dict(files), times, tuple(attributes), tuple(ignores), str(rules))

    @property
    def are_many(self) -> bool:
        """Whether there are too many directories to look at each of them again."""
        return len(self.directories) >= _MANY

    def skipped(self) -> list[Skipped]:
        """The files as paths that cannot be captured."""
        return [Skipped(path, kind) for path, kind in self.files.items()]


NOTHING = Specials({}, {}, (), (), "")


def find_specials(
    repository: Repository, before: Specials, changed: Iterable[str] = ()
) -> Specials:
    """Look for special files, and for git's own, in what is not ignored.

    Args:
        repository: whose worktree to look at.
        before: what was found at the last look; `NOTHING` at the first.
        changed: the files that have changed since. Where there are very many directories, only
            those of these files are looked at.
    """
    if _rules(repository, before.ignores) != before.rules:
        # What was ignored may not be ignored any more.
        before = NOTHING
    look = _Look(repository, before)
    look.at_known(changed)
    ignored = look.ignored(look.files) if look.files else frozenset()
    files = {path: kind for path, kind in look.files.items() if path not in ignored}
    attributes, ignores = (tuple(sorted(look.own[name])) for name in (ATTRIBUTES, IGNORES))
    return Specials(files, look.directories, attributes, ignores, _rules(repository, ignores))


def _rules(repository: Repository, ignores: Iterable[str]) -> str:
    own = users_file(repository.config, "core.excludesFile", "ignore")
    info = os.path.join(repository.common_dir, "info/exclude")
    return fingerprint_of_files(repository.worktree, [own, info, *ignores])


class _Look:
    """One look at a worktree."""

    def __init__(self, repository: Repository, before: Specials) -> None:
        self._git = repository.git
        self._worktree = repository.worktree
        self._before = before
        self._settled = time.time_ns() - _COARSE
        self.files: dict[str, str] = {}
        self.directories: dict[str, int] = {}
        # Directories that are gone, and nested repositories: what is below them does not count.
        self._left_out: set[str] = set()
        self.own: dict[str, set[str]] = {ATTRIBUTES: set(), IGNORES: set()}

    def at_known(self, files: Iterable[str]) -> None:
        """Look into what has changed of the directories that were there, and into new ones."""
        if self._before.are_many:
            changed = self._likely(files)
        else:
            changed = self._changed(self._before.directories)
        self._take_over()
        new = self._scan_all(sorted(changed) if self._before.directories else [""])
        while new:
            new = self._scan_new(new)
        if self._left_out:
            self._leave_out()

    def _scan_new(self, new: list[str]) -> list[str]:
        """Look into new directories, level by level; what remains if git has given up."""
        try:
            # One process for all levels, however many there are.
            with self._git.talk("check-ignore", *_EVERY_ANSWER) as talk:
                while new:
                    new = self._scan_all(_not_ignored(talk, new))
            return new
        except (GitError, BrokenPipeError):
            # So it does where a symlink has just come.
            ignored = self.ignored(new)
            return self._scan_all([path for path in new if path not in ignored])

    def _changed(self, directories: Mapping[str, int]) -> list[str]:
        """Those of some known directories that are not as they were; the others are noted."""
        # One tight loop: there may be thousands of them.
        found, top, stat_of, changed = self.directories, f"{self._worktree}/", os.lstat, []
        for directory, then in directories.items():
            try:
                status = stat_of(top + directory)
            except OSError:
                changed.append(directory)
                continue
            if _mark(status) == then:
                found[directory] = then
            else:
                changed.append(directory)
        return changed

    def _likely(self, files: Iterable[str]) -> list[str]:
        """What has changed of the directories above some files, and above those found before."""
        near: set[str] = set()
        for path in (*files, *self._before.files):
            # What is above one that was found has been found with it.
            near.update(takewhile(lambda step: step not in near, _above(path)))
        near.intersection_update(self._before.directories)
        self.directories = dict(self._before.directories)
        for directory in near:
            del self.directories[directory]
        return self._changed({path: self._before.directories[path] for path in sorted(near)})

    def _take_over(self) -> None:
        """Remember what was in the directories that need no second look."""
        before, known = self._before, self.directories
        self.files = {
            path: kind for path, kind in before.files.items() if path.rpartition("/")[0] in known
        }
        for name, paths in ((ATTRIBUTES, before.attributes), (IGNORES, before.ignores)):
            self.own[name].update(path for path in paths if path.rpartition("/")[0] in known)

    def _scan_all(self, directories: Iterable[str]) -> list[str]:
        """Look into directories, and give those in them that were not there before."""
        inside = [path for directory in directories for path in self._scan(directory)]
        return [path for path in inside if path not in self._before.directories]

    def _scan(self, directory: str) -> list[str]:
        """The directories in one, which is noted, together with the special files in it."""
        below = f"{directory}/" if directory else ""
        full = self._worktree + "/" + directory
        parent = directory.rpartition("/")[0]
        if directory and (parent not in self.directories or self._is_left_out(directory)):
            return []
        try:
            status = os.lstat(full)
            plain = stat.S_ISDIR(status.st_mode)
            entries = list(os.scandir(full)) if plain else []
        except OSError:
            # It is gone, or git has told of a directory that cannot be read.
            plain, entries = False, []
        if not plain:
            self._left_out.add(directory)
            return []
        self.directories[directory] = _mark(status) if status.st_mtime_ns < self._settled else 0
        if directory and any(entry.name == ".git" for entry in entries):
            # A nested repository is another one's affair.
            self._left_out.add(directory)
            return []
        return [below + entry.name for entry in entries if self._is_directory(below, entry)]

    def _is_directory(self, below: str, entry: os.DirEntry[str]) -> bool:
        if entry.is_file(follow_symlinks=False) or entry.is_symlink():
            if entry.name in self.own:
                self.own[entry.name].add(below + entry.name)
            return False
        if entry.is_dir(follow_symlinks=False):
            return entry.name != ".git"
        with suppress(OSError):
            kind = _KINDS.get(stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode))
            if kind is not None:
                self.files[below + entry.name] = kind
        return False

    def _is_left_out(self, path: str) -> bool:
        return bool(self._left_out) and not self._left_out.isdisjoint(_above(path))

    def _leave_out(self) -> None:
        found, self.directories = self.directories, {}
        # A directory comes after the one in which it lies.
        for directory in sorted(found):
            if not directory or self._counts(directory):
                self.directories[directory] = found[directory]
        self.files = {path: kind for path, kind in self.files.items() if self._counts(path)}
        for name, paths in self.own.items():
            self.own[name] = set(filter(self._counts, paths))

    def _counts(self, path: str) -> bool:
        """Whether the directory in which a path lies is there, and not left out."""
        parent = path.rpartition("/")[0]
        return parent in self.directories and parent not in self._left_out

    def ignored(self, paths: Iterable[str]) -> frozenset[str]:
        """Which of some paths git ignores."""
        arguments = ("check-ignore", "--no-index", "-z", "--stdin")
        done = self._git.attempt(*arguments, stdin=nul_lines(paths))
        return frozenset(nul_records(done.stdout))


def _not_ignored(talk: Talk, paths: list[str]) -> list[str]:
    """Those of some directories that git does not ignore."""
    found = []
    remaining = deque(paths)
    while remaining:
        some: list[str] = []
        request = b""
        while remaining and (not some or len(request) < _REQUEST):
            some.append(remaining.popleft())
            request += nul_lines(some[-1:])
        talk.give(request)
        # Of the four records for each, the third is the pattern; it is empty if none matches.
        patterns = talk.records(4 * len(some))[2::4]
        pairs = zip(some, patterns, strict=True)
        found += [path for path, pattern in pairs if pattern[:1] in ("", "!")]
    return found


def _above(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _mark(status: os.stat_result) -> int:
    """Which directory it is, and when names were last put in or taken out."""
    return status.st_mtime_ns << 64 | status.st_ino
