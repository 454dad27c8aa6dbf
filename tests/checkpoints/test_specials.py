"""Sockets, FIFOs and devices: found wherever git would look, and found again after any change."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from git_boocode.checkpoints.worktree import specials
from git_boocode.checkpoints.worktree.specials import NOTHING, Specials, find_specials
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import Effort, back, held, held_without_history, seen, sound, take
from tests.checkpoints.test_capture import skipped
from tests.repo_kit import Repo

OLD = 1_600_000_000_000_000_000


def look(before: Specials = NOTHING, changed: Iterable[str] = ()) -> Specials:
    """Look for special files in the current directory's worktree."""
    repository = Repository.discover()
    return find_specials(repository, before, changed)


def pipe(repo: Repo, path: str) -> None:
    """Make a FIFO, and its directories."""
    (repo.top / path).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(repo.top / path)


def plug(repo: Repo, path: str) -> None:
    """Make a socket, and its directories."""
    (repo.top / path).parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


def age(repo: Repo) -> None:
    """Let no directory be so new that it may change again unnoticed."""
    for directory, names, _ in os.walk(repo.top):
        if ".git" in names:
            names.remove(".git")
        os.utime(directory, ns=(OLD, OLD))


def looked_into(monkeypatch: pytest.MonkeyPatch, repo: Repo) -> list[str]:
    """The directories that are listed from now on."""
    listed: list[str] = []
    scan = os.scandir

    def watch(path: Any) -> object:
        # What cleans up afterwards asks by descriptor.
        if isinstance(path, str):
            listed.append(os.path.relpath(path, repo.top))
        return scan(path)

    monkeypatch.setattr(os, "scandir", watch)
    return listed


def test_they_are_found_everywhere(repo: Repo) -> None:
    repo.commit(**{"dir/tracked": "x\n"})
    repo.write("new/untracked", "x\n")
    pipe(repo, "top")
    pipe(repo, "dir/below")
    plug(repo, "new/plug")
    pipe(repo, "empty/of/all/else")
    pipe(repo, "odd/new\nline \udcff\t*")
    assert look().files == {
        "top": "FIFO",
        "dir/below": "FIFO",
        "new/plug": "socket",
        "empty/of/all/else": "FIFO",
        "odd/new\nline \udcff\t*": "FIFO",
    }


@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK])
def test_devices(repo: Repo, kind: int) -> None:
    (repo.top / "deep").mkdir()
    try:
        os.mknod(repo.top / "deep/null", 0o600 | kind, os.makedev(1, 3))
    except OSError:
        pytest.skip("devices cannot be made here")
    assert look().files == {"deep/null": "device"}
    assert skipped(take()) == {"deep/null": "device"}


def test_there_are_none(repo: Repo) -> None:
    assert look().files == {}
    repo.commit(**{"a/b": "x\n"})
    (repo.top / "link").symlink_to("nowhere")
    assert look().files == {}


def test_what_git_would_not_look_at_is_passed_over(repo: Repo) -> None:
    repo.write(".gitignore", "*.ign\n/out/\n")
    repo.write("sub/.gitignore", "mine\n")
    repo.write(".git/info/exclude", "private/\n")
    for path in ("x.ign", "out/x", "out/deep/x", "sub/mine", "sub/x.ign", "private/x", ".git/x"):
        pipe(repo, path)
    Repo(repo.top / "sub").git("init", "-q", "nested")
    pipe(repo, "sub/nested/x")
    pipe(repo, "sub/nested/deep/x")
    pipe(repo, "real/x")
    (repo.top / "link").symlink_to("real")
    (repo.top / "pipe").symlink_to("real/x")
    assert look().files == {"real/x": "FIFO"}


def test_beside_tracked_files_that_are_ignored(repo: Repo) -> None:
    repo.write(".gitignore", "out/*\n!out/keep\n")
    repo.write("out/tracked", "x\n")
    repo.git("add", "-f", "out/tracked")
    pipe(repo, "out/x")
    pipe(repo, "out/keep")
    pipe(repo, "out/sub/x")
    assert look().files == {"out/keep": "FIFO"}


