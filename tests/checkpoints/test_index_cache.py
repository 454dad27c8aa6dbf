"""The private index that one capture leaves to the next: a help, and never more than that."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.errors import BoocodeError
from tests.checkpoints.kit import (
    back,
    held,
    held_without_history,
    refs,
    seen,
    sound,
    take,
    undone,
)
from tests.checkpoints.test_capture import tree
from tests.repo_kit import Repo, mounted

NOTE = "kept-index.json"


def state(repo: Repo) -> Path:
    """Where the main worktree's private files are."""
    return repo.top / ".git/boocode"


def indexes(private: Path) -> list[Path]:
    """The indexes that were left."""
    return sorted(path for path in private.glob("kept-index*") if path.suffix != ".json")


def note(repo: Repo) -> dict[str, Any]:
    """What was noted of the one that was left."""
    found: dict[str, Any] = json.loads((state(repo) / NOTE).read_text())
    return found


def set_up(repo: Repo) -> None:
    """A checkpoint of files in every condition, and changes since."""
    repo.write(".gitignore", "*.log\n")
    repo.commit(**{"a": "a\n", "b": "b\n", "gone": "g\n", "dir/c": "c\n"})
    repo.write("b", "changed\n")
    (repo.top / "gone").unlink()
    for path in ("new", "made/x", "made/y", "x.log"):
        repo.write(path, f"{path}\n")
    settle(repo)
    held()
    repo.write("a", "changed\n")
    repo.write("new", "changed\n")
    repo.write("newer", "newer\n")
    (repo.top / "made/y").unlink()


def settle(repo: Repo) -> None:
    """Let all files be so old that git trusts what an index says of them."""
    for path in repo.files():
        os.utime(repo.top / path, (1_700_000_000, 1_700_000_000))
    repo.git("update-index", "-q", "--refresh", check=False)


def goes_on(repo: Repo) -> None:
    """The next checkpoint is right, and leaves an index to the one after it, which is right too."""
    taken = held()
    assert taken == held_without_history()
    newest = refs(repo, "checkpoints")
    values = note(repo)
    assert indexes(state(repo)) == [state(repo) / "kept-index"]
    assert f"{values['ref']} {values['commit']}" in newest
    assert held() == taken
    sound(repo)


def changed(**values: Any) -> Callable[[dict[str, Any]], str]:
    """A note with other values."""
    return lambda old: json.dumps({**old, **values})


def without(key: str) -> Callable[[dict[str, Any]], str]:
    """A note without a value."""
    return lambda old: json.dumps({name: value for name, value in old.items() if name != key})


ID = "1" * 40
KEYS = ("ref", "content", "user_index", "extra", "missing", "since", "recent", "modules", "crc")
NOTES: dict[str, Callable[[dict[str, Any]], str]] = {
    "empty": lambda _: "",
    "cut off": lambda old: json.dumps(old)[:-40],
    "a list": lambda _: "[]",
    "a huge number": lambda _: "9" * 5000,
    "too deep": lambda _: "[" * 100_000,
    "no text": lambda _: "\udcff\udcfe",
    "another version": changed(version=99),
    "another sum": changed(crc=1),
    "a bad path": changed(content=[ID, ID, ID, f"H 100644 {ID} 1\t../../x\0"]),
    "content of another kind": changed(content=["x"]),
    "a time as text": changed(since="soon"),
    "another ref": changed(ref="refs/heads/main"),
    "a ref that is an option": changed(ref="--all"),
    "another commit": changed(commit="1" * 40),
    "other rules": changed(rules="x"),
    "another index of the user's": changed(user_index="x"),
    **{f"without {key}": without(key) for key in KEYS},
    **{f"null for {key}": changed(**{key: None}) for key in KEYS},
    **{f"text for {key}": changed(**{key: [["a"]]}) for key in KEYS},
}


@pytest.mark.slow
def test_an_invalid_note_only_costs_time(repo: Repo) -> None:
    set_up(repo)
    aside = repo.top / ".git/aside"
    shutil.copytree(state(repo), aside)
    expected = held_without_history()
    wrong = []
    for name, change_note in NOTES.items():
        shutil.rmtree(state(repo))
        shutil.copytree(aside, state(repo))
        (state(repo) / NOTE).write_bytes(os.fsencode(change_note(note(repo))))
        try:
            if held() != expected:
                wrong.append(f"{name}: another content")
            if not (state(repo) / "kept-index").exists():
                wrong.append(f"{name}: nothing is left")
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{name}: {error}")
    assert wrong == []


