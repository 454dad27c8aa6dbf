"""What the checkpoints of git hooks hold, in git operations as they are."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.git_hooks import EVENTS, run_git_hook
from git_boocode.repo.errors import UsageError
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from tests.agents.hooks_kit import LOG, install, reads_only_files
from tests.checkpoints.kit import sound
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def hooked(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repo:
    """A repository with two branches, and with all our git hooks."""
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    repo.commit("first", a="a\n", b="b\n")
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("topic 1", **{"topic/1": "1\n"})
    repo.commit("topic 2", **{"topic/2": "2\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("second", c="c\n")
    install()
    return repo


def taken(repo: Repo) -> list[dict[str, Any]]:
    """The metadata of all checkpoints, oldest first."""
    form = "--format=%(contents:body)%00"
    bodies = repo.git("for-each-ref", form, "refs/boocode/checkpoints").split("\0")
    return [json.loads(body) for body in bodies if body.strip()]


def told(repo: Repo) -> list[tuple[str, str]]:
    """The events and labels of all checkpoints, oldest first."""
    return [(meta["trigger"], meta["label"]) for meta in taken(repo)]


def files(repo: Repo, meta: dict[str, Any]) -> list[str]:
    """The paths of all files in a checkpoint."""
    ref = f"refs/boocode/checkpoints/{meta['id']}"
    return repo.git("ls-tree", "-r", "--name-only", ref).split()


def says_nothing(repo: Repo, *arguments: str, cwd: Path | None = None) -> None:
    """Run git, which must succeed and say nothing."""
    done = subprocess.run(["git", *arguments], cwd=cwd or repo.top, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("how", ["plain", "file", "amend", "--no-verify"])
def test_a_commit(hooked: Repo, how: str) -> None:
    """Whatever index git works with inside the hook, the user's own is what is recorded."""
    hooked.write("a", "staged\n")
    hooked.git("add", "a")
    hooked.write("a", "changed again\n")
    hooked.write("b", "changed\n")
    hooked.write("new", "untracked\n")
    staged, head = hooked.git("write-tree").strip(), hooked.git("rev-parse", "HEAD").strip()
    options = {"plain": [], "file": ["b"], "amend": ["--amend"]}.get(how, [how])
    says_nothing(hooked, "commit", "-q", "-m", "x", *options)
    if how == "--no-verify":
        assert taken(hooked) == []
        return
    before, *after = taken(hooked)
    assert (before["trigger"], before["label"]) == ("pre-commit", "before a commit")
    assert before["index"]["tree"] == staged
    assert before["head"] == {"ref": "refs/heads/main", "commit": head}
    assert files(hooked, before) == ["a", "b", "c", "new"]
    content = hooked.git("show", f"refs/boocode/checkpoints/{before['id']}:a")
    assert content == "changed again\n"
    expected = {"plain": ["a"], "file": ["b"], "amend": ["a", "c"]}
    committed = hooked.git("diff-tree", "-r", "--no-commit-id", "--name-only", "HEAD").split()
    assert committed == expected[how]
    labels = [(meta["trigger"], meta["label"]) for meta in after]
    assert labels == ([("post-rewrite", "after an amend")] if how == "amend" else [])
    if how == "file":
        assert hooked.git("diff", "--cached", "--name-only") == "a\n"
    sound(hooked)


def test_nothing_new_is_recorded_once(hooked: Repo) -> None:
    hooked.write("a", "changed\n")
    for _ in range(2):
        assert hooked.git("commit", "-q", "-a", "-m", "", check=False) == ""
    assert len(taken(hooked)) == 1


def test_merges(hooked: Repo) -> None:
    hooked.git("merge", "-q", "--no-ff", "-m", "m", "topic")
    hooked.git("checkout", "-q", "topic")
    hooked.git("merge", "-q", "main")
    hooked.git("merge", "-q", "--squash", "main~1")
    assert told(hooked) == [
        ("pre-merge-commit", "before a merge commit"),
        ("post-merge", "after a merge"),
        ("post-checkout", "after switching to topic"),
        ("post-merge", "after a merge"),
    ]
    sound(hooked)


