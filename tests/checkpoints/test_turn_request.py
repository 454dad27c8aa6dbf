"""A turn begins with a checkpoint and keeps restores away; it ends once, whatever happens to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints import turn_request
from git_boocode.checkpoints.restore.request import RUNNING_TURN
from git_boocode.checkpoints.turn_request import (
    BegunTurn,
    TurnRequest,
    begin_turn,
    end_turn,
    remove_marks,
)
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import RunningTurn, read_turn
from tests.checkpoints.kit import ANYWAY, back, interrupted, redone, refs, seen, sound, take, undone
from tests.kill_kit import killed_at
from tests.repo_kit import Repo


def begun(**options: Any) -> BegunTurn:
    return begin_turn(Repository.discover(), TurnRequest(**options))


def running() -> RunningTurn | None:
    return read_turn(Repository.discover())


def test_a_turn_begins_with_a_checkpoint_and_ends_with_a_record(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.write("a", "two\n")
    taken = begun(message="fix the parser")
    assert running() == taken.turn
    assert taken.turn.times_out == taken.turn.began + 3600
    texts = taken.captured.checkpoint.texts
    assert (texts["label"], texts["trigger"]) == ("fix the parser", "turn")
    repo.write("a", "three\n")
    ended = end_turn(Repository.discover())
    assert (ended.turn, ended.recorded, running()) == (taken.turn, True, None)
    [end] = refs(repo, "turn-ends")
    assert end.split()[0].endswith(taken.turn.checkpoint)
    assert repo.git("show", f"{end.split()[1]}:a") == "three\n"
    with pytest.raises(RefusedError) as caught:
        end_turn(Repository.discover())
    assert caught.value.code == "not_found"
    sound(repo)


def test_only_one_turn_runs_unless_forced(repo: Repo) -> None:
    first = begun(message="first")
    with pytest.raises(RefusedError) as caught:
        begun(message="second")
    assert caught.value.code == "locked"
    assert "'first'" in caught.value.message
    assert len(refs(repo, "checkpoints")) == 1
    assert running() == first.turn
    second = begun(message="second", force=True)
    assert running() == second.turn


@pytest.mark.parametrize(
    ("setting", "given", "limit"),
    [
        *(("", None, 3600), ("30min", None, 1800), ("never", None, None), ("0", None, None)),
        *(("30min", 5, 5), ("30min", 0, None), ("", 10**400, None), ("9999999y", None, None)),
    ],
)
def test_how_long_a_turn_may_run(
    repo: Repo, setting: str, given: int | None, limit: int | None
) -> None:
    if setting:
        repo.git("config", "boocode.turnTimeout", setting)
    turn = begun(timeout=given).turn
    assert turn.times_out == (None if limit is None else turn.began + limit)
    assert running() == turn


def test_a_bad_limit_begins_no_turn(repo: Repo) -> None:
    repo.git("config", "boocode.turnTimeout", "soon")
    with pytest.raises(FatalError) as caught:
        begun()
    assert caught.value.code == "bad_config"
    assert (running(), refs(repo)) == (None, [])


@pytest.mark.parametrize("pid", [1 << 22 | 1, 1 << 31, 10**30])
def test_a_process_that_does_not_run_begins_no_turn(repo: Repo, pid: int) -> None:
    with pytest.raises(RefusedError) as caught:
        begun(pid=pid)
    assert caught.value.code == "not_found"
    assert (running(), refs(repo)) == (None, [])


def test_a_turn_that_is_over_is_no_obstacle(repo: Repo) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        first = begun(pid=process.pid, timeout=0)
        assert running() == first.turn
        process.kill()
    assert running() is None
    with pytest.raises(RefusedError):
        end_turn(Repository.discover())
    assert not (repo.top / ".git/boocode/turn.json").exists()
    assert running() is None
    assert begun().turn == running()


@pytest.mark.slow
def test_of_two_at_once_one_begins(repo: Repo) -> None:
    repo.commit(a="one\n")

    def begin(number: int) -> str:
        done = subprocess.run(
            ["git", "boocode", "turn", "begin", "-m", str(number)], capture_output=True, text=True
        )
        return done.stdout.strip() if done.returncode == 0 else f"{done.returncode} {done.stderr}"

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(begin, range(4)))
    turn = running()
    assert turn is not None
    assert [answer for answer in answers if answer == turn.checkpoint] == [turn.checkpoint]
    others = [answer for answer in answers if answer != turn.checkpoint]
    assert all(answer.startswith("1 error: a turn is running: ") for answer in others)
    assert len(refs(repo, "checkpoints")) == 1


CALLS = ["replace", "rename", "mkdir", "unlink", "open", "fsync"]


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_a_kill_leaves_a_turn_or_none(repo: Repo, call: str) -> None:
    repo.commit(a="one\n")
    number, was_killed, marks = 1, True, 0
    while was_killed:
        was_killed = killed_at(call, number, begun)
        turn = running()
        if turn is not None:
            marks += 1
            assert f"refs/boocode/checkpoints/{turn.checkpoint} " in " ".join(refs(repo))
        mark = repo.top / ".git/boocode/turn.json"
        assert (turn is None) is not mark.exists()
        # Whatever is left is no obstacle.
        again = begun(force=turn is not None)
        assert running() == again.turn
        killed_at(call, number, lambda: end_turn(Repository.discover()))
        if running() is not None:
            end_turn(Repository.discover())
        assert running() is None
        mark.unlink(missing_ok=True)
        number += 1
    assert marks
    sound(repo)


def test_a_failed_record_ends_the_turn_anyway(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise FatalError("no space left", code="disk_full")

    begun()
    lock = repo.top / ".git/boocode/turn.lock"
    os.utime(lock, (1000, 1000))
    monkeypatch.setattr(turn_request, "capture_turn_end", full)
    with pytest.raises(FatalError):
        end_turn(Repository.discover())
    assert running() is None
    # Hooks see that a turn has ended.
    assert lock.stat().st_mtime > 1000


def test_a_removed_mark_is_the_end_of_a_turn_for_hooks(repo: Repo) -> None:
    begun()
    lock = repo.top / ".git/boocode/turn.lock"
    os.utime(lock, (1000, 1000))
    remove_marks(Repository.discover(), lambda _: True)
    assert running() is None
    assert lock.stat().st_mtime > 1000


def refused(act: Callable[[], object]) -> None:
    with pytest.raises(RefusedError) as caught:
        act()
    assert caught.value.code == "locked"
    assert "--force running-turn does it anyway" in caught.value.hints


def test_while_a_turn_runs_nothing_is_restored(repo: Repo) -> None:
    repo.commit(a="one\n")
    take()
    repo.write("a", "two\n")
    back("@")
    begun(message="fix")
    repo.write("a", "three\n")
    before, known = seen(repo), refs(repo)
    refused(lambda: back("@~1"))
    refused(lambda: back("@", paths=("a",)))
    refused(undone)
    assert back("@~1", dry_run=True).changed
    assert undone(dry_run=True).changed
    assert (seen(repo), refs(repo)) == (before, known)
    forced = ANYWAY | {RUNNING_TURN}
    assert undone(force=forced).changed
    assert repo.read("a") == b"two\n"
    refused(redone)
    assert redone(force=forced).changed
    assert back("@~1", force=frozenset({RUNNING_TURN})).kind == "restore"
    assert running() is not None
    end_turn(Repository.discover())
    assert undone().changed or undone().changed


def test_an_interrupted_restore_is_undone_while_a_turn_runs(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="one\n")
    take()
    for act in (undone, lambda: repo.boocode("doctor", "--fix")):
        repo.write("a", "two\n")
        interrupted(monkeypatch, lambda: back("@"))
        turn = begun(force=True)
        refused(lambda: back("@~1"))
        act()
        assert (repo.read("a"), running()) == (b"two\n", turn.turn)
        end_turn(Repository.discover())
        sound(repo)
        repo.git("update-ref", "-d", f"refs/boocode/checkpoints/{turn.turn.checkpoint}")


def test_worktrees_have_turns_of_their_own(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.git("worktree", "add", "-q", "linked")
    begun()
    there = Repository.discover(str(Path("linked").resolve()))
    assert read_turn(there) is None
    assert begin_turn(there, TurnRequest()).turn == read_turn(there)
    assert end_turn(there).recorded
    assert running() is not None
