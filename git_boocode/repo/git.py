"""Run git in a clean environment, and read its output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from threading import Thread
from typing import IO, NamedTuple, TypeVar

from git_boocode.repo.errors import MAKE_ROOM, FatalError
from git_boocode.repo.messages import NO_ROOM, UNWRITTEN, failure_reason, is_disk_full, says

NEEDED_GIT = "git 2.34 or newer must be on the PATH"

# Our git commands never run the user's hooks (`post-index-change` and `reference-transaction` run
# for private indexes too), write no reflogs, do not recurse, and sync what they write.
OVERRIDES = (
    "core.hooksPath=/dev/null",
    "core.logAllRefUpdates=false",
    # Git writes private indexes only; `install_index` syncs the user's.
    "core.fsync=all,-index",
    "core.splitIndex=false",
    "index.skipHash=false",
    "index.sparse=false",
    # The flags as the index has them, whatever files are on disk.
    "sparse.expectFilesOutsideOfPatterns=true",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.safecrlf=false",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    # The writers of a reftable exclude each other, for milliseconds each; git itself waits 0.1 s.
    "reftable.lockTimeout=5000",
)
# Variables that hooks, aliases and `git -c …` export for a single git command.
_CALLERS_OWN = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_PREFIX"),
    *("GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_LITERAL_PATHSPECS"),
    *("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_AUTHOR_DATE"),
    *("GIT_COMMITTER_DATE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"),
)
# A failed write with less free space than this, in bytes, counts as a full disk.
_SCARCE = 1 << 20
# Seconds that a terminated git has to remove its locks and temporary files, and seconds to wait
# for the rest of its output.
_GRACE = 5.0
_OUTPUT_PATIENCE = 1.0
_PIECE = 1 << 20  # bytes of a blob that are copied at once
_LINE_ENDS = re.compile(rb"([\r\n])")
# In git's own progress: how many are done, and of how many.
_DONE_OF = re.compile(r"\((\d+)/(\d+)\)")
# A system that knows no such limit has none.
_LIMITED = '{ ulimit -S -d "$0"; ulimit -S -t "$1"; } 2>/dev/null; shift; exec "$@"'
# In bytes: of a longer queue of paths, git would have most still before it.
_SHORT_PIPE = 4096

Observer = Callable[[str, int, int], None]
"""Takes what is being done, such as `recording: {} files`, how many are done, and of how many.

