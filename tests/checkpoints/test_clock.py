"""Order does not depend on the clock, which may be set back: by NTP, or while a machine sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from git_boocode.checkpoints.restore.commands import undo
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, redone, take, undone
from tests.repo_kit import Repo

HOUR = 3600

SetClock = Callable[[int], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the clock of this process to some seconds after the real one."""
    seconds, nanoseconds = time.time, time.time_ns

    def set_to(ahead: int) -> None:
        monkeypatch.setattr(time, "time", lambda: seconds() + ahead)
        monkeypatch.setattr(time, "time_ns", lambda: nanoseconds() + ahead * 10**9)

    return set_to


def test_the_newest_checkpoint_is_the_last_one(repo: Repo, set_clock: SetClock) -> None:
    repo.commit(a="0\n")
    taken = []
    for number, ahead in enumerate((2, 0, -50, 1)):
        set_clock(ahead * HOUR)
        repo.write("a", "x" * number)
        taken.append(take(label=str(number)).id)
    assert taken == sorted(taken)
    log = repo.boocode("log", "--json").json["checkpoints"]
    assert [row["label"] for row in log] == ["3", "2", "1", "0"]
    assert log[1]["created_at"] < log[3]["created_at"]
    repo.write("a", "later")
    back("@~2")
    assert repo.read("a") == b"x"


def test_undo_and_redo_follow_what_happened(repo: Repo, set_clock: SetClock) -> None:
    repo.commit(a="0\n")
    set_clock(2 * HOUR)
    first = take().id
    repo.write("a", "one")
    back(first)
    undone()
    set_clock(0)
    repo.write("a", "three")
    back(first)
    undone()
    assert repo.read("a") == b"three"
    redone()
    assert repo.read("a") == b"0\n"
    repo.write("a", "fifteen")
    take()
    with pytest.raises(RefusedError) as caught:
        undo(Repository.discover(), RestoreRequest())
    assert caught.value.code == "newer_turns"


def test_the_ids_of_earlier_versions_count(repo: Repo, set_clock: SetClock) -> None:
    set_clock(HOUR)
    first = take().id
    newest = repo.top / ".git/boocode/newest-id"
    newest.unlink()
    set_clock(0)
    second = take().id
    newest.write_text("nonsense")
    assert first < second < take().id


def test_ids_of_parallel_commands_differ_and_grow(repo: Repo, set_clock: SetClock) -> None:
    set_clock(HOUR)
    before = take().id
    set_clock(0)
    stores = [Repository.discover().store for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda store: [store.new_id() for _ in range(50)], stores))
    assert all(ids == sorted(ids) and ids[0] > before for ids in made)
    assert len({identifier[:19] for ids in made for identifier in ids}) == 400
