"""The host's callback: a program that keeps the conversation in step with the files.

If a restore is killed, the next one waits until its callback has finished. Otherwise the callback
could trim the conversation after that has been restored.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from git_boocode.repo.durable import is_regular, remove, try_lock
from git_boocode.repo.errors import FatalError, NextStep, RefusedError, shell_command
from git_boocode.repo.files import find_shipped, shipped_file
from git_boocode.repo.head import worktrees
from git_boocode.repo.layout import CALLBACK_LOCK
from git_boocode.repo.lock import CALLING, INSIDE_RESTORE, file_lock
from git_boocode.repo.repository import Repository

HOOK = "boocode-restore"
SHIPPED = ("claude-code", "http", "sqlite", "trim-jsonl")
TIMEOUT = 60
LARGEST_ANSWER = 64 << 20
"""The maximum size of an answer, in bytes."""
_CHUNK = 1 << 16
_LARGEST_PIPE = 1 << 20
_POLL = 0.05  # seconds between two looks at a process whose streams are silent
_PYTHON = "BOOCODE_PYTHON"  # runs the shipped callbacks
_SHOWN = 2000
_SHOWN_STDOUT = 80


HostFunction = Callable[[dict[str, Any]], Mapping[str, Any] | None]
"""Takes the object of an event and returns the object of the answer, as a program does."""


class CallbackAnswer:
    """The callback's answer; ValueError if it is malformed.

    `edits` are edits of the host's files in any format of `apply-edit`; `message` is for the user,
    and `resume` is the command that goes on with the conversation, as text or as a list of words;
    `resume_words` are its words; `session` is the id of a copy. Nothing is left of the conversation
    if `is_emptied`.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.messages_deleted = values.get("messages_deleted", 0)
        if type(self.messages_deleted) is not int or self.messages_deleted < 0:
            raise ValueError("'messages_deleted' must be a whole number")
        self.backend_reset = values.get("backend_reset", False)
        if not isinstance(self.backend_reset, bool):
            raise ValueError("'backend_reset' must be true or false")
        self.is_emptied = values.get("messages_left") == 0
        self.edits: object = values.get("edits")
        # Malformed texts are ignored, because they are no reason to roll a restore back.
        message = values.get("message")
        self.message = message.strip()[:_SHOWN] if isinstance(message, str) else ""
        self.resume = _command(values.get("resume"))
        given = values.get("resume")
        words = given if isinstance(given, list) else [self.resume]
        session = values.get("session")
        self.session = session if isinstance(session, str) and session.isprintable() else ""
        self.resume_words: tuple[str, ...] = tuple(words) if self.resume else ()


class AgentCallback(NamedTuple):
    """The shipped callback of an agent, by its name, and the environment that configures it.

    `store` is the file that holds all conversations; empty if each has a transcript of its own.
    """

    name: str
    environment: Mapping[str, str] = {}
    store: str = ""


