"""The host's callback: a program that keeps the conversation in step with the files.

If the restore that runs it is killed, the next one waits for the callback to end: it would go on to
trim the conversation otherwise, after that has been brought back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from git_boocode.checkpoints.store.catalog import Change, Checkpoint
from git_boocode.repo.durable import is_regular, remove, try_lock
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.lock import CALLING, INSIDE_RESTORE, taking_turns
from git_boocode.repo.moving_head import worktrees
from git_boocode.repo.repository import Repository

HOOK = "boocode-restore"
TIMEOUT = 60
_SHOWN = 2000
_SHOWN_STDOUT = 80
_ABOUT = ("label", "session", "chat", "message", "agent", "created_at", "anchor", "meta")
_RUNNING = "callback-running"


HostFunction = Callable[[dict[str, Any]], Mapping[str, Any] | None]
"""Gets the object of an event and returns that of the answer, as a program would."""


class CallbackAnswer:
    """What the callback answered; a malformed answer raises ValueError.

    `edits` are those that it asks for, as `apply-edit` reads them, and `message` is for the user.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.messages_deleted = values.get("messages_deleted", 0)
        if type(self.messages_deleted) is not int or self.messages_deleted < 0:
            raise ValueError("'messages_deleted' must be a whole number")
        self.backend_reset = values.get("backend_reset", False)
        if not isinstance(self.backend_reset, bool):
            raise ValueError("'backend_reset' must be true or false")
        self.edits: object = values.get("edits")
        # No restore is worth rolling back for what was only to be shown.
        message = values.get("message")
        self.message = message.strip()[:_SHOWN] if isinstance(message, str) else ""


class Callback(NamedTuple):
    """A callback program, which runs at the top of the worktree, or a `function` of the host.

    A program has `timeout` seconds for each event. A function runs in this process; it can neither
    restore nor take checkpoints in the same worktree, which is locked. `event` is what every
    event's object holds, as `event_of` makes it.
    """

    repository: Repository
    program: str
    timeout: int = TIMEOUT
    function: HostFunction | None = None
    event: Mapping[str, Any] = {}

    def prepare(self) -> None:
        """Announce the restore; refused (`vetoed`) by the exit code or by `"veto": true`.

        As with every event, any failure is a FatalError (`callback`).
        """
        status, stdout, stderr = self._run("prepare")
        if status < 0:
            raise self.failed(_exit_text(status, "prepare"), stderr)
        values = self._object(stdout, stderr) if not status and stdout.strip() else {}
        if status or values.get("veto"):
            said = str(values.get("message") or stderr).strip()[-_SHOWN:] or "it gave no reason"
            raise RefusedError(
                f"callback '{self.program}' vetoed the restore: {said}",
                code="vetoed",
                hints=("--files-only restores without the callback",),
            )

    def commit(self, name: str) -> CallbackAnswer:
        """Let the conversation follow the files: `trim` after a restore, `undo` after an undo."""
        status, stdout, stderr = self._run(name)
        if status:
            raise self.failed(_exit_text(status, name), stderr)
        values = self._object(stdout, stderr)
        try:
            return CallbackAnswer(values)
        except ValueError as error:
            raise self.failed(f"gave a wrong answer to '{name}': {error}", stderr) from None

    def roll_back(self, reason: str) -> None:
        """Report that a later step failed, so that the callback can roll its own work back."""
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
                what = f"raised {type(error).__name__} in '{name}': {error}"
                raise self.failed(what) from error
            finally:
                CALLING.reset(calling)
        top = self.repository.worktree
        environ = _without_worktree({**os.environ}, top)
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
            with process:
                # ASCII JSON: a path that is not UTF-8 appears as \udcXX there.
                data = json.dumps(request).encode() + b"\n"
                try:
                    stdout, stderr = process.communicate(data, timeout=self.timeout)
                except BaseException as error:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    if not isinstance(error, subprocess.TimeoutExpired):
                        raise
                    what = f"did not answer '{name}' within {self.timeout} seconds"
                    hint = "git config boocode.callbackTimeout SECONDS gives it more time"
                    raise self.failed(what, _remaining_stderr(process), hint) from None
        return process.returncode, stdout, stderr.decode("utf-8", "replace")

    def _object(self, stdout: bytes, stderr: str) -> dict[str, Any]:
        try:
            values = json.loads(stdout)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            shown = json.dumps(stdout[:_SHOWN_STDOUT].decode("utf-8", "replace"))
            answered = shown if stdout.strip() else "nothing"
            raise self.failed(f"answered {answered} instead of one JSON object", stderr)
        return values

    def failed(self, what: str, stderr: str = "", hint: str = "") -> FatalError:
        """The error of a callback that did `what`."""
        said = f"\n{stderr.strip()[-_SHOWN:]}" if stderr.strip() else ""
        return FatalError(
            f"callback '{self.program}' {what}{said}",
            code="callback",
            hints=(hint or "fix the callback, or skip it with --files-only",),
        )


