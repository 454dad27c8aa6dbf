"""Calls of tools: when they run, which worktree they may use, and how they are answered."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from git_boocode.repo.errors import BoocodeError, as_error, shortened, unexpected
from git_boocode.repo.git import Process, end_watched
from git_boocode.repo.lock import is_noted
from git_boocode.server.json_rpc import (
    BUSY,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    JsonObject,
    RequestId,
    RpcError,
    RpcRequest,
    as_object,
    error_message,
)
from git_boocode.server.peer import Peer
from git_boocode.server.tools import (
    ADDS,
    BUFFERS,
    CWD,
    READS,
    REPLACES,
    TOOLS,
    DefinedTools,
    ServedTool,
    is_utf_8,
)

if TYPE_CHECKING:
    from git_boocode.repo.repository import Repository

_PROGRESS_AFTER, _PROGRESS_EVERY = 0.5, 0.2
"""Seconds of work before its progress is reported, and between two reports."""
_READERS = 4
_MOST_WORKTREES = 64
"""Number of worktrees whose threads stay when they are idle."""

Notify = Callable[[str, JsonObject], None]
"""Sends a notification: its method and its parameters."""
Job = Callable[[], None]
"""It answers its request, and raises nothing."""


class CancelledError(Exception):
    """The client has cancelled the request, so nobody wants the answer."""


class PendingRequest:
    """A request in progress; `done` is called when it is answered, or dropped."""

    def __init__(
        self,
        request: RpcRequest,
        identifier: RequestId,
        peer: Peer,
        done: Callable[[PendingRequest], None],
    ) -> None:
        self.request = request
        self.peer = peer
        self.id = identifier
        self.is_cancelled = False
        self.is_withdrawn = False
        """Whether the client itself has cancelled it, so that its work can be given up."""
        self.is_exact = False
        """Whether the client has sent bytes that are not UTF-8, and so can read them."""
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

    def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification, unless the request was cancelled."""
        if not self.is_cancelled:
            self.peer.notify(method, params)

    def finish(self, work: Callable[[], JsonObject]) -> None:
        """Do the work and answer with its result, unless the request was cancelled."""
        answer = None
        try:
            if not self.is_cancelled:
                answer = self.peer.answer(self.request, work())
        except CancelledError:
            pass
        except RpcError as error:
            answer = error_message(self.id, error)
        except Exception as error:  # noqa: BLE001 - the one net: a bug must not end the server
            answer = error_message(self.id, RpcError(INTERNAL_ERROR, unexpected(error).message))
        self._end(answer)

    def fail(self, error: RpcError) -> None:
        """Answer that it cannot be done."""
        self._end(error_message(self.id, error))

    def _end(self, answer: JsonObject | None) -> None:
        self._done(self)
        if answer is not None and not self.is_cancelled:
            self.peer.send(answer, exact=self.is_exact)


class Lanes:
    """Runs jobs: the changes of each worktree one after the other, and a few others beside them.

    RpcError (`BUSY`) if the system allows no more threads.
    """

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(_READERS)
        self._first = ThreadPoolExecutor(1)
        self._worktrees: dict[str, ThreadPoolExecutor] = {}
        self._latest: dict[str, Future[None]] = {}
        self._running: set[Future[None]] = set()
        self._lock = threading.Lock()

    def begin(self, job: Job) -> None:
        """Run a job that adds others after those that began before."""
        self._submit(self._first, job)

    def read(self, job: Job) -> None:
        """Run a job beside all others."""
        self._submit(self._readers, job)

    def change(self, worktree: str, job: Job) -> None:
        """Run a job after the earlier changes of the worktree with this top directory."""
        if worktree not in self._worktrees:
            self._drop_idle()
            self._worktrees[worktree] = ThreadPoolExecutor(1)
        self._latest[worktree] = self._submit(self._worktrees[worktree], job)

    def _submit(self, pool: ThreadPoolExecutor, job: Job) -> Future[None]:
        try:
            running = pool.submit(job)
        except RuntimeError as error:
            raise RpcError(BUSY, f"the system allows no more threads: {error}") from None
        with self._lock:
            self._running.add(running)
        running.add_done_callback(self._forget)
        return running

    def _forget(self, done: Future[None]) -> None:
        with self._lock:
            self._running.discard(done)

    def _drop_idle(self) -> None:
        for worktree in [*self._worktrees][: len(self._worktrees) - _MOST_WORKTREES + 1]:
            if self._latest[worktree].done():
                self._worktrees.pop(worktree).shutdown(wait=False)

    def finish(self, timeout: float) -> bool:
        """Wait until everything is done; False if that takes longer than `timeout` seconds."""
        until = time.monotonic() + timeout
        while running := self._now_running():
            if wait(running, max(0.0, until - time.monotonic())).not_done:
                return False
        return True

    def _now_running(self) -> set[Future[None]]:
        with self._lock:
            return {each for each in self._running if not each.done()}

    def finish_changes(self) -> None:
        """Wait until all changes are complete, however long that takes."""
        self._first.shutdown()
        for pool in self._worktrees.values():
            pool.shutdown()


