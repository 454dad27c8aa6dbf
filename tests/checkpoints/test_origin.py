"""A checkpoint from elsewhere starts no callback and names no file, whichever way it came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.errors import RefusedError
from tests.checkpoints.kit import Host, back, redone, refs, take, undone
from tests.hostile.test_metadata import rewrite
from tests.repo_kit import Repo

FOREIGN = frozenset({"other-repository"})


@pytest.fixture
def taken(repo: Repo) -> Checkpoint:
    """A checkpoint of a conversation, in the repository that is cloned."""
    repo.commit(a="a\n")
    return take(agent="codex", chat="c", message="m", anchor={"path": "/etc/t.jsonl", "offset": 0})


def fetched(repo: Repo, top: Path) -> None:
    repo.git("clone", "-q", str(repo.top), str(top))
    Repo(top).boocode("fetch")


def mirrored(repo: Repo, top: Path) -> None:
    below = "+refs/boocode/*:refs/boocode/*"
    repo.git("clone", "-q", "-c", f"remote.origin.fetch={below}", str(repo.top), str(top))


@pytest.mark.parametrize("way", [fetched, mirrored])
@pytest.mark.variants
def test_it_starts_no_callback(
    repo: Repo, taken: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: object
) -> None:
    assert callable(way)
    way(repo, tmp_path / "clone")
    clone = Repo(tmp_path / "clone")
    monkeypatch.chdir(clone.top)
    take()  # so that the clone has a key of its own
    host = Host(clone)
    clone.git("config", "boocode.callback", host.path)
    clone.write("a", "changed\n")
    refs_before = refs(clone)
    for options in ({"callback": host.path}, {"files": False}):
        with pytest.raises(RefusedError, match="nothing proves that it was taken") as caught:
            back(taken.id, force=FOREIGN, **options)
        assert caught.value.code == "untrusted"
    assert (clone.read("a"), refs(clone)) == (b"changed\n", refs_before)
    restored = back(taken.id, force=FOREIGN)
    assert (restored.foreign, clone.read("a")) == (True, b"a\n")
    ref = f"refs/boocode/safety/{restored.undo}"
    safety = json.loads(clone.git("log", "-1", "--format=%b", ref))
    assert [safety[key] for key in ("chat", "message", "agent", "anchor")] == [None] * 4
    undone()
    redone()
    undone()
    back(str(restored.undo))
    assert host.received == []
    done = clone.boocode("restore", "--force", "other-repository", taken.id)
    assert "hint: the conversation was left alone: nothing proves that" in done.err
    assert "/etc/t.jsonl" not in done.err


@pytest.mark.parametrize("change", [{"message": "x"}, {"anchor": {"path": "/etc/x.jsonl"}}, None])
def test_another_checkpoint_does_not_pass_for_one_of_this_repository(
    repo: Repo, taken: Checkpoint, change: dict[str, object] | None
) -> None:
    host = Host(repo)
    other = f"{taken.id[:-4]}0000"
    rewrite(repo, taken, change or {}, "" if change else other)
    restored = back(taken.id if change else other, callback=None)
    assert restored.foreign
    with pytest.raises(RefusedError, match="nothing proves that it was taken"):
        back(taken.id if change else other, callback=host.path)
    assert host.received == []


def test_all_worktrees_of_a_repository_share_the_proof(
    repo: Repo, taken: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    monkeypatch.chdir(tmp_path / "linked")
    assert not back(taken.id, force=frozenset({"other-worktree"})).foreign
