"""What it costs to take a turn back, beside a restore of the same files; and an idle hook."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from tests.benchmarks.checkpoints.worktree import OURS, Worktree, process, sealed
from tests.benchmarks.measure import Candidate, machine, print_table, side_by_side

SIZES = (1_800, 50_000)
STATUS = "git status"
_RESTORE = "restore, 30 paths differ"
_START = "git boocode --version"
_IDLE_ROUNDS = 25
_LATER = "written later, by others\n"


def run(arguments: Sequence[str]) -> None:
    """Print two tables per size; the arguments are other sizes."""
    print(machine(), flush=True)
    with sealed():
        for size in map(int, arguments or map(str, SIZES)):
            report(size, rounds=9 if size <= 10_000 else 7)


def report(size: int, rounds: int, idle_rounds: int = _IDLE_ROUNDS) -> None:
    """Print the tables of a size."""
    with tempfile.TemporaryDirectory() as top:
        turns = _Turns(Worktree(top, size))
        title = f"{size:,} files, of which a turn changed 30"
        times = side_by_side(turns.candidates(), rounds)
        print_table(title, times, {"x status": STATUS, "x restore": _RESTORE})
        times = side_by_side(turns.with_later_lines(), rounds)
        print_table(f"{title}, and others 20 of these since", times, {"x restore": _RESTORE})
        times = side_by_side(turns.idle(), idle_rounds)
        print_table("a hook with nothing to do", times, {"x start": _START})


class _Turns:
    """Turns in one repository that hooks report, and the files of which are taken back."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._top = worktree.top
        self._prompts = count(1)
        self._before: dict[str, bytes | None] = {}

    def candidates(self) -> dict[str, Candidate]:
        """Ways to take back what 30 files have become."""
        status = process(self._top, "git", "--no-optional-locks", "status", "--porcelain")
        restore, revert = (process(self._top, *OURS, name, "@") for name in ("restore", "revert"))
        return {
            STATUS: Candidate(status, self._turn),
            _RESTORE: Candidate(restore, self._turn, check=self._is_back),
            "revert": Candidate(revert, self._turn, check=self._is_back),
            "revert of a turn beside another": Candidate(
                revert, self._turn_beside_another, check=self._is_back
            ),
            "pick of what was reverted": Candidate(
                process(self._top, *OURS, "pick", "@"), self._reverted, check=self._is_there
            ),
        }

    def with_later_lines(self) -> dict[str, Candidate]:
        """The same where others have written to these files since, so that they are merged."""
        restore, revert = (process(self._top, *OURS, name, "@") for name in ("restore", "revert"))
        return {
            _RESTORE: Candidate(restore, self._turn_and_more, check=self._is_back),
            "revert": Candidate(revert, self._turn_and_more, check=self._is_back_but_for_more),
        }

    def idle(self) -> dict[str, Candidate]:
        """The hooks around a tool of the only open turn, beside the start of the program."""
        start = process(self._top, *OURS, "--version")
        self._report("UserPromptSubmit")
        return {
            _START: Candidate(start),
            "hook before a tool": Candidate(lambda: self._report("PreToolUse", tool="Bash")),
            "hook after a tool": Candidate(lambda: self._report("PostToolUse", tool="Bash")),
        }

    def _report(self, event: str, session: str = "one", tool: str = "") -> None:
        payload = {"session_id": session, "cwd": self._top, "hook_event_name": event}
        if event == "UserPromptSubmit":
            payload["prompt"] = f"prompt {next(self._prompts)}"
        call = {"tool_name": tool, "tool_use_id": "t", "tool_input": {"command": "x"}}
        data = json.dumps(payload | (call if tool else {})).encode()
        command = (*OURS, "hook", "claude-code", event)
        subprocess.run(command, cwd=self._top, input=data, capture_output=True, check=True)

    def _turn(self) -> None:
        self._worktree.without_added()
        self._worktree.turn()
        self._before = self._read()
        self._report("UserPromptSubmit")
        self._worktree.turn()
        self._report("Stop")

    def _turn_and_more(self) -> None:
        self._turn()
        for path in self._worktree.changing:
            with open(f"{self._top}/{path}", "a", encoding="utf-8") as file:
                file.write(_LATER)

    def _turn_beside_another(self) -> None:
        """Another turn is open, so that the states around the tool call are recorded."""
        self._worktree.without_added()
        self._worktree.turn()
        self._before = self._read()
        self._report("UserPromptSubmit", session="two")
        self._report("UserPromptSubmit")
        self._report("PreToolUse", tool="Bash")
        self._worktree.turn()
        self._report("PostToolUse", tool="Bash")
        self._report("Stop")
        self._report("Stop", session="two")

    def _reverted(self) -> None:
        self._turn()
        self._before = self._read()
        process(self._top, *OURS, "revert", "@")()

    def _read(self, less: str = "") -> dict[str, bytes | None]:
        """The files of a turn, without an end."""
        paths = (*self._worktree.changing, *self._worktree.adding)
        return {path: _read(Path(self._top, path), less) for path in paths}

    def _is_back(self) -> None:
        assert self._read() == self._before, "the turn was not taken back"

    def _is_back_but_for_more(self) -> None:
        assert self._read(_LATER) == self._before, "the turn was not taken back, or more was"
        assert self._read() != self._before, "the later lines are gone"

    def _is_there(self) -> None:
        assert self._read() == self._before, "the turn was not made again"


def _read(path: Path, less: str) -> bytes | None:
    return path.read_bytes().removesuffix(less.encode()) if path.exists() else None
