"""A worktree keeps its checkpoints and edits wherever it goes; another one never inherits them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.kit import refs
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def linked(repo: Repo) -> Repo:
    """A linked worktree with a checkpoint, a restore to undo, and an edit to rewind."""
    repo.commit(a="a\n")
    return used(add(repo))


def add(repo: Repo, name: str = "linked", *options: str) -> Repo:
    repo.git("worktree", "add", "-q", "--detach", *options, f"../{repo.top.name}-{name}/{name}")
    return Repo(repo.top.parent / f"{repo.top.name}-{name}" / name)


def used(linked: Repo) -> Repo:
    taken = linked.boocode("checkpoint", "-m", "first").out.strip()
    given = json.dumps({"path": "a", "content": "edited\n"})
    assert linked.boocode("apply-edit", stdin=given).code == 0
    linked.write("a", "changed\n")
    assert linked.boocode("restore", taken).code == 0
    return linked


def log(repo: Repo, *options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = repo.boocode("log", "--json", *options).json["checkpoints"]
    return rows


def inherits_nothing(linked: Repo) -> None:
    before = linked.files()
    assert log(linked) == []
    assert linked.boocode("log", "--edits", "--json").json["edits"] == []
    for command in ("undo", "redo", "rewind", "restore @", "show @"):
        done = linked.boocode(*command.split(), "--json")
        assert (done.code, done.json["error"]["code"]) == (1, "not_found"), command
    assert linked.files() == before


@pytest.mark.parametrize("how", ["remove", "prune", "force"])
def test_a_new_worktree_inherits_nothing(repo: Repo, linked: Repo, how: str) -> None:
    [old] = log(linked)
    if how == "remove":
        repo.git("worktree", "remove", "--force", str(linked.top))
    else:
        shutil.rmtree(linked.top)
    if how == "prune":
        repo.git("worktree", "prune")
    again = add(repo, "linked", *(["-f"] if how == "force" else []))
    assert again.top == linked.top
    inherits_nothing(again)
    # They are still there for whoever asks for them.
    assert [row["id"] for row in log(again, "--all")] == [old["id"]]
    done = again.boocode("restore", old["id"], "--json")
    assert done.json["error"]["code"] == "other_worktree"
    assert "no longer exists" in done.json["error"]["hint"]
    assert again.boocode("prune", "--keep", "1", "--older-than", "now").code == 0
    assert len(refs(repo, "checkpoints")) == 1
    used(again)
    assert [row["label"] for row in log(again)] == ["first"]
    assert again.boocode("undo").code == 0
    assert len(again.boocode("log", "--edits", "--json").json["edits"]) == 1


def test_a_moved_worktree_keeps_its_checkpoints(repo: Repo, linked: Repo) -> None:
    there = log(linked)
    target = linked.top.parent / "elsewhere"
    repo.git("worktree", "move", str(linked.top), str(target))
    moved = Repo(target)
    assert log(moved) == there
    assert moved.boocode("undo").code == 0
    assert moved.read("a") == b"changed\n"


def test_read_only_commands_leave_nothing_behind(repo: Repo) -> None:
    repo.commit(a="a\n")
    linked = add(repo)
    assert log(linked) == []
    assert not Path(repo.top, ".git/worktrees/linked/boocode").exists()


@pytest.mark.parametrize("damage", ["garbage", "empty", "directory"])
def test_doctor_restores_a_damaged_id(linked: Repo, repo: Repo, damage: str) -> None:
    there = log(linked)
    path = repo.top / ".git/worktrees/linked/boocode/worktree-id"
    path.unlink()
    if damage == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"\0\xff garbage" if damage == "garbage" else b"")
    [problem] = linked.boocode("doctor", "--json").json["findings"]
    assert (problem["kind"], problem["paths"]) == ("unusable_files", [str(path)])
    assert linked.boocode("doctor", "--fix").code == 0
    assert log(linked) == there
    assert linked.boocode("undo", "--force", "newer-turns").code == 0
    assert linked.boocode("doctor").out == "no problems found\n"
