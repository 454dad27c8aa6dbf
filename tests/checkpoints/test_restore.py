from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.restore import apply, commands
from git_boocode.checkpoints.restore.apply import WorktreeChangedError
from git_boocode.checkpoints.restore.file_plan import FilePlan, FilePlanner
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.git import Completed, Git
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import (
    Effort,
    Host,
    back,
    interrupted,
    redone,
    refs,
    seen,
    sound,
    take,
    undone,
)
from tests.repo_kit import Repo, mounted

pytestmark = pytest.mark.slow


@pytest.fixture
def base(repo: Repo) -> Repo:
    """A repository with a little of everything, and a checkpoint of it."""
    repo.commit(**{"a": "a\n", "b": "b\n", "dir/c": "c\n", "run": "#!\n", ".gitignore": "*.log\n"})
    repo.write("a", "changed\n")
    repo.write("b", "staged\n")
    repo.git("add", "b")
    repo.write("new", "untracked\n")
    take(chat="chat", label="base")
    return repo


def link(path: Path, target: str) -> Path:
    """Make a symlink."""
    path.symlink_to(target)
    return path


MESSES: dict[str, Callable[[Repo], object]] = {
    "modified": lambda repo: repo.write("a", "mess\n"),
    "deleted": lambda repo: (repo.top / "b").unlink(),
    "directory deleted": lambda repo: repo.git("rm", "-rqf", "dir"),
    "untracked": lambda repo: repo.write("mess/deep", "mess\n"),
    "untracked one deleted": lambda repo: (repo.top / "new").unlink(),
    "staged": lambda repo: repo.git("add", "-A"),
    "unstaged": lambda repo: repo.git("reset", "-q"),
    "renamed": lambda repo: repo.git("mv", "b", "renamed"),
    "mode": lambda repo: (repo.top / "run").chmod(0o755),
    "symlink": lambda repo: (repo.git("rm", "-qf", "a"), link(repo.top / "a", "b")),
    "swapped": lambda repo: (repo.git("rm", "-qf", "a"), repo.write("a/x", "mess\n")),
    "file for a directory": lambda repo: (repo.git("rm", "-rqf", "dir"), repo.write("dir", "x")),
    "removed from the index": lambda repo: repo.git("rm", "-q", "--cached", "a"),
    "intent to add": lambda repo: repo.git("add", "-N", "new"),
    "no index": lambda repo: (repo.top / ".git/index").unlink(),
    "all at once": lambda repo: [
        MESSES[name](repo)
        for name in ("modified", "directory deleted", "renamed", "mode", "staged")
    ],
}


@pytest.mark.parametrize("mess", MESSES)
def test_a_mess_is_undone_and_redone(base: Repo, mess: str) -> None:
    before = seen(base)
    MESSES[mess](base)
    messed = seen(base)
    assert messed != before
    outcome = back()
    assert seen(base) == before
    assert outcome.kept == ()
    undone()
    assert seen(base) == messed
    sound(base)


def test_nothing_to_do(base: Repo) -> None:
    before, refs_before = seen(base), refs(base)
    outcome = back()
    assert (outcome.undo, outcome.changed, outcome.index_reset) == (None, (), False)
    assert (seen(base), refs(base)) == (before, refs_before)


def test_a_dry_run_changes_nothing(base: Repo) -> None:
    base.write("a", "mess\n")
    base.write("mess", "mess\n")
    (base.top / "b").unlink()
    base.git("add", "mess")
    before, refs_before = seen(base), refs(base)
    host = Host(base)
    outcome = back(dry_run=True, callback=host.path)
    seen_changes = [(change.path, change.action) for change in outcome.changed]
    assert seen_changes == [("a", "modify"), ("b", "create"), ("mess", "delete")]
    assert (outcome.undo, outcome.index_reset) == (None, True)
    assert (seen(base), refs(base), host.events) == (before, refs_before, [])


# What is ignored.


def full_directory(path: Path) -> None:
    path.mkdir()
    (path / "one.log").write_text("precious\n")


FORCED = frozenset({"ignored"})
# What is in the way, what it hides below, and which files of the checkpoint it blocks.
IN_THE_WAY: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_text("precious\n"),
    "link": lambda path: path.symlink_to("precious"),
    "directory": full_directory,
}


