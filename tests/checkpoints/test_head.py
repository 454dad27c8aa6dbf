"""`restore --head`: the branch goes back too, if it is nobody else's, and comes back with undo."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.repo.errors import BoocodeError, RefusedError
from tests.checkpoints.kit import Host, back, interrupted, redone, refs, seen, sound, take, undone
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def ahead(repo: Repo) -> tuple[Repo, str, str, str]:
    """A checkpoint, a commit after it, and more; the checkpoint, the commits before and after."""
    old = repo.commit("old", a="1\n")
    repo.write("a", "changed\n")
    repo.write("new", "untracked\n")
    taken = take(label="base").id
    new = repo.commit("new", a="2\n", b="b\n")
    repo.write("a", "mess\n")
    return repo, taken, old, new


def head(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD", check=False).strip()


def refused(code: str, act: Callable[[], object]) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        act()
    assert caught.value.code == code
    assert caught.value.hints
    return caught.value


def test_undo_and_redo_move_the_branch(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, new = ahead
    mess = seen(repo)
    assert back(taken, head=True, dry_run=True).head_moved
    assert head(repo) == new
    outcome = back(taken, head=True)
    there = seen(repo)
    assert (outcome.head_moved, outcome.head_differs) == (True, False)
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert head(repo) == old
    assert repo.git("status", "--short") == " M a\n?? new\n"
    # The old tip is kept below refs/boocode.
    assert outcome.undo is not None
    assert repo.git("rev-parse", f"refs/boocode/safety/{outcome.undo}^1").strip() == new
    for name in ("HEAD", "main"):
        said = repo.git("reflog", "-1", "--format=%H %gs", name).strip()
        assert said == f"{old} boocode restore: moving to {taken}"
    assert undone().head_moved
    assert (head(repo), seen(repo)) == (new, mess)
    assert redone().head_moved
    assert (head(repo), seen(repo)) == (old, there)
    undone()
    assert (head(repo), seen(repo)) == (new, mess)
    sound(repo)


def test_without_head_it_does_not_move(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, _, new = ahead
    outcome = back(taken)
    assert (outcome.head_moved, outcome.head_differs, head(repo)) == (False, True, new)
    undone()
    assert head(repo) == new
    # There is nothing to move.
    here = take().id
    repo.write("a", "more\n")
    assert not back(here, head=True).head_moved


def test_a_detached_head(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, new = ahead
    repo.git("checkout", "-q", "--detach")
    refused("other_branch", lambda: back(taken, head=True))
    detached = take().id
    repo.git("checkout", "-q", "-f", "--detach", old)
    back(detached, head=True)
    assert head(repo) == new
    assert repo.git("symbolic-ref", "-q", "HEAD", check=False) == ""
    assert repo.git("rev-parse", "main").strip() == new
    undone()
    assert head(repo) == old
    assert repo.git("symbolic-ref", "-q", "HEAD", check=False) == ""


def test_an_unborn_branch(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.git("add", "a")
    unborn = seen(repo)
    taken = take().id
    new = repo.commit("first")
    born = seen(repo)
    back(taken, head=True)
    assert (head(repo), seen(repo)) == ("HEAD", unborn)
    undone()
    assert (head(repo), seen(repo)) == (new, born)
    redone()
    assert seen(repo) == unborn


def test_on_another_branch(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, *_ = ahead
    repo.git("checkout", "-q", "-b", "other")
    before, refs_before = seen(repo), refs(repo)
    error = refused("other_branch", lambda: back(taken, head=True))
    assert "git switch main" in error.hints[0]
    assert (seen(repo), refs(repo)) == (before, refs_before)


def test_a_bisection_has_left_the_branch(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, new = ahead
    repo.git("checkout", "-qf", "main")
    repo.git("bisect", "start", new, old)
    repo.git("checkout", "-q", "--detach")
    # 'git switch' would refuse.
    error = refused("other_branch", lambda: back(taken, head=True))
    assert error.hints[0] == "finish or abort the bisect first"


def test_the_branch_is_checked_out_elsewhere(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, _, new = ahead
    refs_before = refs(repo)
    linked = repo.top.parent / f"{repo.top.name}-linked"
    repo.git("worktree", "add", "-q", "--force", str(linked), "main")
    error = refused("branch_in_use", lambda: back(taken, head=True))
    assert str(linked) in error.message
    # A rebase has taken HEAD off it there, and will come back to it.
    Repo(linked).git("checkout", "-q", "--detach")
    git_dir = Path(Repo(linked).git("rev-parse", "--absolute-git-dir").strip())
    (git_dir / "rebase-merge").mkdir()
    (git_dir / "rebase-merge/head-name").write_text("refs/heads/main\n")
    refused("branch_in_use", lambda: back(taken, head=True))
    (git_dir / "rebase-merge/head-name").unlink()
    (git_dir / "BISECT_START").write_text("main\n")
    refused("branch_in_use", lambda: back(taken, head=True))
    assert (head(repo), refs(repo)) == (new, refs_before)
    (git_dir / "BISECT_START").unlink()
    assert back(taken, head=True).head_moved


def test_from_a_linked_worktree(
    ahead: tuple[Repo, str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, _, old, new = ahead
    repo.git("worktree", "add", "-q", "-b", "agent", "linked", old)
    linked = Repo(repo.top / "linked")
    monkeypatch.chdir(linked.top)
    taken = take().id
    later = linked.commit("later", a="l\n")
    back(taken, head=True)
    assert (head(linked), head(repo)) == (old, new)
    undone()
    assert (head(linked), head(repo)) == (later, new)


def test_in_the_middle_of_a_merge(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, _ = ahead
    repo.git("stash")
    repo.git("checkout", "-q", "-b", "theirs", old)
    repo.commit("theirs", a="3\n")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "theirs", check=False)
    before, refs_before = seen(repo), refs(repo)
    refused("in_progress", lambda: back(taken, head=True))
    assert (seen(repo), refs(repo)) == (before, refs_before)


def test_the_branch_was_moved_after_the_restore(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, *_ = ahead
    mess = repo.files()
    back(taken, head=True)
    mine = repo.commit("mine")
    refused("head_moved", undone)
    assert head(repo) == mine
    outcome = undone(head=False)
    assert (outcome.head_moved, outcome.head_differs) == (False, True)
    assert (head(repo), repo.files()) == (mine, mess)


@pytest.mark.parametrize("event", ["trim", "prepare"])
def test_it_is_rolled_back(ahead: tuple[Repo, str, str, str], event: str) -> None:
    repo, taken, _, new = ahead
    before, refs_before = seen(repo), refs(repo)
    host = Host(repo, **{event: "git rev-parse HEAD > .git/seen; exit 1"})
    with pytest.raises(BoocodeError):
        back(taken, head=True, callback=host.path)
    assert (seen(repo), refs(repo), head(repo)) == (before, refs_before, new)
    sound(repo)


def test_head_is_moved_before_the_callback_runs(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, _ = ahead
    host = Host(repo, trim="git rev-parse HEAD > .git/seen; echo '{}'")
    back(taken, head=True, callback=host.path)
    assert repo.read(".git/seen").decode().strip() == old


def test_another_process_commits_meanwhile(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, *_ = ahead
    before = seen(repo)
    commit = "git commit -q --allow-empty -m theirs && git rev-parse HEAD > .git/theirs"
    host = Host(repo, prepare=f"{commit}; echo '{{}}'")
    refused("conflict", lambda: back(taken, head=True, callback=host.path))
    assert (head(repo), seen(repo).files) == (
        repo.read(".git/theirs").decode().strip(),
        before.files,
    )
    assert host.events == ["prepare", "rollback"]
    # They commit when it has been moved, and a later step fails: theirs stays, and it is said.
    host = Host(repo, trim=f"{commit}; exit 1")
    with pytest.raises(BoocodeError) as caught:
        back(taken, head=True, callback=host.path)
    assert "HEAD could not be rolled back: another process moved HEAD from" in caught.value.message
    assert head(repo) == repo.read(".git/theirs").decode().strip()
    assert repo.files() == before.files


@pytest.mark.parametrize("at", ["prepare", "commit", "_archive"])
def test_interrupted(
    ahead: tuple[Repo, str, str, str], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    repo, taken, old, new = ahead
    mess = seen(repo)
    interrupted(monkeypatch, lambda: back(taken, head=True), at=at)
    assert head(repo) == (new if at == "prepare" else old)
    undone()
    assert (head(repo), seen(repo)) == (new, mess)
    redone()
    assert head(repo) == old
    undone()
    assert (head(repo), seen(repo)) == (new, mess)


def test_a_checkpoint_that_lies_about_its_head(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, new = ahead
    ref = f"refs/boocode/checkpoints/{taken}"
    message = repo.git("log", "-1", "--format=%B", ref).replace(old, new)
    commit = repo.git("commit-tree", "-p", old, f"{ref}^{{tree}}", stdin=message).strip()
    repo.git("update-ref", ref, commit)
    refused("malformed", lambda: back(taken, head=True))
    assert head(repo) == new


def test_no_reflog_where_the_user_keeps_none(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, _ = ahead
    repo.git("config", "core.logAllRefUpdates", "false")
    for log in (repo.top / ".git/logs").rglob("*"):
        if log.is_file():
            os.unlink(log)
    back(taken, head=True)
    assert head(repo) == old
    assert not (repo.top / ".git/logs/refs/heads/main").exists()


def test_the_command(ahead: tuple[Repo, str, str, str]) -> None:
    repo, taken, old, _ = ahead
    done = repo.boocode("restore", taken, "--head", "--json")
    assert (done.code, done.json["head_moved"], done.json["head_differs"]) == (0, True, False)
    assert head(repo) == old
    said = repo.boocode("undo", "--no-head")
    assert said.code == 0
    assert "HEAD is not where it was at the checkpoint" in said.err
    assert head(repo) == old
