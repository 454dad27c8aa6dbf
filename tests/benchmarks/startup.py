"""What it costs to start: whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from tests.benchmarks.measure import commit_everything, print_table, side_by_side


def process(*command: str, cwd: str) -> Callable[[], object]:
    """A run of a command as a whole process."""
    return lambda: subprocess.run(command, cwd=cwd, capture_output=True, check=True)


def run(arguments: Sequence[str]) -> None:
    """Print the table; the one argument is the number of rounds."""
    rounds = int(arguments[0]) if arguments else 20
    python = sys.executable
    with tempfile.TemporaryDirectory() as top:
        commit_everything(top)
        for name in ("a.txt", "b.txt", "c.txt"):
            with open(os.path.join(top, name), "w", encoding="utf-8") as file:
                file.write("text\n" * 20)
        ours = (python, "-m", "git_boocode")
        candidates = {
            "python -c pass": process(python, "-c", "pass", cwd=top),
            "python -c 'import click'": process(python, "-c", "import click", cwd=top),
            "git boocode --version": process(*ours, "--version", cwd=top),
            "git boocode checkpoint": process(*ours, "checkpoint", cwd=top),
            "git boocode log": process(*ours, "log", cwd=top),
            "git boocode apply-edit -n": process(
                *(*ours, "apply-edit", "-n", "--path", "a.txt"),
                *("--old", "text", "--new", "word", "--replace-all"),
                cwd=top,
            ),
        }
        print_table("start-up, whole processes", side_by_side(candidates, rounds), "python -c pass")
