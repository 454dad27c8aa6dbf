"""Standard streams that are closed, full or a directory change neither the work nor its code."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).parent / "git-boocode"
CLOSED = "<&- >&- 2>&-"
COMMANDS = {
    "--version": 0,
    "log -h": 129,
    "nosuch": 129,
    "checkpoint --json": 0,
    "log": 0,
    "show --json nosuch": 1,
    "restore @~2": 0,
    "apply-edit --path a --old 1 --new 3": 0,
    "apply-edit --path a --old x --new y": 1,
    "run true": 0,
    "diff": 0,
    "doctor": 0,
    "locate a": 1,
}
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


def run(command: str, streams: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    line = f"exec {PROGRAM} {command} {streams}"
    return subprocess.run(["sh", "-c", line], input=stdin, capture_output=True)


@pytest.fixture
def session(repo: Repo) -> Repo:
    repo.commit(a="1\n")
    repo.boocode("checkpoint")
    repo.write("a", "2\n")
    repo.boocode("checkpoint")
    return repo


@pytest.mark.parametrize("all_closed", [True, False])
def test_closed_streams_count_as_dev_null(session: Repo, all_closed: bool) -> None:
    one = itertools.cycle((">&-", "2>&-", "</"))
    for (command, code), streams in zip(COMMANDS.items(), one, strict=False):
        done = run(command, CLOSED if all_closed else streams)
        assert done.returncode == code, (command, done)
        assert b"Traceback" not in done.stderr, command


@needs_full
def test_a_full_standard_error_changes_no_code(session: Repo) -> None:
    for command, code in COMMANDS.items():
        assert run(command, "2>/dev/full").returncode == code, command


@needs_full
def test_an_answer_that_cannot_be_written_is_no_refusal(session: Repo) -> None:
    for command, code in COMMANDS.items():
        done = run(command, ">/dev/full")
        # What fails says so on standard error; all else loses its answer, if it has one.
        silent = command in ("run true", "diff")
        assert done.returncode == (code if code in (1,) or silent or command == "nosuch" else 128)
        assert done.stderr or silent, command
        assert b"Traceback" not in done.stderr, command
    shown = run("show --json nosuch", ">/dev/full").stderr
    assert shown.startswith(b"error: ")
    assert b"has been done" not in shown


def test_no_file_becomes_a_stream(session: Repo) -> None:
    """A program that `run` starts finds all three streams open."""
    check = "import os, sys; [os.fstat(n) for n in range(3)]; open('ok', 'w')"
    run(f'run {sys.executable} -c "{check}"', CLOSED)
    assert session.read("ok") == b""


def test_hooks_exit_with_0(session: Repo) -> None:
    for hook in ("claude-code UserPromptSubmit", "git pre-commit", "nobody"):
        for streams in (CLOSED, "</"):
            assert run(f"hook {hook}", streams).returncode == 0, (hook, streams)
