from __future__ import annotations

import errno
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.object_writer import Quarantine
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


@pytest.fixture
def quarantine(repo: Repo) -> Quarantine:
    repo.commit(a="a\n")
    return quarantine_of(repo)


def quarantine_of(repo: Repo, scratch: str = ".git/scratch") -> Quarantine:
    """A quarantine of the repository of the current directory."""
    return Quarantine(Repository.discover(), str(repo.top / scratch))


def objects(repo: Repo, at: str = ".git/objects") -> dict[str, bytes]:
    """Every file below a directory of objects, and its bytes."""
    top = repo.top / at
    files = (path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(top)): path.read_bytes() for path in files}


def store(quarantine: Quarantine, content: bytes) -> str:
    """Write a blob through the quarantine; its id."""
    return quarantine.git.line("hash-object", "-w", "--stdin", stdin=content)


def is_there(repo: Repo, identifier: str) -> bool:
    """Whether git finds an object."""
    done = subprocess.run(["git", "cat-file", "-e", identifier], cwd=repo.top, capture_output=True)
    return done.returncode == 0


def test_others_see_nothing_until_it_is_released(repo: Repo, quarantine: Quarantine) -> None:
    before = objects(repo)
    blob = store(quarantine, b"new\n")
    tree = quarantine.git.line("mktree", stdin=f"100644 blob {blob}\tnew\n".encode())
    assert quarantine.git.line("cat-file", "blob", f"{tree}:new") == "new"
    assert objects(repo) == before
    assert not is_there(repo, blob)
    written = objects(repo, ".git/scratch/objects")
    assert len(written) == 2
    quarantine.release()
    assert objects(repo) == before | written
    assert repo.git("cat-file", "blob", f"{tree}:new") == "new\n"
    assert objects(repo, ".git/scratch/objects") == {}
    assert repo.git("fsck", "--no-dangling") == ""


@pytest.mark.parametrize("shared", ["group", "all", "0640", "umask"])
def test_modes_are_as_git_gives_them(repo: Repo, shared: str) -> None:
    repo.commit(a="a\n")
    repo.git("config", "core.sharedRepository", shared)
    quarantine = quarantine_of(repo)
    contents = [f"{number}\n".encode() for number in range(8)]
    before = os.umask(0o077)
    try:
        blobs = [store(quarantine, content) for content in contents]
        quarantine.release()
        repo.git("init", "-q", "--shared=" + shared, "other")
        other = Repo(repo.top / "other")
        for content in contents:
            other.git("hash-object", "-w", "--stdin", stdin=content)
    finally:
        os.umask(before)
    there = {path.name for path in (repo.top / ".git/objects").iterdir()}
    assert {blob[:2] for blob in blobs} <= there
    for blob in blobs:
        path = f".git/objects/{blob[:2]}"
        assert mode(repo, path) == mode(other, path), path
        assert mode(repo, f"{path}/{blob[2:]}") == mode(other, f"{path}/{blob[2:]}")


def mode(repo: Repo, path: str) -> str:
    """The permissions of a file."""
    return oct(stat.S_IMODE((repo.top / path).stat().st_mode))


def test_directories_of_the_callers_own(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="a\n")
    theirs, other = repo.top / "theirs", repo.top / "other"
    (repo.top / ".git/objects").rename(theirs)
    (theirs / "pack").mkdir(exist_ok=True)
    (repo.top / ".git/objects").mkdir()
    Repo(repo.top).git("init", "-q", "--bare", "other")
    only_there = Repo(other).git("hash-object", "-w", "--stdin", stdin="other\n").strip()
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(theirs))
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(other / "objects"))
    quarantine = quarantine_of(repo)
    assert quarantine.git.line("cat-file", "blob", only_there) == "other"
    assert quarantine.git.line("cat-file", "blob", "HEAD:a") == "a"
    assert store(quarantine, b"other\n") == only_there
    blob = store(quarantine, b"new\n")
    quarantine.release()
    assert (theirs / blob[:2] / blob[2:]).exists()
    assert not (theirs / only_there[:2] / only_there[2:]).exists()
    assert objects(repo) == {}


