"""The listing of very many checkpoints: whole processes, up to the first page and as a whole."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.entries import Metadata
from git_boocode.repo.ids import id_time, new_id, timestamp
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.repository import Repository
from tests.benchmarks.checkpoints.worktree import OURS, Worktree, git, newest_checkpoints, process
from tests.benchmarks.measure import Candidate, print_table, side_by_side

PAGE = 20
SIZE = 300
SEARCHED, TURNS = 5_000, 500
_NEEDLES = ("-Sturn 77", "-Gturn 7[0-9]$")
ROUNDS = 15
_BASELINE = "git for-each-ref --count=20 --sort=-refname"
_MINUTE_NS = 60 * 10**9


def run(count: int = 10_000) -> None:
    """Print a table for loose objects and refs, and one for packed ones."""
    with tempfile.TemporaryDirectory() as top:
        make_checkpoints(Worktree(top, SIZE), count)
        report(f"log of {count:,} checkpoints, objects and refs loose", top, ROUNDS)
        git(top, "gc", "--quiet")
        report(f"log of {count:,} checkpoints, objects and refs packed (git gc)", top, ROUNDS)
    with tempfile.TemporaryDirectory() as top:
        make_checkpoints(Worktree(top, SEARCHED), TURNS)
        make_branch(top)
        for needle in _NEEDLES:
            compare_search(top, needle)


def compare_search(top: str, needle: str) -> None:
    """Print the table of a search of all turns, beside the one of the same trees by git."""
    baseline = f"git log {needle}"
    ours = process(top, *OURS, "log", needle)
    labels = json.loads(process(top, *OURS, "log", needle, "--json")())["checkpoints"]
    assert labels, f"nothing is found by {needle}"
    compared = {
        baseline: Candidate(process(top, "git", "log", needle, "turns")),
        f"git boocode log {needle}": Candidate(ours),
    }
    title = f"search {TURNS} turns of {SEARCHED:,} files"
    print_table(title, side_by_side(compared, ROUNDS), {"x git log": baseline})


def make_branch(top: str) -> None:
    """Make a branch `turns` of commits with the trees of the checkpoints."""
    trees = git(top, "for-each-ref", "--sort=refname", "--format=%(tree)", CHECKPOINTS).split()
    stream = "".join(
        f"commit refs/heads/turns\ncommitter b <b> {number} +0000\ndata 1\nt\nM 040000 {tree} \n\n"
        for number, tree in enumerate(trees)
    )
    git(top, "fast-import", "--quiet", stdin=stream.encode())


def report(title: str, top: str, rounds: int) -> None:
    """Print the table of a repository."""
    print_table(title, side_by_side(candidates(top), rounds), {"x for-each-ref": _BASELINE})


def candidates(top: str) -> dict[str, Candidate]:
    """All that is compared."""
    page = FirstPage(top)
    newest = ("for-each-ref", f"--count={PAGE}", "--sort=-refname", CHECKPOINTS)
    return {
        _BASELINE: Candidate(process(top, "git", *newest)),
        "python -c pass": Candidate(process(top, sys.executable, "-c", "pass")),
        f"log, until {PAGE} lines are on the terminal": Candidate(
            page.read, after=page.close, check=page.check
        ),
        f"log -n {PAGE}": Candidate(
            process(top, *OURS, "log", "-n", str(PAGE)), check=lambda: check_listing(top)
        ),
    }


def check_listing(top: str) -> None:
    """See that `log` lists what is newest."""
    done = json.loads(process(top, *OURS, "log", "-n", str(PAGE), "--json")())
    listed = [f"{CHECKPOINTS}{row['id']}" for row in done["checkpoints"]]
    assert listed == newest_checkpoints(top, PAGE), "log lists other checkpoints than the newest"


class FirstPage:
    """`log` on a terminal, with a pager that shows what it gets; ended after the first page."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._shown = b""
        self._terminal = -1
        self._process: subprocess.Popen[bytes] | None = None

    def read(self) -> None:
        """Start it, and read as many lines as make a page."""
        self._shown = b""
        self._terminal, inner = pty.openpty()
        self._process = subprocess.Popen(
            [*OURS, "log"],
            cwd=self._top,
            stdin=subprocess.DEVNULL,
            stdout=inner,
            stderr=subprocess.DEVNULL,
            # `cat` itself would stand for no pager at all.
            env={**os.environ, "GIT_PAGER": "cat -u", "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(inner)
        while len(self._names()) < PAGE:
            self._shown += os.read(self._terminal, 1 << 16)

    def close(self) -> None:
        """End it and its pager."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            os.close(self._terminal)

    def _names(self) -> list[str]:
        """The names of the turns whose whole lines were shown."""
        *lines, _ = self._shown.decode(errors="replace").split("\n")
        return [line.split()[0] for line in lines if line.startswith("@")]

    def check(self) -> None:
        """See that the lines are those of the newest checkpoints."""
        shown = self._names()[:PAGE]
        expected = ["@", *(f"@~{number}" for number in range(1, PAGE))]
        assert shown == expected, "the first page is not the newest"


def make_checkpoints(worktree: Worktree, count: int, *, loose: bool = True) -> None:
    """Make checkpoints a minute apart, written in bulk after the model of a real one.

    Args:
        worktree: the repository.
        count: how many.
        loose: whether their objects stay loose, as single commands would have left them.
    """
    worktree.turn()
    model = capture(Repository.discover(worktree.top), _request(0)).checkpoint
    stream = b"".join(_commits(worktree, model, count - 1))
    limit = f"fastimport.unpackLimit={10**9 if loose else 1}"
    git(worktree.top, "-c", limit, "fast-import", "--quiet", stdin=stream)


def _request(number: int) -> Request:
    return Request(f"turn {number}", "session", "chat", f"message-{number}", "agent", "turn")


def _commits(worktree: Worktree, model: Checkpoint, count: int) -> Iterator[bytes]:
    now = time.time_ns()
    for number in range(1, count + 1):
        identifier = new_id(now - number * _MINUTE_NS)
        path = worktree.paths[number % len(worktree.paths)]
        message = _message(model.meta.values, identifier, number)
        when = int(id_time(identifier))
        yield f"commit {CHECKPOINTS}{identifier}\ncommitter b <b> {when} +0000\n".encode()
        yield b"data %d\n%s\n" % (len(message), message)
        content = f"turn {number}\n".encode()
        yield f"from {model.head}\nM 100644 inline {path}\ndata {len(content)}\n".encode()
        yield content + b"\n"


def _message(values: dict[str, Any], identifier: str, number: int) -> bytes:
    told = _request(number)
    own = {"label": told.label, "message": told.message}
    anchor = {**values["anchor"], "message": told.message}
    when = timestamp(id_time(identifier))
    told_values = {**own, "id": identifier, "created_at": when, "anchor": anchor}
    return Metadata({**values, **told_values}).message().encode()
