"""The disk that many checkpoints take, in a repository of ours and in one of the recipe's.

Captures go through the service in this process, the repository discovered anew for each: what they
store is what the command stores. The recipe keeps its index from turn to turn, which saves time and
changes nothing that it stores; the index is removed before anything is counted.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import tempfile
from contextlib import suppress
from typing import NamedTuple

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.repo.repository import Repository
from tests.benchmarks.checkpoints.worktree import git, layout, make_repository, process, text, write

CHANGED = 3
OURS, RECIPE = "git boocode", "plain recipe"
_RECIPE_INDEX = os.path.join(".git", "recipe-index")
_RECIPE = f"""
export GIT_INDEX_FILE={_RECIPE_INDEX}
test -e "$GIT_INDEX_FILE" || cp -p .git/index "$GIT_INDEX_FILE"
git add -A && tree=$(git write-tree) && commit=$(git commit-tree "$tree" -p HEAD -m "turn $1") &&
git update-ref "refs/recipe/$1" "$commit" && echo "$tree"
"""


class Usage(NamedTuple):
    """What a directory takes.

    Attributes:
        apparent: the bytes in its files.
        allocated: the bytes of the blocks of files and directories, as `du` counts.
        files: how many files there are.
    """

    apparent: int
    allocated: int
    files: int


class Story:
    """A project that grows: every turn edits a few files and adds one.

    Args:
        top: the repository.
        paths: its files. Stories that start with the same ones are the same.
    """

    def __init__(self, top: str, paths: list[str]) -> None:
        self.top = top
        self._paths = list(paths)
        self._rng = random.Random(7)

    def turn(self, number: int) -> None:
        """Write the files of a turn."""
        for path in self._rng.sample(self._paths, CHANGED):
            self._edit(path, f"# turn {number}\n")
        directory = os.path.dirname(self._rng.choice(self._paths))
        added = os.path.join(directory, f"added_{number}.txt")
        write(self.top, added, text(self._rng))
        self._paths.append(added)

    def _edit(self, path: str, line: str) -> None:
        with open(os.path.join(self.top, path), encoding="utf-8") as file:
            lines = file.readlines()
        start = self._rng.randrange(len(lines))
        lines[start : start + self._rng.randint(0, 4)] = [line]
        write(self.top, path, "".join(lines))


def run(turns: int = 1_000, size: int = 5_000) -> None:
    """Print what the git directories take before, after the turns, and after `git gc`."""
    usages = measured(turns, size)
    print(f"\ndisk: {turns:,} checkpoints of {size:,} files, {CHANGED} changed and 1 added a turn")
    print("(ours by the service in this process, the repository discovered anew for each)")
    headings = ("before", "after", "after gc", "per turn", "with gc")
    print(f"{'':<30}" + "".join(f"{heading:>12}" for heading in headings))
    for unit, divisor in (("apparent", 1 << 10), ("allocated", 1 << 10), ("files", 1)):
        rows = {whose: [getattr(use, unit) for use in row] for whose, row in usages.items()}
        growths = {whose: [end - row[0] for end in row[1:]] for whose, row in rows.items()}
        name = f"{unit} KiB" if divisor > 1 else unit
        for whose, row in rows.items():
            cells = [f"{value / divisor:>12,.0f}" for value in row]
            cells += [f"{growth / divisor / turns:>12,.2f}" for growth in growths[whose]]
            print(f"{whose + ', ' + name:<30}" + "".join(cells))
        ratios = zip(growths[OURS], growths[RECIPE], strict=True)
        print(f"{'  growth x recipe':<66}" + "".join(f"{_ratio(*pair):>12}" for pair in ratios))


def _ratio(own: int, recipes: int) -> str:
    return f"{own / recipes:.2f}" if recipes > 0 else "–"


def measured(turns: int, size: int) -> dict[str, list[Usage]]:
    """The usage before, after the turns, and after `git gc`, of ours and of the recipe's."""
    with tempfile.TemporaryDirectory() as top:
        stories = _stories(top, size)
        steps = [_usages(stories)]
        for number in range(turns):
            _take_turn(stories, number)
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(stories[RECIPE].top, _RECIPE_INDEX))
        steps.append(_usages(stories))
        for story in stories.values():
            git(story.top, "gc", "--quiet")
        steps.append(_usages(stories))
    return {whose: [step[whose] for step in steps] for whose in stories}


def _stories(top: str, size: int) -> dict[str, Story]:
    """The same repository twice, packed as `git gc` does it."""
    ours, recipes = (os.path.join(top, name) for name in ("ours", "recipes"))
    os.mkdir(ours)
    rng = random.Random(size)
    paths = layout(size, rng)
    make_repository(ours, paths, rng)
    git(ours, "gc", "--quiet")
    shutil.copytree(ours, recipes)
    git(recipes, "update-index", "-q", "--refresh")
    return {OURS: Story(ours, paths), RECIPE: Story(recipes, paths)}


def _take_turn(stories: dict[str, Story], number: int) -> None:
    for story in stories.values():
        story.turn(number)
    told = Request(f"turn {number}", "session", "chat", f"message-{number}", "agent", "turn")
    ours = capture(Repository.discover(stories[OURS].top), told).checkpoint.tree
    recipes = process(stories[RECIPE].top, "sh", "-c", _RECIPE, "sh", str(number))()
    assert ours == recipes, f"turn {number}: the checkpoint's tree is not the recipe's"


def _usages(stories: dict[str, Story]) -> dict[str, Usage]:
    return {whose: usage(os.path.join(story.top, ".git")) for whose, story in stories.items()}


def usage(top: str) -> Usage:
    """What a directory takes, with all below it."""
    total = Usage(0, os.lstat(top).st_blocks * 512, 0)
    for directory, directories, files in os.walk(top):
        within = [os.lstat(os.path.join(directory, name)) for name in (*directories, *files)]
        total = Usage(
            total.apparent + sum(one.st_size for one in within if not stat.S_ISDIR(one.st_mode)),
            total.allocated + sum(one.st_blocks * 512 for one in within),
            total.files + len(files),
        )
    return total
