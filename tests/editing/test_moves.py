"""Files that a call deletes, creates or renames."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from git_boocode.editing import workspace as workspace_module
from git_boocode.editing.actions import Create, Delete, Keep, Replace
from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.service import Options
from git_boocode.editing.workspace import read_file
from git_boocode.repo.errors import FatalError
from tests.editing.kit import act, apply, carry_out, leftovers, records, refused
from tests.repo_kit import Repo


def messages(*actions: object) -> list[tuple[int | None, str, str]]:
    error = refused(act(*actions))  # type: ignore[arg-type]
    return [(bad.number, bad.code, bad.message) for bad in error.failures]


def listed(*actions: object) -> list[tuple[object, ...]]:
    answer = carry_out(act(*actions))  # type: ignore[arg-type]
    files = answer.as_json()["files"]
    assert isinstance(files, list)
    return [(file["path"], file["action"], file.get("from")) for file in files]


def test_a_deleted_file_is_gone_with_the_directories_it_leaves_empty(repo: Repo) -> None:
    repo.write("a/b/c", "text\n", 0o755)
    repo.write("a/kept", "text\n")
    assert listed(("a/b/c", Delete())) == [("a/b/c", "delete", None)]
    assert sorted(os.listdir("a")) == ["kept"]
    (ref,) = records(repo)
    assert repo.git("ls-tree", "-r", ref).split()[0::4] == ["100755"]
    assert repo.git("show", f"{ref}:before/a/b/c") == "text\n"


def test_the_current_directory_stays(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a/b/c", "text\n")
    monkeypatch.chdir("a/b")
    carry_out(act(("a/b/c", Delete())))
    assert os.listdir(repo.top / "a") == ["b"]


def test_the_directory_that_a_link_leads_to_stays(repo: Repo) -> None:
    repo.write("dir/a", "text\n")
    (repo.top / "link").symlink_to("dir")
    carry_out(act(("link/a", Delete())))
    assert os.listdir(repo.top / "link") == []


@pytest.mark.parametrize("shown", ["one\ntwo\n", "one  \r\ntwo", "one\ntwo\n\n"])
def test_a_deletion_that_shows_the_content_needs_that_content(repo: Repo, shown: str) -> None:
    repo.write("a", "one\ntwo\n")
    repo.write("b", "one\ntwo\nthree\n")
    assert [code for _, code, _ in messages(("b", Delete(shown)))] == ["conflict"]
    carry_out(act(("a", Delete(shown))))
    assert not Path("a").exists()


def test_a_renamed_file_keeps_its_mode_and_is_listed_once(repo: Repo) -> None:
    repo.write("a", b"\xef\xbb\xbfold\r\n", 0o750)
    done = listed(("a", Replace("old", "new"), "deep/er/b"), ("deep/er/b", Replace("new", "newer")))
    assert done == [("deep/er/b", "rename", "a")]
    assert repo.read("deep/er/b") == b"\xef\xbb\xbfnewer\r\n"
    assert stat.S_IMODE(Path("deep/er/b").stat().st_mode) == 0o750
    assert not Path("a").exists()
    (ref,) = records(repo)
    names = repo.git("ls-tree", "-r", "--name-only", ref).split()
    assert names == ["after/deep/er/b", "before/a"]


def test_a_renamed_file_is_never_missing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a", "old\n")
    real, deleted = os.unlink, []

    def unlink(path: str, **how: object) -> None:
        if os.path.basename(path) == "a":
            deleted.append(repo.read("b"))
        real(path, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "unlink", unlink)
    carry_out(act(("a", Keep(), "b")))
    assert deleted == [b"old\n"]


def test_the_diff_of_a_rename_is_one_that_git_applies(repo: Repo) -> None:
    repo.write("a b", "one\ntwo\n")
    repo.write("pure", "same\n")
    head = repo.commit()
    answer = carry_out(act(("a b", Replace("two", "three"), "c d"), ("pure", Keep(), "moved")))
    files = answer.as_json()["files"]
    assert isinstance(files, list)
    after = repo.files()
    repo.git("reset", "-q", "--hard", head)
    repo.git("clean", "-fdq")
    repo.git("apply", stdin="".join(file["diff"] for file in files))
    assert repo.files() == after


def test_names_can_be_swapped(repo: Repo) -> None:
    repo.write("a", "A\n")
    repo.write("b", "B\n", 0o755)
    done = listed(("a", Keep(), "t"), ("b", Keep(), "a"), ("t", Keep(), "b"))
    assert done == [("a", "modify", None), ("b", "modify", None)]
    assert (repo.read("a"), repo.read("b")) == (b"B\n", b"A\n")
    assert not Path("t").exists()


def test_a_rename_there_and_back_changes_nothing(repo: Repo) -> None:
    repo.write("a", "A\n")
    before = repo.files()
    carry_out(act(("a", Keep(), "t"), ("t", Keep(), "a")))
    assert repo.files() == before
    assert records(repo) == []


def test_a_name_that_is_given_up_can_be_taken(repo: Repo) -> None:
    repo.write("a", "A\n")
    repo.write("b", "B\n")
    done = listed(("b", Delete()), ("a", Keep(), "b"), ("a", Create("new\n")))
    assert (repo.read("a"), repo.read("b")) == (b"new\n", b"A\n")
    assert done == [("b", "modify", None), ("a", "modify", None)]


def test_edits_after_a_file_is_gone(repo: Repo) -> None:
    repo.write("a", "A\n")
    repo.write("b", "B\n")
    assert messages(
        ("a", Delete()), ("a", Replace("A", "X")), ("b", Keep(), "c"), ("b", Replace("B", "X"))
    ) == [
        (1, "missing_file", "edit 1 of the same call deletes it"),
        (3, "missing_file", "edit 3 of the same call moves it to 'c'"),
    ]


def test_a_new_file_can_make_way_for_a_directory(repo: Repo) -> None:
    assert listed(("a", Create("x\n")), ("a", Keep(), "a/b")) == [("a/b", "create", None)]
    assert repo.read("a/b") == b"x\n"


def test_two_files_cannot_get_one_name(repo: Repo) -> None:
    for name in "abc":
        repo.write(name, name)
    found = messages(("a", Keep(), "new"), ("b", Keep(), "new"), ("b", Keep(), "c"))
    taken = "another edit of the same call creates it"
    assert found == [
        (1, "exists", f"it cannot be renamed to 'new': {taken}"),
        (2, "exists", "it cannot be renamed to 'c': that file already exists"),
    ]


@pytest.mark.parametrize(("action", "to"), [(Delete(), ()), (Keep(), ("b",))])
def test_a_symlink_is_not_moved(repo: Repo, action: Delete | Keep, to: tuple[str, ...]) -> None:
    repo.write("real", "text\n")
    (repo.top / "link").symlink_to("real")
    ((_, code, message),) = messages(("link", action, *to))
    assert code == "invalid_input"
    assert "symbolic link" in message


@pytest.mark.parametrize("to", ["../out", ".git/hooks/x", "/etc/x", "dir", "a/b"])
def test_no_file_is_renamed_to_where_it_cannot_be(repo: Repo, to: str) -> None:
    repo.write("a", "A\n")
    repo.write("dir/x", "x")
    ((_, code, _),) = messages(("a", Keep(), to))
    assert code in ("outside_worktree", "invalid_input")


def test_the_new_name_is_read_from_where_the_old_one_was(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("sub/a", "A\n")
    monkeypatch.chdir("sub")
    assert listed(("a", Keep(), "b")) == [("sub/b", "rename", "sub/a")]
    assert listed(("sub/b", Keep(), "sub/c")) == [("sub/c", "rename", "sub/b")]


def test_a_new_name_that_the_file_system_takes_for_the_old_one(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a file system that does not tell names apart by case: both lead to one inode.
    repo.write("Readme", "old\n", 0o640)
    real = read_file

    def folding(path: str, **options: Any) -> object:
        return real(path.replace("README", "Readme"), **options)

    monkeypatch.setattr(workspace_module, "read_file", folding)
    done = listed(("Readme", Replace("old", "new"), "README"))
    assert done == [("README", "rename", "Readme")]
    assert os.listdir(".") in ([".git", "README"], ["README", ".git"])
    assert repo.read("README") == b"new\n"


@pytest.mark.parametrize("call", ["unlink", "link", "replace"])
def test_a_failure_brings_deleted_and_renamed_files_back(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    inputs = act(("a", Replace("A", "X"), "dir/new"), ("b", Delete()), ("c", Create("C\n")))
    real = getattr(os, call)
    for number in range(1, 30):
        repo.write("a", "A\n", 0o755)
        repo.write("b", "B\n")
        before = repo.files()
        calls: list[object] = []

        def failing(*args: object, calls: list[object] = calls, **how: object) -> object:
            if ".git" not in str(args[0]):
                calls.append(args)
                if len(calls) == number:  # noqa: B023 - called within this round alone
                    raise OSError(5, "Input/output error")
            return real(*args, **how)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            try:
                carry_out(inputs)
            except FatalError as error:
                said = error.message
            else:
                break
        assert "nothing was changed" in said
        assert repo.files() == before
        assert not leftovers(repo.top)
        assert records(repo) == []
    assert repo.read("dir/new") == b"X\n"
    assert not Path("a").exists()
    assert not Path("b").exists()
    assert not leftovers(repo.top) or call == "unlink"


def test_without_a_repository(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del repo
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("A\n")
    carry_out(act(("a", Keep(), "b")), index=False)
    assert Path("b").read_text() == "A\n"
    with pytest.raises(EditsRefusedError):
        carry_out(act(("b", Keep(), "../c")), index=False, options=Options())


def test_a_new_file_can_be_executable(repo: Repo) -> None:
    repo.commit(a="x\n")
    repo.write("tool", "#!/bin/sh\n", 0o755)
    repo.git("add", "-A")
    diff = repo.git("diff", "--cached")
    repo.git("reset", "-q", "--hard")
    answer = apply(diff.encode())
    assert stat.S_IMODE(Path("tool").stat().st_mode) & 0o111
    assert "executable" in answer.files[0].applied[0][1].notes
    (ref,) = records(repo)
    assert repo.git("ls-tree", "-r", ref).startswith("100755 ")


def test_a_change_of_mode_alone(repo: Repo) -> None:
    repo.write("tool", "#!/bin/sh\n", 0o640)
    repo.commit()
    Path("tool").chmod(0o750)
    diff = repo.git("diff")
    Path("tool").chmod(0o640)
    apply(diff.encode())
    assert stat.S_IMODE(Path("tool").stat().st_mode) == 0o750
    (ref,) = records(repo)
    modes = [line.split()[0] for line in repo.git("ls-tree", "-r", ref).splitlines()]
    assert modes == ["100755", "100644"]
    assert repo.boocode("rewind").code == 0
    assert stat.S_IMODE(Path("tool").stat().st_mode) == 0o640
