"""Checkpoints at the same time, beside a user and git's housekeeping, are all kept and sound."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.checkpoints.kit import back, refs, sound
from tests.repo_kit import Repo, Result

THREADS = 8
CAPTURES_EACH = 12

# What a process of an agent's host does: several captures one after the other.
HOST = """
import sys
from git_boocode.checkpoints.capture import Request, capture
from git_boocode.repo.repository import Repository
for number in range(int(sys.argv[2])):
    request = Request(label=f"{sys.argv[1]}-{number}")
    print(capture(Repository.discover(), request).checkpoint.id, flush=True)
"""


def retried(repo: Repo, *command: str) -> None:
    """Run git; what another git is doing just then may be in its way, as it always may."""
    repo.git(*command, check=False)


def user(repo: Repo) -> Iterator[None]:
    """Edit, stage and commit, over and over."""
    dice = random.Random(7)
    number = 0
    while True:
        number += 1
        repo.write(f"d{dice.randrange(3)}/f{dice.randrange(9)}", f"{number}\n" * dice.randrange(99))
        retried(repo, "add", "-A")
        yield
        retried(repo, "commit", "-q", "-m", f"commit {number}")
        yield


def housekeeper(repo: Repo) -> Iterator[None]:
    """Pack objects and refs, over and over; what is recent is never pruned, as by default."""
    while True:
        retried(repo, "gc", "-q")
        yield
        retried(repo, "pack-refs", "--all", "--prune")
        yield


@contextmanager
def beside(*loops: Iterator[None]) -> Iterator[None]:
    """Run some endless loops in threads of their own meanwhile."""
    over = threading.Event()

    def run(loop: Iterator[None]) -> None:
        for _ in loop:
            if over.wait(0.01):
                return

    threads = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def host(repo: Repo, number: int) -> list[str]:
    """The ids that one host's captures got."""
    command = [sys.executable, "-c", HOST, str(number), str(CAPTURES_EACH)]
    done = subprocess.run(command, cwd=repo.top, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def all_there(repo: Repo, ids: list[str]) -> None:
    """Each checkpoint has its ref, all its objects, and files that belong together."""
    assert len(set(ids)) == len(ids)
    known = {line.split()[0].rpartition("/")[2] for line in refs(repo, "checkpoints")}
    assert known == set(ids)
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
    listed = repo.boocode("log", "--json").json["checkpoints"]
    assert [row["id"] for row in listed] == sorted(ids, reverse=True)
    assert None not in [row["files"] for row in listed]
    sound(repo)


def test_ninety_six_captures_beside_commits_and_gc(repo: Repo) -> None:
    repo.commit(**{f"d{n % 3}/f{n}": f"{n}\n" * 50 for n in range(30)})
    repo.write("untracked", "u\n")

    def preview(identifier: str) -> Result:
        return repo.boocode("restore", "-n", "--json", identifier)

    with ThreadPoolExecutor(THREADS) as pool:
        with beside(user(repo), housekeeper(repo)):
            made = list(pool.map(lambda number: host(repo, number), range(THREADS)))
        ids = [identifier for part in made for identifier in part]
        assert len(ids) == THREADS * CAPTURES_EACH
        assert all(part == sorted(part) for part in made)
        all_there(repo, ids)
        commits = repo.git("rev-list", "--count", "main").strip()
        assert int(commits) > 2
        # A process each for some, the others within one.
        for done in pool.map(preview, ids[::24]):
            assert (done.code, done.json["dry_run"]) == (0, True)
    for identifier in ids:
        assert back(identifier, dry_run=True).checkpoint.id == identifier


def test_twenty_processes_at_once(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("b", "b\n")
    index = repo.top / ".git/index"
    before = index.read_bytes()
    processes = [
        subprocess.Popen(
            ["git", "boocode", "checkpoint", "-m", str(number)],
            cwd=repo.top, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(20)
    ]  # fmt: skip
    said = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * 20, said
    assert {err for _, err in said} == {""}
    all_there(repo, [out.strip() for out, _ in said])
    labels = {row["label"] for row in repo.boocode("log", "--json").json["checkpoints"]}
    assert labels == set(map(str, range(20)))
    assert index.read_bytes() == before
    trees = {
        repo.git("ls-tree", "-r", "--name-only", line.split()[0])
        for line in refs(repo, "checkpoints")
    }
    assert trees == {"a\nb\n"}
