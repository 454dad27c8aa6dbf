"""How the turns of a random history are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from git_boocode.checkpoints.capture import (
    Request,
    ToolCall,
    capture,
    capture_tool_state,
    capture_turn_end,
)
from tests.benchmarks.attribution.place import Place

AGENT = "claude-code"


class Recorder(Protocol):
    """What an agent or a person lets git-boocode record.

    `records_ends` is whether turns always have one, `with_tools` whether all they do is in a call.
    """

    records_ends: bool
    with_tools: bool

    def begin(self, place: Place, session: str) -> str:
        """Record the beginning of a turn and return its id."""

    def end(self, place: Place, turn: str, session: str) -> None:
        """Record its end."""

    def call(self, place: Place, turn: str, session: str, work: Callable[[], None]) -> None:
        """Record a tool call that does some work."""

    def state(self, place: Place, trigger: str) -> None:
        """Record a state that begins no turn; that of a hook only if anything has changed."""


class DirectRecorder:
    """Records as one-shot commands do, with no hooks of git or an agent."""

    records_ends = False
    with_tools = False

    def begin(self, place: Place, session: str) -> str:
        """Record the beginning of a turn and return its id."""
        request = Request(label="turn", agent=AGENT, session=session)
        return capture(place.repository, request).checkpoint.id

    def end(self, place: Place, turn: str, session: str) -> None:
        """Record its end."""
        capture_turn_end(place.repository, turn, "Stop")

    def call(self, place: Place, turn: str, session: str, work: Callable[[], None]) -> None:
        """Record a tool call that does some work."""
        repository = place.repository
        before = ToolCall(turn, has_ended=False, id="1", tool="Bash")
        capture_tool_state(repository, before, "PreToolUse")
        work()
        capture_tool_state(repository, before._replace(has_ended=True), "PostToolUse")

    def state(self, place: Place, trigger: str) -> None:
        """Record a state that begins no turn; that of a hook only if anything has changed."""
        is_hook = trigger != "manual"
        capture(place.repository, Request(trigger=trigger, only_if_changed=is_hook))
