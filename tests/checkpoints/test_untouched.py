"""No capture writes to a file of the user's, whatever fails on its way.

Private copies of the index can be hard links to the user's own, which lives on under two names.
So no file that was there before may be opened for writing, nor get another mode or time.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.errors import BoocodeError
from tests.checkpoints.kit import back, refs, take
from tests.checkpoints.states import base
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

WRITING = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


class Watch:
    """Reports which files of the user's this process writes to."""

    def __init__(self) -> None:
        self.files: set[tuple[int, int]] = set()
        self.hits: list[tuple[str, object]] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.files or event not in ("open", "os.chmod", "os.utime", "os.truncate"):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & WRITING):
            return
        with suppress(OSError, TypeError, ValueError):
            found = os.stat(args[0])
            if (found.st_dev, found.st_ino) in self.files:
                self.hits.append((event, args[0]))


WATCH = Watch()
sys.addaudithook(WATCH)


def users_files(repo: Repo) -> dict[Path, tuple[object, ...]]:
    """The index and all else in the worktree, as it is."""
    index = Path(repo.git("rev-parse", "--path-format=absolute", "--git-path", "index").strip())
    found = [index, *(repo.top / path for path in repo.files())]
    return {path: look(path) for path in found if os.path.lexists(path)}


def look(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    return status.st_dev, status.st_ino, status.st_mode, status.st_mtime_ns, content


@contextmanager
def untouched(repo: Repo) -> Iterator[None]:
    """Nothing of the user's changes meanwhile, nor is it opened for writing."""
    before = users_files(repo)
    WATCH.hits = []
    WATCH.files = {(path.lstat().st_dev, path.lstat().st_ino) for path in before}
    try:
        yield
    finally:
        WATCH.files = set()
    assert WATCH.hits == []
    assert users_files(repo) == before


def lose_the_newest_trees(repo: Repo) -> None:
    """Let nothing be left of the newest checkpoint but its ref and its commit."""
    objects = Path(repo.git("rev-parse", "--path-format=absolute", "--git-path", "objects").strip())
    tree = repo.git("rev-parse", f"{refs(repo, 'checkpoints')[-1].split()[0]}^{{tree}}").strip()
    (objects / tree[:2] / tree[2:]).unlink(missing_ok=True)
    forget_index(repo)


def forget_index(repo: Repo) -> None:
    private = Path(repo.git("rev-parse", "--path-format=absolute", "--git-path", "boocode").strip())
    for path in private.glob("kept-index*"):
        path.unlink()


def stage_a_missing_blob(repo: Repo) -> None:
    missing = "1234567890" * 4
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{missing},missing")


@pytest.mark.parametrize("lost", ["trees", "blob", "both", "index", "kept"])
def test_any_lost_object(repo: Repo, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    base(repo)
    take()
    # Where hard links are not possible, the index is copied.
    if lost in ("trees", "index"):
        monkeypatch.setattr(os, "link", no_links)
    if lost in ("trees", "both"):
        lose_the_newest_trees(repo)
    if lost in ("blob", "both"):
        stage_a_missing_blob(repo)
    if lost == "index":
        (repo.top / ".git/index").write_bytes(b"DIRC garbage")
    if lost == "kept":
        (repo.top / ".git/boocode/kept-index").write_bytes(b"DIRC garbage")
    repo.write("b.txt", "staged\n")
    repo.git("add", "b.txt", check=False)
    with untouched(repo):
        taken = take(paths=("b.txt",))
        assert repo.git("show", f"{taken.commit.id}:b.txt") == "staged\n"
        take()


def no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.fixture
def small(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repo]:
    """A repository on a small file system."""
    top = tmp_path / "small"
    top.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(top)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    made = Repo(top)
    made.git("init", "-q")
    monkeypatch.chdir(top)
    yield made
    monkeypatch.chdir(repo.top)
    subprocess.run(["umount", "-l", str(top)], check=True)


@pytest.mark.parametrize("kib", [0, 8, 24])
@pytest.mark.parametrize("warm", [True, False])
def test_on_a_full_disk(small: Repo, kib: int, warm: bool) -> None:
    base(small)
    take()
    small.write("b.txt", "staged\n")
    small.git("add", "b.txt")
    if not warm:
        forget_index(small)
    free = os.statvfs(small.top)
    filler = small.write("filler", b"\0" * (free.f_bavail * free.f_frsize - (kib << 10)))
    for paths in (("b.txt",), ()):
        with untouched(small):
            done = small.boocode("checkpoint", *paths)
        assert done.code in (0, 128)
        assert list((small.top / ".git").rglob("tmp*")) == []
    filler.unlink()
    assert small.boocode("checkpoint", "b.txt").code == 0


@pytest.mark.parametrize("kib", [60, 140, 220])
def test_no_temporary_objects_stay_on_a_full_disk(small: Repo, kib: int) -> None:
    names = [f"{number}/{name}" for number in range(40) for name in "ab"]
    small.commit(**{name: name for name in names})
    taken = take()
    small.commit(**{name: f"changed {name}" for name in names})
    take()
    free = os.statvfs(small.top)
    small.write(".git/filler", b"\0" * (free.f_bavail * free.f_frsize - (kib << 10)))
    with suppress(BoocodeError, OSError):
        # It makes new trees: those of the checkpoint, with some files as they are now.
        back(taken.id, paths=("*/a",))
    assert list((small.top / ".git").rglob("tmp*")) == []
