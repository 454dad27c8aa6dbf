from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.errors import FatalError
from git_boocode.repo.ids import ID
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import Effort, Host, back, refs, seen, sound, take
from tests.repo_kit import Repo


def tree(repo: Repo, taken: Checkpoint) -> dict[str, str]:
    """The files of a checkpoint, and what they hold."""
    names = repo.git("ls-tree", "-r", "-z", "--name-only", taken.commit.id).split("\0")[:-1]
    return {name: repo.git("cat-file", "blob", f"{taken.commit.id}:{name}") for name in names}


def skipped(taken: Checkpoint) -> dict[str, str]:
    """The paths that a checkpoint could not record, and why."""
    return {row["path"]: row["reason"] for row in taken.meta.values["skipped"]}


LONG = (
    "sort the menu by price, cheapest first, and then write a test for it\n\n"
    + "SECRET " * 150
    + "!"
)


@pytest.mark.parametrize(
    ("setting", "prompt"),
    [("full", LONG), ("first-line", LONG.split("\n", maxsplit=1)[0]), ("none", ""), ("odd", "")],
)
def test_a_long_label_is_a_prompt(repo: Repo, setting: str, prompt: str) -> None:
    repo.git("config", "boocode.prompts", setting)
    first = "sort the menu by price, cheapest first, and then write a …"
    for label in (LONG, LONG.split("\n", maxsplit=1)[0] * 2_000):
        texts = take(label=label).texts
        assert texts["label"] == first
    taken = take(label=LONG)
    assert taken.texts["prompt"] == prompt
    found = Catalog(Repository.discover()).find(f"label:{LONG if prompt == LONG else first}")
    assert found.id == taken.id
    assert take(label="short").texts["prompt"] == ""


def test_the_parts_of_a_checkpoint(repo: Repo) -> None:
    head = repo.commit(a="a\n")
    repo.write("b", "staged\n")
    repo.git("add", "b")
    repo.write("b", "changed\n")
    repo.write("c", "new\n")
    texts = {"label": "l", "session": "s", "chat": "c", "message": "m", "agent": "g"}
    taken = take(**texts, trigger="t", meta={"k": "v"})
    assert ID.fullmatch(taken.id)
    assert taken.ref == f"refs/boocode/checkpoints/{taken.id}"
    assert repo.git("rev-parse", taken.ref).strip() == taken.commit.id
    assert tree(repo, taken) == {"a": "a\n", "b": "changed\n", "c": "new\n"}
    index = taken.meta.values["index"]
    assert taken.commit.parents == (head, index["commit"])
    assert repo.git("cat-file", "blob", f"{index['commit']}:b") == "staged\n"
    values = dict(taken.meta.values)
    assert values.pop("created_at").endswith("Z")
    assert re.fullmatch("[0-9a-f]{64}", values.pop("proof"))
    assert values == {
        "boocode": 1, "kind": "checkpoint", "id": taken.id, **texts, "trigger": "t",
        "worktree": {"name": "main", "path": str(repo.top)},
        "head": {"ref": "refs/heads/main", "commit": head},
        "index": {"tree": index["tree"], "commit": index["commit"], "details": None},
        "state": None,
        "anchor": {"agent": "g", "session": "s", "chat": "c", "message": "m"},
        "skipped": [],
        "meta": {"k": "v"},
    }  # fmt: skip
    sound(repo)


def test_missing_texts_are_null(repo: Repo) -> None:
    taken = take()
    keys = ("label", "session", "chat", "message", "agent")
    assert [taken.meta.values[key] for key in keys] == [None] * 5
    assert (taken.meta.values["trigger"], taken.meta.values["anchor"]) == ("manual", {})
    assert taken.commit.parents == ()


def test_only_if_changed(repo: Repo) -> None:
    repo.commit(a="a\n")
    repository = Repository.discover()
    first = capture(repository, Request())
    again = capture(repository, Request(only_if_changed=True))
    assert (first.changed, again.changed) == (True, False)
    assert again.checkpoint.ref == first.checkpoint.ref
    assert not capture(repository, Request()).changed
    for change in ("file", "staging", "head"):
        if change == "file":
            repo.write("a", "b\n")
        elif change == "staging":
            repo.git("add", "a")
        else:
            repo.git("commit", "-q", "-m", "x")
        assert capture(repository, Request(only_if_changed=True)).changed, change


def test_ignored_files_are_not_recorded(repo: Repo) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.write("a.log", "x")
    repo.write(".git/info/exclude", "secret\n")
    repo.write("secret", "x")
    assert set(tree(repo, take())) == {".gitignore"}


