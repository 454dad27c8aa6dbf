"""Requests in progress, and their answers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from git_boocode.repo.errors import unexpected
from git_boocode.repo.git import Process, end_watched
from git_boocode.server.json_rpc import (
    INTERNAL_ERROR,
    JsonObject,
    RequestId,
    RpcError,
    RpcRequest,
    error_message,
    result_message,
)

Reply = Callable[[JsonObject | None], None]
"""Takes the answer to a message; None if it has none."""


class CancelledError(Exception):
    """The client has cancelled the request, so nobody wants the answer."""


class PendingRequest:
    """A request in progress; `done` is called when it is answered, or dropped."""

    def __init__(
        self,
        request: RpcRequest,
        identifier: RequestId,
        reply: Reply,
        done: Callable[[PendingRequest], None],
    ) -> None:
        self.request = request
        self.id = identifier
        self.is_cancelled = False
        self.is_withdrawn = False
        """Whether the client itself has cancelled it, so that its work can be given up."""
        self._reply = reply
        self._done = done
        self._lock = threading.Lock()
        self._processes: list[Process] = []

    def cancel(self) -> None:
        """Drop the answer, and end the git commands that `watch` has seen."""
        with self._lock:
            self.is_cancelled = True
            for process in self._processes:
                end_watched(process, signal.SIGTERM)

    def watch(self, process: Process) -> None:
        """End a git command as soon as the request is cancelled (CancelledError)."""
        with self._lock:
            self._processes = [each for each in self._processes if each.returncode is None]
            self._processes.append(process)
            if not self.is_cancelled:
                return
        end_watched(process, signal.SIGKILL)
        process.communicate()
        raise CancelledError

    def finish(self, work: Callable[[], JsonObject]) -> None:
        """Do the work and answer with its result, unless the request was cancelled."""
        answer = None
        try:
            if not self.is_cancelled:
                answer = result_message(self.id, work())
        except CancelledError:
            pass
        except RpcError as error:
            answer = error_message(self.id, error)
        except Exception as error:  # noqa: BLE001 - the one net: a bug must not end the server
            answer = error_message(self.id, RpcError(INTERNAL_ERROR, unexpected(error).message))
        self._done(self)
        self._reply(None if self.is_cancelled else answer)


class Batch:
    """Answers that are sent together, once all are there."""

    def __init__(self, count: int, send: Callable[[object], None]) -> None:
        self._left = count
        self._send = send
        self._answers: list[JsonObject] = []
        self._lock = threading.Lock()

    def reply(self, answer: JsonObject | None) -> None:
        """Take an answer, or None for a message that has none."""
        with self._lock:
            self._answers += [] if answer is None else [answer]
            self._left -= 1
            is_last = self._left == 0
        if is_last and self._answers:
            self._send(self._answers)
