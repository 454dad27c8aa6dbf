"""A signal ends a command that has changed nothing, or comes too late and changes no answer."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.checkpoints.kit import refs, seen
from tests.forked import run_forked
from tests.repo_kit import Repo

SIGNALLED = """
import os, signal, sys, threading, time

os.setpgid(0, 0)
step, number, reached = int(sys.argv.pop(1)), int(sys.argv.pop(1)), sys.argv.pop(1)
seen = 0

def watch(event, details):
    # What changes files, and the programs that do.
    global seen
    if event in ("os.rename", "os.link", "os.remove", "subprocess.Popen"):
        seen += 1
        if seen == step:
            os.close(os.open(reached, os.O_CREAT))
            if number == signal.SIGTERM:
                os.kill(os.getpid(), number)
            else:
                threading.Thread(target=ctrl_c).start()

def ctrl_c():
    # A terminal sends it to the git that we have just started, too.
    time.sleep(0.002)
    os.killpg(0, number)

sys.addaudithook(watch)
from git_boocode.__main__ import program
program()
"""
EDIT = """*** Begin Patch
*** Update File: a
@@
 one
+more
*** Update File: b
@@
 one
+more
*** End Patch
"""
COMMANDS = {
    "apply-edit": ["apply-edit", "-"],
    "rewind": ["rewind"],
    "restore": ["restore", "@~1"],
    "undo": ["undo", "--force", "newer-turns"],
    "redo": ["redo"],
    "accept": ["accept"],
    "discard": ["discard"],
    "drop": ["drop", "@~1"],
}


class State(NamedTuple):
    """All that a command could change."""

    user: object
    refs: list[str]


def state(repo: Repo) -> State:
    """Look at it."""
    return State(seen(repo), refs(repo, "checkpoints", "safety", "archive", "edits", "proposals"))


def prepare(repo: Repo, command: str) -> None:
    """Make a repository in which there is something to do."""
    repo.commit(a="one\n", b="one\n")
    repo.boocode("checkpoint")
    repo.write("a", "one\nlater\n")
    repo.boocode("checkpoint")
    if command == "rewind":
        assert repo.boocode("apply-edit", "-", stdin=EDIT).code == 0
    elif command in ("undo", "redo"):
        assert repo.boocode("restore", "@~1").code == 0
        assert command == "undo" or repo.boocode("undo").code == 0
    elif command in ("accept", "discard"):
        assert repo.boocode("propose", "-", stdin=EDIT).code == 0


def copies(repo: Repo, tmp_path: Path) -> Iterator[Repo]:
    """The same repository again and again."""
    for number in range(200):
        top = tmp_path / str(number)
        shutil.copytree(repo.top, top, symlinks=True)
        yield Repo(top)


def signalled(
    repo: Repo, arguments: Sequence[str], step: int, number: int
) -> tuple[bool, subprocess.CompletedProcess[bytes]]:
    """Whether a command came to a step, where it gets a signal, and how it ended."""
    reached = repo.top.with_name(f"{repo.top.name}.reached")
    done = run_forked(
        *(SIGNALLED, str(step), str(number), str(reached), *arguments, "--json"),
        cwd=repo.top,
        env={**os.environ},
        stdin=EDIT.encode(),
    )
    return reached.exists(), done


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_answer_to_a_signal_at_any_step_is_true(
    repo: Repo, tmp_path: Path, command: str, number: int
) -> None:
    prepare(repo, command)
    before, ended = state(repo), set[int]()
    for step, copy in enumerate(copies(repo, tmp_path), 1):
        reached, done = signalled(copy, COMMANDS[command], step, number)
        answer = json.loads(done.stdout)
        if done.returncode == 0:
            assert answer["ok"], step
            assert state(copy) != before, step
        else:
            assert done.returncode == 128 + number, (step, answer)
            assert answer["error"]["code"] == "interrupted", step
            assert state(copy) == before, step
        private = {path.name for path in (copy.top / ".git/boocode").iterdir()}
        assert not private & {"edit-in-progress", "restore-in-progress"}, step
        ended.add(done.returncode)
        shutil.rmtree(copy.top)
        if not reached:
            break
    assert ended == {0, 128 + number}


def test_a_second_signal_does_not_disturb_the_rollback(repo: Repo) -> None:
    """The user of a slow filter presses Ctrl-C again and again."""
    names = [str(each) for each in range(20)]
    repo.commit(**dict.fromkeys(names, "old\n"))
    repo.boocode("checkpoint")
    for name in names:
        repo.write(name, "new\n")
    repo.git("config", "filter.slow.smudge", "sleep 0.05; cat")
    repo.write(".git/info/attributes", "* filter=slow\n")
    before = state(repo)
    with subprocess.Popen(
        ["git-boocode", "restore", "--json", "@"],
        cwd=repo.top, stdout=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        # Git deletes a file before it writes it.
        while (repo.top / "0").exists():
            time.sleep(0.001)
        while process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.02)
        answer = json.loads(process.stdout.read())
    assert (process.returncode, answer["error"]["code"]) == (130, "interrupted")
    assert state(repo) == before
    assert not (repo.top / ".git/boocode/restore-in-progress").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_finished_restore_is_answered_whole(repo: Repo, number: int) -> None:
    """Its reader is a pager that shows the first screen when the user presses Ctrl-C."""
    names = [f"{'x' * 60}{each}" for each in range(1000)]
    repo.commit(**dict.fromkeys(names, "old\n"))
    repo.boocode("checkpoint")
    for name in names:
        repo.write(name, "new\n")
    with subprocess.Popen(
        ["git-boocode", "restore", "--json", "@"], cwd=repo.top, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        time.sleep(0.2)
        process.send_signal(number)
        answer = json.loads(first + process.stdout.read())
    assert process.returncode == 0
    assert len(answer["changed"]) == 1000
    assert repo.read(names[0]) == b"old\n"


@pytest.mark.parametrize("form", ["--json", "-v"])
def test_a_finished_restore_needs_no_reader(repo: Repo, form: str) -> None:
    repo.commit(a="old\n")
    repo.boocode("checkpoint")
    repo.write("a", "new\n")
    code, said = repo.without_reader("restore", form, "@")
    assert (code, repo.read("a")) == (0, b"old\n")
    assert b"error" not in said
    # A command that only answers has failed.
    assert repo.without_reader("log", "--json")[0] == 141


def test_a_signal_adds_nothing_to_an_answer_that_has_begun(repo: Repo) -> None:
    names = [f"{'x' * 60}{each}" for each in range(2000)]
    repo.commit(**dict.fromkeys(names, "old\n"))
    repo.boocode("checkpoint")
    for name in names:
        repo.write(name, "new\n")
    with subprocess.Popen(
        ["git-boocode", "diff", "--json"], cwd=repo.top, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        said = first + process.stdout.read()
    assert process.returncode == 143
    assert b"interrupted" not in said
