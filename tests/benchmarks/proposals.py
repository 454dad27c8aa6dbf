"""`status` of a proposal beside `git status`; `propose` and `accept` beside `git commit`."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence

from tests.benchmarks.checkpoints.worktree import OURS, Worktree, git, process, sealed
from tests.benchmarks.measure import Candidate, machine, print_table, side_by_side

SIZE, CONTEXT = 50_000, 200
_STATUS, _COMMIT = "git status", "git commit of one file"


def run(arguments: Sequence[str]) -> None:
    """Print the tables; an argument is another number of files."""
    print(machine(), flush=True)
    with sealed():
        for size in map(int, arguments or [str(SIZE)]):
            report(size, min(CONTEXT, size), rounds=9)


def report(size: int, context: int, rounds: int) -> None:
    """Print the tables of a size, with so many files in the context."""
    with tempfile.TemporaryDirectory() as top:
        worktree = Worktree(top, size, changed=context, added=0)
        calls = _Calls(worktree)
        calls.propose_all()
        title = f"{size:,} files, {context} of them in the context"
        reading = side_by_side(
            {
                _STATUS: Candidate(process(top, "git", "status", "--porcelain")),
                "status --porcelain": Candidate(process(top, *OURS, "status", "--porcelain")),
                "status, all files changed since": Candidate(
                    process(top, *OURS, "status", "--porcelain"), before=worktree.turn
                ),
            },
            rounds,
        )
        print_table(title, reading, _STATUS)
        git(top, "checkout", "-q", "--", ".")
        git(top, "commit", "-q", "--allow-empty", "-m", "base")
        writing = side_by_side(
            {
                _COMMIT: Candidate(
                    process(top, "git", "commit", "-q", "-m", "one", "--", calls.path),
                    before=calls.change,
                ),
                "propose one file": Candidate(calls.propose, before=calls.change),
                "accept it": Candidate(calls.accept, before=calls.prepare),
            },
            rounds,
        )
        print_table(f"{title}: writing", writing, _COMMIT)


class _Calls:
    """Proposals of one worktree."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self.path = worktree.changing[0]
        self._number = 0
        self.accept: Callable[[], str] = process(worktree.top, *OURS, "accept", self.path)

    def propose_all(self) -> None:
        """Propose a change of every file of the context."""
        files = self._worktree.changing
        self._propose([{"path": path, "content": f"model\n{path}\n"} for path in files])

    def change(self) -> None:
        """Change the file that the next commit takes, or that is proposed next."""
        self._number += 1
        with open(f"{self._worktree.top}/{self.path}", "a", encoding="utf-8") as file:
            file.write(f"change {self._number}\n")

    def propose(self) -> None:
        """Propose a change of one file."""
        self._number += 1
        self._propose({"path": self.path, "content": f"model {self._number}\n"})

    def prepare(self) -> None:
        """Propose what is to be accepted, by a user who has not changed the file."""
        subprocess.run([*OURS, "sync", self.path], cwd=self._worktree.top, capture_output=True)
        self.propose()

    def _propose(self, edits: object) -> None:
        command = [*OURS, "propose", "-"]
        data = json.dumps(edits).encode()
        subprocess.run(command, cwd=self._worktree.top, input=data, capture_output=True, check=True)
