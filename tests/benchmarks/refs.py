"""What many checkpoints cost git's own commands, as refs are stored: loose, packed, in reftables.

`python -m tests.benchmarks refs [COUNT [ROUNDS]]`

A repository of 300 files and its clone, from which it fetches, with COUNT checkpoints and without
any, both after `git gc`; and with loose refs before it. What counts is processor time, which others
on the machine change little. Reftables need git 2.48, which can convert a repository.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence

from git_boocode.repo.layout import CHECKPOINTS
from tests.benchmarks.checkpoints.log import SIZE, make_checkpoints
from tests.benchmarks.checkpoints.worktree import Worktree, git, process, sealed
from tests.benchmarks.measure import Candidate, machine, processor_time, side_by_side

COUNT, ROUNDS = 10_000, 20
NONE, PACKED, LOOSE = "without", "packed", "loose"
NONE_IN_REFTABLE, REFTABLE = "reftable, without", "reftable"
BASELINES = {PACKED: NONE, LOOSE: NONE, REFTABLE: NONE_IN_REFTABLE}
COMMANDS = {
    "status": ("status",),
    "diff": ("diff",),
    "log -1": ("log", "-1"),
    "log -n 10 --decorate": ("log", "-n", "10", "--decorate"),
    "log -n 10 --branches --tags --remotes": (
        *("log", "-n", "10", "--branches", "--tags", "--remotes"),
    ),
    "log -n 10 --exclude=refs/boocode/* --all": (
        *("log", "-n", "10", "--exclude=refs/boocode/*", "--all"),
    ),
    "log -n 10 --all": ("log", "-n", "10", "--all"),
    "branch": ("branch",),
    "branch, a new one": ("branch", "-f", "topic"),
    "switch": ("switch", "-q", "-C", "topic"),
    "tag": ("tag",),
    "describe --all": ("describe", "--always", "--all"),
    "stash list": ("stash", "list"),
    "fetch, nothing new": ("fetch", "-q"),
    "fetch, a new commit": ("fetch", "-q"),
    "push, nothing new": ("push", "-q", "origin", "HEAD:refs/heads/other"),
    "commit of a file": ("commit", "-q", "-a", "-m", "one more"),
    "fetch, a new commit, fetch.hideRefs": ("-c", "fetch.hideRefs=refs/boocode", "fetch", "-q"),
    "gc --auto, nothing to do": ("gc", "--auto", "-q"),
    "for-each-ref refs/heads": ("for-each-ref", "refs/heads"),
}
"""By what is measured: the arguments of git."""


def run(arguments: Sequence[str]) -> None:
    """Print the table for so many checkpoints."""
    if len(arguments) > 2 or not all(map(str.isdecimal, arguments)):
        sys.exit(f"usage: {__doc__.splitlines()[2]}")
    count, rounds = [*map(int, arguments), *(COUNT, ROUNDS)[len(arguments) :]]
    print(machine(), flush=True)
    with sealed(), tempfile.TemporaryDirectory() as top:
        report(top, count, rounds)


def report(top: str, count: int, rounds: int) -> None:
    """Make the repositories in a directory, and print the table."""
    repositories = make_repositories(top, count)
    print(f"\n{count:,} checkpoints: median of the processor time, beside the same repository")
    print("without, and for loose refs beside files, for reftables beside reftables\n")
    columns = [name for name in BASELINES if name in repositories]
    print("".join((f"{'':<44}{'ms':>8}", *(f"{'x ' + name:>14}" for name in columns))))
    for name, arguments in COMMANDS.items():
        candidates = {
            each: Candidate(process(path, "git", *arguments), before=preparation(name, path))
            for each, path in repositories.items()
        }
        times = side_by_side(candidates, rounds, processor_time)
        print("".join((f"{name:<44}", *cells(times, columns))), flush=True)


def cells(times: Mapping[str, list[float]], columns: Sequence[str]) -> list[str]:
    """The median in milliseconds without any, and the ratio of the medians for each column."""
    if not times[NONE]:
        return []
    median = {name: statistics.median(found) for name, found in times.items()}
    ratios = (median[name] / median[BASELINES[name]] for name in columns)
    return [f"{median[NONE] * 1000:>8.1f}", *(f"{ratio:>14.2f}" for ratio in ratios)]


def make_repositories(top: str, count: int) -> dict[str, str]:
    """Repositories with so many checkpoints and without, by how their refs are stored."""
    paths = {name: os.path.join(top, name.replace(", ", "-")) for name in (NONE, PACKED, LOOSE)}
    hub = os.path.join(top, "hub.git")
    os.mkdir(paths[NONE])
    worktree = Worktree(paths[NONE], SIZE)
    git(top, "clone", "-q", "--bare", paths[NONE], hub)
    git(paths[NONE], "remote", "add", "origin", hub)
    git(paths[NONE], "fetch", "-q")
    # Git packs nothing by itself in between.
    git(paths[NONE], "config", "gc.auto", "100000000")
    git(paths[NONE], "config", "maintenance.auto", "false")
    shutil.copytree(paths[NONE], paths[PACKED], symlinks=True)
    # What was taken in the meantime is packed in the copy.
    worktree.top = paths[PACKED]
    make_checkpoints(worktree, count, loose=False)
    git(paths[PACKED], "reset", "-q", "--hard")
    git(paths[PACKED], "clean", "-fdq")
    shutil.copytree(paths[PACKED], paths[LOOSE], symlinks=True)
    for name in (NONE, PACKED):
        git(paths[name], "gc", "-q")
    for name, copied in ((NONE_IN_REFTABLE, NONE), (REFTABLE, PACKED)):
        path = os.path.join(top, name.replace(", ", "-"))
        shutil.copytree(paths[copied], path, symlinks=True)
        migration = ["git", "refs", "migrate", "--ref-format=reftable"]
        if subprocess.run(migration, cwd=path, capture_output=True).returncode == 0:
            paths[name] = path
    for name, path in paths.items():
        found = len(git(path, "for-each-ref", "--format=x", CHECKPOINTS).split())
        assert found == (count if name in BASELINES else 0), f"{name}: {found} checkpoints"
    return paths


def preparation(name: str, path: str) -> Callable[[], None]:
    """What has to be done before each run of a command."""

    def nothing() -> None:
        """Nothing."""

    def change() -> None:
        with open(os.path.join(path, git(path, "ls-files").split("\n")[0]), "a") as file:
            file.write("one more line\n")

    def commit_elsewhere() -> None:
        hub = os.path.join(os.path.dirname(path), "hub.git")
        tip = git(hub, "rev-parse", "HEAD")
        made = git(hub, "commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "elsewhere")
        git(hub, "update-ref", "refs/heads/elsewhere", made)
        git(path, "update-ref", "-d", "refs/remotes/origin/elsewhere")

    if name.startswith("commit"):
        return change
    return commit_elsewhere if name.startswith("fetch, a new") else nothing