def test_a_rebase(hooked: Repo) -> None:
    hooked.git("symbolic-ref", "HEAD", "refs/heads/topic")
    hooked.git("reset", "-q", "--hard")
    hooked.git("rebase", "-q", "main")
    main = hooked.git("rev-parse", "main").strip()
    assert told(hooked) == [
        ("pre-rebase", "before a rebase against main"),
        ("post-checkout", f"after switching to {main[:10]} during a rebase"),
        ("post-rewrite", "after a rebase"),
    ]
    subjects = hooked.git("log", "--format=%s").split("\n")
    assert subjects == ["topic 2", "topic 1", "second", "first", ""]
    sound(hooked)


def test_a_rebase_that_stops(hooked: Repo) -> None:
    hooked.git("checkout", "-q", "topic")
    hooked.commit("topic 3", c="other\n")
    hooked.git("rebase", "-q", "--onto", "main", "main~1", check=False)
    hooked.write("c", "both\n")
    hooked.git("add", "c")
    hooked.git("commit", "-q", "-m", "both")
    hooked.git("rebase", "--continue")
    labels = [label for _, label in told(hooked)]
    assert "before a rebase against main~1" in labels
    assert labels[-2:] == ["before a commit during a rebase", "after a rebase"]
    sound(hooked)


def test_switching(hooked: Repo) -> None:
    for arguments in (
        ("checkout", "-q", "-b", "same"),
        ("checkout", "-q", "--", "a"),
        ("restore", "a"),
        ("reset", "-q", "--hard", "HEAD~1"),
        ("stash", "-q"),
        ("clean", "-q", "-f"),
    ):
        hooked.write("a", "changed\n")
        says_nothing(hooked, *arguments)
    assert told(hooked) == []
    says_nothing(hooked, "switch", "-q", "topic")
    says_nothing(hooked, "switch", "-q", "--detach", "main")
    main = hooked.git("rev-parse", "main").strip()
    assert told(hooked) == [
        ("post-checkout", "after switching to topic"),
        ("post-checkout", f"after switching to {main[:10]}"),
    ]


def test_linked_worktrees(hooked: Repo, tmp_path: Path) -> None:
    linked = Repo(tmp_path / "linked")
    hooked.git("worktree", "add", "-q", str(linked.top), "topic")
    linked.write("sub/new", "new\n")
    linked.git("add", "-A")
    linked.write("sub/other", "untracked\n")
    says_nothing(linked, "commit", "-q", "-m", "x", cwd=linked.top / "sub")
    first, second = taken(hooked)
    assert (first["label"], second["label"]) == ("after checking out topic", "before a commit")
    for meta in (first, second):
        assert meta["worktree"]["name"] == "linked"
        assert meta["worktree"]["path"] == str(linked.top)
    assert set(files(hooked, second)) - set(files(hooked, first)) == {"sub/new", "sub/other"}
    sound(linked)


