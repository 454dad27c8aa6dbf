"""The host's callback: a program that keeps the conversation in step with the files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from git_boocode.checkpoints.running import noted
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import INSIDE_RESTORE

HOOK = "boocode-restore"
TIMEOUT = 60
_SHOWN_STDERR = 2000
_SHOWN_MESSAGE = 2000
_SHOWN_STDOUT = 80


class Answer:
    """What the callback answered.

    Attributes:
        messages_deleted: how many messages it removed.
        backend_reset: whether it reset the agent's session.
        edits: the edits that it asks for, as `apply-edit` reads them; None for none.
        message: what it has to tell the user; empty for nothing.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.messages_deleted = _count(values.get("messages_deleted", 0))
        self.backend_reset = _flag(values.get("backend_reset", False))
        self.edits: object = values.get("edits")
        self.message = _words(values.get("message"))


class Callback:
    """A callback program, ready to be told of events.

    Args:
        program: the file to run.
        cwd: where to run it: the top of the worktree.
        timeout: how many seconds an event may take.
        state_dir: the worktree's private directory, to note there that it runs.
        common: what every event's object holds besides the event's name.
    """

    def __init__(
        self,
        program: str,
        cwd: str,
        timeout: int,
        state_dir: str,
        common: Mapping[str, Any] | None = None,
    ) -> None:
        self.program = program
        self._cwd = cwd
        self._timeout = timeout
        self._state_dir = state_dir
        self._common = dict(common or {})

    def about(self, common: Mapping[str, Any]) -> Callback:
        """The same callback, told what every event is about."""
        return Callback(self.program, self._cwd, self._timeout, self._state_dir, common)

    def prepare(self) -> None:
        """Announce the restore; nothing has happened yet.

        Raises:
            RefusedError: it said no, by its exit code or by `"veto": true` (`vetoed`).
            FatalError: it could not be run, ran out of time or answered no JSON (`callback`).
        """
        status, stdout, stderr = self._run("prepare", {})
        if status < 0:
            raise self._failed(_ended(status, "prepare"), stderr)
        if status:
            raise self._vetoed(stderr)
        values = self._object(stdout, stderr) if stdout.strip() else {}
        if values.get("veto"):
            raise self._vetoed(str(values.get("message") or stderr))

    def commit(self, event: str) -> Answer:
        """Let the conversation follow the files.

        Args:
            event: `trim` after a restore, `undo` after an undo.

        Raises:
            FatalError: it failed in any way (`callback`).
        """
        status, stdout, stderr = self._run(event, {})
        if status:
            raise self._failed(_ended(status, event), stderr)
        values = self._object(stdout, stderr)
        try:
            return Answer(values)
        except ValueError as error:
            raise self._failed(f"gave a wrong answer to '{event}': {error}", stderr) from None

    def rollback(self, reason: str) -> None:
        """Tell that a later step failed, so that the callback can take its own work back.

        Raises:
            FatalError: it failed in any way (`callback`).
        """
        status, _, stderr = self._run("rollback", {"reason": reason})
        if status:
            raise self._failed(_ended(status, "rollback"), stderr)

    def asked_for_wrong_edits(self, error: BoocodeError) -> FatalError:
        """The error of edits that cannot be applied.

        Args:
            error: why.
        """
        return self._failed(f"asked for edits that cannot be applied: {error.message}", "")

    def _run(self, event: str, extra: Mapping[str, Any]) -> tuple[int, bytes, str]:
        with noted(self._state_dir) as lock:
            return self._run_with(lock, event, extra)

    def _run_with(
        self, lock: tuple[int, ...], event: str, extra: Mapping[str, Any]
    ) -> tuple[int, bytes, str]:
        request = {"boocode": 1, "event": event, **self._common, **extra}
        environ = _without_worktree({**os.environ}, self._cwd)
        environ[INSIDE_RESTORE] = str(self._common.get("restore_id", "1"))
        try:
            process = subprocess.Popen(
                [self.program],
                cwd=self._cwd,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=lock,
            )
        except OSError as error:
            hint = "is it executable, and does its first line name an interpreter?"
            raise self._failed(f"cannot be run: {error.strerror}", "", hint) from None
        with process:
            # ASCII JSON: a path that is not UTF-8 appears as \udcXX there.
            stdout, stderr = self._communicate(process, json.dumps(request).encode() + b"\n", event)
        return process.returncode, stdout, stderr.decode("utf-8", "replace")

    def _communicate(
        self, process: subprocess.Popen[bytes], request: bytes, event: str
    ) -> tuple[bytes, bytes]:
        try:
            return process.communicate(request, timeout=self._timeout)
        except subprocess.TimeoutExpired:
            _end_group(process)
            raise self._failed(
                f"did not answer '{event}' within {self._timeout} seconds",
                _last_words(process),
                "git config boocode.callbackTimeout SECONDS gives it more time",
            ) from None
        except BaseException:
            _end_group(process)
            raise

    def _object(self, stdout: bytes, stderr: str) -> dict[str, Any]:
        try:
            values = json.loads(stdout)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            shown = json.dumps(stdout[:_SHOWN_STDOUT].decode("utf-8", "replace"))
            answered = shown if stdout.strip() else "nothing"
            raise self._failed(f"answered {answered} instead of one JSON object", stderr)
        return values

    def _failed(self, what: str, stderr: str, hint: str = "") -> FatalError:
        said = f"\n{stderr.strip()[-_SHOWN_STDERR:]}" if stderr.strip() else ""
        hints = (hint or "mend the callback, or do without it: --files-only",)
        return FatalError(
            f"the callback '{self.program}' {what}{said}", code="callback", hints=hints
        )

    def _vetoed(self, said: str) -> RefusedError:
        reason = said.strip()[-_SHOWN_STDERR:] or "it gave no reason"
        return RefusedError(
            f"the callback '{self.program}' forbids it: {reason}",
            code="vetoed",
            hints=("--files-only restores without the callback",),
        )


