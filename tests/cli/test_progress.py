"""What a terminal shows of long work, and that nobody else sees it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.restore.commands import restore
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal, what_stays

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "git_boocode")


def slow_down(repo: Repo, **drivers: str) -> None:
    """Let git take its time with the files that are called `slow`."""
    repo.write(".git/info/attributes", "slow* filter=slow\n")
    for name, script in drivers.items():
        repo.git("config", f"filter.slow.{name}", script)


@pytest.fixture
def many(repo: Repo) -> Repo:
    """A thousand new files behind one that takes two seconds."""
    slow_down(repo, clean="sleep 2; cat")
    repo.write("a/slow", "s\n")
    for number in range(1000):
        repo.write(f"b/{number:0100}")
    return repo


def test_a_checkpoint_counts_files(many: Repo) -> None:
    terminal = Terminal(*COMMAND, "checkpoint")
    terminal.wait_for("recording: ")
    count = int(terminal.wait_for(" files"))
    assert 0 < count < 1001
    code, shown = terminal.end()
    assert code == 0
    assert re.fullmatch(r"[0-9a-f-]{36}\n", what_stays(shown))


def test_an_interrupt_leaves_a_clean_line(many: Repo) -> None:
    terminal = Terminal(*COMMAND, "checkpoint")
    terminal.wait_for("recording: ")
    terminal.interrupt()
    code, shown = terminal.end()
    assert (code, what_stays(shown)) == (130, "")
    assert many.boocode("log").out == ""


def test_a_restore_counts_files(repo: Repo) -> None:
    slow_down(repo, smudge="sleep 0.8; cat", clean="cat")
    for name in ("slow1", "slow2", "slow3"):
        repo.write(name, name)
    take()
    for name in ("slow1", "slow2", "slow3"):
        (repo.top / name).unlink()
    terminal = Terminal(*COMMAND, "restore", "@")
    terminal.wait_for("restoring: ")
    assert re.fullmatch("[12] of 3", terminal.wait_for(" files"))
    code, shown = terminal.end()
    assert code == 0
    assert what_stays(shown).startswith(" A slow1\n A slow2\n A slow3\nrestored 3 files ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "answer"), [("--json", r"\{[^\r\n]*\}\n"), ("-q", r"[0-9a-f-]{36}\n")]
)
def test_who_wants_no_progress_sees_none(repo: Repo, option: str, answer: str) -> None:
    slow_down(repo, clean="sleep 1.2; cat")
    repo.write("slow", "s\n")
    code, shown = Terminal(*COMMAND, "checkpoint", option).end()
    assert code == 0
    assert re.fullmatch(answer, shown)


@pytest.mark.slow
def test_without_a_terminal_there_is_no_progress(repo: Repo) -> None:
    slow_down(repo, clean="sleep 1.5; cat")
    repo.write("slow", "s\n")
    done = subprocess.run([*COMMAND, "checkpoint"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_observer_takes_counts(repo: Repo) -> None:
    for number in range(30):
        repo.write(f"{number}", "x\n")
    repository = Repository.discover()
    seen: list[tuple[str, int, int]] = []
    with repository.observed(lambda *count: seen.append(count)):
        taken = capture(repository, Request())
        assert ("recording: {} files", 30, 0) in seen
        assert seen[-1] == ("", 0, 0)
        assert len(list(Catalog(repository).history())) == 1
        assert ("reading: {} checkpoints", 1, 0) in seen
        for number in range(30):
            repo.write(f"{number}", "y\n")
        restore(repository, taken.checkpoint.id, RestoreRequest())
    assert repo.read("29") == b"x\n"
    counts = [(done, total) for doing, done, total in seen if doing.startswith("restoring")]
    assert counts
    assert {total for _, total in counts} == {30}
    before = len(seen)
    capture(repository, Request())
    assert len(seen) == before