The last is 0 where it is not known. The text is empty once it is done.
"""
Process = subprocess.Popen[bytes]
Watcher = Callable[[Process], None]
_Item = TypeVar("_Item")


class GitError(FatalError):
    """A git command failed.

    `status` is its exit status or, negative, the number of the signal that killed it; `stderr` is
    its error output.
    """

    def __init__(self, arguments: tuple[str, ...], status: int, stderr: str) -> None:
        ended = f"was killed by signal {-status}" if status < 0 else f"failed with status {status}"
        full = is_disk_full(stderr)
        command = next(each for each in arguments if not each.startswith("-"))
        super().__init__(
            f"git {command} {ended}: {failure_reason(stderr) or 'no reason given'}",
            code="disk_full" if full else "git",
            hints=(MAKE_ROOM,) if full else (),
        )
        self.status = status
        self.stderr = stderr


class Completed(NamedTuple):
    """The result of a git command: exit status and raw output."""

    status: int
    stdout: bytes
    stderr: bytes


class Running:
    """A git command that runs in parallel with this process, until `finish` or `stop`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def finish(self, stdin: bytes | None = None) -> Completed:
        """Write its standard input, if that is open, and wait until it exits."""
        with self._process as process:
            try:
                stdout, stderr = process.communicate(stdin)
            except BaseException:
                process.kill()
                raise
        return Completed(process.returncode, stdout, stderr)

    def beginning(self, size: int) -> bytes:
        """The first bytes of its output, at most `size`; then it is stopped.

        Another thread may call `cancel`, and there are fewer bytes then.
        """
        assert self._process.stdout is not None
        try:
            return self._process.stdout.read(size)
        finally:
            self.stop()

    def cancel(self) -> None:
        """Terminate it if it is still running, without waiting for it."""
        self._process.terminate()

    def stop(self) -> None:
        """Terminate it if it is still running; git removes its locks."""
        self._process.terminate()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process.wait()


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of an environment without the variables that a caller set for its own git command.

    Messages are untranslated, but the character set remains the user's, because clean and smudge
    drivers depend on it.
    """
    clean = {key: value for key, value in environ.items() if key not in _CALLERS_OWN}
    if locale := clean.pop("LC_ALL", None):
        clean["LANG"] = clean["LC_CTYPE"] = locale
    clean["LC_MESSAGES"] = clean["LANGUAGE"] = "C"
    clean["GIT_OPTIONAL_LOCKS"] = "0"
    clean["GIT_TERMINAL_PROMPT"] = "0"
    clean["GIT_NO_REPLACE_OBJECTS"] = "1"
    return clean


class Git:
    """The git program bound to a directory, a complete environment and `key=value` overrides.

    Methods that start git raise FatalError if git or the directory is missing. An `observer`
    receives the counts of long work; with None, nothing is counted. A `watcher` receives each git
    that starts; it may end it and raise an error.
    """

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        overrides: Iterable[str] = (),
        *,
        observer: Observer | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.cwd = cwd
        self.env = dict(env)
        self.overrides = tuple(overrides)
        self.observer = observer
        self._watcher = watcher
        self.lock: int | None = None  # an open file, which git keeps open
        self.umask = -1  # of git; -1 for that of this process
        self.starter: tuple[str, ...] = ()  # the program that becomes git, with its arguments

    def bind(self, *settings: str, cwd: str | None = None, **env: str) -> Git:
        """A copy with more `key=value` settings or variables, or another directory."""
        made = copy(self)
        made.cwd, made.env = cwd or self.cwd, {**self.env, **env}
        made.overrides = (*self.overrides, *settings)
        return made

    def keeping_lock(self, lock: int | None) -> Git:
        """A copy whose git holds a lock, an open file, while it runs, even if we are killed."""
        # A daemon started by git would hold the lock for longer.
        made = self.bind("core.fsmonitor=false")
        made.lock = lock
        return made

    def with_umask(self, umask: int) -> Git:
        """A copy whose git has another umask than this process."""
        made = copy(self)
        made.umask = umask
        return made

    def limited(self, memory: int, seconds: int) -> Git:
        """A copy whose git may use some MiB of memory and seconds of processor time.

        Without memory, git fails as with `OUT_OF_MEMORY`; SIGXCPU ends it when its time is over.
        """
        made = copy(self)
        made.starter = ("/bin/sh", "-c", _LIMITED, str(memory << 10), str(seconds))
        return made

    def command(self, *arguments: str) -> list[str]:
        """The complete argument vector of a call."""
        options = [part for setting in self.overrides for part in ("-c", setting)]
        return [*self.starter, "git", *options, *arguments]

    def attempt(self, *arguments: str, stdin: bytes = b"") -> Completed:
        """Run git and return the result; the caller handles a failure."""
        done = Running(self._start(arguments)).finish(stdin)
        return done._replace(stderr=self._with_reason(done.stderr)) if done.status else done

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return its raw output; GitError if the exit status is not 0."""
        done = self.attempt(*arguments, stdin=stdin)
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
        """Start git, with an empty standard input, without waiting for it."""
        return Running(self._start(arguments, subprocess.DEVNULL))

    def converse(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start git with open pipes, for a dialogue; its error output is discarded."""
        return self._start(arguments, stderr=subprocess.DEVNULL)

    def stream(self, *arguments: str, to: IO[bytes]) -> None:
        """Run git with its output redirected to a stream, such as the user's pager (GitError)."""
        done = Running(self._start(arguments, None, to)).finish()
        if done.status:
            raise GitError(arguments, done.status, os.fsdecode(self._with_reason(done.stderr)))
        # Warnings, for example from the user's diff driver.
        with suppress(OSError):
            sys.stderr.buffer.write(done.stderr)
            sys.stderr.flush()

    def pieces(self, *arguments: str, stdin: bytes) -> Generator[bytes, None, None]:
        """Run git and yield its output in pieces (GitError); it ends when the caller stops."""
        process = self._start(arguments)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        stderr = [b""]
        threads = (
            Thread(target=_feed, args=(process.stdin, stdin), daemon=True),
            Thread(target=_relay, args=(process.stderr, stderr, None), daemon=True),
        )
        try:
            for thread in threads:
                thread.start()
            while piece := os.read(process.stdout.fileno(), _PIECE):
                yield piece
            if process.wait():
                threads[1].join(_OUTPUT_PATIENCE)
                raise GitError(arguments, process.returncode, os.fsdecode(b"".join(stderr)))
        finally:
            process.terminate()
            # Ends a git that was started while signals wait.
            process.stdout.close()
            for thread in threads:
                thread.join(_GRACE)
            process.wait()

    @contextmanager
    def writing_blobs(self) -> Iterator[Callable[[str, IO[bytes]], None]]:
        """Copy blobs to streams in pieces, because they may be large, with one git (GitError)."""
        arguments = ("cat-file", "--batch")
        process = self._start(arguments)
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None

        def write(blob: str, to: IO[bytes]) -> None:
            with suppress(BrokenPipeError):
                stdin.write(f"{blob}\n".encode())
                stdin.flush()
            header = stdout.readline().split()
            left = int(header[2]) if header[1:2] == [b"blob"] else -1
            while left > 0 and (piece := stdout.read(min(left, _PIECE))):
                to.write(piece)
                left -= len(piece)
            if left or stdout.read(1) != b"\n":
                process.terminate()
                why = os.fsdecode(stderr.read()) or f"cannot read blob {blob}"
                raise GitError(arguments, process.wait() or 128, why)

        try:
            yield write
        finally:
            Running(process).stop()

    def run_in_foreground(self, *arguments: str) -> int:
        """Run git on the user's terminal, with its pager and its error output.

        Returns its exit status or, negative, the number of the signal that killed it.
        """
        process = subprocess.Popen(self.command(*arguments), cwd=self.cwd, env=self.env)
        wait_in_foreground(process)
        return process.returncode

    def run_relayed(
        self,
        *arguments: str,
        stdin: bytes | Iterable[bytes] = b"",
        show: Callable[[str], None] | None = None,
    ) -> Completed:
        """Run git and pass each line of its standard error to `show`.

        Git must read all its input first. On an exception git is terminated, so that it leaves no
        locks or temporary files.
        """
        pieces, size = ([stdin], -1) if isinstance(stdin, bytes) else (stdin, _SHORT_PIPE)
        process = self._start(arguments, pipe_size=size)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        stderr = [b""]
        relay = Thread(target=_relay, args=(process.stderr, stderr, show), daemon=True)
        try:
            relay.start()
            # If git exits before it has read all input, it reports why.
            with suppress(BrokenPipeError):
                process.stdin.writelines(pieces)
            with suppress(BrokenPipeError):
                process.stdin.close()
            with process.stdout as output:
                stdout = output.read()
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
        # A process that git leaves running, such as a shared ssh connection, may keep it open.
        relay.join(_OUTPUT_PATIENCE)
        return Completed(process.returncode, stdout, b"".join(stderr))

    def _start(
        self,
        arguments: tuple[str, ...],
        stdin: int | None = subprocess.PIPE,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        pipe_size: int = -1,
    ) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self.command(*arguments),
                cwd=self.cwd,
                env=self.env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pipesize=pipe_size,
                # Python 3.14 would hold 128 KiB before the pipe.
                bufsize=pipe_size,
                pass_fds=() if self.lock is None else (self.lock,),
                umask=self.umask,
                # What git has started, such as a filter, can be ended with it.
                start_new_session=self._watcher is not None,
            )
        except FileNotFoundError as error:
            if not os.path.isdir(self.cwd):
                missing = f"the directory '{self.cwd}' does not exist"
                raise FatalError(missing, code="no_directory") from error
            raise FatalError("cannot run git", code="no_git", hints=(NEEDED_GIT,)) from error

        if self._watcher is not None:
            self._watcher(process)
        return process

    def _with_reason(self, stderr: bytes) -> bytes:
        """Git's error output; adds that the disk is full if git does not report it."""
        text = os.fsdecode(stderr)
        if says(text, UNWRITTEN) and not is_disk_full(text):
            disks = map(os.statvfs, (self.cwd, self.env.get("GIT_DIR", self.cwd)))
            if min(disk.f_bavail * disk.f_frsize for disk in disks) < _SCARCE:
                return stderr.rstrip() + b": " + NO_ROOM[0].encode()
        return stderr