def find_callback(repository: Repository, given: str | None) -> Callback | None:
    """The callback to use: the one given, else `boocode.callback`, else an executable git hook.

    Raises:
        RefusedError: there is no such file, or its name comes out of a file in the worktree, which
            a clone could have brought along (`untrusted`).
    """
    program = given or _configured(repository) or _hook(repository)
    if program is None:
        return None
    path = os.path.join(os.getcwd() if given else repository.worktree, program)
    if not os.path.isfile(path):
        raise RefusedError(
            f"there is no callback '{program}'",
            code="missing_file",
            hints=("--callback <file> or boocode.callback names it; --files-only does without it",),
        )
    timeout = timeout_of(repository)
    return Callback(os.path.abspath(path), repository.worktree, timeout, repository.state_dir)


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
    return any(_below(real, top) for top in _worktrees(repository))


def _worktrees(repository: Repository) -> list[str]:
    # They share the configuration, so that a file of any of them may have been included.
    listing = repository.git.line("worktree", "list", "--porcelain").split("\n")
    tops = [line.removeprefix("worktree ") for line in listing if line.startswith("worktree ")]
    return [repository.worktree, *map(os.path.realpath, tops)]


def _below(path: str, directory: str) -> bool:
    return os.path.commonpath((path, directory)) == directory


def _hook(repository: Repository) -> str | None:
    path = repository.hook_path(HOOK)
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else None


def _without_worktree(environ: dict[str, str], top: str) -> dict[str, str]:
    """An environment in which a callback in Python imports nothing from the worktree."""
    given = environ.pop("PYTHONPATH", "").split(os.pathsep)
    real = {path: os.path.realpath(os.path.join(top, path)) for path in given if path}
    kept = [path for path in real if not _below(real[path], top)]
    return {**environ, "PYTHONPATH": os.pathsep.join(kept)} if kept else environ


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def _ended(status: int, event: str) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"failed with exit code {status}"
    return f"{how} in '{event}'"


def _last_words(process: subprocess.Popen[bytes]) -> str:
    try:
        _, stderr = process.communicate(timeout=1)
    except subprocess.TimeoutExpired:
        # Something that left the group still holds the pipes; it is not waited for.
        return ""
    return stderr.decode("utf-8", "replace")


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("'messages_deleted' must be a whole number")
    return value


def _words(value: object) -> str:
    # All else counts as nothing: no restore is worth rolling back for what was only to be shown.
    return value.strip()[:_SHOWN_MESSAGE] if isinstance(value, str) else ""


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("'backend_reset' must be true or false")
    return value