@pytest.mark.parametrize("what", IN_THE_WAY)
@pytest.mark.parametrize("path", ["new", "dir"])
def test_ignored_files_in_the_way_stay_unless_that_is_forced(
    base: Repo, what: str, path: str
) -> None:
    base.write("x.log", "precious\n")
    base.write("other", "not in the way\n")
    blocked = {"new": "new", "dir": "dir/c"}[path]
    if path == "dir":
        base.git("rm", "-rqf", path)
        shutil.rmtree(base.top / path, ignore_errors=True)
    else:
        (base.top / path).unlink()
    if what != "directory":
        base.write(".gitignore", f"*.log\n{path}\nother\n")
    IN_THE_WAY[what](base.top / path)
    messed = seen(base)
    outcome = back()
    if (what, path) != ("directory", "dir"):
        assert [kept.path for kept in outcome.kept] == [blocked]
        assert re.fullmatch(f"ignored file '{path}.*' is in the way", outcome.kept[0].reason)
    assert not recorded(base, "precious")
    undone()
    assert seen(base) == messed
    back(force=FORCED)
    assert base.read(blocked) == {"new": b"untracked\n", "dir": b"c\n"}[path]
    assert base.read("x.log") == b"precious\n"
    restored = seen(base)
    undone()
    assert seen(base) == messed
    # What an undo has made, a redo takes away again.
    redone()
    assert seen(base) == restored


@pytest.mark.parametrize("act", [undone, redone])
def test_an_ignored_file_in_the_way_of_an_undo_or_a_redo(
    base: Repo, act: Callable[..., RestoreResult]
) -> None:
    base.write("mess", "mess\n")
    back()
    if act is redone:
        base.write("later", "later\n")
        undone()
        path = "later"
    else:
        path = "mess"
    base.write(".git/info/exclude", f"{path}\n")
    base.write(path, "precious\n")
    outcome = act(dry_run=True)
    assert [kept.path for kept in outcome.kept] == [path]
    outcome = act(force=FORCED)
    assert base.read(path) == (b"later\n" if act is redone else b"mess\n")
    (redone if act is undone else undone)()
    assert base.read(path) == b"precious\n"


def test_an_ignored_file_that_is_as_recorded_is_not_in_the_way(base: Repo) -> None:
    base.write(".git/info/exclude", "new\n")
    base.write("a", "mess\n")
    outcome = back()
    assert (outcome.kept, base.read("new"), base.read("a")) == ((), b"untracked\n", b"changed\n")
    undone()
    assert (base.read("new"), base.read("a")) == (b"untracked\n", b"mess\n")


def test_the_command_names_ignored_files_in_the_way(base: Repo) -> None:
    (base.top / "new").unlink()
    base.write("new/.env", "TOKEN=precious\n")
    base.write(".git/info/exclude", ".env\n")
    done = base.boocode("restore", "@", "--json")
    kept = [{"path": "new", "reason": "ignored file 'new/.env' is in the way"}]
    assert (done.code, done.json["kept"]) == (0, kept)
    assert base.read("new/.env") == b"TOKEN=precious\n"
    done = base.boocode("restore", "@")
    assert "left alone: new: ignored file 'new/.env' is in the way" in done.err
    assert "--force ignored' replaces ignored files" in done.err
    some = base.boocode("restore", "@", "--", "new", "ne*").err
    assert "--force ignored -- new 'ne*'' replaces ignored files" in some
    assert not recorded(base, "precious")
    done = base.boocode("restore", "@", "--force", "ignored")
    assert (done.code, base.read("new")) == (0, b"untracked\n")
    assert base.boocode("undo", "--force", "ignored").code == 0
    assert base.read("new/.env") == b"TOKEN=precious\n"


def recorded(repo: Repo, text: str) -> bool:
    """Whether any blob in the object store holds a text."""
    listing = repo.git("cat-file", "--batch-all-objects", "--batch-check").splitlines()
    blobs = [row.split()[0] for row in listing if " blob " in row]
    return any(text in repo.git("cat-file", "blob", blob) for blob in blobs)


@pytest.mark.parametrize("how", ["deleted", "emptied", "moved"])
def test_ignored_files_are_not_deleted_when_the_rule_was_lost(base: Repo, how: str) -> None:
    for path in ("x.log", "deep/er/y.log"):
        base.write(path, "precious\n")
    ignore = base.top / ".gitignore"
    if how == "deleted":
        ignore.unlink()
    elif how == "emptied":
        ignore.write_text("")
    else:
        ignore.rename(base.top / "elsewhere")
    outcome = back()
    assert base.read("x.log") == base.read("deep/er/y.log") == b"precious\n"
    assert {kept.path: kept.reason for kept in outcome.kept} == {
        "deep/er/y.log": "ignored in the checkpoint", "x.log": "ignored in the checkpoint"
    }  # fmt: skip
    assert base.read(".gitignore") == b"*.log\n"


@pytest.mark.parametrize("below", [True, False])
def test_a_no_longer_ignored_file_in_the_way_is_replaced_and_restored(
    base: Repo, below: bool
) -> None:
    base.write("x.log/a", "forced\n")
    base.git("add", "-f", "x.log/a")
    take()
    base.git("rm", "-rqf", "x.log")
    (base.top / "new").unlink()
    base.write("new/one.log" if below else "x.log", "precious\n")
    (base.top / ".gitignore").unlink()
    messed = seen(base)
    outcome = back()
    assert base.read("new") == b"untracked\n"
    assert base.read("x.log/a") == b"forced\n"
    assert outcome.kept == ()
    undone()
    assert seen(base) == messed
    redone()
    assert base.read("new") == b"untracked\n"