def test_a_clone_with_our_hooks(
    hooked: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads_only_files(monkeypatch)
    install()
    (tmp_path / "template").mkdir()
    (hooked.top / ".git/hooks").rename(tmp_path / "template/hooks")
    clone = tmp_path / "clone"
    template = f"--template={tmp_path / 'template'}"
    says_nothing(hooked, "clone", "-q", template, str(hooked.top), str(clone))
    assert told(Repo(clone)) == [("post-checkout", "after checking out main")]
    assert told(hooked) == []


@pytest.mark.parametrize("how", ["environment", "separate"])
def test_wherever_the_worktree_is(
    hooked: Repo, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked.write("sub/new", "new\n")
    hooked.git("add", "-A")
    git_dir, top = str(hooked.top / ".git"), str(hooked.top)
    arguments = [f"--git-dir={tmp_path / 'elsewhere'}", f"--work-tree={top}"]
    if how == "environment":
        arguments = []
        monkeypatch.setenv("GIT_DIR", git_dir)
        monkeypatch.setenv("GIT_WORK_TREE", top)
    if how == "separate":
        (hooked.top / ".git").rename(tmp_path / "elsewhere")
    says_nothing(hooked, *arguments, "commit", "-q", "-m", "x", cwd=tmp_path)
    if how == "separate":
        (tmp_path / "elsewhere").rename(git_dir)
    monkeypatch.delenv("GIT_DIR", raising=False)
    monkeypatch.delenv("GIT_WORK_TREE", raising=False)
    (meta,) = taken(hooked)
    assert files(hooked, meta) == ["a", "b", "c", "sub/new"]
    assert meta["worktree"]["path"] == top
    sound(hooked)


def test_a_submodule(
    hooked: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    Repo(other).commit("in it", x="x\n")
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    hooked.git(*add, str(other), "module")
    before = len(taken(hooked))
    module = Repo(hooked.top / "module")
    monkeypatch.chdir(module.top)
    install()
    module.write("x", "changed\n")
    says_nothing(module, "commit", "-q", "-a", "-m", "x")
    (meta,) = taken(module)
    assert files(module, meta) == ["x"]
    assert len(taken(hooked)) == before


def test_only_chosen_events(hooked: Repo) -> None:
    hooked.git("config", "boocode.gitHooks", "pre-rebase,\tpost-merge")
    hooked.git("commit", "-q", "--allow-empty", "-m", "x")
    hooked.git("merge", "-q", "topic")
    assert [event for event, _ in told(hooked)] == ["post-merge"]


def test_inside_a_restore_nothing_happens(hooked: Repo, tmp_path: Path) -> None:
    hooked.boocode("checkpoint")
    hooked.write("a", "changed\n")
    callback = tmp_path / "callback"
    callback.write_text("#!/bin/sh\ngit commit -q --allow-empty -m x && echo '{}'\n")
    callback.chmod(0o755)
    done = hooked.boocode("restore", "--callback", str(callback), "@")
    assert done.code == 0
    assert hooked.git("log", "-1", "--format=%s") == "x\n"
    assert [event for event, _ in told(hooked)] == ["manual"]


def test_a_restore_that_takes_long_is_not_waited_for(hooked: Repo) -> None:
    hooked.write("a", "changed\n")
    begun = time.monotonic()
    with worktree_lock(Repository.discover().state_dir, shared=False, patience=0):
        says_nothing(hooked, "commit", "-q", "-a", "-m", "x")
    # A hook has five seconds.
    assert time.monotonic() - begun < 3
    assert taken(hooked) == []
    assert hooked.git("log", "-1", "--format=%s") == "x\n"


def test_failing_is_nobodys_business(hooked: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(hooked.top))
    says_nothing(hooked, "commit", "-q", "--allow-empty", "-m", "x")
    assert told(hooked) == []
    assert hooked.git("log", "-1", "--format=%s") == "x\n"


def test_a_lock_of_gits_is_left_alone(hooked: Repo) -> None:
    lock = hooked.write(".git/index.lock", "someone else's")
    hooked.write("a", "changed\n")
    run_git_hook("pre-commit", ())
    assert lock.read_text() == "someone else's"
    assert told(hooked) == [("pre-commit", "before a commit")]


def test_labels(repo: Repo) -> None:
    for event, arguments, label in (
        ("pre-rebase", ("origin/main",), "before a rebase against origin/main"),
        ("pre-rebase", ("0123456789" * 4, ""), "before a rebase against 0123456789"),
        ("pre-rebase", ("--root", "topic"), "before a rebase of topic"),
        ("pre-rebase", (), "before a rebase"),
        ("post-rewrite", ("rebase",), "after a rebase"),
        ("post-merge", ("1",), "after a squash merge"),
        ("post-checkout", ("0" * 40, "1" * 40, "1"), "after checking out main"),
    ):
        repo.write("a", label)
        run_git_hook(event, arguments)
        assert told(repo)[-1] == (event, label)


def test_a_checkout_that_is_none(repo: Repo) -> None:
    old, new = "1" * 40, "2" * 40
    for arguments in ((), (old,), (old, new, "0"), (old, old, "1")):
        run_git_hook("post-checkout", arguments)
    assert told(repo) == []


def test_a_hook_that_is_none_of_ours(repo: Repo) -> None:
    with pytest.raises(UsageError, match="'update'"):
        run_git_hook("update", ())
    assert len(EVENTS) == 7
