"""A fork: the state of a turn in a worktree of its own, and nothing else changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_boocode.checkpoints import new_worktree
from git_boocode.checkpoints.capture import read_staging
from git_boocode.checkpoints.restore.commands import restore
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.repository import Repository
from git_boocode.workflows.fork import ForkRequest, ForkResult, fork
from tests.checkpoints.kit import seen, take
from tests.checkpoints.states import STATES, mutate
from tests.checkpoints.test_states import QUICK_STATES, quick_or_slow, users_refs
from tests.kill_kit import killed_at
from tests.repo_kit import Repo


def forked(name: str, top: Path, **options: object) -> ForkResult:
    """Fork a turn of the current directory's worktree."""
    return fork(Repository.discover(), name, ForkRequest(str(top), **options))  # type: ignore[arg-type]


def recorded(repo: Repo, checkpoint: Checkpoint) -> tuple[object, object, object]:
    """What a checkpoint holds, without nested repositories and what could not be captured."""
    lines = repo.git("ls-tree", "-r", "-z", checkpoint.tree).split("\0")
    skipped = checkpoint.meta.skipped_paths
    files = [
        line
        for line in lines
        if not line.startswith("160000") and line.partition("\t")[2] not in skipped
    ]
    staging = read_staging(Repository.discover(), checkpoint.meta)
    return files, staging, checkpoint.meta.part("head", "commit")


@pytest.mark.parametrize("state", quick_or_slow(STATES, QUICK_STATES & {"dirty", "unborn"}))
def test_in_every_state(state: str, repo: Repo, tmp_path: Path) -> None:
    STATES[state](repo)
    turn = take()
    before, refs = seen(repo), users_refs(repo)
    top = tmp_path / "elsewhere/fork"
    result = forked(turn.id, top)
    assert (seen(repo), users_refs(repo)) == (before, refs)
    assert result.checkpoint is not None
    assert recorded(repo, result.checkpoint) == recorded(repo, turn)
    # The bytes and modes are those that a restore writes.
    mutate(repo)
    restore(Repository.discover(), turn.id, RestoreRequest(force=frozenset({"ignored"})))
    original, made = repo.files(), Repo(top).files()
    assert {path: made.get(path) for path in made} == {path: original.get(path) for path in made}
    assert Repo(top).git("fsck", "--connectivity-only", "--no-dangling") == ""


def test_the_end_of_a_turn(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    turn = take(label="write b")
    repo.write("b", "b\n")
    now = tmp_path / "now"
    forked("@", now, after=True)
    assert (now / "b").read_text() == "b\n"
    take(label="next")
    repo.write("b", "changed\n")
    later = tmp_path / "later"
    result = forked(turn.id, later, after=True, branch="attempt")
    assert (later / "b").read_text() == "b\n"
    assert Repo(later).git("branch", "--show-current") == "attempt\n"
    assert Repo(later).git("status", "--porcelain") == "?? b\n"
    assert result.checkpoint is not None
    assert result.checkpoint.meta.values["forked_from"] == {"turn": turn.id, "worktree": "main"}


def nothing_made(repo: Repo, tmp_path: Path) -> None:
    """Nothing is left of a fork."""
    assert [path.name for path in tmp_path.iterdir() if "fork" in path.name] == []
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main\n"
    assert len(repo.git("for-each-ref", "refs/boocode/checkpoints").splitlines()) == 1
    linked = repo.top / ".git/worktrees"
    assert not linked.exists() or os.listdir(linked) == []


def test_refusals_make_nothing(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "only in the checkpoint\n")
    turn = take()
    (tmp_path / "empty").mkdir()
    blob = repo.git("rev-parse", f"{turn.tree}:b").strip()
    for arguments, code in (
        ([turn.id, str(tmp_path / "empty")], "exists"),
        ([turn.id, ".git/fork"], "outside_worktree"),
        ([turn.id, str(tmp_path / "fork"), "-b", "main"], "exists"),
        ([turn.id, str(tmp_path / "fork"), "-b", "a..b"], "invalid_input"),
        (["nothing", str(tmp_path / "fork")], "not_found"),
    ):
        done = repo.boocode("fork", *arguments, "--json")
        assert (done.code, done.json["error"]["code"]) == (1, code)
        nothing_made(repo, tmp_path)
    (repo.top / ".git/objects" / blob[:2] / blob[2:]).unlink()
    done = repo.boocode("fork", turn.id, str(tmp_path / "fork"), "--json")
    assert (done.code, done.json["error"]["code"]) == (128, "missing_objects")
    nothing_made(repo, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["mkdir", "rename", "rmdir", "unlink", "write"])
def test_nothing_is_left_of_a_killed_fork(repo: Repo, tmp_path: Path, call: str) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "untracked\n")
    turn = take()
    before = seen(repo)
    number = 1
    while killed_at(call, number, lambda: forked(turn.id, tmp_path / "fork", branch="topic")):
        assert seen(repo) == before
        if (tmp_path / "fork").exists():
            complete_at(repo, tmp_path / "fork")
            break
        repo.boocode("doctor", "--fix")
        nothing_made(repo, tmp_path)
        number += 1
    assert number > 1


def complete_at(repo: Repo, top: Path) -> None:
    """A fork that was killed in its last step is complete, once that is repaired."""
    assert repo.boocode("doctor", "--fix").code == 0
    assert repo.boocode("doctor").code == 0
    assert Repo(top).git("status", "--porcelain") == "?? b\n"
    assert f"worktree {top}\n" in repo.git("worktree", "list", "--porcelain")
    assert [path.name for path in top.parent.iterdir() if "fork" in path.name] == [top.name]


def test_a_fork_that_is_killed_in_its_last_step_is_complete(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "untracked\n")
    turn = take()
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(new_worktree, "_settle", lambda *_: os._exit(0))
        forked(turn.id, tmp_path / "fork", branch="topic")
    os.waitpid(child, 0)
    complete_at(repo, tmp_path / "fork")


def test_the_next_fork_removes_what_a_killed_one_left(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    turn = take()
    assert killed_at("rename", 3, lambda: forked(turn.id, tmp_path / "fork", branch="topic"))
    assert repo.git("worktree", "list").count("\n") == 2
    found = repo.boocode("doctor", "--json").json["findings"]
    assert [each["kind"] for each in found] == ["leftover_fork"]
    forked(turn.id, tmp_path / "fork", branch="topic")
    assert repo.git("worktree", "list").count("\n") == 2
    assert sorted(path.name for path in tmp_path.iterdir() if "fork" in path.name) == ["fork"]
    assert Repo(tmp_path / "fork").git("branch", "--show-current") == "topic\n"
