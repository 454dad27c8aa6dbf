"""Index files as such: borrowed, told apart, and checked."""

from __future__ import annotations

import errno
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.git import Git
from git_boocode.repo.index import Index, borrow_index, crc_of, fingerprint, is_whole
from tests.repo_kit import Repo

OLD = 1_600_000_000_123_456_789


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


def test_what_is_borrowed_is_the_same_with_its_time(index: Path, target: Path) -> None:
    assert borrow(index, target)
    assert target.read_bytes() == index.read_bytes()
    assert target.stat().st_mtime_ns == OLD
    assert fingerprint(str(target)) == fingerprint(str(index))


@pytest.mark.parametrize("links", [True, False])
def test_nothing_to_borrow(
    repo: Repo, target: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        no_links(monkeypatch, errno.EPERM)
    assert not borrow(repo.top / "none", target)
    assert not target.exists()


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


@pytest.mark.parametrize("number", [errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP])
def test_without_hard_links_it_is_copied(
    index: Path, target: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_links(monkeypatch, number)
    assert borrow(index, target)
    assert not target.samefile(index)
    assert target.read_bytes() == index.read_bytes()
    assert target.stat().st_mtime_ns == OLD


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


def test_a_symlink_that_leads_nowhere_is_no_index(repo: Repo, index: Path, target: Path) -> None:
    index.unlink()
    index.symlink_to("gone")
    assert not borrow(index, target)
    assert not target.exists()


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


def test_fingerprints_of_small_files_and_none(repo: Repo) -> None:
    assert fingerprint(str(repo.top / "none")) == ""
    empty, tiny = repo.write("empty"), repo.write("tiny", "x")
    assert "" != fingerprint(str(empty)) != fingerprint(str(tiny))


def test_staging_of_the_same_size_within_a_tick_is_another_fingerprint(
    repo: Repo, index: Path
) -> None:
    def stage(content: str) -> str:
        repo.write("a", content)
        repo.git("add", "a")
        os.utime(index, ns=(OLD, OLD))
        return fingerprint(str(index))

    assert stage("x\n") != stage("y\n")


def test_a_crc_tells_of_every_byte(index: Path) -> None:
    content = index.read_bytes()
    assert crc_of(str(index)) == zlib.crc32(content)
    for place in (0, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 0x10
        index.write_bytes(changed)
        assert crc_of(str(index)) != zlib.crc32(content)
    index.write_bytes(content[:-1])
    assert crc_of(str(index)) != zlib.crc32(content)


def test_a_crc_of_nothing_is_an_error_that_callers_expect(repo: Repo) -> None:
    with pytest.raises((ValueError, OSError)):
        crc_of(str(repo.write("empty")))
    with pytest.raises(OSError, match="none"):
        crc_of(str(repo.top / "none"))


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


def test_an_index_without_a_checksum_is_whole(repo: Repo, index: Path) -> None:
    content = index.read_bytes()
    index.write_bytes(content[:-20] + bytes(20))
    assert repo.git("ls-files") == "a\nb\n"
    assert is_whole(str(index), "sha1")


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


def test_many_are_doubted_at_once(repo: Repo, git: Git, index: Path, target: Path) -> None:
    names = [f"f{number:04}" for number in range(1001)]
    blob = git.line("hash-object", "-w", "--stdin", stdin=b"x")
    rows = "".join(f"100644 {blob} 0\t{name}\n" for name in names)
    repo.git("update-index", "--index-info", stdin=rows)
    borrow(index, target)
    private = Index(git, str(target))
    before = private.dump()
    private.invalidate(iter(names))
    assert private.dump() == before


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