def test_tracked_files_are_not_ignored(base: Repo) -> None:
    base.write("kept.log", "tracked\n")
    base.git("add", "-f", "kept.log")
    (base.top / "kept.log").unlink()
    take()
    status = base.status()
    base.write("kept.log", "back again\n")
    base.write("x.log", "precious\n")
    (base.top / ".gitignore").unlink()
    outcome = back()
    assert [kept.path for kept in outcome.kept] == ["x.log"]
    assert base.status() == status
    undone()
    assert base.read("kept.log") == b"back again\n"


@pytest.mark.parametrize("committed", [False, True])
def test_an_ignored_file_that_was_added_by_force(base: Repo, committed: bool) -> None:
    base.write("x.log", "precious\n")
    take()
    status = base.status()
    base.git("add", "-f", "x.log")
    if committed:
        base.git("commit", "-qm", "by force")
    base.write("made", "mess\n")
    base.git("add", "made")
    outcome = back()
    assert [kept.path for kept in outcome.kept] == ["x.log"]
    assert [change.path for change in outcome.changed] == ["made"]
    assert base.read("x.log") == b"precious\n"
    if not committed:
        assert base.status() == status
    undone()
    assert base.git("ls-files", "x.log", "made") == "made\nx.log\n"


def test_an_ignored_file_that_a_restore_finds_tracked(base: Repo) -> None:
    base.write("x.log", "tracked\n")
    base.git("add", "-f", "x.log")
    (base.top / "x.log").unlink()
    take()
    base.git("reset", "-q")
    base.write("x.log", "precious\n")
    base.write("a", "mess\n")
    before = seen(base)
    back()
    assert base.git("ls-files", "x.log") == "x.log\n"
    undone()
    assert seen(base) == before
    assert base.read("x.log") == b"precious\n"


def test_the_rules_of_a_subdirectory_apply(base: Repo) -> None:
    base.write("sub/.gitignore", "out/\n!out/keep\n")
    base.write("sub/out/x", "precious\n")
    take()
    (base.top / "sub/.gitignore").unlink()
    base.write("out/x", "an agent's\n")
    back()
    assert base.read("sub/out/x") == b"precious\n"
    assert not (base.top / "out").exists()


def test_unrecordable_files_in_the_way_are_kept(base: Repo) -> None:
    base.git("config", "filter.broken.clean", "exit 1")
    base.git("config", "filter.broken.smudge", "cat")
    base.git("config", "filter.broken.required", "true")
    base.write(".git/info/attributes", "new filter=broken\n")
    base.write(".git/info/exclude", "new\n")
    base.write("new", "precious\n")
    outcome = back(force=FORCED)
    assert base.read("new") == b"precious\n"
    assert "new" in [kept.path for kept in outcome.kept]


# What is not ours.


@pytest.mark.parametrize("where", ["new", "dir/c", "a", "fresh"])
def test_a_nested_repository_in_the_way_is_left_alone(base: Repo, where: str) -> None:
    if (base.top / where).exists():
        (base.top / where).unlink()
    nested = base.top / where / "deep"
    nested.mkdir(parents=True)
    Repo(nested).git("init", "-q")
    Repo(nested).commit(x="x\n")
    base.write("run", "mess\n")
    outcome = back()
    assert (nested / "x").read_text() == "x\n"
    assert (nested / ".git").is_dir()
    assert base.read("run") == b"#!\n"
    if where != "fresh":
        assert where in [kept.path for kept in outcome.kept]


def test_tracked_files_in_what_would_become_a_nested_repository_stay(base: Repo) -> None:
    take()
    base.write("lib/x", "x\n")
    base.git("add", "lib")
    Repo(base.top / "lib").git("init", "-q")
    base.write("lib/y", "y\n")
    base.write("made", "mess\n")
    base.git("add", "made")
    before = seen(base)
    outcome = back()
    assert [change.path for change in outcome.changed] == ["made"]
    assert {kept.path for kept in outcome.kept} == {"lib/x", "lib/y"}
    assert base.git("ls-files", "lib", "made") == "lib/x\n"
    undone()
    assert seen(base) == before


def test_a_directory_that_has_become_a_submodule_is_left_alone(base: Repo) -> None:
    take()
    base.git("rm", "-rq", "--cached", "dir")
    module = Repo(base.top / "dir")
    module.git("init", "-q")
    module.commit("theirs", c="c\n")
    base.git("-c", "advice.addEmbeddedRepo=false", "add", "dir")
    base.write("dir/c", "precious\n")
    base.write("dir/d/x", "precious as well\n")
    base.write("a", "mess\n")
    before = seen(base)
    assert [change.path for change in back().changed] == ["a"]
    assert base.read("dir/c") == b"precious\n"
    assert base.read("dir/d/x") == b"precious as well\n"
    undone()
    assert seen(base) == before


