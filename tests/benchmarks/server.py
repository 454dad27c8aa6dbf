"""The server beside one-shot commands: its start, edits, searches, checkpoints, and its memory."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.checkpoints.worktree import OURS, Worktree, process, sealed, text, write
from tests.benchmarks.measure import Candidate, machine, side_by_side

SIZE, LINES = 50_000, 1_000
# Seconds between two edits of a person or a model, and for the least of what a turn takes.
_PAUSE, _TURN = 0.05, 0.2
_IMPORTS = "import git_boocode.cli.serve, git_boocode.server.session"
_ALL_IMPORTS = f"{_IMPORTS}, git_boocode.server.handlers, git_boocode.repo.libgit2"


def run(arguments: Sequence[str]) -> None:
    """Print the tables; an argument is another number of files of the large repository."""
    print(machine(), flush=True)
    with sealed():
        report_start(rounds=30)
        report_edits(rounds=300)
        for size in (20, *map(int, arguments or [str(SIZE)])):
            report_checkpoints(size, rounds=15 if size > 1000 else 60)
        report_memory(10_000)


class Server:
    """A server in a repository, to which requests are sent one after the other."""

    def __init__(self, top: str) -> None:
        self.process = subprocess.Popen(
            [*OURS, "serve"], cwd=top, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={})

    def ask(self, method: str, **params: object) -> Any:
        """The result of a request."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self._number, answer
        return answer["result"]

    def call(self, tool: str, **arguments: object) -> Any:
        """What a tool answers that succeeds."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    @property
    def resident(self) -> float:
        """Its memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def close(self) -> None:
        """Let it end."""
        self.process.communicate()


@contextmanager
def serving(top: str) -> Iterator[Server]:
    """A server for a while."""
    server = Server(top)
    try:
        yield server
    finally:
        server.close()


def print_percentiles(title: str, times: Mapping[str, Sequence[float]]) -> None:
    """Print percentiles in milliseconds, of seconds by candidate."""
    print(f"\n{title}")
    print(f"{'ms':<48}" + "".join(f"{head:>9}" for head in ("median", "p95", "p99", "max")))
    for name, seconds in times.items():
        found = sorted(1000 * each for each in seconds)
        parts = [
            statistics.median(found),
            *(found[int(p * (len(found) - 1))] for p in (0.95, 0.99)),
        ]
        print(f"{name:<48}" + "".join(f"{each:>9.2f}" for each in (*parts, found[-1])), flush=True)


def print_excess(times: Mapping[str, Sequence[float]], name: str, baseline: str) -> None:
    """Print by how much a candidate takes longer than another, round by round."""
    both = zip(times[name], times[baseline], strict=True)
    excess = statistics.median(1000 * (own - base) for own, base in both)
    print(f"{name}: {excess:+.1f} ms against {baseline}", flush=True)


def report_start(rounds: int) -> None:
    """The start, until the first answers."""
    with tempfile.TemporaryDirectory() as top:
        Worktree(top, 20, changed=1, added=0)
        started: list[Server] = []

        def close() -> None:
            started.pop().close()

        def begin() -> None:
            started.append(Server(top))

        def call() -> None:
            begin()
            started[-1].call("log")

        imports, everything = (
            process(top, sys.executable, "-c", f"{code}; import os; os._exit(0)")
            for code in (_IMPORTS, _ALL_IMPORTS)
        )
        times = side_by_side(
            {
                "python -c pass": process(top, sys.executable, "-c", "pass"),
                "python, imports of the first answer": imports,
                "start to the first answer": Candidate(begin, after=close),
                "python, all imports": everything,
                "start to the first call of a tool": Candidate(call, after=close),
            },
            rounds,
        )
    print_percentiles("start", times)
    print_excess(times, "start to the first answer", "python, imports of the first answer")
    print_excess(times, "start to the first call of a tool", "python, all imports")


def _lines(count: int) -> list[str]:
    rng = random.Random(5)
    found: list[str] = []
    while len(found) < count:
        found += text(rng).splitlines()
    return [f"{line}  # {number}" for number, line in enumerate(found[:count])]


