"""Histories whose turns and commits are recorded by hooks alone: what counts is in the notes."""

from __future__ import annotations

import ctypes
import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from tests.benchmarks.attribution.history import History
from tests.benchmarks.attribution.notes import notes_of
from tests.benchmarks.attribution.place import Place
from tests.benchmarks.attribution.recorder import AGENT
from tests.benchmarks.attribution.truth import Judgement
from tests.benchmarks.checkpoints.worktree import OURS
from tests.benchmarks.measure import NotAvailableError

_SUBREAPER = 36  # of prctl(2)
_CHECKPOINTS = "refs/boocode/checkpoints/"


class HookRecorder:
    """Sends what Claude Code sends to its hooks; the hooks of git record the rest."""

    records_ends = True

    def __init__(self, *, with_tools: bool) -> None:
        self.with_tools = with_tools
        self._calls = 0

    def begin(self, place: Place, session: str) -> str:
        """Record the beginning of a turn and return its id."""
        self._calls += 1
        self._fire(place, session, "UserPromptSubmit", prompt=f"prompt {self._calls}")
        listing = ("for-each-ref", "--count=1", "--sort=-refname", "--format=%(refname)")
        return place.git(*listing, _CHECKPOINTS).strip().removeprefix(_CHECKPOINTS)

    def end(self, place: Place, turn: str, session: str) -> None:
        """Record its end."""
        self._fire(place, session, "Stop")

    def call(self, place: Place, turn: str, session: str, work: Callable[[], None]) -> None:
        """Record a tool call that does some work."""
        self._calls += 1
        call = {
            "tool_name": "Bash",
            "tool_input": {"command": "make"},
            "tool_use_id": str(self._calls),
        }
        self._fire(place, session, "PreToolUse", **call)
        work()
        self._fire(place, session, "PostToolUse", **call)

    def state(self, place: Place, trigger: str) -> None:
        """Record a state that begins no turn; git's hooks do that themselves."""
        if trigger == "manual":
            subprocess.run((*OURS, "checkpoint"), cwd=place.top, check=True, capture_output=True)

    @staticmethod
    def _fire(place: Place, session: str, event: str, **more: object) -> None:
        payload = {"session_id": session, "cwd": str(place.top), "hook_event_name": event, **more}
        subprocess.run(
            (*OURS, "hook", AGENT, event),
            cwd=place.top,
            input=json.dumps(payload).encode(),
            check=True,
            capture_output=True,
        )


def judged_notes(
    top: Path, seed: int, choices: tuple[Callable[[History], None], ...]
) -> list[Judgement]:
    """What became of the lines of a history, by the notes after its last hook."""
    chance = random.Random(seed)
    recorder = HookRecorder(with_tools=chance.random() < 0.5)
    history = _HookedHistory(top, seed, recorder)
    with _descendants_kept(), patch.dict(os.environ, {"HOME": str(top)}):
        history.build(choices, chance.randint(4, 7))
        _wait_for_descendants()
    noted = notes_of(history.here)
    return history.judged({commit: noted.get(commit, {}) for commit in history.commits()})


class _HookedHistory(History):
    """A history with git's hooks, which are done whenever a moment passes."""

    has_clock = False

    def prepare(self) -> None:
        """Install the hooks."""
        command = (*OURS, "hooks", "install", "--git")
        subprocess.run(command, cwd=self.here.top, check=True, capture_output=True)

    def pass_time(self) -> None:
        """Wait for the hooks that run in the background."""
        _wait_for_descendants()
        super().pass_time()


@contextmanager
def _descendants_kept() -> Iterator[None]:
    """Become the parent of processes whose own parent ends, to be able to wait for them."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None or prctl(_SUBREAPER, 1, 0, 0, 0):
        raise NotAvailableError("only Linux can wait for what hooks leave in the background")
    try:
        yield
    finally:
        prctl(_SUBREAPER, 0, 0, 0, 0)


def _wait_for_descendants() -> None:
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