def end_watched(process: Process, by: int) -> None:
    """Send a signal to a git command of a watcher, and to all that it has started."""
    if process.returncode is None:
        with suppress(OSError):
            os.killpg(process.pid, by)


def _feed(stdin: IO[bytes], data: bytes) -> None:
    with suppress(BrokenPipeError):
        stdin.write(data)
    with suppress(BrokenPipeError):
        stdin.close()


def _counted(observer: Observer, doing: str, items: Iterable[_Item]) -> Iterator[_Item]:
    try:
        for number, item in enumerate(items, 1):
            observer(doing, number, 0)
            yield item
    finally:
        # Also if the consumer stops early.
        observer("", 0, 0)


def _relay(stream: IO[bytes], output: list[bytes], show: Callable[[str], None] | None) -> None:
    """Pass on a program's output line by line, until it closes the stream.

    `output` collects the lines, except progress lines, which end in a carriage return; its last
    item may be the beginning of a line.
    """
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            *lines, output[-1] = _LINE_ENDS.split(output[-1] + chunk)
            for line, end in zip(lines[::2], lines[1::2], strict=True):
                if end == b"\n":
                    output.insert(-1, line + end)
                if show is not None:
                    show((line + end).decode("utf-8", "surrogateescape"))


def wait_in_foreground(process: subprocess.Popen[bytes]) -> None:
    """Wait for a program on the user's terminal, even after Ctrl-C (KeyboardInterrupt).

    A pager handles Ctrl-C itself. If we exited first, it would compete with the shell for the
    terminal.
    """
    try:
        process.wait()
    except KeyboardInterrupt:
        wait_in_foreground(process)
        raise


