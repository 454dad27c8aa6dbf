"""Run the git program, with nothing inherited that could surprise it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from git_boocode.repo.errors import MAKE_ROOM, FatalError

if TYPE_CHECKING:
    from io import BufferedReader

# Our own work never fires a user's hooks (`post-index-change` and `reference-transaction` fire for
# private indexes too), keeps no reflogs, recurses into nothing, and is on disk when we say so.
OVERRIDES = (
    "core.hooksPath=/dev/null",
    "core.logAllRefUpdates=false",
    # The index that git writes for us is private; the one that is put in place is synced there.
    "core.fsync=all,-index",
    "core.splitIndex=false",
    "index.skipHash=false",
    "index.sparse=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.safecrlf=false",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    # All writers of a reftable take turns, for milliseconds each; git itself waits 0.1 s.
    "reftable.lockTimeout=5000",
)

# What hooks, aliases and `git -c …` callers export for one command of their own.
_CALLERS_OWN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_PREFIX",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_DATE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
)

_NO_ROOM = (
    "No space left on device",
    "Out of diskspace",
    "Disk quota exceeded",
    "File too large",
)
# What git says of a failed write without the reason for it.
_UNWRITTEN = ("unable to write", "Unable to write", "couldn't write", "write error")
# With less space than this, in bytes, the reason is plain.
_SCARCE = 1 << 20


LOCKS: set[int] = set()
"""Descriptors of locks that end with the last process that has them open."""


class GitError(FatalError):
    """A git command failed.

    Attributes:
        status: its exit status; negative, the number of the signal that ended it.
        stderr: what it said.
    """

    def __init__(self, arguments: tuple[str, ...], status: int, stderr: str) -> None:
        said = stderr.strip().removeprefix("fatal: ").removeprefix("error: ")
        ended = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
        full = is_disk_full(stderr)
        super().__init__(
            f"git {arguments[0]} {ended}: {said or 'it gave no reason'}",
            code="disk_full" if full else "git",
            hints=(MAKE_ROOM,) if full else (),
        )
        self.status = status
        self.stderr = stderr


class Completed(NamedTuple):
    """What a finished git command left: exit status and raw output."""

    status: int
    stdout: bytes
    stderr: bytes


class Running:
    """A git command that runs beside this process, until `finish` or `stop`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._completed: Completed | None = None

    def wait(self) -> None:
        """Wait for its end; `finish` reports how it went."""
        self._completed = self.finish()

    def finish(self, given: bytes | None = None) -> Completed:
        """Wait for its end, and report how it went.

        Args:
            given: what to give it on its standard input, if that was not closed at its start.
        """
        if self._completed is not None:
            return self._completed
        with self._process as process:
            try:
                stdout, stderr = process.communicate(given)
            except BaseException:
                process.kill()
                raise
        return Completed(process.returncode, stdout, stderr)

    def stop(self) -> None:
        """End it, if it has not ended yet; git removes its locks."""
        self._process.terminate()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process.wait()


