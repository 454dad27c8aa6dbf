from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from git_boocode.repo import lock
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.lock import scratch_directory, worktree_lock
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


def child(code: str, state: Path) -> subprocess.Popen[str]:
    """Run code in another process until it prints a line; it ends when its input does."""
    program = (
        "import os, sys\n"
        "from git_boocode.repo.lock import scratch_directory, worktree_lock\n"
        f"with {code}:\n    print('here', flush=True)\n    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def end(process: subprocess.Popen[str], *, kill: bool = False) -> None:
    """Let a child end, or kill it."""
    if kill:
        process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_ref_lock_of_the_future_is_waited_for_only_once(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "REF_PATIENCE", 0.01)
    path = repo.write(".git/refs/x.lock", "")
    os.utime(path, (4e9, 4e9))
    lock.break_locks_of(Repository.discover(), ["refs/x"])
    assert not path.exists()


SCRATCH = "scratch_directory(sys.argv[1])"
SHARED = "worktree_lock(sys.argv[1], shared=True, patience=0)"
EXCLUSIVE = "worktree_lock(sys.argv[1], shared=False, patience=0)"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "git/boocode"


def test_a_directory_that_is_made_and_removed(state: Path) -> None:
    with scratch_directory(str(state)) as path:
        assert Path(path).parent == state
        assert Path(path).stat().st_mode & 0o777 == 0o700
        Path(path, "deep/er").mkdir(parents=True)
        with scratch_directory(str(state)) as other:
            assert other != path
        assert Path(path, "deep").exists()
    assert list(state.iterdir()) == []


def test_what_a_killed_process_left_is_swept(state: Path) -> None:
    end(child(SCRATCH, state), kill=True)
    (left,) = state.iterdir()
    with scratch_directory(str(state)):
        assert not left.exists()


def test_what_is_in_use_is_left_alone(state: Path) -> None:
    process = child(SCRATCH, state)
    (live,) = state.iterdir()
    with scratch_directory(str(state)):
        assert live.exists()
    end(process)
    assert list(state.iterdir()) == []


def test_a_half_made_directory_goes_once_it_is_old(state: Path) -> None:
    for name in ("new-tmp-1-old", "new-tmp-1-young"):
        (state / name).mkdir(parents=True)
    os.utime(state / "new-tmp-1-old", (0, 0))
    with scratch_directory(str(state)):
        pass
    assert [path.name for path in state.iterdir()] == ["new-tmp-1-young"]


def test_the_lock_of_an_index_that_a_killed_process_installed_is_broken(state: Path) -> None:
    end(child(SCRATCH, state), kill=True)
    (left,) = state.iterdir()
    (left / "staged").write_bytes(b"index")
    (state.parent / "index.lock").hardlink_to(left / "staged")
    with scratch_directory(str(state)):
        assert not (state.parent / "index.lock").exists()


def test_a_foreign_lock_of_the_index_is_left_alone(state: Path) -> None:
    end(child(SCRATCH, state), kill=True)
    (left,) = state.iterdir()
    (left / "staged").write_bytes(b"index")
    (state.parent / "index.lock").write_bytes(b"index")
    with scratch_directory(str(state)):
        assert (state.parent / "index.lock").exists()


def test_the_lock_of_a_live_process_is_left_alone(state: Path) -> None:
    process = child(SCRATCH, state)
    (live,) = state.iterdir()
    (live / "staged").write_bytes(b"index")
    (state.parent / "index.lock").hardlink_to(live / "staged")
    with scratch_directory(str(state)):
        assert (state.parent / "index.lock").exists()
    end(process)


@pytest.mark.parametrize(
    ("held", "shared", "free"),
    [(SHARED, True, True), (SHARED, False, False), (EXCLUSIVE, True, False),
     (EXCLUSIVE, False, False)],
)  # fmt: skip
def test_who_may_hold_the_lock_beside_whom(
    state: Path, held: str, shared: bool, free: bool
) -> None:
    process = child(held, state)
    lock = worktree_lock(str(state), shared=shared, patience=0)
    if free:
        with lock:
            pass
    else:
        with pytest.raises(RefusedError) as caught, lock:
            pass
        assert (caught.value.code, caught.value.exit_code) == ("locked", 1)
    end(process)


@pytest.mark.parametrize("kill", [True, False])
def test_the_lock_dies_with_its_process(state: Path, kill: bool) -> None:
    end(child(EXCLUSIVE, state), kill=kill)
    with worktree_lock(str(state), shared=False, patience=0):
        pass


def test_a_patient_one_gets_the_lock_in_the_end(state: Path) -> None:
    process = child(EXCLUSIVE, state)
    waiting = child_waiting(state)
    end(process)
    out, _ = waiting.communicate()
    assert out == "got it\n"


def child_waiting(state: Path) -> subprocess.Popen[str]:
    """A process that waits for the lock and says when it has it."""
    program = (
        "import sys\nfrom git_boocode.repo.lock import worktree_lock\n"
        "with worktree_lock(sys.argv[1], shared=False, patience=60):\n    print('got it')\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, str(state)], stdout=subprocess.PIPE, text=True
    )
