"""What hooks cost: at every turn, beside a checkpoint and Python's own start, and at a commit.

All are whole processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.checkpoints.worktree import OURS, Worktree, git, newest_checkpoints, sealed
from tests.benchmarks.measure import (
    Candidate,
    machine,
    print_table,
    processor_time,
    side_by_side,
)

SIZES = (20, 50_000)
_PASS = "python -c pass"
_COMMIT = "git commit"
_CHECKPOINT = "checkpoint, after a turn"
_TURN = ("hook", "claude-code", "UserPromptSubmit")
_TOOL = ("hook", "claude-code", "PreToolUse")
_END = ("hook", "claude-code", "Stop")
_TRANSCRIPT_LINES = 20_000


def run(arguments: Sequence[str]) -> None:
    """Print the tables of each size; the arguments are other sizes."""
    print(machine(), flush=True)
    with sealed():
        for size in map(int, arguments or map(str, SIZES)):
            report(size, rounds=15 if size <= 1_000 else 7)
            report_commits(size, turns=50, rounds=7)


def report(size: int, rounds: int) -> None:
    """Print the table of a size."""
    few = size <= 1_000
    with tempfile.TemporaryDirectory() as top, tempfile.TemporaryDirectory() as home:
        worktree = Worktree(top, size, changed=2 if few else 20, added=1 if few else 10)
        times = side_by_side(candidates(worktree, Path(home)), rounds)
    title = f"{size:,} files, {len(worktree.changing)} changed and {len(worktree.adding)} new"
    print_table(title, times, {"x pass": _PASS, "x checkpoint": _CHECKPOINT})


def report_commits(size: int, turns: int, rounds: int) -> None:
    """Print what our hooks add to a commit of one file, after turns that were committed."""
    with tempfile.TemporaryDirectory() as top:
        worktree = Worktree(top, size, changed=1, added=0)
        calls = _Calls(worktree)
        for _ in range(turns):
            calls.turn_to_commit()
            git(top, "commit", "-qam", "turn")
        commits = {
            _COMMIT: calls.committing(),
            f"{_COMMIT}, and pre-commit": calls.committing("pre-commit"),
            f"{_COMMIT}, and post-commit": calls.committing("post-commit"),
        }
        waits = side_by_side(commits, rounds)
        commits["post-commit, in the background"] = calls.noting()
        used = side_by_side(commits, rounds, processor_time)
    title = f"{size:,} files, {turns} turns, a commit of one file: how long git takes"
    print_table(title, waits, f"{_COMMIT}")
    print_table(
        "processor time", used, {"x plain": _COMMIT, "x hook": f"{_COMMIT}, and pre-commit"}
    )


def candidates(worktree: Worktree, home: Path) -> dict[str, Candidate]:
    """All that is compared in a repository.

    Args:
        worktree: the repository.
        home: where to keep a transcript.
    """
    transcript = home / "transcript.jsonl"
    transcript.write_text('{"type": "user", "message": "do it"}\n' * _TRANSCRIPT_LINES)
    told = {"session_id": "s", "cwd": worktree.top, "transcript_path": str(transcript)}
    calls = _Calls(worktree)
    prompt = {**told, "prompt": "do it"}
    begin, tool = (
        calls.process(*OURS, *_TURN, payload=prompt),
        calls.process(*OURS, *_TOOL, payload=told),
    )

    def work() -> None:
        begin()
        worktree.turn()

    def call() -> None:
        # The first calls of a turn note that others need not look.
        for each in (begin, tool, tool):
            each()

    return {
        _PASS: Candidate(calls.process(sys.executable, "-c", "pass")),
        _CHECKPOINT: calls.taking(*OURS, "checkpoint"),
        "hook before a turn": calls.taking(*OURS, *_TURN, payload=prompt),
        "hook before a turn, prompt of 20 MB": calls.taking(
            *OURS, *_TURN, payload={**told, "prompt": "do it " * (20_000_000 // 6)}
        ),
        "hook after a turn": Candidate(
            calls.process(*OURS, *_END, payload=told), before=work, check=calls.check_end
        ),
        "hook before a tool, no other turn is open": Candidate(tool, before=call),
    }


class _Calls:
    """Whole processes in one repository."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._newest: list[str] = []

    def process(self, *command: str, payload: object = None) -> Callable[[], object]:
        """A run of a command with a payload on its standard input."""
        data = json.dumps(payload).encode()
        top = self._worktree.top
        return lambda: subprocess.run(command, cwd=top, input=data, capture_output=True, check=True)

    def taking(self, *command: str, payload: object = None) -> Candidate:
        """A run of what has to take a checkpoint, after a turn."""
        return Candidate(self.process(*command, payload=payload), self._turn, check=self._check)

    def turn_to_commit(self) -> None:
        """A turn that nobody has committed yet."""
        payload = {"session_id": "s", "cwd": self._worktree.top, "prompt": "do it"}
        self.process(*OURS, *_TURN, payload=payload)()
        self._worktree.turn()
        self.process(*OURS, *_END, payload=payload)()

    def committing(self, *events: str) -> Candidate:
        """A commit of a turn with our hooks on some events."""
        return Candidate(
            lambda: git(self._worktree.top, "commit", "-qam", "turn"),
            before=lambda: self._prepare(*events),
            after=self._await_note if "post-commit" in events else lambda: None,
        )

    def noting(self) -> Candidate:
        """The hook after the commit of a turn, in the foreground."""

        def commit() -> None:
            self._prepare()
            git(self._worktree.top, "commit", "-qam", "turn")

        note = self.process(*OURS, "hook", "git", "post-commit", "HEAD")
        return Candidate(note, before=commit, after=self._await_note)

    def _prepare(self, *events: str) -> None:
        top = self._worktree.top
        git(top, "config", "boocode.gitHooks", " ".join(events) or "post-commit")
        self.process(*OURS, "hooks", "install" if events else "uninstall", "--git")()
        self.turn_to_commit()

    def _await_note(self) -> None:
        head, deadline = git(self._worktree.top, "rev-parse", "HEAD"), time.monotonic() + 30
        while head not in git(self._worktree.top, "notes", "--ref=boocode", "list"):
            assert time.monotonic() < deadline, "nothing was noted"
            time.sleep(0.05)

    def check_end(self) -> None:
        """Whether the end of a turn was recorded."""
        assert git(self._worktree.top, "for-each-ref", "refs/boocode/turn-ends/")

    def _turn(self) -> None:
        self._worktree.without_added()
        self._worktree.turn()
        self._newest = newest_checkpoints(self._worktree.top, 1)

    def _check(self) -> None:
        # A hook does not say whether it has.
        assert newest_checkpoints(self._worktree.top, 1) != self._newest, "nothing was taken"
