"""Run Python programs as processes of their own, without waiting for Python to start each time.

A server that has loaded git-boocode forks a process for each. To the tests it is as if it had been
started: its own standard streams, environment, directory, umask and exit status. Only what Python
settles at its very start is that of the server, such as the encoding of the locale.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NoReturn

_TOP = Path(__file__).resolve().parent.parent
_STREAMS = 3
_LARGEST = 1 << 20
_START = "import sys; sys.path.insert(0, sys.argv[1]); from tests.forked import _serve; _serve()"
_lock = Lock()
_server: list[tuple[subprocess.Popen[bytes], str]] = []
_running: dict[int, socket.socket] = {}
"""What the server has started, and who waits for it."""


def run_forked(
    code: str, *argv: str, cwd: str | Path, env: dict[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run Python code as a program.

    Args:
        code: what `python -c` would be given.
        argv: its arguments.
        cwd: where to run it.
        env: its whole environment.
        stdin: what it reads.
    """
    out, err = _Reader(), _Reader()
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        streams = [given.fileno(), out.writing, err.writing]
        process = ForkedProcess(code, argv, cwd, env, streams)
        out.start()
        err.start()
        status = process.wait()
    return subprocess.CompletedProcess(code, status, out.finish(), err.finish())


class ForkedProcess:
    """A program that runs, used like `subprocess.Popen`.

    `streams` are its standard streams; without them, it gets pipes.
    """

    def __init__(
        self,
        code: str,
        argv: Sequence[str],
        cwd: str | Path,
        env: Mapping[str, str],
        streams: Sequence[int] = (),
    ) -> None:
        # Not the directory of the server.
        top = str(Path.cwd() / cwd) if not os.path.isabs(cwd) else str(cwd)
        request = {"code": code, "argv": argv, "cwd": top, "env": env, "umask": _umask()}
        ends = [] if streams else [os.pipe() for _ in range(_STREAMS)]
        if ends:
            streams = (ends[0][0], ends[1][1], ends[2][1])
            self.stdin = os.fdopen(ends[0][1], "wb")
            self.stdout, self.stderr = (os.fdopen(reading, "rb") for reading, _ in ends[1:])
        self.returncode: int | None = None
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(_address())
        socket.send_fds(self._connection, [json.dumps(request).encode()], list(streams))
        if ends:
            for stream in streams:
                os.close(stream)
        self.pid = int(self._connection.recv(_LARGEST))

    def poll(self) -> int | None:
        """How it ended, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """How it ends (TimeoutExpired)."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = int(self._connection.recv(_LARGEST) or b"-9")
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("forked", timeout or 0) from None
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


class _Reader:
    """A pipe whose other end is read by a thread."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        self._chunks: list[bytes] = []
        self._thread = Thread(target=self._read)

    def start(self) -> None:
        os.close(self.writing)
        self._thread.start()

    def _read(self) -> None:
        while chunk := os.read(self._reading, 1 << 16):
            self._chunks.append(chunk)

    def finish(self) -> bytes:
        self._thread.join()
        os.close(self._reading)
        return b"".join(self._chunks)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _address() -> str:
    with _lock:
        if not _server:
            directory = tempfile.mkdtemp(prefix="forked-")
            address = os.path.join(directory, "socket")
            command = [sys.executable, "-I", "-c", _START, str(_TOP), address]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()
            _server.append((process, address))
            atexit.register(_stop)
        return _server[0][1]


def _stop() -> None:
    process, address = _server.pop()
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    os.unlink(address)
    os.rmdir(os.path.dirname(address))


def _serve() -> NoReturn:
    _load()
    # A collection in a process would copy the pages of everything that the server has loaded.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, _report_ended)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(sys.argv[2])
        listening.listen(64)
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            _start(connection, listening)


def _load() -> None:
    import git_boocode

    package = Path(git_boocode.__file__).parent
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        if name not in ("git_boocode.__main__", "git_boocode.repo.libgit2"):
            import_module(name.removesuffix(".__init__"))


def _start(connection: socket.socket, listening: socket.socket) -> None:
    """Start what is asked for; `_report_ended` reports how it ends."""
    request, streams, _, _ = socket.recv_fds(connection, _LARGEST, _STREAMS)
    # It must not end before it is among those that run.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        for server_end in (listening, connection, *_running.values()):
            server_end.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        _become(json.loads(request), streams)
    _running[child] = connection
    for stream in streams:
        os.close(stream)
    with suppress(OSError):
        connection.send(str(child).encode())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _report_ended(*_: object) -> None:
    while _running:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            # Another one ended during this call, and the report of that one came first.
            return
        if not child:
            return
        # Nobody may wait for it any more.
        with suppress(OSError), _running.pop(child) as connection:
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], streams: list[int]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    os.umask(request["umask"])
    sys.argv = ["-c", *request["argv"]]
    code = 1
    try:
        exec(compile(request["code"], "<string>", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except BaseException:  # noqa: BLE001 - as Python does at the end of a program
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
