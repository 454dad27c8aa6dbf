"""Dropping checkpoints, and what must not be dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.store.retention import PATIENCE, Dropped, drop
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, SAFETY
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, refs, seen, sound, take, undone
from tests.checkpoints.test_catalog import forge
from tests.repo_kit import Repo


def dropped(*names: str, **options: bool) -> list[Dropped]:
    """Drop checkpoints."""
    return drop(Repository.discover(), names, **options)


def refusal(*names: str) -> RefusedError:
    """The error of names that must not be dropped."""
    with pytest.raises(RefusedError) as caught:
        dropped(*names)
    return caught.value


def test_by_every_kind_of_name(repo: Repo) -> None:
    repo.commit(a="a\n")
    taken = [take(label=f"l{n}", message=f"m{n}") for n in range(6)]
    stays = taken.pop(4)
    names = (taken[0].id, taken[1].commit.id[:12], "message:m2", "label:l3", "@")
    done = dropped(*names, dry_run=True)
    assert [each.id for each in done] == [entry.id for entry in taken]
    assert len(refs(repo, "checkpoints")) == 6
    assert dropped(*names) == done
    assert refs(repo, "checkpoints") == [f"{stays.ref} {stays.commit.id}"]
    assert done[0] == Dropped(taken[0].id, taken[0].commit.id, [taken[0].ref])
    # As the answer says, it comes back.
    repo.git("update-ref", done[0].refs[0], done[0].commit)
    assert back(taken[0].id).checkpoint.id == taken[0].id


def test_all_or_none(repo: Repo) -> None:
    first, second = take(), take()
    before = refs(repo, "checkpoints")
    assert refusal(first.id, "label:nothing", second.id).code == "not_found"
    assert refs(repo, "checkpoints") == before
    # The same one under two names is dropped once.
    assert [each.id for each in dropped("@", second.id)] == [second.id]


def test_an_unusable_checkpoint(repo: Repo) -> None:
    repo.commit()
    sound_one = take()
    name = sound_one.id[:-4] + ("0000" if not sound_one.id.endswith("0000") else "1111")
    commit = forge(repo, name, "nonsense")
    assert refusal(commit).code == "malformed"
    assert dropped(name.upper()) == [Dropped(name, commit, [f"{CHECKPOINTS}{name}"])]
    assert len(refs(repo, "checkpoints")) == 1


def test_an_archived_checkpoint_that_is_also_in_the_log(repo: Repo) -> None:
    taken = take()
    archived = f"{ARCHIVE}{taken.id[:-1]}/{taken.id}"
    repo.git("update-ref", archived, taken.commit.id)
    # One of the same id with another content is another one.
    other = forge(repo, "x", "nonsense")
    repo.git("update-ref", f"{ARCHIVE}x/{taken.id}", other)
    [done] = dropped(taken.id)
    assert sorted(done.refs) == [archived, taken.ref]
    assert f"{ARCHIVE}x/{taken.id} {other}" in refs(repo, "archive")


def test_the_next_capture_is_not_affected(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("new", "n\n")
    taken = take()
    dropped("@")
    repo.git("gc", "-q", "--prune=now")
    done = capture(Repository.discover(), Request(only_if_changed=True))
    assert (done.changed, done.checkpoint.tree) == (True, taken.tree)
    assert done.checkpoint.id != taken.id
    sound(repo)


def test_checkpoints_that_undo_needs_are_kept(repo: Repo) -> None:
    repo.commit(a="one\n")
    first = take()
    repo.write("a", "two\n")
    before = seen(repo)
    unneeded = take()
    undo_id = back(first.id).undo
    assert undo_id is not None
    for name in (first.id, undo_id):
        error = refusal(unneeded.id, name)
        assert (error.code, error.exit_code) == ("needed", 1)
        assert name in error.message
        assert [row["id"] for row in error.details["needed"]] == [name]  # type: ignore[attr-defined]
    assert "(and 1 more)" in refusal(first.id, undo_id).message
    dropped(unneeded.id)
    undone()
    assert seen(repo) == before
    # What has been undone can be redone.
    assert refusal(undo_id).code == "needed"
    dropped(first.id, undo_id, even_needed=True)
    assert refs(repo, "checkpoints") == []


def test_an_undo_is_not_forgotten_without_what_it_undid(repo: Repo) -> None:
    repo.write("a", "one\n")
    first = take()
    repo.write("a", "two\n")
    restored = str(back(first.id).undo)
    undo = str(undone().undo)
    again = str(back(first.id).undo)
    # Undo and redo do not go by them any more; but without the undo, the restore would be open.
    assert f"without it, undo and redo would find {restored}" in refusal(undo).message
    dropped(restored, undo)
    assert [each.id for each in dropped(again, even_needed=True)] == [again]


def test_checkpoints_of_interrupted_restores_in_all_worktrees_are_kept(
    repo: Repo, tmp_path: Path
) -> None:
    repo.commit(a="one\n")
    there = tmp_path / "other"
    repo.git("worktree", "add", "-q", "--detach", str(there))
    target = take()
    repo.write("a", "two\n")
    safety = back(target.id).undo
    # Nothing is left of it for `undo` here; but it is noted there.
    repo.git("update-ref", "-d", f"{SAFETY}{undone().undo}")
    state = Path(Repository.discover(str(there)).state_dir)
    state.mkdir()
    (state / "restore-in-progress").write_text(json.dumps({"safety": safety}))
    assert "interrupted restore" in refusal(target.id).message
    assert "interrupted restore" in refusal(str(safety)).message


def test_refused_during_a_restore(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("git_boocode.checkpoints.store.retention.PATIENCE", PATIENCE / 100)
    take()
    with worktree_lock(Repository.discover().state_dir, shared=False, patience=0):
        assert refusal("@").code == "locked"
    assert len(dropped("@")) == 1
