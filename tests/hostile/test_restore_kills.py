"""A restore that is killed, disturbed or out of room loses nothing and can be undone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.restore.commands import repair
from git_boocode.checkpoints.restore.request import RestoreHost, RestoreRequest
from git_boocode.repo import lock
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.lock import interrupted_restore
from git_boocode.repo.repository import Repository
from git_boocode.workflows.restore_with_edits import FileEditor
from tests.checkpoints.kit import (
    Host,
    Seen,
    back,
    interrupted,
    redone,
    refs,
    seen,
    sound,
    take,
    undone,
)
from tests.forked import run_forked
from tests.hostile.test_kills import fill, small_disk
from tests.repo_kit import Repo

__all__ = ["small_disk"]

# `.ci/run` asks for more.
ROUNDS = int(os.environ.get("KILL_ROUNDS", "25"))
HOW: dict[str, Any] = {"callback": ".git/host", "editor": FileEditor}

# Forks a process for each line that it is given: a restore, ready to start at once.
FORKS = """
import os, sys
from git_boocode.checkpoints.restore.commands import redo, restore, undo
from git_boocode.checkpoints.restore.request import RestoreHost, RestoreRequest
from git_boocode.workflows.restore_with_edits import FileEditor
from git_boocode.editing import service
from git_boocode.repo.repository import Repository

host = RestoreHost(editor=FileEditor)
options = RestoreRequest(callback=".git/host", force=frozenset({"newer-turns"}))
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.setsid()
        repository = Repository.discover()
        if line.strip() == "restore":
            restore(repository, "label:target", options._replace(head=True), host)
        else:
            {"undo": undo, "redo": redo}[line.strip()](repository, options, host)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Forks:
    """Starts restores, and kills them with all that they have started."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, what: str, lifetime: float | None) -> int:
        """Let one live for so many seconds, or to its end; its wait status."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{what}\n")
        stdin.flush()
        child = int(stdout.readline())
        if lifetime is not None:
            time.sleep(lifetime)
            # It may not lead a group yet, or be gone.
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return int(stdout.readline())


