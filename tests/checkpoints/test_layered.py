"""An index and what differs from it answer as one index does."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from git_boocode.checkpoints.worktree import layered as layers
from git_boocode.checkpoints.worktree import scan as reading
from git_boocode.checkpoints.worktree.disk import Disk
from git_boocode.checkpoints.worktree.layered import LayeredIndex
from git_boocode.repo.index import Entry, Index, copy_index
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import held, held_without_history, take
from tests.repo_kit import Repo

OLD = 1_700_000_000
LATER = 100_000.0


def layered(repo: Repo, overlaid: LayeredIndex | None = None, since: float = 0.0) -> LayeredIndex:
    """The repository's index as it is now, with nothing over it or with what is over another."""
    repository = Repository.discover()
    path = str(repo.top / ".git/base.index")
    if overlaid is None:
        Path(path).unlink(missing_ok=True)
        copy_index(repository.index_path, path)
    overlay = overlaid.overlay if overlaid else {}
    moment = since or time.time() + LATER
    index = Index(repository.git, path)
    return LayeredIndex(index, overlay, Disk(str(repo.top)), moment, repository.zero_id)


def entries(index: Index) -> list[Entry]:
    return index.entries()


def follow(index: LayeredIndex | Index, extra: list[str], top: Path) -> list[str]:
    """Bring an index up to what is on disk; the paths that were read."""
    differing = index.changed_on_disk()
    gone = [path for path in differing if not (top / path).is_file()]
    index.forget(gone)
    there = [path for path in differing if path not in gone]
    assert index.add([*there, *extra]).status == 0
    return there


def base_of(repo: Repo) -> None:
    repo.commit(**{"a": "a\n", "b": "b\n", "dir/c": "c\n", "dir/d": "d\n"})
    for path in repo.files():
        os.utime(repo.top / path, (OLD, OLD))
    repo.git("update-index", "--refresh")


def mess(repo: Repo, rng: random.Random) -> list[str]:
    """Change something; the files that no index knows yet."""
    before = set(repo.files())
    for name in rng.sample(["a", "b", "dir/c", "dir/d", "new", "made/x"], rng.randint(1, 3)):
        path = repo.top / name
        if path.exists() and rng.random() < 0.4:
            path.unlink()
        else:
            repo.write(name, f"{rng.random()}\n", rng.choice((0o644, 0o755)))
    return sorted(set(repo.files()) - before)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_as_one_index_is(repo: Repo, seed: int) -> None:
    rng = random.Random(seed)
    base_of(repo)
    plain = Index(Repository.discover().git, str(repo.top / ".git/plain.index"))
    copy_index(str(repo.top / ".git/index"), plain.path)
    index = layered(repo)
    for _ in range(4):
        extra = mess(repo, rng)
        index = layered(repo, index)
        follow(index, extra, repo.top)
        follow(plain, extra, repo.top)
        assert sorted(index.paths()) == plain.paths()
        assert sorted(index.listed(index.git, "--", "dir")) == plain.listed(plain.git, "--", "dir")
    assert entries(index.whole()) == entries(plain)
    assert index.whole().changed_on_disk() == []


def test_what_has_settled_is_not_looked_into_again(repo: Repo) -> None:
    base_of(repo)
    repo.write("a", "changed\n")
    index = layered(repo)
    assert follow(index, [], repo.top) == ["a"]
    assert layered(repo, index).changed_on_disk() == []
    repo.write("a", "CHANGED\n")
    assert layered(repo, index).changed_on_disk() == ["a"]


def test_what_was_young_is_looked_into_again(repo: Repo) -> None:
    base_of(repo)
    repo.write("a", "changed\n")
    index = layered(repo, since=time.time())
    assert follow(index, [], repo.top) == ["a"]
    assert layered(repo, index).changed_on_disk() == ["a"]