class ToolCalls:
    """The calls on one connection; with `read_only`, only of tools that change nothing."""

    def __init__(self, defined: DefinedTools, lanes: Lanes, *, read_only: bool) -> None:
        self.tools = {
            name: tool for name, tool in TOOLS.items() if not read_only or tool.effect == READS
        }
        self.defined = defined
        self.lanes = lanes

    def start(self, pending: PendingRequest) -> None:
        """Run the call of a request when its turn comes; RpcError if there is no such tool."""
        params = pending.request.params
        name, given = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "'name' is not a string")
        tool = self.tools.get(name)
        if tool is None:
            why = "the server is read-only" if name in TOOLS else "there is no such tool"
            raise RpcError(INVALID_PARAMS, f"unknown tool '{shortened(name)}': {why}")
        given = {} if given is None else given
        if not isinstance(given, dict):
            raise RpcError(INVALID_PARAMS, "'arguments' is not an object")
        self.lanes.begin(CallRun(self, pending, tool, given).join_lane)

    def warn_of_interruption(self, peer: Peer, repository: Repository, tool: ServedTool) -> None:
        """Log what a kill has left half-way in a worktree, each thing once for a client."""
        if not is_noted(repository.state_dir):
            return
        from git_boocode.workflows.restore_with_edits import interruptions

        for found in set(interruptions(repository)) - peer.warned:
            peer.warned.add(found)
            hints = "".join(
                f"; {self.defined.worded(hint, tool, peer.client)}" for hint in found.hints
            )
            peer.log("warning", f"{repository.worktree}: {found.message}{hints}")


