"""Calls of tools: which worktree they may use, when they run, and how their errors are reported."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from git_boocode.repo.errors import BoocodeError, as_error, shortened
from git_boocode.repo.lock import is_noted
from git_boocode.server.json_rpc import INVALID_PARAMS, JsonObject, RpcError
from git_boocode.server.lanes import Lane, Lanes
from git_boocode.server.requests import CancelledError, PendingRequest
from git_boocode.server.roots import Roots
from git_boocode.server.tool_list import (
    ADDS,
    CWD,
    READS,
    REPLACES,
    TOOLS,
    ServedTool,
    checked_arguments,
)
from git_boocode.server.tool_wording import for_tools

if TYPE_CHECKING:
    from git_boocode.repo.repository import Repository
    from git_boocode.workflows.interruption import Interruption

_PROGRESS_AFTER, _PROGRESS_EVERY = 0.5, 0.2
"""Seconds of work before its progress is reported, and between two reports."""

Notify = Callable[[str, JsonObject], None]
"""Sends a notification: its method and its parameters."""
Log = Callable[[str, str], None]
"""Logs for the client what happened: the level of the message, and its text."""


class ToolCalls:
    """The calls of one client; with `read_only`, only of tools that change nothing."""

    def __init__(
        self, roots: Roots, lanes: Lanes, notify: Notify, log: Log, *, read_only: bool
    ) -> None:
        self.tools = {
            name: tool for name, tool in TOOLS.items() if not read_only or tool.effect == READS
        }
        self._roots = roots
        self._lanes = lanes
        self._notify = notify
        self._log = log
        self._warned: set[Interruption] = set()

    def start(self, pending: PendingRequest) -> None:
        """Run the call of a request in its lane; RpcError if there is no such tool."""
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
        add = partial(self._add, pending, tool, given)
        # Without the roots, nobody knows the worktree.
        self._lanes.begin(add, waits=not self._roots.are_known)

    def _add(self, pending: PendingRequest, tool: ServedTool, given: JsonObject) -> None:
        """Add a call to its lane."""
        self._roots.wait()
        key = self._roots.worktree_above(given.get(CWD))
        lane = self._lanes.lane(key)
        run = partial(self._run, pending, tool, given, lane)
        if tool.effect == READS:
            self._lanes.read(run)
        else:
            lane.changes.submit(run)

    def _run(
        self, pending: PendingRequest, tool: ServedTool, given: JsonObject, lane: Lane
    ) -> None:
        """Run a tool, answer, and do what it left for later."""
        later: list[Callable[[], None]] = []
        pending.finish(partial(self._result, pending, tool, given, lane, later))
        lane.publish_records()
        for work in later:
            lane.attempt(work)

    def _result(
        self,
        pending: PendingRequest,
        tool: ServedTool,
        given: JsonObject,
        lane: Lane,
        later: list[Callable[[], None]],
    ) -> JsonObject:
        """The result of a call; errors of the tool are results as well, which a model can read."""
        try:
            answer = self._answer(pending, tool, given, lane, later)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug is reported like any other error
            # A git that was ended has failed.
            return _failed(as_error(error), tool)
        # A model reads it, so it has the characters themselves.
        text = {"type": "text", "text": json.dumps(answer, ensure_ascii=False)}
        return {"content": [text], "structuredContent": answer, "isError": False}

    def _answer(
        self,
        pending: PendingRequest,
        tool: ServedTool,
        given: JsonObject,
        lane: Lane,
        later: list[Callable[[], None]],
    ) -> JsonObject:
        from git_boocode.server.handlers import HANDLERS, Call

        arguments, edit = checked_arguments(tool, given)
        repository = self._roots.repository(arguments.pop(CWD, None))
        self._warn_of_interruption(repository, tool)
        if tool.effect == READS:
            # What changes something is not left half-way.
            repository.watch(pending.watch)
        if not tool.quick:
            # What other calls have edited is recorded by now.
            lane.records.settle()
        call = Call(arguments, edit, repository, lane, later.append)
        meta = pending.request.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if token is None and tool.effect != ADDS:
            return HANDLERS[tool.name](call)
        report = None if token is None else Progress(self._notify, token).report

        def observe(doing: str, done: int, total: int) -> None:
            if pending.is_withdrawn and tool.effect != REPLACES:
                raise CancelledError
            if report is not None:
                report(doing, done, total)

        with repository.observed(observe):
            return HANDLERS[tool.name](call)

    def _warn_of_interruption(self, repository: Repository, tool: ServedTool) -> None:
        """Log what a kill has left half-way in a worktree, each thing once."""
        if not is_noted(repository.state_dir):
            return
        from git_boocode.workflows.interruption import interruptions

        for found in set(interruptions(repository)) - self._warned:
            self._warned.add(found)
            hints = "".join(f"; {for_tools(hint, tool)}" for hint in found.hints)
            self._log("warning", f"{repository.worktree}: {found.message}{hints}")


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


def _failed(error: BoocodeError, tool: ServedTool) -> JsonObject:
    """A result that says what failed; for edits, what the model can send instead."""
    answer = error.as_json()
    context = answer.get("retry_context")
    lines = [f"error: {error.message}", *(f"hint: {hint}" for hint in error.hints)]
    text = context if isinstance(context, str) else for_tools("\n".join(lines), tool)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": answer,
        "isError": True,
    }