def nul_records(output: bytes) -> list[str]:
    """Split NUL-terminated output into text; bytes that are not UTF-8 become surrogates."""
    return os.fsdecode(output).split("\0")[:-1] if output else []


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of output that comes in pieces, each of which ends in a newline."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


def id_lines(ids: Iterable[str]) -> bytes:
    """Encode ids, or pairs and exclusions of them, for git's `--stdin` options."""
    return "".join(f"{identifier}\n" for identifier in ids).encode()


def nul_lines(paths: Iterable[str]) -> bytes:
    """Encode paths for git's `-z --stdin` options."""
    return os.fsencode("\0".join((*paths, "")))


def quoted_lines(paths: Iterable[str]) -> bytes:
    """Encode paths, which may contain any bytes, for git's `--stdin-paths` options."""
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return b"".join(b'"%s"\n' % os.fsencode(path.translate(escapes)) for path in paths)


class RawObject(NamedTuple):
    """An object: its id, its type, such as `commit`, and its bytes."""

    id: str
    kind: str
    body: bytes


def batch_request(names: Iterable[str]) -> bytes:
    """The input of `cat-file --batch` that asks for objects by any names."""
    # A name with a newline, which would be two, names nothing, as the empty one does.
    return os.fsencode("".join("\n" if "\n" in name else f"{name}\n" for name in names))


def read_batch(stream: IO[bytes]) -> RawObject | None:
    """The next object in the output of `cat-file --batch`; None if it is missing.

    EOFError if the output ends before the object does.
    """
    header = stream.readline()
    if not header.endswith(b"\n"):
        raise EOFError
    fields = header.decode("utf-8", "surrogateescape").split()
    if not fields[-1].isdigit():
        # "missing" or "ambiguous", after the requested name, which may contain spaces.
        return None
    identifier, kind, size = fields
    body = stream.read(int(size))
    if len(body) < int(size) or stream.read(1) != b"\n":
        raise EOFError
    return RawObject(identifier, kind, body)