@pytest.mark.parametrize("how", ["gone", "half", "bit", "other", "dir", "fifo"])
@pytest.mark.variants
def test_a_damaged_cache_only_costs_time(repo: Repo, how: str) -> None:
    set_up(repo)
    (index,) = indexes(state(repo))
    content = index.read_bytes()
    index.unlink()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    if how == "dir":
        index.mkdir()
        (index / "x").touch()
    elif how == "fifo":
        os.mkfifo(index)
    elif how != "gone":
        index.write_bytes(
            {
                "half": content[: len(content) // 2],
                "bit": bytes(flipped),
                "other": repo.read(".git/index"),
            }[how]
        )
    goes_on(repo)


def prune(repo: Repo) -> None:
    """Collect all that nothing names."""
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")


def drop(repo: Repo) -> None:
    """Drop every checkpoint."""
    for line in refs(repo, "checkpoints"):
        repo.git("update-ref", "-d", line.split()[0])


def test_the_ref_and_its_objects_are_gone(repo: Repo) -> None:
    set_up(repo)
    drop(repo)
    prune(repo)
    goes_on(repo)


def test_an_earlier_state_of_the_private_files_comes_back(repo: Repo) -> None:
    set_up(repo)
    shutil.copytree(state(repo), repo.top / ".git/earlier")
    held()
    repo.commit("everything", a="committed\n")
    held()
    shutil.rmtree(state(repo))
    (repo.top / ".git/earlier").rename(state(repo))
    goes_on(repo)


def left(repo: Repo) -> dict[str, bytes]:
    """What lies there for the next capture."""
    found = state(repo).glob("kept-index*")
    return {path.name: path.read_bytes() for path in found}


def test_a_failed_capture_keeps_the_old_cache(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(repo)
    before = left(repo)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises((OSError, BoocodeError)):
            take()
    assert left(repo) == before
    goes_on(repo)


@pytest.mark.parametrize("failing", ["replace", "link"])
def test_a_cache_that_does_not_fit_on_the_disk_is_no_error(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    set_up(repo)
    before = left(repo)
    done = getattr(os, failing)

    def full(source: str, target: str) -> None:
        if os.path.basename(target).startswith("kept-index"):
            raise OSError(errno.ENOSPC, "No space left on device")
        done(source, target)

    with monkeypatch.context() as broken:
        broken.setattr(os, failing, full)
        taken = take()
    assert repo.git("show", f"{taken.commit.id}:newer") == "newer\n"
    if failing == "replace":
        assert left(repo) == before
    goes_on(repo)


@pytest.fixture
def paths_with_filter(repo: Repo) -> Repo:
    """A repository whose files go through a filter that writes down which."""
    log = repo.top / ".git/paths_with_filter"
    log.touch()
    repo.git("config", "filter.log.clean", f"echo %f >>'{log}'; cat")
    # Not in a `.gitattributes`: one that has just been written counts as unsettled.
    repo.write(".git/info/attributes", "* filter=log\n")
    repo.commit(**{"same": "s\n", "changed": "c\n", "dir/same": "d\n"})
    repo.write("changed", "changed\n")
    for number in range(3):
        repo.write(f"untracked/{number}", "u\n")
    repo.write("staged", "s\n")
    repo.git("add", "staged")
    settle(repo)
    log.write_text("")
    return repo


def read(repo: Repo) -> list[str]:
    """Which files went through the filter since the last time."""
    log = repo.top / ".git/paths_with_filter"
    found = log.read_text().split()
    log.write_text("")
    return sorted(set(found))


UNTRACKED = ["untracked/0", "untracked/1", "untracked/2"]


def next_second() -> None:
    """Wait: what was changed in the very second of a capture is read again by the next."""
    time.sleep(1.06 - time.time() % 1)


def change(repo: Repo, *paths: str) -> None:
    """Change files, each to an old time of its own, so that git need not look at them again."""
    for path in paths:
        repo.write(path, "other\n")
        os.utime(repo.top / path, (1_700_000_100, 1_700_000_100))
    next_second()


def test_nothing_is_read_twice(paths_with_filter: Repo) -> None:
    next_second()
    take()
    assert read(paths_with_filter) == ["changed", *UNTRACKED]
    take()
    assert read(paths_with_filter) == []
    change(paths_with_filter, "untracked/1", "dir/same", "new")
    take()
    assert read(paths_with_filter) == ["dir/same", "new", "untracked/1"]
    take()
    assert read(paths_with_filter) == []


@pytest.fixture(
    params=["one file system", pytest.param("two file systems", marks=pytest.mark.slow)]
)
def behind(
    request: pytest.FixtureRequest,
    repo: Repo,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Repo]:
    """A worktree whose file system is behind the system's clock; its git directory may be on it."""
    repo.commit(a="v0\n", b="b\n")
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 1.0)
    if request.param == "one file system":
        yield repo
        return
    place = tmp_path / "other"
    place.mkdir()
    with mounted(place, "-t", "tmpfs", "tmpfs"):
        repo.git("worktree", "add", "-q", "--detach", str(place / "linked"))
        monkeypatch.chdir(place / "linked")
        yield Repo(place / "linked")
        monkeypatch.chdir(repo.top)


def test_files_rewritten_in_one_second_of_a_slow_file_system(behind: Repo) -> None:
    repo = behind
    for number in range(2):
        next_second()
        repo.write("a", f"{number}1\n")
        take()
        repo.write("a", f"{number}2\n")
        assert tree(repo, take())["a"] == f"{number}2\n"


COMMANDS = (
    ("add", "changed", "untracked/0"),
    ("commit", "-q", "-m", "staged"),
    ("checkout", "-q", "-b", "other"),
    ("reset", "-q", "--mixed", "HEAD~"),
    ("stash", "create"),
    ("rm", "-q", "--cached", "same"),
    ("update-index", "--assume-unchanged", "dir/same"),
    ("update-index", "--force-write-index"),
)


def test_nothing_is_read_again_because_the_index_changed(paths_with_filter: Repo) -> None:
    next_second()
    take()
    for command in COMMANDS:
        paths_with_filter.git(*command)
        read(paths_with_filter)
        taken = take()
        assert (command, read(paths_with_filter)) == (command, [])
        assert tree(paths_with_filter, taken).keys() == paths_with_filter.files().keys()
    assert held() == held_without_history()


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_where_a_submodule_is_staged(repo: Repo, is_link: bool) -> None:
    set_up(repo)
    commit = repo.git("rev-parse", "HEAD").strip()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},module")
    if is_link:
        (repo.top / "module").symlink_to("nowhere")
    else:
        repo.write("module", "precious\n")
    assert tree(repo, take())["module"] == ("nowhere" if is_link else "precious\n")
    assert held() == held_without_history()


@pytest.mark.slow
def test_an_empty_submodule_that_comes_where_a_file_was(repo: Repo) -> None:
    repo.commit(a="a\n")
    commit = repo.git("rev-parse", "HEAD").strip()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub/module")
    module = repo.write("sub/module", "a file\n")
    for _ in range(2):
        assert held() == held_without_history()
        module.unlink()
        assert held() == held_without_history()
        module.mkdir()
        assert held() == held_without_history()
        module.rmdir()
        repo.write("sub/module", "a file again\n")
        assert held() == held_without_history()
        module.unlink()
        module.mkdir()
        assert held() == held_without_history()
        module.rmdir()
        repo.write("sub/module/x", "x\n")
        assert held() == held_without_history()
        (module / "x").unlink()
        module.rmdir()
        module.symlink_to("elsewhere")
        assert held() == held_without_history()


def flag_out(repo: Repo) -> None:
    """Leave a directory out with flags only."""
    repo.git("update-index", "--skip-worktree", "out/b", "out/deep/c")
    shutil.rmtree(repo.top / "out")


OMISSIONS: dict[str, Callable[[Repo], object]] = {
    "flags": flag_out,
    "a sparse checkout": lambda repo: repo.sparse("in"),
    "a sparse index": lambda repo: repo.sparse("in", "--sparse-index"),
    "patterns": lambda repo: repo.git("sparse-checkout", "set", "--no-cone", "/*", "!/out"),
}


@pytest.mark.slow
@pytest.mark.parametrize("omit", OMISSIONS)
def test_files_that_were_left_out_are_recorded_once_they_exist(repo: Repo, omit: str) -> None:
    repo.commit(**{"a": "a\n", "in/a": "a\n", "out/b": "b\n", "out/deep/c": "c\n"})
    OMISSIONS[omit](repo)
    if omit == "patterns":
        assert not (repo.top / "out").exists()
    omitted, out = {"out/b": "b\n", "out/deep/c": "c\n"}, repo.top / "out"

    def checks(**there: str) -> None:
        """The checkpoint has the files outside, as they are on disk, and a restore returns them."""
        taken = take()
        outside = {path: text for path, text in tree(repo, taken).items() if "out" in path}
        assert outside == there
        before = seen(repo)
        assert held() == held_without_history()
        repo.write("a", "changed\n")
        for path in ("out", "out/b"):
            if (repo.top / path).is_file():
                repo.write(path, "changed\n")
        mess = seen(repo)
        back(taken.id)
        assert seen(repo) == before
        undone()
        assert seen(repo) == mess
        back(taken.id)

    checks(**omitted)
    checks(**omitted)
    repo.write("out/b", "new work\n")
    checks(**{**omitted, "out/b": "new work\n"})
    repo.write("out/b", "newer\n")
    checks(**{**omitted, "out/b": "newer\n"})
    shutil.rmtree(out)
    checks(**omitted)
    repo.write("out/b/file", "in a directory\n")
    checks(**{"out/b/file": "in a directory\n", "out/deep/c": "c\n"})
    shutil.rmtree(out)
    repo.write("out", "a file\n")
    checks(out="a file\n")
    out.unlink()
    (repo.top / "in/other").mkdir()
    out.symlink_to("in/other")
    checks(out="in/other")
    out.unlink()
    checks(**omitted)
