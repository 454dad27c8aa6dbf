"""Commands at the same time, beside a user and git's housekeeping: nothing is lost or damaged.

A command is done, or refused because another one is at work. What it printed is kept.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from tests.checkpoints.kit import back, refs, sound
from tests.repo_kit import Repo, Result

THREADS = 8
CAPTURES_EACH = 12
CALLS_EACH = 12

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


class Done(NamedTuple):
    """What one thread's commands printed."""

    checkpoints: list[str]
    edits: list[str]
    results: list[tuple[str, Result]]


def work(repo: Repo, number: int) -> Done:
    """Run commands, each on this thread's own file where it changes one."""
    dice = random.Random(number)
    done = Done([], [], [])
    for call in range(CALLS_EACH):
        kind = dice.choice(["checkpoint", "edit", "edit", "restore", "undo", "redo", "look"])
        result = run(repo, kind, number, call)
        done.results.append((kind, result))
        if result.code == 0 and kind == "checkpoint":
            done.checkpoints.append(result.out.strip())
        elif result.code == 0 and kind == "edit":
            done.edits.append(result.json["id"])
    return done


def run(repo: Repo, kind: str, number: int, call: int) -> Result:
    if kind == "edit":
        edit = {"path": f"files/{number}-{call}", "content": f"{number} {call}\n"}
        return repo.boocode("apply-edit", "--json", stdin=json.dumps(edit))
    commands = {
        "checkpoint": f"checkpoint --chat c{number}",
        "restore": f"restore @~{call % 3}",
        "undo": "undo",
        "redo": "redo",
        "look": ("log --json", "doctor", "diff --stat", "prune -n --keep 1")[call % 4],
    }
    return repo.boocode(*commands[kind].split())


def writer(repo: Repo, written: list[str]) -> Iterator[None]:
    """Write a new file now and then, as a user does."""
    while True:
        name = f"mine-{len(written)}"
        repo.write(f"files/{name}", f"{name}\n")
        written.append(name)
        yield
        time.sleep(0.05)


def test_commands_of_every_kind(repo: Repo) -> None:
    repo.commit(a="a\n", **{f"files/{number}": "x\n" for number in range(20)})
    for label in "123":
        repo.write("a", label)
        assert repo.boocode("checkpoint").code == 0
    written: list[str] = []
    with ThreadPoolExecutor(THREADS) as pool, beside(housekeeper(repo), writer(repo, written)):
        done = list(pool.map(lambda number: work(repo, number), range(THREADS)))
    for kind, result in (pair for each in done for pair in each.results):
        assert result.code in (0, 1), (kind, result)
        assert "Traceback" not in result.err, (kind, result)
    refs_now = " ".join(refs(repo, "checkpoints", "archive", "safety", "edits"))
    for identifier in (found for each in done for found in (*each.checkpoints, *each.edits)):
        assert identifier in refs_now
    # Each file that was written is in the worktree, or in what a restore kept before it went.
    kept = {path.name for path in (repo.top / "files").glob("*")}
    for line in refs(repo, "checkpoints", "archive", "safety"):
        names = repo.git("ls-tree", "-r", "--name-only", line.split()[1], "files/")
        kept |= set(re.findall("files/(.+)", names))
    for identifier in (found for each in done for found in each.edits):
        tree = repo.git("ls-tree", "-r", "--name-only", f"refs/boocode/edits/{identifier}")
        written += re.findall("after/files/(.+)", tree)
    assert set(written) <= kept
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
    assert repo.boocode("checkpoint").code == 0
    sound(repo)