class Callback(NamedTuple):
    """A callback program, which runs at the top of the worktree, or a `function` of the host.

    A program has `timeout` seconds for each event. A function runs in this process; it can neither
    restore nor take checkpoints in the same worktree, which is locked. `event` has the fields that
    all events share.
    """

    repository: Repository
    program: str
    timeout: int = TIMEOUT
    function: HostFunction | None = None
    event: Mapping[str, Any] = {}
    environment: Mapping[str, str] = {}

    def prepare(self) -> None:
        """Announce the restore; RefusedError (`vetoed`) on an exit code or `"veto": true`.

        As with every event, any other failure is a FatalError (`callback`).
        """
        status, stdout, stderr = self._run("prepare")
        if status < 0:
            raise self.failed(_exit_text(status, "prepare"), stderr)
        values = self._object(stdout, stderr) if not status and stdout.strip() else {}
        if status or values.get("veto"):
            reason = str(values.get("message") or stderr).strip()[-_SHOWN:] or "no reason given"
            raise RefusedError(
                f"callback '{self.program}' vetoed the restore: {reason}",
                code="vetoed",
                hints=(NextStep("{} restores without the callback", "files_only"),),
            )

    def commit(self, name: str) -> CallbackAnswer:
        """Restore the conversation: `name` is `trim` after a restore, `undo` after an undo."""
        status, stdout, stderr = self._run(name)
        if status:
            raise self.failed(_exit_text(status, name), stderr)
        values = self._object(stdout, stderr)
        try:
            return CallbackAnswer(values)
        except ValueError as error:
            raise self.failed(f"gave an invalid answer to '{name}': {error}", stderr) from None

    def roll_back(self, reason: str) -> None:
        """Report that a later step failed, so that the callback rolls its own work back."""
        status, _, stderr = self._run("rollback", reason=reason)
        if status:
            raise self.failed(_exit_text(status, "rollback"), stderr)

    def _run(self, name: str, **more: str) -> tuple[int, bytes, str]:
        request = {"boocode": 1, "event": name, **self.event, **more}
        if self.function is not None:
            calling = CALLING.set(self.repository.state_dir)
            try:
                return 0, json.dumps(self.function(request) or {}).encode(), ""
            except Exception as error:
                problem = f"raised {type(error).__name__} in '{name}': {error}"
                raise self.failed(problem) from error
            finally:
                CALLING.reset(calling)
        top = self.repository.worktree
        environ = _without_worktree({**self.environment, **os.environ}, top)
        if self.program == find_shipped(f"callbacks/{os.path.basename(self.program)}"):
            # The user's python3 may be missing, or too old.
            environ[_PYTHON] = sys.executable or "python3"
        environ[INSIDE_RESTORE] = str(self.event.get("restore_id", "1"))
        with running_lock(self.repository.state_dir) as lock:
            try:
                process = subprocess.Popen(
                    [self.program],
                    cwd=top,
                    env=environ,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=lock,
                )
            except OSError as error:
                hint = "is it executable, and does its first line name an interpreter?"
                raise self.failed(f"cannot be run: {error.strerror}", "", hint) from None
            # ASCII JSON: a path that is not UTF-8 appears as \udcXX there.
            data = json.dumps(request).encode() + b"\n"
            with process, selectors.DefaultSelector() as selector:
                exchange = _Exchange(process, selector, data)
                try:
                    ended = exchange.run(self.timeout)
                finally:
                    if process.poll() is None:
                        with suppress(ProcessLookupError):
                            os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = bytes(exchange.stdout), exchange.stderr.decode("utf-8", "replace")
        if not ended:
            problem = f"did not answer '{name}' within {self.timeout} seconds"
            hint = "to give it more time: git config boocode.callbackTimeout <seconds>"
            raise self.failed(problem, stderr, hint)
        if len(stdout) > LARGEST_ANSWER:
            raise self.failed(f"answered more than {LARGEST_ANSWER >> 20} MiB to '{name}'", stderr)
        return process.returncode, stdout, stderr

    def _object(self, stdout: bytes, stderr: str) -> dict[str, Any]:
        try:
            values = json.loads(stdout)
        except (ValueError, RecursionError):
            values = None
        except MemoryError:
            raise self.failed("gave an answer that does not fit in memory", stderr) from None
        if not isinstance(values, dict):
            shown = json.dumps(stdout[:_SHOWN_STDOUT].decode("utf-8", "replace"))
            answered = shown if stdout.strip() else "nothing"
            raise self.failed(f"answered {answered} instead of one JSON object", stderr)
        return values

    def failed(self, problem: str, stderr: str = "", hint: str = "") -> FatalError:
        """The error of a callback; `problem` is a verb phrase such as "cannot be run"."""
        output = f"\n{stderr.strip()[-_SHOWN:]}" if stderr.strip() else ""
        return FatalError(
            f"callback '{self.program}' {problem}{output}",
            code="callback",
            hints=(NextStep(hint or "fix the callback, or skip it with {}", "files_only"),),
        )


def _command(value: object) -> str:
    """A command of an answer, text or a list of words; empty if it cannot be shown in one line."""
    words = value if isinstance(value, list) else []
    if words and all(isinstance(word, str) and word.isprintable() for word in words):
        value = shell_command(*words)
    text = value.strip() if isinstance(value, str) else ""
    return text if text.isprintable() and len(text) <= _SHOWN else ""


# Finding the callback.


def find_callback(
    repository: Repository,
    explicit: str | HostFunction | None,
    of_agent: AgentCallback | None = None,
    *,
    without: str = "",
) -> Callback | None:
    """The callback to use: the explicit one, `boocode.callback`, or the executable git hook.

    Without any of these it is `of_agent`. A program is a file, or the name of a shipped callback.
    `without` is the option that does without the conversation, if there is one.
    RefusedError if the file does not exist (`missing_file`), or if it is configured by a file in
    the worktree, which a clone could contain (`untrusted`).
    """
    if callable(explicit):
        name = getattr(explicit, "__qualname__", repr(explicit))
        return Callback(repository, name, function=explicit)
    program = explicit or _configured(repository) or _hook(repository)
    if program is None:
        if of_agent is None:
            return None
        path = shipped_file(f"callbacks/{of_agent.name}")
        return Callback(repository, path, timeout_of(repository), environment=of_agent.environment)
    # A worktree may contain a file of any name.
    shipped = find_shipped(f"callbacks/{program}") if os.sep not in program else None
    path = shipped or os.path.join(os.getcwd() if explicit else repository.worktree, program)
    if not os.path.isfile(path):
        raise RefusedError(
            f"callback '{program}' does not exist",
            code="missing_file",
            hints=(
                "fix --callback or boocode.callback",
                *([NextStep("{} leaves the conversation alone", without)] if without else []),
                f"the callbacks that come with git-boocode are: {', '.join(SHIPPED)}",
            ),
        )
    return Callback(repository, os.path.abspath(path), timeout_of(repository))


