"""What it costs to start: whole processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from tests.benchmarks.measure import commit_everything, print_table, side_by_side
from tests.benchmarks.patching.lines import version


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
        text = "".join(f"line {number}\n" for number in range(1000))
        for name, content in (("d.txt", text), *_edits("d.txt", text).items()):
            with open(os.path.join(top, name), "w", encoding="utf-8") as file:
                file.write(content)
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
            **{name: process(*ours, "apply-edit", "-n", name, cwd=top) for name in _EDITS},
        }
        baselines = {"x python": "python -c pass", "x by text": _EDITS[0]}
        print_table("start-up, whole processes", side_by_side(candidates, rounds), baselines)


_EDITS = ("an exact edit by its text", "an exact edit by its line number")


def _edits(path: str, text: str) -> dict[str, str]:
    """An exact edit of the same line by its text and by its number, by the name of its file."""
    changes = [{"start_line": 501, "content": ["another line"]}]
    string = {"path": path, "old_string": "line 500\n", "new_string": "another line\n"}
    lines = {"path": path, "base": version(text), "changes": changes}
    return dict(zip(_EDITS, map(json.dumps, (string, lines)), strict=True))
