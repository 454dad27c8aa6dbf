"""Checkpoint and restore in repositories of several sizes: whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from tests.benchmarks.measure import commit_everything, print_table, side_by_side

SIZES = (1_000, 10_000, 50_000)
_RECIPE = """
export GIT_INDEX_FILE=.git/recipe-index
who="-c user.name=b -c user.email=b"
git read-tree HEAD && git add -A && tree=$(git write-tree) &&
commit=$(git $who commit-tree "$tree" -p HEAD -m recipe) && git update-ref refs/recipe/x "$commit"
"""


def run(arguments: Sequence[str]) -> None:
    """Print a table per size; arguments are sizes in files."""
    for size in map(int, arguments) if arguments else SIZES:
        with tempfile.TemporaryDirectory() as top:
            _make(top, size)
            times = side_by_side(_candidates(top), 7)
            print_table(f"{size:,} files, 20 changed and 10 new", times, "git status")


def _candidates(top: str) -> dict[str, Callable[[], object]]:
    ours = (sys.executable, "-m", "git_boocode")

    def command(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run(arguments, cwd=top, capture_output=True, check=True)

    def restore() -> None:
        _dirty(top, "again\n")
        subprocess.run([*ours, "restore", "@"], cwd=top, capture_output=True, check=True)

    return {
        "git status": command("git", "--no-optional-locks", "status", "--porcelain"),
        "plain recipe (read-tree, add -A, commit-tree)": command("sh", "-c", _RECIPE),
        "git boocode checkpoint": command(*ours, "checkpoint"),
        "git boocode restore, 30 paths differ": restore,
    }


def _make(top: str, size: int) -> None:
    for number in range(size):
        path = os.path.join(top, f"d{number // 100}", f"f{number % 100}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"file {number}\n" * 20)
    commit_everything(top)
    _dirty(top, "changed\n")


def _dirty(top: str, text: str) -> None:
    for number in range(20):
        with open(os.path.join(top, "d0", f"f{number}.txt"), "a", encoding="utf-8") as file:
            file.write(text)
    for number in range(10):
        with open(os.path.join(top, "d1", f"new{number}.txt"), "w", encoding="utf-8") as file:
            file.write(text)
