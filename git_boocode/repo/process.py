"""Signals and time limit of this process, its process group, and its replacement by a program.

On a signal, a command rolls back its changes and exits with 128 + the number of the signal; after
`ignore_signals`, it finishes instead. A hook does the same on a signal and shortly before its time
limit, but exits with 0. A signal that our parent ignores, as under `nohup`, stays ignored.
`git_boocode.cli.entry` handles a closed standard output (SIGPIPE, which Python turns into
`BrokenPipeError`).
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread, current_thread, main_thread
from typing import Any, NoReturn

from git_boocode.repo.errors import CommandError, FatalError, from_os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEEDED_MODULES = (
    *("_cffi_backend", "cffi", "click", "prompt_toolkit", "pycparser", "pygit2", "rapidfuzz"),
    *("tomlkit", "wcwidth"),
)
"""What we import that is not Python's own, with what that imports."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# The part of a time limit that is reserved for the rollback, and its maximum in seconds.
_ROLLBACK_SHARE = 0.2
_ROLLBACK_LIMIT = 0.5
# Seconds that the `on_timeout` function of a time limit has.
_ON_TIMEOUT_LIMIT = 0.1
# Seconds that our children have to clean up, and between two looks whether they have ended.
_GRACE, _POLL = 0.1, 0.01


def on_signals(action: Any) -> None:  # noqa: ANN401 - as `signal.signal` takes it
    """Handle the terminating signals with `stop`, `exit_at_once` or `signal.SIG_IGN`."""
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, action)


class _Work:
    """Whether terminating signals have to wait, and whether they matter at all."""

    must_wait = False
    waiting = 0  # the number of the signal that waits
    is_done = False


def stop(number: int, _: object) -> None:
    """Raise KeyboardInterrupt or SystemExit, so that the callers roll back their changes.

    In `SignalsWait` that happens later, and after `ignore_signals` never.
    """
    if _Work.must_wait:
        _Work.waiting = _Work.waiting or number
    elif not _Work.is_done:
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


class SignalsWait:
    """A context in which terminating signals wait, also for the programs that are started in it.

    One that waits at the end is raised, unless the block has failed or called `ignore_signals`.
    """

    def __enter__(self) -> SignalsWait:  # noqa: PYI034 - typing.Self came with Python 3.11
        # Handlers run in the main thread, whichever thread receives the signal.
        self._is_main = current_thread() is main_thread()
        self._waited = _Work.must_wait
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._hold()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._release(raises=kind is None)

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Let signals through in a block, unless they also wait in a context around this one."""
        try:
            self._release(raises=True)
            yield
        finally:
            self._hold()

    def check(self) -> None:
        """Raise a signal that waits, unless it also waits in a context around this one."""
        with self.passing():
            pass

    @contextmanager
    def sparing_children(self) -> Iterator[None]:
        """Let the programs that are started in a block receive signals; our own still wait."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)

    def _hold(self) -> None:
        _Work.must_wait = self._is_main or _Work.must_wait
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)

    def _release(self, *, raises: bool) -> None:
        # The handlers of blocked signals run now, but only note them.
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        if not self._is_main:
            return
        _Work.must_wait = self._waited
        if not self._waited:
            number, _Work.waiting = _Work.waiting, 0
            if number and raises:
                stop(number, None)


def ignore_signals() -> None:
    """Ignore terminating signals from now on, because the work of this command is done.

    All that is left is its answer. Nothing happens in another thread or under other handlers.
    """
    if current_thread() is not main_thread():
        return
    _Work.is_done, _Work.waiting = True, 0
    if signal.getsignal(signal.SIGINT) is stop:
        # Ctrl-C on a terminal must not end the git commands that the answer needs, either.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def work_is_done() -> bool:
    """Whether this command has called `ignore_signals`."""
    return _Work.is_done


def exit_at_once(*_: object) -> NoReturn:
    """Exit with 0; for a process that has not changed anything yet."""
    os._exit(0)


class TimeUpError(BaseException):
    """The time limit is nearly reached; raised in the main thread at any point."""