@pytest.mark.parametrize("name", ["a:b", '"a:\\"b\\\\', "new\nline:", " :\udcff\té"])
def test_odd_paths(repo: Repo, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repo.top / name
    top.mkdir()
    inner = Repo(top)
    inner.git("init", "-q")
    inner.commit(a="a\n")
    monkeypatch.chdir(top)
    quarantine = quarantine_of(inner)
    assert quarantine.git.line("cat-file", "blob", "HEAD:a") == "a"
    assert store(quarantine, b"a\n")
    blob = store(quarantine, b"new\n")
    assert len(objects(inner, ".git/scratch/objects")) == 1
    quarantine.release()
    assert is_there(inner, blob)


def write_a_pack(repo: Repo) -> Quarantine:
    """Let git stream a file that is large to it straight into a pack."""
    repo.commit(a="a\n")
    repo.git("config", "core.bigFileThreshold", "1k")
    repo.write("large", os.urandom(5000))
    quarantine = quarantine_of(repo)
    quarantine.git.bind(GIT_INDEX_FILE=str(repo.top / ".git/private")).run("add", "large")
    return quarantine


def test_packs_come_along_with_the_index_last(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    quarantine = write_a_pack(repo)
    written = objects(repo, ".git/scratch/objects")
    endings = {Path(path).suffix for path in written}
    assert {".pack", ".idx"} <= endings
    moved: list[str] = []
    rename = os.rename

    def watch(source: str, target: str) -> None:
        rename(source, target)
        moved.append(target)

    monkeypatch.setattr(os, "rename", watch)
    quarantine.release()
    assert [path.endswith(".idx") for path in moved] == [False] * (len(moved) - 1) + [True]
    assert objects(repo).items() >= written.items()
    blob = repo.git("hash-object", "large").strip()
    assert is_there(repo, blob)
    assert repo.git("fsck", "--no-dangling") == ""


def test_what_git_left_unfinished_stays_behind(repo: Repo, quarantine: Quarantine) -> None:
    store(quarantine, b"new\n")
    repo.write(".git/scratch/objects/00/tmp_obj_abc", "half")
    repo.write(".git/scratch/objects/pack/tmp_pack_abc", "half")
    quarantine.release()
    assert not [path for path in objects(repo) if "tmp_" in path]


def refuse(number: int) -> Any:
    """A function that fails, as the system does."""

    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return failing


def test_what_cannot_be_synced_is_not_moved(
    repo: Repo, quarantine: Quarantine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = objects(repo)
    blob = store(quarantine, b"new\n")
    monkeypatch.setattr(os, "fsync", refuse(errno.EIO))
    with pytest.raises(OSError, match=r"."):
        quarantine.release()
    assert objects(repo) == before
    monkeypatch.undo()
    quarantine.release()
    assert is_there(repo, blob)


def watch_syncs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are synced from now on."""
    synced: list[str] = []
    sync = os.fsync

    def watch(descriptor: int) -> None:
        sync(descriptor)
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fsync", watch)
    return synced


@pytest.mark.parametrize("room", [0, 3])
def test_where_there_is_no_room_nothing_comes(
    repo: Repo, quarantine: Quarantine, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    before = sorted((repo.top / ".git/objects").rglob("*"))
    for number in range(9):
        store(quarantine, b"%d" % number)
    quarantine.store(b"tree", b"")
    made = 0
    real = os.mkdir

    def mkdir(*arguments: Any, **options: Any) -> None:
        nonlocal made
        made += 1
        if made > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(*arguments, **options)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises(OSError, match="No space left"):
        quarantine.release()
    assert sorted((repo.top / ".git/objects").rglob("*")) == before
    monkeypatch.undo()
    quarantine.release()
    assert repo.git("fsck", "--no-dangling") == ""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_files_are_synced_before_they_are_moved_and_directories_afterwards(
    repo: Repo, quarantine: Quarantine, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = [store(quarantine, f"{number}\n".encode()) for number in range(12)]
    at = [f"{blob[:2]}/{blob[2:]}" for blob in blobs]
    new = repo.top / ".git/objects"
    synced = watch_syncs(monkeypatch)
    rename = os.rename

    def watch(source: str, target: str) -> None:
        # All of them: an object may name another one.
        assert set(synced) == {str(repo.top / ".git/scratch/objects" / path) for path in at}
        rename(source, target)

    monkeypatch.setattr(os, "rename", watch)
    quarantine.release()
    assert set(synced[len(at) :]) >= {str(new / path[:2]) for path in at}


def test_sha256(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("init", "-q", "--object-format=sha256", "inner")
    inner = Repo(repo.top / "inner")
    inner.commit(a="a\n")
    monkeypatch.chdir(inner.top)
    quarantine = quarantine_of(inner)
    blob = store(quarantine, b"new\n")
    assert len(blob) == 64
    same = quarantine.store(b"blob", b"new\n")
    tree = quarantine.store(b"tree", b"100644 a\0%s" % bytes.fromhex(same.decode("ascii")))
    quarantine.release()
    assert inner.git("cat-file", "blob", f"{tree.decode('ascii')}:a") == "new\n"
    assert same.decode("ascii") == blob
    assert inner.git("fsck", "--no-dangling") == ""
