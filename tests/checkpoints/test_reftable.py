"""What differs where git keeps refs in reftables, which git 2.45 and newer can."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from git_boocode.checkpoints.checkup import check_files
from git_boocode.repo import lock
from git_boocode.repo.head import operation_in_progress, read_head
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, interrupted, refs, seen, take, undone
from tests.repo_kit import Repo


@pytest.fixture
def tables(tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A repository that keeps its refs in a reftable; the test runs inside it."""
    top = tmp_path / "tables"
    made = subprocess.run(
        ["git", "init", "-q", "--ref-format=reftable", top], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip("this git knows no reftable")
    monkeypatch.chdir(top)
    return Repo(top)


def test_checkpoints_and_restores(tables: Repo) -> None:
    tables.commit(a="one\n")
    first = take()
    there = seen(tables)
    tables.commit(a="two\n", b="b\n")
    mess = seen(tables)
    back(first.id, head=True)
    assert seen(tables) == there
    assert read_head(Repository.discover()).ref == "refs/heads/main"
    undone()
    assert seen(tables) == mess
    for command in ("log", "prune --all --keep 1", "doctor", "checkpoint --if-changed"):
        assert tables.boocode(*command.split()).code == 0, command


def test_a_killed_restore_of_head_is_undone(tables: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "REF_PATIENCE", 0.3)
    tables.commit(a="one\n")
    first = take()
    tables.commit(a="two\n")
    mess = seen(tables)
    interrupted(monkeypatch, lambda: back(first.id, head=True))
    left = [tables.write(f".git/reftable/{name}.lock") for name in ("tables.list", "some.ref")]
    undone()
    assert seen(tables) == mess
    assert [path.exists() for path in left] == [False, False]


@pytest.mark.parametrize("state", ["cherry-pick", "revert", "merge"])
@pytest.mark.parametrize("linked", [False, True])
def test_an_unfinished_operation_is_recorded(tables: Repo, state: str, linked: bool) -> None:
    tables.commit(a="one\n")
    tables.git("checkout", "-q", "-b", "other")
    tables.commit(a="other\n")
    tables.git("checkout", "-q", "main")
    tables.commit(a="two\n")
    tables.commit(a="three\n")
    if linked:
        tables.git("worktree", "add", "-q", "../linked", "-b", "linked")
    repo = Repo(tables.top.parent / "linked") if linked else tables
    repo.git(state, "main~1" if state == "revert" else "other", check=False)
    repository = Repository.discover(str(repo.top))
    assert operation_in_progress(repository) == state
    taken = repo.boocode("checkpoint").out.strip()
    answer = repo.boocode("show", taken, "--json")
    assert answer.code == 0
    message = repo.git("log", "-1", "--format=%b", f"refs/boocode/checkpoints/{taken}")
    assert json.loads(message)["state"] == state
    repo.git(state, "--abort")
    assert operation_in_progress(repository) is None


def test_parallel_worktrees(tables: Repo) -> None:
    tables.commit(a="a\n")
    places = [tables]
    for number in range(3):
        tables.git("worktree", "add", "-q", "--detach", f"../w{number}")
        places.append(Repo(tables.top.parent / f"w{number}"))

    def work(repo: Repo) -> list[tuple[int, str]]:
        said = []
        for number in range(5):
            repo.write("new", f"{number}\n")
            done = repo.boocode("checkpoint")
            said.append((done.code, done.err))
            given = json.dumps({"path": "a", "content": f"{number}\n"})
            done = repo.boocode("apply-edit", stdin=given)
            said.append((done.code, done.err))
        return said

    with ThreadPoolExecutor(len(places)) as pool:
        assert {each for said in pool.map(work, places) for each in said} == {(0, "")}
    assert len(refs(tables, "checkpoints")) == len(refs(tables, "edits")) == 20
    assert tables.git("fsck", "--no-dangling") == ""


def test_a_lock_that_is_not_released(tables: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.commit(a="a\n")
    lock = tables.write(".git/reftable/tables.list.lock")
    done = tables.boocode("checkpoint", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "locked")
    assert "doctor" in done.json["error"]["hint"]
    os.utime(lock, (1, 1))
    [finding] = check_files(Repository.discover(), fix=True)
    assert (finding.kind, finding.paths, finding.fixed) == ("leftover_lock", (str(lock),), False)
    assert lock.exists()
    lock.unlink()
    assert tables.boocode("checkpoint").code == 0
