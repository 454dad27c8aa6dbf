from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import Git
from git_boocode.repo.index import (
    Entry,
    Index,
    borrow_index,
    copy_index,
    fingerprint,
    install_index,
    is_whole,
)
from tests.repo_kit import Repo

OLD = 1_600_000_000_123_456_789


@pytest.fixture
def private(repo: Repo, git: Git) -> Index:
    path = repo.top / ".git/private"
    assert copy_index(str(repo.top / ".git/index"), str(path))
    return Index(git, str(path))


def paths(index: Index) -> list[str]:
    """The paths in an index."""
    return [Entry.parse(os.fsdecode(row)).path for row in index.dump().split(b"\0")[:-1]]


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


def test_breaking_a_private_lock(repo: Repo, private: Index) -> None:
    repo.write("a", "changed\n")
    Path(f"{private.path}.lock").touch()
    assert private.add(["a"]).status == 128
    private.break_lock()
    private.break_lock()
    assert private.add(["a"]).status == 0


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


# Index files as such: borrowed, told apart, and checked.


@pytest.fixture
def index(repo: Repo, git: Git) -> Path:
    path = repo.top / ".git/index"
    os.utime(path, ns=(OLD, OLD))
    return path


@pytest.fixture
def target(repo: Repo) -> Path:
    return repo.top / ".git/private"


def no_links(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Hard links cannot be made any more."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)


def borrow(index: Path, target: Path) -> bool:
    return borrow_index(str(index), str(target))


@pytest.mark.parametrize("links", [True, False])
def test_git_writing_the_one_leaves_the_other(
    repo: Repo, git: Git, index: Path, target: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        no_links(monkeypatch, errno.EPERM)
    assert borrow(index, target)
    before = index.read_bytes()
    repo.write("c", "c\n")
    repo.git("add", "c")
    changed = index.read_bytes()
    assert target.read_bytes() == before != changed
    assert target.stat().st_mtime_ns == OLD
    Index(git, str(target)).forget(["a"])
    assert index.read_bytes() == changed
    assert target.read_bytes() != before


def test_of_a_symlink_what_it_leads_to_is_borrowed(
    repo: Repo, git: Git, index: Path, target: Path
) -> None:
    real = repo.top / ".git/real-index"
    index.rename(real)
    index.symlink_to("real-index")
    assert borrow(index, target)
    assert not target.is_symlink()
    assert target.read_bytes() == real.read_bytes()
    assert target.stat().st_mtime_ns == OLD
    Index(git, str(target)).forget(["a"])
    assert repo.git("ls-files") == "a\nb\n"


def test_fingerprints_tell_of_size_time_and_content(index: Path) -> None:
    seen = {fingerprint(str(index))}
    content = index.read_bytes()
    index.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(index, ns=(OLD, OLD))
    seen.add(fingerprint(str(index)))
    os.utime(index, ns=(OLD, OLD + 1))
    seen.add(fingerprint(str(index)))
    index.write_bytes(b"\0" + index.read_bytes())
    os.utime(index, ns=(OLD, OLD + 1))
    seen.add(fingerprint(str(index)))
    assert len(seen) == 4
    assert "" not in seen


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_an_index_is_whole_or_not(repo: Repo, object_format: str) -> None:
    inner = Repo(repo.top / "inner")
    repo.git("init", "-q", f"--object-format={object_format}", "inner")
    inner.commit(a="a\n")
    index = inner.top / ".git/index"
    assert is_whole(str(index), object_format)
    content = index.read_bytes()
    for place in (0, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 0x10
        index.write_bytes(changed)
        assert not is_whole(str(index), object_format)
    for size in (len(content) - 1, len(content) // 2, 12):
        index.write_bytes(content[:size])
        assert not is_whole(str(index), object_format)


@pytest.mark.parametrize("setting", ["index.version=4", "core.splitIndex=true"])
@pytest.mark.sha1
def test_other_kinds_of_index_are_whole(repo: Repo, git: Git, index: Path, setting: str) -> None:
    repo.write("c", "c\n")
    repo.git("-c", setting, "add", "c")
    assert is_whole(str(index), "sha1")


def test_what_is_doubted_is_read_again(repo: Repo, git: Git, index: Path, target: Path) -> None:
    for name in ("*", "a"):
        repo.write(name, "old\n")
        os.utime(repo.top / name, ns=(OLD, OLD))
    repo.git("add", "-A")
    borrow(index, target)
    private = Index(git, str(target))
    flagged = ["--assume-unchanged", "b"]
    private.git.run("update-index", *flagged)
    for name in ("*", "a"):
        repo.write(name, "new\n")
    entries = private.dump()
    private.invalidate([])
    assert private.dump() == entries
    private.invalidate(["*"])
    # The name is no pattern, and neither entries nor the flags of others change.
    assert private.dump() == entries
    assert "*" in private.changed_on_disk()


@pytest.mark.sha1
def test_an_entry_in_conflict_keeps_its_stages_when_doubted(
    repo: Repo, git: Git, index: Path, target: Path
) -> None:
    blob = git.line("hash-object", "-w", "--stdin", stdin=b"x")
    rows = "".join(f"100644 {blob} {stage}\ta\n" for stage in (1, 2, 3))
    repo.git("update-index", "--index-info", stdin=f"0 {'0' * 40}\ta\n{rows}")
    borrow(index, target)
    private = Index(git, str(target))
    before = private.dump()
    private.invalidate(["a"])
    assert private.dump() == before