class CallRun:
    """One call of a tool, from its request to its answer; the methods run in this order."""

    def __init__(
        self,
        calls: ToolCalls,
        pending: PendingRequest,
        tool: ServedTool,
        given: JsonObject,
    ) -> None:
        self._calls = calls
        self._pending = pending
        self._peer = pending.peer
        self._tool = tool
        self._given = given
        self._arguments: JsonObject = {}
        self._shorten: Callable[[str], str] = str

    def join_lane(self) -> None:
        """Wait for the roots, without which nobody knows the worktree, and for earlier changes."""
        self._peer.roots.wait()
        try:
            if self._tool.effect == READS:
                self._calls.lanes.read(self.run)
            else:
                worktree = self._peer.roots.worktree_above(self._given.get(CWD))
                self._calls.lanes.change(worktree, self.run)
        except RpcError as error:
            self._pending.fail(error)

    def run(self) -> None:
        """Do the work, and answer."""
        self._pending.finish(self.result)

    def result(self) -> JsonObject:
        """The result; errors of the tool are results as well, which a model can read."""
        try:
            answer = self.answer()
            return self._result(answer, self._text(answer), failed=False)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug is reported like any other error
            # A git that was ended has failed.
            return self._failed(as_error(error))

    def _text(self, answer: JsonObject) -> str:
        """An answer as a model reads it: short, or the JSON with the characters themselves."""
        from git_boocode.server.short_answers import short_answer

        name, arguments = self._tool.name, self._arguments
        is_short = self._peer.client.is_agent
        text = short_answer(name, answer, arguments, self._shorten) if is_short else None
        return json.dumps(answer, ensure_ascii=False) if text is None else text

    def _result(self, answer: JsonObject, text: str, *, failed: bool) -> JsonObject:
        content = {} if self._peer.client.is_agent else {"structuredContent": answer}
        return {"content": [{"type": "text", "text": text}], **content, "isError": failed}

    def answer(self) -> JsonObject:
        """The JSON answer of the tool's command; raises its errors, and CancelledError."""
        from git_boocode.repo.store import ShortIds
        from git_boocode.server.handlers import HANDLERS, Call
        from git_boocode.server.short_answers import LOG_LENGTH

        arguments, edit = self._calls.defined.checked_arguments(self._tool, self._given)
        repository = self._peer.roots.repository(arguments.pop(CWD, None))
        if self._peer.client.is_agent and self._tool.name == "log":
            arguments.setdefault("max_count", LOG_LENGTH)
        texts = as_object(arguments.get(BUFFERS)).values()
        self._pending.is_exact = not all(map(is_utf_8, texts))
        self._arguments, self._shorten = arguments, ShortIds(repository.store)
        self._calls.warn_of_interruption(self._peer, repository, self._tool)
        if self._tool.effect == READS:
            # What changes something is not left half-way.
            repository.watch(self._pending.watch)
        call, handler = (
            Call(arguments, edit, repository, self._peer.client),
            HANDLERS[self._tool.name],
        )
        report = self._report()
        if report is None and self._tool.effect != ADDS:
            return handler(call)

        def observe(doing: str, done: int, total: int) -> None:
            if self._pending.is_withdrawn and self._tool.effect != REPLACES:
                raise CancelledError
            if report is not None:
                report(doing, done, total)

        with repository.observed(observe):
            return handler(call)

    def _failed(self, error: BoocodeError) -> JsonObject:
        """A result that says what failed; for edits, what the model can send instead."""
        from git_boocode.editing.answer import EditsRefusedError

        answer = error.as_json()
        for step in as_object(answer["error"]).get("next", ()):
            # Some are options of the command line alone.
            if "tool" not in step and not {*step.get("arguments", ())} <= {*self._tool.arguments}:
                del step["arguments"]
        if isinstance(error, EditsRefusedError) and error.retry_context:
            text = error.worded(self._worded)
        else:
            hints = (f"hint: {self._worded(hint)}" for hint in error.hints)
            text = "\n".join((f"error: {error.message}", *self._conflicts(answer), *hints))
        return self._result(answer, text, failed=True)

    def _worded(self, hint: str) -> str:
        return self._calls.defined.worded(hint, self._tool, self._peer.client)

    def _conflicts(self, answer: JsonObject) -> list[str]:
        from git_boocode.server.short_answers import conflict_lines

        # The message names the first one.
        lines = [*conflict_lines(answer, self._shorten)] if self._peer.client.is_agent else []
        return lines if len(lines) > 1 else []

    def _report(self) -> Callable[[str, int, int], None] | None:
        """Takes counts for the client; None if it wants none."""
        token = as_object(self._pending.request.params.get("_meta")).get("progressToken")
        return None if token is None else Progress(self._pending.notify, token).report


class Progress:
    """Reports what a call does, if it takes a while; the reported number only grows."""

    def __init__(self, notify: Notify, token: object) -> None:
        self._notify = notify
        self._token = token
        self._next = time.monotonic() + _PROGRESS_AFTER
        self._doing = ""
        self._before = self._done = self._sent = 0

    def report(self, doing: str, done: int, total: int) -> None:
        """Report counts as an observer of git receives them."""
        if doing != self._doing:
            self._before, self._done, self._doing = self._before + self._done, 0, doing
        self._done = max(done, self._done)
        number = self._before + self._done
        if not doing or number <= self._sent or (now := time.monotonic()) < self._next:
            return
        self._next, self._sent = now + _PROGRESS_EVERY, number
        counts = {"progress": number}
        counts |= {"total": self._before + total} if total else {}
        message = doing.replace("{}", f"{done:,}")
        params = {"progressToken": self._token, **counts, "message": message}
        self._notify("notifications/progress", params)