def test_a_file_that_is_too_large(repo: Repo) -> None:
    repo.commit(tracked="x" * 2000)
    repo.git("config", "boocode.maxFileSize", "1k")
    repo.write("large\n", b"x" * 1025)
    repo.write("small", b"x" * 1024)
    repo.write("tracked", b"y" * 3000)
    taken = take()
    assert set(tree(repo, taken)) == {"small", "tracked"}
    assert skipped(taken) == {"large\n": "larger than boocode.maxFileSize (1024 bytes)"}


def test_a_bad_size(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "huge")
    with pytest.raises(FatalError) as caught:
        take()
    assert caught.value.code == "bad_config"
    assert refs(repo) == []


@pytest.mark.parametrize("commits", [True, False])
def test_nested_repositories_are_left_out(repo: Repo, commits: bool) -> None:
    repo.write("a", "a\n")
    inner = repo.top / "deep/inner"
    inner.mkdir(parents=True)
    Repo(inner).git("init", "-q")
    if commits:
        Repo(inner).commit(x="x\n")
    taken = take()
    assert set(tree(repo, taken)) == {"a"}
    assert skipped(taken) == {"deep/inner": "nested repository"}


def broken_filter(repo: Repo) -> None:
    """A filter that cannot read what it ought to."""
    repo.git("config", "filter.broken.clean", "echo no reading this >&2; exit 1")
    repo.git("config", "filter.broken.required", "true")
    repo.write(".gitattributes", "*.bad filter=broken\n")


def test_an_unreadable_file_does_not_affect_the_others(repo: Repo) -> None:
    repo.commit(**{"tracked.bad": "old\n", "a": "a\n"})
    broken_filter(repo)
    repo.write("tracked.bad", "new\n")
    repo.write("untracked.bad", "new\n")
    repo.write("a", "changed\n")
    repo.write("b", "new\n")
    taken = take()
    assert set(skipped(taken)) == {"tracked.bad", "untracked.bad"}
    assert all("external filter" in why for why in skipped(taken).values())
    kept = tree(repo, taken)
    assert (kept["a"], kept["b"], kept["tracked.bad"]) == ("changed\n", "new\n", "old\n")
    assert "untracked.bad" not in kept


def test_a_pipe_in_place_of_a_tracked_file(repo: Repo) -> None:
    repo.commit(a="a\n")
    (repo.top / "a").unlink()
    os.mkfifo(repo.top / "a")
    assert skipped(take()) == {"a": "unsupported file type"}


def test_the_lock_of_a_ref_that_a_killed_git_left_stops_nothing(repo: Repo) -> None:
    repo.commit(a="a\n")
    first = take()
    lock = repo.top / f".git/{first.ref}.lock"
    lock.touch()
    os.utime(lock, (1000, 1000))
    repo.write("a", "changed\n")
    assert take().ref != first.ref
    assert not lock.exists()


def test_the_index_is_locked(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "b\n")
    lock = repo.write(".git/index.lock", "someone's")
    assert tree(repo, take()) == {"a": "b\n"}
    assert lock.read_bytes() == b"someone's"


@pytest.mark.parametrize("content", [b"", b"garbage", b"DIRC\0\0\0\2\0\0\0\1"])
def test_the_index_is_damaged(repo: Repo, content: bytes) -> None:
    repo.commit(a="a\n", gone="g\n")
    repo.write("a", "b\n")
    repo.write("c", "c\n")
    (repo.top / "gone").unlink()
    repo.write(".git/index", content)
    taken = take()
    assert tree(repo, taken) == {"a": "b\n", "c": "c\n"}
    assert repo.read(".git/index") == content
    if content:
        assert list(skipped(taken)) == [".git/index"]
        assert taken.meta.values["index"] == {"tree": None, "commit": None, "details": None}


def test_a_damaged_index_does_not_hinder_a_restore(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "b\n")
    before = seen(repo)
    taken = take()
    repo.write("a", "c\n")
    repo.write(".git/index", b"garbage")
    back(taken.id)
    assert seen(repo) == before


def test_edits_of_the_same_size_in_one_tick_of_the_clock_are_not_missed(repo: Repo) -> None:
    repo.commit(a="0000\n", b="0\n")
    repository = Repository.discover()
    missed = []
    for number in range(1, 19):
        repo.write("a", f"{number:04}\n")
        if number % 3 == 0:
            repo.git("add", "a")
            repo.write("a", f"{number + 1000:04}\n")
        taken = capture(repository, Request()).checkpoint
        if repo.git("cat-file", "blob", f"{taken.commit.id}:a").encode() != repo.read("a"):
            missed.append(number)
    assert missed == []


def test_racy_edits_with_equal_times_are_not_missed(repo: Repo) -> None:
    repo.commit(a="0000\n")
    repository = Repository.discover()
    moment = (repo.top / ".git/index").stat().st_mtime_ns
    for number in range(1, 9):
        repo.write("a", f"{number:04}\n")
        os.utime(repo.top / "a", ns=(moment, moment))
        repo.git("add", "a")
        os.utime(repo.top / ".git/index", ns=(moment, moment))
        repo.write("a", f"{number + 1000:04}\n")
        os.utime(repo.top / "a", ns=(moment, moment))
        taken = capture(repository, Request()).checkpoint
        kept = repo.git("cat-file", "blob", f"{taken.commit.id}:a")
        assert kept == f"{number + 1000:04}\n"