class TimeLimit:
    """The time limit of this process, in seconds from now on.

    Shortly before it is reached, `TimeUpError` is raised once, so that changes are rolled back.
    When it is reached, `on_timeout` runs for a moment, and the process exits with 0 even if the
    main thread hangs in a system call.
    """

    def __init__(self, seconds: float, on_timeout: Callable[[], None]) -> None:
        self.seconds = seconds
        self._from = time.monotonic()
        self._on_timeout = on_timeout
        self._changed = Event()
        self._is_over = False
        signal.signal(signal.SIGALRM, _raise_time_up)
        # Our parent may have blocked it.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
        # If no thread can be started, git cannot be started either.
        with suppress(RuntimeError):
            Thread(target=self._watch, daemon=True).start()

    def change(self, seconds: float) -> None:
        """Change the limit; it still counts from the creation of this object."""
        self.seconds = seconds
        self._changed.set()

    def stop_alarm(self) -> None:
        """Stop raising `TimeUpError`; the process still exits at the limit."""
        signal.signal(signal.SIGALRM, signal.SIG_IGN)

    def over(self) -> None:
        """Remove the limit."""
        self.stop_alarm()
        self._is_over = True
        self._changed.set()

    def _watch(self) -> None:
        self._wait(lambda: self.seconds - min(self.seconds * _ROLLBACK_SHARE, _ROLLBACK_LIMIT))
        if not self._is_over:
            signal.pthread_kill(main_thread().ident or 0, signal.SIGALRM)
        self._wait(lambda: self.seconds)
        if not self._is_over:
            # It may hang as well, for example on the same file system.
            reporter = Thread(target=self._on_timeout, daemon=True)
            reporter.start()
            reporter.join(_ON_TIMEOUT_LIMIT)
            try:
                end_group()
            finally:
                os._exit(0)

    def _wait(self, limit: Callable[[], float]) -> None:
        while not self._is_over and (left := self._from + limit() - time.monotonic()) > 0:
            self._changed.wait(left)
            self._changed.clear()


def _raise_time_up(*_: object) -> NoReturn:
    raise TimeUpError


def lead_group() -> None:
    """Become a process-group leader, so that `end_group` can stop our children."""
    # A session leader already leads a group.
    with suppress(OSError):
        os.setpgid(0, 0)


def end_group() -> None:
    """End our children: git, and the filters and helpers that it runs.

    They have a moment to clean up. SIGKILL then ends those that ignore SIGTERM.
    """
    if os.getpgrp() != os.getpid():
        return
    deadline = time.monotonic() + _GRACE
    asked = set[int]()
    while others := _others_in_group():
        is_over = time.monotonic() > deadline
        for pid in others if is_over else others - asked:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL if is_over else signal.SIGTERM)
        asked |= others
        if is_over:
            return
        time.sleep(_POLL)


def _others_in_group() -> set[int]:
    """The running processes of the group that we lead."""
    own = os.getpid()
    return {pid for pid, group in _groups() if group == own and pid != own}


def _groups() -> Iterator[tuple[int, int]]:
    """All running processes with their groups."""
    if os.path.exists("/proc/self/stat"):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            # It may end at any time.
            with suppress(OSError, ValueError, IndexError):
                _, (state, _, group, *_) = _stat(int(name))
                if state not in "ZX":
                    yield int(name), int(group)
        return
    for line in _ps("-axo", "pid=,pgid="):
        pid, _, group = line.strip().partition(" ")
        yield int(pid), int(group)


def starter_of_git(pid: int) -> int | None:
    """The process that started a git; None if `pid` is another program, or that is unknown.

    Git waits for a command that it has started, even if its own starter has ended.
    """
    name, above = _name_and_parent(pid)
    return above if name == "git" else None


def _name_and_parent(pid: int) -> tuple[str, int | None]:
    """The name and the parent of a process; empty and None if they are unknown."""
    with suppress(OSError, ValueError, IndexError):
        if os.path.exists("/proc/self/stat"):
            name, fields = _stat(pid)
            return name, int(fields[1])
        above, _, name = _ps("-o", "ppid=,ucomm=", "-p", str(pid))[0].strip().partition(" ")
        return name.strip(), int(above)
    return "", None


def read_umask() -> int:
    """The umask of this process; `os.umask` changes it, and other threads may create files."""
    with suppress(OSError, StopIteration), open("/proc/self/status", "rb") as file:
        return int(next(line for line in file if line.startswith(b"Umask:")).split()[1], 8)
    import subprocess

    return int(subprocess.run(("sh", "-c", "umask"), stdout=subprocess.PIPE, check=True).stdout, 8)