def test_in_a_linked_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "linked")
    pipe(repo, "linked/deep/x")
    pipe(repo, "x")
    assert look().files == {"x": "FIFO"}
    monkeypatch.chdir(repo.top / "linked")
    assert look().files == {"deep/x": "FIFO"}


def test_submodules_are_passed_over(repo: Repo) -> None:
    repo.git("init", "-q", "sub")
    Repo(repo.top / "sub").commit(x="x\n")
    repo.git("add", "sub")
    pipe(repo, "sub/deep/x")
    assert look().files == {}


def test_a_gitlink_without_a_repository_hides_nothing_else(repo: Repo) -> None:
    repo.git("init", "-q", "sub")
    Repo(repo.top / "sub").commit(x="x\n")
    repo.git("add", "sub")
    shutil.rmtree(repo.top / "sub/.git")
    repo.write(".gitignore", "*.ign\n")
    pipe(repo, "sub/deep/x")
    pipe(repo, "x.ign")
    assert "x.ign" not in look().files


def test_nothing_is_looked_into_again_unless_it_changed(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("x", "a/x", "a/b/x", "c/d/x"):
        pipe(repo, path)
    age(repo)
    before = look()
    listed = looked_into(monkeypatch, repo)
    assert look(before) == before
    assert listed == []
    pipe(repo, "a/y")
    again = look(before)
    assert listed == ["a"]
    assert again.files == before.files | {"a/y": "FIFO"}


def test_a_directory_that_has_just_changed_is_looked_into_again(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a/x", "b/x"):
        pipe(repo, path)
    age(repo)
    now = (repo.top / "a/x").stat().st_mtime_ns
    os.utime(repo.top / "a", ns=(now, now))
    before = look()
    pipe(repo, "a/y")
    # Within the same tick of the clock.
    os.utime(repo.top / "a", ns=(now, now))
    listed = looked_into(monkeypatch, repo)
    assert look(before).files == before.files | {"a/y": "FIFO"}
    assert listed == ["a"]


Change = Callable[[Repo], None]
CHANGES: dict[str, Change] = {}


def change(happen: Change) -> Change:
    """Register something that happens between two looks."""
    CHANGES[happen.__name__] = happen
    return happen


def scene(repo: Repo) -> None:
    """A worktree with special files here and there, none of them new."""
    repo.write(".gitignore", "*.ign\n/out/\n")
    repo.commit(**{"dir/tracked": "x\n"})
    repo.write("sub/.gitignore", "mine\n")
    for path in ("dir/x", "dir/deep/x", "dir/deep/y.ign", "sub/x", "sub/mine", "out/x", "e/mp/ty"):
        pipe(repo, path)
    pipe(repo, "out/deep/x")
    age(repo)


@change
def nothing(repo: Repo) -> None:
    pass


@change
def they_appear(repo: Repo) -> None:
    pipe(repo, "new")
    pipe(repo, "dir/deep/new")
    pipe(repo, "e/mp/new")
    pipe(repo, "quite/new/x")


@change
def they_disappear(repo: Repo) -> None:
    (repo.top / "dir/deep/x").unlink()
    (repo.top / "sub/x").unlink()
    shutil.rmtree(repo.top / "e")


@change
def they_become_others(repo: Repo) -> None:
    (repo.top / "dir/x").unlink()
    repo.write("dir/x", "a file now\n")
    (repo.top / "sub/x").unlink()
    plug(repo, "sub/x")


@change
def files_become_directories_of_them(repo: Repo) -> None:
    (repo.top / "dir/tracked").unlink()
    pipe(repo, "dir/tracked/x")
    (repo.top / "dir/x").unlink()
    pipe(repo, "dir/x/x")


@change
def directories_become_special(repo: Repo) -> None:
    shutil.rmtree(repo.top / "dir")
    pipe(repo, "dir")


@change
def they_become_ignored_where_no_directory_changes(repo: Repo) -> None:
    repo.write(".gitignore", "*.ign\n/out/\n/dir/deep/\nx\n")


@change
def they_become_ignored_by_private_rules(repo: Repo) -> None:
    repo.write(".git/info/exclude", "deep\n")


@change
def they_are_ignored_no_more_where_no_directory_changes(repo: Repo) -> None:
    repo.write(".gitignore", "")


@change
def they_are_ignored_no_more_by_rules_below(repo: Repo) -> None:
    repo.write("sub/.gitignore", "other\n")


@change
def they_are_ignored_no_more_by_a_setting(repo: Repo) -> None:
    repo.write(".git/info/exclude", "!*.ign\n!/out/\n")
    (repo.top / ".gitignore").unlink()


@change
def directories_are_renamed(repo: Repo) -> None:
    (repo.top / "dir").rename(repo.top / "renamed")
    (repo.top / "sub").rename(repo.top / "renamed/sub")


@change
def directories_change_places(repo: Repo) -> None:
    # They are of the same age, as what was unpacked or copied at once may be.
    (repo.top / "dir").rename(repo.top / "aside")
    (repo.top / "sub").rename(repo.top / "dir")
    (repo.top / "aside").rename(repo.top / "sub")


@change
def directories_become_repositories(repo: Repo) -> None:
    Repo(repo.top / "sub").git("init", "-q")
    Repo(repo.top / "e").git("init", "-q")


@change
def a_deep_directory_becomes_a_repository(repo: Repo) -> None:
    Repo(repo.top / "dir/deep").git("init", "-q")


@change
def directories_become_symlinks(repo: Repo) -> None:
    for path in ("dir", "sub"):
        (repo.top / path).rename(repo.top / f"{path}2")
        (repo.top / path).symlink_to(f"{path}2")


@change
def a_directory_becomes_a_symlink_that_leads_out(repo: Repo) -> None:
    shutil.rmtree(repo.top / "sub")
    pipe(repo, ".git/elsewhere/outside")
    (repo.top / "sub").symlink_to(".git/elsewhere")


@pytest.mark.parametrize("name", CHANGES)
def test_a_second_look_finds_what_a_first_one_would(repo: Repo, name: str) -> None:
    scene(repo)
    before = look()
    assert set(before.files) == {"dir/x", "dir/deep/x", "sub/x", "e/mp/ty"}
    CHANGES[name](repo)
    # One look after the other: the third must not be worse than the second.
    again = look(before)
    assert again.files == look().files
    assert look(again).files == look().files


@pytest.mark.parametrize("name", CHANGES)
def test_a_second_checkpoint_tells_what_a_first_one_would(repo: Repo, name: str) -> None:
    scene(repo)
    held()
    CHANGES[name](repo)
    assert held() == held_without_history()


def test_a_repository_that_is_one_no_more(repo: Repo) -> None:
    scene(repo)
    Repo(repo.top / "sub").git("init", "-q")
    pipe(repo, "sub/deep/x")
    age(repo)
    before = look()
    assert "sub/x" not in before.files
    shutil.rmtree(repo.top / "sub/.git")
    assert look(before).files == look().files
    assert "sub/deep/x" in look(before).files


@pytest.fixture
def many(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Specials:
    """What was found where there are very many directories."""
    scene(repo)
    monkeypatch.setattr(specials, "_MANY", 3)
    return look()


def test_of_very_many_directories_few_are_looked_into(
    repo: Repo, many: Specials, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.top / "dir/deep/x").unlink()
    pipe(repo, "e/mp/new")
    pipe(repo, "sub/new")
    repo.write("dir/changed", "x\n")
    (repo.top / "plain").mkdir()
    pipe(repo, "plain/new")
    listed = looked_into(monkeypatch, repo)
    again = look(many, ["dir/changed"])
    # Those where there were some are always looked at, and those above; "e" has not changed.
    assert set(listed) == {".", "dir", "dir/deep", "sub", "e/mp", "plain"}
    wanted = {"dir/x", "sub/x", "e/mp/ty", "e/mp/new", "sub/new", "plain/new"}
    assert set(again.files) == wanted


@pytest.mark.parametrize("path", ["file", "quite/new/file", "dir/below/file", "fresh/file"])
def test_of_very_many_directories_those_of_changed_files_are_looked_into(
    repo: Repo, many: Specials, path: str
) -> None:
    repo.write(path, "x\n")
    pipe(repo, f"{path}.pipe")
    assert look(many, [path]).files == look().files


@pytest.mark.parametrize(
    "name", ["they_disappear", "directories_become_repositories", "directories_become_symlinks"]
)
def test_of_very_many_directories_none_is_told_that_is_gone(
    repo: Repo, many: Specials, name: str
) -> None:
    CHANGES[name](repo)
    again = look(many, [])
    assert set(again.files) <= set(look().files)
    assert set(look(again).files) <= set(look().files)


def test_very_many_directories_through_checkpoints(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene(repo)
    monkeypatch.setattr(specials, "_MANY", 3)
    held()
    repo.write("dir/deep/changed", "x\n")
    pipe(repo, "dir/deep/new")
    (repo.top / "sub/x").unlink()
    assert held() == held_without_history()


def test_a_restore_leaves_them_alone(repo: Repo) -> None:
    scene(repo)
    repo.write("dir/tracked", "changed\n")
    plug(repo, "sub/plug")
    before = seen(repo)
    taken = take()
    assert skipped(taken)["sub/plug"] == "socket"
    repo.write("dir/tracked", "mess\n")
    repo.write("sub/mess", "mess\n")
    back(taken.id)
    assert seen(repo) == before
    assert stat.S_ISSOCK((repo.top / "sub/plug").stat().st_mode)
    assert stat.S_ISFIFO((repo.top / "e/mp/ty").stat().st_mode)
    sound(repo)


def test_the_effort_for_a_deep_directory(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    effort = Effort(monkeypatch)
    top = repo.write(".gitignore", "*.log\n").parent
    found = []
    for depth in (2, 102, 202):
        deep = "/".join(["d"] * depth)
        repo.write(f"{deep}/f", "f\n")
        age(repo)
        first = effort.of(take)
        repo.write(f"{deep}/f", "changed\n")
        repo.write(f"{deep}/g", "new\n")
        second = effort.of(take)
        shutil.rmtree(top / "d")
        found.append((first, second, effort.of(take)))
        shutil.rmtree(top / ".git/boocode")
    for shallow, deep_one, deepest in zip(*found, strict=True):
        # Neither a process for each level, nor at each level a look at all the others.
        assert max(deep_one[0], deepest[0]) <= shallow[0] + 3
        assert deepest[1] - deep_one[1] < 1.5 * (deep_one[1] - shallow[1])


def test_many_directories_that_are_gone_and_that_became_repositories(repo: Repo) -> None:
    for number in range(60):
        pipe(repo, f"{number}/in/pipe")
        repo.write(f"{number}/.gitattributes", "\n")
    age(repo)
    before = look()
    for number in range(0, 60, 2):
        shutil.rmtree(repo.top / str(number))
    for number in range(1, 60, 10):
        repo.git("init", "-q", str(number))
    again = look(before)
    assert len(again.files) == 24
    assert again._replace(directories={}) == look()._replace(directories={})
    assert again.directories.keys() == look().directories.keys()


@pytest.mark.parametrize(
    "rules", ["/made/*\n!/made/deep\n", "deep/\n", "*\n!*/\n", "m*\n", "\\!odd/\n"]
)
def test_what_is_ignored_is_not_looked_into(repo: Repo, rules: str) -> None:
    repo.write(".gitignore", rules)
    for path in ("made/deep/pipe", "made/other/pipe", "deep/pipe", "!odd/pipe", "new\nline/x/pipe"):
        pipe(repo, path)
    found = look()
    for directory in ("made/deep", "made/other", "deep", "!odd", "new\nline/x"):
        ignored = repo.git("check-ignore", "--no-index", directory, check=False)
        assert (directory in found.directories) == (not ignored)
