from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import Git
from git_boocode.repo.index import Entry, Index, copy_index, install_index, refuse_if_locked
from tests.repo_kit import Repo


@pytest.fixture
def private(repo: Repo, git: Git) -> Index:
    path = repo.top / ".git/private"
    assert copy_index(str(repo.top / ".git/index"), str(path))
    return Index(git, str(path))


def paths(index: Index) -> list[str]:
    """The paths in an index."""
    return [Entry.parse(os.fsdecode(row)).path for row in index.dump().split(b"\0")[:-1]]


@pytest.mark.parametrize(
    "record", ["H 100644 abc 0\ta", "m 120000 abc 3\tnew\nline", "S 100755 abc 0\ttab\t\udcff"]
)
def test_entries_are_read_and_written(record: str) -> None:
    assert str(Entry.parse(record)) == record


def test_a_copy_keeps_its_time(repo: Repo, git: Git) -> None:
    index = repo.top / ".git/index"
    os.utime(index, ns=(1, 1_600_000_000_123_456_789))
    assert copy_index(str(index), str(repo.top / ".git/copy"))
    copied = repo.top / ".git/copy"
    assert copied.stat().st_mtime_ns == 1_600_000_000_123_456_789
    assert copied.read_bytes() == index.read_bytes()


def test_there_is_no_index_to_copy(repo: Repo) -> None:
    assert not copy_index(str(repo.top / "none"), str(repo.top / "copy"))
    assert not (repo.top / "copy").exists()


def test_a_private_index_touches_nothing_of_the_users(repo: Repo, private: Index) -> None:
    before = repo.read(".git/index")
    repo.write("new\n\udcff", "x")
    assert private.add(["new\n\udcff"]).status == 0
    private.forget(["a"])
    private.forget([])
    assert paths(private) == ["b", "new\n\udcff"]
    assert repo.read(".git/index") == before
    assert not (repo.top / ".git/private.lock").exists()


@pytest.mark.sha1
def test_put_sets_and_removes(repo: Repo, git: Git, private: Index) -> None:
    blob = git.line("hash-object", "-w", "--stdin", stdin=b"x")
    private.put([Entry("H", "0", "0" * 40, 0, "a"), Entry("H", "100755", blob, 0, "a/below")])
    private.put([])
    assert paths(private) == ["a/below", "b"]
    assert git.line("ls-tree", "-r", "--name-only", private.write_tree()) == "a/below\nb"


def test_flags(private: Index) -> None:
    private.flag("--assume-unchanged", ["a"])
    private.flag("--skip-worktree", ["b"])
    private.flag("--skip-worktree", [])
    assert [row[:2] for row in private.dump().split(b"\0")[:-1]] == [b"h ", b"S "]


def test_what_changed_on_disk(repo: Repo, private: Index) -> None:
    repo.write("a", "changed\n")
    assert private.changed_on_disk() == ["a"]


def test_read_tree_fills_an_index_that_does_not_exist(repo: Repo, git: Git) -> None:
    index = Index(git, str(repo.top / ".git/fresh"))
    index.read_tree("HEAD")
    assert paths(index) == ["a", "b"]


def test_breaking_a_private_lock(repo: Repo, private: Index) -> None:
    repo.write("a", "changed\n")
    Path(f"{private.path}.lock").touch()
    assert private.add(["a"]).status == 128
    private.break_lock()
    private.break_lock()
    assert private.add(["a"]).status == 0


def test_refuse_if_locked(repo: Repo) -> None:
    index = str(repo.top / ".git/index")
    refuse_if_locked(index)
    Path(f"{index}.lock").touch()
    with pytest.raises(RefusedError) as caught:
        refuse_if_locked(index)
    assert (caught.value.code, caught.value.exit_code) == ("locked", 1)


def test_install(repo: Repo, git: Git, private: Index) -> None:
    index = repo.top / ".git/index"
    index.chmod(0o640)
    expected = Index(git, str(index)).dump()
    private.forget(["a"])
    install_index(private.path, str(index), expected=expected, git=git)
    assert repo.git("ls-files") == "b\n"
    assert index.stat().st_mode & 0o777 == 0o640
    assert Path(private.path).exists()
    assert not (repo.top / ".git/index.lock").exists()


def test_install_where_there_is_no_index(repo: Repo, git: Git, private: Index) -> None:
    (repo.top / ".git/index").unlink()
    install_index(private.path, str(repo.top / ".git/index"), expected=b"", git=git)
    assert repo.git("ls-files") == "a\nb\n"


def test_install_is_refused_while_someone_holds_the_lock(
    repo: Repo, git: Git, private: Index
) -> None:
    before = repo.read(".git/index")
    repo.write(".git/index.lock", "theirs")
    with pytest.raises(RefusedError) as caught:
        install_index(private.path, str(repo.top / ".git/index"), expected=None, git=git)
    assert caught.value.code == "locked"
    assert repo.read(".git/index.lock") == b"theirs"
    assert repo.read(".git/index") == before


@pytest.mark.parametrize("how", ["staged", "corrupt", "flagged"])
def test_install_is_refused_if_the_index_is_not_as_expected(
    repo: Repo, git: Git, private: Index, how: str
) -> None:
    expected = private.dump()
    if how == "staged":
        repo.write("c", "c")
        repo.git("add", "c")
    elif how == "flagged":
        repo.git("update-index", "--assume-unchanged", "a")
    else:
        repo.write(".git/index", b"DIRC garbage")
    before = repo.read(".git/index")
    with pytest.raises(RefusedError) as caught:
        install_index(private.path, str(repo.top / ".git/index"), expected=expected, git=git)
    assert caught.value.code == "conflict"
    assert repo.read(".git/index") == before
    assert not (repo.top / ".git/index.lock").exists()


def test_install_where_hard_links_cannot_be_made(
    repo: Repo, git: Git, private: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    private.forget(["a"])
    install_index(private.path, str(repo.top / ".git/index"), expected=None, git=git)
    assert repo.git("ls-files") == "b\n"
    repo.write(".git/index.lock", "theirs")
    with pytest.raises(RefusedError):
        install_index(private.path, str(repo.top / ".git/index"), expected=None, git=git)
    assert repo.read(".git/index.lock") == b"theirs"


def test_a_full_disk_leaves_no_half_written_lock(
    repo: Repo, git: Git, private: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "utime", full)
    with pytest.raises(OSError, match="No space left"):
        install_index(private.path, str(repo.top / ".git/index"), expected=None, git=git)
    assert not (repo.top / ".git/index.lock").exists()


def repository_index(repo: Repo) -> str:
    return str(repo.top / ".git/index")