class Talk:
    """A git command that answers while it is given more."""

    def __init__(self, arguments: tuple[str, ...], process: subprocess.Popen[bytes]) -> None:
        self._arguments = arguments
        self._process = process

    def give(self, request: bytes) -> None:
        """Give it a request; more than a pipe holds must not be given before the answer is read.

        Raises:
            GitError: it has ended.
        """
        given = self._process.stdin
        assert given is not None
        try:
            given.write(request)
            given.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def line(self) -> bytes:
        """Read a line of its answer, without the newline.

        Raises:
            GitError: there is none.
        """
        answers = self._process.stdout
        assert answers is not None
        if answer := answers.readline():
            return answer.rstrip(b"\n")
        raise self._ended()

    def take(self, size: int) -> bytes:
        """Read so many bytes of its answer.

        Raises:
            GitError: there are fewer.
        """
        answers = self._process.stdout
        assert answers is not None
        answer = answers.read(size)
        if len(answer) < size:
            raise self._ended()
        return answer

    def records(self, count: int) -> list[str]:
        """Read so many NUL-terminated records, the last of which ends its answer.

        Raises:
            GitError: there are fewer.
        """
        answers = cast("BufferedReader", self._process.stdout)
        parts: list[bytes] = []
        while count > 0:
            parts.append(answers.read1())
            if not parts[-1]:
                raise self._ended()
            count -= parts[-1].count(b"\0")
        return nul_records(b"".join(parts))

    def _ended(self) -> GitError:
        said = self._process.stderr.read() if self._process.stderr else b""
        return GitError(self._arguments, self._process.wait() or 128, os.fsdecode(said))


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of an environment without what a caller of ours meant for its own git command.

    Messages come untranslated, while the character set stays the user's: clean and smudge
    drivers run with it.
    """
    kept = {key: value for key, value in environ.items() if key not in _CALLERS_OWN}
    if everything := kept.pop("LC_ALL", None):
        kept["LANG"] = kept["LC_CTYPE"] = everything
    kept["LC_MESSAGES"] = kept["LANGUAGE"] = "C"
    kept["GIT_OPTIONAL_LOCKS"] = "0"
    kept["GIT_TERMINAL_PROMPT"] = "0"
    kept["GIT_NO_REPLACE_OBJECTS"] = "1"
    return kept


class Git:
    """The git program bound to a directory, an environment and configuration overrides.

    Args:
        cwd: the directory in which it runs.
        env: its whole environment.
        overrides: `key=value` settings for `-c`.
        keeps_locks: see `keeping_locks`.
    """

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        overrides: Iterable[str] = (),
        *,
        keeps_locks: bool = False,
    ) -> None:
        self.cwd = cwd
        self.env = dict(env)
        self.overrides = tuple(overrides)
        self._keeps_locks = keeps_locks

    def bind(self, *, cwd: str | None = None, **env: str) -> Git:
        """The same git with other environment variables or another directory."""
        return Git(cwd or self.cwd, {**self.env, **env}, self.overrides)

    def without(self, setting: str) -> Git:
        """The same git with one setting as the user has it.

        Args:
            setting: such as `core.logAllRefUpdates`.
        """
        kept = (found for found in self.overrides if not found.startswith(f"{setting}="))
        return Git(self.cwd, self.env, kept)

    def keeping_locks(self) -> Git:
        """The same git, holding the locks in `LOCKS` as long as it runs, even if we are killed."""
        # No daemon of git's may come to hold them for longer.
        overrides = (*self.overrides, "core.fsmonitor=false")
        return Git(self.cwd, self.env, overrides, keeps_locks=True)

    def bind_setting(self, setting: str) -> Git:
        """The same git with one more `key=value` setting."""
        return Git(self.cwd, self.env, (*self.overrides, setting))

    def command(self, *arguments: str) -> list[str]:
        """The whole argument vector of a call."""
        options = [part for setting in self.overrides for part in ("-c", setting)]
        return ["git", *options, *arguments]

    def attempt(self, *arguments: str, stdin: bytes = b"") -> Completed:
        """Run git and report how it went; a failure is for the caller to judge.

        Raises:
            FatalError: there is no git to run, or no directory to run it in.
        """
        done = Running(self._start(arguments, subprocess.PIPE, subprocess.PIPE)).finish(stdin)
        return done._replace(stderr=self._with_reason(done.stderr)) if done.status else done

    def _with_reason(self, stderr: bytes) -> bytes:
        """What git said; also that the disk is full, where git does not say so."""
        said = os.fsdecode(stderr)
        if not any(phrase in said for phrase in _UNWRITTEN) or _NO_ROOM[0] in said:
            return stderr
        # Only needed where git has failed; it takes longer to import than to use.
        import shutil

        places = (self.cwd, self.env.get("GIT_DIR", self.cwd))
        free = min(shutil.disk_usage(place).free for place in places)
        if free >= _SCARCE and not is_disk_full(said):
            return stderr
        return stderr.rstrip() + b": " + _NO_ROOM[0].encode()

    def begin(self, *arguments: str) -> Running:
        """Start git, with nothing on its standard input, and go on.

        Raises:
            FatalError: there is no git to run, or no directory to run it in.
        """
        return Running(self._start(arguments, subprocess.DEVNULL, subprocess.PIPE))

    @contextmanager
    def talk(self, *arguments: str) -> Iterator[Talk]:
        """Start git, and go on giving it input and reading what it answers.

        Raises:
            FatalError: there is no git to run, or no directory to run it in.
        """
        with self._start(arguments, subprocess.PIPE, subprocess.PIPE) as process:
            yield Talk(arguments, process)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start git with pipes to all three of its standard streams.

        Raises:
            FatalError: there is no git to run, or no directory to run it in.
        """
        return self._start(arguments, subprocess.PIPE, subprocess.PIPE)

    def _start(
        self, arguments: tuple[str, ...], given: int | None, to: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.command(*arguments),
                cwd=self.cwd,
                env=self.env,
                stdin=given,
                stdout=to,
                stderr=subprocess.PIPE,
                pass_fds=tuple(LOCKS) if self._keeps_locks else (),
            )
        except FileNotFoundError as error:
            raise _cannot_start(self.cwd) from error

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return its raw output.

        Raises:
            GitError: it exited with another status than 0.
        """
        done = self.attempt(*arguments, stdin=stdin)
        if done.status:
            raise GitError(arguments, done.status, os.fsdecode(done.stderr))
        return done.stdout

    def stream(self, *arguments: str, to: IO[bytes]) -> None:
        """Run git with its output going straight to a stream, such as the user's pager.

        Raises:
            GitError: it exited with another status than 0.
        """
        done = Running(self._start(arguments, None, to)).finish()
        if done.status:
            raise GitError(arguments, done.status, os.fsdecode(done.stderr))
        # What a driver of the user's had to say.
        with suppress(OSError):
            sys.stderr.buffer.write(done.stderr)
            sys.stderr.flush()

    def line(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git and return its output as text without the final newline."""
        return os.fsdecode(self.run(*arguments, stdin=stdin)).removesuffix("\n")


