"""Reading goes on where nothing can be kept, and what it keeps is complete."""

from __future__ import annotations

import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.forked import run_forked
from tests.hostile.test_kills import fill
from tests.kill_kit import DIES_AT_A_STEP
from tests.repo_kit import Repo, gc_after_gc, mounted

CHILD = (
    DIES_AT_A_STEP
    + """
from git_boocode.editing.reading import read_lines
from git_boocode.editing.workspace import Workspace

watch(subprocess, "Popen")
for name in ("mkdir", "open", "rename", "fsync", "unlink"):
    watch(os, name)
read_lines(Workspace.find(index=True), what)
print(count)
watch(sys, "exit")
sys.exit()
"""
)


def whole(repo: Repo) -> None:
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
    assert repo.boocode("doctor").out == "no problems found\n"


def kept(repo: Repo) -> set[str]:
    return set(repo.git("for-each-ref", "--format=%(objectname)", "refs/boocode/reads/").split())


def test_killed_at_every_step(repo: Repo) -> None:
    repo.commit(a="a\n")
    status, step = -9, 0
    while status == -9:
        step += 1
        repo.write("a", f"{step}\n")
        done = run_forked(CHILD, "a", str(step), cwd=repo.top, env=dict(os.environ))
        status = done.returncode
        blob = repo.git("hash-object", "a").strip()
        assert repo.git("fsck", "--no-dangling") == ""
        assert repo.boocode("read", "a").code == 0
        assert blob in kept(repo)
    assert (status, step > 10) == (0, True)
    for path in (repo.top / ".git/boocode").glob("new-*"):
        os.utime(path, (1, 1))
    repo.boocode("checkpoint")
    whole(repo)


@pytest.mark.parametrize("left", [0, 1, 2, 4, 8, 40, 400])
def test_a_full_disk(tmp_path: Path, left: int) -> None:
    place = tmp_path / "small"
    place.mkdir()
    with mounted(place, "-t", "tmpfs", "-o", "size=4m,nr_inodes=2000", "tmpfs"):
        subprocess.run(["git", "init", "-q", place], check=True)
        repo = Repo(place)
        repo.commit(a="a\n")
        repo.write(
            "b", b"\n".join(b"%d" % n for n in random.Random(1).sample(range(10**9), 20_000))
        )
        filler = fill(place, left)
        done = repo.boocode("read", "b:-2")
        assert (done.code, len(done.out.splitlines())) == (0, 3)
        assert bool(done.err) == (not kept(repo))
        filler.unlink()
        whole(repo)
        assert repo.boocode("read", "b:1").err == ""
        assert len(kept(repo)) == 1
        whole(repo)


def test_many_readers_beside_gc(repo: Repo) -> None:
    repo.commit(a="a\n")
    for name in "abc":
        repo.write(name, f"{name} changed\n")
    with gc_after_gc(repo), ThreadPoolExecutor(6) as pool:
        done = [*pool.map(lambda n: repo.boocode("read", "abc"[n % 3]), range(18))]
    assert {(each.code, each.err) for each in done} == {(0, "")}
    assert len(kept(repo)) == 3
    whole(repo)