def event_of(
    repository: Repository,
    operation: tuple[str, str, str],
    whose: Checkpoint,
    changes: Iterable[Change],
) -> dict[str, Any]:
    """What every event of one operation holds.

    `operation` is its kind, the event that follows `prepare`, and its id; `whose` is the checkpoint
    whose conversation it is.
    """
    kind, commits, restore_id = operation
    return {
        "operation": kind,
        "commits": commits,
        "restore_id": restore_id,
        "checkpoint_id": whose.id,
        "commit": whose.commit.id,
        **{key: whose.meta.values.get(key) for key in _ABOUT},
        "worktree": repository.worktree,
        "git_dir": repository.git_dir,
        "changed": [change.as_json() for change in changes],
    }


# Finding the callback.


def find_callback(repository: Repository, given: str | HostFunction | None) -> Callback | None:
    """The callback to use: the one given, else `boocode.callback`, else an executable git hook.

    Refused if there is no such file, or its name comes out of a file in the worktree, which a clone
    could have brought along (`untrusted`).
    """
    if callable(given):
        name = getattr(given, "__qualname__", repr(given))
        return Callback(repository, name, function=given)
    program = given or _configured(repository) or _hook(repository)
    if program is None:
        return None
    path = os.path.join(os.getcwd() if given else repository.worktree, program)
    if not os.path.isfile(path):
        raise RefusedError(
            f"callback '{program}' does not exist",
            code="missing_file",
            hints=("fix --callback or boocode.callback, or skip it with --files-only",),
        )
    return Callback(repository, os.path.abspath(path), timeout_of(repository))


def timeout_of(repository: Repository) -> int:
    """How many seconds a callback has for one event (`boocode.callbackTimeout`)."""
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
            hints=("set it where no clone can: git config boocode.callback <file>",),
        )
    return repository.config.path("boocode.callback")


def _in_worktree(repository: Repository, path: str) -> bool:
    real = os.path.realpath(path)
    own = (repository.git_dir, repository.common_dir)
    if any(_below(real, os.path.realpath(directory)) for directory in own):
        return False
    # They share the configuration, so that a file of any of them may have been included.
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
    given = environ.pop("PYTHONPATH", "").split(os.pathsep)
    real = {path: os.path.realpath(os.path.join(top, path)) for path in given if path}
    kept = [path for path in real if not _below(real[path], top)]
    return {**environ, "PYTHONPATH": os.pathsep.join(kept)} if kept else environ


def _exit_text(status: int, name: str) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"failed with exit code {status}"
    return f"{how} in '{name}'"


def _remaining_stderr(process: subprocess.Popen[bytes]) -> str:
    try:
        _, stderr = process.communicate(timeout=1)
    except subprocess.TimeoutExpired:
        # Something that left the group still holds the pipes; it is not waited for.
        return ""
    return stderr.decode("utf-8", "replace")


@contextmanager
def running_lock(state_dir: str) -> Iterator[tuple[int, ...]]:
    """Note that a callback runs, by a lock that ends with it.

    Yields the descriptors that it has to inherit; none where nothing can be noted, for even a full
    disk must not keep the callback from being called.
    """
    path = os.path.join(state_dir, _RUNNING)
    try:
        # A file of its own each time: what an earlier callback has started may hold the last one.
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
    """Wait for the callback of a killed restore, but not beyond the seconds that it had."""
    path = os.path.join(state_dir, _RUNNING)
    if is_regular(path):
        # The rest of its time, and no more than that if the clock was set back.
        age = max(0.0, time.time() - os.stat(path).st_mtime)
        with suppress(RefusedError), taking_turns(path, patience=timeout - age):
            pass
        with suppress(OSError):
            os.unlink(path)
