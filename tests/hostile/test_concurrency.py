"""Commands of every kind at once, beside git's own housekeeping: nothing is lost or damaged.

A command is done, or refused because another one is at work. What it printed is kept.
"""

from __future__ import annotations

import json
import random
import re
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tests.checkpoints.kit import refs, sound
from tests.hostile.test_parallel import beside, housekeeper
from tests.repo_kit import Repo, Result

THREADS = 6
CALLS = 16


class Done(NamedTuple):
    """What one thread's commands printed."""

    checkpoints: list[str]
    edits: list[str]
    results: list[tuple[str, Result]]


def work(repo: Repo, number: int) -> Done:
    """Run commands, each on this thread's own file where it changes one."""
    dice = random.Random(number)
    done = Done([], [], [])
    for call in range(CALLS):
        kind = dice.choice(["checkpoint", "edit", "edit", "restore", "undo", "look"])
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
        "look": ("log --json", "doctor", "diff --stat", "prune -n --keep 1")[call % 4],
    }
    return repo.boocode(*commands[kind].split())


def test_commands_of_every_kind(repo: Repo) -> None:
    repo.commit(a="a\n", **{f"files/{number}": "x\n" for number in range(20)})
    for label in "123":
        repo.write("a", label)
        assert repo.boocode("checkpoint").code == 0
    with ThreadPoolExecutor(THREADS) as pool, beside(housekeeper(repo)):
        done = list(pool.map(lambda number: work(repo, number), range(THREADS)))
    for kind, result in (pair for each in done for pair in each.results):
        assert result.code in (0, 1), (kind, result)
        assert "Traceback" not in result.err, (kind, result)
    kept = " ".join(refs(repo, "checkpoints", "archive", "safety", "edits"))
    for identifier in (found for each in done for found in (*each.checkpoints, *each.edits)):
        assert identifier in kept
    every_edit_is_somewhere(repo, [found for each in done for found in each.edits])
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
    assert repo.boocode("checkpoint").code == 0
    sound(repo)


def every_edit_is_somewhere(repo: Repo, edits: list[str]) -> None:
    """Each file that was written is in the worktree, or in what a restore kept before it went."""
    kept = {path.name for path in (repo.top / "files").glob("*")}
    for line in refs(repo, "checkpoints", "archive", "safety"):
        names = repo.git("ls-tree", "-r", "--name-only", line.split()[1], "files/")
        kept |= set(re.findall("files/(.+)", names))
    for identifier in edits:
        tree = repo.git("ls-tree", "-r", "--name-only", f"refs/boocode/edits/{identifier}")
        assert set(re.findall("after/files/(.+)", tree)) <= kept
