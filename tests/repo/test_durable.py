"""What has been written is on disk when a command says so, whatever git does about it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.repo import durable
from git_boocode.repo.head import HeadMove
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange, Store
from tests.repo_kit import Repo

Synced = Callable[[Callable[[], object]], set[str]]


@pytest.fixture
def synced(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Synced:
    """What is synced while something is done, below the git directory."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("there is no /proc to look up what a descriptor stands for")
    top = str(repo.top / ".git")

    def record(act: Callable[[], object]) -> set[str]:
        found: set[str] = set()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda fd: found.add(os.readlink(f"/proc/self/fd/{fd}")))
            act()
        return {os.path.relpath(path, top) for path in found}

    return record


@pytest.mark.ref_files
def test_refs_are_synced(repo: Repo, synced: Synced) -> None:
    commit = repo.commit()
    store = Store(Repository.discover())
    name = "refs/boocode/x/y/z"
    assert synced(lambda: store.update_refs([RefChange(name, commit, None)])) == {
        name, "refs/boocode/x/y", "refs/boocode/x", "refs/boocode", "refs", "."
    }  # fmt: skip
    repo.git("pack-refs", "--all")
    gone = synced(lambda: store.update_refs([RefChange(name, None, commit)]))
    assert gone >= {"packed-refs", "."}


@pytest.mark.ref_files
def test_a_move_of_head_is_synced(repo: Repo, synced: Synced) -> None:
    first, second = repo.commit(), repo.commit()
    repository = Repository.discover()
    move = HeadMove("refs/heads/main", second, first)
    assert synced(lambda: move.carry_out(repository, "x")) >= {"refs/heads/main", "refs/heads"}
    repo.git("checkout", "-q", "--detach")
    move = HeadMove(None, first, second)
    assert synced(lambda: move.carry_out(repository, "x")) == {"HEAD", "."}


@pytest.mark.ref_files
def test_a_checkpoint_and_an_edit_are_synced(repo: Repo, synced: Synced) -> None:
    from tests.checkpoints.kit import take
    from tests.editing.kit import apply

    repo.commit(a="a\n")
    done = synced(take)
    assert any(name.startswith("refs/boocode/checkpoints/") for name in done)
    done = synced(lambda: apply({"path": "a", "content": "b\n"}))
    assert any(name.startswith("refs/boocode/edits/") for name in done)


@pytest.mark.ref_files
def test_objects_are_on_disk_before_a_ref_names_them(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.checkpoints.kit import take

    repo.commit(a="a\n")
    repo.write("a", "b\n")
    objects, checkpoints = repo.top / ".git/objects", repo.top / ".git/refs/boocode/checkpoints"
    early = []

    def watch(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_relative_to(objects):
            # As long as it may take, no ref comes before it is done.
            time.sleep(0.05)
            early.append(not checkpoints.exists())

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", watch)
        take()
    assert early
    assert all(early)
    assert len(list(checkpoints.iterdir())) == 1


@pytest.mark.parametrize("supported", [True, False])
def test_on_macos_the_cache_of_the_drive_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supported: bool
) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    calls: list[object] = []

    def fcntl(_: int, command: object) -> None:
        calls.append(command)
        if not supported:
            raise OSError(errno.ENOTSUP, "not supported")

    module = pytest.importorskip("fcntl")
    monkeypatch.setattr(module, "F_FULLFSYNC", "full", raising=False)
    monkeypatch.setattr(module, "fcntl", fcntl)
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("fsync"))
    durable.sync_path(str(path))
    assert calls == (["full"] if supported else ["full", "fsync"])
