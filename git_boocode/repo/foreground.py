"""Run programs that talk to the user themselves: git with its pager, a command of the user's."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO, NoReturn

from git_boocode.repo.errors import CommandError
from git_boocode.repo.git import Completed, Git

# So long a git that was told to end has for removing its locks and temporary files, in seconds.
_GRACE = 5.0
# And so long its last words may take to get here.
_LAST_WORDS = 1.0
_IGNORED_BY_PYTHON = tuple(
    getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)
)
_LINE_ENDS = re.compile(rb"([\r\n])")


def run_in_foreground(git: Git, *arguments: str) -> int:
    """Run git on the caller's own terminal: its pager, its errors and its drivers' are seen there.

    Args:
        git: the user's git.
        arguments: of the command.

    Returns:
        Its exit status; negative, the number of the signal that ended it.
    """
    process = subprocess.Popen(git.command(*arguments), cwd=git.cwd, env=git.env)
    outlast(process)
    return process.returncode


def find_command(name: str) -> str:
    """The program that a shell would run for a command.

    Args:
        name: a path, or a name to look for on the PATH.

    Raises:
        CommandError: there is none.
    """
    import shutil

    if found := shutil.which(name):
        return found
    if os.path.dirname(name) and os.path.exists(name):
        reason = "it is a directory" if os.path.isdir(name) else "permission denied"
        raise CommandError(f"cannot run '{name}': {reason}", found=True)
    raise CommandError(
        f"cannot run '{name}': there is no such command",
        found=False,
        hints=("what only a shell knows is run by: git boocode run -- sh -c '...'",),
    )


def become(program: str, command: Sequence[str]) -> NoReturn:
    """Go on as another program, in the same process, with its standard streams and environment.

    Args:
        program: its path, as `find_command` tells it.
        command: what it is called, and its arguments.

    Raises:
        CommandError: it cannot be run; nothing has changed then.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these for itself, and what is ignored stays so in the program.
    before = {number: signal.signal(number, signal.SIG_DFL) for number in _IGNORED_BY_PYTHON}
    try:
        _execute(program, command)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CommandError(f"cannot run '{program}': {reason}", found=True) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _execute(program: str, command: Sequence[str]) -> NoReturn:
    try:
        os.execv(program, list(command))
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        # A script that does not say of what; every shell takes it for its own.
        os.execvp("sh", ["sh", program, *command[1:]])


def run_relayed(
    git: Git, *arguments: str, stdin: bytes = b"", show: Callable[[str], None] | None = None
) -> Completed:
    """Run git, and let the user see meanwhile what it says on its standard error.

    If it is to end early, git is told to, so that nothing of it stays behind.

    Args:
        git: what to run.
        arguments: of the command.
        stdin: what to give it.
        show: takes its standard error, piece by piece; what it may do to a terminal is not judged.
    """
    process = git.start(*arguments)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    relay = _Relay(process.stderr, show)
    giver = Thread(target=_give, args=(process.stdin, stdin), daemon=True)
    try:
        relay.start()
        giver.start()
        with process.stdout as answer:
            stdout = answer.read()
        process.wait()
    except BaseException:
        _end(process)
        raise
    # What it has left running, such as a shared connection of ssh, may never close the stream.
    relay.join(_LAST_WORDS)
    return Completed(process.returncode, stdout, relay.seen)


def _give(stream: IO[bytes], data: bytes) -> None:
    # If it ends without having read all, it says why.
    with suppress(OSError):
        stream.write(data)
    with suppress(OSError):
        stream.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


class _Relay(Thread):
    """Takes what a program says, and passes it on line by line."""

    def __init__(self, stream: IO[bytes], show: Callable[[str], None] | None) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._show = show
        self._line = b""
        self._said = b""

    @property
    def seen(self) -> bytes:
        """What it has said by now, but for lines that it has written over, as progress is."""
        return self._said + self._line

    def run(self) -> None:
        """Read until the program closes the stream."""
        with self._stream as stream:
            while some := os.read(stream.fileno(), 1 << 16):
                *lines, self._line = _LINE_ENDS.split(self._line + some)
                for line, end in zip(lines[::2], lines[1::2], strict=True):
                    self._take(line, end)

    def _take(self, line: bytes, end: bytes) -> None:
        if end == b"\n":
            self._said += line + end
        if self._show is not None:
            self._show((line + end).decode("utf-8", "surrogateescape"))


def outlast(process: subprocess.Popen[bytes]) -> None:
    """Wait for a program that the user is looking at.

    A pager takes Ctrl-C for itself. Were we to go at once, it would fight with the shell for the
    terminal.

    Args:
        process: the program.

    Raises:
        KeyboardInterrupt: the user has pressed Ctrl-C, and the program has ended.
    """
    interrupted = False
    while True:
        try:
            process.wait()
            break
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
