"""What very many checkpoints on one remote cost: those who share them, and those who do not.

`python -m tests.benchmarks sharing [COUNT]`

An agent's repository of 300 files has COUNT checkpoints and pushes them to a bare repository, the
hub; a reader, a clone of it, fetches them. Beside these stand a hub and a clone without any. All
lie on one disk, so that no network is measured, but everything that would go over one.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.repo.layout import CHECKPOINTS, REMOTES
from git_boocode.repo.repository import Repository
from tests.benchmarks.checkpoints.disk import usage
from tests.benchmarks.checkpoints.log import SIZE, make_checkpoints
from tests.benchmarks.checkpoints.worktree import (
    OURS,
    Worktree,
    git,
    newest_checkpoints,
    process,
    sealed,
)
from tests.benchmarks.measure import Candidate, machine, print_table, side_by_side

ROUNDS = 5
COUNT = 100_000
_STATUS = ("git", "--no-optional-locks", "status", "--porcelain")
_V0 = ("git", "-c", "protocol.version=0")


def run(arguments: Sequence[str]) -> None:
    """Print the tables for so many checkpoints."""
    if len(arguments) > 1 or not all(map(str.isdecimal, arguments)):
        sys.exit(f"usage: {__doc__.splitlines()[2]}")
    print(machine(), flush=True)
    with sealed(), tempfile.TemporaryDirectory() as top:
        report(Places(top), *map(int, arguments))


class Places:
    """The repositories.

    Args:
        top: an empty directory.
    """

    def __init__(self, top: str) -> None:
        self._top = top
        self.agent = self._path("agent")
        self.hub = self._path("hub.git")
        self.reader = self._path("reader")
        self.stranger = self._path("stranger")
        self.plain = self._path("plain")
        os.mkdir(self.agent)
        self.worktree = Worktree(self.agent, SIZE)
        for name in ("hub.git", "empty.git"):
            git(top, "init", "-q", "--bare", name)
            git(self.agent, "push", "-q", self._path(name), "HEAD:refs/heads/main")
            git(self._path(name), "symbolic-ref", "HEAD", "refs/heads/main")
        git(self.agent, "remote", "add", "origin", self.hub)
        for clone in ("reader", "stranger", "git"):
            git(top, "clone", "-q", self.hub, clone)
        git(top, "clone", "-q", self._path("empty.git"), "plain")
        self.git = self._path("git")
        for each in (self.agent, self.hub, self.reader, self.stranger, self.plain, self.git):
            # It would come in between, and pack what is loose.
            git(each, "config", "gc.auto", "0")

    def _path(self, name: str) -> str:
        return os.path.join(self._top, name)

    def take(self) -> None:
        """Let the agent take one more checkpoint."""
        self.worktree.turn()
        capture(Repository.discover(self.agent), Request("one more"))

    def push(self) -> None:
        """Let the agent push what it has."""
        process(self.agent, *OURS, "push", "--yes")()

    def take_and_push(self) -> None:
        """Let one more come to the hub."""
        self.take()
        self.push()

    def agrees(self) -> None:
        """See that hub and reader have what the agent has."""
        ours = _listing(self.agent, CHECKPOINTS)
        assert _listing(self.hub, CHECKPOINTS) == ours, "the hub lacks checkpoints"
        assert _listing(self.reader, f"{REMOTES}origin/") == ours, "the reader lacks checkpoints"


def report(places: Places, count: int = COUNT, rounds: int = ROUNDS) -> None:
    """Print what is measured, in the order in which it happens."""
    make_checkpoints(places.worktree, count, loose=False)
    print(f"\n{count:,} checkpoints, refs loose at the agent")
    _once("git boocode push, all of them", process(places.agent, *OURS, "push", "--yes"))
    _report_disk("the hub as pushed", places.hub)
    _table(f"the agent, {count:,} refs loose", at_the_agent(places), rounds, "git for-each-ref")
    git(places.hub, "pack-refs", "--all")
    git(places.agent, "pack-refs", "--all")
    _table("the agent, refs packed", at_the_agent(places), rounds, "git for-each-ref")
    _report_disk("the hub, refs packed", places.hub)
    pattern = f"+{CHECKPOINTS}*:refs/all/*"
    _once(
        "git fetch of the same refs", process(places.git, "git", "fetch", "-q", "origin", pattern)
    )
    _once("git boocode fetch, all of them", process(places.reader, *OURS, "fetch"))
    places.agrees()
    _table("ordinary work with a remote that has them", ordinary(places), rounds, "git fetch, none")
    _table("sharing", sharing(places), rounds, "git ls-remote")
    places.agrees()
    _table("a clone that has fetched them", at_the_reader(places), rounds, "git status, none")


def at_the_agent(places: Places) -> dict[str, Candidate]:
    """What goes on where the checkpoints were taken."""
    top = places.agent
    newest = ("for-each-ref", "--count=20", "--sort=-refname", CHECKPOINTS)
    return {
        "git for-each-ref": Candidate(process(top, "git", *newest)),
        "git status": Candidate(process(top, *_STATUS)),
        "git boocode log -n 20": Candidate(process(top, *OURS, "log", "-n", "20")),
        "git boocode checkpoint": Candidate(
            process(top, *OURS, "checkpoint"), before=places.worktree.turn
        ),
        "git boocode push, nothing new": Candidate(
            process(top, *OURS, "push", "--yes"), before=places.push
        ),
    }


def ordinary(places: Places) -> dict[str, Candidate]:
    """What those do who know nothing of checkpoints; `none` is a remote without any."""
    plain, stranger = places.plain, places.stranger
    head = ("push", "origin", "HEAD:refs/heads/main")
    hide, show = (lambda: _hide(places.hub)), (lambda: _show(places.hub))
    return {
        "git fetch, none": Candidate(process(plain, "git", "fetch")),
        "git fetch": Candidate(process(stranger, "git", "fetch")),
        "git fetch, protocol 0": Candidate(process(stranger, *_V0, "fetch")),
        "git fetch by one who has fetched them": Candidate(process(places.reader, "git", "fetch")),
        "git push, none": Candidate(process(plain, "git", *head)),
        "git push": Candidate(process(stranger, "git", *head)),
        "git push, hidden by receive.hideRefs": Candidate(
            process(stranger, "git", *head), before=hide, after=show
        ),
        "git push, one new commit, none": Candidate(
            process(plain, "git", *head), before=lambda: _commit(plain)
        ),
        "git push, one new commit": Candidate(
            process(stranger, "git", *head), before=lambda: _commit(stranger)
        ),
        "git ls-remote": Candidate(process(stranger, "git", "ls-remote")),
    }


def sharing(places: Places) -> dict[str, Candidate]:
    """What those do who share, one at a time."""
    agent, reader = places.agent, places.reader
    fetch = process(reader, *OURS, "fetch")
    return {
        "git ls-remote": Candidate(process(reader, "git", "ls-remote")),
        "git boocode push, nothing new": Candidate(process(agent, *OURS, "push", "--yes")),
        "git boocode push, one new": Candidate(
            process(agent, *OURS, "push", "--yes"), before=places.take
        ),
        "git boocode fetch, one new": Candidate(
            fetch, before=places.take_and_push, check=places.agrees
        ),
        "git boocode fetch, nothing new": Candidate(fetch),
        "git boocode fetch origin ID, here already": Candidate(
            process(reader, *OURS, "fetch", "origin", _newest_id(places))
        ),
    }


def at_the_reader(places: Places) -> dict[str, Candidate]:
    """What it costs to have fetched them; `none` is a clone that has not."""
    reader, plain, newest = places.reader, places.plain, _newest_id(places)
    return {
        "git status, none": Candidate(process(plain, *_STATUS)),
        "git status": Candidate(process(reader, *_STATUS)),
        "git boocode checkpoint, none": Candidate(process(plain, *OURS, "checkpoint")),
        "git boocode checkpoint": Candidate(process(reader, *OURS, "checkpoint")),
        "git boocode log, none": Candidate(process(plain, *OURS, "log", "-n", "20")),
        "git boocode log": Candidate(process(reader, *OURS, "log", "-n", "20")),
        "git boocode log --remote origin -n 20": Candidate(
            process(reader, *OURS, "log", "--remote", "origin", "-n", "20")
        ),
        "git boocode show --stat ID": Candidate(process(reader, *OURS, "show", "--stat", newest)),
    }


def _newest_id(places: Places) -> str:
    return newest_checkpoints(places.agent, 1)[0].removeprefix(CHECKPOINTS)


def _table(title: str, candidates: dict[str, Candidate], rounds: int, baseline: str) -> None:
    print_table(title, side_by_side(candidates, rounds), {f"x {baseline}": baseline})


def _once(name: str, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)


def _report_disk(name: str, path: str) -> None:
    used = usage(path)
    print(f"{name}: {used.apparent >> 20} MiB, {used.allocated >> 20} MiB in blocks of the disk")


def _listing(top: str, below: str) -> list[str]:
    listed = git(top, "for-each-ref", "--format=%(objectname) %(refname:lstrip=-1)", below)
    return listed.split("\n")


def _commit(top: str) -> None:
    git(top, "commit", "-q", "--allow-empty", "-m", "one more")


def _hide(hub: str) -> None:
    git(hub, "config", "receive.hideRefs", "refs/boocode")


def _show(hub: str) -> None:
    git(hub, "config", "--unset", "receive.hideRefs")