def _cannot_start(cwd: str) -> FatalError:
    if not os.path.isdir(cwd):
        return FatalError(f"the directory '{cwd}' is gone", code="no_directory")
    return FatalError(
        "cannot run git",
        code="no_git",
        hints=("git 2.34 or newer must be on the PATH",),
    )


def is_disk_full(stderr: str) -> bool:
    """Whether git's complaint is that there is no room to write to."""
    return any(phrase in stderr for phrase in _NO_ROOM)


def is_dubious_ownership(stderr: str) -> bool:
    """Whether git's complaint is that somebody else owns the repository (`safe.directory`)."""
    # As 2.35.2 said it, and newer ones say it.
    return "unsafe repository" in stderr or "dubious ownership" in stderr


def nul_records(output: bytes) -> list[str]:
    """Split NUL-terminated output into text; bytes that are not UTF-8 become surrogates."""
    return os.fsdecode(output).split("\0")[:-1] if output else []


def quoted_lines(paths: Iterable[str]) -> bytes:
    """A line for each path, as commands with `--stdin-paths` read it, whatever bytes are in it."""
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return b"".join(b'"%s"\n' % os.fsencode(path.translate(escapes)) for path in paths)


def nul_lines(paths: Iterable[str]) -> bytes:
    """Join paths as git's `-z --stdin` options read them."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def batch_bodies(output: bytes, kind: bytes) -> Iterator[bytes | None]:
    """The objects that `git cat-file --batch` printed; None for missing ones and other kinds.

    Args:
        output: what it printed.
        kind: the kind of object that is wanted.
    """
    position = 0
    while position < len(output):
        end = output.index(b"\n", position)
        header = output[position:end].split(b" ")
        position = end + 1
        if not header[-1].isdigit():
            # "missing" or "ambiguous", behind what was asked for, which may hold blanks.
            yield None
            continue
        size = int(header[2])
        yield output[position : position + size] if header[1] == kind else None
        position += size + 1