def test_whole_seconds_take_longer_to_settle(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    base_of(repo)
    repo.write("a", "changed\n")
    whole = int(time.time())
    found = os.lstat(repo.top / "a")
    second = os.stat_result(
        found[:10],
        {"st_mtime_ns": whole * 10**9, "st_ctime_ns": whole * 10**9, "st_mtime": whole},
    )
    monkeypatch.setattr(Disk, "status", lambda *_: second)
    for after, settled in ((1, False), (2, False), (3, True)):
        index = layered(repo, since=whole + after + 0.5)
        index.add(["a"])
        recorded = index.overlay["a"]
        assert recorded is not None
        assert (recorded.seen is not None) is settled


def test_a_file_that_a_symlink_leads_to_now(repo: Repo) -> None:
    base_of(repo)
    repo.write("dir/c", "changed\n")
    index = layered(repo)
    assert follow(index, [], repo.top) == ["dir/c"]
    (repo.top / "dir").rename(repo.top / "elsewhere")
    (repo.top / "dir").symlink_to("elsewhere")
    assert "dir/c" in layered(repo, index).changed_on_disk()


def test_a_file_and_a_directory_change_places(repo: Repo) -> None:
    base_of(repo)
    index = layered(repo)
    (repo.top / "a").unlink()
    repo.write("a/below", "x\n")
    index.changed_on_disk()
    index.forget(["a"])
    index.add(["a/below"])
    assert {"a/below", "b", "dir/c", "dir/d"} == {entry.path for entry in entries(index.whole())}


def test_line_endings_stay_as_they_were_recorded(repo: Repo) -> None:
    """Git keeps those of a file that had Windows ones in the index, whatever autocrlf says."""
    repo.commit(a="1\r\n2\r\n", b="b\n")
    repo.git("config", "core.autocrlf", "true")
    take()
    for content in ("1\r\n2\r\n3\r\n", "1\r\n2\r\n4\r\n"):
        repo.write("a", content)
        repo.write("b", f"b\n{content}")
        taken = take()
        assert repo.git("show", f"{taken.tree}:a").encode() == content.encode()
    assert held() == held_without_history()


def kept_indexes(repo: Repo) -> set[str]:
    """The names of the indexes that were left."""
    found = (repo.top / ".git/boocode").glob("kept-index-*")
    return {path.name for path in found if path.suffix != ".json"}


def test_a_new_index_is_left_once_much_differs(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_OVERLAID", 3)
    repo.commit(**{f"f{number}": "x\n" for number in range(9)})
    left = []
    for number in range(8):
        repo.write(f"f{number}", "changed\n")
        repo.write(f"new{number}", "new\n")
        assert held() == held_without_history()
        left.append(kept_indexes(repo))
    assert all(len(names) == 1 for names in left)
    assert left[0] == left[1] != left[2] == left[3] != left[4]


@pytest.mark.parametrize(("cores", "files"), [(0, 25), (99, 10**6), (99, 0)])
def test_which_of_gits_walks_ends_first_does_not_matter(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, cores: int, files: int
) -> None:
    monkeypatch.setattr(reading, "_FEW_CORES", cores)
    monkeypatch.setattr(reading, "_FILES_EACH", files)
    repo.commit(**{"a": "a\n", "dir/b": "b\n"})
    take()
    repo.write("a", "changed\n")
    repo.write("dir/new", "new\n")
    os.mkfifo(repo.top / "dir/pipe")
    found = held()
    assert [row["path"] for row in found.skipped] == ["dir/pipe"]
    assert found == held_without_history()


@pytest.mark.parametrize("most", [0, 2, 5])
def test_very_many_files_at_once(repo: Repo, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(layers, "_MOST", most)
    repo.commit(**{f"f{number}": "x\n" for number in range(6)})
    take()
    for turn in range(4):
        for number in range(turn, 6):
            repo.write(f"f{number}", f"{turn}\n")
        repo.write(f"new{turn}", "new\n")
        (repo.top / f"f{turn}").unlink()
        assert held() == held_without_history()