def _stat(pid: int) -> tuple[str, list[str]]:
    """The name of a process, and the fields after it: state, parent, group, ... (OSError)."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        start, _, rest = file.read().rpartition(")")
    return start.partition("(")[2], rest.split()


def _ps(*options: str) -> list[str]:
    """The lines that `ps` prints (OSError)."""
    import subprocess

    process = subprocess.Popen(
        ("ps", *options),
        stdout=subprocess.PIPE,
        text=True,
        # It is not to be found in our group.
        start_new_session=True,
    )
    return process.communicate()[0].splitlines()


def run_program(command: Sequence[str], patience: float) -> tuple[int, str]:
    """The exit code of a program of the user's, and what it printed.

    FatalError (`io`) if it cannot be started, or does not end within `patience` seconds.
    """
    import subprocess

    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patience,
            check=False,
        )
    except OSError as error:
        raise from_os(error) from None
    except subprocess.TimeoutExpired:
        message = f"'{command[0]}' did not end within {patience:g} seconds"
        raise FatalError(message, code="io") from None
    return done.returncode, done.stdout.decode("utf-8", "replace")


def isolated_command() -> tuple[str, ...]:
    """What runs this program with this Python, and nothing that a worktree brings along.

    An isolated Python lacks the directories that a launching script has added, as those of nix
    do, and those of PYTHONPATH. The command adds the ones that the program needs.
    """
    script = os.path.join(_PACKAGE, "__main__.py")
    added = _added_directories()
    if not added and os.path.isfile(script):
        return (sys.executable, "-I", script)
    start = "from git_boocode.__main__ import program; program()"
    directories = [os.path.dirname(_PACKAGE), *added]
    start = f"import sys; del sys.argv[0]; sys.path += {directories}; {start}"
    return (sys.executable, "-I", "-c", start, script)


def _added_directories() -> list[str]:
    """Where the packages that we need are, unless an isolated Python finds them by itself."""
    import site
    from importlib.machinery import PathFinder

    usual = [*site.getsitepackages(), os.path.dirname(_PACKAGE)]
    others = [path for path in sys.path if os.path.isabs(path) and not _is_here(path)]
    added = []
    for name in NEEDED_MODULES:
        if PathFinder.find_spec(name, usual) is None:
            spec = PathFinder.find_spec(name, others)
            if spec is not None and spec.origin is not None:
                levels = 1 if spec.submodule_search_locations is None else 2
                added.append(spec.origin.rsplit(os.sep, levels)[0])
    return list(dict.fromkeys(added))


def _is_here(path: str) -> bool:
    return os.path.exists(path) and os.path.samefile(path, os.curdir)


def start_detached(command: Sequence[str], directory: str, environ: Mapping[str, str]) -> None:
    """Start a program that nobody waits for, in a session of its own, and without any streams."""
    import subprocess

    # It is the child of a shell that has ended, so that a host is left without a zombie.
    subprocess.run(
        ("sh", "-c", '"$@" &', "sh", *command),
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
    )


def find_command(name: str) -> str:
    """The program that a shell would run for a path or a command name (CommandError)."""
    import shutil

    if found := shutil.which(name):
        return found
    if "/" in name and os.path.exists(name):
        reason = "it is a directory" if os.path.isdir(name) else "permission denied"
        raise CommandError(f"cannot run '{name}': {reason}", found=True)
    raise CommandError(
        f"cannot run '{name}': command not found",
        found=False,
        hints=("for a shell builtin, function or pipeline: git boocode run -- sh -c '...'",),
    )


def become(program: str, command: Sequence[str]) -> NoReturn:
    """Replace this process by the program at a path; `command` is its name and arguments.

    CommandError if it cannot be executed; this process is unchanged then.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # The program would inherit ignored signals.
    before = {number: signal.signal(number, signal.SIG_DFL) for number in _IGNORED_BY_PYTHON}
    try:
        try:
            os.execv(program, list(command))
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without an interpreter line: shells run it themselves.
            os.execvp("sh", ["sh", program, *command[1:]])
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CommandError(f"cannot run '{program}': {reason}", found=True) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
