"""Run the git program, with nothing inherited that could surprise it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread
from typing import IO, NamedTuple, TypeVar

from git_boocode.repo.errors import MAKE_ROOM, FatalError
from git_boocode.repo.messages import NO_ROOM, UNWRITTEN, failure_reason, is_disk_full, says

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
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_PREFIX"),
    *("GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_LITERAL_PATHSPECS"),
    *("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_AUTHOR_DATE"),
    *("GIT_COMMITTER_DATE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"),
)
# With less space than this, in bytes, the reason of a failed write is plain.
_SCARCE = 1 << 20
# How long a git that has to end may take to remove its locks and temporary files, in seconds,
# and how long its last words may take to get here.
_GRACE = 5.0
_LAST_WORDS = 1.0
_PIECE = 1 << 20  # bytes of a blob that are copied at once
_LINE_ENDS = re.compile(rb"([\r\n])")
# In git's own progress: how many are done, and of how many.
_DONE_OF = re.compile(r"\((\d+)/(\d+)\)")
# In bytes: of a longer queue of paths, git would have most still before it.
_SHORT_PIPE = 4096

Observer = Callable[[str, int, int], None]
"""Takes what is being done, such as `recording: {} files`, how many are done, and of how many.

The last is 0 where it is not known. The text is empty once it is done.
"""
_Item = TypeVar("_Item")


class GitError(FatalError):
    """A git command failed.

    `status` is its exit status or, negative, the number of the signal that ended it; `stderr` is
    what it said.
    """

    def __init__(self, arguments: tuple[str, ...], status: int, stderr: str) -> None:
        ended = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
        full = is_disk_full(stderr)
        super().__init__(
            f"git {arguments[0]} {ended}: {failure_reason(stderr) or 'it gave no reason'}",
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

    def finish(self, given: bytes | None = None) -> Completed:
        """Give it the rest of its standard input, if that is open, and wait for its end."""
        with self._process as process:
            try:
                stdout, stderr = process.communicate(given)
            except BaseException:
                process.kill()
                raise
        return Completed(process.returncode, stdout, stderr)

    def finish_after(self, work: Callable[[], None], given: bytes) -> Completed:
        """Do something, which what it reads from its standard input has to wait for."""
        try:
            work()
        except BaseException:
            self.stop()
            raise
        return self.finish(given)

    def stop(self) -> None:
        """End it, if it has not ended yet; git removes its locks."""
        self._process.terminate()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process.wait()


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of an environment without what a caller meant for its own git command.

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
    """The git program bound to a directory, a whole environment and `key=value` overrides.

    What starts it raises FatalError if git or the directory is missing. An observer takes counts of
    what may take long; None where nobody watches, which costs nothing.
    """

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        overrides: Iterable[str] = (),
        *,
        keeps_locks: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self.cwd = cwd
        self.env = dict(env)
        self.overrides = tuple(overrides)
        self._keeps_locks = keeps_locks
        self.observer = observer

    def bind(self, *settings: str, cwd: str | None = None, **env: str) -> Git:
        """The same git with more `key=value` settings or variables, or another directory."""
        overrides = (*self.overrides, *settings)
        return Git(cwd or self.cwd, {**self.env, **env}, overrides, observer=self.observer)

    def keeping_locks(self) -> Git:
        """The same git, holding the worktree's lock as long as it runs, even if we are killed."""
        # No daemon of git's may come to hold it for longer.
        overrides = (*self.overrides, "core.fsmonitor=false")
        return Git(self.cwd, self.env, overrides, keeps_locks=True, observer=self.observer)

    def command(self, *arguments: str) -> list[str]:
        """The whole argument vector of a call."""
        options = [part for setting in self.overrides for part in ("-c", setting)]
        return ["git", *options, *arguments]

    def attempt(
        self, *arguments: str, stdin: bytes = b"", beside: Callable[[], None] | None = None
    ) -> Completed:
        """Run git and report how it went; a failure is for the caller to judge.

        `beside` is done while git starts, before it is given `stdin`.
        """
        running = Running(self._start(arguments))
        done = running.finish_after(beside, stdin) if beside else running.finish(stdin)
        return done._replace(stderr=self._with_reason(done.stderr)) if done.status else done

    def run(
        self, *arguments: str, stdin: bytes = b"", beside: Callable[[], None] | None = None
    ) -> bytes:
        """Run git and return its raw output; GitError if it exits with another status than 0."""
        done = self.attempt(*arguments, stdin=stdin, beside=beside)
        if done.status:
            raise GitError(arguments, done.status, os.fsdecode(done.stderr))
        return done.stdout

    def feed(self, doing: str, paths: Iterable[str], *arguments: str) -> Completed:
        """Run git, which reads paths that end in NUL, and let the observer count them."""
        if self.observer is None:
            return self.attempt(*arguments, stdin=nul_lines(paths))
        given = (os.fsencode(path) + b"\0" for path in self.counted(doing, paths))
        done = self.run_relayed(*arguments, stdin=given)
        return done._replace(stderr=self._with_reason(done.stderr)) if done.status else done

    def attempt_counted(self, doing: str, *arguments: str) -> Completed:
        """Run git as `attempt` does, and let the observer follow its progress.

        It has to be asked for progress, and has to report only one thing.
        """
        observer = self.observer
        if observer is None:
            return self.attempt(*arguments)

        def show(line: str) -> None:
            if found := _DONE_OF.search(line):
                done, total = map(int, found.groups())
                observer(doing if done < total else "", done, total)

        done = self.run_relayed(*arguments, show=show)
        return done._replace(stderr=self._with_reason(done.stderr)) if done.status else done

    def counted(self, doing: str, items: Iterable[_Item]) -> Iterable[_Item]:
        """The same items, which the observer counts as they are used."""
        return items if self.observer is None else _counted(self.observer, doing, items)

    def line(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git and return its output as text without the final newline."""
        return os.fsdecode(self.run(*arguments, stdin=stdin)).removesuffix("\n")

    def begin(self, *arguments: str) -> Running:
        """Start git, with nothing on its standard input, and go on."""
        return Running(self._start(arguments, subprocess.DEVNULL))

    def stream(self, *arguments: str, to: IO[bytes]) -> None:
        """Run git with its output going to a stream, such as the user's pager (GitError)."""
        done = Running(self._start(arguments, None, to)).finish()
        if done.status:
            raise GitError(arguments, done.status, os.fsdecode(self._with_reason(done.stderr)))
        # What a driver of the user's had to say.
        with suppress(OSError):
            sys.stderr.buffer.write(done.stderr)
            sys.stderr.flush()

    @contextmanager
    def writing_blobs(self) -> Iterator[Callable[[str, IO[bytes]], None]]:
        """Copy blobs to streams with one process, piece by piece: each may be large (GitError)."""
        arguments = ("cat-file", "--batch")
        process = self._start(arguments)
        asked, answered, said = process.stdin, process.stdout, process.stderr
        assert asked is not None
        assert answered is not None
        assert said is not None

        def write(blob: str, to: IO[bytes]) -> None:
            with suppress(BrokenPipeError):
                asked.write(f"{blob}\n".encode())
                asked.flush()
            header = answered.readline().split()
            left = int(header[2]) if header[1:2] == [b"blob"] else -1
            while left > 0 and (piece := answered.read(min(left, _PIECE))):
                to.write(piece)
                left -= len(piece)
            if left or answered.read(1) != b"\n":
                process.terminate()
                why = os.fsdecode(said.read()) or f"cannot read blob {blob}"
                raise GitError(arguments, process.wait() or 128, why)

        try:
            yield write
        finally:
            Running(process).stop()

    def run_in_foreground(self, *arguments: str) -> int:
        """Run git on the caller's own terminal, where its pager and its errors are seen.

        Returns its exit status; negative, the number of the signal that ended it.
        """
        process = subprocess.Popen(self.command(*arguments), cwd=self.cwd, env=self.env)
        outlast(process)
        return process.returncode

    def run_relayed(
        self,
        *arguments: str,
        stdin: bytes | Iterable[bytes] = b"",
        show: Callable[[str], None] | None = None,
    ) -> Completed:
        """Run git, which reads all its input first, while `show` takes its standard error by line.

        If it has to end early, git gets a signal, so that nothing of it stays behind.
        """
        pieces, size = ([stdin], -1) if isinstance(stdin, bytes) else (stdin, _SHORT_PIPE)
        process = self._start(arguments, pipe_size=size)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        said = [b""]
        relay = Thread(target=_relay, args=(process.stderr, said, show), daemon=True)
        try:
            relay.start()
            # If it ends without having read all, it says why.
            with suppress(BrokenPipeError):
                process.stdin.writelines(pieces)
            with suppress(BrokenPipeError):
                process.stdin.close()
            with process.stdout as answer:
                stdout = answer.read()
            process.wait()
        except BaseException:
            process.terminate()
            with suppress(BrokenPipeError):
                process.stdin.close()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
        # What it has left running, such as a shared connection of ssh, may never close the stream.
        relay.join(_LAST_WORDS)
        return Completed(process.returncode, stdout, b"".join(said))

    def _start(
        self,
        arguments: tuple[str, ...],
        given: int | None = subprocess.PIPE,
        to: int | IO[bytes] = subprocess.PIPE,
        pipe_size: int = -1,
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.command(*arguments),
                cwd=self.cwd,
                env=self.env,
                stdin=given,
                stdout=to,
                stderr=subprocess.PIPE,
                pipesize=pipe_size,
                # Of our own descriptors, only that of the lock can be inherited at all.
                close_fds=not self._keeps_locks,
            )
        except FileNotFoundError as error:
            if not os.path.isdir(self.cwd):
                gone = f"the directory '{self.cwd}' is gone"
                raise FatalError(gone, code="no_directory") from error
            hint = "git 2.34 or newer must be on the PATH"
            raise FatalError("cannot run git", code="no_git", hints=(hint,)) from error

    def _with_reason(self, stderr: bytes) -> bytes:
        """What git said; also that the disk is full, where git does not say so."""
        said = os.fsdecode(stderr)
        if says(said, UNWRITTEN) and not is_disk_full(said):
            places = map(os.statvfs, (self.cwd, self.env.get("GIT_DIR", self.cwd)))
            if min(place.f_bavail * place.f_frsize for place in places) < _SCARCE:
                return stderr.rstrip() + b": " + NO_ROOM[0].encode()
        return stderr


def _counted(observer: Observer, doing: str, items: Iterable[_Item]) -> Iterator[_Item]:
    try:
        for number, item in enumerate(items, 1):
            observer(doing, number, 0)
            yield item
    finally:
        # Also if whoever uses them has seen enough.
        observer("", 0, 0)


def _relay(stream: IO[bytes], said: list[bytes], show: Callable[[str], None] | None) -> None:
    """Pass on what a program says line by line, until it closes the stream.

    `said` is what it has said, but for lines that it has written over, as progress is; the last
    part may be the beginning of a line.
    """
    with stream:
        while some := os.read(stream.fileno(), 1 << 16):
            *lines, said[-1] = _LINE_ENDS.split(said[-1] + some)
            for line, end in zip(lines[::2], lines[1::2], strict=True):
                if end == b"\n":
                    said.insert(-1, line + end)
                if show is not None:
                    show((line + end).decode("utf-8", "surrogateescape"))


def outlast(process: subprocess.Popen[bytes]) -> None:
    """Wait for a program that the user is looking at, even after Ctrl-C (KeyboardInterrupt).

    A pager takes Ctrl-C for itself. Were we to go at once, it would fight with the shell for the
    terminal.
    """
    try:
        process.wait()
    except KeyboardInterrupt:
        outlast(process)
        raise


def nul_records(output: bytes) -> list[str]:
    """Split NUL-terminated output into text; bytes that are not UTF-8 become surrogates."""
    return os.fsdecode(output).split("\0")[:-1] if output else []


def nul_lines(paths: Iterable[str]) -> bytes:
    """Join paths as git's `-z --stdin` options read them."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def quoted_lines(paths: Iterable[str]) -> bytes:
    """A line for each path, as commands with `--stdin-paths` read it, whatever bytes are in it."""
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return b"".join(b'"%s"\n' % os.fsencode(path.translate(escapes)) for path in paths)


def batch_bodies(output: bytes, kind: bytes) -> Iterator[bytes | None]:
    """The objects of one kind in what `cat-file --batch` printed; None for missing and others."""
    position = 0
    while position < len(output):
        end = output.index(b"\n", position)
        header = output[position:end].split(b" ")
        position = end + 1
        if not header[-1].isdigit():
            # "missing" or "ambiguous", behind what was asked for, which may hold spaces.
            yield None
            continue
        size = int(header[2])
        yield output[position : position + size] if header[1] == kind else None
        position += size + 1
