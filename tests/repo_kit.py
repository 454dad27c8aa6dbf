"""What tests do with a repository: write files, run git and git boocode, look at the result."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from git_boocode.agents.registry import AGENTS
from tests.forked import run_forked
from tests.hint_kit import check_hints

BOOCODE = "from git_boocode.__main__ import program; program()"
LIMITED = pytest.mark.skipif(
    not hasattr(sys, "get_int_max_str_digits"), reason="this Python reads numbers of any length"
)
# What Python itself heeds when it starts.
_AT_THE_START = ("PYTHON", "LANG", "LC_", "PATH")


DEFAULTS = ("GIT_DEFAULT_REF_FORMAT", "GIT_DEFAULT_HASH")
"""Of new repositories, from the environment; see CONTRIBUTING.md."""
_DROPPED = ("GIT_", "XDG_", "LC_", "CLAUDE", "_GIT_BOOCODE", "PYTHONDONTWRITE")
_SEALED = {
    # No colour but where a test asks for it.
    "TERM": "dumb",
    "NO_COLOR": "",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "committer@example.com",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}


@cache
def _path() -> str:
    """The PATH, without directories in which an agent is installed, but no git."""
    programs = [program for agent in AGENTS.values() for program in agent.programs]
    found = [
        directory
        for directory in os.environ["PATH"].split(os.pathsep)
        if shutil.which("git", path=directory)
        or not any(shutil.which(program, path=directory) for program in programs)
    ]
    # `git boocode` must find the program under test, installed beside this interpreter.
    return os.pathsep.join((str(Path(sys.executable).parent), *found))


def sealed_environment(home: Path) -> dict[str, str]:
    """The environment of a test: a home of its own, a fixed identity, fixed dates.

    Nothing else that git or git-boocode heeds is inherited. `home` gets a configuration for git.
    """
    # Without `maintenance.auto`, each commit starts a process that then finds `gc.auto`.
    config = "[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
    # Otherwise, an installation of hooks would ask about it where git decorates with all refs.
    config += "[log]\n\texcludeDecoration = refs/boocode/\n" if git_version() < (2, 38) else ""
    (home / ".gitconfig").write_text(config)
    kept = {k: v for k, v in os.environ.items() if k in DEFAULTS or not k.startswith(_DROPPED)}
    own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "PATH": _path()}
    return {**kept, **_SEALED, **own}


def seal(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the variables of this process."""
    for key in os.environ.keys() - environment:
        monkeypatch.delenv(key)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)


def examples(usual: int) -> int:
    """How many examples of a property the profile wants where others have 100."""
    profile = settings.default
    assert profile is not None
    return max(usual * profile.max_examples // 100, 3)


def git_version() -> tuple[int, ...]:
    """The version of git under test: major, minor."""
    said = subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2]))


class Result(NamedTuple):
    """What a finished command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on standard output."""
        return json.loads(self.out)


def _checked(args: Sequence[str], done: subprocess.CompletedProcess[bytes]) -> Result:
    """What `git boocode` left, whose hints are those of `check_hints`."""
    out, err = os.fsdecode(done.stdout), os.fsdecode(done.stderr)
    check_hints(args, out, err)
    return Result(done.returncode, out, err)


