"""Killed or failing at any step, a capture changes nothing, and a restore can be undone."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.errors import BoocodeError
from git_boocode.workflows.restore_with_edits import FileEditor
from tests.checkpoints.kit import ANYWAY, Host, Seen, back, redone, refs, seen, sound, take, undone
from tests.forked import run_forked
from tests.kill_kit import DIES_AT_A_STEP
from tests.repo_kit import Repo

# Runs a service and dies before one step: a call of git or of the file system, or its own end.
CHILD = (
    DIES_AT_A_STEP
    + """
from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.restore.commands import redo, restore, undo
from git_boocode.checkpoints.restore.request import RestoreHost, RestoreRequest
from git_boocode.workflows.restore_with_edits import FileEditor
from git_boocode.workflows.take_back import TakeBackRequest, take_back
from git_boocode.repo.repository import Repository

repository = Repository.discover()
watch(subprocess, "Popen")
for name in ("replace", "link", "rename", "fsync", "unlink"):
    watch(os, name)
force = frozenset({"ignored", "newer-turns"})
host = RestoreHost(editor=FileEditor)
options = RestoreRequest(callback=".git/host", force=force)
if what == "capture":
    capture(repository, Request())
elif what == "restore":
    restore(repository, "@", options._replace(head=True), host)
elif what in ("revert", "pick"):
    take_back(repository, what, TakeBackRequest(turns=("label:target",)))
else:
    {"undo": undo, "redo": redo}[what](repository, options, host)
