"""The mark of a running turn counts while its process runs and its time lasts, if it is valid."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.errors import NextStep, RefusedError
from git_boocode.repo.ids import new_id
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import (
    RunningTurn,
    process_start,
    read_turn,
    refuse_if_running,
    write_turns,
)
from tests.repo_kit import Repo

HAS_PROC = pytest.mark.skipif(
    process_start(os.getpid()) is None, reason="this system does not say when a process began"
)


@pytest.fixture
def mark(repo: Repo) -> Path:
    """The path of the mark."""
    path = repo.top / ".git/boocode/turn.json"
    path.parent.mkdir()
    return path


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until the test ends it."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def made(**fields: Any) -> RunningTurn:
    """Mark a turn."""
    now = time.time()
    turn = RunningTurn(new_id(), "fix the parser", None, None, now, now + 60)._replace(**fields)
    write_turns(Repository.discover(), [turn])
    return turn


def running() -> RunningTurn | None:
    return read_turn(Repository.discover())


def test_without_a_file_no_turn_runs(repo: Repo) -> None:
    assert running() is None
    refuse_if_running(Repository.discover())
    write_turns(Repository.discover(), [])
    assert not (repo.top / ".git/boocode").exists()


def test_what_is_written_is_read(mark: Path) -> None:
    assert made() == running()
    assert made(times_out=None, message="ünï\udcff\n") == running()
    assert mark.stat().st_mode & 0o777 == 0o600
    made(message="x" * 2_000_000)
    found = running()
    assert found is not None
    assert len(found.describe()) < 120
    write_turns(Repository.discover(), [])
    assert running() is None


def test_a_refusal_says_who_holds_the_turn_and_since_when(mark: Path) -> None:
    began = time.time() - 185
    made(pid=os.getpid(), began=began, message="fix\nthe   parser")
    with pytest.raises(RefusedError) as caught:
        refuse_if_running(Repository.discover(), "turn")
    clock = time.strftime("%H:%M", time.localtime(began))
    said = f"a turn is running: 'fix the parser', process {os.getpid()}, since"
    assert caught.value.message.startswith(said)
    assert caught.value.message.endswith(f"{clock} (3 min ago)")
    assert caught.value.code == "locked"
    assert caught.value.hints == (
        "'git boocode turn end' ends it",
        "--force turn does it anyway",
    )
    made(session="s1")
    with pytest.raises(RefusedError) as caught:
        refuse_if_running(Repository.discover(), "turn")
    assert "'fix the parser', session s1, since" in caught.value.message
    end = caught.value.hints[0]
    assert isinstance(end, NextStep)
    turn = running()
    assert turn is not None
    assert end == f"'git boocode turn end {turn.checkpoint}' ends it, if its program was killed"
    assert end.arguments == {"action": "end", "checkpoint": turn.checkpoint}


def test_a_turn_is_over_with_its_time(mark: Path) -> None:
    made(times_out=time.time() + 60)
    assert running() is not None
    made(times_out=time.time())
    assert running() is None
    # Reading does not write.
    assert mark.exists()


@pytest.mark.slow
def test_a_turn_is_over_with_its_process(mark: Path, sleeper: subprocess.Popen[bytes]) -> None:
    made(pid=sleeper.pid, process_start=process_start(sleeper.pid), times_out=None)
    assert running() is not None
    sleeper.kill()
    while running() is not None:
        # A process that nobody waits for yet is dead, too, where the system says so.
        if process_start(os.getpid()) is None:
            sleeper.wait()
    sleeper.wait()
    assert running() is None


@HAS_PROC
def test_another_process_with_the_number_does_not_count(mark: Path) -> None:
    start = process_start(os.getpid())
    assert start is not None
    made(pid=os.getpid(), process_start=start)
    assert running() is not None
    made(pid=os.getpid(), process_start=start - 1)
    assert running() is None


WRONG: dict[str, list[Any]] = {
    "checkpoint": ["", "x", 1, None, "../../HEAD", new_id() + "\n"],
    "message": [None, 1, ["x"]],
    "pid": [0, -1, 1.5, True, "1", [], 1 << 31, 10**400],
    "process_start": [-1, "1", 1.5, True, 1 << 70],
    "began": [None, "x", -1, True, 10**400, 1e300, float("nan"), []],
    "agent": [None, 1],
    "session": [None, ["s"]],
    "times_out": ["x", -1, False, 10**400, float("inf"), float("nan")],
}
GARBAGE = [b"", b"garbage", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000]


def test_a_malformed_mark_is_none(mark: Path) -> None:
    made()
    [values] = json.loads(mark.read_bytes())
    for key, wrong in WRONG.items():
        for value in wrong:
            mark.write_text(json.dumps([{**values, key: value}]))
            assert running() is None, value
            mark.write_text(json.dumps([{**values, key: value}, values]))
            assert running() is not None
        mark.write_text(json.dumps([{k: v for k, v in values.items() if k != key}]))
        assert running() is None or key in ("pid", "process_start", "times_out")


def test_garbage_is_no_mark(mark: Path) -> None:
    made()
    whole = mark.read_bytes()
    for content in (*GARBAGE, whole[:-1], whole + b" " * (1 << 20)):
        mark.write_bytes(content)
        assert running() is None, content[:50]