class Repo:
    """A real repository at `top`."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def git(self, *args: str, stdin: str | bytes = b"", check: bool = True) -> str:
        """Run git at the top and return its output."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(["git", *args], cwd=self.top, input=data, capture_output=True)
        if check and done.returncode:
            raise AssertionError(f"git {args} failed: {os.fsdecode(done.stderr)}")
        return os.fsdecode(done.stdout)

    def boocode(
        self,
        *args: str,
        stdin: str | bytes = b"",
        cwd: str | Path = "",
        env: dict[str, str] | None = None,
    ) -> Result:
        """Run `git boocode` as a user would; `installed` does it through git."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        if any(key.startswith(_AT_THE_START) for key in env or ()):
            return self.installed(*args, stdin=stdin, cwd=cwd, env=env)
        done = run_forked(
            BOOCODE,
            *args,
            cwd=self.top / cwd,
            env={**os.environ, **(env or {})},
            stdin=data,
        )
        return _checked(args, done)

    def installed(
        self,
        *args: str,
        stdin: str | bytes = b"",
        cwd: str | Path = "",
        env: dict[str, str] | None = None,
    ) -> Result:
        """Run the installed `git boocode`."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            ["git", "boocode", *args],
            cwd=self.top / cwd,
            input=data,
            capture_output=True,
            env={**os.environ, **(env or {})},
        )
        return _checked(args, done)

    def without_reader(self, *args: str) -> tuple[int, bytes]:
        """How the installed `git boocode` ends, and what it says, if nobody reads its output."""
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run(
                ["git", "boocode", *args], cwd=self.top, stdout=writing, stderr=subprocess.PIPE
            )
        finally:
            os.close(writing)
        return done.returncode, done.stderr

    def unprivileged(self, *args: str) -> Result:
        """Run the installed `git boocode` with the modes of files obeyed, by root as well."""
        limit: list[str] = []
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                pytest.skip("root reads and writes every file, and there is no setpriv")
            limit = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        done = subprocess.run([*limit, "git", "boocode", *args], cwd=self.top, capture_output=True)
        return Result(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))

    def reader_that_leaves(self, *command: str) -> tuple[int, bytes]:
        """How a command ends, and what it says, if its reader goes after a few bytes."""
        with subprocess.Popen(
            command, cwd=self.top, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            said = process.stderr.read()
        return process.returncode, said

    def write(self, path: str, content: str | bytes = "", mode: int | None = None) -> Path:
        """Write a file, making its directories."""
        target = self.top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            target.chmod(mode)
        return target

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        return (self.top / path).read_bytes()

    def commit(self, message: str = "commit", **files: str) -> str:
        """Write files, commit everything, and return the commit's id."""
        for path, content in files.items():
            self.write(path, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def sparse(self, directory: str, *options: str) -> None:
        """Check out one directory and the files at the top, in cone mode."""
        # Before git 2.35, only `init` takes the options.
        self.git("sparse-checkout", "init", "--cone", *options)
        self.git("sparse-checkout", "set", directory)

    def status(self) -> str:
        """`git status` in full: the state that a restore must bring back to the byte."""
        return self.git(
            "--no-optional-locks",
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--branch",
        )

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Every file and symlink of the worktree with its bytes and as much mode as git keeps."""
        found: dict[str, tuple[int, bytes]] = {}
        for directory, names, files in os.walk(self.top):
            if ".git" in names:
                names.remove(".git")
            links = [name for name in names if os.path.islink(os.path.join(directory, name))]
            for path in (Path(directory, name) for name in (*files, *links) if name != ".git"):
                found[str(path.relative_to(self.top))] = (_mode(path), _content(path))
        return found


def _mode(path: Path) -> int:
    mode = path.lstat().st_mode
    return stat.S_IFMT(mode) | (mode & stat.S_IXUSR)


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(os.readlink(path))
    return path.read_bytes() if path.is_file() else b""


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """Let nothing be written to a directory, nor to what is below it."""
    if os.geteuid() != 0:
        modes = {path: path.stat().st_mode for path in (directory, *directory.rglob("*"))}
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        yield
        for path, mode in modes.items():
            path.chmod(mode)
        return
    with mounted(directory, "--bind", str(directory)):
        if subprocess.run(["mount", "-o", "remount,ro,bind", directory]).returncode:
            pytest.skip("nothing can be mounted read-only here")
        yield


@contextmanager
def mounted(directory: Path, *arguments: str) -> Iterator[None]:
    """Mount something on a directory, or skip the test where that is not possible."""
    if shutil.which("mount") is None:
        pytest.skip("there is no mount")
    command = ["mount", *arguments, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


@contextmanager
def gc_after_gc(repo: Repo) -> Iterator[None]:
    """Let `git gc --prune=now` run again and again beside the block."""
    over = threading.Event()

    def collect() -> None:
        while not over.is_set():
            # A ref that is being written is in its way, as it always is.
            repo.git("gc", "-q", "--prune=now", check=False)

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        yield
    finally:
        over.set()
        collector.join()
