"""States that ask for more than to be brought back: refusals, gaps, and a strange environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, held, held_without_history, refs, seen, sound, take, undone
from tests.checkpoints.states import base
from tests.checkpoints.test_capture import skipped, tree
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def there_and_back(repo: Repo, *changed: str) -> None:
    """A checkpoint, a mess in some files, a restore and an undo leave nothing wrong."""
    before = seen(repo)
    taken = take()
    for path in changed:
        repo.write(path, "mess\n")
    mess = seen(repo)
    back(taken.id)
    assert seen(repo) == before
    undone()
    assert seen(repo) == mess
    sound(repo)


def damage(content: bytes, how: str, blob: bytes) -> bytes:
    """An index with something wrong in its middle."""
    if how == "truncated":
        return content[: len(content) // 2]
    if how == "an object that is not there":
        return content.replace(blob, b"\1" * len(blob))
    return content.replace(b"b.txt\0", b"/.txt\0")


@pytest.mark.parametrize("how", ["truncated", "an object that is not there", "a bad path"])
def test_an_index_damaged_in_its_middle_costs_no_file(repo: Repo, how: str) -> None:
    base(repo)
    (repo.top / "dir/d.txt").unlink()
    on_disk = repo.files()
    blob = bytes.fromhex(repo.git("rev-parse", ":dir/c.txt").strip())
    index = repo.top / ".git/index"
    damaged = damage(index.read_bytes(), how, blob)
    assert damaged != index.read_bytes()
    index.write_bytes(damaged)
    taken = take()
    assert index.read_bytes() == damaged
    assert "duplicate" not in repo.git("fsck", check=False)
    assert set(tree(repo, taken)) == set(on_disk)
    assert all(os.fsencode(text) == on_disk[path][1] for path, text in tree(repo, taken).items())
    repo.write("a.txt", "mess\n")
    (repo.top / "new.txt").unlink()
    back(taken.id)
    assert repo.files() == on_disk


def test_an_index_that_may_not_be_read_is_named(repo: Repo) -> None:
    base(repo)
    index = repo.top / ".git/index"
    index.chmod(0)
    done = repo.unprivileged("checkpoint")
    said = f"fatal: cannot read the index '{index}': permission denied\n"
    assert (done.code, done.out) == (128, "")
    assert done.err.startswith(said)
    assert "hint: " in done.err
    index.unlink()
    index.mkdir()
    assert f"'{index}': is a directory" in repo.boocode("checkpoint").err


@pytest.mark.parametrize("name", ["git~1", "dir/.GIT/x", ".git ", ".git\u200c/x"])
def test_names_that_git_refuses_are_reported(repo: Repo, name: str) -> None:
    base(repo)
    repo.write(name, "untracked\n")
    taken = take()
    assert {"a.txt", "new.txt"} <= set(tree(repo, taken))
    assert name in tree(repo, taken) or any(name.startswith(path) for path in skipped(taken))
    repo.write("a.txt", "mess\n")
    back(taken.id)
    assert repo.read(name) == b"untracked\n"
    assert repo.read("a.txt") == b"a changed\n"


LEVELS = 400
BOTTOM = "d/" * LEVELS


@pytest.fixture
def deep(repo: Repo) -> Iterator[Repo]:
    """A checkpoint of a file, and in its place a directory of more levels than calls may have."""
    repo.commit(a="a\n", d="file\n")
    take()
    (repo.top / "d").unlink()
    for path in ("file", "x.log", ".gitignore"):
        repo.write(f"{BOTTOM}{path}", "*.log\n")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(LEVELS - 50)
    yield repo
    sys.setrecursionlimit(before)


def test_a_very_deep_directory(deep: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    deep.git("add", "-N", f"{BOTTOM}file")
    taken, status = take(), deep.status()
    assert f"{BOTTOM}file" in tree(deep, taken)
    deep.write(f"{BOTTOM}file", "changed\n")
    with monkeypatch.context() as patch:
        patch.chdir(deep.top / BOTTOM)
        back(taken.id, paths=("file",))
    assert deep.status() == status
    back("@~1", force=frozenset({"ignored"}))
    assert deep.read("d") == b"file\n"
    undone()
    assert deep.read(f"{BOTTOM}x.log") == b"*.log\n"
    assert deep.status() == status
    sound(deep)


@pytest.mark.parametrize("paths", [(), ("foo",), ("Foo", "foo"), (".",), ("dir",)])
def test_a_rename_by_case_on_a_file_system_that_ignores_it(
    repo: Repo, paths: tuple[str, ...]
) -> None:
    repo.git("config", "core.ignoreCase", "true")
    repo.commit(**{"a": "a\n", "Foo": "foo\n", "Dir/x": "x\n"})
    take()
    repo.git("mv", "Foo", "foo")
    repo.git("mv", "Dir", "dir")
    # There, a file is found by either name.
    (repo.top / "Foo").hardlink_to(repo.top / "foo")
    (repo.top / "Dir").mkdir()
    (repo.top / "Dir/x").hardlink_to(repo.top / "dir/x")
    names = set(tree(repo, take(paths=paths)))
    foo = "Foo" if paths == ("dir",) else "foo"
    directory = "Dir" if "foo" in paths else "dir"
    assert names == {"a", foo, f"{directory}/x"}
    assert set(tree(repo, take())) == {"a", "foo", "dir/x"}
    assert held() == held_without_history()


def test_two_files_whose_names_differ_in_case_only(repo: Repo) -> None:
    repo.commit(a="a\n", Foo="one\n")
    earlier = take()
    repo.git("config", "core.ignoreCase", "true")
    repo.git("mv", "Foo", "foo")
    repo.write("Foo", "another\n")
    assert {"Foo", "foo"} <= set(tree(repo, take(paths=("foo",))))
    # Git does not list it, but it is saved before it is replaced.
    back(earlier.id)
    assert repo.read("Foo") == b"one\n"
    undone()
    assert repo.read("Foo") == b"another\n"


@pytest.mark.parametrize(
    ("driver", "program"),
    [("clean", "false"), ("clean", "kill -9 $$"), ("process", "no-such-program")],
)
def test_a_required_filter_that_is_missing_or_fails(repo: Repo, program: str, driver: str) -> None:
    repo.commit(**{"x.bin": "x\n", "a": "a\n"})
    repo.git("config", f"filter.large.{driver}", program)
    repo.git("config", "filter.large.required", "true")
    repo.write(".gitattributes", "*.bin filter=large\n")
    repo.write("x.bin", "changed\n")
    repo.write("new.bin", "new\n")
    repo.write("a", "changed\n")
    taken = take()
    assert set(skipped(taken)) == {"x.bin", "new.bin"}
    repo.write("a", "mess\n")
    repo.write("x.bin", "mess\n")
    back(taken.id)
    assert (repo.read("a"), repo.read("x.bin"), repo.read("new.bin")) == (
        b"changed\n",
        b"mess\n",
        b"new\n",
    )


def test_git_dir_and_work_tree_from_the_environment(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Repo(repo.top / "place")
    place.top.mkdir()
    monkeypatch.setenv("GIT_DIR", str(repo.top / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(place.top))
    monkeypatch.chdir(place.top)
    base(place)
    there_and_back(place, "a.txt", "b.txt", "made")
    assert set(repo.files()) == {f"place/{path}" for path in place.files()}


def test_an_index_of_the_callers_own_is_not_the_users(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    base(repo)
    repo.write("b.txt", "staged\n")
    repo.git("add", "b.txt")
    staged = repo.git("write-tree").strip()
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo.top / ".git/partial"))
    repo.git("read-tree", "--empty")
    partial = repo.read(".git/partial")
    taken = take()
    assert taken.meta.values["index"]["tree"] == staged
    assert repo.read(".git/partial") == partial


@pytest.mark.parametrize(
    ("name", "linked"),
    [("post-checkout", True), ("pre-rebase", False), ("post-merge", True)],
)
def test_inside_other_hooks(repo: Repo, name: str, linked: bool) -> None:
    def world(script: str) -> tuple[object, ...]:
        copy = Repo(repo.top / f".git/copy-{bool(script)}")
        repo.git("clone", "-q", str(repo.top), str(copy.top))
        copy.git("branch", "-q", "side", "origin/side")
        place = copy
        if linked:
            copy.git("worktree", "add", "-q", "-b", "work", "linked")
            place = Repo(copy.top / "linked")
        if script:
            copy.write(f".git/hooks/{name}", script, 0o755)
        place.write("untracked", "u\n")
        commands = (("checkout", "-q", "-b", "new"), ("rebase", "-q", "side"), ("merge", "side~"))
        for command in (*commands, ("commit", "-q", "--allow-empty", "-m", "more")):
            place.git(*command)
        place.git("merge", "-q", "--no-ff", "-m", "merged", "origin/late")
        if script:
            newest = refs(copy, "checkpoints")[-1].split()[0]
            kept = copy.git("ls-tree", "-r", "--name-only", newest)
            assert {"a", "untracked"} <= set(kept.split())
        log = place.git("log", "--format=%T %s")
        return log, place.git("ls-files", "-s", "-v"), place.status(), place.files()

    repo.commit("first", a="a\n")
    for branch in ("side", "late"):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.commit(branch, **{branch: "x\n"})
        repo.commit(branch, **{branch: "y\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("second", b="b\n")
    assert world("#!/bin/sh\ngit boocode checkpoint || exit 1\n") == world("")


def test_a_repository_of_someone_else(repo: Repo, sealed: Path) -> None:
    base(repo)
    strange = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    if subprocess.run(["git", "status"], env={**os.environ, **strange}).returncode == 0:
        pytest.skip("this git does not check who owns a repository")
    refused = repo.boocode("checkpoint", "--json", env=strange)
    assert (refused.code, refused.json["ok"]) == (128, False)
    assert "safe.directory" in refused.out
    assert refs(repo, "checkpoints") == []
    with (sealed / ".gitconfig").open("a") as config:
        config.write(f"[safe]\n\tdirectory = {repo.top}\n")
    assert repo.boocode("checkpoint", env=strange).code == 0


def test_a_repository_that_says_it_is_bare(repo: Repo) -> None:
    base(repo)
    repo.git("config", "core.bare", "true")
    done = repo.boocode("checkpoint", "--json")
    assert (done.code, done.json["ok"]) == (128, False)
    repo.git("config", "core.bare", "false")
    assert refs(repo, "checkpoints") == []


def test_no_checkpoint_in_a_push_quarantine(repo: Repo) -> None:
    base(repo)
    quarantine = repo.top / ".git/objects/quarantine"
    quarantine.mkdir()
    env = {
        "GIT_OBJECT_DIRECTORY": str(quarantine),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repo.top / ".git/objects"),
        "GIT_QUARANTINE_PATH": str(quarantine),
    }
    done = repo.boocode("checkpoint", env=env)
    shutil.rmtree(quarantine)
    assert done.code == 128
    assert refs(repo, "checkpoints") == []
    sound(repo)


def test_missing_blobs_of_earlier_commits_are_not_fetched(repo: Repo) -> None:
    base(repo)
    repo.commit("second", **{"b.txt": "second\n"})
    old = repo.git("rev-parse", "HEAD~:b.txt").strip()
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.top}", "clone")
    place = Repo(repo.top / "clone")
    os.chdir(place.top)
    place.git("remote", "set-url", "origin", "file:///nowhere")
    place.git("reset", "-q", "--soft", "HEAD~")
    there_and_back(place, "a.txt", "b.txt", "made")
    missing = place.git("rev-list", "--objects", "--all", "--missing=print")
    assert f"?{old}" in missing.split()


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_a_file_that_is_written_while_it_is_read(repo: Repo, how: str) -> None:
    base(repo)
    large = repo.write("large", os.urandom(1 << 20))
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            if how == "truncated":
                large.write_bytes(b"")
                large.write_bytes(b"x" * (1 << 20))
            else:
                repo.write("large.new", b"y" * (1 << 20)).replace(large)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            taken = capture(Repository.discover(), Request()).checkpoint
            kept = tree(repo, taken)
            assert kept["a.txt"] == "a changed\n"
            assert "large" in {*kept, *skipped(taken)}
    finally:
        ended.set()
        writer.join()
    sound(repo)


@pytest.mark.ref_files
def test_head_names_a_missing_commit(repo: Repo) -> None:
    base(repo)
    repo.write(".git/refs/heads/main", f"{'1' * 40}\n")
    done = repo.boocode("checkpoint")
    if done.code:
        assert (done.code, refs(repo, "checkpoints")) == (128, [])
    else:
        newest = f"refs/boocode/checkpoints/{done.out.strip()}"
        assert repo.git("show", f"{newest}:a.txt") == "a changed\n"