print(count)
watch(sys, "exit")
sys.exit()
"""
)

FORCED = frozenset({"ignored"})
_SLACK = 4
# A restore, an undo and a redo are the same transaction; KILL_ROUNDS kills each at every step.
_EVERY_STEP = "KILL_ROUNDS" in os.environ
STEPS = pytest.mark.parametrize(
    "every",
    [pytest.param(1, id="every step"), pytest.param(25, id="some steps", marks=pytest.mark.quick)],
)


def set_up(repo: Repo) -> tuple[Seen, Seen]:
    """A checkpoint and a mess after it; what both look like."""
    repo.commit(**{"a": "a\n", "b": "b\n", "dir/c": "c\n", ".gitignore": "*.log\n"})
    repo.write("a", "changed\n")
    repo.write("b", "staged\n")
    repo.git("add", "b")
    repo.write("new", "untracked\n")
    there = seen(repo)
    take(chat="x")
    repo.write("a", "mess\n")
    repo.git("rm", "-rqf", "dir")
    repo.write("dir", "mess\n")
    (repo.top / "new").unlink()
    repo.write("new/in the way.log", "precious\n")
    repo.write("agents", "mess\n")
    repo.git("add", "agents", "a")
    take(chat="y")
    return there, seen(repo)


def with_more(repo: Repo) -> tuple[Seen, dict[str, Any]]:
    """More that a restore changes: HEAD, and a transcript; what it looks like, and how to do it."""
    first = refs(repo, "checkpoints")[-1].split()
    repo.git("update-ref", "-d", first[0])
    repo.git("commit", "-q", "-m", "later")
    repo.write("chat.log", "one\ntwo\nthree\n")
    edit = {"path": "chat.log", "old_string": "two\nthree\n", "new_string": ""}
    repo.write(".git/answer", json.dumps({"edits": [edit]}))
    Host(repo, trim="cat .git/answer")
    how = {"callback": ".git/host", "editor": FileEditor, "force": FORCED | ANYWAY}
    return seen(repo), how


def copies(repo: Repo, count: int) -> list[Repo]:
    """The same repository several times."""
    made = []
    for number in range(count):
        top = repo.top.parent / f"{repo.top.name}-{number}"
        subprocess.run(["cp", "-a", repo.top, top], check=True)
        made.append(Repo(top))
    return made


def child(place: Repo, what: str, step: int) -> tuple[int, str]:
    """Run the child; its exit status and output."""
    done = run_forked(CHILD, what, str(step), cwd=place.top, env=dict(os.environ))
    return done.returncode, done.stdout.decode()


def at_steps(repo: Repo, what: str, check: Callable[[Repo], None], *, every: int = 1) -> None:
    """Kill before every so many steps, each time in a fresh copy, and check what is left."""
    (trial,) = copies(repo, 1)
    status, printed = child(trial, what, 0)
    assert status == 0
    count = int(printed)
    steps = range(1, count + 2, 1 if _EVERY_STEP else every)
    assert count > 15

    def once(step: int) -> Repo:
        top = repo.top.parent / f"{repo.top.name}-step-{step}"
        subprocess.run(["cp", "-a", repo.top, top], check=True)
        place = Repo(top)
        status = child(place, what, step)[0]
        # A copy may take a few steps less: which files git compares again depends on the clock.
        assert status == -9 or (status == 0 and step > count - _SLACK), step
        return place

    with ThreadPoolExecutor(2) as pool:
        for place in pool.map(once, steps):
            os.chdir(place.top)
            check(place)
            os.chdir(repo.top)
            subprocess.run(["rm", "-rf", place.top], check=True)


def blocks_nothing(place: Repo) -> None:
    """After a kill, the next checkpoint works, and nothing is left lying about."""
    take()
    sound_but_for_the_note(place)
    place.git("add", "-u")
    place.git("reset", "-q", "--mixed")


def sound_but_for_the_note(place: Repo) -> None:
    """Nothing is damaged; a restore that was interrupted may still be noted."""
    (place.top / ".git/boocode/restore-in-progress").unlink(missing_ok=True)
    sound(place)


@STEPS
def test_a_killed_capture(repo: Repo, every: int) -> None:
    _, before = set_up(repo)

    def check(place: Repo) -> None:
        assert seen(place) == before
        blocks_nothing(place)

    at_steps(repo, "capture", check, every=every)


def goes_back(place: Repo, before: Seen, count: int) -> None:
    """After a kill, undo leads back to before; without a safety checkpoint nothing happened."""
    if len(refs(place, "safety")) > count:
        undone(editor=FileEditor)
    # A checkpoint sweeps away what was left, and is itself no part of what is looked at.
    take(chat="after")
    assert seen(place) == before
    blocks_nothing(place)


@STEPS
def test_a_killed_restore(repo: Repo, every: int) -> None:
    there, _ = set_up(repo)
    before, how = with_more(repo)

    def check(place: Repo) -> None:
        goes_back(place, before, 0)
        if place.top.name.endswith(("0", "5")) and refs(place, "safety"):
            redone(**how)
            restored = seen(place)
            assert restored.files.pop("chat.log")[1] == b"one\n"
            assert (restored.files, restored.staged) == (there.files, there.staged)
            # The host's file is ignored, and HEAD is where it was.
            assert restored.status == there.status
            undone(**how)
            assert seen(place) == before

    at_steps(repo, "restore", check, every=every)


def test_an_undo_killed_at_some_steps(repo: Repo) -> None:
    set_up(repo)
    before, how = with_more(repo)
    back(head=True, **how)
    restored = seen(repo)
    known = len(refs(repo, "safety"))
    check = partial(ends_or_goes_back, after=before, before=restored, count=known)
    at_steps(repo, "undo", check, every=4)


def test_a_redo_killed_at_some_steps(repo: Repo) -> None:
    set_up(repo)
    before, how = with_more(repo)
    back(head=True, **how)
    restored = seen(repo)
    undone(**how)
    known = len(refs(repo, "safety"))
    check = partial(ends_or_goes_back, after=restored, before=before, count=known)
    at_steps(repo, "redo", check, every=7)


def ends_or_goes_back(place: Repo, after: Seen, before: Seen, count: int) -> None:
    """After a kill it has come to its end, or undo leads back to before."""
    note = place.top / ".git/boocode/restore-in-progress"
    if len(refs(place, "safety")) > count and not note.exists():
        assert seen(place) == after
        blocks_nothing(place)
    else:
        goes_back(place, before, count)


class Failed:
    """A git process that fails, at once or after it has done its work.

    Args:
        stderr: what it says.
        process: what does the work.
    """

    args = "git"
    returncode = 128

    def __init__(self, stderr: bytes, process: subprocess.Popen[bytes] | None) -> None:
        self._said = stderr
        self._process = process
        self.stdin, self.stdout, self.stderr = BytesIO(), BytesIO(), BytesIO(stderr)

    def __enter__(self) -> Failed:  # noqa: PYI034 - Self came with 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.terminate()

    def communicate(self, given: bytes | None = None, **_: object) -> tuple[bytes, bytes]:
        if self._process is not None:
            self._process.communicate(given)
            self._process = None
        return b"", self._said

    def poll(self) -> int:
        return self.returncode

    def terminate(self) -> None:
        self.communicate()

    wait = poll


class Failing:
    """Lets one call of git fail: before it ran, or after it has done its work.

    Args:
        step: which call, from 1.
        after: whether it does its work first.
        stderr: what it then says.
    """

    def __init__(self, step: int, *, after: bool, stderr: bytes) -> None:
        self._step = step
        self._after = after
        self._stderr = stderr
        self._real = subprocess.Popen
        self.count = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args[0][0] != "git":
            return self._real(*args, **kwargs)
        self.count += 1
        if self.count != self._step:
            return self._real(*args, **kwargs)
        process = self._real(*args, **kwargs) if self._after else None
        return Failed(self._stderr, process)


ENOSPC = b"fatal: unable to write file: No space left on device\n"


def exit_code(run: Callable[[], object]) -> int:
    """How the command that does this would end."""
    try:
        run()
    except BoocodeError as error:
        return error.exit_code
    return 0


@pytest.mark.parametrize(
    ("after", "callback"), [(False, False), (True, True)], ids=["before its work", "after it"]
)
def test_every_call_of_git_fails_once_in_a_restore(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, after: bool, callback: bool
) -> None:

    target, before = set_up(repo)
    last = refs(repo, "checkpoints")[-1].split()
    repo.git("update-ref", "-d", last[0])
    host = Host(repo) if callback else None
    known = refs(repo)
    step = refused = 0
    while True:
        step += 1
        failing = Failing(step, after=after, stderr=ENOSPC)
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", failing)
            code = exit_code(lambda: back(callback=host and host.path, force=FORCED))
        assert code in (0, 1, 128), step
        failed = code != 0
        if failing.count < step:
            break
        if not failed:
            assert seen(repo) == target, step
            undone()
        assert seen(repo) == before, step
        new = [ref for ref in refs(repo) if ref not in known]
        if failed:
            refused += 1
            assert len(new) <= 1, (step, new)
            # What was there half-way may be kept. Only where the last step of going back is what
            # failed, something is left to undo.
            if new and '"halfway"' not in repo.git("show", "-s", new[0].split()[0]):
                undone()
                assert seen(repo) == before, step
                new = [ref for ref in refs(repo) if ref not in known]
        sound(repo)
        for ref in new:
            repo.git("update-ref", "-d", ref.split()[0])
    assert step > 20
    assert refused > 10


@pytest.mark.parametrize("warm", [True, False], ids=["after another one", "the first one"])
def test_every_call_of_git_fails_once_in_a_capture(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, warm: bool
) -> None:
    set_up(repo)
    step = 0
    while True:
        step += 1
        repo.write("agents", f"mess {step}\n")
        repo.write(f"more {step}", "untracked\n")
        if not warm:
            forget_index(repo)
        before = seen(repo)
        known = refs(repo)
        failing = Failing(step, after=False, stderr=ENOSPC)
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", failing)
            code = exit_code(take)
        assert code in (0, 128), step
        if code:
            assert refs(repo) == known, step
        else:
            newest = refs(repo, "checkpoints")[-1].split()[0]
            names = repo.git("ls-tree", "-r", "--name-only", newest).split("\n")
            assert {"a", "b", "dir", "agents", f"more {step}"} <= set(names), step
            assert repo.git("show", f"{newest}:a") == "mess\n"
            assert repo.git("show", f"{newest}:agents") == f"mess {step}\n"
        if failing.count < step:
            break
        assert seen(repo) == before
        sound(repo)
    assert step > (7 if warm else 11)


def forget_index(repo: Repo) -> None:
    for path in (repo.top / ".git/boocode").glob("kept-index*"):
        path.unlink()


def test_the_child_is_killed_at_the_chosen_step(repo: Repo) -> None:
    set_up(repo)
    assert child(repo, "capture", 1)[0] == -9
    status, printed = child(repo, "capture", 0)
    assert status == 0
    assert int(printed) > 5
    assert Path(repo.top / ".git/boocode/lock").exists()