def test_a_nested_repository_survives_repeated_restores(base: Repo) -> None:
    base.commit("more", **{"n/deep/f": "f\n", "n/g": "g\n"})
    base.write("n/deep/staged", "staged\n")
    base.git("add", "n/deep/staged")
    base.write("n/deep/intended", "intended\n")
    base.git("add", "-N", "n/deep/intended")
    taken = take()
    base.git("rm", "-rqf", "n/deep")
    base.git("init", "-q", "n/deep")
    base.write("n/deep/mine", "mine\n")
    before = seen(base)
    for _ in range(3):
        outcome = back(taken.id)
        assert {kept.path for kept in outcome.kept} >= {"n/deep/f", "n/deep/staged"}
        assert seen(base) == before
    assert base.git("ls-files", "n") == "n/g\n"


def test_tracked_paths_are_no_nested_repository_without_files(base: Repo) -> None:
    base.git("init", "-q", "dir")
    base.write("dir/untracked", "x\n")
    there = seen(base)
    take()
    (base.top / "dir/c").unlink()
    (base.top / "dir/untracked").unlink()
    messed = seen(base)
    assert back().kept == ()
    assert seen(base) == there
    undone()
    assert seen(base) == messed


def test_nothing_is_written_where_it_could_not_be_recorded_afterwards(base: Repo) -> None:
    base.write("lib/x", "x\n")
    taken = take()
    base.git("add", "lib/x")
    (base.top / "lib/x").unlink()
    base.git("init", "-q", "lib")
    base.write("run", "mess\n")
    before = seen(base)
    outcome = back(taken.id)
    assert ("lib/x", "'lib' is a nested repository") in [tuple(kept) for kept in outcome.kept]
    assert base.git("ls-files", "lib") == "lib/x\n"
    assert not (base.top / "lib/x").exists()
    undone()
    assert seen(base) == before


def test_an_undo_restores_staging_in_a_nested_repository(base: Repo) -> None:
    base.git("init", "-q", "nested")
    base.write("nested/inner", "inner\n")
    taken = take()
    blob = base.git("hash-object", "-w", "nested/inner").strip()
    base.git("update-index", "--add", "--cacheinfo", f"100644,{blob},nested/inner")
    before = seen(base)
    base.write("run", "mess\n")
    mess = seen(base)
    back(taken.id)
    assert seen(base) == before
    base.git("rm", "-q", "--cached", "nested/inner")
    there = seen(base)
    undone()
    assert seen(base) == mess
    redone()
    assert seen(base) == there


def test_unrecorded_files_are_kept(repo: Repo) -> None:
    repo.commit(**{"t.bad": "old\n", "a": "a\n"})
    repo.git("config", "boocode.maxFileSize", "100")
    repo.write("large", "x" * 200)
    repo.write("large.dir/x", "x" * 200)
    take()
    repo.write("large", "x" * 300)
    repo.write("large.dir/x", "small by now")
    repo.write("a", "mess\n")
    repo.write("larger", "x" * 400)
    back()
    assert repo.read("a") == b"a\n"
    assert repo.read("large") == b"x" * 300
    assert repo.read("larger") == b"x" * 400
    assert repo.read("large.dir/x") == b"small by now"


@pytest.mark.parametrize("paths", [(), (".",), ("a", "lib/..")])
def test_new_files_that_cannot_be_recorded_are_reported(base: Repo, paths: tuple[str, ...]) -> None:
    base.write(".git/info/attributes", "text working-tree-encoding=UTF-16\n")
    base.git("config", "boocode.maxFileSize", "100")
    base.write("huge", "-" * 200)
    base.git("init", "-q", "nested")
    taken = take()
    base.write("text", "not UTF-16\n")
    base.write("big", "-" * 200)
    base.git("init", "-q", "lib")
    outcome = back(taken.id, paths=paths)
    reasons = dict(outcome.kept)
    assert {*reasons} == {"big", "lib", "nested", "text"}
    assert reasons["lib"] == "nested repository"
    assert back(taken.id, paths=("a",)).kept == ()


def test_an_unreadable_tracked_file_is_left_alone(repo: Repo) -> None:
    repo.commit(**{"t.bad": "old\n", "a": "a\n"})
    taken = take()
    repo.git("config", "filter.broken.clean", "exit 1")
    repo.git("config", "filter.broken.required", "true")
    repo.write(".git/info/attributes", "*.bad filter=broken\n")
    repo.write("t.bad", "new\n")
    repo.write("a", "mess\n")
    outcome = back(taken.id)
    assert (repo.read("a"), repo.read("t.bad")) == (b"a\n", b"new\n")
    undone()
    assert (repo.read("a"), repo.read("t.bad")) == (b"mess\n", b"new\n")
    assert outcome.undo is not None