def report_edits(rounds: int) -> None:
    """Edits of a file, and searches in it."""
    with tempfile.TemporaryDirectory() as top:
        Worktree(top, 20, changed=1, added=0)
        lines = _lines(LINES)
        write(top, "file", "\n".join(lines) + "\n")
        target, number = lines[LINES // 2], 0

        def edit() -> dict[str, str]:
            nonlocal target, number
            number += 1
            old, target = target, f"{lines[LINES // 2]} {number}"
            return {"path": "file", "old_string": old, "new_string": target}

        def one_shot() -> None:
            subprocess.run(
                [*OURS, "apply-edit", "--json"],
                cwd=top,
                input=json.dumps(edit()).encode(),
                stdout=subprocess.PIPE,
                check=True,
            )

        needle = "\n".join(lines[LINES // 3 : LINES // 3 + 3])
        drifted = needle.replace("  #", " #").replace("    ", "  ")
        with serving(top) as server:
            few = max(1, rounds // 10)
            times: dict[str, list[float]] = {
                "apply_edit, one after the other": [],
                "apply_edit, with pauses": [],
                "apply_edit, without a record": [],
                "preview_edit": [],
                "locate, exact": [],
                "locate, drifted": [],
            }
            for name, seconds in times.items():
                tool, _, kind = name.partition(", ")
                for _ in range(rounds + few):
                    if tool == "locate":
                        found = needle if kind == "exact" else drifted
                        arguments: dict[str, Any] = {"path": "file", "needle": found}
                    elif tool == "preview_edit":
                        arguments = {"path": "file", "old_string": needle, "new_string": "x"}
                    else:
                        arguments = {**edit(), "no_record": kind == "without a record"}
                    if kind == "with pauses":
                        time.sleep(_PAUSE)
                    start = time.perf_counter()
                    server.call(tool, **arguments)
                    seconds.append(time.perf_counter() - start)
                # The first ones find nothing loaded.
                del seconds[:few]
        alone = side_by_side({"git boocode apply-edit": one_shot}, max(1, rounds // 15))
        where = side_by_side(
            {
                "git boocode locate": lambda: subprocess.run(
                    [*OURS, "locate", "file"],
                    cwd=top,
                    input=needle.encode(),
                    stdout=subprocess.PIPE,
                    check=True,
                )
            },
            max(1, rounds // 15),
        )
    print_percentiles(f"a file of {LINES:,} lines", {**times, **alone, **where})


def report_checkpoints(size: int, rounds: int) -> None:
    """Checkpoints after a turn, beside `git status`."""
    with tempfile.TemporaryDirectory() as top:
        worktree = Worktree(top, size, changed=min(size // 10, 20), added=min(size // 20, 10))

        def rested(work: Callable[[], object]) -> Callable[[], None]:
            """A turn takes longer than the server needs to update its index."""

            def begin() -> None:
                time.sleep(_TURN)
                work()

            return begin

        def change_one() -> None:
            write(top, worktree.changing[0], f"{time.time_ns()}\n")

        with serving(top) as server:

            def checkpoint() -> None:
                server.call("checkpoint")

            times = side_by_side(
                {
                    "git status": Candidate(
                        process(top, "git", "status", "--porcelain"), before=rested(worktree.turn)
                    ),
                    "checkpoint": Candidate(checkpoint, before=rested(worktree.turn)),
                    "checkpoint, at once after another": Candidate(checkpoint, before=change_one),
                    "checkpoint, one file changed": Candidate(
                        checkpoint, before=rested(change_one)
                    ),
                    "checkpoint, nothing changed": Candidate(
                        checkpoint, before=rested(lambda: None)
                    ),
                    "git boocode checkpoint": Candidate(
                        process(top, *OURS, "checkpoint"), before=rested(worktree.turn)
                    ),
                },
                rounds,
            )
    title = f"{size:,} files, {len(worktree.changing)} changed and {len(worktree.adding)} new"
    print_percentiles(title, times)
    for name in [each for each in times if each.startswith("checkpoint")]:
        both = zip(times[name], times["git status"], strict=True)
        ratio = statistics.median(own / base for own, base in both)
        print(f"{name}: {ratio:.2f} × git status", flush=True)


def report_memory(count: int) -> None:
    """Memory after requests of all kinds."""
    with tempfile.TemporaryDirectory() as top:
        Worktree(top, 20, changed=1, added=0)
        lines = _lines(LINES)
        lines[9] = target = "the line 0."
        write(top, "file", "\n".join(lines) + "\n")
        print(f"\n{'requests':<12}{'MB':>8}{'descriptors':>14}")
        with serving(top) as server:
            for number in range(1, count + 1):
                if number % 100 == 0:
                    server.call("checkpoint")
                elif number % 100 == 1:
                    server.call("log", max_count=10)
                elif number % 2:
                    old, target = target, f"the line {number}."
                    server.call("apply_edit", path="file", old_string=old, new_string=target)
                else:
                    server.call("locate", path="file", needle=lines[7])
                if number in (1, count // 10, count // 5, count // 2, count):
                    opened = len(os.listdir(f"/proc/{server.process.pid}/fd"))
                    print(f"{number:<12,}{server.resident:>8.1f}{opened:>14}", flush=True)
