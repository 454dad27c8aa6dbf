"""What `boocode.include` names is recorded although git ignores it, and is never pushed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.store.catalog import INCLUDED, WITHHELD, Catalog
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take, undone
from tests.checkpoints.test_sharing import Both, at, both, fetch, push, shared
from tests.repo_kit import Repo

__all__ = ["both"]

PRIVATE = "PASSWORD=one\n"


@pytest.fixture
def work(repo: Repo) -> Repo:
    """A repository that ignores `.env` files and `build`, and includes the former."""
    repo.commit(**{".gitignore": ".env\nbuild\n", "a": "a\n"})
    repo.git("config", "boocode.include", ":(glob)**/.env")
    repo.write(".env", PRIVATE)
    repo.write("sub/.env", "sub\n")
    repo.write("build", "ignored\n")
    return repo


def mode(repo: Repo, path: str) -> int:
    return stat.S_IMODE(os.stat(repo.top / path).st_mode)


def text(repo: Repo, path: str) -> str:
    return (repo.top / path).read_text()


def test_ignored_files_are_recorded_and_restored(work: Repo) -> None:
    first = take()
    assert first.meta.values[INCLUDED] == [".env", "sub/.env"]
    assert work.git("show", f"{first.commit.id}:.env") == PRIVATE
    assert "build" not in work.git("ls-tree", "-r", "--name-only", first.commit.id)
    work.write(".env", "PASSWORD=two\n")
    second = take()
    assert second.tree != first.tree
    (work.top / ".env").unlink()
    os.umask(0o022)
    back(second.id)
    assert (text(work, ".env"), mode(work, ".env")) == ("PASSWORD=two\n", 0o600)
    back(first.id)
    assert (text(work, ".env"), mode(work, ".env")) == (PRIVATE, 0o600)
    undone()
    undone()
    assert not (work.top / ".env").exists()


def test_a_new_one_is_never_deleted(work: Repo) -> None:
    (work.top / ".env").unlink()
    before = take()
    work.write(".env", PRIVATE)
    work.write("a", "changed\n")
    result = back(before.id)
    assert [each.path for each in result.kept] == [".env"]
    assert (text(work, ".env"), text(work, "a")) == (PRIVATE, "a\n")


def test_large_and_excluded_ones_are_left_out(work: Repo) -> None:
    work.git("config", "boocode.maxIncludedSize", "1k")
    work.git("config", "boocode.exclude", "sub")
    work.write(".env", "x" * 1025)
    taken = take()
    assert INCLUDED not in taken.meta.values
    assert taken.meta.skipped_paths == {".env"}


def test_a_file_that_git_does_not_ignore_is_private_as_well(work: Repo) -> None:
    work.write(".gitignore", "build\n")
    assert take().meta.values[INCLUDED] == [".env", "sub/.env"]


def test_a_turn_with_one_is_reverted(work: Repo) -> None:
    take()
    work.write(".env", "PASSWORD=two\n")
    work.write("a", "changed\n")
    take()
    assert work.boocode("revert", "@~1").code == 0
    assert (text(work, ".env"), text(work, "a")) == (PRIVATE, "a\n")


def test_a_fork_has_it_for_the_user_only(work: Repo, tmp_path: Path) -> None:
    take()
    os.umask(0o022)
    fork = Repo(tmp_path / "fork")
    assert work.boocode("fork", "@", str(fork.top)).code == 0
    assert (text(fork, ".env"), mode(fork, ".env")) == (PRIVATE, 0o600)


def test_the_end_of_a_turn(work: Repo) -> None:
    (work.top / ".env").unlink()
    turn = take()
    work.write(".env", PRIVATE)
    capture_turn_end(Repository.discover(), turn.id, "stop")
    (work.top / ".env").unlink()
    os.umask(0o022)
    assert work.boocode("restore", "--after", turn.id).code == 0
    assert (text(work, ".env"), mode(work, ".env")) == (PRIVATE, 0o600)


def test_a_part_of_the_worktree(work: Repo) -> None:
    take()
    work.write("a", "changed\n")
    part = take(paths=("a",))
    assert part.meta.values[INCLUDED] == [".env", "sub/.env"]
    work.git("config", "--unset", "boocode.include")
    assert take(paths=("a",)).meta.values[INCLUDED] == [".env", "sub/.env"]
    assert INCLUDED not in take().meta.values


def test_a_part_that_is_private(work: Repo) -> None:
    take()
    work.write(".env", "PASSWORD=two\n")
    work.write("a", "changed\n")
    part = work.boocode("checkpoint", "--json", "--", ".env").json["commit"]
    assert work.git("show", f"{part}:.env") == "PASSWORD=two\n"
    assert work.git("show", f"{part}:a") == "a\n"
    refused = work.boocode("checkpoint", "--", ".env", "build")
    assert (refused.code, "'build' is ignored" in refused.err) == (1, True)


def test_show_log_and_status_name_it(work: Repo) -> None:
    taken = take()
    assert "private     .env sub/.env (never pushed)\n" in work.boocode("show", taken.id).out
    [row] = work.boocode("log", "--json").json["checkpoints"]
    assert row["included"] == [".env", "sub/.env"]
    said = "private:\n  :(glob)**/.env (boocode.include, never pushed)\n"
    assert said in work.boocode("status").out


def test_the_page_has_none_of_its_lines(work: Repo) -> None:
    take()
    work.write(".env", "PASSWORD=two\n")
    work.write("a", "changed\n")
    assert work.boocode("view", "--output", "page.html").code == 0
    page = text(work, "page.html")
    assert "PASSWORD" not in page
    assert "+changed" in page


def test_it_is_never_pushed(both: Both) -> None:
    both.ours.write(".gitignore", ".env\n")
    both.ours.git("config", "boocode.include", ".env")
    both.ours.write(".env", PRIVATE)
    both.ours.write("in/.env", PRIVATE)
    both.ours.write("new", "new\n")
    taken = take()
    capture_turn_end(Repository.discover(), taken.id, "stop")
    asked: list[str] = []
    done = push(both.ours, confirm=lambda _, paths: asked.extend(paths))
    assert done.ids == [taken.id]
    assert asked == [".gitignore", "new"]
    objects = both.remote.git("cat-file", "--batch-all-objects", "--batch")
    assert PRIVATE not in objects
    listed = both.remote.git("log", "--all", "--name-only", "--format=%B", "-m", "--root")
    assert ".env" not in listed
    # Nothing goes twice, and nothing comes back.
    there, here = shared(both.remote), shared(both.ours)
    for _ in range(2):
        again = push(both.ours)
        assert (again.ids, again.turn_ends, again.rejected) == ([], (), [])
        assert fetch(both.ours).ids == []
        (both.ours.top / ".git/boocode/twins.json").unlink(missing_ok=True)
    assert (shared(both.remote), shared(both.ours)) == (there, here)
    assert fetch(both.theirs).ids == [taken.id]
    twin = Catalog(at(both.theirs)).find(taken.id)
    assert twin.meta.values[WITHHELD] == 1
    both.theirs.write(".env", "theirs\n")
    os.chdir(both.theirs.top)
    back(taken.id, force=frozenset({"other-repository"}))
    assert (text(both.theirs, ".env"), text(both.theirs, "new")) == ("theirs\n", "new\n")


@pytest.mark.parametrize("how", [("-f",), ("-f", "-N")])
def test_it_is_not_pushed_when_it_is_staged(both: Both, how: tuple[str, ...]) -> None:
    both.ours.git("config", "boocode.include", ".env")
    both.ours.write(".env", PRIVATE)
    both.ours.write("new", "new\n")
    both.ours.git("add", *how, ".env", "new")
    taken = take()
    capture_turn_end(Repository.discover(), taken.id, "stop")
    assert taken.meta.values[INCLUDED] == [".env"]
    (both.ours.top / ".env").unlink()
    gone = take()
    assert push(both.ours).ids == [gone.id, taken.id]
    assert ".env" not in both.remote.git("cat-file", "--batch-all-objects", "--batch")
    both.remote.git("fsck")
    assert fetch(both.theirs).ids == [taken.id, gone.id]
    both.ours.git("checkout", ".env") if how == ("-f",) else both.ours.write(".env", PRIVATE)
    both.ours.git("commit", "-qam", "no longer private")
    assert INCLUDED not in take().meta.values


def test_a_damaged_index_does_not_prevent_a_checkpoint(work: Repo) -> None:
    (work.top / ".git/index").write_bytes(b"damaged")
    assert take().meta.values[INCLUDED] == [".env", "sub/.env"]


def test_one_in_a_directory_has_the_name_of_one_above(both: Both) -> None:
    both.ours.git("config", "boocode.include", ":(glob)**/.env")
    paths = (".env", "in/.env", "in/deep/.env", "in/.envs/.env", "other/in/.env")
    for path in paths:
        both.ours.write(path, f"{path} {PRIVATE}")
    both.ours.write("in/deep/new", "new\n")
    taken = take()
    assert taken.meta.values[INCLUDED] == sorted(paths)
    assert push(both.ours).ids == [taken.id]
    assert PRIVATE not in both.remote.git("cat-file", "--batch-all-objects", "--batch")
    shown = both.remote.git("ls-tree", "-r", "--name-only", f"refs/boocode/checkpoints/{taken.id}")
    assert ".env" not in shown
    assert "in/deep/new" in shown


def test_the_name_of_one_that_was_recorded_alone_is_not_pushed(both: Both) -> None:
    both.ours.git("config", "boocode.include", ":(glob)**/.env")
    both.ours.write("in/.env", PRIVATE)
    both.ours.write("in/new", "new\n")
    take()
    for paths in ((":(top,literal)in/.env",), (".env", "new")):
        assert both.ours.boocode("-C", "in", "checkpoint", "--", *paths).code == 0
    some, alone, _ = push(both.ours).ids
    fetch(both.theirs)
    found = [Catalog(at(both.theirs)).find(each).meta.table("partial") for each in (some, alone)]
    assert [each["paths"] for each in found] == [["new"], None]
    assert "only        private files, the rest as in" in both.theirs.boocode("show", alone).out
    assert ".env" not in both.remote.git("log", "--all", "--format=%B", "-m", "--root")


def test_the_name_of_one_that_is_too_large_is_not_pushed(both: Both) -> None:
    both.ours.git("config", "boocode.include", "private*")
    both.ours.git("config", "boocode.maxIncludedSize", "1k")
    both.ours.write("private-name", "x" * 1025)
    taken = take()
    assert push(both.ours).ids == [taken.id]
    listed = both.remote.git("log", "--all", "--name-only", "--format=%B", "-m", "--root")
    assert "private-name" not in listed
    assert (push(both.ours).ids, fetch(both.ours).ids) == ([], [])


def test_a_proposal_for_an_excluded_file_is_not_pushed(both: Both) -> None:
    both.ours.git("config", "boocode.exclude", "private")
    both.ours.write("private", PRIVATE)
    for path, number in (("a", 1), ("private", 0)):
        edit = json.dumps({"path": path, "content": "PASSWORD=proposed\n"})
        assert both.ours.boocode("propose", stdin=edit).code == 0
        assert len(push(both.ours).proposals) == number
    assert PRIVATE not in both.remote.git("cat-file", "--batch-all-objects", "--batch")


@pytest.mark.parametrize("setting", ["boocode.include", "core.excludesFile"])
def test_a_proposal_for_it_is_not_pushed(both: Both, setting: str) -> None:
    """Nor one for any other file that git ignores."""
    rule = ".env" if setting == "boocode.include" else str(both.ours.top / ".git/rules")
    (both.ours.top / ".git/rules").write_text(".env\n")
    both.ours.git("config", setting, rule)
    both.ours.write(".env", PRIVATE)
    for path, number in (("a", 1), (".env", 0)):
        edit = json.dumps({"path": path, "content": "PASSWORD=proposed\n"})
        assert both.ours.boocode("propose", stdin=edit).code == 0
        assert len(push(both.ours).proposals) == number
    assert ".env" not in both.remote.git("log", "--all", "--name-only", "--format=%B", "-m")
