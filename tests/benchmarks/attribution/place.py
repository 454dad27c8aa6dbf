"""A worktree of a random history."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from git_boocode.repo.repository import Repository


class Place:
    """A worktree with its name; git runs in it, and files are sequences of lines."""

    def __init__(self, top: Path, name: str, committer: str = "") -> None:
        self.top = top
        self.name = name
        self._identity = {"GIT_COMMITTER_EMAIL": committer} if committer else {}
        top.mkdir(parents=True, exist_ok=True)

    @property
    def repository(self) -> Repository:
        """The repository as commands see it."""
        return Repository.discover(str(self.top))

    def git(self, *words: str, stdin: bytes = b"") -> str:
        """Run git, which has to succeed, and return its output."""
        done = self._run(words, stdin, {})
        assert done.returncode == 0, (words, done.stderr)
        return os.fsdecode(done.stdout)

    def attempt(self, *words: str, stdin: bytes = b"", **environment: str) -> bool:
        """Run git and return whether it succeeds."""
        return self._run(words, stdin, environment).returncode == 0

    def _run(
        self, words: Sequence[str], stdin: bytes, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        own = {**os.environ, **self._identity, **environment}
        command = ["git", *words]
        return subprocess.run(command, cwd=self.top, input=stdin, capture_output=True, env=own)

    def head(self) -> str:
        """The commit of HEAD."""
        return self.git("rev-parse", "HEAD").strip()

    def depth(self) -> int:
        """How many commits HEAD has, counting first parents."""
        return int(self.git("rev-list", "--count", "--first-parent", "HEAD"))

    def is_clean(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.git("status", "--porcelain")

    def paths(self) -> list[str]:
        """The files of the worktree, which are all that git lists and the disk has."""
        listed = self.git("ls-files", "-co", "--exclude-standard", "--deduplicate").split()
        return sorted(path for path in listed if (self.top / path).exists())

    def read(self, path: str) -> list[bytes]:
        """The lines of a file."""
        return (self.top / path).read_bytes().split(b"\n")[:-1]

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file, making its directory."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"".join(line + b"\n" for line in lines))

    def lines(self) -> set[bytes]:
        """The lines of all files."""
        return {line for path in self.paths() for line in self.read(path)}
