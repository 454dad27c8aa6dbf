"""Repositories to measure in: made from a seed, and changed a turn at a time."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from tests.benchmarks.measure import NotAvailableError, commit_everything

OURS = (sys.executable, "-m", "git_boocode")
RECIPE_REF = "refs/recipe/x"
# The usual recipe of a shell script; it prints the tree, for comparison with ours.
RECIPE = f"""
export GIT_INDEX_FILE=.git/recipe-index
git read-tree HEAD && git add -A && tree=$(git write-tree) &&
commit=$(git commit-tree "$tree" -p HEAD -m recipe) &&
git update-ref {RECIPE_REF} "$commit" && rm "$GIT_INDEX_FILE" && echo "$tree"
"""
# Plain git with one private index that stays: what a careful script does, with git syncing what it
# writes to disk, as we do. `cp` keeps the time stamp, by which git knows racily clean entries.
PRIVATE_INDEX = ".git/recipe-private-index"
KEPT_INDEX = f"""
export GIT_INDEX_FILE={PRIVATE_INDEX}
test -f "$GIT_INDEX_FILE" || cp -p .git/index "$GIT_INDEX_FILE"
git -c core.fsync=all add -A && tree=$(git -c core.fsync=all write-tree) &&
commit=$(git -c core.fsync=all commit-tree "$tree" -p HEAD -m recipe) &&
git -c core.fsync=all update-ref {RECIPE_REF} "$commit" && echo "$tree"
"""

_USAGE_ERROR = 129
_DEPTH = 6
_FILES_IN_A_DIRECTORY = 12
_DAY = 24 * 60 * 60
_WORDS = (
    *("account", "buffer", "cache", "client", "config", "core", "event", "field", "format"),
    *("handler", "index", "item", "layout", "model", "option", "parser", "query", "record"),
    *("result", "row", "server", "session", "state", "store", "table", "task", "user", "view"),
)


@contextmanager
def sealed() -> Iterator[None]:
    """An environment in which the machine's own configuration of git plays no part."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    who = {
        f"GIT_{role}_{key}": "b" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    own = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, **who}
    with patch.dict(os.environ, {**kept, **own}, clear=True):
        yield


def git(top: str, *arguments: str, stdin: bytes = b"") -> str:
    """Run git and return what it prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=top, input=stdin, stdout=subprocess.PIPE, check=True
    )
    return os.fsdecode(done.stdout).strip()


def process(top: str, *command: str) -> Callable[[], str]:
    """A run of a command as a whole process; it returns what the command prints."""

    def work() -> str:
        done = subprocess.run(command, cwd=top, capture_output=True)
        if done.returncode == _USAGE_ERROR and command[: len(OURS)] == OURS:
            raise NotAvailableError(os.fsdecode(done.stderr))
        if done.returncode:
            raise AssertionError(f"{command} failed: {os.fsdecode(done.stderr)}")
        return os.fsdecode(done.stdout).strip()

    return work


def newest_checkpoints(top: str, count: int) -> list[str]:
    """The refs of the newest checkpoints, newest first."""
    below = "refs/boocode/checkpoints/"
    listing = ("for-each-ref", f"--count={count}", "--sort=-refname", "--format=%(refname)")
    return git(top, *listing, below).split()


def layout(count: int, rng: random.Random) -> list[str]:
    """Paths as a project has them: directories in directories, a dozen files in each."""
    directories = [""]
    while len(directories) < count // _FILES_IN_A_DIRECTORY:
        parent = rng.choice(directories)
        if parent.count("/") < _DEPTH:
            directories.append(f"{parent}{rng.choice(_WORDS)}{len(directories)}/")
    return [f"{rng.choice(directories)}{rng.choice(_WORDS)}_{n}.txt" for n in range(count)]


def text(rng: random.Random) -> str:
    """A file like one of source code, of 2 KB on average."""
    return "".join(f"{line}\n" for line in rng.choices(_LINES, k=rng.randint(5, 105)))


def _lines(rng: random.Random, count: int) -> list[str]:
    return [
        f"{'    ' * rng.randint(0, 3)}{'_'.join(rng.choices(_WORDS, k=rng.randint(1, 4)))} = "
        f"{rng.choice(_WORDS)}({rng.randint(0, 999)})"
        for _ in range(count)
    ]


_LINES = _lines(random.Random(3), 1000)


def write(top: str, path: str, content: str) -> None:
    """Write a file, making its directories."""
    full = os.path.join(top, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(content)


def make_repository(top: str, paths: Sequence[str], rng: random.Random) -> None:
    """Make a repository like one just cloned: one pack, and an index that knows every file."""
    for path in paths:
        write(top, path, text(rng))
    # Files as young as the index would be read again by every command, not looked at only.
    set_times(top, paths, time.time() - _DAY)
    commit_everything(top)
    git(top, "-c", "pack.window=0", "repack", "-adq")


def set_times(top: str, paths: Iterable[str], when: float) -> None:
    """Set when files were last written."""
    for path in paths:
        os.utime(os.path.join(top, path), (when, when))


class Worktree:
    """A repository in which each turn changes some files and adds some others.

    Against HEAD there is always the same difference, and every turn writes something new: objects
    that an earlier candidate stored are of no use to a later one.

    Args:
        top: an empty directory.
        size: how many files are tracked.
        changed: how many of them each turn changes.
        added: how many untracked files each turn adds.
    """

    def __init__(self, top: str, size: int, changed: int = 20, added: int = 10) -> None:
        rng = random.Random(size)
        self.top = top
        self.paths = layout(size, rng)
        make_repository(top, self.paths, rng)
        self.changing = rng.sample(self.paths, changed)
        self.adding = [f"{path}.new" for path in rng.sample(self.paths, added)]
        self._texts = {path: text(rng) for path in (*self.changing, *self.adding)}
        self._turns = 0
        self._touches = 0

    def turn(self) -> None:
        """Write the files of the next turn, as long as those of the last one."""
        self._turns += 1
        for path, content in self._texts.items():
            write(self.top, path, f"turn {self._turns:09}\n{content}")

    def without_added(self) -> None:
        """Remove what the last turn added, so that the next one adds it."""
        for path in self.adding:
            if os.path.exists(full := os.path.join(self.top, path)):
                os.unlink(full)

    def touch(self) -> None:
        """Give every tracked file another time stamp; its content stays."""
        self._touches += 1
        # Still in the past: what is written within the clock's granularity is another matter.
        set_times(self.top, self.paths, time.time() - _DAY / 2 + self._touches)

    def refresh(self) -> None:
        """Let the user's index know the time stamps again, as `git status` does."""
        subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=self.top)