def test_a_pipe_in_the_way_is_kept(base: Repo) -> None:
    (base.top / "new").unlink()
    os.mkfifo(base.top / "new")
    base.write("a", "mess\n")
    outcome = back()
    assert (base.top / "new").is_fifo()
    assert base.read("a") == b"changed\n"
    assert "new" in [kept.path for kept in outcome.kept]


# Where it was started.


@pytest.fixture(params=[False, True], ids=["git", "older git"])
def any_git(base: Repo, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Git as it is, or one that does not know where it was started, as before 2.35."""
    if request.param:
        program = f'cd "${{GIT_WORK_TREE:-.}}" && exec {shutil.which("git")} "$@"\n'
        base.write(".git/older/git", f"#!/bin/sh\n{program}", 0o755)
        monkeypatch.setenv("PATH", f"{base.top}/.git/older", prepend=os.pathsep)


@pytest.mark.usefixtures("any_git")
@pytest.mark.parametrize("fails", [False, True])
def test_the_current_directory_stays(
    base: Repo, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    base.write("made/deep/file", "mess\n")
    here = base.top / "made/deep"
    monkeypatch.chdir(here)
    inode, before = here.stat().st_ino, seen(base)
    if fails:
        with pytest.raises(FatalError):
            back(callback=Host(base, trim="exit 1").path)
    else:
        back()
        assert os.listdir() == []
        assert here.stat().st_ino == inode
        undone()
    assert seen(base) == before
    assert os.listdir() == ["file"]
    assert here.stat().st_ino == inode


@pytest.mark.usefixtures("any_git")
def test_an_empty_current_directory_stays_through_a_rollback(
    base: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.git("rm", "-rq", "dir")
    here = base.top / "dir"
    here.mkdir()
    inode = here.stat().st_ino
    monkeypatch.chdir(here)
    host = Host(base, trim="cat dir/c; exit 1")
    with pytest.raises(FatalError):
        back(callback=host.path)
    assert (here.stat().st_ino, os.listdir()) == (inode, [])


@pytest.mark.usefixtures("any_git")
@pytest.mark.parametrize("where", ["new", "new/deep", "new/empty"])
def test_the_current_directory_is_not_replaced_by_a_file(
    base: Repo, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    (base.top / "new").unlink()
    base.write("new/deep/file", "mess\n")
    (base.top / "new/empty").mkdir()
    before, refs_before = seen(base), refs(base)
    for dry_run in (True, False):
        monkeypatch.chdir(base.top / where)
        with pytest.raises(RefusedError) as caught:
            back(dry_run=dry_run)
        assert (caught.value.code, caught.value.exit_code) == ("conflict", 1)
        assert caught.value.hints[0].endswith(f"cd {base.top}")
        assert (seen(base), refs(base)) == (before, refs_before)
    monkeypatch.chdir(base.top / "dir")
    back()
    assert base.read("new") == b"untracked\n"


# Who else is there.


def test_another_branch_is_checked_out(base: Repo) -> None:
    taken = take()
    base.git("stash", "-q", "-u")
    base.git("checkout", "-q", "--orphan", "other")
    base.git("rm", "-rqf", ".")
    base.write("x", "x\n")
    before = seen(base)
    back(taken.id)
    assert base.git("symbolic-ref", "HEAD") == "refs/heads/other\n"
    assert (base.read("a"), base.git("show", ":b")) == (b"changed\n", "staged\n")
    undone()
    assert seen(base) == before


@pytest.mark.parametrize("staged", [True, False])
def test_the_index_is_locked(base: Repo, staged: bool) -> None:
    base.write("a", "mess\n")
    if staged:
        base.git("add", "a")
    lock = base.write(".git/index.lock", "someone's")
    before, refs_before = seen(base), refs(base)
    host = Host(base)
    with pytest.raises(RefusedError) as caught:
        back(callback=host.path)
    assert (caught.value.code, caught.value.exit_code) == ("locked", 1)
    assert (seen(base), refs(base), host.events) == (before, refs_before, [])
    assert lock.read_bytes() == b"someone's"
    # Who only looks is not refused.
    assert back(dry_run=True).changed


def test_an_undo_or_a_redo_while_the_index_is_locked(base: Repo) -> None:
    base.write("a", "mess\n")
    lock = base.top / ".git/index.lock"

    def refused(act: Callable[..., RestoreResult]) -> None:
        lock.touch()
        before, refs_before = seen(base), refs(base)
        with pytest.raises(RefusedError) as caught:
            act()
        assert (caught.value.code, caught.value.exit_code) == ("locked", 1)
        assert (seen(base), refs(base)) == (before, refs_before)
        lock.unlink()

    back()
    refused(undone)
    undone()
    refused(redone)


def test_the_index_is_locked_after_the_scan(base: Repo) -> None:
    base.write("a", "mess\n")
    before, refs_before = seen(base), refs(base)
    host = Host(base, prepare="touch .git/index.lock; echo '{}'")
    with pytest.raises(RefusedError) as caught:
        back(callback=host.path)
    assert caught.value.code == "locked"
    assert (seen(base), refs(base)) == (before, refs_before)
    assert host.events == ["prepare", "rollback"]


def test_an_index_that_is_a_symlink(base: Repo, tmp_path: Path) -> None:
    index, real = base.top / ".git/index", tmp_path / "real.index"
    shutil.move(index, real)
    index.symlink_to(real)
    base.write("a", "mess\n")
    base.git("add", "a")
    staged = base.git("ls-files", "-s")
    lock = tmp_path / "real.index.lock"
    lock.touch()
    with pytest.raises(RefusedError) as caught:
        back()
    assert caught.value.code == "locked"
    lock.unlink()
    back()
    assert base.git("ls-files", "-s") != staged
    undone()
    assert base.git("ls-files", "-s") == staged
    assert index.readlink() == real


def test_an_empty_staging_area_is_complete(repo: Repo) -> None:
    repo.write("a", "a\n")
    taken = take()
    repo.git("gc", "-q", "--prune=now")
    repo.git("add", "a")
    back(taken.id)
    sound(repo)
    undone()
    redone()
    sound(repo)


def test_another_restore_is_at_work(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    base.write("a", "mess\n")
    monkeypatch.setattr(commands, "PATIENCE", 0.0)
    program = (
        "import sys\nfrom git_boocode.repo.lock import worktree_lock\n"
        "with worktree_lock(sys.argv[1], shared=False, patience=0):\n"
        "    print('here', flush=True)\n    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, Repository.discover().state_dir],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert other.stdout is not None
    other.stdout.readline()
    for act in (back, undone):
        with pytest.raises(RefusedError) as caught:
            act()
        assert (caught.value.code, caught.value.exit_code) == ("locked", 1)
    other.communicate()
    assert base.read("a") == b"mess\n"
    back()


def interfere(monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """Let someone do something between the snapshot and the merge."""
    real = FilePlanner.plan

    def plan(*args: Any, **options: Any) -> FilePlan:
        made: FilePlan = real(*args, **options)
        deed()
        return made

    monkeypatch.setattr(FilePlanner, "plan", plan)


@pytest.mark.parametrize("deed", ["edit", "delete", "create"])
def test_a_file_that_is_edited_meanwhile(
    base: Repo, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    base.write("a", "mess\n")
    base.write("dir/c", "mess\n")
    (base.top / "new").unlink()
    deeds: dict[str, Callable[[], object]] = {
        "edit": lambda: base.write("a", "someone typed this\n"),
        "delete": lambda: (base.top / "dir/c").write_bytes(b"typed too"),
        "create": lambda: base.write("new", "someone made this\n"),
    }
    interfere(monkeypatch, deeds[deed])
    refs_before = refs(base)
    host = Host(base)
    with pytest.raises(RefusedError) as caught:
        back(callback=host.path)
    assert (caught.value.code, caught.value.exit_code) == ("conflict", 1)
    assert host.events == ["prepare", "rollback"]
    now = base.files()
    expected = {"a": b"mess\n", "dir/c": b"mess\n", "new": None, "b": b"staged\n"}
    expected |= {
        "edit": {"a": b"someone typed this\n"},
        "delete": {"dir/c": b"typed too"},
        "create": {"new": b"someone made this\n"},
    }[deed]
    assert {path: now[path][1] if path in now else None for path in expected} == expected
    assert refs(base) == refs_before
    sound(base)


@pytest.mark.parametrize("path", ["x.log", "sub.log/f"])
def test_an_ignored_file_that_comes_meanwhile(base: Repo, path: str) -> None:
    (base.top / "sub.log").mkdir()
    for tracked in ("x.log", "sub.log/f"):
        base.write(tracked, "tracked\n")
    base.git("add", "-f", "x.log", "sub.log/f")
    take()
    base.git("rm", "-rqf", "x.log", "sub.log")
    before = seen(base)
    base.write(".git/precious", "precious\n")
    come = f"mkdir -p $(dirname {path}); cp .git/precious {path}; echo '{{}}'"
    with pytest.raises(WorktreeChangedError, match=path):
        back(callback=Host(base, prepare=come).path)
    assert base.read(path) == b"precious\n"
    (base.top / path).unlink()
    assert seen(base) == before


def test_something_is_staged_meanwhile(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    base.write("a", "mess\n")
    base.git("add", "a")
    base.write("theirs", "staged by someone\n")
    interfere(monkeypatch, lambda: base.git("add", "theirs"))
    files, refs_before = base.files(), refs(base)
    with pytest.raises(RefusedError) as caught:
        back()
    assert caught.value.code == "conflict"
    assert (base.files(), refs(base)) == (files, refs_before)
    assert base.git("show", ":theirs") == "staged by someone\n"
    assert base.git("show", ":a") == "mess\n"
    sound(base)


@pytest.mark.parametrize("attributes", ["", "* text eol=crlf\n"], ids=["as stored", "converted"])
@pytest.mark.parametrize("there", [True, False], ids=["replaced", "created"])
def test_a_file_that_git_did_not_finish_is_not_taken_for_a_change(
    repo: Repo, attributes: str, *, there: bool
) -> None:
    repo.write(".git/info/attributes", attributes)
    repo.commit(a="a long line\n" * 400_000)
    take()
    (repo.top / "a").unlink()
    if there:
        repo.write("a", "mess\n")
    before, known = seen(repo), refs(repo)
    # A signal ends git when the file has this size.
    command = "ulimit -f 1000; exec git boocode restore --json @"
    done = subprocess.run(["sh", "-c", command], cwd=repo.top, capture_output=True)
    said = json.loads(done.stdout)["error"]["hint"]
    assert said.endswith("files and staging area are unchanged")
    assert (seen(repo), refs(repo)) == (before, known)
    sound(repo)


# Archive and history.


def test_later_checkpoints_of_the_same_chat_are_archived_and_come_back(repo: Repo) -> None:
    repo.commit(a="0\n")
    made = {}
    for name, chat in (("before", "x"), ("target", "x"), ("later", "x"), ("other", "y"),
                       ("last", "x"), ("none", "")):  # fmt: skip
        repo.write("a", f"{name}\n")
        made[name] = take(chat=chat, session="s", label=name)
    refs_before = refs(repo, "checkpoints")
    outcome = back(made["target"].id)
    assert sorted(outcome.archived) == sorted(made[name].id for name in ("later", "last"))
    assert [row.split()[0].split("/")[3:] for row in refs(repo, "archive")] == [
        [outcome.undo, made["later"].id], [outcome.undo, made["last"].id]
    ]  # fmt: skip
    assert len(refs(repo, "checkpoints")) == 4
    again = undone()
    assert (sorted(again.returned), again.archived) == (sorted(outcome.archived), ())
    assert refs(repo, "checkpoints") == refs_before
    assert refs(repo, "archive") == []


def test_checkpoints_are_archived_by_chat_or_session(repo: Repo) -> None:
    repo.commit(a="0\n")
    target, chat, alone = take(session="s"), take(chat="c"), take()
    repo.write("a", "1\n")
    later, _, in_chat, _ = take(session="s"), take(session="t"), take(chat="c"), take()
    for checkpoint, leaving in ((target, (later.id,)), (chat, (in_chat.id,)), (alone, ())):
        assert back(checkpoint.id, conversation=False).archived == ()
        undone()
        assert back(checkpoint.id).archived == leaving
        assert undone().returned == leaving
        assert refs(repo, "archive") == []


def test_undo_continues_where_nothing_changes(repo: Repo) -> None:
    repo.commit(a="0\n")
    first = take()
    for number in (1, 2):
        repo.write("a", f"{number}\n")
        back(first.id)
    repo.write("a", "2\n")
    undone()
    assert repo.read("a") == b"2\n"
    undone()
    assert repo.read("a") == b"1\n"


def test_undo_knows_only_its_own_worktree(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    base.git("worktree", "add", "-q", "linked")
    base.write("a", "mess\n")
    back()
    monkeypatch.chdir(base.top / "linked")
    with pytest.raises(RefusedError, match="there is no restore to undo"):
        undone()


# Rolling back.


def test_the_staging_area_cannot_be_made(base: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    base.write("a", "mess\n")
    base.write("mess", "mess\n")
    (base.top / "b").unlink()
    base.git("add", "-A")
    before, refs_before = seen(base), refs(base)

    def fail(*_: object) -> None:
        assert base.read("a") == b"changed\n"
        raise FatalError("the disk is on fire", code="git")

    monkeypatch.setattr(apply, "build_index", fail)
    with pytest.raises(FatalError, match="the disk is on fire"):
        back()
    assert (seen(base), refs(base)) == (before, refs_before)
    sound(base)


@pytest.mark.parametrize("done", [0, 1, 2])
def test_git_writes_only_some_files(base: Repo, monkeypatch: pytest.MonkeyPatch, done: int) -> None:
    for path in ("a", "dir/c", "run"):
        base.write(path, "mess\n")
    base.git("add", "-A")
    before = seen(base)
    real = Git.attempt

    def attempt(self: Git, *arguments: str, **options: Any) -> object:
        if arguments[0] == "read-tree" and "-u" in arguments and not calls:
            calls.append(arguments)
            for path, content in list({"a": "changed\n", "dir/c": "c\n"}.items())[:done]:
                base.write(path, content)
            return failed
        return real(self, *arguments, **options)

    calls: list[tuple[str, ...]] = []
    failed = Completed(128, b"", b"error: unable to create file run: No space left on device")
    monkeypatch.setattr(Git, "attempt", attempt)
    with pytest.raises(FatalError) as caught:
        back()
    assert (caught.value.code, caught.value.exit_code) == ("disk_full", 128)
    assert seen(base) == before


def test_a_full_disk(tmp_path: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    with mounted(mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs"):
        small = Repo(mount)
        small.git("init", "-q")
        small.write("big", os.urandom(700_000))
        small.commit(a="a\n")
        small.write("new", "untracked\n")
        monkeypatch.chdir(mount)
        taken = take()
        small.write("big", "now small\n")
        small.write("a", "mess\n")
        small.git("add", "a")
        free = os.statvfs(mount)
        small.write("filler", b"\0" * (free.f_bavail * free.f_frsize - 200_000))
        small.git("config", "boocode.maxFileSize", "1k")
        before = seen(small)
        for _ in range(2):
            with pytest.raises((FatalError, OSError)):
                back(taken.id)
            assert seen(small) == before
        (mount / "filler").unlink()
        back(taken.id)
        assert (mount / "big").stat().st_size == 700_000
        sound(small)
        monkeypatch.chdir(repo.top)


@pytest.mark.parametrize("side", ["after", "before"])
def test_a_failing_smudge_filter_changes_nothing(repo: Repo, side: str) -> None:
    repo.git("config", "filter.f.clean", "cat")
    repo.git("config", "filter.f.smudge", "cat")
    repo.git("config", "filter.f.required", "true")
    repo.write(".gitattributes", "*.f filter=f\n")
    repo.commit(**{"x.f": "old\n", "a": "a\n"})
    take()
    repo.write("x.f", "new\n")
    repo.write("a", "mess\n")
    repo.git("add", "a")
    bad = "old" if side == "after" else "new"
    repo.git("config", "filter.f.smudge", f"! grep {bad}")
    before, refs_before = seen(repo), refs(repo)
    with pytest.raises(FatalError, match=r"external filter .* failed"):
        back()
    assert (seen(repo), refs(repo)) == (before, refs_before)
    sound(repo)


# A restore that was interrupted.


def test_undo_goes_back_to_before_an_interrupted_restore(
    base: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.write("a", "mess\n")
    before = seen(base)
    interrupted(monkeypatch, back)
    warning = base.boocode("log").err
    assert "restore was interrupted half-way" in warning
    assert "'git boocode undo' or 'git boocode doctor --fix' goes back to it" in warning
    base.write("a", "half-restored\n")
    undone()
    assert seen(base) == before
    assert base.boocode("log").err == ""


def test_an_interrupted_undo_is_remembered_through_a_failing_one(
    base: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.write("a", "mess\n")
    back()
    restored = seen(base)
    interrupted(monkeypatch, undone)
    base.write("a", "half-undone\n")
    with pytest.raises(RefusedError):
        undone(callback=Host(base, prepare="exit 1").path)
    undone()
    assert seen(base) == restored


def test_an_interruption_before_anything_happened(
    base: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = take()
    base.write("a", "one\n")
    one = seen(base)
    back(first.id)
    base.write("a", "two\n")
    two = seen(base)
    with monkeypatch.context() as patch:
        patch.setattr(apply.WorktreeUpdate, "do", lambda _: None)
        interrupted(monkeypatch, lambda: back(first.id))
    assert seen(base) == two
    assert "interrupted" in base.boocode("log").err
    undone()
    assert seen(base) == two
    assert base.boocode("log").err == ""
    undone()
    assert seen(base) == one


@pytest.mark.parametrize("text", ["", "[]", "{}", "garbage", "\udcff", '{"safety": "gone"}'])
def test_an_unreadable_note_of_an_interruption(base: Repo, text: str) -> None:
    base.write(".git/boocode/restore-in-progress", os.fsencode(text))
    done = base.boocode("log", "--json")
    assert (done.code, done.err) == (0, "")
    base.write("a", "mess\n")
    back()
    undone()
    assert base.read("a") == b"mess\n"


def test_a_running_restore_is_no_interrupted_one(base: Repo) -> None:
    state = Repository.discover().state_dir
    base.write("a", "mess\n")
    safety = back().undo
    base.write(".git/boocode/restore-in-progress", json.dumps({"safety": safety}))
    with worktree_lock(state, shared=False, patience=0):
        assert base.boocode("log").err == ""
    assert "interrupted" in base.boocode("log").err


def test_the_effort_for_many_files_in_a_deep_directory(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    effort = Effort(monkeypatch)
    found = []
    for count in (1, 51):
        deep = "/".join(["d"] * 100)
        for number in range(count):
            repo.write(f"{deep}/kept {number}", "old\n")
            repo.write(f"{deep}/gone {number}", "old\n")
        take()
        for number in range(count):
            repo.write(f"{deep}/kept {number}", "changed\n")
            (repo.top / f"{deep}/gone {number}").unlink()
            repo.write(f"{deep}/new {number}", "new\n")
        found.append((effort.of(back), effort.of(undone)))
        shutil.rmtree(repo.top / "d")
    for one, many in zip(*found, strict=True):
        # For each of 150 files a few looks, not one for each directory above it.
        assert many[1] - one[1] < 150 * 20