@contextmanager
def forks() -> Iterator[Forks]:
    command = [sys.executable, "-c", FORKS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Forks(process)
        assert process.stdin is not None
        process.stdin.close()


def set_up(repo: Repo) -> tuple[Seen, Seen]:
    """A checkpoint, a commit and a mess after it, and a transcript; what both look like."""
    repo.commit(**{f"d{n % 5}/f{n}": f"{n}\n" * 20 for n in range(24)}, **{".gitignore": "*.log\n"})
    repo.write("d0/f0", "staged\n")
    repo.git("add", "d0")
    repo.write("new", "untracked\n")
    repo.write("chat.log", "one\n")
    there = seen(repo)
    take(label="target", chat="c")
    repo.commit(**{f"d{n % 5}/f{n}": "changed\n" for n in range(0, 24, 2)})
    repo.git("rm", "-rqf", "d3")
    repo.write("d3", "a file now\n")
    take(chat="c")
    repo.write("chat.log", "one\ntwo\nthree\n")
    edit = {"path": "chat.log", "old_string": "two\nthree\n", "new_string": ""}
    repo.write(".git/answer", json.dumps({"edits": [edit]}))
    Host(repo, trim="cat .git/answer")
    return there, seen(repo)


def test_killed_at_random_times(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "REF_PATIENCE", 0.0)
    there, mess = set_up(repo)
    dice = random.Random(11)
    ended = 0
    with forks() as starter:
        begun = time.monotonic()
        assert starter.run("restore", None) == 0
        longest = time.monotonic() - begun
        assert seen(repo) == there
        assert starter.run("undo", None) == 0
        assert seen(repo) == mess
        known = set(refs(repo, "checkpoints"))
        for number in range(ROUNDS):
            what = dice.choice(["restore", "restore", "undo", "redo"])
            prepare(what)
            before, after = (there, mess) if what == "undo" else (mess, there)
            # The rounds cover the whole run evenly; the last ones live long enough to end.
            status = starter.run(what, 1.5 * longest * (number + dice.random()) / ROUNDS)
            ended += status == 0
            tidied_up(repo, (number, what), dice, before, after, killed=status != 0)
            while seen(repo) != mess or interrupted_now(repo):
                undone(**HOW)
            assert known <= set(refs(repo, "checkpoints"))
            forget_safety(repo)
    # What was killed before it had begun leaves a note, which goes with the next one that ends.
    back("label:target", head=True, **HOW)
    undone(**HOW)
    assert seen(repo) == mess
    assert ended < ROUNDS
    sound(repo)
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""


def forget_safety(repo: Repo) -> None:
    """Drop the safety checkpoints, so that they do not slow the next round down."""
    names = [line.split()[0] for line in refs(repo, "safety")]
    repo.git("update-ref", "--stdin", stdin="".join(f"delete {name}\n" for name in names))


def prepare(what: str) -> None:
    """Bring about what is to be undone or redone."""
    if what != "restore":
        back("label:target", head=True, **HOW)
    if what == "redo":
        undone(**HOW)


def tidied_up(
    repo: Repo,
    round_: tuple[int, str],
    dice: random.Random,
    before: Seen,
    after: Seen,
    *,
    killed: bool,
) -> None:
    """Whatever is done first after a kill leads to a known state, and says what happened."""
    number, what = round_
    repository = Repository.discover()
    begun = interrupted_now(repo)
    if not begun:
        take()
        assert seen(repo) == (before if killed and seen(repo) == before else after), number
        return
    if number % 10 == 0:
        assert "interrupted half-way" in repo.boocode("log").err
    # What is cut cannot be cut once more: an undo that was killed is not followed by a restore.
    first = dice.choice(["undo", "repair", "undo" if what == "undo" else "restore"])
    if first == "undo":
        undone(**HOW)
    elif first == "repair":
        repair(repository, RestoreRequest(callback=".git/host"), RestoreHost(FileEditor))
    else:
        back("label:target", head=True, **HOW)
    assert seen(repo) == (after if first == "restore" else before), (number, first)
    assert interrupted_restore(repository.state_dir) is None


@pytest.mark.ref_files
def test_ref_locks_of_a_killed_command(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    _, mess = set_up(repo)
    monkeypatch.setattr(lock, "REF_PATIENCE", 0.3)
    earlier = repo.write(".git/refs/boocode/safety/earlier.lock")
    os.utime(earlier, (1, 1))
    interrupted(monkeypatch, lambda: back("label:target", head=True, **HOW))
    left = [
        repo.write(f".git/{name}.lock")
        for name in ("HEAD", "refs/heads/main", "packed-refs", "refs/boocode/archive/x/y")
    ]
    theirs = repo.write(".git/refs/heads/theirs.lock")
    undone(**HOW)
    assert seen(repo) == mess
    assert [path.exists() for path in left] == [False] * 4
    # Not what was there before, and not what it has nothing to do with.
    assert earlier.exists()
    assert theirs.exists()
    # Where nothing was interrupted, a lock is someone's.
    repo.git("config", "core.packedRefsTimeout", "0")
    held = repo.write(".git/packed-refs.lock")
    with pytest.raises(BoocodeError) as caught:
        back("label:target", head=True, **HOW)
    assert caught.value.code in ("locked", "refs")
    held.unlink()


def test_a_disk_that_fills_up(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", small_disk], check=True)
    repo = Repo(small_disk)
    monkeypatch.chdir(small_disk)
    there, mess = set_up(repo)
    repo.write("new", random.Random(1).randbytes(200_000))
    mess = seen(repo)
    repo.git("config", "boocode.maxFileSize", "1m")
    failed = 0
    for left in (0, 1, 2, 4, 8, 16, 32, 48, 64, 80, 100):
        filler = fill(small_disk, left)
        repo.git("update-index", "-q", "--refresh", check=False)
        try:
            back("label:target", head=True, **HOW)
        except (BoocodeError, OSError):
            failed += 1
        filler.unlink()
        if interrupted_now(repo):
            undone(**HOW)
        elif repo.read("new") == b"untracked\n":
            assert seen(repo) == there, left
            undone(**HOW)
        assert seen(repo) == mess, left
    assert failed > 3
    back("label:target", head=True, **HOW)
    assert seen(repo) == there
    undone(**HOW)
    redone(**HOW)
    assert seen(repo) == there
    sound(repo)


@pytest.mark.parametrize("command", ["restore", "undo", "redo"])
def test_a_full_disk_is_named_and_changes_nothing(small_disk: Path, command: str) -> None:
    subprocess.run(["git", "init", "-q", small_disk], check=True)
    repo = Repo(small_disk)
    repo.git("config", "core.autocrlf", "input")
    repo.git("config", "boocode.maxFileSize", "1m")
    repo.commit(a="a\n", big="x" * 150_000)
    assert repo.boocode("checkpoint").code == 0
    repo.write("big", random.Random(1).randbytes(150_000))
    repo.write("a", b"mess\r\n" * 1000, 0o600)
    repo.git("add", "a")
    repo.write("made", b"mess\r\n", 0o640)
    for earlier in {"undo": ["restore"], "redo": ["restore", "undo"]}.get(command, []):
        assert repo.boocode(earlier, *(["@"] if earlier == "restore" else [])).code == 0
    failed = 0
    for left in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 56, 64, 72):
        filler = fill(small_disk, left)
        before = all_of(repo)
        done = repo.boocode(command, *(["@"] if command == "restore" else []))
        now = all_of(repo)
        filler.unlink()
        if done.code == 0:
            assert repo.boocode("redo" if command == "undo" else "undo").code == 0
        else:
            failed += 1
            assert done.code == 128, done.err
            assert "no space left on device" in done.err.lower(), done.err
            assert "hint: free some space" in done.err, done.err
            assert now == before or repo.boocode("undo").code == 0
        now = all_of(repo)
        assert {**now, "filler": None} == {**before, "filler": None}, left
    assert failed > 3
    sound(repo)


def all_of(repo: Repo) -> dict[str, Any]:
    """Every file with its bytes and all of its mode."""
    files = repo.files()
    return {path: (files[path], (repo.top / path).lstat().st_mode) for path in files}


def interrupted_now(repo: Repo) -> bool:
    """Whether a restore was interrupted that had begun."""
    noted = interrupted_restore(Repository.discover().state_dir)
    return noted is not None and any(noted in ref for ref in refs(repo, "safety"))


SLOW = """
import os, signal, sys, threading, time
from git_boocode.checkpoints.restore.commands import restore
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.repo.repository import Repository

def die():
    while not os.path.exists(".git/begun"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=die).start()
restore(Repository.discover(), "@", RestoreRequest())
"""


@pytest.mark.quick
def test_git_of_a_killed_restore_is_awaited(repo: Repo) -> None:
    """The files that git has not yet written would come after the undo."""
    repo.commit(**{f"f{number}": "x\n" for number in range(6)})
    repo.git("config", "filter.slow.smudge", "touch .git/begun; sleep 0.1; cat")
    repo.write(".git/info/attributes", "f* filter=slow\n")
    take()
    for number in range(6):
        repo.write(f"f{number}", "changed\n")
    before = seen(repo)
    done = run_forked(SLOW, cwd=repo.top, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    undone()
    assert seen(repo) == before
    sound(repo)