def test_parallel_captures_all_succeed(repo: Repo) -> None:
    repo.commit(a="a\n")
    program = (
        "import os, sys\n"
        "from git_boocode.checkpoints.capture import Request, capture\n"
        "from git_boocode.repo.repository import Repository\n"
        "for n in range(3):\n"
        "    open(f'f{sys.argv[1]}', 'w').write(f'{n}\\n')\n"
        "    print(capture(Repository.discover(), Request()).checkpoint.id)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    made = [line for process in running for line in process.communicate()[0].split()]
    assert [process.returncode for process in running] == [0] * 4
    assert len(set(made)) == 12
    assert {name.split()[0].rpartition("/")[2] for name in refs(repo, "checkpoints")} == set(made)
    assert set(tree(repo, take())) == {"a", *(f"f{n}" for n in range(4))}
    sound(repo)


def hook(repo: Repo, script: str) -> None:
    """Install a `pre-commit` hook."""
    path = repo.top / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("how", ["-a", "FILE", "staged", "--amend"])
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.variants
def test_inside_a_commit(repo: Repo, how: str, linked: bool) -> None:
    def world(name: str) -> tuple[object, ...]:
        """The same commit in a fresh copy; what came of it."""
        copy = Repo(repo.top.parent / f"{repo.top.name}-{name}")
        subprocess.run(["cp", "-a", repo.top, copy.top], check=True)
        place = copy
        if linked:
            copy.git("worktree", "add", "-q", "-b", "side", "linked")
            place = Repo(copy.top / "linked")
        place.write("a", "changed\n")
        place.write("b", "changed too\n")
        place.write("untracked", "u\n")
        if how in ("staged", "FILE"):
            place.git("add", "b")
        if name == "with":
            hook(copy, "git boocode checkpoint --label hook || exit 1")
        options = {"-a": ["-a"], "FILE": ["a"], "staged": [], "--amend": ["--amend", "-a"]}[how]
        place.git("commit", "-q", "-m", "made", *options)
        if name == "with":
            (ref,) = refs(copy)[:1]
            assert ref.startswith("refs/boocode/checkpoints/")
            kept = copy.git("ls-tree", "-r", "--name-only", ref.split()[0]).split()
            assert kept == ["a", "b", "untracked"]
        staged = place.git("ls-files", "-s", "-v")
        log = place.git("log", "--format=%T %s %ad", "-p")
        return staged, log, place.status().partition("\0")[2], place.files()

    repo.commit(a="a\n", b="b\n")
    assert world("with") == world("without")


def test_dates_exported_by_a_commit_are_not_used(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
    taken = take()
    when = repo.git("log", "-1", "--format=%at %ct", taken.commit.id).split()
    assert when[0] == when[1]
    assert int(when[0]) > 1_700_000_000


def test_a_worktree_that_is_gone(repo: Repo) -> None:
    repository = Repository.discover(str(repo.top))
    moved = repo.top.with_name(f"{repo.top.name}-moved")
    repo.top.rename(moved)
    try:
        with pytest.raises(FatalError) as caught:
            _ = repository.config
        assert caught.value.code == "no_directory"
    finally:
        moved.rename(repo.top)


def test_a_capture_waits_for_a_restore_but_not_inside_its_callback(repo: Repo) -> None:
    repo.commit(a="a\n")
    take()
    repo.write("a", "b\n")
    host = Host(repo, trim="git boocode checkpoint >.git/inner || exit 1\necho '{}'")
    back(callback=host.path)
    inner = repo.read(".git/inner").decode().strip()
    assert repo.git("cat-file", "blob", f"refs/boocode/checkpoints/{inner}:a") == "a\n"


def test_a_read_only_object_store_changes_nothing(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "b\n")
    objects = Path(".git/objects")
    objects.rename(".git/away")
    objects.touch()
    done = repo.boocode("checkpoint", "--json")
    assert done.code == 128
    assert done.json["ok"] is False
    objects.unlink()
    Path(".git/away").rename(objects)
    assert refs(repo, "checkpoints") == []
    sound(repo)


@pytest.mark.ref_files
def test_a_checkpoint_after_a_turn_takes_few_processes(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="a\n", b="b\n")
    take()
    repo.write("a", "changed\n")
    repo.write("new", "new\n")
    effort = Effort(monkeypatch)
    assert effort.of(take)[0] <= 7
    # Nothing changed: no object is written.
    assert effort.of(take)[0] <= 5