def timeout_of(repository: Repository) -> int:
    """The seconds that a callback has for one event (`boocode.callbackTimeout`)."""
    return repository.config.integer("boocode.callbackTimeout", default=TIMEOUT, least=1)


def _configured(repository: Repository) -> str | None:
    setting = repository.config.setting("boocode.callback")
    if setting is None:
        return None
    kind, _, origin = setting.origin.partition(":")
    if kind == "file" and _in_worktree(repository, os.path.join(repository.worktree, origin)):
        raise RefusedError(
            f"boocode.callback is set by '{origin}', a file in the worktree",
            code="untrusted",
            hints=("a clone could set it; use: git config boocode.callback <file>",),
        )
    return repository.config.path("boocode.callback")


def _in_worktree(repository: Repository, path: str) -> bool:
    real = os.path.realpath(path)
    own = (repository.git_dir, repository.common_dir)
    if any(_below(real, os.path.realpath(directory)) for directory in own):
        return False
    # Worktrees share the configuration, which may include a file of any of them.
    others = (os.path.realpath(top) for top, _ in worktrees(repository))
    return any(_below(real, top) for top in (repository.worktree, *others))


def _below(path: str, directory: str) -> bool:
    return os.path.commonpath((path, directory)) == directory


def _hook(repository: Repository) -> str | None:
    hooks = repository.config.path("core.hooksPath") or f"{repository.common_dir}/hooks"
    path = os.path.join(repository.worktree, hooks, HOOK)
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else None


# Running it.


def _without_worktree(environ: dict[str, str], top: str) -> dict[str, str]:
    """An environment in which a callback in Python imports nothing from the worktree."""
    paths = environ.pop("PYTHONPATH", "").split(os.pathsep)
    real = {path: os.path.realpath(os.path.join(top, path)) for path in paths if path}
    outside = [path for path in real if not _below(real[path], top)]
    return {**environ, "PYTHONPATH": os.pathsep.join(outside)} if outside else environ


def _exit_text(status: int, name: str) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"failed with exit code {status}"
    return f"{how} in '{name}'"


class _Exchange:
    """Gives a process its input and collects its output, with bounded memory.

    Of its output, what an answer may have is kept, and one byte more if it is larger; of its
    standard error, the end. The rest is read and dropped, so that the process does not block.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], selector: selectors.BaseSelector, data: bytes
    ) -> None:
        self._process = process
        self._selector = selector
        self._data = memoryview(data)
        self.stdout = bytearray()
        self.stderr = bytearray()
        for stream, events in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
        ):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, events)

    def run(self, timeout: float) -> bool:
        """Wait until the process has ended; False if it takes longer.

        A process that it started, such as a server, may go on to hold its streams.
        """
        deadline = time.monotonic() + timeout
        while not (ended := self._process.poll() is not None):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if self._selector.get_map():
                self._transfer(min(left, _POLL))
            else:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(min(left, _POLL))
        # What is in the pipes; another process may go on to fill them.
        for _ in range(_LARGEST_PIPE // _CHUNK):
            if not (self._selector.get_map() and self._transfer(0)):
                break
        return ended

    def _transfer(self, timeout: float) -> bool:
        """Read and write what is ready within some seconds; False if nothing is."""
        ready = self._selector.select(timeout)
        for key, _ in ready:
            if key.fileobj is self._process.stdin:
                # Nobody may read it.
                with suppress(BrokenPipeError):
                    self._data = self._data[os.write(key.fd, self._data[:_CHUNK]) :]
                    if self._data:
                        continue
                self._selector.unregister(key.fileobj)
                self._process.stdin.close()
            elif not (data := os.read(key.fd, _CHUNK)):
                self._selector.unregister(key.fileobj)
            elif key.fileobj is self._process.stdout:
                self.stdout += data[: LARGEST_ANSWER + 1 - len(self.stdout)]
            else:
                self.stderr += data
                del self.stderr[:-_CHUNK]
        return bool(ready)


@contextmanager
def running_lock(state_dir: str) -> Iterator[tuple[int, ...]]:
    """Hold a lock that is released when the callback ends, even if this process is killed.

    Yields the descriptors that the callback inherits. If the lock cannot be made, for example on a
    full disk, there are none, and the callback is called anyway.
    """
    path = os.path.join(state_dir, CALLBACK_LOCK)
    try:
        # Use a new file, because processes of an earlier callback may still hold the old one.
        remove(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        yield ()
        return
    try:
        try_lock(descriptor)
        yield (descriptor,)
    finally:
        os.close(descriptor)
        with suppress(OSError):
            os.unlink(path)


def wait_for_callback(state_dir: str, timeout: float) -> None:
    """Wait for the callback of a killed restore, at most until its time-out."""
    path = os.path.join(state_dir, CALLBACK_LOCK)
    if is_regular(path):
        # The remaining time; at most the whole time-out, even if the clock was set back.
        age = max(0.0, time.time() - os.stat(path).st_mtime)
        with suppress(RefusedError), file_lock(path, patience=timeout - age):
            pass
        with suppress(OSError):
            os.unlink(path)
